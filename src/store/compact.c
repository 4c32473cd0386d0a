/*-------------------------------------------------------------------------
 *
 * compact.c
 *	  Copying documents of many segments into one, as they are.
 *
 * Nothing is decoded or checked, so a token that cannot be scored stays as it
 * is.  Memory: what a view has, and the writer's buffers.
 *
 *-------------------------------------------------------------------------
 */
#include "store/compact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/fault.h"
#include "store/publish.h"

/* What is done between two pauses, in bytes copied and rows looked at. */
#define BLOCK_SIZE ((uint64_t) 256 * 1024)
#define BLOCK_ROWS 4096

/* Whether a row is to be copied: no later one of its id, not deleted, wanted. */
static LwStatus
is_wanted(LwDraft *draft, LwPlace place, LwString id, const LwCopyControl *control, bool *wanted, LwError *error)
{
	LwPlace		newest;
	bool		found;
	LwStatus	status;

	*wanted = false;
	if (lw_draft_deleted(draft, place) ||
		(control != NULL && control->skip != NULL && control->skip(control->arg, id)))
		return LW_OK;
	status = lw_draft_find(draft, id.data, id.size, &newest, &found, error);
	*wanted = found && newest.segment == place.segment;
	return status;
}

/* A pause; LW_CANCELLED when the caller wants no more. */
static LwStatus
end_block(const LwDraft *draft, const LwCopyControl *control, uint64_t bytes, LwError *error)
{
	lw_error_path(error, NULL, draft->directory.path);
	if (control != NULL && control->stop != NULL && control->stop(control->arg, bytes))
		return lw_fail(error, LW_CANCELLED, NULL, -1, "to go on", "a request to stop");
	return LW_FAULT("compact-block");
}

/* Copies one row, if it is wanted, and adds its bytes. */
static LwStatus
copy_row(LwDraft *draft, LwPlace place, LwSegmentWriter *writer,
		 const LwCopyControl *control, uint64_t *bytes, LwError *error)
{
	const LwSegment *segment = draft->segments[place.segment].segment;
	LwDocument	document;
	LwString	id;
	bool		wanted;
	LwStatus	status;

	id.data = lw_ids_get(&segment->ids, place.row, &id.size);
	status = is_wanted(draft, place, id, control, &wanted, error);
	if (status == LW_OK && wanted)
	{
		status = lw_segment_document(segment, place.row, &document, error);
		if (status != LW_OK)
			return status;
		*bytes += document.tokens * segment->row_size;
		status = lw_segment_write_encoded(writer, id, &document, error);
	}
	return status;
}

static LwStatus
copy_segment(LwDraft *draft, size_t position, LwSegmentWriter *writer,
			 const LwCopyControl *control, LwError *error)
{
	const LwSegment *segment = draft->segments[position].segment;
	LwPlace		place = {position, 0};
	uint64_t	bytes = 0;
	LwStatus	status = LW_OK;

	for (; status == LW_OK && place.row < segment->documents; place.row++)
	{
		status = copy_row(draft, place, writer, control, &bytes, error);
		if (status == LW_OK && (bytes >= BLOCK_SIZE || (place.row + 1) % BLOCK_ROWS == 0))
		{
			status = end_block(draft, control, bytes, error);
			bytes = 0;
		}
	}
	if (status == LW_OK)
		status = end_block(draft, control, bytes, error);
	/* zeros in place of what was cut off must not be published */
	return status == LW_OK ? lw_segment_check(segment, error) : status;
}

LwStatus
lw_draft_copy(LwDraft *draft, size_t first, size_t count, LwSegmentWriter *writer,
			  const LwCopyControl *control, LwError *error)
{
	LwStatus	status = LW_OK;
	size_t		i;

	for (i = first; status == LW_OK && i < first + count; i++)
	{
		status = lw_draft_open(draft, i, error);
		if (status == LW_OK)
			status = copy_segment(draft, i, writer, control, error);
	}
	return status;
}

bool
lw_view_compactable(const LwView *view)
{
	return view->manifest.nsegments > 1 || lw_view_deleted(view) > 0;
}

LwStatus
lw_compact_begin(LwView *view, LwDirectory directory, double committed_at, uint64_t *id, LwError *error)
{
	LwDraft		draft;
	LwStatus	status = lw_draft_begin(&draft, view, directory, error);

	if (status != LW_OK)
		return status;
	status = lw_draft_take_id(&draft, id, error);
	if (status == LW_OK)
		status = lw_draft_write(&draft, committed_at, error);
	if (status == LW_OK)
		status = lw_draft_publish(&draft, error);
	lw_draft_free(&draft);
	return status;
}

/* Ends the writer, or removes its files when they would hold nothing. */
static LwStatus
end_copy(LwSegmentWriter *writer, LwDirectory staging, LwManifestSegment *entry, LwError *error)
{
	LwStatus	status;

	if (writer->entry.documents == 0)
	{
		*entry = writer->entry;
		lw_segment_write_abort(writer);
		return LW_OK;
	}
	status = lw_segment_write_end(writer, entry, error);
	return status == LW_OK ? lw_directory_sync(staging, error) : status;
}

LwStatus
lw_compact_copy(LwView *view, LwDirectory directory, LwDirectory staging, uint64_t id,
				const LwCopyControl *control, LwManifestSegment *entry, LwError *error)
{
	LwSegmentWriter writer;
	LwDraft		draft;
	LwStatus	status = lw_draft_begin(&draft, view, directory, error);

	if (status != LW_OK)
		return status;
	status = lw_segment_write_begin(&writer, staging, id, view->manifest.encoding, view->manifest.dimension, error);
	if (status == LW_OK)
	{
		status = lw_draft_copy(&draft, 0, draft.nsegments, &writer, control, error);
		if (status == LW_OK)
			status = end_copy(&writer, staging, entry, error);
		else
			lw_segment_write_abort(&writer);
	}
	lw_draft_free(&draft);
	return status;
}

/* LW_OUTDATED unless a draft begins with the segments of a view. */
static LwStatus
check_copied(const LwDraft *draft, const LwView *copied, LwError *error)
{
	size_t		i;

	for (i = 0; i < copied->manifest.nsegments; i++)
		if (i == draft->nsegments || draft->segments[i].entry.id != copied->manifest.segments[i].id)
		{
			lw_error_path(error, draft->directory.path, LW_MANIFEST_NAME);
			return lw_fail(error, LW_OUTDATED, "CompactionOvertaken", -1, "the segments that were copied",
						   "no segment %" PRIu64, copied->manifest.segments[i].id);
		}
	return LW_OK;
}

/* Marks the rows of the copy whose documents were appended again since, in segment `position` of the draft. */
static LwStatus
mark_replaced(LwDraft *draft, size_t position, const LwSegment *copy, uint8_t *gone, LwError *error)
{
	LwStatus	status = lw_draft_open(draft, position, error);
	uint64_t	row;

	for (row = 0; status == LW_OK && row < draft->segments[position].entry.documents; row++)
	{
		size_t		size;
		const char *id = lw_ids_get(&draft->segments[position].segment->ids, row, &size);
		uint64_t	copied_row = lw_idmap_find(&copy->idmap, &copy->ids, id, size, lw_id_hash(id, size));

		if (copied_row != LW_IDMAP_NONE)
			lw_set_bit(gone, copied_row);
	}
	return status;
}

/* Marks the rows of the copy that were made from rows of segment `position` and deleted since. */
static void
mark_deleted(const LwDraft *draft, size_t position, const LwView *copied, const LwSegment *copy, uint8_t *gone)
{
	const LwSegment *segment = copied->segments[position];
	const LwTombstones *before = copied->tombstones[position];
	LwPlace		place = {position, 0};

	if (draft->segments[position].deleted == NULL && draft->segments[position].tombstones == before)
		return;
	for (; place.row < segment->documents; place.row++)
	{
		LwPlace		newest;
		size_t		size;
		const char *id;
		uint64_t	row;

		if (!lw_draft_deleted(draft, place) || (before != NULL && lw_bit(before->deleted, place.row)))
			continue;
		id = lw_ids_get(&segment->ids, place.row, &size);
		if (!lw_merged_find(&copied->merged, copied->segments, id, size, &newest.segment, &newest.row) ||
			newest.segment != position)
			continue;
		row = lw_idmap_find(&copy->idmap, &copy->ids, id, size, lw_id_hash(id, size));
		if (row != LW_IDMAP_NONE)
			lw_set_bit(gone, row);
	}
}

/* Puts the copy, which lies in the store by now, in place of the copied segments. */
static LwStatus
replace(LwDraft *draft, size_t count, const LwManifestSegment *entry, LwSegment *copy,
		const uint8_t *gone, LwError *error)
{
	LwPlace		place = {0, 0};
	LwStatus	status = lw_draft_drop(draft, 0, count, error);

	if (status == LW_OK)
		status = lw_draft_add(draft, entry, copy, error);
	else
		lw_segment_unlink(draft->directory, entry->id, draft->view->manifest.encoding);
	for (; status == LW_OK && place.row < entry->documents; place.row++)
		if (lw_bit(gone, place.row))
			status = lw_draft_delete_row(draft, place, error);
	return status;
}

/* Links the copy into the store and replaces the copied segments by it. */
static LwStatus
apply(LwDraft *draft, const LwView *copied, LwDirectory staging, const LwManifestSegment *entry,
	  LwSegment *copy, uint8_t *gone, LwError *error)
{
	size_t		count = copied->manifest.nsegments;
	LwStatus	status = LW_OK;
	size_t		i;

	for (i = 0; i < count; i++)
		mark_deleted(draft, i, copied, copy, gone);
	for (i = count; status == LW_OK && i < draft->nsegments; i++)
		status = mark_replaced(draft, i, copy, gone, error);
	if (status == LW_OK)
		status = lw_segment_link(staging, entry->id, draft->directory, entry->id,
								 draft->view->manifest.encoding, error);
	return status == LW_OK ? replace(draft, count, entry, copy, gone, error) : status;
}

LwStatus
lw_compact_apply(LwDraft *draft, const LwView *copied, LwDirectory staging,
				 const LwManifestSegment *entry, LwError *error)
{
	LwSegment  *copy;
	uint8_t    *gone;
	LwStatus	status = check_copied(draft, copied, error);

	if (status != LW_OK)
		return status;
	if (entry->documents == 0)
		return lw_draft_drop(draft, 0, copied->manifest.nsegments, error);
	status = lw_segment_open(staging.fd, staging.path, &copied->manifest, entry, NULL, &copy, error);
	if (status != LW_OK)
		return status;
	gone = calloc(1, (size_t) (entry->documents / 8 + 1));
	if (gone == NULL)
		status = lw_fail_errno(error, ENOMEM, "compact");
	else
		status = apply(draft, copied, staging, entry, copy, gone, error);
	free(gone);
	lw_segment_release(copy);
	return status;
}
