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
#include "portability/instr_time.h"
#include "storage/procsignal.h"
#include "utils/memutils.h"

#include "compat.h"
#include "server/candidates.h"
#include "server/error.h"
#include "server/progress.h"
#include "server/section.h"
#include "server/stat.h"
#include "store/candidates.h"

#define ALIGNMENT 64
#define LEAST_MEMORY ((size_t) 64 << 20)	/* of a training, in bytes */

int			lw_candidates_setting = 0;

/* What long work is asked and tells. */
typedef struct Teller
{
	Oid			relid;
	bool		(*leave) (void);
	bool		begun;
	LwTrainingPhase phase;
} Teller;

static void
tell(void *arg, LwTrainingPhase phase, uint64_t done, uint64_t total)
{
	static const LwPhase phases[] = {
		[LW_TRAINING_SAMPLE] = LW_PHASE_TRAIN_SAMPLE,
		[LW_TRAINING_CELLS] = LW_PHASE_TRAIN_CELLS,
		[LW_TRAINING_CENTROIDS] = LW_PHASE_TRAIN_CENTROIDS,
		[LW_TRAINING_ASSIGN] = LW_PHASE_ASSIGN
	};
	Teller	   *teller = arg;

	if (!teller->begun)
		lw_progress_begin(teller->relid, phases[phase], total);
	else if (phase != teller->phase || done == 0)
		lw_progress_phase(phases[phase], total);
	teller->begun = true;
	teller->phase = phase;
	lw_progress_set(done);
}

/* As lw_stop; besides, DROP DATABASE, for one, waits until every process has answered. */
static bool
asked(void *arg)
{
	const Teller *teller = arg;

	if (ProcSignalBarrierPending)
		ProcessProcSignalBarrier();
	return lw_stop_asked(&lw_stop) || (teller->leave != NULL && teller->leave());
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

/* For qsort: as they lie in the files. */
static int
compare_places(const void *a, const void *b)
{
	const LwPlace *x = a;
	const LwPlace *y = b;

	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

bool
lw_candidates_find(LwView *view, LwQuery *query, size_t n, LwCandidates *candidates)
{
	const LwTraining *training = lw_training_get(view);
	size_t		size = training == NULL ? 0 : lw_table_size(training->centroids.count, lw_query_tokens(query));
	LwCentroidTable table;
	LwBest		best;
	instr_time	start;
	instr_time	time;
	LwError		error;
	size_t		i;

	if (size == 0)
		return false;
	INSTR_TIME_SET_CURRENT(start);
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
	qsort(candidates->places, candidates->count, sizeof(LwPlace), compare_places);
	pfree(best.hits);
	candidates->uncoded = lw_codes_missing(view, training);
	INSTR_TIME_SET_CURRENT(time);
	INSTR_TIME_SUBTRACT(time, start);
	lw_stat_scored->choosing += (uint64) (INSTR_TIME_GET_DOUBLE(time) * 1e9);
	return true;
}

void
lw_candidates_report(const LwView *view, uint64 scored)
{
	lw_stat_scored->candidates += scored;
	lw_stat_scored->approximate += scored < view->documents;
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
lw_candidates_train(Oid relid, const LwView *view, uint32 centroids, LwTrainingResult *result)
{
	Teller		teller = {.relid = relid};
	LwStop		stop = {asked, &teller};
	LwLongWork	work = {&stop, tell, &teller};
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
	lw_progress_end();
}

void
lw_candidates_forget(const LwView *view)
{
	LwTrained	none = {0};
	LwError		error;

	check(lw_training_put(view, &none, 0, &error), &error);
}

uint64
lw_candidates_refresh(Oid relid, const LwView *view, bool (*leave) (void))
{
	Teller		teller = {.relid = relid, .leave = leave};
	LwStop		stop = {asked, &teller};
	LwLongWork	work = {&stop, tell, &teller};
	const LwTraining *training = lw_training_get(view);
	uint64		made = 0;
	LwError		error;
	LwStatus	status;

	if (training == NULL)
		return 0;
	error.path[0] = '\0';
	status = lw_codes_make(view, training, &work, &made, &error);
	if (teller.begun)
		lw_progress_end();
	if (status != LW_OK && status != LW_CANCELLED)
		lw_report(WARNING, &error);
	return made;
}

uint64
lw_candidates_coded(const LwView *view)
{
	const LwTraining *training = lw_training_get(view);
	uint64		documents = 0;
	size_t		i;

	for (i = 0; training != NULL && i < view->manifest.nsegments; i++)
		if (lw_codes_open(view->segments[i], training))
			documents += view->segments[i]->documents;
	return documents;
}

bool
lw_candidates_wanted(const LwView *view)
{
	const LwTraining *training = lw_training_get(view);
	size_t		i;

	for (i = 0; training != NULL && i < view->manifest.nsegments; i++)
		if (lw_codes_wanted(view->segments[i]) && !lw_codes_open(view->segments[i], training))
			return true;
	return false;
}

LwStatus
lw_candidates_status(LwView *view, uint64 documents, uint64 *uncoded, int64 *trained_at, LwError *error)
{
	const LwTraining *training = lw_training_get(view);
	LwStatus	status = LW_OK;
	size_t		coded = 0;
	size_t		i;

	*trained_at = training == NULL ? 0 : training->trained_at;
	for (i = 0; training != NULL && i < view->manifest.nsegments; i++)
		coded += lw_codes_open(view->segments[i], training);
	/* which documents are hidden need not be known when all segments are alike */
	*uncoded = coded == 0 ? documents : 0;
	if (coded == 0 || coded == view->manifest.nsegments)
		return LW_OK;
	status = lw_view_hidden(view, error);
	if (status == LW_OK)
		*uncoded = lw_codes_missing(view, training);
	return status;
}
