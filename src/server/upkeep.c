/*-------------------------------------------------------------------------
 *
 * upkeep.c
 *	  What a store needs from time to time: a commit, or a compaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "server/candidates.h"
#include "server/error.h"
#include "server/upkeep.h"
#include "store/compact.h"
#include "store/publish.h"

int			lw_heartbeat = 60;
int			lw_compact_segments = 32;
double		lw_compact_deleted_fraction = 0.2;

int
lw_source_heartbeat(const LwSource *source)
{
	return source->limits.heartbeat >= 0 ? source->limits.heartbeat : lw_heartbeat;
}

LwStatus
lw_source_counts(const LwSource *source, LwView *view, LwSharedCounts *counts, LwError *error)
{
	bool		current = source->store != NULL && view == source->store->view;
	LwStatus	status;

	if (view->hidden == NULL && current && lw_shared_get_counts(source->store, counts))
		return LW_OK;
	status = lw_view_hidden(view, error);
	if (status != LW_OK)
		return status;
	counts->documents = view->documents;
	counts->tokens = view->tokens;
	counts->unnameable = view->unnameable;
	if (current)
		lw_shared_put_counts(source->store, counts);
	return LW_OK;
}

bool
lw_source_wants_compaction(const LwSource *source, const LwView *view, const LwSharedCounts *counts)
{
	int			segments = source->limits.compact_segments >= 0 ? source->limits.compact_segments : lw_compact_segments;
	double		fraction = source->limits.compact_deleted_fraction >= 0 ?
		source->limits.compact_deleted_fraction : lw_compact_deleted_fraction;
	uint64		rows = 0;
	uint64		present = counts->documents + counts->unnameable;
	size_t		i;

	for (i = 0; i < view->manifest.nsegments; i++)
		rows += view->manifest.segments[i].documents;
	if (view->manifest.nsegments > (size_t) segments)
		return lw_view_compactable(view);
	return rows > present && (double) (rows - present) > fraction * (double) rows;
}

/* When the heartbeat after this commit is due. */
static TimestampTz
next_heartbeat(const LwSource *source, const LwManifest *manifest)
{
	int			seconds = lw_source_heartbeat(source);
	double		past = lw_clock() - manifest->committed_at;

	if (seconds == 0)
		return DT_NOEND;
	/* of a clock that was ahead, or set back: at most one period from now */
	return GetCurrentTimestamp() + (int64) (Max(seconds - Max(past, 0), 0) * USECS_PER_SEC);
}

void
lw_upkeep(Oid relid, TimestampTz *next, bool *compact)
{
	LwSource   *source = lw_source_lookup(relid);
	LwSharedCounts counts;
	LwContent	content;
	LwError		error;
	uint64		token;

	error.path[0] = '\0';
	if (lw_source_follow(source, &content, &error) != LW_OK)
		lw_report(ERROR, &error);
	*next = next_heartbeat(source, &content.view->manifest);
	if (*next <= GetCurrentTimestamp() || lw_shared_pending(source->store, &token))
	{
		lw_maintain_publish(relid, *next <= GetCurrentTimestamp());
		if (lw_source_follow(source, &content, &error) != LW_OK)
			lw_report(ERROR, &error);
		*next = next_heartbeat(source, &content.view->manifest);
	}
	if (lw_source_counts(source, content.view, &counts, &error) != LW_OK)
		lw_report(ERROR, &error);
	*compact = lw_source_wants_compaction(source, content.view, &counts) || lw_candidates_wanted(content.view);
}

bool
lw_upkeep_compact(Oid relid, bool (*leave) (void), LwCompaction *compaction)
{
	LwSource   *source = lw_source_lookup(relid);
	LwSharedCounts counts;
	LwContent	content;
	LwError		error;

	error.path[0] = '\0';
	if (lw_source_follow(source, &content, &error) != LW_OK ||
		lw_source_counts(source, content.view, &counts, &error) != LW_OK)
		lw_report(ERROR, &error);
	if (lw_source_wants_compaction(source, content.view, &counts))
	{
		lw_maintain_compact(relid, leave, compaction);
		return true;
	}
	(void) lw_candidates_refresh(relid, lw_view_retain(content.view), leave);
	lw_view_release(content.view);
	return false;
}
