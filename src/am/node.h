/*-------------------------------------------------------------------------
 *
 * node.h
 *	  The pages of the index: nodes of a tree.
 *
 * A leaf (level 0) holds entries, a node above it downlinks to nodes one
 * level below, each in order.  Every node says which keys are its own:
 * low <= key < high.  The root is block 0, always; there is no other page.
 *
 * Whoever comes to a node by a link that may be old looks whether the node is
 * of the level and has the key that is sought.  If the key is above, the node
 * was split, and the key is to the right; if it is below, or the node is
 * free or of another level, the way is sought again from the root.  So pages
 * that became empty can be used again at once, without regard to who may still hold a link to
 * them, on a standby too.
 *
 * Pages are checked as they are read: damage is ERROR XX002, whatever it is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_AM_NODE_H
#define LW_AM_NODE_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#include "am/entry.h"

#define LW_ROOT 0

/* Another one when the layout changes. */
#define LW_NODE_MAGIC 0x6c770001

/* A node has at least two downlinks for each level, and there are at most 2^32 blocks. */
#define LW_MAX_LEVELS 32

/* The special space of a page. */
typedef struct LwNodeTail
{
	LwKey		low;
	LwKey		high;
	BlockNumber right;			/* the next node of the level, or InvalidBlockNumber */
	uint16		level;
	uint16		free;			/* 1: not in the tree */
	uint32		magic;
} LwNodeTail;

typedef struct LwDownlink
{
	LwKey		low;			/* of the child */
	BlockNumber child;
} LwDownlink;

static inline LwNodeTail *
lw_node_tail(Page page)
{
	return (LwNodeTail *) PageGetSpecialPointer(page);
}

/* Whether a key is among those of a node. */
static inline bool
lw_node_has(Page page, const LwKey *key)
{
	return lw_key_compare(key, &lw_node_tail(page)->low) >= 0 && lw_key_compare(key, &lw_node_tail(page)->high) < 0;
}

/* Whether a page, which need not be whole, may become a node: it is in no tree. */
static inline bool
lw_node_is_free(Page page)
{
	return PageIsNew(page) ||
		(PageGetSpecialSize(page) == MAXALIGN(sizeof(LwNodeTail)) &&
		 lw_node_tail(page)->magic == LW_NODE_MAGIC && lw_node_tail(page)->free);
}

/* Makes the page an empty node. */
extern void lw_node_init(Page page, uint16 level, LwKey low, LwKey high, BlockNumber right);

/* Reads, locks and checks a page. */
extern Buffer lw_node_read(Relation index, BlockNumber block, int lock);

/* The item at an offset, which is in the page: an entry of a leaf or a downlink, whole. */
extern const LwKey *lw_node_item(Relation index, BlockNumber block, Page page, OffsetNumber offset);

/* The first offset whose key is not below this one; past the end when there is none. */
extern OffsetNumber lw_node_search(Relation index, BlockNumber block, Page page, const LwKey *key);

/* The offset of the downlink to follow for a key that the node has. */
extern OffsetNumber lw_node_choose(Relation index, BlockNumber block, Page page, const LwKey *key);

/* Where that leads. */
extern BlockNumber lw_node_child(Relation index, BlockNumber block, Page page, OffsetNumber offset);

/* Whether an item of this size fits, and puts one at an offset. */
extern bool lw_node_fits(Page page, Size size);
extern void lw_node_add(Relation index, Page page, OffsetNumber offset, const void *item, Size size);

/* Puts a downlink in its place. */
extern void lw_node_add_downlink(Relation index, BlockNumber block, Page page, LwKey low, BlockNumber child);

/* ERROR XX002: says what is wrong with a page. */
pg_noreturn extern void lw_node_damaged(Relation index, BlockNumber block, const char *what);

#endif							/* LW_AM_NODE_H */
