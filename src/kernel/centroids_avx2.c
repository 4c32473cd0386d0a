/*-------------------------------------------------------------------------
 *
 * centroids_avx2.c
 *	  Comparing with centroids by AVX2 and FMA: tiles of 6 rows x 16 lanes;
 *	  ranks by a load and a maximum of 32 bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/centroids.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/query.h"

#define AVX2 __attribute__((target("avx2,fma")))

#define TILE 6

typedef void (*Tile) (const float *lanes, size_t dimension, const float *const *rows, float *dots);

#define DECLARE(t) \
	const float *row##t = rows[t]; \
	__m256		low##t = _mm256_setzero_ps(); \
	__m256		high##t = _mm256_setzero_ps();

#define MULTIPLY_ADD(t) \
	value = _mm256_broadcast_ss(row##t + i); \
	low##t = _mm256_fmadd_ps(low, value, low##t); \
	high##t = _mm256_fmadd_ps(high, value, high##t);

#define STORE(t) \
	_mm256_storeu_ps(dots + t * LW_PACK_LANES, low##t); \
	_mm256_storeu_ps(dots + t * LW_PACK_LANES + 8, high##t);

#define DEFINE_TILE(n) \
static AVX2 void \
tile_##n(const float *lanes, size_t dimension, const float *const *rows, float *dots) \
{ \
	__m256		low, high, value; \
	size_t		i; \
	LW_EACH_##n(DECLARE) \
	\
	LW_UNROLL \
	for (i = 0; i < dimension; i++) \
	{ \
		low = _mm256_loadu_ps(lanes + i * LW_PACK_LANES); \
		high = _mm256_loadu_ps(lanes + i * LW_PACK_LANES + 8); \
		LW_EACH_##n(MULTIPLY_ADD) \
	} \
	LW_EACH_##n(STORE) \
}

DEFINE_TILE(1)
DEFINE_TILE(2)
DEFINE_TILE(3)
DEFINE_TILE(4)
DEFINE_TILE(5)
DEFINE_TILE(6)

static const Tile tiles[TILE + 1] = {NULL, tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};

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

/* One half of a row's lanes. */
static inline AVX2 void
raise_half(const float *dots, __m256 bias, __m256i group, float *best, uint32_t *groups)
{
	__m256		value = _mm256_add_ps(_mm256_loadu_ps(dots), bias);
	__m256		old = _mm256_loadu_ps(best);
	__m256		greater = _mm256_cmp_ps(value, old, _CMP_GT_OQ);
	__m256i		before = _mm256_loadu_si256((const __m256i *) groups);

	_mm256_storeu_ps(best, _mm256_blendv_ps(old, value, greater));
	_mm256_storeu_si256((__m256i *) groups, _mm256_blendv_epi8(before, group, _mm256_castps_si256(greater)));
}

AVX2 void
lw_raise_avx2(const float *dots, size_t count, const float *biases, uint32_t group,
			  float *best, uint32_t *groups)
{
	__m256		low = _mm256_loadu_ps(biases);
	__m256		high = _mm256_loadu_ps(biases + 8);
	__m256i		number = _mm256_set1_epi32((int) group);
	size_t		i;

	for (i = 0; i < count * LW_PACK_LANES; i += LW_PACK_LANES)
	{
		raise_half(dots + i, low, number, best + i, groups + i);
		raise_half(dots + i + 8, high, number, best + i + 8, groups + i + 8);
	}
}

/* Eight values as integers 0 to 255; the maximum's second operand is the result for a NaN. */
static inline AVX2 __m256i
steps(const float *dots, const float *low, __m256 scale)
{
	__m256		value = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(dots), _mm256_loadu_ps(low)), scale);

	value = _mm256_min_ps(_mm256_max_ps(value, _mm256_setzero_ps()), _mm256_set1_ps(255.0f));
	return _mm256_cvttps_epi32(_mm256_add_ps(value, _mm256_set1_ps(0.5f)));
}

AVX2 void
lw_quantize_avx2(const float *dots, size_t count, const float *low, float scale,
				 uint8_t *bytes, size_t pitch)
{
	__m256		factor = _mm256_set1_ps(scale);
	size_t		i;

	for (i = 0; i < count; i++, dots += LW_PACK_LANES, bytes += pitch)
	{
		/* words 0-3 and 8-11, then 4-7 and 12-15 */
		__m256i		words = _mm256_packs_epi32(steps(dots, low, factor), steps(dots + 8, low + 8, factor));

		words = _mm256_permute4x64_epi64(words, _MM_SHUFFLE(3, 1, 2, 0));
		_mm_storeu_si128((__m128i *) bytes,
						 _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
	}
}

/* The sum of 32 bytes. */
static inline AVX2 uint32_t
sum_bytes(__m256i bytes)
{
	__m256i		sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
	__m128i		half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));

	return (uint32_t) (_mm_cvtsi128_si32(half) + _mm_extract_epi32(half, 2));
}

static AVX2 uint32_t
rank_group(const uint8_t *rows, size_t pitch, uint32_t centroids, const LwCodes *document)
{
	__m256i		best = _mm256_setzero_si256();
	size_t		i;

	LW_UNROLL
	for (i = 0; i < document->count; i++)
		best = _mm256_max_epu8(best, _mm256_loadu_si256((const __m256i *)
														(rows + lw_code(document->ids, i, centroids) * pitch)));
	return sum_bytes(best);
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

const LwCentroidKernel lw_centroids_avx2 = {find_dots, lw_raise_avx2, lw_quantize_avx2, rank};

#endif
