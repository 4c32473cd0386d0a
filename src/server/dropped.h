/*-------------------------------------------------------------------------
 *
 * dropped.h
 *	  Store directories that the transaction has made or drops.
 *
 * Both follow subtransactions: a directory goes when what made it is rolled back,
 * and stays when what drops it is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_DROPPED_H
#define LW_SERVER_DROPPED_H

#include "postgres.h"

extern bool lw_dropped_any(void);
extern void lw_dropped_commit(void);
extern void lw_dropped_abort(void);
extern void lw_dropped_init(void);

#endif							/* LW_SERVER_DROPPED_H */
