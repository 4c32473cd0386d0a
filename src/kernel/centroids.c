/*-------------------------------------------------------------------------
 *
 * centroids.c
 *	  Ranking documents by the centroids of their tokens.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/centroids.h"

#include <math.h>
#include <string.h>

#include "kernel/query.h"

#define STEPS 255.0f			/* between the least and the largest byte */
#define BLOCK 48				/* centroids that are compared with the query at a time: whole tiles */
#define ALIGNMENT 64

static const LwCentroidKernel *const kernels[LW_KERNEL_COUNT] =
{
	[LW_KERNEL_SCALAR] = &lw_centroids_scalar,
#if defined(__x86_64__)
	[LW_KERNEL_AVX2] = &lw_centroids_avx2,
	[LW_KERNEL_AVX512] = &lw_centroids_avx512,
#endif
#if defined(__aarch64__)
	[LW_KERNEL_NEON] = &lw_centroids_neon,
#endif
};

const LwCentroidKernel *
lw_centroid_kernel(void)
{
	return kernels[lw_kernel_active()];
}

static size_t
rank_groups(uint32_t tokens)
{
	return (tokens - 1) / LW_RANK_LANES + 1;
}

/* Bytes of the table itself, so that what follows is aligned. */
static size_t
table_bytes(uint32_t centroids, uint32_t tokens)
{
	size_t		bytes = centroids * rank_groups(tokens) * LW_RANK_LANES;

	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t
lw_table_size(uint32_t centroids, uint32_t tokens)
{
	size_t		lane_groups = (tokens - 1) / LW_LANES + 1;

	if (centroids > LW_CENTROIDS_MOST || tokens > LW_TABLE_MOST / centroids)
		return 0;
	return table_bytes(centroids, tokens) + centroids * lane_groups * LW_LANES * sizeof(float);
}

/* Similarities of the query with a block of centroids, [count][LW_LANES] for each lane group; raises the maxima. */
static void
compare(const LwCentroidKernel *kernel, const LwCentroids *centroids, size_t first, size_t count,
		const LwQuery *query, float *similarities)
{
	size_t		pitch = (size_t) centroids->count * LW_LANES;
	const float *rows[BLOCK];
	size_t		group;
	size_t		i;
	int			lane;

	for (i = 0; i < count; i++)
		rows[i] = centroids->rows + (first + i) * centroids->dimension;
	for (group = 0; group < query->groups; group++)
	{
		float	   *dots = similarities + group * pitch + first * LW_LANES;
		float	   *highest = query->maxima + group * LW_LANES;

		kernel->dots(query->lanes + group * query->dimension * LW_LANES, query->dimension, rows, count, dots);
		for (i = 0; i < count * LW_LANES; i += LW_LANES)
			for (lane = 0; lane < LW_LANES; lane++)
				highest[lane] = dots[i + lane] > highest[lane] ? dots[i + lane] : highest[lane];
	}
}

/*
 * Bytes must have one step for all query tokens, since they are added up, but
 * each token may have its own zero, since that changes all documents alike.
 * What counts are large similarities: 255 is a token's largest one, and 0 is as far
 * below that as the largest of all is from 0.
 */
void
lw_table_init(LwCentroidTable *table, void *memory, const LwCentroids *centroids, const LwQuery *query)
{
	const LwCentroidKernel *kernel = lw_centroid_kernel();
	size_t		bytes = table_bytes(centroids->count, query->tokens);
	float	   *similarities = (float *) ((char *) memory + bytes);
	size_t		size = (size_t) centroids->count * LW_LANES;
	float		range = 0.0f;
	float		scale;
	size_t		group;
	size_t		i;
	int			lane;

	table->count = centroids->count;
	table->groups = rank_groups(query->tokens);
	table->rows = memory;
	memset(memory, 0, bytes);
	for (i = 0; i < query->groups * LW_LANES; i++)
		query->maxima[i] = -INFINITY;
	for (i = 0; i < centroids->count; i += BLOCK)
	{
		lw_maxsim_pause();
		compare(kernel, centroids, i, centroids->count - i < BLOCK ? centroids->count - i : BLOCK, query, similarities);
	}
	for (i = 0; i < query->groups * LW_LANES; i++)
		if (fabsf(query->maxima[i]) > range && fabsf(query->maxima[i]) < INFINITY)
			range = fabsf(query->maxima[i]);
	scale = range > 0 ? STEPS / range : 0.0f;
	for (group = 0; group < query->groups; group++)
	{
		uint32_t	real = lw_real_lanes(query, group);
		float		low[LW_LANES];

		/* beyond the query's tokens all lie infinitely far below */
		for (lane = 0; lane < LW_LANES; lane++)
			low[lane] = (real >> lane & 1) != 0 ? query->maxima[group * LW_LANES + lane] - range : INFINITY;
		kernel->quantize(similarities + group * size, centroids->count, low, scale,
						 table->rows + group * LW_LANES, table->groups * LW_RANK_LANES);
	}
}

void
lw_rank(const LwCentroidTable *table, const LwCodes *documents, size_t count, uint32_t *ranks)
{
	lw_centroid_kernel()->rank(table, documents, count, ranks);
}

/* Whether a hit comes before another. */
static bool
before(const LwHit *a, const LwHit *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->segment != b->segment)
		return a->segment < b->segment;
	return a->row < b->row;
}

/* Puts a hit into the heap of the first `count`, from `place` downwards. */
static void
sink(LwHit *hits, size_t count, size_t place, LwHit hit)
{
	size_t		child;

	while ((child = 2 * place + 1) < count)
	{
		if (child + 1 < count && before(&hits[child], &hits[child + 1]))
			child++;
		if (!before(&hit, &hits[child]))
			break;
		hits[place] = hits[child];
		place = child;
	}
	hits[place] = hit;
}

void
lw_best_offer(LwBest *best, LwHit hit)
{
	LwHit	   *hits = best->hits;

	if (best->count < best->room)
	{
		size_t		place = best->count++;

		while (place > 0 && before(&hits[(place - 1) / 2], &hit))
		{
			hits[place] = hits[(place - 1) / 2];
			place = (place - 1) / 2;
		}
		hits[place] = hit;
	}
	else if (best->room > 0 && before(&hit, &hits[0]))
		sink(hits, best->count, 0, hit);
}

void
lw_best_finish(LwBest *best)
{
	size_t		left;

	for (left = best->count; left > 1; left--)
	{
		LwHit		last = best->hits[left - 1];

		best->hits[left - 1] = best->hits[0];
		sink(best->hits, left - 1, 0, last);
	}
}
