/*-------------------------------------------------------------------------
 *
 * judge.h
 *	  Whether the transaction of a pending change has committed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_JUDGE_H
#define LW_SERVER_JUDGE_H

#include "postgres.h"

#include "store/pending.h"

typedef enum LwFate
{
	LW_FATE_COMMITTED,
	LW_FATE_ABORTED,			/* for certain */
	LW_FATE_RUNNING,
	LW_FATE_UNDECIDED,			/* of this cluster's past or another time line, which it cannot tell */
	LW_FATE_FOREIGN				/* of another cluster */
} LwFate;

/* Of an intent that was read.  May raise an error when the commit log cannot be read. */
extern LwFate lw_judge(const LwIntent *intent);

/*
 * The same of every intent of a list that could be read; an unread one is undecided.
 * Raises nothing: false, with *message set, when an error was caught.  For where an error is not allowed.
 */
extern bool lw_judge_all(const LwIntents *intents, LwFate *fates, const char **message);

#endif							/* LW_SERVER_JUDGE_H */
