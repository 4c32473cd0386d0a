/*-------------------------------------------------------------------------
 *
 * centroids_scalar.c
 *	  Comparing with centroids in plain C: the definition of every result.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/centroids.h"

#include <math.h>
#include <string.h>

static void
dots(const float *lanes, size_t dimension, const float *const *rows, size_t count, float *dots)
{
	size_t		i;
	size_t		j;
	int			lane;

	for (i = 0; i < count; i++, dots += LW_PACK_LANES)
	{
		memset(dots, 0, LW_PACK_LANES * sizeof(float));
		for (j = 0; j < dimension; j++)
			for (lane = 0; lane < LW_PACK_LANES; lane++)
				dots[lane] = fmaf(rows[i][j], lanes[j * LW_PACK_LANES + lane], dots[lane]);
	}
}

static void
raise(const float *dots, size_t count, const float *biases, uint32_t group, float *best, uint32_t *groups)
{
	size_t		i;

	for (i = 0; i < count * LW_PACK_LANES; i++)
	{
		float		value = dots[i] + biases[i % LW_PACK_LANES];

		if (value > best[i])
		{
			best[i] = value;
			groups[i] = group;
		}
	}
}

static void
quantize(const float *dots, size_t count, const float *low, float scale, uint8_t *bytes, size_t pitch)
{
	size_t		i;
	int			lane;

	for (i = 0; i < count; i++)
		for (lane = 0; lane < LW_PACK_LANES; lane++)
		{
			float		value = (dots[i * LW_PACK_LANES + lane] - low[lane]) * scale;

			/* a NaN is not greater than 0 */
			value = value > 0.0f ? value : 0.0f;
			value = value < 255.0f ? value : 255.0f;
			bytes[i * pitch + lane] = (uint8_t) (value + 0.5f);
		}
}

static uint32_t
rank_group(const LwCentroidTable *table, size_t group, const LwCodes *document)
{
	uint8_t		best[LW_RANK_LANES] = {0};
	uint32_t	sum = 0;
	size_t		i;
	int			lane;

	for (i = 0; i < document->count; i++)
	{
		const uint8_t *row = table->rows +
			(lw_code(document->ids, i, table->count) * table->groups + group) * LW_RANK_LANES;

		for (lane = 0; lane < LW_RANK_LANES; lane++)
			if (row[lane] > best[lane])
				best[lane] = row[lane];
	}
	for (lane = 0; lane < LW_RANK_LANES; lane++)
		sum += best[lane];
	return sum;
}

static void
rank(const LwCentroidTable *table, const LwCodes *documents, size_t count, uint32_t *ranks)
{
	size_t		i;
	size_t		group;

	for (i = 0; i < count; i++)
	{
		ranks[i] = 0;
		for (group = 0; group < table->groups; group++)
			ranks[i] += rank_group(table, group, &documents[i]);
	}
}

const LwCentroidKernel lw_centroids_scalar = {dots, raise, quantize, rank};
