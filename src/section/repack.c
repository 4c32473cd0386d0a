/*-------------------------------------------------------------------------
 *
 * repack.c
 *	  Chunk ids and spans, repacked.
 *
 * Kind 0, ids: u8 kind; u32 count; 32 bytes for each.  Kind 1, spans: u8 kind;
 * u32 count; u32 number of distinct uris; those; three columns, with a number
 * among the uris, a start and a length for each span.
 *
 *-------------------------------------------------------------------------
 */
#include "section/repack.h"

#include <stdlib.h>
#include <string.h>

#include "section/distinct.h"
#include "section/hash.h"
#include "section/intpack.h"

enum
{
	KIND_IDS = 0,
	KIND_SPANS = 1
};

/* The columns of repacked spans. */
typedef struct Columns
{
	uint32_t	count;
	uint32_t	nuris;
	LwBytes    *uris;			/* malloc'ed */
	LwIntpack	numbers;
	LwIntpack	starts;
	LwIntpack	lengths;
} Columns;

/* Rebuilds the list of ids. */
static LwStatus
decode_ids(LwCursor *cursor, uint64_t expected, LwBuffer *payload, LwError *error)
{
	uint32_t	count;
	uint32_t	i;
	LwStatus	status;

	if (!lw_take_u32(cursor, &count))
		return lw_malformed(error, "repacked ids of at least 5 bytes", cursor->size);
	if (lw_cursor_left(cursor) != (uint64_t) count * LW_SHA256_SIZE)
		return lw_malformed(error, "32 bytes for each repacked id", lw_cursor_left(cursor));
	status = lw_check_count(count, expected, error);
	if (status != LW_OK)
		return status;
	lw_put_list_header(payload, count);
	for (i = 0; i < count; i++)
	{
		char		text[LW_TEXT_HASH_SIZE];
		LwBytes		digest;

		lw_take_bytes(cursor, LW_SHA256_SIZE, &digest);
		lw_text_hash(digest.data, text);
		lw_put_u32(payload, sizeof(text));
		lw_put_bytes(payload, text, sizeof(text));
	}
	return lw_buffer_status(payload, error);
}

/* Takes the distinct uris. */
static LwStatus
take_uris(LwCursor *cursor, Columns *columns, LwError *error)
{
	uint32_t	i;

	if (columns->nuris > lw_cursor_left(cursor) / sizeof(uint32_t))
		return lw_malformed(error, "as many uris as the section has room for", columns->nuris);
	columns->uris = calloc((size_t) columns->nuris + 1, sizeof(LwBytes));
	if (columns->uris == NULL)
		return lw_no_memory(error);
	for (i = 0; i < columns->nuris; i++)
	{
		LwStatus	status;

		if (!lw_take_string(cursor, &columns->uris[i]))
			return lw_malformed(error, "uris within the section", i);
		status = lw_check_utf8(columns->uris[i], "uris in UTF-8", error);
		if (status != LW_OK)
			return status;
	}
	return LW_OK;
}

/* Takes one column, which must have a value for each span. */
static LwStatus
take_column(LwCursor *cursor, uint32_t count, LwIntpack *column, LwError *error)
{
	LwStatus	status = lw_take_intpack(cursor, column, error);

	if (status == LW_OK && column->count != count)
		return lw_malformed(error, "a value for each span", column->count);
	return status;
}

/* Takes all columns; the caller frees the uris. */
static LwStatus
take_columns(LwCursor *cursor, Columns *columns, LwError *error)
{
	LwStatus	status;

	if (!lw_take_u32(cursor, &columns->count) || !lw_take_u32(cursor, &columns->nuris))
		return lw_malformed(error, "repacked spans of at least 9 bytes", cursor->size);
	status = take_uris(cursor, columns, error);
	if (status == LW_OK)
		status = take_column(cursor, columns->count, &columns->numbers, error);
	if (status == LW_OK)
		status = take_column(cursor, columns->count, &columns->starts, error);
	if (status == LW_OK)
		status = take_column(cursor, columns->count, &columns->lengths, error);
	if (status == LW_OK && lw_cursor_left(cursor) > 0)
		status = lw_malformed(error, "nothing after the spans", lw_cursor_left(cursor));
	return status;
}

/* Writes all spans; with no payload it only checks them. */
static LwStatus
put_spans(const Columns *columns, LwBuffer *payload, LwError *error)
{
	uint32_t	first;
	uint32_t	length;

	for (first = 0; first < columns->count; first += length)
	{
		uint64_t	numbers[LW_INTPACK_BLOCK];
		uint64_t	starts[LW_INTPACK_BLOCK];
		uint64_t	lengths[LW_INTPACK_BLOCK];
		LwStatus	status;
		uint32_t	i;

		length = columns->count - first;
		if (length > LW_INTPACK_BLOCK)
			length = LW_INTPACK_BLOCK;
		status = lw_intpack_read(&columns->numbers, first, length, numbers, error);
		if (status == LW_OK)
			status = lw_intpack_read(&columns->starts, first, length, starts, error);
		if (status == LW_OK)
			status = lw_intpack_read(&columns->lengths, first, length, lengths, error);
		for (i = 0; status == LW_OK && i < length; i++)
		{
			if (numbers[i] >= columns->nuris)
				status = lw_malformed(error, "spans of uris that are there", numbers[i]);
			else if (payload != NULL)
			{
				lw_put_string(payload, columns->uris[numbers[i]]);
				lw_put_u64(payload, starts[i]);
				lw_put_u64(payload, starts[i] + lengths[i]);
			}
		}
		if (status == LW_OK && payload != NULL)
			status = lw_buffer_status(payload, error);
		if (status != LW_OK)
			return status;
	}
	return LW_OK;
}

/* Rebuilds the list of spans. */
static LwStatus
decode_spans(LwCursor *cursor, uint64_t expected, LwBuffer *payload, LwError *error)
{
	Columns		columns = {0};
	LwStatus	status = take_columns(cursor, &columns, error);

	if (status == LW_OK)
		status = put_spans(&columns, NULL, error);
	if (status == LW_OK)
		status = lw_check_count(columns.count, expected, error);
	if (status == LW_OK)
	{
		lw_put_list_header(payload, columns.count);
		status = put_spans(&columns, payload, error);
	}
	free(columns.uris);
	return status;
}

LwStatus
lw_repack_decode(LwBytes stored, uint64_t expected, LwBuffer *payload, LwError *error)
{
	LwCursor	cursor = lw_cursor(stored);
	uint8_t		kind;

	if (!lw_take_u8(&cursor, &kind))
		return lw_malformed(error, "a repacked section of at least 1 byte", 0);
	if (kind == KIND_IDS)
		return decode_ids(&cursor, expected, payload, error);
	if (kind == KIND_SPANS)
		return decode_spans(&cursor, expected, payload, error);
	return lw_malformed(error, "a repacked section of kind 0 or 1", kind);
}

/* The value of a lowercase hex digit, or -1. */
static int
hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

bool
lw_repack_can_ids(const LwBytes *ids, size_t count)
{
	size_t		i;
	size_t		j;

	for (i = 0; i < count; i++)
	{
		if (ids[i].size != LW_TEXT_HASH_SIZE || memcmp(ids[i].data, "sha256:", 7) != 0)
			return false;
		for (j = 7; j < LW_TEXT_HASH_SIZE; j++)
			if (hex_digit(ids[i].data[j]) < 0)
				return false;
	}
	return true;
}

/* InvalidInput for a number of entries that is no u32. */
static LwStatus
check_count(size_t count, LwError *error)
{
	if (count > UINT32_MAX)
		return lw_fail(error, LW_INVALID, "InvalidInput", -1, "fewer than 4294967296 chunks",
					   "%zu", count);
	return LW_OK;
}

LwStatus
lw_repack_ids(const LwBytes *ids, size_t count, LwBuffer *stored, LwError *error)
{
	LwStatus	status = check_count(count, error);
	size_t		i;
	size_t		j;

	if (status != LW_OK)
		return status;
	lw_put_u8(stored, KIND_IDS);
	lw_put_u32(stored, (uint32_t) count);
	for (i = 0; i < count; i++)
		for (j = 7; j < LW_TEXT_HASH_SIZE; j += 2)
			lw_put_u8(stored, (uint8_t) (hex_digit(ids[i].data[j]) << 4 |
										 hex_digit(ids[i].data[j + 1])));
	return lw_buffer_status(stored, error);
}

/* Writes the distinct uris, and the number of each span's among them as a column. */
static LwStatus
put_uris(const LwSourceSpan *spans, size_t count, LwBuffer *stored, LwError *error)
{
	LwBytes    *uris = calloc(count + 1, sizeof(LwBytes));
	uint64_t   *numbers = calloc(count + 1, sizeof(uint64_t));
	size_t	   *first = calloc(count + 1, sizeof(size_t));
	size_t		nuris;
	LwStatus	status = LW_OK;
	size_t		i;

	if (uris == NULL || numbers == NULL || first == NULL)
		status = lw_no_memory(error);
	for (i = 0; status == LW_OK && i < count; i++)
	{
		uris[i] = spans[i].uri;
		if (uris[i].size > UINT32_MAX)
			status = lw_fail(error, LW_INVALID, "InvalidInput", -1, "uris of less than 4 GiB",
							 "%zu bytes", uris[i].size);
	}
	if (status == LW_OK)
		status = lw_distinct(uris, count, numbers, first, &nuris, error);
	if (status == LW_OK)
	{
		lw_put_u32(stored, (uint32_t) nuris);
		for (i = 0; i < nuris; i++)
			lw_put_string(stored, uris[first[i]]);
		lw_put_intpack_column(stored, numbers, count);
	}
	free(first);
	free(numbers);
	free(uris);
	return status;
}

LwStatus
lw_repack_spans(const LwSourceSpan *spans, size_t count, LwBuffer *stored, LwError *error)
{
	uint64_t   *values;
	LwStatus	status = check_count(count, error);
	size_t		i;

	if (status != LW_OK)
		return status;
	lw_put_u8(stored, KIND_SPANS);
	lw_put_u32(stored, (uint32_t) count);
	status = put_uris(spans, count, stored, error);
	if (status != LW_OK)
		return status;
	values = calloc(count + 1, sizeof(uint64_t));
	if (values == NULL)
		return lw_no_memory(error);
	for (i = 0; i < count; i++)
		values[i] = spans[i].start;
	lw_put_intpack_column(stored, values, count);
	for (i = 0; i < count; i++)
		values[i] = spans[i].end - spans[i].start;
	lw_put_intpack_column(stored, values, count);
	free(values);
	return lw_buffer_status(stored, error);
}
