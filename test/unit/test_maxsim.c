/*-------------------------------------------------------------------------
 *
 * test_maxsim.c
 *	  Every kernel of this machine against a transcription of maxsim.h, bit
 *	  for bit, over random and adversarial shapes, values, scales and
 *	  alignments; scores against double; winners against scores.
 *
 * Rows, scales and queries end where a page without access begins, so a read
 * past them ends the program.
 *
 *-------------------------------------------------------------------------
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "fence.h"
#include "kernel/decode.h"
#include "kernel/screen.h"
#include "random.h"
#include "unit.h"

#define MAX_DOCUMENTS 16
#define PRODUCTS 400000			/* of a usual case */
#define POSITIONS 60
#define POSITION_DIMENSION 5
#define SCALE_LOW 1e-12f
#define SCALE_HIGH 0x1p40f

#define BRIEF 24				/* a brief run takes one case of so many */

static size_t below;			/* documents that a floor spared the kernels */

typedef enum Values
{
	NORMAL,						/* Gaussian */
	INTEGERS,					/* few small ones: ties, zeros of both signs */
	CLUSTERED,					/* tokens that hardly differ */
	TINY,						/* subnormal, and products that underflow */
	HUGE_VALUES,				/* products and sums that overflow */
	SPECIAL,					/* Gaussian with infinities and NaNs */
	EXTREMES,					/* the ends of the range only */
	SPIKES,						/* one large value among small ones */
	GAPS,						/* Gaussian, and whole tokens of zeros */
	VALUES_KINDS
} Values;

typedef enum Scales
{
	APPENDED,					/* as an append writes them */
	WIDE,						/* any finite positive float32 */
	BROKEN,						/* some not finite and positive */
	SCALES_KINDS
} Scales;

/* What the transcription says about a document. */
typedef struct Expected
{
	LwScoreProblem problem;
	float		score;
	double		exact;			/* of the decoded vectors, in double */
	double		size;			/* sum of max of sum |q * d| */
	float	   *similarity;
	size_t	   *winner;
} Expected;

typedef struct Case
{
	uint32_t	tokens;
	uint32_t	dimension;
	LwScoring	scoring;
	float	   *vectors;
	LwQuery    *query;
	size_t		count;
	LwDocument	documents[MAX_DOCUMENTS];
	Expected	expected[MAX_DOCUMENTS];
} Case;

static uint32_t
bits_of(float value)
{
	uint32_t	bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* ----------
 * Making a case.
 * ----------
 */
static float
random_value(Values kind)
{
	static const float extremes[] = {1, -1, 127, -128};

	switch (kind)
	{
		case INTEGERS:
			return random_below(8) == 0 ? -0.0f : (float) random_below(5) - 2;
		case TINY:
			return gaussian() * (random_below(2) ? 1e-23f : 1e-43f);
		case HUGE_VALUES:
			return gaussian() * (random_below(2) ? 1e19f : 1e37f);
		case SPECIAL:
			if (random_below(200) == 0)
				return random_below(2) ? INFINITY : -INFINITY;
			return random_below(400) == 0 ? NAN : gaussian();
		case EXTREMES:
			return extremes[random_below(4)];
		case SPIKES:
			return random_below(50) == 0 ? gaussian() * 1000 : gaussian();
		default:
			return gaussian();
	}
}

static void
fill_floats(float *values, size_t tokens, size_t dimension, Values kind)
{
	size_t		i;

	for (i = 0; i < tokens * dimension; i++)
	{
		values[i] = random_value(kind);
		if (kind == CLUSTERED && i >= dimension)
			values[i] = values[i - dimension] + values[i] * (random_below(20) == 0 ? 1e-3f : 0);
	}
	for (i = 0; kind == GAPS && i < tokens; i++)
		if (random_below(3) == 0)
			memset(values + i * dimension, 0, dimension * sizeof(float));
}

static void
fill_codes(int8_t *codes, size_t tokens, size_t dimension, Values kind)
{
	static const int8_t extremes[] = {127, -127, -128, 127};
	size_t		i;

	for (i = 0; i < tokens * dimension; i++)
	{
		switch (kind)
		{
			case INTEGERS:
				codes[i] = (int8_t) (random_below(5) - 2);
				break;
			case CLUSTERED:
				codes[i] = (int8_t) (i < dimension ? (int) (gaussian() * 20) :
									 codes[i - dimension] + (random_below(20) == 0));
				break;
			case EXTREMES:
				codes[i] = extremes[random_below(i / dimension % 2 ? 4 : 1)];
				break;
			case SPIKES:
				codes[i] = (int8_t) (random_below(20) == 0 ? 127 : random_below(3) - 1);
				break;
			default:
				codes[i] = (int8_t) random_below(256);
		}
	}
	for (i = 0; i < tokens; i++)
		if (random_below(10) == 0)
			memset(codes + i * dimension, 0, dimension);
}

static float
random_scale(Scales kind)
{
	static const float broken[] = {0.0f, -0.0f, -1.0f, NAN, INFINITY, -INFINITY};
	static const float edges[] = {SCALE_LOW, SCALE_HIGH, 0x1.197998p-40f, 0x1.000002p40f, FLT_MIN, FLT_MAX, 1e-45f};

	if (kind == BROKEN && random_below(60) == 0)
		return broken[random_below(6)];
	if (kind == WIDE && random_below(4) == 0)
		return edges[random_below(7)];
	if (kind == WIDE && random_below(8) == 0)
		return ldexpf(1 + fabsf(gaussian()), (int) random_below(270) - 149 + 1);
	return random_below(8) == 0 ? SCALE_LOW : 0.002f + 0.001f * fabsf(gaussian());
}

static void
make_document(Case *c, LwDocument *document, size_t tokens, Values kind, Scales scales)
{
	size_t		values = tokens * c->dimension;
	float	   *scale;
	size_t		i;

	document->tokens = tokens;
	if (c->scoring == LW_SCORE_FLOAT32)
	{
		float	   *rows = fenced(values * sizeof(float));

		fill_floats(rows, tokens, c->dimension, kind);
		document->rows = rows;
		return;
	}
	else
	{
		int8_t	   *rows = fenced(values);

		fill_codes(rows, tokens, c->dimension, kind);
		document->rows = rows;
	}
	scale = fenced(tokens * sizeof(float));
	for (i = 0; i < tokens; i++)
		scale[i] = random_scale(scales);
	document->scales = scale;
}

/* ----------
 * The transcription.
 * ----------
 */
static bool
codes_fit(const Case *c)
{
	size_t		token;
	size_t		i;

	for (token = 0; token < c->tokens; token++)
	{
		double		sum = 0;

		for (i = 0; i < c->dimension; i++)
			sum += fabs((double) c->vectors[token * c->dimension + i]);
		if (!(sum * 128 <= FLT_MAX / 2))
			return false;
	}
	return true;
}

/* Makes float32 rows of a document; in *factors what similarities are multiplied by. */
static LwScoreProblem
plain_rows(const Case *c, const LwDocument *document, float *rows, float *factors, float *decoded)
{
	size_t		dimension = c->dimension;
	const int8_t *codes = document->rows;
	bool		decode = !codes_fit(c);
	size_t		token;
	size_t		i;

	for (token = 0; token < document->tokens; token++)
		factors[token] = 1;
	if (c->scoring == LW_SCORE_FLOAT32)
	{
		memcpy(rows, document->rows, document->tokens * dimension * sizeof(float));
		memcpy(decoded, document->rows, document->tokens * dimension * sizeof(float));
		return LW_SCORE_FINE;
	}
	if (lw_decode_int8(codes, document->scales, document->tokens, dimension,
					   c->scoring == LW_SCORE_INT8_UNIT, decoded) < document->tokens)
		return LW_SCORE_SCALE;
	for (token = 0; token < document->tokens; token++)
		if (document->scales[token] < SCALE_LOW || document->scales[token] > SCALE_HIGH)
			decode = true;
	if (decode)
	{
		memcpy(rows, decoded, document->tokens * dimension * sizeof(float));
		return LW_SCORE_FINE;
	}
	for (token = 0; token < document->tokens; token++)
	{
		double		squares = 0;

		for (i = 0; i < dimension; i++)
		{
			double		code = codes[token * dimension + i];

			rows[token * dimension + i] = (float) code;
			squares += code * code;
		}
		factors[token] = document->scales[token];
		if (c->scoring == LW_SCORE_INT8_UNIT)
			factors[token] = squares > 0 ? (float) (1 / sqrt(squares)) : 0;
	}
	return LW_SCORE_FINE;
}

static void
expect(const Case *c, const LwDocument *document, Expected *expected)
{
	size_t		dimension = c->dimension;
	float	   *rows = malloc(document->tokens * dimension * sizeof(float));
	float	   *decoded = malloc(document->tokens * dimension * sizeof(float));
	float	   *factors = malloc(document->tokens * sizeof(float));
	size_t		q;
	size_t		d;
	size_t		i;

	expected->score = 0;
	expected->exact = 0;
	expected->size = 0;
	expected->similarity = malloc(c->tokens * sizeof(float));
	expected->winner = malloc(c->tokens * sizeof(size_t));
	expected->problem = plain_rows(c, document, rows, factors, decoded);
	for (q = 0; expected->problem != LW_SCORE_SCALE && q < c->tokens; q++)
	{
		const float *vector = c->vectors + q * dimension;
		float		best = -INFINITY;
		double		best_exact = -INFINITY;
		double		best_size = 0;

		expected->winner[q] = 0;
		for (d = 0; d < document->tokens; d++)
		{
			float		sum = 0;
			double		exact = 0;
			double		size = 0;

			for (i = 0; i < dimension; i++)
			{
				double		product = (double) vector[i] * (double) decoded[d * dimension + i];

				sum = fmaf(vector[i], rows[d * dimension + i], sum);
				exact += product;
				size += fabs(product);
			}
			sum *= factors[d];
			if (isnan(sum))
				expected->problem = LW_SCORE_NAN;
			if (sum > best)
			{
				best = sum;
				expected->winner[q] = d;
			}
			best_exact = fmax(best_exact, exact);
			best_size = fmax(best_size, size);
		}
		expected->similarity[q] = best;
		expected->score += best;
		expected->exact += best_exact;
		expected->size += best_size;
	}
	if (isnan(expected->score))
		expected->problem = LW_SCORE_NAN;
	free(rows);
	free(decoded);
	free(factors);
}

/* ----------
 * Checks.
 * ----------
 */
static void
check_bound(const Case *c, const Expected *expected)
{
	double		terms = (double) c->dimension + c->tokens + 16;
	double		bound = terms * 0x1p-24 * expected->size + terms * c->tokens * 0x1p-149;

	if (expected->problem == LW_SCORE_FINE && expected->size < 1e38)
		CHECK(fabs((double) expected->score - expected->exact) <= bound,
			  "scoring %d, %u x %u: score %.9g, in double %.12g, bound %g", c->scoring,
			  c->tokens, c->dimension, (double) expected->score, expected->exact, bound);
}

/* Scores the case in blocks of a size, going on after each document with a problem. */
static void
check_scores(const Case *c, size_t block, const char *kernel)
{
	size_t		position = 0;

	while (position < c->count)
	{
		float		scores[MAX_DOCUMENTS];
		size_t		count = c->count - position < block ? c->count - position : block;
		LwScoreProblem problem;
		size_t		good = lw_maxsim(c->query, c->scoring, c->documents + position, count, scores, &problem);
		size_t		i;

		for (i = 0; i < good; i++)
		{
			const Expected *expected = &c->expected[position + i];

			CHECK(expected->problem == LW_SCORE_FINE && bits_of(scores[i]) == bits_of(expected->score),
				  "%s, scoring %d, %u x %u, document %zu of %zu tokens: %.9g, expected %.9g or problem %d",
				  kernel, c->scoring, c->tokens, c->dimension, position + i,
				  c->documents[position + i].tokens, (double) scores[i],
				  (double) expected->score, expected->problem);
		}
		if (good < count)
			CHECK(problem != LW_SCORE_FINE && problem == c->expected[position + good].problem,
				  "%s, scoring %d, %u x %u, document %zu: problem %d, expected %d",
				  kernel, c->scoring, c->tokens, c->dimension, position + good, problem,
				  c->expected[position + good].problem);
		else
			CHECK(problem == LW_SCORE_FINE, "%s: all good and problem %d", kernel, problem);
		position += good < count ? good + 1 : count;
	}
}

/* No document is below its own score; one that is below a floor may say so. */
static void
check_floors(const Case *c, const char *kernel)
{
	size_t		i;
	int			higher;

	for (i = 0; i < c->count; i++)
	{
		float		expected = c->expected[i].score;

		if (c->expected[i].problem != LW_SCORE_FINE)
			continue;
		for (higher = 0; higher < 4; higher++)
		{
			float		floors[] = {-INFINITY, expected, nextafterf(expected, INFINITY), expected + fabsf(expected) / 16};
			float		floor = floors[higher];
			float		score;
			LwScoreProblem problem;
			size_t		good = lw_maxsim_above(c->query, c->scoring, &c->documents[i], 1, floor, &score, &problem);

			CHECK(good == 1 && problem == LW_SCORE_FINE, "%s: floor %a, problem %d", kernel, (double) floor, problem);
			CHECK(bits_of(score) == bits_of(expected) || (score == -INFINITY && expected < floor),
				  "%s, scoring %d, %u x %u, document %zu of %zu tokens: %a above %a, expected %a", kernel,
				  c->scoring, c->tokens, c->dimension, i, c->documents[i].tokens, (double) score,
				  (double) floor, (double) expected);
			if (score == -INFINITY && expected > -INFINITY)
				below++;
		}
	}
}

static void
check_winners(const Case *c, size_t document, const char *kernel)
{
	const Expected *expected = &c->expected[document];
	float	   *similarity = malloc(c->tokens * sizeof(float));
	size_t	   *winner = malloc(c->tokens * sizeof(size_t));
	LwScoreProblem problem = lw_maxsim_winners(c->query, c->scoring, &c->documents[document],
											   similarity, winner);
	float		sum = 0;
	uint32_t	i;

	CHECK(problem == expected->problem, "%s: problem %d, expected %d", kernel, problem, expected->problem);
	if (problem == LW_SCORE_FINE)
	{
		for (i = 0; i < c->tokens && winner[i] == expected->winner[i] &&
			 bits_of(similarity[i]) == bits_of(expected->similarity[i]); i++)
			sum += similarity[i];
		CHECK(i == c->tokens, "%s, scoring %d, %u x %u, query token %u: winner %zu, expected %zu",
			  kernel, c->scoring, c->tokens, c->dimension, i, winner[i], expected->winner[i]);
		CHECK(bits_of(sum) == bits_of(expected->score), "%s: similarities do not sum to the score", kernel);
	}
	free(similarity);
	free(winner);
}

/* All kernels over one case; the scalar one, slow, in one block only. */
static void
check_case(Case *c)
{
	size_t		i;
	int			kernel;

	for (i = 0; i < c->count; i++)
	{
		expect(c, &c->documents[i], &c->expected[i]);
		check_bound(c, &c->expected[i]);
	}
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		if (!lw_kernel_available((LwKernel) kernel))
			continue;
		lw_kernel_cap((LwKernel) kernel);
		check_scores(c, c->count, lw_kernel_names[kernel]);
		if (kernel != LW_KERNEL_SCALAR)
			for (i = 1; i < (unit_brief() ? 2 : c->count); i++)
				check_scores(c, i, lw_kernel_names[kernel]);
		check_winners(c, random_below((uint32_t) c->count), lw_kernel_names[kernel]);
		check_floors(c, lw_kernel_names[kernel]);
	}
	lw_kernel_cap(LW_KERNEL_AUTO);
	for (i = 0; i < c->count; i++)
	{
		free(c->expected[i].similarity);
		free(c->expected[i].winner);
	}
}

/* A case of random documents: as many, and of as many tokens, as `products` allow. */
static void
run_case(uint32_t tokens, uint32_t dimension, LwScoring scoring, Values query_kind,
		 Values kind, Scales scales, size_t products)
{
	static const size_t lengths[] = {1, 2, 5, 6, 7, 8, 9, 23, 24, 25, 47, 49, 131, 257, 300, 530};
	size_t		budget = 1 + products / ((size_t) tokens * dimension);
	Case		c = {0};
	void	   *memory;

	if (unit_brief() && random_below(BRIEF) > 0)
		return;
	c.tokens = tokens;
	c.dimension = dimension;
	c.scoring = scoring;
	c.vectors = fenced((size_t) tokens * dimension * sizeof(float));
	fill_floats(c.vectors, tokens, dimension, query_kind);
	memory = aligned_alloc(64, lw_query_size(tokens, dimension));
	memset(memory, 0xff, lw_query_size(tokens, dimension));
	c.query = lw_query_init(memory, c.vectors, tokens, dimension);
	CHECK(lw_query_tokens(c.query) == tokens && lw_query_dimension(c.query) == dimension, "shape");
	do
	{
		size_t		length = lengths[random_below(16)];

		if (length > budget)
			length = budget;
		budget -= length;
		make_document(&c, &c.documents[c.count++], length, kind, scales);
	} while (budget > 0 && c.count < MAX_DOCUMENTS);
	check_case(&c);
	free(memory);
	drop_fences();
}

static void
run(uint32_t tokens, uint32_t dimension, LwScoring scoring, Values query_kind,
	Values kind, Scales scales)
{
	run_case(tokens, dimension, scoring, query_kind, kind, scales, PRODUCTS);
}

static const uint32_t query_tokens[] = {1, 2, 8, 15, 16, 17, 31, 32, 33, 48, 64, 100, 512};

static const uint32_t dimensions[] =
{1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 100, 127, 128, 129, 255, 256, 257, 300, 768};

static void
check_random(void)
{
	uint32_t	q;
	uint32_t	d;
	int			scoring;

	for (q = 0; q < sizeof(query_tokens) / sizeof(query_tokens[0]); q++)
	{
		for (d = 0; d < sizeof(dimensions) / sizeof(dimensions[0]); d++)
		{
			for (scoring = LW_SCORE_FLOAT32; scoring <= LW_SCORE_INT8_UNIT; scoring++)
			{
				Values		query_kind = random_below(2) ? NORMAL : (Values) random_below(VALUES_KINDS);
				Values		kind = (Values) random_below(VALUES_KINDS);

				if (query_kind == SPECIAL)
					query_kind = SPIKES;
				run(query_tokens[q], dimensions[d], (LwScoring) scoring, query_kind, kind,
					(Scales) random_below(SCALES_KINDS));
			}
		}
	}
}

/* Every pairing of kinds of values at the usual shape, and dimensions next to each other. */
static void
check_kinds(void)
{
	int			query_kind;
	int			kind;
	uint32_t	dimension;

	for (query_kind = 0; query_kind < VALUES_KINDS; query_kind++)
	{
		for (kind = 0; kind < VALUES_KINDS; kind++)
		{
			if (query_kind == SPECIAL)
				continue;
			run(32, 128, LW_SCORE_FLOAT32, (Values) query_kind, (Values) kind, APPENDED);
			run(32, 128, LW_SCORE_INT8, (Values) query_kind, (Values) kind, APPENDED);
			run(32, 128, LW_SCORE_INT8_UNIT, (Values) query_kind, (Values) kind, APPENDED);
		}
	}
	for (dimension = 1; dimension <= 140; dimension++)
	{
		run(5, dimension, LW_SCORE_FLOAT32, NORMAL, NORMAL, APPENDED);
		run(5, dimension, LW_SCORE_INT8_UNIT, NORMAL, NORMAL, WIDE);
	}
	for (dimension = 16383; dimension <= 16385; dimension++)
		run_case(1, dimension, LW_SCORE_INT8, SPIKES, CLUSTERED, APPENDED, 4 * PRODUCTS);
	run_case(33, 5000, LW_SCORE_INT8_UNIT, NORMAL, NORMAL, APPENDED, 20 * PRODUCTS);
}

/* A bad scale at every position of a document, before and after other documents. */
static void
check_positions(void)
{
	static const float bad[] = {0.0f, -0.0f, -1.0f, NAN, INFINITY, -INFINITY};
	int8_t		codes[POSITIONS * POSITION_DIMENSION];
	float		values[POSITIONS * POSITION_DIMENSION];
	float		scales[POSITIONS];
	float		vectors[3 * POSITION_DIMENSION];
	LwDocument	documents[3];
	Case		c = {0};
	void	   *memory = aligned_alloc(64, lw_query_size(3, POSITION_DIMENSION));
	size_t		i;
	int			kernel;

	fill_codes(codes, POSITIONS, POSITION_DIMENSION, NORMAL);
	fill_floats(values, POSITIONS, POSITION_DIMENSION, NORMAL);
	fill_floats(vectors, 3, POSITION_DIMENSION, NORMAL);
	c.query = lw_query_init(memory, vectors, 3, POSITION_DIMENSION);
	for (i = 0; i < POSITIONS; i++)
		scales[i] = 0.01f;
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		if (!lw_kernel_available((LwKernel) kernel))
			continue;
		lw_kernel_cap((LwKernel) kernel);
		for (i = 0; i < POSITIONS; i++)
		{
			float		kept = values[i * POSITION_DIMENSION + i % POSITION_DIMENSION];
			float		scores[3];
			LwScoreProblem problem;
			int			unit;

			documents[0] = (LwDocument) {codes, scales, i};
			documents[1] = (LwDocument) {codes + i * POSITION_DIMENSION, scales + i, POSITIONS - i};
			documents[2] = (LwDocument) {codes, scales, POSITIONS};
			scales[i] = bad[i % 6];
			for (unit = 0; unit < 2; unit++)
			{
				LwScoring	scoring = unit ? LW_SCORE_INT8_UNIT : LW_SCORE_INT8;

				CHECK(lw_maxsim(c.query, scoring, documents + (i == 0), 2, scores, &problem) == (i > 0) &&
					  problem == LW_SCORE_SCALE, "%s: scale %zu", lw_kernel_names[kernel], i);
				CHECK(lw_maxsim(c.query, scoring, documents + 2, 1, scores, &problem) == 0 &&
					  problem == LW_SCORE_SCALE, "%s: scale %zu", lw_kernel_names[kernel], i);
			}
			scales[i] = 0.01f;

			values[i * POSITION_DIMENSION + i % POSITION_DIMENSION] = NAN;
			documents[2].rows = values;
			CHECK(lw_maxsim(c.query, LW_SCORE_FLOAT32, documents + 2, 1, scores, &problem) == 0 &&
				  problem == LW_SCORE_NAN, "%s: NaN in token %zu", lw_kernel_names[kernel], i);
			values[i * POSITION_DIMENSION + i % POSITION_DIMENSION] = kept;
			CHECK(lw_maxsim(c.query, LW_SCORE_FLOAT32, documents + 2, 1, scores, &problem) == 1 &&
				  problem == LW_SCORE_FINE, "%s: good again", lw_kernel_names[kernel]);
		}
	}
	lw_kernel_cap(LW_KERNEL_AUTO);
	free(memory);
}

/* Infinities sum as they do; only +inf and -inf make a NaN. */
static void
check_infinities(void)
{
	static const float vectors[4] = {1, 0x1p-10f, 1, -0x1p-10f};
	static const float rows[2] = {INFINITY, 0};
	static const float fine[2] = {FLT_MAX, 0};
	LwDocument	document = {rows, NULL, 1};
	float		score;
	LwScoreProblem problem;
	void	   *memory = aligned_alloc(64, lw_query_size(2, 2));
	LwQuery    *query = lw_query_init(memory, vectors, 2, 2);

	CHECK(lw_maxsim(query, LW_SCORE_FLOAT32, &document, 1, &score, &problem) == 1 &&
		  score == INFINITY, "inf + inf");
	query = lw_query_init(memory, (const float[4]) {1, 0, -1, 0}, 2, 2);
	CHECK(lw_maxsim(query, LW_SCORE_FLOAT32, &document, 1, &score, &problem) == 0 &&
		  problem == LW_SCORE_NAN, "inf - inf");
	query = lw_query_init(memory, (const float[4]) {-1, 0, -1, 0}, 2, 2);
	CHECK(lw_maxsim(query, LW_SCORE_FLOAT32, &document, 1, &score, &problem) == 1 &&
		  score == -INFINITY, "-inf");
	document.rows = fine;
	CHECK(lw_maxsim(query, LW_SCORE_FLOAT32, &document, 1, &score, &problem) == 1 &&
		  score == -INFINITY, "a sum that overflows");
	free(memory);
}

/* Whether the maxima of all lanes are that value, to the bit. */
static bool
maxima_are(const LwQuery *query, float value)
{
	int			lane = 0;

	while (lane < LW_LANES && bits_of(query->maxima[lane]) == bits_of(value))
		lane++;
	return lane == LW_LANES;
}

/* What scores do not show: of +0 and -0 the first stays the maximum, and a NaN never is. */
static void
check_maxima(const char *kernel)
{
	static const float zeros[] = {0.0f, -0.0f};
	static const int8_t codes[] = {0, -1};	/* to be multiplied by FLT_MIN twice */
	const LwArithmetic *arithmetic = lw_arithmetic();
	void	   *memory = aligned_alloc(64, lw_query_size(LW_LANES, 1));
	LwQuery    *query;
	float		least[LW_LANES];
	float		rows[LW_STEP];
	const int8_t *codes_of[LW_LANES];
	size_t		count;
	size_t		i;
	int			first;

	for (i = 0; i < LW_LANES; i++)
		least[i] = FLT_MIN;
	query = lw_query_init(memory, least, LW_LANES, 1);
	for (first = 0; first < 2; first++)
	{
		for (count = 2; count <= LW_STEP; count++)
		{
			for (i = 0; i < LW_LANES; i++)
				query->maxima[i] = -INFINITY;
			for (i = 0; i < count; i++)
				rows[i] = (i == 0) == first ? -FLT_MIN : 0;
			CHECK(!arithmetic->raise_maxima(query, 0, 1, rows, query->ones, count) &&
				  maxima_are(query, zeros[first]), "%s: zeros, %zu tokens", kernel, count);
			rows[count - 1 - count / 2 * (size_t) first] = NAN;
			CHECK(arithmetic->raise_maxima(query, 0, 1, rows, query->ones, count) &&
				  maxima_are(query, zeros[first]), "%s: a NaN, %zu tokens", kernel, count);
		}
		if (arithmetic->screening == NULL)
			continue;
		for (i = 0; i < LW_LANES; i++)
		{
			query->maxima[i] = zeros[first];
			codes_of[i] = &codes[!first];
		}
		arithmetic->screening->raise_lanes(query, 0, 1, codes_of, least);
		CHECK(maxima_are(query, zeros[first]), "%s: zeros, screened", kernel);
	}
	free(memory);
}

/* A NaN of one lane only is seen, though the maximum is another token's. */
static void
check_lanes(const char *kernel)
{
	static const float rows[] = {1, INFINITY};
	LwDocument	document = {rows, NULL, 2};
	void	   *memory = aligned_alloc(64, lw_query_size(2 * LW_LANES, 1));
	float		vectors[2 * LW_LANES];
	float		score;
	LwScoreProblem problem;
	uint32_t	tokens;
	uint32_t	lane;

	for (tokens = 1; tokens <= 2 * LW_LANES; tokens++)
	{
		for (lane = 0; lane < tokens; lane++)
			vectors[lane] = 1;
		CHECK(lw_maxsim(lw_query_init(memory, vectors, tokens, 1), LW_SCORE_FLOAT32,
						&document, 1, &score, &problem) == 1, "%s: %u lanes", kernel, tokens);
		for (lane = 0; lane < tokens; lane++)
		{
			vectors[lane] = 0;
			CHECK(lw_maxsim(lw_query_init(memory, vectors, tokens, 1), LW_SCORE_FLOAT32,
							&document, 1, &score, &problem) == 0 && problem == LW_SCORE_NAN,
				  "%s: a NaN in lane %u of %u", kernel, lane, tokens);
			vectors[lane] = 1;
		}
	}
	free(memory);
}

static void
check_kernels(void)
{
	int			kernel;

	CHECK(lw_kernel_available(LW_KERNEL_SCALAR), "scalar");
#if defined(__aarch64__)
	CHECK(lw_kernel_available(LW_KERNEL_NEON), "neon");
#endif
	lw_kernel_cap(LW_KERNEL_SCALAR);
	CHECK(lw_kernel_active() == LW_KERNEL_SCALAR, "capped");
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		lw_kernel_cap((LwKernel) kernel);
		CHECK(lw_kernel_active() != LW_KERNEL_AUTO && lw_kernel_available(lw_kernel_active()) &&
			  lw_kernel_active() <= (LwKernel) kernel, "cap %s", lw_kernel_names[kernel]);
		CHECK(!lw_kernel_available((LwKernel) kernel) || lw_kernel_active() == (LwKernel) kernel,
			  "cap %s", lw_kernel_names[kernel]);
		check_maxima(lw_kernel_names[lw_kernel_active()]);
		check_lanes(lw_kernel_names[lw_kernel_active()]);
	}
	lw_kernel_cap(LW_KERNEL_AUTO);
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
		CHECK(!lw_kernel_available((LwKernel) kernel) || lw_kernel_active() >= (LwKernel) kernel, "auto");
	printf("maxsim: kernel %s\n", lw_kernel_names[lw_kernel_active()]);
}

static void
check_sizes(void)
{
	CHECK(lw_query_size(1, 1) > 0 && lw_query_size(1, 1) % 64 == 0, "one");
	CHECK(lw_query_size(512, 4096) > (size_t) 512 * 4096 * sizeof(float), "large");
	CHECK(lw_query_size(UINT32_MAX, UINT32_MAX) == 0, "overflow");
}

int
main(void)
{
	check_kernels();
	check_sizes();
	check_infinities();
	check_positions();
	check_kinds();
	check_random();
	if (lw_arithmetic()->screening != NULL)
		CHECK(unit_brief() || below > 100, "only %zu documents were found below a floor", below);
	printf("maxsim: %zu documents below a floor\n", below);
	return unit_done("maxsim");
}
