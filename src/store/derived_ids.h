/*-------------------------------------------------------------------------
 *
 * derived_ids.h
 *	  Ids and their hash table in a derived file.
 *
 * A file has the ids' bytes one behind the other, where each ends, the slots of
 * an LwIdmap and, where ids stand twice, for each row the next one with its id.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_DERIVED_IDS_H
#define LW_STORE_DERIVED_IDS_H

#include "derived.h"
#include "idmap.h"

typedef struct LwDerivedIds
{
	LwDerived  *file;			/* NULL: none */
	uint64_t	count;
	uint64_t	value;			/* the owner's own number */
	const uint64_t *ends;
	const uint32_t *slots;
	uint64_t	mask;			/* number of slots - 1 */
	const uint32_t *twins;		/* row + 1, 0 for none; NULL when no id stands twice */
	const char *bytes;
	size_t		size;			/* of them */
} LwDerivedIds;

/* Opens the file of a key that must have `count` ids; false when there is none. */
extern bool lw_derived_ids_open(const LwDerivedKey *key, uint64_t count, LwDerivedIds *ids);
extern void lw_derived_ids_close(LwDerivedIds *ids);

/* Bytes of such a file of ids that take `bytes` together and stand once each. */
extern uint64_t lw_derived_ids_size(uint64_t count, uint64_t bytes);

/*
 * Writes such a file out of what was computed, and opens it; false when that
 * fails.  `twins` is NULL when no id stands twice.  Frees the build.
 */
extern bool lw_derived_ids_write(LwDerivedBuild *build, const LwIds *from, const LwIdmap *map,
								 const uint32_t *twins, uint64_t value, LwDerivedIds *ids);

/*
 * All return false when bytes that they read are not what was written: then
 * the caller computes.  An id stays where it is until the file is closed, but
 * is worth as much as the map (map.h).
 */
extern bool lw_derived_ids_get(const LwDerivedIds *ids, uint64_t row, const char **id, size_t *size);

/* The first row with an id, or LW_IDMAP_NONE. */
extern bool lw_derived_ids_find(const LwDerivedIds *ids, const char *id, size_t size, uint64_t hash, uint64_t *row);

/* The next row with the same id, or LW_IDMAP_NONE. */
extern bool lw_derived_ids_twin(const LwDerivedIds *ids, uint64_t row, uint64_t *twin);

/*
 * Puts the ids' bytes, all of them and as they were, in the place of a map that
 * was cut, so that ids that were given out before are what they were.
 */
extern void lw_derived_ids_restore(const LwDerivedIds *ids, const char *bytes);

#endif							/* LW_STORE_DERIVED_IDS_H */
