/*-------------------------------------------------------------------------
 *
 * estimate.c
 *	  lateweave_estimate: how much a store will take.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "store/derived_ids.h"

PG_FUNCTION_INFO_V1(lateweave_estimate);

/* Bytes of an id, which nothing determines. */
#define ID_SIZE 20

/* What is before the data of a .npy file, whatever its shape. */
#define NPY_HEADER 128

/* Of one segment. */
typedef struct Sizes
{
	int64		rows;			/* vectors or codes */
	int64		scales;
	int64		offsets;
	int64		ids;
	int64		derived;
} Sizes;

/* a * b + c */
static int64
multiply_add(int64 a, int64 b, int64 c)
{
	int64		result;

	if (pg_mul_s64_overflow(a, b, &result) || pg_add_s64_overflow(result, c, &result))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a store of that size has more bytes than a bigint can count")));
	return result;
}

static void
put(ReturnSetInfo *result, const char *item, int64 bytes)
{
	Datum		values[2];
	bool		nulls[2] = {false, false};

	values[0] = CStringGetTextDatum(item);
	values[1] = Int64GetDatum(bytes);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void
invalid(const char *argument, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for argument \"%s\"", argument),
			 errhint("%s", hint)));
}

/* documents * tokens_per_document, to the nearest whole number */
static int64
count_tokens(int64 documents, float4 tokens_per_document)
{
	double		tokens = rint((double) documents * tokens_per_document);

	if (tokens >= (double) PG_INT64_MAX)
		multiply_add(PG_INT64_MAX, 2, 0);
	return (int64) tokens;
}

Datum
lateweave_estimate(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int64		documents = PG_GETARG_INT64(0);
	float4		tokens_per_document = PG_GETARG_FLOAT4(1);
	int32		dimension = PG_GETARG_INT32(2);
	char	   *encoding = text_to_cstring(PG_GETARG_TEXT_PP(3));
	bool		int8 = strcmp(encoding, "int8") == 0;
	int64		tokens;
	int64		scan;
	Sizes		sizes = {0};

	if (documents < 0)
		invalid("documents", "It takes 0 or more.");
	if (!(tokens_per_document >= 1) || isinf(tokens_per_document))
		invalid("tokens_per_document", "A document has at least 1 token.");
	if (dimension < 1)
		invalid("dimension", "It takes 1 or more.");
	if (!int8 && strcmp(encoding, "float32") != 0)
		invalid("encoding", "It takes \"int8\" or \"float32\".");

	InitMaterializedSRF(fcinfo, 0);
	tokens = count_tokens(documents, tokens_per_document);
	sizes.rows = multiply_add(tokens, multiply_add(dimension, int8 ? 1 : sizeof(float4), 0), NPY_HEADER);
	sizes.scales = int8 ? multiply_add(tokens, sizeof(float4), NPY_HEADER) : 0;
	sizes.offsets = multiply_add(documents, sizeof(uint64), NPY_HEADER + sizeof(uint64));
	/* quotes and a comma each, brackets */
	sizes.ids = multiply_add(documents, ID_SIZE + 3, documents == 0 ? 2 : 1);
	if (documents >= LW_DERIVED_DOCUMENTS)
		sizes.derived = (int64) lw_derived_ids_size((uint64) documents, (uint64) documents * ID_SIZE);
	/* a bit for each row; ids and their hash where no derived file has them */
	scan = documents / 8 + 1;
	if (documents > 0 && sizes.derived == 0)
		scan += documents * (int64) (sizeof(uint64) + ID_SIZE) + (int64) (lw_idmap_slots((uint64) documents) * sizeof(uint32));

	put(result, int8 ? "codes" : "vectors", sizes.rows);
	if (int8)
		put(result, "scales", sizes.scales);
	put(result, "offsets", sizes.offsets);
	put(result, "ids", sizes.ids);
	put(result, "derived file", sizes.derived);
	put(result, "disk", multiply_add(1, sizes.rows, sizes.scales + sizes.offsets + sizes.ids + sizes.derived));
	put(result, "memory shared", multiply_add(1, sizes.rows, sizes.scales + sizes.offsets + sizes.derived));
	put(result, "memory of a session", scan);
	return (Datum) 0;
}
