/*-------------------------------------------------------------------------
 *
 * test_json_number.c
 *	  The pull reader's numbers: 64-bit integers and nearest doubles.
 *
 * cc -Isrc -Itest/unit -o test_json_number test/unit/test_json_number.c src/format/(any).c
 *
 *-------------------------------------------------------------------------
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "format/json.h"
#include "unit.h"

/* A reader that has read the first token of a text. */
static LwJsonToken
first_token(LwJson *reader, const char *text, size_t size)
{
	lw_json_init(reader, text, size);
	return lw_json_next(reader);
}

static void
test_uint64(void)
{
	static const struct
	{
		const char *text;
		bool		good;
		uint64_t	value;
	}			cases[] = {
		{"0", true, 0},
		{"1", true, 1},
		{"9223372036854775808", true, UINT64_C(9223372036854775808)},
		{"18446744073709551609", true, UINT64_C(18446744073709551609)},
		{"18446744073709551610", true, UINT64_C(18446744073709551610)},
		{"18446744073709551615", true, UINT64_MAX},
		{"18446744073709551616", false, 0},
		{"18446744073709551620", false, 0},
		{"27670116110564327424", false, 0},
		{"100000000000000000000", false, 0},
		{"-0", false, 0},
		{"-1", false, 0},
		{"1.0", false, 0},
		{"1e0", false, 0},
		{"1E2", false, 0},
		{"0.0", false, 0},
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		LwJson		reader;
		uint64_t	value = 7;
		bool		good;

		first_token(&reader, cases[i].text, strlen(cases[i].text));
		good = lw_json_uint64(&reader, &value);
		CHECK(good == cases[i].good && (!good || value == cases[i].value), "%s", cases[i].text);
	}
}

/* Reads a number, and checks that exactly the finite ones are accepted. */
static double
read_double(const char *text)
{
	LwJson		reader;
	double		value = 0;
	bool		good;

	CHECK(first_token(&reader, text, strlen(text)) == LW_JSON_NUMBER &&
		  reader.raw_size == strlen(text), "%.40s", text);
	good = lw_json_double(&reader, &value);
	CHECK(good == (isfinite(value) != 0), "%.40s", text);
	return value;
}

static void
test_double(void)
{
	static const struct
	{
		const char *text;
		double		value;
	}			cases[] = {
		{"0", 0.0},
		{"1", 1.0},
		{"1790000000.25", 1790000000.25},
		{"1.79e9", 1.79e9},
		{"1.79E+9", 1.79e9},
		{"0.1", 0.1},
		{"0.001e2", 0.1},
		{"100e-3", 0.1},
		{"123456789012345678901234567890", 123456789012345678901234567890.0},
		{"9007199254740993", 9007199254740992.0},	/* halfway: to even */
		{"9007199254740993.0000000000000000000000000000001", 9007199254740994.0},
		{"9223372036854775807", 9223372036854775808.0},
		{"1.7976931348623157e308", DBL_MAX},
		{"1.7976931348623158e308", DBL_MAX},
		{"4.9e-324", 4.9e-324},
		{"2.4703282292062327e-324", 0.0},
		{"2.4703282292062328e-324", 4.9e-324},
		{"2.2250738585072011e-308", 2.2250738585072011e-308},
		{"1e-999999999999999999999999999999", 0.0},
		{"0e999999999999999999999999999999", 0.0},
		{"1e400", INFINITY},
		{"-1e400", -INFINITY},
		{"1.7976931348623159e308", INFINITY},
		{"1e999999999999999999999999999999", INFINITY},
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		double		value = read_double(cases[i].text);

		CHECK(value == cases[i].value, "%s: %.17g", cases[i].text, value);
	}
	CHECK(signbit(read_double("-0.0")) && signbit(read_double("-0")), "-0.0");
	CHECK(!signbit(read_double("0")), "0");
}

/* Writes 2^-1075 with all its places, by halving 1 in decimal. */
static void
write_halfway(char *text)
{
	int			digit[1076] = {1};
	int			i;
	int			j;

	for (i = 0; i < 1075; i++)
	{
		int			carry = 0;

		for (j = 0; j < 1076; j++)
		{
			int			value = carry * 10 + digit[j];

			digit[j] = value / 2;
			carry = value % 2;
		}
	}
	for (j = 0; j < 1076; j++)
		text[j == 0 ? 0 : j + 1] = (char) ('0' + digit[j]);
	text[1] = '.';
	text[1077] = '\0';
}

/* Numbers of many digits: exact, though only some of the digits are kept. */
static void
test_long_double(void)
{
	const size_t zeros = 1000000;
	char	   *text = malloc(2 * zeros + 64);
	char		halfway[1078];
	size_t		n;

	/* 2^53 + 1 followed by a million zeros and then a digit, or nothing */
	n = (size_t) sprintf(text, "9007199254740993.");
	memset(text + n, '0', zeros);
	strcpy(text + n + zeros, "1");
	CHECK(read_double(text) == 9007199254740994.0, "just above halfway");
	text[n + zeros] = '0';
	CHECK(read_double(text) == 9007199254740992.0, "halfway");

	/* the same as an integer with a million zeros and an exponent */
	n = (size_t) sprintf(text, "9007199254740993");
	memset(text + n, '0', zeros);
	sprintf(text + n + zeros, "e-%zu", zeros);
	CHECK(read_double(text) == 9007199254740992.0, "halfway, scaled");
	text[n + zeros - 1] = '1';
	CHECK(read_double(text) == 9007199254740994.0, "just above halfway, scaled");

	/* a fraction that begins late */
	n = (size_t) sprintf(text, "0.");
	memset(text + n, '0', zeros);
	sprintf(text + n + zeros, "15e%zu", zeros + 1);
	CHECK(read_double(text) == 1.5, "1.5");
	sprintf(text + n + zeros, "15");
	CHECK(read_double(text) == 0.0, "0");

	/* the number halfway between 0 and the least double: its 752nd digit decides */
	write_halfway(halfway);
	CHECK(halfway[1076] == '5' && halfway[1077] == '\0', "%s", halfway);
	CHECK(read_double(halfway) == 0.0, "2^-1075 rounds to even");
	halfway[1076] = '6';
	CHECK(read_double(halfway) == 4.9e-324, "above 2^-1075");
	halfway[1076] = '4';
	CHECK(read_double(halfway) == 0.0, "below 2^-1075");
	free(text);
}

int
main(void)
{
	test_uint64();
	test_double();
	test_long_double();
	return unit_done("json_number");
}
