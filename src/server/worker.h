/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  The processes that look after stores: heartbeats, retries, compaction.
 *
 * A launcher, connected to no database, has been started with the preloaded library.  It
 * starts short workers, one at a time that looks after the stores of a database, and one at a time that
 * compacts a store.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_WORKER_H
#define LW_SERVER_WORKER_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "storage/latch.h"
#include "storage/s_lock.h"

#define LW_BOARD_WANTED 16

/* Where they leave each other word. */
typedef struct LwBoard
{
	slock_t		mutex;
	Latch	   *launcher;		/* NULL: there is none */

	/* databases that a session wants looked after soon; more than there is room for: all */
	int			nwanted;
	Oid			wanted[LW_BOARD_WANTED];

	/* of the last visit of a database */
	Oid			visited;
	TimestampTz next;			/* when it is due again */
	Oid			compact;		/* a table whose store wants compaction, or InvalidOid */

	Oid			compacted;		/* database in which the last compaction has come to its end, or InvalidOid */
} LwBoard;

/* What a worker is told, in its bgw_extra. */
typedef struct LwOrder
{
	Oid			compact;		/* the table whose store it compacts; InvalidOid: it visits the database */
	Oid			last;			/* of a visit: what was compacted last, so that others have their turn */
} LwOrder;

extern void lw_board_init(LwBoard *board);

/* Has this session's database looked after soon, since it has begun to change a store.  Raises nothing. */
extern void lw_worker_call(void);

/* Registers the launcher when the library is being preloaded; defines the settings. */
extern void lw_worker_init(void);

#endif							/* LW_SERVER_WORKER_H */
