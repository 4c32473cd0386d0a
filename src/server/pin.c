/*-------------------------------------------------------------------------
 *
 * pin.c
 *	  What a statement sees of a source: one content, until it ends.
 *
 * Pins are few, and the one that was used last nearly always serves again, so
 * they are a list with the last used in front.  A function that
 * runs many statements in one portal, each under a snapshot of its own, would
 * collect pins without end: past MAX_PINS the one not used for the longest
 * time goes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "tcop/pquery.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "server/error.h"
#include "server/pending.h"
#include "server/pin.h"
#include "server/stage.h"
#include "server/stat.h"

#define MAX_PINS 1024

typedef struct Pin
{
	dlist_node	node;
	Oid			relid;
	ResourceOwner owner;
	uint64		generation;		/* of the definition that was checked */
	Oid			select_checked;	/* role whose SELECT was checked, or InvalidOid */
	uint64		definition;		/* of the table, when the content was pinned */
	uint64		store;			/* serial of the store whose view it is; 0 for a section file */
	LwContent	content;

	/* the snapshot; all zero when the whole transaction shares the pin */
	TransactionId xmin;
	TransactionId xmax;
	uint32		xcnt;
	int32		subxcnt;		/* a standby lists running transactions here */
	TransactionId *xip;			/* [xcnt + subxcnt], in the same allocation */
} Pin;

static dlist_head pins = DLIST_STATIC_INIT(pins);
static int	npins;
static MemoryContext pin_context;

static void
drop_pin(Pin *pin)
{
	dlist_delete(&pin->node);
	npins--;
	lw_content_release(pin->content);
	pfree(pin);
}

/* Drops the pins of a resource owner that is being released. */
static void
release_callback(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *arg)
{
	dlist_mutable_iter iter;

	if (npins == 0 || phase != RESOURCE_RELEASE_AFTER_LOCKS)
		return;
	dlist_foreach_modify(iter, &pins)
	{
		Pin		   *pin = dlist_container(Pin, node, iter.cur);

		if (pin->owner == CurrentResourceOwner)
			drop_pin(pin);
	}
}

void
lw_pin_init(void)
{
	pin_context = AllocSetContextCreate(TopMemoryContext, "lateweave pins", ALLOCSET_SMALL_SIZES);
	RegisterResourceReleaseCallback(release_callback, NULL);
}

/* What bounds the life of a pin that is made now, and under which snapshot (NULL: whatever it is). */
static ResourceOwner
current_owner(Snapshot *snapshot)
{
	*snapshot = NULL;
	if (IsolationUsesXactSnapshot())
		return TopTransactionResourceOwner;
	if (ActiveSnapshotSet())
		*snapshot = GetActiveSnapshot();
	if (ActivePortal != NULL && ActivePortal->resowner != NULL)
		return ActivePortal->resowner;
	return TopTransactionResourceOwner;
}

/* Whether two lists of running transactions are equal; an empty one may be NULL. */
static bool
same_transactions(const TransactionId *a, const TransactionId *b, Size count)
{
	return count == 0 || memcmp(a, b, sizeof(TransactionId) * count) == 0;
}

static bool
same_snapshot(const Pin *pin, Snapshot snapshot)
{
	if (snapshot == NULL)
		return pin->xmax == InvalidTransactionId;
	return pin->xmin == snapshot->xmin && pin->xmax == snapshot->xmax &&
		pin->xcnt == snapshot->xcnt && pin->subxcnt == snapshot->subxcnt &&
		same_transactions(pin->xip, snapshot->xip, pin->xcnt) &&
		same_transactions(pin->xip + pin->xcnt, snapshot->subxip, pin->subxcnt);
}

/* The pin of a table under this owner and snapshot, moved to the front, or NULL. */
static Pin *
find_pin(Oid relid, ResourceOwner owner, Snapshot snapshot)
{
	dlist_iter	iter;

	dlist_foreach(iter, &pins)
	{
		Pin		   *pin = dlist_container(Pin, node, iter.cur);

		if (pin->relid == relid && pin->owner == owner && same_snapshot(pin, snapshot))
		{
			dlist_move_head(&pins, &pin->node);
			return pin;
		}
	}
	return NULL;
}

/* A view that another table of the same store has pinned under this owner and snapshot, or NULL. */
static LwView *
find_view(const LwStore *store, ResourceOwner owner, Snapshot snapshot)
{
	dlist_iter	iter;

	dlist_foreach(iter, &pins)
	{
		Pin		   *pin = dlist_container(Pin, node, iter.cur);

		if (pin->store == store->serial && pin->owner == owner && same_snapshot(pin, snapshot))
			return pin->content.view;
	}
	return NULL;
}

/* A pin without content yet. */
static Pin *
make_pin(Oid relid, ResourceOwner owner, Snapshot snapshot)
{
	Size		running = snapshot == NULL ? 0 : (Size) snapshot->xcnt + snapshot->subxcnt;
	Pin		   *pin;

	if (npins >= MAX_PINS)
		drop_pin(dlist_container(Pin, node, dlist_tail_node(&pins)));
	pin = MemoryContextAllocZero(pin_context, sizeof(Pin) + sizeof(TransactionId) * running);
	pin->relid = relid;
	pin->owner = owner;
	pin->xip = (TransactionId *) (pin + 1);
	if (snapshot != NULL)
	{
		pin->xmin = snapshot->xmin;
		pin->xmax = snapshot->xmax;
		pin->xcnt = snapshot->xcnt;
		pin->subxcnt = snapshot->subxcnt;
		if (pin->xcnt > 0)
			memcpy(pin->xip, snapshot->xip, sizeof(TransactionId) * snapshot->xcnt);
		if (pin->subxcnt > 0)
			memcpy(pin->xip + pin->xcnt, snapshot->subxip, sizeof(TransactionId) * snapshot->subxcnt);
	}
	dlist_push_head(&pins, &pin->node);
	npins++;
	return pin;
}

/* Has the pin hold this content: its first, or another when the table was altered within the statement. */
static void
set_content(Pin *pin, const LwSource *source, LwContent content)
{
	LwContent	before = pin->content;

	pin->content = lw_content_retain(content);
	lw_content_release(before);
	pin->definition = source->definition;
	pin->store = source->kind == LW_SOURCE_STORE ? source->store->serial : 0;
}

/*
 * Lays what this transaction has changed itself, by earlier commands, over what
 * it has pinned.  The stage keeps that view until it makes another: who needs it longer retains it.
 */
static LwContent
with_own_changes(Oid relid, LwContent content)
{
	LwStage    *stage;
	LwSource   *source;

	if (dlist_is_empty(&lw_stages) || content.view == NULL)
		return content;
	source = lw_source_lookup(relid);
	stage = source->store == NULL ? NULL : lw_stage_find(source->store);
	if (stage != NULL)
		content.view = lw_stage_view(stage, content.view,
									 ActiveSnapshotSet() ? GetActiveSnapshot()->curcid : InvalidCommandId);
	return content;
}

/*
 * Finds or makes the pin.  `role` is whose SELECT is to be checked, or
 * InvalidOid.  Raises for what has to do with the catalog; gives failures of
 * the files back.
 */
static LwStatus
pin_source(Oid relid, Oid role, LwContent *content, LwError *error)
{
	Snapshot	snapshot;
	ResourceOwner owner = current_owner(&snapshot);
	Pin		   *pin = find_pin(relid, owner, snapshot);
	LwSource   *source;
	LwStatus	status;
	uint64		generation;

	/* As SQL does for each statement: GRANT and REVOKE take no lock on the table. */
	if (pin == NULL || snapshot == NULL)
		AcceptInvalidationMessages();
	generation = lw_source_generation;

	if (pin != NULL && pin->generation == generation &&
		(!OidIsValid(role) || pin->select_checked == role))
	{
		*content = with_own_changes(relid, pin->content);
		return LW_OK;
	}

	if (OidIsValid(role))
		lw_source_check_select(relid);
	source = lw_source_lookup(relid);
	if (pin == NULL || pin->definition != source->definition)
	{
		LwContent	current;

		status = lw_pending_follow(source, &current, error);
		if (status != LW_OK)
			return status;
		/* first the pin, which may take the place of the one that is to be shared with */
		if (pin == NULL)
			pin = make_pin(relid, owner, snapshot);
		if (source->kind == LW_SOURCE_STORE)
		{
			LwView	   *shared = find_view(source->store, owner, snapshot);

			if (shared != NULL && (!source->has_min_commit || shared->manifest.commit >= source->min_commit))
				current.view = shared;
		}
		set_content(pin, source, current);
	}
	pin->generation = generation;
	if (OidIsValid(role))
		pin->select_checked = role;
	*content = with_own_changes(relid, pin->content);
	return LW_OK;
}

/* Raises why a source cannot be read, and notes it. */
static void
report(Oid relid, const LwError *error)
{
	(void) lw_stat_of(relid);
	(void) lw_stat_error(relid, lw_error_message(error));
	lw_report(ERROR, error);
}

LwContent
lw_pin(Oid relid)
{
	LwError		error;
	LwContent	content;

	error.path[0] = '\0';
	if (pin_source(relid, GetUserId(), &content, &error) != LW_OK)
		report(relid, &error);
	return content;
}

LwView *
lw_pin_store(Oid relid)
{
	LwContent	content = lw_pin(relid);

	if (content.view == NULL)
		lw_source_wrong_kind(relid, LW_SOURCE_STORE);
	return content.view;
}

LwSection *
lw_pin_section(Oid relid)
{
	LwContent	content = lw_pin(relid);

	if (content.section == NULL)
		lw_source_wrong_kind(relid, LW_SOURCE_SECTION);
	return content.section;
}

LwContent
lw_pin_checked(Oid relid)
{
	LwError		error;
	LwContent	content;

	error.path[0] = '\0';
	if (pin_source(relid, InvalidOid, &content, &error) != LW_OK)
		report(relid, &error);
	return content;
}

LwStatus
lw_pin_try(Oid relid, LwContent *content, LwError *error)
{
	return pin_source(relid, InvalidOid, content, error);
}
