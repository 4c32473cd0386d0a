/*-------------------------------------------------------------------------
 *
 * query.c
 *	  Packing a query into the lanes that the kernels read.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/query.h"

#include <float.h>
#include <math.h>

#define ALIGNMENT 64

/* Adds room for count * size * width bytes, aligned, to *total; false when that overflows. */
static bool
reserve(size_t *total, size_t count, size_t size, size_t width)
{
	if (size > SIZE_MAX / width || count > SIZE_MAX / (size * width))
		return false;
	width *= count * size;
	if (width > SIZE_MAX - (ALIGNMENT - 1))
		return false;
	width = (width + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (*total > SIZE_MAX - width)
		return false;
	*total += width;
	return true;
}

/* Finds where the arrays of a query begin, and in [3] where the last one ends. */
static bool
lay_out(size_t tokens, size_t dimension, size_t offsets[4])
{
	size_t		groups = tokens / LW_LANES + (tokens % LW_LANES != 0);
	size_t		total = 0;

	if (!reserve(&total, 1, 1, sizeof(LwQuery)))
		return false;
	offsets[0] = total;
	if (!reserve(&total, groups, dimension, LW_LANES * sizeof(float)))
		return false;
	offsets[1] = total;
	if (!reserve(&total, groups, 1, LW_LANES * sizeof(float)))
		return false;
	offsets[2] = total;
	if (!reserve(&total, LW_STEP, dimension, sizeof(float)))
		return false;
	offsets[3] = total;
	return true;
}

/* Bytes that lw_query_init needs. */
size_t
lw_query_size(uint32_t tokens, uint32_t dimension)
{
	size_t		offsets[4];

	return lay_out(tokens, dimension, offsets) ? offsets[3] : 0;
}

/* Packs a query of tokens * dimension values. */
LwQuery *
lw_query_init(void *memory, const float *vectors, uint32_t tokens,
			  uint32_t dimension)
{
	LwQuery    *query = memory;
	size_t		offsets[4];
	size_t		group;
	size_t		i;
	int			lane;

	if (!lay_out(tokens, dimension, offsets))
		return NULL;
	query->tokens = tokens;
	query->dimension = dimension;
	query->groups = (offsets[2] - offsets[1]) / (LW_LANES * sizeof(float));
	query->lanes = (float *) ((char *) memory + offsets[0]);
	query->maxima = (float *) ((char *) memory + offsets[1]);
	query->rows = (float *) ((char *) memory + offsets[2]);
	for (i = 0; i < LW_STEP; i++)
		query->ones[i] = 1.0f;

	query->codes_fit = true;
	for (group = 0; group < query->groups; group++)
	{
		float	   *lanes = query->lanes + group * dimension * LW_LANES;

		for (lane = 0; lane < LW_LANES; lane++)
		{
			size_t		token = group * LW_LANES + lane;
			double		sum = 0;

			for (i = 0; i < dimension; i++)
			{
				float		value = token < tokens ? vectors[token * dimension + i] : 0.0f;

				lanes[i * LW_LANES + lane] = value;
				sum += fabs((double) value);
			}
			if (!(sum * 128 <= FLT_MAX / 2))
				query->codes_fit = false;
		}
	}
	return query;
}

/* Number of query tokens. */
uint32_t
lw_query_tokens(const LwQuery *query)
{
	return query->tokens;
}

/* Number of values a token. */
uint32_t
lw_query_dimension(const LwQuery *query)
{
	return query->dimension;
}
