/*-------------------------------------------------------------------------
 *
 * node.c
 *	  The pages of the index: nodes of a tree.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/node.h"

/* What is kept with the relation's cache entry: blocks that are known to be there.  Files of this index never shrink. */
typedef struct LwIndexCache
{
	BlockNumber blocks;
} LwIndexCache;

void
lw_node_damaged(Relation index, BlockNumber block, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged at block %u", RelationGetRelationName(index), block),
			 errdetail("%s", what),
			 errhint("REINDEX makes it anew from its table.")));
}

void
lw_node_init(Page page, uint16 level, LwKey low, LwKey high, BlockNumber right)
{
	LwNodeTail *tail;

	PageInit(page, BLCKSZ, sizeof(LwNodeTail));
	tail = lw_node_tail(page);
	tail->low = low;
	tail->high = high;
	tail->right = right;
	tail->level = level;
	tail->magic = LW_NODE_MAGIC;
}

/* Whether the file has this block. */
static bool
block_exists(Relation index, BlockNumber block)
{
	LwIndexCache *cache = index->rd_amcache;

	if (cache == NULL)
		cache = index->rd_amcache = MemoryContextAllocZero(index->rd_indexcxt, sizeof(LwIndexCache));
	if (block >= cache->blocks)
		cache->blocks = RelationGetNumberOfBlocks(index);
	return block < cache->blocks;
}

static void
check_page(Relation index, BlockNumber block, Page page)
{
	LwNodeTail *tail;

	if (PageIsNew(page))
		lw_node_damaged(index, block, "The page is empty.");
	if (PageGetPageSize(page) != BLCKSZ || PageGetSpecialSize(page) != MAXALIGN(sizeof(LwNodeTail)))
		lw_node_damaged(index, block, "The page has another layout.");
	tail = lw_node_tail(page);
	if (tail->magic != LW_NODE_MAGIC)
		lw_node_damaged(index, block, "The page is not one of lateweave, or of another version.");
	if (tail->level >= LW_MAX_LEVELS || tail->free > 1 || lw_key_compare(&tail->low, &tail->high) >= 0)
		lw_node_damaged(index, block, "The bounds of the page cannot be.");
}

Buffer
lw_node_read(Relation index, BlockNumber block, int lock)
{
	Buffer		buffer;

	if (!block_exists(index, block))
		lw_node_damaged(index, block, "A link leads to this block, which is not in the file.");
	buffer = ReadBuffer(index, block);
	LockBuffer(buffer, lock);
	check_page(index, block, BufferGetPage(buffer));
	return buffer;
}

const LwKey *
lw_node_item(Relation index, BlockNumber block, Page page, OffsetNumber offset)
{
	ItemId		id = PageGetItemId(page, offset);
	Size		least = lw_node_tail(page)->level == 0 ? sizeof(LwKey) : sizeof(LwDownlink);
	Size		begin = ItemIdGetOffset(id);
	Size		size = ItemIdGetLength(id);
	const LwKey *key;

	if (!ItemIdIsNormal(id) || begin != MAXALIGN(begin) || begin < SizeOfPageHeaderData || size < least ||
		begin + size > ((PageHeader) page)->pd_special)
		lw_node_damaged(index, block, "An item does not lie within the page.");
	key = (const LwKey *) PageGetItem(page, id);
	if (lw_node_tail(page)->level == 0 && size != sizeof(LwKey) + lw_key_id_size(key))
		lw_node_damaged(index, block, "An entry has another size than its id.");
	return key;
}

OffsetNumber
lw_node_search(Relation index, BlockNumber block, Page page, const LwKey *key)
{
	OffsetNumber low = FirstOffsetNumber;
	OffsetNumber high = OffsetNumberNext(PageGetMaxOffsetNumber(page));

	while (low < high)
	{
		OffsetNumber middle = low + (high - low) / 2;

		if (lw_key_compare(lw_node_item(index, block, page, middle), key) < 0)
			low = OffsetNumberNext(middle);
		else
			high = middle;
	}
	return low;
}

OffsetNumber
lw_node_choose(Relation index, BlockNumber block, Page page, const LwKey *key)
{
	OffsetNumber offset = lw_node_search(index, block, page, key);

	if (offset > PageGetMaxOffsetNumber(page) ||
		lw_key_compare(lw_node_item(index, block, page, offset), key) != 0)
		offset = OffsetNumberPrev(offset);
	if (offset < FirstOffsetNumber)
		lw_node_damaged(index, block, "No link leads to a key of the page.");
	return offset;
}

BlockNumber
lw_node_child(Relation index, BlockNumber block, Page page, OffsetNumber offset)
{
	return ((const LwDownlink *) lw_node_item(index, block, page, offset))->child;
}

bool
lw_node_fits(Page page, Size size)
{
	return PageGetFreeSpace(page) >= MAXALIGN(size);
}

void
lw_node_add(Relation index, Page page, OffsetNumber offset, const void *item, Size size)
{
	if (PageAddItem(page, (Item) unconstify(void *, item), size, offset, false, false) != offset)
		elog(ERROR, "could not add an item to a page of index \"%s\"", RelationGetRelationName(index));
}

void
lw_node_add_downlink(Relation index, BlockNumber block, Page page, LwKey low, BlockNumber child)
{
	LwDownlink	downlink;

	memset(&downlink, 0, sizeof(downlink));
	downlink.low = low;
	downlink.low.size = 0;
	downlink.child = child;
	lw_node_add(index, page, lw_node_search(index, block, page, &low), &downlink, sizeof(downlink));
}
