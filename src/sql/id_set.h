/*-------------------------------------------------------------------------
 *
 * id_set.h
 *	  Sets of document ids (id_set_create and so on, of lib/simplehash.h), for
 *	  whoever includes it.
 *
 * The ids are the caller's and have to live as long as the set.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_ID_SET_H
#define LW_SQL_ID_SET_H

#include "postgres.h"

#include "storage/itemptr.h"

#include "format/manifest.h"
#include "store/idmap.h"

typedef struct LwIdEntry
{
	LwString	id;
	uint32		hash;
	char		status;
	ItemPointerData row;		/* the user's: of a table, which the id belongs to */
} LwIdEntry;

#define SH_PREFIX id_set
#define SH_ELEMENT_TYPE LwIdEntry
#define SH_KEY_TYPE LwString
#define SH_KEY id
#define SH_HASH_KEY(table, key) ((uint32) lw_id_hash((key).data, (key).size))
#define SH_EQUAL(table, a, b) lw_string_equal(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DEFINE
#define SH_DECLARE
#include "lib/simplehash.h"

#endif							/* LW_SQL_ID_SET_H */
