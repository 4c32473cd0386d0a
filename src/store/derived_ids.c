/*-------------------------------------------------------------------------
 *
 * derived_ids.c
 *	  Ids and their hash table in a derived file.
 *
 * Every number that is read from the map is read once and checked, also
 * when its block was found good before.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>
#include <sys/mman.h>

#include "derived_ids.h"

#define SWEEP_SECONDS 10
#define PAGE 4096				/* no page of memory is smaller */

enum
{
	PART_ENDS,
	PART_SLOTS,
	PART_TWINS,
	PART_BYTES					/* the last: lw_derived_ids_restore replaces whole pages */
};

enum
{
	VALUE_COUNT,
	VALUE_OWN
};

/* Whether the parts of a file have the sizes that so many ids have. */
static bool
find_parts(LwDerived *file, uint64_t count, LwDerivedIds *ids)
{
	const LwDerivedPart *parts = file->parts;
	uint64_t	slots = parts[PART_SLOTS].size / sizeof(uint32_t);

	if (file->values[VALUE_COUNT] != count || parts[PART_ENDS].size / sizeof(uint64_t) != count ||
		slots == 0 || (slots & (slots - 1)) != 0 ||
		(parts[PART_TWINS].size != 0 && parts[PART_TWINS].size / sizeof(uint32_t) != count))
		return false;
	ids->file = file;
	ids->count = count;
	ids->value = file->values[VALUE_OWN];
	ids->ends = (const void *) parts[PART_ENDS].data;
	ids->slots = (const void *) parts[PART_SLOTS].data;
	ids->mask = slots - 1;
	ids->twins = parts[PART_TWINS].size == 0 ? NULL : (const void *) parts[PART_TWINS].data;
	ids->bytes = parts[PART_BYTES].data;
	ids->size = parts[PART_BYTES].size;
	return true;
}

/* Takes a derived file over if it has so many ids. */
static bool
adopt(LwDerived *file, uint64_t count, LwDerivedIds *ids)
{
	memset(ids, 0, sizeof(*ids));
	if (file != NULL && !find_parts(file, count, ids))
		lw_derived_close(file);
	return ids->file != NULL;
}

bool
lw_derived_ids_open(const LwDerivedKey *key, uint64_t count, LwDerivedIds *ids)
{
	return adopt(lw_derived_open(key), count, ids);
}

void
lw_derived_ids_close(LwDerivedIds *ids)
{
	lw_derived_close(ids->file);
	memset(ids, 0, sizeof(*ids));
}

uint64_t
lw_derived_ids_size(uint64_t count, uint64_t bytes)
{
	const uint64_t sizes[LW_DERIVED_PARTS] = {
		[PART_ENDS] = count * sizeof(uint64_t),
		[PART_SLOTS] = lw_idmap_slots(count) * sizeof(uint32_t),
		[PART_BYTES] = bytes
	};

	return lw_derived_size(sizes);
}

bool
lw_derived_ids_write(LwDerivedBuild *build, const LwIds *from, const LwIdmap *map,
					 const uint32_t *twins, uint64_t value, LwDerivedIds *ids)
{
	const uint64_t values[LW_DERIVED_VALUES] = {[VALUE_COUNT] = from->count, [VALUE_OWN] = value};
	LwDerivedPart parts[LW_DERIVED_PARTS];
	bool		written;

	parts[PART_ENDS].data = (const char *) from->ends;
	parts[PART_ENDS].size = from->count * sizeof(uint64_t);
	parts[PART_SLOTS].data = (const char *) map->slots;
	parts[PART_SLOTS].size = (map->mask + 1) * sizeof(uint32_t);
	parts[PART_TWINS].data = (const char *) twins;
	parts[PART_TWINS].size = twins == NULL ? 0 : from->count * sizeof(uint32_t);
	parts[PART_BYTES].data = from->bytes;
	parts[PART_BYTES].size = from->count == 0 ? 0 : from->ends[from->count - 1];
	written = adopt(lw_derived_finish(build, values, parts), from->count, ids);
	lw_derived_sweep(SWEEP_SECONDS);
	return written;
}

bool
lw_derived_ids_get(const LwDerivedIds *ids, uint64_t row, const char **id, size_t *size)
{
	const volatile uint64_t *ends = ids->ends;
	const volatile char *bytes = ids->bytes;
	uint64_t	before = row == 0 ? 0 : row - 1;
	uint64_t	start;
	uint64_t	end;
	uint64_t	at;

	if (!lw_derived_touch(ids->file, ids->ends + before, (size_t) (row + 1 - before) * sizeof(uint64_t)))
		return false;
	start = row == 0 ? 0 : ends[before];
	end = ends[row];
	if (start > end || end > ids->size || !lw_derived_touch(ids->file, ids->bytes + start, (size_t) (end - start)))
		return false;

	/* pages that are missing are to be missed here, and not where the id is read */
	for (at = start; at < end; at += PAGE)
		(void) bytes[at];
	if (start < end)
		(void) bytes[end - 1];
	*id = ids->bytes + start;
	*size = (size_t) (end - start);
	return !ids->file->map->faulted;
}

bool
lw_derived_ids_find(const LwDerivedIds *ids, const char *id, size_t size, uint64_t hash, uint64_t *row)
{
	uint64_t	probes;

	for (probes = 0; probes <= ids->mask; probes++)
	{
		const uint32_t *slot = &ids->slots[(hash + probes) & ids->mask];
		uint32_t	entry;
		const char *other;
		size_t		other_size;

		if (!lw_derived_touch(ids->file, slot, sizeof(*slot)))
			return false;
		entry = *(const volatile uint32_t *) slot;
		*row = entry == 0 ? LW_IDMAP_NONE : (uint64_t) entry - 1;
		if (entry == 0)
			return !ids->file->map->faulted;
		if (entry > ids->count || !lw_derived_ids_get(ids, *row, &other, &other_size))
			return false;
		if (other_size == size && memcmp(other, id, size) == 0)
			return !ids->file->map->faulted;
	}
	return false;
}

bool
lw_derived_ids_twin(const LwDerivedIds *ids, uint64_t row, uint64_t *twin)
{
	uint32_t	entry;

	*twin = LW_IDMAP_NONE;
	if (ids->twins == NULL)
		return true;
	if (!lw_derived_touch(ids->file, ids->twins + row, sizeof(uint32_t)))
		return false;
	entry = ((const volatile uint32_t *) ids->twins)[row];
	if (entry > ids->count || (entry != 0 && entry <= row + 1))
		return false;
	if (entry != 0)
		*twin = (uint64_t) entry - 1;
	return !ids->file->map->faulted;
}

void
lw_derived_ids_restore(const LwDerivedIds *ids, const char *bytes)
{
	if (ids->size == 0 ||
		mmap((void *) ids->bytes, ids->size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return;
	memcpy((void *) ids->bytes, bytes, ids->size);
}
