/*-------------------------------------------------------------------------
 *
 * screen_avx512.c
 *	  Screening with AVX-512 VNNI: coarse bounds in tiles of 8 tokens x 16
 *	  lanes.  The rest is as with AVX2, which every such processor has.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/screen.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vnni")))

#define LIMIT 127
#define TILE 8

/* Four bytes of a token in every lane. */
static inline AVX512 __m512i
broadcast(const uint8_t *bytes)
{
	int32_t		four;

	memcpy(&four, bytes, sizeof(four));
	return _mm512_set1_epi32(four);
}

/* A group's sums to start from, b, and largest lower bounds. */
typedef struct Lanes
{
	__m512i		start;
	__m512		margin;
	__m512		best;
} Lanes;

typedef void (*Tile) (const LwScreen *screen, const int8_t *codes,
					  size_t token, float *upper, Lanes *state);

#define DECLARE(t) \
	const uint8_t *row##t = rows + t * stride; \
	__m512i		sum##t = all.start;

/* In assembler, because gcc 12 copies the accumulator of the intrinsic. */
#define MULTIPLY_ADD(t) \
	value = broadcast(row##t + i); \
	__asm__("vpdpbusd %2, %1, %0" : "+v"(sum##t) : "v"(value), "v"(lanes));

#define FINISH(t) \
	factor = _mm512_set1_ps(screen->factors[token + t]); \
	margin = _mm512_mul_ps(all.margin, _mm512_set1_ps(screen->sizes[token + t])); \
	product = _mm512_cvtepi32_ps(sum##t); \
	all.best = _mm512_max_ps(all.best, _mm512_fmsub_ps(product, factor, margin)); \
	_mm512_store_ps(upper + t * LW_LANES, _mm512_fmadd_ps(product, factor, margin));

/* Bounds n tokens; meanwhile has a share of the codes that follow the block fetched. */
#define DEFINE_TILE(n) \
static AVX512 void \
tile_##n(const LwScreen *screen, const int8_t *codes, size_t token, float *upper, Lanes *state) \
{ \
	size_t		stride = screen->stride; \
	const uint8_t *rows = screen->bytes + token * stride; \
	const char *following = (const char *) screen->following + token * stride; \
	Lanes		all = *state; \
	__m512i		lanes, value; \
	__m512		factor, product, margin; \
	size_t		i; \
	LW_EACH_##n(DECLARE) \
	\
	LW_UNROLL \
	for (i = 0; i < stride; i += 4) \
	{ \
		_mm_prefetch(following + i * n, _MM_HINT_T1); \
		lanes = _mm512_load_si512(codes + i * LW_LANES); \
		LW_EACH_##n(MULTIPLY_ADD) \
	} \
	LW_EACH_##n(FINISH) \
	*state = all; \
}

DEFINE_TILE(1)
DEFINE_TILE(2)
DEFINE_TILE(3)
DEFINE_TILE(4)
DEFINE_TILE(5)
DEFINE_TILE(6)
DEFINE_TILE(7)
DEFINE_TILE(8)

static const Tile tiles[TILE + 1] =
{NULL, tile_1, tile_2, tile_3, tile_4, tile_5, tile_6, tile_7, tile_8};

/* Bounds one group. */
static AVX512 void
bound_group(LwScreen *screen, size_t group, size_t count, float *upper, uint16_t *can)
{
	const int8_t *codes = screen->codes + group * screen->stride * LW_LANES;
	float	   *best = screen->coarse_best + group * LW_LANES;
	Lanes		state;
	size_t		token;

	state.start = _mm512_load_si512(screen->starts + group * LW_LANES);
	state.margin = _mm512_load_ps(screen->coarse + group * LW_LANES);
	state.best = _mm512_load_ps(best);
	for (token = 0; token < count; token += TILE)
	{
		size_t		left = count - token;

		tiles[left < TILE ? left : TILE] (screen, codes, token, upper + token * LW_LANES, &state);
	}
	_mm512_store_ps(best, state.best);
	for (token = 0; token < count; token++)
		can[token] = _mm512_cmp_ps_mask(_mm512_load_ps(upper + token * LW_LANES),
										state.best, _CMP_GE_OQ);
}

static void
bound(LwScreen *screen, size_t group, size_t groups, size_t count)
{
	size_t		i;

	for (i = 0; i < groups; i++)
		bound_group(screen, group + i, count,
					screen->upper + i * LW_SCREEN_TOKENS * LW_LANES, screen->can[i]);
}

const LwScreening lw_screening_avx512 =
{LIMIT, lw_shift_avx2, lw_unit_factors_avx2, bound, lw_dot_avx2, lw_raise_lanes_avx2};

#endif							/* __x86_64__ */
