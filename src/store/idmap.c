/*-------------------------------------------------------------------------
 *
 * idmap.c
 *	  From a document's id to its row in a segment.
 *
 * Open addressing with linear probing, at most half full.
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include <errno.h>
#include <limits.h>

#include "common/hashfn.h"

#include "idmap.h"

uint64_t
lw_id_hash(const char *id, size_t size)
{
	return hash_bytes_extended((const unsigned char *) id,
							   size > INT_MAX ? INT_MAX : (int) size, 0);
}

/* The slot that holds the id, or the empty one where it belongs. */
static uint64_t
probe(const LwIdmap *map, const LwIds *ids, const char *id, size_t size, uint64_t hash)
{
	uint64_t	slot;

	for (slot = hash & map->mask; map->slots[slot] != 0; slot = (slot + 1) & map->mask)
	{
		size_t		other_size;
		const char *other = lw_ids_get(ids, map->slots[slot] - 1, &other_size);

		if (other_size == size && memcmp(other, id, size) == 0)
			break;
	}
	return slot;
}

uint64_t
lw_idmap_slots(uint64_t count)
{
	uint64_t	slots = 4;

	while (slots < count * 2)
		slots *= 2;
	return slots;
}

LwStatus
lw_idmap_build(const LwIds *ids, LwIdmap *map, LwError *error)
{
	uint64_t	slots;
	uint64_t	row;

	if (ids->count >= UINT32_MAX)
		return lw_fail(error, LW_LIMIT, "IdsCount", -1, "fewer than 4294967295 documents in a segment",
					   "%llu", (unsigned long long) ids->count);
	slots = lw_idmap_slots(ids->count);
	map->mask = slots - 1;
	map->slots = calloc(slots, sizeof(uint32_t));
	if (map->slots == NULL)
		return lw_fail_errno(error, ENOMEM, "hash the ids");

	for (row = 0; row < ids->count; row++)
	{
		size_t		size;
		const char *id = lw_ids_get(ids, row, &size);
		uint64_t	slot = probe(map, ids, id, size, lw_id_hash(id, size));

		if (map->slots[slot] != 0)
		{
			unsigned	first = map->slots[slot] - 1;

			lw_idmap_free(map);
			return lw_fail(error, LW_MALFORMED, "IdsRepeated", -1, "every id once",
						   "\"%.*s\" in rows %u and %llu", (int) (size > 100 ? 100 : size), id,
						   first, (unsigned long long) row);
		}
		map->slots[slot] = (uint32_t) row + 1;
	}
	return LW_OK;
}

void
lw_idmap_free(LwIdmap *map)
{
	free(map->slots);
	map->slots = NULL;
}

uint64_t
lw_idmap_find(const LwIdmap *map, const LwIds *ids, const char *id, size_t size, uint64_t hash)
{
	uint32_t	entry;

	if (ids->keeper != NULL)
		return ids->keeper->find(ids->keeper, id, size, hash);
	entry = map->slots[probe(map, ids, id, size, hash)];
	return entry == 0 ? LW_IDMAP_NONE : (uint64_t) entry - 1;
}
