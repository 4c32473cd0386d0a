/*-------------------------------------------------------------------------
 *
 * vectors_avx512.c
 *	  Bounds of single vectors with AVX-512 VNNI; scores are as with AVX2,
 *	  which every such processor has.
 *
 * c is had as 128 * high + low, two bytes, for VPDPBUSD costs hardly
 * anything beside the reading of a row.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/lanes_avx2.h"

#if defined(__x86_64__)

#define AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vnni")))

#define WIDTH 64				/* bytes of a register */

/* Adds products of bytes without and with sign; in assembler, because gcc 12 copies the accumulator of the intrinsic. */
#define ADD_PRODUCTS(sum, bytes, codes) \
	__asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(bytes), "v"(codes))

/* 128 * high + low. */
static inline AVX512 __m512i
join(__m512i high, __m512i low)
{
	return _mm512_add_epi32(_mm512_slli_epi32(high, 7), low);
}

/* Adds the upper eight lanes to the lower. */
static inline AVX512 __m256
halve(__m512 parts)
{
	return _mm256_add_ps(_mm512_castps512_ps256(parts),
						 _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(parts), 1)));
}

static inline AVX512 __m256i
halve_integers(__m512i parts)
{
	return _mm256_add_epi32(_mm512_castsi512_si256(parts), _mm512_extracti64x4_epi64(parts, 1));
}

static inline AVX512 __m512
load_float32(const char *row, size_t i)
{
	return _mm512_loadu_ps(row + i * sizeof(float));
}

static inline AVX512 __m512
load_float16(const char *row, size_t i)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) (row + i * sizeof(uint16_t))));
}

/* The larger of a magnitude and a value's, or a NaN: their order is that of their bits. */
static inline AVX512 __m512
larger(__m512 most, __m512 value)
{
	__m512i		magnitude = _mm512_and_epi32(_mm512_castps_si512(value), _mm512_set1_epi32(INT32_MAX));

	return _mm512_castsi512_ps(_mm512_max_epi32(_mm512_castps_si512(most), magnitude));
}

/* Bounds of rows of floats: F + B M in sixteen lanes. */
#define DEFINE_BOUND(type, width) \
static AVX512 size_t \
bound_##type(LwVectorQuery *query, const LwVectorSlab *slab, size_t first, \
			 size_t count, float least, size_t *left) \
{ \
	const float *packed = query->packed; \
	__m512		constants = _mm512_load_ps(query->constants); \
	size_t		n = query->dimension; \
	const char *row = (const char *) slab->codes + first * n * width; \
	size_t		found = 0; \
	size_t		done; \
	\
	for (done = 0; done < count; done += LW_BOUND_ROWS) \
	{ \
		__m512		largest = _mm512_setzero_ps(); \
		__m256		parts[LW_BOUND_ROWS]; \
		unsigned int bits; \
		int			r; \
		\
		for (r = 0; r < LW_BOUND_ROWS; r++, row += n * width) \
		{ \
			__m512		sum = _mm512_setzero_ps(); \
			__m512		most = _mm512_set1_ps(LW_SMALLEST); \
			size_t		i; \
			\
			for (i = 0; i < n; i += LW_CHUNK) \
			{ \
				__m512		values = load_##type(row, i + LW_CHUNK <= n ? i : n - LW_CHUNK); \
				\
				_mm_prefetch(row + i * width + AHEAD, _MM_HINT_T0); \
				sum = _mm512_fmadd_ps(values, _mm512_load_ps(packed + i), sum); \
				most = larger(most, values); \
			} \
			largest = larger(largest, most); \
			parts[r] = halve(_mm512_fmadd_ps(most, constants, sum)); \
		} \
		bits = not_below(sum_lanes(parts), least); \
		if (_mm512_cmp_ps_mask(largest, _mm512_set1_ps(LW_LARGEST), _CMP_NLE_UQ) != 0) \
			bits = ALL_ROWS; \
		found = list_rows(bits, first + done, left, found); \
	} \
	return found; \
}

DEFINE_BOUND(float32, sizeof(float))
DEFINE_BOUND(float16, sizeof(uint16_t))

/* Bytes from the i-th on, zeros after n. */
static inline AVX512 __m512i
load_some(const char *row, size_t i, size_t n)
{
	return _mm512_maskz_loadu_epi8(n - i < WIDTH ? (UINT64_C(1) << (n - i)) - 1 : UINT64_MAX, row + i);
}

/* c . (d + 128) of a row, in parts. */
static inline AVX512 __m512i
product_int8(const LwVectorQuery *query, const char *row)
{
	const __m512i sign = _mm512_set1_epi8(INT8_MIN);
	const int8_t *packed = query->packed;
	size_t		n = query->dimension;
	__m512i		high = _mm512_setzero_si512();
	__m512i		low = _mm512_setzero_si512();
	size_t		i;

	for (i = 0; i < n; i += WIDTH, packed += 2 * WIDTH)
	{
		__m512i		bytes = _mm512_xor_si512(load_some(row, i, n), sign);

		_mm_prefetch(row + i + AHEAD, _MM_HINT_T0);
		ADD_PRODUCTS(high, bytes, _mm512_load_si512(packed));
		ADD_PRODUCTS(low, bytes, _mm512_load_si512(packed + WIDTH));
	}
	return join(high, low);
}

static AVX512 size_t
bound_int8(LwVectorQuery *query, const LwVectorSlab *slab, size_t first,
		   size_t count, float least, size_t *left)
{
	const __m256 sign = _mm256_set1_ps(-0.0f);
	__m256		step = _mm256_set1_ps(query->step);
	__m256		margin = _mm256_set1_ps(query->margin);
	__m256i		start = _mm256_set1_epi32(-128 * query->sum);
	size_t		n = query->dimension;
	const char *row = (const char *) slab->codes + first * n;
	const char *scales = (const char *) slab->scales + first * sizeof(float);
	size_t		found = 0;
	size_t		done;

	for (done = 0; done < count; done += LW_BOUND_ROWS)
	{
		__m256		factors = _mm256_loadu_ps((const float *) (scales + done * sizeof(float)));
		__m256i		parts[LW_BOUND_ROWS];
		__m256		bounds;
		int			r;

		for (r = 0; r < LW_BOUND_ROWS; r++, row += n)
			parts[r] = halve_integers(product_int8(query, row));
		bounds = _mm256_cvtepi32_ps(_mm256_add_epi32(sum_integer_lanes(parts), start));
		bounds = _mm256_fmadd_ps(bounds, step, _mm256_xor_ps(margin, _mm256_and_ps(factors, sign)));
		found = list_rows(not_below(_mm256_mul_ps(bounds, factors), least), first + done, left, found);
	}
	return found;
}

/* The sum of f (c . (d + 8) + C) of a row, in parts: two blocks a step, each with eight lanes. */
static inline AVX512 __m512
bound_row_int4(const LwVectorQuery *query, const char *codes, const float *scales)
{
	const __m512i signs = _mm512_set1_epi8((char) 0x88);
	const __m512i nibble = _mm512_set1_epi8(15);
	const int8_t *packed = query->packed;
	size_t		bytes = query->dimension / 2;
	size_t		blocks = query->dimension / LW_INT4_BLOCK;
	__m512		parts = _mm512_setzero_ps();
	size_t		i;

	for (i = 0; i < blocks; i += LW_CHUNK)
		parts = _mm512_fmadd_ps(_mm512_loadu_ps(scales + i), _mm512_load_ps(query->constants + i), parts);
	for (i = 0; i < bytes; i += WIDTH, packed += 4 * WIDTH, scales += 2)
	{
		__m512i		both = _mm512_xor_si512(load_some(codes, i, bytes), signs);
		__m512i		even = _mm512_and_si512(both, nibble);
		__m512i		odd = _mm512_and_si512(_mm512_srli_epi16(both, 4), nibble);
		__m512i		high = _mm512_setzero_si512();
		__m512i		low = _mm512_setzero_si512();
		__m512		factors = _mm512_mask_mov_ps(_mm512_set1_ps(scales[0]), 0xff00, _mm512_set1_ps(scales[1]));

		_mm_prefetch(codes + i + AHEAD, _MM_HINT_T0);
		ADD_PRODUCTS(high, even, _mm512_load_si512(packed));
		ADD_PRODUCTS(low, even, _mm512_load_si512(packed + WIDTH));
		ADD_PRODUCTS(high, odd, _mm512_load_si512(packed + 2 * WIDTH));
		ADD_PRODUCTS(low, odd, _mm512_load_si512(packed + 3 * WIDTH));
		parts = _mm512_fmadd_ps(_mm512_cvtepi32_ps(join(high, low)), factors, parts);
	}
	return parts;
}

static AVX512 size_t
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
			for (r = 0; r < LW_BOUND_ROWS; r++, codes += bytes)
				parts[r] = halve(bound_row_int4(query, codes, query->scales + (size_t) r * blocks));
			bits = not_below(_mm256_mul_ps(sum_lanes(parts), _mm256_set1_ps(query->step)), least);
		}
		else
			codes += LW_BOUND_ROWS * bytes;
		found = list_rows(bits, first + done, left, found);
	}
	return found;
}

/* What two bytes hold, and what integer sums do: 255 times it, and a code may be rounded up. */
static int32_t
limit(LwVectorType type, size_t dimension)
{
	int32_t		most = ((1 << 23) - 1) / (int32_t) dimension;
	int32_t		two_bytes = 127 * 128 + 63;

	if (type == LW_VECTOR_INT4)
		return two_bytes;
	return most < two_bytes ? most : two_bytes;
}

/* The i-th byte of each register is code(i): highs first, then lows. */
static void
put_code(int8_t *at, int16_t code)
{
	int			high = (code + 64) >> 7;

	at[0] = (int8_t) high;
	at[WIDTH] = (int8_t) (code - high * 128);
}

static void
pack(LwVectorQuery *query, LwVectorType type)
{
	int8_t	   *packed = query->packed;
	size_t		i;

	for (i = 0; i < query->stride; i++)
	{
		if (type == LW_VECTOR_INT8)
			put_code(packed + i / WIDTH * 2 * WIDTH + i % WIDTH, query->codes[i]);
		else
			put_code(packed + i / (2 * WIDTH) * 4 * WIDTH + i % 2 * 2 * WIDTH + i % (2 * WIDTH) / 2,
					 query->codes[i]);
	}
}

const LwVectorKernel lw_vectors_avx512 = {
	lw_vectors_score_avx2, limit, pack, {bound_float32, bound_float16, bound_int8, bound_int4}
};

#endif							/* __x86_64__ */
