/*-------------------------------------------------------------------------
 *
 * shared.c
 *	  What all sessions of the server know of the stores together.
 *
 * A table by directory (device and inode) holds the manifest that was read
 * last, parsed, and the identity of its file: a session whose stat finds
 * that very file takes the manifest from here.  An entry is made only from a
 * file that was older than the clock of the file system is coarse
 * when it was read (LwStore.unsettled), so a later one differs in its times.
 *
 * Both areas of memory are of fixed size.  That of the table has room for all
 * entries by construction; that of the manifests may be full, which is
 * no error.  A backend that is killed while it holds a lock here takes the server
 * through crash recovery, which begins with new shared memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"

#include "access/xact.h"
#include "lib/dshash.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/dsa.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "server/shared.h"

#define SEGMENT_NAME "lateweave"

/* Room for the table: an entry with its overhead, and the buckets. */
#define ENTRY_ROOM 1024
#define TABLE_ROOM (512 * 1024)

/* Room for manifests: some hundred segments each, on average. */
#define MANIFEST_ROOM (32 * 1024)
#define MANIFESTS_ROOM (1024 * 1024)

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
};

/* At the start of the shared memory. */
typedef struct Control
{
	LWLock		lock;			/* for making the areas and for making room */
	int			tranche;
	bool		made;
	int			room;			/* stores */
	pg_atomic_uint32 stores;	/* entries in the table */
	dshash_table_handle table;
	Size		table_at;		/* of the areas, from the start of this */
	Size		table_size;
	Size		manifests_at;
	Size		manifests_size;
} Control;

int			lw_max_sources = 128;

static Control *control;
static dsa_area *table_area;
static dsa_area *manifest_area;
static dshash_table *table;		/* NULL when this session has no part in it */

static shmem_request_hook_type previous_request;
static shmem_startup_hook_type previous_startup;

/* Sizes of the areas and of it all. */
static Size
lay_out(Control *layout)
{
	layout->room = lw_max_sources;
	layout->table_at = MAXALIGN(sizeof(Control));
	layout->table_size = MAXALIGN(TABLE_ROOM + mul_size(lw_max_sources, ENTRY_ROOM));
	layout->manifests_at = add_size(layout->table_at, layout->table_size);
	layout->manifests_size = MAXALIGN(MANIFESTS_ROOM + mul_size(lw_max_sources, MANIFEST_ROOM));
	return add_size(layout->manifests_at, layout->manifests_size);
}

static Size
shared_size(void)
{
	Control		layout;

	return lay_out(&layout);
}

static void
init_control(void *place)
{
	Control    *new = place;

	memset(new, 0, sizeof(*new));
	lay_out(new);
	new->tranche = LWLockNewTrancheId();
	LWLockInitialize(&new->lock, new->tranche);
	pg_atomic_init_u32(&new->stores, 0);
}

static void
request(void)
{
	if (previous_request != NULL)
		previous_request();
	RequestAddinShmemSpace(shared_size());
}

static void
startup(void)
{
	bool		found;

	if (previous_startup != NULL)
		previous_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	control = ShmemInitStruct(SEGMENT_NAME, shared_size(), &found);
	if (!found)
		init_control(control);
	LWLockRelease(AddinShmemInitLock);
}

/* Makes the areas and the table, in the first session that asks. */
static void
make_areas(char *base, const dshash_parameters *parameters)
{
	table_area = dsa_create_in_place(base + control->table_at, control->table_size, control->tranche, NULL);
	manifest_area = dsa_create_in_place(base + control->manifests_at, control->manifests_size, control->tranche, NULL);
	/* never more than there is: an allocation fails, and makes no segment */
	dsa_set_size_limit(table_area, control->table_size);
	dsa_set_size_limit(manifest_area, control->manifests_size);
	dsa_pin(table_area);
	dsa_pin(manifest_area);
	table = dshash_create(table_area, parameters, NULL);
	control->table = dshash_get_hash_table_handle(table);
	control->made = true;
}

/*
 * The segment that nobody has asked for at server start: NULL where there is none.  That there is no
 * memory for it is no error of the statement that asks.  Its name tells its size, since
 * sessions that disagree about the size could not share one.
 */
static Control *
find_named_segment(void)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	Control    *volatile segment = NULL;

	if (!LW_HAS_NAMED_SEGMENTS)
		return NULL;
	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		char		name[NAMEDATALEN];
		bool		found;

		snprintf(name, sizeof(name), SEGMENT_NAME " %d", lw_max_sources);
		segment = lw_named_segment(name, shared_size(), init_control, &found);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		ereport(LOG,
				(errcode(error->sqlerrcode),
				 errmsg("lateweave has no shared view in this session: %s", error->message)));
		FreeErrorData(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return segment;
}

/* Has the areas no longer count this session; a named segment is not mapped any more when on_shmem_exit calls. */
static void
leave(int code, Datum arg)
{
	char	   *base = (char *) control;

	table = NULL;
	dsa_release_in_place(base + control->table_at);
	dsa_release_in_place(base + control->manifests_at);
}

/* Takes part in the table, if there is one; once a session. */
static void
attach(void)
{
	static bool tried = false;
	dshash_parameters parameters = {
		.key_size = sizeof(SharedKey),
		.entry_size = sizeof(LwSharedStore),
		.compare_function = dshash_memcmp,
		.hash_function = dshash_memhash,
		LW_DSHASH_COPY_FUNCTION
		.tranche_id = 0
	};
	MemoryContext old;
	char	   *base;

	if (tried)
		return;
	tried = true;
	if (control == NULL)
		control = find_named_segment();
	if (control == NULL)
		return;
	base = (char *) control;
	parameters.tranche_id = control->tranche;
	LWLockRegisterTranche(control->tranche, "lateweave");

	old = MemoryContextSwitchTo(TopMemoryContext);
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	if (!control->made)
		make_areas(base, &parameters);
	else
	{
		table_area = dsa_attach_in_place(base + control->table_at, NULL);
		manifest_area = dsa_attach_in_place(base + control->manifests_at, NULL);
		table = dshash_attach(table_area, &parameters, control->table, NULL);
	}
	dsa_pin_mapping(table_area);
	dsa_pin_mapping(manifest_area);
	before_shmem_exit(leave, (Datum) 0);
	LWLockRelease(&control->lock);
	MemoryContextSwitchTo(old);
}

bool
lw_shared_available(void)
{
	attach();
	return table != NULL;
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
		taken = lw_manifest_unflatten(dsa_get_address(manifest_area, entry->manifest), manifest);
	if (taken)
		entry->used = GetCurrentTimestamp();	/* of a word's size: readers may write it at once */
	dshash_release_lock(table, entry);
	return taken;
}

void
lw_shared_init(void)
{
	bool		preloading = process_shared_preload_libraries_in_progress;

	lw_manifest_source = take_manifest;
	DefineCustomIntVariable("lateweave.max_sources",
							"Number of stores of which all sessions keep one view together.",
							"Each session keeps its own views of further ones.",
							&lw_max_sources,
							128, 1, 65536,
							preloading ? PGC_POSTMASTER : PGC_SIGHUP,
							0,
							NULL, NULL, NULL);
	if (!preloading)
		return;
	previous_request = shmem_request_hook;
	shmem_request_hook = request;
	previous_startup = shmem_startup_hook;
	shmem_startup_hook = startup;
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
		dsa_free(manifest_area, entry->manifest);
	dshash_delete_entry(table, entry);
	pg_atomic_fetch_sub_u32(&control->stores, 1);
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
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	/* only who holds the lock makes entries, so another session's is found now */
	entry = dshash_find(table, key, true);
	if (entry == NULL)
	{
		if (give_up_others && pg_atomic_read_u32(&control->stores) >= (uint32) control->room)
			make_room(DT_NOEND);
		if (pg_atomic_read_u32(&control->stores) >= (uint32) control->room)
		{
			LWLockRelease(&control->lock);
			return NULL;
		}
		entry = dshash_find_or_insert(table, key, &found);
		memset(entry, 0, sizeof(*entry));
		entry->key = *key;
		pg_atomic_init_u32(&entry->holds, 0);
		pg_atomic_init_u32(&entry->writing, 0);
		pg_atomic_init_u64(&entry->raised, 1);
		LWLockInitialize(&entry->publish, control->tranche);
		pg_atomic_fetch_add_u32(&control->stores, 1);
	}
	LWLockRelease(&control->lock);
	return entry;
}

/* Memory for a manifest, or InvalidDsaPointer. */
static dsa_pointer
allocate(Size size)
{
	const int	flags = DSA_ALLOC_NO_OOM | DSA_ALLOC_HUGE;
	dsa_pointer pointer = dsa_allocate_extended(manifest_area, size, flags);

	if (DsaPointerIsValid(pointer))
		return pointer;
	/* what was freed may be kept for objects of its size */
	dsa_trim(manifest_area);
	return dsa_allocate_extended(manifest_area, size, flags);
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
	if (size > control->manifests_size)
		return;
	entry = find_or_make(&key, true);
	if (entry == NULL)
		return;
	if (!DsaPointerIsValid(entry->manifest) || !lw_same_file(&entry->file, &store->manifest_file))
	{
		if (DsaPointerIsValid(entry->manifest))
			dsa_free(manifest_area, entry->manifest);
		entry->manifest = allocate(size);
		if (DsaPointerIsValid(entry->manifest))
		{
			lw_manifest_flatten(manifest, dsa_get_address(manifest_area, entry->manifest));
			entry->file = store->manifest_file;
		}
	}
	full = !DsaPointerIsValid(entry->manifest);
	entry->used = GetCurrentTimestamp();
	dshash_release_lock(table, entry);
	if (!full)
		return;
	/* for the next session that reads it */
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	make_room(GetCurrentTimestamp() - IDLE_SECONDS * USECS_PER_SEC);
	LWLockRelease(&control->lock);
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
