/*-------------------------------------------------------------------------
 *
 * idset.h
 *	  A set of ids, by hashes of 128 bits: two ids of one hash are not to be expected.
 *
 * 32 to 64 bytes an id, however long.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_IDSET_H
#define LW_SERVER_IDSET_H

#include "postgres.h"

typedef struct LwIdKey
{
	uint64		a;
	uint64		b;
} LwIdKey;

typedef struct LwIdSetEntry
{
	LwIdKey		key;
	uint32		status;
} LwIdSetEntry;

extern LwIdKey lw_id_key(const char *id, size_t size);

#define SH_PREFIX lwidset
#define SH_ELEMENT_TYPE LwIdSetEntry
#define SH_KEY_TYPE LwIdKey
#define SH_SCOPE extern
#define SH_DECLARE
#include "lib/simplehash.h"

#endif							/* LW_SERVER_IDSET_H */
