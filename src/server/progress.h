/*-------------------------------------------------------------------------
 *
 * progress.h
 *	  How far long work of the sessions is, for whoever watches.
 *
 * Each session has one slot in shared memory.  A transaction's end ends what it shows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_PROGRESS_H
#define LW_SERVER_PROGRESS_H

#include "postgres.h"

#include "storage/s_lock.h"

/* What is done, and in which unit it is counted. */
typedef enum LwPhase
{
	LW_PHASE_COMPACT_WAIT,		/* for whoever publishes */
	LW_PHASE_COMPACT_COPY,		/* documents' bytes */
	LW_PHASE_COMPACT_PUBLISH,
	LW_PHASE_LOAD,				/* documents; of an unknown total */
	LW_PHASE_VERIFY,			/* files */
	LW_PHASE_BUILD_READ,		/* rows; of an unknown total */
	LW_PHASE_BUILD_WRITE,		/* bytes; of an unknown total */
	LW_PHASE_TRAIN_SAMPLE,		/* tokens, as in the next ones */
	LW_PHASE_TRAIN_CELLS,
	LW_PHASE_TRAIN_CENTROIDS,
	LW_PHASE_ASSIGN,			/* of a segment */
	LW_PHASES
} LwPhase;

typedef struct LwProgress
{
	int			pid;			/* 0: nothing is going on */
	Oid			role;			/* whose session it is */
	Oid			database;
	Oid			relation;		/* InvalidOid: none */
	LwPhase		phase;
	uint64		done;
	uint64		total;			/* 0: unknown */
} LwProgress;

typedef struct LwProgressSlot
{
	slock_t		mutex;
	LwProgress	progress;
} LwProgressSlot;

extern void lw_progress_init_slot(LwProgressSlot *slot);

/* None of these raises, but the first may when the session has never used shared memory. */
extern void lw_progress_begin(Oid relid, LwPhase phase, uint64 total);
extern void lw_progress_phase(LwPhase phase, uint64 total);
extern void lw_progress_set(uint64 done);
extern void lw_progress_add(uint64 more);
extern void lw_progress_end(void);

/* The name of a phase. */
extern const char *lw_progress_name(LwPhase phase);

/* What the session with a number is doing; false when nothing. Numbers begin at 0; *more is false past the last. */
extern bool lw_progress_get(int number, LwProgress *progress, bool *more);

extern void lw_progress_init(void);

#endif							/* LW_SERVER_PROGRESS_H */
