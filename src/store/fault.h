/*-------------------------------------------------------------------------
 *
 * fault.h
 *	  Points between the steps of writing a store, at which a test can stop
 *	  the process or let the next step fail.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_FAULT_H
#define LW_STORE_FAULT_H

#include "format/error.h"

/* All of them, in the order in which a publish, and then the others, pass them. */
#define LW_FAULT_NAMES \
	"segment-begin", "segment-created", "segment-written", "segment-synced", \
	"segment-link", "segment-linked", \
	"tombstones-create", "tombstones-written", "tombstones-synced", \
	"commit-logged", "intents-written", "commit-done", \
	"intent-create", "intent-written", "intent-synced", "intent-link", "intent-linked", "intent-durable", \
	"bulk-made", "intent-mark", \
	"round-create", "round-written", "round-synced", "round-rename", "round-durable", \
	"intent-drop", "intents-dropped", "round-drop", "round-undo", "pending-sweep", \
	"names-sync", "manifest-create", "manifest-written", "manifest-synced", \
	"manifest-rename", "manifest-renamed", "manifest-durable", \
	"reclaim-one", \
	"compact-block", \
	"store-made", "store-filled", \
	"snapshot-made", "snapshot-file", "snapshot-names-sync"

/*
 * NULL, but in tests.  Called with the name of a point; it may not return, or
 * return an errno that the step is to fail with, or 0.
 */
extern int	(*lw_fault_hook) (const char *name);

/* LW_OK, or what the hook asks for. */
static inline LwStatus
lw_fault(const char *name, LwError *error)
{
	int			errnum = lw_fault_hook == NULL ? 0 : lw_fault_hook(name);

	return errnum == 0 ? LW_OK : lw_fail_errno(error, errnum, "pass a fault point of");
}

#define LW_FAULT(name) lw_fault(name, error)

#endif							/* LW_STORE_FAULT_H */
