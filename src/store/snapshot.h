/*-------------------------------------------------------------------------
 *
 * snapshot.h
 *	  A copy of one commit of a store in a new directory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_SNAPSHOT_H
#define LW_STORE_SNAPSHOT_H

#include "store/files.h"

typedef struct LwSnapshot
{
	uint64_t	commit;
	bool		copied;			/* files were copied, since links were refused */
} LwSnapshot;

/*
 * Makes the directory `target`, of this mode, which must not exist but whose
 * parent must; links the files that the current manifest names, and copies the
 * manifest byte for byte; syncs all.  No lock is needed: when a file vanishes
 * since a newer commit came, it begins again with that.  On failure the
 * directory is gone.
 */
extern LwStatus lw_store_snapshot(LwDirectory store, const char *target, mode_t mode,
								  LwSnapshot *snapshot, LwError *error);

#endif							/* LW_STORE_SNAPSHOT_H */
