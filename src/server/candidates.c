/*-------------------------------------------------------------------------
 *
 * candidates.c
 *	  The documents of a store that are worth scoring for a query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/time.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"
#include "server/candidates.h"
#include "server/error.h"
#include "server/section.h"
#include "store/candidates.h"

#define ALIGNMENT 64
#define LEAST_MEMORY ((size_t) 64 << 20)	/* of a training, in bytes */

int			lw_candidates_setting = 0;

/* Says what a training is at, whenever that is something else. */
static void
say_phase(void *arg, const char *phase, uint64_t done, uint64_t total)
{
	const char **last = arg;

	if (*last == phase)
		return;
	*last = phase;
	ereport(DEBUG1, (errmsg_internal("%s: " UINT64_FORMAT " tokens", phase, total)));
}

/* Memory for a table, kept from one query to the next: getting it afresh takes as long as filling it. */
static void *
table_memory(size_t size)
{
	static char *memory;
	static size_t room;

	if (size > room)
	{
		if (memory != NULL)
			pfree(memory);
		room = 0;
		memory = NULL;
		memory = MemoryContextAllocHuge(TopMemoryContext, size + ALIGNMENT);
		room = size;
	}
	return (void *) TYPEALIGN(ALIGNMENT, memory);
}

bool
lw_candidates_find(LwView *view, LwQuery *query, size_t n, LwCandidates *candidates)
{
	const LwTraining *training = lw_training_get(view);
	size_t		size = training == NULL ? 0 : lw_table_size(training->centroids.count, lw_query_tokens(query));
	LwCentroidTable table;
	LwBest		best;
	LwError		error;
	size_t		i;

	if (size == 0)
		return false;
	error.path[0] = '\0';
	if (lw_view_hidden(view, &error) != LW_OK)
		lw_report(ERROR, &error);
	lw_table_init(&table, table_memory(size), &training->centroids, query);
	best.room = Min((uint64) n, view->documents);
	best.hits = palloc_extended(mul_size(sizeof(LwHit), best.room + 1), MCXT_ALLOC_HUGE);
	candidates->coded = palloc_array(bool, view->manifest.nsegments + 1);
	lw_codes_rank(view, training, &table, &best, candidates->coded);
	if (training->file->map->faulted)
	{
		/* the table was made of zeros */
		pfree(best.hits);
		pfree(candidates->coded);
		return false;
	}
	lw_best_finish(&best);

	candidates->count = best.count;
	candidates->places = palloc_extended(mul_size(sizeof(LwPlace), best.count + 1), MCXT_ALLOC_HUGE);
	for (i = 0; i < best.count; i++)
		candidates->places[i] = (LwPlace) {best.hits[i].segment, best.hits[i].row};
	pfree(best.hits);
	candidates->uncoded = lw_codes_missing(view, training);
	return true;
}

void
lw_candidates_report(const LwView *view, uint64 scored)
{
	ereport(DEBUG1,
			(errmsg_internal("\"%s\": approximate, " UINT64_FORMAT " of " UINT64_FORMAT " documents were scored exactly",
							 view->directory, scored, view->documents)));
}

static int64
microseconds(void)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return (int64) now.tv_sec * 1000000 + now.tv_usec;
}

/* Raises what ended long work. */
static void
check(LwStatus status, const LwError *error)
{
	if (status == LW_CANCELLED)
		CHECK_FOR_INTERRUPTS();
	if (status != LW_OK)
		lw_report(ERROR, error);
}

void
lw_candidates_train(const LwView *view, uint32 centroids, LwTrainingResult *result)
{
	const char *phase = NULL;
	LwLongWork	work = {&lw_stop, say_phase, &phase};
	const LwTraining *training;
	LwTrained	trained;
	LwError		error;
	LwStatus	status;

	error.path[0] = '\0';
	check(lw_train(view, centroids, Max((size_t) maintenance_work_mem * 1024, LEAST_MEMORY), &work, &trained, &error), &error);
	result->centroids = trained.centroids.count;
	result->sampled = trained.sampled;
	result->segments = 0;
	status = lw_training_put(view, &trained, microseconds(), &error);
	lw_trained_free(&trained);
	check(status, &error);
	training = lw_training_get(view);
	if (training != NULL)
		check(lw_codes_make(view, training, &work, &result->segments, &error), &error);
}

void
lw_candidates_forget(const LwView *view)
{
	LwTrained	none = {0};
	LwError		error;

	check(lw_training_put(view, &none, 0, &error), &error);
}

uint64
lw_candidates_refresh(const LwView *view)
{
	const char *phase = NULL;
	LwLongWork	work = {&lw_stop, say_phase, &phase};
	const LwTraining *training = lw_training_get(view);
	uint64		made = 0;
	LwError		error;
	LwStatus	status;

	if (training == NULL)
		return 0;
	error.path[0] = '\0';
	status = lw_codes_make(view, training, &work, &made, &error);
	if (status != LW_OK && status != LW_CANCELLED)
		lw_report(WARNING, &error);
	return made;
}

bool
lw_candidates_status(const LwView *view, uint64 *uncoded, int64 *trained_at)
{
	const LwTraining *training = lw_training_get(view);

	*uncoded = lw_codes_missing(view, training);
	if (training == NULL)
		return false;
	*trained_at = training->trained_at;
	return true;
}
