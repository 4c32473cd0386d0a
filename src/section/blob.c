/*-------------------------------------------------------------------------
 *
 * blob.c
 *	  Blobs that chunks were cut from.
 *
 *-------------------------------------------------------------------------
 */
#include "section/blob.h"

#include <string.h>

#include "section/parts.h"

#define VERSION 1
#define HEADER 12				/* a version and a count */
#define MIN_REF 45				/* bytes of a reference with an empty uri */
#define RANGE 16				/* an offset and a length */

/* Takes version and count of a section whose entries have at least `size` bytes. */
static LwStatus
take_header(LwCursor *cursor, uint32_t id, size_t size, size_t *count, LwError *error)
{
	uint32_t	version;
	uint64_t	claimed;

	if (lw_cursor_left(cursor) < HEADER || !lw_take_u32(cursor, &version) ||
		!lw_take_u64(cursor, &claimed))
		return lw_section_malformed(error, id, "a version and a count", "fewer than 12 bytes");
	if (version != VERSION)
		return lw_section_bad_version(error, id, version);
	if (claimed > lw_cursor_left(cursor) / size)
		return lw_section_malformed(error, id, "as many entries as there is room for", "a larger count");
	*count = (size_t) claimed;
	return LW_OK;
}

static LwStatus
take_ref(LwCursor *cursor, LwBlobRef *ref, LwError *error)
{
	LwBytes		sum;
	uint8_t		inlined;

	if (!lw_take_bytes(cursor, LW_SHA256_SIZE, &sum) || !lw_take_string(cursor, &ref->uri) ||
		!lw_take_u64(cursor, &ref->size) || !lw_take_u8(cursor, &inlined))
		return lw_section_malformed(error, LW_SECTION_BLOB_REFS, "whole references",
									"one that runs past the end");
	if (lw_check_utf8(ref->uri, "a uri in UTF-8", error) != LW_OK)
		return lw_section_of(error, LW_SECTION_BLOB_REFS);
	if (inlined > 1)
		return lw_section_malformed(error, LW_SECTION_BLOB_REFS, "0 or 1 for inlined", "another value");
	memcpy(ref->sha256, sum.data, LW_SHA256_SIZE);
	ref->inlined = inlined == 1;
	return LW_OK;
}

LwStatus
lw_blobs_load(LwSectionFile *file, LwError *error)
{
	LwSectionParts *parts = file->parts;
	LwBytes		payload;
	LwCursor	cursor;
	void	   *memory;
	size_t		count;
	size_t		i;
	LwStatus	status;

	if (parts->blobs_known)
		return LW_OK;
	if (lw_section_find(file, LW_SECTION_BLOB_REFS) == NULL)
	{
		parts->blobs_known = true;
		return LW_OK;
	}
	status = lw_section_payload(file, LW_SECTION_BLOB_REFS, &payload, error);
	if (status != LW_OK)
		return status;
	cursor = lw_cursor(payload);
	status = take_header(&cursor, LW_SECTION_BLOB_REFS, MIN_REF, &count, error);
	if (status == LW_OK)
		status = lw_section_alloc(file, count, sizeof(LwBlobRef), &memory, error);
	if (status != LW_OK)
		return status;
	for (i = 0; status == LW_OK && i < count; i++)
		status = take_ref(&cursor, (LwBlobRef *) memory + i, error);
	if (status == LW_OK && lw_cursor_left(&cursor) != 0)
		status = lw_section_malformed(error, LW_SECTION_BLOB_REFS, "nothing behind the references", "more bytes");
	if (status != LW_OK)
	{
		lw_section_free(file, memory, count * sizeof(LwBlobRef));
		return status;
	}
	parts->blobs = memory;
	parts->nblobs = count;
	parts->blobs_known = true;
	return LW_OK;
}

/* A blob's bytes in those of 0x17, which may have changed since they were checked. */
static LwStatus
data_range(LwBytes payload, size_t blob, LwBytes *data, LwError *error)
{
	LwCursor	cursor = lw_cursor(payload);
	size_t		count;
	uint64_t	offset;
	uint64_t	size;
	LwStatus	status = take_header(&cursor, LW_SECTION_BLOB_DATA, RANGE, &count, error);

	if (status != LW_OK)
		return status;
	data->data = payload.data + HEADER + count * RANGE;
	data->size = payload.size - HEADER - count * RANGE;
	cursor.at += blob * RANGE;
	if (blob >= count || !lw_take_u64(&cursor, &offset) || !lw_take_u64(&cursor, &size) ||
		offset > data->size || size > data->size - offset)
		return lw_section_malformed(error, LW_SECTION_BLOB_DATA, "blobs within the section", "one outside it");
	data->data += offset;
	data->size = (size_t) size;
	return LW_OK;
}

LwStatus
lw_blob_data_check(LwSectionFile *file, LwBytes *stored, size_t *count, LwError *error)
{
	LwBytes		data;
	LwCursor	cursor;
	size_t		i;
	LwStatus	status = lw_section_stored(file, LW_SECTION_BLOB_DATA, stored, error);

	if (status != LW_OK)
		return status;
	cursor = lw_cursor(*stored);
	status = take_header(&cursor, LW_SECTION_BLOB_DATA, RANGE, count, error);
	for (i = 0; status == LW_OK && i < *count; i++)
		status = data_range(*stored, i, &data, error);
	return status;
}

LwStatus
lw_blob_count(LwSectionFile *file, size_t *count, LwError *error)
{
	if (lw_blobs_load(file, error) != LW_OK)
		return lw_section_failed(file, error);
	*count = file->parts->nblobs;
	return LW_OK;
}

LwStatus
lw_blob_ref(LwSectionFile *file, size_t blob, LwBlobRef *ref, LwError *error)
{
	if (lw_blobs_load(file, error) != LW_OK)
		return lw_section_failed(file, error);
	if (blob >= file->parts->nblobs)
	{
		lw_fail(error, LW_NOT_FOUND, "BlobNotFound", -1, "a blob of the file", "number %zu of %zu", blob,
				file->parts->nblobs);
		return lw_section_failed(file, error);
	}
	*ref = file->parts->blobs[blob];
	return LW_OK;
}

static LwStatus
read_data(LwSectionFile *file, size_t blob, LwBytes *data, LwError *error)
{
	const LwSectionEntry *entry = lw_section_find(file, LW_SECTION_BLOB_DATA);
	LwBytes		stored;
	LwStatus	status = lw_blobs_load(file, error);

	if (status != LW_OK)
		return status;
	if (entry == NULL || blob >= file->parts->nblobs || !file->parts->blobs[blob].inlined)
		return lw_fail(error, LW_NOT_FOUND, "BlobNotInlined", -1, "a blob that is in the file", "number %zu", blob);
	if (entry->encoding != LW_ENCODING_RAW)
		return lw_section_malformed(error, LW_SECTION_BLOB_DATA, "raw bytes", "an encoding");
	status = lw_section_stored(file, LW_SECTION_BLOB_DATA, &stored, error);
	return status == LW_OK ? data_range(stored, blob, data, error) : status;
}

LwStatus
lw_blob_data(LwSectionFile *file, size_t blob, LwBytes *data, LwError *error)
{
	return read_data(file, blob, data, error) == LW_OK ? LW_OK : lw_section_failed(file, error);
}

LwStatus
lw_blob_compare(const LwSectionFile *file, LwBytes stored, size_t blob, LwError *error)
{
	uint8_t		sum[LW_SHA256_SIZE];
	LwBytes		data;
	LwStatus	status = data_range(stored, blob, &data, error);

	if (status == LW_OK)
		status = lw_section_sum(file, data, sum, error);
	if (status == LW_OK && memcmp(sum, file->parts->blobs[blob].sha256, LW_SHA256_SIZE) != 0)
		return lw_fail(error, LW_MALFORMED, "BlobHashMismatch", -1, "the bytes that its reference names",
					   "others in blob %zu", blob);
	return status;
}

LwStatus
lw_blob_verify(LwSectionFile *file, size_t blob, LwError *error)
{
	LwBytes		data;
	LwBytes		stored;
	LwStatus	status = read_data(file, blob, &data, error);

	if (status == LW_OK)
		status = lw_section_stored(file, LW_SECTION_BLOB_DATA, &stored, error);
	if (status == LW_OK)
		status = lw_blob_compare(file, stored, blob, error);
	return status == LW_OK ? LW_OK : lw_section_failed(file, error);
}
