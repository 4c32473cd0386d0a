/*-------------------------------------------------------------------------
 *
 * judge.c
 *	  Whether the transaction of a pending change has committed.
 *
 * The intent names a position of the log before which its transaction id stands.
 * When that position is in this server's past, the transaction is this server's;
 * else (another cluster, a restore to an earlier time) nothing is known of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"

#include "access/timeline.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "storage/lwlock.h"
#include "storage/procarray.h"

#include "server/judge.h"

/* Whether this server's log has the position, on the time line. */
static bool
in_past(uint64 lsn, TimeLineID timeline)
{
	TimeLineID	current;
	List	   *history;
	XLogRecPtr	reached;
	bool		found;

	/* a standby reads what it has a copy of */
	if (RecoveryInProgress())
		reached = GetXLogReplayRecPtr(&current);
	else
	{
		current = GetWALInsertionTimeLine();
		reached = GetFlushRecPtr(NULL);
	}
	if (timeline == current)
		return lsn <= reached;
	if (timeline > current)
		return false;
	history = readTimeLineHistory(current);
	found = tliInHistory(timeline, history) && tliOfPointInHistory(lsn - 1, history) == timeline;
	list_free_deep(history);
	return found;
}

LwFate
lw_judge(const LwIntent *intent)
{
	FullTransactionId id = FullTransactionIdFromU64(intent->transaction);
	FullTransactionId next;
	TransactionId xid = XidFromFullTransactionId(id);
	LwFate		fate;

	if (intent->system != GetSystemIdentifier())
		return LW_FATE_FOREIGN;
	if (!in_past(intent->lsn, intent->timeline))
		return LW_FATE_UNDECIDED;
	if (intent->committed)
		return LW_FATE_COMMITTED;
	next = ReadNextFullTransactionId();
	if (!FullTransactionIdPrecedes(id, next))
		return LW_FATE_ABORTED;
	if (TransactionIdIsInProgress(xid) && U64FromFullTransactionId(next) - intent->transaction < (UINT64CONST(1) << 31))
		return LW_FATE_RUNNING;

	/* the commit log must not be cut while it is asked */
	LWLockAcquire(XactTruncationLock, LW_SHARED);
	if (U64FromFullTransactionId(next) - intent->transaction >= (UINT64CONST(1) << 31) ||
		TransactionIdPrecedes(xid, LW_OLDEST_CLOG_XID))
		fate = LW_FATE_UNDECIDED;
	else
		fate = TransactionIdDidCommit(xid) ? LW_FATE_COMMITTED : LW_FATE_ABORTED;
	LWLockRelease(XactTruncationLock);
	return fate;
}

bool
lw_judge_all(const LwIntents *intents, LwFate *fates, const char **message)
{
	static char text[256];
	MemoryContext context = CurrentMemoryContext;
	volatile bool good = true;
	size_t		i;

	PG_TRY();
	{
		for (i = 0; i < intents->count; i++)
			fates[i] = intents->intents[i].memory == NULL ? LW_FATE_UNDECIDED : lw_judge(&intents->intents[i]);
	}
	PG_CATCH();
	{
		ErrorData  *data;

		MemoryContextSwitchTo(context);
		data = CopyErrorData();
		FlushErrorState();
		strlcpy(text, data->message, sizeof(text));
		FreeErrorData(data);
		if (LWLockHeldByMe(XactTruncationLock))
			LWLockRelease(XactTruncationLock);
		good = false;
	}
	PG_END_TRY();
	*message = text;
	return good;
}
