/*-------------------------------------------------------------------------
 *
 * bytes.h
 *	  Bytes of a section: borrowed ones, a cursor over them, and output that
 *	  grows.
 *
 * Integers are little-endian.  Nothing is read that is not there: each take
 * says whether it could, and leaves the cursor where it was if not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_BYTES_H
#define LW_SECTION_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/error.h"

/* Bytes of somebody else's memory, usually of a map that may change. */
typedef struct LwBytes
{
	const uint8_t *data;
	size_t		size;
} LwBytes;

typedef struct LwCursor
{
	const uint8_t *data;
	size_t		size;
	size_t		at;				/* next byte */
} LwCursor;

extern LwCursor lw_cursor(LwBytes bytes);
extern bool lw_take_u8(LwCursor *cursor, uint8_t *value);
extern bool lw_take_u16(LwCursor *cursor, uint16_t *value);
extern bool lw_take_u32(LwCursor *cursor, uint32_t *value);
extern bool lw_take_u64(LwCursor *cursor, uint64_t *value);
extern bool lw_take_f32(LwCursor *cursor, float *value);
extern bool lw_take_bytes(LwCursor *cursor, size_t size, LwBytes *bytes);

/* A u32 length and as many bytes; whether they are UTF-8 is the caller's to check (format/utf8.h). */
extern bool lw_take_string(LwCursor *cursor, LwBytes *string);

static inline size_t
lw_cursor_left(const LwCursor *cursor)
{
	return cursor->size - cursor->at;
}

/*
 * Output in malloc'ed memory, which the owner frees with lw_buffer_free.
 * When memory runs out, or `limit` bytes would be passed, `failed` is set for
 * good and nothing more is written: look at it once, at the end.
 */
typedef struct LwBuffer
{
	uint8_t    *data;
	size_t		size;
	size_t		room;
	size_t		limit;			/* 0: none */
	bool		failed;
	bool		full;			/* failed, since `limit` would have been passed */
} LwBuffer;

extern void lw_buffer_init(LwBuffer *buffer, size_t limit);
extern void lw_buffer_free(LwBuffer *buffer);

/* Room for `size` more bytes at data + size, NULL when failed; the caller then adds to `size` what it wrote. */
extern uint8_t *lw_buffer_reserve(LwBuffer *buffer, size_t size);
extern void lw_put_u8(LwBuffer *buffer, uint8_t value);
extern void lw_put_u16(LwBuffer *buffer, uint16_t value);
extern void lw_put_u32(LwBuffer *buffer, uint32_t value);
extern void lw_put_u64(LwBuffer *buffer, uint64_t value);
extern void lw_put_f32(LwBuffer *buffer, float value);
extern void lw_put_bytes(LwBuffer *buffer, const void *data, size_t size);

/* A u32 length and the bytes; fails beyond 2^32 - 1. */
extern void lw_put_string(LwBuffer *buffer, LwBytes string);

/* LW_OK unless it failed: then LW_LIMIT when it was full, else LW_NO_MEMORY. */
extern LwStatus lw_buffer_status(const LwBuffer *buffer, LwError *error);

/* MalformedSectionPayload; both texts as in lw_fail, the second a number. */
extern LwStatus lw_malformed(LwError *error, const char *expected, uint64_t found);
extern LwStatus lw_no_memory(LwError *error);

static inline LwBytes
lw_buffer_bytes(const LwBuffer *buffer)
{
	LwBytes		bytes = {buffer->data, buffer->size};

	return bytes;
}

#endif							/* LW_SECTION_BYTES_H */
