/*-------------------------------------------------------------------------
 *
 * fdw.h
 *	  The foreign-data wrapper: a vector store as a table of id and tokens, a
 *	  section file as a table of its chunks.
 *
 * fdw.c plans, fdw_lookup.c finds the clauses that name documents,
 * fdw_scan.c executes and explains, fdw_rows.c makes rows, fdw_analyze.c
 * samples them, fdw_options.c checks options and records which store a table
 * was created over, fdw_import.c finds sources, fdw_modify.c changes documents.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_FDW_H
#define LW_SQL_FDW_H

#include "postgres.h"

#include "foreign/fdwapi.h"
#include "nodes/pathnodes.h"
#include "utils/rel.h"

#include "kernel/vectors.h"
#include "server/source.h"

typedef enum LwColumn
{
	/* of a store */
	LW_COLUMN_ID,
	LW_COLUMN_TOKENS,
	/* of a section file */
	LW_COLUMN_ORDINAL,
	LW_COLUMN_CHUNK_ID,
	LW_COLUMN_CANONICAL_TEXT,
	LW_COLUMN_CANONICAL_BYTES,
	LW_COLUMN_SOURCE_URI,
	LW_COLUMN_BYTE_START,
	LW_COLUMN_BYTE_END,
	LW_COLUMN_CITATION,
	LW_COLUMN_EMBEDDING
} LwColumn;

#define LW_COLUMNS (LW_COLUMN_EMBEDDING + 1)

/* The columns of a foreign table, or those of them that are to be filled. */
typedef struct LwColumns
{
	AttrNumber	at[LW_COLUMNS]; /* InvalidAttrNumber: not there, or not asked for */
	bool		is_numeric[LW_COLUMNS]; /* byte_start, byte_end: numeric, not bigint */
	int32		dimension;		/* what the declaration of tokens fixes, or -1 */
} LwColumns;

/* What rows are made of. */
typedef struct LwRows
{
	LwContent	content;
	LwColumns	columns;
	LwVectorSlab slab;			/* of embedding, when it is to be filled */
} LwRows;

/* By what a scan finds its documents. */
typedef enum LwKey
{
	LW_KEY_NONE,
	LW_KEY_ID,
	LW_KEY_IDS,					/* an array */
	LW_KEY_ORDINAL,
	LW_KEY_ORDINALS				/* an array */
} LwKey;

/* A clause by which a scan finds its documents, without reading the others. */
typedef struct LwLookup
{
	RestrictInfo *clause;
	Expr	   *condition;		/* the clause with the column on the left */
	Expr	   *key;			/* a text or integer, or an array of them, that does not depend on the scan's row */
	LwKey		kind;
	double		ids;			/* estimate */
} LwLookup;

/*
 * How a plan tells its scan what to do: fdw_private is a list of integers, the
 * LwKey of the first expression in fdw_exprs (when it is not LW_KEY_NONE), then
 * for each LwColumn whether it is wanted, then for each other expression the
 * btree strategy by which it bounds the ordinal.
 */

/* fdw_rows.c */

/* The type multivector of the extension that a wrapper belongs to. */
extern Oid	lw_multivector_type(Oid fdwid);

/*
 * The columns that a foreign table declares.  ERROR HV007 for a name and
 * HV004 for a type that its kind of source does not have.
 */
extern void lw_match_columns(Relation relation, LwColumns *columns);

/* Chooses the vectors of the rows.  ERROR 22000 when the table fixes a dimension that is not the store's. */
extern void lw_begin_rows(LwRows *rows, Relation relation);

/*
 * Sets *place to the first present document from *next on, in the order of
 * the files, and moves *next past it; false when there is none.  Of a store
 * it needs lw_view_hidden.  Interruptible.
 */
extern bool lw_next_document(LwContent content, LwPlace *next, LwPlace *place);

/*
 * Fills in a row of `natts` columns: those of `rows`, all others NULL.
 * Allocates in the current memory context.
 */
extern void lw_fill_row(const LwRows *rows, LwPlace place, int natts, Datum *values, bool *nulls);

/* fdw_lookup.c */

/* The best lookup among the clauses (of RestrictInfo), by the columns of the table; false when there is none. */
extern bool lw_find_lookup(PlannerInfo *root, RelOptInfo *rel, const LwColumns *columns,
						   List *clauses, LwLookup *lookup);

/* The clauses that compare the columns with other relations' and could be lookups of a parameterized scan. */
extern List *lw_join_lookups(PlannerInfo *root, RelOptInfo *rel, const LwColumns *columns);

/*
 * Those of the clauses that bound the ordinal by a value known before the
 * scan: the bounds are its expressions, *strategies says which side they are on.
 */
extern List *lw_find_bounds(PlannerInfo *root, RelOptInfo *rel, const LwColumns *columns,
							List *clauses, List **bounds, List **strategies);

/* An integer of type smallint, integer or bigint. */
extern int64 lw_integer_datum(Datum value, Oid type);

/* fdw_scan.c, fdw_analyze.c, fdw_import.c: what the handler gives PostgreSQL. */
extern void lw_begin_scan(ForeignScanState *node, int eflags);
extern TupleTableSlot *lw_iterate_scan(ForeignScanState *node);
extern void lw_rescan(ForeignScanState *node);
extern void lw_end_scan(ForeignScanState *node);
extern void lw_explain_scan(ForeignScanState *node, struct ExplainState *es);
extern bool lw_analyze(Relation relation, AcquireSampleRowsFunc *func, BlockNumber *totalpages);
extern List *lw_import_schema(ImportForeignSchemaStmt *stmt, Oid serverid);

/* fdw_modify.c */
extern void lw_allow_changes(FdwRoutine *routine);

#endif							/* LW_SQL_FDW_H */
