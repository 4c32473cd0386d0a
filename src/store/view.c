/*-------------------------------------------------------------------------
 *
 * view.c
 *	  One commit of a vector store: segments, presence, documents.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

/* From how many segments on superseded rows are found by one table over all ids instead of by pairs. */
#define PAIRWISE_SEGMENTS 8

static uint64_t last_serial;

LwView *
lw_view_retain(LwView *view)
{
	view->references++;
	return view;
}

void
lw_view_release(LwView *view)
{
	size_t		i;

	if (view == NULL || --view->references > 0)
		return;
	for (i = 0; i < view->manifest.nsegments; i++)
	{
		if (view->segments != NULL)
			lw_segment_release(view->segments[i]);
		if (view->tombstones != NULL)
			lw_tombstones_release(view->tombstones[i]);
		if (view->hidden != NULL)
			free(view->hidden[i]);
	}
	lw_merged_free(&view->merged);
	free(view->segments);
	free(view->tombstones);
	free(view->hidden);
	lw_manifest_free(&view->manifest);
	free(view->directory);
	free(view);
}

/* Position of the segment with this id, or nsegments; ids ascend. */
static size_t
find_segment(const LwView *view, uint64_t id)
{
	size_t		low = 0;
	size_t		high = view->manifest.nsegments;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (view->segments[middle]->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < view->manifest.nsegments && view->segments[low]->id == id)
		return low;
	return view->manifest.nsegments;
}

/* Takes segment i from the previous view when that has it, else opens it. */
static LwStatus
take_segment(int dirfd, LwView *view, const LwView *previous, size_t i, LwError *error)
{
	const LwManifestSegment *entry = &view->manifest.segments[i];
	size_t		at = previous == NULL ? 0 : find_segment(previous, entry->id);
	LwStatus	status;

	if (previous != NULL && at < previous->manifest.nsegments &&
		lw_segment_check(previous->segments[at], error) == LW_OK)
	{
		LwSegment  *segment = previous->segments[at];

		if (segment->documents != entry->documents || segment->tokens != entry->tokens)
		{
			lw_error_path(error, view->directory, LW_MANIFEST_NAME);
			return lw_fail(error, LW_MALFORMED, "SegmentChanged", -1, "published segments to keep their counts",
						   "%" PRIu64 " documents and %" PRIu64 " tokens in segment %" PRIu64
						   ", which had %" PRIu64 " and %" PRIu64,
						   entry->documents, entry->tokens, entry->id, segment->documents, segment->tokens);
		}
		segment->references++;
		view->segments[i] = segment;
	}
	else
	{
		status = lw_segment_open(dirfd, view->directory, &view->manifest, entry, NULL, &view->segments[i], error);
		if (status != LW_OK)
			return status;
	}

	if (!entry->has_tombstones)
		return LW_OK;
	if (previous != NULL && at < previous->manifest.nsegments && previous->tombstones[at] != NULL &&
		previous->tombstones[at]->commit == entry->tombstones)
	{
		view->tombstones[i] = previous->tombstones[at];
		view->tombstones[i]->references++;
		return LW_OK;
	}
	return lw_tombstones_open(dirfd, view->directory, entry, NULL, &view->tombstones[i], error);
}

/* Gives up a view that could not be made: the manifest stays the caller's. */
static void
give_up(LwView *view)
{
	/* its length is needed to release what was opened */
	view->manifest.strings = NULL;
	view->manifest.segments = NULL;
	lw_view_release(view);
}

LwStatus
lw_view_unopened(const char *directory, LwManifest *manifest, LwView **result, LwError *error)
{
	LwView	   *view = calloc(1, sizeof(LwView));
	size_t		room = manifest->nsegments + 1; /* never 0: calloc may then give NULL */

	if (view == NULL)
		return lw_fail_errno(error, ENOMEM, "open a view");
	view->references = 1;
	view->serial = ++last_serial;
	view->directory = strdup(directory);
	view->segments = calloc(room, sizeof(LwSegment *));
	view->tombstones = calloc(room, sizeof(LwTombstones *));
	view->manifest = *manifest;
	if (view->directory == NULL || view->segments == NULL || view->tombstones == NULL)
	{
		give_up(view);
		return lw_fail_errno(error, ENOMEM, "open a view");
	}
	*result = view;
	return LW_OK;
}

LwStatus
lw_view_open(int dirfd, const char *directory, LwManifest *manifest,
			 const LwView *previous, LwView **result, LwError *error)
{
	LwView	   *view;
	LwStatus	status = lw_view_unopened(directory, manifest, &view, error);
	size_t		i;

	if (status != LW_OK)
		return status;
	for (i = 0; status == LW_OK && i < manifest->nsegments; i++)
		status = take_segment(dirfd, view, previous, i, error);
	if (status == LW_OK)
		status = lw_merged_build(view->segments, manifest->nsegments, &view->merged, error);
	if (status == LW_OK && lw_map_faults != 0)
		status = lw_view_check(view, error);
	if (status != LW_OK)
		give_up(view);
	else
		*result = view;
	return status;
}

/* A copy of a manifest with other segments. */
static bool
copy_manifest(const LwManifest *from, const LwManifestSegment *entries, size_t count, LwManifest *to)
{
	void	   *flat = malloc(lw_manifest_flat_size(from));
	LwManifestSegment *segments = malloc((count + 1) * sizeof(LwManifestSegment));
	bool		copied = false;

	if (flat != NULL && segments != NULL)
	{
		lw_manifest_flatten(from, flat);
		copied = lw_manifest_unflatten(flat, to);
	}
	free(flat);
	if (!copied)
	{
		free(segments);
		return false;
	}
	memcpy(segments, entries, count * sizeof(LwManifestSegment));
	free(to->segments);
	to->segments = segments;
	to->nsegments = count;
	return true;
}

LwStatus
lw_view_assemble(const LwView *base, const LwManifestSegment *entries, LwSegment *const *segments,
				 LwTombstones *const *tombstones, size_t count, LwView **result, LwError *error)
{
	LwView	   *view = calloc(1, sizeof(LwView));
	LwStatus	status = LW_OK;
	size_t		i;

	lw_error_path(error, NULL, base->directory);
	if (view == NULL || !copy_manifest(&base->manifest, entries, count, &view->manifest))
	{
		free(view);
		return lw_fail_errno(error, ENOMEM, "open a view");
	}
	view->references = 1;
	view->serial = ++last_serial;
	view->directory = strdup(base->directory);
	view->segments = calloc(count + 1, sizeof(LwSegment *));
	view->tombstones = calloc(count + 1, sizeof(LwTombstones *));
	if (view->directory == NULL || view->segments == NULL || view->tombstones == NULL)
		status = lw_fail_errno(error, ENOMEM, "open a view");
	for (i = 0; status == LW_OK && i < count; i++)
	{
		view->segments[i] = segments[i];
		view->segments[i]->references++;
		view->tombstones[i] = tombstones[i];
		if (tombstones[i] != NULL)
			tombstones[i]->references++;
	}
	if (status == LW_OK)
		status = lw_merged_build(view->segments, count, &view->merged, error);
	if (status == LW_OK)
		*result = view;
	else
		lw_view_release(view);
	return status;
}

bool
lw_view_find(const LwView *view, const char *id, size_t size, LwPlace *place)
{
	const LwTombstones *tombstones;

	if (!lw_merged_find(&view->merged, view->segments, id, size, &place->segment, &place->row))
		return false;
	tombstones = view->tombstones[place->segment];
	return tombstones == NULL || !lw_bit(tombstones->deleted, place->row);
}

LwStatus
lw_view_document(const LwView *view, LwPlace place, LwDocument *document, LwError *error)
{
	return lw_segment_document(view->segments[place.segment], place.row, document, error);
}

/* Hides in the older segment what the newer one replaces, by looking the shorter list up in the longer. */
static void
hide_pair(LwView *view, size_t older, size_t newer)
{
	const LwSegment *a = view->segments[older];
	const LwSegment *b = view->segments[newer];
	bool		a_shorter = a->documents < b->documents;
	const LwSegment *from = a_shorter ? a : b;
	const LwSegment *in = a_shorter ? b : a;
	uint64_t	row;

	for (row = 0; row < from->documents; row++)
	{
		size_t		size;
		const char *id = lw_ids_get(&from->ids, row, &size);
		uint64_t	other = lw_idmap_find(&in->idmap, &in->ids, id, size, lw_id_hash(id, size));

		if (other != LW_IDMAP_NONE)
			lw_set_bit(view->hidden[older], a_shorter ? row : other);
	}
}

/* A table of all ids of the view, filled from the newest segment back. */
static LwStatus
hide_by_table(LwView *view, LwError *error)
{
	uint64_t	total = 0;
	uint64_t	mask = 4;
	LwPlace    *table;
	size_t		i;
	uint64_t	row;

	for (i = 0; i < view->manifest.nsegments; i++)
		total += view->segments[i]->documents;
	while (mask < total * 2)
		mask *= 2;
	table = calloc(mask, sizeof(LwPlace));	/* row 0 is an empty slot: rows are kept + 1 */
	if (table == NULL)
		return lw_fail_errno(error, ENOMEM, "find replaced documents");
	mask--;
	for (i = view->manifest.nsegments; i-- > 0;)
	{
		const LwSegment *segment = view->segments[i];

		for (row = 0; row < segment->documents; row++)
		{
			size_t		size;
			const char *id = lw_ids_get(&segment->ids, row, &size);
			uint64_t	slot = lw_id_hash(id, size) & mask;

			for (; table[slot].row != 0; slot = (slot + 1) & mask)
			{
				size_t		other_size;
				const char *other = lw_ids_get(&view->segments[table[slot].segment]->ids,
											   table[slot].row - 1, &other_size);

				if (size == other_size && memcmp(id, other, size) == 0)
					break;
			}
			if (table[slot].row != 0)
				lw_set_bit(view->hidden[i], row);
			else
			{
				table[slot].segment = i;
				table[slot].row = row + 1;
			}
		}
	}
	free(table);
	return LW_OK;
}

/* Hides deleted and unnameable rows and counts the rest. */
static void
hide_and_count(LwView *view, size_t i)
{
	const LwSegment *segment = view->segments[i];
	uint64_t	row;

	for (row = 0; row < segment->documents; row++)
	{
		LwDocument	document;
		LwError		ignored;

		if (lw_bit(view->hidden[i], row))
			continue;
		if (view->tombstones[i] != NULL && lw_bit(view->tombstones[i]->deleted, row))
		{
			lw_set_bit(view->hidden[i], row);
			continue;
		}
		if (segment->unnameable > 0)
		{
			size_t		size;
			const char *id = lw_ids_get(&segment->ids, row, &size);

			if (memchr(id, '\0', size) != NULL)
			{
				lw_set_bit(view->hidden[i], row);
				view->unnameable++;
				continue;
			}
		}
		view->documents++;
		if (lw_segment_document(segment, row, &document, &ignored) == LW_OK)
			view->tokens += document.tokens;
	}
}

LwStatus
lw_view_hidden(LwView *view, LwError *error)
{
	size_t		n = view->manifest.nsegments;
	LwStatus	status = LW_OK;
	size_t		i;
	size_t		j;

	if (view->hidden != NULL)
		return LW_OK;
	view->hidden = calloc(n + 1, sizeof(uint8_t *));
	if (view->hidden == NULL)
		return lw_fail_errno(error, ENOMEM, "find replaced documents");
	for (i = 0; i < n && status == LW_OK; i++)
	{
		view->hidden[i] = calloc(1, view->segments[i]->documents / 8 + 1);
		if (view->hidden[i] == NULL)
			status = lw_fail_errno(error, ENOMEM, "find replaced documents");
	}
	if (status == LW_OK && n > PAIRWISE_SEGMENTS)
		status = hide_by_table(view, error);
	view->documents = view->tokens = view->unnameable = 0;
	for (i = 0; i < n && status == LW_OK; i++)
	{
		if (n <= PAIRWISE_SEGMENTS)
			for (j = i + 1; j < n; j++)
				hide_pair(view, i, j);
		hide_and_count(view, i);
	}
	if (status == LW_OK && lw_map_faults != 0)
		status = lw_view_check(view, error);
	if (status != LW_OK)
	{
		for (i = 0; i < n; i++)
			free(view->hidden[i]);
		free(view->hidden);
		view->hidden = NULL;
	}
	return status;
}

LwStatus
lw_view_check(const LwView *view, LwError *error)
{
	LwStatus	status = LW_OK;
	size_t		i;

	for (i = 0; status == LW_OK && i < view->manifest.nsegments; i++)
		status = lw_segment_check(view->segments[i], error);
	return status;
}

const char *
lw_view_score_semantics(const LwView *view)
{
	return view->manifest.encoding == LW_FLOAT32 ? "float32-exact-full-maxsim" :
		"int8-reconstructed-approximate-full-maxsim";
}

uint64_t
lw_view_deleted(const LwView *view)
{
	uint64_t	deleted = 0;
	size_t		i;

	for (i = 0; i < view->manifest.nsegments; i++)
		if (view->tombstones[i] != NULL)
			deleted += view->tombstones[i]->count;
	return deleted;
}

uint64_t
lw_view_bytes(const LwView *view)
{
	uint64_t	bytes = 0;
	size_t		i;

	for (i = 0; i < view->manifest.nsegments; i++)
	{
		const LwSegment *segment = view->segments[i];

		if (segment->offsets_map == NULL)
			continue;			/* not published yet */
		bytes += segment->offsets_map->size + segment->rows_map->size;
		if (segment->scales_map != NULL)
			bytes += segment->scales_map->size;
	}
	return bytes;
}
