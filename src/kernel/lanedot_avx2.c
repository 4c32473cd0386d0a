/*-------------------------------------------------------------------------
 *
 * lanedot_avx2.c
 *	  Dot products in eight partial sums: four rows at a time, so that no sum
 *	  waits for its last step.  Never a fused step: FMA is not asked for.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/lanedot.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "format/half.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define AVX2 __attribute__((target("avx2,f16c")))
#define INLINE static inline __attribute__((always_inline)) AVX2

#define LANES 8
#define ROWS 4					/* at a time */
#define AHEAD 4					/* cache lines of a row that are fetched ahead */

/* Where a row lies; `scales` are its own. */
typedef struct Row
{
	const char *codes;
	const char *scales;
} Row;

INLINE float
float_at(const char *bytes)
{
	float		value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

INLINE float
half_at(const char *bytes)
{
	uint16_t	half;

	memcpy(&half, bytes, sizeof(half));
	return lw_half_to_float(half);
}

INLINE __m256
half_scale(const char *bytes)
{
	uint16_t	half;

	memcpy(&half, bytes, sizeof(half));
	return _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

/* Eight numbers of four bits. */
INLINE __m256i
nibbles_at(const char *bytes)
{
	int			word;

	memcpy(&word, bytes, sizeof(word));
	return _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(word),
											  _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28)),
							_mm256_set1_epi32(15));
}

/* Components at .. at + LANES - 1 of a row. */
INLINE __m256
decode(LwVectorType type, const Row *row, size_t at)
{
	__m256i		codes;
	__m256		scale;

	switch (type)
	{
		case LW_VECTOR_FLOAT32:
			return _mm256_loadu_ps((const float *) (row->codes + at * sizeof(float)));
		case LW_VECTOR_FLOAT16:
			return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) (row->codes + at * sizeof(uint16_t))));
		case LW_VECTOR_INT8:
			codes = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *) (row->codes + at)));
			scale = _mm256_broadcast_ss((const float *) row->scales);
			break;
		default:
			codes = _mm256_xor_si256(nibbles_at(row->codes + at / 2), _mm256_set1_epi32(8));
			codes = _mm256_sub_epi32(codes, _mm256_set1_epi32(8));
			scale = half_scale(row->scales + at / LW_INT4_BLOCK * sizeof(uint16_t));
			break;
	}
	return _mm256_mul_ps(_mm256_cvtepi32_ps(codes), scale);
}

/* A component behind the last eight; int4 has none. */
INLINE float
decode_one(LwVectorType type, const Row *row, size_t at)
{
	switch (type)
	{
		case LW_VECTOR_FLOAT32:
			return float_at(row->codes + at * sizeof(float));
		case LW_VECTOR_FLOAT16:
			return half_at(row->codes + at * sizeof(uint16_t));
		default:
			return (float) ((const int8_t *) row->codes)[at] * float_at(row->scales);
	}
}

INLINE float
finish(LwVectorType type, const float *vector, size_t dimension, const Row *row, __m256 sums)
{
	float		a[LANES];
	float		tail = 0.0f;
	size_t		i;

	_mm256_storeu_ps(a, sums);
	for (i = dimension / LANES * LANES; i < dimension; i++)
		tail += vector[i] * decode_one(type, row, i);
	return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7])) + tail;
}

INLINE Row
locate(LwVectorType type, const LwVectorSlab *slab, size_t number)
{
	static const size_t half_bytes[LW_VECTOR_TYPES] = {8, 4, 2, 1}; /* of a component */
	size_t		n = slab->dimension;
	Row			row = {slab->codes, slab->scales};

	row.codes += number * (n * half_bytes[type] / 2);
	if (type == LW_VECTOR_INT8)
		row.scales += number * sizeof(float);
	else if (type == LW_VECTOR_INT4)
		row.scales += number * (n / LW_INT4_BLOCK * sizeof(uint16_t));
	return row;
}

/* One step of a row. */
INLINE __m256
step(LwVectorType type, __m256 sums, __m256 part, const Row *row, size_t at)
{
	return _mm256_add_ps(sums, _mm256_mul_ps(part, decode(type, row, at)));
}

INLINE void
dot_rows(LwVectorType type, const float *vector, size_t dimension, const Row *rows, float *dots)
{
	__m256		sums0 = _mm256_setzero_ps();
	__m256		sums1 = _mm256_setzero_ps();
	__m256		sums2 = _mm256_setzero_ps();
	__m256		sums3 = _mm256_setzero_ps();
	size_t		i;

	for (i = 0; i + LANES <= dimension; i += LANES)
	{
		__m256		part = _mm256_loadu_ps(vector + i);

		sums0 = step(type, sums0, part, &rows[0], i);
		sums1 = step(type, sums1, part, &rows[1], i);
		sums2 = step(type, sums2, part, &rows[2], i);
		sums3 = step(type, sums3, part, &rows[3], i);
	}
	dots[0] = finish(type, vector, dimension, &rows[0], sums0);
	dots[1] = finish(type, vector, dimension, &rows[1], sums1);
	dots[2] = finish(type, vector, dimension, &rows[2], sums2);
	dots[3] = finish(type, vector, dimension, &rows[3], sums3);
}

/* Where fewer than four rows are left, the last one is taken again. */
INLINE void
dot_type(LwVectorType type, const float *vector, const LwVectorSlab *slab,
		 const uint32_t *rows, size_t count, float *dots)
{
	size_t		done;

	for (done = 0; done < count; done += ROWS)
	{
		Row			places[ROWS];
		float		results[ROWS];
		size_t		have = count - done < ROWS ? count - done : ROWS;
		size_t		next;
		size_t		i;

		for (i = 0; i < ROWS; i++)
			places[i] = locate(type, slab, rows[done + (i < have ? i : have - 1)]);
		for (next = done + ROWS; next < count && next < done + 2 * ROWS; next++)
			for (i = 0; i < AHEAD; i++)
				_mm_prefetch(locate(type, slab, rows[next]).codes + i * 64, _MM_HINT_T0);
		dot_rows(type, vector, slab->dimension, places, results);
		memcpy(dots + done, results, have * sizeof(float));
	}
}

AVX2 void
lw_lane_dots_avx2(const float *vector, const LwVectorSlab *slab, const uint32_t *rows, size_t count, float *dots)
{
	switch (slab->type)
	{
		case LW_VECTOR_FLOAT32:
			dot_type(LW_VECTOR_FLOAT32, vector, slab, rows, count, dots);
			break;
		case LW_VECTOR_FLOAT16:
			dot_type(LW_VECTOR_FLOAT16, vector, slab, rows, count, dots);
			break;
		case LW_VECTOR_INT8:
			dot_type(LW_VECTOR_INT8, vector, slab, rows, count, dots);
			break;
		case LW_VECTOR_INT4:
			dot_type(LW_VECTOR_INT4, vector, slab, rows, count, dots);
			break;
	}
}

#endif							/* __x86_64__ */
