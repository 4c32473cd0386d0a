/*-------------------------------------------------------------------------
 *
 * maintain.c
 *	  What an owner does to a store: compacting it, settling pending changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/procsignal.h"
#include "utils/lsyscache.h"

#include "server/candidates.h"
#include "server/change.h"
#include "server/error.h"
#include "server/maintain.h"
#include "server/progress.h"
#include "server/wait.h"
#include "store/compact.h"
#include "store/merge.h"
#include "store/publish.h"

#define MAX_ATTEMPTS 100
#define PAGE_SIZE 8192

int			lw_cost_limit = 200;
double		lw_cost_delay = 2;

/* A compaction and all that it holds. */
typedef struct Work
{
	LwPublishing publishing;
	LwManifest	identity;		/* whose store_id the publishing has */
	LwView	   *view;			/* what is copied */
	LwDirectory pending;
	LwDirectory staging;
	uint64		bulk;
	int			hold;			/* descriptor of lw_compacting_hold */
	LwManifestSegment entry;
	uint64		balance;		/* of lw_rest */
	bool		(*leave) (void);
	LwCompaction *result;
} Work;

void
lw_rest(uint64 *balance, uint64 bytes)
{
	/* DROP DATABASE, for one, waits until every process has answered */
	if (ProcSignalBarrierPending)
		ProcessProcSignalBarrier();
	*balance += bytes;
	if (lw_cost_limit > 0 && lw_cost_delay > 0 && *balance >= (uint64) lw_cost_limit * PAGE_SIZE)
	{
		double		ms = Min(lw_cost_delay * (double) *balance / PAGE_SIZE / lw_cost_limit, lw_cost_delay * 4);

		pgstat_report_wait_start(lw_wait_events.compaction_delay);
		pg_usleep((long) (ms * 1000));
		pgstat_report_wait_end();
		*balance = 0;
	}
}

/* Between two pieces of the copy; whether it is to end. */
static bool
pause_copy(void *arg, uint64_t bytes)
{
	Work	   *work = arg;

	lw_progress_add(bytes);
	lw_rest(&work->balance, bytes);
	return QueryCancelPending || ProcDiePending || (work->leave != NULL && work->leave());
}

/* The table's store, which this server may write; ERROR else. */
static void
open_store(Oid relid, bool settle, LwPublishing *publishing, LwManifest *identity)
{
	LwSource   *source = lw_source_lookup(relid);
	LwContent	content;
	LwError		error;
	void	   *flat;

	lw_change_check(source);
	error.path[0] = '\0';
	if (lw_source_follow(source, &content, &error) != LW_OK)
		lw_report(ERROR, &error);
	if (lw_change_is_staged(relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" was changed by this transaction", get_rel_name(relid)),
				 errhint("Commit the changes first.")));
	flat = palloc(lw_manifest_flat_size(&content.view->manifest));
	lw_manifest_flatten(&content.view->manifest, flat);
	if (!lw_manifest_unflatten(flat, identity))
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	pfree(flat);
	if (settle)
		lw_publish_settle_once(source->store, source->path, identity->store_id);
	lw_publish_open(publishing, source->store, pstrdup(source->path), identity->store_id);
}

static LwStatus
follow(Work *work, LwView **view, LwError *error)
{
	bool		moved;
	LwStatus	status = lw_store_follow(work->publishing.store, work->publishing.path, view, &moved, error);

	if (status == LW_OK && (moved || !lw_string_equal((*view)->manifest.store_id, work->identity.store_id)))
	{
		lw_error_path(error, NULL, work->publishing.path);
		return lw_fail(error, LW_REPLACED, "StoreIdMismatch", -1, "the store that is compacted", "another store");
	}
	return status;
}

/* Under the lock: publishes what is pending, and that the id of the new segment is used. */
static LwStatus
begin(Work *work, bool *needed, LwError *error)
{
	LwStatus	status = LW_OUTDATED;
	LwView	   *view;
	int			attempt;

	for (attempt = 0; status == LW_OUTDATED && attempt < MAX_ATTEMPTS; attempt++)
	{
		status = lw_publish_round(&work->publishing, 0, error);
		if (status == LW_OK)
			status = follow(work, &view, error);
		if (status != LW_OK)
			break;
		*needed = lw_view_compactable(view);
		work->result->segments_before = work->result->segments_after = view->manifest.nsegments;
		if (!*needed)
			return LW_OK;
		status = lw_compact_begin(view, work->publishing.directory, lw_clock(), &work->entry.id, error);
	}
	if (status == LW_OK)
		status = follow(work, &view, error);
	if (status == LW_OK)
		work->view = lw_view_retain(view);
	return status;
}

/* Under the lock again: the copy takes the place of what was copied. */
static LwStatus
replace(Work *work, LwError *error)
{
	LwStatus	status = LW_OUTDATED;
	int			attempt;

	for (attempt = 0; status == LW_OUTDATED && attempt < MAX_ATTEMPTS; attempt++)
	{
		LwDraft		draft;
		LwView	   *view;

		status = lw_publish_round(&work->publishing, 0, error);
		if (status == LW_OK)
			status = follow(work, &view, error);
		if (status == LW_OK)
			status = lw_draft_begin(&draft, view, work->publishing.directory, error);
		if (status != LW_OK)
			break;
		status = lw_compact_apply(&draft, work->view, work->staging, &work->entry, error);
		if (status == LW_OUTDATED)
		{
			lw_draft_free(&draft);
			break;				/* another has compacted: not to be repeated */
		}
		if (status == LW_OK)
			status = lw_draft_write(&draft, lw_clock(), error);
		if (status == LW_OK)
			status = lw_draft_publish(&draft, error);
		if (status == LW_OK)
		{
			work->result->segments_after = draft.nsegments;
			lw_publish_reclaim(&work->publishing, &draft.manifest, &work->result->bytes_reclaimed);
		}
		lw_draft_free(&draft);
	}
	return status;
}

/* All of a compaction; raises nothing. */
static LwStatus
compact(Work *work, LwError *error)
{
	LwCopyControl control = {pause_copy, NULL, work};
	char		name[LW_NAME_SIZE];
	LwStatus	status;
	bool		needed = false;
	bool		done;
	bool		there;
	bool		held;

	status = lw_pending_open(work->publishing.directory, true, &work->pending, &there, error);
	if (status != LW_OK)
	{
		work->pending.fd = -1;
		return status;
	}
	status = lw_compacting_hold(work->pending, &work->hold, &held, error);
	if (status == LW_OK && !held)
	{
		lw_error_path(error, NULL, work->publishing.path);
		return lw_fail(error, LW_OUTDATED, "Compacting", -1, "no other compaction of the store", "one that runs");
	}
	if (status == LW_OK)
		status = lw_publish_lock(&work->publishing, 0, &done, error);
	if (status != LW_OK)
		return status;
	status = begin(work, &needed, error);
	lw_publish_unlock(&work->publishing);
	if (status != LW_OK || !needed)
		return status;

	lw_progress_phase(LW_PHASE_COMPACT_COPY, lw_view_bytes(work->view));
	status = lw_bulk_make(work->pending, work->bulk, name, &work->staging, error);
	if (status != LW_OK)
	{
		work->staging.fd = -1;
		return status;
	}
	status = lw_compact_copy(work->view, work->publishing.directory, work->staging, work->entry.id, &control,
							 &work->entry, error);
	lw_progress_phase(LW_PHASE_COMPACT_WAIT, 0);
	if (status == LW_OK)
		status = lw_publish_lock(&work->publishing, 0, &done, error);
	if (status != LW_OK)
		return status;
	lw_progress_phase(LW_PHASE_COMPACT_PUBLISH, 0);
	status = replace(work, error);
	lw_publish_unlock(&work->publishing);
	work->result->documents = work->entry.documents;
	work->result->tokens = work->entry.tokens;
	return status;
}

/* Lets go of everything. */
static void
end(Work *work)
{
	LwError		ignored;

	if (work->staging.fd >= 0)
	{
		close(work->staging.fd);
		(void) lw_bulk_remove(work->pending, work->bulk, &ignored);
	}
	if (work->hold >= 0)
		close(work->hold);
	if (work->pending.fd >= 0)
		close(work->pending.fd);
	if (work->view != NULL)
		lw_view_release(work->view);
	lw_publish_close(&work->publishing);
	lw_manifest_free(&work->identity);
}

/* Counts what a store holds that was not compacted. */
static void
count_documents(Work *work)
{
	LwView	   *view;
	LwError		error;

	if (work->view != NULL || follow(work, &view, &error) != LW_OK || lw_view_hidden(view, &error) != LW_OK)
		return;
	work->result->documents = view->documents + view->unnameable;
	work->result->tokens = view->tokens;
}

void
lw_maintain_compact(Oid relid, bool (*leave) (void), LwCompaction *compaction)
{
	LwStatCounts *counts = lw_stat_of(relid);
	Work		work = {0};
	LwView	   *view;
	LwError		error;
	LwError		ignored;
	LwStatus	status;

	memset(compaction, 0, sizeof(*compaction));
	work.result = compaction;
	work.leave = leave;
	work.staging.fd = work.hold = work.pending.fd = -1;
	if (!pg_strong_random(&work.bulk, sizeof(work.bulk)))
		ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not make a random number")));
	work.bulk |= 1;				/* 0 is none */
	open_store(relid, true, &work.publishing, &work.identity);
	lw_sync_enabled = enableFsync;
	lw_error_path(&error, NULL, work.publishing.path);
	lw_progress_begin(relid, LW_PHASE_COMPACT_WAIT, 0);
	status = compact(&work, &error);
	lw_progress_end();
	if (status == LW_OK)
		count_documents(&work);
	if (status == LW_OK && follow(&work, &view, &ignored) == LW_OK)
		(void) lw_candidates_refresh(relid, view, leave);
	end(&work);
	counts->compactions += status == LW_OK;
	if (status == LW_OUTDATED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another compaction of \"%s\" is running or has come first", get_rel_name(relid))));
	if (status != LW_OK)
	{
		if (status != LW_CANCELLED)
			(void) lw_stat_error(relid, lw_error_message(&error));
		lw_report(ERROR, &error);
	}
}

/* A round of publishing, under the lock, for a store that was opened, and closes it. */
static void
publish_and_close(LwStatCounts *counts, LwPublishing *publishing, LwManifest *identity)
{
	LwError		error;
	LwStatus	status;
	bool		done;

	lw_error_path(&error, NULL, publishing->path);
	status = lw_publish_lock(publishing, 0, &done, &error);
	if (status == LW_OK)
	{
		status = lw_publish_round(publishing, 0, &error);
		lw_publish_unlock(publishing);
		lw_publish_count(publishing, counts);
	}
	lw_publish_close(publishing);
	lw_manifest_free(identity);
	if (status != LW_OK)
		lw_report(ERROR, &error);
}

void
lw_maintain_publish(Oid relid, bool heartbeat)
{
	LwStatCounts *counts = lw_stat_of(relid);
	LwPublishing publishing;
	LwManifest	identity;

	open_store(relid, true, &publishing, &identity);
	publishing.heartbeat = heartbeat;
	publish_and_close(counts, &publishing, &identity);
}

uint64
lw_maintain_settle(Oid relid, LwUndecided action)
{
	LwStatCounts *counts = lw_stat_of(relid);
	LwPublishing publishing;
	LwManifest	identity;

	open_store(relid, false, &publishing, &identity);
	publishing.undecided_are = action;
	publish_and_close(counts, &publishing, &identity);
	if (publishing.undecided > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(UINT64_FORMAT " pending changes of \"%s\" are damaged or belong to another store",
						publishing.undecided, get_rel_name(relid)),
				 errhint("They cannot be published: discard them.")));
	return publishing.settled;
}
