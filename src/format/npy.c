/*-------------------------------------------------------------------------
 *
 * npy.c
 *	  Reading and writing the header of a NumPy .npy file.
 *
 * The header is a Python literal, but stores are read by looking up the text
 * of three keys in it, as the format's reference does: the first place where
 * the quoted key and a colon stand, whitespace, then the value.  A header
 * is read once, byte by byte, so a map that changes meanwhile can make the
 * answer wrong but not the reading unsafe.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "npy.h"
#include "utf8.h"

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* As much of a value as an error quotes, in bytes. */
#define QUOTED_SIZE 40

/* Room for a type and a shape of up to LW_NPY_MAX_AXES numbers of 20 digits. */
#define DESCRIBED_SIZE (16 + LW_NPY_MAX_AXES * 22)

/* A value of descr. */
typedef struct Descr
{
	const char *text;
	LwNpyType	type;
} Descr;

static const Descr descrs[] = {
	{"'<f4'", LW_NPY_FLOAT32},
	{"'|i1'", LW_NPY_INT8},
	{"'<i1'", LW_NPY_INT8},
	{"'<u8'", LW_NPY_UINT64},
};

/* The header's text, which lies in the file from `pos` to `end`. */
typedef struct Header
{
	const char *data;			/* the file */
	size_t		pos;
	size_t		end;
	LwError    *error;
} Header;

static uint64_t
element_size(LwNpyType type)
{
	switch (type)
	{
		case LW_NPY_FLOAT32:
			return 4;
		case LW_NPY_INT8:
			return 1;
		case LW_NPY_UINT64:
			return 8;
	}
	return 1;
}

/* Fails at the header's position, with the text there. */
static LwStatus
wrong_value(const Header *header, const char *expected)
{
	size_t		size = header->end - header->pos;

	return lw_fail(header->error, LW_MALFORMED, "Npy", (int64_t) header->pos, expected, "%.*s",
				   (int) (size < QUOTED_SIZE ? size : QUOTED_SIZE), header->data + header->pos);
}

/* Whether `text` stands at the header's position. */
static bool
at_text(const Header *header, const char *text)
{
	size_t		size = strlen(text);

	return size <= header->end - header->pos && memcmp(header->data + header->pos, text, size) == 0;
}

/* The byte at the header's position, or -1; volatile, since the file may change. */
static int
at_byte(const Header *header)
{
	if (header->pos >= header->end)
		return -1;
	return *(const volatile unsigned char *) (header->data + header->pos);
}

/* Moves past whitespace, which the reference takes as Unicode has it. */
static void
skip_space(Header *header)
{
	static const char *const spaces[] = {
		" ", "\t", "\n", "\v", "\f", "\r", "\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80",
		"\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84",
		"\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89",
		"\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f",
		"\xe3\x80\x80", NULL
	};
	int			i;

	do
	{
		for (i = 0; spaces[i] != NULL && !at_text(header, spaces[i]); i++)
			;
		if (spaces[i] != NULL)
			header->pos += strlen(spaces[i]);
	} while (spaces[i] != NULL);
}

/* A header that stands at the value of `key`; false when the key is not there. */
static bool
find_value(const Header *header, const char *key, Header *value)
{
	*value = *header;
	while (!at_text(value, key))
	{
		const char *quote;

		if (value->pos == value->end)
			return false;
		quote = memchr(value->data + value->pos + 1, key[0], value->end - value->pos - 1);
		if (quote == NULL)
			return false;
		value->pos = (size_t) (quote - value->data);
	}
	value->pos += strlen(key);
	skip_space(value);
	return true;
}

/* Reads descr. */
static LwStatus
read_descr(const Header *header, LwNpy *npy)
{
	static const char *const expected = "'descr': '<f4', '|i1', '<i1' or '<u8'";
	Header		value;
	size_t		i;

	if (!find_value(header, "'descr':", &value))
		return wrong_value(header, expected);
	for (i = 0; i < sizeof(descrs) / sizeof(descrs[0]); i++)
		if (at_text(&value, descrs[i].text))
		{
			npy->type = descrs[i].type;
			return LW_OK;
		}
	return wrong_value(&value, expected);
}

/* Reads fortran_order, which must be False. */
static LwStatus
read_order(const Header *header)
{
	static const char *const expected = "'fortran_order': False";
	Header		value;

	if (!find_value(header, "'fortran_order':", &value))
		return wrong_value(header, expected);
	return at_text(&value, "False") ? LW_OK : wrong_value(&value, expected);
}

/* Reads one decimal axis and the whitespace behind it; false when it is none below 2^64. */
static bool
read_axis(Header *value, uint64_t *axis)
{
	size_t		start = value->pos;
	int			c;

	*axis = 0;
	while ((c = at_byte(value)) >= '0' && c <= '9')
	{
		unsigned	digit = (unsigned) (c - '0');

		if (*axis > (UINT64_MAX - digit) / 10)
			return false;
		*axis = *axis * 10 + digit;
		value->pos++;
	}
	if (value->pos == start)
		return false;
	skip_space(value);
	c = at_byte(value);
	return c == ',' || c == ')';
}

/*
 * Reads shape and works out the bytes of data, from the element on to the
 * last axis: an overflow on the way is refused even before an axis of 0.
 * Axes beyond the room in *npy are multiplied only, and the count stops at
 * one too many.
 */
static LwStatus
read_shape(const Header *header, LwNpy *npy, uint64_t *bytes)
{
	static const char *const expected = "'shape': decimal axes below 2^64 in round brackets";
	Header		value;
	Header		axis_at;
	int			c;

	*bytes = element_size(npy->type);
	if (!find_value(header, "'shape':", &value))
		return wrong_value(header, expected);
	if (at_byte(&value) != '(')
		return wrong_value(&value, expected);
	value.pos++;

	for (;;)
	{
		uint64_t	axis;

		skip_space(&value);
		c = at_byte(&value);
		if (c == ')')
			return LW_OK;
		if (c == ',')
		{
			value.pos++;
			continue;
		}
		axis_at = value;
		if (!read_axis(&value, &axis))
			return wrong_value(&axis_at, expected);
		if (__builtin_mul_overflow(*bytes, axis, bytes))
			return wrong_value(&axis_at, "fewer than 2^64 bytes of data");
		if (npy->axes < LW_NPY_MAX_AXES)
			npy->shape[npy->axes] = axis;
		if (npy->axes <= LW_NPY_MAX_AXES)
			npy->axes++;
	}
}

/* Finds the header's text behind the magic, version and length. */
static LwStatus
find_header(const void *data, size_t size, Header *header)
{
	const volatile unsigned char *bytes = data;
	size_t		preamble;
	size_t		length;
	size_t		valid;
	int			major;

	if (size < 10)
		return lw_fail(header->error, LW_MALFORMED, "Npy", (int64_t) size,
					   "a .npy file of at least 10 bytes", "%zu bytes", size);
	if (memcmp(data, magic, sizeof(magic)) != 0)
		return lw_fail(header->error, LW_MALFORMED, "Npy", 0,
					   "the magic of a .npy file", "other bytes");
	major = bytes[6];
	switch (major)
	{
		case 1:
			preamble = 10;
			length = bytes[8] | (size_t) bytes[9] << 8;
			break;
		case 2:
		case 3:
			preamble = 12;
			if (size < preamble)
				return lw_fail(header->error, LW_MALFORMED, "Npy", (int64_t) size,
							   "a header length of four bytes", "the end of the file");
			length = bytes[8] | (size_t) bytes[9] << 8 | (size_t) bytes[10] << 16 |
				(size_t) bytes[11] << 24;
			break;
		default:
			return lw_fail(header->error, LW_MALFORMED, "Npy", 6, "a .npy version 1, 2 or 3",
						   "version %d", major);
	}
	if (length > size - preamble)
		return lw_fail(header->error, LW_MALFORMED, "Npy", 8, "a header inside the file",
					   "a header of %zu bytes in a file of %zu", length, size);

	header->data = data;
	header->pos = preamble;
	header->end = preamble + length;
	valid = lw_utf8_valid(header->data + preamble, length);
	if (valid < length)
		return lw_fail(header->error, LW_MALFORMED, "Npy", (int64_t) (preamble + valid),
					   "a header in UTF-8", "another byte");
	return LW_OK;
}

/* Parses a header and checks the file's length. */
LwStatus
lw_npy_parse(const void *data, size_t size, LwNpy *npy, LwError *error)
{
	Header		header;
	uint64_t	bytes;

	memset(npy, 0, sizeof(*npy));
	header.error = error;
	if (find_header(data, size, &header) != LW_OK ||
		read_descr(&header, npy) != LW_OK ||
		read_order(&header) != LW_OK ||
		read_shape(&header, npy, &bytes) != LW_OK)
		return error->status;

	npy->data_offset = header.end;
	if (bytes != size - header.end)
		return lw_fail(error, LW_MALFORMED, "Npy", (int64_t) header.end,
					   "data of exactly the header's shape and type",
					   "%zu bytes instead of %" PRIu64, size - header.end, bytes);
	if (header.end % element_size(npy->type) != 0)
		return lw_fail(error, LW_MALFORMED, "ArrayShape", (int64_t) header.end,
					   "data aligned to its elements", "elements of %" PRIu64 " bytes",
					   element_size(npy->type));
	if (npy->axes > LW_NPY_MAX_AXES)
		return lw_fail(error, LW_MALFORMED, "ArrayShape", -1, "at most 8 axes", "more");
	return LW_OK;
}

/* Writes type and shape as a header has them. */
static void
describe(char *text, size_t size, LwNpyType type, int axes, const uint64_t *shape)
{
	size_t		length;
	int			i;

	for (i = 0; descrs[i].type != type; i++)
		;
	length = (size_t) snprintf(text, size, "%s (", descrs[i].text);
	for (i = 0; i < axes; i++)
		length += (size_t) snprintf(text + length, size - length, "%s%" PRIu64,
									i == 0 ? "" : ", ", shape[i]);
	snprintf(text + length, size - length, axes == 1 ? ",)" : ")");
}

/* Checks type and shape. */
LwStatus
lw_npy_expect(const LwNpy *npy, LwNpyType type, int axes, uint64_t rows, uint64_t columns,
			  LwError *error)
{
	uint64_t	shape[2];
	char		expected[DESCRIBED_SIZE];
	char		found[DESCRIBED_SIZE];

	shape[0] = rows;
	shape[1] = columns;
	if (npy->type == type && npy->axes == axes && npy->shape[0] == rows &&
		(axes == 1 || npy->shape[1] == columns))
		return LW_OK;
	describe(expected, sizeof(expected), type, axes, shape);
	describe(found, sizeof(found), npy->type, npy->axes, npy->shape);
	return lw_fail(error, LW_MALFORMED, "ArrayShape", -1, expected, "%s", found);
}

/* Writes a header of version 1, padded so that the data is aligned. */
void
lw_npy_header(LwNpyType type, int axes, uint64_t rows, uint64_t columns, char header[LW_NPY_HEADER_SIZE])
{
	const size_t preamble = sizeof(magic) + 4;
	const size_t length = LW_NPY_HEADER_SIZE - preamble;
	char		text[LW_NPY_HEADER_SIZE];
	int			i;
	int			size;

	for (i = 0; descrs[i].type != type; i++)
		;
	if (axes == 1)
		size = snprintf(text, sizeof(text), "{'descr': %s, 'fortran_order': False, 'shape': (%" PRIu64 ",), }",
						descrs[i].text, rows);
	else
		size = snprintf(text, sizeof(text), "{'descr': %s, 'fortran_order': False, 'shape': (%" PRIu64 ", %" PRIu64 "), }",
						descrs[i].text, rows, columns);
	memcpy(header, magic, sizeof(magic));
	memcpy(header + sizeof(magic), "\x01\x00", 2);
	header[preamble - 2] = (char) length;
	header[preamble - 1] = (char) (length >> 8);
	memset(header + preamble, ' ', length - 1);
	memcpy(header + preamble, text, (size_t) size);
	header[LW_NPY_HEADER_SIZE - 1] = '\n';
}
