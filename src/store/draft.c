/*-------------------------------------------------------------------------
 *
 * draft.c
 *	  The next commit of a store in the making.
 *
 *-------------------------------------------------------------------------
 */
#include "store/draft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static LwStatus
no_memory(const LwDraft *draft, LwError *error)
{
	lw_error_path(error, NULL, draft->directory.path);
	return lw_fail_errno(error, ENOMEM, "change");
}

/* Makes room for one more segment. */
static LwStatus
reserve_segment(LwDraft *draft, LwError *error)
{
	size_t		room = draft->room < 8 ? 16 : draft->room * 2;
	LwDraftSegment *more;

	if (draft->nsegments < draft->room)
		return LW_OK;
	more = realloc(draft->segments, room * sizeof(LwDraftSegment));
	if (more == NULL)
		return no_memory(draft, error);
	draft->segments = more;
	draft->room = room;
	return LW_OK;
}

LwStatus
lw_draft_begin(LwDraft *draft, LwView *view, LwDirectory directory, LwError *error)
{
	size_t		n = view->manifest.nsegments;
	size_t		i;

	memset(draft, 0, sizeof(*draft));
	draft->directory = directory;
	draft->next_segment_id = view->manifest.next_segment_id;
	draft->next_name = LW_MANIFEST_NEXT;
	draft->room = n + 4;
	draft->segments = calloc(draft->room, sizeof(LwDraftSegment));
	if (draft->segments == NULL)
		return no_memory(draft, error);
	draft->view = lw_view_retain(view);
	lw_buffer_init(&draft->text, 0);
	for (i = 0; i < n; i++)
	{
		LwDraftSegment *segment = &draft->segments[i];

		segment->entry = view->manifest.segments[i];
		segment->segment = view->segments[i];
		segment->tombstones = view->tombstones[i];
		if (segment->segment == NULL)
			draft->unmerged = true;
		else
			segment->segment->references++;
		if (segment->tombstones == NULL)
			continue;
		segment->tombstones->references++;
		segment->ndeleted = segment->tombstones->count;
	}
	draft->nbase = draft->nsegments = n;
	return LW_OK;
}

/* Lets go of a segment, and of its files when they are the draft's. */
static void
release_segment(const LwDraft *draft, LwDraftSegment *segment)
{
	char		name[LW_NAME_SIZE];

	if (segment->made && !draft->published)
		lw_segment_unlink(draft->directory, segment->entry.id, draft->view->manifest.encoding);
	if (segment->tombstones_made && !draft->published)
	{
		lw_tombstones_name(name, segment->entry.id, draft->manifest.commit);
		(void) unlinkat(draft->directory.fd, name, 0);
	}
	lw_segment_release(segment->segment);
	lw_tombstones_release(segment->tombstones);
	free(segment->deleted);
}

void
lw_draft_free(LwDraft *draft)
{
	size_t		i;

	for (i = 0; i < draft->nsegments; i++)
		release_segment(draft, &draft->segments[i]);
	if (draft->manifest_made && !draft->published)
		(void) unlinkat(draft->directory.fd, draft->next_name, 0);
	free(draft->segments);
	free(draft->manifest.segments);
	lw_buffer_free(&draft->text);
	lw_view_release(draft->view);
	memset(draft, 0, sizeof(*draft));
}

LwStatus
lw_draft_take_id(LwDraft *draft, uint64_t *id, LwError *error)
{
	if (draft->next_segment_id == UINT64_MAX)
	{
		lw_error_path(error, NULL, draft->directory.path);
		return lw_fail(error, LW_LIMIT, "SegmentLimit", -1, "a segment id of at most 2^64 - 2", "all of them used");
	}
	*id = draft->next_segment_id++;
	return LW_OK;
}

LwStatus
lw_draft_add(LwDraft *draft, const LwManifestSegment *entry, LwSegment *opened, LwError *error)
{
	LwDraftSegment *segment;
	size_t		position = draft->nsegments;
	LwStatus	status = reserve_segment(draft, error);

	if (status != LW_OK)
	{
		lw_segment_unlink(draft->directory, entry->id, draft->view->manifest.encoding);
		return status;
	}
	while (position > 0 && draft->segments[position - 1].entry.id > entry->id)
		position--;
	if (position < draft->nbase)
		draft->unmerged = true;
	segment = &draft->segments[position];
	memmove(segment + 1, segment, (draft->nsegments - position) * sizeof(LwDraftSegment));
	draft->nsegments++;
	memset(segment, 0, sizeof(*segment));
	segment->entry = *entry;
	segment->made = true;
	if (opened != NULL)
	{
		opened->references++;
		segment->segment = opened;
	}
	return LW_OK;
}

LwStatus
lw_draft_open(LwDraft *draft, size_t position, LwError *error)
{
	LwDraftSegment *segment = &draft->segments[position];
	LwStatus	status = LW_OK;

	if (segment->segment == NULL)
		status = lw_segment_open(draft->directory.fd, draft->directory.path, &draft->view->manifest,
								 &segment->entry, NULL, &segment->segment, error);
	if (status != LW_OK || !segment->entry.has_tombstones || segment->tombstones != NULL)
		return status;
	status = lw_tombstones_open(draft->directory.fd, draft->directory.path, &segment->entry, NULL,
								&segment->tombstones, error);
	if (status == LW_OK)
		segment->ndeleted = segment->tombstones->count;
	return status;
}

/* Looks an id up in the segments before `end`, from `begin` on, one by one. */
static LwStatus
find_between(LwDraft *draft, size_t begin, size_t end, const char *id, size_t size,
			 LwPlace *place, bool *found, LwError *error)
{
	uint64_t	hash = lw_id_hash(id, size);

	*found = false;
	for (place->segment = end; place->segment-- > begin;)
	{
		LwStatus	status = lw_draft_open(draft, place->segment, error);
		const LwSegment *segment;

		if (status != LW_OK)
			return status;
		segment = draft->segments[place->segment].segment;
		place->row = lw_idmap_find(&segment->idmap, &segment->ids, id, size, hash);
		if (place->row != LW_IDMAP_NONE)
		{
			*found = true;
			return LW_OK;
		}
	}
	return LW_OK;
}

LwStatus
lw_draft_find(LwDraft *draft, const char *id, size_t size, LwPlace *place, bool *found, LwError *error)
{
	size_t		base = draft->unmerged ? 0 : draft->nbase;
	LwStatus	status = find_between(draft, base, draft->nsegments, id, size, place, found, error);

	if (status == LW_OK && !*found && !draft->unmerged)
		*found = lw_merged_find(&draft->view->merged, draft->view->segments, id, size,
								&place->segment, &place->row);
	return status;
}

bool
lw_draft_deleted(const LwDraft *draft, LwPlace place)
{
	const LwDraftSegment *segment = &draft->segments[place.segment];

	if (segment->deleted != NULL)
		return lw_bit(segment->deleted, place.row);
	return segment->tombstones != NULL && lw_bit(segment->tombstones->deleted, place.row);
}

LwStatus
lw_draft_delete_row(LwDraft *draft, LwPlace place, LwError *error)
{
	LwDraftSegment *segment = &draft->segments[place.segment];
	size_t		size = (size_t) (segment->entry.documents / 8 + 1);

	if (lw_draft_deleted(draft, place))
		return LW_OK;
	if (segment->deleted == NULL)
	{
		segment->deleted = calloc(1, size);
		if (segment->deleted == NULL)
			return no_memory(draft, error);
		if (segment->tombstones != NULL)
			memcpy(segment->deleted, segment->tombstones->deleted, size);
	}
	lw_set_bit(segment->deleted, place.row);
	segment->ndeleted++;
	return LW_OK;
}

LwStatus
lw_draft_delete(LwDraft *draft, const char *id, size_t size, bool *present, LwError *error)
{
	LwPlace		place;
	LwStatus	status = lw_draft_find(draft, id, size, &place, present, error);

	if (status != LW_OK || !*present)
		return status;
	*present = !lw_draft_deleted(draft, place);
	return *present ? lw_draft_delete_row(draft, place, error) : LW_OK;
}

/* Deletes, in the segments before `first`, the documents whose absence segment `position` decides. */
static LwStatus
bury(LwDraft *draft, size_t first, size_t position, LwError *error)
{
	LwPlace		place = {position, 0};
	LwStatus	status = lw_draft_open(draft, position, error);

	for (; status == LW_OK && place.row < draft->segments[position].entry.documents; place.row++)
	{
		LwPlace		other;
		bool		found;
		size_t		size;
		const char *id;

		if (!lw_draft_deleted(draft, place))
			continue;
		id = lw_ids_get(&draft->segments[position].segment->ids, place.row, &size);
		status = lw_draft_find(draft, id, size, &other, &found, error);
		if (status != LW_OK || !found || other.segment != position)
			continue;
		status = find_between(draft, 0, first, id, size, &other, &found, error);
		if (status == LW_OK && found)
			status = lw_draft_delete_row(draft, other, error);
	}
	return status;
}

LwStatus
lw_draft_drop(LwDraft *draft, size_t first, size_t count, LwError *error)
{
	LwStatus	status = LW_OK;
	size_t		i;

	for (i = first; status == LW_OK && first > 0 && i < first + count; i++)
		if (draft->segments[i].ndeleted > 0 || draft->segments[i].entry.has_tombstones)
			status = bury(draft, first, i, error);
	if (status != LW_OK || count == 0)
		return status;
	for (i = first; i < first + count; i++)
		release_segment(draft, &draft->segments[i]);
	memmove(draft->segments + first, draft->segments + first + count,
			(draft->nsegments - first - count) * sizeof(LwDraftSegment));
	draft->nsegments -= count;
	if (first < draft->nbase)
		draft->dropped = draft->unmerged = true;
	return LW_OK;
}
