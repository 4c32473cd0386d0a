/*-------------------------------------------------------------------------
 *
 * intpack.c
 *	  Packed lists of integers.
 *
 * A list is: u32 count; u32 blocks; a u32 for each block, its offset from the
 * list's first byte; the blocks.  A block is: u64 least value; u8 width; the
 * values less the least one, `width` bits each, lowest bits first.
 *
 *-------------------------------------------------------------------------
 */
#include "section/intpack.h"

#include <string.h>

#define BLOCK LW_INTPACK_BLOCK
#define LIST_HEADER 8
#define BLOCK_HEADER 9			/* least value and width */

/* How many blocks hold this many values. */
static uint64_t
blocks_of(uint64_t count)
{
	return count / BLOCK + (count % BLOCK != 0);
}

LwStatus
lw_intpack_open(LwBytes bytes, LwIntpack *list, LwError *error)
{
	LwCursor	cursor = lw_cursor(bytes);
	uint32_t	nblocks;

	if (!lw_take_u32(&cursor, &list->count) || !lw_take_u32(&cursor, &nblocks))
		return lw_malformed(error, "an integer list of at least 8 bytes", bytes.size);
	if (nblocks != blocks_of(list->count))
		return lw_malformed(error, "a block for every 128 integers", nblocks);
	if (nblocks > lw_cursor_left(&cursor) / sizeof(uint32_t))
		return lw_malformed(error, "an integer list as long as its directory", bytes.size);
	list->bytes = bytes;
	return LW_OK;
}

static inline uint64_t
load_u64(const uint8_t *bytes)
{
	uint64_t	value = 0;
	int			i;

	for (i = 0; i < 8; i++)
		value |= (uint64_t) bytes[i] << 8 * i;
	return value;
}

/* Bytes of `count` values of this width. */
static inline size_t
body_size(size_t count, unsigned width)
{
	return (count * width + 7) / 8;
}

/*
 * Reads values first .. end - 1 of a block.  Its body is copied first: then it
 * cannot change, and 8 bytes may be loaded from any of its bytes.
 */
static LwStatus
read_block(const LwIntpack *list, uint32_t block, unsigned first, unsigned end,
		   uint64_t *values, LwError *error)
{
	uint8_t		body[BLOCK * 8 + 16];
	LwCursor	cursor = lw_cursor(list->bytes);
	unsigned	length = BLOCK;
	uint32_t	offset;
	uint64_t	least;
	uint8_t		width;
	uint64_t	mask;
	LwBytes		packed;
	unsigned	i;

	if (block == list->count / BLOCK)
		length = list->count % BLOCK;
	cursor.at = LIST_HEADER + (size_t) block * sizeof(uint32_t);
	if (!lw_take_u32(&cursor, &offset))
		return lw_malformed(error, "an integer list as long as its directory", list->bytes.size);
	if (offset > list->bytes.size)
		return lw_malformed(error, "a block of integers within their list", offset);
	cursor.at = offset;
	if (!lw_take_u64(&cursor, &least) || !lw_take_u8(&cursor, &width))
		return lw_malformed(error, "a block of integers within their list", offset);
	if (width > 64)
		return lw_malformed(error, "integers of at most 64 bits", width);
	if (!lw_take_bytes(&cursor, body_size(length, width), &packed))
		return lw_malformed(error, "a block of integers within their list", offset);
	if (width == 0)
	{
		for (i = first; i < end; i++)
			values[i - first] = least;
		return LW_OK;
	}
	memcpy(body, packed.data, packed.size);
	memset(body + packed.size, 0, 16);
	mask = UINT64_MAX >> (64 - width);
	for (i = first; i < end; i++)
	{
		unsigned	bit = i * width;
		unsigned	shift = bit % 8;
		const uint8_t *at = body + bit / 8;
		uint64_t	value = load_u64(at) >> shift;

		if (shift + width > 64)
			value |= (uint64_t) at[8] << (64 - shift);
		values[i - first] = least + (value & mask);
	}
	return LW_OK;
}

LwStatus
lw_intpack_read(const LwIntpack *list, uint32_t first, uint32_t count, uint64_t *values,
				LwError *error)
{
	if (first > list->count || count > list->count - first)
		return lw_malformed(error, "integers within their list", (uint64_t) first + count);
	while (count > 0)
	{
		unsigned	start = first % BLOCK;
		unsigned	length = BLOCK - start < count ? BLOCK - start : count;
		LwStatus	status = read_block(list, first / BLOCK, start, start + length, values, error);

		if (status != LW_OK)
			return status;
		first += length;
		count -= length;
		values += length;
	}
	return LW_OK;
}

LwStatus
lw_intpack_get(const LwIntpack *list, uint32_t index, uint64_t *value, LwError *error)
{
	return lw_intpack_read(list, index, 1, value, error);
}

LwStatus
lw_intpack_read_all(LwBytes bytes, size_t count, uint64_t *values, LwError *error)
{
	LwIntpack	list;
	LwStatus	status = lw_intpack_open(bytes, &list, error);

	if (status != LW_OK)
		return status;
	if (list.count != count)
		return lw_malformed(error, "as many integers as entries", list.count);
	return lw_intpack_read(&list, 0, list.count, values, error);
}

LwStatus
lw_take_intpack(LwCursor *cursor, LwIntpack *list, LwError *error)
{
	LwBytes		bytes;

	if (!lw_take_string(cursor, &bytes))
		return lw_malformed(error, "a column within the section", lw_cursor_left(cursor));
	return lw_intpack_open(bytes, list, error);
}

/* The least of some values, and the bits that the others need beyond it. */
static unsigned
block_width(const uint64_t *values, size_t count, uint64_t *least)
{
	uint64_t	most = values[0];
	unsigned	width = 0;
	size_t		i;

	*least = values[0];
	for (i = 1; i < count; i++)
	{
		if (values[i] < *least)
			*least = values[i];
		if (values[i] > most)
			most = values[i];
	}
	for (most -= *least; most != 0; most >>= 1)
		width++;
	return width;
}

uint64_t
lw_intpack_size(const uint64_t *values, size_t count)
{
	uint64_t	size = LIST_HEADER;
	size_t		i;

	if (count > UINT32_MAX)
		return UINT64_MAX;
	for (i = 0; i < count; i += BLOCK)
	{
		size_t		length = count - i < BLOCK ? count - i : BLOCK;
		uint64_t	least;

		size += sizeof(uint32_t) + BLOCK_HEADER +
			body_size(length, block_width(values + i, length, &least));
	}
	return size <= UINT32_MAX ? size : UINT64_MAX;
}

/* Writes one block. */
static void
put_block(LwBuffer *buffer, const uint64_t *values, size_t count)
{
	uint8_t		body[BLOCK * 8 + 16];
	uint64_t	least;
	unsigned	width = block_width(values, count, &least);
	size_t		i;

	memset(body, 0, sizeof(body));
	for (i = 0; i < count; i++)
	{
		size_t		bit = i * width;
		unsigned	shift = bit % 8;
		uint8_t    *at = body + bit / 8;
		uint64_t	value = values[i] - least;
		int			byte;

		for (byte = 0; byte < 8; byte++)
			at[byte] |= (uint8_t) (value << shift >> 8 * byte);
		if (shift > 0)
			at[8] |= (uint8_t) (value >> (64 - shift));
	}
	lw_put_u64(buffer, least);
	lw_put_u8(buffer, (uint8_t) width);
	lw_put_bytes(buffer, body, body_size(count, width));
}

void
lw_put_intpack(LwBuffer *buffer, const uint64_t *values, size_t count)
{
	uint64_t	offset = LIST_HEADER + sizeof(uint32_t) * blocks_of(count);
	size_t		i;

	if (lw_intpack_size(values, count) == UINT64_MAX)
	{
		buffer->failed = buffer->full = true;
		return;
	}
	lw_put_u32(buffer, (uint32_t) count);
	lw_put_u32(buffer, (uint32_t) blocks_of(count));
	for (i = 0; i < count; i += BLOCK)
	{
		size_t		length = count - i < BLOCK ? count - i : BLOCK;
		uint64_t	least;

		lw_put_u32(buffer, (uint32_t) offset);
		offset += BLOCK_HEADER + body_size(length, block_width(values + i, length, &least));
	}
	for (i = 0; i < count; i += BLOCK)
		put_block(buffer, values + i, count - i < BLOCK ? count - i : BLOCK);
}

void
lw_put_intpack_column(LwBuffer *buffer, const uint64_t *values, size_t count)
{
	lw_put_u32(buffer, (uint32_t) lw_intpack_size(values, count));
	lw_put_intpack(buffer, values, count);
}
