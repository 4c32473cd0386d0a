/*-------------------------------------------------------------------------
 *
 * maxsim_scalar.c
 *	  The arithmetic in plain C: the definition of every score.
 *
 * fmaf rounds once on every machine, with or without an instruction for it.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/query.h"

#include <math.h>

/* Raises the maxima of one lane group to the similarities with one row. */
static bool
raise_group(const float *lanes, int real, const float *row, size_t dimension,
			float factor, float *maxima)
{
	float		sums[LW_LANES] = {0};
	bool		strange = false;
	size_t		i;
	int			lane;

	for (i = 0; i < dimension; i++)
		for (lane = 0; lane < real; lane++)
			sums[lane] = fmaf(lanes[i * LW_LANES + lane], row[i], sums[lane]);
	for (lane = 0; lane < real; lane++)
	{
		float		similarity = sums[lane] * factor;

		if (isnan(similarity))
			strange = true;
		if (similarity > maxima[lane])
			maxima[lane] = similarity;
	}
	return strange;
}

static bool
raise_maxima(LwQuery *query, size_t group, size_t groups, const float *rows,
			 const float *factors, size_t count)
{
	size_t		dimension = query->dimension;
	size_t		end = group + groups;
	bool		strange = false;
	size_t		i;

	for (; group < end; group++)
	{
		size_t		left = query->tokens - group * LW_LANES;

		for (i = 0; i < count; i++)
			strange |= raise_group(query->lanes + group * dimension * LW_LANES,
								   left < LW_LANES ? (int) left : LW_LANES,
								   rows + i * dimension, dimension, factors[i],
								   query->maxima + group * LW_LANES);
	}
	return strange;
}

static uint64_t
widen(const int8_t *codes, size_t dimension, float *row)
{
	uint64_t	squares = 0;
	size_t		i;

	for (i = 0; i < dimension; i++)
	{
		row[i] = codes[i];
		squares += (uint64_t) (codes[i] * codes[i]);
	}
	return squares;
}

const LwArithmetic lw_arithmetic_scalar = {raise_maxima, widen, NULL};
