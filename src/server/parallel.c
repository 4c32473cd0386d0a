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
	KEY_HANDED,					/* bool[nsegments]: lw_handed_choose's */
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

/* A process's way through the units, in order. */
typedef struct Units
{
	const LwView *view;
	const bool *handed;
	uint64		unit_rows;
	size_t		segment;		/* where it stands */
	uint64		first;			/* unit of that segment */
} Units;

struct LwParallelScan
{
	ParallelContext *context;
	const LwView *view;
	bool	   *handed;
	Shared	   *shared;
	char	   *best;			/* KEY_BEST */
	bool	   *done;
	int			participants;
	Units		units;			/* of lw_parallel_left */
	uint64		next_left;
};

extern PGDLLEXPORT void lw_parallel_main(dsm_segment *memory, shm_toc *toc);

static Units
units_begin(const LwView *view, const bool *handed, uint64 unit_rows)
{
	Units		units = {view, handed, unit_rows, 0, 0};

	return units;
}

/* How many units a segment has. */
static uint64
units_of(const Units *units, size_t segment)
{
	if (!units->handed[segment])
		return 0;
	return (units->view->segments[segment]->documents + units->unit_rows - 1) / units->unit_rows;
}

/* The documents of a unit, which is not before that of the last call; returns how many. */
static int
units_list(Units *units, uint64 unit, LwPlace places[LW_PARALLEL_UNIT])
{
	int			count = 0;
	uint64		end;
	LwPlace		place;

	while (unit - units->first >= units_of(units, units->segment))
		units->first += units_of(units, units->segment++);
	place.segment = units->segment;
	place.row = (unit - units->first) * units->unit_rows;
	end = Min(place.row + units->unit_rows, units->view->segments[place.segment]->documents);
	for (; place.row < end; place.row++)
		if (!lw_bit(units->view->hidden[place.segment], place.row))
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
take_part(Units units, LwQuery *query, Shared *shared, LwTop *best, bool *done)
{
	LwPlace		places[LW_PARALLEL_UNIT];
	float4		scores[LW_PARALLEL_UNIT];
	uint64		unit;

	while ((unit = pg_atomic_fetch_add_u64(&shared->next, 1)) < shared->units)
	{
		int			count = units_list(&units, unit, places);

		if (!lw_top_fits(best, count))
			return;
		if (!lw_try_score_places(units.view, query, places, count,
								 lw_rank_value(pg_atomic_read_u64(&shared->floor)), scores))
		{
			pg_atomic_write_u64(&shared->next, shared->units);
			return;
		}
		lw_top_offer(best, places, scores, count);
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
	bool	   *done = shm_toc_lookup(toc, KEY_DONE, false);
	LwQuery    *query;
	LwView	   *view;
	LwError		error;

	if (lw_handed_open(shm_toc_lookup(toc, KEY_VIEW, false), &view, &error) != LW_OK)
		return;
	lw_stat_scored = &counts;
	query = lw_prepare(shm_toc_lookup(toc, KEY_QUERY, false), shared->tokens, shared->dimension);
	take_part(units_begin(view, shm_toc_lookup(toc, KEY_HANDED, false), shared->unit_rows), query, shared,
			  (LwTop *) (best + shared->best_size * ParallelWorkerNumber), done);
	all_counts[ParallelWorkerNumber] = counts;
	lw_view_release(view);
}

/* How many workers are worth their start, as the planner finds for a scan of a table; also sets which segments they can have. */
static int
choose_workers(const LwView *view, uint64 k, Cost cost, bool *handed)
{
	uint64		threshold = (uint64) Max(min_parallel_table_scan_size, 1) * BLCKSZ;
	uint64		bytes = 0;
	int			workers = 0;
	size_t		i;

	if (max_parallel_workers_per_gather == 0 || max_parallel_workers == 0 || cost <= parallel_setup_cost ||
		k > (uint64) work_mem * 1024 / sizeof(LwScored) ||
		IsInParallelMode() || !IsUnderPostmaster || !ActiveSnapshotSet())
		return 0;
	lw_handed_choose(view, handed);
	for (i = 0; i < view->manifest.nsegments; i++)
		if (handed[i])
			bytes += view->segments[i]->rows_map->size;
	for (; workers < max_parallel_workers_per_gather && bytes >= threshold; threshold *= 3)
		workers++;
	/* what is spared is to be more than what a start takes */
	return cost * workers / (workers + 1) > parallel_setup_cost ? workers : 0;
}

/* How many rows make a unit, and how many units there are. */
static void
divide(const LwParallelScan *scan, Shared *shared)
{
	uint64		rows = 0;
	Units		units;
	size_t		i;

	for (i = 0; i < scan->view->manifest.nsegments; i++)
		if (scan->handed[i])
			rows += scan->view->segments[i]->documents;
	shared->unit_rows = Min(LW_PARALLEL_UNIT, rows / scan->participants / UNITS_EACH + 1);
	units = units_begin(scan->view, scan->handed, shared->unit_rows);
	shared->units = 0;
	for (i = 0; i < scan->view->manifest.nsegments; i++)
		shared->units += units_of(&units, i);
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
set_up(LwParallelScan *scan, const Shared *setup, const float4 *values)
{
	ParallelContext *context = scan->context;
	Size		values_size = mul_size(mul_size(sizeof(float4), setup->tokens), setup->dimension);
	Size		handed_size = mul_size(sizeof(bool), scan->view->manifest.nsegments);
	Size		view_size = lw_handed_size(scan->view, scan->handed);
	Size		best_size = mul_size(setup->best_size, scan->participants);
	Size		counts_size = mul_size(sizeof(LwStatCounts), context->nworkers);
	int			i;

	estimate(context, sizeof(Shared));
	estimate(context, handed_size);
	estimate(context, view_size);
	estimate(context, values_size);
	estimate(context, best_size);
	estimate(context, setup->units);
	estimate(context, counts_size);
	InitializeParallelDSM(context);
	if (context->seg == NULL)
		return false;
	scan->shared = share(context, KEY_SCAN, sizeof(Shared));
	*scan->shared = *setup;
	pg_atomic_init_u64(&scan->shared->next, 0);
	pg_atomic_init_u64(&scan->shared->floor, lw_rank_ascending(-get_float4_infinity(), 0));
	memcpy(share(context, KEY_HANDED, handed_size), scan->handed, handed_size);
	lw_handed_write(scan->view, scan->handed, share(context, KEY_VIEW, view_size));
	memcpy(share(context, KEY_QUERY, values_size), values, values_size);
	scan->best = share(context, KEY_BEST, best_size);
	for (i = 0; i < scan->participants; i++)
		lw_top_init((LwTop *) (scan->best + setup->best_size * i), setup->k);
	scan->done = share(context, KEY_DONE, setup->units);
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
	bool	   *handed = palloc_array(bool, view->manifest.nsegments);
	int			workers = choose_workers(view, k, cost, handed);
	Shared		setup = {0};
	LwParallelScan *scan;

	if (workers == 0)
		return NULL;
	scan = palloc0(sizeof(LwParallelScan));
	scan->view = view;
	scan->handed = handed;
	scan->participants = workers + 1;
	setup.k = k;
	setup.best_size = MAXALIGN(lw_top_size(k));
	setup.tokens = (int) lw_query_tokens(query);
	setup.dimension = (int) lw_query_dimension(query);
	divide(scan, &setup);
	scan->units = units_begin(view, handed, setup.unit_rows);

	EnterParallelMode();
	scan->context = CreateParallelContext("lateweave", "lw_parallel_main", workers);
	if (set_up(scan, &setup, values))
		LaunchParallelWorkers(scan->context);
	if (scan->context->nworkers_launched == 0)
	{
		lw_parallel_end(scan);
		return NULL;
	}
	if (parallel_leader_participation)
		take_part(scan->units, query, scan->shared, (LwTop *) (scan->best + setup.best_size * workers), scan->done);
	WaitForParallelWorkersToFinish(scan->context);
	count_workers(scan);
	return scan;
}

const bool *
lw_parallel_segments(const LwParallelScan *scan)
{
	return scan->handed;
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

	for (; count == 0 && scan->next_left < scan->shared->units; scan->next_left++)
		if (!scan->done[scan->next_left])
			count = units_list(&scan->units, scan->next_left, places);
	return count;
}

void
lw_parallel_end(LwParallelScan *scan)
{
	DestroyParallelContext(scan->context);
	ExitParallelMode();
	pfree(scan);
}
