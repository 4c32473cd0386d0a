/*-------------------------------------------------------------------------
 *
 * recovery.h
 *	  Settling what a crash left in stores, when the server starts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_RECOVERY_H
#define LW_SERVER_RECOVERY_H

/* Settles every store that this server has written; what fails is said in the log. */
extern void lw_recovery_settle(void);

#endif							/* LW_SERVER_RECOVERY_H */
