/*-------------------------------------------------------------------------
 *
 * shared.c
 *	  What all sessions of the server know of the stores together.
 *
 * A table by directory (device and inode) holds the manifest that was published or read
 * last, parsed, and the identity of its file: a session whose stat finds
 * that very file takes the manifest from here.  Of a file that was read an entry is made only
 * when it was older than the clock of the file system is coarse (LwStore.unsettled), so a later one
 * differs in its times; of one that this server published, since its time is like no other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "server/area.h"
#include "server/shared.h"

#define table lw_area_tables[LW_AREA_STORES]

/* An entry that was not used for this long may go when manifests find no room. */
#define IDLE_SECONDS 60

typedef struct SharedKey
{
	dev_t		device;			/* of the store's directory */
	ino_t		inode;
} SharedKey;

struct LwSharedStore
{
	SharedKey	key;
	TimestampTz used;			/* when somebody last took or offered the manifest */

	/* the file of the manifest, and what it says; InvalidDsaPointer when there was no room */
	LwFileId	file;
	dsa_pointer manifest;

	pg_atomic_uint32 holds;		/* sessions that write it */
	LWLock		publish;		/* held by whoever publishes */
	pg_atomic_uint32 writing;	/* sessions with a change on its way */
	pg_atomic_uint64 raised;	/* goes up before each is written */
	uint64		cleared;		/* as `raised` was, before nothing was on its way and then nothing was found; guarded by the table */
	bool		settled;		/* what a crash left was dealt with */

	LwFileId	counted;		/* the manifest file whose commit has these: */
	LwSharedCounts counts;
};

bool
lw_shared_available(void)
{
	return lw_area_available();
}

static SharedKey
key_of(const LwStore *store)
{
	SharedKey	key;

	memset(&key, 0, sizeof(key));
	key.device = store->device;
	key.inode = store->inode;
	return key;
}

/* LwManifestSource of follow.h. */
static bool
take_manifest(const LwStore *store, const LwFileId *file, LwManifest *manifest)
{
	SharedKey	key = key_of(store);
	LwSharedStore *entry;
	bool		taken = false;

	if (table == NULL)
		return false;
	entry = dshash_find(table, &key, false);
	if (entry == NULL)
		return false;
	if (DsaPointerIsValid(entry->manifest) && lw_same_file(&entry->file, file))
		taken = lw_manifest_unflatten(dsa_get_address(lw_area_manifests, entry->manifest), manifest);
	if (taken)
		entry->used = GetCurrentTimestamp();	/* of a word's size: readers may write it at once */
	dshash_release_lock(table, entry);
	return taken;
}

/* Whether nothing would be lost with an entry. */
static bool
is_idle(LwSharedStore *entry)
{
	return pg_atomic_read_u32(&entry->holds) == 0;
}

/* Gives up the entry that was not used for the longest time, if that was before `limit` and nobody holds it. */
static void
make_room(TimestampTz limit)
{
	dshash_seq_status scan;
	LwSharedStore *entry;
	SharedKey	oldest;
	bool		found = false;

	dshash_seq_init(&scan, table, false);
	while ((entry = dshash_seq_next(&scan)) != NULL)
		if (entry->used < limit && is_idle(entry))
		{
			found = true;
			oldest = entry->key;
			limit = entry->used;
		}
	dshash_seq_term(&scan);
	entry = found ? dshash_find(table, &oldest, true) : NULL;
	if (entry == NULL)
		return;
	if (!is_idle(entry))
	{
		dshash_release_lock(table, entry);
		return;
	}
	if (DsaPointerIsValid(entry->manifest))
		dsa_free(lw_area_manifests, entry->manifest);
	dshash_delete_entry(table, entry);
	pg_atomic_fetch_sub_u32(&lw_area->entries[LW_AREA_STORES], 1);
}

/*
 * The entry of a store, locked; made when there is none, after room was made, if that is wanted.
 * NULL when there is no room: all others are held.
 */
static LwSharedStore *
find_or_make(const SharedKey *key, bool give_up_others)
{
	LwSharedStore *entry = dshash_find(table, key, true);
	bool		found;

	if (entry != NULL)
		return entry;
	LWLockAcquire(&lw_area->lock, LW_EXCLUSIVE);
	/* only who holds the lock makes entries, so another session's is found now */
	entry = dshash_find(table, key, true);
	if (entry == NULL)
	{
		if (give_up_others && pg_atomic_read_u32(&lw_area->entries[LW_AREA_STORES]) >= (uint32) lw_area->room)
			make_room(DT_NOEND);
		if (pg_atomic_read_u32(&lw_area->entries[LW_AREA_STORES]) >= (uint32) lw_area->room)
		{
			LWLockRelease(&lw_area->lock);
			return NULL;
		}
		entry = dshash_find_or_insert(table, key, &found);
		memset(entry, 0, sizeof(*entry));
		entry->key = *key;
		pg_atomic_init_u32(&entry->holds, 0);
		pg_atomic_init_u32(&entry->writing, 0);
		pg_atomic_init_u64(&entry->raised, 1);
		LWLockInitialize(&entry->publish, lw_area->tranche);
		pg_atomic_fetch_add_u32(&lw_area->entries[LW_AREA_STORES], 1);
	}
	LWLockRelease(&lw_area->lock);
	return entry;
}

/* Memory for a manifest, or InvalidDsaPointer. */
static dsa_pointer
allocate(Size size)
{
	const int	flags = DSA_ALLOC_NO_OOM | DSA_ALLOC_HUGE;
	dsa_pointer pointer = dsa_allocate_extended(lw_area_manifests, size, flags);

	if (DsaPointerIsValid(pointer))
		return pointer;
	/* what was freed may be kept for objects of its size */
	dsa_trim(lw_area_manifests);
	return dsa_allocate_extended(lw_area_manifests, size, flags);
}

/* Has a locked entry hold a manifest, if there is room for it. */
static void
put_manifest(LwSharedStore *entry, const LwFileId *file, const LwManifest *manifest, Size size)
{
	if (DsaPointerIsValid(entry->manifest))
		dsa_free(lw_area_manifests, entry->manifest);
	entry->manifest = allocate(size);
	if (!DsaPointerIsValid(entry->manifest))
		return;
	lw_manifest_flatten(manifest, dsa_get_address(lw_area_manifests, entry->manifest));
	entry->file = *file;
}

/* LwManifestSink of follow.h: only where there is an entry already, as of every store that this server writes. */
static void
give_manifest(dev_t device, ino_t inode, const LwFileId *file, const LwManifest *manifest)
{
	Size		size = lw_manifest_flat_size(manifest);
	SharedKey	key;
	LwSharedStore *entry;

	if (table == NULL || size > lw_area->manifests_size)
		return;
	memset(&key, 0, sizeof(key));
	key.device = device;
	key.inode = inode;
	entry = dshash_find(table, &key, true);
	if (entry == NULL)
		return;
	put_manifest(entry, file, manifest, size);
	entry->used = GetCurrentTimestamp();
	dshash_release_lock(table, entry);
}

void
lw_shared_init(void)
{
	lw_manifest_source = take_manifest;
	lw_manifest_sink = give_manifest;
	lw_area_define(LW_AREA_STORES, sizeof(SharedKey), sizeof(LwSharedStore));
}

void
lw_shared_offer(LwStore *store)
{
	const LwManifest *manifest;
	SharedKey	key = key_of(store);
	LwSharedStore *entry;
	Size		size;
	bool		full;

	if (!store->was_read || store->unsettled || !lw_shared_available())
		return;
	store->was_read = false;
	manifest = &store->view->manifest;
	size = lw_manifest_flat_size(manifest);
	/* nobody else need go for what can never find room */
	if (size > lw_area->manifests_size)
		return;
	entry = find_or_make(&key, true);
	if (entry == NULL)
		return;
	if (!DsaPointerIsValid(entry->manifest) || !lw_same_file(&entry->file, &store->manifest_file))
		put_manifest(entry, &store->manifest_file, manifest, size);
	full = !DsaPointerIsValid(entry->manifest);
	entry->used = GetCurrentTimestamp();
	dshash_release_lock(table, entry);
	if (!full)
		return;
	/* for the next session that reads it */
	LWLockAcquire(&lw_area->lock, LW_EXCLUSIVE);
	make_room(GetCurrentTimestamp() - IDLE_SECONDS * USECS_PER_SEC);
	LWLockRelease(&lw_area->lock);
}

LwSharedStore *
lw_shared_hold(const LwStore *store)
{
	SharedKey	key = key_of(store);
	LwSharedStore *entry;

	if (!lw_shared_available())
		return NULL;
	entry = find_or_make(&key, true);
	if (entry == NULL)
		return NULL;
	pg_atomic_fetch_add_u32(&entry->holds, 1);
	entry->used = GetCurrentTimestamp();
	dshash_release_lock(table, entry);
	return entry;
}

void
lw_shared_unhold(LwSharedStore *shared)
{
	pg_atomic_fetch_sub_u32(&shared->holds, 1);
}

bool
lw_shared_lock(LwSharedStore *shared)
{
	return LWLockAcquireOrWait(&shared->publish, LW_EXCLUSIVE);
}

void
lw_shared_unlock(LwSharedStore *shared)
{
	LWLockRelease(&shared->publish);
}

void
lw_shared_raise(LwSharedStore *shared)
{
	pg_atomic_fetch_add_u32(&shared->writing, 1);
	pg_atomic_fetch_add_u64(&shared->raised, 1);
}

void
lw_shared_lower(LwSharedStore *shared)
{
	pg_atomic_fetch_sub_u32(&shared->writing, 1);
}

bool
lw_shared_pending(const LwStore *store, uint64 *token)
{
	SharedKey	key = key_of(store);
	LwSharedStore *entry;
	bool		pending;
	uint64		raised;

	*token = 0;
	if (!lw_shared_available())
		return true;
	entry = dshash_find(table, &key, false);
	if (entry == NULL)
		entry = find_or_make(&key, false);
	if (entry == NULL)
		return true;
	raised = pg_atomic_read_u64(&entry->raised);
	pg_read_barrier();
	pending = entry->cleared != raised;
	if (pg_atomic_read_u32(&entry->writing) > 0)
		pending = true;
	else
		*token = raised;
	dshash_release_lock(table, entry);
	return pending;
}

void
lw_shared_clear(const LwStore *store, uint64 token)
{
	SharedKey	key = key_of(store);
	LwSharedStore *entry;

	if (token == 0 || !lw_shared_available())
		return;
	entry = dshash_find(table, &key, true);
	if (entry == NULL)
		return;
	entry->cleared = Max(entry->cleared, token);
	dshash_release_lock(table, entry);
}

bool
lw_shared_settled(const LwSharedStore *shared)
{
	return shared->settled;
}

bool
lw_shared_is_settled(const LwStore *store)
{
	SharedKey	key = key_of(store);
	LwSharedStore *entry = lw_shared_available() ? dshash_find(table, &key, false) : NULL;
	bool		settled = entry != NULL && entry->settled;

	if (entry != NULL)
		dshash_release_lock(table, entry);
	return settled;
}

void
lw_shared_set_settled(LwSharedStore *shared, bool settled)
{
	shared->settled = settled;
}

bool
lw_shared_get_counts(const LwStore *store, LwSharedCounts *counts)
{
	SharedKey	key = key_of(store);
	LwSharedStore *entry = lw_shared_available() && !store->unsettled ? dshash_find(table, &key, false) : NULL;
	bool		found = entry != NULL && lw_same_file(&entry->counted, &store->manifest_file);

	if (found)
		*counts = entry->counts;
	if (entry != NULL)
		dshash_release_lock(table, entry);
	return found;
}

void
lw_shared_put_counts(const LwStore *store, const LwSharedCounts *counts)
{
	SharedKey	key = key_of(store);
	LwSharedStore *entry = lw_shared_available() && !store->unsettled ? dshash_find(table, &key, true) : NULL;

	if (entry == NULL)
		return;
	entry->counted = store->manifest_file;
	entry->counts = *counts;
	dshash_release_lock(table, entry);
}
