/*-------------------------------------------------------------------------
 *
 * screen_avx512.c
 *	  Screening with AVX-512 VNNI: coarse bounds in tiles of 12 tokens x 32
 *	  lanes, or x 16 for the last group of an odd number.
 *
 * A tile needs ten sums or more for the processor always to have one ready to
 * be added to.  screen->bytes holds the tokens of a tile together, 64 codes of
 * each at a time, [tiles][stride / 64][TILE][64], so that one register and
 * constants address them all, and tokens of 4096 codes don't compete for one
 * line of the cache.
 *
 * Scores of what bounds leave are as with AVX2, which every such processor has.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/screen.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vnni")))

#define LIMIT 127
#define TILE 12
#define CHUNK 64

/*
 * Adds to each sum the products of four bytes without and four with sign.  In
 * assembler, because gcc 12 copies the sums of the intrinsic.
 */
static inline AVX512 __m512i
add_products(__m512i sums, __m512i bytes, __m512i codes)
{
	__asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(bytes), "v"(codes));
	return sums;
}

static AVX512 void
shift(const int8_t *codes, size_t dimension, size_t count, uint8_t *bytes,
	  size_t stride, int32_t *squares)
{
	const __m512i sign = _mm512_set1_epi8(-128);
	const __m512i ones = _mm512_set1_epi8(1);
	size_t		pitch = LW_SCREEN_PITCH(stride);
	size_t		token;

	for (token = 0; token < count; token++)
	{
		uint8_t    *to = bytes + token / TILE * TILE * pitch + token % TILE * CHUNK;
		__m512i		products = _mm512_setzero_si512();
		__m512i		sums = _mm512_setzero_si512();
		size_t		i;

		for (i = 0; i < dimension; i += CHUNK)
		{
			size_t		left = dimension - i;
			__mmask64	there = left < CHUNK ? ~UINT64_C(0) >> (CHUNK - left) : ~UINT64_C(0);
			__m512i		some = _mm512_maskz_loadu_epi8(there, codes + i);
			__m512i		shifted = _mm512_xor_si512(some, sign);

			_mm512_store_si512(to, shifted);
			products = add_products(products, shifted, some);
			sums = add_products(sums, ones, some);
			to += TILE * CHUNK;
		}
		/* c * c = (c + 128) * c - 128 * c */
		squares[token] = _mm512_reduce_add_epi32(_mm512_sub_epi32(products, _mm512_slli_epi32(sums, 7)));
		codes += dimension;
	}
}

/* Four bytes of a token in every lane. */
static inline AVX512 __m512i
broadcast(const uint8_t *bytes)
{
	int32_t		four;

	memcpy(&four, bytes, sizeof(four));
	return _mm512_set1_epi32(four);
}

/* Sums to start from, b, and largest lower bounds of a group, or of two. */
typedef struct Lanes
{
	__m512i		first_start;
	__m512i		second_start;
	__m512		first_margin;
	__m512		second_margin;
	__m512		first_best;
	__m512		second_best;
} Lanes;

typedef void (*Tile) (const LwScreen *screen, const int8_t *codes,
					  size_t token, Lanes *state);

#define DECLARE(t) \
	__m512i		first##t = all.first_start;

#define DECLARE_PAIR(t) \
	DECLARE(t) \
	__m512i		second##t = all.second_start;

#define MULTIPLY_ADD(t) \
	value = broadcast(bytes + t * CHUNK + i); \
	first##t = add_products(first##t, value, first);

#define MULTIPLY_ADD_PAIR(t) \
	MULTIPLY_ADD(t) \
	second##t = add_products(second##t, value, second);

#define BOUND(place, upper, t) \
	margin = _mm512_mul_ps(all.place##_margin, size); \
	product = _mm512_cvtepi32_ps(place##t); \
	all.place##_best = _mm512_max_ps(all.place##_best, _mm512_fmsub_ps(product, factor, margin)); \
	_mm512_store_ps(upper + t * LW_LANES, _mm512_fmadd_ps(product, factor, margin));

#define FINISH(t) \
	factor = _mm512_set1_ps(screen->factors[token + t]); \
	size = _mm512_set1_ps(screen->sizes[token + t]); \
	BOUND(first, upper, t)

#define FINISH_PAIR(t) \
	FINISH(t) \
	BOUND(second, upper2, t)

/* Bounds n tokens; meanwhile has a share of the codes that follow the block fetched. */
#define DEFINE_TILES(n) \
static AVX512 void \
single_##n(const LwScreen *screen, const int8_t *codes, size_t token, Lanes *state) \
{ \
	size_t		stride = screen->stride; \
	const uint8_t *bytes = screen->bytes + token * LW_SCREEN_PITCH(stride); \
	const char *following = (const char *) screen->following + token * stride; \
	float	   *upper = screen->upper + token * LW_LANES; \
	Lanes		all = *state; \
	__m512i		first, value; \
	__m512		factor, size, margin, product; \
	size_t		left; \
	LW_EACH_##n(DECLARE) \
	\
	for (left = stride; left > 0;) \
	{ \
		size_t		end = left < CHUNK ? left : CHUNK; \
		size_t		i; \
		\
		for (i = 0; i < end; i += 4) \
		{ \
			_mm_prefetch(following + i * n, _MM_HINT_T1); \
			first = _mm512_load_si512(codes + i * LW_LANES); \
			LW_EACH_##n(MULTIPLY_ADD) \
		} \
		left -= end; \
		bytes += TILE * CHUNK; \
		codes += CHUNK * LW_LANES; \
		following += CHUNK * n; \
	} \
	LW_EACH_##n(FINISH) \
	*state = all; \
} \
\
static AVX512 void \
pair_##n(const LwScreen *screen, const int8_t *codes, size_t token, Lanes *state) \
{ \
	size_t		stride = screen->stride; \
	const uint8_t *bytes = screen->bytes + token * LW_SCREEN_PITCH(stride); \
	const char *following = (const char *) screen->following + token * stride; \
	const int8_t *codes2 = codes + stride * LW_LANES; \
	float	   *upper = screen->upper + token * LW_LANES; \
	float	   *upper2 = upper + LW_SCREEN_TOKENS * LW_LANES; \
	Lanes		all = *state; \
	__m512i		first, second, value; \
	__m512		factor, size, margin, product; \
	size_t		left; \
	LW_EACH_##n(DECLARE_PAIR) \
	\
	for (left = stride; left > 0;) \
	{ \
		size_t		end = left < CHUNK ? left : CHUNK; \
		size_t		i; \
		\
		for (i = 0; i < end; i += 4) \
		{ \
			_mm_prefetch(following + i * n, _MM_HINT_T1); \
			first = _mm512_load_si512(codes + i * LW_LANES); \
			second = _mm512_load_si512(codes2 + i * LW_LANES); \
			LW_EACH_##n(MULTIPLY_ADD_PAIR) \
		} \
		left -= end; \
		bytes += TILE * CHUNK; \
		codes += CHUNK * LW_LANES; \
		codes2 += CHUNK * LW_LANES; \
		following += CHUNK * n; \
	} \
	LW_EACH_##n(FINISH_PAIR) \
	*state = all; \
}

DEFINE_TILES(1)
DEFINE_TILES(2)
DEFINE_TILES(3)
DEFINE_TILES(4)
DEFINE_TILES(5)
DEFINE_TILES(6)
DEFINE_TILES(7)
DEFINE_TILES(8)
DEFINE_TILES(9)
DEFINE_TILES(10)
DEFINE_TILES(11)
DEFINE_TILES(12)

static const Tile singles[TILE + 1] =
{NULL, single_1, single_2, single_3, single_4, single_5, single_6, single_7, single_8,
single_9, single_10, single_11, single_12};

static const Tile pairs[TILE + 1] =
{NULL, pair_1, pair_2, pair_3, pair_4, pair_5, pair_6, pair_7, pair_8,
pair_9, pair_10, pair_11, pair_12};

/* Finds what tokens upper bounds leave of a group. */
static AVX512 void
compare(const float *upper, __m512 best, size_t count, uint16_t *can)
{
	size_t		token;

	for (token = 0; token < count; token++)
		can[token] = _mm512_cmp_ps_mask(_mm512_load_ps(upper + token * LW_LANES), best, _CMP_GE_OQ);
}

static AVX512 void
bound(LwScreen *screen, size_t group, size_t groups, size_t count)
{
	const int8_t *codes = screen->codes + group * screen->stride * LW_LANES;
	const int32_t *starts = screen->starts + group * LW_LANES;
	const float *margins = screen->coarse + group * LW_LANES;
	float	   *best = screen->coarse_best + group * LW_LANES;
	bool		pair = groups == 2;
	const Tile *tiles = pair ? pairs : singles;
	size_t		second = pair ? LW_LANES : 0;
	Lanes		state;
	size_t		token;

	state.first_start = _mm512_load_si512(starts);
	state.second_start = _mm512_load_si512(starts + second);
	state.first_margin = _mm512_load_ps(margins);
	state.second_margin = _mm512_load_ps(margins + second);
	state.first_best = _mm512_load_ps(best);
	state.second_best = _mm512_load_ps(best + second);
	for (token = 0; token < count; token += TILE)
	{
		size_t		left = count - token;

		tiles[left < TILE ? left : TILE] (screen, codes, token, &state);
	}
	_mm512_store_ps(best, state.first_best);
	compare(screen->upper, state.first_best, count, screen->can[0]);
	if (pair)
	{
		_mm512_store_ps(best + LW_LANES, state.second_best);
		compare(screen->upper + LW_SCREEN_TOKENS * LW_LANES, state.second_best, count, screen->can[1]);
	}
}

static AVX512 void
dots(const LwScreen *screen, size_t group, const LwPair *pairs, size_t count, int32_t *out)
{
	const int32_t *starts = screen->rest_starts + group * LW_LANES;
	size_t		stride = screen->stride;
	size_t		chunks = (stride + CHUNK - 1) / CHUNK;
	size_t		pair;

	for (pair = 0; pair < count; pair++)
	{
		size_t		token = pairs[pair].token;
		size_t		lane = pairs[pair].lane;
		const uint8_t *bytes = screen->bytes + (token / TILE * TILE * chunks + token % TILE) * CHUNK;
		const int8_t *rests = screen->rests + (group * LW_LANES + lane) * stride;
		__m512i		sums = _mm512_setzero_si512();
		size_t		i;

		for (i = 0; i < stride; i += CHUNK)
		{
			size_t		left = stride - i;
			__mmask64	there = left < CHUNK ? ~UINT64_C(0) >> (CHUNK - left) : ~UINT64_C(0);

			sums = add_products(sums, _mm512_load_si512(bytes), _mm512_maskz_loadu_epi8(there, rests + i));
			bytes += TILE * CHUNK;
		}
		out[pair] = _mm512_reduce_add_epi32(sums) + starts[lane];
	}
}

const LwScreening lw_screening_avx512 =
{LIMIT, false, shift, lw_unit_factors_avx2, bound, lw_raise_highest_avx2,
dots, lw_raise_lanes_avx2};

#endif							/* __x86_64__ */
