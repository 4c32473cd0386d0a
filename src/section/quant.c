/*-------------------------------------------------------------------------
 *
 * quant.c
 *	  Rows of float32 as float16, int8 and int4, and back.
 *
 * Payloads: of float16 the codes; of int8 u32 version, u32 kind of scales (0),
 * a float32 scale for each row, the codes; of int4 u32 version, u32 kind (1), a
 * float16 scale for each block, the codes.
 *
 *-------------------------------------------------------------------------
 */
#include "section/quant.h"

#include <math.h>
#include <string.h>

#include "format/half.h"

#define BLOCK LW_QUANT_BLOCK
#define HEADER 8
#define VERSION 1

enum
{
	SCALES_OF_ROWS = 0,
	SCALES_OF_BLOCKS = 1
};

bool
lw_all_finite(const float *values, size_t count)
{
	size_t		i;

	for (i = 0; i < count; i++)
		if (!isfinite(values[i]))
			return false;
	return true;
}

static inline void
store_half(uint8_t *to, uint16_t half)
{
	to[0] = (uint8_t) half;
	to[1] = (uint8_t) (half >> 8);
}

static inline float
load_half(const uint8_t *from)
{
	return lw_half_to_float((uint16_t) (from[0] | from[1] << 8));
}

void
lw_quantize_float16(const float *row, size_t dimension, uint8_t *codes)
{
	size_t		i;

	for (i = 0; i < dimension; i++)
		store_half(codes + 2 * i, lw_half_from_float(row[i]));
}

/* The greatest magnitude. */
static float
greatest(const float *row, size_t dimension)
{
	float		most = 0;
	size_t		i;

	for (i = 0; i < dimension; i++)
		if (fabsf(row[i]) > most)
			most = fabsf(row[i]);
	return most;
}

/*
 * The code of a value: rounded half away from zero, clamped, and 0 for NaN.
 * Adding a half rounds as it should up to 2^22, and what is greater is clamped
 * anyway; only the number below a half would be rounded up by it.
 */
static inline int
code_of(float value, int most)
{
	float		magnitude = fabsf(value);
	int			code;

	if (!(magnitude < (float) most))
		code = magnitude >= (float) most ? most : 0;
	else
		code = magnitude < 0.5f ? 0 : (int) (magnitude + 0.5f);
	return value < 0 ? -code : code;
}

float
lw_quantize_int8(const float *row, size_t dimension, uint8_t *codes)
{
	float		most = greatest(row, dimension);
	float		scale = most == 0 ? 1 : most / 127;
	float		inverse = 1 / scale;
	size_t		i;

	for (i = 0; i < dimension; i++)
		codes[i] = (uint8_t) code_of(row[i] * inverse, 127);
	return scale;
}

void
lw_quantize_int4(const float *row, size_t dimension, uint8_t *scales, uint8_t *codes)
{
	size_t		block;
	size_t		i;

	for (block = 0; block < dimension / BLOCK; block++)
	{
		const float *values = row + block * BLOCK;
		float		most = greatest(values, BLOCK);
		uint16_t	half = lw_half_from_float(most == 0 ? 1 : most / 7);
		float		scale = lw_half_to_float(half);
		float		inverse = scale > 0 ? 1 / scale : 0;

		store_half(scales + 2 * block, half);
		for (i = 0; i < BLOCK; i += 2)
			codes[(block * BLOCK + i) / 2] =
				(uint8_t) ((code_of(values[i] * inverse, 7) & 15) |
						   (code_of(values[i + 1] * inverse, 7) & 15) << 4);
	}
}

void
lw_dequantize_float16(const uint8_t *codes, size_t dimension, float *row)
{
	size_t		i;

	for (i = 0; i < dimension; i++)
		row[i] = load_half(codes + 2 * i);
}

void
lw_dequantize_int8(const uint8_t *codes, float scale, size_t dimension, float *row)
{
	size_t		i;

	for (i = 0; i < dimension; i++)
		row[i] = scale * (float) (int8_t) codes[i];
}

void
lw_dequantize_int4(const uint8_t *codes, const uint8_t *scales, size_t dimension, float *row)
{
	size_t		i;

	for (i = 0; i < dimension; i++)
	{
		int			code = codes[i / 2] >> (i % 2 * 4) & 15;

		row[i] = load_half(scales + i / BLOCK * 2) * (float) ((code ^ 8) - 8);
	}
}

/* Writes a header, and takes room for `scales` and `codes` bytes a row; NULL when the buffer fails. */
static uint8_t *
reserve_rows(LwBuffer *payload, size_t count, size_t scales, size_t codes, uint32_t kind)
{
	uint8_t    *rows;

	lw_put_u32(payload, VERSION);
	lw_put_u32(payload, kind);
	rows = lw_buffer_reserve(payload, count * (scales + codes));
	if (rows != NULL)
		payload->size += count * (scales + codes);
	return rows;
}

void
lw_put_float32_rows(LwBuffer *payload, const float *rows, size_t count, size_t dimension)
{
	size_t		i;

	for (i = 0; i < count * dimension; i++)
		lw_put_f32(payload, rows[i]);
}

void
lw_put_float16_rows(LwBuffer *payload, const float *rows, size_t count, size_t dimension)
{
	uint8_t    *codes = lw_buffer_reserve(payload, count * dimension * 2);

	if (codes == NULL)
		return;
	lw_quantize_float16(rows, count * dimension, codes);
	payload->size += count * dimension * 2;
}

void
lw_put_int8_rows(LwBuffer *payload, const float *rows, size_t count, size_t dimension)
{
	uint8_t    *scales = reserve_rows(payload, count, sizeof(float), dimension, SCALES_OF_ROWS);
	size_t		i;
	int			byte;

	for (i = 0; scales != NULL && i < count; i++)
	{
		float		scale = lw_quantize_int8(rows + i * dimension, dimension,
											 scales + count * sizeof(float) + i * dimension);
		uint32_t	bits;

		memcpy(&bits, &scale, sizeof(bits));
		for (byte = 0; byte < 4; byte++)
			scales[i * sizeof(float) + byte] = (uint8_t) (bits >> 8 * byte);
	}
}

void
lw_put_int4_rows(LwBuffer *payload, const float *rows, size_t count, size_t dimension)
{
	size_t		scales_size = dimension / BLOCK * 2;
	uint8_t    *scales = reserve_rows(payload, count, scales_size, dimension / 2, SCALES_OF_BLOCKS);
	size_t		i;

	for (i = 0; scales != NULL && i < count; i++)
		lw_quantize_int4(rows + i * dimension, dimension, scales + i * scales_size,
						 scales + count * scales_size + i * (dimension / 2));
}
