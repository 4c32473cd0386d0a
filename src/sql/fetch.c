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
#include "sql/chunk.h"
#include "sql/document.h"
#include "sql/scorer.h"

PG_FUNCTION_INFO_V1(lateweave_fetch);
PG_FUNCTION_INFO_V1(lateweave_explain_text);
PG_FUNCTION_INFO_V1(lateweave_explain_bigint);
PG_FUNCTION_INFO_V1(lateweave_explain_uuid);

static bool
find_document(LwContent content, LwString id, LwPlace *place)
{
	if (content.section != NULL)
		return lw_section_find_chunk(content.section, id, place);
	return lw_find_document(content.view, id, place);
}

Datum
lateweave_fetch(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext row_context;
	LwContent	content;
	LwSectionVectors vectors;
	LwIdList	list;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	content = lw_pin(PG_GETARG_OID(0));
	if (content.section != NULL)
		lw_choose_vectors(content.section,
						  PG_ARGISNULL(2) ? lw_source_lookup(PG_GETARG_OID(0))->space : text_to_cstring(PG_GETARG_TEXT_PP(2)),
						  &vectors);
	else if (!PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("a vector store has no spaces"),
				 errhint("Only section files have spaces of embeddings; leave the argument out.")));
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
		if (!find_document(content, list.ids[i], &place))
			continue;
		old = MemoryContextSwitchTo(row_context);
		values[0] = PointerGetDatum(lw_id_to_text(list.ids[i].data, list.ids[i].size, lw_content_path(content)));
		values[1] = PointerGetDatum(content.section != NULL ?
									lw_read_row(content.section, &vectors.slab, place.row) :
									lw_read_document(content.view, place));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_context);
	}
	MemoryContextDelete(row_context);
	return (Datum) 0;
}

/* Which document token won for each query token, and by what; returns how many query tokens there are. */
static uint32
find_winners(const LwScorer *scorer, LwPlace place, float4 **similarities, size_t **winners)
{
	LwView	   *view = scorer->content.view;
	LwDocument	document;
	LwError		error;
	LwScoreProblem problem;
	uint32		tokens = scorer->content.section != NULL ? 1 : lw_query_tokens(scorer->query);

	*similarities = palloc_array(float4, tokens);
	*winners = palloc0(sizeof(size_t) * tokens);
	if (scorer->content.section != NULL)
	{
		lw_scorer_score(scorer, &place, 1, 1, *similarities);
		return tokens;
	}
	if (lw_view_document(view, place, &document, &error) != LW_OK)
		lw_report(ERROR, &error);
	problem = lw_maxsim_winners(scorer->query, lw_view_scoring(view), &document, *similarities, *winners);
	if (problem != LW_SCORE_FINE)
		lw_report_score_problem(view, place, problem);
	lw_check_faults(view);
	return tokens;
}

static Datum
explain_document(FunctionCallInfo fcinfo, Oid type)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LwScorer	scorer;
	LwIdBuffer	buffer;
	LwPlace		place;
	float4	   *similarity;
	size_t	   *winner;
	uint32		tokens;
	uint32		i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	lw_scorer_begin(&scorer, PG_GETARG_OID(0), PG_GETARG_MULTIVECTOR(1),
					PG_ARGISNULL(3) ? (Datum) 0 : PG_GETARG_DATUM(3), !PG_ARGISNULL(3));
	if (!lw_scorer_find(&scorer, lw_id_from_datum(PG_GETARG_DATUM(2), type, &buffer), &place))
		return (Datum) 0;
	tokens = find_winners(&scorer, place, &similarity, &winner);
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
