/*-------------------------------------------------------------------------
 *
 * indexes.c
 *	  Opening the indexes of a section file.
 *
 *-------------------------------------------------------------------------
 */
#include "section/indexes.h"

#include <string.h>

#include "section/fault.h"
#include "section/space.h"

const LwSectionChecks lw_index_checks = {lw_hnsw_check, lw_bm25_check, lw_graph_check};

void
lw_indexes_init(LwIndexes *indexes, LwSectionFile *file, size_t memory)
{
	memset(indexes, 0, sizeof(*indexes));
	indexes->file = file;
	indexes->memory = memory > 0 ? memory : LW_SECTION_MEMORY;
}

void
lw_indexes_free(LwIndexes *indexes)
{
	lw_hnsw_search_free(indexes->walk);
	lw_hnsw_close(indexes->hnsw);
	lw_bm25_close(indexes->bm25);
	lw_graph_close(indexes->graph);
	lw_indexes_init(indexes, indexes->file, indexes->memory);
}

/* Whether the file has an index that is not open yet; then its payload. */
static LwStatus
find_payload(LwIndexes *indexes, uint32_t id, bool open, LwBytes *payload, bool *found, LwError *error)
{
	*found = !open && lw_section_find(indexes->file, id) != NULL;
	return *found ? lw_section_payload(indexes->file, id, payload, error) : LW_OK;
}

LwStatus
lw_indexes_hnsw(LwIndexes *indexes, LwError *error)
{
	LwBytes		payload;
	bool		found;
	LwStatus	status;

	status = find_payload(indexes, LW_SECTION_HNSW, indexes->hnsw != NULL, &payload, &found, error);
	if (status != LW_OK || !found)
		return status;
	if (lw_hnsw_open(payload, indexes->file->rows, indexes->memory, &indexes->hnsw, error) != LW_OK)
		return lw_section_of(error, LW_SECTION_HNSW);
	indexes->memory -= lw_hnsw_memory(indexes->hnsw);
	status = lw_hnsw_search_new(indexes->hnsw, &indexes->walk, error);
	if (status != LW_OK)
	{
		indexes->memory += lw_hnsw_memory(indexes->hnsw);
		lw_hnsw_close(indexes->hnsw);
		indexes->hnsw = NULL;
	}
	return status;
}

LwStatus
lw_indexes_bm25(LwIndexes *indexes, LwError *error)
{
	LwBytes		payload;
	bool		found;
	LwStatus	status;

	status = find_payload(indexes, LW_SECTION_BM25, indexes->bm25 != NULL, &payload, &found, error);
	if (status != LW_OK || !found)
		return status;
	if (lw_bm25_open(payload, indexes->file->rows, indexes->memory, &indexes->bm25, error) != LW_OK)
		return lw_section_of(error, LW_SECTION_BM25);
	indexes->memory -= lw_bm25_memory(indexes->bm25);
	return LW_OK;
}

LwStatus
lw_indexes_graph(LwIndexes *indexes, LwError *error)
{
	LwBytes		payload;
	bool		found;
	LwStatus	status;

	if (!indexes->file->manifest.graph_present)
		return LW_OK;
	status = find_payload(indexes, LW_SECTION_GRAPH, indexes->graph != NULL, &payload, &found, error);
	if (status != LW_OK || !found)
		return status;
	if (lw_graph_open(payload, indexes->file->rows, indexes->memory, &indexes->graph, error) != LW_OK)
		return lw_section_of(error, LW_SECTION_GRAPH);
	indexes->memory -= lw_graph_memory(indexes->graph);
	return LW_OK;
}

LwStatus
lw_indexes_source(LwIndexes *indexes, LwSearchMethod method, LwSearchSource *source, LwError *error)
{
	bool		lexical = method == LW_SEARCH_AUTO || method == LW_SEARCH_HYBRID;
	LwStatus	status = LW_OK;

	memset(source, 0, sizeof(*source));
	status = lw_section_rerank_vectors(indexes->file, &source->rerank, error);
	if (status == LW_OK && (lexical || method == LW_SEARCH_ANN))
		status = lw_indexes_hnsw(indexes, error);
	if (status == LW_OK && lexical)
		status = lw_indexes_bm25(indexes, error);
	if (status == LW_OK && method == LW_SEARCH_GRAPH)
		status = lw_indexes_graph(indexes, error);
	if (status == LW_OK && indexes->walk != NULL)
		status = lw_section_vectors(indexes->file, &source->walked, error);
	source->hnsw = indexes->walk;
	source->bm25 = indexes->bm25;
	source->graph = indexes->graph;
	return status;
}

static bool
equal(LwBytes a, LwBytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

LwStatus
lw_indexes_space(LwIndexes *indexes, LwBytes name, LwBytes model_hash, LwSearchSource *source, LwError *error)
{
	const LwSpace *spaces = NULL;
	size_t		count = 0;
	size_t		i;
	LwStatus	status = LW_OK;

	memset(source, 0, sizeof(*source));
	source->is_space = true;
	if (indexes->file->manifest.supports_multimodal)
		status = lw_section_spaces(indexes->file, &spaces, &count, error);
	if (status != LW_OK)
		return status;
	for (i = 0; i < count && !equal(spaces[i].name, name);)
		i++;
	if (i == count)
		return lw_section_bad_string(error, LW_INVALID, "SpaceNotFound", "a space of the file", "the name", name);
	if (model_hash.data != NULL && !equal(spaces[i].model_hash, model_hash))
		return lw_section_bad_string(error, LW_INVALID, "SpaceModelMismatch", "the model_hash of the space",
									 "model_hash", model_hash);
	return lw_section_space_vectors(indexes->file, &spaces[i], &source->rerank, error);
}
