/*-------------------------------------------------------------------------
 *
 * top.c
 *	  The best k of scored documents as far as scores tell.
 *
 *-------------------------------------------------------------------------
 */
#include "store/top.h"

#include <math.h>

size_t
lw_top_size(uint64_t k)
{
	return sizeof(LwTop) + (k + LW_TOP_TIES) * sizeof(LwScored);
}

void
lw_top_init(LwTop *best, uint64_t k)
{
	best->k = k;
	best->count = 0;
}

float
lw_top_floor(const LwTop *best)
{
	return best->count < best->k ? -INFINITY : best->found[0].score;
}

/* Adds one to a heap that is not full. */
static void
rise(LwTop *best, LwScored document)
{
	LwScored   *heap = best->found;
	uint64_t	at = best->count++;

	while (at > 0 && lw_compare_scores(heap[(at - 1) / 2].score, document.score) < 0)
	{
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = document;
}

/* Puts one in the place of the top of a full heap. */
static void
sink(LwTop *best, LwScored document)
{
	LwScored   *heap = best->found;
	uint64_t	at = 0;
	uint64_t	child;

	while ((child = 2 * at + 1) < best->k)
	{
		if (child + 1 < best->k && lw_compare_scores(heap[child].score, heap[child + 1].score) < 0)
			child++;
		if (lw_compare_scores(document.score, heap[child].score) >= 0)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = document;
}

static void
offer(LwTop *best, LwScored document)
{
	LwScored	worst = best->found[0];
	int			order;

	if (best->count < best->k)
	{
		rise(best, document);
		return;
	}
	order = lw_compare_scores(document.score, worst.score);
	if (order > 0)
		return;
	if (order < 0)
	{
		sink(best, document);
		/* the others with the score of the worst are still among the best only if it is the least */
		if (lw_compare_scores(best->found[0].score, worst.score) != 0)
		{
			best->count = best->k;
			return;
		}
		document = worst;
	}
	best->found[best->count++] = document;
}

bool
lw_top_offer(LwTop *best, const LwPlace *places, const float *scores, size_t count)
{
	size_t		i;

	if (best->count + count > best->k + LW_TOP_TIES)
		return false;
	for (i = 0; i < count; i++)
	{
		LwScored	document = {scores[i], (uint32_t) places[i].segment, places[i].row};

		offer(best, document);
	}
	return true;
}
