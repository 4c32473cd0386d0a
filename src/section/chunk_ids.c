/*-------------------------------------------------------------------------
 *
 * chunk_ids.c
 *	  Ids of chunks, by ordinal, and ordinals by id.
 *
 * They are those of a derived file, which is made when there is none.  Where
 * there can be none, or it is damaged, the list of the section is read and
 * a table of it made.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "section/parts.h"

/* The slot that holds an id, or the empty one where it belongs. */
static uint64_t
probe(const LwSectionParts *parts, LwBytes id)
{
	uint64_t	slot = lw_id_hash((const char *) id.data, id.size) & parts->mask;

	for (; parts->slots[slot] != 0; slot = (slot + 1) & parts->mask)
	{
		LwBytes		other = parts->ids[parts->slots[slot] - 1];

		if (other.size == id.size && memcmp(other.data, id.data, id.size) == 0)
			break;
	}
	return slot;
}

/* Makes the table of ids; it is at most half full, so probing ends even if the ids change. */
static LwStatus
make_slots(LwSectionFile *file, LwError *error)
{
	LwSectionParts *parts = file->parts;
	uint64_t	slots;
	void	   *memory;
	size_t		i;
	LwStatus	status;

	if (parts->slots != NULL)
		return LW_OK;
	if (file->rows >= UINT32_MAX)
		return lw_fail(error, LW_LIMIT, "ChunkCount", -1, "fewer than 4294967295 chunks", "%zu", file->rows);
	slots = lw_idmap_slots(file->rows);
	status = lw_section_alloc(file, (size_t) slots, sizeof(uint32_t), &memory, error);
	if (status != LW_OK)
		return status;
	memset(memory, 0, (size_t) slots * sizeof(uint32_t));
	parts->slots = memory;
	parts->mask = slots - 1;
	for (i = 0; i < file->rows; i++)
	{
		uint64_t	slot = probe(parts, parts->ids[i]);

		if (parts->slots[slot] == 0)
			parts->slots[slot] = (uint32_t) i + 1;
	}
	return LW_OK;
}

/* Finds, for each ordinal, the next one with the same id. */
static LwStatus
make_twins(LwSectionFile *file, LwError *error)
{
	LwSectionParts *parts = file->parts;
	void	   *memory;
	size_t		i;
	LwStatus	status;

	if (parts->twins != NULL)
		return LW_OK;
	status = lw_section_alloc(file, file->rows, sizeof(uint32_t), &memory, error);
	if (status != LW_OK)
		return status;
	memset(memory, 0, file->rows * sizeof(uint32_t));
	parts->twins = memory;
	for (i = file->rows; i-- > 0;)
	{
		uint32_t	first = parts->slots[probe(parts, parts->ids[i])];

		if (first == 0 || first > i)
			continue;
		parts->twins[i] = parts->twins[first - 1];
		parts->twins[first - 1] = (uint32_t) i + 1;
	}
	return LW_OK;
}

/* Reads ids and makes their tables, all in memory of this process. */
static LwStatus
compute(LwSectionFile *file, bool twins, LwError *error)
{
	LwStatus	status = lw_ids_load(file, error);

	if (status == LW_OK)
		status = make_slots(file, error);
	if (status == LW_OK && twins)
		status = make_twins(file, error);
	return status;
}

/* Gives back what compute took, and what the list lay in. */
static void
forget_computed(LwSectionFile *file)
{
	LwSectionParts *parts = file->parts;

	lw_section_free(file, parts->ids, file->rows * sizeof(LwBytes));
	lw_section_free(file, parts->slots, (size_t) (parts->mask + 1) * sizeof(uint32_t));
	lw_section_free(file, parts->twins, file->rows * sizeof(uint32_t));
	parts->ids = NULL;
	parts->slots = NULL;
	parts->twins = NULL;
	parts->payloads[LW_SECTION_CHUNK_IDS].known = false;
	lw_section_free(file, NULL, parts->payloads[LW_SECTION_CHUNK_IDS].buffer.size);
	lw_buffer_free(&parts->payloads[LW_SECTION_CHUNK_IDS].buffer);
}

/* Writes the derived file of what was computed, which it takes the place of. */
static void
keep_computed(LwSectionFile *file, LwDerivedBuild *build)
{
	LwSectionParts *parts = file->parts;
	LwIdmap		map = {parts->mask, parts->slots};
	LwIds		ids = {file->rows, NULL, NULL, NULL};
	size_t		size = 0;
	size_t		i;
	bool		repeated = false;
	LwError		ignored;

	for (i = 0; i < file->rows; i++)
	{
		size += parts->ids[i].size;
		repeated |= parts->twins[i] != 0;
	}
	ids.bytes = malloc(size + 1);
	ids.ends = malloc((file->rows + 1) * sizeof(uint64_t));
	if (ids.bytes == NULL || ids.ends == NULL)
		lw_derived_abandon(build);
	else
	{
		for (i = 0, size = 0; i < file->rows; i++)
		{
			if (parts->ids[i].size > 0)
				memcpy(ids.bytes + size, parts->ids[i].data, parts->ids[i].size);
			size += parts->ids[i].size;
			ids.ends[i] = size;
		}
		if (lw_map_check(parts->map, &ignored) != LW_OK)
			lw_derived_abandon(build);
		else if (lw_derived_ids_write(build, &ids, &map, repeated ? parts->twins : NULL, 0, &parts->kept))
			forget_computed(file);
	}
	lw_ids_free(&ids);
}

/* Whether ids are those of the derived file. */
static bool
are_kept(const LwSectionFile *file)
{
	return file->parts->kept.file != NULL && !file->parts->kept_damaged;
}

/* Has ids ready: those of a derived file, or computed ones. */
static LwStatus
know_ids(LwSectionFile *file, LwError *error)
{
	LwSectionParts *parts = file->parts;
	LwDerivedBuild *build;
	LwStatus	status;

	if (are_kept(file))
		return LW_OK;
	if (parts->ids != NULL || parts->kept_damaged || !parts->recalls || file->rows < LW_DERIVED_DOCUMENTS)
		return lw_ids_load(file, error);
	if (lw_derived_ids_open(&parts->ids_key, file->rows, &parts->kept))
		return LW_OK;
	status = lw_derived_begin(&parts->ids_key, file->path, true, &build, error);
	if (status != LW_OK)
		return status;
	if (build != NULL && lw_derived_ids_open(&parts->ids_key, file->rows, &parts->kept))
	{
		lw_derived_abandon(build);
		return LW_OK;
	}
	status = compute(file, build != NULL, error);
	if (build != NULL && status == LW_OK)
		keep_computed(file, build);
	else
		lw_derived_abandon(build);
	return status;
}

/* The derived file is damaged: what lies in it is read from the section from now on. */
static void
spoil(LwSectionFile *file)
{
	if (!file->parts->kept_damaged)
		lw_derived_discard(file->parts->kept.file);
	file->parts->kept_damaged = true;
}

LwStatus
lw_chunk_id(LwSectionFile *file, size_t ordinal, LwBytes *id, LwError *error)
{
	const char *data;

	if (lw_ordinal_check(file, ordinal, error) != LW_OK || know_ids(file, error) != LW_OK)
		return lw_section_failed(file, error);
	if (are_kept(file))
	{
		if (lw_derived_ids_get(&file->parts->kept, ordinal, &data, &id->size))
		{
			id->data = (const uint8_t *) data;
			return LW_OK;
		}
		spoil(file);
		if (lw_ids_load(file, error) != LW_OK)
			return lw_section_failed(file, error);
	}
	*id = file->parts->ids[ordinal];
	return LW_OK;
}

LwStatus
lw_chunk_find(LwSectionFile *file, LwBytes id, size_t *ordinal, LwError *error)
{
	const LwSectionParts *parts = file->parts;
	const char *data = (const char *) id.data;
	uint64_t	row;

	if (know_ids(file, error) != LW_OK)
		return lw_section_failed(file, error);
	if (are_kept(file))
	{
		if (lw_derived_ids_find(&parts->kept, data, id.size, lw_id_hash(data, id.size), &row))
		{
			*ordinal = row == LW_IDMAP_NONE ? SIZE_MAX : (size_t) row;
			return LW_OK;
		}
		spoil(file);
	}
	if (compute(file, false, error) != LW_OK)
		return lw_section_failed(file, error);
	row = parts->slots[probe(parts, id)];
	*ordinal = row == 0 ? SIZE_MAX : (size_t) row - 1;
	return LW_OK;
}

LwStatus
lw_chunk_twin(LwSectionFile *file, size_t ordinal, size_t *twin, LwError *error)
{
	uint64_t	row;

	if (lw_ordinal_check(file, ordinal, error) != LW_OK || know_ids(file, error) != LW_OK)
		return lw_section_failed(file, error);
	if (are_kept(file))
	{
		if (lw_derived_ids_twin(&file->parts->kept, ordinal, &row))
		{
			*twin = row == LW_IDMAP_NONE ? SIZE_MAX : (size_t) row;
			return LW_OK;
		}
		spoil(file);
	}
	if (compute(file, true, error) != LW_OK)
		return lw_section_failed(file, error);
	row = file->parts->twins[ordinal];
	*twin = row == 0 ? SIZE_MAX : (size_t) row - 1;
	return LW_OK;
}

uint64_t
lw_chunk_derived_bytes(const LwSectionFile *file)
{
	return file->parts->kept.file == NULL ? 0 : file->parts->kept.file->map->size;
}
