/*-------------------------------------------------------------------------
 *
 * index.h
 *	  The index access method lateweave: its options and its functions.
 *
 * The index maps ids to rows.  A scan ranks the documents of the query's
 * source, whichever that is, and looks up the rows of each.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_AM_INDEX_H
#define LW_AM_INDEX_H

#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

/* The strategy of id @# query, the only one. */
#define LW_STRATEGY_DISTANCE 1

/* Phases of a build, as pg_stat_progress_create_index shows them; 1 is the server's own. */
#define LW_BUILD_SCAN 2
#define LW_BUILD_SORT 3
#define LW_BUILD_WRITE 4

/* The options of an index as they are stored. */
typedef struct LwIndexOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			source;			/* offset of the text, or 0 */
	int			candidates;		/* -1: as the setting */
} LwIndexOptions;

/* options.c */
extern void lw_index_options_init(void);
extern bytea *lw_index_options(Datum options, bool validate);

/*
 * The foreign table that an option `source` names; a name without a schema is of
 * that of the indexed table.  InvalidOid when there is none, or it is none of lateweave's.
 */
extern Oid lw_index_source(const LwIndexOptions *options, Oid schema);

/* How many candidates a scan begins with; 0: it is exact. */
extern int	lw_index_candidates(Relation index);

/* depend.c */
extern void lw_index_depend_init(void);

/* build.c */
extern IndexBuildResult *lw_index_build(Relation heap, Relation index, IndexInfo *info);
extern void lw_index_build_empty(Relation index);
extern bool lw_index_insert(Relation index, Datum *values, bool *nulls, ItemPointer row, Relation heap,
							IndexUniqueCheck unique, bool unchanged, IndexInfo *info);

/* vacuum.c */
extern IndexBulkDeleteResult *lw_index_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
												   IndexBulkDeleteCallback callback, void *callback_state);
extern IndexBulkDeleteResult *lw_index_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

/* scan.c */
extern IndexScanDesc lw_index_begin_scan(Relation index, int nkeys, int norderbys);
extern void lw_index_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern bool lw_index_next(IndexScanDesc scan, ScanDirection direction);
extern void lw_index_end_scan(IndexScanDesc scan);

/* cost.c */
extern void lw_index_cost(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
						  Selectivity *selectivity, double *correlation, double *pages);

/* validate.c */
extern bool lw_index_validate(Oid opclass);

#endif							/* LW_AM_INDEX_H */
