/*-------------------------------------------------------------------------
 *
 * fsst.c
 *	  Texts as codes of common substrings: the table and its use.
 *
 * A table is: u16 count; for each symbol a u8 size and its bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "section/fsst.h"

#include <stdlib.h>
#include <string.h>

#define ESCAPE 0xff

LwStatus
lw_take_fsst(LwCursor *cursor, LwFsst *table, LwError *error)
{
	uint16_t	count;
	unsigned	i;

	memset(table, 0, sizeof(*table));
	if (!lw_take_u16(cursor, &count))
		return lw_malformed(error, "a symbol table of at least 2 bytes", lw_cursor_left(cursor));
	if (count > LW_FSST_SYMBOLS)
		return lw_malformed(error, "at most 255 symbols", count);
	for (i = 0; i < count; i++)
	{
		LwBytes		symbol;

		if (!lw_take_u8(cursor, &table->sizes[i]))
			return lw_malformed(error, "symbols within their table", i);
		if (table->sizes[i] < 1 || table->sizes[i] > LW_FSST_SYMBOL_SIZE)
			return lw_malformed(error, "symbols of 1 to 8 bytes", table->sizes[i]);
		if (!lw_take_bytes(cursor, table->sizes[i], &symbol))
			return lw_malformed(error, "symbols within their table", i);
		memcpy(table->symbols[i], symbol.data, symbol.size);
	}
	table->count = count;
	return LW_OK;
}

void
lw_put_fsst(LwBuffer *buffer, const LwFsst *table)
{
	unsigned	i;

	lw_put_u16(buffer, (uint16_t) table->count);
	for (i = 0; i < table->count; i++)
	{
		lw_put_u8(buffer, table->sizes[i]);
		lw_put_bytes(buffer, table->symbols[i], table->sizes[i]);
	}
}

LwStatus
lw_fsst_decode(const LwFsst *table, LwBytes frame, LwBuffer *text, LwError *error)
{
	size_t		i;

	for (i = 0; i < frame.size; i++)
	{
		uint8_t		code = frame.data[i];

		if (code < table->count)
			lw_put_bytes(text, table->symbols[code], table->sizes[code]);
		else if (code != ESCAPE)
			return lw_malformed(error, "codes of the symbol table", code);
		else if (++i == frame.size)
			return lw_malformed(error, "a byte after each escape", i);
		else
			lw_put_u8(text, frame.data[i]);
	}
	return lw_buffer_status(text, error);
}

/* Up to 8 bytes as a number whose order is theirs; zeros behind them. */
static uint64_t
key_of(const uint8_t *bytes, size_t size)
{
	uint64_t	key = 0;
	size_t		i;

	for (i = 0; i < size; i++)
		key |= (uint64_t) bytes[i] << (56 - 8 * i);
	return key;
}

void
lw_fsst_encoder_init(LwFsstEncoder *encoder, const LwFsst *table)
{
	unsigned	i;

	encoder->table = table;
	encoder->nlong = 0;
	for (i = 0; i < table->count; i++)
	{
		uint64_t	key = key_of(table->symbols[i], table->sizes[i]);
		unsigned	at;

		if (table->sizes[i] < LW_FSST_SYMBOL_SIZE)
			continue;
		for (at = encoder->nlong; at > 0 && encoder->longs[at - 1] > key; at--)
		{
			encoder->longs[at] = encoder->longs[at - 1];
			encoder->long_codes[at] = encoder->long_codes[at - 1];
		}
		encoder->longs[at] = key;
		encoder->long_codes[at] = (uint8_t) i;
		encoder->nlong++;
	}
}

/* The code of a symbol of 8 bytes, or -1. */
static int
find_long(const LwFsstEncoder *encoder, uint64_t key)
{
	unsigned	low = 0;
	unsigned	high = encoder->nlong;

	while (low < high)
	{
		unsigned	middle = (low + high) / 2;

		if (encoder->longs[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < encoder->nlong && encoder->longs[low] == key ? encoder->long_codes[low] : -1;
}

/*
 * The code for the last bytes of a text, fewer than 8, or -1.  A symbol that
 * begins them is taken only when all of them begin some symbol.
 */
static int
find_short(const LwFsst *table, const uint8_t *bytes, size_t size)
{
	bool		begins = false;
	int			best = -1;
	unsigned	i;

	for (i = 0; i < table->count; i++)
	{
		size_t		common = table->sizes[i] < size ? table->sizes[i] : size;

		if (memcmp(table->symbols[i], bytes, common) != 0)
			continue;
		if (table->sizes[i] >= size)
			begins = true;
		if (table->sizes[i] <= size && (best < 0 || table->sizes[i] > table->sizes[best]))
			best = (int) i;
	}
	return begins ? best : -1;
}

void
lw_fsst_encode(const LwFsstEncoder *encoder, LwBytes text, LwBuffer *frame)
{
	size_t		at = 0;

	while (at < text.size)
	{
		size_t		left = text.size - at;
		const uint8_t *bytes = text.data + at;
		int			code;

		if (left >= LW_FSST_SYMBOL_SIZE)
			code = find_long(encoder, key_of(bytes, LW_FSST_SYMBOL_SIZE));
		else
			code = find_short(encoder->table, bytes, left);
		if (code >= 0)
		{
			lw_put_u8(frame, (uint8_t) code);
			at += encoder->table->sizes[code];
		}
		else
		{
			lw_put_u8(frame, ESCAPE);
			lw_put_u8(frame, bytes[0]);
			at++;
		}
	}
}
