/*-------------------------------------------------------------------------
 *
 * pgvector.c
 *	  Casts to multivector from pgvector's vector, halfvec and their arrays.
 *
 * Which of the two extensions comes first is not known, so neither extension
 * script can make these casts; lateweave_enable_pgvector() does.  What it
 * makes are ordinary objects, dumped as such and restored after both.
 *
 * The layout of pgvector's types is its on-disk format: a varlena header, the
 * dimension and an unused zero as int16, then float4 or IEEE half values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "compat.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "sql/multivector.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* vector and halfvec in memory, but for the width of a value. */
typedef struct LwPgvector
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int16		dimension;
	int16		unused;
	char		values[FLEXIBLE_ARRAY_MEMBER];
} LwPgvector;

PG_FUNCTION_INFO_V1(multivector_from_vector);
PG_FUNCTION_INFO_V1(multivector_from_vector_array);
PG_FUNCTION_INFO_V1(multivector_from_halfvec);
PG_FUNCTION_INFO_V1(multivector_from_halfvec_array);
PG_FUNCTION_INFO_V1(lateweave_enable_pgvector);

/*
 * One row for each cast that is missing: the statements that make it.
 * $1 is the function lateweave_enable_pgvector, whose schema and library
 * are this extension's.  search_path is only pg_catalog, so regtype qualifies.
 */
static const char *const missing_casts =
"SELECT format($$"
" CREATE OR REPLACE FUNCTION %1$s.multivector(%2$s) RETURNS %3$s"
"   LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS %4$L, %5$L;"
" ALTER FUNCTION %1$s.multivector(%2$s) OWNER TO CURRENT_USER;"
" COMMENT ON FUNCTION %1$s.multivector(%2$s) IS %6$L;"
" CREATE CAST (%2$s AS %3$s) WITH FUNCTION %1$s.multivector(%2$s) AS ASSIGNMENT;"
" COMMENT ON CAST (%2$s AS %3$s) IS %6$L;$$,"
" self.pronamespace::regnamespace, source.type::regtype, target.oid::regtype,"
" self.probin, source.symbol, source.comment)"
" FROM pg_proc self"
" JOIN pg_type target ON target.typname = 'multivector'"
"  AND target.typnamespace = self.pronamespace"
" JOIN pg_extension e ON e.extname = 'vector'"
" JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid"
"  AND d.classid = 'pg_type'::regclass AND d.deptype = 'e'"
" JOIN pg_type t ON t.oid = d.objid AND t.typname IN ('vector', 'halfvec')"
" CROSS JOIN LATERAL (VALUES"
"  (t.oid, 'multivector_from_' || t.typname,"
"   'one token from a pgvector ' || t.typname),"
"  (t.typarray, 'multivector_from_' || t.typname || '_array',"
"   'a token from each pgvector ' || t.typname || ' of an array of one dimension;"
" ERROR 22000 for NULL elements, unequal dimensions and an empty array'))"
"  source(type, symbol, comment)"
" WHERE self.oid = $1 AND NOT EXISTS (SELECT FROM pg_cast c"
"  WHERE c.castsource = source.type AND c.casttarget = target.oid)"
" ORDER BY source.symbol COLLATE \"C\" DESC";

/* Returns the float of an IEEE half, exactly. */
static float4
lw_half_to_float(uint16 half)
{
	int			exponent = (half >> 10) & 0x1f;
	int			fraction = half & 0x3ff;
	float4		magnitude;

	if (exponent == 0x1f)
		magnitude = fraction == 0 ? INFINITY : NAN;
	else if (exponent == 0)
		magnitude = ldexpf((float4) fraction, -24);
	else
		magnitude = ldexpf((float4) (fraction | 0x400), exponent - 25);
	return half & 0x8000 ? -magnitude : magnitude;
}

/* Returns the dimension of a pgvector value, once its size agrees with it. */
static int
lw_pgvector_dimension(const LwPgvector *vector, Size width)
{
	Size		size = VARSIZE(vector);

	if (size < offsetof(LwPgvector, values) || vector->dimension < 1 ||
		size != offsetof(LwPgvector, values) + width * vector->dimension)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("a pgvector value does not have the layout that lateweave knows"),
				 errhint("This version of pgvector is not supported; cast to real[] first.")));
	return vector->dimension;
}

/* Returns a multivector of `tokens` pgvector values, `width` bytes a number. */
static LwMultivector *
lw_multivector_from_pgvector(const Datum *datums, int tokens, Size width)
{
	LwMultivector *m = NULL;
	int			dimension = 0;
	int			token;
	int			i;

	for (token = 0; token < tokens; token++)
	{
		LwPgvector *vector = (LwPgvector *) PG_DETOAST_DATUM(datums[token]);
		float4	   *values;

		if (token == 0)
		{
			dimension = lw_pgvector_dimension(vector, width);
			m = lw_multivector_new(tokens, dimension);
		}
		else if (lw_pgvector_dimension(vector, width) != dimension)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("expected dimension %d, not %d",
							dimension, vector->dimension),
					 errdetail("Token %d has %d values, token 1 has %d.",
							   token + 1, vector->dimension, dimension)));

		values = m->values + (Size) token * dimension;
		if (width == sizeof(float4))
			memcpy(values, vector->values, width * dimension);
		else
			for (i = 0; i < dimension; i++)
				values[i] = lw_half_to_float(((const uint16 *) vector->values)[i]);

		if ((Pointer) vector != DatumGetPointer(datums[token]))
			pfree(vector);
	}

	lw_multivector_check_finite(m);
	return m;
}

/* Returns a multivector of an array of pgvector values, a token each. */
static LwMultivector *
lw_multivector_from_pgvector_array(ArrayType *array, Size width)
{
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *datums;
	bool	   *nulls;
	int			tokens;
	int			token;

	if (ARR_NDIM(array) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 ARR_NDIM(array) == 0
				 ? errmsg("an empty array is no multivector")
				 : errmsg("an array of %d dimensions is no multivector", ARR_NDIM(array)),
				 errhint("Use an array of one dimension, a token each.")));

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign,
					  &datums, &nulls, &tokens);
	for (token = 0; token < tokens; token++)
		if (nulls[token])
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("NULL is not allowed in a multivector"),
					 errdetail("Token %d: NULL.", token + 1)));

	return lw_multivector_from_pgvector(datums, tokens, width);
}

/* multivector(vector): one token. */
Datum
multivector_from_vector(PG_FUNCTION_ARGS)
{
	Datum		vector = PG_GETARG_DATUM(0);

	PG_RETURN_POINTER(lw_multivector_from_pgvector(&vector, 1, sizeof(float4)));
}

/* multivector(vector[]): a token each. */
Datum
multivector_from_vector_array(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(lw_multivector_from_pgvector_array(PG_GETARG_ARRAYTYPE_P(0),
														 sizeof(float4)));
}

/* multivector(halfvec): one token. */
Datum
multivector_from_halfvec(PG_FUNCTION_ARGS)
{
	Datum		vector = PG_GETARG_DATUM(0);

	PG_RETURN_POINTER(lw_multivector_from_pgvector(&vector, 1, sizeof(uint16)));
}

/* multivector(halfvec[]): a token each. */
Datum
multivector_from_halfvec_array(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(lw_multivector_from_pgvector_array(PG_GETARG_ARRAYTYPE_P(0),
														 sizeof(uint16)));
}

/* Raises unless pgvector is installed in this database. */
static void
lw_require_pgvector(void)
{
	if (SPI_execute("SELECT FROM pg_extension WHERE extname = 'vector'", true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_extension");
	if (SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"vector\" is not installed in this database"),
				 errhint("Run CREATE EXTENSION vector, then call lateweave_enable_pgvector() again.")));
}

/* lateweave_enable_pgvector(): makes the casts from pgvector's types that are missing. */
Datum
lateweave_enable_pgvector(PG_FUNCTION_ARGS)
{
	Oid			types[1] = {OIDOID};
	Datum		values[1];
	SPITupleTable *missing;
	uint64		count;
	uint64		i;

	values[0] = ObjectIdGetDatum(fcinfo->flinfo->fn_oid);

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to create the casts from pgvector's types")));

	SPI_connect();
	lw_require_pgvector();
	if (SPI_execute_with_args(missing_casts, 1, types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not look for casts from pgvector's types");
	missing = SPI_tuptable;
	count = SPI_processed;

	for (i = 0; i < count; i++)
		if (SPI_execute(SPI_getvalue(missing->vals[i], missing->tupdesc, 1), false, 0) < 0)
			elog(ERROR, "could not create a cast from pgvector's types");
	if (count == 0)
		ereport(NOTICE,
				(errmsg("every cast from pgvector's types exists already")));
	SPI_finish();
	PG_RETURN_VOID();
}
