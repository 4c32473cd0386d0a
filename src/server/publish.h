/*-------------------------------------------------------------------------
 *
 * publish.h
 *	  Bringing committed changes into their stores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_PUBLISH_H
#define LW_SERVER_PUBLISH_H

#include "postgres.h"

#include "server/shared.h"
#include "store/follow.h"
#include "store/pending.h"

/* What becomes of pending changes that cannot be judged. */
typedef enum LwUndecided
{
	LW_UNDECIDED_KEEP,
	LW_UNDECIDED_PUBLISH,		/* those that can be read and are for this store */
	LW_UNDECIDED_DISCARD
} LwUndecided;

/* A store, as whoever publishes needs it. */
typedef struct LwPublishing
{
	LwStore    *store;
	const char *path;
	LwString	store_id;		/* what the changes are for */
	LwDirectory directory;		/* open */
	LwSharedStore *shared;		/* or NULL */
	bool		heartbeat;		/* a commit is wanted even when nothing is pending */
	LwUndecided undecided_are;

	/* how it went */
	uint64		transactions;	/* that were published */
	uint64		settled;		/* that could not be judged, but were published or discarded */
	uint64		undecided;		/* that could not, and were left */
	uint64		foreign;		/* of those: of another cluster */
} LwPublishing;

/*
 * Takes the store's lock: that of the server's sessions and that of its host's processes.
 * `number` is an intent of one's own, or 0.  *done: somebody else has published it meanwhile, and the lock
 * is not held.  LW_IO (ETIMEDOUT) when it is held by another for too long.
 */
extern LwStatus lw_publish_lock(LwPublishing *publishing, uint64 number, bool *done, LwError *error);
extern void lw_publish_unlock(LwPublishing *publishing);

/*
 * Publishes every committed change that is pending, in one commit, and drops what has not
 * committed for certain.  Under the lock.  `own`: an intent whose transaction is known to be committed,
 * or 0.  Raises nothing.
 */
extern LwStatus lw_publish_round(LwPublishing *publishing, uint64 own, LwError *error);

/* Removes the files that no manifest names; when that fails, it is done before the next change of the store. */
extern void lw_publish_reclaim(LwPublishing *publishing, const LwManifest *manifest, uint64_t *bytes);

/*
 * Before the first change of a store by this server (or by this session where nothing is shared): settles
 * what a crash left.  ERROR 55006, 55000 as long as there are changes that it cannot judge.
 */
extern void lw_publish_settle_once(LwStore *store, const char *path, LwString store_id);

/* Opens a store's directory, for publishing to it.  Raises. */
extern void lw_publish_open(LwPublishing *publishing, LwStore *store, const char *path, LwString store_id);
extern void lw_publish_close(LwPublishing *publishing);

/* Before COMMIT: everything that can fail; writes the intents.  Raises. */
extern void lw_commit_prepare(void);

/* After COMMIT; a failure is a WARNING. */
extern void lw_commit_publish(void);

/* After ROLLBACK. */
extern void lw_commit_abandon(void);

#endif							/* LW_SERVER_PUBLISH_H */
