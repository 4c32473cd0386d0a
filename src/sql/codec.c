/*-------------------------------------------------------------------------
 *
 * codec.c
 *	  The codecs of section files as SQL functions: vectors, integers, bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "section/quant.h"
#include "section/slab.h"
#include "sql/chunk.h"
#include "sql/codec.h"
#include "sql/numbers.h"

PG_FUNCTION_INFO_V1(lateweave_encode_float16);
PG_FUNCTION_INFO_V1(lateweave_decode_float16);
PG_FUNCTION_INFO_V1(lateweave_encode_int8);
PG_FUNCTION_INFO_V1(lateweave_decode_int8);
PG_FUNCTION_INFO_V1(lateweave_encode_int4);
PG_FUNCTION_INFO_V1(lateweave_decode_int4);
PG_FUNCTION_INFO_V1(lateweave_encode_intpack);
PG_FUNCTION_INFO_V1(lateweave_decode_intpack);
PG_FUNCTION_INFO_V1(lateweave_encode_zstd);
PG_FUNCTION_INFO_V1(lateweave_decode_zstd);

static bool
stop_asked(void *arg)
{
	return QueryCancelPending || ProcDiePending;
}

const LwStop lw_codec_stop = {stop_asked, NULL};

static void
free_scratch(void *arg)
{
	LwCodecScratch *scratch = arg;

	lw_buffer_free(&scratch->out);
	lw_buffer_free(&scratch->extra);
	free(scratch->list);
	if (scratch->texts_open)
		lw_texts_close(&scratch->texts);
	lw_zstd_reader_free(&scratch->reader);
	lw_zstd_writer_free(&scratch->writer);
}

LwCodecScratch *
lw_codec_scratch(void)
{
	LwCodecScratch *scratch = palloc0(sizeof(*scratch));

	lw_buffer_init(&scratch->out, MaxAllocSize - VARHDRSZ);
	lw_buffer_init(&scratch->extra, MaxAllocSize - VARHDRSZ);
	scratch->callback.func = free_scratch;
	scratch->callback.arg = scratch;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &scratch->callback);
	return scratch;
}

void
lw_codec_check(LwStatus status, const LwError *error)
{
	int			code = ERRCODE_DATA_EXCEPTION;

	if (status == LW_OK)
		return;
	if (status == LW_CANCELLED)
	{
		CHECK_FOR_INTERRUPTS();
		code = ERRCODE_QUERY_CANCELED;
	}
	if (status == LW_NO_MEMORY)
		code = ERRCODE_OUT_OF_MEMORY;
	if (status == LW_LIMIT)
		code = ERRCODE_PROGRAM_LIMIT_EXCEEDED;
	ereport(ERROR,
			(errcode(code),
			 errmsg("expected %s, found %s", error->expected, error->found),
			 error->name != NULL ? errdetail_internal("%s.", error->name) : 0));
}

Datum
lw_codec_bytea(LwBytes bytes)
{
	return PointerGetDatum(cstring_to_text_with_len((const char *) bytes.data, (int) bytes.size));
}

LwBytes
lw_codec_bytes(const bytea *value)
{
	LwBytes		bytes = {(const uint8 *) VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)};

	return bytes;
}

/* The number of a slab's values: n rows of dim components. */
static size_t
count_values(int32 n, int32 dim, LwVectorType type)
{
	if (n < 0 || dim < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("expected n of at least 0 and dim of at least 1, found %d and %d", n, dim)));
	if (type == LW_VECTOR_INT4 && dim % LW_QUANT_BLOCK != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("expected for int4 a dim that is a multiple of 64, found %d", dim),
				 errdetail("InvalidInput.")));
	if ((uint64) n * dim > MaxAllocSize / sizeof(float))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%d x %d values are too many for an array", n, dim)));
	return (size_t) n * dim;
}

/* Encodes (rows real[], n integer, dim integer). */
static Datum
encode_rows(FunctionCallInfo fcinfo, LwVectorType type,
			void (*put) (LwBuffer *payload, const float *rows, size_t count, size_t dimension))
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	int32		n = PG_GETARG_INT32(1);
	int32		dim = PG_GETARG_INT32(2);
	size_t		count = count_values(n, dim, type);
	const float *rows = (const float *) ARR_DATA_PTR(array);
	int			found = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	LwCodecScratch *scratch;
	LwError		error = {0};

	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a component is NULL")));
	if ((size_t) found != count)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("expected %d x %d components, found %d", n, dim, found),
				 errdetail("DimensionMismatch.")));
	if (!lw_all_finite(rows, count))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("expected finite components, found NaN or infinity"),
				 errdetail("InvalidEmbeddingValue.")));
	scratch = lw_codec_scratch();
	put(&scratch->out, rows, (size_t) n, (size_t) dim);
	lw_codec_check(lw_buffer_status(&scratch->out, &error), &error);
	return lw_codec_bytea(lw_buffer_bytes(&scratch->out));
}

static void
dequantize(const LwVectorSlab *slab, size_t row, float *to)
{
	size_t		dimension = slab->dimension;
	const uint8 *codes = slab->codes;
	const uint8 *scales = slab->scales;
	float		scale;

	switch (slab->type)
	{
		case LW_VECTOR_INT8:
			memcpy(&scale, scales + row * sizeof(float), sizeof(scale));
			lw_dequantize_int8(codes + row * dimension, scale, dimension, to);
			break;
		case LW_VECTOR_INT4:
			lw_dequantize_int4(codes + row * dimension / 2, scales + row * dimension / LW_QUANT_BLOCK * sizeof(uint16),
							   dimension, to);
			break;
		default:
			lw_dequantize_float16(codes + row * dimension * sizeof(uint16), dimension, to);
			break;
	}
}

/* Decodes (bytes bytea, n integer, dim integer). */
static Datum
decode_rows(FunctionCallInfo fcinfo, LwVectorType type)
{
	LwBytes		bytes = lw_codec_bytes(PG_GETARG_BYTEA_PP(0));
	int32		n = PG_GETARG_INT32(1);
	int32		dim = PG_GETARG_INT32(2);
	size_t		count = count_values(n, dim, type);
	Size		size = ARR_OVERHEAD_NONULLS(2) + count * sizeof(float);
	ArrayType  *array;
	LwVectorSlab slab;
	LwError		error = {0};
	int32		i;

	lw_codec_check(lw_slab_describe(bytes, type, (size_t) n, (uint32) dim, &slab, &error), &error);
	if (n == 0)
		return PointerGetDatum(construct_empty_array(FLOAT4OID));
	array = palloc0(size);
	SET_VARSIZE(array, size);
	array->ndim = 2;
	array->elemtype = FLOAT4OID;
	ARR_DIMS(array)[0] = n;
	ARR_DIMS(array)[1] = dim;
	ARR_LBOUND(array)[0] = ARR_LBOUND(array)[1] = 1;
	for (i = 0; i < n; i++)
		dequantize(&slab, (size_t) i, (float *) ARR_DATA_PTR(array) + (size_t) i * dim);
	return PointerGetDatum(array);
}

Datum
lateweave_encode_float16(PG_FUNCTION_ARGS)
{
	return encode_rows(fcinfo, LW_VECTOR_FLOAT16, lw_put_float16_rows);
}

Datum
lateweave_decode_float16(PG_FUNCTION_ARGS)
{
	return decode_rows(fcinfo, LW_VECTOR_FLOAT16);
}

Datum
lateweave_encode_int8(PG_FUNCTION_ARGS)
{
	return encode_rows(fcinfo, LW_VECTOR_INT8, lw_put_int8_rows);
}

Datum
lateweave_decode_int8(PG_FUNCTION_ARGS)
{
	return decode_rows(fcinfo, LW_VECTOR_INT8);
}

Datum
lateweave_encode_int4(PG_FUNCTION_ARGS)
{
	return encode_rows(fcinfo, LW_VECTOR_INT4, lw_put_int4_rows);
}

Datum
lateweave_decode_int4(PG_FUNCTION_ARGS)
{
	return decode_rows(fcinfo, LW_VECTOR_INT4);
}

uint64 *
lw_codec_integers(ArrayType *array, size_t *count)
{
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int			i;
	uint64	   *result;

	deconstruct_array(array, NUMERICOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
	result = palloc_extended(n * sizeof(uint64) + 1, MCXT_ALLOC_HUGE);
	for (i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("number %d is NULL", i + 1)));
		if (!lw_number_uint64(values[i], NUMERICOID, &result[i]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("number %d is no integer from 0 to 2^64-1", i + 1)));
	}
	*count = (size_t) n;
	return result;
}

Datum
lw_codec_integer_array(const uint64 *values, size_t count)
{
	Datum	   *numbers = palloc_extended(count * sizeof(Datum) + 1, MCXT_ALLOC_HUGE);
	size_t		i;

	for (i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		numbers[i] = lw_uint64_numeric(values[i]);
	}
	return PointerGetDatum(construct_array(numbers, (int) count, NUMERICOID, -1, false, TYPALIGN_INT));
}

Datum
lateweave_encode_intpack(PG_FUNCTION_ARGS)
{
	size_t		count;
	uint64	   *values = lw_codec_integers(PG_GETARG_ARRAYTYPE_P(0), &count);
	LwCodecScratch *scratch = lw_codec_scratch();
	LwError		error = {0};

	lw_put_intpack(&scratch->out, (const uint64_t *) values, count);
	lw_codec_check(lw_buffer_status(&scratch->out, &error), &error);
	return lw_codec_bytea(lw_buffer_bytes(&scratch->out));
}

Datum
lateweave_decode_intpack(PG_FUNCTION_ARGS)
{
	LwBytes		bytes = lw_codec_bytes(PG_GETARG_BYTEA_PP(0));
	LwIntpack	list;
	uint64	   *values;
	LwError		error = {0};

	lw_codec_check(lw_intpack_open(bytes, &list, &error), &error);
	if (list.count > MaxArraySize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%u numbers are too many for an array", list.count)));
	values = palloc_extended(list.count * sizeof(uint64) + 1, MCXT_ALLOC_HUGE);
	lw_codec_check(lw_intpack_read_all(bytes, list.count, (uint64_t *) values, &error), &error);
	return lw_codec_integer_array(values, list.count);
}

Datum
lateweave_encode_zstd(PG_FUNCTION_ARGS)
{
	LwCodecScratch *scratch = lw_codec_scratch();
	LwError		error = {0};

	lw_codec_check(lw_zstd_writer_init(&scratch->writer, NULL, &error), &error);
	scratch->writer.stop = &lw_codec_stop;
	lw_codec_check(lw_zstd_encode(&scratch->writer, lw_codec_bytes(PG_GETARG_BYTEA_PP(0)), &scratch->out, &error),
				   &error);
	return lw_codec_bytea(lw_buffer_bytes(&scratch->out));
}

Datum
lateweave_decode_zstd(PG_FUNCTION_ARGS)
{
	LwCodecScratch *scratch = lw_codec_scratch();
	LwError		error = {0};

	lw_codec_check(lw_zstd_reader_init(&scratch->reader, NULL, &error), &error);
	lw_codec_check(lw_zstd_decode(&scratch->reader, lw_codec_bytes(PG_GETARG_BYTEA_PP(0)), &scratch->out, &error),
				   &error);
	return lw_codec_bytea(lw_buffer_bytes(&scratch->out));
}
