/*-------------------------------------------------------------------------
 *
 * registry.h
 *	  Which stores this server writes, for whoever settles them after a crash.
 *
 * A file for each store, named by its device and inode, in a directory of the data
 * directory; its text is the store's path.  It belongs to no database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_REGISTRY_H
#define LW_SERVER_REGISTRY_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "store/follow.h"

/* Notes a store, durably, before the first change that this server may leave in it.  Raises. */
extern void lw_registry_add(const LwStore *store, const char *path);

/* Strikes a store that is no more.  Raises nothing. */
extern void lw_registry_strike(dev_t device, ino_t inode);

/* The paths that are noted, in a list of strings in the current context; those of stores that are gone are struck. */
extern List *lw_registry_list(void);

#endif							/* LW_SERVER_REGISTRY_H */
