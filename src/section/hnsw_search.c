/*-------------------------------------------------------------------------
 *
 * hnsw_search.c
 *	  Searching an open HNSW index.
 *
 *-------------------------------------------------------------------------
 */
#include "section/hnsw_walk.h"

#include <stdlib.h>

#include "kernel/maxsim.h"
#include "section/rank.h"

struct LwHnswSearch
{
	const LwHnsw *hnsw;
	LwWalkGraph graph;
	LwWalk		walk;
	uint64_t   *keys;			/* of the results */
	size_t		room;
};

static const uint32_t *
neighbours(const void *graph, uint32_t node, uint32_t layer, size_t *count)
{
	return lw_hnsw_neighbours(graph, node, layer, count);
}

LwStatus
lw_hnsw_search_new(const LwHnsw *hnsw, LwHnswSearch **search, LwError *error)
{
	LwStatus	status;

	*search = calloc(1, sizeof(**search));
	if (*search == NULL)
		return lw_no_memory(error);
	(*search)->hnsw = hnsw;
	(*search)->graph = (LwWalkGraph) {hnsw, neighbours, hnsw->nodes};
	status = lw_walk_init(&(*search)->walk, &(*search)->graph, error);
	if (status != LW_OK)
	{
		lw_hnsw_search_free(*search);
		*search = NULL;
	}
	return status;
}

void
lw_hnsw_search_free(LwHnswSearch *search)
{
	if (search == NULL)
		return;
	lw_walk_free(&search->walk);
	free(search->keys);
	free(search);
}

/* Puts the results of the walk in order. */
static LwStatus
sort_results(LwHnswSearch *search, LwError *error)
{
	LwHeap	   *results = &search->walk.results;
	size_t		i;

	if (search->room < results->count)
	{
		uint64_t   *keys = realloc(search->keys, results->room * sizeof(*keys));

		if (keys == NULL)
			return lw_no_memory(error);
		search->keys = keys;
		search->room = results->room;
	}
	for (i = 0; i < results->count; i++)
		search->keys[i] = lw_rank_ascending(results->entries[i].distance, results->entries[i].row);
	lw_rank_sort(search->keys, results->count);
	for (i = 0; i < results->count; i++)
		results->entries[i] = (LwNeighbour) {lw_rank_value(search->keys[i]), lw_rank_row(search->keys[i])};
	return LW_OK;
}

LwStatus
lw_hnsw_search(LwHnswSearch *search, const LwVectorSlab *slab, const float *query, size_t ef,
			   const LwNeighbour **found, size_t *count, LwError *error)
{
	const LwHnsw *hnsw = search->hnsw;
	LwNeighbour at;
	LwStatus	status;
	uint32_t	layer;

	*found = NULL;
	*count = 0;
	if (hnsw->nodes == 0)
		return LW_OK;
	if (ef < hnsw->ef_construction)
		ef = hnsw->ef_construction;
	if (ef > hnsw->nodes)
		ef = hnsw->nodes;
	search->walk.pause = lw_maxsim_pause;
	at.row = hnsw->entry_point;
	at.distance = lw_walk_distance(query, slab, at.row);
	for (layer = hnsw->max_level; layer > 0; layer--)
		lw_walk_greedy(&search->walk, query, slab, layer, &at);
	status = lw_walk_layer(&search->walk, query, slab, 0, at, UINT32_MAX, ef, error);
	if (status == LW_OK)
		status = sort_results(search, error);
	if (status != LW_OK)
		return status;
	*found = search->walk.results.entries;
	*count = search->walk.results.count;
	return LW_OK;
}
