/*-------------------------------------------------------------------------
 *
 * fsst_build.c
 *	  The symbol table of some texts.
 *
 * All texts are seen as one.  Each of its substrings of 1 to 8 bytes saves
 * (size - 1) bytes wherever it occurs; the 255 that save most are the symbols.
 *
 * The 8 bytes from each position on, as a number, are a key; a substring's
 * occurrences are the keys that begin with it, which are neighbours in sorted
 * order.  The keys are taken in ascending runs of as many different ones as
 * there is room for: each run reads all texts, keeps the least keys not yet
 * counted, and drops the greatest when the room is full.  Counters of
 * substrings go on from one run to the next.
 *
 *-------------------------------------------------------------------------
 */
#include "section/fsst.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SIZE LW_FSST_SYMBOL_SIZE

/* Entries of the counters' usual room. */
#define MAX_ENTRIES ((size_t) 4 << 20)
#define MIN_ENTRIES ((size_t) 16)

/* What is read between two questions whether to stop. */
#define STEP ((size_t) 1 << 20)

/* A key and how often it occurs; the last 7 of all texts have fewer than 8 bytes, and zeros behind them. */
typedef struct Entry
{
	uint64_t	key;
	uint64_t	count:60;
	uint64_t	size:4;
} Entry;

typedef struct Candidate
{
	uint64_t	key;			/* its bytes, zeros behind them */
	unsigned	size;
	uint64_t	gain;
} Candidate;

typedef struct Build
{
	/* entries of this run: all in [least, end) */
	Entry	   *entries;
	Entry	   *scratch;
	size_t		room;
	size_t		count;
	uint64_t	least;
	uint64_t	end;			/* valid when cut */
	bool		cut;			/* keys from `end` on are for the next run */

	/* counting substrings */
	uint64_t	key;			/* the last one counted */
	uint64_t	counts[MAX_SIZE + 1];	/* of its first n bytes */
	Candidate	best[LW_FSST_SYMBOLS];	/* the best first */
	unsigned	nbest;
} Build;

/* Sorts entries by key, a byte at a time, the last first. */
static void
sort_entries(Entry *entries, Entry *scratch, size_t count)
{
	unsigned	shift;

	for (shift = 0; shift < 64; shift += 8)
	{
		size_t		starts[256] = {0};
		size_t		start = 0;
		size_t		i;

		for (i = 0; i < count; i++)
			starts[entries[i].key >> shift & 255]++;
		for (i = 0; i < 256; i++)
		{
			size_t		number = starts[i];

			starts[i] = start;
			start += number;
		}
		for (i = 0; i < count; i++)
			scratch[starts[entries[i].key >> shift & 255]++] = entries[i];
		memcpy(entries, scratch, count * sizeof(Entry));
	}
}

/* Sorts what has been collected and adds up equal keys. */
static void
compact(Build *build)
{
	size_t		kept = 0;
	size_t		i;

	sort_entries(build->entries, build->scratch, build->count);
	for (i = 0; i < build->count; i++)
	{
		Entry	   *last = &build->entries[kept - (kept > 0)];

		if (kept > 0 && last->key == build->entries[i].key && last->size == build->entries[i].size)
			last->count += build->entries[i].count;
		else
			build->entries[kept++] = build->entries[i];
	}
	build->count = kept;
}

/*
 * Makes room for more keys.  When less than half of it becomes free, the
 * greater keys are left for another run.  No key has more than 8 entries, one
 * for each size, so some are always kept.
 */
static void
make_room(Build *build)
{
	size_t		half = build->room / 2;

	compact(build);
	if (build->count <= half)
		return;
	build->end = build->entries[half].key;
	build->cut = true;
	while (half > 0 && build->entries[half - 1].key == build->end)
		half--;
	build->count = half;
}

/* Takes a key into account unless another run counts it. */
static inline void
collect(Build *build, uint64_t key, unsigned size)
{
	if (key < build->least || (build->cut && key >= build->end))
		return;
	if (build->count == build->room)
	{
		make_room(build);
		if (build->cut && key >= build->end)
			return;
	}
	build->entries[build->count].key = key;
	build->entries[build->count].count = 1;
	build->entries[build->count++].size = size;
}

/* Collects the keys of a run. */
static LwStatus
collect_all(Build *build, const LwBytes *texts, size_t count, const LwStop *stop, LwError *error)
{
	uint64_t	key = 0;
	unsigned	held = 0;		/* bytes in key, at its end */
	size_t		read = 0;
	size_t		i;
	size_t		j;

	for (i = 0; i < count; i++)
		for (j = 0; j < texts[i].size; j++)
		{
			key = key << 8 | texts[i].data[j];
			if (held < MAX_SIZE)
				held++;
			if (held == MAX_SIZE)
				collect(build, key, MAX_SIZE);
			if (++read % STEP == 0 && lw_stop_asked(stop))
				return lw_fail(error, LW_CANCELLED, NULL, -1, "to go on", "a request to stop");
		}
	if (held == MAX_SIZE)
		held--;
	for (; held > 0; held--)
		collect(build, key << (64 - 8 * held), held);
	return LW_OK;
}

/* Whether a candidate comes before another: more gain, or lesser bytes, a prefix before what goes on. */
static bool
comes_before(const Candidate *a, const Candidate *b)
{
	if (a->gain != b->gain)
		return a->gain > b->gain;
	if (a->key != b->key)
		return a->key < b->key;
	return a->size < b->size;
}

/* Keeps a substring if it is among the best so far. */
static void
offer(Build *build, uint64_t key, unsigned size, uint64_t count)
{
	Candidate	candidate = {key & (UINT64_MAX << (64 - 8 * size)), size, (size - 1) * count};
	unsigned	at = build->nbest;

	if (at == LW_FSST_SYMBOLS)
	{
		at--;
		if (!comes_before(&candidate, &build->best[at]))
			return;
	}
	else
		build->nbest++;
	for (; at > 0 && comes_before(&candidate, &build->best[at - 1]); at--)
		build->best[at] = build->best[at - 1];
	build->best[at] = candidate;
}

/* Ends the counters of those substrings that do not begin `key`. */
static void
end_substrings(Build *build, uint64_t key, bool all)
{
	unsigned	size;

	for (size = MAX_SIZE; size > 0; size--)
	{
		if (!all && (build->key ^ key) >> (64 - 8 * size) == 0)
			break;
		if (build->counts[size] > 0)
			offer(build, build->key, size, build->counts[size]);
		build->counts[size] = 0;
	}
	build->key = key;
}

/* Counts the substrings that begin at the keys of a run. */
static void
count_substrings(Build *build)
{
	size_t		i;

	for (i = 0; i < build->count; i++)
	{
		const Entry *entry = &build->entries[i];
		unsigned	size;

		end_substrings(build, entry->key, false);
		for (size = 1; size <= entry->size; size++)
			build->counts[size] += entry->count;
	}
}

/* Copies the best substrings into the table. */
static void
fill_table(const Build *build, LwFsst *table)
{
	unsigned	i;
	unsigned	j;

	memset(table, 0, sizeof(*table));
	table->count = build->nbest;
	for (i = 0; i < build->nbest; i++)
	{
		table->sizes[i] = (uint8_t) build->best[i].size;
		for (j = 0; j < build->best[i].size; j++)
			table->symbols[i][j] = (uint8_t) (build->best[i].key >> (56 - 8 * j));
	}
}

LwStatus
lw_fsst_build_within(const LwBytes *texts, size_t count, size_t entries, const LwStop *stop,
					 LwFsst *table, LwError *error)
{
	Build		build = {0};
	LwStatus	status = LW_OK;

	build.room = entries < MIN_ENTRIES ? MIN_ENTRIES : entries;
	build.entries = malloc(build.room * sizeof(Entry));
	build.scratch = malloc(build.room * sizeof(Entry));
	if (build.entries == NULL || build.scratch == NULL)
		status = lw_no_memory(error);
	while (status == LW_OK)
	{
		build.count = 0;
		build.cut = false;
		status = collect_all(&build, texts, count, stop, error);
		if (status != LW_OK)
			break;
		compact(&build);
		count_substrings(&build);
		if (!build.cut)
			break;
		build.least = build.end;
	}
	if (status == LW_OK)
	{
		end_substrings(&build, 0, true);
		fill_table(&build, table);
	}
	free(build.scratch);
	free(build.entries);
	return status;
}

LwStatus
lw_fsst_build(const LwBytes *texts, size_t count, const LwStop *stop, LwFsst *table, LwError *error)
{
	size_t		entries = 0;
	size_t		i;

	for (i = 0; i < count && entries < MAX_ENTRIES; i++)
		entries += texts[i].size < MAX_ENTRIES ? texts[i].size : MAX_ENTRIES;
	return lw_fsst_build_within(texts, count, entries < MAX_ENTRIES ? entries : MAX_ENTRIES,
								stop, table, error);
}
