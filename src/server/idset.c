/*-------------------------------------------------------------------------
 *
 * idset.c
 *	  A set of ids, by hashes of 128 bits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "server/idset.h"
#include "store/idmap.h"

LwIdKey
lw_id_key(const char *id, size_t size)
{
	LwIdKey		key;

	key.a = lw_id_hash(id, size);
	key.b = hash_bytes_extended((const unsigned char *) id, (int) Min(size, INT_MAX), UINT64CONST(0x6c6174657765));
	return key;
}

#define SH_PREFIX lwidset
#define SH_ELEMENT_TYPE LwIdSetEntry
#define SH_KEY_TYPE LwIdKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) ((uint32) (key).a)
#define SH_EQUAL(table, x, y) ((x).a == (y).a && (x).b == (y).b)
#define SH_SCOPE extern
#define SH_DEFINE
#include "lib/simplehash.h"
