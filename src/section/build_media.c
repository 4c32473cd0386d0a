/*-------------------------------------------------------------------------
 *
 * build_media.c
 *	  Blobs and spaces of a section file that is built: 0x14 to 0x17, bands.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "format/utf8.h"
#include "section/build_state.h"
#include "section/lists.h"
#include "section/slab.h"

LwStatus
lw_build_add_blob(LwBuild *build, LwBytes uri, const uint8_t *sha256, uint64_t size, const LwBytes *data,
				  LwError *error)
{
	uint8_t		sum[LW_SHA256_SIZE];
	LwSha256	hash;
	LwStatus	status = LW_OK;

	if (lw_utf8_valid((const char *) uri.data, uri.size) < uri.size)
		return lw_fail(error, LW_INVALID, "InvalidInput", -1, "the uri of a blob in UTF-8", "other bytes");
	if (build->nblobs == LW_NO_BLOB - 1)
		return lw_fail(error, LW_LIMIT, NULL, -1, "fewer than 2^32 blobs", "more");
	if (data != NULL)
	{
		lw_sha256_begin(&hash);
		lw_sha256_add(&hash, data->data, data->size);
		status = lw_sha256_sum(&hash, sum, error);
		if (status == LW_OK && sha256 != NULL && memcmp(sum, sha256, sizeof(sum)) != 0)
			return lw_fail(error, LW_INVALID, "BlobHashMismatch", -1, "the hash of the blob's bytes",
						   "another one for blob %u", build->nblobs);
		if (status == LW_OK)
			status = lw_spill_put(&build->spill, data->data, data->size, error);
		if (status != LW_OK)
			return status;
		sha256 = sum;
		size = data->size;
	}
	lw_put_bytes(&build->blob_refs, sha256, LW_SHA256_SIZE);
	lw_put_string(&build->blob_refs, uri);
	lw_put_u64(&build->blob_refs, size);
	lw_put_u8(&build->blob_refs, data != NULL);
	lw_put_u64(&build->blob_table, data != NULL ? build->blob_bytes : 0);
	lw_put_u64(&build->blob_table, data != NULL ? data->size : 0);
	if (data != NULL)
		build->blob_bytes += data->size;
	build->ninlined += data != NULL;
	build->nblobs++;
	status = lw_buffer_status(&build->blob_refs, error);
	return status == LW_OK ? lw_buffer_status(&build->blob_table, error) : status;
}

void
lw_build_blob_spans(LwBuild *build)
{
	build->blob_spans = true;
}

LwStatus
lw_build_put_overlay(LwBuild *build, const LwBuildRow *row, LwError *error)
{
	if (row->blob != LW_NO_BLOB && row->blob >= build->nblobs)
		return lw_fail(error, LW_INVALID, "InvalidInput", -1, "the number of a blob", "%u of %u",
					   row->blob, build->nblobs);
	lw_put_u32(&build->overlay, row->blob);
	lw_put_u64(&build->overlay, row->blob_start);
	lw_put_u64(&build->overlay, row->blob_end);
	return lw_buffer_status(&build->overlay, error);
}

/* Adds a list whose records lie in `records`. */
static LwPart *
put_list(LwBuild *build, uint32_t id, uint64_t count, const LwBuffer *records)
{
	LwBuffer	list;

	lw_buffer_init(&list, 0);
	lw_put_list_header(&list, (size_t) count);
	lw_put_bytes(&list, records->data, records->size);
	list.failed |= records->failed;
	return lw_build_part(build, id, LW_ENCODING_RAW, &list);
}

static void
put_blobs(LwBuild *build)
{
	LwPart	   *data;

	put_list(build, LW_SECTION_BLOB_REFS, build->nblobs, &build->blob_refs);
	if (build->blob_spans)
		put_list(build, LW_SECTION_OVERLAY, build->rows, &build->overlay);
	if (build->ninlined == 0)
		return;
	data = put_list(build, LW_SECTION_BLOB_DATA, build->nblobs, &build->blob_table);
	data->spill = &build->spill;
	data->length = build->blob_bytes;
}

/* The rows of a space. */
static LwSpilledRows
space_rows(const LwBuild *build, size_t space)
{
	LwSpilledRows rows = {
		&build->spill, build->rows_offset + build->manifest.embedding_dim * sizeof(float), build->stride,
		build->rows, build->space_dimensions[space], build->options->spaces[space].type
	};
	size_t		i;

	for (i = 0; i < space; i++)
		rows.offset += build->space_dimensions[i] * sizeof(float);
	return rows;
}

static void
put_spaces(LwBuild *build)
{
	const LwBuildOptions *options = build->options;
	LwBuffer	records;
	size_t		i;

	lw_buffer_init(&records, 0);
	for (i = 0; i < options->nspaces; i++)
	{
		const LwBuildSpace *space = &options->spaces[i];

		lw_put_u8(&records, (uint8_t) (i + 1));
		lw_put_string(&records, space->name);
		lw_put_u32(&records, build->space_dimensions[i]);
		lw_put_u8(&records, (uint8_t) space->type);
		lw_put_string(&records, space->model_hash);
		lw_put_u64(&records, build->rows);
	}
	put_list(build, LW_SECTION_SPACES, options->nspaces, &records);
	lw_buffer_free(&records);
}

void
lw_build_media(LwBuild *build)
{
	const LwBuildOptions *options = build->options;
	LwBuffer	nothing;
	size_t		i;

	if (build->manifest.blobs_present)
		put_blobs(build);
	if (options->has_spaces)
		put_spaces(build);
	for (i = 0; i < options->nspaces; i++)
	{
		LwPart	   *band;

		lw_buffer_init(&nothing, 0);
		band = lw_build_part(build, (uint32_t) (LW_SECTION_BANDS + 1 + i), lw_vector_encoding(options->spaces[i].type),
							 &nothing);
		band->rows = space_rows(build, i);
	}
}
