/*-------------------------------------------------------------------------
 *
 * stat.c
 *	  What has been done with each source since the statistics were reset.
 *
 * Entries are made where an error is allowed and only looked up where it is not.  When there
 * is no room, the entry that was not used for the longest time goes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "server/area.h"
#include "server/stat.h"

#define table lw_area_tables[LW_AREA_STATS]

typedef struct StatKey
{
	Oid			database;
	Oid			relation;
} StatKey;

typedef struct StatEntry
{
	StatKey		key;
	TimestampTz used;
	LwStat		stat;
} StatEntry;

/* What this session has counted. */
typedef struct Pending
{
	Oid			relid;			/* hash key */
	bool		shared;			/* there was a shared entry when it was last looked at */
	LwStatCounts counts;
	LwStatCounts added;			/* to the shared ones already */
	bool		failed;
	char		error[LW_STAT_ERROR_SIZE];
} Pending;

static LwStatCounts nobody;
LwStatCounts *lw_stat_scored = &nobody;

static HTAB *pending;

static StatKey
key_of(Oid relid)
{
	StatKey		key = {MyDatabaseId, relid};

	return key;
}

/* Gives up the entry that was not used for the longest time. */
static void
make_room(void)
{
	dshash_seq_status scan;
	StatEntry  *entry;
	StatKey		oldest = {InvalidOid, InvalidOid};
	TimestampTz limit = DT_NOEND;

	dshash_seq_init(&scan, table, false);
	while ((entry = dshash_seq_next(&scan)) != NULL)
		if (entry->used < limit)
		{
			oldest = entry->key;
			limit = entry->used;
		}
	dshash_seq_term(&scan);
	if (dshash_delete_key(table, &oldest))
		pg_atomic_fetch_sub_u32(&lw_area->entries[LW_AREA_STATS], 1);
}

/* Makes the shared entry of a table, if there is none. */
static void
make_entry(Oid relid)
{
	StatKey		key = key_of(relid);
	StatEntry  *entry = dshash_find(table, &key, false);
	bool		found;

	if (entry == NULL)
	{
		LWLockAcquire(&lw_area->lock, LW_EXCLUSIVE);
		if (pg_atomic_read_u32(&lw_area->entries[LW_AREA_STATS]) >= (uint32) lw_area->room)
			make_room();
		entry = dshash_find_or_insert(table, &key, &found);
		if (!found)
		{
			memset(&entry->stat, 0, sizeof(entry->stat));
			entry->stat.since = entry->used = GetCurrentTimestamp();
			pg_atomic_fetch_add_u32(&lw_area->entries[LW_AREA_STATS], 1);
		}
		LWLockRelease(&lw_area->lock);
	}
	dshash_release_lock(table, entry);
}

/* What the session counts of a table, made when `make` is set. */
static Pending *
find_pending(Oid relid, bool make)
{
	Pending    *mine;
	bool		found;

	if (!make)
		return hash_search(pending, &relid, HASH_FIND, NULL);
	mine = hash_search(pending, &relid, HASH_ENTER, &found);
	if (!found)
	{
		memset(mine, 0, sizeof(*mine));
		mine->relid = relid;
	}
	return mine;
}

LwStatCounts *
lw_stat_of(Oid relid)
{
	static Pending *last;

	if (last == NULL || last->relid != relid)
		last = find_pending(relid, true);
	if (!last->shared && OidIsValid(MyDatabaseId) && lw_area_available())
	{
		make_entry(relid);
		last->shared = true;
	}
	return &last->counts;
}

static int
compare_relids(const void *a, const void *b)
{
	Oid			x = ((const LwStatOfSource *) a)->relid;
	Oid			y = ((const LwStatOfSource *) b)->relid;

	return (x > y) - (x < y);
}

LwStatOfSource *
lw_stat_session(int *count)
{
	LwStatOfSource *sources = palloc_array(LwStatOfSource, hash_get_num_entries(pending) + 1);
	HASH_SEQ_STATUS scan;
	Pending    *mine;

	*count = 0;
	hash_seq_init(&scan, pending);
	while ((mine = hash_seq_search(&scan)) != NULL)
		sources[(*count)++] = (LwStatOfSource) {mine->relid, mine->counts};
	qsort(sources, *count, sizeof(LwStatOfSource), compare_relids);
	return sources;
}

bool
lw_stat_error(Oid relid, const char *message)
{
	Pending    *mine = find_pending(relid, false);
	LwStat		before;
	char		cut[LW_STAT_ERROR_SIZE];
	bool		known = lw_stat_get(relid, &before);

	/* without shared memory every error is a new one */
	strlcpy(cut, message, Min(sizeof(cut), (size_t) pg_mbcliplen(message, (int) strlen(message), sizeof(cut) - 1) + 1));
	if (mine != NULL)
	{
		strlcpy(mine->error, cut, sizeof(mine->error));
		mine->failed = true;
	}
	return !known || strcmp(before.error, cut) != 0;
}

/* Adds what is new of one table's counts to the shared ones. */
static void
flush_one(Pending *mine)
{
	StatKey		key = key_of(mine->relid);
	StatEntry  *entry;
	uint64	   *to;
	const uint64 *from = (const uint64 *) &mine->counts;
	const uint64 *added = (const uint64 *) &mine->added;
	int			i;

	if (!mine->shared || (!mine->failed && memcmp(from, added, LW_STAT_SUMS * sizeof(uint64)) == 0))
		return;
	entry = dshash_find(table, &key, true);
	if (entry == NULL)
		mine->shared = false;
	else
	{
		to = (uint64 *) &entry->stat.counts;
		for (i = 0; i < (int) LW_STAT_SUMS; i++)
			to[i] += from[i] - added[i];
		entry->used = GetCurrentTimestamp();
		if (mine->failed)
		{
			strlcpy(entry->stat.error, mine->error, sizeof(entry->stat.error));
			entry->stat.error_at = entry->used;
		}
		dshash_release_lock(table, entry);
	}
	mine->failed = false;
	mine->added = mine->counts;
}

void
lw_stat_flush(void)
{
	HASH_SEQ_STATUS scan;
	Pending    *mine;

	if (lw_area == NULL || hash_get_num_entries(pending) == 0)
		return;
	hash_seq_init(&scan, pending);
	while ((mine = hash_seq_search(&scan)) != NULL)
		flush_one(mine);
}

bool
lw_stat_get(Oid relid, LwStat *stat)
{
	StatKey		key = key_of(relid);
	StatEntry  *entry = lw_area == NULL ? NULL : dshash_find(table, &key, false);

	if (entry == NULL)
		return false;
	*stat = entry->stat;
	dshash_release_lock(table, entry);
	return true;
}

void
lw_stat_reset(void)
{
	dshash_seq_status scan;
	StatEntry  *entry;

	if (!lw_area_available())
		return;
	dshash_seq_init(&scan, table, true);
	while ((entry = dshash_seq_next(&scan)) != NULL)
		if (entry->key.database == MyDatabaseId)
		{
			memset(&entry->stat, 0, sizeof(entry->stat));
			entry->stat.since = GetCurrentTimestamp();
		}
	dshash_seq_term(&scan);
}

/* A statement ends with its portal, a transaction with its own resources. */
static void
release_callback(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *arg)
{
	if (phase == RESOURCE_RELEASE_AFTER_LOCKS)
		lw_stat_flush();
}

void
lw_stat_init(void)
{
	HASHCTL		control;

	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(Pending);
	pending = hash_create("lateweave statistics", 16, &control, HASH_ELEM | HASH_BLOBS);
	lw_area_define(LW_AREA_STATS, sizeof(StatKey), sizeof(StatEntry));
	RegisterResourceReleaseCallback(release_callback, NULL);
}
