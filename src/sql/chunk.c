/*-------------------------------------------------------------------------
 *
 * chunk.c
 *	  Chunks of a section file as values of the database.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "compat.h"
#include "format/utf8.h"
#include "section/citation.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/section_scoring.h"
#include "sql/chunk.h"

/* Raises what a reader of the file has found. */
static void
check(LwSection *section, LwStatus status, LwError *error)
{
	if (status == LW_OK)
		return;
	if (error->path[0] == '\0')
		lw_error_path(error, NULL, section->path);
	lw_report(ERROR, error);
}

/* A copy of bytes of the file, behind `header` bytes. */
static char *
copy_bytes(LwSection *section, LwBytes bytes, Size header)
{
	char	   *copy;

	if (bytes.size > MaxAllocSize - VARHDRSZ)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a string of %zu bytes in \"%s\" is too long for a value", bytes.size, section->path)));
	copy = palloc(bytes.size + header);
	if (bytes.size > 0)
		memcpy(copy + header, bytes.data, bytes.size);
	lw_section_check_faults(section);
	return copy;
}

/* A string of the file as a text, or NULL as lw_utf8_to_text. */
static text *
to_text(LwSection *section, LwBytes bytes, int *code)
{
	char	   *copy = copy_bytes(section, bytes, 0);
	text	   *result;

	if (lw_utf8_valid(copy, bytes.size) != bytes.size)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("\"%s\" is damaged: a string is not UTF-8", section->path),
				 errdetail("The file has changed since it was checked.")));
	result = lw_utf8_to_text(copy, bytes.size, code);
	pfree(copy);
	return result;
}

text *
lw_section_text(LwSection *section, const char *what, LwBytes bytes)
{
	int			code;
	text	   *result = to_text(section, bytes, &code);

	if (result == NULL)
		lw_report_text(code, what, section->path);
	return result;
}

/* A string of a chunk. */
static text *
chunk_text(LwSection *section, size_t ordinal, const char *what, LwBytes bytes)
{
	int			code;
	text	   *result = to_text(section, bytes, &code);
	LwBytes		id;
	LwError		error = {0};

	if (result != NULL)
		return result;
	check(section, lw_chunk_id(section->file, ordinal, &id, &error), &error);
	lw_report_text(code, psprintf("%s of chunk \"%s\"", what, lw_id_for_message((const char *) id.data, id.size)),
				   section->path);
}

text *
lw_chunk_id_text(LwSection *section, size_t ordinal)
{
	LwBytes		id;
	LwError		error = {0};

	check(section, lw_chunk_id(section->file, ordinal, &id, &error), &error);
	return chunk_text(section, ordinal, "id", id);
}

text *
lw_chunk_canonical_text(LwSection *section, size_t ordinal)
{
	LwBytes		bytes;
	LwError		error = {0};

	check(section, lw_chunk_text(section->file, ordinal, &bytes, &error), &error);
	return chunk_text(section, ordinal, "text", bytes);
}

bytea *
lw_chunk_canonical_bytes(LwSection *section, size_t ordinal)
{
	LwBytes		bytes;
	bytea	   *result;
	LwError		error = {0};

	check(section, lw_chunk_text(section->file, ordinal, &bytes, &error), &error);
	result = (bytea *) copy_bytes(section, bytes, VARHDRSZ);
	SET_VARSIZE(result, bytes.size + VARHDRSZ);
	return result;
}

static void
free_buffer(void *buffer)
{
	lw_buffer_free(buffer);
}

text *
lw_chunk_citation(LwSection *section, size_t ordinal)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lateweave citation", ALLOCSET_SMALL_SIZES);
	MemoryContextCallback *callback = MemoryContextAlloc(context, sizeof(MemoryContextCallback));
	LwBuffer   *buffer = MemoryContextAlloc(context, sizeof(LwBuffer));
	text	   *result;
	LwError		error = {0};

	/* whatever is raised, the buffer goes with the context */
	lw_buffer_init(buffer, 0);
	callback->func = free_buffer;
	callback->arg = buffer;
	MemoryContextRegisterResetCallback(context, callback);
	check(section, lw_citation_write(section->file, ordinal, buffer, &error), &error);
	if (buffer->failed)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	result = chunk_text(section, ordinal, "citation", lw_buffer_bytes(buffer));
	MemoryContextDelete(context);
	return result;
}

void
lw_get_span(LwSection *section, size_t ordinal, LwSpan *span)
{
	LwError		error = {0};

	check(section, lw_chunk_span(section->file, ordinal, span, &error), &error);
}

text *
lw_chunk_uri(LwSection *section, size_t ordinal, const LwSpan *span)
{
	return chunk_text(section, ordinal, "uri", span->source.uri);
}

Datum
lw_chunk_offset(LwSection *section, size_t ordinal, const char *what, uint64 offset)
{
	if (offset > PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s of chunk %zu in \"%s\" is out of range for type bigint: %llu",
						what, ordinal, section->path, (unsigned long long) offset),
				 errhint("A column of a foreign table can have type numeric.")));
	return Int64GetDatum((int64) offset);
}

Datum
lw_uint64_numeric(uint64 value)
{
	return DirectFunctionCall3(numeric_in, CStringGetDatum(psprintf(UINT64_FORMAT, value)),
							   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

Datum
lw_row_array(LwSection *section, const LwVectorSlab *slab, size_t row)
{
	Size		size = add_size(ARR_OVERHEAD_NONULLS(1), mul_size(slab->dimension, sizeof(float4)));
	ArrayType  *array;

	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("vectors of \"%s\" with dimension %u are too large for an array", section->path, slab->dimension)));
	array = palloc0(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->elemtype = FLOAT4OID;
	ARR_DIMS(array)[0] = (int) slab->dimension;
	ARR_LBOUND(array)[0] = 1;
	lw_decode_row(slab, row, (float4 *) ARR_DATA_PTR(array));
	lw_section_check_faults(section);
	return PointerGetDatum(array);
}

LwMultivector *
lw_read_row(LwSection *section, const LwVectorSlab *slab, size_t row)
{
	LwMultivector *m = lw_multivector_new(1, slab->dimension);
	uint32		i;

	lw_decode_row(slab, row, m->values);
	lw_section_check_faults(section);
	/* finite scales, and codes times them, need not be */
	for (i = 0; i < slab->dimension; i++)
		if (!isfinite(m->values[i]))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("\"%s\" is damaged: the vector of chunk %zu is not finite", section->path, row),
					 errdetail("InvalidEmbeddingValue.")));
	return m;
}
