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
#include <string.h>

#include "kernel/maxsim.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define NORM_TOLERANCE 1.1e-3f
#define ROWS_AT_ONCE 4

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

bool
lw_values_are_finite(const float *values, size_t count)
{
#if defined(__x86_64__)
	if (has_avx2())
		return lw_row_is_finite_avx2(values, count);
#endif
	return lw_row_is_finite_scalar(values, count);
}

void
lw_swap_values_scalar(const void *from, size_t count, float *values)
{
	const uint8_t *bytes = from;
	size_t		i;

	for (i = 0; i < count; i++, bytes += 4)
	{
		uint32_t	bits = (uint32_t) bytes[0] << 24 | (uint32_t) bytes[1] << 16 | (uint32_t) bytes[2] << 8 | bytes[3];

		memcpy(&values[i], &bits, sizeof(bits));
	}
}

void
lw_swap_values(const void *from, size_t count, float *values)
{
#if defined(__x86_64__)
	if (has_avx2())
	{
		lw_swap_values_avx2(from, count, values);
		return;
	}
#endif
	lw_swap_values_scalar(from, count, values);
}

/* The sums of squares of some rows, each in order: side by side, since a sum waits for its last addition. */
static void
sum_squares(const float *values, size_t rows, size_t dimension, float sums[ROWS_AT_ONCE])
{
	const float *a = values;
	const float *b = values + (rows > 1 ? dimension : 0);
	const float *c = values + (rows > 2 ? 2 * dimension : 0);
	const float *d = values + (rows > 3 ? 3 * dimension : 0);
	float		of_a = 0.0f;
	float		of_b = 0.0f;
	float		of_c = 0.0f;
	float		of_d = 0.0f;
	size_t		i;

	for (i = 0; i < dimension; i++)
	{
		of_a += a[i] * a[i];
		of_b += b[i] * b[i];
		of_c += c[i] * c[i];
		of_d += d[i] * d[i];
	}
	sums[0] = of_a;
	sums[1] = of_b;
	sums[2] = of_c;
	sums[3] = of_d;
}

/* Whether all norms are near enough to 1; *token is moved to the first that is not. */
static bool
check_norms(const float *values, size_t tokens, size_t dimension, size_t *token)
{
	while (*token < tokens)
	{
		size_t		rows = tokens - *token < ROWS_AT_ONCE ? tokens - *token : ROWS_AT_ONCE;
		float		sums[ROWS_AT_ONCE];
		size_t		i;

		sum_squares(values + *token * dimension, rows, dimension, sums);
		for (i = 0; i < rows; i++, ++*token)
			if (!(fabsf(sqrtf(sums[i]) - 1.0f) <= NORM_TOLERANCE))
				return false;
	}
	return true;
}

LwRowProblem
lw_check_rows(const float *values, size_t tokens, size_t dimension,
			  bool normalized, size_t *token, size_t *component)
{
	*component = 0;
	for (*token = 0; *token < tokens; ++*token)
	{
		const float *row = values + *token * dimension;

		if (lw_values_are_finite(row, dimension))
			continue;
		while (fabsf(row[*component]) <= FLT_MAX)
			++*component;
		return LW_ROWS_NOT_FINITE;
	}
	*token = 0;
	return !normalized || check_norms(values, tokens, dimension, token) ? LW_ROWS_FINE : LW_ROWS_NOT_UNIT;
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
