/*-------------------------------------------------------------------------
 *
 * lists.c
 *	  Raw payloads that are lists: u32 version; u64 count; the entries.
 *
 *-------------------------------------------------------------------------
 */
#include "section/lists.h"

#include <stdlib.h>

#include "format/utf8.h"

#define LIST_VERSION 1

LwStatus
lw_check_utf8(LwBytes bytes, const char *what, LwError *error)
{
	size_t		valid = lw_utf8_valid((const char *) bytes.data, bytes.size);

	if (valid == bytes.size)
		return LW_OK;
	return lw_fail(error, LW_MALFORMED, "MalformedSectionPayload", -1, what,
				   "other bytes at %zu", valid);
}

LwStatus
lw_check_count(uint64_t count, uint64_t expected, LwError *error)
{
	if (expected == LW_ANY_COUNT || count == expected)
		return LW_OK;
	return lw_fail(error, LW_MALFORMED, "SectionCountMismatch", -1, "an entry for each chunk",
				   "%llu for %llu", (unsigned long long) count, (unsigned long long) expected);
}

/* Takes version and count. */
static LwStatus
take_header(LwCursor *cursor, uint64_t *count, LwError *error)
{
	uint32_t	version;

	if (lw_cursor_left(cursor) < LW_LIST_HEADER)
		return lw_malformed(error, "a list of at least 12 bytes", lw_cursor_left(cursor));
	lw_take_u32(cursor, &version);
	lw_take_u64(cursor, count);
	if (version != LIST_VERSION)
		return lw_fail(error, LW_MALFORMED, "UnsupportedSectionVersion", -1,
					   "list version 1", "%u", version);
	return LW_OK;
}

/* Whether the bytes that are left can hold this many entries of at least `size`. */
static LwStatus
check_room(const LwCursor *cursor, uint64_t count, size_t size, LwError *error)
{
	if (count > lw_cursor_left(cursor) / size)
		return lw_malformed(error, "as many entries as the section has room for", count);
	return LW_OK;
}

LwStatus
lw_list_count(LwBytes payload, size_t *count, LwError *error)
{
	LwCursor	cursor = lw_cursor(payload);
	uint64_t	claimed;
	LwStatus	status = take_header(&cursor, &claimed, error);

	if (status == LW_OK)
		status = check_room(&cursor, claimed, sizeof(uint32_t), error);
	if (status == LW_OK)
		*count = (size_t) claimed;
	return status;
}

/* Takes the header of a list of `expected` entries of at least `size` bytes. */
static LwStatus
take_expected(LwCursor *cursor, uint64_t expected, size_t size, uint64_t *count, LwError *error)
{
	LwStatus	status = take_header(cursor, count, error);

	if (status != LW_OK)
		return status;
	status = lw_check_count(*count, expected, error);
	return status == LW_OK ? check_room(cursor, *count, size, error) : status;
}

/* Takes a string that is UTF-8. */
static LwStatus
take_utf8(LwCursor *cursor, LwBytes *string, LwError *error)
{
	if (!lw_take_string(cursor, string))
		return lw_malformed(error, "strings within the section", lw_cursor_left(cursor));
	return lw_check_utf8(*string, "strings in UTF-8", error);
}

/* Room for the entries of a list; NULL is no error when there are none. */
static LwStatus
make_room(uint64_t count, size_t size, void **room, LwError *error)
{
	*room = NULL;
	if (count == 0)
		return LW_OK;
	if (count <= SIZE_MAX / size)
		*room = malloc((size_t) count * size);
	if (*room == NULL)
		return lw_no_memory(error);
	return LW_OK;
}

static LwStatus
check_end(const LwCursor *cursor, LwError *error)
{
	if (lw_cursor_left(cursor) > 0)
		return lw_malformed(error, "nothing after the last entry", lw_cursor_left(cursor));
	return LW_OK;
}

LwStatus
lw_strings_decode(LwBytes payload, uint64_t expected, LwBytes **strings, LwError *error)
{
	LwCursor	cursor = lw_cursor(payload);
	void	   *room = NULL;
	uint64_t	count;
	LwStatus	status = take_expected(&cursor, expected, sizeof(uint32_t), &count, error);
	uint64_t	i;

	*strings = NULL;
	if (status == LW_OK)
		status = make_room(count, sizeof(LwBytes), &room, error);
	for (i = 0; status == LW_OK && i < count; i++)
		status = take_utf8(&cursor, (LwBytes *) room + i, error);
	if (status == LW_OK)
		status = check_end(&cursor, error);
	if (status == LW_OK)
		*strings = room;
	else
		free(room);
	return status;
}

LwStatus
lw_spans_decode(LwBytes payload, uint64_t expected, LwSourceSpan **spans, LwError *error)
{
	LwCursor	cursor = lw_cursor(payload);
	void	   *room = NULL;
	uint64_t	count;
	LwStatus	status = take_expected(&cursor, expected, sizeof(uint32_t) + 2 * sizeof(uint64_t), &count,
									  error);
	uint64_t	i;

	*spans = NULL;
	if (status == LW_OK)
		status = make_room(count, sizeof(LwSourceSpan), &room, error);
	for (i = 0; status == LW_OK && i < count; i++)
	{
		LwSourceSpan *span = (LwSourceSpan *) room + i;

		status = take_utf8(&cursor, &span->uri, error);
		if (status == LW_OK &&
			(!lw_take_u64(&cursor, &span->start) || !lw_take_u64(&cursor, &span->end)))
			status = lw_malformed(error, "spans within the section", lw_cursor_left(&cursor));
	}
	if (status == LW_OK)
		status = check_end(&cursor, error);
	if (status == LW_OK)
		*spans = room;
	else
		free(room);
	return status;
}

void
lw_put_list_header(LwBuffer *payload, size_t count)
{
	lw_put_u32(payload, LIST_VERSION);
	lw_put_u64(payload, count);
}

/* InvalidInput for a string whose length is no u32. */
static LwStatus
check_length(LwBytes string, LwError *error)
{
	if (string.size > UINT32_MAX)
		return lw_fail(error, LW_INVALID, "InvalidInput", -1, "strings of less than 4 GiB",
					   "%zu bytes", string.size);
	return LW_OK;
}

LwStatus
lw_strings_encode(const LwBytes *strings, size_t count, LwBuffer *payload, LwError *error)
{
	size_t		i;

	lw_put_list_header(payload, count);
	for (i = 0; i < count; i++)
	{
		LwStatus	status = check_length(strings[i], error);

		if (status != LW_OK)
			return status;
		lw_put_string(payload, strings[i]);
	}
	return lw_buffer_status(payload, error);
}

LwStatus
lw_spans_encode(const LwSourceSpan *spans, size_t count, LwBuffer *payload, LwError *error)
{
	size_t		i;

	lw_put_list_header(payload, count);
	for (i = 0; i < count; i++)
	{
		LwStatus	status = check_length(spans[i].uri, error);

		if (status != LW_OK)
			return status;
		lw_put_string(payload, spans[i].uri);
		lw_put_u64(payload, spans[i].start);
		lw_put_u64(payload, spans[i].end);
	}
	return lw_buffer_status(payload, error);
}
