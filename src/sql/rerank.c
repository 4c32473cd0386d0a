/*-------------------------------------------------------------------------
 *
 * rerank.c
 *	  lateweave_rerank: candidates in gather order in, a deterministic top-k out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "server/ids.h"
#include "server/scoring.h"
#include "sql/scorer.h"

PG_FUNCTION_INFO_V1(lateweave_rerank);
PG_FUNCTION_INFO_V1(lateweave_rerank_sources);

/* The argument k; INT_MAX when it is NULL. */
static int
get_k(FunctionCallInfo fcinfo, int argument)
{
	int			k;

	if (PG_ARGISNULL(argument))
		return INT_MAX;
	k = PG_GETARG_INT32(argument);
	if (k < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be at least 1, not %d", k)));
	return k;
}

/* Looks candidates up and scores those that are present, the best k at least; returns how many there are. */
static int
score_candidates(const LwScorer *scorer, const LwString *ids, const int *positions, int count,
				 int k, LwRanked *ranked)
{
	LwPlace    *places = palloc_array(LwPlace, count);
	float4	   *scores = palloc_array(float4, count);
	int			present = 0;
	int			i;

	for (i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!lw_scorer_find(scorer, ids[i], &places[present]))
			continue;
		ranked[present].position = positions == NULL ? i : positions[i];
		ranked[present].place = places[present];
		present++;
	}
	lw_stat_scored->candidates += count;
	lw_scorer_score(scorer, places, present, k, scores);
	lw_report_kernel_time(lw_content_path(scorer->content));
	for (i = 0; i < present; i++)
		ranked[i].score = scores[i];
	pfree(places);
	pfree(scores);
	return present;
}

Datum
lateweave_rerank(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LwScorer	scorer;
	LwIdList	list;
	LwRanked   *ranked;
	int			k;
	int			present;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	k = get_k(fcinfo, 3);
	lw_scorer_begin(&scorer, PG_GETARG_OID(0), PG_GETARG_MULTIVECTOR(1),
					PG_ARGISNULL(4) ? (Datum) 0 : PG_GETARG_DATUM(4), !PG_ARGISNULL(4));
	lw_id_list(PG_GETARG_ARRAYTYPE_P(2), &list);
	lw_refuse_repeated_ids(list.ids, list.count);

	ranked = palloc_array(LwRanked, list.count);
	present = score_candidates(&scorer, list.ids, NULL, list.count, k, ranked);
	qsort(ranked, present, sizeof(LwRanked), lw_compare_ranked);
	for (i = 0; i < present && i < k; i++)
	{
		LwString	id = list.ids[ranked[i].position];
		Datum		values[3];
		bool		nulls[3] = {false, false, false};

		CHECK_FOR_INTERRUPTS();
		values[0] = PointerGetDatum(lw_id_to_text(id.data, id.size, lw_content_path(scorer.content)));
		values[1] = Float4GetDatum(ranked[i].score);
		values[2] = Int32GetDatum(i + 1);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* The elements of an array argument of one dimension without NULLs. */
static int
get_elements(FunctionCallInfo fcinfo, int argument, Oid type, const char *name, Datum **elements)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(argument);
	int16		length;
	bool		by_value;
	char		alignment;
	bool	   *nulls;
	int			count;
	int			i;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("array \"%s\" must have one dimension, not %d", name, ARR_NDIM(array))));
	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	deconstruct_array(array, type, length, by_value, alignment, elements, &nulls, &count);
	for (i = 0; i < count; i++)
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("array \"%s\" must not contain NULL", name),
					 errdetail("It does at position %d.", i + 1)));
	return count;
}

/*
 * source_of, checked: which source each candidate belongs to, from 0.  A
 * source that is given twice is its first one, so that repeats are found.
 */
static int *
get_source_of(FunctionCallInfo fcinfo, const Datum *sources, int nsources, int ncandidates)
{
	Datum	   *elements;
	int			count = get_elements(fcinfo, 2, INT4OID, "source_of", &elements);
	int		   *source_of = palloc_array(int, count);
	int		   *first = palloc_array(int, nsources);
	int			i;

	for (i = 0; i < nsources; i++)
		for (first[i] = 0; sources[first[i]] != sources[i]; first[i]++)
			;

	if (count != ncandidates)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("arrays \"source_of\" and \"ids\" must be of equal length, not %d and %d",
						count, ncandidates)));
	for (i = 0; i < count; i++)
	{
		source_of[i] = DatumGetInt32(elements[i]) - 1;
		if (source_of[i] < 0 || source_of[i] >= nsources)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("array \"source_of\" names source %d of %d", DatumGetInt32(elements[i]), nsources),
					 errdetail("It does at position %d; sources count from 1.", i + 1)));
		source_of[i] = first[source_of[i]];
	}
	return source_of;
}

Datum
lateweave_rerank_sources(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LwMultivector *query;
	LwIdList	list;
	LwString   *ids;
	LwRanked   *ranked;
	Datum	   *sources;
	int		   *source_of;
	int		   *positions;
	int			nsources;
	int			present = 0;
	int			k;
	int			source;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		return (Datum) 0;
	k = get_k(fcinfo, 4);
	query = PG_GETARG_MULTIVECTOR(1);
	nsources = get_elements(fcinfo, 0, REGCLASSOID, "sources", &sources);
	lw_id_list(PG_GETARG_ARRAYTYPE_P(3), &list);
	source_of = get_source_of(fcinfo, sources, nsources, list.count);

	ranked = palloc_array(LwRanked, list.count);
	ids = palloc_array(LwString, list.count);
	positions = palloc_array(int, list.count);
	for (source = 0; source < nsources; source++)
	{
		LwScorer	scorer;
		int			count = 0;

		lw_scorer_begin(&scorer, DatumGetObjectId(sources[source]), query,
						PG_ARGISNULL(5) ? (Datum) 0 : PG_GETARG_DATUM(5), !PG_ARGISNULL(5));
		if (source > 0)
		{
			LwScorer	first;

			/* begun again, not remembered: of a great many sources the first pins may have gone */
			lw_scorer_begin(&first, DatumGetObjectId(sources[0]), query, (Datum) 0, false);
			lw_check_one_scale(&first, &scorer);
			lw_scorer_begin(&scorer, DatumGetObjectId(sources[source]), query, (Datum) 0, false);
		}
		for (i = 0; i < list.count; i++)
		{
			if (source_of[i] != source)
				continue;
			ids[count] = list.ids[i];
			positions[count++] = i;
		}
		lw_refuse_repeated_ids(ids, count);
		present += score_candidates(&scorer, ids, positions, count, k, ranked + present);
	}

	qsort(ranked, present, sizeof(LwRanked), lw_compare_ranked);
	for (i = 0; i < present && i < k; i++)
	{
		LwString	id = list.ids[ranked[i].position];
		Datum		values[4];
		bool		nulls[4] = {false, false, false, false};

		CHECK_FOR_INTERRUPTS();
		values[0] = sources[source_of[ranked[i].position]];
		values[1] = PointerGetDatum(lw_id_to_text(id.data, id.size, "ids"));
		values[2] = Float4GetDatum(ranked[i].score);
		values[3] = Int32GetDatum(i + 1);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
