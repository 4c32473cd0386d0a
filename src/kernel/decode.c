/*-------------------------------------------------------------------------
 *
 * decode.c
 *	  int8 tokens to float32, bit for bit as the format's reference decodes.
 *
 * Products and sums must round separately: compilers are told not to fuse
 * them, and targets that compute float in a wider type are refused.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/decode.h"

#include <float.h>
#include <math.h>

#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
#error "float arithmetic must round to float"
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define LANES 8

/* What a decoded token is multiplied by to have norm 1. */
static float
inverse_norm(const float *values, size_t dimension)
{
	size_t		whole = dimension / LANES * LANES;
	float		lanes[LANES] = {0};
	float		sum = 0.0f;
	float		norm;
	size_t		i;
	int			lane;

	for (i = 0; i < whole; i += LANES)
		for (lane = 0; lane < LANES; lane++)
			lanes[lane] += values[i + lane] * values[i + lane];
	for (lane = 0; lane < LANES; lane++)
		sum += lanes[lane];
	for (i = whole; i < dimension; i++)
		sum += values[i] * values[i];
	norm = sqrtf(sum);
	return 1.0f / (norm > 1e-12f ? norm : 1e-12f);
}

/* Decodes tokens until one has a scale that is not finite and positive. */
size_t
lw_decode_int8(const int8_t *codes, const float *scales, size_t tokens,
			   size_t dimension, bool normalized, float *out)
{
	size_t		token;
	size_t		i;

	for (token = 0; token < tokens; token++)
	{
		float		scale = scales[token];

		if (!(scale > 0 && scale <= FLT_MAX))
			return token;
		for (i = 0; i < dimension; i++)
			out[i] = codes[i] * scale;
		if (normalized)
		{
			float		inverse = inverse_norm(out, dimension);

			for (i = 0; i < dimension; i++)
				out[i] *= inverse;
		}
		codes += dimension;
		out += dimension;
	}
	return tokens;
}
