/*-------------------------------------------------------------------------
 *
 * assign.c
 *	  The centroid that a token is nearest to.
 *
 * Tokens are compared with the middles of all cells first, and then with the
 * centroids of the nearest cells: with k centroids in sqrt(k) cells that is
 * some PROBES * sqrt(k) of them.  Those tokens that look into one cell do so
 * together.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/centroids.h"

#include <math.h>
#include <string.h>

#define ALIGNMENT 64
#define PROBES 4				/* cells that are looked into */

struct LwAssigner
{
	uint32_t	cells;
	uint32_t	probes;
	const uint32_t *starts;		/* of the centroids */
	LwPack		middles;
	LwPack	   *packs;			/* [cells]: the centroids of each */
	uint32_t   *first;			/* [cells + 1]: of the tokens in `order` that look into a cell */
	uint32_t   *order;			/* [LW_ASSIGN_TOKENS * PROBES]: token * PROBES + probe */
	uint32_t   *probed;			/* [LW_ASSIGN_TOKENS][PROBES]: cells */
	float	   *best;			/* [LW_ASSIGN_TOKENS] */
	float	   *dots;			/* [LW_NEAREST_TOKENS][whole groups of cells], group by group */
};

static size_t
aligned(size_t size)
{
	return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t
groups_of(size_t count)
{
	return count / LW_PACK_LANES + (count % LW_PACK_LANES != 0);
}

size_t
lw_pack_size(size_t count, size_t dimension)
{
	size_t		groups = groups_of(count);

	if (dimension + 1 > SIZE_MAX / 2 / LW_PACK_LANES / sizeof(float) / (groups + 1))
		return 0;
	return aligned(groups * (dimension + 1) * LW_PACK_LANES * sizeof(float));
}

void
lw_pack_init(LwPack *pack, void *memory, const float *rows, size_t count, size_t dimension)
{
	size_t		i;
	size_t		j;

	pack->dimension = dimension;
	pack->count = count;
	pack->groups = groups_of(count);
	pack->lanes = memory;
	pack->biases = pack->lanes + pack->groups * dimension * LW_PACK_LANES;
	for (i = 0; i < pack->groups * LW_PACK_LANES; i++)
	{
		float	   *lane = pack->lanes + i / LW_PACK_LANES * dimension * LW_PACK_LANES + i % LW_PACK_LANES;
		float		squares = 0.0f;

		for (j = 0; j < dimension; j++)
		{
			float		value = i < count ? rows[i * dimension + j] : 0.0f;

			lane[j * LW_PACK_LANES] = value;
			squares = fmaf(value, value, squares);
		}
		pack->biases[i] = i < count ? -0.5f * squares : -INFINITY;
	}
}

/* The best of sixteen lanes; of equal ones the vector that stands first. */
static void
choose_lane(const float *best, const uint32_t *groups, uint32_t *winner, float *nearness)
{
	int			lane;

	*winner = 0;
	*nearness = -INFINITY;
	for (lane = 0; lane < LW_PACK_LANES; lane++)
	{
		uint32_t	vector = groups[lane] * LW_PACK_LANES + (uint32_t) lane;

		if (best[lane] > *nearness || (best[lane] == *nearness && best[lane] > -INFINITY && vector < *winner))
		{
			*winner = vector;
			*nearness = best[lane];
		}
	}
}

void
lw_pack_nearest(const LwPack *pack, const float *const *rows, size_t count, uint32_t *winners, float *nearness)
{
	const LwCentroidKernel *kernel = lw_centroid_kernel();
	float		dots[LW_NEAREST_TOKENS * LW_PACK_LANES];
	float		best[LW_NEAREST_TOKENS * LW_PACK_LANES];
	uint32_t	groups[LW_NEAREST_TOKENS * LW_PACK_LANES] = {0};
	size_t		group;
	size_t		i;

	for (i = 0; i < count * LW_PACK_LANES; i++)
		best[i] = -INFINITY;
	for (group = 0; group < pack->groups; group++)
	{
		kernel->dots(pack->lanes + group * pack->dimension * LW_PACK_LANES, pack->dimension, rows, count, dots);
		kernel->raise(dots, count, pack->biases + group * LW_PACK_LANES, (uint32_t) group, best, groups);
	}
	for (i = 0; i < count; i++)
		choose_lane(best + i * LW_PACK_LANES, groups + i * LW_PACK_LANES, &winners[i], &nearness[i]);
}

/* Takes `size` bytes of the caller's memory. */
static void *
take(char **memory, size_t size)
{
	char	   *taken = *memory;

	*memory += aligned(size);
	return taken;
}

/* Bytes of everything but the packs. */
static size_t
fixed_size(uint32_t cells)
{
	return aligned(sizeof(LwAssigner)) + aligned(cells * sizeof(LwPack)) + aligned((cells + 1) * sizeof(uint32_t)) +
		2 * aligned(LW_ASSIGN_TOKENS * PROBES * sizeof(uint32_t)) + aligned(LW_ASSIGN_TOKENS * sizeof(float)) +
		aligned(groups_of(cells) * LW_PACK_LANES * LW_NEAREST_TOKENS * sizeof(float));
}

size_t
lw_assigner_size(const LwCentroids *centroids)
{
	size_t		size = lw_pack_size(centroids->cells, centroids->dimension);
	uint32_t	cell;

	/* sixteen for each cell at most besides: if that many fit, so do all sums */
	if (lw_pack_size((size_t) LW_CENTROIDS_MOST * LW_PACK_LANES * 2, centroids->dimension) == 0)
		return 0;
	for (cell = 0; cell < centroids->cells; cell++)
		size += lw_pack_size(centroids->starts[cell + 1] - centroids->starts[cell], centroids->dimension);
	return size + fixed_size(centroids->cells);
}

LwAssigner *
lw_assigner_init(void *memory, const LwCentroids *centroids)
{
	char	   *left = memory;
	size_t		dimension = centroids->dimension;
	LwAssigner *assigner = take(&left, sizeof(LwAssigner));
	uint32_t	cell;

	assigner->cells = centroids->cells;
	assigner->probes = centroids->cells < PROBES ? centroids->cells : PROBES;
	assigner->starts = centroids->starts;
	assigner->packs = take(&left, centroids->cells * sizeof(LwPack));
	assigner->first = take(&left, (centroids->cells + 1) * sizeof(uint32_t));
	assigner->order = take(&left, LW_ASSIGN_TOKENS * PROBES * sizeof(uint32_t));
	assigner->probed = take(&left, LW_ASSIGN_TOKENS * PROBES * sizeof(uint32_t));
	assigner->best = take(&left, LW_ASSIGN_TOKENS * sizeof(float));
	assigner->dots = take(&left, groups_of(centroids->cells) * LW_PACK_LANES * LW_NEAREST_TOKENS * sizeof(float));
	lw_pack_init(&assigner->middles, take(&left, lw_pack_size(centroids->cells, dimension)),
				 centroids->middles, centroids->cells, dimension);
	for (cell = 0; cell < centroids->cells; cell++)
	{
		size_t		count = centroids->starts[cell + 1] - centroids->starts[cell];

		lw_pack_init(&assigner->packs[cell], take(&left, lw_pack_size(count, dimension)),
					 centroids->rows + centroids->starts[cell] * dimension, count, dimension);
	}
	return assigner;
}

/* The cells nearest to one token, whose dot products lie `pitch` apart from group to group. */
static void
choose_cells(const LwAssigner *assigner, const float *dots, size_t pitch, uint32_t *cells)
{
	float		best[PROBES];
	uint32_t	found = 0;
	uint32_t	cell;

	memset(cells, 0, PROBES * sizeof(*cells));
	for (cell = 0; cell < assigner->cells; cell++)
	{
		float		value = dots[cell / LW_PACK_LANES * pitch + cell % LW_PACK_LANES] + assigner->middles.biases[cell];
		uint32_t	place;

		if (found == assigner->probes && !(value > best[found - 1]))
			continue;
		place = found < assigner->probes ? found++ : found - 1;
		for (; place > 0 && value > best[place - 1]; place--)
		{
			best[place] = best[place - 1];
			cells[place] = cells[place - 1];
		}
		best[place] = value;
		cells[place] = cell;
	}
}

/* Finds the cells of all tokens. */
static void
probe(LwAssigner *assigner, const float *rows, size_t count)
{
	const LwCentroidKernel *kernel = lw_centroid_kernel();
	const LwPack *middles = &assigner->middles;
	size_t		pitch = LW_NEAREST_TOKENS * LW_PACK_LANES;
	size_t		first;

	for (first = 0; first < count; first += LW_NEAREST_TOKENS)
	{
		size_t		tokens = count - first < LW_NEAREST_TOKENS ? count - first : LW_NEAREST_TOKENS;
		const float *pointers[LW_NEAREST_TOKENS];
		size_t		group;
		size_t		i;

		for (i = 0; i < tokens; i++)
			pointers[i] = rows + (first + i) * middles->dimension;
		for (group = 0; group < middles->groups; group++)
			kernel->dots(middles->lanes + group * middles->dimension * LW_PACK_LANES, middles->dimension,
						 pointers, tokens, assigner->dots + group * pitch);
		for (i = 0; i < tokens; i++)
			choose_cells(assigner, assigner->dots + i * LW_PACK_LANES, pitch,
						 assigner->probed + (first + i) * PROBES);
	}
}

/* Sorts what is looked for by cell. */
static void
sort_by_cell(LwAssigner *assigner, size_t count)
{
	uint32_t   *first = assigner->first;
	size_t		i;
	uint32_t	cell;

	memset(first, 0, (assigner->cells + 1) * sizeof(*first));
	for (i = 0; i < count * PROBES; i++)
		if (i % PROBES < assigner->probes)
			first[assigner->probed[i] + 1]++;
	for (cell = 0; cell < assigner->cells; cell++)
		first[cell + 1] += first[cell];
	for (i = 0; i < count * PROBES; i++)
		if (i % PROBES < assigner->probes)
			assigner->order[first[assigner->probed[i]]++] = (uint32_t) i;
	memmove(first + 1, first, assigner->cells * sizeof(*first));
	first[0] = 0;
}

void
lw_assign(LwAssigner *assigner, const float *rows, size_t count, uint16_t *ids)
{
	size_t		i;
	uint32_t	cell;

	probe(assigner, rows, count);
	sort_by_cell(assigner, count);
	for (i = 0; i < count; i++)
	{
		assigner->best[i] = -INFINITY;
		ids[i] = 0;
	}
	for (cell = 0; cell < assigner->cells; cell++)
	{
		uint32_t	end = assigner->first[cell + 1];
		uint32_t	at;

		for (at = assigner->first[cell]; at < end; at += LW_NEAREST_TOKENS)
		{
			size_t		tokens = end - at < LW_NEAREST_TOKENS ? end - at : LW_NEAREST_TOKENS;
			const float *pointers[LW_NEAREST_TOKENS];
			uint32_t	winners[LW_NEAREST_TOKENS];
			float		nearness[LW_NEAREST_TOKENS];

			for (i = 0; i < tokens; i++)
				pointers[i] = rows + assigner->order[at + i] / PROBES * assigner->middles.dimension;
			lw_pack_nearest(&assigner->packs[cell], pointers, tokens, winners, nearness);
			for (i = 0; i < tokens; i++)
			{
				uint32_t	token = assigner->order[at + i] / PROBES;

				if (nearness[i] > assigner->best[token])
				{
					assigner->best[token] = nearness[i];
					ids[token] = (uint16_t) (assigner->starts[cell] + winners[i]);
				}
			}
		}
	}
}
