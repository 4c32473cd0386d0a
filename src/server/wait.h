/*-------------------------------------------------------------------------
 *
 * wait.h
 *	  What pg_stat_activity calls our waits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_WAIT_H
#define LW_SERVER_WAIT_H

#include "postgres.h"

#include "utils/wait_event.h"

typedef struct LwWaitEvents
{
	uint32		store_lock;		/* LateweaveStoreLock: another process of the host publishes */
	uint32		compaction_delay;	/* LateweaveCompactionDelay */
} LwWaitEvents;

/* All are Extension until lw_wait_prepare, and before PostgreSQL 17. */
extern LwWaitEvents lw_wait_events;

/* Names them, once a session; may raise, so not where that is not allowed. */
extern void lw_wait_prepare(void);

#endif							/* LW_SERVER_WAIT_H */
