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
lw_top_init(LwTop *top, uint64_t k)
{
	top->k = k;
	top->count = 0;
}

float
lw_top_floor(const LwTop *top)
{
	return top->count < top->k ? -INFINITY : top->found[0].score;
}

/* Adds one to a heap that is not full. */
static void
rise(LwTop *top, LwScored document)
{
	LwScored   *heap = top->found;
	uint64_t	at = top->count++;

	while (at > 0 && lw_compare_scores(heap[(at - 1) / 2].score, document.score) < 0)
	{
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = document;
}

/* Puts one in the place of the top of a full heap. */
static void
sink(LwTop *top, LwScored document)
{
	LwScored   *heap = top->found;
	uint64_t	at = 0;
	uint64_t	child;

	while ((child = 2 * at + 1) < top->k)
	{
		if (child + 1 < top->k && lw_compare_scores(heap[child].score, heap[child + 1].score) < 0)
			child++;
		if (lw_compare_scores(document.score, heap[child].score) >= 0)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = document;
}

static void
offer(LwTop *top, LwScored document)
{
	LwScored	worst = top->found[0];
	int			order;

	if (top->count < top->k)
	{
		rise(top, document);
		return;
	}
	order = lw_compare_scores(document.score, worst.score);
	if (order > 0)
		return;
	if (order < 0)
	{
		sink(top, document);
		/* the others with the score of the worst are still among the best only if it is the least */
		if (lw_compare_scores(top->found[0].score, worst.score) != 0)
		{
			top->count = top->k;
			return;
		}
		document = worst;
	}
	top->found[top->count++] = document;
}

bool
lw_top_fits(const LwTop *top, size_t count)
{
	return top->count + count <= top->k + LW_TOP_TIES;
}

void
lw_top_offer(LwTop *top, const LwPlace *places, const float *scores, size_t count)
{
	size_t		i;

	for (i = 0; i < count; i++)
	{
		LwScored	document = {scores[i], (uint32_t) places[i].segment, places[i].row};

		offer(top, document);
	}
}
