/*-------------------------------------------------------------------------
 *
 * idmap.h
 *	  From a document's id to its row in a segment: a flat hash table.
 *
 * Flat and without pointers, so that it can lie in a file as well as in
 * memory.  The ids themselves stay in the LwIds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_IDMAP_H
#define LW_STORE_IDMAP_H

#include "format/ids.h"

#define LW_IDMAP_NONE UINT64_MAX

typedef struct LwIdmap
{
	uint64_t	mask;			/* number of slots - 1 */
	uint32_t   *slots;			/* malloc'ed; row + 1, or 0 for an empty slot */
} LwIdmap;

/* Hash of an id, the same for every segment, so that it is computed once per look-up. */
extern uint64_t lw_id_hash(const char *id, size_t size);

/* Slots of a table for so many ids: a power of two, at least twice as many. */
extern uint64_t lw_idmap_slots(uint64_t count);

/* IdsRepeated when an id stands twice; LW_LIMIT from 2^32 - 1 documents on. */
extern LwStatus lw_idmap_build(const LwIds *ids, LwIdmap *map, LwError *error);
extern void lw_idmap_free(LwIdmap *map);

/* The row of an id, or LW_IDMAP_NONE. */
extern uint64_t lw_idmap_find(const LwIdmap *map, const LwIds *ids,
							  const char *id, size_t size, uint64_t hash);

#endif							/* LW_STORE_IDMAP_H */
