/*-------------------------------------------------------------------------
 *
 * pending.h
 *	  Changes that are not in the manifest, as statements see them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_PENDING_H
#define LW_SERVER_PENDING_H

#include "postgres.h"

#include "server/stage.h"

/*
 * As lw_source_follow, with the committed changes laid over a store that are still
 * to be published: whatever had committed when it was called is in the content.
 * Raises nothing but out of memory and failures to read the commit log.
 */
extern LwStatus lw_pending_follow(LwSource *source, LwContent *content, LwError *error);

/* How many changes are pending in a source's store, those still undecided among them; an error counts none. */
typedef struct LwPendingCount
{
	uint64		changes;
	uint64		undecided;		/* of those: which this server cannot judge */
} LwPendingCount;

/* May raise when memory or the commit log cannot be read. */
extern void lw_pending_count(const LwSource *source, LwPendingCount *count);

/* What a store holds now for the current transaction, with all that it has staged; kept by the stage. */
extern LwView *lw_pending_current(LwStage *stage);

#endif							/* LW_SERVER_PENDING_H */
