/*-------------------------------------------------------------------------
 *
 * search.c
 *	  lateweave_search: the whole source, exhaustive and exact, or the most
 *	  promising documents only.
 *
 * Documents are scored in file order, in blocks; a heap keeps the best k, so
 * memory is that of k results and one block, and spares the kernels documents
 * that cannot be among them.  With candidates the same is done for these, and for
 * all documents of which it is not known how promising they are.  The rows of a
 * section file are searched by a kernel of their own, always all of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "compat.h"
#include "server/candidates.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/parallel.h"
#include "server/scoring.h"
#include "server/stat.h"
#include "sql/chunk.h"
#include "sql/scorer.h"
#include "sql/support.h"

PG_FUNCTION_INFO_V1(lateweave_search);

#define BLOCK 256

/* What the heap's comparison needs. */
typedef struct Search
{
	LwView	   *view;
	LwQuery    *query;
	binaryheap *heap;			/* of LwRanked *, the worst of the best on top */
	uint64		k;
} Search;

/* Order of UTF-8 bytes. */
static int
compare_ids(const LwView *view, LwPlace a, LwPlace b)
{
	size_t		a_size;
	size_t		b_size;
	const char *a_id = lw_ids_get(&view->segments[a.segment]->ids, a.row, &a_size);
	const char *b_id = lw_ids_get(&view->segments[b.segment]->ids, b.row, &b_size);
	int			order = memcmp(a_id, b_id, Min(a_size, b_size));

	return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

/* Negative when a ranks before b: score descending, ties by id. */
static int
compare(const LwView *view, const LwRanked *a, const LwRanked *b)
{
	int			order = lw_compare_scores(a->score, b->score);

	return order != 0 ? order : compare_ids(view, a->place, b->place);
}

static int
heap_compare(Datum a, Datum b, void *view)
{
	return compare(view, (LwRanked *) DatumGetPointer(a), (LwRanked *) DatumGetPointer(b));
}

/* Offers one scored document to the best k. */
static void
offer(Search *search, LwPlace place, float4 score)
{
	LwRanked	candidate;
	LwRanked   *worst;

	candidate.score = score;
	candidate.position = 0;
	candidate.place = place;
	if ((uint64) search->heap->bh_size < search->k)
	{
		worst = palloc(sizeof(LwRanked));
		*worst = candidate;
		binaryheap_add(search->heap, PointerGetDatum(worst));
		return;
	}
	worst = (LwRanked *) DatumGetPointer(binaryheap_first(search->heap));
	if (compare(search->view, &candidate, worst) >= 0)
		return;
	*worst = candidate;
	binaryheap_replace_first(search->heap, PointerGetDatum(worst));
}

static void
flush(Search *search, const LwPlace *places, int count)
{
	float4		scores[BLOCK];
	float4		floor = -get_float4_infinity();
	int			i;

	if ((uint64) search->heap->bh_size == search->k)
		floor = ((LwRanked *) DatumGetPointer(binaryheap_first(search->heap)))->score;
	lw_score_places(search->view, search->query, places, count, floor, scores);
	for (i = 0; i < count; i++)
		offer(search, places[i], scores[i]);
}

/* Scores all documents but those of some segments; skip is NULL for none. */
static void
scan(Search *search, const bool *skip)
{
	LwView	   *view = search->view;
	LwPlace		places[BLOCK];
	int			count = 0;
	LwPlace		place;

	for (place.segment = 0; place.segment < view->manifest.nsegments; place.segment++)
	{
		const uint8_t *hidden = view->hidden[place.segment];

		if (skip != NULL && skip[place.segment])
			continue;
		for (place.row = 0; place.row < view->segments[place.segment]->documents; place.row++)
		{
			if (lw_bit(hidden, place.row))
				continue;
			places[count++] = place;
			if (count == BLOCK)
			{
				flush(search, places, count);
				count = 0;
			}
		}
	}
	flush(search, places, count);
}

/* What a scan of all documents costs. */
static Cost
cost_of_all(const LwView *view, const LwMultivector *query)
{
	LwCall		call = {0};

	call.query_tokens = query->tokens;
	call.document_tokens = (double) view->tokens / view->documents;
	call.dimension = query->dimension;
	call.documents = view->documents;
	return call.documents * lw_score_cost(&call);
}

/* Scores all documents, with the help of parallel workers; false when they are no help. */
static bool
scan_in_parallel(Search *search, const LwMultivector *query)
{
	LwView	   *view = search->view;
	LwParallelScan *parallel = lw_parallel_scan(view, search->query, query->values, search->k,
												cost_of_all(view, query));
	LwPlace		places[LW_PARALLEL_UNIT];
	const LwTop *best;
	int			count;
	int			i;
	uint64		n;

	if (parallel == NULL)
		return false;
	for (i = 0; (best = lw_parallel_best(parallel, i)) != NULL; i++)
		for (n = 0; n < best->count; n++)
			offer(search, (LwPlace) {best->found[n].segment, best->found[n].row}, best->found[n].score);
	while ((count = lw_parallel_left(parallel, places)) > 0)
		flush(search, places, count);
	scan(search, lw_parallel_segments(parallel));
	lw_parallel_end(parallel);
	return true;
}

/* Scores the n most promising documents; false when that is not known of any. */
static bool
scan_candidates(Search *search, size_t n)
{
	LwCandidates candidates;
	size_t		done;

	if (!lw_candidates_find(search->view, search->query, n, &candidates))
		return false;
	for (done = 0; done < candidates.count; done += BLOCK)
		flush(search, candidates.places + done, (int) Min(BLOCK, candidates.count - done));
	scan(search, candidates.coded);
	lw_candidates_report(search->view, candidates.count + candidates.uncoded);
	return true;
}

/* Writes the heap out, the worst first, by filling the ranks from the end. */
static void
return_best(Search *search, ReturnSetInfo *result)
{
	LwView	   *view = search->view;
	int			count = search->heap->bh_size;
	LwRanked  **best = palloc_array(LwRanked *, count);
	int			i;

	for (i = count; i-- > 0;)
	{
		CHECK_FOR_INTERRUPTS();
		best[i] = (LwRanked *) DatumGetPointer(binaryheap_remove_first(search->heap));
	}
	for (i = 0; i < count; i++)
	{
		size_t		size;
		const char *id = lw_ids_get(&view->segments[best[i]->place.segment]->ids, best[i]->place.row, &size);
		Datum		values[3];
		bool		nulls[3] = {false, false, false};

		CHECK_FOR_INTERRUPTS();
		values[0] = PointerGetDatum(lw_id_to_text(id, size, view->directory));
		values[1] = Float4GetDatum(best[i]->score);
		values[2] = Int32GetDatum(i + 1);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	lw_check_faults(view);
}

/* The best k documents of a store: of all, or of so many candidates. */
static void
search_store(const LwScorer *scorer, const LwMultivector *query, int k, int candidates, ReturnSetInfo *result)
{
	Search		search;
	LwError		error;

	search.view = scorer->content.view;
	search.query = scorer->query;
	error.path[0] = '\0';
	if (lw_view_hidden(search.view, &error) != LW_OK)
		lw_report(ERROR, &error);
	search.k = Min((uint64) k, search.view->documents);
	if (search.k == 0)
		return;
	search.heap = binaryheap_allocate((int) search.k, heap_compare, search.view);
	if ((candidates == 0 || !scan_candidates(&search, (size_t) Max(k, candidates))) &&
		!scan_in_parallel(&search, query))
		scan(&search, NULL);
	lw_report_kernel_time(search.view->directory);
	return_best(&search, result);
}

/* The best k chunks of a section file; ties by ordinal. */
static void
search_section(const LwScorer *scorer, int k, ReturnSetInfo *result)
{
	LwSection  *section = scorer->content.section;
	const LwVectorSlab *slab = &scorer->vectors.slab;
	LwVectorHit *hits = palloc_extended(mul_size(sizeof(LwVectorHit), Min((size_t) k, slab->rows)), MCXT_ALLOC_HUGE);
	LwNearest	nearest;
	instr_time	start;
	size_t		count;
	size_t		i;

	INSTR_TIME_SET_CURRENT(start);
	lw_nearest_begin(&nearest, hits, (size_t) k);
	lw_nearest_scan(&nearest, scorer->vector, slab, 0, slab->rows);
	count = lw_nearest_finish(&nearest);
	lw_count_rows(slab, slab->rows, &start);
	for (i = 0; i < count; i++)
	{
		Datum		values[3];
		bool		nulls[3] = {false, false, false};

		CHECK_FOR_INTERRUPTS();
		lw_check_score(section, hits[i].row, hits[i].score);
		values[0] = PointerGetDatum(lw_chunk_id_text(section, hits[i].row));
		values[1] = Float4GetDatum(hits[i].score);
		values[2] = Int32GetDatum((int32) i + 1);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	lw_section_check_faults(section);
}

Datum
lateweave_search(PG_FUNCTION_ARGS)
{
	LwScorer	scorer;
	LwMultivector *query;
	int			k;
	int			candidates = lw_candidates_setting;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	k = PG_GETARG_INT32(2);
	if (k < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be at least 1, not %d", k)));
	if (!PG_ARGISNULL(3))
		candidates = PG_GETARG_INT32(3);
	if (candidates < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("candidates must not be negative, but is %d", candidates)));
	query = PG_GETARG_MULTIVECTOR(1);
	lw_scorer_begin(&scorer, PG_GETARG_OID(0), query,
					PG_ARGISNULL(4) ? (Datum) 0 : PG_GETARG_DATUM(4), !PG_ARGISNULL(4));
	lw_stat_scored->scores++;
	if (scorer.content.section != NULL)
		search_section(&scorer, k, (ReturnSetInfo *) fcinfo->resultinfo);
	else
		search_store(&scorer, query, k, candidates, (ReturnSetInfo *) fcinfo->resultinfo);
	return (Datum) 0;
}
