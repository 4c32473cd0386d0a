/*-------------------------------------------------------------------------
 *
 * chunks.c
 *	  Spans of chunks, and the lists of ids and spans.
 *
 * The lists point into their payloads.  What they point to was checked when
 * the list was made, and stays within the payload if that is a map that
 * changes.
 *
 *-------------------------------------------------------------------------
 */
#include "section/chunks.h"

#include <string.h>

#include "section/framed.h"
#include "section/parts.h"

#define OVERLAY_VERSION 1
#define OVERLAY_ENTRY 20		/* a u32 and two u64 */
#define NO_BLOB UINT32_MAX

LwStatus
lw_ordinal_check(const LwSectionFile *file, size_t ordinal, LwError *error)
{
	if (ordinal < file->rows)
		return LW_OK;
	return lw_fail(error, LW_NOT_FOUND, "ChunkNotFound", -1, "a chunk of the file", "ordinal %zu of %zu",
				   ordinal, file->rows);
}

LwStatus
lw_ids_load(LwSectionFile *file, LwError *error)
{
	LwBytes		payload;
	LwStatus	status;

	if (file->parts->ids != NULL)
		return LW_OK;
	status = lw_section_payload(file, LW_SECTION_CHUNK_IDS, &payload, error);
	if (status == LW_OK)
		status = lw_section_hold(file, file->rows * sizeof(LwBytes), error);
	if (status != LW_OK)
		return status;
	if (lw_strings_decode(payload, file->rows, &file->parts->ids, error) == LW_OK)
		return LW_OK;
	lw_section_free(file, NULL, file->rows * sizeof(LwBytes));
	return lw_section_of(error, LW_SECTION_CHUNK_IDS);
}

LwStatus
lw_spans_load(LwSectionFile *file, LwError *error)
{
	LwBytes		payload;
	LwStatus	status;

	if (file->parts->spans != NULL)
		return LW_OK;
	status = lw_section_payload(file, LW_SECTION_SPANS, &payload, error);
	if (status == LW_OK)
		status = lw_section_hold(file, file->rows * sizeof(LwSourceSpan), error);
	if (status != LW_OK)
		return status;
	if (lw_spans_decode(payload, file->rows, &file->parts->spans, error) == LW_OK)
		return LW_OK;
	lw_section_free(file, NULL, file->rows * sizeof(LwSourceSpan));
	return lw_section_of(error, LW_SECTION_SPANS);
}

static LwStatus
bad_overlay(LwError *error, const char *expected, const char *found)
{
	return lw_section_malformed(error, LW_SECTION_OVERLAY, expected, found);
}

/* The blob of an overlay's entry and its range. */
static uint32_t
overlay_entry(LwBytes overlay, size_t ordinal, uint64_t *start, uint64_t *end)
{
	LwCursor	cursor = lw_cursor(overlay);
	uint32_t	blob = NO_BLOB;

	cursor.at = ordinal * OVERLAY_ENTRY;
	lw_take_u32(&cursor, &blob);
	lw_take_u64(&cursor, start);
	lw_take_u64(&cursor, end);
	return blob;
}

/* Checks the payload of 0x16 and finds its entries. */
static LwStatus
read_overlay(LwBytes payload, LwBytes *entries, LwError *error)
{
	LwCursor	cursor = lw_cursor(payload);
	uint32_t	version;
	uint64_t	count;

	if (payload.size < sizeof(version) + sizeof(count) ||
		!lw_take_u32(&cursor, &version) || !lw_take_u64(&cursor, &count))
		return bad_overlay(error, "a version and a count", "fewer than 12 bytes");
	if (version != OVERLAY_VERSION)
		return lw_section_bad_version(error, LW_SECTION_OVERLAY, version);
	if (count > lw_cursor_left(&cursor) / OVERLAY_ENTRY)
		return bad_overlay(error, "as many entries as there is room for", "a larger count");
	lw_take_bytes(&cursor, (size_t) count * OVERLAY_ENTRY, entries);
	if (lw_cursor_left(&cursor) != 0)
		return bad_overlay(error, "nothing behind the entries", "more bytes");
	return LW_OK;
}

/* Reads the overlay where the manifest says that there are blobs. */
LwStatus
lw_overlay_load(LwSectionFile *file, LwError *error)
{
	LwSectionParts *parts = file->parts;
	LwBytes		entries;
	LwBytes		payload;
	uint64_t	start;
	uint64_t	end;
	size_t		i;
	LwStatus	status;

	if (parts->overlay_known)
		return LW_OK;
	if (file->manifest.blobs_present && lw_section_find(file, LW_SECTION_OVERLAY) != NULL)
	{
		status = lw_blobs_load(file, error);
		if (status == LW_OK)
			status = lw_section_payload(file, LW_SECTION_OVERLAY, &payload, error);
		if (status == LW_OK)
			status = read_overlay(payload, &entries, error);
		if (status != LW_OK)
			return status;
		for (i = 0; i < file->rows && i < entries.size / OVERLAY_ENTRY; i++)
		{
			uint32_t	blob = overlay_entry(entries, i, &start, &end);

			if (blob != NO_BLOB && blob >= parts->nblobs)
				return bad_overlay(error, "a blob that is listed", "a larger number");
		}
		parts->overlay = entries;
	}
	parts->overlay_known = true;
	return LW_OK;
}

LwStatus
lw_chunk_span(LwSectionFile *file, size_t ordinal, LwSpan *span, LwError *error)
{
	const LwSectionParts *parts = file->parts;
	uint64_t	start;
	uint64_t	end;

	if (lw_ordinal_check(file, ordinal, error) != LW_OK || lw_spans_load(file, error) != LW_OK ||
		lw_overlay_load(file, error) != LW_OK)
		return lw_section_failed(file, error);
	span->source = parts->spans[ordinal];
	span->is_blob = false;
	span->blob = 0;
	if (ordinal < parts->overlay.size / OVERLAY_ENTRY)
	{
		uint32_t	blob = overlay_entry(parts->overlay, ordinal, &start, &end);

		/* The file may have changed since the number was checked. */
		if (blob < parts->nblobs)
		{
			span->is_blob = true;
			span->blob = blob;
			span->source.uri = parts->blobs[blob].uri;
			span->source.start = start;
			span->source.end = end;
		}
	}
	return LW_OK;
}

/* The JSON of a text that must be JSON, and nothing behind it. */
static LwStatus
read_provenance(LwSectionFile *file, LwBytes *json, LwError *error)
{
	LwBytes		payload;
	LwFramed	framed;
	LwStatus	status;

	status = lw_section_payload(file, LW_SECTION_PROVENANCE, &payload, error);
	if (status == LW_OK)
		status = lw_framed_begin(payload, LW_SECTION_PROVENANCE, &framed, error);
	if (status == LW_OK)
		status = lw_framed_check_json(&framed, error);
	if (status == LW_OK)
		status = lw_framed_end(&framed, error);
	if (status == LW_OK)
		*json = framed.json;
	return status;
}

LwStatus
lw_section_provenance(LwSectionFile *file, LwBytes *json, LwError *error)
{
	return read_provenance(file, json, error) == LW_OK ? LW_OK : lw_section_failed(file, error);
}
