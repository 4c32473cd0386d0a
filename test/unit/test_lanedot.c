/*-------------------------------------------------------------------------
 *
 * test_lanedot.c
 *	  Dot products in eight partial sums: the definition, step by step, in
 *	  every instruction set, for every type and dimension, with any alignment.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "format/half.h"
#include "kernel/lanedot.h"
#include "kernel/maxsim.h"
#include "random.h"
#include "unit.h"

#define ROWS 13

/* Rounded by itself, whatever the compiler would like to do. */
static float
rounded(float value)
{
	volatile float result = value;

	return result;
}

static float
defined_dot(const float *vector, const float *row, size_t dimension)
{
	float		sums[9] = {0};
	float		left;
	float		right;
	size_t		i;

	for (i = 0; i < dimension; i++)
	{
		size_t		lane = i < dimension / 8 * 8 ? i % 8 : 8;

		sums[lane] = rounded(sums[lane] + rounded(vector[i] * row[i]));
	}
	left = rounded(rounded(sums[0] + sums[1]) + rounded(sums[2] + sums[3]));
	right = rounded(rounded(sums[4] + sums[5]) + rounded(sums[6] + sums[7]));
	return rounded(rounded(left + right) + sums[8]);
}

/* A finite half float. */
static uint16_t
random_half(void)
{
	return (uint16_t) (random_below(0x7c00) | random_below(2) << 15);
}

/* Fills in a slab and its rows decoded; returns the memory in which its codes end. */
static uint8_t *
make_slab(LwVectorSlab *slab, LwVectorType type, uint32_t dimension, float *decoded)
{
	static const size_t half_bytes[] = {8, 4, 2, 1};
	size_t		values = (size_t) ROWS * dimension;
	size_t		shift = random_below(4);
	uint8_t    *codes = malloc(values * half_bytes[type] / 2 + shift);
	uint8_t    *scales = malloc((values + 1) * sizeof(float));
	size_t		i;

	*slab = (LwVectorSlab) {type, dimension, ROWS, codes + shift, scales};
	for (i = 0; i < values; i++)
	{
		uint8_t    *at = codes + shift + i * half_bytes[type] / 2;
		uint16_t	half;
		float		scale;
		int			code = (int) random_below(256) - 128;

		switch (type)
		{
			case LW_VECTOR_FLOAT32:
				decoded[i] = gaussian();
				memcpy(at, &decoded[i], sizeof(float));
				break;
			case LW_VECTOR_FLOAT16:
				half = random_half();
				decoded[i] = lw_half_to_float(half);
				memcpy(at, &half, sizeof(half));
				break;
			case LW_VECTOR_INT8:
				if (i % dimension == 0)
				{
					scale = gaussian() / 100;
					memcpy(scales + i / dimension * sizeof(scale), &scale, sizeof(scale));
				}
				memcpy(&scale, scales + i / dimension * sizeof(scale), sizeof(scale));
				*at = (uint8_t) code;
				decoded[i] = rounded((float) code * scale);
				break;
			case LW_VECTOR_INT4:
				if (i % LW_INT4_BLOCK == 0)
				{
					half = random_half();
					memcpy(scales + i / LW_INT4_BLOCK * sizeof(half), &half, sizeof(half));
				}
				memcpy(&half, scales + i / LW_INT4_BLOCK * sizeof(half), sizeof(half));
				code = code / 16;
				*at = i % 2 == 0 ? (uint8_t) (code & 15) : (uint8_t) (*at | (code & 15) << 4);
				decoded[i] = rounded((float) code * lw_half_to_float(half));
				break;
		}
	}
	return codes;
}

static void
check_slab(LwVectorType type, uint32_t dimension)
{
	LwVectorSlab slab;
	float	   *decoded = malloc((size_t) ROWS * dimension * sizeof(float));
	float	   *vector = malloc(dimension * sizeof(float));
	uint8_t    *codes = make_slab(&slab, type, dimension, decoded);
	uint32_t	rows[2 * ROWS];
	float		dots[2 * ROWS];
	int			kernel;
	size_t		i;

	for (i = 0; i < dimension; i++)
		vector[i] = gaussian();
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		size_t		count = 1 + random_below(2 * ROWS);

		if (!lw_kernel_available((LwKernel) kernel))
			continue;
		lw_kernel_cap((LwKernel) kernel);
		for (i = 0; i < count; i++)
			rows[i] = random_below(ROWS);
		lw_lane_dots(vector, &slab, rows, count, dots);
		for (i = 0; i < count; i++)
		{
			float		expected = defined_dot(vector, decoded + (size_t) rows[i] * dimension, dimension);

			CHECK(memcmp(&dots[i], &expected, sizeof(expected)) == 0, "type %d, dimension %u, %s, %zu of %zu: %.9g, not %.9g",
				  (int) type, (unsigned) dimension, lw_kernel_names[kernel], i, count, dots[i], expected);
		}
	}
	lw_lane_dots(vector, &slab, rows, 0, NULL);
	free(decoded);
	free(vector);
	free(codes);
	free((void *) slab.scales);
}

int
main(void)
{
	uint32_t	dimension;

	for (dimension = 1; dimension <= 130; dimension++)
	{
		check_slab(LW_VECTOR_FLOAT32, dimension);
		check_slab(LW_VECTOR_FLOAT16, dimension);
		check_slab(LW_VECTOR_INT8, dimension);
		if (dimension % LW_INT4_BLOCK == 0)
			check_slab(LW_VECTOR_INT4, dimension);
	}
	for (dimension = 192; dimension <= 1024; dimension += 64)
		check_slab(LW_VECTOR_INT4, dimension);
	return unit_done("lanedot");
}
