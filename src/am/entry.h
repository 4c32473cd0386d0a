/*-------------------------------------------------------------------------
 *
 * entry.h
 *	  What the index holds of a row: its id and where the row lies.
 *
 * Entries are in the order of a hash of the id's text, and those of one hash
 * in the order of their rows: no collation is asked, whatever the id's type,
 * and new entries fall everywhere alike.
 *
 * An id of up to LW_INLINE_ID bytes stands in the entry.  Of a longer one there is
 * only the hash, so that another id can seem to be it: who looks one up
 * rechecks.  A NULL has an entry too, behind all others.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_AM_ENTRY_H
#define LW_AM_ENTRY_H

#include "postgres.h"

#include "storage/itemptr.h"

#include "compat.h"
#include "format/manifest.h"

/* So that a page has room for many entries, however long they are. */
#define LW_INLINE_ID (BLCKSZ / 16)

/* Values of `size` beside the bytes that follow. */
#define LW_ID_LONG 0xfffe
#define LW_ID_NULL 0xffff

#define LW_HASH_NULL PG_UINT64_MAX	/* that of no id */

/*
 * The place of an entry in the order of all; no two have the same.  As a bound,
 * which need not be that of an entry, `size` is 0.
 */
typedef struct LwKey
{
	uint64		hash;
	BlockNumber block;			/* of the row */
	OffsetNumber offset;
	uint16		size;			/* bytes of the id; not a part of the order */
} LwKey;

typedef struct LwEntry
{
	LwKey		key;
	char		id[FLEXIBLE_ARRAY_MEMBER];	/* UTF-8 */
} LwEntry;

/* Room for any entry. */
typedef union LwEntryBuffer
{
	LwEntry		entry;
	char		bytes[sizeof(LwKey) + LW_INLINE_ID];
} LwEntryBuffer;

static inline int
lw_key_compare(const LwKey *a, const LwKey *b)
{
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* The bound below all entries of a hash. */
static inline LwKey
lw_key_first(uint64 hash)
{
	LwKey		key = {hash, 0, 0, 0};

	return key;
}

/* The bound above all entries. */
static inline LwKey
lw_key_end(void)
{
	LwKey		key = {PG_UINT64_MAX, InvalidBlockNumber, 0, 0};

	return key;
}

/* Bytes of id in an entry whose key this is. */
static inline Size
lw_key_id_size(const LwKey *key)
{
	return key->size >= LW_ID_LONG ? 0 : key->size;
}

static inline Size
lw_entry_size(const LwEntry *entry)
{
	return sizeof(LwKey) + lw_key_id_size(&entry->key);
}

/* The hash of an id, and what `size` its entries have. */
extern LwKey lw_id_to_key(LwString id);

/* Makes the entry of a row, whose id is a Datum of this type. */
extern void lw_entry_make(LwEntryBuffer *buffer, Datum id, bool is_null, Oid type, ItemPointer row);

/* Whether the entry is of this id, whose key is given; of long ids it only seems so. */
extern bool lw_entry_matches(const LwEntry *entry, const LwKey *key, LwString id);

#endif							/* LW_AM_ENTRY_H */
