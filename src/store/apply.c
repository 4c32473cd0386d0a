/*-------------------------------------------------------------------------
 *
 * apply.c
 *	  Laying changes over a draft.
 *
 * The documents that are appended one after the other are collected in a run,
 * which knows of each id only what counts in the end.  When the run ends it
 * is a segment in memory, and written from there where files are wanted.  A
 * deletion is made in the draft at once, and taken back when the same run
 * appends the id after all: the newer segment hides the row anyway.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/changes.h"
#include "store/pending.h"

/* Calls that are a segment each: of a transaction with more of them they would be merged as soon as they are written. */
#define MAX_BATCHES 16

/* One id of the run. */
typedef struct Entry
{
	LwString	id;
	LwDocument	document;		/* what it was last appended with; tokens 0: it is deleted */
	size_t		order;			/* of that append */
	bool		buried;			/* the run deleted the row at `place` of the draft */
	LwPlace		place;
	size_t		next;			/* position + 1 of the next entry of the bucket, 0: none */
} Entry;

typedef struct Run
{
	LwDraft    *draft;
	bool		files;
	LwDirectory pending;
	size_t		count;
	size_t		room;
	size_t		appends;
	Entry	   *entries;		/* malloc'ed */
	size_t	   *buckets;		/* malloc'ed, [mask + 1]: position + 1 of an entry, 0: none */
	size_t		mask;
} Run;

static LwStatus
no_memory(const Run *run, LwError *error)
{
	lw_error_path(error, NULL, run->draft->directory.path);
	return lw_fail_errno(error, ENOMEM, "change");
}

static size_t *
bucket_of(const Run *run, LwString id)
{
	return &run->buckets[lw_id_hash(id.data, id.size) & run->mask];
}

static bool
grow(Run *run)
{
	size_t		room = run->room == 0 ? 16 : run->room * 2;
	Entry	   *entries = realloc(run->entries, room * sizeof(Entry));
	size_t	   *buckets;
	size_t		i;

	if (entries == NULL)
		return false;
	run->entries = entries;
	buckets = calloc(room * 2, sizeof(size_t));
	if (buckets == NULL)
		return false;
	free(run->buckets);
	run->buckets = buckets;
	run->room = room;
	run->mask = room * 2 - 1;
	for (i = 0; i < run->count; i++)
	{
		size_t	   *bucket = bucket_of(run, entries[i].id);

		entries[i].next = *bucket;
		*bucket = i + 1;
	}
	return true;
}

/* The entry of an id, or NULL. */
static Entry *
find_entry(const Run *run, LwString id)
{
	size_t		at = run->count == 0 ? 0 : *bucket_of(run, id);

	for (; at != 0; at = run->entries[at - 1].next)
		if (lw_string_equal(run->entries[at - 1].id, id))
			return &run->entries[at - 1];
	return NULL;
}

/* A new entry for an id; NULL without memory. */
static Entry *
add_entry(Run *run, LwString id)
{
	Entry	   *entry;
	size_t	   *bucket;

	if (run->count == run->room && !grow(run))
		return NULL;
	entry = &run->entries[run->count++];
	memset(entry, 0, sizeof(*entry));
	entry->id = id;
	bucket = bucket_of(run, id);
	entry->next = *bucket;
	*bucket = run->count;
	return entry;
}

/* Takes the deletion of a row back; what the base had deleted was not deleted again. */
static void
revive_row(LwDraft *draft, LwPlace place)
{
	LwDraftSegment *segment = &draft->segments[place.segment];

	segment->deleted[place.row >> 3] &= (uint8_t) ~(1 << (place.row & 7));
	segment->ndeleted--;
	if (segment->ndeleted == (segment->tombstones == NULL ? 0 : segment->tombstones->count))
	{
		free(segment->deleted);
		segment->deleted = NULL;
	}
}

static LwStatus
append(Run *run, const LwChangeRecord *record, LwError *error)
{
	Entry	   *entry = find_entry(run, record->id);

	if (entry == NULL)
		entry = add_entry(run, record->id);
	if (entry == NULL)
		return no_memory(run, error);
	entry->document = record->document;
	entry->order = run->appends++;
	if (entry->buried)
		revive_row(run->draft, entry->place);
	entry->buried = false;
	return LW_OK;
}

static LwStatus
delete(Run *run, const LwChangeRecord *record, LwError *error)
{
	Entry	   *entry = find_entry(run, record->id);
	LwPlace		place;
	bool		found;
	LwStatus	status;

	if (entry != NULL && entry->document.tokens == 0)
		return LW_OK;
	if (entry != NULL)
		entry->document.tokens = 0;
	status = lw_draft_find(run->draft, record->id.data, record->id.size, &place, &found, error);
	if (status != LW_OK || !found || lw_draft_deleted(run->draft, place))
		return status;
	if (entry == NULL)
		entry = add_entry(run, record->id);
	if (entry == NULL)
		return no_memory(run, error);
	entry->buried = true;
	entry->place = place;
	return lw_draft_delete_row(run->draft, place, error);
}

static int
by_order(const void *a, const void *b)
{
	size_t		x = ((const Entry *) a)->order;
	size_t		y = ((const Entry *) b)->order;

	return (x > y) - (x < y);
}

/* The documents of the run, entries[0..count-1], as a segment in memory. */
static LwStatus
make_segment(const Run *run, LwManifestSegment *entry, LwSegment **result, LwError *error)
{
	const LwManifest *manifest = &run->draft->view->manifest;
	LwSegment  *segment = calloc(1, sizeof(LwSegment));
	size_t		ids = 0;
	uint64_t	tokens = 0;
	uint64_t   *offsets;
	char	   *rows;
	float	   *scales;
	size_t		i;

	if (segment == NULL)
		return no_memory(run, error);
	for (i = 0; i < run->count; i++)
	{
		ids += run->entries[i].id.size;
		tokens += run->entries[i].document.tokens;
	}
	segment->references = 1;
	segment->id = entry->id;
	segment->documents = run->count;
	segment->tokens = tokens;
	segment->row_size = (size_t) manifest->dimension * (manifest->encoding == LW_INT8 ? 1 : sizeof(float));
	segment->ids.count = run->count;
	segment->ids.bytes = malloc(ids + 1);
	segment->ids.ends = malloc(run->count * sizeof(uint64_t));
	segment->memory = malloc((run->count + 1) * sizeof(uint64_t) + tokens * sizeof(float) + tokens * segment->row_size);
	if (segment->ids.bytes == NULL || segment->ids.ends == NULL || segment->memory == NULL)
	{
		lw_segment_release(segment);
		return no_memory(run, error);
	}
	offsets = segment->memory;
	scales = (float *) (offsets + run->count + 1);
	rows = (char *) (scales + tokens);
	segment->offsets = offsets;
	segment->scales = manifest->encoding == LW_INT8 ? scales : NULL;
	segment->rows = rows;
	ids = 0;
	offsets[0] = 0;
	for (i = 0; i < run->count; i++)
	{
		const Entry *from = &run->entries[i];
		size_t		n = from->document.tokens;

		if (from->id.size > 0)
			memcpy(segment->ids.bytes + ids, from->id.data, from->id.size);
		ids += from->id.size;
		segment->ids.ends[i] = ids;
		if (memchr(from->id.data, '\0', from->id.size) != NULL)
			segment->unnameable++;
		memcpy(rows + offsets[i] * segment->row_size, from->document.rows, n * segment->row_size);
		if (segment->scales != NULL)
			memcpy(scales + offsets[i], from->document.scales, n * sizeof(float));
		offsets[i + 1] = offsets[i] + n;
	}
	entry->documents = run->count;
	entry->tokens = tokens;
	*result = segment;
	return lw_idmap_build(&segment->ids, &segment->idmap, error);
}

/* Writes a segment that is in memory to the store. */
static LwStatus
write_segment(const Run *run, const LwSegment *segment, LwManifestSegment *entry, LwError *error)
{
	const LwManifest *manifest = &run->draft->view->manifest;
	LwSegmentWriter writer;
	LwStatus	status;
	uint64_t	row;

	status = lw_segment_write_begin(&writer, run->draft->directory, entry->id, manifest->encoding, manifest->dimension, error);
	if (status != LW_OK)
		return status;
	for (row = 0; status == LW_OK && row < segment->documents; row++)
	{
		LwDocument	document;
		LwString	id;

		id.data = lw_ids_get(&segment->ids, row, &id.size);
		status = lw_segment_document(segment, row, &document, error);
		if (status == LW_OK)
			status = lw_segment_write_encoded(&writer, id, &document, error);
	}
	if (status == LW_OK)
		return lw_segment_write_end(&writer, entry, error);
	lw_segment_write_abort(&writer);
	return status;
}

/* Adds a segment to the draft, in memory or with its files. */
static LwStatus
add_segment(Run *run, const LwManifestSegment *entry, LwSegment *segment, LwError *error)
{
	LwStatus	status = lw_draft_add(run->draft, entry, segment, error);

	if (status == LW_OK && !run->files)
		run->draft->segments[run->draft->nsegments - 1].made = false;	/* there are no files to be removed */
	return status;
}

/* Ends the run: what it appended is a segment of the draft. */
static LwStatus
end_run(Run *run, LwError *error)
{
	LwManifestSegment entry = {0};
	LwSegment  *segment = NULL;
	LwStatus	status = LW_OK;
	size_t		i;
	size_t		n = 0;

	for (i = 0; i < run->count; i++)
		if (run->entries[i].document.tokens > 0)
			run->entries[n++] = run->entries[i];
	run->count = n;
	if (n > 0)
	{
		qsort(run->entries, n, sizeof(Entry), by_order);
		status = lw_draft_take_id(run->draft, &entry.id, error);
		if (status == LW_OK)
			status = make_segment(run, &entry, &segment, error);
		if (status == LW_OK && run->files)
			status = write_segment(run, segment, &entry, error);
		if (status == LW_OK)
			status = add_segment(run, &entry, segment, error);
		lw_segment_release(segment);
	}
	run->count = 0;
	if (run->buckets != NULL)
		memset(run->buckets, 0, (run->mask + 1) * sizeof(size_t));
	return status;
}

/* Adds a segment whose files are in the pending directory. */
static LwStatus
add_bulk(Run *run, const LwChangeRecord *record, LwError *error)
{
	const LwManifest *manifest = &run->draft->view->manifest;
	LwManifestSegment entry = record->segment;
	LwSegment  *segment = NULL;
	LwDirectory directory;
	LwStatus	status = lw_bulk_open(run->pending, record->id, &directory, error);

	if (status != LW_OK)
		return status;
	status = lw_segment_open(directory.fd, directory.path, manifest, &entry, NULL, &segment, error);
	if (status == LW_OK)
		status = lw_draft_take_id(run->draft, &entry.id, error);
	if (status == LW_OK && run->files)
		status = lw_segment_link(directory, record->segment.id, run->draft->directory, entry.id, manifest->encoding, error);
	if (status == LW_OK)
	{
		segment->id = entry.id;
		status = add_segment(run, &entry, segment, error);
	}
	lw_segment_release(segment);
	close(directory.fd);
	return status;
}

static LwStatus
apply(Run *run, const LwChangeRecord *record, bool merged, LwError *error)
{
	LwStatus	status = LW_OK;

	switch (record->kind)
	{
		case LW_CHANGE_APPEND:
			return append(run, record, error);
		case LW_CHANGE_DELETE:
			return delete(run, record, error);
		case LW_CHANGE_TRUNCATE:
			run->count = 0;
			if (run->buckets != NULL)
				memset(run->buckets, 0, (run->mask + 1) * sizeof(size_t));
			return lw_draft_drop(run->draft, 0, run->draft->nsegments, error);
		case LW_CHANGE_BATCH:
			return merged ? LW_OK : end_run(run, error);
		case LW_CHANGE_BULK:
			status = end_run(run, error);
			return status == LW_OK ? add_bulk(run, record, error) : status;
	}
	return status;
}

/* Whether changes are of so many calls that these are no segments of their own; what is wrong with them is found later. */
static bool
has_many_batches(const LwBytes *pieces, size_t npieces, LwChangeFormat format)
{
	size_t		batches = 0;
	size_t		i;

	for (i = 0; i < npieces && batches < MAX_BATCHES; i++)
	{
		size_t		at = 0;
		bool		found = true;
		LwError		ignored;

		while (found && batches < MAX_BATCHES)
		{
			LwChangeRecord record;

			if (lw_next_change(pieces[i], format, &at, &record, &found, &ignored) != LW_OK)
				break;
			batches += found && record.kind == LW_CHANGE_BATCH;
		}
	}
	return batches >= MAX_BATCHES;
}

LwStatus
lw_draft_apply(LwDraft *draft, const LwBytes *pieces, size_t npieces, bool merged,
			   bool files, LwDirectory pending, LwError *error)
{
	LwChangeFormat format = lw_change_format(&draft->view->manifest);
	Run			run = {0};
	LwStatus	status = LW_OK;
	size_t		i;

	run.draft = draft;
	run.files = files;
	run.pending = pending;
	merged = merged || has_many_batches(pieces, npieces, format);
	for (i = 0; status == LW_OK && i < npieces; i++)
	{
		size_t		at = 0;
		bool		found = true;

		while (status == LW_OK && found)
		{
			LwChangeRecord record;

			status = lw_next_change(pieces[i], format, &at, &record, &found, error);
			if (status == LW_OK && found)
				status = apply(&run, &record, merged, error);
		}
		if (status == LW_OK && !merged)
			status = end_run(&run, error);
	}
	if (status == LW_OK)
		status = end_run(&run, error);
	free(run.entries);
	free(run.buckets);
	return status;
}
