/*-------------------------------------------------------------------------
 *
 * pending_files.h
 *	  What pending.c and round.c share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_PENDING_FILES_H
#define LW_STORE_PENDING_FILES_H

#include "store/pending.h"

/* Sets the path of an error to that of a file in the pending directory. */
extern void lw_pending_path(LwError *error, LwDirectory pending, const char *name);

/* Calls for each name in the directory that does not begin with a dot, until one call fails. */
extern LwStatus lw_pending_each(LwDirectory pending, LwStatus (*visit) (void *arg, const char *name, LwError *error),
								void *arg, LwError *error);

/* What a process calls an intent that it is writing, and the file that it keeps for the next one. */
#define LW_PENDING_NEW "new-"
#define LW_PENDING_SPARE "spare-"
extern void lw_pending_process_name(char name[LW_NAME_SIZE], const char *prefix, long process);

/* CRC-32C. */
extern uint32_t lw_pending_checksum(const void *data, size_t size);

#endif							/* LW_STORE_PENDING_FILES_H */
