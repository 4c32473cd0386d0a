/*-------------------------------------------------------------------------
 *
 * screen_avx2.c
 *	  Screening with AVX2 and FMA: coarse bounds in tiles of 4 tokens x 16
 *	  lanes.
 *
 * VPMADDUBSW adds two products of a byte without and one with sign into 16
 * bits; with |c| <= 64 that cannot saturate: 2 * 255 * 64 < 2^15.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/screen.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma")))

#define LIMIT 64
#define TILE 4

/* Sum of eight 32-bit integers. */
static inline AVX2 int32_t
sum_of(__m256i parts)
{
	__m128i		four = _mm_add_epi32(_mm256_castsi256_si128(parts), _mm256_extracti128_si256(parts, 1));
	__m128i		two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));

	return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

AVX2 void
lw_shift_avx2(const int8_t *codes, size_t dimension, size_t count, uint8_t *bytes,
	  size_t stride, int32_t *squares)
{
	const __m128i sign = _mm_set1_epi8(-128);
	size_t		token;

	for (token = 0; token < count; token++)
	{
		__m256i		sums = _mm256_setzero_si256();
		int32_t		rest = 0;
		size_t		i;

		for (i = 0; i + 16 <= dimension; i += 16)
		{
			__m128i		some = _mm_loadu_si128((const __m128i *) (codes + i));
			__m256i		words = _mm256_cvtepi8_epi16(some);

			_mm_storeu_si128((__m128i *) (bytes + i), _mm_xor_si128(some, sign));
			sums = _mm256_add_epi32(sums, _mm256_madd_epi16(words, words));
		}
		for (; i < dimension; i++)
		{
			bytes[i] = (uint8_t) (codes[i] + 128);
			rest += codes[i] * codes[i];
		}
		for (; i < stride; i++)
			bytes[i] = 128;
		squares[token] = sum_of(sums) + rest;
		codes += dimension;
		bytes += stride;
	}
}

AVX2 void
lw_unit_factors_avx2(const int32_t *squares, size_t count, float *factors)
{
	size_t		i;

	for (i = 0; i + 4 <= count; i += 4)
	{
		__m128i		four = _mm_loadu_si128((const __m128i *) (squares + i));
		__m256d		norms = _mm256_sqrt_pd(_mm256_cvtepi32_pd(four));
		__m128		inverse = _mm256_cvtpd_ps(_mm256_div_pd(_mm256_set1_pd(1), norms));
		__m128i		some = _mm_cmpgt_epi32(four, _mm_setzero_si128());

		_mm_storeu_ps(factors + i, _mm_and_ps(inverse, _mm_castsi128_ps(some)));
	}
	for (; i < count; i++)
		factors[i] = lw_unit_factor((uint64_t) squares[i]);
}

/* Four bytes of a token in every lane. */
static inline AVX2 __m256i
broadcast(const uint8_t *bytes)
{
	int32_t		four;

	memcpy(&four, bytes, sizeof(four));
	return _mm256_set1_epi32(four);
}

/* A group's sums to start from, b, and largest lower bounds. */
typedef struct Lanes
{
	__m256i		low_start;
	__m256i		high_start;
	__m256		low_margin;
	__m256		high_margin;
	__m256		low_best;
	__m256		high_best;
} Lanes;

typedef void (*Tile) (const LwScreen *screen, const int8_t *codes,
					  size_t token, float *upper, Lanes *state);

#define DECLARE(t) \
	const uint8_t *row##t = rows + t * stride; \
	__m256i		low##t = all.low_start; \
	__m256i		high##t = all.high_start;

#define MULTIPLY_ADD(t) \
	value = broadcast(row##t + i); \
	low##t = _mm256_add_epi32(low##t, _mm256_madd_epi16(_mm256_maddubs_epi16(value, low), ones)); \
	high##t = _mm256_add_epi32(high##t, _mm256_madd_epi16(_mm256_maddubs_epi16(value, high), ones));

#define BOUND(half, offset, t) \
	product = _mm256_cvtepi32_ps(half##t); \
	margin = _mm256_mul_ps(all.half##_margin, size); \
	all.half##_best = _mm256_max_ps(all.half##_best, _mm256_fmsub_ps(product, factor, margin)); \
	_mm256_store_ps(upper + t * LW_LANES + offset, _mm256_fmadd_ps(product, factor, margin));

#define FINISH(t) \
	factor = _mm256_broadcast_ss(screen->factors + token + t); \
	size = _mm256_broadcast_ss(screen->sizes + token + t); \
	BOUND(low, 0, t) \
	BOUND(high, 8, t)

/* Bounds n tokens; meanwhile has a share of the codes that follow the block fetched. */
#define DEFINE_TILE(n) \
static AVX2 void \
tile_##n(const LwScreen *screen, const int8_t *codes, size_t token, float *upper, Lanes *state) \
{ \
	const __m256i ones = _mm256_set1_epi16(1); \
	size_t		stride = screen->stride; \
	const uint8_t *rows = screen->bytes + token * stride; \
	const char *following = (const char *) screen->following + token * stride; \
	Lanes		all = *state; \
	__m256i		low, high, value; \
	__m256		factor, size, product, margin; \
	size_t		i; \
	LW_EACH_##n(DECLARE) \
	\
	LW_UNROLL \
	for (i = 0; i < stride; i += 4) \
	{ \
		_mm_prefetch(following + i * n, _MM_HINT_T1); \
		low = _mm256_load_si256((const __m256i *) (codes + i * LW_LANES)); \
		high = _mm256_load_si256((const __m256i *) (codes + i * LW_LANES + 32)); \
		LW_EACH_##n(MULTIPLY_ADD) \
	} \
	LW_EACH_##n(FINISH) \
	*state = all; \
}

DEFINE_TILE(1)
DEFINE_TILE(2)
DEFINE_TILE(3)
DEFINE_TILE(4)

static const Tile tiles[TILE + 1] = {NULL, tile_1, tile_2, tile_3, tile_4};

AVX2 void
lw_compare_avx2(const float *upper, const float *best, size_t count, uint16_t *can)
{
	__m256		low_best = _mm256_load_ps(best);
	__m256		high_best = _mm256_load_ps(best + 8);
	size_t		token;

	for (token = 0; token < count; token++)
	{
		__m256		low = _mm256_cmp_ps(_mm256_load_ps(upper), low_best, _CMP_GE_OQ);
		__m256		high = _mm256_cmp_ps(_mm256_load_ps(upper + 8), high_best, _CMP_GE_OQ);

		can[token] = (uint16_t) (_mm256_movemask_ps(low) | _mm256_movemask_ps(high) << 8);
		upper += LW_LANES;
	}
}

/* Bounds one group. */
static AVX2 void
bound_group(LwScreen *screen, size_t group, size_t count, float *upper, uint16_t *can)
{
	const int8_t *codes = screen->codes + group * screen->stride * LW_LANES;
	const int32_t *starts = screen->starts + group * LW_LANES;
	const float *margins = screen->coarse + group * LW_LANES;
	float	   *best = screen->coarse_best + group * LW_LANES;
	Lanes		state;
	size_t		token;

	state.low_start = _mm256_load_si256((const __m256i *) starts);
	state.high_start = _mm256_load_si256((const __m256i *) (starts + 8));
	state.low_margin = _mm256_load_ps(margins);
	state.high_margin = _mm256_load_ps(margins + 8);
	state.low_best = _mm256_load_ps(best);
	state.high_best = _mm256_load_ps(best + 8);
	for (token = 0; token < count; token += TILE)
	{
		size_t		left = count - token;

		tiles[left < TILE ? left : TILE] (screen, codes, token, upper + token * LW_LANES, &state);
	}
	_mm256_store_ps(best, state.low_best);
	_mm256_store_ps(best + 8, state.high_best);
	lw_compare_avx2(upper, best, count, can);
}

static void
bound(LwScreen *screen, size_t group, size_t groups, size_t count)
{
	size_t		i;

	for (i = 0; i < groups; i++)
		bound_group(screen, group + i, count,
					screen->upper + i * LW_SCREEN_TOKENS * LW_LANES, screen->can[i]);
}

/* Sixteen codes as floats. */
static inline AVX2 void
load_codes(const int8_t *codes, __m256 *low, __m256 *high)
{
	*low = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *) codes)));
	*high = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *) (codes + 8))));
}

AVX2 float
lw_dot_avx2(const float *vector, const int8_t *codes, size_t dimension)
{
	__m256		sum0 = _mm256_setzero_ps();
	__m256		sum1 = _mm256_setzero_ps();
	__m256		sum2 = _mm256_setzero_ps();
	__m256		sum3 = _mm256_setzero_ps();
	__m256		low;
	__m256		high;
	__m128		sum;
	float		total;
	size_t		i;

	for (i = 0; i + 32 <= dimension; i += 32)
	{
		load_codes(codes + i, &low, &high);
		sum0 = _mm256_fmadd_ps(_mm256_loadu_ps(vector + i), low, sum0);
		sum1 = _mm256_fmadd_ps(_mm256_loadu_ps(vector + i + 8), high, sum1);
		load_codes(codes + i + 16, &low, &high);
		sum2 = _mm256_fmadd_ps(_mm256_loadu_ps(vector + i + 16), low, sum2);
		sum3 = _mm256_fmadd_ps(_mm256_loadu_ps(vector + i + 24), high, sum3);
	}
	low = _mm256_add_ps(_mm256_add_ps(sum0, sum1), _mm256_add_ps(sum2, sum3));
	sum = _mm_add_ps(_mm256_castps256_ps128(low), _mm256_extractf128_ps(low, 1));
	sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
	total = _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
	for (; i < dimension; i++)
		total += vector[i] * codes[i];
	return total;
}

/* One step of the chains: `codes` has a code for each lane. */
static inline AVX2 void
step_lanes(const float *lanes, __m128i codes, __m256 *low, __m256 *high)
{
	__m256		first = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes));
	__m256		second = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(codes, 8)));

	*low = _mm256_fmadd_ps(_mm256_load_ps(lanes), first, *low);
	*high = _mm256_fmadd_ps(_mm256_load_ps(lanes + 8), second, *high);
}

#define LOAD(i) \
	a[i] = _mm_loadu_si128((const __m128i *) (rows[i] + first)); \
	a[i + 8] = _mm_loadu_si128((const __m128i *) (rows[i + 8] + first));

#define INTERLEAVE(to, from, i) \
	to[2 * i] = _mm_unpacklo_epi8(from[i], from[i + 8]); \
	to[2 * i + 1] = _mm_unpackhi_epi8(from[i], from[i + 8]);

#define THERE(i) INTERLEAVE(b, a, i)
#define BACK(i) INTERLEAVE(a, b, i)

/* Columns first .. first + 15 of 16 rows: interleaving halves four times transposes. */
static inline AVX2 void
read_columns(const int8_t *const rows[LW_LANES], size_t first, __m128i a[LW_LANES])
{
	__m128i		b[LW_LANES];

	LW_EACH_8(LOAD)
	LW_EACH_8(THERE)
	LW_EACH_8(BACK)
	LW_EACH_8(THERE)
	LW_EACH_8(BACK)
}

AVX2 void
lw_raise_lanes_avx2(LwQuery *query, size_t group, const int8_t *const rows[LW_LANES],
			const float factors[LW_LANES])
{
	size_t		dimension = query->dimension;
	const float *lanes = query->lanes + group * dimension * LW_LANES;
	float	   *maxima = query->maxima + group * LW_LANES;
	__m256		low = _mm256_setzero_ps();
	__m256		high = _mm256_setzero_ps();
	__m128i		columns[LW_LANES];
	size_t		i;
	int			lane;

	for (i = 0; i + 16 <= dimension; i += 16)
	{
		read_columns(rows, i, columns);
		for (lane = 0; lane < LW_LANES; lane++)
			step_lanes(lanes + (i + lane) * LW_LANES, columns[lane], &low, &high);
	}
	for (; i < dimension; i++)
	{
		int8_t		column[LW_LANES];

		for (lane = 0; lane < LW_LANES; lane++)
			column[lane] = rows[lane][i];
		step_lanes(lanes + i * LW_LANES, _mm_loadu_si128((const __m128i *) column), &low, &high);
	}
	low = _mm256_mul_ps(low, _mm256_loadu_ps(factors));
	high = _mm256_mul_ps(high, _mm256_loadu_ps(factors + 8));
	_mm256_store_ps(maxima, _mm256_max_ps(low, _mm256_load_ps(maxima)));
	_mm256_store_ps(maxima + 8, _mm256_max_ps(high, _mm256_load_ps(maxima + 8)));
}

const LwScreening lw_screening_avx2 =
{LIMIT, lw_shift_avx2, lw_unit_factors_avx2, bound, lw_dot_avx2, lw_raise_lanes_avx2};

#endif							/* __x86_64__ */
