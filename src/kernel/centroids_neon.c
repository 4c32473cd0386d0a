/*-------------------------------------------------------------------------
 *
 * centroids_neon.c
 *	  Comparing with centroids by NEON: tiles of 4 rows x 16 lanes; ranks by
 *	  two loads and maxima of 16 bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/centroids.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "kernel/query.h"

#define TILE 4

typedef void (*Tile) (const float *lanes, size_t dimension, const float *const *rows, float *dots);

#define DECLARE(t) \
	const float *row##t = rows[t]; \
	float32x4_t first##t = vdupq_n_f32(0); \
	float32x4_t second##t = first##t; \
	float32x4_t third##t = first##t; \
	float32x4_t fourth##t = first##t;

#define MULTIPLY_ADD(t) \
	first##t = vfmaq_n_f32(first##t, first, row##t[i]); \
	second##t = vfmaq_n_f32(second##t, second, row##t[i]); \
	third##t = vfmaq_n_f32(third##t, third, row##t[i]); \
	fourth##t = vfmaq_n_f32(fourth##t, fourth, row##t[i]);

#define STORE(t) \
	vst1q_f32(dots + t * LW_PACK_LANES, first##t); \
	vst1q_f32(dots + t * LW_PACK_LANES + 4, second##t); \
	vst1q_f32(dots + t * LW_PACK_LANES + 8, third##t); \
	vst1q_f32(dots + t * LW_PACK_LANES + 12, fourth##t);

#define DEFINE_TILE(n) \
static void \
tile_##n(const float *lanes, size_t dimension, const float *const *rows, float *dots) \
{ \
	float32x4_t first, second, third, fourth; \
	size_t		i; \
	LW_EACH_##n(DECLARE) \
	\
	for (i = 0; i < dimension; i++) \
	{ \
		first = vld1q_f32(lanes + i * LW_PACK_LANES); \
		second = vld1q_f32(lanes + i * LW_PACK_LANES + 4); \
		third = vld1q_f32(lanes + i * LW_PACK_LANES + 8); \
		fourth = vld1q_f32(lanes + i * LW_PACK_LANES + 12); \
		LW_EACH_##n(MULTIPLY_ADD) \
	} \
	LW_EACH_##n(STORE) \
}

DEFINE_TILE(1)
DEFINE_TILE(2)
DEFINE_TILE(3)
DEFINE_TILE(4)

static const Tile tiles[TILE + 1] = {NULL, tile_1, tile_2, tile_3, tile_4};

static void
find_dots(const float *lanes, size_t dimension, const float *const *rows, size_t count, float *dots)
{
	size_t		done;
	size_t		tile;

	for (done = 0; done < count; done += tile)
	{
		tile = lw_next_tile(count - done, TILE);
		tiles[tile] (lanes, dimension, rows + done, dots + done * LW_PACK_LANES);
	}
}

static void
raise(const float *dots, size_t count, const float *biases, uint32_t group, float *best, uint32_t *groups)
{
	size_t		i;

	for (i = 0; i < count * LW_PACK_LANES; i += 4)
	{
		float32x4_t value = vaddq_f32(vld1q_f32(dots + i), vld1q_f32(biases + i % LW_PACK_LANES));
		float32x4_t old = vld1q_f32(best + i);
		uint32x4_t	greater = vcgtq_f32(value, old);

		vst1q_f32(best + i, vbslq_f32(greater, value, old));
		vst1q_u32(groups + i, vbslq_u32(greater, vdupq_n_u32(group), vld1q_u32(groups + i)));
	}
}

/* Four values as integers 0 to 255; a NaN, which is not greater than 0, is 0. */
static inline uint32x4_t
steps(const float *dots, const float *low, float scale)
{
	float32x4_t value = vmulq_n_f32(vsubq_f32(vld1q_f32(dots), vld1q_f32(low)), scale);
	float32x4_t zero = vdupq_n_f32(0);

	value = vbslq_f32(vcgtq_f32(value, zero), value, zero);
	return vcvtq_u32_f32(vaddq_f32(vminq_f32(value, vdupq_n_f32(255.0f)), vdupq_n_f32(0.5f)));
}

static void
quantize(const float *dots, size_t count, const float *low, float scale, uint8_t *bytes, size_t pitch)
{
	size_t		i;

	for (i = 0; i < count; i++, dots += LW_PACK_LANES, bytes += pitch)
	{
		uint16x8_t	first = vcombine_u16(vmovn_u32(steps(dots, low, scale)),
										 vmovn_u32(steps(dots + 4, low + 4, scale)));
		uint16x8_t	second = vcombine_u16(vmovn_u32(steps(dots + 8, low + 8, scale)),
										  vmovn_u32(steps(dots + 12, low + 12, scale)));

		vst1q_u8(bytes, vcombine_u8(vmovn_u16(first), vmovn_u16(second)));
	}
}

static uint32_t
rank_group(const uint8_t *rows, size_t pitch, uint32_t centroids, const LwCodes *document)
{
	uint8x16_t	low = vdupq_n_u8(0);
	uint8x16_t	high = low;
	size_t		i;

	for (i = 0; i < document->count; i++)
	{
		const uint8_t *row = rows + lw_code(document->ids, i, centroids) * pitch;

		low = vmaxq_u8(low, vld1q_u8(row));
		high = vmaxq_u8(high, vld1q_u8(row + 16));
	}
	return (uint32_t) vaddlvq_u8(low) + vaddlvq_u8(high);
}

static void
rank(const LwCentroidTable *table, const LwCodes *documents, size_t count, uint32_t *ranks)
{
	size_t		pitch = table->groups * LW_RANK_LANES;
	size_t		i;
	size_t		group;

	for (i = 0; i < count; i++)
	{
		ranks[i] = 0;
		for (group = 0; group < table->groups; group++)
			ranks[i] += rank_group(table->rows + group * LW_RANK_LANES, pitch, table->count, &documents[i]);
	}
}

const LwCentroidKernel lw_centroids_neon = {find_dots, raise, quantize, rank};

#endif
