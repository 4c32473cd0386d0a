/*-------------------------------------------------------------------------
 *
 * best.h
 *	  The best ten of documents by the kernel alone, as lateweave_rerank and lateweave_search find
 *	  them: blocks of documents, each above the tenth so far.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_BENCH_BEST_H
#define LW_BENCH_BEST_H

#include <math.h>

#include "data.h"

#define BEST 10
#define BEST_BLOCK 64

/* Scores all documents that may be among the best. */
static inline void
score_best(LwQuery *query, LwScoring scoring, const LwDocument *documents, size_t n, float *scores)
{
	float		best[BEST];
	size_t		done = 0;
	size_t		i;
	int			place;

	for (place = 0; place < BEST; place++)
		best[place] = -INFINITY;
	while (done < n)
	{
		size_t		left = n - done;
		size_t		block = done == 0 ? BEST : BEST_BLOCK;
		size_t		count = left < block ? left : block;
		LwScoreProblem problem;

		if (lw_maxsim_above(query, scoring, documents + done, count, best[BEST - 1], scores + done, &problem) != count)
			die("a document has a problem");
		for (i = done; i < done + count; i++)
		{
			if (scores[i] <= best[BEST - 1])
				continue;
			for (place = BEST - 1; place > 0 && best[place - 1] < scores[i]; place--)
				best[place] = best[place - 1];
			best[place] = scores[i];
		}
		done += count;
	}
}

#endif							/* LW_BENCH_BEST_H */
