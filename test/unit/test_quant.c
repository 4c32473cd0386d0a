/*-------------------------------------------------------------------------
 *
 * test_quant.c
 *	  Half floats, and rows as float16, int8 and int4.
 *
 *-------------------------------------------------------------------------
 */
#include <float.h>
#include <math.h>

#include "codec.h"
#include "format/half.h"
#include "random.h"
#include "section/quant.h"

static float
float_of(uint32_t bits)
{
	float		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t
bits_of(float value)
{
	uint32_t	bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Every half comes back; everything between two goes to the nearer, in the middle to the even one. */
static void
test_halves(void)
{
	uint32_t	half;
	int			wrong = 0;

	for (half = 0; half < 0x10000; half++)
	{
		float		value = lw_half_to_float((uint16_t) half);

		if ((half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0)
			wrong += !isnan(value) || !isnan(lw_half_to_float(lw_half_from_float(value)));
		else
			wrong += lw_half_from_float(value) != half;
	}
	CHECK(wrong == 0, "%d halves", wrong);
	for (half = 0; half < 0x7bff; half++)
	{
		uint32_t	sign = half % 2 == 0 ? 0 : 0x8000;
		float		low = lw_half_to_float((uint16_t) (half | sign));
		float		high = lw_half_to_float((uint16_t) (half + 1) | sign);
		float		middle = (low + high) / 2;

		wrong += lw_half_from_float(middle) != ((half & 1 ? half + 1 : half) | sign);
		wrong += lw_half_from_float(nextafterf(middle, low)) != (half | sign);
		wrong += lw_half_from_float(nextafterf(middle, high)) != ((half + 1) | sign);
	}
	CHECK(wrong == 0, "%d between halves", wrong);
	CHECK(lw_half_from_float(65519.996f) == 0x7bff && lw_half_from_float(65520) == 0x7c00 &&
		  lw_half_from_float(-FLT_MAX) == 0xfc00 && lw_half_from_float(INFINITY) == 0x7c00, "overflow");
	CHECK(lw_half_from_float(FLT_TRUE_MIN) == 0 && lw_half_from_float(-0.0f) == 0x8000 &&
		  lw_half_from_float(0x1p-25f) == 0 && lw_half_from_float(0x1.000002p-25f) == 1, "underflow");
}

static void
test_float16(void)
{
	static const float row[] = {0.5f, -0.25f, 65504, -0.0f, 1e30f, 0x1p-24f};
	float		back[6];
	uint8_t		codes[12];
	LwBuffer	payload;

	lw_buffer_init(&payload, 0);
	lw_put_float16_rows(&payload, row, 2, 3);
	CHECK(holds_hex(&payload, "0038 00b4 ff7b 0080 007c 0100"), "float16");
	lw_quantize_float16(row, 6, codes);
	CHECK(memcmp(codes, payload.data, 12) == 0, "one row");
	lw_dequantize_float16(codes, 6, back);
	CHECK(back[0] == 0.5f && back[2] == 65504 && bits_of(back[3]) == 0x80000000 && isinf(back[4]) &&
		  back[5] == 0x1p-24f, "read again");
	payload.size = 0;
	lw_put_float32_rows(&payload, row, 1, 2);
	CHECK(holds_hex(&payload, "0000003f 000080be"), "float32");
	lw_buffer_free(&payload);
}

static void
test_int8(void)
{
	static const float rows[] = {1, -1, 0.5f, -0.5f, 0, 0.25f, 0, -0.0f, 0, 0, 0, 0};
	static const float two[] = {0.5f, -0.25f, 0.125f, 1, 0, 0, 0, 0};
	float		pair[2] = {0, 0};
	float		tiny[4];
	uint8_t		codes[4];
	LwBuffer	payload;

	lw_buffer_init(&payload, 0);
	lw_put_int8_rows(&payload, rows, 2, 6);
	CHECK(holds_hex(&payload, "01000000 00000000 0402013c 0000803f 7f 81 40 c0 00 20 00*6"), "int8");
	payload.size = 0;
	lw_put_int8_rows(&payload, two, 2, 4);
	CHECK(holds_hex(&payload, "01000000 00000000 0402013c 0000803f 40e0107f 00000000"), "int8 of a file");
	pair[0] = float_of(0x3f2ffd6c);
	pair[1] = float_of(0x3f071c41);
	lw_quantize_int8(pair, 2, codes);
	CHECK(codes[0] == 127 && codes[1] == 98, "by the reciprocal: %d", codes[1]);
	/* The reciprocal of a subnormal scale is infinite, and 0 times it is NaN. */
	tiny[0] = FLT_TRUE_MIN * 127;
	tiny[1] = 0;
	tiny[2] = -FLT_TRUE_MIN;
	tiny[3] = -0.0f;
	CHECK(lw_quantize_int8(tiny, 4, codes) == FLT_TRUE_MIN, "a subnormal scale");
	CHECK(codes[0] == 127 && codes[1] == 0 && codes[2] == 0x81 && codes[3] == 0, "%02x%02x%02x%02x",
		  codes[0], codes[1], codes[2], codes[3]);
	CHECK(lw_quantize_int8(tiny + 2, 2, codes) == 0, "a scale that is too small");
	CHECK(codes[0] == 0x81 && codes[1] == 0, "%02x%02x", codes[0], codes[1]);
	codes[0] = 0x80;
	lw_dequantize_int8(codes, 0.5f, 2, pair);
	CHECK(pair[0] == -64 && pair[1] == 0, "-128 is read");
	lw_buffer_free(&payload);
}

static void
test_int4(void)
{
	float		rows[128] = {1, -1, 0.5f};
	float		back[64];
	uint8_t		scales[4];
	uint8_t		codes[64];
	LwBuffer	payload;
	int			i;

	lw_buffer_init(&payload, 0);
	lw_put_int4_rows(&payload, rows, 2, 64);
	CHECK(holds_hex(&payload, "01000000 01000000 9230 003c 9704 00*30 00*32"), "int4");
	payload.size = 0;
	lw_put_int4_rows(&payload, rows, 1, 128);
	CHECK(holds_hex(&payload, "01000000 01000000 9230 003c 9704 00*62"), "two blocks");
	lw_buffer_free(&payload);
	lw_quantize_int4(rows, 64, scales, codes);
	lw_dequantize_int4(codes, scales, 64, back);
	CHECK(back[0] == 7 * 0.142822265625f && back[1] == -back[0] && back[2] == 4 * 0.142822265625f && back[3] == 0,
		  "read again");
	codes[0] = 0x8f;
	lw_dequantize_int4(codes, scales, 64, back);
	CHECK(back[0] == -0.142822265625f && back[1] == -8 * 0.142822265625f, "-8 is read");
	/* The scale that is too small or too large for a half leaves nothing. */
	for (i = 0; i < 64; i++)
		rows[i] = 1e-8f;
	lw_quantize_int4(rows, 64, scales, codes);
	CHECK(scales[0] == 0 && scales[1] == 0 && codes[0] == 0 && codes[31] == 0, "a scale of 0");
	rows[5] = 1e6f;
	lw_quantize_int4(rows, 64, scales, codes);
	CHECK(scales[0] == 0 && scales[1] == 0x7c && codes[2] == 0, "an infinite scale");
	/* Codes are clamped where the rounded scale is less than the exact one. */
	for (i = 0; i < 64; i++)
		rows[i] = i == 7 ? -3e-7f : 0;
	lw_quantize_int4(rows, 64, scales, codes);
	CHECK(scales[0] == 1 && codes[3] == 0xb0, "%02x %02x", scales[0], codes[3]);
}

/* Against the plain definition, with the C library's rounding, and within half a step. */
static void
test_random(void)
{
	float		row[64];
	float		back[64];
	uint8_t		codes[64];
	uint8_t		scales[2];
	int			wrong = 0;
	int			round;
	int			i;

	for (round = 0; round < 20000; round++)
	{
		float		size = ldexpf(1, (int) random_below(40) - 30);
		float		most = 0;
		float		scale;

		for (i = 0; i < 64; i++)
		{
			row[i] = gaussian() * size;
			if (round % 4 == 0)
				row[i] = roundf(gaussian() * 20) / 8;
			most = fmaxf(most, fabsf(row[i]));
		}
		scale = lw_quantize_int8(row, 64, codes);
		wrong += scale != (most == 0 ? 1 : most / 127);
		for (i = 0; i < 64; i++)
			wrong += (int8_t) codes[i] != (int) fmaxf(-127, fminf(127, roundf(row[i] * (1 / scale))));
		lw_dequantize_int8(codes, scale, 64, back);
		for (i = 0; i < 64; i++)
			wrong += !(fabsf(back[i] - row[i]) <= scale * 0.501f);
		lw_quantize_int4(row, 64, scales, codes);
		scale = lw_half_to_float((uint16_t) (scales[0] | scales[1] << 8));
		wrong += scales[0] != (lw_half_from_float(most == 0 ? 1 : most / 7) & 255);
		lw_dequantize_int4(codes, scales, 64, back);
		for (i = 0; i < 64; i++)
			wrong += back[i] != scale * fmaxf(-7, fminf(7, scale > 0 && !isinf(scale) ? roundf(row[i] * (1 / scale)) : 0));
	}
	CHECK(wrong == 0, "%d codes or scales", wrong);
	CHECK(lw_all_finite(row, 64), "finite");
	row[63] = NAN;
	CHECK(!lw_all_finite(row, 64) && lw_all_finite(row, 63), "NaN");
	row[0] = -INFINITY;
	CHECK(!lw_all_finite(row, 1), "infinity");
}

int
main(void)
{
	test_halves();
	test_float16();
	test_int8();
	test_int4();
	test_random();
	return unit_done("test_quant");
}
