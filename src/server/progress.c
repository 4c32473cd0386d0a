/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  How far long work of the sessions is, for whoever watches.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/spin.h"

#include "compat.h"

#include "server/area.h"
#include "server/progress.h"

static LwProgressSlot *mine;	/* NULL: nothing is shown */

static const char *const names[LW_PHASES] = {
	[LW_PHASE_COMPACT_WAIT] = "compaction: waiting for the store's lock",
	[LW_PHASE_COMPACT_COPY] = "compaction: copying bytes",
	[LW_PHASE_COMPACT_PUBLISH] = "compaction: publishing",
	[LW_PHASE_LOAD] = "bulk load: writing documents",
	[LW_PHASE_VERIFY] = "verification: checking files",
	[LW_PHASE_BUILD_READ] = "build: reading rows",
	[LW_PHASE_BUILD_WRITE] = "build: writing bytes",
	[LW_PHASE_TRAIN_SAMPLE] = "training: sampling tokens",
	[LW_PHASE_TRAIN_CELLS] = "training: putting tokens into cells",
	[LW_PHASE_TRAIN_CENTROIDS] = "training: clustering tokens",
	[LW_PHASE_ASSIGN] = "training: assigning tokens of a segment"
};

void
lw_progress_init_slot(LwProgressSlot *slot)
{
	SpinLockInit(&slot->mutex);
}

/* Shows something else. */
static void
show(const LwProgress *progress)
{
	SpinLockAcquire(&mine->mutex);
	mine->progress = *progress;
	SpinLockRelease(&mine->mutex);
}

void
lw_progress_begin(Oid relid, LwPhase phase, uint64 total)
{
	LwProgress	progress = {MyProcPid, GetUserId(), MyDatabaseId, relid, phase, 0, total};

	if (!lw_area_available())
		return;
	mine = lw_area_slot(LW_MY_PROC_NUMBER);
	if (mine != NULL)
		show(&progress);
}

void
lw_progress_phase(LwPhase phase, uint64 total)
{
	LwProgress	progress;

	if (mine == NULL)
		return;
	/* nobody else writes the slot */
	progress = mine->progress;
	progress.phase = phase;
	progress.done = 0;
	progress.total = total;
	show(&progress);
}

void
lw_progress_set(uint64 done)
{
	if (mine == NULL)
		return;
	SpinLockAcquire(&mine->mutex);
	mine->progress.done = done;
	SpinLockRelease(&mine->mutex);
}

void
lw_progress_add(uint64 more)
{
	if (mine != NULL)
		lw_progress_set(mine->progress.done + more);
}

void
lw_progress_end(void)
{
	static const LwProgress nothing;

	if (mine == NULL)
		return;
	show(&nothing);
	mine = NULL;
}

const char *
lw_progress_name(LwPhase phase)
{
	return names[phase];
}

bool
lw_progress_get(int number, LwProgress *progress, bool *more)
{
	LwProgressSlot *slot = lw_area_available() ? lw_area_slot(number) : NULL;

	*more = slot != NULL;
	if (slot == NULL)
		return false;
	SpinLockAcquire(&slot->mutex);
	*progress = slot->progress;
	SpinLockRelease(&slot->mutex);
	return progress->pid != 0;
}

static void
transaction_callback(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		lw_progress_end();
}

static void
subtransaction_callback(SubXactEvent event, SubTransactionId self, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		lw_progress_end();
}

void
lw_progress_init(void)
{
	RegisterXactCallback(transaction_callback, NULL);
	RegisterSubXactCallback(subtransaction_callback, NULL);
}
