/*-------------------------------------------------------------------------
 *
 * wait.c
 *	  What pg_stat_activity calls our waits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "server/wait.h"

LwWaitEvents lw_wait_events = {PG_WAIT_EXTENSION, PG_WAIT_EXTENSION};

void
lw_wait_prepare(void)
{
	static bool prepared = false;

	if (prepared)
		return;
	lw_wait_events.store_lock = lw_new_wait_event("LateweaveStoreLock");
	lw_wait_events.compaction_delay = lw_new_wait_event("LateweaveCompactionDelay");
	prepared = true;
}
