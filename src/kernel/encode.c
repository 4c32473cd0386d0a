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

LwRowProblem
lw_check_rows(const float *values, size_t tokens, size_t dimension,
			  bool normalized, size_t *token, size_t *component)
{
	size_t		i;

	*component = 0;
	for (*token = 0; *token < tokens; ++*token)
		for (*component = 0; *component < dimension; ++*component)
			if (!(fabsf(values[*token * dimension + *component]) <= FLT_MAX))
				return LW_ROWS_NOT_FINITE;
	*component = 0;
	if (!normalized)
		return LW_ROWS_FINE;
	for (*token = 0; *token < tokens; ++*token)
	{
		const float *row = values + *token * dimension;
		float		sum = 0.0f;

		for (i = 0; i < dimension; i++)
			sum += row[i] * row[i];
		if (!(fabsf(sqrtf(sum) - 1.0f) <= NORM_TOLERANCE))
			return LW_ROWS_NOT_UNIT;
	}
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
	if (lw_kernel_active() == LW_KERNEL_AVX2 || lw_kernel_active() == LW_KERNEL_AVX512)
		encode_row = lw_encode_row_avx2;
#endif
	for (token = 0; token < tokens; token++)
		scales[token] = encode_row(values + token * dimension, dimension, codes + token * dimension);
}
