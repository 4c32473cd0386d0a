/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  A scan of all of a view's documents, shared with parallel workers.
 *
 * The documents are handed out in units, in file order.  Each participant keeps
 * its best k; the largest of their floors is everybody's.
 *
 * A participant that meets a problem leaves its unit undone and has no more handed
 * out.  As units are taken in order, every unit before the first undone one
 * has been scored then, and scoring that one again gives the problem that a
 * serial scan meets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "port/atomics.h"
#include "utils/float.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "section/rank.h"
#include "server/parallel.h"
#include "server/prepared.h"
#include "server/scoring.h"
#include "server/stat.h"

/* Units for each participant, so that all end at about the same time. */
#define UNITS_EACH 32

/* What is in the shared memory. */
enum
{
	KEY_SCAN = 1,				/* Shared */
	KEY_VIEW,					/* lw_handed_write's */
	KEY_QUERY,					/* float4[tokens][dimension] */
	KEY_BEST,					/* LwTop of each participant, the leader's last */
	KEY_DONE,					/* bool[units] */
	KEY_COUNTS					/* LwStatCounts of each worker */
};

typedef struct Shared
{
	uint64		k;
	Size		best_size;		/* bytes from one LwTop to the next */
	uint64		unit_rows;
	uint64		units;
	int			tokens;			/* of the query */
	int			dimension;
	pg_atomic_uint64 next;		/* the unit that is handed out next */
	pg_atomic_uint64 floor;		/* as lw_rank_ascending has it */
} Shared;

/* Where a process stands that goes through the units in order. */
typedef struct Walk
{
	size_t		segment;
	uint64		first;			/* its first unit */
} Walk;

struct LwParallelScan
{
	ParallelContext *context;
	const LwView *view;
	Shared	   *shared;
	char	   *best;			/* KEY_BEST */
	bool	   *done;
	int			participants;
	Walk		walk;			/* of lw_parallel_left */
	uint64		unit;
};

extern PGDLLEXPORT void lw_parallel_main(dsm_segment *memory, shm_toc *toc);

static uint64
units_of(const LwSegment *segment, uint64 unit_rows)
{
	return lw_segment_has_files(segment) ? (segment->documents + unit_rows - 1) / unit_rows : 0;
}

/* The documents of a unit, which is not before that of the last call; returns how many. */
static int
list_unit(const LwView *view, const Shared *shared, uint64 unit, Walk *walk, LwPlace *places)
{
	const LwSegment *segment = view->segments[walk->segment];
	int			count = 0;
	uint64		end;
	LwPlace		place;

	while (unit - walk->first >= units_of(segment, shared->unit_rows))
	{
		walk->first += units_of(segment, shared->unit_rows);
		segment = view->segments[++walk->segment];
	}
	place.segment = walk->segment;
	place.row = (unit - walk->first) * shared->unit_rows;
	end = Min(place.row + shared->unit_rows, segment->documents);
	for (; place.row < end; place.row++)
		if (!lw_bit(view->hidden[place.segment], place.row))
			places[count++] = place;
	return count;
}

/* Raises everybody's floor to one's own. */
static void
raise_floor(Shared *shared, float4 floor)
{
	uint64		mine = lw_rank_ascending(floor, 0);
	uint64		now = pg_atomic_read_u64(&shared->floor);

	while (now < mine && !pg_atomic_compare_exchange_u64(&shared->floor, &now, mine))
		;
}

/* Scores one unit after the other as long as there are any. */
static void
take_part(const LwView *view, LwQuery *query, Shared *shared, LwTop *best, bool *done)
{
	LwPlace		places[LW_PARALLEL_UNIT];
	float4		scores[LW_PARALLEL_UNIT];
	Walk		walk = {0, 0};
	uint64		unit;

	while ((unit = pg_atomic_fetch_add_u64(&shared->next, 1)) < shared->units)
	{
		int			count = list_unit(view, shared, unit, &walk, places);

		if (!lw_try_score_places(view, query, places, count,
								 lw_rank_value(pg_atomic_read_u64(&shared->floor)), scores))
		{
			pg_atomic_write_u64(&shared->next, shared->units);
			return;
		}
		if (!lw_top_offer(best, places, scores, count))
			return;
		raise_floor(shared, lw_top_floor(best));
		done[unit] = true;
	}
}

/* What a worker does. */
void
lw_parallel_main(dsm_segment *memory, shm_toc *toc)
{
	static LwStatCounts counts;
	Shared	   *shared = shm_toc_lookup(toc, KEY_SCAN, false);
	char	   *best = shm_toc_lookup(toc, KEY_BEST, false);
	LwStatCounts *all_counts = shm_toc_lookup(toc, KEY_COUNTS, false);
	LwView	   *view;
	LwError		error;

	if (lw_handed_open(shm_toc_lookup(toc, KEY_VIEW, false), &view, &error) != LW_OK)
		return;
	lw_stat_scored = &counts;
	take_part(view, lw_prepare(shm_toc_lookup(toc, KEY_QUERY, false), shared->tokens, shared->dimension), shared,
			  (LwTop *) (best + shared->best_size * ParallelWorkerNumber), shm_toc_lookup(toc, KEY_DONE, false));
	all_counts[ParallelWorkerNumber] = counts;
	lw_view_release(view);
}

/* How many workers are worth their start, as the planner finds for a scan of a table. */
static int
choose_workers(const LwView *view, uint64 k, Cost cost)
{
	uint64		threshold = (uint64) Max(min_parallel_table_scan_size, 1) * BLCKSZ;
	uint64		bytes = 0;
	int			workers = 0;
	size_t		i;

	if (max_parallel_workers == 0 || IsInParallelMode() || !IsUnderPostmaster || !ActiveSnapshotSet())
		return 0;
	if (k > (uint64) work_mem * 1024 / sizeof(LwScored))
		return 0;
	for (i = 0; i < view->manifest.nsegments; i++)
		if (lw_segment_has_files(view->segments[i]))
			bytes += view->segments[i]->rows_map->size;
	for (; workers < max_parallel_workers_per_gather && bytes >= threshold; threshold *= 3)
		workers++;
	return cost * workers / (workers + 1) > parallel_setup_cost ? workers : 0;
}

/* How many rows make a unit, and how many units there are. */
static void
divide(const LwView *view, int participants, Shared *shared)
{
	uint64		rows = 0;
	size_t		i;

	for (i = 0; i < view->manifest.nsegments; i++)
		if (lw_segment_has_files(view->segments[i]))
			rows += view->segments[i]->documents;
	shared->unit_rows = Min(LW_PARALLEL_UNIT, rows / participants / UNITS_EACH + 1);
	shared->units = 0;
	for (i = 0; i < view->manifest.nsegments; i++)
		shared->units += units_of(view->segments[i], shared->unit_rows);
}

static void
estimate(ParallelContext *context, Size size)
{
	shm_toc_estimate_chunk(&context->estimator, size);
	shm_toc_estimate_keys(&context->estimator, 1);
}

/* Memory that is shared from now on; zeros. */
static void *
share(ParallelContext *context, uint64 key, Size size)
{
	void	   *memory = memset(shm_toc_allocate(context->toc, size), 0, size);

	shm_toc_insert(context->toc, key, memory);
	return memory;
}

/* Puts all that workers need into shared memory; false when there is none. */
static bool
set_up(LwParallelScan *scan, const Shared *template, const float4 *values)
{
	ParallelContext *context = scan->context;
	Size		values_size = mul_size(mul_size(sizeof(float4), template->tokens), template->dimension);
	Size		view_size = lw_handed_size(scan->view);
	Size		best_size = mul_size(template->best_size, scan->participants);
	Size		counts_size = mul_size(sizeof(LwStatCounts), context->nworkers);
	int			i;

	estimate(context, sizeof(Shared));
	estimate(context, view_size);
	estimate(context, values_size);
	estimate(context, best_size);
	estimate(context, template->units);
	estimate(context, counts_size);
	InitializeParallelDSM(context);
	if (context->seg == NULL)
		return false;
	scan->shared = share(context, KEY_SCAN, sizeof(Shared));
	*scan->shared = *template;
	pg_atomic_init_u64(&scan->shared->next, 0);
	pg_atomic_init_u64(&scan->shared->floor, lw_rank_ascending(-get_float4_infinity(), 0));
	lw_handed_write(scan->view, share(context, KEY_VIEW, view_size));
	memcpy(share(context, KEY_QUERY, values_size), values, values_size);
	scan->best = share(context, KEY_BEST, best_size);
	for (i = 0; i < scan->participants; i++)
		lw_top_init((LwTop *) (scan->best + template->best_size * i), template->k);
	scan->done = share(context, KEY_DONE, template->units);
	share(context, KEY_COUNTS, counts_size);
	return true;
}

/* Counts what workers have scored as one's own, and says that there were some. */
static void
count_workers(const LwParallelScan *scan)
{
	const LwStatCounts *counts = shm_toc_lookup(scan->context->toc, KEY_COUNTS, false);
	uint64		documents = 0;
	int			i;

	for (i = 0; i < scan->context->nworkers; i++)
	{
		lw_count_scored(scan->view, &counts[i]);
		documents += counts[i].documents;
	}
	ereport(DEBUG1,
			(errmsg_internal("\"%s\": " UINT64_FORMAT " documents scored by parallel workers, of which %d were started",
							 scan->view->directory, documents, scan->context->nworkers_launched)));
}

LwParallelScan *
lw_parallel_scan(const LwView *view, LwQuery *query, const float4 *values, uint64 k, Cost cost)
{
	int			workers = choose_workers(view, k, cost);
	Shared		template = {0};
	LwParallelScan *scan;

	if (workers == 0)
		return NULL;
	scan = palloc0(sizeof(LwParallelScan));
	scan->view = view;
	scan->participants = workers + 1;
	template.k = k;
	template.best_size = MAXALIGN(lw_top_size(k));
	template.tokens = (int) lw_query_tokens(query);
	template.dimension = (int) lw_query_dimension(query);
	divide(view, scan->participants, &template);

	EnterParallelMode();
	scan->context = CreateParallelContext("lateweave", "lw_parallel_main", workers);
	if (set_up(scan, &template, values))
		LaunchParallelWorkers(scan->context);
	if (scan->context->nworkers_launched == 0)
	{
		lw_parallel_end(scan);
		return NULL;
	}
	if (parallel_leader_participation)
		take_part(view, query, scan->shared, (LwTop *) (scan->best + template.best_size * workers), scan->done);
	WaitForParallelWorkersToFinish(scan->context);
	count_workers(scan);
	return scan;
}

const LwTop *
lw_parallel_best(const LwParallelScan *scan, int i)
{
	return i < scan->participants ? (LwTop *) (scan->best + scan->shared->best_size * i) : NULL;
}

int
lw_parallel_left(LwParallelScan *scan, LwPlace places[LW_PARALLEL_UNIT])
{
	int			count = 0;

	for (; count == 0 && scan->unit < scan->shared->units; scan->unit++)
		if (!scan->done[scan->unit])
			count = list_unit(scan->view, scan->shared, scan->unit, &scan->walk, places);
	return count;
}

void
lw_parallel_end(LwParallelScan *scan)
{
	DestroyParallelContext(scan->context);
	ExitParallelMode();
	pfree(scan);
}
