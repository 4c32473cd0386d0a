/*-------------------------------------------------------------------------
 *
 * segment.c
 *	  One segment of a vector store: files opened, checked and kept mapped.
 *
 * Offsets, vectors, codes and scales stay in their maps, and so do ids and their
 * hash where there is a derived file.  Else these take about 20 bytes a
 * document and the ids' bytes.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/npy.h"
#include "segment_ids.h"
#include "store/names.h"

/* Tells that a file is good; LW_OK. */
static LwStatus
report_passed(const LwStoreReport *report, const LwMap *map, const char *check, uint64_t count)
{
	char		detail[24];

	snprintf(detail, sizeof(detail), "%" PRIu64, count);
	if (report != NULL)
		report->passed(report->arg, map->path, check, detail);
	return LW_OK;
}

/* Maps a file of a segment, whose identity it adds to `seen`. */
static LwStatus
open_map(int dirfd, const char *directory, const char *name, LwDerivedKey *seen, LwMap **map, LwError *error)
{
	struct stat file;
	LwStatus	status = lw_map_open(dirfd, directory, name, map, &file, NULL, error);

	if (status == LW_OK)
		lw_derived_key_add(seen, &file);
	return status;
}

/* Maps `name` and checks that it is an array of this type and shape; *data points at its first element. */
static LwStatus
open_array(int dirfd, const char *directory, const char *name, LwNpyType type,
		   int axes, uint64_t rows, uint64_t columns,
		   LwDerivedKey *seen, LwMap **map, const void **data, LwError *error)
{
	LwStatus	status;
	LwNpy		npy;

	status = open_map(dirfd, directory, name, seen, map, error);
	if (status == LW_OK)
		status = lw_npy_parse((*map)->data, (*map)->size, &npy, error);
	if (status == LW_OK)
		status = lw_npy_expect(&npy, type, axes, rows, columns, error);
	if (status == LW_OK)
	{
		*data = (*map)->data + npy.data_offset;
		status = lw_map_check(*map, error);
	}
	return status;
}

/* The format has names of its own for a wrong type or shape of some arrays. */
static void
name_shape(LwStatus status, const char *name, LwError *error)
{
	if (status == LW_MALFORMED && strcmp(error->name, "ArrayShape") == 0)
		error->name = name;
}

static LwStatus
check_offsets(const LwSegment *segment, LwError *error)
{
	uint64_t	row;

	if (segment->offsets[0] != 0)
		return lw_fail(error, LW_MALFORMED, "Offsets", -1, "a first offset of 0",
					   "%" PRIu64, segment->offsets[0]);
	for (row = 0; row < segment->documents; row++)
		if (segment->offsets[row + 1] <= segment->offsets[row])
			return lw_fail(error, LW_MALFORMED, "Offsets", -1, "strictly ascending offsets",
						   "%" PRIu64 " after %" PRIu64 " in row %" PRIu64,
						   segment->offsets[row + 1], segment->offsets[row], row);
	if (segment->offsets[segment->documents] != segment->tokens)
		return lw_fail(error, LW_MALFORMED, "Offsets", -1, "the manifest's number of tokens as last offset",
					   "%" PRIu64 " where the manifest says %" PRIu64,
					   segment->offsets[segment->documents], segment->tokens);
	return lw_map_check(segment->offsets_map, error);
}

/*
 * Opens all files.  What a derived file tells is not computed: `known` says
 * that there is one, whose ids will take the place of those that are missing
 * then, and that it was made when the offsets had been checked.
 */
static LwStatus
open_files(int dirfd, const char *directory, const LwManifest *manifest, bool known,
		   LwSegment *segment, const LwStoreReport *report, LwDerivedKey *seen, LwMap **json, LwError *error)
{
	char		name[LW_NAME_SIZE];
	const void *data = NULL;
	LwStatus	status;
	bool		int8 = manifest->encoding == LW_INT8;

	lw_segment_name(name, segment->id, LW_FILE_IDS);
	status = open_map(dirfd, directory, name, seen, json, error);
	if (status == LW_OK && !known)
		status = lw_segment_ids_compute(*json, segment->documents, &segment->ids, &segment->idmap,
										&segment->unnameable, error);
	if (status != LW_OK)
		return status;
	report_passed(report, *json, "ids", segment->documents);

	/* The ids have been counted, so documents + 1 cannot overflow. */
	lw_segment_name(name, segment->id, LW_FILE_OFFSETS);
	status = open_array(dirfd, directory, name, LW_NPY_UINT64, 1, segment->documents + 1, 0,
						seen, &segment->offsets_map, &data, error);
	name_shape(status, "Offsets", error);
	if (status != LW_OK)
		return status;
	segment->offsets = data;
	if (!known)
		status = check_offsets(segment, error);
	if (status != LW_OK)
		return status;
	report_passed(report, segment->offsets_map, "offsets", segment->documents + 1);

	lw_segment_name(name, segment->id, int8 ? LW_FILE_CODES : LW_FILE_VECTORS);
	status = open_array(dirfd, directory, name, int8 ? LW_NPY_INT8 : LW_NPY_FLOAT32, 2,
						segment->tokens, manifest->dimension, seen, &segment->rows_map, &data, error);
	if (status != LW_OK)
		return status;
	segment->rows = data;
	report_passed(report, segment->rows_map, int8 ? "codes" : "vectors", segment->tokens);
	if (!int8)
		return LW_OK;

	lw_segment_name(name, segment->id, LW_FILE_SCALES);
	status = open_array(dirfd, directory, name, LW_NPY_FLOAT32, 1, segment->tokens, 0,
						seen, &segment->scales_map, &data, error);
	if (status != LW_OK)
		return status;
	segment->scales = data;
	return report_passed(report, segment->scales_map, "scales", segment->tokens);
}

/* What the derived file of a segment is known by; false when it is to have none. */
static bool
find_key(int dirfd, const LwManifest *manifest, const LwSegment *segment, LwDerivedKey *key)
{
	char		name[LW_NAME_SIZE];
	struct stat status;
	int			file;

	if (lw_derived_settings.directory == NULL || segment->documents < LW_DERIVED_DOCUMENTS)
		return false;
	for (file = 0; file < LW_SEGMENT_FILES; file++)
	{
		if (!lw_encoding_has(manifest->encoding, (LwSegmentFile) file))
			continue;
		lw_segment_name(name, segment->id, (LwSegmentFile) file);
		if (fstatat(dirfd, name, &status, 0) != 0)
			return false;
		lw_derived_key_add(key, &status);
	}
	return true;
}

/*
 * Opens a segment's files.  With a key, its ids are those of the derived file,
 * which is made when there is none.
 */
static LwStatus
open_segment(int dirfd, const char *directory, const LwManifest *manifest, LwSegment *segment,
			 const LwStoreReport *report, const LwDerivedKey *key, bool *changed, LwError *error)
{
	LwDerivedIds derived = {0};
	LwDerivedBuild *build = NULL;
	LwDerivedKey *seen = &segment->files;
	LwMap	   *json = NULL;
	char		name[LW_NAME_SIZE];
	LwStatus	status = LW_OK;

	if (key != NULL && !lw_derived_ids_open(key, segment->documents, &derived) && lw_derived_settled(key, true))
	{
		lw_segment_name(name, segment->id, LW_FILE_IDS);
		lw_error_path(error, directory, name);
		status = lw_derived_begin(key, error->path, true, &build, error);
		if (build != NULL && lw_derived_ids_open(key, segment->documents, &derived))
		{
			lw_derived_abandon(build);
			build = NULL;
		}
	}
	lw_derived_key(seen, LW_DERIVED_SEGMENT, segment->id, manifest->store_id.data, manifest->store_id.size);
	if (status == LW_OK)
		status = open_files(dirfd, directory, manifest, derived.file != NULL, segment, report, seen, &json, error);
	*changed = status == LW_OK && key != NULL && memcmp(seen, key, sizeof(*seen)) != 0;
	if (build != NULL && status == LW_OK && !*changed)
		lw_derived_ids_write(build, &segment->ids, &segment->idmap, NULL, segment->unnameable, &derived);
	else
		lw_derived_abandon(build);
	if (status == LW_OK && !*changed && derived.file != NULL)
	{
		if (lw_segment_ids_keep(segment, &derived, json))
			return LW_OK;
		status = lw_fail_errno(error, ENOMEM, "open a segment");
	}
	lw_derived_ids_close(&derived);
	lw_map_close(json);
	return status;
}

/* Gives back all that a segment has opened. */
static void
close_segment(LwSegment *segment)
{
	lw_ids_free(&segment->ids);
	lw_idmap_free(&segment->idmap);
	lw_segment_ids_free(segment->kept);
	lw_derived_close(segment->codes);
	lw_map_close(segment->offsets_map);
	lw_map_close(segment->rows_map);
	lw_map_close(segment->scales_map);
	free(segment->memory);
}

/* A segment that has nothing open. */
static void
describe(const LwManifest *manifest, const LwManifestSegment *entry, LwSegment *segment)
{
	memset(segment, 0, sizeof(*segment));
	segment->references = 1;
	segment->id = entry->id;
	segment->documents = entry->documents;
	segment->tokens = entry->tokens;

	/* No overflow once the array's shape was found in a real file; a segment without tokens never uses it. */
	segment->row_size = (size_t) manifest->dimension * (manifest->encoding == LW_INT8 ? 1 : sizeof(float));
}

LwStatus
lw_segment_open(int dirfd, const char *directory, const LwManifest *manifest,
				const LwManifestSegment *entry, const LwStoreReport *report,
				LwSegment **result, LwError *error)
{
	LwSegment  *segment = malloc(sizeof(LwSegment));
	LwDerivedKey key;
	LwStatus	status;
	bool		keyed;
	bool		changed;

	if (segment == NULL)
		return lw_fail_errno(error, ENOMEM, "open a segment");
	describe(manifest, entry, segment);
	lw_derived_key(&key, LW_DERIVED_SEGMENT, segment->id, manifest->store_id.data, manifest->store_id.size);
	/* whoever wants a report wants the files looked at */
	keyed = report == NULL && find_key(dirfd, manifest, segment, &key);
	status = open_segment(dirfd, directory, manifest, segment, report, keyed ? &key : NULL, &changed, error);
	if (status == LW_OK && changed)
	{
		/* the files are others than those of the key */
		close_segment(segment);
		describe(manifest, entry, segment);
		status = open_segment(dirfd, directory, manifest, segment, report, NULL, &changed, error);
	}
	if (status != LW_OK)
	{
		lw_segment_release(segment);
		return status;
	}
	*result = segment;
	return LW_OK;
}

void
lw_segment_release(LwSegment *segment)
{
	if (segment == NULL || --segment->references > 0)
		return;
	close_segment(segment);
	free(segment);
}

LwStatus
lw_tombstones_open(int dirfd, const char *directory, const LwManifestSegment *entry,
				   const LwStoreReport *report, LwTombstones **result, LwError *error)
{
	char		name[LW_NAME_SIZE];
	LwTombstones *tombstones = NULL;
	LwMap	   *map = NULL;
	LwNpy		npy;
	LwStatus	status;
	uint64_t	i;
	uint64_t	last = 0;

	lw_tombstones_name(name, entry->id, entry->tombstones);
	status = lw_map_open(dirfd, directory, name, &map, NULL, NULL, error);
	if (status == LW_OK)
		status = lw_npy_parse(map->data, map->size, &npy, error);
	if (status == LW_OK)
		status = lw_npy_expect(&npy, LW_NPY_UINT64, 1, npy.shape[0], 0, error);
	name_shape(status, "Tombstones", error);
	if (status == LW_OK)
	{
		tombstones = calloc(1, sizeof(LwTombstones));
		if (tombstones != NULL)
			tombstones->deleted = calloc(1, entry->documents / 8 + 1);
		if (tombstones == NULL || tombstones->deleted == NULL)
			status = lw_fail_errno(error, ENOMEM, "read the tombstones");
	}
	for (i = 0; status == LW_OK && i < npy.shape[0]; i++)
	{
		const uint64_t *rows = (const void *) (map->data + npy.data_offset);
		uint64_t	row = rows[i];

		if (row >= entry->documents || (i > 0 && row <= last))
			status = lw_fail(error, LW_MALFORMED, "Tombstones", (int64_t) (npy.data_offset + i * sizeof(uint64_t)),
							 "strictly ascending rows of the segment",
							 "row %" PRIu64 " of %" PRIu64 ", after %" PRIu64, row, entry->documents, last);
		else
			lw_set_bit(tombstones->deleted, row);
		last = row;
	}
	if (map != NULL && map->faulted)
		status = lw_map_check(map, error);
	if (status == LW_OK)
		status = report_passed(report, map, "tombstones", npy.shape[0]);
	lw_map_close(map);
	if (status != LW_OK)
	{
		if (tombstones != NULL)
			free(tombstones->deleted);
		free(tombstones);
		return status;
	}
	tombstones->references = 1;
	tombstones->segment = entry->id;
	tombstones->commit = entry->tombstones;
	tombstones->count = npy.shape[0];
	*result = tombstones;
	return LW_OK;
}

void
lw_tombstones_release(LwTombstones *tombstones)
{
	if (tombstones == NULL || --tombstones->references > 0)
		return;
	free(tombstones->deleted);
	free(tombstones);
}

LwStatus
lw_segment_document(const LwSegment *segment, uint64_t row, LwDocument *document, LwError *error)
{
	/* volatile: each is read once, so that what is checked is what is used */
	uint64_t	start = ((const volatile uint64_t *) segment->offsets)[row];
	uint64_t	end = ((const volatile uint64_t *) segment->offsets)[row + 1];

	if (start >= end || end > segment->tokens)
	{
		LwStatus	status = lw_map_check(segment->offsets_map, error);

		if (status != LW_OK)
			return status;
		lw_error_path(error, NULL, segment->offsets_map->path);
		return lw_fail(error, LW_MALFORMED, "Offsets", -1, "the offsets that were there when the file was opened",
					   "%" PRIu64 " and %" PRIu64 " in row %" PRIu64, start, end, row);
	}
	document->rows = segment->rows + start * segment->row_size;
	document->scales = segment->scales == NULL ? NULL : segment->scales + start;
	document->tokens = (size_t) (end - start);
	return LW_OK;
}

int
lw_segment_maps(const LwSegment *segment, const LwMap *maps[LW_SEGMENT_MAPS])
{
	int			count = 0;

	if (segment->offsets_map == NULL)
		return 0;				/* not published yet */
	maps[count++] = segment->offsets_map;
	maps[count++] = segment->rows_map;
	if (segment->scales_map != NULL)
		maps[count++] = segment->scales_map;
	if (segment->kept != NULL && !segment->kept->computed)
		maps[count++] = segment->kept->derived.file->map;
	if (segment->codes != NULL)
		maps[count++] = segment->codes->map;
	return count;
}

LwStatus
lw_segment_check(const LwSegment *segment, LwError *error)
{
	LwStatus	status = lw_map_check(segment->offsets_map, error);

	if (status == LW_OK)
		status = lw_map_check(segment->rows_map, error);
	if (status == LW_OK)
		status = lw_map_check(segment->scales_map, error);
	if (status == LW_OK)
		status = lw_segment_ids_check(segment->kept, error);
	return status;
}
