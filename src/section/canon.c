/*-------------------------------------------------------------------------
 *
 * canon.c
 *	  Writing JSON the format's way.
 *
 * Numbers go through the C library's decimal conversions, so the locale's
 * decimal point must be '.', as it is in a server.
 *
 *-------------------------------------------------------------------------
 */
#include "section/canon.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"

/* Digits of which any double can be made. */
#define MAX_DIGITS 17

/* Exponents of the numbers that are written without one. */
#define MIN_PLAIN (-5)
#define MAX_PLAIN 15

/* Greatest power of ten that is a double. */
#define MAX_POWER 308

static void
put_text(LwBuffer *json, const char *text)
{
	lw_put_bytes(json, text, strlen(text));
}

/* Writes a byte of a string that does not stand for itself. */
static void
put_escape(LwBuffer *json, uint8_t byte)
{
	static const char escaped[] = "\b\t\n\f\r\"\\";
	static const char letters[] = "btnfr\"\\";
	const char *at = memchr(escaped, byte, sizeof(escaped) - 1);
	char		text[8];

	if (at != NULL)
		snprintf(text, sizeof(text), "\\%c", letters[at - escaped]);
	else
		snprintf(text, sizeof(text), "\\u%04x", byte);
	put_text(json, text);
}

void
lw_put_json_string(LwBuffer *json, LwBytes string)
{
	size_t		from = 0;
	size_t		i;

	lw_put_u8(json, '"');
	for (i = 0; i < string.size; i++)
	{
		uint8_t		byte = string.data[i];

		if (byte >= 0x20 && byte != '"' && byte != '\\')
			continue;
		lw_put_bytes(json, string.data + from, i - from);
		put_escape(json, byte);
		from = i + 1;
	}
	if (from < string.size)
		lw_put_bytes(json, string.data + from, string.size - from);
	lw_put_u8(json, '"');
}

void
lw_put_json_uint64(LwBuffer *json, uint64_t value)
{
	char		text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	put_text(json, text);
}

void
lw_put_json_int64(LwBuffer *json, int64_t value)
{
	char		text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	put_text(json, text);
}

/* The double that d.ddd x 10^exponent reads as. */
static double
read_digits(const char *digits, int count, int exponent)
{
	char		text[MAX_DIGITS + 16];

	snprintf(text, sizeof(text), "%.*se%d", count, digits, exponent - (count - 1));
	return strtod(text, NULL);
}

/* Adds one to the last digit. */
static void
increment(char *digits, int count, int *exponent)
{
	int			i = count - 1;

	while (i >= 0 && digits[i] == '9')
		digits[i--] = '0';
	if (i >= 0)
		digits[i]++;
	else
	{
		digits[0] = '1';
		++*exponent;
	}
}

/*
 * The fewest digits that read back as a positive double, of those the nearest;
 * returns how many.  Rounding to so many digits finds them, except next to a
 * power of two: numbers above it read as it from farther away than those
 * below, so the next one up may do where the nearest does not.
 */
static int
shortest_digits(double value, char *digits, int *exponent)
{
	int			binary;
	bool		uneven = frexp(value, &binary) == 0.5;
	int			count;

	for (count = 1;; count++)
	{
		char		text[MAX_DIGITS + 16];

		snprintf(text, sizeof(text), "%.*e", count - 1, value);
		digits[0] = text[0];
		memcpy(digits + 1, text + 2, count - 1);
		*exponent = atoi(strchr(text, 'e') + 1);
		if (count == MAX_DIGITS || read_digits(digits, count, *exponent) == value)
			return count;
		if (!uneven)
			continue;
		increment(digits, count, exponent);
		if (read_digits(digits, count, *exponent) == value)
			return count;
	}
}

static void
put_zeros(LwBuffer *json, int count)
{
	while (count-- > 0)
		lw_put_u8(json, '0');
}

void
lw_put_json_double(LwBuffer *json, double value)
{
	char		digits[MAX_DIGITS];
	char		text[16];
	int			exponent;
	int			count;
	int			whole;			/* digits before the point */

	if (signbit(value))
		lw_put_u8(json, '-');
	if (value == 0)
	{
		put_text(json, "0.0");
		return;
	}
	count = shortest_digits(fabs(value), digits, &exponent);
	if (exponent >= MIN_PLAIN && exponent <= MAX_PLAIN)
	{
		whole = exponent < 0 ? 0 : exponent + 1 < count ? exponent + 1 : count;
		lw_put_bytes(json, digits, whole);
		put_zeros(json, exponent < 0 ? 1 : exponent + 1 - whole);
		lw_put_u8(json, '.');
		put_zeros(json, -exponent - 1);
		lw_put_bytes(json, digits + whole, count - whole);
		put_zeros(json, whole == count);
		return;
	}
	lw_put_u8(json, (uint8_t) digits[0]);
	if (count > 1)
		lw_put_u8(json, '.');
	lw_put_bytes(json, digits + 1, count - 1);
	snprintf(text, sizeof(text), "e%+d", exponent);
	put_text(json, text);
}

/* A number's digits as an integer, and the power of ten to multiply it by. */
typedef struct Decimal
{
	uint64_t	digits;
	int64_t		exponent;
} Decimal;

/* Appends a digit; false when that is too much for 64 bits. */
static bool
add_digit(Decimal *decimal, char digit)
{
	unsigned	value = (unsigned) (digit - '0');

	if (decimal->digits > (UINT64_MAX - value) / 10)
		return false;
	decimal->digits = decimal->digits * 10 + value;
	return true;
}

/*
 * Splits a JSON number without its sign.  Digits before the point that have no
 * room count as zeros.  Behind the point they are left out, all from the first
 * that has no room; but the first digit behind the point gets its chance even
 * when one before it was left out.
 */
static Decimal
split_number(const char *text, const char *end)
{
	Decimal		decimal = {0, 0};
	bool		fits = true;
	int64_t		written = 0;
	bool		negative = false;

	for (; text < end && *text >= '0' && *text <= '9'; text++)
	{
		fits = fits && add_digit(&decimal, *text);
		if (!fits)
			decimal.exponent++;
	}
	if (text < end && *text == '.')
	{
		fits = true;
		for (text++; text < end && *text >= '0' && *text <= '9'; text++)
		{
			fits = fits && add_digit(&decimal, *text);
			if (fits)
				decimal.exponent--;
		}
	}
	if (text == end)
		return decimal;
	text++;
	if (text < end && (*text == '+' || *text == '-'))
		negative = *text++ == '-';
	for (; text < end; text++)
		if (written <= INT32_MAX)
			written = written * 10 + (*text - '0');
	decimal.exponent += negative ? -written : written;
	return decimal;
}

/* A power of ten as a double. */
static double
power_of_ten(int exponent)
{
	char		text[8];

	snprintf(text, sizeof(text), "1e%d", exponent);
	return strtod(text, NULL);
}

bool
lw_json_quirk_double(const char *digits, size_t size, double *value)
{
	bool		negative = size > 0 && digits[0] == '-';
	Decimal		decimal = split_number(digits + negative, digits + size);
	double		result = (double) decimal.digits;

	for (; decimal.exponent < -MAX_POWER && result != 0; decimal.exponent += MAX_POWER)
		result /= power_of_ten(MAX_POWER);
	if (result != 0)
	{
		if (decimal.exponent > MAX_POWER)
			return false;
		if (decimal.exponent < 0)
			result /= power_of_ten((int) -decimal.exponent);
		else
			result *= power_of_ten((int) decimal.exponent);
	}
	if (isinf(result))
		return false;
	*value = negative ? -result : result;
	return true;
}

/* Writes the reader's last number. */
static bool
put_number(LwBuffer *json, const LwJson *reader)
{
	const char *text = reader->raw;
	bool		negative = text[0] == '-';
	size_t		size = reader->raw_size - negative;
	uint64_t	limit = negative ? (uint64_t) 1 << 63 : UINT64_MAX;
	Decimal		integer = {0, 0};
	double		value;
	size_t		i;

	for (i = 0; i < size; i++)
	{
		char		c = text[negative + i];

		if (c < '0' || c > '9' || !add_digit(&integer, c))
			break;
	}
	if (i == size && integer.digits <= limit && !(negative && integer.digits == 0))
	{
		if (negative)
			lw_put_u8(json, '-');
		lw_put_json_uint64(json, integer.digits);
		return true;
	}
	if (!lw_json_quirk_double(text, reader->raw_size, &value))
		return false;
	lw_put_json_double(json, value);
	return true;
}

static LwStatus
json_error(LwError *error, size_t at, const char *found)
{
	return lw_fail(error, LW_MALFORMED, "Json", -1, "JSON", "%s at byte %zu", found, at);
}

/* Writes the reader's last name or string. */
static LwStatus
put_string(LwBuffer *json, LwJson *reader, LwBuffer *scratch, LwError *error)
{
	LwBytes		string;
	char	   *out = (char *) lw_buffer_reserve(scratch, reader->raw_size);

	if (out == NULL)
		return lw_no_memory(error);
	if (!lw_json_decode(reader, out, &string.size))
		return json_error(error, reader->at, reader->problem);
	string.data = (const uint8_t *) out;
	lw_put_json_string(json, string);
	return LW_OK;
}

/* Writes one token other than the end. */
static LwStatus
put_token(LwBuffer *json, LwJson *reader, LwJsonToken token, LwBuffer *scratch, LwError *error)
{
	switch (token)
	{
		case LW_JSON_OBJECT:
			lw_put_u8(json, '{');
			break;
		case LW_JSON_OBJECT_END:
			lw_put_u8(json, '}');
			break;
		case LW_JSON_ARRAY:
			lw_put_u8(json, '[');
			break;
		case LW_JSON_ARRAY_END:
			lw_put_u8(json, ']');
			break;
		case LW_JSON_TRUE:
			put_text(json, "true");
			break;
		case LW_JSON_FALSE:
			put_text(json, "false");
			break;
		case LW_JSON_NULL:
			put_text(json, "null");
			break;
		case LW_JSON_NUMBER:
			if (!put_number(json, reader))
				return json_error(error, reader->at, "a number out of range");
			break;
		case LW_JSON_NAME:
			{
				LwStatus	status = put_string(json, reader, scratch, error);

				lw_put_u8(json, ':');
				return status;
			}
		case LW_JSON_STRING:
			return put_string(json, reader, scratch, error);
		case LW_JSON_ERROR:
		case LW_JSON_END:
			return json_error(error, reader->at, reader->problem);
	}
	return LW_OK;
}

LwStatus
lw_put_json(LwBuffer *json, LwBytes text, int depth, LwError *error)
{
	LwBuffer	scratch;
	LwJson		reader;
	LwJsonToken token;
	int			open = 0;
	bool		follows = false;	/* something stands before what comes next, in the same container */
	LwStatus	status = LW_OK;

	lw_buffer_init(&scratch, 0);
	lw_json_init(&reader, text.data, text.size);
	while (status == LW_OK && (token = lw_json_next(&reader)) != LW_JSON_END)
	{
		bool		opens = token == LW_JSON_OBJECT || token == LW_JSON_ARRAY;
		bool		closes = token == LW_JSON_OBJECT_END || token == LW_JSON_ARRAY_END;

		if (follows && !closes)
			lw_put_u8(json, ',');
		if (opens && ++open > depth)
			status = json_error(error, reader.at, "too many levels");
		else
			status = put_token(json, &reader, token, &scratch, error);
		open -= closes;
		follows = !opens && token != LW_JSON_NAME;
	}
	lw_buffer_free(&scratch);
	return status == LW_OK ? lw_buffer_status(json, error) : status;
}
