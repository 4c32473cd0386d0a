/*-------------------------------------------------------------------------
 *
 * maintain.h
 *	  What an owner does to a store: compacting it, settling pending changes.
 *
 * Both publish by themselves and are never rolled back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_MAINTAIN_H
#define LW_SERVER_MAINTAIN_H

#include "postgres.h"

#include "server/publish.h"
#include "server/source.h"

typedef struct LwCompaction
{
	uint64		documents;
	uint64		tokens;
	uint64		segments_before;
	uint64		segments_after;
	uint64		bytes_reclaimed;
} LwCompaction;

/* The settings lateweave.cost_limit (8 kB pages) and lateweave.cost_delay (ms) between two rests; 0: none. */
extern int	lw_cost_limit;
extern double lw_cost_delay;

/*
 * Rests as the settings say, after so many bytes since the last call; `balance` belongs to the work, and begins with 0.
 * Raises nothing, and takes no interrupt but what other processes wait for.
 */
extern void lw_rest(uint64 *balance, uint64 bytes);

/*
 * Copies the present documents of a store into one segment.  ERROR 55000 when the transaction
 * has changed the store or another compaction runs; others as lw_change_begin.  Interruptible, and then
 * without effect.  `leave` (may be NULL) is asked often; true is as an interrupt, ERROR 57014.
 */
extern void lw_maintain_compact(Oid relid, bool (*leave) (void), LwCompaction *compaction);

/* Publishes what is pending of a store, and with `heartbeat` a commit even if nothing is.  Errors as above. */
extern void lw_maintain_publish(Oid relid, bool heartbeat);

/* Publishes or discards pending changes that cannot be judged; returns how many. */
extern uint64 lw_maintain_settle(Oid relid, LwUndecided action);

#endif							/* LW_SERVER_MAINTAIN_H */
