/*-------------------------------------------------------------------------
 *
 * merged.h
 *	  One table over the ids of a view's small segments.
 *
 * A look-up would otherwise ask every segment.  Segments are taken from the
 * smallest size on while all of them together have at most
 * LW_MERGED_DOCUMENTS, so that a new view costs little whatever its history;
 * the others are few for their size and are asked one by one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_MERGED_H
#define LW_STORE_MERGED_H

#include "segment.h"

#define LW_MERGED_DOCUMENTS 16384

/* Up to so many segments there is nothing to gain: each is asked by itself. */
#define LW_UNMERGED_SEGMENTS 8

/* Where an id stands; row + 1, 0 for an empty slot. */
typedef struct LwMergedSlot
{
	uint32_t	segment;
	uint32_t	row;
} LwMergedSlot;

typedef struct LwMerged
{
	uint64_t	mask;			/* number of slots - 1 */
	LwMergedSlot *slots;		/* malloc'ed; of each id the newest row */
	size_t		nlarge;
	uint32_t   *large;			/* malloc'ed; positions of the other segments, ascending */
} LwMerged;

/* Builds the table over segments[0..count-1], oldest first. LW_NO_MEMORY at worst. */
extern LwStatus lw_merged_build(LwSegment *const *segments, size_t count,
								LwMerged *merged, LwError *error);
extern void lw_merged_free(LwMerged *merged);

/* The newest row of an id in any of the segments; false when none holds it. */
extern bool lw_merged_find(const LwMerged *merged, LwSegment *const *segments,
						   const char *id, size_t size, size_t *segment, uint64_t *row);

#endif							/* LW_STORE_MERGED_H */
