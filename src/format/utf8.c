/*-------------------------------------------------------------------------
 *
 * utf8.c
 *	  Strict UTF-8, as table 3-7 of the Unicode standard has it.
 *
 *-------------------------------------------------------------------------
 */
#include <stdint.h>
#include <string.h>

#include "utf8.h"

/* Length of the one character at `text`, or 0 when there is none. */
static size_t
character_length(const unsigned char *text, size_t size)
{
	unsigned char first = text[0];
	unsigned char low = 0x80;	/* bounds of the second byte */
	unsigned char high = 0xbf;
	size_t		length;
	size_t		i;

	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		length = 2;
	else if (first >= 0xe0 && first <= 0xef)
	{
		length = 3;
		if (first == 0xe0)
			low = 0xa0;			/* below: overlong */
		else if (first == 0xed)
			high = 0x9f;		/* above: surrogates */
	}
	else if (first >= 0xf0 && first <= 0xf4)
	{
		length = 4;
		if (first == 0xf0)
			low = 0x90;			/* below: overlong */
		else if (first == 0xf4)
			high = 0x8f;		/* above: past U+10FFFF */
	}
	else
		return 0;

	if (size < length || text[1] < low || text[1] > high)
		return 0;
	for (i = 2; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

/* Length of the valid prefix. */
size_t
lw_utf8_valid(const char *data, size_t size)
{
	const unsigned char *text = (const unsigned char *) data;
	size_t		pos = 0;

	while (pos < size)
	{
		uint64_t	block;
		size_t		length;

		/* nearly all of nearly every text is ASCII */
		while (size - pos >= sizeof(block))
		{
			memcpy(&block, text + pos, sizeof(block));
			if ((block & UINT64_C(0x8080808080808080)) != 0)
				break;
			pos += sizeof(block);
		}
		if (pos == size)
			break;
		length = character_length(text + pos, size - pos);
		if (length == 0)
			break;
		pos += length;
	}
	return pos;
}
