/*-------------------------------------------------------------------------
 *
 * json.c
 *	  The pull reader of JSON text.
 *
 * A state, a depth and a bit for each open container are all there is: text
 * of any size and nesting takes the same memory and no stack.  Bytes are
 * fetched one at a time through byte_at, so that a value that was tested is
 * the value that is used even while another process writes to the map.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "utf8.h"

/* What lw_json_next has before it. */
enum
{
	AT_VALUE,					/* the outermost value */
	AT_FIRST,					/* the first thing in a container, or its end */
	AT_COLON,					/* a name has been read */
	AT_COMMA,					/* a value has been read; at depth 0 the text must end */
	AT_FAULT					/* an error has been reported and stays */
};

/* No byte: the text has ended. */
#define AT_END (-1)

/*
 * More significant digits than any number halfway between two doubles has
 * (767); what follows them can only say on which side of such a number we are.
 */
#define MAX_DIGITS 800

/* The byte at a position, or AT_END; volatile, since the file may change. */
static inline int
byte_at(const LwJson *reader, size_t pos)
{
	if (pos >= reader->size)
		return AT_END;
	return *(const volatile unsigned char *) (reader->data + pos);
}

static inline bool
is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* The value of a hexadecimal digit, or -1. */
static inline int
hex_digit(int c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Reports a fault at a byte; the reader stays there. */
static LwJsonToken
fault(LwJson *reader, size_t at, const char *problem)
{
	reader->at = at;
	reader->problem = problem;
	reader->state = AT_FAULT;
	return LW_JSON_ERROR;
}

/* The next byte that is not whitespace, which becomes the current token's first. */
static int
next_byte(LwJson *reader)
{
	int			c;

	while ((c = byte_at(reader, reader->pos)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		reader->pos++;
	reader->at = reader->pos;
	return c;
}

static inline bool
in_object(const LwJson *reader)
{
	int			container = reader->depth - 1;

	return (reader->is_object[container / 64] >> (container % 64)) & 1;
}

/* Enters a container. */
static LwJsonToken
open_container(LwJson *reader, LwJsonToken token)
{
	uint64_t	bit = UINT64_C(1) << (reader->depth % 64);

	if (reader->depth == LW_JSON_MAX_DEPTH)
		return fault(reader, reader->pos, "nested too deeply");
	if (token == LW_JSON_OBJECT)
		reader->is_object[reader->depth / 64] |= bit;
	else
		reader->is_object[reader->depth / 64] &= ~bit;
	reader->depth++;
	reader->pos++;
	reader->state = AT_FIRST;
	return token;
}

/* Leaves the innermost container. */
static LwJsonToken
close_container(LwJson *reader)
{
	LwJsonToken token = in_object(reader) ? LW_JSON_OBJECT_END : LW_JSON_ARRAY_END;

	reader->depth--;
	reader->pos++;
	reader->state = AT_COMMA;
	return token;
}

/* Reads a string from its opening quote on, checking its syntax only. */
static LwJsonToken
read_string(LwJson *reader, LwJsonToken token)
{
	size_t		pos = reader->pos + 1;
	size_t		start = pos;

	for (;;)
	{
		int			c = byte_at(reader, pos);

		if (c == '"')
			break;
		if (c == AT_END)
			return fault(reader, pos, "unterminated string");
		if (c < 0x20)
			return fault(reader, pos, "control character in a string");
		if (c == '\\')
		{
			int			i;

			c = byte_at(reader, ++pos);
			if (c == AT_END)
				return fault(reader, pos, "unterminated string");
			if (c == 'u')
			{
				for (i = 0; i < 4; i++)
					if (hex_digit(byte_at(reader, ++pos)) < 0)
						return fault(reader, pos, "\\u without four hexadecimal digits");
			}
			else if (c == 0 || strchr("\"\\/bfnrt", c) == NULL)
				return fault(reader, pos, "unknown escape");
		}
		pos++;
	}

	reader->raw = reader->data + start;
	reader->raw_size = pos - start;
	reader->pos = pos + 1;
	reader->state = token == LW_JSON_NAME ? AT_COLON : AT_COMMA;
	return token;
}

/* Passes over digits; false when there is none. */
static bool
skip_digits(const LwJson *reader, size_t *pos)
{
	size_t		start = *pos;

	while (is_digit(byte_at(reader, *pos)))
		(*pos)++;
	return *pos > start;
}

/* Reads a number. */
static LwJsonToken
read_number(LwJson *reader)
{
	size_t		pos = reader->pos;
	int			c;

	if (byte_at(reader, pos) == '-')
		pos++;
	if (byte_at(reader, pos) == '0')
	{
		pos++;
		if (is_digit(byte_at(reader, pos)))
			return fault(reader, pos, "leading zero in a number");
	}
	else if (!skip_digits(reader, &pos))
		return fault(reader, pos, "number without digits");
	if (byte_at(reader, pos) == '.')
	{
		pos++;
		if (!skip_digits(reader, &pos))
			return fault(reader, pos, "no digits after the decimal point");
	}
	c = byte_at(reader, pos);
	if (c == 'e' || c == 'E')
	{
		c = byte_at(reader, ++pos);
		if (c == '+' || c == '-')
			pos++;
		if (!skip_digits(reader, &pos))
			return fault(reader, pos, "no digits in the exponent");
	}

	reader->raw = reader->data + reader->pos;
	reader->raw_size = pos - reader->pos;
	reader->pos = pos;
	reader->state = AT_COMMA;
	return LW_JSON_NUMBER;
}

/* Reads true, false or null. */
static LwJsonToken
read_word(LwJson *reader, const char *word, LwJsonToken token)
{
	size_t		i;

	for (i = 0; word[i] != '\0'; i++)
		if (byte_at(reader, reader->pos + i) != word[i])
			return fault(reader, reader->at, "unknown word");
	reader->pos += i;
	reader->state = AT_COMMA;
	return token;
}

/* Reads the first token of the value that begins with `c`. */
static LwJsonToken
read_value(LwJson *reader, int c)
{
	switch (c)
	{
		case '{':
			return open_container(reader, LW_JSON_OBJECT);
		case '[':
			return open_container(reader, LW_JSON_ARRAY);
		case '"':
			return read_string(reader, LW_JSON_STRING);
		case 't':
			return read_word(reader, "true", LW_JSON_TRUE);
		case 'f':
			return read_word(reader, "false", LW_JSON_FALSE);
		case 'n':
			return read_word(reader, "null", LW_JSON_NULL);
		case AT_END:
			return fault(reader, reader->at, "unexpected end");
		default:
			if (c == '-' || is_digit(c))
				return read_number(reader);
			return fault(reader, reader->at, "no value");
	}
}

/* Reads the member's name that begins with `c`. */
static LwJsonToken
read_name(LwJson *reader, int c)
{
	if (c == AT_END)
		return fault(reader, reader->at, "unexpected end");
	if (c != '"')
		return fault(reader, reader->at, "no member name");
	return read_string(reader, LW_JSON_NAME);
}

/* Starts reading a text. */
void
lw_json_init(LwJson *reader, const void *data, size_t size)
{
	memset(reader, 0, sizeof(*reader));
	reader->data = size == 0 ? "" : data;
	reader->size = size;
	reader->raw = reader->data;
	reader->state = AT_VALUE;
}

/* Reads the next token. */
LwJsonToken
lw_json_next(LwJson *reader)
{
	int			c;

	if (reader->state == AT_FAULT)
		return LW_JSON_ERROR;
	c = next_byte(reader);

	if (reader->state == AT_COMMA && reader->depth == 0)
	{
		if (c == AT_END)
			return LW_JSON_END;
		return fault(reader, reader->at, "text after the value");
	}
	if (reader->state == AT_COLON)
	{
		if (c == AT_END)
			return fault(reader, reader->at, "unexpected end");
		if (c != ':')
			return fault(reader, reader->at, "no colon after a member name");
		reader->pos++;
		c = next_byte(reader);
	}
	else if (reader->state != AT_VALUE)
	{
		if (c == (in_object(reader) ? '}' : ']'))
			return close_container(reader);
		if (reader->state == AT_COMMA)
		{
			if (c == AT_END)
				return fault(reader, reader->at, "unexpected end");
			if (c != ',')
				return fault(reader, reader->at, "no comma after a value");
			reader->pos++;
			c = next_byte(reader);
		}
		if (in_object(reader))
			return read_name(reader, c);
	}
	return read_value(reader, c);
}

/* Skips the rest of a value. */
bool
lw_json_skip(LwJson *reader, LwJsonToken first)
{
	int			outside;

	if (first == LW_JSON_OBJECT || first == LW_JSON_ARRAY)
	{
		outside = reader->depth - 1;
		while (first != LW_JSON_ERROR && reader->depth > outside)
			first = lw_json_next(reader);
	}
	return first != LW_JSON_ERROR;
}

/* The four hexadecimal digits at a position before `end`, or -1. */
static int32_t
hex_quad(const LwJson *reader, size_t pos, size_t end)
{
	int32_t		value = 0;
	int			i;

	if (end - pos < 4)
		return -1;
	for (i = 0; i < 4; i++)
	{
		int			digit = hex_digit(byte_at(reader, pos + i));

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Writes a code point as UTF-8; returns the number of bytes. */
static size_t
put_utf8(char *out, uint32_t code)
{
	if (code < 0x80)
	{
		out[0] = (char) code;
		return 1;
	}
	if (code < 0x800)
	{
		out[0] = (char) (0xc0 | code >> 6);
		out[1] = (char) (0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000)
	{
		out[0] = (char) (0xe0 | code >> 12);
		out[1] = (char) (0x80 | (code >> 6 & 0x3f));
		out[2] = (char) (0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char) (0xf0 | code >> 18);
	out[1] = (char) (0x80 | (code >> 12 & 0x3f));
	out[2] = (char) (0x80 | (code >> 6 & 0x3f));
	out[3] = (char) (0x80 | (code & 0x3f));
	return 4;
}

/*
 * Decodes the escape at *pos, moves *pos past it and returns the bytes
 * written, fewer than those read; 0 when there is no proper escape before
 * `end` (any more: it was one when the string was read) or half a pair.
 */
static size_t
decode_escape(const LwJson *reader, size_t *pos, size_t end, char *out)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	const char *letter;
	int32_t		code;
	int32_t		low;
	int			c;

	if (end - *pos < 2)
		return 0;
	c = byte_at(reader, *pos + 1);
	if (c != 'u')
	{
		letter = c == 0 ? NULL : strchr(letters, c);
		if (letter == NULL)
			return 0;
		out[0] = meanings[letter - letters];
		*pos += 2;
		return 1;
	}

	code = hex_quad(reader, *pos + 2, end);
	if (code < 0 || (code >= 0xdc00 && code <= 0xdfff))
		return 0;
	*pos += 6;
	if (code < 0xd800 || code > 0xdbff)
		return put_utf8(out, (uint32_t) code);

	if (end - *pos < 6 || byte_at(reader, *pos) != '\\' || byte_at(reader, *pos + 1) != 'u')
		return 0;
	low = hex_quad(reader, *pos + 2, end);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	*pos += 6;
	return put_utf8(out, 0x10000 + (uint32_t) (code - 0xd800) * 0x400 + (uint32_t) (low - 0xdc00));
}

/*
 * Decodes the last name or string.  The bytes between escapes are checked in
 * `out`, where nobody changes them, and each stretch by itself: an escape
 * never completes a sequence, for what it decodes to begins a character.
 */
bool
lw_json_decode(LwJson *reader, char *out, size_t *size)
{
	size_t		pos = (size_t) (reader->raw - reader->data);
	size_t		end = pos + reader->raw_size;
	size_t		written = 0;

	while (pos < end)
	{
		const char *escape = memchr(reader->data + pos, '\\', end - pos);
		size_t		plain = escape == NULL ? end - pos : (size_t) (escape - (reader->data + pos));
		size_t		valid;
		size_t		decoded;
		size_t		at;

		memcpy(out + written, reader->data + pos, plain);
		valid = lw_utf8_valid(out + written, plain);
		if (valid < plain)
		{
			fault(reader, pos + valid, "invalid UTF-8");
			return false;
		}
		written += plain;
		pos += plain;
		if (escape == NULL)
			break;
		at = pos;
		decoded = decode_escape(reader, &pos, end, out + written);
		if (decoded == 0)
		{
			fault(reader, at, "lone surrogate escape");
			return false;
		}
		written += decoded;
	}
	*size = written;
	return true;
}

/* The last number, when it is an unsigned 64-bit integer in plain digits. */
bool
lw_json_uint64(const LwJson *reader, uint64_t *value)
{
	size_t		pos = (size_t) (reader->raw - reader->data);
	size_t		end = pos + reader->raw_size;
	uint64_t	sum = 0;

	if (pos == end)
		return false;
	for (; pos < end; pos++)
	{
		int			c = byte_at(reader, pos);
		unsigned	digit;

		if (!is_digit(c))
			return false;
		digit = (unsigned) (c - '0');
		if (sum > (UINT64_MAX - digit) / 10)
			return false;
		sum = sum * 10 + digit;
	}
	*value = sum;
	return true;
}

/*
 * The last number as the nearest double.  It is written anew for strtod as
 * an integer with an exponent: bounded, since beyond MAX_DIGITS only whether
 * anything follows that is not zero can decide the rounding, and without a
 * decimal point, whose character is the locale's.
 */
bool
lw_json_double(const LwJson *reader, double *value)
{
	char		text[MAX_DIGITS + 32];
	size_t		length = 0;
	size_t		digits = 0;
	size_t		pos = (size_t) (reader->raw - reader->data);
	size_t		end = pos + reader->raw_size;
	int64_t		exponent = 0;	/* of ten, from the places dropped and passed */
	int64_t		written = 0;	/* the exponent in the text */
	bool		negative_exponent = false;
	bool		fraction = false;
	bool		sticky = false;
	int			c = AT_END;

	if (pos < end && byte_at(reader, pos) == '-')
	{
		text[length++] = '-';
		pos++;
	}
	for (; pos < end; pos++)
	{
		c = byte_at(reader, pos);
		if (c == '.')
		{
			fraction = true;
			continue;
		}
		if (!is_digit(c))
			break;
		if (digits < MAX_DIGITS)
		{
			if (fraction)
				exponent--;
			if (c == '0' && digits == 0)
				continue;
			text[length++] = (char) c;
			digits++;
		}
		else
		{
			if (!fraction)
				exponent++;
			sticky |= c != '0';
		}
	}
	if (digits == 0)
		text[length++] = '0';
	else if (sticky)
	{
		text[length++] = '1';
		exponent--;
	}

	if (pos < end)				/* at the e */
		pos++;
	if (pos < end && ((c = byte_at(reader, pos)) == '-' || c == '+'))
	{
		negative_exponent = c == '-';
		pos++;
	}
	for (; pos < end && is_digit(c = byte_at(reader, pos)); pos++)
		if (written < INT64_MAX / 100)
			written = written * 10 + (c - '0');

	/* this far out everything is zero or infinite, whatever the digits */
	exponent += negative_exponent ? -written : written;
	if (exponent > 100000)
		exponent = 100000;
	if (exponent < -100000)
		exponent = -100000;
	snprintf(text + length, sizeof(text) - length, "e%d", (int) exponent);
	*value = strtod(text, NULL);
	return isfinite(*value);
}
