/*-------------------------------------------------------------------------
 *
 * publish.h
 *	  Making a draft the current commit of its store.
 *
 * In two steps, between which the caller may note what it is about to do:
 * lw_draft_write makes all files but leaves the manifest under another name;
 * lw_draft_publish renames it, which is the moment from which everyone sees
 * the commit.  Both need the store's lock.  Neither waits, raises or calls
 * back; memory that they lack is an ordinary failure.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_PUBLISH_H
#define LW_STORE_PUBLISH_H

#include "store/draft.h"

/* Seconds since 1970 by the clock, for committed_at. */
extern double lw_clock(void);

/*
 * Writes the tombstone files, syncs all names, and writes and syncs the next
 * manifest; draft->text is its text, draft->manifest what it says.  After a
 * failure what it wrote is gone, and it can be called again.  LW_LIMIT,
 * CommitLimit, when there is no next commit.
 */
extern LwStatus lw_draft_write(LwDraft *draft, double committed_at, LwError *error);

/*
 * Publishes what lw_draft_write wrote.  LW_OUTDATED, ManifestMoved: the store
 * has another commit by now than the draft's base; begin again with that.
 * When it fails and draft->published is set (DurabilityUncertain), the new
 * manifest is in place but may not survive a power failure: call it again.
 */
extern LwStatus lw_draft_publish(LwDraft *draft, LwError *error);

/*
 * Removes what no manifest names: files whose names begin with "segment-" or
 * "manifest.json.", and directories whose names begin with ".staging-".  What
 * cannot be removed stays.  *bytes, unless NULL, is what the files had that
 * went and had no other name.  Only for who holds the store's lock, once the
 * manifest is durable: after a publish, and, with lw_directory_sync before it,
 * when a process begins to write a store (so it goes on after a crash).
 */
extern LwStatus lw_store_reclaim(LwDirectory directory, const LwManifest *manifest,
								 uint64_t *bytes, LwError *error);

#endif							/* LW_STORE_PUBLISH_H */
