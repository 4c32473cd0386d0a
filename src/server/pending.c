/*-------------------------------------------------------------------------
 *
 * pending.c
 *	  Changes that are not in the manifest, as statements see them.
 *
 * Whether there are any is asked before the manifest is looked at: what was
 * published in between is in the manifest then, and what was pending is found
 * in the directory, or gone from there and hence in a newer manifest.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "utils/memutils.h"

#include "server/error.h"
#include "server/judge.h"
#include "server/pending.h"

#define MAX_ATTEMPTS 100

/* The last view of this session with changes laid over: they are looked at again and again until they are published. */
static LwView *last_view;
static uint64 last_base;		/* serial of the view under it */
static uint64 last_sum;			/* of the numbers of the changes */

/* Takes off a list what is on another. */
static void
take_off(LwIntents *intents, const LwIntents *others)
{
	size_t		n = 0;
	size_t		i;
	size_t		j;

	for (i = 0; i < intents->count; i++)
	{
		for (j = 0; j < others->count && others->intents[j].number != intents->intents[i].number; j++)
			;
		if (j == others->count)
			intents->intents[n++] = intents->intents[i];
	}
	intents->count = n;
}

/*
 * Reads what is in the directory of pending changes; *gone: some went meanwhile.  What a process
 * that died had published is in the manifest, and perhaps was overtaken there.
 */
static LwStatus
read_intents(LwDirectory store, LwIntents *intents, bool *gone, LwError *error)
{
	LwIntents	published;
	LwDirectory pending;
	LwStatus	status;
	bool		there;
	size_t		i;

	memset(intents, 0, sizeof(*intents));
	*gone = false;
	status = lw_pending_open(store, false, &pending, &there, error);
	if (status != LW_OK || !there)
		return status;
	status = lw_round_published(pending, &published, error);
	if (status == LW_OK)
	{
		status = lw_intents_list(pending, intents, error);
		take_off(intents, &published);
		lw_intents_free(&published);
	}
	for (i = 0; status == LW_OK && i < intents->count; i++)
	{
		status = lw_intent_read(pending, &intents->intents[i], error);
		if (status == LW_MALFORMED)
			status = LW_OK;		/* whoever writes is told; nothing is known of it */
		if (status != LW_MISSING)
			continue;
		*gone = true;
		status = LW_OK;
		break;
	}
	close(pending.fd);
	if (status != LW_OK)
		lw_intents_free(intents);
	return status;
}

/* Keeps those of the intents that have committed and belong to the view's store. */
static void
keep_committed(LwIntents *intents, const LwView *view)
{
	LwFate	   *fates = palloc(sizeof(LwFate) * (intents->count + 1));
	const char *message;
	size_t		n = 0;
	size_t		i;

	if (!lw_judge_all(intents, fates, &message))
	{
		lw_intents_free(intents);
		ereport(ERROR,
				(errcode(ERRCODE_IO_ERROR),
				 errmsg("could not tell which changes of \"%s\" have committed", view->directory),
				 errdetail_internal("%s", message)));
	}
	for (i = 0; i < intents->count; i++)
	{
		LwIntent   *intent = &intents->intents[i];

		if (fates[i] == LW_FATE_COMMITTED && intent->memory != NULL && intent->changes.size > 0 &&
			lw_string_equal(intent->store_id, view->manifest.store_id))
			intents->intents[n++] = *intent;
		else
			free(intent->memory);
	}
	intents->count = n;
	pfree(fates);
}

/* Lays intents over a view. */
static LwStatus
lay_over(LwDirectory store, LwView *base, const LwIntents *intents, LwView **view, LwError *error)
{
	LwBytes    *pieces = malloc(intents->count * sizeof(LwBytes));
	LwDirectory pending;
	LwDraft		draft;
	LwStatus	status;
	bool		there = false;
	size_t		i;

	if (pieces == NULL)
		return lw_fail_errno(error, ENOMEM, "read");
	for (i = 0; i < intents->count; i++)
		pieces[i] = intents->intents[i].changes;
	status = lw_pending_open(store, false, &pending, &there, error);
	if (status == LW_OK)
		status = lw_draft_begin(&draft, base, store, error);
	if (status == LW_OK)
	{
		status = lw_draft_apply(&draft, pieces, intents->count, true, false, pending, error);
		if (status == LW_OK)
			status = lw_draft_view(&draft, view, error);
		lw_draft_free(&draft);
	}
	if (there)
		close(pending.fd);
	free(pieces);
	return status;
}

/* The view with what is pending; *again: something moved meanwhile. */
static LwStatus
look(LwSource *source, LwView *base, uint64 token, LwView **view, bool *again, LwError *error)
{
	LwDirectory store = {-1, source->path};
	LwIntents	intents;
	LwStatus	status;
	uint64		sum = 0;
	size_t		i;

	*view = base;
	*again = false;
	store.fd = open(source->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store.fd < 0)
	{
		lw_error_path(error, NULL, source->path);
		return lw_fail_errno(error, errno, "open");
	}
	status = read_intents(store, &intents, again, error);
	close(store.fd);
	if (status != LW_OK || *again)
	{
		lw_intents_free(&intents);
		return status;
	}
	if (intents.count == 0)
	{
		lw_shared_clear(source->store, token);
		return LW_OK;
	}
	keep_committed(&intents, base);
	for (i = 0; i < intents.count; i++)
		sum = sum * UINT64CONST(0x9e3779b97f4a7c15) + intents.intents[i].number;
	if (intents.count > 0 && (last_view == NULL || last_base != base->serial || last_sum != sum))
	{
		LwView	   *made = NULL;

		store.fd = open(source->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (store.fd < 0)
			status = lw_fail_errno(error, errno, "open");
		else
			status = lay_over(store, base, &intents, &made, error);
		if (store.fd >= 0)
			close(store.fd);
		/* a segment of the load may have been published and removed */
		if (status == LW_MISSING)
		{
			*again = true;
			status = LW_OK;
		}
		if (made != NULL)
		{
			lw_view_release(last_view);
			last_view = made;
			last_base = base->serial;
			last_sum = sum;
		}
	}
	if (status == LW_OK && intents.count > 0 && !*again)
		*view = last_view;
	lw_intents_free(&intents);
	return status;
}

LwStatus
lw_pending_follow(LwSource *source, LwContent *content, LwError *error)
{
	LwStatus	status = LW_OK;
	int			attempt;

	if (source->kind != LW_SOURCE_STORE)
		return lw_source_follow(source, content, error);
	/* the first time it is not known which store it is */
	if (source->store == NULL)
		status = lw_source_follow(source, content, error);
	for (attempt = 0; status == LW_OK && attempt < MAX_ATTEMPTS; attempt++)
	{
		uint64		token;
		bool		pending = lw_shared_pending(source->store, &token);
		LwView	   *base;
		LwContent	now;
		bool		again;

		/* where nothing is shared, only a store that this server writes is looked through */
		if (pending && !source->writable && !lw_shared_available())
			pending = false;
		status = lw_source_follow(source, content, error);
		if (status != LW_OK || !pending)
			return status;
		base = content->view;
		status = look(source, base, token, &content->view, &again, error);
		if (status != LW_OK || again)
			continue;
		/* had something been published since, found or gone from the directory, the manifest would be another */
		status = lw_source_follow(source, &now, error);
		if (status == LW_OK && now.view == base)
			return LW_OK;
		content->view = now.view;
	}
	return status;
}

LwView *
lw_pending_current(LwStage *stage)
{
	LwSource	source = {0};
	LwContent	content;
	LwError		error;

	/* the store, whatever table names it */
	source.kind = LW_SOURCE_STORE;
	source.path = source.option = stage->path;
	source.store = stage->store;
	source.writable = true;
	error.path[0] = '\0';
	if (lw_pending_follow(&source, &content, &error) != LW_OK)
		lw_report(ERROR, &error);
	return lw_stage_view(stage, content.view, InvalidCommandId);
}
