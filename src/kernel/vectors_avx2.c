/*-------------------------------------------------------------------------
 *
 * vectors_avx2.c
 *	  Scores and bounds of single vectors with AVX2, FMA and F16C.
 *
 * Scores: a lane is a row.  Products are had along the rows, eight components
 * at a time, and turned about to be added to the lanes' sums in order.  The
 * functions that score are built without FMA, so that no compiler fuses the
 * product and the sum.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/lanes_avx2.h"
#include "kernel/query.h"

#if defined(__x86_64__)

#include <string.h>

#define EXACT __attribute__((target("avx2,f16c")))

/* ----------
 * Scores
 * ----------
 */
#define LANES 8
#define TOGETHER (2 * LANES)	/* two chains of sums hide an addition's latency */

/* Adds eight products of each of eight rows, one after the other. */
static inline EXACT __m256
add_products(__m256 sums, __m256 p0, __m256 p1, __m256 p2, __m256 p3,
			 __m256 p4, __m256 p5, __m256 p6, __m256 p7)
{
	__m256		a0 = _mm256_unpacklo_ps(p0, p1);
	__m256		a1 = _mm256_unpackhi_ps(p0, p1);
	__m256		a2 = _mm256_unpacklo_ps(p2, p3);
	__m256		a3 = _mm256_unpackhi_ps(p2, p3);
	__m256		a4 = _mm256_unpacklo_ps(p4, p5);
	__m256		a5 = _mm256_unpackhi_ps(p4, p5);
	__m256		a6 = _mm256_unpacklo_ps(p6, p7);
	__m256		a7 = _mm256_unpackhi_ps(p6, p7);
	__m256		b0 = _mm256_shuffle_ps(a0, a2, 0x44);
	__m256		b1 = _mm256_shuffle_ps(a0, a2, 0xee);
	__m256		b2 = _mm256_shuffle_ps(a1, a3, 0x44);
	__m256		b3 = _mm256_shuffle_ps(a1, a3, 0xee);
	__m256		b4 = _mm256_shuffle_ps(a4, a6, 0x44);
	__m256		b5 = _mm256_shuffle_ps(a4, a6, 0xee);
	__m256		b6 = _mm256_shuffle_ps(a5, a7, 0x44);
	__m256		b7 = _mm256_shuffle_ps(a5, a7, 0xee);

	sums = _mm256_add_ps(sums, _mm256_permute2f128_ps(b0, b4, 0x20));
	sums = _mm256_add_ps(sums, _mm256_permute2f128_ps(b1, b5, 0x20));
	sums = _mm256_add_ps(sums, _mm256_permute2f128_ps(b2, b6, 0x20));
	sums = _mm256_add_ps(sums, _mm256_permute2f128_ps(b3, b7, 0x20));
	sums = _mm256_add_ps(sums, _mm256_permute2f128_ps(b0, b4, 0x31));
	sums = _mm256_add_ps(sums, _mm256_permute2f128_ps(b1, b5, 0x31));
	sums = _mm256_add_ps(sums, _mm256_permute2f128_ps(b2, b6, 0x31));
	return _mm256_add_ps(sums, _mm256_permute2f128_ps(b3, b7, 0x31));
}

/* Eight components of a row from the i-th on. */
static inline EXACT __m256
load_float32(const char *row, size_t i)
{
	return _mm256_loadu_ps((const float *) (row + i * sizeof(float)));
}

static inline EXACT __m256
load_float16(const char *row, size_t i)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) (row + i * sizeof(uint16_t))));
}

static inline EXACT __m256
load_int8(const char *row, size_t i)
{
	return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *) (row + i))));
}

/* Of a step that ends where the rows end, all but the last so many components are nothing. */
static const int32_t last[2 * LANES] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};

#define PRODUCT(load, r) _mm256_mul_ps(query, load(rows[r], i))
#define LAST_PRODUCT(load, r) _mm256_and_ps(PRODUCT(load, r), some)

#define ADD_LANES(product, load, sums, r) \
	sums = add_products(sums, product(load, r), product(load, r + 1), product(load, r + 2), \
						product(load, r + 3), product(load, r + 4), product(load, r + 5), \
						product(load, r + 6), product(load, r + 7));

/* Sums of the products of at least eight components, for each of TOGETHER rows. */
#define DEFINE_SUM(type) \
static inline EXACT void \
sum_##type(const float *values, const char *const *rows, size_t count, \
		   __m256 *low, __m256 *high) \
{ \
	__m256		sums0 = _mm256_setzero_ps(); \
	__m256		sums1 = _mm256_setzero_ps(); \
	__m256		query; \
	size_t		i; \
	\
	for (i = 0; i + LANES <= count; i += LANES) \
	{ \
		query = _mm256_loadu_ps(values + i); \
		ADD_LANES(PRODUCT, load_##type, sums0, 0) \
		ADD_LANES(PRODUCT, load_##type, sums1, LANES) \
	} \
	if (i < count) \
	{ \
		__m256		some = _mm256_loadu_ps((const float *) (last + (count - i))); \
		\
		i = count - LANES; \
		query = _mm256_loadu_ps(values + i); \
		ADD_LANES(LAST_PRODUCT, load_##type, sums0, 0) \
		ADD_LANES(LAST_PRODUCT, load_##type, sums1, LANES) \
	} \
	*low = sums0; \
	*high = sums1; \
}

DEFINE_SUM(float32)
DEFINE_SUM(float16)
DEFINE_SUM(int8)

/* The codes of a block, a byte each. */
static inline EXACT void
spread_block(const char *codes, char *bytes)
{
	const __m256i low = _mm256_set1_epi8(15);
	const __m256i sign = _mm256_set1_epi8(8);
	__m256i		pairs = _mm256_loadu_si256((const __m256i *) codes);
	__m256i		even = _mm256_and_si256(pairs, low);
	__m256i		odd = _mm256_and_si256(_mm256_srli_epi16(pairs, 4), low);
	__m256i		first;
	__m256i		second;

	even = _mm256_sub_epi8(_mm256_xor_si256(even, sign), sign);
	odd = _mm256_sub_epi8(_mm256_xor_si256(odd, sign), sign);
	first = _mm256_unpacklo_epi8(even, odd);
	second = _mm256_unpackhi_epi8(even, odd);
	_mm256_storeu_si256((__m256i *) bytes, _mm256_permute2x128_si256(first, second, 0x20));
	_mm256_storeu_si256((__m256i *) (bytes + 32), _mm256_permute2x128_si256(first, second, 0x31));
}

/* Scores of int4 rows; `scales` are those of their first blocks. */
static inline EXACT void
sum_int4(const float *values, const char *const *rows, const char *const *scales,
		 size_t dimension, __m256 *low, __m256 *high)
{
	char		bytes[TOGETHER][LW_INT4_BLOCK];
	const char *spread[TOGETHER];
	uint16_t	halves[TOGETHER];
	__m256		sums0 = _mm256_setzero_ps();
	__m256		sums1 = _mm256_setzero_ps();
	__m256		parts0;
	__m256		parts1;
	size_t		block;
	int			r;

	for (r = 0; r < TOGETHER; r++)
		spread[r] = bytes[r];
	for (block = 0; block < dimension / LW_INT4_BLOCK; block++)
	{
		for (r = 0; r < TOGETHER; r++)
		{
			spread_block(rows[r] + block * LW_INT4_BLOCK / 2, bytes[r]);
			memcpy(&halves[r], scales[r] + block * sizeof(uint16_t), sizeof(uint16_t));
		}
		sum_int8(values + block * LW_INT4_BLOCK, spread, LW_INT4_BLOCK, &parts0, &parts1);
		sums0 = _mm256_add_ps(sums0, _mm256_mul_ps(parts0, load_float16((const char *) halves, 0)));
		sums1 = _mm256_add_ps(sums1, _mm256_mul_ps(parts1, load_float16((const char *) halves, LANES)));
	}
	*low = sums0;
	*high = sums1;
}

/* Finds where TOGETHER rows begin among those of `bytes` each. */
static inline void
find_rows(const void *base, size_t bytes, const size_t *rows, const char **begin)
{
	int			r;

	for (r = 0; r < TOGETHER; r++)
		begin[r] = (const char *) base + rows[r] * bytes;
}

/* Scores of TOGETHER rows. */
static EXACT void
score_together(const LwVectorQuery *query, const LwVectorSlab *slab,
			   const size_t *rows, float *scores)
{
	size_t		n = query->dimension;
	const char *codes[TOGETHER];
	const char *scales[TOGETHER];
	float		factors[TOGETHER];
	__m256		low = _mm256_setzero_ps();
	__m256		high = _mm256_setzero_ps();
	int			r;

	switch (slab->type)
	{
		case LW_VECTOR_FLOAT32:
			find_rows(slab->codes, n * sizeof(float), rows, codes);
			sum_float32(query->values, codes, n, &low, &high);
			break;
		case LW_VECTOR_FLOAT16:
			find_rows(slab->codes, n * sizeof(uint16_t), rows, codes);
			sum_float16(query->values, codes, n, &low, &high);
			break;
		case LW_VECTOR_INT8:
			find_rows(slab->codes, n, rows, codes);
			find_rows(slab->scales, sizeof(float), rows, scales);
			for (r = 0; r < TOGETHER; r++)
				memcpy(&factors[r], scales[r], sizeof(float));
			sum_int8(query->values, codes, n, &low, &high);
			low = _mm256_mul_ps(low, _mm256_loadu_ps(factors));
			high = _mm256_mul_ps(high, _mm256_loadu_ps(factors + LANES));
			break;
		case LW_VECTOR_INT4:
			find_rows(slab->codes, n / 2, rows, codes);
			find_rows(slab->scales, n / LW_INT4_BLOCK * sizeof(uint16_t), rows, scales);
			sum_int4(query->values, codes, scales, n, &low, &high);
			break;
	}
	_mm256_storeu_ps(scores, low);
	_mm256_storeu_ps(scores + LANES, high);
}

void
lw_vectors_score_avx2(const LwVectorQuery *query, const LwVectorSlab *slab,
					  const size_t *rows, size_t count, float *scores)
{
	size_t		few[TOGETHER];
	float		few_scores[TOGETHER];
	size_t		done;
	size_t		i;

	if (query->dimension < LANES)
	{
		lw_vectors_scalar.score(query, slab, rows, count, scores);
		return;
	}
	for (done = 0; done + TOGETHER <= count; done += TOGETHER)
		score_together(query, slab, rows + done, scores + done);
	if (done < count)
	{
		for (i = 0; i < TOGETHER; i++)
			few[i] = rows[done + i < count ? done + i : done];
		score_together(query, slab, few, few_scores);
		memcpy(scores + done, few_scores, (count - done) * sizeof(float));
	}
}

/* ----------
 * Bounds
 * ----------
 */
static inline AVX2 __m256
magnitude(__m256 values)
{
	return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), values);
}

/* The larger of magnitudes, or a NaN: their order is that of their bits. */
static inline AVX2 __m256
larger(__m256 a, __m256 b)
{
	return _mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}

/* F + B M of eight lanes of a row; raises *largest to M. */
static inline AVX2 __m256
bound_row_float32(const LwVectorQuery *query, const char *row, __m256 *largest)
{
	const float *packed = query->packed;
	size_t		n = query->dimension;
	__m256		sum0 = _mm256_setzero_ps();
	__m256		sum1 = _mm256_setzero_ps();
	__m256		most0 = _mm256_set1_ps(LW_SMALLEST);
	__m256		most1 = _mm256_set1_ps(LW_SMALLEST);
	size_t		i;
	size_t		at;

	for (i = 0; i < n; i += LW_CHUNK)
	{
		__m256		low;
		__m256		high;

		_mm_prefetch(row + i * sizeof(float) + AHEAD, _MM_HINT_T0);
		at = i + LW_CHUNK <= n ? i : n - LW_CHUNK;
		low = load_float32(row, at);
		high = load_float32(row, at + LANES);
		sum0 = _mm256_fmadd_ps(low, _mm256_load_ps(packed + i), sum0);
		sum1 = _mm256_fmadd_ps(high, _mm256_load_ps(packed + i + LANES), sum1);
		most0 = larger(most0, magnitude(low));
		most1 = larger(most1, magnitude(high));
	}
	*largest = larger(*largest, larger(most0, most1));
	sum0 = _mm256_fmadd_ps(most0, _mm256_load_ps(query->constants), sum0);
	sum1 = _mm256_fmadd_ps(most1, _mm256_load_ps(query->constants + LANES), sum1);
	return _mm256_add_ps(sum0, sum1);
}

static AVX2 size_t
bound_float32(LwVectorQuery *query, const LwVectorSlab *slab, size_t first,
			  size_t count, float least, size_t *left)
{
	size_t		bytes = query->dimension * sizeof(float);
	const char *row = (const char *) slab->codes + first * bytes;
	size_t		found = 0;
	size_t		done;

	for (done = 0; done < count; done += LW_BOUND_ROWS)
	{
		__m256		largest = _mm256_setzero_ps();
		__m256		parts[LW_BOUND_ROWS];
		unsigned int bits;
		int			r;

		for (r = 0; r < LW_BOUND_ROWS; r++, row += bytes)
			parts[r] = bound_row_float32(query, row, &largest);
		bits = not_below(sum_lanes(parts), least);
		if (_mm256_movemask_ps(_mm256_cmp_ps(largest, _mm256_set1_ps(LW_LARGEST), _CMP_NLE_UQ)) != 0)
			bits = ALL_ROWS;
		found = list_rows(bits, first + done, left, found);
	}
	return found;
}

/* F + B M of a row. */
static inline AVX2 __m256
bound_row_float16(const LwVectorQuery *query, const char *row)
{
	const __m256i sign = _mm256_set1_epi16(INT16_MIN);
	const float *packed = query->packed;
	size_t		n = query->dimension;
	__m256		sum0 = _mm256_setzero_ps();
	__m256		sum1 = _mm256_setzero_ps();
	__m256i		most = _mm256_set1_epi16(1);	/* 2^-24 */
	size_t		i;
	size_t		at;

	for (i = 0; i < n; i += LW_CHUNK)
	{
		_mm_prefetch(row + i * sizeof(uint16_t) + AHEAD, _MM_HINT_T0);
		at = i + LW_CHUNK <= n ? i : n - LW_CHUNK;
		sum0 = _mm256_fmadd_ps(load_float16(row, at), _mm256_load_ps(packed + i), sum0);
		sum1 = _mm256_fmadd_ps(load_float16(row, at + LANES), _mm256_load_ps(packed + i + LANES), sum1);
		most = _mm256_max_epi16(most, _mm256_andnot_si256(sign, _mm256_loadu_si256((const __m256i *) (row + 2 * at))));
	}
	sum0 = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(most)), _mm256_load_ps(query->constants), sum0);
	sum1 = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(most, 1)),
						   _mm256_load_ps(query->constants + LANES), sum1);
	return _mm256_add_ps(sum0, sum1);
}

static AVX2 size_t
bound_float16(LwVectorQuery *query, const LwVectorSlab *slab, size_t first,
			  size_t count, float least, size_t *left)
{
	size_t		bytes = query->dimension * sizeof(uint16_t);
	const char *row = (const char *) slab->codes + first * bytes;
	size_t		found = 0;
	size_t		done;

	for (done = 0; done < count; done += LW_BOUND_ROWS)
	{
		__m256		parts[LW_BOUND_ROWS];
		int			r;

		for (r = 0; r < LW_BOUND_ROWS; r++, row += bytes)
			parts[r] = bound_row_float16(query, row);
		found = list_rows(not_below(sum_lanes(parts), least), first + done, left, found);
	}
	return found;
}

/* Two rows at a time share the loads of the query. */
#define PAIR 2

#define ADD_INT8(r) \
	words = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *) (row + r * n + at))); \
	parts##r = _mm256_add_epi32(parts##r, _mm256_madd_epi16(words, codes));

/* c . d of two rows, in parts. */
static inline AVX2 void
multiply_pair_int8(const LwVectorQuery *query, const char *row, __m256i *parts)
{
	const int16_t *packed = query->packed;
	size_t		n = query->dimension;
	__m256i		parts0 = _mm256_setzero_si256();
	__m256i		parts1 = _mm256_setzero_si256();
	__m256i		codes;
	__m256i		words;
	size_t		i;

	for (i = 0; i < n; i += LW_CHUNK)
	{
		size_t		at = i + LW_CHUNK <= n ? i : n - LW_CHUNK;

		_mm_prefetch(row + i * PAIR + AHEAD, _MM_HINT_T0);
		codes = _mm256_load_si256((const __m256i *) (packed + i));
		LW_EACH_2(ADD_INT8)
	}
	parts[0] = parts0;
	parts[1] = parts1;
}

static AVX2 size_t
bound_int8(LwVectorQuery *query, const LwVectorSlab *slab, size_t first,
		   size_t count, float least, size_t *left)
{
	const __m256 sign = _mm256_set1_ps(-0.0f);
	__m256		step = _mm256_set1_ps(query->step);
	__m256		margin = _mm256_set1_ps(query->margin);
	size_t		bytes = query->dimension;
	const char *row = (const char *) slab->codes + first * bytes;
	const char *scales = (const char *) slab->scales + first * sizeof(float);
	size_t		found = 0;
	size_t		done;

	for (done = 0; done < count; done += LW_BOUND_ROWS)
	{
		__m256		factors = load_float32(scales, done);
		__m256i		parts[LW_BOUND_ROWS];
		__m256		bounds;
		int			r;

		for (r = 0; r < LW_BOUND_ROWS; r += PAIR, row += PAIR * bytes)
			multiply_pair_int8(query, row, parts + r);
		bounds = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum_integer_lanes(parts)), step,
								 _mm256_xor_ps(margin, _mm256_and_ps(factors, sign)));
		found = list_rows(not_below(_mm256_mul_ps(bounds, factors), least),
						  first + done, left, found);
	}
	return found;
}

/* Widens halves, `count` in whole eights; false when one of them is negative, infinite or a NaN. */
AVX2 bool
lw_widen_scales_avx2(const void *halves, size_t count, float *scales)
{
	const __m128i one = _mm_set1_epi16(0x0400);	/* of the exponent */
	__m128i		strange = _mm_setzero_si128();
	size_t		i;

	for (i = 0; i < count; i += 8)
	{
		__m128i		some = _mm_loadu_si128((const __m128i *) ((const char *) halves + i * sizeof(uint16_t)));

		strange = _mm_or_si128(strange, _mm_adds_epu16(some, one));
		_mm256_storeu_ps(scales + i, _mm256_cvtph_ps(some));
	}
	return _mm_testz_si128(strange, _mm_set1_epi16(INT16_MIN));
}

/* Adds a block to a row's parts. */
#define ADD_BLOCK(r) \
	bytes = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *) (codes + r * row_bytes)), signs); \
	words = _mm256_add_epi16(_mm256_maddubs_epi16(_mm256_and_si256(bytes, low), even), \
							 _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(bytes, 4), low), odd)); \
	parts##r = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_madd_epi16(words, ones)), \
							   _mm256_broadcast_ss(scales + r * blocks), parts##r);

/* The sum of f (c . (d + 8) + C) of two rows, in parts: 2 * 2 * 15 * 127 fits into 16 bits. */
static inline AVX2 void
bound_pair_int4(const LwVectorQuery *query, const char *codes, const float *scales,
				__m256 *parts)
{
	const __m256i signs = _mm256_set1_epi8((char) 0x88);
	const __m256i low = _mm256_set1_epi8(15);
	const __m256i ones = _mm256_set1_epi16(1);
	const int8_t *packed = query->packed;
	size_t		blocks = query->dimension / LW_INT4_BLOCK;
	size_t		row_bytes = query->dimension / 2;
	const char *ahead = codes + AHEAD;
	__m256		parts0 = _mm256_setzero_ps();
	__m256		parts1 = _mm256_setzero_ps();
	__m256i		even;
	__m256i		odd;
	__m256i		bytes;
	__m256i		words;
	size_t		i;

	for (i = 0; i < blocks; i += LANES)
	{
		__m256		constants = _mm256_load_ps(query->constants + i);

		parts0 = _mm256_fmadd_ps(_mm256_loadu_ps(scales + i), constants, parts0);
		parts1 = _mm256_fmadd_ps(_mm256_loadu_ps(scales + blocks + i), constants, parts1);
	}
	for (i = 0; i < blocks; i++)
	{
		_mm_prefetch(ahead + i * LW_INT4_BLOCK, _MM_HINT_T0);
		even = _mm256_load_si256((const __m256i *) packed);
		odd = _mm256_load_si256((const __m256i *) (packed + 32));
		LW_EACH_2(ADD_BLOCK)
		packed += LW_INT4_BLOCK;
		codes += LW_INT4_BLOCK / 2;
		scales++;
	}
	parts[0] = parts0;
	parts[1] = parts1;
}

static AVX2 size_t
bound_int4(LwVectorQuery *query, const LwVectorSlab *slab, size_t first,
		   size_t count, float least, size_t *left)
{
	size_t		blocks = query->dimension / LW_INT4_BLOCK;
	size_t		bytes = query->dimension / 2;
	const char *codes = (const char *) slab->codes + first * bytes;
	const char *scales = (const char *) slab->scales + first * blocks * sizeof(uint16_t);
	size_t		found = 0;
	size_t		done;

	for (done = 0; done < count; done += LW_BOUND_ROWS)
	{
		unsigned int bits = ALL_ROWS;
		__m256		parts[LW_BOUND_ROWS];
		int			r;

		if (lw_widen_scales_avx2(scales + done * blocks * sizeof(uint16_t), LW_BOUND_ROWS * blocks,
								 query->scales))
		{
			for (r = 0; r < LW_BOUND_ROWS; r += PAIR)
				bound_pair_int4(query, codes + (done + (size_t) r) * bytes, query->scales + (size_t) r * blocks,
								parts + r);
			bits = not_below(_mm256_mul_ps(sum_lanes(parts), _mm256_set1_ps(query->step)), least);
		}
		found = list_rows(bits, first + done, left, found);
	}
	return found;
}

static int32_t
limit(LwVectorType type, size_t dimension)
{
	int32_t		most = ((1 << 24) - 1) / (int32_t) dimension;	/* sums of 128 times it fit into 31 bits */

	if (type == LW_VECTOR_INT4)
		return 127;
	return most < INT16_MAX ? most : INT16_MAX;
}

static void
pack(LwVectorQuery *query, LwVectorType type)
{
	size_t		n = query->dimension;
	size_t		whole = n / LW_CHUNK * LW_CHUNK;
	int16_t    *words = query->packed;
	int8_t	   *bytes = query->packed;
	size_t		i;

	if (type == LW_VECTOR_INT4)
	{
		for (i = 0; i < n; i++)
			bytes[i / LW_INT4_BLOCK * LW_INT4_BLOCK + i % 2 * 32 + i % LW_INT4_BLOCK / 2] = (int8_t) query->codes[i];
		return;
	}
	memcpy(words, query->codes, whole * sizeof(int16_t));
	if (whole < n)
	{
		memset(words + whole, 0, LW_CHUNK * sizeof(int16_t));
		memcpy(words + whole + LW_CHUNK - (n - whole), query->codes + whole, (n - whole) * sizeof(int16_t));
	}
}

const LwVectorKernel lw_vectors_avx2 = {
	lw_vectors_score_avx2, limit, pack, {bound_float32, bound_float16, bound_int8, bound_int4}
};

#endif							/* __x86_64__ */
