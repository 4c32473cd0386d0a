/*-------------------------------------------------------------------------
 *
 * changes.c
 *	  Changes of documents as bytes.
 *
 * A record is a head of fixed size, then the id, the rows and the scales, each
 * padded to a multiple of 8 bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "store/changes.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/encode.h"

typedef struct Head
{
	uint32_t	kind;
	uint32_t	id_size;
	uint64_t	documents;
	uint64_t	tokens;
} Head;

static inline size_t
padded(size_t size)
{
	return (size + 7) & ~(size_t) 7;
}

LwChangeFormat
lw_change_format(const LwManifest *manifest)
{
	LwChangeFormat format = {manifest->encoding, manifest->dimension};

	return format;
}

/* Reserves a record of `body` bytes past head and id, fills in those two and returns where the rest goes. */
static uint8_t *
begin_record(LwBuffer *changes, LwChangeKind kind, LwString id, uint64_t documents, uint64_t tokens, size_t body)
{
	Head		head = {(uint32_t) kind, (uint32_t) id.size, documents, tokens};
	size_t		size = sizeof(Head) + padded(id.size) + body;
	uint8_t    *at;

	if (id.size > UINT32_MAX)
	{
		changes->failed = true;
		return NULL;
	}
	at = lw_buffer_reserve(changes, size);
	if (at == NULL)
		return NULL;
	memset(at, 0, size);
	memcpy(at, &head, sizeof(head));
	if (id.size > 0)
		memcpy(at + sizeof(head), id.data, id.size);
	changes->size += size;
	return at + sizeof(head) + padded(id.size);
}

void
lw_put_append(LwBuffer *changes, LwChangeFormat format, LwString id, const float *values, size_t tokens)
{
	size_t		n = tokens * (size_t) format.dimension;
	size_t		rows = padded(format.encoding == LW_INT8 ? n : n * sizeof(float));
	size_t		scales = format.encoding == LW_INT8 ? padded(tokens * sizeof(float)) : 0;
	uint8_t    *at = begin_record(changes, LW_CHANGE_APPEND, id, 1, tokens, rows + scales);

	if (at == NULL)
		return;
	if (format.encoding == LW_INT8)
		lw_encode_int8(values, tokens, (size_t) format.dimension, (int8_t *) at, (float *) (void *) (at + rows));
	else
		memcpy(at, values, n * sizeof(float));
}

void
lw_put_change(LwBuffer *changes, LwChangeKind kind, LwString id)
{
	(void) begin_record(changes, kind, id, 0, 0, 0);
}

void
lw_put_bulk(LwBuffer *changes, LwString name, uint64_t documents, uint64_t tokens)
{
	(void) begin_record(changes, LW_CHANGE_BULK, name, documents, tokens, 0);
}

static LwStatus
bad_record(size_t at, LwError *error)
{
	return lw_fail(error, LW_MALFORMED, "PendingRecord", (int64_t) at, "a whole record of a change", "something else");
}

/* The size of an append's rows and scales; false when they cannot be in `left` bytes. */
static bool
body_size(LwChangeFormat format, uint64_t tokens, size_t left, size_t *rows, size_t *body)
{
	size_t		row = format.encoding == LW_INT8 ? 1 : sizeof(float);

	if (format.dimension == 0 || format.dimension > SIZE_MAX / row / 2)
		return false;
	row *= (size_t) format.dimension;
	if (tokens == 0 || tokens > left / row)
		return false;
	*rows = padded((size_t) tokens * row);
	*body = *rows + (format.encoding == LW_INT8 ? padded((size_t) tokens * sizeof(float)) : 0);
	return *body <= left;
}

LwStatus
lw_next_change(LwBytes changes, LwChangeFormat format, size_t *at,
			   LwChangeRecord *record, bool *found, LwError *error)
{
	size_t		left = changes.size - *at;
	const uint8_t *data = changes.data + *at;
	size_t		rows = 0;
	size_t		body = 0;
	Head		head;

	*found = false;
	if (left == 0)
		return LW_OK;
	if (left < sizeof(head))
		return bad_record(*at, error);
	memcpy(&head, data, sizeof(head));
	if (head.kind < LW_CHANGE_APPEND || head.kind > LW_CHANGE_BULK || head.id_size > left - sizeof(head) ||
		padded(head.id_size) > left - sizeof(head))
		return bad_record(*at, error);
	memset(record, 0, sizeof(*record));
	record->kind = (LwChangeKind) head.kind;
	record->id.data = (const char *) data + sizeof(head);
	record->id.size = head.id_size;
	record->documents = head.documents;
	record->tokens = head.tokens;
	left -= sizeof(head) + padded(head.id_size);
	data += sizeof(head) + padded(head.id_size);
	if (record->kind == LW_CHANGE_APPEND)
	{
		if (!body_size(format, head.tokens, left, &rows, &body))
			return bad_record(*at, error);
		record->document.rows = (const char *) data;
		record->document.scales = format.encoding == LW_INT8 ? (const float *) (const void *) (data + rows) : NULL;
		record->document.tokens = (size_t) head.tokens;
	}
	*at += sizeof(head) + padded(head.id_size) + body;
	*found = true;
	return LW_OK;
}
