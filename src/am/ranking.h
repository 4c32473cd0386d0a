/*-------------------------------------------------------------------------
 *
 * ranking.h
 *	  The documents of a source in the order of their scores, best first.
 *
 * The best FIRST_BATCH are found as lateweave_search finds them, which scores
 * only what can be among them in full.  When more are wanted, the others are scored in
 * full once and all scores are kept; from then on batches, each BATCH_GROWTH
 * times as large, are chosen among the scores.
 *
 * Memory: 4 bytes a row of the source, and 8 a document of the last batch.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_AM_RANKING_H
#define LW_AM_RANKING_H

#include "postgres.h"

#include "sql/scorer.h"

typedef struct LwRanking LwRanking;

/*
 * A ranking in the current memory context; exact when `candidates` is 0, else as promising.h says, where the
 * source has what that takes.  Scorer and query outlive it, and the scorer's content is
 * kept by the caller.  ERROR 54000 for more than 2^32 - 1 rows.
 */
extern LwRanking *lw_ranking_begin(const LwScorer *scorer, const LwMultivector *query, int candidates);

/*
 * The next document, its id and its score; false when there is no other.  Ids that are not unique come
 * once.  The id stays until the next call.  ERROR as lw_scorer_score; interruptible.
 */
extern bool lw_ranking_next(LwRanking *ranking, LwString *id, float4 *score);

#endif							/* LW_AM_RANKING_H */
