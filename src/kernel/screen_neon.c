/*-------------------------------------------------------------------------
 *
 * screen_neon.c
 *	  Screening with NEON: coarse bounds of half a lane group in tiles of 8
 *	  tokens with SDOT, where the processor has it, and of 2 without.
 *
 * Both multiply signed bytes, so codes are taken as they are and no sum has
 * to begin with screen->starts.  SDOT adds products into 32 bits, which the
 * screen's dimensions cannot fill: 2^14 * 128 * 127 < 2^31.  Without it four
 * products are added into 16 bits first: 4 * 128 * 63 < 2^15.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/screen.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <string.h>

#define LIMIT 63
#define TILE 2

#define DOT_LIMIT 127
#define DOT_TILE 8

#if defined(__clang__)
#define DOTPROD __attribute__((target("dotprod")))
#else
#define DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#endif

#define HALF (LW_LANES / 2)

/* Takes codes without adding 128. */
static void
shift(const int8_t *codes, size_t dimension, size_t count, uint8_t *bytes,
	  size_t stride, int32_t *squares)
{
	size_t		token;

	for (token = 0; token < count; token++)
	{
		int32x4_t	sums = vdupq_n_s32(0);
		int32_t		rest = 0;
		size_t		i;

		for (i = 0; i + 16 <= dimension; i += 16)
		{
			int8x16_t	some = vld1q_s8(codes + i);

			vst1q_u8(bytes + i, vreinterpretq_u8_s8(some));
			sums = vpadalq_s16(sums, vmull_s8(vget_low_s8(some), vget_low_s8(some)));
			sums = vpadalq_s16(sums, vmull_high_s8(some, some));
		}
		for (; i < dimension; i++)
		{
			bytes[i] = (uint8_t) codes[i];
			rest += codes[i] * codes[i];
		}
		for (; i < stride; i++)
			bytes[i] = 0;
		squares[token] = vaddvq_s32(sums) + rest;
		codes += dimension;
		bytes += stride;
	}
}

static void
unit_factors(const int32_t *squares, size_t count, float *factors, float *sizes)
{
	size_t		i;

	for (i = 0; i < count; i++)
	{
		factors[i] = lw_unit_factor((uint64_t) squares[i]);
		sizes[i] = squares[i] > 0 ? 1.0f : 0.0f;
	}
}

/* b and largest lower bounds of half a group. */
typedef struct Lanes
{
	float32x4_t low_margin;
	float32x4_t high_margin;
	float32x4_t low_best;
	float32x4_t high_best;
} Lanes;

/* `codes` and `upper` are those of the half's first lane. */
typedef void (*Tile) (const LwScreen *screen, const int8_t *codes, size_t token,
					  float *upper, Lanes *state);

#define BOUND(half, offset, t) \
	product = vcvtq_f32_s32(half##t); \
	margin = vmulq_n_f32(all.half##_margin, screen->sizes[token + t]); \
	lower = vfmaq_n_f32(vnegq_f32(margin), product, screen->factors[token + t]); \
	all.half##_best = vmaxq_f32(all.half##_best, lower); \
	vst1q_f32(upper + t * LW_LANES + offset, \
			  vfmaq_n_f32(margin, product, screen->factors[token + t]));

#define FINISH(t) \
	BOUND(low, 0, t) \
	BOUND(high, 4, t)

/* ----------
 * Tiles without SDOT.  A register holds four dimensions of four lanes; its low
 * half, of two lanes, has sums of its own, two a lane, and so has its high half.
 * ----------
 */

/* Four bytes of a token for each lane. */
static inline int8x16_t
broadcast(const int8_t *bytes)
{
	int32_t		four;

	memcpy(&four, bytes, sizeof(four));
	return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

#define DECLARE(t) \
	const int8_t *row##t = rows + t * stride; \
	int32x4_t	low##t = vdupq_n_s32(0); \
	int32x4_t	low2##t = vdupq_n_s32(0); \
	int32x4_t	high##t = vdupq_n_s32(0); \
	int32x4_t	high2##t = vdupq_n_s32(0);

#define LOAD(place) \
	low_##place = vld1q_s8(codes + (i + 4 * place) * LW_LANES); \
	high_##place = vld1q_s8(codes + (i + 4 * place) * LW_LANES + 16);

#define BROADCAST(place, t) \
	value_##place = broadcast(row##t + i + 4 * place);

/* A run of dimensions of half a register. */
#define ADD_LOW(sum, lanes) \
	products = vmull_s8(vget_low_s8(lanes##_0), vget_low_s8(value_0)); \
	products = vmlal_s8(products, vget_low_s8(lanes##_1), vget_low_s8(value_1)); \
	products = vmlal_s8(products, vget_low_s8(lanes##_2), vget_low_s8(value_2)); \
	products = vmlal_s8(products, vget_low_s8(lanes##_3), vget_low_s8(value_3)); \
	sum = vpadalq_s16(sum, products);

#define ADD_HIGH(sum, lanes) \
	products = vmull_high_s8(lanes##_0, value_0); \
	products = vmlal_high_s8(products, lanes##_1, value_1); \
	products = vmlal_high_s8(products, lanes##_2, value_2); \
	products = vmlal_high_s8(products, lanes##_3, value_3); \
	sum = vpadalq_s16(sum, products);

#define ADD(t) \
	BROADCAST(0, t) \
	BROADCAST(1, t) \
	BROADCAST(2, t) \
	BROADCAST(3, t) \
	ADD_LOW(low##t, low) \
	ADD_HIGH(low2##t, low) \
	ADD_LOW(high##t, high) \
	ADD_HIGH(high2##t, high)

#define GATHER(t) \
	low##t = vpaddq_s32(low##t, low2##t); \
	high##t = vpaddq_s32(high##t, high2##t);

#define DEFINE_TILE(n) \
static void \
tile_##n(const LwScreen *screen, const int8_t *codes, size_t token, \
		 float *upper, Lanes *state) \
{ \
	size_t		stride = screen->stride; \
	const int8_t *rows = (const int8_t *) screen->bytes + token * stride; \
	int8x16_t	low_0, low_1, low_2, low_3, high_0, high_1, high_2, high_3; \
	int8x16_t	value_0, value_1, value_2, value_3; \
	int16x8_t	products; \
	float32x4_t product, margin, lower; \
	Lanes		all; \
	size_t		i; \
	LW_EACH_##n(DECLARE) \
	\
	for (i = 0; i < stride; i += LW_SCREEN_RUN) \
	{ \
		LW_EACH_4(LOAD) \
		LW_EACH_##n(ADD) \
	} \
	LW_EACH_##n(GATHER) \
	all = *state; \
	LW_EACH_##n(FINISH) \
	*state = all; \
}

DEFINE_TILE(1)
DEFINE_TILE(2)

static const Tile plain_tiles[TILE + 1] = {NULL, tile_1, tile_2};

/* ----------
 * Tiles with SDOT, which multiplies four bytes from where they lie in a
 * token's register by those of each lane.
 * ----------
 */
#define DOT_DECLARE(t) \
	const int8_t *row##t = rows + t * stride; \
	int32x4_t	low##t = vdupq_n_s32(0); \
	int32x4_t	high##t = vdupq_n_s32(0); \
	int8x16_t	values##t;

#define DOT_LOAD(t) values##t = vld1q_s8(row##t + i);

/* In assembler, because clang 14 has the intrinsic only where all the file may use it. */
#define DOT(t, place) \
	__asm__("sdot %0.4s, %1.16b, %2.4b[" #place "]" : "+w"(low##t) : "w"(low), "w"(values##t)); \
	__asm__("sdot %0.4s, %1.16b, %2.4b[" #place "]" : "+w"(high##t) : "w"(high), "w"(values##t));

#define DOT_0(t) DOT(t, 0)
#define DOT_1(t) DOT(t, 1)
#define DOT_2(t) DOT(t, 2)
#define DOT_3(t) DOT(t, 3)

/* Four dimensions of n tokens. */
#define DOT_STEP(n, place) \
	low = vld1q_s8(codes + (i + 4 * place) * LW_LANES); \
	high = vld1q_s8(codes + (i + 4 * place) * LW_LANES + 16); \
	LW_EACH_##n(DOT_##place)

#define DEFINE_DOT_TILE(n) \
static DOTPROD void \
dot_tile_##n(const LwScreen *screen, const int8_t *codes, size_t token, \
			 float *upper, Lanes *state) \
{ \
	size_t		stride = screen->stride; \
	const int8_t *rows = (const int8_t *) screen->bytes + token * stride; \
	int8x16_t	low, high; \
	float32x4_t product, margin, lower; \
	Lanes		all; \
	size_t		i; \
	LW_EACH_##n(DOT_DECLARE) \
	\
	for (i = 0; i < stride; i += LW_SCREEN_RUN) \
	{ \
		LW_EACH_##n(DOT_LOAD) \
		DOT_STEP(n, 0) \
		DOT_STEP(n, 1) \
		DOT_STEP(n, 2) \
		DOT_STEP(n, 3) \
	} \
	all = *state; \
	LW_EACH_##n(FINISH) \
	*state = all; \
}

DEFINE_DOT_TILE(1)
DEFINE_DOT_TILE(2)
DEFINE_DOT_TILE(3)
DEFINE_DOT_TILE(4)
DEFINE_DOT_TILE(5)
DEFINE_DOT_TILE(6)
DEFINE_DOT_TILE(7)
DEFINE_DOT_TILE(8)

static const Tile dot_tiles[DOT_TILE + 1] =
{NULL, dot_tile_1, dot_tile_2, dot_tile_3, dot_tile_4, dot_tile_5, dot_tile_6, dot_tile_7, dot_tile_8};

/* ----------
 * What both share.
 * ----------
 */

/* A bit for each lane whose upper bound is not below the best lower bound. */
static inline uint16_t
reach(const float *upper, const float32x4_t best[4])
{
	static const uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	uint32x4_t	first = vcgeq_f32(vld1q_f32(upper), best[0]);
	uint32x4_t	second = vcgeq_f32(vld1q_f32(upper + 4), best[1]);
	uint32x4_t	third = vcgeq_f32(vld1q_f32(upper + 8), best[2]);
	uint32x4_t	fourth = vcgeq_f32(vld1q_f32(upper + 12), best[3]);
	uint16x8_t	low = vcombine_u16(vmovn_u32(first), vmovn_u32(second));
	uint16x8_t	high = vcombine_u16(vmovn_u32(third), vmovn_u32(fourth));
	uint8x16_t	found = vandq_u8(vcombine_u8(vmovn_u16(low), vmovn_u16(high)), vld1q_u8(bits));

	return (uint16_t) (vaddv_u8(vget_low_u8(found)) | vaddv_u8(vget_high_u8(found)) << 8);
}

/* Finds bounds of a group by tiles of up to `size` tokens. */
static void
bound_group(const Tile *tiles, size_t size, LwScreen *screen, size_t group, size_t count,
			float *upper, uint16_t *can)
{
	float	   *best = screen->coarse_best + group * LW_LANES;
	float32x4_t all[4];
	size_t		token;
	int			lane;

	for (lane = 0; lane < LW_LANES; lane += HALF)
	{
		const int8_t *codes = screen->codes + group * screen->stride * LW_LANES + lane * 4;
		const float *margins = screen->coarse + group * LW_LANES + lane;
		Lanes		state;

		state.low_margin = vld1q_f32(margins);
		state.high_margin = vld1q_f32(margins + 4);
		state.low_best = vld1q_f32(best + lane);
		state.high_best = vld1q_f32(best + lane + 4);
		for (token = 0; token < count; token += size)
		{
			size_t		left = count - token;

			tiles[left < size ? left : size] (screen, codes, token, upper + token * LW_LANES + lane, &state);
		}
		vst1q_f32(best + lane, state.low_best);
		vst1q_f32(best + lane + 4, state.high_best);
	}
	for (lane = 0; lane < LW_LANES; lane += 4)
		all[lane / 4] = vld1q_f32(best + lane);
	for (token = 0; token < count; token++)
		can[token] = reach(upper + token * LW_LANES, all);
}

static void
find_bounds(const Tile *tiles, size_t size, LwScreen *screen, size_t group, size_t groups, size_t count)
{
	size_t		i;

	for (i = 0; i < groups; i++)
		bound_group(tiles, size, screen, group + i, count,
					screen->upper + i * LW_SCREEN_TOKENS * LW_LANES, screen->can[i]);
}

static void
bound(LwScreen *screen, size_t group, size_t groups, size_t count)
{
	find_bounds(plain_tiles, TILE, screen, group, groups, count);
}

static void
dot_bound(LwScreen *screen, size_t group, size_t groups, size_t count)
{
	find_bounds(dot_tiles, DOT_TILE, screen, group, groups, count);
}

static void
raise_highest(const float *upper, size_t count, float *highest)
{
	size_t		token;
	int			lane;

	for (lane = 0; lane < LW_LANES; lane += 4)
	{
		float32x4_t most = vld1q_f32(highest + lane);

		for (token = 0; token < count; token++)
			most = vmaxq_f32(most, vld1q_f32(upper + token * LW_LANES + lane));
		vst1q_f32(highest + lane, most);
	}
}

/* Two products of codes and rests fit 16 bits: 2 * 128 * 64 < 2^15. */
static void
dots(const LwScreen *screen, size_t group, const LwPair *pairs, size_t count, int32_t *out)
{
	size_t		stride = screen->stride;
	size_t		pair;

	for (pair = 0; pair < count; pair++)
	{
		const int8_t *codes = (const int8_t *) screen->bytes + pairs[pair].token * stride;
		const int8_t *rests = screen->rests + (group * LW_LANES + pairs[pair].lane) * stride;
		int32x4_t	sums = vdupq_n_s32(0);
		size_t		i;

		for (i = 0; i < stride; i += LW_SCREEN_RUN)
		{
			int8x16_t	code = vld1q_s8(codes + i);
			int8x16_t	rest = vld1q_s8(rests + i);

			sums = vpadalq_s16(sums, vmlal_high_s8(vmull_s8(vget_low_s8(code), vget_low_s8(rest)), code, rest));
		}
		out[pair] = vaddvq_s32(sums);
	}
}

/* Sixteen sums. */
typedef struct Sums
{
	float32x4_t first;
	float32x4_t second;
	float32x4_t third;
	float32x4_t fourth;
} Sums;

/* Adds to each sum the product of a value and a code, fused. */
static inline void
add_products(Sums *sums, const float *values, int8x16_t codes)
{
	int16x8_t	low = vmovl_s8(vget_low_s8(codes));
	int16x8_t	high = vmovl_high_s8(codes);
	float32x4_t first = vcvtq_f32_s32(vmovl_s16(vget_low_s16(low)));
	float32x4_t second = vcvtq_f32_s32(vmovl_high_s16(low));
	float32x4_t third = vcvtq_f32_s32(vmovl_s16(vget_low_s16(high)));
	float32x4_t fourth = vcvtq_f32_s32(vmovl_high_s16(high));

	sums->first = vfmaq_f32(sums->first, vld1q_f32(values), first);
	sums->second = vfmaq_f32(sums->second, vld1q_f32(values + 4), second);
	sums->third = vfmaq_f32(sums->third, vld1q_f32(values + 8), third);
	sums->fourth = vfmaq_f32(sums->fourth, vld1q_f32(values + 12), fourth);
}

#define LOAD_ROWS(i) \
	a[i] = vld1q_s8(rows[i] + first); \
	a[i + 8] = vld1q_s8(rows[i + 8] + first);

#define INTERLEAVE(to, from, i) \
	to[2 * i] = vzip1q_s8(from[i], from[i + 8]); \
	to[2 * i + 1] = vzip2q_s8(from[i], from[i + 8]);

#define THERE(i) INTERLEAVE(b, a, i)
#define BACK(i) INTERLEAVE(a, b, i)

/* Columns first .. first + 15 of 16 rows: interleaving halves four times transposes. */
static inline void
read_columns(const int8_t *const *rows, size_t first, int8x16_t a[LW_LANES])
{
	int8x16_t	b[LW_LANES];

	LW_EACH_8(LOAD_ROWS)
	LW_EACH_8(THERE)
	LW_EACH_8(BACK)
	LW_EACH_8(THERE)
	LW_EACH_8(BACK)
}

/* As in maxsim_neon.c: not FMAX. */
static inline void
raise(float *maxima, float32x4_t sums, const float *factors)
{
	float32x4_t similarity = vmulq_f32(sums, vld1q_f32(factors));
	float32x4_t maximum = vld1q_f32(maxima);

	vst1q_f32(maxima, vbslq_f32(vcgtq_f32(similarity, maximum), similarity, maximum));
}

static void
raise_group(LwQuery *query, size_t group, const int8_t *const *rows, const float *factors)
{
	size_t		dimension = query->dimension;
	const float *lanes = query->lanes + group * dimension * LW_LANES;
	float	   *maxima = query->maxima + group * LW_LANES;
	Sums		sums = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)};
	int8x16_t	columns[LW_LANES];
	size_t		i;
	int			lane;

	for (i = 0; i + 16 <= dimension; i += 16)
	{
		read_columns(rows, i, columns);
		for (lane = 0; lane < LW_LANES; lane++)
			add_products(&sums, lanes + (i + lane) * LW_LANES, columns[lane]);
	}
	for (; i < dimension; i++)
	{
		int8_t		column[LW_LANES];

		for (lane = 0; lane < LW_LANES; lane++)
			column[lane] = rows[lane][i];
		add_products(&sums, lanes + i * LW_LANES, vld1q_s8(column));
	}
	raise(maxima, sums.first, factors);
	raise(maxima + 4, sums.second, factors + 4);
	raise(maxima + 8, sums.third, factors + 8);
	raise(maxima + 12, sums.fourth, factors + 12);
}

static void
raise_lanes(LwQuery *query, size_t group, size_t groups, const int8_t *const *rows,
			const float *factors)
{
	size_t		i;

	for (i = 0; i < groups; i++)
		raise_group(query, group + i, rows + i * LW_LANES, factors + i * LW_LANES);
}

const LwScreening lw_screening_neon =
{LIMIT, false, shift, unit_factors, bound, raise_highest, dots, raise_lanes};
const LwScreening lw_screening_neon_dotprod =
{DOT_LIMIT, false, shift, unit_factors, dot_bound, raise_highest, dots, raise_lanes};

#endif							/* __aarch64__ */
