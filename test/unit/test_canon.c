/*-------------------------------------------------------------------------
 *
 * test_canon.c
 *	  JSON as the format writes it.
 *
 *-------------------------------------------------------------------------
 */
#include <float.h>
#include <math.h>

#include "codec.h"
#include "random.h"
#include "section/canon.h"

static bool
holds(const LwBuffer *buffer, const char *text)
{
	if (!buffer->failed && same_bytes(lw_buffer_bytes(buffer), bytes_of(text)))
		return true;
	fprintf(stderr, "%.*s\n", (int) buffer->size, (const char *) buffer->data);
	return false;
}

static void
check_double(double value, const char *text)
{
	LwBuffer	json;

	lw_buffer_init(&json, 0);
	lw_put_json_double(&json, value);
	CHECK(holds(&json, text), "%a", value);
	lw_buffer_free(&json);
}

static void
test_doubles(void)
{
	check_double(0, "0.0");
	check_double(-0.0, "-0.0");
	check_double(1, "1.0");
	check_double(100, "100.0");
	check_double(-1.5, "-1.5");
	check_double(0.1, "0.1");
	check_double(0.3, "0.3");
	check_double(0.1 + 0.2, "0.30000000000000004");
	check_double(123.456, "123.456");
	check_double(1e-5, "0.00001");
	check_double(1.5e-5, "0.000015");
	check_double(9.9e-6, "9.9e-6");
	check_double(1.5e-7, "1.5e-7");
	check_double(1e15, "1000000000000000.0");
	check_double(9999999999999998.0, "9999999999999998.0");
	check_double(1e16, "1e+16");
	check_double(12345678901234567000.0, "1.2345678901234567e+19");
	check_double(1e22, "1e+22");
	check_double(1e23, "1e+23");
	check_double(-1e100, "-1e+100");
	check_double(DBL_MAX, "1.7976931348623157e+308");
	check_double(DBL_MIN, "2.2250738585072014e-308");
	check_double(DBL_TRUE_MIN, "5e-324");
	check_double(9007199254740993.0, "9007199254740992.0");
	/* Powers of two, whose nearest 16 digits belong to the double below. */
	check_double(0x1p-44, "5.684341886080802e-14");
	check_double(0x1p-1022, "2.2250738585072014e-308");
	check_double(0x1p122, "5.316911983139664e+36");
}

/* What is written reads back, and nothing shorter does. */
static void
test_random_doubles(void)
{
	int			wrong = 0;
	int			round;

	for (round = 0; round < 30000; round++)
	{
		uint64_t	bits = (uint64_t) random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
		double		value;
		char		text[64];
		char		shorter[64];
		LwBuffer	json;
		int			digits = 0;
		size_t		i;
		bool		leading = true;

		memcpy(&value, &bits, sizeof(value));
		if (round % 3 == 0)
			value = ldexp(1, (int) random_below(2098) - 1074);
		if (round % 3 == 1)
			value = (double) random_below(1000000) / 1000;
		if (!isfinite(value) || value == 0)
			continue;
		lw_buffer_init(&json, 0);
		lw_put_json_double(&json, value);
		memcpy(text, json.data, json.size);
		text[json.size] = '\0';
		lw_buffer_free(&json);
		wrong += strtod(text, NULL) != value;
		for (i = 0; text[i] != '\0' && text[i] != 'e'; i++)
			if (text[i] >= '0' && text[i] <= '9' && (text[i] != '0' || !leading))
			{
				leading = false;
				digits++;
			}
		/* Zeros at the end are no digits, unless there is an exponent. */
		for (i = strcspn(text, "e"); i > 0 && (text[i - 1] == '0' || text[i - 1] == '.'); i--)
			digits -= text[i - 1] == '0';
		if (digits > 1)
		{
			snprintf(shorter, sizeof(shorter), "%.*e", digits - 2, value);
			wrong += strtod(shorter, NULL) == value;
		}
	}
	CHECK(wrong == 0, "%d doubles", wrong);
}

static void
check_quirk(const char *text, double expected)
{
	double		value = NAN;

	CHECK(lw_json_quirk_double(text, strlen(text), &value) && value == expected && !signbit(value) == !signbit(expected),
		  "%s: %a, not %a", text, value, expected);
}

static void
test_reading(void)
{
	double		value;

	check_quirk("1.5", 1.5);
	check_quirk("-0", -0.0);
	check_quirk("0.1", 0.1);
	check_quirk("-0.0e5", -0.0);
	check_quirk("0e999999999999", 0);
	check_quirk("1e-999999999999", 0);
	check_quirk("-1E-400", -0.0);
	check_quirk("1e308", 1e308);
	check_quirk("0.00001e313", 1e308);
	check_quirk("5e-324", 5e-324);
	/* One division, so not the nearest double. */
	check_quirk("0.12345678901234568", 12345678901234568.0 / 1e17);
	check_quirk("1.2345678901234567e-10", 12345678901234567.0 / 1e26);
	check_quirk("123456789.123e-320", 123456789123.0 / 1e308 / 1e15);
	check_quirk("1.7976931348623157e308", 17976931348623157.0 * 1e292);
	/* Digits without room: before the point they are zeros, behind it they are not there. */
	check_quirk("18446744073709551616", 1844674407370955161.0 * 10);
	check_quirk("184467440737095516159", 18446744073709551615.0 * 10);
	check_quirk("0.184467440737095516159", 18446744073709551615.0 / 1e20);
	check_quirk("18446744073709551619.2", 18446744073709551612.0);
	CHECK(!lw_json_quirk_double("1e309", 5, &value), "1e309");
	CHECK(!lw_json_quirk_double("1e400", 5, &value), "1e400");
	CHECK(!lw_json_quirk_double("1e99999999999999999999", 22, &value), "1e99999999999999999999");
	CHECK(!lw_json_quirk_double("10.0e308", 8, &value), "10.0e308");
}

static void
check_json(const char *text, const char *expected)
{
	LwBuffer	json;
	LwError		error;
	LwBytes		copy = {(const uint8_t *) exact_copy(text, strlen(text)), strlen(text)};
	LwStatus	status;

	lw_buffer_init(&json, 0);
	status = lw_put_json(&json, copy, LW_CANON_DEPTH, &error);
	if (expected != NULL)
		CHECK(status == LW_OK && holds(&json, expected), "%s", text);
	else
		CHECK(is_error(status, &error, "Json"), "%s", text);
	lw_buffer_free(&json);
	free((void *) copy.data);
}

static void
test_json(void)
{
	char		deep[300];
	LwBuffer	json;
	LwError		error;

	check_json(" { } ", "{}");
	check_json("[ ]", "[]");
	check_json("null", "null");
	check_json("\t\"a\"\n", "\"a\"");
	check_json("{\"b\" : 1 , \"a\" : [ true , false , null , { \"x\" : [ ] , \"y\" : { } } , [ 1 , 2 ] ] , \"c\" : \"\" }",
			   "{\"b\":1,\"a\":[true,false,null,{\"x\":[],\"y\":{}},[1,2]],\"c\":\"\"}");
	check_json("\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\\\/\\u007f\\u00e9\\ud83d\\ude00\"",
			   "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\x7f\xc3\xa9\xf0\x9f\x98\x80\"");
	check_json("{\"\\u0061\\n\":0}", "{\"a\\n\":0}");
	check_json("[0,-0,7,-7,18446744073709551615,18446744073709551616,-9223372036854775808,-9223372036854775809]",
			   "[0,-0.0,7,-7,18446744073709551615,1.8446744073709552e+19,-9223372036854775808,-9.223372036854776e+18]");
	check_json("[1.0,1e2,-1E-7,0.30,100.000]", "[1.0,100.0,-1e-7,0.3,100.0]");
	check_json("", NULL);
	check_json("{", NULL);
	check_json("[1,]", NULL);
	check_json("[1] x", NULL);
	check_json("01", NULL);
	check_json("1e400", NULL);
	check_json("[-1e400]", NULL);
	check_json("\"\\ud83d\"", NULL);
	check_json("\"\xff\"", NULL);
	check_json("{\"\xff\":1}", NULL);
	check_json("\"\n\"", NULL);
	check_json("nul", NULL);
	memset(deep, '[', 127);
	memset(deep + 127, ']', 127);
	deep[254] = '\0';
	check_json(deep, deep);
	memset(deep, '[', 128);
	memset(deep + 128, ']', 128);
	deep[256] = '\0';
	check_json(deep, NULL);
	check_json("[[],[],[{}],{\"a\":[]}]", "[[],[],[{}],{\"a\":[]}]");
	lw_buffer_init(&json, 0);
	CHECK(lw_put_json(&json, bytes_of("[[[1]]]"), 3, &error) == LW_OK, "%s", error.found);
	CHECK(is_error(lw_put_json(&json, bytes_of("[[[1]]]"), 2, &error), &error, "Json"), "two levels");
	lw_buffer_free(&json);
	lw_buffer_init(&json, 4);
	CHECK(lw_put_json(&json, bytes_of("[1,2,3]"), 3, &error) == LW_LIMIT, "a limit");
	lw_buffer_free(&json);
}

static void
test_integers(void)
{
	LwBuffer	json;

	lw_buffer_init(&json, 0);
	lw_put_json_uint64(&json, UINT64_MAX);
	lw_put_json_int64(&json, INT64_MIN);
	lw_put_json_uint64(&json, 0);
	CHECK(holds(&json, "18446744073709551615-92233720368547758080"), "integers");
	lw_buffer_free(&json);
}

int
main(void)
{
	test_doubles();
	test_random_doubles();
	test_reading();
	test_json();
	test_integers();
	return unit_done("test_canon");
}
