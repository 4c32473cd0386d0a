/*-------------------------------------------------------------------------
 *
 * multivector_ops.c
 *	  Order, hash, normalization and aggregation of multivectors.
 *
 * The order is by number of tokens, then dimension, then the values row by
 * row as numbers, so that -0 equals 0; it exists for DISTINCT, GROUP BY and
 * unique constraints and means nothing else.  Equal multivectors hash alike.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "common/hashfn.h"
#include "compat.h"
#include "sql/multivector.h"

/* What multivector_agg has gathered: the tokens so far and the room for more. */
typedef struct LwGathered
{
	int32		tokens;
	int32		dimension;
	int64		room;			/* in tokens */
	float4	   *values;
} LwGathered;

PG_FUNCTION_INFO_V1(multivector_eq);
PG_FUNCTION_INFO_V1(multivector_ne);
PG_FUNCTION_INFO_V1(multivector_lt);
PG_FUNCTION_INFO_V1(multivector_le);
PG_FUNCTION_INFO_V1(multivector_gt);
PG_FUNCTION_INFO_V1(multivector_ge);
PG_FUNCTION_INFO_V1(multivector_cmp);
PG_FUNCTION_INFO_V1(multivector_hash);
PG_FUNCTION_INFO_V1(multivector_hash_extended);
PG_FUNCTION_INFO_V1(multivector_l2_normalize);
PG_FUNCTION_INFO_V1(multivector_agg_transition);
PG_FUNCTION_INFO_V1(multivector_agg_final);

/* Returns a number below, at or above zero as `a` sorts before, with or after `b`. */
static int
lw_multivector_compare(const LwMultivector *a, const LwMultivector *b)
{
	int64		count = (int64) a->tokens * a->dimension;
	int64		i;

	if (a->tokens != b->tokens)
		return a->tokens < b->tokens ? -1 : 1;
	if (a->dimension != b->dimension)
		return a->dimension < b->dimension ? -1 : 1;
	for (i = 0; i < count; i++)
		if (a->values[i] != b->values[i])
			return a->values[i] < b->values[i] ? -1 : 1;
	return 0;
}

/* Compares the two arguments of a comparison function. */
static int
lw_compare_arguments(FunctionCallInfo fcinfo)
{
	LwMultivector *a = PG_GETARG_MULTIVECTOR(0);
	LwMultivector *b = PG_GETARG_MULTIVECTOR(1);
	int			order = lw_multivector_compare(a, b);

	/* index support functions must not leak */
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return order;
}

/* Says whether the two arguments are equal; those of different sizes are not fetched to know it. */
static bool
lw_arguments_equal(FunctionCallInfo fcinfo)
{
	if (toast_raw_datum_size(PG_GETARG_DATUM(0)) !=
		toast_raw_datum_size(PG_GETARG_DATUM(1)))
		return false;
	return lw_compare_arguments(fcinfo) == 0;
}

/* multivector = multivector. */
Datum
multivector_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(lw_arguments_equal(fcinfo));
}

/* multivector <> multivector. */
Datum
multivector_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!lw_arguments_equal(fcinfo));
}

/* multivector < multivector. */
Datum
multivector_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(lw_compare_arguments(fcinfo) < 0);
}

/* multivector <= multivector. */
Datum
multivector_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(lw_compare_arguments(fcinfo) <= 0);
}

/* multivector > multivector. */
Datum
multivector_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(lw_compare_arguments(fcinfo) > 0);
}

/* multivector >= multivector. */
Datum
multivector_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(lw_compare_arguments(fcinfo) >= 0);
}

/* multivector_cmp(multivector, multivector): the btree support function. */
Datum
multivector_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(lw_compare_arguments(fcinfo));
}

/* Hashes everything after the varlena header, with each -0 taken as 0. */
static uint64
lw_multivector_hash(const LwMultivector *m, uint64 seed)
{
	const int	skip = offsetof(LwMultivector, tokens);
	int64		count = (int64) m->tokens * m->dimension;
	int64		i = 0;
	LwMultivector *copy = NULL;
	uint64		hash;

	/* source is 0 in every multivector, so it does no harm here */
	while (i < count && !(m->values[i] == 0.0f && signbit(m->values[i])))
		i++;
	if (i < count)
	{
		copy = lw_multivector_new(m->tokens, m->dimension);
		memcpy(copy->values, m->values, sizeof(float4) * count);
		for (; i < count; i++)
			if (copy->values[i] == 0.0f)
				copy->values[i] = 0.0f;
		m = copy;
	}

	hash = hash_bytes_extended((const unsigned char *) m + skip,
							   (int) (VARSIZE(m) - skip), seed);
	if (copy != NULL)
		pfree(copy);
	return hash;
}

/* multivector_hash(multivector): the hash support function, the low half of the extended one at seed 0. */
Datum
multivector_hash(PG_FUNCTION_ARGS)
{
	LwMultivector *m = PG_GETARG_MULTIVECTOR(0);
	uint64		hash = lw_multivector_hash(m, 0);

	PG_FREE_IF_COPY(m, 0);
	PG_RETURN_UINT32((uint32) hash);
}

/* multivector_hash_extended(multivector, bigint): the same with a seed. */
Datum
multivector_hash_extended(PG_FUNCTION_ARGS)
{
	LwMultivector *m = PG_GETARG_MULTIVECTOR(0);
	uint64		hash = lw_multivector_hash(m, (uint64) PG_GETARG_INT64(1));

	PG_FREE_IF_COPY(m, 0);
	PG_RETURN_UINT64(hash);
}

/* l2_normalize(multivector): each token divided by its own length, summed and divided as doubles. */
Datum
multivector_l2_normalize(PG_FUNCTION_ARGS)
{
	LwMultivector *m = PG_GETARG_MULTIVECTOR(0);
	LwMultivector *result = lw_multivector_new(m->tokens, m->dimension);
	const float4 *from = m->values;
	float4	   *to = result->values;
	int32		token;
	int32		i;

	for (token = 0; token < m->tokens; token++)
	{
		double		norm = 0.0;

		for (i = 0; i < m->dimension; i++)
			norm += (double) from[i] * from[i];
		norm = sqrt(norm);
		/* a token of zeros has no direction and stays as it is */
		if (norm == 0.0)
			norm = 1.0;
		for (i = 0; i < m->dimension; i++)
			to[i] = (float4) (from[i] / norm);
		from += m->dimension;
		to += m->dimension;
	}

	PG_FREE_IF_COPY(m, 0);
	PG_RETURN_POINTER(result);
}

/* Makes room for one token more, doubling it so that gathering n tokens copies each about once. */
static void
lw_gathered_grow(LwGathered *gathered)
{
	lw_multivector_check_size((int64) gathered->tokens + 1, gathered->dimension);

	if (gathered->tokens < gathered->room)
		return;
	gathered->room = Min(gathered->room * 2,
						 LW_MULTIVECTOR_MAX_VALUES / gathered->dimension);
	gathered->values = (float4 *)
		repalloc(gathered->values,
				 sizeof(float4) * gathered->room * gathered->dimension);
}

/* multivector_agg_transition(internal, real[]): appends one token. */
Datum
multivector_agg_transition(PG_FUNCTION_ARGS)
{
	LwGathered *gathered = PG_ARGISNULL(0) ? NULL : (LwGathered *) PG_GETARG_POINTER(0);
	MemoryContext context;
	ArrayType  *token;
	int			dimension;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "multivector_agg_transition called outside an aggregate");

	if (PG_ARGISNULL(1))
	{
		if (gathered == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(gathered);
	}

	token = PG_GETARG_ARRAYTYPE_P(1);
	if (ARR_NDIM(token) != 1 || array_contains_nulls(token))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("multivector_agg takes arrays of one dimension without NULLs, a token each"),
				 errdetail("Token %d is not one.",
						   gathered == NULL ? 1 : gathered->tokens + 1)));
	dimension = ARR_DIMS(token)[0];

	if (gathered == NULL)
	{
		gathered = (LwGathered *) MemoryContextAllocZero(context, sizeof(LwGathered));
		gathered->dimension = dimension;
		gathered->room = 1;
		gathered->values = (float4 *)
			MemoryContextAlloc(context, sizeof(float4) * dimension);
	}
	else if (gathered->dimension != dimension)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("expected dimension %d, not %d",
						gathered->dimension, dimension),
				 errdetail("Token %d has %d values, token 1 has %d.",
						   gathered->tokens + 1, dimension, gathered->dimension)));

	lw_gathered_grow(gathered);
	memcpy(gathered->values + (Size) gathered->tokens * dimension,
		   lw_array_data(token), sizeof(float4) * dimension);
	gathered->tokens++;
	PG_FREE_IF_COPY(token, 1);
	PG_RETURN_POINTER(gathered);
}

/* multivector_agg_final(internal): what was gathered, in the order it came. */
Datum
multivector_agg_final(PG_FUNCTION_ARGS)
{
	LwGathered *gathered;
	LwMultivector *m;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();

	/* a window calls this again and again while it gathers, so the state stays */
	gathered = (LwGathered *) PG_GETARG_POINTER(0);
	m = lw_multivector_new(gathered->tokens, gathered->dimension);
	memcpy(m->values, gathered->values, VARSIZE(m) - LW_MULTIVECTOR_HEADER);
	lw_multivector_check_finite(m);
	PG_RETURN_POINTER(m);
}
