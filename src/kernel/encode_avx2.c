/*-------------------------------------------------------------------------
 *
 * encode_avx2.c
 *	  Rows that go into a store, eight values at a time; the bits are those of
 *	  encode.c, since a maximum has no order and the rest is value by value.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/encode.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>

#define AVX2 __attribute__((target("avx2")))

#define LANES 8

AVX2 bool
lw_row_is_finite_avx2(const float *values, size_t dimension)
{
	const __m256i exponent = _mm256_set1_epi32(0x7f800000);
	__m256i		odd = _mm256_setzero_si256();
	size_t		i;

	for (i = 0; i + LANES <= dimension; i += LANES)
	{
		__m256i		bits = _mm256_loadu_si256((const __m256i *) (values + i));

		odd = _mm256_or_si256(odd, _mm256_cmpeq_epi32(_mm256_and_si256(bits, exponent), exponent));
	}
	return _mm256_testz_si256(odd, odd) && lw_row_is_finite_scalar(values + i, dimension - i);
}

AVX2 void
lw_swap_values_avx2(const void *from, size_t count, float *values)
{
	const __m256i order = _mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
										   3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
	const char *bytes = from;
	size_t		i;

	for (i = 0; i + LANES <= count; i += LANES)
		_mm256_storeu_si256((__m256i *) (values + i),
							_mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *) (bytes + 4 * i)), order));
	lw_swap_values_scalar(bytes + 4 * i, count - i, values + i);
}

/* The greatest magnitude of whole blocks and of what follows them. */
static AVX2 float
greatest(const float *values, size_t dimension)
{
	const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
	__m256		most = _mm256_setzero_ps();
	float		lanes[LANES];
	float		result = 0.0f;
	size_t		i;

	for (i = 0; i + LANES <= dimension; i += LANES)
		most = _mm256_max_ps(most, _mm256_and_ps(_mm256_loadu_ps(values + i), magnitude));
	for (; i < dimension; i++)
		if (fabsf(values[i]) > result)
			result = fabsf(values[i]);
	_mm256_storeu_ps(lanes, most);
	for (i = 0; i < LANES; i++)
		if (lanes[i] > result)
			result = lanes[i];
	return result;
}

/* Codes of eight values. */
static inline AVX2 __m128i
codes_of(__m256 values, __m256 scale)
{
	const __m256 sign = _mm256_set1_ps(-0.0f);
	__m256		quotient = _mm256_div_ps(values, scale);
	__m256		magnitude = _mm256_min_ps(_mm256_andnot_ps(sign, quotient), _mm256_set1_ps(LW_INT8_MOST));
	__m256		whole = _mm256_round_ps(magnitude, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
	__m256		up = _mm256_cmp_ps(_mm256_sub_ps(magnitude, whole), _mm256_set1_ps(0.5f), _CMP_GE_OQ);
	__m256i		wide;
	__m128i		words;

	whole = _mm256_add_ps(whole, _mm256_and_ps(up, _mm256_set1_ps(1.0f)));
	wide = _mm256_cvttps_epi32(_mm256_or_ps(whole, _mm256_and_ps(sign, quotient)));
	words = _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
	return _mm_packs_epi16(words, words);
}

AVX2 float
lw_encode_row_avx2(const float *values, size_t dimension, int8_t *codes)
{
	float		scale = greatest(values, dimension) / LW_INT8_MOST;
	float		rest[LANES] = {0};
	int8_t		rest_codes[LANES];
	__m256		scales;
	size_t		i;
	size_t		j;

	if (scale < LW_INT8_LEAST_SCALE)
		scale = LW_INT8_LEAST_SCALE;
	scales = _mm256_set1_ps(scale);
	for (i = 0; i + LANES <= dimension; i += LANES)
		_mm_storel_epi64((__m128i *) (codes + i), codes_of(_mm256_loadu_ps(values + i), scales));
	for (j = 0; i + j < dimension; j++)
		rest[j] = values[i + j];
	_mm_storel_epi64((__m128i *) rest_codes, codes_of(_mm256_loadu_ps(rest), scales));
	for (j = 0; i + j < dimension; j++)
		codes[i + j] = rest_codes[j];
	return scale;
}

#endif							/* __x86_64__ */
