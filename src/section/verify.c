/*-------------------------------------------------------------------------
 *
 * verify.c
 *	  All checks of a section file, in the reference's order.
 *
 *-------------------------------------------------------------------------
 */
#include "section/verify.h"

#include <stdio.h>
#include <string.h>

#include "section/parts.h"

static void
passed(const LwVerify *how, const char *check, const char *detail)
{
	if (how->report != NULL)
		how->report->passed(how->report->arg, check, detail);
}

static void
passed_count(const LwVerify *how, const char *check, size_t count)
{
	char		detail[32];

	snprintf(detail, sizeof(detail), "%zu", count);
	passed(how, check, detail);
}

/* What every opening of the reference checks. */
static LwStatus
verify_container(LwSectionFile *file, const LwVerify *how, LwError *error)
{
	LwStatus	status = lw_section_structure(file, LW_STRUCTURE_SUMS, error);

	if (status == LW_OK)
		status = lw_spaces_load(file, error);
	if (status == LW_OK)
		status = lw_section_contract(file, error);
	if (status != LW_OK)
		return status;
	passed(how, "header checksum", "");
	passed_count(how, "section checksums", file->nentries);
	passed(how, "footer hash", "");
	passed(how, "manifest", "");
	passed(how, "required sections", "");
	return LW_OK;
}

static LwStatus
verify_vectors(LwSectionFile *file, const LwVerify *how, LwError *error)
{
	LwVectorSlab slab;
	LwStatus	status = lw_section_vectors(file, &slab, error);

	if (status == LW_OK)
		passed(how, "embedding values", lw_vector_type_name(slab.type));
	return status;
}

/* Compares the inlined blobs with their hashes, whatever flags and encodings say. */
static LwStatus
verify_blobs(LwSectionFile *file, const LwVerify *how, LwError *error)
{
	size_t		verified = 0;
	size_t		i;
	size_t		count;
	LwBytes		refs;
	LwBytes		stored;
	LwStatus	status;

	if (lw_section_find(file, LW_SECTION_BLOB_DATA) == NULL)
		return LW_OK;
	status = lw_section_payload(file, LW_SECTION_BLOB_REFS, &refs, error);
	if (status == LW_OK)
		status = lw_blobs_load(file, error);
	if (status == LW_OK)
		status = lw_blob_data_check(file, &stored, &count, error);
	if (status == LW_OK && count != file->parts->nblobs)
		return lw_fail(error, LW_MALFORMED, "BlobCountMismatch", -1, "bytes or a gap for each blob",
					   "%zu for %zu", count, file->parts->nblobs);
	for (i = 0; status == LW_OK && i < file->parts->nblobs; i++)
	{
		if (!file->parts->blobs[i].inlined)
			continue;
		status = lw_blob_compare(file, stored, i, error);
		verified++;
	}
	if (status == LW_OK)
		passed_count(how, "inlined blobs", verified);
	return status;
}

static LwStatus
verify_lists(LwSectionFile *file, const LwVerify *how, LwError *error)
{
	LwVectorSlab slab;
	LwStatus	status = LW_OK;

	if (lw_section_find(file, LW_SECTION_EMBEDDINGS_FP) != NULL)
	{
		status = lw_section_rerank_vectors(file, &slab, error);
		if (status == LW_OK)
			passed(how, "full-precision values", lw_vector_type_name(slab.type));
	}
	if (status == LW_OK)
		status = lw_ids_load(file, error);
	if (status == LW_OK)
		status = lw_spans_load(file, error);
	if (status == LW_OK)
		status = lw_section_rows_check(file, error);
	if (status == LW_OK)
		passed_count(how, "chunk ids and spans", file->rows);
	return status;
}

/* An index: its payload, if there is one and somebody knows it. */
static LwStatus
verify_index(LwSectionFile *file, const LwVerify *how, uint32_t id, const char *what,
			 LwStatus (*check) (LwBytes payload, uint64_t rows, LwError *error), LwError *error)
{
	LwBytes		payload;
	LwStatus	status;

	if (lw_section_find(file, id) == NULL)
		return LW_OK;
	status = lw_section_payload(file, id, &payload, error);
	if (status != LW_OK || check == NULL)
		return status;
	status = check(payload, file->rows, error);
	if (status == LW_OK)
		passed(how, what, "");
	return status;
}

static LwStatus
verify_indexes(LwSectionFile *file, const LwVerify *how, LwError *error)
{
	const LwSectionChecks none = {NULL, NULL, NULL};
	const LwSectionChecks *checks = how->checks != NULL ? how->checks : &none;
	LwStatus	status;

	status = verify_index(file, how, LW_SECTION_HNSW, "hnsw_index", checks->hnsw, error);
	if (status == LW_OK)
		status = verify_index(file, how, LW_SECTION_BM25, "bm25_index", checks->bm25, error);
	if (status == LW_OK && file->manifest.graph_present)
		status = verify_index(file, how, LW_SECTION_GRAPH, "graph_adjacency", checks->graph, error);
	return status;
}

static LwStatus
verify_media(LwSectionFile *file, const LwVerify *how, LwError *error)
{
	const LwSectionEntry *data = lw_section_find(file, LW_SECTION_BLOB_DATA);
	LwBytes		stored;
	size_t		count;
	LwStatus	status;

	if (!file->manifest.blobs_present)
		return LW_OK;
	status = lw_blobs_load(file, error);
	if (status == LW_OK)
		status = lw_overlay_load(file, error);
	if (status == LW_OK && data != NULL && lw_section_find(file, LW_SECTION_BLOB_REFS) != NULL)
	{
		if (data->encoding != LW_ENCODING_RAW)
			return lw_section_malformed(error, LW_SECTION_BLOB_DATA, "raw bytes", "an encoding");
		status = lw_blob_data_check(file, &stored, &count, error);
		if (status == LW_OK && count != file->parts->nblobs)
			return lw_section_malformed(error, LW_SECTION_BLOB_DATA, "an entry for each blob", "another number");
	}
	if (status == LW_OK)
		passed_count(how, "blob references", file->parts->nblobs);
	return status;
}

static LwStatus
verify_spaces(LwSectionFile *file, const LwVerify *how, LwError *error)
{
	LwVectorSlab slab;
	size_t		i;
	LwStatus	status = LW_OK;

	if (!file->manifest.supports_multimodal || file->parts->nspaces == 0)
		return LW_OK;
	for (i = 0; status == LW_OK && i < file->parts->nspaces; i++)
		status = lw_section_space_vectors(file, &file->parts->spaces[i], &slab, error);
	if (status == LW_OK)
		passed_count(how, "space values", file->parts->nspaces);
	return status;
}

static LwStatus
verify_hashes(LwSectionFile *file, const LwVerify *how, LwError *error)
{
	char		file_hash[LW_TEXT_HASH_SIZE + 1];
	char		content_hash[LW_TEXT_HASH_SIZE + 1];
	LwStatus	status = lw_section_file_hash(file, file_hash, error);

	if (status == LW_OK)
		status = lw_section_content_hash(file, content_hash, error);
	if (status != LW_OK)
		return status;
	passed(how, "file hash", file_hash);
	passed(how, "content hash", content_hash);
	return LW_OK;
}

static LwStatus
verify(LwSectionFile *file, const LwVerify *how, LwError *error)
{
	LwStatus	status = verify_container(file, how, error);

	if (status == LW_OK)
		status = verify_vectors(file, how, error);
	if (how->level == LW_VERIFY_CONTAINER)
	{
		if (status == LW_OK)
			status = verify_blobs(file, how, error);
	}
	else
	{
		if (status == LW_OK)
			status = verify_lists(file, how, error);
		if (status == LW_OK)
			status = verify_indexes(file, how, error);
		if (status == LW_OK)
			status = verify_media(file, how, error);
		if (status == LW_OK)
			status = verify_spaces(file, how, error);
	}
	return status == LW_OK ? verify_hashes(file, how, error) : status;
}

/* Verifies a file that has just been mapped. */
static LwStatus
verify_mapped(LwBytes bytes, LwMap *map, const LwVerify *how, LwSectionFile **result, LwError *error)
{
	LwSectionFile *file;
	LwStatus	status = lw_section_begin(bytes, map, how->memory, &file, error);

	if (status != LW_OK)
		return status;
	lw_section_stop(file, how->stop);
	status = verify(file, how, error);
	if (status == LW_OK)
		status = lw_section_intact(file, error);
	if (status != LW_OK)
	{
		status = lw_section_failed(file, error);
		lw_section_close(file);
		return status;
	}
	*result = file;
	return LW_OK;
}

LwStatus
lw_section_verify(int dirfd, const char *directory, const char *name, const LwVerify *how,
				  LwSectionFile **file, struct stat *status, LwError *error)
{
	LwMap	   *map;
	LwBytes		bytes;
	LwStatus	failure = lw_map_open(dirfd, directory, name, &map, status, NULL, error);

	if (failure != LW_OK)
		return failure;
	bytes.data = (const uint8_t *) map->data;
	bytes.size = map->size;
	return verify_mapped(bytes, map, how, file, error);
}

LwStatus
lw_section_verify_bytes(LwBytes bytes, const LwVerify *how, LwSectionFile **file, LwError *error)
{
	return verify_mapped(bytes, NULL, how, file, error);
}
