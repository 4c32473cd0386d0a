/*-------------------------------------------------------------------------
 *
 * compact.h
 *	  Copying documents of many segments into one, as they are.
 *
 * A compaction reads for long and must not hold the store's lock meanwhile:
 *	 1. under the lock, lw_compact_begin publishes that an id is used;
 *	 2. without it, lw_compact_copy writes the segment, in a directory that
 *		nobody clears away;
 *	 3. under the lock again, lw_compact_apply puts it into a draft of what is
 *		then the current commit, in place of the segments that were copied.
 *		What was deleted or replaced meanwhile is deleted in it.  Then the
 *		draft is written and published, and the copy removed from 2's directory.
 * It has the id of the beginning, so what was appended meanwhile is newer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_COMPACT_H
#define LW_STORE_COMPACT_H

#include "store/draft.h"

typedef struct LwCopyControl
{
	/* NULL, or told the bytes copied since the last time, after 256 kB or some thousand rows; true: LW_CANCELLED */
	bool		(*stop) (void *arg, uint64_t bytes);

	/* NULL, or says which documents are not wanted */
	bool		(*skip) (void *arg, LwString id);
	void	   *arg;
} LwCopyControl;

/*
 * Appends the present documents of `count` segments from `first` on to a
 * writer of the same store, in order; `control` may be NULL.
 */
extern LwStatus lw_draft_copy(LwDraft *draft, size_t first, size_t count, LwSegmentWriter *writer,
							  const LwCopyControl *control, LwError *error);

/* Whether a compaction would change anything. */
extern bool lw_view_compactable(const LwView *view);

/* Takes an id for the segment and publishes a commit that says so. */
extern LwStatus lw_compact_begin(LwView *view, LwDirectory directory, double committed_at,
								 uint64_t *id, LwError *error);

/*
 * Writes all present documents of a view as segment `id` of the directory
 * `staging`, and syncs its names.  When there are none, entry->documents is 0
 * and no file is left.
 */
extern LwStatus lw_compact_copy(LwView *view, LwDirectory directory, LwDirectory staging, uint64_t id,
								const LwCopyControl *control, LwManifestSegment *entry, LwError *error);

/*
 * Replaces the segments of `copied` in a draft of a later commit.
 * LW_OUTDATED, CompactionOvertaken: they are no longer there.
 */
extern LwStatus lw_compact_apply(LwDraft *draft, const LwView *copied, LwDirectory staging,
								 const LwManifestSegment *entry, LwError *error);

#endif							/* LW_STORE_COMPACT_H */
