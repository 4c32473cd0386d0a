/*-------------------------------------------------------------------------
 *
 * screen_avx2.c
 *	  Screening with AVX2 and FMA: coarse bounds in tiles of 3 tokens x 16
 *	  lanes, or of 6 x 8 where a group has no more than 8 query tokens.
 *
 * VPMADDUBSW adds two products of a byte without and one with sign into 16
 * bits, where half a run is summed before it is widened (screen.h).
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/screen.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma")))

#define LIMIT 127
#define TILE 3
#define NARROW_TILE 6

static const int16_t ones[16] __attribute__((aligned(32))) =
{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

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
	const __m256i sign = _mm256_set1_epi8(-128);
	size_t		token;

	for (token = 0; token < count; token++)
	{
		__m256i		sums = _mm256_setzero_si256();
		int32_t		rest = 0;
		size_t		i;

		for (i = 0; i + 32 <= dimension; i += 32)
		{
			__m256i		some = _mm256_loadu_si256((const __m256i *) (codes + i));
			__m256i		odd = _mm256_srai_epi16(some, 8);
			__m256i		even = _mm256_srai_epi16(_mm256_slli_epi16(some, 8), 8);

			_mm256_storeu_si256((__m256i *) (bytes + i), _mm256_xor_si256(some, sign));
			sums = _mm256_add_epi32(sums, _mm256_add_epi32(_mm256_madd_epi16(odd, odd),
														   _mm256_madd_epi16(even, even)));
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
lw_unit_factors_avx2(const int32_t *squares, size_t count, float *factors, float *sizes)
{
	size_t		i;

	for (i = 0; i + 4 <= count; i += 4)
	{
		__m128i		four = _mm_loadu_si128((const __m128i *) (squares + i));
		__m256d		norms = _mm256_sqrt_pd(_mm256_cvtepi32_pd(four));
		__m128		inverse = _mm256_cvtpd_ps(_mm256_div_pd(_mm256_set1_pd(1), norms));
		__m128		some = _mm_castsi128_ps(_mm_cmpgt_epi32(four, _mm_setzero_si128()));

		_mm_storeu_ps(factors + i, _mm_and_ps(inverse, some));
		_mm_storeu_ps(sizes + i, _mm_and_ps(_mm_set1_ps(1), some));
	}
	for (; i < count; i++)
	{
		factors[i] = lw_unit_factor((uint64_t) squares[i]);
		sizes[i] = squares[i] > 0 ? 1.0f : 0.0f;
	}
}

/* Four bytes of a token in every lane. */
static inline AVX2 __m256i
broadcast(const uint8_t *bytes)
{
	int32_t		four;

	memcpy(&four, bytes, sizeof(four));
	return _mm256_set1_epi32(four);
}

/* A group's b and largest lower bounds. */
typedef struct Lanes
{
	__m256		low_margin;
	__m256		high_margin;
	__m256		low_best;
	__m256		high_best;
} Lanes;

typedef void (*Tile) (const LwScreen *screen, const int8_t *codes, const int16_t *starts,
					  size_t token, float *upper, Lanes *state);

#define DECLARE_LOW(t) \
	const uint8_t *row##t = rows + t * stride; \
	__m256i		low##t = _mm256_setzero_si256(); \
	__m256i		low_run##t;

#define DECLARE(t) \
	DECLARE_LOW(t) \
	__m256i		high##t = _mm256_setzero_si256(); \
	__m256i		high_run##t;

#define START_RUN_LOW(t) \
	low_run##t = low;

#define START_RUN(t) \
	START_RUN_LOW(t) \
	high_run##t = high;

/* The empty statement keeps gcc from adding in another order, for which it has not enough registers. */
#define ADD_PRODUCTS(half, t) \
	half##_run##t = _mm256_add_epi16(half##_run##t, _mm256_maddubs_epi16(value, half)); \
	__asm__("" : "+x"(half##_run##t));

#define MULTIPLY_ADD_LOW(t) \
	value = broadcast(row##t + i); \
	ADD_PRODUCTS(low, t)

#define MULTIPLY_ADD(t) \
	MULTIPLY_ADD_LOW(t) \
	ADD_PRODUCTS(high, t)

/* In assembler, because gcc would keep the ones in a register that a sum needs. */
#define WIDEN(half, t) \
	__asm__("vpmaddwd %1, %0, %0" : "+x"(half##_run##t) : "m"(*(const __m256i *) ones)); \
	half##t = _mm256_add_epi32(half##t, half##_run##t);

#define END_RUN_LOW(t) WIDEN(low, t)

#define END_RUN(t) \
	WIDEN(low, t) \
	WIDEN(high, t)

#define BOUND(half, offset, t) \
	product = _mm256_cvtepi32_ps(half##t); \
	margin = _mm256_mul_ps(all.half##_margin, size); \
	all.half##_best = _mm256_max_ps(all.half##_best, _mm256_fmsub_ps(product, factor, margin)); \
	_mm256_store_ps(upper + t * LW_LANES + offset, _mm256_fmadd_ps(product, factor, margin));

#define FINISH_LOW(t) \
	factor = _mm256_broadcast_ss(screen->factors + token + t); \
	size = _mm256_broadcast_ss(screen->sizes + token + t); \
	BOUND(low, 0, t)

#define FINISH(t) \
	FINISH_LOW(t) \
	BOUND(high, 8, t)

/* Bounds n tokens; meanwhile has a share of the codes that follow the block fetched. */
#define DEFINE_TILE(n) \
static AVX2 void \
tile_##n(const LwScreen *screen, const int8_t *codes, const int16_t *starts, \
		 size_t token, float *upper, Lanes *state) \
{ \
	size_t		stride = screen->stride; \
	const uint8_t *rows = screen->bytes + token * stride; \
	const char *following = (const char *) screen->following + token * stride; \
	Lanes		all = *state; \
	__m256i		low, high, value; \
	__m256		factor, size, product, margin; \
	size_t		i; \
	LW_EACH_##n(DECLARE) \
	\
	for (i = 0; i < stride;) \
	{ \
		size_t		end = i + LW_SCREEN_RUN; \
	\
		low = _mm256_load_si256((const __m256i *) (starts + i * 2)); \
		high = _mm256_load_si256((const __m256i *) (starts + i * 2 + 16)); \
		LW_EACH_##n(START_RUN) \
		_mm_prefetch(following + i * n, _MM_HINT_T1); \
		LW_UNROLL \
		for (; i < end; i += 4) \
		{ \
			low = _mm256_load_si256((const __m256i *) (codes + i * LW_LANES)); \
			high = _mm256_load_si256((const __m256i *) (codes + i * LW_LANES + 32)); \
			LW_EACH_##n(MULTIPLY_ADD) \
		} \
		LW_EACH_##n(END_RUN) \
	} \
	LW_EACH_##n(FINISH) \
	*state = all; \
}

#define DEFINE_NARROW(n) \
static AVX2 void \
narrow_##n(const LwScreen *screen, const int8_t *codes, const int16_t *starts, \
		 size_t token, float *upper, Lanes *state) \
{ \
	size_t		stride = screen->stride; \
	const uint8_t *rows = screen->bytes + token * stride; \
	const char *following = (const char *) screen->following + token * stride; \
	Lanes		all = *state; \
	__m256i		low, value; \
	__m256		factor, size, product, margin; \
	size_t		i; \
	LW_EACH_##n(DECLARE_LOW) \
	\
	for (i = 0; i < stride;) \
	{ \
		size_t		end = i + LW_SCREEN_RUN; \
	\
		low = _mm256_load_si256((const __m256i *) (starts + i * 2)); \
		LW_EACH_##n(START_RUN_LOW) \
		_mm_prefetch(following + i * n, _MM_HINT_T1); \
		LW_UNROLL \
		for (; i < end; i += 4) \
		{ \
			low = _mm256_load_si256((const __m256i *) (codes + i * LW_LANES)); \
			LW_EACH_##n(MULTIPLY_ADD_LOW) \
		} \
		LW_EACH_##n(END_RUN_LOW) \
	} \
	LW_EACH_##n(FINISH_LOW) \
	*state = all; \
}

DEFINE_TILE(1)
DEFINE_TILE(2)
DEFINE_TILE(3)

DEFINE_NARROW(1)
DEFINE_NARROW(2)
DEFINE_NARROW(3)
DEFINE_NARROW(4)
DEFINE_NARROW(5)
DEFINE_NARROW(6)

static const Tile tiles[TILE + 1] = {NULL, tile_1, tile_2, tile_3};

static const Tile narrow_tiles[NARROW_TILE + 1] =
{NULL, narrow_1, narrow_2, narrow_3, narrow_4, narrow_5, narrow_6};

AVX2 void
lw_raise_highest_avx2(const float *upper, size_t count, float *highest)
{
	__m256		low = _mm256_load_ps(highest);
	__m256		high = _mm256_load_ps(highest + 8);
	size_t		token;

	for (token = 0; token < count; token++)
	{
		low = _mm256_max_ps(low, _mm256_load_ps(upper));
		high = _mm256_max_ps(high, _mm256_load_ps(upper + 8));
		upper += LW_LANES;
	}
	_mm256_store_ps(highest, low);
	_mm256_store_ps(highest + 8, high);
}

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
	const int16_t *starts = screen->run_starts + group * screen->stride / LW_SCREEN_RUN * LW_LANES * 2;
	const float *margins = screen->coarse + group * LW_LANES;
	float	   *best = screen->coarse_best + group * LW_LANES;
	bool		narrow = screen->live[group] >> 8 == 0;
	Lanes		state;
	size_t		token;
	size_t		take;

	state.low_margin = _mm256_load_ps(margins);
	state.high_margin = _mm256_load_ps(margins + 8);
	state.low_best = _mm256_load_ps(best);
	state.high_best = _mm256_load_ps(best + 8);
	for (token = 0; token < count; token += take)
	{
		take = lw_next_tile(count - token, narrow ? NARROW_TILE : TILE);
		(narrow ? narrow_tiles : tiles)[take] (screen, codes, starts, token, upper + token * LW_LANES, &state);
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

AVX2 void
lw_dots_avx2(const LwScreen *screen, size_t group, const LwPair *pairs, size_t count,
			 int32_t *dots)
{
	const __m256i one = _mm256_set1_epi16(1);
	const int32_t *starts = screen->rest_starts + group * LW_LANES;
	size_t		stride = screen->stride;
	size_t		pair;

	for (pair = 0; pair < count; pair++)
	{
		const uint8_t *bytes = screen->bytes + pairs[pair].token * stride;
		const int8_t *rests = screen->rests + (group * LW_LANES + pairs[pair].lane) * stride;
		__m256i		sums = _mm256_setzero_si256();
		size_t		i;

		for (i = 0; i + 32 <= stride; i += 32)
		{
			__m256i		products = _mm256_maddubs_epi16(_mm256_loadu_si256((const __m256i *) (bytes + i)),
														_mm256_loadu_si256((const __m256i *) (rests + i)));

			sums = _mm256_add_epi32(sums, _mm256_madd_epi16(products, one));
		}
		if (i < stride)
		{
			__m128i		products = _mm_maddubs_epi16(_mm_loadu_si128((const __m128i *) (bytes + i)),
													 _mm_loadu_si128((const __m128i *) (rests + i)));

			products = _mm_madd_epi16(products, _mm256_castsi256_si128(one));
			sums = _mm256_add_epi32(sums, _mm256_zextsi128_si256(products));
		}
		dots[pair] = sum_of(sums) + starts[pairs[pair].lane];
	}
}

/* The chains of a group. */
typedef struct Chains
{
	const float *lanes;
	const int8_t *const *rows;
	__m256		low;
	__m256		high;
} Chains;

/* One step of the chains: `codes` has a code for each lane. */
static inline AVX2 void
step_lanes(Chains *chains, size_t i, __m128i codes)
{
	const float *lanes = chains->lanes + i * LW_LANES;
	__m256		low = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes));
	__m256		high = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(codes, 8)));

	chains->low = _mm256_fmadd_ps(_mm256_load_ps(lanes), low, chains->low);
	chains->high = _mm256_fmadd_ps(_mm256_load_ps(lanes + 8), high, chains->high);
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
read_columns(const int8_t *const *rows, size_t first, __m128i a[LW_LANES])
{
	__m128i		b[LW_LANES];

	LW_EACH_8(LOAD)
	LW_EACH_8(THERE)
	LW_EACH_8(BACK)
	LW_EACH_8(THERE)
	LW_EACH_8(BACK)
}

/* Column i of 16 rows. */
static inline AVX2 __m128i
read_column(const int8_t *const *rows, size_t i)
{
	int8_t		column[LW_LANES];
	int			lane;

	for (lane = 0; lane < LW_LANES; lane++)
		column[lane] = rows[lane][i];
	return _mm_loadu_si128((const __m128i *) column);
}

static inline AVX2 void
begin_chains(Chains *chains, const LwQuery *query, size_t group, const int8_t *const *rows)
{
	chains->lanes = query->lanes + group * query->dimension * LW_LANES;
	chains->rows = rows;
	chains->low = chains->high = _mm256_setzero_ps();
}

static inline AVX2 void
end_chains(const Chains *chains, LwQuery *query, size_t group, const float *factors)
{
	float	   *maxima = query->maxima + group * LW_LANES;
	__m256		low = _mm256_mul_ps(chains->low, _mm256_loadu_ps(factors));
	__m256		high = _mm256_mul_ps(chains->high, _mm256_loadu_ps(factors + 8));

	_mm256_store_ps(maxima, _mm256_max_ps(low, _mm256_load_ps(maxima)));
	_mm256_store_ps(maxima + 8, _mm256_max_ps(high, _mm256_load_ps(maxima + 8)));
}

/* Two groups take hardly longer than one, since a chain waits for itself. */
static inline AVX2 void
raise_lanes(LwQuery *query, size_t group, const bool two,
			const int8_t *const *rows, const float *factors)
{
	size_t		dimension = query->dimension;
	__m128i		first_columns[LW_LANES];
	__m128i		second_columns[LW_LANES];
	Chains		first;
	Chains		second;
	size_t		i;
	int			lane;

	begin_chains(&first, query, group, rows);
	if (two)
		begin_chains(&second, query, group + 1, rows + LW_LANES);
	for (i = 0; i + 16 <= dimension; i += 16)
	{
		read_columns(first.rows, i, first_columns);
		if (two)
			read_columns(second.rows, i, second_columns);
		for (lane = 0; lane < LW_LANES; lane++)
		{
			step_lanes(&first, i + lane, first_columns[lane]);
			if (two)
				step_lanes(&second, i + lane, second_columns[lane]);
		}
	}
	for (; i < dimension; i++)
	{
		step_lanes(&first, i, read_column(first.rows, i));
		if (two)
			step_lanes(&second, i, read_column(second.rows, i));
	}
	end_chains(&first, query, group, factors);
	if (two)
		end_chains(&second, query, group + 1, factors + LW_LANES);
}

AVX2 void
lw_raise_lanes_avx2(LwQuery *query, size_t group, size_t groups,
					const int8_t *const *rows, const float *factors)
{
	if (groups == 2)
		raise_lanes(query, group, true, rows, factors);
	else
		raise_lanes(query, group, false, rows, factors);
}

const LwScreening lw_screening_avx2 =
{LIMIT, true, lw_shift_avx2, lw_unit_factors_avx2, bound, lw_raise_highest_avx2, lw_dots_avx2, lw_raise_lanes_avx2};

#endif							/* __x86_64__ */
