/*-------------------------------------------------------------------------
 *
 * lanedot.c
 *	  Dot products in eight partial sums in plain C: the definition.
 *
 * Products and sums must round separately: compilers are told not to fuse
 * them, and targets that compute float in a wider type are refused.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/lanedot.h"

#include <float.h>
#include <string.h>

#include "format/half.h"
#include "kernel/bounds.h"

#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
#error "float arithmetic must round to float"
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define LANES 8

static inline float
float_at(const char *values, size_t i)
{
	float		value;

	memcpy(&value, values + i * sizeof(value), sizeof(value));
	return value;
}

static inline float
half_at(const char *values, size_t i)
{
	uint16_t	half;

	memcpy(&half, values + i * sizeof(half), sizeof(half));
	return lw_half_to_float(half);
}

/* Components `first` .. first + LANES - 1 of a row. */
static inline void
decode(const LwVectorSlab *slab, size_t row, size_t first, size_t count, float *values)
{
	size_t		at = row * slab->dimension + first;
	const char *codes = slab->codes;
	float		scale;
	size_t		i;

	switch (slab->type)
	{
		case LW_VECTOR_FLOAT32:
			memcpy(values, codes + at * sizeof(float), count * sizeof(float));
			break;
		case LW_VECTOR_FLOAT16:
			for (i = 0; i < count; i++)
				values[i] = half_at(codes, at + i);
			break;
		case LW_VECTOR_INT8:
			scale = float_at(slab->scales, row);
			for (i = 0; i < count; i++)
				values[i] = (float) ((const int8_t *) codes)[at + i] * scale;
			break;
		case LW_VECTOR_INT4:
			scale = half_at(slab->scales, at / LW_INT4_BLOCK);
			for (i = 0; i < count; i++)
			{
				int			nibble = ((const uint8_t *) codes)[(at + i) / 2] >> (at + i) % 2 * 4 & 15;

				values[i] = (float) ((nibble ^ 8) - 8) * scale;
			}
			break;
	}
}

static float
dot(const float *vector, const LwVectorSlab *slab, size_t row)
{
	size_t		n = slab->dimension;
	float		values[LANES];
	float		a[LANES] = {0};
	float		tail = 0.0f;
	size_t		i;
	size_t		lane;

	for (i = 0; i + LANES <= n; i += LANES)
	{
		decode(slab, row, i, LANES, values);
		for (lane = 0; lane < LANES; lane++)
			a[lane] += vector[i + lane] * values[lane];
	}
	decode(slab, row, i, n - i, values);
	for (lane = 0; lane < n - i; lane++)
		tail += vector[i + lane] * values[lane];
	return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7])) + tail;
}

void
lw_lane_dots(const float *vector, const LwVectorSlab *slab, const uint32_t *rows, size_t count, float *dots)
{
	size_t		i;

#if defined(__x86_64__)
	if (lw_vector_kernel() != &lw_vectors_scalar)
	{
		lw_lane_dots_avx2(vector, slab, rows, count, dots);
		return;
	}
#endif
	for (i = 0; i < count; i++)
		dots[i] = dot(vector, slab, rows[i]);
}
