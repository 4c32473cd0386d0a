/*-------------------------------------------------------------------------
 *
 * lanes_avx2.h
 *	  What finding bounds shares among the instruction sets that have AVX2:
 *	  from eight rows' lanes to the list of rows that are left.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_KERNEL_LANES_AVX2_H
#define LW_KERNEL_LANES_AVX2_H

#include "kernel/bounds.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma,f16c")))

#define ALL_ROWS 0xffU			/* a bit for each of LW_BOUND_ROWS */
#define AHEAD 4096				/* bytes; what is fetched so far ahead makes rows come as fast as memory gives them */

/* Sums of the lanes of eight vectors. */
static inline AVX2 __m256
sum_lanes(const __m256 *parts)
{
	__m256		low = _mm256_hadd_ps(_mm256_hadd_ps(parts[0], parts[1]), _mm256_hadd_ps(parts[2], parts[3]));
	__m256		high = _mm256_hadd_ps(_mm256_hadd_ps(parts[4], parts[5]), _mm256_hadd_ps(parts[6], parts[7]));

	return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
}

static inline AVX2 __m256i
sum_integer_lanes(const __m256i *parts)
{
	__m256i		low = _mm256_hadd_epi32(_mm256_hadd_epi32(parts[0], parts[1]), _mm256_hadd_epi32(parts[2], parts[3]));
	__m256i		high = _mm256_hadd_epi32(_mm256_hadd_epi32(parts[4], parts[5]), _mm256_hadd_epi32(parts[6], parts[7]));

	return _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31));
}

/* Lists the rows from `row` on whose bits are set; returns how many are listed now. */
static inline size_t
list_rows(unsigned int bits, size_t row, size_t *left, size_t found)
{
	for (; bits != 0; bits &= bits - 1)
		left[found++] = row + (size_t) __builtin_ctz(bits);
	return found;
}

/* The bits of eight rows whose bounds are not below. */
static inline AVX2 unsigned int
not_below(__m256 bounds, float least)
{
	return (unsigned int) _mm256_movemask_ps(_mm256_cmp_ps(bounds, _mm256_set1_ps(least), _CMP_NLT_UQ));
}

#endif							/* __x86_64__ */

#endif							/* LW_KERNEL_LANES_AVX2_H */
