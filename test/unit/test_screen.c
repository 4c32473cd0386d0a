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

#define QUERY_TOKENS LW_LANES	/* one group: its bounds are left in the screen */
#define MAX_DIMENSION 800
#define MAX_TOKENS 130

typedef enum Shape
{
	GAUSSIAN,
	ENDS,						/* the largest and smallest codes, and query values to match */
	SPIKE,						/* one large query value, which leaves the others a coarse step */
	NEGATIVE,					/* to four lanes only the token of zeros is not dissimilar */
	SHAPES
} Shape;

static float vectors[QUERY_TOKENS * MAX_DIMENSION];
static int8_t codes[MAX_TOKENS * MAX_DIMENSION];
static float scales[MAX_TOKENS];

static void
fill(size_t dimension, size_t tokens, Shape shape)
{
	float		size = ldexpf(1, (int) random_below(60) - 30);
	size_t		i;

	for (i = 0; i < QUERY_TOKENS * dimension; i++)
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
	memset(codes, 0, dimension);
}

/* Compares the bounds left in the screen with the similarities. */
static void
compare(const LwQuery *query, size_t tokens, const char *kernel)
{
	const LwScreen *screen = query->screen;
	size_t		dimension = query->dimension;
	int			lane;

	for (lane = 0; lane < QUERY_TOKENS; lane++)
	{
		const float *vector = vectors + (size_t) lane * dimension;
		double		largest = 0;
		double		best = -INFINITY;
		double		step;
		size_t		token;
		size_t		i;

		for (i = 0; i < dimension; i++)
			largest = fmax(largest, fabs((double) vector[i]));
		step = largest / screen->limit;
		for (token = 0; token < tokens; token++)
		{
			double		upper = screen->upper[token * LW_LANES + lane];
			double		slack = 2.001 * (double) screen->coarse[lane] * (double) screen->sizes[token];
			float		sum = 0;
			double		similarity;

			for (i = 0; i < dimension; i++)
				sum = fmaf(vector[i], codes[token * dimension + i], sum);
			similarity = (double) (sum * screen->factors[token]) / step;
			best = fmax(best, similarity);
			CHECK(similarity <= upper && upper <= similarity + slack,
				  "%s, dimension %zu, lane %d, token %zu: %a, upper bound %a", kernel,
				  dimension, lane, token, similarity, upper);
		}
		CHECK((double) screen->coarse_best[lane] <= best,
			  "%s, dimension %zu, lane %d: best %a, lower bound %a", kernel,
			  dimension, lane, best, (double) screen->coarse_best[lane]);
		CHECK((double) query->maxima[lane] / step >= (double) screen->fine_best[lane] / step &&
			  (double) query->maxima[lane] == (double) (float) (best * step),
			  "%s, dimension %zu, lane %d: maximum", kernel, dimension, lane);
	}
}

static void
check(size_t dimension, Shape shape, const char *kernel)
{
	size_t		tokens = MAX_TOKENS - random_below(60);
	bool		unit = random_below(2);
	LwDocument	document = {codes, scales, tokens};
	void	   *memory = aligned_alloc(64, lw_query_size(QUERY_TOKENS, (uint32_t) dimension));
	LwQuery    *query;
	size_t		left = 0;
	size_t		i;

	fill(dimension, tokens, shape);
	query = lw_query_init(memory, vectors, QUERY_TOKENS, (uint32_t) dimension);
	CHECK(lw_screen_ready(query, lw_arithmetic()->screening) && query->screen->live[0] == 0xffff,
		  "%s, dimension %zu: not ready", kernel, dimension);
	lw_screen_document(query, lw_arithmetic(), unit, &document);
	compare(query, tokens, kernel);
	for (i = 0; i < tokens; i++)
		left += (size_t) __builtin_popcount(query->screen->can[i]);
	if (shape == GAUSSIAN && dimension >= 100 && unit)
		CHECK(left <= QUERY_TOKENS * tokens / 10, "%s: %zu pairs of %zu left", kernel, left,
			  QUERY_TOKENS * tokens);
	free(memory);
}

/* A query whose norms are out of range, or of too large a dimension, goes unscreened. */
static void
check_unfit(void)
{
	static float long_vector[LW_SCREEN_DIMENSION + 1];
	void	   *memory = aligned_alloc(64, lw_query_size(1, LW_SCREEN_DIMENSION));
	void	   *plain = aligned_alloc(64, lw_query_size(1, LW_SCREEN_DIMENSION + 1));
	const LwScreening *screening = lw_arithmetic()->screening;
	float		small = 0x1p-41f;
	float		large = 0x1.8p40f;
	float		zero = 0;

	CHECK(!lw_screen_ready(lw_query_init(memory, &small, 1, 1), screening), "small");
	CHECK(!lw_screen_ready(lw_query_init(memory, &large, 1, 1), screening), "large");
	CHECK(lw_screen_ready(lw_query_init(memory, &zero, 1, 1), screening), "zero");
	long_vector[0] = 1;
	CHECK(!lw_screen_ready(lw_query_init(plain, long_vector, 1, LW_SCREEN_DIMENSION + 1), screening), "dimension");
	CHECK(lw_screen_ready(lw_query_init(memory, long_vector, 1, LW_SCREEN_DIMENSION), screening), "dimension");
	free(memory);
	free(plain);
}

int
main(void)
{
	static const size_t dimensions[] = {1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 64, 100, 127, 128, 129, 300, 768, 799};
	int			kernel;
	size_t		i;

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
		for (i = 0; i < SHAPES * sizeof(dimensions) / sizeof(dimensions[0]); i++)
			check(dimensions[i / SHAPES], (Shape) (i % SHAPES), lw_kernel_names[kernel]);
		check_unfit();
	}
	return unit_done("screen");
}
