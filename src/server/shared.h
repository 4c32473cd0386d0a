/*-------------------------------------------------------------------------
 *
 * shared.h
 *	  What all sessions of the server know of the stores together.
 *
 * It is there when the library is preloaded, and from PostgreSQL 17 on
 * without that too.  Where it is not there, or full, or knows nothing of a
 * store, each session finds out for itself: no answer depends on it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_SHARED_H
#define LW_SERVER_SHARED_H

#include "postgres.h"

#include "store/follow.h"

/* When the library is loaded. */
extern void lw_shared_init(void);

/* Whether this session has a part in it. */
extern bool lw_shared_available(void);

/*
 * Tells the others what the manifest of the store's view says, when this
 * session has read it from its file and that file can no longer change unseen.
 * Does nothing when there is no room.
 */
extern void lw_shared_offer(LwStore *store);

/* What is shared of one store that is being written; it stays as long as somebody holds it. */
typedef struct LwSharedStore LwSharedStore;

/* NULL when nothing is shared of it.  Give it back with lw_shared_unhold. */
extern LwSharedStore *lw_shared_hold(const LwStore *store);
extern void lw_shared_unhold(LwSharedStore *shared);

/*
 * Takes the lock of whoever publishes.  False when somebody else has given it back
 * meanwhile, and perhaps published everything: it is not held then.
 */
extern bool lw_shared_lock(LwSharedStore *shared);
extern void lw_shared_unlock(LwSharedStore *shared);

/* Around the life of a pending change: before it is written, and when it is published, dropped or left for later. */
extern void lw_shared_raise(LwSharedStore *shared);
extern void lw_shared_lower(LwSharedStore *shared);

/*
 * Whether changes of a store may be pending; true as well when nothing is known.
 * When its directory is then found without any, *token says so to lw_shared_clear; 0: it says nothing.
 */
extern bool lw_shared_pending(const LwStore *store, uint64 *token);
extern void lw_shared_clear(const LwStore *store, uint64 token);

/* Whether what a crash left has been settled since the server started. */
extern bool lw_shared_settled(const LwSharedStore *shared);
extern bool lw_shared_is_settled(const LwStore *store);
extern void lw_shared_set_settled(LwSharedStore *shared, bool settled);

/* What a store's commit holds, as lw_view_hidden counts it. */
typedef struct LwSharedCounts
{
	uint64		documents;
	uint64		tokens;
	uint64		unnameable;
} LwSharedCounts;

/* The counts of the commit that the session has followed last, when some session has told them; and telling them. */
extern bool lw_shared_get_counts(const LwStore *store, LwSharedCounts *counts);
extern void lw_shared_put_counts(const LwStore *store, const LwSharedCounts *counts);

#endif							/* LW_SERVER_SHARED_H */
