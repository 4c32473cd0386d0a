/*-------------------------------------------------------------------------
 *
 * fetch.c
 *	  What lies behind a score: the vectors as it uses them, and which won.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/pin.h"
#include "server/scoring.h"
#include "sql/document.h"
#include "sql/scorer.h"

PG_FUNCTION_INFO_V1(lateweave_fetch);
PG_FUNCTION_INFO_V1(lateweave_explain_text);
PG_FUNCTION_INFO_V1(lateweave_explain_bigint);
PG_FUNCTION_INFO_V1(lateweave_explain_uuid);

Datum
lateweave_fetch(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext row_context;
	LwView	   *view;
	LwIdList	list;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	if (!PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("a vector store has no spaces"),
				 errhint("Only section files have spaces of embeddings; leave the argument out.")));
	view = lw_pin(PG_GETARG_OID(0));
	lw_id_list(PG_GETARG_ARRAYTYPE_P(1), &list);
	lw_refuse_repeated_ids(list.ids, list.count);

	row_context = AllocSetContextCreate(CurrentMemoryContext, "lateweave_fetch", ALLOCSET_DEFAULT_SIZES);
	for (i = 0; i < list.count; i++)
	{
		MemoryContext old;
		LwPlace		place;
		Datum		values[2];
		bool		nulls[2] = {false, false};

		CHECK_FOR_INTERRUPTS();
		if (!lw_view_find(view, list.ids[i].data, list.ids[i].size, &place))
			continue;
		old = MemoryContextSwitchTo(row_context);
		values[0] = PointerGetDatum(lw_id_to_text(list.ids[i].data, list.ids[i].size, view->directory));
		values[1] = PointerGetDatum(lw_read_document(view, place));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_context);
	}
	MemoryContextDelete(row_context);
	return (Datum) 0;
}

static Datum
explain_document(FunctionCallInfo fcinfo, Oid type)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LwScorer	scorer;
	LwIdBuffer	buffer;
	LwString	id;
	LwPlace		place;
	LwDocument	document;
	LwError		error;
	LwScoreProblem problem;
	float4	   *similarity;
	size_t	   *winner;
	uint32		tokens;
	uint32		i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	lw_scorer_begin(&scorer, PG_GETARG_OID(0), PG_GETARG_MULTIVECTOR(1),
					PG_ARGISNULL(3) ? (Datum) 0 : PG_GETARG_DATUM(3), !PG_ARGISNULL(3));
	id = lw_id_from_datum(PG_GETARG_DATUM(2), type, &buffer);
	if (!lw_view_find(scorer.view, id.data, id.size, &place))
		return (Datum) 0;
	if (lw_view_document(scorer.view, place, &document, &error) != LW_OK)
		lw_report(ERROR, &error);

	tokens = lw_query_tokens(scorer.query);
	similarity = palloc_array(float4, tokens);
	winner = palloc_array(size_t, tokens);
	problem = lw_maxsim_winners(scorer.query, lw_view_scoring(scorer.view), &document, similarity, winner);
	if (problem != LW_SCORE_FINE)
		lw_report_score_problem(scorer.view, place, problem);
	lw_check_faults(scorer.view);
	for (i = 0; i < tokens; i++)
	{
		Datum		values[3];
		bool		nulls[3] = {false, false, false};

		values[0] = Int32GetDatum((int32) i + 1);
		values[1] = Int32GetDatum((int32) winner[i] + 1);
		values[2] = Float4GetDatum(similarity[i]);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
lateweave_explain_text(PG_FUNCTION_ARGS)
{
	return explain_document(fcinfo, TEXTOID);
}

Datum
lateweave_explain_bigint(PG_FUNCTION_ARGS)
{
	return explain_document(fcinfo, INT8OID);
}

Datum
lateweave_explain_uuid(PG_FUNCTION_ARGS)
{
	return explain_document(fcinfo, UUIDOID);
}
