/*-------------------------------------------------------------------------
 *
 * vacuum.c
 *	  Taking the entries of dead rows out of the index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "commands/vacuum.h"
#include "storage/indexfsm.h"

#include "am/index.h"
#include "am/tree.h"

/* Deletes what is dead of one leaf, which is locked; counts it and what stays. */
static void
clean_leaf(Relation index, Buffer buffer, IndexBulkDeleteResult *stats,
		   IndexBulkDeleteCallback callback, void *callback_state)
{
	BlockNumber block = BufferGetBlockNumber(buffer);
	Page		page = BufferGetPage(buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber dead[MaxIndexTuplesPerPage];
	int			ndead = 0;
	OffsetNumber offset;

	for (offset = FirstOffsetNumber; offset <= last; offset = OffsetNumberNext(offset))
	{
		const LwKey *key = lw_node_item(index, block, page, offset);
		ItemPointerData row;

		ItemPointerSet(&row, key->block, key->offset);
		if (ndead < (int) lengthof(dead) && callback(&row, callback_state))
			dead[ndead++] = offset;
	}
	stats->tuples_removed += ndead;
	stats->num_index_tuples += last - ndead;
	if (ndead > 0)
	{
		GenericXLogState *state = GenericXLogStart(index);

		PageIndexMultiDelete(GenericXLogRegisterBuffer(state, buffer, 0), dead, ndead);
		GenericXLogFinish(state);
	}
}

/*
 * Goes from leaf to leaf in the order of keys: what a split moves away from a leaf
 * that was not cleaned yet is met later.
 */
IndexBulkDeleteResult *
lw_index_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
					 IndexBulkDeleteCallback callback, void *callback_state)
{
	Relation	index = info->index;
	LwKey		key = lw_key_first(0);
	LwKey		end = lw_key_end();

	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	stats->num_index_tuples = 0;
	while (lw_key_compare(&key, &end) < 0)
	{
		Buffer		buffer;
		LwNodeTail	tail;
		bool		empty;

		lw_vacuum_delay_point();
		buffer = lw_tree_leaf(index, &key, BUFFER_LOCK_EXCLUSIVE);
		clean_leaf(index, buffer, stats, callback, callback_state);
		tail = *lw_node_tail(BufferGetPage(buffer));
		empty = PageGetMaxOffsetNumber(BufferGetPage(buffer)) == 0;
		UnlockReleaseBuffer(buffer);
		if (empty && lw_tree_remove_leaf(index, tail.low))
			stats->pages_newly_deleted++;
		key = tail.high;
	}
	return stats;
}

/* Tells which pages are free: those that bulk deletion took out of the tree, and what a crash left. */
IndexBulkDeleteResult *
lw_index_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	Relation	index = info->index;
	BlockNumber blocks;
	BlockNumber block;

	if (info->analyze_only || stats == NULL)
		return stats;
	stats->pages_deleted = 0;
	blocks = RelationGetNumberOfBlocks(index);
	for (block = LW_ROOT + 1; block < blocks; block++)
	{
		Buffer		buffer;
		Page		page;

		lw_vacuum_delay_point();
		buffer = ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_NORMAL, info->strategy);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buffer);
		if (lw_node_is_free(page))
		{
			RecordFreeIndexPage(index, block);
			stats->pages_deleted++;
		}
		UnlockReleaseBuffer(buffer);
	}
	IndexFreeSpaceMapVacuum(index);
	stats->num_pages = blocks;
	stats->pages_free = stats->pages_deleted;
	return stats;
}
