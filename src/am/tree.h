/*-------------------------------------------------------------------------
 *
 * tree.h
 *	  The tree of the index: entries put in, taken out, and walked over.
 *
 * Who reads, adds to or deletes from one leaf holds the lock of one page at a time and no
 * other.  What changes the tree itself, splits and the removal of
 * empty leaves, happens to one process at a time, under a lock of the relation's
 * block 0 that nobody else takes; it locks pages from parent to
 * child and from left to right.  Each step of it is one record of at most
 * three pages, after which the tree is whole: a node and its link appear and
 * go together.
 *
 * Splits move entries to the right only, and a walk copies a page's entries
 * with its upper bound, where it goes on.  So it gives every entry that was
 * there when it began exactly once, and VACUUM sees every one.
 *
 * Inner nodes, and the first leaf of each, stay when they are empty; entries
 * that come later find them, since hashes fall everywhere.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_AM_TREE_H
#define LW_AM_TREE_H

#include "postgres.h"

#include "am/node.h"

/* The leaf that has a key, locked. */
extern Buffer lw_tree_leaf(Relation index, const LwKey *key, int lock);

/* Adds an entry; one that is there already stays. */
extern void lw_tree_insert(Relation index, const LwEntry *entry);

/* Takes the leaf that begins with `low` out of the tree if it is empty and can be spared; whether it was. */
extern bool lw_tree_remove_leaf(Relation index, LwKey low);

/* A new page at the end of the file, locked. */
extern Buffer lw_tree_extend(Relation index, ForkNumber fork);

/* The entries from a key up to another. */
typedef struct LwWalk
{
	Relation	index;
	LwKey		from;			/* what has not been read yet begins here */
	LwKey		end;
	BlockNumber block;			/* where `from` was when last seen, or InvalidBlockNumber */
	Size		position;		/* in `entries` */
	Size		size;
	PGAlignedBlock entries;		/* copied from one leaf, each at a multiple of MAXALIGN */
} LwWalk;

extern void lw_walk_begin(LwWalk *walk, Relation index, LwKey from, LwKey end);

/* The next entry, or NULL; it stays until the next call. Holds no lock and no pin in between. */
extern const LwEntry *lw_walk_next(LwWalk *walk);

#endif							/* LW_AM_TREE_H */
