/*-------------------------------------------------------------------------
 *
 * vectors_scalar.c
 *	  Scores of single vectors in plain C: the definition of every score.
 *
 * Products and sums must round separately: compilers are told not to fuse
 * them, and targets that compute float in a wider type are refused.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/bounds.h"

#include <float.h>
#include <string.h>

#include "format/half.h"

#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
#error "float arithmetic must round to float"
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

static inline float
float_at(const void *values, size_t i)
{
	float		value;

	memcpy(&value, (const char *) values + i * sizeof(value), sizeof(value));
	return value;
}

static inline float
half_at(const void *values, size_t i)
{
	uint16_t	half;

	memcpy(&half, (const char *) values + i * sizeof(half), sizeof(half));
	return lw_half_to_float(half);
}

/* The code of a component of a block. */
static inline int
nibble_at(const uint8_t *codes, size_t i)
{
	int			nibble = codes[i / 2] >> i % 2 * 4 & 15;

	return (nibble ^ 8) - 8;
}

static float
score_float32(const float *query, size_t dimension, const void *row)
{
	float		sum = 0.0f;
	size_t		i;

	for (i = 0; i < dimension; i++)
		sum += query[i] * float_at(row, i);
	return sum;
}

static float
score_float16(const float *query, size_t dimension, const void *row)
{
	float		sum = 0.0f;
	size_t		i;

	for (i = 0; i < dimension; i++)
		sum += query[i] * half_at(row, i);
	return sum;
}

static float
score_int8(const float *query, size_t dimension, const int8_t *row, float scale)
{
	float		sum = 0.0f;
	size_t		i;

	for (i = 0; i < dimension; i++)
		sum += query[i] * (float) row[i];
	return sum * scale;
}

/* `scales` are those of the slab from the row's first block on. */
static float
score_int4(const float *query, size_t dimension, const uint8_t *row, const void *scales)
{
	float		sum = 0.0f;
	size_t		block;
	size_t		i;

	for (block = 0; block < dimension / LW_INT4_BLOCK; block++)
	{
		float		part = 0.0f;

		for (i = 0; i < LW_INT4_BLOCK; i++)
			part += query[i] * (float) nibble_at(row, i);
		sum += part * half_at(scales, block);
		query += LW_INT4_BLOCK;
		row += LW_INT4_BLOCK / 2;
	}
	return sum;
}

static void
score(const LwVectorQuery *query, const LwVectorSlab *slab, const size_t *rows,
	  size_t count, float *scores)
{
	const float *values = query->values;
	size_t		n = query->dimension;
	const char *codes = slab->codes;
	const char *scales = slab->scales;
	size_t		i;

	for (i = 0; i < count; i++)
	{
		size_t		row = rows[i];

		switch (slab->type)
		{
			case LW_VECTOR_FLOAT32:
				scores[i] = score_float32(values, n, codes + row * n * sizeof(float));
				break;
			case LW_VECTOR_FLOAT16:
				scores[i] = score_float16(values, n, codes + row * n * sizeof(uint16_t));
				break;
			case LW_VECTOR_INT8:
				scores[i] = score_int8(values, n, (const int8_t *) codes + row * n, float_at(scales, row));
				break;
			case LW_VECTOR_INT4:
				scores[i] = score_int4(values, n, (const uint8_t *) codes + row * (n / 2),
									   scales + row * (n / LW_INT4_BLOCK) * sizeof(uint16_t));
				break;
		}
	}
}

const LwVectorKernel lw_vectors_scalar = {score, NULL, NULL, {NULL, NULL, NULL, NULL}};
