/*-------------------------------------------------------------------------
 *
 * entry.c
 *	  What the index holds of a row: its id and where the row lies.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "am/entry.h"
#include "sql/scorer.h"

LwKey
lw_id_to_key(LwString id)
{
	uint64		hash = hash_bytes_extended((const unsigned char *) id.data, (int) id.size, 0);
	LwKey		key = lw_key_first(Min(hash, LW_HASH_NULL - 1));

	key.size = id.size <= LW_INLINE_ID ? (uint16) id.size : LW_ID_LONG;
	return key;
}

void
lw_entry_make(LwEntryBuffer *buffer, Datum id, bool is_null, Oid type, ItemPointer row)
{
	LwEntry    *entry = &buffer->entry;

	if (is_null)
	{
		entry->key = lw_key_first(LW_HASH_NULL);
		entry->key.size = LW_ID_NULL;
	}
	else
	{
		LwIdBuffer	text;
		LwString	string = lw_id_from_datum(id, type, &text);

		entry->key = lw_id_to_key(string);
		memcpy(entry->id, string.data, lw_key_id_size(&entry->key));
	}
	entry->key.block = ItemPointerGetBlockNumber(row);
	entry->key.offset = ItemPointerGetOffsetNumber(row);
}

bool
lw_entry_matches(const LwEntry *entry, const LwKey *key, LwString id)
{
	return entry->key.hash == key->hash && entry->key.size == key->size &&
		memcmp(entry->id, id.data, lw_key_id_size(key)) == 0;
}
