/*-------------------------------------------------------------------------
 *
 * bytes.c
 *	  Cursors and growing output.
 *
 *-------------------------------------------------------------------------
 */
#include "section/bytes.h"

#include <stdlib.h>
#include <string.h>

LwCursor
lw_cursor(LwBytes bytes)
{
	LwCursor	cursor = {bytes.data, bytes.size, 0};

	return cursor;
}

bool
lw_take_bytes(LwCursor *cursor, size_t size, LwBytes *bytes)
{
	if (size > lw_cursor_left(cursor))
		return false;
	bytes->data = cursor->at > 0 ? cursor->data + cursor->at : cursor->data;
	bytes->size = size;
	cursor->at += size;
	return true;
}

/* An unsigned integer of `size` bytes. */
static bool
take(LwCursor *cursor, size_t size, uint64_t *value)
{
	LwBytes		bytes;
	size_t		i;

	if (!lw_take_bytes(cursor, size, &bytes))
		return false;
	*value = 0;
	for (i = 0; i < size; i++)
		*value |= (uint64_t) bytes.data[i] << 8 * i;
	return true;
}

bool
lw_take_u8(LwCursor *cursor, uint8_t *value)
{
	uint64_t	wide;

	if (!take(cursor, sizeof(*value), &wide))
		return false;
	*value = (uint8_t) wide;
	return true;
}

bool
lw_take_u16(LwCursor *cursor, uint16_t *value)
{
	uint64_t	wide;

	if (!take(cursor, sizeof(*value), &wide))
		return false;
	*value = (uint16_t) wide;
	return true;
}

bool
lw_take_u32(LwCursor *cursor, uint32_t *value)
{
	uint64_t	wide;

	if (!take(cursor, sizeof(*value), &wide))
		return false;
	*value = (uint32_t) wide;
	return true;
}

bool
lw_take_u64(LwCursor *cursor, uint64_t *value)
{
	return take(cursor, sizeof(*value), value);
}

bool
lw_take_f32(LwCursor *cursor, float *value)
{
	uint32_t	bits;

	if (!lw_take_u32(cursor, &bits))
		return false;
	memcpy(value, &bits, sizeof(bits));
	return true;
}

bool
lw_take_string(LwCursor *cursor, LwBytes *string)
{
	size_t		start = cursor->at;
	uint32_t	size;

	if (lw_take_u32(cursor, &size) && lw_take_bytes(cursor, size, string))
		return true;
	cursor->at = start;
	return false;
}

void
lw_buffer_init(LwBuffer *buffer, size_t limit)
{
	memset(buffer, 0, sizeof(*buffer));
	buffer->limit = limit;
}

void
lw_buffer_free(LwBuffer *buffer)
{
	free(buffer->data);
	lw_buffer_init(buffer, buffer->limit);
}

uint8_t *
lw_buffer_reserve(LwBuffer *buffer, size_t size)
{
	size_t		limit = buffer->limit > 0 ? buffer->limit : SIZE_MAX / 2;

	if (buffer->failed)
		return NULL;
	if (size > limit || buffer->size > limit - size)
	{
		buffer->failed = buffer->full = true;
		return NULL;
	}
	if (buffer->data == NULL || size > buffer->room - buffer->size)
	{
		size_t		room = buffer->room < 512 ? 1024 : buffer->room / 2 * 3;
		uint8_t    *data;

		if (room < buffer->size + size)
			room = buffer->size + size;
		if (room > limit)
			room = limit;
		data = realloc(buffer->data, room);
		if (data == NULL)
		{
			buffer->failed = true;
			return NULL;
		}
		buffer->data = data;
		buffer->room = room;
	}
	return buffer->data + buffer->size;
}

void
lw_put_bytes(LwBuffer *buffer, const void *data, size_t size)
{
	uint8_t    *to = lw_buffer_reserve(buffer, size);

	if (to == NULL || size == 0)
		return;
	memcpy(to, data, size);
	buffer->size += size;
}

/* An unsigned integer of `size` bytes. */
static void
put(LwBuffer *buffer, uint64_t value, size_t size)
{
	uint8_t		bytes[8];
	size_t		i;

	for (i = 0; i < size; i++)
		bytes[i] = (uint8_t) (value >> 8 * i);
	lw_put_bytes(buffer, bytes, size);
}

void
lw_put_u8(LwBuffer *buffer, uint8_t value)
{
	put(buffer, value, sizeof(value));
}

void
lw_put_u16(LwBuffer *buffer, uint16_t value)
{
	put(buffer, value, sizeof(value));
}

void
lw_put_u32(LwBuffer *buffer, uint32_t value)
{
	put(buffer, value, sizeof(value));
}

void
lw_put_u64(LwBuffer *buffer, uint64_t value)
{
	put(buffer, value, sizeof(value));
}

void
lw_put_f32(LwBuffer *buffer, float value)
{
	uint32_t	bits;

	memcpy(&bits, &value, sizeof(bits));
	lw_put_u32(buffer, bits);
}

void
lw_put_string(LwBuffer *buffer, LwBytes string)
{
	if (string.size > UINT32_MAX)
	{
		buffer->failed = true;
		return;
	}
	lw_put_u32(buffer, (uint32_t) string.size);
	lw_put_bytes(buffer, string.data, string.size);
}

LwStatus
lw_buffer_status(const LwBuffer *buffer, LwError *error)
{
	if (!buffer->failed)
		return LW_OK;
	if (buffer->full)
		return lw_fail(error, LW_LIMIT, NULL, -1, "decoded sections within the memory allowed",
					   "more than %zu bytes", buffer->limit);
	return lw_no_memory(error);
}

LwStatus
lw_malformed(LwError *error, const char *expected, uint64_t found)
{
	return lw_fail(error, LW_MALFORMED, "MalformedSectionPayload", -1, expected,
				   "%llu", (unsigned long long) found);
}

LwStatus
lw_no_memory(LwError *error)
{
	return lw_fail(error, LW_NO_MEMORY, NULL, -1, "memory for a section", "none");
}
