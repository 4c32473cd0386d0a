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

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/encode.h"

typedef struct Head
{
	uint32_t	kind;
	uint32_t	id_size;
	uint64_t	tokens;			/* of a document or segment */
	uint64_t	documents;		/* of a segment */
	uint64_t	segment;
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
begin_record(LwBuffer *changes, LwChangeKind kind, LwString id, const LwManifestSegment *segment, size_t body)
{
	Head		head = {(uint32_t) kind, (uint32_t) id.size, segment->tokens, segment->documents, segment->id};
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
	LwManifestSegment counts = {.tokens = tokens};
	uint8_t    *at = begin_record(changes, LW_CHANGE_APPEND, id, &counts, rows + scales);

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
	static const LwManifestSegment none;

	(void) begin_record(changes, kind, id, &none, 0);
}

void
lw_put_bulk(LwBuffer *changes, LwString directory, const LwManifestSegment *segment)
{
	(void) begin_record(changes, LW_CHANGE_BULK, directory, segment, 0);
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
	record->segment.id = head.segment;
	record->segment.documents = head.documents;
	record->segment.tokens = head.tokens;
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

bool
lw_changes_delete(const LwBytes *pieces, size_t npieces, LwChangeFormat format)
{
	size_t		i;

	for (i = 0; i < npieces; i++)
	{
		size_t		at = 0;
		bool		found = true;

		while (found)
		{
			LwChangeRecord record;
			LwError		ignored;

			if (lw_next_change(pieces[i], format, &at, &record, &found, &ignored) != LW_OK)
				return true;
			if (found && record.kind == LW_CHANGE_DELETE)
				return true;
		}
	}
	return false;
}

/* The deleted rows of a segment that the draft has changed; NULL without memory. */
static LwTombstones *
make_tombstones(const LwDraftSegment *segment)
{
	size_t		size = (size_t) (segment->entry.documents / 8 + 1);
	LwTombstones *tombstones = calloc(1, sizeof(LwTombstones));

	if (tombstones == NULL)
		return NULL;
	tombstones->references = 1;
	tombstones->segment = segment->entry.id;
	tombstones->count = segment->ndeleted;
	tombstones->deleted = malloc(size);
	if (tombstones->deleted == NULL)
	{
		lw_tombstones_release(tombstones);
		return NULL;
	}
	memcpy(tombstones->deleted, segment->deleted, size);
	return tombstones;
}

LwStatus
lw_draft_view(LwDraft *draft, LwView **view, LwError *error)
{
	size_t		n = draft->nsegments;
	LwManifestSegment *entries = calloc(n + 1, sizeof(LwManifestSegment));
	LwSegment **segments = calloc(n + 1, sizeof(LwSegment *));
	LwTombstones **tombstones = calloc(n + 1, sizeof(LwTombstones *));
	LwStatus	status = LW_OK;
	size_t		i;

	if (entries == NULL || segments == NULL || tombstones == NULL)
		status = lw_fail_errno(error, ENOMEM, "open a view");
	for (i = 0; status == LW_OK && i < n; i++)
	{
		LwDraftSegment *segment = &draft->segments[i];

		status = lw_draft_open(draft, i, error);
		if (status != LW_OK)
			break;
		entries[i] = segment->entry;
		segments[i] = segment->segment;
		if (segment->deleted != NULL)
			tombstones[i] = make_tombstones(segment);
		else if (segment->tombstones != NULL)
		{
			tombstones[i] = segment->tombstones;
			tombstones[i]->references++;
		}
		if (segment->deleted != NULL && tombstones[i] == NULL)
			status = lw_fail_errno(error, ENOMEM, "open a view");
	}
	if (status == LW_OK)
		status = lw_view_assemble(draft->view, entries, segments, tombstones, n, view, error);
	/* what is laid over this one comes after it */
	if (status == LW_OK)
		(*view)->manifest.next_segment_id = draft->next_segment_id;
	for (i = 0; tombstones != NULL && i < n; i++)
		lw_tombstones_release(tombstones[i]);
	free(entries);
	free(segments);
	free(tombstones);
	return status;
}
