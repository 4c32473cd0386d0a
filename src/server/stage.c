/*-------------------------------------------------------------------------
 *
 * stage.c
 *	  What the current transaction has changed, store by store.
 *
 * The changes of a store are one run of bytes, to which is only added; so a
 * subtransaction that is rolled back is cut off its end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xact.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "server/error.h"
#include "server/publish.h"
#include "server/stage.h"

/* Bytes of changes of one store; what is more than this is no row change but a load, and goes to files. */
#define MAX_CHANGES ((size_t) 1024 * 1024 * 1024)

dlist_head	lw_stages = DLIST_STATIC_INIT(lw_stages);

static MemoryContext stage_context;

LwStage *
lw_stage_find(const LwStore *store)
{
	dlist_iter	iter;

	dlist_foreach(iter, &lw_stages)
	{
		LwStage    *stage = dlist_container(LwStage, node, iter.cur);

		if (stage->store == store)
			return stage;
	}
	return NULL;
}

/* Lets go of the views of more than `end` bytes of changes. */
static void
drop_layers(LwStage *stage, size_t end)
{
	while (stage->nlayers > 0 && stage->layers[stage->nlayers - 1].end > end)
		lw_view_release(stage->layers[--stage->nlayers].view);
}

static void
free_stage(LwStage *stage)
{
	lw_stage_abort_bulk(stage);
	lw_stage_release_bulk(stage);
	lw_view_release(stage->view);
	drop_layers(stage, 0);
	lw_view_release(stage->view_base);
	lw_buffer_free(&stage->changes);
	lw_manifest_free(&stage->manifest);
	if (stage->shared != NULL)
		lw_shared_unhold(stage->shared);
	if (stage->directory.fd >= 0)
	{
		close(stage->directory.fd);
		ReleaseExternalFD();
	}
	stage->store->holds--;
}

void
lw_stages_free(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &lw_stages)
		free_stage(dlist_container(LwStage, node, iter.cur));
	dlist_init(&lw_stages);
	MemoryContextReset(stage_context);
}

LwStage *
lw_stage_get(LwSource *source)
{
	LwStage    *stage;
	LwManifest	manifest;
	LwError		error;
	LwString	store_id;
	char	   *id;
	void	   *flat;

	if (source->store != NULL)
	{
		stage = lw_stage_find(source->store);
		if (stage != NULL)
			return stage;
	}
	error.path[0] = '\0';
	if (lw_source_identity(source, &manifest, &error) != LW_OK)
		lw_report(ERROR, &error);
	/* what follows may raise, and memory of a manifest is not the server's */
	flat = palloc(lw_manifest_flat_size(&manifest));
	lw_manifest_flatten(&manifest, flat);
	store_id.size = manifest.store_id.size;
	store_id.data = id = palloc(store_id.size + 1);
	memcpy(id, manifest.store_id.data, store_id.size);
	lw_manifest_free(&manifest);
	stage = lw_stage_find(source->store);
	if (stage != NULL)
		return stage;
	lw_publish_settle_once(source->store, source->path, store_id);

	stage = MemoryContextAllocZero(stage_context, sizeof(LwStage));
	stage->path = MemoryContextStrdup(stage_context, source->path);
	stage->relid = source->relid;
	stage->counts = lw_stat_of(source->relid);
	stage->directory.path = stage->path;
	stage->directory.fd = -1;
	stage->bulk.directory.fd = -1;
	if (!AcquireExternalFD())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("out of file descriptors for \"%s\"", source->path)));
	stage->directory.fd = open(stage->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (stage->directory.fd < 0)
	{
		int			save_errno = errno;

		ReleaseExternalFD();
		lw_error_path(&error, NULL, stage->path);
		(void) lw_fail_errno(&error, save_errno, "open");
		lw_report(ERROR, &error);
	}
	/* from here on it is in the list, and freed with it */
	stage->store = source->store;
	stage->store->holds++;
	lw_buffer_init(&stage->changes, MAX_CHANGES);
	stage->view_command = InvalidCommandId;
	dlist_push_tail(&lw_stages, &stage->node);
	stage->shared = lw_shared_hold(stage->store);
	if (!lw_manifest_unflatten(flat, &stage->manifest))
	{
		memset(&stage->manifest, 0, sizeof(stage->manifest));
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	}
	pfree(flat);
	pfree(id);
	return stage;
}

/* Makes room in an array of the stage for one more. */
static void *
room_for_one(void *array, int count, int *room, Size size)
{
	if (count < *room)
		return array;
	*room = *room == 0 ? 8 : *room * 2;
	return array == NULL ? MemoryContextAlloc(stage_context, size * *room) : repalloc_huge(array, size * *room);
}

void
lw_stage_begin_change(LwStage *stage)
{
	int			level = GetCurrentTransactionNestLevel();
	CommandId	command = GetCurrentCommandId(true);

	lw_stage_check_lost(stage);
	/* the outermost transaction needs no entry: its changes begin at 0 */
	if (level > 1 && (stage->nlevels == 0 || stage->levels[stage->nlevels - 1].level < level))
	{
		lw_stage_end_bulk(stage);
		stage->levels = room_for_one(stage->levels, stage->nlevels, &stage->levels_room, sizeof(LwStageLevel));
		stage->levels[stage->nlevels].level = level;
		stage->levels[stage->nlevels].begin = stage->changes.size;
		stage->levels[stage->nlevels].marks = stage->nmarks;
		stage->nlevels++;
		stage->run = stage->changes.size;
	}
	if (stage->nmarks == 0 || stage->marks[stage->nmarks - 1].command != command ||
		(stage->nlevels > 0 && stage->levels[stage->nlevels - 1].marks == (size_t) stage->nmarks))
	{
		stage->marks = room_for_one(stage->marks, stage->nmarks, &stage->marks_room, sizeof(LwStageMark));
		stage->marks[stage->nmarks].command = command;
		stage->marks[stage->nmarks].end = stage->changes.size;
		stage->nmarks++;
	}
}

void
lw_stage_end_change(LwStage *stage)
{
	if (stage->changes.failed)
		ereport(ERROR,
				(errcode(stage->changes.full ? ERRCODE_PROGRAM_LIMIT_EXCEEDED : ERRCODE_OUT_OF_MEMORY),
				 errmsg("too many changes of \"%s\" in one transaction", stage->path),
				 errdetail("What is not a run of appended documents may have %zu bytes.", MAX_CHANGES)));
	stage->marks[stage->nmarks - 1].end = stage->changes.size;
}

void
lw_stage_cut(LwStage *stage, size_t size)
{
	int			i;

	stage->changes.size = size;
	stage->least = Min(stage->least, size);
	for (i = stage->nmarks; i-- > 0 && stage->marks[i].end > size;)
		stage->marks[i].end = size;
}

/* Cuts off what subtransactions of this level and deeper have changed. */
static void
cut_off(LwStage *stage, int level)
{
	while (stage->nlevels > 0 && stage->levels[stage->nlevels - 1].level >= level)
	{
		LwStageLevel *last = &stage->levels[--stage->nlevels];

		lw_stage_abort_bulk(stage);
		stage->nmarks = (int) last->marks;
		lw_stage_cut(stage, last->begin);
		stage->changes.failed = stage->changes.full = false;
		stage->run = stage->changes.size;
		stage->origin = LW_CHANGE_CALL; /* a row change that follows begins a segment: at worst one more */
		stage->view_command = InvalidCommandId;
	}
	if (stage->bulk.lost > stage->nlevels + 1)
		stage->bulk.lost = 0;
}

/* The changes of a subtransaction become its parent's. */
static void
hand_up(LwStage *stage, int level)
{
	LwStageLevel *last = stage->nlevels == 0 ? NULL : &stage->levels[stage->nlevels - 1];

	if (last == NULL || last->level < level)
		return;
	if (level - 1 <= 1 || (stage->nlevels > 1 && last[-1].level == level - 1))
		stage->nlevels--;
	else
		last->level = level - 1;
	stage->bulk.lost = Min(stage->bulk.lost, stage->nlevels + 1);
}

static void
subtransaction_callback(SubXactEvent event, SubTransactionId self, SubTransactionId parent, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();
	dlist_iter	iter;

	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	dlist_foreach(iter, &lw_stages)
	{
		LwStage    *stage = dlist_container(LwStage, node, iter.cur);

		if (event == SUBXACT_EVENT_ABORT_SUB)
			cut_off(stage, level);
		else
			hand_up(stage, level);
	}
}

/* The changes of commands before `command`. */
static size_t
changes_before(const LwStage *stage, CommandId command)
{
	int			i;
	size_t		end = 0;

	if (command == InvalidCommandId)
		return stage->changes.size;
	for (i = 0; i < stage->nmarks && stage->marks[i].command < command; i++)
		end = stage->marks[i].end;
	return end;
}

/* Lays the changes from `begin` to `end` over a view. */
static LwView *
lay_over(LwStage *stage, LwView *base, size_t begin, size_t end)
{
	LwBytes		piece;
	LwDirectory pending = {-1, stage->path};
	LwDraft		draft;
	LwView	   *view = NULL;
	LwError		error;
	LwStatus	status;
	bool		there = false;

	piece.data = stage->changes.data + begin;
	piece.size = end - begin;
	lw_error_path(&error, NULL, stage->path);
	status = lw_draft_begin(&draft, base, stage->directory, &error);
	if (status == LW_OK)
	{
		if (stage->bulk.id != 0)
			status = lw_pending_open(stage->directory, false, &pending, &there, &error);
		if (status == LW_OK)
			status = lw_draft_apply(&draft, &piece, 1, false, false, pending, &error);
		if (status == LW_OK)
			status = lw_draft_view(&draft, &view, &error);
		if (there)
			close(pending.fd);
		lw_draft_free(&draft);
	}
	if (status != LW_OK)
		lw_report(ERROR, &error);
	return view;
}

/*
 * The view of the changes up to `end`.  What is laid over a layer goes into one with that unless
 * it is the smaller by far: so each change is laid about as often as the logarithm of their number says.
 */
static LwView *
view_until(LwStage *stage, LwView *base, size_t end)
{
	LwStageLayer *layers = stage->layers;
	size_t		begin;

	if (base != stage->view_base)
	{
		drop_layers(stage, 0);
		lw_view_retain(base);
		lw_view_release(stage->view_base);
		stage->view_base = base;
	}
	drop_layers(stage, Min(end, stage->least));
	stage->least = SIZE_MAX;
	for (;;)
	{
		int			n = stage->nlayers;
		size_t		under = n > 1 ? layers[n - 2].end : 0;

		begin = n > 0 ? layers[n - 1].end : 0;
		if (n == 0 || (n < LW_STAGE_LAYERS && begin - under >= 2 * (end - begin)))
			break;
		drop_layers(stage, under);
	}
	if (begin < end)
	{
		LwView	   *view = lay_over(stage, stage->nlayers > 0 ? layers[stage->nlayers - 1].view : base, begin, end);

		layers[stage->nlayers].end = end;
		layers[stage->nlayers++].view = view;
	}
	return stage->nlayers > 0 ? layers[stage->nlayers - 1].view : base;
}

LwView *
lw_stage_view(LwStage *stage, LwView *base, CommandId command)
{
	LwView	   *view;

	/* later commands add nothing to it */
	if (command != InvalidCommandId && stage->view_command == command && stage->view_base == base)
		return stage->view;
	if (command == InvalidCommandId || stage->bulk.command < command)
		lw_stage_end_bulk(stage);
	view = view_until(stage, base, changes_before(stage, command));
	lw_view_retain(view);
	lw_view_release(stage->view);
	stage->view = view;
	stage->view_command = command;
	return view;
}

void
lw_stage_init(void)
{
	stage_context = AllocSetContextCreate(TopMemoryContext, "lateweave changes", ALLOCSET_DEFAULT_SIZES);
	RegisterSubXactCallback(subtransaction_callback, NULL);
}
