/*-------------------------------------------------------------------------
 *
 * screen_avxvnni.c
 *	  Screening with AVX2 and the VNNI of 256 bits that processors without
 *	  AVX-512 have: coarse bounds in tiles of 6 tokens x 16 lanes, or of 10 x 8
 *	  where a group has no more than 8 query tokens.  The rest is as with AVX2.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/screen.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma")))

#define LIMIT 127
#define TILE 6
#define NARROW_TILE 10

/*
 * Adds to each sum the products of four bytes without and four with sign.  In
 * assembler, because the instruction has no encoding but VEX's here.
 */
static inline AVX2 __m256i
add_products(__m256i sums, __m256i bytes, __m256i codes)
{
	__asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(bytes), "x"(codes));
	return sums;
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

#define DECLARE_LOW(t) \
	const uint8_t *row##t = rows + t * stride; \
	__m256i		low##t = all.low_start;

#define DECLARE(t) \
	DECLARE_LOW(t) \
	__m256i		high##t = all.high_start;

#define MULTIPLY_ADD_LOW(t) \
	value = broadcast(row##t + i); \
	low##t = add_products(low##t, value, low);

#define MULTIPLY_ADD(t) \
	MULTIPLY_ADD_LOW(t) \
	high##t = add_products(high##t, value, high);

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
tile_##n(const LwScreen *screen, const int8_t *codes, size_t token, float *upper, Lanes *state) \
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

#define DEFINE_NARROW(n) \
static AVX2 void \
narrow_##n(const LwScreen *screen, const int8_t *codes, size_t token, float *upper, Lanes *state) \
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
	for (i = 0; i < stride; i += 4) \
	{ \
		_mm_prefetch(following + i * n, _MM_HINT_T1); \
		low = _mm256_load_si256((const __m256i *) (codes + i * LW_LANES)); \
		LW_EACH_##n(MULTIPLY_ADD_LOW) \
	} \
	LW_EACH_##n(FINISH_LOW) \
	*state = all; \
}

DEFINE_TILE(1)
DEFINE_TILE(2)
DEFINE_TILE(3)
DEFINE_TILE(4)
DEFINE_TILE(5)
DEFINE_TILE(6)

DEFINE_NARROW(1)
DEFINE_NARROW(2)
DEFINE_NARROW(3)
DEFINE_NARROW(4)
DEFINE_NARROW(5)
DEFINE_NARROW(6)
DEFINE_NARROW(7)
DEFINE_NARROW(8)
DEFINE_NARROW(9)
DEFINE_NARROW(10)

static const Tile tiles[TILE + 1] = {NULL, tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};

static const Tile narrow_tiles[NARROW_TILE + 1] =
{NULL, narrow_1, narrow_2, narrow_3, narrow_4, narrow_5, narrow_6, narrow_7, narrow_8,
narrow_9, narrow_10};

/* Bounds one group. */
static AVX2 void
bound_group(LwScreen *screen, size_t group, size_t count, float *upper, uint16_t *can)
{
	const int8_t *codes = screen->codes + group * screen->stride * LW_LANES;
	const int32_t *starts = screen->starts + group * LW_LANES;
	const float *margins = screen->coarse + group * LW_LANES;
	float	   *best = screen->coarse_best + group * LW_LANES;
	bool		narrow = screen->live[group] >> 8 == 0;
	Lanes		state;
	size_t		token;
	size_t		take;

	state.low_start = _mm256_load_si256((const __m256i *) starts);
	state.high_start = _mm256_load_si256((const __m256i *) (starts + 8));
	state.low_margin = _mm256_load_ps(margins);
	state.high_margin = _mm256_load_ps(margins + 8);
	state.low_best = _mm256_load_ps(best);
	state.high_best = _mm256_load_ps(best + 8);
	for (token = 0; token < count; token += take)
	{
		take = lw_next_tile(count - token, narrow ? NARROW_TILE : TILE);
		(narrow ? narrow_tiles : tiles)[take] (screen, codes, token, upper + token * LW_LANES, &state);
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

const LwScreening lw_screening_avxvnni =
{LIMIT, false, lw_shift_avx2, lw_unit_factors_avx2, bound, lw_raise_highest_avx2,
lw_dots_avx2, lw_raise_lanes_avx2};

#endif							/* __x86_64__ */
