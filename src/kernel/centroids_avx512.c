/*-------------------------------------------------------------------------
 *
 * centroids_avx512.c
 *	  Comparing with centroids by AVX-512 F and BW: tiles of 12 rows x 16
 *	  lanes; ranks for two groups of query tokens at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/centroids.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/query.h"

#define AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw")))

#define TILE 12

typedef void (*Tile) (const float *lanes, size_t dimension, const float *const *rows, float *dots);

#define DECLARE(t) \
	const float *row##t = rows[t]; \
	__m512		sum##t = _mm512_setzero_ps();

#define MULTIPLY_ADD(t) \
	sum##t = _mm512_fmadd_ps(lane, _mm512_set1_ps(row##t[i]), sum##t);

#define STORE(t) \
	_mm512_storeu_ps(dots + t * LW_PACK_LANES, sum##t);

#define DEFINE_TILE(n) \
static AVX512 void \
tile_##n(const float *lanes, size_t dimension, const float *const *rows, float *dots) \
{ \
	__m512		lane; \
	size_t		i; \
	LW_EACH_##n(DECLARE) \
	\
	LW_UNROLL \
	for (i = 0; i < dimension; i++) \
	{ \
		lane = _mm512_loadu_ps(lanes + i * LW_PACK_LANES); \
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
DEFINE_TILE(7)
DEFINE_TILE(8)
DEFINE_TILE(9)
DEFINE_TILE(10)
DEFINE_TILE(11)
DEFINE_TILE(12)

static const Tile tiles[TILE + 1] =
{NULL, tile_1, tile_2, tile_3, tile_4, tile_5, tile_6,
tile_7, tile_8, tile_9, tile_10, tile_11, tile_12};

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

/* The sum of 32 bytes. */
static inline AVX512 uint32_t
sum_bytes(__m256i bytes)
{
	__m256i		sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
	__m128i		half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));

	return (uint32_t) (_mm_cvtsi128_si32(half) + _mm_extract_epi32(half, 2));
}

static AVX512 uint32_t
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

static AVX512 uint32_t
rank_pair(const uint8_t *rows, size_t pitch, uint32_t centroids, const LwCodes *document)
{
	__m512i		best = _mm512_setzero_si512();
	size_t		i;

	LW_UNROLL
	for (i = 0; i < document->count; i++)
		best = _mm512_max_epu8(best, _mm512_loadu_si512(rows + lw_code(document->ids, i, centroids) * pitch));
	return sum_bytes(_mm512_castsi512_si256(best)) + sum_bytes(_mm512_extracti64x4_epi64(best, 1));
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
		for (group = 0; group + 2 <= table->groups; group += 2)
			ranks[i] += rank_pair(table->rows + group * LW_RANK_LANES, pitch, table->count, &documents[i]);
		if (group < table->groups)
			ranks[i] += rank_group(table->rows + group * LW_RANK_LANES, pitch, table->count, &documents[i]);
	}
}

const LwCentroidKernel lw_centroids_avx512 = {find_dots, lw_raise_avx2, lw_quantize_avx2, rank};

#endif
