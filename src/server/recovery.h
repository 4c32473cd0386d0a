/*-------------------------------------------------------------------------
 *
 * recovery.h
 *	  A short worker at server start that settles what a crash left in stores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_RECOVERY_H
#define LW_SERVER_RECOVERY_H

/* Registers the worker when the library is being preloaded. */
extern void lw_recovery_init(void);

#endif							/* LW_SERVER_RECOVERY_H */
