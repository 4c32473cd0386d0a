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

/* What a store holds now for the current transaction, with all that it has staged; kept by the stage. */
extern LwView *lw_pending_current(LwStage *stage);

#endif							/* LW_SERVER_PENDING_H */
