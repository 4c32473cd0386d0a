/*-------------------------------------------------------------------------
 *
 * section.c
 *	  What a section file says of itself: manifest, sections, spaces, blobs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "compat.h"
#include "format/utf8.h"
#include "section/blob.h"
#include "section/citation.h"
#include "section/hash.h"
#include "section/space.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/pin.h"
#include "sql/chunk.h"

PG_FUNCTION_INFO_V1(lateweave_section_info);
PG_FUNCTION_INFO_V1(lateweave_sections);
PG_FUNCTION_INFO_V1(lateweave_spaces);
PG_FUNCTION_INFO_V1(lateweave_blobs);
PG_FUNCTION_INFO_V1(lateweave_blob);

#define HASH_BLOCK ((size_t) 4 << 20)	/* bytes between two looks for a cancellation */

/* The manifest as json.  It lies in memory of the file's handle, where nobody changes it. */
static Datum
manifest_json(LwSection *section)
{
	LwBytes		json = section->file->manifest.json;

	if (lw_utf8_valid((const char *) json.data, json.size) != json.size)
		ereport(ERROR,
				(errcode(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
				 errmsg("manifest of \"%s\" is not UTF-8", section->path),
				 errdetail("It is not where a reader looks at it.")));
	return DirectFunctionCall1(json_in, CStringGetDatum(text_to_cstring(lw_section_text(section, "manifest", json))));
}

Datum
lateweave_section_info(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LwSection  *section;
	char		file_hash[LW_TEXT_HASH_SIZE + 1];
	char		content_hash[LW_TEXT_HASH_SIZE + 1];
	Datum		values[5];
	bool		nulls[5] = {false, false, false, false, false};
	LwError		error = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	section = lw_pin_section(PG_GETARG_OID(0));
	lw_error_path(&error, NULL, section->path);
	if (lw_section_file_hash(section->file, file_hash, &error) != LW_OK ||
		lw_section_content_hash(section->file, content_hash, &error) != LW_OK)
		lw_report(ERROR, &error);
	lw_section_check_faults(section);
	values[0] = manifest_json(section);
	values[1] = CStringGetTextDatum(file_hash);
	values[2] = CStringGetTextDatum(content_hash);
	values[3] = Int64GetDatum((int64) section->file->bytes.size);
	values[4] = Int64GetDatum((int64) section->file->rows);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	return (Datum) 0;
}

/* SHA-256 of bytes, interruptible: the sum belongs to the resource owner, so an ERROR leaks nothing. */
static void
hash_bytes(LwBytes bytes, uint8 *sum)
{
	LwSha256	hash;
	LwError		error = {0};
	size_t		done;

	lw_sha256_begin(&hash);
	for (done = 0; done < bytes.size; done += HASH_BLOCK)
	{
		CHECK_FOR_INTERRUPTS();
		lw_sha256_add(&hash, bytes.data + done, Min(bytes.size - done, HASH_BLOCK));
	}
	if (lw_sha256_sum(&hash, sum, &error) != LW_OK)
		lw_report(ERROR, &error);
}

static char *
hex(const uint8 *bytes, size_t size)
{
	char	   *result = palloc(size * 2 + 1);

	hex_encode((const char *) bytes, size, result);
	result[size * 2] = '\0';
	return result;
}

Datum
lateweave_sections(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LwSection  *section;
	size_t		i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	section = lw_pin_section(PG_GETARG_OID(0));
	for (i = 0; i < section->file->nentries; i++)
	{
		const LwSectionEntry *entry = &section->file->entries[i];
		LwBytes		stored = {section->file->bytes.data + entry->offset, entry->size};
		uint8		sum[LW_SHA256_SIZE];
		Datum		values[7];
		bool		nulls[7] = {false, false, false, false, false, false, false};

		hash_bytes(stored, sum);
		lw_section_check_faults(section);
		values[0] = Int64GetDatum(entry->id);
		values[1] = CStringGetTextDatum(lw_section_name(entry->id));
		values[2] = CStringGetTextDatum(lw_section_encoding_name(entry->encoding));
		values[3] = Int64GetDatum((int64) entry->offset);
		values[4] = Int64GetDatum((int64) entry->size);
		values[5] = CStringGetTextDatum(hex(entry->checksum, sizeof(entry->checksum)));
		values[6] = BoolGetDatum(memcmp(sum, entry->checksum, sizeof(entry->checksum)) == 0);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
lateweave_spaces(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LwSection  *section;
	const LwSpace *spaces = NULL;
	size_t		count = 0;
	size_t		i;
	LwError		error = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	section = lw_pin_section(PG_GETARG_OID(0));
	lw_error_path(&error, NULL, section->path);
	if (section->file->manifest.supports_multimodal &&
		lw_section_spaces(section->file, &spaces, &count, &error) != LW_OK)
		lw_report(ERROR, &error);
	for (i = 0; i < count; i++)
	{
		Datum		values[5];
		bool		nulls[5] = {false, false, false, false, false};

		values[0] = PointerGetDatum(lw_section_text(section, "name of a space", spaces[i].name));
		values[1] = CStringGetTextDatum(lw_vector_type_name(spaces[i].type));
		values[2] = Int64GetDatum(spaces[i].dimension);
		values[3] = Int64GetDatum((int64) section->file->rows);
		values[4] = PointerGetDatum(lw_section_text(section, "model_hash of a space", spaces[i].model_hash));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* Its blobs, if the file says that it has any. */
static size_t
count_blobs(LwSection *section)
{
	size_t		count = 0;
	LwError		error = {0};

	lw_error_path(&error, NULL, section->path);
	if (section->file->manifest.blobs_present && lw_blob_count(section->file, &count, &error) != LW_OK)
		lw_report(ERROR, &error);
	return count;
}

static void
get_blob(LwSection *section, size_t blob, LwBlobRef *ref)
{
	LwError		error = {0};

	lw_error_path(&error, NULL, section->path);
	if (lw_blob_ref(section->file, blob, ref, &error) != LW_OK)
		lw_report(ERROR, &error);
}

Datum
lateweave_blobs(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LwSection  *section;
	size_t		count;
	size_t		i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	section = lw_pin_section(PG_GETARG_OID(0));
	count = count_blobs(section);
	for (i = 0; i < count; i++)
	{
		LwBlobRef	ref;
		Datum		values[5];
		bool		nulls[5] = {false, false, false, false, false};

		CHECK_FOR_INTERRUPTS();
		get_blob(section, i, &ref);
		values[0] = Int64GetDatum((int64) i);
		values[1] = CStringGetTextDatum(psprintf("sha256:%s", hex(ref.sha256, sizeof(ref.sha256))));
		values[2] = PointerGetDatum(lw_section_text(section, "uri of a blob", ref.uri));
		values[3] = lw_uint64_numeric(ref.size);
		values[4] = BoolGetDatum(ref.inlined);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
lateweave_blob(PG_FUNCTION_ARGS)
{
	LwSection  *section;
	LwBlobRef	ref;
	LwBytes		data;
	LwBytes		copy;
	bytea	   *result;
	size_t		count;
	uint8		sum[LW_SHA256_SIZE];
	LwError		error = {0};

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	section = lw_pin_section(PG_GETARG_OID(0));
	count = count_blobs(section);
	if (PG_GETARG_INT64(1) < 0 || (uint64) PG_GETARG_INT64(1) >= count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" has no blob %lld", section->path, (long long) PG_GETARG_INT64(1)),
				 errdetail("It has %zu blobs, counted from 0.", count)));
	get_blob(section, (size_t) PG_GETARG_INT64(1), &ref);
	if (!ref.inlined)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("\"%s\" does not hold the bytes of blob %lld", section->path, (long long) PG_GETARG_INT64(1)),
				 errdetail("BlobNotInlined."),
				 errhint("lateweave_blobs tells where the blob comes from.")));
	lw_error_path(&error, NULL, section->path);
	if (lw_blob_data(section->file, (size_t) PG_GETARG_INT64(1), &data, &error) != LW_OK)
		lw_report(ERROR, &error);
	if (data.size > MaxAllocSize - VARHDRSZ)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("blob of %zu bytes in \"%s\" is too long for a bytea", data.size, section->path)));

	/* what is checked is what is returned */
	result = palloc(VARHDRSZ + data.size);
	SET_VARSIZE(result, VARHDRSZ + data.size);
	memcpy(VARDATA(result), data.data, data.size);
	lw_section_check_faults(section);
	copy.data = (const uint8_t *) VARDATA(result);
	copy.size = data.size;
	hash_bytes(copy, sum);
	if (memcmp(sum, ref.sha256, sizeof(sum)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("\"%s\" is damaged: blob %lld does not have its hash", section->path, (long long) PG_GETARG_INT64(1)),
				 errdetail("BlobHashMismatch.")));
	PG_RETURN_BYTEA_P(result);
}
