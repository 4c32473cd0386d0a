/*-------------------------------------------------------------------------
 *
 * section_search.c
 *	  The indexes of section files, opened when they are first asked for.
 *
 * They belong to the file's handle, and live as long.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "server/error.h"
#include "server/section_search.h"

/* The payload of an index; false when the file has none. */
static bool
get_payload(LwSection *section, uint32 id, LwBytes *payload)
{
	LwError		error;

	if (lw_section_find(section->file, id) == NULL)
		return false;
	lw_error_path(&error, NULL, section->path);
	if (lw_section_payload(section->file, id, payload, &error) != LW_OK)
		lw_report(ERROR, &error);
	return true;
}

const LwGraph *
lw_section_graph(LwSection *section)
{
	LwBytes		payload;
	LwError		error;

	lw_error_path(&error, NULL, section->path);
	if (section->graph == NULL && section->file->manifest.graph_present &&
		get_payload(section, LW_SECTION_GRAPH, &payload) &&
		lw_graph_open(payload, section->file->rows, LW_SECTION_MEMORY, &section->graph, &error) != LW_OK)
		lw_report(ERROR, &error);
	return section->graph;
}

static LwHnswSearch *
get_hnsw(LwSection *section)
{
	LwBytes		payload;
	LwError		error;

	lw_error_path(&error, NULL, section->path);
	if (section->hnsw == NULL && get_payload(section, LW_SECTION_HNSW, &payload) &&
		lw_hnsw_open(payload, section->file->rows, LW_SECTION_MEMORY, &section->hnsw, &error) != LW_OK)
		lw_report(ERROR, &error);
	if (section->hnsw != NULL && section->hnsw_search == NULL &&
		lw_hnsw_search_new(section->hnsw, &section->hnsw_search, &error) != LW_OK)
		lw_report(ERROR, &error);
	return section->hnsw_search;
}

static LwBm25 *
get_bm25(LwSection *section)
{
	LwBytes		payload;
	LwError		error;

	lw_error_path(&error, NULL, section->path);
	if (section->bm25 == NULL && get_payload(section, LW_SECTION_BM25, &payload) &&
		lw_bm25_open(payload, section->file->rows, LW_SECTION_MEMORY, &section->bm25, &error) != LW_OK)
		lw_report(ERROR, &error);
	return section->bm25;
}

void
lw_section_search(LwSection *section, const LwSectionVectors *vectors,
				  const LwSearchRequest *request, LwSearchResult *result)
{
	LwSearchMethod method = request->method;
	LwSearchSource source = {0};
	LwError		error;

	lw_error_path(&error, NULL, section->path);
	source.rerank = vectors->slab;
	source.is_space = vectors->space != NULL;
	if (source.is_space)
		source.walked = vectors->slab;
	else
	{
		/* only what the method needs is opened */
		lw_choose_stored(section, NULL, &source.walked);
		if (method == LW_SEARCH_AUTO || method == LW_SEARCH_HYBRID)
			source.bm25 = get_bm25(section);
		if (method == LW_SEARCH_AUTO || method == LW_SEARCH_HYBRID || method == LW_SEARCH_ANN)
			source.hnsw = get_hnsw(section);
		if (method == LW_SEARCH_GRAPH)
			source.graph = lw_section_graph(section);
	}
	if (section->search == NULL && lw_search_new(&section->search, &error) != LW_OK)
		lw_report(ERROR, &error);
	if (lw_search(section->search, &source, request, result, &error) != LW_OK)
		lw_report(ERROR, &error);
	lw_section_check_faults(section);
}

void
lw_section_close_indexes(LwSection *section)
{
	if (section->search != NULL)
		lw_search_free(section->search);
	if (section->hnsw_search != NULL)
		lw_hnsw_search_free(section->hnsw_search);
	if (section->hnsw != NULL)
		lw_hnsw_close(section->hnsw);
	if (section->bm25 != NULL)
		lw_bm25_close(section->bm25);
	if (section->graph != NULL)
		lw_graph_close(section->graph);
}
