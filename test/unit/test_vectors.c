/*-------------------------------------------------------------------------
 *
 * test_vectors.c
 *	  Scores and nearest rows of single vectors: every kernel of this machine
 *	  against a transcription of the format's rules, bit for bit, over random
 *	  and adversarial values, scales, shapes and alignments; the published
 *	  check values; and the bounds by themselves.
 *
 * Rows and scales end where a page without access begins, or begin where one
 * ends, so a read outside of them ends the program.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "fence.h"
#include "kernel/bounds.h"
#include "kernel/maxsim.h"
#include "random.h"
#include "unit.h"

#define MAX_ROWS 1400
#define ROUNDS 8				/* of each type and kind of values */

typedef enum Values
{
	NORMAL,						/* Gaussian, of norm 1 or so, as a writer has them */
	INTEGERS,					/* few small ones: ties, zeros of both signs */
	CLUSTERED,					/* rows that hardly differ */
	RISING,						/* each row nearer than those before it */
	TINY,						/* subnormal, and products that underflow */
	LEAST,						/* the least of values, products of which are halfway between others */
	HUGE_VALUES,				/* products and sums that overflow */
	LARGEST,					/* few of the largest, sums of which overflow in some orders only */
	SPECIAL,					/* Gaussian with infinities and NaNs */
	EXTREMES,					/* the ends of the range only */
	STEEP,						/* a query of which the bounds' integers see little */
	WORST,						/* integer rows that are all along what the bounds leave out of the query */
	VALUES_KINDS
} Values;

static const char *const type_names[LW_VECTOR_TYPES] = {"float32", "float16", "int8", "int4"};

typedef struct Case
{
	LwVectorSlab slab;
	Values		kind;
	float	   *query;
	LwVectorQuery *prepared;
	float		expected[MAX_ROWS];
	size_t		order[MAX_ROWS];	/* rows, the nearest first */
} Case;

static uint32_t
bits_of(float value)
{
	uint32_t	bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float
float_of(uint32_t bits)
{
	float		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static bool
same(float a, float b)
{
	return bits_of(a) == bits_of(b) || (isnan(a) && isnan(b));
}

/* ----------
 * The transcription.
 * ----------
 */
static float
widen_half(uint16_t half)
{
	int			exponent = half >> 10 & 31;
	int			fraction = half & 1023;
	float		value;

	if (exponent == 31)
		value = fraction != 0 ? NAN : INFINITY;
	else if (exponent == 0)
		value = ldexpf((float) fraction, -24);
	else
		value = ldexpf((float) (1024 + fraction), exponent - 25);
	return half & 0x8000 ? -value : value;
}

/* The nearest half; of two, the even one. */
static uint16_t
nearest_half(float value)
{
	uint16_t	sign = value < 0 ? 0x8000 : 0;
	uint16_t	low = 0;
	uint16_t	high = 0x7c00;
	float		magnitude = fabsf(value);

	while (high - low > 1)
	{
		uint16_t	middle = (uint16_t) ((low + high) / 2);

		if (widen_half(middle) <= magnitude)
			low = middle;
		else
			high = middle;
	}
	if (high == 0x7c00)
		return sign | (magnitude >= 65520 ? high : low);
	if (magnitude - widen_half(low) > widen_half(high) - magnitude ||
		(magnitude - widen_half(low) == widen_half(high) - magnitude && low % 2 == 1))
		low = high;
	return sign | low;
}

/* Half away from zero, as roundf. */
static float
round_away(float value)
{
	float		whole = (float) (int) value;

	if (fabsf(value - whole) >= 0.5f)
		whole += value < 0 ? -1 : 1;
	return whole;
}

static float
float_at(const void *values, size_t i)
{
	float		value;

	memcpy(&value, (const char *) values + i * 4, 4);
	return value;
}

static uint16_t
word_at(const void *values, size_t i)
{
	uint16_t	value;

	memcpy(&value, (const char *) values + i * 2, 2);
	return value;
}

/* A stored component, before its scale. */
static float
component(const LwVectorSlab *slab, size_t i)
{
	int			nibble;

	switch (slab->type)
	{
		case LW_VECTOR_FLOAT32:
			return float_at(slab->codes, i);
		case LW_VECTOR_FLOAT16:
			return widen_half(word_at(slab->codes, i));
		case LW_VECTOR_INT8:
			return ((const int8_t *) slab->codes)[i];
		case LW_VECTOR_INT4:
			break;
	}
	nibble = ((const uint8_t *) slab->codes)[i / 2] >> (i % 2 ? 4 : 0) & 15;
	return (float) (nibble > 7 ? nibble - 16 : nibble);
}

static float
transcribed_score(const float *query, const LwVectorSlab *slab, size_t row)
{
	size_t		n = slab->dimension;
	float		sum = 0;
	float		part = 0;
	size_t		i;

	for (i = 0; i < n; i++)
	{
		float		product = query[i] * component(slab, row * n + i);

		part = part + product;
		if (slab->type == LW_VECTOR_INT4 && i % 64 == 63)
		{
			float		scaled = part * widen_half(word_at(slab->scales, row * (n / 64) + i / 64));

			sum = sum + scaled;
			part = 0;
		}
	}
	if (slab->type == LW_VECTOR_INT4)
		return sum;
	return slab->type == LW_VECTOR_INT8 ? part * float_at(slab->scales, row) : part;
}

/* Whether the first score stands before the second, rows apart; written otherwise than in the kernel. */
static bool
stands_before(float a, float b)
{
	if (isnan(a) || isnan(b))
		return !isnan(a) && isnan(b);
	if (a == b)
		return !signbit(a) && signbit(b);
	return a > b;
}

/* ----------
 * Making a case.
 * ----------
 */

/* Encodes a row by the format's rules. */
static void
encode(const LwVectorSlab *slab, size_t row, const float *values)
{
	size_t		n = slab->dimension;
	char	   *codes = (char *) slab->codes;
	char	   *scales = (char *) slab->scales;
	size_t		width = slab->type == LW_VECTOR_INT4 ? 64 : n;
	size_t		first;
	size_t		i;

	if (slab->type == LW_VECTOR_FLOAT32)
		memcpy(codes + row * n * 4, values, n * 4);
	for (i = 0; slab->type == LW_VECTOR_FLOAT16 && i < n; i++)
	{
		uint16_t	half = isnan(values[i]) ? 0x7e01 : nearest_half(values[i]);

		memcpy(codes + (row * n + i) * 2, &half, 2);
	}
	for (first = 0; scales != NULL && first < n; first += width)
	{
		float		largest = 0;
		float		most = slab->type == LW_VECTOR_INT4 ? 7 : 127;
		float		scale;
		uint16_t	half;

		for (i = first; i < first + width; i++)
			largest = fabsf(values[i]) > largest ? fabsf(values[i]) : largest;
		scale = largest > 0 ? largest / most : 1;
		half = nearest_half(scale);
		if (slab->type == LW_VECTOR_INT4)
		{
			scale = widen_half(half);
			memcpy(scales + (row * (n / 64) + first / 64) * 2, &half, 2);
		}
		else
			memcpy(scales + row * 4, &scale, 4);
		for (i = first; i < first + width; i++)
		{
			float		code = values[i] * (scale > 0 ? 1 / scale : 0);
			int			bits;

			code = !(code < most) ? (code >= most ? most : 0) : code < -most ? -most : round_away(code);
			bits = (int) code;
			if (slab->type == LW_VECTOR_INT8)
				codes[row * n + i] = (char) bits;
			else if (i % 2 == 0)
				codes[(row * n + i) / 2] = (char) (bits & 15);
			else
				codes[(row * n + i) / 2] |= (char) ((unsigned int) bits << 4);
		}
	}
}

static float
random_value(Values kind)
{
	switch (kind)
	{
		case INTEGERS:
			return random_below(8) == 0 ? -0.0f : (float) random_below(5) - 2;
		case TINY:
			return gaussian() * (random_below(2) ? 1e-23f : 1e-43f);
		case HUGE_VALUES:
			return gaussian() * (random_below(2) ? 1e19f : 1e36f);
		case LEAST:
			return (float) random_below(3) * 0x1p-149f;
		case LARGEST:
			return random_below(8) != 0 ? 0 : random_below(2) ? 3e38f : -3e38f;
		case SPECIAL:
			if (random_below(2000) == 0)
				return random_below(2) ? INFINITY : -INFINITY;
			return random_below(4000) == 0 ? NAN : gaussian() * 0.05f;
		case EXTREMES:
			return random_below(2) ? 1 : -1;
		default:
			return gaussian() * 0.05f;
	}
}

/* Bytes as no writer makes them: any codes, and scales of any bits. */
static void
scramble(LwVectorSlab *slab, size_t code_bytes, size_t scale_bytes)
{
	static const uint16_t halves[] = {0, 0x8000, 1, 0x3ff, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0xb800};
	static const float floats[] = {0, -0.0f, 1e-45f, 3e38f, INFINITY, -INFINITY, NAN, -1, -1e-40f, 0x1p60f};
	char	   *codes = (char *) slab->codes;
	char	   *scales = (char *) slab->scales;
	size_t		i;

	for (i = 0; i < code_bytes && slab->type >= LW_VECTOR_INT8; i++)
		if (random_below(4) == 0)
			codes[i] = (char) (random_below(2) ? 0x88 : slab->type == LW_VECTOR_INT8 ? -128 : 0x77);
	for (i = 0; i < scale_bytes / (slab->type == LW_VECTOR_INT8 ? 4 : 2); i++)
	{
		if (random_below(20) != 0)
			continue;
		if (slab->type == LW_VECTOR_INT8)
			memcpy(scales + i * 4, &floats[random_below(10)], 4);
		else
			memcpy(scales + i * 2, &halves[random_below(10)], 2);
	}
}

/*
 * Makes the codes of some components the largest possible, with the signs of
 * what is left of the query when the bounds have taken their integers from it.
 */
static void
follow_rest(Case *c)
{
	const LwVectorQuery *query = c->prepared;
	size_t		n = c->slab.dimension;
	int			highest = c->slab.type == LW_VECTOR_INT8 ? 127 : 7;
	size_t		row;
	size_t		i;

	if (c->slab.type < LW_VECTOR_INT8 || !lw_bounds_ready(c->prepared, lw_vector_kernel(), c->slab.type))
		return;
	for (row = 0; row < c->slab.rows; row++)
	{
		for (i = 0; i < n; i++)
		{
			double		rest = (double) c->query[i] - (double) query->step * query->codes[i];
			int			code = rest > 0 ? highest : -highest - 1;

			if (random_below((uint32_t) c->slab.rows) < row / 2)
				continue;
			if (c->slab.type == LW_VECTOR_INT8)
				((char *) c->slab.codes)[row * n + i] = (char) code;
			else
			{
				uint8_t    *pair = (uint8_t *) c->slab.codes + (row * n + i) / 2;

				*pair = (uint8_t) (i % 2 == 0 ? (*pair & 0xf0) | (code & 15) : (*pair & 15) | (code & 15) << 4);
			}
		}
	}
}

/* Sorts rows, the nearest first, by inserting each where it belongs. */
static void
sort_rows(Case *c)
{
	size_t		row;

	for (row = 0; row < c->slab.rows; row++)
	{
		size_t		low = 0;
		size_t		high = row;

		while (low < high)
		{
			size_t		middle = (low + high) / 2;

			if (stands_before(c->expected[row], c->expected[c->order[middle]]))
				high = middle;
			else
				low = middle + 1;
		}
		for (high = row; high > low; high--)
			c->order[high] = c->order[high - 1];
		c->order[low] = row;
	}
}

/* Of any alignment. */
static void *
some_memory(size_t size)
{
	return random_below(2) ? fenced(size + random_below(4)) : fenced_before(size);
}

static void
make_case(Case *c, LwVectorType type, Values kind, size_t n, size_t rows)
{
	static const size_t widths[LW_VECTOR_TYPES] = {8, 4, 2, 1};	/* of a component, in halves of a byte */
	size_t		code_bytes = n * rows * widths[type] / 2;
	size_t		scale_bytes = type == LW_VECTOR_INT8 ? rows * 4 : type == LW_VECTOR_INT4 ? rows * (n / 64) * 2 : 0;
	float	   *values = malloc(n * sizeof(float));
	Values		query_kind = kind;
	size_t		row;
	size_t		i;

	c->kind = kind;
	c->query = malloc(n * sizeof(float));
	if (kind == SPECIAL || kind == EXTREMES || random_below(2))
		query_kind = NORMAL;
	for (i = 0; i < n; i++)
	{
		c->query[i] = random_value(query_kind);
		if (kind == EXTREMES && random_below(2))
			c->query[i] = 0.1f;
		if (kind == LEAST)
			c->query[i] = i / 16 % 2 == 0 ? 1 : 1.5f;
		if (kind == LARGEST)
			c->query[i] = 1;
		if (kind == STEEP)
			c->query[i] *= i == n / 2 ? 1000 : 1;
	}
	c->slab = (LwVectorSlab) {type, (uint32_t) n, rows, some_memory(code_bytes), NULL};
	if (scale_bytes > 0)
		c->slab.scales = some_memory(scale_bytes);
	for (row = 0; row < rows; row++)
	{
		for (i = 0; i < n; i++)
		{
			if (kind == CLUSTERED && row > 0)
				values[i] += random_below(20) == 0 ? gaussian() * 1e-3f : 0;
			else if (kind == RISING)
				values[i] = gaussian() * 0.05f + c->query[i] * (float) row / (float) rows;
			else
				values[i] = random_value(kind);
		}
		encode(&c->slab, row, values);
	}
	if (kind == SPECIAL || kind == EXTREMES)
		scramble(&c->slab, code_bytes, scale_bytes);
	c->prepared = lw_vector_query_init(aligned_alloc(64, lw_vector_query_size((uint32_t) n)), c->query, (uint32_t) n);
	if (kind == WORST)
		follow_rest(c);
	for (row = 0; row < rows; row++)
		c->expected[row] = transcribed_score(c->query, &c->slab, row);
	sort_rows(c);
	free(values);
}

static void
drop_case(Case *c)
{
	free(c->query);
	free(c->prepared);
	drop_fences();
}

/* ----------
 * Checks of a case with the kernel in use.
 * ----------
 */
#define WHERE "%s, %s, kind %d, dimension %u, %zu rows, %s row %zu"
#define PLACE(what, row) lw_kernel_names[lw_kernel_active()], type_names[c->slab.type], (int) c->kind, \
	(unsigned int) c->slab.dimension, c->slab.rows, what, (size_t) (row)

static void
check_scores(const Case *c)
{
	static float scores[MAX_ROWS];
	static size_t some[MAX_ROWS];
	size_t		rows = c->slab.rows;
	size_t		first = random_below((uint32_t) rows);
	size_t		count = 1 + random_below((uint32_t) (rows - first));
	size_t		bad = 0;
	size_t		i;

	lw_vectors_score(c->prepared, &c->slab, first, count, scores);
	for (i = 0; i < count && same(scores[i], c->expected[first + i]); i++)
		;
	CHECK(i == count, WHERE ": %a, not %a", PLACE("", first + i), (double) scores[i], (double) c->expected[first + i]);
	count = random_below(60);
	for (i = 0; i < count; i++)
		some[i] = random_below((uint32_t) rows);
	lw_vectors_score_rows(c->prepared, &c->slab, some, count, scores);
	for (i = 0; i < count; i++)
		bad += !same(scores[i], c->expected[some[i]]);
	CHECK(bad == 0, WHERE, PLACE("any", bad));
}

/* Scans the slab in two or three runs, in any order. */
static void
check_nearest(const Case *c, size_t k)
{
	static LwVectorHit hits[MAX_ROWS];
	size_t		rows = c->slab.rows;
	size_t		first = random_below((uint32_t) rows + 1);
	size_t		second = first + random_below((uint32_t) (rows - first) + 1);
	size_t		good = k < rows ? k : rows;
	LwNearest	nearest;
	size_t		i;

	lw_nearest_begin(&nearest, hits, k);
	if (random_below(2))
		first = second = 0;
	lw_nearest_scan(&nearest, c->prepared, &c->slab, second, rows - second);
	lw_nearest_scan(&nearest, c->prepared, &c->slab, 0, first);
	lw_nearest_scan(&nearest, c->prepared, &c->slab, first, second - first);
	CHECK(lw_nearest_finish(&nearest) == good, WHERE, PLACE("nearest", k));
	for (i = 0; i < good && hits[i].row == c->order[i] && same(hits[i].score, c->expected[hits[i].row]); i++)
		;
	CHECK(i == good, WHERE ": hit %zu of %zu is %zu", PLACE("nearest", c->order[i]), i, k, hits[i].row);
}

/* With a row's own score as the least it is left; with the best one's, few others are. */
static void
check_bounds(const Case *c)
{
	const LwVectorKernel *kernel = lw_vector_kernel();
	static size_t left[MAX_ROWS];
	size_t		rows = c->slab.rows / LW_BOUND_ROWS * LW_BOUND_ROWS;
	size_t		missing = 0;
	size_t		found;
	size_t		row;
	size_t		i;

	if (!lw_bounds_ready(c->prepared, kernel, c->slab.type))
		return;
	for (row = 0; row < rows; row++)
	{
		if (isnan(c->expected[row]))
			continue;
		found = kernel->bound[c->slab.type] (c->prepared, &c->slab, row / LW_BOUND_ROWS * LW_BOUND_ROWS,
											 LW_BOUND_ROWS, c->expected[row], left);
		for (i = 0; i < found && left[i] != row; i++)
			;
		missing += i == found;
	}
	CHECK(missing == 0, WHERE, PLACE("missing", missing));
	if (c->kind == NORMAL && c->slab.dimension >= 100 && rows >= 100)
	{
		found = kernel->bound[c->slab.type] (c->prepared, &c->slab, 0, rows, c->expected[c->order[0]], left);
		CHECK(found <= rows / 10, WHERE ": of no use", PLACE("left", found));
	}
}

static void
check_case(const Case *c)
{
	static const size_t ks[] = {1, 2, 10, 100};
	int			kernel;
	size_t		i;

	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		if (!lw_kernel_available((LwKernel) kernel))
			continue;
		lw_kernel_cap((LwKernel) kernel);
		check_scores(c);
		for (i = 0; i < sizeof(ks) / sizeof(ks[0]); i++)
			check_nearest(c, ks[i]);
		check_nearest(c, c->slab.rows - 1);
		check_nearest(c, c->slab.rows + 3);
		check_bounds(c);
	}
	lw_kernel_cap(LW_KERNEL_AUTO);
}

/* ----------
 * Published values: rows and queries of the reference's generator.
 * ----------
 */
static void
generate(uint64_t seed, float *values, size_t n)
{
	uint64_t	state = seed * UINT64_C(2862933555777941757) + UINT64_C(3037000493);
	float		squares = 0;
	size_t		i;

	for (i = 0; i < n; i++)
	{
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		values[i] = (float) (uint32_t) (state >> 32) / 4294967296.0f - 0.5f;
	}
	for (i = 0; i < n; i++)
	{
		float		square = values[i] * values[i];

		squares = squares + square;
	}
	for (i = 0; i < n; i++)
		values[i] = values[i] / sqrtf(squares);
}

typedef struct Published
{
	LwVectorType type;
	size_t		dimension;
	uint32_t	query;
	uint32_t	row;
	uint32_t	score;
	uint32_t	scale;
} Published;

static const Published published[] = {
	{LW_VECTOR_FLOAT32, 4, 0xdeadbeef, 0xc0deface, 0x3db146d9, 0},
	{LW_VECTOR_FLOAT32, 7, 0xdeadbeef, 0xc0deface, 0xbde79e7f, 0},
	{LW_VECTOR_FLOAT32, 16, 0xdeadbeef, 0xc0deface, 0xbe88383a, 0},
	{LW_VECTOR_FLOAT32, 31, 0xdeadbeef, 0xc0deface, 0xbe664685, 0},
	{LW_VECTOR_FLOAT32, 64, 0xdeadbeef, 0xc0deface, 0xbd525308, 0},
	{LW_VECTOR_FLOAT32, 384, 0xdeadbeef, 0xc0deface, 0xbd6f052e, 0},
	{LW_VECTOR_FLOAT16, 4, 0x1234, 0x5678, 0xbee3473b, 0},
	{LW_VECTOR_FLOAT16, 8, 0x1234, 0x5678, 0xbe838e43, 0},
	{LW_VECTOR_FLOAT16, 31, 0x1234, 0x5678, 0xbe4f39c5, 0},
	{LW_VECTOR_FLOAT16, 64, 0x1234, 0x5678, 0xbe37bc65, 0},
	{LW_VECTOR_FLOAT16, 384, 0x1234, 0x5678, 0xbda3494e, 0},
	{LW_VECTOR_INT8, 8, 0xabcd, 0x4321, 0xbee15a89, 0x3b5fac3f},
	{LW_VECTOR_INT8, 31, 0xabcd, 0x4321, 0xbe6df84e, 0x3b11dcbd},
	{LW_VECTOR_INT8, 64, 0xabcd, 0x4321, 0xbe167291, 0x3ad5d62e},
	{LW_VECTOR_INT8, 384, 0xabcd, 0x4321, 0x3ce7e858, 0x3a3262e8},
	{LW_VECTOR_INT4, 64, 0xf00d, 0xbeef, 0x3e762df2, 0},
	{LW_VECTOR_INT4, 128, 0xf00d, 0xbeef, 0x3dcd5f0c, 0},
	{LW_VECTOR_INT4, 320, 0xf00d, 0xbeef, 0x3c8e8f1d, 0},
	{LW_VECTOR_INT4, 384, 0xf00d, 0xbeef, 0x3c885b72, 0},
};

static void
check_published(const Published *p)
{
	float		values[384];
	float		codes[384];
	float		scales[6];
	float		score;
	Case	   *c = malloc(sizeof(Case));
	int			kernel;

	make_case(c, p->type, NORMAL, p->dimension, 1);
	c->slab.codes = codes;
	c->slab.scales = p->type >= LW_VECTOR_INT8 ? scales : NULL;
	generate(p->row, values, p->dimension);
	encode(&c->slab, 0, values);
	CHECK(p->scale == 0 || bits_of(scales[0]) == p->scale, WHERE, PLACE("scale", bits_of(scales[0])));
	generate(p->query, values, p->dimension);
	lw_vector_query_init(c->prepared, values, (uint32_t) p->dimension);
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		if (!lw_kernel_available((LwKernel) kernel))
			continue;
		lw_kernel_cap((LwKernel) kernel);
		lw_vectors_score(c->prepared, &c->slab, 0, 1, &score);
		CHECK(bits_of(score) == p->score, WHERE ": %a, not %a", PLACE("published", 0), (double) score,
			  (double) float_of(p->score));
	}
	drop_case(c);
	free(c);
}

/* Finds the three nearest, and compares them with those of the scalar kernel. */
static void
compare_nearest(const LwVectorSlab *slab, const float *values, const char *what)
{
	LwVectorHit hits[LW_KERNEL_COUNT][3];
	int			kernel;
	int			i;

	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		void	   *memory = aligned_alloc(64, lw_vector_query_size(slab->dimension));
		LwNearest	nearest;

		if (!lw_kernel_available((LwKernel) kernel))
		{
			free(memory);
			continue;
		}
		lw_kernel_cap((LwKernel) kernel);
		lw_nearest_begin(&nearest, hits[kernel], 3);
		lw_nearest_scan(&nearest, lw_vector_query_init(memory, values, slab->dimension), slab, 0, slab->rows);
		CHECK(lw_nearest_finish(&nearest) == 3, "%s", what);
		for (i = 0; i < 3; i++)
			CHECK(hits[kernel][i].row == hits[LW_KERNEL_SCALAR][i].row &&
				  hits[kernel][i].score == hits[LW_KERNEL_SCALAR][i].score,
				  "%s, %s, %u: row %zu, expected %zu", lw_kernel_names[kernel], what, slab->dimension,
				  hits[kernel][i].row, hits[LW_KERNEL_SCALAR][i].row);
		free(memory);
	}
	lw_kernel_cap(LW_KERNEL_AUTO);
}

/* The largest integer sums that there can be: every product is, and all are of one sign. */
static void
check_largest_sums(void)
{
	uint32_t	dimension;
	size_t		rows = 600;

	for (dimension = 16; dimension <= 32768; dimension *= 2)
	{
		float	   *values = malloc(dimension * sizeof(float));
		int8_t	   *codes = calloc(rows, dimension);
		float	   *scales = malloc(rows * sizeof(float));
		LwVectorSlab slab = {LW_VECTOR_INT8, dimension, rows, codes, scales};
		size_t		i;

		for (i = 0; i < dimension; i++)
			values[i] = -1;
		for (i = 0; i < rows; i++)
		{
			scales[i] = 1;
			memset(codes + i * dimension, -1, dimension / 2);
		}
		memset(codes + 500 * (size_t) dimension, -128, dimension);
		compare_nearest(&slab, values, "largest sums");
		free(values);
		free(codes);
		free(scales);
	}
}

/* A query that is denormal in every lane but one, whose part of a bound's margin would underflow. */
static void
check_denormal_lanes(void)
{
	enum
	{
		N = 16, ROWS = 3000
	};
	static float rows[ROWS * N];
	float		values[N];
	float		base[N];
	LwVectorSlab slab = {LW_VECTOR_FLOAT32, N, ROWS, rows, NULL};
	int			round;
	size_t		i;

	for (round = 0; round < 200; round++)
	{
		values[0] = 0x1p-60f;
		base[0] = 0;
		for (i = 1; i < N; i++)
		{
			values[i] = ldexpf(1 + (float) random_below(1 << 20) / (1 << 20), -134);
			base[i] = ldexpf(1 + (float) random_below(1 << 20) / (1 << 20), 58);
		}
		for (i = 0; i < ROWS; i++)
		{
			size_t		changes = 1 + random_below(3);

			memcpy(rows + i * N, base, sizeof(base));
			for (; changes > 0; changes--)
			{
				size_t		at = 1 + random_below(N - 1);

				rows[i * N + at] = nextafterf(base[at], random_below(2) ? 0x1p60f : 0);
			}
		}
		compare_nearest(&slab, values, "denormal lanes");
	}
}

int
main(void)
{
	static const size_t dimensions[] = {1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 33, 63, 64, 65, 100, 128, 129, 200, 384, 385};
	static const size_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 100, 255, 256, 257, 300, 511, 700, 1000};
	static Case c;
	int			rounds = unit_brief() ? 1 : ROUNDS;
	int			type;
	int			kind;
	int			round;
	size_t		i;

	for (i = 0; i < sizeof(published) / sizeof(published[0]); i++)
		check_published(&published[i]);
	for (type = 0; type < LW_VECTOR_TYPES; type++)
	{
		for (kind = 0; kind < VALUES_KINDS; kind++)
		{
			for (round = 0; round < rounds; round++)
			{
				size_t		n = dimensions[random_below(20)];

				if (type == LW_VECTOR_INT4)
					n = 64 * (1 + random_below(10));
				make_case(&c, (LwVectorType) type, (Values) kind, n, sizes[random_below(16)]);
				check_case(&c);
				drop_case(&c);
			}
		}
		/* a block of 256 rows, and then bounds with many rows behind it */
		make_case(&c, (LwVectorType) type, NORMAL, 128, MAX_ROWS);
		check_case(&c);
		drop_case(&c);
		if (unit_brief())
			continue;
		/* the largest dimension of bounds, and one beyond it */
		make_case(&c, (LwVectorType) type, RISING, type == LW_VECTOR_INT4 ? 65472 : 65535, 9);
		check_case(&c);
		drop_case(&c);
		make_case(&c, (LwVectorType) type, NORMAL, 65536, 9);
		check_case(&c);
		drop_case(&c);
	}
	check_largest_sums();
	check_denormal_lanes();
	return unit_done("vectors");
}
