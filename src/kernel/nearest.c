/*-------------------------------------------------------------------------
 *
 * nearest.c
 *	  The k best rows of a slab, exactly: rows are scored until there are k
 *	  hits, and then only those that bounds do not rule out.
 *
 * Rows that are left wait until there are enough of them for a kernel's
 * lanes.  Where bounds leave too many, the next blocks do without, so that
 * data for which they are of no use cost hardly more than scoring.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/vectors.h"

#include <math.h>
#include <string.h>

#include "kernel/bounds.h"
#include "kernel/maxsim.h"

#define BLOCK 256				/* rows between two pauses */
#define WAITING 16				/* rows worth scoring */
#define USELESS(found, rows) ((found) > (rows) / 4)
#define WITHOUT_BOUNDS 15		/* blocks */

/* Where a score stands, as an integer: IEEE total order, but NaN below all. */
static inline int32_t
rank_of(float score)
{
	int32_t		bits;

	if (isnan(score))
		return INT32_MIN;
	memcpy(&bits, &score, sizeof(bits));
	return bits < 0 ? bits ^ INT32_MAX : bits;
}

/* Whether a hit stands before another. */
static inline bool
before(LwVectorHit a, LwVectorHit b)
{
	int32_t		rank_a = rank_of(a.score);
	int32_t		rank_b = rank_of(b.score);

	return rank_a > rank_b || (rank_a == rank_b && a.row < b.row);
}

/* Puts a hit into the heap of the first `count`, from `place` downwards. */
static void
sink(LwVectorHit *hits, size_t count, size_t place, LwVectorHit hit)
{
	size_t		child;

	while ((child = 2 * place + 1) < count)
	{
		if (child + 1 < count && before(hits[child], hits[child + 1]))
			child++;
		if (!before(hit, hits[child]))
			break;
		hits[place] = hits[child];
		place = child;
	}
	hits[place] = hit;
}

/* Takes a row into account. */
static void
offer(LwNearest *nearest, LwVectorHit hit)
{
	LwVectorHit *hits = nearest->hits;

	if (nearest->count < nearest->k)
	{
		size_t		place = nearest->count++;

		while (place > 0 && before(hits[(place - 1) / 2], hit))
		{
			hits[place] = hits[(place - 1) / 2];
			place = (place - 1) / 2;
		}
		hits[place] = hit;
	}
	else if (before(hit, hits[0]))
		sink(hits, nearest->count, 0, hit);
}

/* Scores rows and takes them into account. */
static void
score_rows(LwNearest *nearest, const LwVectorQuery *query,
		   const LwVectorKernel *kernel, const LwVectorSlab *slab,
		   const size_t *rows, size_t count)
{
	float		scores[BLOCK + WAITING];
	size_t		i;

	kernel->score(query, slab, rows, count, scores);
	nearest->scored += count;
	for (i = 0; i < count; i++)
	{
		/* a NaN is below nothing and so goes the long way */
		if (nearest->count == nearest->k && scores[i] < nearest->hits[0].score)
			continue;
		offer(nearest, (LwVectorHit) {rows[i], scores[i]});
	}
}

/* Lists the rows of a block that bounds leave; all of them while there are fewer than k hits. */
static size_t
list_rows(const LwNearest *nearest, LwVectorQuery *query, LwBound bound,
		  const LwVectorSlab *slab, size_t first, size_t count, size_t *rows)
{
	size_t		done = 0;
	size_t		found = 0;

	if (bound != NULL && nearest->count == nearest->k)
	{
		done = count / LW_BOUND_ROWS * LW_BOUND_ROWS;
		found = bound(query, slab, first, done, nearest->hits[0].score, rows);
	}
	while (done < count)
		rows[found++] = first + done++;
	return found;
}

void
lw_nearest_begin(LwNearest *nearest, LwVectorHit *hits, size_t k)
{
	nearest->hits = hits;
	nearest->k = k;
	nearest->count = 0;
	nearest->scored = 0;
}

void
lw_nearest_scan(LwNearest *nearest, LwVectorQuery *query,
				const LwVectorSlab *slab, size_t first, size_t count)
{
	const LwVectorKernel *kernel = lw_vector_kernel();
	LwBound		bound = NULL;
	size_t		rows[BLOCK + WAITING];
	size_t		waiting = 0;
	size_t		without = 0;
	size_t		done;

	if (nearest->k == 0)
		return;
	if (lw_bounds_ready(query, kernel, slab->type))
		bound = kernel->bound[slab->type];
	for (done = 0; done < count; done += BLOCK)
	{
		size_t		block = count - done < BLOCK ? count - done : BLOCK;
		size_t		found;

		lw_maxsim_pause();
		found = list_rows(nearest, query, without > 0 ? NULL : bound, slab, first + done, block,
						  rows + waiting);
		if (without > 0)
			without--;
		else if (nearest->count == nearest->k && USELESS(found, block))
			without = WITHOUT_BOUNDS;
		waiting += found;
		if (waiting >= WAITING)
		{
			score_rows(nearest, query, kernel, slab, rows, waiting);
			waiting = 0;
		}
	}
	score_rows(nearest, query, kernel, slab, rows, waiting);
}

size_t
lw_nearest_finish(LwNearest *nearest)
{
	size_t		left;

	for (left = nearest->count; left > 1; left--)
	{
		LwVectorHit last = nearest->hits[left - 1];

		nearest->hits[left - 1] = nearest->hits[0];
		sink(nearest->hits, left - 1, 0, last);
	}
	return nearest->count;
}
