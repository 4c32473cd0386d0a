/*-------------------------------------------------------------------------
 *
 * parallel.h
 *	  A scan of all of a view's documents, shared with parallel workers.
 *
 * Workers score the very files that the leader has mapped and leave out the rows that
 * its view hides; what its view holds besides, changes that are not
 * published yet, stays with it.  So does what a worker cannot score, for whatever
 * reason: the leader does it over and raises what there is to raise.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_PARALLEL_H
#define LW_SERVER_PARALLEL_H

#include "postgres.h"

#include "nodes/nodes.h"

#include "kernel/maxsim.h"
#include "store/top.h"
#include "store/handed.h"

/* Documents that are handed out together, at most. */
#define LW_PARALLEL_UNIT 256

typedef struct LwParallelScan LwParallelScan;

/*
 * Scores the documents of those segments that workers can have, with workers, for the best k (at least 1);
 * lw_view_hidden has been called, and `values` are the query's.  Returns when all have ended.  NULL, and nothing
 * is done, when workers are not worth their start for a scan of this cost, may not be used here, or cannot be had.
 */
extern LwParallelScan *lw_parallel_scan(const LwView *view, LwQuery *query, const float4 *values, uint64 k, Cost cost);

/* Which segments they are, [nsegments]. */
extern const bool *lw_parallel_segments(const LwParallelScan *scan);

/* What participant i, from 0, has found; NULL past the last. */
extern const LwTop *lw_parallel_best(const LwParallelScan *scan, int i);

/* The next documents that nobody has scored, in file order; returns how many, 0 at the end. */
extern int	lw_parallel_left(LwParallelScan *scan, LwPlace places[LW_PARALLEL_UNIT]);

extern void lw_parallel_end(LwParallelScan *scan);

#endif							/* LW_SERVER_PARALLEL_H */
