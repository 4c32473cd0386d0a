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

/* The setting lateweave.max_sources: how many stores there is room for. */
extern int	lw_max_sources;

/* Asks for shared memory when the library is being preloaded; defines the setting. */
extern void lw_shared_init(void);

/* Whether this session has a part in it. */
extern bool lw_shared_available(void);

/*
 * Tells the others what the manifest of the store's view says, when this
 * session has read it from its file and that file can no longer change unseen.
 * Does nothing when there is no room.
 */
extern void lw_shared_offer(LwStore *store);

#endif							/* LW_SERVER_SHARED_H */
