/*-------------------------------------------------------------------------
 *
 * maxsim_avx512.c
 *	  The arithmetic with AVX-512 F and BW: tiles of 8 tokens x 32 lanes, or
 *	  x 16 for the last group of an odd number.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/query.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel/screen.h"

#define AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw")))

#define TILE 8

/* The maxima of a lane group, or of two, and the lanes that met a NaN. */
typedef struct Lanes
{
	__m512		first;
	__m512		second;
	__mmask16	first_strange;
	__mmask16	second_strange;
} Lanes;

typedef void (*Tile) (const float *lanes, const float *rows, size_t dimension,
					  const float *factors, Lanes *state);

#define DECLARE(t) \
	const float *row##t = rows + t * dimension; \
	__m512		first##t = _mm512_setzero_ps();

#define DECLARE_PAIR(t) \
	DECLARE(t) \
	__m512		second##t = _mm512_setzero_ps();

#define MULTIPLY_ADD(t) \
	value = _mm512_set1_ps(row##t[i]); \
	first##t = _mm512_fmadd_ps(first, value, first##t);

#define MULTIPLY_ADD_PAIR(t) \
	MULTIPLY_ADD(t) \
	second##t = _mm512_fmadd_ps(second, value, second##t);

/* The maximum's second operand is the result unless the first is greater. */
#define FINISH(t) \
	value = _mm512_set1_ps(factors[t]); \
	first = _mm512_mul_ps(first##t, value); \
	all.first = _mm512_max_ps(first, all.first); \
	all.first_strange |= _mm512_cmp_ps_mask(first, first, _CMP_UNORD_Q);

#define FINISH_PAIR(t) \
	FINISH(t) \
	second = _mm512_mul_ps(second##t, value); \
	all.second = _mm512_max_ps(second, all.second); \
	all.second_strange |= _mm512_cmp_ps_mask(second, second, _CMP_UNORD_Q);

/* Takes n rows; meanwhile has as many following ones, a share a dimension, fetched. */
#define DEFINE_TILES(n) \
static AVX512 void \
single_##n(const float *lanes, const float *rows, size_t dimension, \
		   const float *factors, Lanes *state) \
{ \
	const char *following = (const char *) (rows + n * dimension); \
	Lanes		all = *state; \
	__m512		first, value; \
	size_t		i; \
	LW_EACH_##n(DECLARE) \
	\
	LW_UNROLL \
	for (i = 0; i < dimension; i++) \
	{ \
		_mm_prefetch(following + i * n * sizeof(float), _MM_HINT_T0); \
		first = _mm512_load_ps(lanes + i * LW_LANES); \
		LW_EACH_##n(MULTIPLY_ADD) \
	} \
	LW_EACH_##n(FINISH) \
	*state = all; \
} \
\
static AVX512 void \
pair_##n(const float *lanes, const float *rows, size_t dimension, \
		 const float *factors, Lanes *state) \
{ \
	const char *following = (const char *) (rows + n * dimension); \
	const float *lanes2 = lanes + dimension * LW_LANES; \
	Lanes		all = *state; \
	__m512		first, second, value; \
	size_t		i; \
	LW_EACH_##n(DECLARE_PAIR) \
	\
	LW_UNROLL \
	for (i = 0; i < dimension; i++) \
	{ \
		_mm_prefetch(following + i * n * sizeof(float), _MM_HINT_T0); \
		first = _mm512_load_ps(lanes + i * LW_LANES); \
		second = _mm512_load_ps(lanes2 + i * LW_LANES); \
		LW_EACH_##n(MULTIPLY_ADD_PAIR) \
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

static const Tile singles[TILE + 1] =
{NULL, single_1, single_2, single_3, single_4, single_5, single_6, single_7, single_8};

static const Tile pairs[TILE + 1] =
{NULL, pair_1, pair_2, pair_3, pair_4, pair_5, pair_6, pair_7, pair_8};

static AVX512 bool
raise_maxima(LwQuery *query, size_t group, size_t groups, const float *rows,
			 const float *factors, size_t count)
{
	size_t		dimension = query->dimension;
	size_t		end = group + groups;
	uint32_t	strange = 0;

	for (; group < end; group += 2)
	{
		bool		pair = group + 1 < end;
		const Tile *tiles = pair ? pairs : singles;
		float	   *maxima = query->maxima + group * LW_LANES;
		Lanes		state;
		size_t		done;

		state.first = _mm512_load_ps(maxima);
		state.second = pair ? _mm512_load_ps(maxima + LW_LANES) : _mm512_setzero_ps();
		state.first_strange = 0;
		state.second_strange = 0;
		for (done = 0; done < count; done += TILE)
		{
			size_t		left = count - done;

			tiles[left < TILE ? left : TILE] (query->lanes + group * dimension * LW_LANES,
											  rows + done * dimension, dimension,
											  factors + done, &state);
		}
		_mm512_store_ps(maxima, state.first);
		strange |= state.first_strange & lw_real_lanes(query, group);
		if (pair)
		{
			_mm512_store_ps(maxima + LW_LANES, state.second);
			strange |= state.second_strange & lw_real_lanes(query, group + 1);
		}
	}
	return strange != 0;
}

/* Codes whose squares surely fit the 32-bit sums of `widen`: 2^16 steps of two. */
#define RUN ((size_t) 1 << 20)

static AVX512 uint64_t
widen(const int8_t *codes, size_t dimension, float *row)
{
	uint64_t	squares = 0;
	size_t		whole = dimension / 32 * 32;
	size_t		i = 0;

	while (i < whole)
	{
		size_t		end = whole - i < RUN ? whole : i + RUN;
		__m512i		sums = _mm512_setzero_si512();
		uint32_t	parts[16];
		int			lane;

		for (; i < end; i += 32)
		{
			__m128i		low = _mm_loadu_si128((const __m128i *) (codes + i));
			__m128i		high = _mm_loadu_si128((const __m128i *) (codes + i + 16));
			__m512i		words = _mm512_cvtepi8_epi16(_mm256_set_m128i(high, low));

			sums = _mm512_add_epi32(sums, _mm512_madd_epi16(words, words));
			_mm512_storeu_ps(row + i, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(low)));
			_mm512_storeu_ps(row + i + 16, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(high)));
		}
		_mm512_storeu_si512(parts, sums);
		for (lane = 0; lane < 16; lane++)
			squares += parts[lane];
	}
	for (; i < dimension; i++)
	{
		row[i] = codes[i];
		squares += (uint64_t) (codes[i] * codes[i]);
	}
	return squares;
}

const LwArithmetic lw_arithmetic_avx512 = {raise_maxima, widen, NULL};
const LwArithmetic lw_arithmetic_avx512_vnni = {raise_maxima, widen, &lw_screening_avx512};

#endif							/* __x86_64__ */
