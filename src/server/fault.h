/*-------------------------------------------------------------------------
 *
 * fault.h
 *	  Stopping a session at a step of writing a store, or letting the step fail, for tests.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_FAULT_H
#define LW_SERVER_FAULT_H

/*
 * Defines the setting lateweave.fault, of superusers: "POINT:ACTION" or "POINT:ACTION:N" for the
 * Nth time that the session passes the point (store/fault.h lists them). Actions: kill (the
 * process, by SIGKILL), enospc, eio, and sleep (a second, then on).
 */
extern void lw_fault_init(void);

#endif							/* LW_SERVER_FAULT_H */
