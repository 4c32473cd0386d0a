/*-------------------------------------------------------------------------
 *
 * test_utf8.c
 *	  Strict UTF-8, by counting.
 *
 * cc -Isrc -Itest/unit -o test_utf8 test/unit/test_utf8.c src/format/utf8.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "format/utf8.h"
#include "unit.h"

/* Code points by the length of their UTF-8; surrogates are none. */
#define ONE 128
#define TWO (0x800 - 0x80)
#define THREE (0x10000 - 0x800 - 0x800)
#define FOUR 0x100000

/* Whether all of a text is valid, which must not depend on what stands before it. */
static bool
valid(const char *text, size_t size)
{
	static char after[64] = "abcdefgh";
	size_t		prefix = lw_utf8_valid(text, size);

	memcpy(after + 8, text, size);
	if (lw_utf8_valid(after, 8 + size) != 8 + prefix)
		unit_failed++;
	return prefix == size;
}

static void
test_counts(void)
{
	int			count[4] = {0};
	uint32_t	bits;
	char		text[4];

	for (bits = 0; bits < 0x1000000; bits++)
	{
		text[0] = (char) (bits >> 16);
		text[1] = (char) (bits >> 8);
		text[2] = (char) bits;
		if (bits < 0x100)
			count[0] += valid(text + 2, 1);
		if (bits < 0x10000)
			count[1] += valid(text + 1, 2);
		count[2] += valid(text, 3);
	}
	/* four bytes that begin like a character of four; the last two only at the edges */
	for (bits = 0; bits < 0x1000 * 64; bits++)
	{
		static const unsigned char edges[8] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0xbf, 0xc0, 0xff};

		text[0] = (char) (0xf0 | bits >> 14);
		text[1] = (char) (bits >> 6);
		text[2] = (char) edges[bits >> 3 & 7];
		text[3] = (char) edges[bits & 7];
		count[3] += valid(text, 4);
	}

	CHECK(count[0] == ONE, "%d of one byte", count[0]);
	CHECK(count[1] == ONE * ONE + TWO, "%d of two bytes", count[1]);
	CHECK(count[2] == ONE * ONE * ONE + 2 * ONE * TWO + THREE, "%d of three bytes", count[2]);
	CHECK(count[3] == FOUR / 64 / 64 * 16, "%d of four bytes", count[3]);
}

static void
test_prefixes(void)
{
	static const struct
	{
		const char *text;
		size_t		valid;
	}			cases[] = {
		{"", 0},
		{"abcdefghijklmnop", 16},
		{"abcdefg\xc3\xa9jklmnopq", 17},
		{"abcdefghijklmno\xff", 15},
		{"abcdefghijk\xe2\x82\xacmnopqrstuvw\xf0\x9f\x98\x80", 29},
		{"ab\xe2\x82", 2},
		{"\xf0\x9f\x98", 0},
		{"\x80", 0},
		{"a\xc0\x80", 1},
		{"a\xed\xa0\x80", 1},
		{"a\xf4\x90\x80\x80", 1},
		{"a\xf8\x88\x80\x80\x80", 1},
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK(lw_utf8_valid(cases[i].text, strlen(cases[i].text)) == cases[i].valid, "case %zu", i);
	CHECK(lw_utf8_valid("a\0b", 3) == 3, "NUL");

	for (i = 0; i < 24; i++)
	{
		char		text[24];

		memset(text, 'a', sizeof(text));
		text[i] = '\xff';
		CHECK(lw_utf8_valid(text, sizeof(text)) == i, "a wrong byte at %zu", i);
	}
}

int
main(void)
{
	test_counts();
	test_prefixes();
	return unit_done("utf8");
}
