/*-------------------------------------------------------------------------
 *
 * commit.c
 *	  From the changes of a transaction to its intents, and on.
 *
 * Before COMMIT everything is done that can fail.  After it, an intent is published
 * or stays pending; nothing is raised.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "replication/message.h"
#include "storage/fd.h"

#include "compat.h"

#include "server/dropped.h"
#include "server/error.h"
#include "server/publish.h"
#include "server/stage.h"
#include "store/fault.h"

/* A point at which a test lets something go wrong. */
static void
pass_fault(const char *name)
{
	LwError		error;

	error.path[0] = '\0';
	if (lw_fault(name, &error) != LW_OK)
		lw_report(ERROR, &error);
}

/* ERROR unless the store is still the one that the changes are for. */
static void
check_store(LwStage *stage)
{
	LwManifest	manifest;
	LwError		error;
	bool		moved;
	bool		same = false;

	error.path[0] = '\0';
	if (lw_store_read(stage->store, stage->path, &manifest, &moved, &error) != LW_OK)
		lw_report(ERROR, &error);
	if (!moved)
	{
		same = lw_string_equal(manifest.store_id, stage->manifest.store_id);
		lw_manifest_free(&manifest);
	}
	if (same)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("another store lies at \"%s\" since the transaction changed the one before", stage->path)));
}

/*
 * Has the log hold the transaction's id for good before the intent names it:
 * else a crash would give the id out again.  Returns the position after that, which is also the
 * intent's number: no other transaction ever gets it, and whoever sees this one's rows gets a higher one.
 */
static XLogRecPtr
log_transaction(void)
{
	XLogRecPtr	position;

	(void) GetTopTransactionId();
	position = lw_log_message("lateweave");
	XLogFlush(position);
	pass_fault("commit-logged");
	return position;
}

static void
write_intent(LwStage *stage, XLogRecPtr position)
{
	LwDirectory pending;
	LwError		error;
	LwStatus	status;
	bool		there;

	stage->intent.system = GetSystemIdentifier();
	stage->intent.transaction = U64FromFullTransactionId(GetTopFullTransactionId());
	stage->intent.lsn = position;
	stage->intent.timeline = GetWALInsertionTimeLine();
	stage->intent.heartbeat = stage->heartbeat;
	stage->intent.bulk = stage->bulk.id;
	stage->intent.store_id = stage->manifest.store_id;
	stage->intent.changes = lw_buffer_bytes(&stage->changes);
	if (stage->shared != NULL)
	{
		lw_shared_raise(stage->shared);
		stage->counted = true;
	}
	lw_error_path(&error, NULL, stage->path);
	status = lw_pending_open(stage->directory, true, &pending, &there, &error);
	if (status == LW_OK)
	{
		/* what bulk segments are called must be durable before what names them */
		if (stage->bulk.id != 0)
			status = lw_directory_sync(pending, &error);
		if (status == LW_OK)
			status = lw_intent_write(pending, &stage->intent, position, &error);
		close(pending.fd);
	}
	if (status != LW_OK)
		lw_report(ERROR, &error);
	stage->written = true;
}

void
lw_commit_prepare(void)
{
	XLogRecPtr	position = InvalidXLogRecPtr;
	dlist_iter	iter;

	lw_sync_enabled = enableFsync;
	dlist_foreach(iter, &lw_stages)
	{
		LwStage    *stage = dlist_container(LwStage, node, iter.cur);

		lw_stage_end_bulk(stage);
		if (stage->changes.size == 0 && !stage->heartbeat)
			continue;
		check_store(stage);
		if (position == InvalidXLogRecPtr)
			position = log_transaction();
		write_intent(stage, position);
	}
	if (position == InvalidXLogRecPtr)
		return;
	ForceSyncCommit();
	pass_fault("intents-written");
}

/* A WARNING in place of what would be an ERROR; gives up quietly where there is no memory for that. */
static void
warn(const LwStage *stage, const LwError *error)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		char	   *why = lw_error_message(error);

		ereport(WARNING,
				(errcode(lw_error_code(error)),
				 errmsg("the transaction has committed, but its changes of \"%s\" are not published yet", stage->path),
				 errdetail_internal("%s", why),
				 errhint("They are kept, every statement of this server sees them, and the next commit to the store publishes them.")));
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
}

/* Says in the intent's name that it has committed, so that nobody has to judge it. */
static void
leave_for_later(LwStage *stage)
{
	LwDirectory pending;
	LwError		ignored;
	bool		there;

	if (lw_pending_open(stage->directory, false, &pending, &there, &ignored) != LW_OK || !there)
		return;
	if (lw_intent_mark(pending, &stage->intent, &ignored) == LW_OK)
		(void) lw_directory_sync(pending, &ignored);
	close(pending.fd);
}

static void
publish(LwStage *stage)
{
	LwPublishing publishing = {0};
	LwError		error;
	LwStatus	status;
	bool		done;

	publishing.store = stage->store;
	publishing.path = stage->path;
	publishing.store_id = stage->manifest.store_id;
	publishing.directory = stage->directory;
	publishing.shared = stage->shared;
	status = lw_publish_lock(&publishing, stage->intent.number, &done, &error);
	if (status == LW_OK && !done)
	{
		status = lw_publish_round(&publishing, stage->intent.number, &error);
		lw_publish_unlock(&publishing);
	}
	if (status != LW_OK)
	{
		leave_for_later(stage);
		warn(stage, &error);
	}
	stage->written = false;
}

/* The count of changes on their way. */
static void
lower(LwStage *stage)
{
	if (stage->counted)
		lw_shared_lower(stage->shared);
	stage->counted = false;
}

void
lw_commit_publish(void)
{
	dlist_iter	iter;
	LwError		ignored;

	if (!dlist_is_empty(&lw_stages))
		(void) lw_fault("commit-done", &ignored);

	dlist_foreach(iter, &lw_stages)
	{
		LwStage    *stage = dlist_container(LwStage, node, iter.cur);

		if (stage->written)
			publish(stage);
		lower(stage);
	}
	lw_stages_free();
}

/* Removes what the transaction has put into the pending directory. */
static void
abandon(LwStage *stage)
{
	LwDirectory pending;
	LwError		ignored;
	bool		there;

	if (lw_pending_open(stage->directory, false, &pending, &there, &ignored) != LW_OK || !there)
		return;
	lw_stage_release_bulk(stage);
	if (stage->written)
		(void) lw_intent_abandon(pending, &stage->intent, &ignored);
	else if (stage->bulk.id != 0)
		(void) lw_bulk_remove(pending, stage->bulk.id, &ignored);
	close(pending.fd);
}

void
lw_commit_abandon(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &lw_stages)
	{
		LwStage    *stage = dlist_container(LwStage, node, iter.cur);

		lw_stage_abort_bulk(stage);
		if (stage->written || stage->bulk.id != 0)
			abandon(stage);
		lower(stage);
	}
	lw_stages_free();
}

static void
transaction_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			lw_commit_prepare();
			break;
		case XACT_EVENT_COMMIT:
			lw_commit_publish();
			lw_dropped_commit();
			break;
		case XACT_EVENT_ABORT:
			lw_commit_abandon();
			lw_dropped_abort();
			break;
		case XACT_EVENT_PRE_PREPARE:
			if (!dlist_is_empty(&lw_stages) || lw_dropped_any())
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot PREPARE a transaction that has changed a vector store")));
			break;
		default:
			break;
	}
}

void
lw_change_init(void)
{
	lw_stage_init();
	lw_dropped_init();
	RegisterXactCallback(transaction_callback, NULL);
}
