/*-------------------------------------------------------------------------
 *
 * change.c
 *	  Taking in the changes of a statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "server/error.h"
#include "server/idset.h"
#include "server/ids.h"
#include "server/pending.h"
#include "server/publish.h"
#include "server/stage.h"

/* A view that goes with a memory context. */
typedef struct LwHeldView
{
	MemoryContextCallback callback;
	LwView	   *view;
} LwHeldView;

struct LwChange
{
	LwStage    *stage;
	MemoryContext context;
	LwChangeOrigin origin;
	bool		appended;		/* anything */
	LwIdKey		first;			/* the first id that was appended */
	lwidset_hash *appends;		/* all of them, once there are two */
	LwHeldView *before;			/* what was there before, once it was asked for */
	lwidset_hash *deletes;		/* ids that it deleted and did not append again */
	bool		truncated;
};

void
lw_change_check(const LwSource *source)
{
	PreventCommandIfReadOnly("changing a vector store");
	PreventCommandDuringRecovery("changing a vector store");
	PreventCommandIfParallelMode("changing a vector store");
	lw_source_check_writable(source->relid);
	if (source->store_id == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change \"%s\": no store_id is recorded", get_rel_name(source->relid)),
				 errhint("Run ALTER FOREIGN TABLE ... OPTIONS (ADD store_id ...) with the store's id.")));
}

LwChange *
lw_change_begin(Oid relid, LwChangeOrigin origin)
{
	LwSource   *source = lw_source_lookup(relid);
	LwChange   *change;

	lw_change_check(source);
	change = palloc0(sizeof(LwChange));
	change->stage = lw_stage_get(source);
	change->context = CurrentMemoryContext;
	change->origin = origin;
	return change;
}

const LwManifest *
lw_change_manifest(const LwChange *change)
{
	return &change->stage->manifest;
}

/* ERROR 21000 when this statement has appended the id already. */
static void
check_repeated(LwChange *change, const char *id, size_t size)
{
	LwIdKey		key = lw_id_key(id, size);
	bool		found = false;

	if (!change->appended)
	{
		change->appended = true;
		change->first = key;
		return;
	}
	if (change->appends == NULL)
	{
		change->appends = lwidset_create(change->context, 64, NULL);
		lwidset_insert(change->appends, change->first, &found);
	}
	lwidset_insert(change->appends, key, &found);
	if (found)
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("document \"%s\" is appended twice by one command", lw_id_for_message(id, size)),
				 errhint("Give each document once.")));
}

/* What append_document refuses. */
static void
check_document(const LwChange *change, LwString id, const float *values, size_t tokens, uint64 dimension)
{
	LwError		error;
	LwStatus	status = lw_check_document(&change->stage->manifest, id, values, tokens, dimension, &error);

	if (status == LW_OK)
		return;
	if (status != LW_INVALID)
		lw_report(ERROR, &error);
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("cannot append document \"%s\" to \"%s\": expected %s, found %s",
					lw_id_for_message(id.data, id.size), change->stage->path, error.expected, error.found),
			 errdetail_internal("%s.", error.name)));
}

/* A record that begins a segment of its own, where one is due. */
static void
begin_batch(LwStage *stage, LwChangeOrigin origin)
{
	static const LwString none = {NULL, 0};

	if (stage->changes.size > 0 && (origin == LW_CHANGE_CALL || stage->origin == LW_CHANGE_CALL))
	{
		lw_stage_end_bulk(stage);
		lw_put_change(&stage->changes, LW_CHANGE_BATCH, none);
		stage->run = stage->changes.size;
	}
	stage->origin = origin;
}

void
lw_change_append(LwChange *change, const char *id, size_t size,
				 const float *values, size_t tokens, uint64 dimension)
{
	LwStage    *stage = change->stage;
	LwString	string = {id, size};

	check_document(change, string, values, tokens, dimension);
	if (!change->appended)
	{
		lw_stage_begin_change(stage);
		begin_batch(stage, change->origin);
	}
	check_repeated(change, id, size);
	if (change->deletes != NULL)
		lwidset_delete(change->deletes, lw_id_key(id, size));
	lw_stage_begin_change(stage);
	lw_stage_append(stage, string, values, tokens);
	lw_stage_end_change(stage);
}

static void
release_held(void *arg)
{
	LwHeldView *held = arg;

	lw_view_release(held->view);
	held->view = NULL;
}

static LwHeldView *
hold_view(MemoryContext context, LwView *view)
{
	LwHeldView *held = MemoryContextAllocZero(context, sizeof(LwHeldView));

	held->view = lw_view_retain(view);
	held->callback.func = release_held;
	held->callback.arg = held;
	MemoryContextRegisterResetCallback(context, &held->callback);
	return held;
}

bool
lw_change_holds(LwChange *change, const char *id, size_t size)
{
	LwIdKey		key = lw_id_key(id, size);
	LwPlace		place;

	if (change->appended && ((change->first.a == key.a && change->first.b == key.b) ||
							 (change->appends != NULL && lwidset_lookup(change->appends, key) != NULL)))
		return change->deletes == NULL || lwidset_lookup(change->deletes, key) == NULL;
	if (change->truncated || (change->deletes != NULL && lwidset_lookup(change->deletes, key) != NULL))
		return false;
	if (change->before == NULL)
		change->before = hold_view(change->context, lw_pending_current(change->stage));
	return lw_view_find(change->before->view, id, size, &place);
}

/* A record that is no append: ends the run. */
static void
put_change(LwChange *change, LwChangeKind kind, LwString id)
{
	LwStage    *stage = change->stage;

	lw_stage_begin_change(stage);
	lw_stage_end_bulk(stage);
	if (change->origin == LW_CHANGE_CALL)
		begin_batch(stage, change->origin);
	lw_put_change(&stage->changes, kind, id);
	stage->run = stage->changes.size;
	lw_stage_end_change(stage);
}

void
lw_change_remove(LwChange *change, const char *id, size_t size)
{
	LwString	string = {id, size};
	bool		found;

	if (change->deletes == NULL)
		change->deletes = lwidset_create(change->context, 64, NULL);
	lwidset_insert(change->deletes, lw_id_key(id, size), &found);
	put_change(change, LW_CHANGE_DELETE, string);
}

bool
lw_change_delete(LwChange *change, const char *id, size_t size)
{
	if (!lw_change_holds(change, id, size))
		return false;
	lw_change_remove(change, id, size);
	return true;
}

void
lw_change_truncate(LwChange *change)
{
	static const LwString none = {NULL, 0};

	put_change(change, LW_CHANGE_TRUNCATE, none);
	change->truncated = true;
}

void
lw_change_end(LwChange *change)
{
	if (change->before != NULL)
		release_held(change->before);
	if (change->appends != NULL)
		lwidset_destroy(change->appends);
	if (change->deletes != NULL)
		lwidset_destroy(change->deletes);
	pfree(change);
}

void
lw_change_commit(Oid relid)
{
	LwSource   *source = lw_source_lookup(relid);

	lw_change_check(source);
	lw_stage_get(source)->heartbeat = true;
}

bool
lw_change_is_staged(Oid relid)
{
	LwSource   *source = lw_source_lookup(relid);
	LwStage    *stage = source->store == NULL ? NULL : lw_stage_find(source->store);

	return stage != NULL && (stage->changes.size > 0 || stage->bulk.open || stage->heartbeat);
}
