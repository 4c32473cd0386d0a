/*-------------------------------------------------------------------------
 *
 * test_encode.c
 *	  int8 codes of rows, by every instruction set, against a transcription in
 *	  which each float32 step is a double one, rounded; and what is refused.
 *
 *-------------------------------------------------------------------------
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "fence.h"
#include "kernel/encode.h"
#include "kernel/maxsim.h"
#include "random.h"
#include "unit.h"

#define MAX_DIMENSION 140

static float
next_to(float value, int steps)
{
	while (steps != 0)
	{
		value = nextafterf(value, steps > 0 ? INFINITY : -INFINITY);
		steps += steps > 0 ? -1 : 1;
	}
	return value;
}

static float
transcribe(const float *values, size_t dimension, int8_t *codes)
{
	double		most = 0;
	float		scale;
	size_t		i;

	for (i = 0; i < dimension; i++)
		most = fmax(most, fabs((double) values[i]));
	scale = (float) (most / 127);
	if (scale < (float) 1e-12)
		scale = (float) 1e-12;
	for (i = 0; i < dimension; i++)
	{
		double		code = round((double) (float) ((double) values[i] / (double) scale));

		codes[i] = (int8_t) (code > 127 ? 127 : code < -127 ? -127 : code);
	}
	return scale;
}

/* Rows of a kind each: ordinary, tiny, huge, at and next to the middle between two codes. */
static void
fill(float *row, size_t dimension, int kind)
{
	float		scale = (float) exp((double) gaussian() * (kind == 1 ? 20 : 3));
	size_t		i;

	for (i = 0; i < dimension; i++)
	{
		float		half = ((float) random_below(254) - 126.5f) * scale;

		switch (kind)
		{
			case 0:
				row[i] = gaussian();
				break;
			case 1:
				row[i] = gaussian() * scale;
				break;
			case 2:
				row[i] = gaussian() * 1e-12f;
				break;
			case 3:
				row[i] = random_below(2) ? 3.4e38f : -1e-45f;
				break;
			default:
				row[i] = next_to(half, (int) random_below(5) - 2);
				break;
		}
	}
	if (kind == 4)
		row[random_below((uint32_t) dimension)] = 127 * scale;
}

static void
check_codes(void)
{
	size_t		dimension;
	int			kind;
	int			kernel;

	for (dimension = 1; dimension <= MAX_DIMENSION; dimension++)
		for (kind = 0; kind < 5; kind++)
		{
			float	   *values = fenced(2 * dimension * sizeof(float));
			int8_t	   *codes = fenced(2 * dimension);
			int8_t		expected[2 * MAX_DIMENSION];
			float		scales[2];
			float		expected_scales[2];
			int			row;

			for (row = 0; row < 2; row++)
			{
				fill(values + row * dimension, dimension, kind);
				expected_scales[row] = transcribe(values + row * dimension, dimension, expected + row * dimension);
			}
			for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
			{
				if (!lw_kernel_available((LwKernel) kernel))
					continue;
				lw_kernel_cap((LwKernel) kernel);
				memset(codes, 55, 2 * dimension);
				lw_encode_int8(values, 2, dimension, codes, scales);
				CHECK(memcmp(codes, expected, 2 * dimension) == 0 && memcmp(scales, expected_scales, sizeof(scales)) == 0,
					  "dimension %zu, kind %d, %s", dimension, kind, lw_kernel_names[kernel]);
			}
			drop_fences();
		}
}

/* No place of a row is missed. */
static void
check_places(void)
{
	size_t		dimension;
	size_t		at;
	int			kernel;

	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
		for (dimension = 1; dimension < 40 && lw_kernel_available((LwKernel) kernel); dimension++)
		{
			float	   *row = fenced(dimension * sizeof(float));

			lw_kernel_cap((LwKernel) kernel);
			for (at = 0; at < dimension; at++)
				row[at] = random_below(2) ? FLT_MAX : -FLT_MAX;
			for (at = 0; at <= dimension; at++)
			{
				size_t		token;
				size_t		component;
				LwRowProblem problem;

				if (at < dimension)
					row[at] = at % 2 ? NAN : -INFINITY;
				problem = lw_check_rows(row, 1, dimension, false, &token, &component);
				CHECK(at == dimension ? problem == LW_ROWS_FINE : problem == LW_ROWS_NOT_FINITE && component == at,
					  "%s, dimension %zu: %zu instead of %zu", lw_kernel_names[kernel], dimension, component, at);
				if (at < dimension)
					row[at] = 1;
			}
			drop_fences();
		}
}

/* No row's norm is missed, nor taken for another's. */
static void
check_norms(void)
{
	size_t		tokens;
	size_t		at;

	for (tokens = 1; tokens < 12; tokens++)
	{
		float	   *rows = fenced(tokens * 3 * sizeof(float));

		for (at = 0; at < tokens; at++)
			rows[3 * at + at % 3] = at % 2 ? 1 : -1;
		for (at = 0; at <= tokens; at++)
		{
			size_t		token;
			size_t		component;
			LwRowProblem problem;

			if (at < tokens)
				rows[3 * at + 1] += 2.5f;
			problem = lw_check_rows(rows, tokens, 3, true, &token, &component);
			CHECK(at == tokens ? problem == LW_ROWS_FINE : problem == LW_ROWS_NOT_UNIT && token == at,
				  "%zu tokens: %zu instead of %zu", tokens, token, at);
			if (at < tokens)
				rows[3 * at + 1] -= 2.5f;
		}
		drop_fences();
	}
}

/* Bytes are turned round, of any number of values anywhere. */
static void
check_swap(void)
{
	size_t		count;
	size_t		i;
	int			kernel;

	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
		for (count = 0; count < 40 && lw_kernel_available((LwKernel) kernel); count++)
		{
			unsigned char *bytes = fenced(count * sizeof(float) + 1);
			float	   *values = fenced(count * sizeof(float));
			bool		good = true;

			lw_kernel_cap((LwKernel) kernel);
			for (i = 0; i < count * sizeof(float); i++)
				bytes[i + 1] = (unsigned char) random_below(256);
			lw_swap_values(bytes + 1, count, values);
			for (i = 0; i < count * sizeof(float); i++)
				good &= ((unsigned char *) values)[i] == bytes[1 + (i ^ 3)];
			CHECK(good, "%s, %zu values", lw_kernel_names[kernel], count);
			drop_fences();
		}
}

/* The first NaN or infinity is found, whatever the norms; then the first norm that is off. */
static void
check_problems(void)
{
	float		rows[3 * 4] = {1, 0, 0, 0, 0, -1, 0, 0, 0.5f, 0.5f, 0.5f, -0.5f};
	float		edge = 1.0f + 1.1e-3f;
	size_t		token;
	size_t		component;
	int			i;

	CHECK(lw_check_rows(rows, 3, 4, true, &token, &component) == LW_ROWS_FINE, "unit rows");
	CHECK(lw_check_rows(rows, 0, 4, true, &token, &component) == LW_ROWS_FINE, "no rows");
	for (i = 0; i < 12; i++)
	{
		float		kept = rows[i];

		rows[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
		CHECK(lw_check_rows(rows, 3, 4, i % 2, &token, &component) == LW_ROWS_NOT_FINITE &&
			  token == (size_t) i / 4 && component == (size_t) i % 4, "value %d: token %zu, component %zu", i, token, component);
		rows[i] = 2;
		CHECK(lw_check_rows(rows, 3, 4, true, &token, &component) == LW_ROWS_NOT_UNIT &&
			  token == (size_t) i / 4 && component == 0, "value %d: token %zu", i, token);
		CHECK(lw_check_rows(rows, 3, 4, false, &token, &component) == LW_ROWS_FINE, "value %d", i);
		rows[i] = kept;
	}
	for (i = -2; i <= 2; i++)
	{
		float		value = next_to(edge, i);

		CHECK((lw_check_rows(&value, 1, 1, true, &token, &component) == LW_ROWS_FINE) == (value - 1.0f <= 1.1e-3f),
			  "a norm of %.9g", (double) value);
	}
}

int
main(void)
{
	check_codes();
	check_places();
	check_norms();
	check_swap();
	check_problems();
	return unit_done("encode");
}
