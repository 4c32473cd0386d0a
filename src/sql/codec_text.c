/*-------------------------------------------------------------------------
 *
 * codec_text.c
 *	  The codecs of section files as SQL functions: texts, ids, spans.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "section/dedup.h"
#include "section/repack.h"
#include "server/ids.h"
#include "sql/codec.h"

PG_FUNCTION_INFO_V1(lateweave_encode_txt_streams);
PG_FUNCTION_INFO_V1(lateweave_decode_txt_streams);
PG_FUNCTION_INFO_V1(lateweave_encode_fsst);
PG_FUNCTION_INFO_V1(lateweave_decode_fsst);
PG_FUNCTION_INFO_V1(lateweave_encode_zstd_dict);
PG_FUNCTION_INFO_V1(lateweave_encode_zstd_dict_with);
PG_FUNCTION_INFO_V1(lateweave_decode_zstd_dict);
PG_FUNCTION_INFO_V1(lateweave_encode_dedup);
PG_FUNCTION_INFO_V1(lateweave_decode_dedup);
PG_FUNCTION_INFO_V1(lateweave_encode_chunk_ids);
PG_FUNCTION_INFO_V1(lateweave_decode_chunk_ids);
PG_FUNCTION_INFO_V1(lateweave_encode_spans);
PG_FUNCTION_INFO_V1(lateweave_decode_spans);

/* The texts of an array as UTF-8, without NULLs; palloc'ed. */
static LwBytes *
get_texts(ArrayType *array, size_t *count)
{
	Datum	   *values;
	bool	   *nulls;
	LwBytes    *texts;
	int			n;
	int			i;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
	texts = palloc_extended(n * sizeof(LwBytes) + 1, MCXT_ALLOC_HUGE);
	for (i = 0; i < n; i++)
	{
		LwString	string;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("text %d is NULL", i + 1)));
		string = lw_id_from_text(DatumGetTextPP(values[i]));
		texts[i].data = (const uint8 *) string.data;
		texts[i].size = string.size;
	}
	*count = (size_t) n;
	return texts;
}

static Datum
make_text(LwBytes utf8, size_t number)
{
	int			code;
	text	   *result = lw_utf8_to_text((const char *) utf8.data, utf8.size, &code);

	if (result == NULL)
		ereport(ERROR,
				(errcode(code),
				 errmsg("text %zu cannot be a text of this database", number)));
	return PointerGetDatum(result);
}

/* An array of the texts of a list, whose strings lie in any memory. */
static Datum
text_array(const LwBytes *texts, size_t count)
{
	Datum	   *values;
	size_t		i;

	if (count > MaxArraySize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%zu texts are too many for an array", count)));
	values = palloc_extended(count * sizeof(Datum) + 1, MCXT_ALLOC_HUGE);
	for (i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		values[i] = make_text(texts[i], i + 1);
	}
	return PointerGetDatum(construct_array(values, (int) count, TEXTOID, -1, false, TYPALIGN_INT));
}

/* An array of the texts of a raw payload. */
static Datum
payload_array(LwCodecScratch *scratch, LwBytes payload)
{
	LwBytes    *strings;
	size_t		count;
	LwError		error = {0};

	lw_codec_check(lw_list_count(payload, &count, &error), &error);
	lw_codec_check(lw_strings_decode(payload, count, &strings, &error), &error);
	scratch->list = strings;
	return text_array(strings, count);
}

/* Encodes an array of texts. */
static Datum
encode_texts(LwCodecScratch *scratch, ArrayType *array, LwTextKind kind, LwBytes dictionary)
{
	size_t		count;
	LwBytes    *texts = get_texts(array, &count);
	LwError		error = {0};

	lw_codec_check(lw_texts_encode(kind, texts, count, dictionary, &lw_codec_stop, &scratch->out, &error), &error);
	return lw_codec_bytea(lw_buffer_bytes(&scratch->out));
}

/* Decodes a payload of texts. */
static Datum
decode_texts(LwBytes payload, LwTextKind kind, const LwBytes *dictionary)
{
	LwCodecScratch *scratch = lw_codec_scratch();
	LwError		error = {0};

	lw_codec_check(lw_texts_open(payload, kind, dictionary, &scratch->texts, &error), &error);
	scratch->texts_open = true;
	lw_codec_check(lw_texts_decode(&scratch->texts, &scratch->out, &error), &error);
	return payload_array(scratch, lw_buffer_bytes(&scratch->out));
}

static LwBytes
nothing(void)
{
	LwBytes		bytes = {NULL, 0};

	return bytes;
}

Datum
lateweave_encode_txt_streams(PG_FUNCTION_ARGS)
{
	return encode_texts(lw_codec_scratch(), PG_GETARG_ARRAYTYPE_P(0), LW_TEXT_FRAMES, nothing());
}

Datum
lateweave_decode_txt_streams(PG_FUNCTION_ARGS)
{
	return decode_texts(lw_codec_bytes(PG_GETARG_BYTEA_PP(0)), LW_TEXT_FRAMES, NULL);
}

Datum
lateweave_encode_fsst(PG_FUNCTION_ARGS)
{
	return encode_texts(lw_codec_scratch(), PG_GETARG_ARRAYTYPE_P(0), LW_TEXT_SYMBOLS, nothing());
}

Datum
lateweave_decode_fsst(PG_FUNCTION_ARGS)
{
	return decode_texts(lw_codec_bytes(PG_GETARG_BYTEA_PP(0)), LW_TEXT_SYMBOLS, NULL);
}

/* A row of the function's type. */
static Datum
make_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* With the dictionary that the texts give, if they give one. */
Datum
lateweave_encode_zstd_dict(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	LwCodecScratch *scratch = lw_codec_scratch();
	size_t		count;
	LwBytes    *texts = get_texts(array, &count);
	Datum		values[2] = {0, 0};
	bool		nulls[2] = {true, true};
	LwError		error = {0};

	lw_codec_check(lw_zstd_train(texts, count, &scratch->extra, &error), &error);
	if (scratch->extra.size > 0)
	{
		values[0] = encode_texts(scratch, array, LW_TEXT_DICTIONARY, lw_buffer_bytes(&scratch->extra));
		values[1] = lw_codec_bytea(lw_buffer_bytes(&scratch->extra));
		nulls[0] = nulls[1] = false;
	}
	return make_row(fcinfo, values, nulls);
}

/* With a dictionary that is given. */
Datum
lateweave_encode_zstd_dict_with(PG_FUNCTION_ARGS)
{
	LwBytes		dictionary = lw_codec_bytes(PG_GETARG_BYTEA_PP(1));

	if (dictionary.size == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the dictionary is empty")));
	return encode_texts(lw_codec_scratch(), PG_GETARG_ARRAYTYPE_P(0), LW_TEXT_DICTIONARY, dictionary);
}

Datum
lateweave_decode_zstd_dict(PG_FUNCTION_ARGS)
{
	LwBytes		dictionary = lw_codec_bytes(PG_GETARG_BYTEA_PP(1));

	return decode_texts(lw_codec_bytes(PG_GETARG_BYTEA_PP(0)), LW_TEXT_DICTIONARY, &dictionary);
}

Datum
lateweave_encode_dedup(PG_FUNCTION_ARGS)
{
	LwCodecScratch *scratch = lw_codec_scratch();
	size_t		count;
	size_t		distinct;
	LwBytes    *texts = get_texts(PG_GETARG_ARRAYTYPE_P(0), &count);
	Datum		values[2];
	bool		nulls[2] = {false, false};
	LwError		error = {0};

	lw_codec_check(lw_dedup_encode(texts, count, &scratch->out, &scratch->extra, &distinct, &error), &error);
	values[0] = payload_array(scratch, lw_buffer_bytes(&scratch->out));
	values[1] = lw_codec_bytea(lw_buffer_bytes(&scratch->extra));
	return make_row(fcinfo, values, nulls);
}

Datum
lateweave_decode_dedup(PG_FUNCTION_ARGS)
{
	LwBytes		map = lw_codec_bytes(PG_GETARG_BYTEA_PP(1));
	LwCodecScratch *scratch = lw_codec_scratch();
	size_t		count;
	LwBytes    *pool = get_texts(PG_GETARG_ARRAYTYPE_P(0), &count);
	LwIntpack	references;
	LwError		error = {0};

	lw_codec_check(lw_dedup_open(map, &references, &error), &error);
	lw_codec_check(lw_strings_encode(pool, count, &scratch->extra, &error), &error);
	lw_codec_check(lw_dedup_expand(map, lw_buffer_bytes(&scratch->extra), references.count, &scratch->out, &error),
				   &error);
	return payload_array(scratch, lw_buffer_bytes(&scratch->out));
}

Datum
lateweave_encode_chunk_ids(PG_FUNCTION_ARGS)
{
	LwCodecScratch *scratch = lw_codec_scratch();
	size_t		count;
	LwBytes    *ids = get_texts(PG_GETARG_ARRAYTYPE_P(0), &count);
	LwError		error = {0};

	if (!lw_repack_can_ids(ids, count))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("expected ids of \"sha256:\" and 64 lowercase hexadecimal digits, found others"),
				 errdetail("InvalidInput.")));
	lw_codec_check(lw_repack_ids(ids, count, &scratch->out, &error), &error);
	return lw_codec_bytea(lw_buffer_bytes(&scratch->out));
}

/* Expands what was repacked, and checks that it is of the kind: 0 ids, 1 spans. */
static LwBytes
unpack(LwCodecScratch *scratch, LwBytes stored, uint8 kind)
{
	LwError		error = {0};

	if (stored.size > 0 && stored.data[0] <= 1 && stored.data[0] != kind)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("expected repacked %s, found %s", kind == 0 ? "ids" : "spans", kind == 0 ? "spans" : "ids")));
	lw_codec_check(lw_repack_decode(stored, LW_ANY_COUNT, &scratch->out, &error), &error);
	return lw_buffer_bytes(&scratch->out);
}

Datum
lateweave_decode_chunk_ids(PG_FUNCTION_ARGS)
{
	LwCodecScratch *scratch = lw_codec_scratch();

	return payload_array(scratch, unpack(scratch, lw_codec_bytes(PG_GETARG_BYTEA_PP(0)), 0));
}

Datum
lateweave_encode_spans(PG_FUNCTION_ARGS)
{
	LwCodecScratch *scratch = lw_codec_scratch();
	size_t		count;
	size_t		nstarts;
	size_t		nends;
	LwBytes    *uris = get_texts(PG_GETARG_ARRAYTYPE_P(0), &count);
	uint64	   *starts = lw_codec_integers(PG_GETARG_ARRAYTYPE_P(1), &nstarts);
	uint64	   *ends = lw_codec_integers(PG_GETARG_ARRAYTYPE_P(2), &nends);
	LwSourceSpan *spans;
	size_t		i;
	LwError		error = {0};

	if (nstarts != count || nends != count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("expected arrays of one length, found %zu uris, %zu starts and %zu ends",
						count, nstarts, nends)));
	spans = palloc_extended(count * sizeof(LwSourceSpan) + 1, MCXT_ALLOC_HUGE);
	for (i = 0; i < count; i++)
	{
		spans[i].uri = uris[i];
		spans[i].start = starts[i];
		spans[i].end = ends[i];
	}
	lw_codec_check(lw_repack_spans(spans, count, &scratch->out, &error), &error);
	return lw_codec_bytea(lw_buffer_bytes(&scratch->out));
}

Datum
lateweave_decode_spans(PG_FUNCTION_ARGS)
{
	LwCodecScratch *scratch = lw_codec_scratch();
	LwBytes		payload = unpack(scratch, lw_codec_bytes(PG_GETARG_BYTEA_PP(0)), 1);
	LwSourceSpan *spans;
	LwBytes    *uris;
	uint64	   *starts;
	uint64	   *ends;
	size_t		count;
	size_t		i;
	Datum		values[3];
	bool		nulls[3] = {false, false, false};
	LwError		error = {0};

	lw_codec_check(lw_list_count(payload, &count, &error), &error);
	lw_codec_check(lw_spans_decode(payload, count, &spans, &error), &error);
	scratch->list = spans;
	uris = palloc_extended(count * sizeof(LwBytes) + 1, MCXT_ALLOC_HUGE);
	starts = palloc_extended(count * sizeof(uint64) + 1, MCXT_ALLOC_HUGE);
	ends = palloc_extended(count * sizeof(uint64) + 1, MCXT_ALLOC_HUGE);
	for (i = 0; i < count; i++)
	{
		uris[i] = spans[i].uri;
		starts[i] = spans[i].start;
		ends[i] = spans[i].end;
	}
	values[0] = text_array(uris, count);
	values[1] = lw_codec_integer_array(starts, count);
	values[2] = lw_codec_integer_array(ends, count);
	return make_row(fcinfo, values, nulls);
}
