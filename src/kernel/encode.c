/*-------------------------------------------------------------------------
 *
 * encode.c
 *	  Rows of float32 that go into a store: checks and int8 codes.
 *
 * Products and sums must round separately, as in decode.c.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/encode.h"

#include <float.h>
#include <math.h>

#include "kernel/maxsim.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define NORM_TOLERANCE 1.1e-3f

bool
lw_row_is_finite_scalar(const float *values, size_t dimension)
{
	size_t		i;

	for (i = 0; i < dimension; i++)
		if (!(fabsf(values[i]) <= FLT_MAX))
			return false;
	return true;
}

#if defined(__x86_64__)
static bool
has_avx2(void)
{
	return lw_kernel_active() == LW_KERNEL_AVX2 || lw_kernel_active() == LW_KERNEL_AVX512;
}
#endif

/* Whether the norm of a row is near enough to 1. */
static bool
is_unit(const float *row, size_t dimension)
{
	float		sum = 0.0f;
	size_t		i;

	for (i = 0; i < dimension; i++)
		sum += row[i] * row[i];
	return fabsf(sqrtf(sum) - 1.0f) <= NORM_TOLERANCE;
}

LwRowProblem
lw_check_rows(const float *values, size_t tokens, size_t dimension,
			  bool normalized, size_t *token, size_t *component)
{
	bool		(*row_is_finite) (const float *, size_t) = lw_row_is_finite_scalar;

#if defined(__x86_64__)
	if (has_avx2())
		row_is_finite = lw_row_is_finite_avx2;
#endif
	*component = 0;
	for (*token = 0; *token < tokens; ++*token)
	{
		const float *row = values + *token * dimension;

		if (row_is_finite(row, dimension))
			continue;
		while (fabsf(row[*component]) <= FLT_MAX)
			++*component;
		return LW_ROWS_NOT_FINITE;
	}
	for (*token = 0; normalized && *token < tokens; ++*token)
		if (!is_unit(values + *token * dimension, dimension))
			return LW_ROWS_NOT_UNIT;
	return LW_ROWS_FINE;
}

/* Rounds a magnitude half up, which is exact: what is cut off is a multiple of its last place. */
static int
round_magnitude(float magnitude)
{
	int			whole = magnitude < LW_INT8_MOST ? (int) magnitude : (int) LW_INT8_MOST;

	return whole + (magnitude < LW_INT8_MOST && magnitude - (float) whole >= 0.5f);
}

float
lw_encode_row_scalar(const float *values, size_t dimension, int8_t *codes)
{
	float		most = 0.0f;
	float		scale;
	size_t		i;

	for (i = 0; i < dimension; i++)
		if (fabsf(values[i]) > most)
			most = fabsf(values[i]);
	scale = most / LW_INT8_MOST;
	if (scale < LW_INT8_LEAST_SCALE)
		scale = LW_INT8_LEAST_SCALE;
	for (i = 0; i < dimension; i++)
	{
		int			code = round_magnitude(fabsf(values[i] / scale));

		codes[i] = (int8_t) (values[i] < 0 ? -code : code);
	}
	return scale;
}

void
lw_encode_int8(const float *values, size_t tokens, size_t dimension, int8_t *codes, float *scales)
{
	float		(*encode_row) (const float *, size_t, int8_t *) = lw_encode_row_scalar;
	size_t		token;

#if defined(__x86_64__)
	if (has_avx2())
		encode_row = lw_encode_row_avx2;
#endif
	for (token = 0; token < tokens; token++)
		scales[token] = encode_row(values + token * dimension, dimension, codes + token * dimension);
}
