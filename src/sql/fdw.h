/*-------------------------------------------------------------------------
 *
 * fdw.h
 *	  The foreign-data wrapper: a vector store as a table of id and tokens.
 *
 * fdw.c plans, fdw_lookup.c finds the clauses that name documents,
 * fdw_scan.c executes and explains, fdw_rows.c makes rows, fdw_analyze.c
 * samples them, fdw_options.c checks options and records which store a table
 * was created over, fdw_import.c finds stores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_FDW_H
#define LW_SQL_FDW_H

#include "postgres.h"

#include "foreign/fdwapi.h"
#include "nodes/pathnodes.h"
#include "utils/rel.h"

#include "store/view.h"

/* The columns of a foreign table, or those of them that are to be filled. */
typedef struct LwColumns
{
	AttrNumber	id;				/* InvalidAttrNumber: not there, or not asked for */
	AttrNumber	tokens;
	int32		dimension;		/* what the declaration of tokens fixes, or -1 */
} LwColumns;

/* A clause by which a scan finds its documents by id, without reading the others. */
typedef struct LwLookup
{
	RestrictInfo *clause;
	Expr	   *condition;		/* the clause with the column on the left */
	Expr	   *key;			/* a text, or an array of them, that does not depend on the scan's row */
	bool		is_array;
	double		ids;			/* estimate */
} LwLookup;

/* How a plan tells its scan what to do: fdw_private is a list of these integers, in this order. */
enum
{
	LW_SCAN_WANTS_ID,
	LW_SCAN_WANTS_TOKENS,
	LW_SCAN_KEY_IS_ARRAY		/* of the expression in fdw_exprs, when there is one */
};

/* fdw_rows.c */

/* The type multivector of the extension that a wrapper belongs to. */
extern Oid	lw_multivector_type(Oid fdwid);

/*
 * The columns that a foreign table declares.  ERROR HV007 for a name and
 * HV004 for a type that a store does not have.
 */
extern void lw_match_columns(Relation relation, LwColumns *columns);

/* ERROR 22000 when the table fixes a dimension that is not the store's. */
extern void lw_check_declared_dimension(Relation relation, const LwColumns *columns, const LwView *view);

/*
 * Sets *place to the first present document from *next on, in the order of
 * the files, and moves *next past it; false when there is none.  Needs
 * lw_view_hidden.  Interruptible.
 */
extern bool lw_next_document(const LwView *view, LwPlace *next, LwPlace *place);

/*
 * Fills in a row of `natts` columns: those in `columns`, all others NULL.
 * Allocates in the current memory context.
 */
extern void lw_fill_row(const LwView *view, LwPlace place, const LwColumns *columns,
						int natts, Datum *values, bool *nulls);

/* fdw_lookup.c */

/* The best lookup among the clauses (of RestrictInfo), by the column `id`; false when there is none. */
extern bool lw_find_lookup(PlannerInfo *root, RelOptInfo *rel, AttrNumber id,
						   List *clauses, LwLookup *lookup);

/* The clauses that compare the column with other relations' and could be lookups of a parameterized scan. */
extern List *lw_join_lookups(PlannerInfo *root, RelOptInfo *rel, AttrNumber id);

/* fdw_scan.c, fdw_analyze.c, fdw_import.c: what the handler gives PostgreSQL. */
extern void lw_begin_scan(ForeignScanState *node, int eflags);
extern TupleTableSlot *lw_iterate_scan(ForeignScanState *node);
extern void lw_rescan(ForeignScanState *node);
extern void lw_end_scan(ForeignScanState *node);
extern void lw_explain_scan(ForeignScanState *node, struct ExplainState *es);
extern bool lw_analyze(Relation relation, AcquireSampleRowsFunc *func, BlockNumber *totalpages);
extern List *lw_import_schema(ImportForeignSchemaStmt *stmt, Oid serverid);

#endif							/* LW_SQL_FDW_H */
