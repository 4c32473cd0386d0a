/*-------------------------------------------------------------------------
 *
 * merge.h
 *	  Keeping the list of segments short while many small commits are published.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_MERGE_H
#define LW_STORE_MERGE_H

#include "store/draft.h"

/*
 * Merges small segments at the end of a draft's list when they have piled up, so that n
 * commits of a document each leave about log n segments and copy each document
 * about as often.  Nothing while a compaction copies segments (lw_compacting_hold).
 */
extern LwStatus lw_draft_merge_small(LwDraft *draft, LwDirectory pending, LwError *error);

/* Whether the draft names fewer files than its base: some are to be reclaimed. */
extern bool lw_draft_leaves_files(const LwDraft *draft);

/* Marks that a compaction is on, as long as *fd is open; *held false when another is. */
extern LwStatus lw_compacting_hold(LwDirectory pending, int *fd, bool *held, LwError *error);

#endif							/* LW_STORE_MERGE_H */
