/*-------------------------------------------------------------------------
 *
 * promising.h
 *	  The documents of a store in the order of their scores, as far as it is
 *	  known which are promising.
 *
 * So many candidates are scored first, with all documents of which it is not known how promising they
 * are.  When half as many have been given, four times as many candidates are scored, and so on,
 * at last all documents.  A document that turns out to be better than what has been given comes too
 * late for its place: it is given after all others, so that what comes before is in order, and none is left out.
 *
 * Memory: one bit a row of the store, and 8 bytes a document that was scored and not given.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_AM_PROMISING_H
#define LW_AM_PROMISING_H

#include "postgres.h"

#include "sql/scorer.h"

typedef struct LwPromising LwPromising;

/*
 * Begins with so many candidates (at least 1), in the current memory context; NULL when all documents are to
 * be scored at once: since there are not many more, or nothing tells promising ones.  Scorer and query
 * outlive it; ends[segment] is the number of rows up to the end of a segment.
 */
extern LwPromising *lw_promising_begin(const LwScorer *scorer, const LwMultivector *query, const size_t *ends,
									   size_t candidates);

/* The next document, as the number of its row in all segments, and its score; false when there is no other.  Interruptible. */
extern bool lw_promising_next(LwPromising *promising, uint32 *ordinal, float4 *score);

#endif							/* LW_AM_PROMISING_H */
