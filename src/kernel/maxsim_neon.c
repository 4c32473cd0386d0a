/*-------------------------------------------------------------------------
 *
 * maxsim_neon.c
 *	  The arithmetic with NEON: tiles of 8 tokens x 8 lanes, half a group.
 *
 * Their 16 sums, 8 tokens' next four values and 2 registers of lanes leave 6
 * of the 32 registers.  A value is multiplied from the place where it lies in
 * its register, so a load serves four or eight multiplications.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/query.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "kernel/screen.h"

#define TILE 8
#define HALF (LW_LANES / 2)

/* The maxima of half a lane group, and all ones in a lane that met no NaN. */
typedef struct Lanes
{
	float32x4_t low;
	float32x4_t high;
	uint32x4_t	low_sane;
	uint32x4_t	high_sane;
} Lanes;

typedef void (*Tile) (const float *lanes, const float *rows, size_t dimension,
					  const float *factors, Lanes *state);

#define DECLARE(t) \
	const float *row##t = rows + t * dimension; \
	float32x4_t low##t = vdupq_n_f32(0); \
	float32x4_t high##t = vdupq_n_f32(0); \
	float32x4_t values##t;

#define LOAD_FOUR(t) values##t = vld1q_f32(row##t + i);
#define LOAD_ONE(t) values##t = vld1q_dup_f32(row##t + i);

#define MULTIPLY_ADD(t, place) \
	low##t = vfmaq_laneq_f32(low##t, low, values##t, place); \
	high##t = vfmaq_laneq_f32(high##t, high, values##t, place);

#define MULTIPLY_ADD_0(t) MULTIPLY_ADD(t, 0)
#define MULTIPLY_ADD_1(t) MULTIPLY_ADD(t, 1)
#define MULTIPLY_ADD_2(t) MULTIPLY_ADD(t, 2)
#define MULTIPLY_ADD_3(t) MULTIPLY_ADD(t, 3)

/* One dimension of n tokens. */
#define STEP(n, place) \
	low = vld1q_f32(lanes + (i + place) * LW_LANES); \
	high = vld1q_f32(lanes + (i + place) * LW_LANES + 4); \
	LW_EACH_##n(MULTIPLY_ADD_##place)

/* Not FMAX, which takes +0 for greater than -0 and hands on a NaN. */
#define RAISE(half, t) \
	half = vmulq_n_f32(half##t, factors[t]); \
	all.half = vbslq_f32(vcgtq_f32(half, all.half), half, all.half); \
	all.half##_sane = vandq_u32(all.half##_sane, vceqq_f32(half, half));

#define FINISH(t) \
	RAISE(low, t) \
	RAISE(high, t)

#define DEFINE_TILE(n) \
static void \
tile_##n(const float *lanes, const float *rows, size_t dimension, \
		 const float *factors, Lanes *state) \
{ \
	Lanes		all; \
	float32x4_t low, high; \
	size_t		i; \
	LW_EACH_##n(DECLARE) \
	\
	for (i = 0; i + 4 <= dimension; i += 4) \
	{ \
		LW_EACH_##n(LOAD_FOUR) \
		STEP(n, 0) \
		STEP(n, 1) \
		STEP(n, 2) \
		STEP(n, 3) \
	} \
	for (; i < dimension; i++) \
	{ \
		LW_EACH_##n(LOAD_ONE) \
		STEP(n, 0) \
	} \
	all = *state; \
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

/* Whether a lane that is a query token, a bit each in `real`, met a NaN. */
static bool
is_strange(const Lanes *state, uint32_t real)
{
	static const uint32_t bits[HALF] = {1, 2, 4, 8, 16, 32, 64, 128};
	uint32x4_t	all = vdupq_n_u32(real);
	uint32x4_t	low = vbicq_u32(vtstq_u32(all, vld1q_u32(bits)), state->low_sane);
	uint32x4_t	high = vbicq_u32(vtstq_u32(all, vld1q_u32(bits + 4)), state->high_sane);

	return vmaxvq_u32(vorrq_u32(low, high)) != 0;
}

static bool
raise_maxima(LwQuery *query, size_t group, size_t groups, const float *rows,
			 const float *factors, size_t count)
{
	size_t		dimension = query->dimension;
	size_t		end = group + groups;
	bool		strange = false;

	for (; group < end; group++)
	{
		int			lane;

		for (lane = 0; lane < LW_LANES; lane += HALF)
		{
			const float *lanes = query->lanes + group * dimension * LW_LANES + lane;
			float	   *maxima = query->maxima + group * LW_LANES + lane;
			Lanes		state;
			size_t		done;

			state.low = vld1q_f32(maxima);
			state.high = vld1q_f32(maxima + 4);
			state.low_sane = vdupq_n_u32(UINT32_MAX);
			state.high_sane = vdupq_n_u32(UINT32_MAX);
			for (done = 0; done < count; done += TILE)
			{
				size_t		left = count - done;

				tiles[left < TILE ? left : TILE] (lanes, rows + done * dimension,
												  dimension, factors + done, &state);
			}
			vst1q_f32(maxima, state.low);
			vst1q_f32(maxima + 4, state.high);
			strange |= is_strange(&state, lw_real_lanes(query, group) >> lane);
		}
	}
	return strange;
}

static uint64_t
widen(const int8_t *codes, size_t dimension, float *row)
{
	uint64x2_t	sums = vdupq_n_u64(0);
	uint64_t	squares;
	size_t		i;

	for (i = 0; i + 8 <= dimension; i += 8)
	{
		int8x8_t	bytes = vld1_s8(codes + i);
		int16x8_t	words = vmovl_s8(bytes);
		uint16x8_t	products = vreinterpretq_u16_s16(vmull_s8(bytes, bytes));

		sums = vpadalq_u32(sums, vpaddlq_u16(products));
		vst1q_f32(row + i, vcvtq_f32_s32(vmovl_s16(vget_low_s16(words))));
		vst1q_f32(row + i + 4, vcvtq_f32_s32(vmovl_high_s16(words)));
	}
	squares = vaddvq_u64(sums);
	for (; i < dimension; i++)
	{
		row[i] = codes[i];
		squares += (uint64_t) (codes[i] * codes[i]);
	}
	return squares;
}

const LwArithmetic lw_arithmetic_neon = {raise_maxima, widen, &lw_screening_neon};
const LwArithmetic lw_arithmetic_neon_dotprod = {raise_maxima, widen, &lw_screening_neon_dotprod};

#endif							/* __aarch64__ */
