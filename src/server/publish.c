/*-------------------------------------------------------------------------
 *
 * publish.c
 *	  Bringing committed changes into their store, one commit for all of them.
 *
 * It runs after transactions have committed, where an error would be a PANIC:
 * malloc, plain calls on files, and what may raise only within judge.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/fd.h"

#include "server/error.h"
#include "server/judge.h"
#include "server/publish.h"
#include "server/wait.h"
#include "server/registry.h"
#include "server/worker.h"
#include "store/changes.h"
#include "store/derived.h"
#include "store/merge.h"
#include "store/publish.h"

/* How long a lock that another process holds is waited for, and how often it is tried. */
#define LOCK_SECONDS 10
#define LOCK_STEP_US 1000

/* Commits of others that may come between reading a manifest and replacing it. */
#define MAX_ATTEMPTS 100

/* Whether an intent is still in the directory; yes when that cannot be told. */
static bool
is_pending(LwDirectory store, uint64 number)
{
	LwIntent	intent = {0};
	LwDirectory pending;
	LwError		error;
	bool		there;
	bool		found;

	if (lw_pending_open(store, false, &pending, &there, &error) != LW_OK)
		return true;
	if (!there)
		return false;
	intent.number = number;
	found = lw_intent_exists(pending, &intent);
	close(pending.fd);
	return found;
}

/* Locks the directory against other processes; the number of the error when that cannot be, 0 also where there are no such locks. */
static int
lock_directory(int fd)
{
	int			waited;

	for (waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += LOCK_STEP_US)
	{
		if (errno != EWOULDBLOCK && errno != EINTR)
			return errno == ENOLCK ? ENOLCK : 0;
		if (waited >= LOCK_SECONDS * 1000000)
			return ETIMEDOUT;
		pgstat_report_wait_start(lw_wait_events.store_lock);
		pg_usleep(LOCK_STEP_US);
		pgstat_report_wait_end();
	}
	return 0;
}

LwStatus
lw_publish_lock(LwPublishing *publishing, uint64 number, bool *done, LwError *error)
{
	int			failure;

	*done = false;
	while (publishing->shared != NULL && !lw_shared_lock(publishing->shared))
	{
		/* somebody has published: this one too? */
		if (number != 0 && !is_pending(publishing->directory, number))
		{
			*done = true;
			return LW_OK;
		}
	}
	failure = lock_directory(publishing->directory.fd);
	if (failure != 0)
	{
		lw_error_path(error, NULL, publishing->path);
		(void) lw_fail_errno(error, failure, "lock");
		if (publishing->shared != NULL)
			lw_shared_unlock(publishing->shared);
		return error->status;
	}
	if (number != 0 && publishing->shared == NULL && !is_pending(publishing->directory, number))
	{
		*done = true;
		(void) flock(publishing->directory.fd, LOCK_UN);
	}
	return LW_OK;
}

void
lw_publish_unlock(LwPublishing *publishing)
{
	(void) flock(publishing->directory.fd, LOCK_UN);
	if (publishing->shared != NULL)
		lw_shared_unlock(publishing->shared);
}

/* What is to become of the intents that lie there. */
typedef struct Sorted
{
	LwIntents	intents;
	LwFate	   *fates;			/* malloc'ed */
	LwBytes    *pieces;			/* malloc'ed, of those that are to be published */
	const LwIntent **chosen;	/* malloc'ed, the same ones */
	size_t		count;
	bool		heartbeat;
} Sorted;

static void
free_sorted(Sorted *sorted)
{
	lw_intents_free(&sorted->intents);
	free(sorted->fates);
	free(sorted->pieces);
	free(sorted->chosen);
}

/* What is to be done with an intent that nobody here can judge. */
static LwFate
fate_of_undecided(const LwPublishing *publishing, const LwIntent *intent, LwFate fate)
{
	switch (publishing->undecided_are)
	{
		case LW_UNDECIDED_DISCARD:
			return LW_FATE_ABORTED;
		case LW_UNDECIDED_PUBLISH:
			if (intent->memory != NULL && lw_string_equal(intent->store_id, publishing->store_id))
				return LW_FATE_COMMITTED;
			break;
		case LW_UNDECIDED_KEEP:
			break;
	}
	return fate;
}

/* Drops what has not committed, and chooses what has. */
static LwStatus
choose(LwPublishing *publishing, LwDirectory pending, uint64 own, Sorted *sorted, LwError *error)
{
	LwStatus	status = LW_OK;
	size_t		i;

	for (i = 0; status == LW_OK && i < sorted->intents.count; i++)
	{
		LwIntent   *intent = &sorted->intents.intents[i];
		LwFate		fate = sorted->fates[i];

		/* in the callback of its commit the server still takes it for running */
		if (fate == LW_FATE_RUNNING && intent->number == own &&
			intent->transaction == U64FromFullTransactionId(GetTopFullTransactionIdIfAny()))
			fate = LW_FATE_COMMITTED;
		if (fate == LW_FATE_COMMITTED && !lw_string_equal(intent->store_id, publishing->store_id))
			fate = LW_FATE_UNDECIDED;
		if (fate == LW_FATE_UNDECIDED || fate == LW_FATE_FOREIGN)
		{
			publishing->foreign += fate == LW_FATE_FOREIGN;
			fate = fate_of_undecided(publishing, intent, LW_FATE_UNDECIDED);
			if (fate == LW_FATE_UNDECIDED)
				publishing->undecided++;
			else
				publishing->settled++;
		}
		if (fate == LW_FATE_ABORTED)
			status = lw_intent_drop(pending, intent, error);
		else if (fate == LW_FATE_COMMITTED)
		{
			sorted->pieces[sorted->count] = intent->changes;
			sorted->chosen[sorted->count++] = intent;
			sorted->heartbeat |= intent->heartbeat;
		}
	}
	return status;
}

static LwStatus
sort_intents(LwPublishing *publishing, LwDirectory pending, uint64 own, Sorted *sorted, LwError *error)
{
	const char *message;
	LwStatus	status = lw_intents_list(pending, &sorted->intents, error);
	size_t		n = sorted->intents.count + 1;
	size_t		i;

	if (status != LW_OK)
		return status;
	sorted->fates = malloc(n * sizeof(LwFate));
	sorted->pieces = malloc(n * sizeof(LwBytes));
	sorted->chosen = malloc(n * sizeof(LwIntent *));
	if (sorted->fates == NULL || sorted->pieces == NULL || sorted->chosen == NULL)
		return lw_fail_errno(error, ENOMEM, "publish");
	for (i = 0; i < sorted->intents.count; i++)
	{
		status = lw_intent_read(pending, &sorted->intents.intents[i], error);
		if (status == LW_MALFORMED)
			continue;			/* undecided */
		if (status == LW_MISSING)
			sorted->intents.intents[i].number = 0;	/* given up by its transaction: judged below as undecided, if it were not skipped */
		else if (status != LW_OK)
			return status;
	}
	/* without those that went */
	for (i = n = 0; i < sorted->intents.count; i++)
		if (sorted->intents.intents[i].number != 0)
			sorted->intents.intents[n++] = sorted->intents.intents[i];
	sorted->intents.count = n;
	if (!lw_judge_all(&sorted->intents, sorted->fates, &message))
	{
		lw_error_path(error, NULL, "pg_xact");
		return lw_fail(error, LW_IO, "CommitLog", -1, "an answer of the commit log", "%s", message);
	}
	return choose(publishing, pending, own, sorted, error);
}

/* Whether nothing is left of a crash or failure, that whoever changes the store next must see to. */
static void
set_settled(LwPublishing *publishing, bool settled)
{
	publishing->store->settled = settled;
	if (publishing->shared != NULL)
		lw_shared_set_settled(publishing->shared, settled);
}

void
lw_publish_reclaim(LwPublishing *publishing, const LwManifest *manifest, uint64_t *bytes)
{
	LwError		ignored;

	if (lw_store_reclaim(publishing->directory, manifest, bytes, &ignored) != LW_OK)
		set_settled(publishing, false);
}

static LwStatus
another_store(const LwPublishing *publishing, LwError *error)
{
	lw_error_path(error, NULL, publishing->path);
	return lw_fail(error, LW_REPLACED, "StoreIdMismatch", -1, "the store that was changed", "another store");
}

/*
 * The current view, which the caller releases: with its segments where documents are to be looked
 * up in them, unopened where they are only added.
 */
static LwStatus
current_view(LwPublishing *publishing, const Sorted *sorted, LwView **view, LwError *error)
{
	LwManifest	manifest;
	bool		moved;
	LwStatus	status = lw_store_read(publishing->store, publishing->path, &manifest, &moved, error);

	if (status != LW_OK)
		return status;
	if (moved)
		return another_store(publishing, error);
	if (!lw_string_equal(manifest.store_id, publishing->store_id))
		status = another_store(publishing, error);
	else if (!lw_changes_delete(sorted->pieces, sorted->count, lw_change_format(&manifest)))
	{
		status = lw_view_unopened(publishing->path, &manifest, view, error);
		if (status == LW_OK)
			return LW_OK;
	}
	lw_manifest_free(&manifest);
	if (status != LW_OK)
		return status;
	status = lw_store_follow(publishing->store, publishing->path, view, &moved, error);
	if (status != LW_OK)
		return status;
	if (moved || !lw_string_equal((*view)->manifest.store_id, publishing->store_id))
		return another_store(publishing, error);
	lw_view_retain(*view);
	return LW_OK;
}

/* One attempt: the current manifest and the chosen changes. LW_OUTDATED: another commit came in between. */
static LwStatus
publish_once(LwPublishing *publishing, LwDirectory pending, const Sorted *sorted, double now, LwError *error)
{
	LwDraft		draft;
	LwView	   *view;
	LwStatus	status;
	bool		reclaim;

	status = current_view(publishing, sorted, &view, error);
	if (status != LW_OK)
		return status;
	status = lw_draft_begin(&draft, view, publishing->directory, error);
	lw_view_release(view);
	if (status != LW_OK)
		return status;
	draft.next_name = LW_PENDING_MANIFEST;
	status = lw_draft_apply(&draft, sorted->pieces, sorted->count, sorted->count > 1, true, pending, error);
	if (status == LW_OK)
		status = lw_draft_merge_small(&draft, pending, error);
	if (status == LW_OK)
		status = lw_draft_write(&draft, now, error);
	if (status == LW_OK)
		status = lw_round_write(pending, sorted->chosen, sorted->count, error);
	if (status == LW_OK)
		status = lw_draft_publish(&draft, error);
	reclaim = draft.published && lw_draft_leaves_files(&draft);
	if (status != LW_OK && !draft.published)
	{
		LwError		failure;

		/* the note goes before the manifest that it is of; while it stays, so does that, or it would seem published */
		if (lw_round_settle(pending, &failure) != LW_OK)
		{
			draft.manifest_made = false;
			*error = failure;
			status = failure.status;
		}
	}
	if (reclaim && status == LW_OK)
		lw_publish_reclaim(publishing, &draft.manifest, NULL);
	else if (reclaim)
		set_settled(publishing, false);
	lw_draft_free(&draft);
	return status;
}

/* Another writer that died has left files under names that are to be given: LW_OUTDATED once they are gone. */
static LwStatus
clear_names(LwPublishing *publishing, LwError *error)
{
	LwView	   *view;
	bool		moved;
	LwStatus	status = lw_store_follow(publishing->store, publishing->path, &view, &moved, error);

	if (status == LW_OK && !moved)
		status = lw_directory_sync(publishing->directory, error);
	if (status == LW_OK && !moved)
		status = lw_store_reclaim(publishing->directory, &view->manifest, NULL, error);
	return status == LW_OK ? LW_OUTDATED : status;
}

LwStatus
lw_publish_round(LwPublishing *publishing, uint64 own, LwError *error)
{
	Sorted		sorted = {0};
	LwDirectory pending;
	double		now = lw_clock();	/* before the changes are looked for: committed_at promises that none is older */
	LwStatus	status;
	bool		there;
	int			attempt;

	lw_sync_enabled = enableFsync;
	publishing->published = false;
	publishing->transactions = publishing->settled = publishing->undecided = publishing->foreign = 0;
	lw_error_path(error, NULL, publishing->path);
	status = lw_pending_open(publishing->directory, true, &pending, &there, error);
	if (status != LW_OK)
		return status;
	/* nobody waits for derived files while others wait for the lock, and a cancellation comes too late */
	lw_derived_settings.passive = true;
	status = lw_round_settle(pending, error);
	if (status == LW_OK)
		status = sort_intents(publishing, pending, own, &sorted, error);
	if (status == LW_OK && (sorted.count > 0 || publishing->heartbeat))
	{
		for (attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
		{
			status = publish_once(publishing, pending, &sorted, now, error);
			if (status == LW_IO && error->errnum == EEXIST && attempt == 0)
				status = clear_names(publishing, error);
			if (status != LW_OUTDATED)
				break;
		}
		if (status == LW_OK)
		{
			publishing->published = true;
			publishing->transactions = sorted.count;
			status = lw_round_end(pending, error);
		}
	}
	lw_derived_settings.passive = false;
	free_sorted(&sorted);
	close(pending.fd);
	return status;
}

void
lw_publish_count(const LwPublishing *publishing, LwStatCounts *counts)
{
	counts->commits += publishing->published;
	counts->transactions += publishing->transactions;
}

void
lw_publish_open(LwPublishing *publishing, LwStore *store, const char *path, LwString store_id)
{
	LwError		error;

	memset(publishing, 0, sizeof(*publishing));
	publishing->store = store;
	publishing->path = path;
	publishing->store_id = store_id;
	publishing->directory.path = path;
	publishing->directory.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (publishing->directory.fd < 0)
	{
		lw_error_path(&error, NULL, path);
		(void) lw_fail_errno(&error, errno, "open");
		lw_report(ERROR, &error);
	}
	publishing->shared = lw_shared_hold(store);
}

void
lw_publish_close(LwPublishing *publishing)
{
	close(publishing->directory.fd);
	if (publishing->shared != NULL)
		lw_shared_unhold(publishing->shared);
}

/* Under the lock: what a crash left in the store's own directory, whose names the next publish needs, then what it left pending. */
static LwStatus
settle(LwPublishing *publishing, LwError *error)
{
	LwView	   *view;
	bool		moved;
	LwStatus	status = lw_store_follow(publishing->store, publishing->path, &view, &moved, error);

	if (status != LW_OK || moved)
		return status;
	/* the manifest that the last process renamed must be there for good before its files' predecessors go */
	status = lw_directory_sync(publishing->directory, error);
	if (status == LW_OK)
		status = lw_store_reclaim(publishing->directory, &view->manifest, NULL, error);
	return status == LW_OK ? lw_publish_round(publishing, 0, error) : status;
}

void
lw_publish_settle_once(LwStore *store, const char *path, LwString store_id)
{
	LwPublishing publishing;
	LwString	own_id;
	LwStatus	status;
	LwError		error;
	bool		done;
	bool		settled;

	lw_wait_prepare();
	if (store->settled && (!lw_shared_available() || lw_shared_is_settled(store)))
		return;
	lw_registry_add(store, path);
	/* the caller's may go with the view that it is of, when that is followed */
	own_id.data = pnstrdup(store_id.data, store_id.size);
	own_id.size = store_id.size;
	lw_publish_open(&publishing, store, path, own_id);
	settled = publishing.shared != NULL ? lw_shared_settled(publishing.shared) : store->settled;
	if (settled)
	{
		lw_publish_close(&publishing);
		return;
	}
	status = lw_publish_lock(&publishing, 0, &done, &error);
	if (status == LW_OK)
	{
		status = settle(&publishing, &error);
		lw_publish_unlock(&publishing);
	}
	lw_worker_call();
	if (status == LW_OK && publishing.undecided == 0)
		set_settled(&publishing, true);
	lw_publish_close(&publishing);
	if (status != LW_OK)
		lw_report(ERROR, &error);
	if (publishing.foreign > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("\"%s\" has " UINT64_FORMAT " pending changes of another server", path, publishing.foreign),
				 errhint("One server writes a store. If that server does not write it any more, run lateweave_settle.")));
	if (publishing.undecided > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" has " UINT64_FORMAT " pending changes that cannot be judged", path, publishing.undecided),
				 errdetail("They were made before a restore to an earlier time, or are damaged."),
				 errhint("Run lateweave_settle to publish or discard them.")));
}
