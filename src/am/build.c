/*-------------------------------------------------------------------------
 *
 * build.c
 *	  Making the index: from a whole table, empty, and row by row.
 *
 * A build sorts the entries and fills the leaves one after another, and with
 * them the levels above, so that a page is written once.  A node gets
 * its block when its level has a second one; the one that never
 * does is the root.
 *
 * Memory is that of the sort (maintenance_work_mem) and a page a level.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

#include "am/index.h"
#include "am/tree.h"

/* Bytes of a page that a build leaves for what comes later. */
#define LEFT_FREE (BLCKSZ / 10)

/* The node of a level that is being filled. */
typedef struct Level
{
	Page		page;			/* NULL: nothing has come to this level */
	Buffer		buffer;			/* where it goes, pinned; InvalidBuffer as long as it may be the root */
} Level;

typedef struct Build
{
	Relation	index;
	Oid			type;			/* of the ids */
	Tuplesortstate *sort;
	double		entries;
	MemoryContext context;		/* of one row */
	Level		levels[LW_MAX_LEVELS];
} Build;

/* An entry as a bytea in whose order it is sorted, and back. */
static void
swap_key(LwKey *key)
{
	key->hash = pg_hton64(key->hash);
	key->block = pg_hton32(key->block);
	key->offset = pg_hton16(key->offset);
}

static void
add_row(Relation index, ItemPointer row, Datum *values, bool *nulls, bool alive, void *state)
{
	Build	   *build = state;
	MemoryContext old = MemoryContextSwitchTo(build->context);
	LwEntryBuffer buffer;
	Size		size;
	bytea	   *sortable;

	lw_entry_make(&buffer, values[0], nulls[0], build->type, row);
	size = lw_entry_size(&buffer.entry);
	swap_key(&buffer.entry.key);
	sortable = palloc(VARHDRSZ + size);
	SET_VARSIZE(sortable, VARHDRSZ + size);
	memcpy(VARDATA(sortable), &buffer, size);
	tuplesort_putdatum(build->sort, PointerGetDatum(sortable), false);
	build->entries++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(build->context);
}

/* Writes a node whole, and lets it go. */
static void
write_node(Relation index, Buffer buffer, Page page)
{
	GenericXLogState *state;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	memcpy(GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE), page, BLCKSZ);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

/* A block for a node that is still to be filled, pinned. */
static Buffer
reserve(Relation index)
{
	Buffer		buffer = lw_tree_extend(index, MAIN_FORKNUM);

	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return buffer;
}

static void add_item(Build *build, int level, const LwKey *item, Size size);

/* Adds the link to a node of the level below. */
static void
add_link(Build *build, int level, LwKey low, BlockNumber child)
{
	LwDownlink	downlink;

	memset(&downlink, 0, sizeof(downlink));
	downlink.low = low;
	downlink.child = child;
	add_item(build, level, &downlink.low, sizeof(downlink));
}

/* Ends the node of a level: the next one begins with `high`. */
static void
next_node(Build *build, int number, LwKey high)
{
	Level	   *level = &build->levels[number];
	LwNodeTail *tail = lw_node_tail(level->page);
	Buffer		buffer = BufferIsValid(level->buffer) ? level->buffer : reserve(build->index);
	BlockNumber block = BufferGetBlockNumber(buffer);
	LwKey		low = tail->low;

	level->buffer = reserve(build->index);
	tail->high = high;
	tail->right = BufferGetBlockNumber(level->buffer);
	write_node(build->index, buffer, level->page);
	lw_node_init(level->page, number, high, lw_key_end(), InvalidBlockNumber);
	add_link(build, number + 1, low, block);
}

static void
add_item(Build *build, int number, const LwKey *item, Size size)
{
	Level	   *level = &build->levels[number];

	if (level->page == NULL)
	{
		level->page = palloc(BLCKSZ);
		lw_node_init(level->page, number, lw_key_first(0), lw_key_end(), InvalidBlockNumber);
	}
	if (PageGetFreeSpace(level->page) < MAXALIGN(size) + LEFT_FREE)
	{
		LwKey		high = *item;

		high.size = 0;
		next_node(build, number, high);
	}
	lw_node_add(build->index, level->page, OffsetNumberNext(PageGetMaxOffsetNumber(level->page)), item, size);
}

/* Ends the nodes that are not full; the uppermost is the root. */
static void
finish(Build *build, Buffer root)
{
	int			number;

	for (number = 0; BufferIsValid(build->levels[number].buffer); number++)
	{
		Level	   *level = &build->levels[number];
		LwKey		low = lw_node_tail(level->page)->low;
		BlockNumber block = BufferGetBlockNumber(level->buffer);

		write_node(build->index, level->buffer, level->page);
		add_link(build, number + 1, low, block);
	}
	write_node(build->index, root, build->levels[number].page);
}

/* Writes the sorted entries out. */
static void
write_tree(Build *build)
{
	Buffer		root = reserve(build->index);
	Level	   *leaves = &build->levels[0];
	Datum		sorted;
	bool		is_null;
	int64		done = 0;

	leaves->page = palloc(BLCKSZ);
	lw_node_init(leaves->page, 0, lw_key_first(0), lw_key_end(), InvalidBlockNumber);
	while (lw_tuplesort_getdatum(build->sort, &sorted, &is_null))
	{
		bytea	   *bytes = DatumGetByteaPP(sorted);
		LwEntryBuffer buffer;

		CHECK_FOR_INTERRUPTS();
		memcpy(&buffer, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
		swap_key(&buffer.entry.key);
		add_item(build, 0, &buffer.entry.key, lw_entry_size(&buffer.entry));
		pfree(DatumGetPointer(sorted));
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, ++done);
	}
	finish(build, root);
}

IndexBuildResult *
lw_index_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	TypeCacheEntry *order = lookup_type_cache(BYTEAOID, TYPECACHE_LT_OPR);
	Build		build;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	memset(&build, 0, sizeof(build));
	build.index = index;
	build.type = index->rd_opcintype[0];
	build.context = AllocSetContextCreate(CurrentMemoryContext, "lateweave build", ALLOCSET_DEFAULT_SIZES);
	build.sort = tuplesort_begin_datum(BYTEAOID, order->lt_opr, InvalidOid, false, maintenance_work_mem, NULL, 0);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, LW_BUILD_SCAN);
	result->heap_tuples = table_index_build_scan(heap, index, info, true, true, add_row, &build, NULL);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, LW_BUILD_SORT);
	tuplesort_performsort(build.sort);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, LW_BUILD_WRITE);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, (int64) build.entries);
	write_tree(&build);
	tuplesort_end(build.sort);
	MemoryContextDelete(build.context);
	result->index_tuples = build.entries;
	return result;
}

/* What an unlogged index is after a crash: an empty root, in the init fork, which is logged whatever the index is. */
void
lw_index_build_empty(Relation index)
{
	Buffer		root = lw_tree_extend(index, INIT_FORKNUM);
	PGAlignedBlock page;

	LockBuffer(root, BUFFER_LOCK_UNLOCK);
	lw_node_init(page.data, 0, lw_key_first(0), lw_key_end(), InvalidBlockNumber);
	write_node(index, root, page.data);
	log_newpage_range(index, INIT_FORKNUM, 0, 1, true);
}

bool
lw_index_insert(Relation index, Datum *values, bool *nulls, ItemPointer row, Relation heap,
				IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	LwEntryBuffer buffer;

	lw_entry_make(&buffer, values[0], nulls[0], index->rd_opcintype[0], row);
	lw_tree_insert(index, &buffer.entry);
	return false;
}
