/*-------------------------------------------------------------------------
 *
 * segment_ids.c
 *	  The ids of a segment: computed, or in a derived file.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "segment_ids.h"

LwStatus
lw_segment_ids_compute(const LwMap *json, uint64_t documents, LwIds *ids, LwIdmap *idmap,
					   uint64_t *unnameable, LwError *error)
{
	LwStatus	status = lw_ids_parse(json->data, json->size, documents, ids, error);
	uint64_t	row;

	*unnameable = 0;
	if (json->faulted)
	{
		if (status == LW_OK)
			lw_ids_free(ids);
		return lw_map_check(json, error);
	}
	if (status != LW_OK)
		return status;
	for (row = 0; row < documents; row++)
	{
		size_t		size;
		const char *id = lw_ids_get(ids, row, &size);

		if (memchr(id, '\0', size) != NULL)
			++*unnameable;
	}
	status = lw_idmap_build(ids, idmap, error);
	if (status != LW_OK)
		lw_ids_free(ids);
	return status;
}

/* Computes what the derived file no longer tells; false when that is not to be had either. */
static bool
mend(LwKeptIds *kept)
{
	LwError		error;
	uint64_t	unnameable;

	if (kept->computed || kept->lost != LW_OK)
		return kept->computed;
	lw_derived_discard(kept->derived.file);
	lw_error_path(&error, NULL, kept->json->path);
	kept->lost = lw_segment_ids_compute(kept->json, kept->derived.count, &kept->ids, &kept->idmap, &unnameable, &error);
	if (kept->lost != LW_OK)
	{
		/* whoever looks for faults of maps will find it */
		lw_map_faults++;
		kept->error = malloc(sizeof(LwError));
		if (kept->error != NULL)
			*kept->error = error;
		return false;
	}
	kept->computed = true;
	if (kept->derived.file->map->faulted)
		lw_derived_ids_restore(&kept->derived, kept->ids.bytes);
	return true;
}

/* A fault that comes to light here was not met by what reads the derived file, but by who read an id. */
static void
note_fault(LwKeptIds *kept)
{
	if (!kept->computed && kept->derived.file->map->faulted)
		kept->unsure = true;
}

static const char *
get(LwIdsKeeper *keeper, uint64_t row, size_t *size)
{
	LwKeptIds  *kept = (LwKeptIds *) keeper;
	const char *id;

	note_fault(kept);
	if (!kept->computed && lw_derived_ids_get(&kept->derived, row, &id, size))
		return id;
	if (mend(kept))
		return lw_ids_get(&kept->ids, row, size);
	*size = 0;
	return "";
}

static uint64_t
find(LwIdsKeeper *keeper, const char *id, size_t size, uint64_t hash)
{
	LwKeptIds  *kept = (LwKeptIds *) keeper;
	uint64_t	row;

	note_fault(kept);
	if (!kept->computed && lw_derived_ids_find(&kept->derived, id, size, hash, &row))
		return row;
	return mend(kept) ? lw_idmap_find(&kept->idmap, &kept->ids, id, size, hash) : LW_IDMAP_NONE;
}

bool
lw_segment_ids_keep(LwSegment *segment, const LwDerivedIds *derived, LwMap *json)
{
	LwKeptIds  *kept = calloc(1, sizeof(LwKeptIds));

	if (kept == NULL)
		return false;
	kept->keeper.get = get;
	kept->keeper.find = find;
	kept->derived = *derived;
	kept->json = json;
	lw_ids_free(&segment->ids);
	lw_idmap_free(&segment->idmap);
	segment->ids.count = derived->count;
	segment->ids.keeper = &kept->keeper;
	segment->unnameable = derived->value;
	segment->kept = kept;
	return true;
}

LwStatus
lw_segment_ids_check(const LwKeptIds *kept, LwError *error)
{
	if (kept == NULL)
		return LW_OK;
	if (kept->lost != LW_OK)
	{
		if (kept->error == NULL)
			return lw_fail_errno(error, ENOMEM, "read the ids");
		*error = *kept->error;
		return kept->lost;
	}
	if (kept->unsure || !kept->computed)
		return lw_map_check(kept->derived.file->map, error);
	return LW_OK;
}

void
lw_segment_ids_free(LwKeptIds *kept)
{
	if (kept == NULL)
		return;
	lw_ids_free(&kept->ids);
	lw_idmap_free(&kept->idmap);
	lw_derived_ids_close(&kept->derived);
	lw_map_close(kept->json);
	free(kept->error);
	free(kept);
}
