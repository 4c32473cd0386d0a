/*-------------------------------------------------------------------------
 *
 * tree.c
 *	  The tree of the index: entries put in, taken out, and walked over.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"

#include "am/tree.h"

/* The tree changes under a reader at most this often before it is said to be damaged. */
#define MAX_ATTEMPTS 1000

/* Goes down once; InvalidBuffer when the tree changed on the way. */
static Buffer
descend(Relation index, const LwKey *key, int lock)
{
	BlockNumber block = LW_ROOT;
	int			level = -1;		/* of the node at `block`; -1 where that is to be seen */
	int			mode = BUFFER_LOCK_SHARE;
	LwKey		passed = lw_key_first(0);	/* what came so far of the level is below */

	for (;;)
	{
		Buffer		buffer = lw_node_read(index, block, mode);
		Page		page = BufferGetPage(buffer);
		LwNodeTail *tail = lw_node_tail(page);
		BlockNumber next;

		if (tail->free || (level >= 0 && tail->level != level) || lw_key_compare(key, &tail->low) < 0 ||
			lw_key_compare(&tail->high, &passed) <= 0)
		{
			UnlockReleaseBuffer(buffer);
			return InvalidBuffer;
		}
		level = tail->level;
		if (lw_key_compare(key, &tail->high) >= 0)
		{
			next = tail->right;
			passed = tail->high;
		}
		else if (level > 0)
		{
			next = lw_node_child(index, block, page, lw_node_choose(index, block, page, key));
			level--;
		}
		else if (mode == lock)
			return buffer;
		else
			next = block;		/* the root is a leaf */
		if (level == 0)
			mode = lock;
		UnlockReleaseBuffer(buffer);
		block = next;
	}
}

Buffer
lw_tree_leaf(Relation index, const LwKey *key, int lock)
{
	int			attempt;

	for (attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		Buffer		buffer = descend(index, key, lock);

		if (BufferIsValid(buffer))
			return buffer;
		CHECK_FOR_INTERRUPTS();
	}
	lw_node_damaged(index, LW_ROOT, "Links of the tree lead to pages that have other keys.");
}

Buffer
lw_tree_extend(Relation index, ForkNumber fork)
{
	bool		others = !RELATION_IS_LOCAL(index);
	Buffer		buffer;

	if (others)
		LockRelationForExtension(index, ExclusiveLock);
	buffer = ReadBufferExtended(index, fork, P_NEW, RBM_NORMAL, NULL);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (others)
		UnlockRelationForExtension(index, ExclusiveLock);
	return buffer;
}

/* A page for a new node, locked: a free one, or one at the end of the file. */
static Buffer
new_node(Relation index)
{
	BlockNumber block;

	while ((block = GetFreeIndexPage(index)) != InvalidBlockNumber)
	{
		Buffer		buffer = ReadBuffer(index, block);

		/* who comes by an old link may hold it for a moment; then it waits for the next VACUUM */
		if (ConditionalLockBuffer(buffer))
		{
			Page		page = BufferGetPage(buffer);

			/* the map of free pages may be wrong after a crash */
			if (lw_node_is_free(page))
				return buffer;
			LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		}
		ReleaseBuffer(buffer);
	}
	return lw_tree_extend(index, MAIN_FORKNUM);
}

/* Where the upper half of a node's bytes begins; both halves have an item. */
static OffsetNumber
middle_of(Page page)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	Size		total = 0;
	Size		sum = 0;
	OffsetNumber offset;

	for (offset = FirstOffsetNumber; offset <= last; offset = OffsetNumberNext(offset))
		total += ItemIdGetLength(PageGetItemId(page, offset));
	for (offset = FirstOffsetNumber; offset < last; offset = OffsetNumberNext(offset))
	{
		sum += ItemIdGetLength(PageGetItemId(page, offset));
		if (sum >= total / 2)
			break;
	}
	return Min(OffsetNumberNext(offset), last);
}

/* Adds the items of a node, from one offset to before another, to an empty one. */
static void
copy_items(Relation index, BlockNumber block, Page from, OffsetNumber begin, OffsetNumber end, Page to)
{
	OffsetNumber offset;

	for (offset = begin; offset < end; offset = OffsetNumberNext(offset))
		lw_node_add(index, to, OffsetNumberNext(PageGetMaxOffsetNumber(to)),
					lw_node_item(index, block, from, offset), ItemIdGetLength(PageGetItemId(from, offset)));
}

/*
 * Divides the items of `source` among two nodes; `right` is the block of the
 * second.  Returns where that begins.
 */
static LwKey
divide(Relation index, BlockNumber block, Page source, Page first, Page second, BlockNumber right)
{
	LwNodeTail *tail = lw_node_tail(source);
	OffsetNumber middle = middle_of(source);
	OffsetNumber end = OffsetNumberNext(PageGetMaxOffsetNumber(source));
	LwKey		separator;

	if (end <= FirstOffsetNumber + 1)
		lw_node_damaged(index, block, "A page without room has fewer than two items.");
	separator = *lw_node_item(index, block, source, middle);
	separator.size = 0;
	if (lw_key_compare(&tail->low, &separator) >= 0 || lw_key_compare(&separator, &tail->high) >= 0)
		lw_node_damaged(index, block, "An item is outside the bounds of the page.");
	lw_node_init(first, tail->level, tail->low, separator, right);
	copy_items(index, block, source, FirstOffsetNumber, middle, first);
	lw_node_init(second, tail->level, separator, tail->high, tail->right);
	copy_items(index, block, source, middle, end, second);
	return separator;
}

/* Splits a node whose parent has room. */
static void
split(Relation index, Buffer parent, Buffer node)
{
	Buffer		right = new_node(index);
	BlockNumber block = BufferGetBlockNumber(node);
	PGAlignedBlock source;
	GenericXLogState *state = GenericXLogStart(index);
	Page		parent_page = GenericXLogRegisterBuffer(state, parent, 0);
	Page		node_page = GenericXLogRegisterBuffer(state, node, 0);
	Page		right_page = GenericXLogRegisterBuffer(state, right, GENERIC_XLOG_FULL_IMAGE);
	LwKey		separator;

	memcpy(source.data, node_page, BLCKSZ);
	separator = divide(index, block, source.data, node_page, right_page, BufferGetBlockNumber(right));
	lw_node_add_downlink(index, BufferGetBlockNumber(parent), parent_page, separator, BufferGetBlockNumber(right));
	GenericXLogFinish(state);
	UnlockReleaseBuffer(right);
}

/* Puts what the root holds into two nodes below it. */
static void
grow(Relation index, Buffer root)
{
	Buffer		first = new_node(index);
	Buffer		second = new_node(index);
	PGAlignedBlock source;
	GenericXLogState *state = GenericXLogStart(index);
	Page		page = GenericXLogRegisterBuffer(state, root, 0);
	Page		first_page = GenericXLogRegisterBuffer(state, first, GENERIC_XLOG_FULL_IMAGE);
	Page		second_page = GenericXLogRegisterBuffer(state, second, GENERIC_XLOG_FULL_IMAGE);
	LwNodeTail	tail = *lw_node_tail(page);
	LwKey		separator;

	if (tail.level + 1 >= LW_MAX_LEVELS)
		lw_node_damaged(index, LW_ROOT, "The tree is too high.");
	memcpy(source.data, page, BLCKSZ);
	separator = divide(index, LW_ROOT, source.data, first_page, second_page, BufferGetBlockNumber(second));
	lw_node_init(page, tail.level + 1, tail.low, tail.high, InvalidBlockNumber);
	lw_node_add_downlink(index, LW_ROOT, page, tail.low, BufferGetBlockNumber(first));
	lw_node_add_downlink(index, LW_ROOT, page, separator, BufferGetBlockNumber(second));
	GenericXLogFinish(state);
	UnlockReleaseBuffer(first);
	UnlockReleaseBuffer(second);
}

/* The child for a key, locked, while nobody else changes the tree. */
static Buffer
exact_child(Relation index, Buffer parent, OffsetNumber offset, const LwKey *key)
{
	Page		page = BufferGetPage(parent);
	BlockNumber block = lw_node_child(index, BufferGetBlockNumber(parent), page, offset);
	Buffer		child;
	LwNodeTail *tail;

	/* locking a page twice would wait for itself */
	if (block == LW_ROOT || block == BufferGetBlockNumber(parent))
		lw_node_damaged(index, BufferGetBlockNumber(parent), "A link leads back.");
	child = lw_node_read(index, block, BUFFER_LOCK_EXCLUSIVE);
	tail = lw_node_tail(BufferGetPage(child));
	if (tail->free || tail->level != lw_node_tail(page)->level - 1 || !lw_node_has(BufferGetPage(child), key))
		lw_node_damaged(index, block, "A link leads to the page, but it has other keys.");
	return child;
}

/* Splits the uppermost node without room on the way to a key; there is none once the leaf has room for `size` bytes. */
static void
split_one(Relation index, const LwKey *key, Size size)
{
	Buffer		parent = InvalidBuffer;
	Buffer		node = lw_node_read(index, LW_ROOT, BUFFER_LOCK_EXCLUSIVE);

	for (;;)
	{
		Page		page = BufferGetPage(node);
		bool		is_leaf = lw_node_tail(page)->level == 0;
		Buffer		child;

		if (!lw_node_fits(page, is_leaf ? size : sizeof(LwDownlink)))
		{
			if (BufferIsValid(parent))
				split(index, parent, node);
			else
				grow(index, node);
			break;
		}
		if (is_leaf)
			break;
		child = exact_child(index, node, lw_node_choose(index, BufferGetBlockNumber(node), page, key), key);
		if (BufferIsValid(parent))
			UnlockReleaseBuffer(parent);
		parent = node;
		node = child;
	}
	UnlockReleaseBuffer(node);
	if (BufferIsValid(parent))
		UnlockReleaseBuffer(parent);
}

/* Adds an entry to its leaf unless that lacks the room. */
static bool
add_to_leaf(Relation index, const LwEntry *entry)
{
	Buffer		buffer = lw_tree_leaf(index, &entry->key, BUFFER_LOCK_EXCLUSIVE);
	BlockNumber block = BufferGetBlockNumber(buffer);
	Page		page = BufferGetPage(buffer);
	OffsetNumber offset = lw_node_search(index, block, page, &entry->key);
	bool		done = true;

	if (offset > PageGetMaxOffsetNumber(page) ||
		lw_key_compare(lw_node_item(index, block, page, offset), &entry->key) != 0)
	{
		done = lw_node_fits(page, lw_entry_size(entry));
		if (done)
		{
			GenericXLogState *state = GenericXLogStart(index);

			page = GenericXLogRegisterBuffer(state, buffer, 0);
			lw_node_add(index, page, offset, entry, lw_entry_size(entry));
			GenericXLogFinish(state);
		}
	}
	UnlockReleaseBuffer(buffer);
	return done;
}

void
lw_tree_insert(Relation index, const LwEntry *entry)
{
	if (add_to_leaf(index, entry))
		return;
	LockPage(index, LW_ROOT, ExclusiveLock);
	do
	{
		CHECK_FOR_INTERRUPTS();
		split_one(index, &entry->key, lw_entry_size(entry));
	} while (!add_to_leaf(index, entry));
	UnlockPage(index, LW_ROOT, ExclusiveLock);
}

/* Takes a leaf, the child at `offset` of its parent, out of the tree. */
static bool
unlink_leaf(Relation index, Buffer parent, OffsetNumber offset, Buffer left, Buffer leaf)
{
	GenericXLogState *state;
	Page		page = BufferGetPage(leaf);
	LwNodeTail *left_tail = lw_node_tail(BufferGetPage(left));

	if (PageGetMaxOffsetNumber(page) > 0)
		return false;
	if (left_tail->right != BufferGetBlockNumber(leaf) ||
		lw_key_compare(&left_tail->high, &lw_node_tail(page)->low) != 0)
		lw_node_damaged(index, BufferGetBlockNumber(left), "The page and the next one are not neighbours.");
	state = GenericXLogStart(index);
	PageIndexTupleDelete(GenericXLogRegisterBuffer(state, parent, 0), offset);
	left_tail = lw_node_tail(GenericXLogRegisterBuffer(state, left, 0));
	left_tail->right = lw_node_tail(page)->right;
	left_tail->high = lw_node_tail(page)->high;
	lw_node_tail(GenericXLogRegisterBuffer(state, leaf, 0))->free = 1;
	GenericXLogFinish(state);
	return true;
}

bool
lw_tree_remove_leaf(Relation index, LwKey low)
{
	Buffer		node;
	Buffer		leaf;
	Buffer		left;
	bool		removed = false;
	OffsetNumber offset;
	LwKey		before;

	LockPage(index, LW_ROOT, ExclusiveLock);
	node = lw_node_read(index, LW_ROOT, BUFFER_LOCK_EXCLUSIVE);
	while (lw_node_tail(BufferGetPage(node))->level > 1)
	{
		Page		page = BufferGetPage(node);
		Buffer		child = exact_child(index, node, lw_node_choose(index, BufferGetBlockNumber(node), page, &low), &low);

		UnlockReleaseBuffer(node);
		node = child;
	}
	if (lw_node_tail(BufferGetPage(node))->level == 1)
	{
		offset = lw_node_choose(index, BufferGetBlockNumber(node), BufferGetPage(node), &low);
		if (offset > FirstOffsetNumber)
		{
			before = *lw_node_item(index, BufferGetBlockNumber(node), BufferGetPage(node), OffsetNumberPrev(offset));
			left = exact_child(index, node, OffsetNumberPrev(offset), &before);
			leaf = exact_child(index, node, offset, &low);
			removed = unlink_leaf(index, node, offset, left, leaf);
			UnlockReleaseBuffer(leaf);
			UnlockReleaseBuffer(left);
		}
	}
	UnlockReleaseBuffer(node);
	UnlockPage(index, LW_ROOT, ExclusiveLock);
	return removed;
}

void
lw_walk_begin(LwWalk *walk, Relation index, LwKey from, LwKey end)
{
	walk->index = index;
	walk->from = from;
	walk->end = end;
	walk->block = InvalidBlockNumber;
	walk->position = walk->size = 0;
}

/* The leaf where the walk goes on: where it was, unless the tree has changed. */
static Buffer
next_leaf(LwWalk *walk)
{
	if (walk->block != InvalidBlockNumber)
	{
		Buffer		buffer = lw_node_read(walk->index, walk->block, BUFFER_LOCK_SHARE);
		Page		page = BufferGetPage(buffer);

		if (!lw_node_tail(page)->free && lw_node_tail(page)->level == 0 && lw_node_has(page, &walk->from))
			return buffer;
		UnlockReleaseBuffer(buffer);
	}
	return lw_tree_leaf(walk->index, &walk->from, BUFFER_LOCK_SHARE);
}

/* Copies what the walk wants of the next leaf. */
static void
read_leaf(LwWalk *walk)
{
	Buffer		buffer = next_leaf(walk);
	BlockNumber block = BufferGetBlockNumber(buffer);
	Page		page = BufferGetPage(buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber offset = lw_node_search(walk->index, block, page, &walk->from);

	walk->position = walk->size = 0;
	for (; offset <= last; offset = OffsetNumberNext(offset))
	{
		const LwEntry *entry = (const LwEntry *) lw_node_item(walk->index, block, page, offset);
		Size		size = lw_entry_size(entry);

		if (lw_key_compare(&entry->key, &walk->end) >= 0)
			break;
		/* items of a damaged page may overlap */
		if (walk->size + size > BLCKSZ)
			lw_node_damaged(walk->index, block, "Entries do not fit into the page.");
		memcpy(walk->entries.data + walk->size, entry, size);
		walk->size += MAXALIGN(size);
	}
	walk->from = lw_node_tail(page)->high;
	walk->block = lw_node_tail(page)->right;
	UnlockReleaseBuffer(buffer);
}

const LwEntry *
lw_walk_next(LwWalk *walk)
{
	const LwEntry *entry;

	while (walk->position >= walk->size)
	{
		if (lw_key_compare(&walk->from, &walk->end) >= 0)
			return NULL;
		CHECK_FOR_INTERRUPTS();
		read_leaf(walk);
	}
	entry = (const LwEntry *) (walk->entries.data + walk->position);
	walk->position += MAXALIGN(lw_entry_size(entry));
	return entry;
}
