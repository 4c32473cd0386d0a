/*-------------------------------------------------------------------------
 *
 * score.c
 *	  Scores one at a time: maxsim, the operators @#, lateweave_score.
 *
 * These are called for every row of a scan, so what does not change from row
 * to row is found again at little cost: the packed query by its bytes
 * (server/prepared.h), the view by the statement's pin (server/pin.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/float.h"
#include "utils/memutils.h"

#include "server/pin.h"
#include "server/prepared.h"
#include "server/scoring.h"
#include "sql/multivector.h"
#include "sql/scorer.h"

PG_FUNCTION_INFO_V1(maxsim_query_plain);
PG_FUNCTION_INFO_V1(maxsim_query_of_source);
PG_FUNCTION_INFO_V1(maxsim);
PG_FUNCTION_INFO_V1(multivector_distance);
PG_FUNCTION_INFO_V1(lateweave_distance_text);
PG_FUNCTION_INFO_V1(lateweave_distance_smallint);
PG_FUNCTION_INFO_V1(lateweave_distance_integer);
PG_FUNCTION_INFO_V1(lateweave_distance_bigint);
PG_FUNCTION_INFO_V1(lateweave_distance_uuid);
PG_FUNCTION_INFO_V1(lateweave_score_text);
PG_FUNCTION_INFO_V1(lateweave_score_bigint);
PG_FUNCTION_INFO_V1(lateweave_score_uuid);

/* What maxsim_query keeps in fn_extra. */
typedef struct QueryCache
{
	LwMultivector *last;
	LwMultivector *before;		/* the one given before, which the caller may still hold */
} QueryCache;

/*
 * A maxsim_query of these vectors.  The last one is given again for the same
 * vectors: a scan evaluates a STABLE operand for every row.
 */
static LwMultivector *
make_query(FunctionCallInfo fcinfo, Oid source, const LwMultivector *vectors)
{
	QueryCache *cache = fcinfo->flinfo->fn_extra;
	LwMultivector *last;
	Size		size = VARSIZE(vectors);

	if (cache == NULL)
		cache = fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(QueryCache));
	last = cache->last;
	if (last != NULL && last->source == source && VARSIZE(last) == size &&
		last->tokens == vectors->tokens && last->dimension == vectors->dimension &&
		memcmp(last->values, vectors->values, size - LW_MULTIVECTOR_HEADER) == 0)
		return last;

	if (cache->before != NULL)
		pfree(cache->before);
	cache->before = last;
	cache->last = NULL;
	last = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, size);
	memcpy(last, vectors, size);
	last->source = source;
	cache->last = last;
	return last;
}

Datum
maxsim_query_plain(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(make_query(fcinfo, InvalidOid, PG_GETARG_MULTIVECTOR(0)));
}

Datum
maxsim_query_of_source(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(make_query(fcinfo, PG_GETARG_OID(0), PG_GETARG_MULTIVECTOR(1)));
}

/* MaxSim of two values in memory. */
static float4
score_value(const LwMultivector *query, const LwMultivector *document)
{
	LwDocument	block;
	LwScoreProblem problem;
	float4		score;

	if (query->dimension != document->dimension)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("query has dimension %d, but the document has dimension %d",
						query->dimension, document->dimension)));
	block.rows = document->values;
	block.scales = NULL;
	block.tokens = (size_t) document->tokens;
	if (lw_maxsim(lw_prepare(query->values, query->tokens, query->dimension),
				  LW_SCORE_FLOAT32, &block, 1, &score, &problem) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("score is not a number"),
				 errdetail("A sum overflowed to infinity on both sides.")));
	return score;
}

Datum
maxsim(PG_FUNCTION_ARGS)
{
	LwMultivector *query;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	query = PG_GETARG_MULTIVECTOR(0);
	if (OidIsValid(query->source))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the query ranks the documents of a source, not a multivector"),
				 errhint("Use maxsim_query(query), without a source.")));
	PG_RETURN_FLOAT4(score_value(query, PG_GETARG_MULTIVECTOR(1)));
}

/* multivector @# maxsim_query */
Datum
multivector_distance(PG_FUNCTION_ARGS)
{
	LwMultivector *query;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	query = PG_GETARG_MULTIVECTOR(1);
	if (OidIsValid(query->source))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the query ranks the documents of a source, not a multivector"),
				 errhint("Use maxsim_query(query), without a source.")));
	PG_RETURN_FLOAT8(-(float8) score_value(query, PG_GETARG_MULTIVECTOR(0)));
}

/* The score of one document of the scorer's source; false when it is absent. */
static bool
score_id(const LwScorer *scorer, LwString id, float4 *score)
{
	LwPlace		place;

	if (!lw_scorer_find(scorer, id, &place))
		return false;
	lw_scorer_score(scorer, &place, 1, 1, score);
	return true;
}

/* id @# maxsim_query */
static Datum
id_distance(FunctionCallInfo fcinfo, Oid type)
{
	LwScorer	scorer;
	LwIdBuffer	buffer;
	float4		score;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	lw_scorer_begin_named(&scorer, PG_GETARG_MULTIVECTOR(1));
	if (!score_id(&scorer, lw_id_from_datum(PG_GETARG_DATUM(0), type, &buffer), &score))
		PG_RETURN_FLOAT8(get_float8_infinity());
	PG_RETURN_FLOAT8(-(float8) score);
}

Datum
lateweave_distance_text(PG_FUNCTION_ARGS)
{
	return id_distance(fcinfo, TEXTOID);
}

Datum
lateweave_distance_smallint(PG_FUNCTION_ARGS)
{
	return id_distance(fcinfo, INT2OID);
}

Datum
lateweave_distance_integer(PG_FUNCTION_ARGS)
{
	return id_distance(fcinfo, INT4OID);
}

Datum
lateweave_distance_bigint(PG_FUNCTION_ARGS)
{
	return id_distance(fcinfo, INT8OID);
}

Datum
lateweave_distance_uuid(PG_FUNCTION_ARGS)
{
	return id_distance(fcinfo, UUIDOID);
}

/* A query that lies in a TOAST table, read. */
typedef struct StoredQuery
{
	TimestampTz transaction;	/* start of the one in which it was read */
	struct varatt_external pointer;
	LwMultivector *value;
} StoredQuery;

/*
 * A query argument.  One that is stored out of line, like that of
 * lateweave_score(source, (SELECT ...), id), is not read again for each row.
 */
static LwMultivector *
get_query(FunctionCallInfo fcinfo, int argument)
{
	struct varlena *datum = (struct varlena *) DatumGetPointer(PG_GETARG_DATUM(argument));
	StoredQuery *stored = fcinfo->flinfo->fn_extra;
	struct varatt_external pointer;
	MemoryContext old;

	if (!VARATT_IS_EXTERNAL_ONDISK(datum))
		return PG_GETARG_MULTIVECTOR(argument);
	VARATT_EXTERNAL_GET_POINTER(pointer, datum);
	if (stored != NULL && stored->value != NULL &&
		stored->transaction == GetCurrentTransactionStartTimestamp() &&
		memcmp(&stored->pointer, &pointer, sizeof(pointer)) == 0)
		return stored->value;

	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	if (stored == NULL)
		stored = fcinfo->flinfo->fn_extra = palloc0(sizeof(StoredQuery));
	if (stored->value != NULL)
		pfree(stored->value);
	stored->value = NULL;
	stored->value = PG_GETARG_MULTIVECTOR(argument);
	stored->pointer = pointer;
	stored->transaction = GetCurrentTransactionStartTimestamp();
	MemoryContextSwitchTo(old);
	return stored->value;
}

/* lateweave_score(source, query, id, representation) */
static Datum
score_document(FunctionCallInfo fcinfo, Oid type)
{
	LwScorer	scorer;
	LwIdBuffer	buffer;
	float4		score;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	lw_scorer_begin(&scorer, PG_GETARG_OID(0), get_query(fcinfo, 1),
					PG_ARGISNULL(3) ? (Datum) 0 : PG_GETARG_DATUM(3), !PG_ARGISNULL(3));
	if (!score_id(&scorer, lw_id_from_datum(PG_GETARG_DATUM(2), type, &buffer), &score))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT4(score);
}

Datum
lateweave_score_text(PG_FUNCTION_ARGS)
{
	return score_document(fcinfo, TEXTOID);
}

Datum
lateweave_score_bigint(PG_FUNCTION_ARGS)
{
	return score_document(fcinfo, INT8OID);
}

Datum
lateweave_score_uuid(PG_FUNCTION_ARGS)
{
	return score_document(fcinfo, UUIDOID);
}
