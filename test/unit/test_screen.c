/*-------------------------------------------------------------------------
 *
 * test_screen.c
 *	  The bounds by which an int8 document's tokens are ruled out: they hold
 *	  for every pair of tokens, and are near enough to be of use.
 *
 * That scores do not depend on the screen is test_maxsim's matter; here the
 * bounds themselves are compared with similarities in exact order.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "kernel/screen.h"
#include "random.h"
#include "unit.h"

#define MAX_GROUPS 3			/* one beyond those that are bounded together */
#define MAX_QUERY (MAX_GROUPS * LW_LANES)
#define MAX_DIMENSION LW_SCREEN_DIMENSION
#define MAX_TOKENS 130
#define LONG_TOKENS (2 * LW_SCREEN_TOKENS + 20)
#define LONG_DIMENSION 64

#define BRIEF 3					/* a brief run takes one case of so many */

typedef enum Shape
{
	GAUSSIAN,
	ENDS,						/* the largest and smallest codes, and query values to match */
	SPIKE,						/* one large query value, which leaves the others a coarse step */
	NEGATIVE,					/* to four lanes only the token of zeros is not dissimilar */
	SHAPES
} Shape;

static float vectors[MAX_QUERY * MAX_DIMENSION];
static int8_t codes[MAX_TOKENS * MAX_DIMENSION];
static float scales[LONG_TOKENS];

static void
fill(size_t query_tokens, size_t dimension, size_t tokens, Shape shape)
{
	float		size = ldexpf(1, (int) random_below(60) - 30);
	size_t		i;

	for (i = 0; i < query_tokens * dimension; i++)
	{
		vectors[i] = gaussian() * size;
		if (shape == ENDS)
			vectors[i] = random_below(2) ? size : -size;
		if (shape == SPIKE && i % dimension == 0)
			vectors[i] = 1000 * size;
		if (shape == NEGATIVE)
			vectors[i] = copysignf(vectors[i], i / dimension / 4 == dimension % 4 ? 1 : -1);
	}
	for (i = 0; i < tokens * dimension; i++)
	{
		codes[i] = (int8_t) (gaussian() * 20);
		if (shape == ENDS)
			codes[i] = vectors[i % dimension] > 0 ? 127 : -128;
		if (shape == NEGATIVE)
			codes[i] = (int8_t) (-1 - (int) random_below(100));
	}
	for (i = 0; i < tokens; i++)
		scales[i] = ldexpf(1 + (float) random_below(1000) / 1000, (int) random_below(70) - 38);
	memset(codes + tokens / 2 * dimension, 0, dimension);
}

/* Compares maxima, and the bounds left in the screen, with the similarities. */
static void
compare(const LwQuery *query, size_t tokens, const char *name)
{
	const LwScreen *screen = query->screen;
	size_t		dimension = query->dimension;
	size_t		bounded = (query->groups - 1) / LW_SCREEN_GROUPS * LW_SCREEN_GROUPS;
	size_t		lane;

	for (lane = 0; lane < query->tokens; lane++)
	{
		const float *vector = vectors + lane * dimension;
		const float *uppers = screen->upper + (lane / LW_LANES - bounded) * LW_SCREEN_TOKENS * LW_LANES;
		float		best = -INFINITY;
		double		near = -INFINITY;
		double		step = (double) screen->steps[lane];
		size_t		token;
		size_t		i;

		for (token = 0; token < tokens; token++)
		{
			double		slack = 2.001 * (double) screen->coarse[lane] * (double) screen->sizes[token];
			float		similarity = 0;
			double		exact;
			double		upper;

			for (i = 0; i < dimension; i++)
				similarity = fmaf(vector[i], codes[token * dimension + i], similarity);
			similarity *= screen->factors[token];
			exact = (double) similarity / step;
			best = similarity > best ? similarity : best;
			near = fmax(near, exact - slack);
			if (lane / LW_LANES < bounded)
				continue;
			upper = uppers[token * LW_LANES + lane % LW_LANES];
			CHECK(exact <= upper && upper <= exact + slack,
				  "%s, dimension %zu, lane %zu, token %zu of %zu: %a, upper bound %a", name,
				  dimension, lane, token, tokens, exact, upper);
		}
		CHECK((double) screen->coarse_best[lane] <= (double) best / step &&
			  (double) screen->coarse_best[lane] >= near &&
			  (double) screen->fine_best[lane] <= (double) best / step,
			  "%s, dimension %zu, lane %zu: best %a, lower bounds %a and %a of steps of %a", name,
			  dimension, lane, (double) best, (double) screen->coarse_best[lane],
			  (double) screen->fine_best[lane], step);
		CHECK(query->maxima[lane] == best, "%s, dimension %zu, lane %zu: %a of %a", name,
			  dimension, lane, (double) query->maxima[lane], (double) best);
	}
}

static void
check(const LwArithmetic *arithmetic, const char *name, uint32_t query_tokens, size_t dimension,
	  size_t tokens, Shape shape)
{
	bool		unit = random_below(2);
	LwDocument	document = {codes, scales, tokens};
	void	   *memory;
	uint32_t	live = query_tokens < LW_LANES ? (1U << query_tokens) - 1 : 0xffff;
	LwQuery    *query;
	size_t		left = 0;
	size_t		i;

	if (unit_brief() && random_below(BRIEF) > 0)
		return;
	memory = aligned_alloc(64, lw_query_size(query_tokens, (uint32_t) dimension));
	fill(query_tokens, dimension, tokens, shape);
	query = lw_query_init(memory, vectors, query_tokens, (uint32_t) dimension);
	CHECK(lw_screen_ready(query, arithmetic->screening) && query->screen->live[query->groups - 1] == live,
		  "%s, dimension %zu: not ready", name, dimension);
	CHECK(lw_screen_document(query, arithmetic, unit, &document, -INFINITY) == tokens, "%s", name);
	compare(query, tokens, name);
	for (i = 0; i < tokens; i++)
		left += (size_t) __builtin_popcount(query->screen->can[0][i] & live);
	if (shape == GAUSSIAN && dimension >= 100 && dimension <= 800 && tokens >= 70 && unit)
		CHECK(left <= LW_LANES * tokens / 10, "%s: %zu pairs of %zu left", name, left,
			  LW_LANES * tokens);
	free(memory);
}

/* How many documents the query goes unscreened. */
static int
count_rest(LwQuery *query, const LwScreening *screening)
{
	int			rest = 0;

	while (!lw_screen_ready(query, screening))
		rest++;
	return rest;
}

/*
 * A screen that leaves everything ends with its block, and rests for more and
 * more documents, until it is of use.
 */
static void
check_rest(const LwArithmetic *arithmetic, const char *name)
{
	static const int expected[] = {1, 3, 7, 15, 31, 31};
	size_t		tokens = LW_SCREEN_TOKENS + 1;
	LwDocument	document = {codes, scales, tokens};
	void	   *memory = aligned_alloc(64, lw_query_size(LW_LANES, 1));
	LwQuery    *query;
	size_t		i;

	for (i = 0; i < LW_LANES; i++)
		vectors[i] = 1;
	query = lw_query_init(memory, vectors, LW_LANES, 1);
	memset(codes, 1, tokens);
	CHECK(count_rest(query, arithmetic->screening) == 0, "%s", name);
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
	{
		CHECK(lw_screen_document(query, arithmetic, true, &document, -INFINITY) == LW_SCREEN_TOKENS, "%s", name);
		CHECK(count_rest(query, arithmetic->screening) == expected[i], "%s: time %zu", name, i);
	}
	memset(codes + 1, -1, tokens - 1);
	CHECK(lw_screen_document(query, arithmetic, true, &document, -INFINITY) == tokens, "%s", name);
	CHECK(count_rest(query, arithmetic->screening) == 0, "%s", name);
	memset(codes, 1, tokens);
	CHECK(lw_screen_document(query, arithmetic, true, &document, -INFINITY) == LW_SCREEN_TOKENS, "%s", name);
	CHECK(count_rest(query, arithmetic->screening) == 1, "%s", name);
	free(memory);
}

/*
 * A document of several blocks is found below a floor that its score is far
 * below, and never below its score; a pass that was in vain is not made again
 * for the next document.
 */
static void
check_floor(const LwArithmetic *arithmetic, const char *name, size_t groups)
{
	uint32_t	query_tokens = (uint32_t) groups * LW_LANES;
	LwDocument	document = {codes, scales, LONG_TOKENS};
	void	   *memory = aligned_alloc(64, lw_query_size(query_tokens, LONG_DIMENSION));
	float		maxima[MAX_QUERY];
	float		score = 0;
	LwQuery    *query;
	size_t		i;

	fill(query_tokens, LONG_DIMENSION, LONG_TOKENS, GAUSSIAN);
	query = lw_query_init(memory, vectors, query_tokens, LONG_DIMENSION);
	CHECK(lw_screen_ready(query, arithmetic->screening), "%s", name);
	CHECK(lw_screen_document(query, arithmetic, true, &document, -INFINITY) == LONG_TOKENS, "%s", name);
	for (i = 0; i < query_tokens; i++)
		score += query->maxima[i];
	memcpy(maxima, query->maxima, sizeof(float) * query_tokens);
	CHECK(lw_screen_document(query, arithmetic, true, &document, score * 1.25f) == SIZE_MAX, "%s: not below", name);
	CHECK(query->screen->floors.left == 0, "%s: rests", name);
	CHECK(lw_screen_document(query, arithmetic, true, &document, score) == LONG_TOKENS &&
		  memcmp(maxima, query->maxima, sizeof(float) * query_tokens) == 0, "%s: its own score", name);
	CHECK(query->screen->floors.left == 1, "%s: does not rest", name);
	CHECK(lw_screen_document(query, arithmetic, true, &document, score * 1.25f) == LONG_TOKENS, "%s: no rest", name);
	CHECK(lw_screen_document(query, arithmetic, true, &document, score * 1.25f) == SIZE_MAX, "%s: rests too long", name);
	free(memory);
}

/* A query whose norms are out of range, or of too large a dimension, goes unscreened. */
static void
check_unfit(const LwScreening *screening)
{
	void	   *memory = aligned_alloc(64, lw_query_size(1, LW_SCREEN_DIMENSION));
	void	   *plain = aligned_alloc(64, lw_query_size(1, LW_SCREEN_DIMENSION + 1));
	float		small = 0x1p-41f;
	float		large = 0x1.8p40f;
	float		zero = 0;

	CHECK(!lw_screen_ready(lw_query_init(memory, &small, 1, 1), screening), "small");
	CHECK(!lw_screen_ready(lw_query_init(memory, &large, 1, 1), screening), "large");
	CHECK(lw_screen_ready(lw_query_init(memory, &zero, 1, 1), screening), "zero");
	memset(vectors, 0, (LW_SCREEN_DIMENSION + 1) * sizeof(float));
	vectors[0] = 1;
	CHECK(!lw_screen_ready(lw_query_init(plain, vectors, 1, LW_SCREEN_DIMENSION + 1), screening), "dimension");
	CHECK(lw_screen_ready(lw_query_init(memory, vectors, 1, LW_SCREEN_DIMENSION), screening), "dimension");
	free(memory);
	free(plain);
}

static void
check_arithmetic(const LwArithmetic *arithmetic, const char *name)
{
	static const size_t dimensions[] = {1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 300, 770};
	static const uint32_t query_tokens[] = {8, LW_LANES, 2 * LW_LANES, MAX_QUERY};
	size_t		groups;
	size_t		tokens;
	size_t		q;
	size_t		i;
	int			shape;

	for (shape = 0; shape < SHAPES; shape++)
	{
		for (q = 0; q < sizeof(query_tokens) / sizeof(query_tokens[0]); q++)
		{
			for (i = 0; i < sizeof(dimensions) / sizeof(dimensions[0]); i++)
				check(arithmetic, name, query_tokens[q], dimensions[i], MAX_TOKENS - random_below(60), (Shape) shape);
			for (tokens = 1; tokens <= 27; tokens++)
				check(arithmetic, name, query_tokens[q], 67, tokens, (Shape) shape);
		}
		check(arithmetic, name, 2 * LW_LANES, 5000, 13, (Shape) shape);
		check(arithmetic, name, LW_LANES, LW_SCREEN_DIMENSION, 13, (Shape) shape);
	}
	for (groups = 1; groups <= MAX_GROUPS; groups++)
		check_floor(arithmetic, name, groups);
	check_rest(arithmetic, name);
	check_unfit(arithmetic->screening);
}

int
main(void)
{
	int			kernel;

#if defined(__aarch64__)
	CHECK(lw_arithmetic()->screening == ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0 ?
										 &lw_screening_neon_dotprod : &lw_screening_neon), "SDOT");
#endif
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		if (!lw_kernel_available((LwKernel) kernel))
			continue;
		lw_kernel_cap((LwKernel) kernel);
		CHECK(lw_kernel_active() == (LwKernel) kernel, "cap");
		if (lw_arithmetic()->screening == NULL)
			continue;
		printf("screen: %s, codes up to %d\n", lw_kernel_names[kernel], lw_arithmetic()->screening->limit);
		check_arithmetic(lw_arithmetic(), lw_kernel_names[kernel]);
	}
#if defined(__x86_64__)
	lw_kernel_cap(LW_KERNEL_AVX2);
	if (lw_kernel_active() == LW_KERNEL_AVX2 && lw_arithmetic() != &lw_arithmetic_avx2)
		check_arithmetic(&lw_arithmetic_avx2, "avx2 without VNNI");
#endif
	return unit_done("screen");
}
