/*-------------------------------------------------------------------------
 *
 * maxsim_avx2.c
 *	  The arithmetic with AVX2 and FMA: tiles of 6 tokens x 16 lanes, or of
 *	  12 x 8 where a group has no more than 8 query tokens.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/query.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/screen.h"

#define AVX2 __attribute__((target("avx2,fma")))

#define TILE 6
#define NARROW_TILE 12

/* A lane group's maxima, and all ones in a lane that met a NaN. */
typedef struct Lanes
{
	__m256		low;
	__m256		high;
	__m256		low_strange;
	__m256		high_strange;
} Lanes;

typedef void (*Tile) (const float *lanes, const float *rows, size_t dimension,
					  const float *factors, Lanes *state);

#define DECLARE_LOW(t) \
	const float *row##t = rows + t * dimension; \
	__m256		low##t = _mm256_setzero_ps();

#define DECLARE(t) \
	DECLARE_LOW(t) \
	__m256		high##t = _mm256_setzero_ps();

#define MULTIPLY_ADD_LOW(t) \
	value = _mm256_broadcast_ss(row##t + i); \
	low##t = _mm256_fmadd_ps(low, value, low##t);

#define MULTIPLY_ADD(t) \
	MULTIPLY_ADD_LOW(t) \
	high##t = _mm256_fmadd_ps(high, value, high##t);

/* The maximum's second operand is the result unless the first is greater. */
#define FINISH_LOW(t) \
	value = _mm256_broadcast_ss(factors + t); \
	low = _mm256_mul_ps(low##t, value); \
	all.low = _mm256_max_ps(low, all.low); \
	all.low_strange = _mm256_or_ps(all.low_strange, _mm256_cmp_ps(low, low, _CMP_UNORD_Q));

#define FINISH(t) \
	FINISH_LOW(t) \
	high = _mm256_mul_ps(high##t, value); \
	all.high = _mm256_max_ps(high, all.high); \
	all.high_strange = _mm256_or_ps(all.high_strange, _mm256_cmp_ps(high, high, _CMP_UNORD_Q));

/* Takes n rows; meanwhile has as many following ones, a share a dimension, fetched. */
#define DEFINE_TILE(n) \
static AVX2 void \
tile_##n(const float *lanes, const float *rows, size_t dimension, \
		 const float *factors, Lanes *state) \
{ \
	const char *following = (const char *) (rows + n * dimension); \
	Lanes		all = *state; \
	__m256		low, high, value; \
	size_t		i; \
	LW_EACH_##n(DECLARE) \
	\
	LW_UNROLL \
	for (i = 0; i < dimension; i++) \
	{ \
		_mm_prefetch(following + i * n * sizeof(float), _MM_HINT_T0); \
		low = _mm256_load_ps(lanes + i * LW_LANES); \
		high = _mm256_load_ps(lanes + i * LW_LANES + 8); \
		LW_EACH_##n(MULTIPLY_ADD) \
	} \
	LW_EACH_##n(FINISH) \
	*state = all; \
}

#define DEFINE_NARROW_TILE(n) \
static AVX2 void \
narrow_##n(const float *lanes, const float *rows, size_t dimension, \
		   const float *factors, Lanes *state) \
{ \
	const char *following = (const char *) (rows + n * dimension); \
	Lanes		all = *state; \
	__m256		low, value; \
	size_t		i; \
	LW_EACH_##n(DECLARE_LOW) \
	\
	LW_UNROLL \
	for (i = 0; i < dimension; i++) \
	{ \
		_mm_prefetch(following + i * n * sizeof(float), _MM_HINT_T0); \
		low = _mm256_load_ps(lanes + i * LW_LANES); \
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

DEFINE_NARROW_TILE(1)
DEFINE_NARROW_TILE(2)
DEFINE_NARROW_TILE(3)
DEFINE_NARROW_TILE(4)
DEFINE_NARROW_TILE(5)
DEFINE_NARROW_TILE(6)
DEFINE_NARROW_TILE(7)
DEFINE_NARROW_TILE(8)
DEFINE_NARROW_TILE(9)
DEFINE_NARROW_TILE(10)
DEFINE_NARROW_TILE(11)
DEFINE_NARROW_TILE(12)

static const Tile tiles[TILE + 1] = {NULL, tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};

static const Tile narrow_tiles[NARROW_TILE + 1] =
{NULL, narrow_1, narrow_2, narrow_3, narrow_4, narrow_5, narrow_6,
narrow_7, narrow_8, narrow_9, narrow_10, narrow_11, narrow_12};

static AVX2 bool
raise_maxima(LwQuery *query, size_t group, size_t groups, const float *rows,
			 const float *factors, size_t count)
{
	size_t		dimension = query->dimension;
	size_t		end = group + groups;
	uint32_t	strange = 0;

	for (; group < end; group++)
	{
		const float *lanes = query->lanes + group * dimension * LW_LANES;
		float	   *maxima = query->maxima + group * LW_LANES;
		bool		narrow = lw_real_lanes(query, group) >> 8 == 0;
		Lanes		state;
		size_t		done;
		size_t		take;

		state.low = _mm256_load_ps(maxima);
		state.high = _mm256_load_ps(maxima + 8);
		state.low_strange = _mm256_setzero_ps();
		state.high_strange = _mm256_setzero_ps();
		for (done = 0; done < count; done += take)
		{
			take = lw_next_tile(count - done, narrow ? NARROW_TILE : TILE);
			(narrow ? narrow_tiles : tiles)[take] (lanes, rows + done * dimension,
												   dimension, factors + done, &state);
		}
		_mm256_store_ps(maxima, state.low);
		_mm256_store_ps(maxima + 8, state.high);
		strange |= lw_real_lanes(query, group) &
			((uint32_t) _mm256_movemask_ps(state.low_strange) |
			 (uint32_t) _mm256_movemask_ps(state.high_strange) << 8);
	}
	return strange != 0;
}

/* Codes whose squares surely fit the 32-bit sums of `widen`: 2^16 steps of two. */
#define RUN ((size_t) 1 << 20)

static AVX2 uint64_t
widen(const int8_t *codes, size_t dimension, float *row)
{
	uint64_t	squares = 0;
	size_t		whole = dimension / 16 * 16;
	size_t		i = 0;

	while (i < whole)
	{
		size_t		end = whole - i < RUN ? whole : i + RUN;
		__m256i		sums = _mm256_setzero_si256();
		uint32_t	parts[8];
		int			lane;

		for (; i < end; i += 16)
		{
			__m128i		bytes = _mm_loadu_si128((const __m128i *) (codes + i));
			__m256i		words = _mm256_cvtepi8_epi16(bytes);
			__m256i		low = _mm256_cvtepi8_epi32(bytes);
			__m256i		high = _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8));

			sums = _mm256_add_epi32(sums, _mm256_madd_epi16(words, words));
			_mm256_storeu_ps(row + i, _mm256_cvtepi32_ps(low));
			_mm256_storeu_ps(row + i + 8, _mm256_cvtepi32_ps(high));
		}
		_mm256_storeu_si256((__m256i *) parts, sums);
		for (lane = 0; lane < 8; lane++)
			squares += parts[lane];
	}
	for (; i < dimension; i++)
	{
		row[i] = codes[i];
		squares += (uint64_t) (codes[i] * codes[i]);
	}
	return squares;
}

const LwArithmetic lw_arithmetic_avx2 = {raise_maxima, widen, &lw_screening_avx2};
const LwArithmetic lw_arithmetic_avx2_vnni = {raise_maxima, widen, &lw_screening_avxvnni};

#endif							/* __x86_64__ */
