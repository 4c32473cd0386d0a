/*-------------------------------------------------------------------------
 *
 * test_decode.c
 *	  Decoding of int8 tokens against a transcription in which each float32
 *	  step is a double one, rounded: that is the same for one operation, and
 *	  leaves a compiler nothing to fuse.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernel/decode.h"
#include "unit.h"

#define MAX_DIMENSION 300
#define TOKENS 5

static uint64_t state = 88172645463325252ULL;

static uint32_t
random_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t) (state >> 32);
}

static uint32_t
bits_of(float value)
{
	uint32_t	bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* One token, step by step. */
static void
transcribe(const int8_t *codes, float scale, int dimension, int normalized,
		   float *out)
{
	float		lanes[8] = {0};
	float		sum = 0;
	float		r;
	int			whole = dimension - dimension % 8;
	int			i;

	for (i = 0; i < dimension; i++)
		out[i] = (float) ((double) codes[i] * (double) scale);
	if (!normalized)
		return;
	for (i = 0; i < dimension; i++)
	{
		float		square = (float) ((double) out[i] * (double) out[i]);

		if (i == whole)
		{
			int			lane;

			for (lane = 0; lane < 8; lane++)
				sum = (float) ((double) sum + (double) lanes[lane]);
		}
		if (i < whole)
			lanes[i % 8] = (float) ((double) lanes[i % 8] + (double) square);
		else
			sum = (float) ((double) sum + (double) square);
	}
	if (whole == dimension)
		for (i = 0; i < 8; i++)
			sum = (float) ((double) sum + (double) lanes[i]);
	r = (float) sqrt((double) sum);
	if (!(r > 1e-12f))
		r = 1e-12f;
	r = (float) (1.0 / (double) r);
	for (i = 0; i < dimension; i++)
		out[i] = (float) ((double) out[i] * (double) r);
}

/* Whether two values are the same bits, or both not a number. */
static int
same(float a, float b)
{
	return bits_of(a) == bits_of(b) || (isnan(a) && isnan(b));
}

static void
check_random(void)
{
	static const float scales[] =
	{1e-45f, 1e-38f, 1e-30f, 1e-23f, 1e-19f, 1e-14f, 1e-12f, 0.0078740157f,
	0.5f, 1, 3, 1e10f, 1e17f, 1e18f, 1e20f, 1e30f, 3e38f};
	static int8_t memory[TOKENS * MAX_DIMENSION + 1];
	static float out[TOKENS * MAX_DIMENSION];
	static float expected[MAX_DIMENSION];
	int8_t	   *codes = memory + 1;
	int			dimension;

	for (dimension = 1; dimension <= MAX_DIMENSION; dimension++)
	{
		float		scale[TOKENS];
		int			normalized = random_bits() % 4 != 0;
		int			token;
		int			i;

		for (i = 0; i < TOKENS * dimension; i++)
			codes[i] = (int8_t) random_bits();
		for (token = 0; token < TOKENS; token++)
		{
			scale[token] = scales[random_bits() % (sizeof(scales) / sizeof(scales[0]))];
			if (random_bits() % 8 == 0)
				memset(codes + token * dimension, 0, (size_t) dimension);
		}
		CHECK(lw_decode_int8(codes, scale, TOKENS, (size_t) dimension,
							 normalized, out) == TOKENS, "dimension %d", dimension);
		for (token = 0; token < TOKENS; token++)
		{
			transcribe(codes + token * dimension, scale[token], dimension, normalized, expected);
			for (i = 0; i < dimension && same(out[token * dimension + i], expected[i]); i++)
				;
			CHECK(i == dimension, "dimension %d, scale %g: value %d is %a, not %a",
				  dimension, (double) scale[token], i,
				  (double) out[token * dimension + i], (double) expected[i]);
		}
	}
}

/* A few values that need no arithmetic to know. */
static void
check_known(void)
{
	static const int8_t codes[8] = {3, 4, 0, 0, -128, 127, 0, 1};
	static const float scales[2] = {0.5f, 2};
	float		out[8];

	CHECK(lw_decode_int8(codes, scales, 2, 4, false, out) == 2, "count");
	CHECK(out[0] == 1.5f && out[1] == 2 && out[4] == -256 && out[5] == 254 && out[7] == 2, "plain");
	CHECK(lw_decode_int8(codes, scales, 1, 4, true, out) == 1, "count");
	CHECK(out[0] == 1.5f * 0.4f && out[1] == 2 * 0.4f && bits_of(out[2]) == 0, "unit");
}

static void
check_scales(void)
{
	static const float bad[] = {0.0f, -0.0f, -1.0f, -1e-45f, NAN, INFINITY, -INFINITY};
	static const int8_t codes[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	size_t		kind;
	size_t		position;

	for (kind = 0; kind < sizeof(bad) / sizeof(bad[0]); kind++)
	{
		for (position = 0; position < 4; position++)
		{
			float		scales[4] = {1e-45f, 1, 3e38f, 2};
			float		out[12];

			scales[position] = bad[kind];
			CHECK(lw_decode_int8(codes, scales, 4, 3, kind % 2, out) == position,
				  "scale %g at %zu", (double) bad[kind], position);
		}
	}
}

int
main(void)
{
	check_random();
	check_known();
	check_scales();
	return unit_done("decode");
}
