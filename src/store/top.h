/*-------------------------------------------------------------------------
 *
 * top.h
 *	  The best k of scored documents as far as scores tell, for who cannot read their ids.
 *
 * Which of equal scores are among the best k, ids decide.  So all documents are
 * kept that have the least score of the best, as long as there is room.  It is one
 * block of memory without pointers, so that another process can read it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_TOP_H
#define LW_STORE_TOP_H

#include "store/view.h"

/* Documents kept besides k, that have the least score. */
#define LW_TOP_TIES 4096

typedef struct LwScored
{
	float		score;
	uint32_t	segment;
	uint64_t	row;
} LwScored;

typedef struct LwTop
{
	uint64_t	k;
	uint64_t	count;			/* in found[], all of them */
	LwScored	found[];		/* the first k are a heap, the worst on top; the others have its score */
} LwTop;

/* Bytes for k (at least 1). */
extern size_t lw_top_size(uint64_t k);
extern void lw_top_init(LwTop *best, uint64_t k);

/* A document of a lesser score is none of the best; -INFINITY as long as there are fewer than k. */
extern float lw_top_floor(const LwTop *best);

/* Whether there is room for so many more, should they have one score with all that stand on the edge. */
extern bool lw_top_fits(const LwTop *top, size_t count);

/* Offers documents, which fit and none of which has been offered. */
extern void lw_top_offer(LwTop *top, const LwPlace *places, const float *scores, size_t count);

#endif							/* LW_STORE_TOP_H */
