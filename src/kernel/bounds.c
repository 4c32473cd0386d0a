/*-------------------------------------------------------------------------
 *
 * bounds.c
 *	  Preparing the bounds of a query: the constants of bounds.h.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/bounds.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define DIMENSION_LOW LW_CHUNK
#define DIMENSION_HIGH 65535
#define SIZE_LOW 0x1p-60
#define SIZE_HIGH 0x1p60
#define ROUNDING 0x1p-24		/* u */
#define SPARE (1 + 0x1p-6)

/* Packs q in chunks; finds B. */
static void
prepare_floats(LwVectorQuery *query)
{
	size_t		n = query->dimension;
	size_t		whole = n / LW_CHUNK * LW_CHUNK;
	float	   *packed = query->packed;
	double		sizes[LW_CHUNK] = {0};
	size_t		i;

	memcpy(packed, query->values, whole * sizeof(float));
	if (whole < n)
	{
		memset(packed + whole, 0, LW_CHUNK * sizeof(float));
		memcpy(packed + whole + LW_CHUNK - (n - whole), query->values + whole, (n - whole) * sizeof(float));
		whole += LW_CHUNK;
	}
	for (i = 0; i < whole; i++)
		sizes[i % LW_CHUNK] += fabs((double) packed[i]);
	/* more is a bound, too; less, by underflow, is none */
	for (i = 0; i < LW_CHUNK; i++)
		query->constants[i] = (float) fmax(FLT_MIN, SPARE * (double) (2 * n + 8) * ROUNDING * sizes[i]);
}

/* Splits q into s * c + r. */
static void
split(LwVectorQuery *query, int32_t limit)
{
	double		largest = 0;
	size_t		i;

	for (i = 0; i < query->dimension; i++)
		largest = fmax(largest, fabs((double) query->values[i]));
	query->step = (float) (largest / limit);
	query->sum = 0;
	for (i = 0; i < query->dimension; i++)
	{
		query->codes[i] = (int16_t) rint((double) query->values[i] / (double) query->step);
		query->sum += query->codes[i];
	}
}

/* |q|, |c| and |r| of `count` components, and the sum of c. */
typedef struct Sizes
{
	double		values;
	double		codes;
	double		rest;
	double		sum;
} Sizes;

static Sizes
measure(const LwVectorQuery *query, size_t first, size_t count)
{
	Sizes		sizes = {0, 0, 0, 0};
	size_t		i;

	for (i = first; i < first + count; i++)
	{
		double		value = (double) query->values[i];

		sizes.values += fabs(value);
		sizes.codes += fabs((double) query->codes[i]);
		sizes.rest += fabs(value - (double) query->step * query->codes[i]);
		sizes.sum += query->codes[i];
	}
	return sizes;
}

/* Finds M. */
static void
prepare_int8(LwVectorQuery *query)
{
	double		n = query->dimension;
	Sizes		sizes = measure(query, 0, query->dimension);

	query->margin = (float) (SPARE * 128 * (sizes.rest + (n + 8) * ROUNDING * (sizes.values + sizes.rest)));
}

/* Finds C of every block. */
static void
prepare_int4(LwVectorQuery *query)
{
	size_t		blocks = query->dimension / LW_INT4_BLOCK;
	double		n = (double) blocks;
	size_t		i;

	for (i = 0; i < blocks; i++)
	{
		Sizes		sizes = measure(query, i * LW_INT4_BLOCK, LW_INT4_BLOCK);
		double		e = (8 * sizes.rest + 8.1 * (n + 66) * ROUNDING * sizes.values) / (double) query->step + 0x1p-30;
		double		m = SPARE * (e + (2 * n + 18) * ROUNDING * 24 * sizes.codes);

		query->constants[i] = (float) (m - 8 * sizes.sum);
	}
	for (; i % LW_CHUNK != 0; i++)
		query->constants[i] = 0;
}

/* Whether the proof holds for the query. */
static bool
fits(const LwVectorQuery *query)
{
	double		size = 0;
	size_t		i;

	for (i = 0; i < query->dimension; i++)
		size += fabs((double) query->values[i]);
	return query->dimension >= DIMENSION_LOW && query->dimension <= DIMENSION_HIGH &&
		size >= SIZE_LOW && size <= SIZE_HIGH;
}

bool
lw_bounds_ready(LwVectorQuery *query, const LwVectorKernel *kernel,
				LwVectorType type)
{
	if (kernel->limit == NULL)
		return false;
	if (query->kernel == kernel && query->type == type)
		return query->fit;
	query->kernel = kernel;
	query->type = type;
	query->fit = fits(query);
	if (!query->fit)
		return false;
	if (type == LW_VECTOR_FLOAT32 || type == LW_VECTOR_FLOAT16)
	{
		prepare_floats(query);
		return true;
	}
	split(query, kernel->limit(type, query->dimension));
	if (type == LW_VECTOR_INT8)
		prepare_int8(query);
	else
		prepare_int4(query);
	kernel->pack(query, type);
	return true;
}
