/*-------------------------------------------------------------------------
 *
 * pin.h
 *	  What a statement sees of a source: one view of a store, or one section file, until it ends.
 *
 * Uses share a pin when they run in one portal under equal snapshots; in
 * REPEATABLE READ and SERIALIZABLE for the whole transaction.  The pin goes when the
 * portal's resource owner (or the transaction's) is released.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_PIN_H
#define LW_SERVER_PIN_H

#include "postgres.h"

#include "server/source.h"

/*
 * The content of a source that the running statement sees, valid as long as the
 * statement.  Locks the table and checks SELECT for the current user;
 * ERROR as lw_source_follow says.  Costs next to nothing when it is asked
 * again.
 */
extern LwContent lw_pin(Oid relid);

/* The same where only one kind of source will do; ERROR 42809 for the other. */
extern LwView *lw_pin_store(Oid relid);
extern LwSection *lw_pin_section(Oid relid);

/* The same for a caller whose privileges the executor has checked: a scan of the foreign table. */
extern LwContent lw_pin_checked(Oid relid);

/* As lw_pin_checked, but gives the failure back instead of raising it. */
extern LwStatus lw_pin_try(Oid relid, LwContent *content, LwError *error);

extern void lw_pin_init(void);

#endif							/* LW_SERVER_PIN_H */
