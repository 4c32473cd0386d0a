/*-------------------------------------------------------------------------
 *
 * search.c
 *	  The searches of section files: finding candidates, scoring them.
 *
 * The reference fuses the lists of a hybrid search by reciprocal rank, then
 * scores every row of any list.  So only their union matters.
 *
 *-------------------------------------------------------------------------
 */
#include "section/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "section/rank.h"

#define BLOCK 256				/* rows scored at once */
#define GRAPH_CAP 8				/* candidates a seed */
#define QUERY_ALIGNMENT 64

struct LwSearch
{
	void	   *memory;			/* of the packed query */
	size_t		memory_size;
	LwVectorQuery *query;
	float	   *unit;			/* the query divided by its norm */
	size_t		unit_room;
	LwVectorHit *hits;
	size_t		hits_room;
	uint32_t   *rows;			/* candidates, or seeds of the graph */
	size_t		rows_room;
	uint64_t   *keys;			/* of the best candidates */
	size_t		keys_room;
	uint8_t    *seen;			/* a bit a row */
	size_t		seen_room;
	LwGraphVisit *visits;
	size_t		visits_room;
};

const char *
lw_search_route_name(LwSearchRoute route)
{
	static const char *const names[] = {"exact", "hnsw", "hybrid", "graph", "space"};

	return names[route];
}

const char *
lw_search_rerank_source(const LwSearchResult *result)
{
	return result->full_precision ? "full_precision" : "stored_precision";
}

LwStatus
lw_search_new(LwSearch **search, LwError *error)
{
	*search = calloc(1, sizeof(**search));
	return *search == NULL ? lw_no_memory(error) : LW_OK;
}

void
lw_search_free(LwSearch *search)
{
	if (search == NULL)
		return;
	free(search->memory);
	free(search->unit);
	free(search->hits);
	free(search->rows);
	free(search->keys);
	free(search->seen);
	free(search->visits);
	free(search);
}

/* Room for `need` elements, whose old values may be lost. */
static LwStatus
make_room(void **array, size_t *room, size_t need, size_t element, LwError *error)
{
	if (need <= *room)
		return LW_OK;
	free(*array);
	*room = 0;
	*array = need > SIZE_MAX / element ? NULL : malloc(need * element);
	if (*array == NULL)
		return lw_no_memory(error);
	*room = need;
	return LW_OK;
}

#define ROOM(array, room, need) make_room((void **) &(array), &(room), need, sizeof(*(array)), error)

static LwStatus
invalid(LwError *error, const char *name, const char *expected, const char *found)
{
	return lw_fail(error, LW_INVALID, name, -1, expected, "%s", found);
}

/* Checks the query, in the reference's order, and divides it by its norm. */
static LwStatus
prepare_query(LwSearch *search, const LwSearchSource *source, const LwSearchRequest *request, LwError *error)
{
	uint32_t	dimension = source->rerank.dimension;
	size_t		size = lw_vector_query_size(dimension);
	float		sum = 0.0f;
	float		norm;
	LwStatus	status;
	size_t		i;

	if (request->k <= 0)
		return lw_fail(error, LW_INVALID, "InvalidK", -1, "a k above 0", "%d", (int) request->k);
	if (request->nvalues == 0)
		return invalid(error, "EmptyQuery", "a query with components", "none");
	if (request->nvalues != dimension)
		return lw_fail(error, LW_INVALID, "DimensionMismatch", -1, "a query of the rows' dimension",
					   "%zu, not %u", request->nvalues, (unsigned) dimension);
	for (i = 0; i < dimension; i++)
		if (!isfinite(request->values[i]))
			return invalid(error, "InvalidQueryValue", "finite components of the query", "NaN or an infinity");
	for (i = 0; i < dimension; i++)
		sum += request->values[i] * request->values[i];
	norm = sqrtf(sum);
	if (norm == 0.0f)
		return invalid(error, "ZeroNormQuery", "a query with a norm above 0", "0");
	status = ROOM(search->unit, search->unit_room, dimension);
	if (status != LW_OK)
		return status;
	for (i = 0; i < dimension; i++)
		search->unit[i] = request->values[i] / norm;
	if (size > search->memory_size)
	{
		free(search->memory);
		search->memory_size = 0;
		search->memory = NULL;
		if (posix_memalign(&search->memory, QUERY_ALIGNMENT, size) != 0)
			return lw_no_memory(error);
		search->memory_size = size;
	}
	if (size == 0)
		return lw_no_memory(error);
	search->query = lw_vector_query_init(search->memory, search->unit, dimension);
	return LW_OK;
}

/* The best `k` of all rows, in search->hits. */
static LwStatus
find_nearest(LwSearch *search, const LwVectorSlab *slab, size_t k, size_t *count, LwSearchResult *result, LwError *error)
{
	LwNearest	nearest;
	LwStatus	status;

	if (k > slab->rows)
		k = slab->rows;
	status = ROOM(search->hits, search->hits_room, k);
	if (status != LW_OK)
		return status;
	lw_nearest_begin(&nearest, search->hits, k);
	lw_nearest_scan(&nearest, search->query, slab, 0, slab->rows);
	*count = lw_nearest_finish(&nearest);
	result->scored += slab->rows;
	return LW_OK;
}

/* Scores candidates; the best `k` of them are the result's hits. */
static LwStatus
rerank(LwSearch *search, const LwVectorSlab *slab, size_t candidates, size_t k,
	   LwSearchResult *result, LwError *error)
{
	size_t		limit = k < candidates ? k : candidates;
	size_t		count = 0;
	size_t		done;
	size_t		i;
	LwStatus	status = ROOM(search->keys, search->keys_room, limit);

	if (status == LW_OK)
		status = ROOM(search->hits, search->hits_room, limit);
	if (status != LW_OK)
		return status;
	for (done = 0; done < candidates; done += BLOCK)
	{
		size_t		block = candidates - done < BLOCK ? candidates - done : BLOCK;
		size_t		rows[BLOCK];
		float		scores[BLOCK];

		for (i = 0; i < block; i++)
			rows[i] = search->rows[done + i];
		lw_vectors_score_rows(search->query, slab, rows, block, scores);
		for (i = 0; i < block; i++)
			lw_rank_offer(search->keys, &count, limit, lw_rank_descending(scores[i], search->rows[done + i]));
	}
	result->scored += candidates;
	lw_rank_sort(search->keys, count);
	for (i = 0; i < count; i++)
		search->hits[i] = (LwVectorHit) {lw_rank_row(search->keys[i]), -lw_rank_value(search->keys[i])};
	result->hits = search->hits;
	result->count = count;
	return LW_OK;
}

static LwStatus
search_exact(LwSearch *search, const LwSearchSource *source, size_t k, LwSearchResult *result, LwError *error)
{
	result->index_type = source->is_space ? LW_ROUTE_SPACE : LW_ROUTE_EXACT;
	result->route = LW_ROUTE_EXACT;
	result->reranked = false;
	result->recall = 1.0f;
	result->exact_candidates = source->rerank.rows;
	result->hits = NULL;
	if (source->rerank.rows > 0)
	{
		LwStatus	status = find_nearest(search, &source->rerank, k, &result->count, result, error);

		if (status != LW_OK)
			return status;
		result->hits = search->hits;
	}
	return LW_OK;
}

/* Begins a list of candidates, at most one for each row. */
static LwStatus
begin_candidates(LwSearch *search, size_t rows, LwError *error)
{
	LwStatus	status = ROOM(search->rows, search->rows_room, rows);

	if (status == LW_OK)
		status = ROOM(search->seen, search->seen_room, rows / 8 + 1);
	if (status == LW_OK)
		memset(search->seen, 0, rows / 8 + 1);
	return status;
}

/* Adds a row to the candidates unless it is among them; returns how many there are. */
static inline size_t
add_candidate(LwSearch *search, size_t count, uint32_t row)
{
	uint8_t		bit = (uint8_t) (1 << row % 8);

	if ((search->seen[row / 8] & bit) != 0)
		return count;
	search->seen[row / 8] |= bit;
	search->rows[count] = row;
	return count + 1;
}

/* Adds the beam of an HNSW search to the candidates. */
static LwStatus
add_ann(LwSearch *search, const LwSearchSource *source, size_t ef, size_t k, size_t *count,
		LwSearchResult *result, LwError *error)
{
	const LwNeighbour *found;
	LwStatus	status;
	size_t		i;

	status = lw_hnsw_search(source->hnsw, &source->walked, search->unit, ef > k ? ef : k, &found,
							&result->ann_candidates, error);
	for (i = 0; status == LW_OK && i < result->ann_candidates; i++)
		*count = add_candidate(search, *count, found[i].row);
	return status;
}

static LwStatus
search_ann(LwSearch *search, const LwSearchSource *source, size_t ef, size_t k,
		   LwSearchResult *result, LwError *error)
{
	size_t		count = 0;
	LwStatus	status = begin_candidates(search, source->rerank.rows, error);

	result->index_type = result->route = LW_ROUTE_HNSW;
	if (status == LW_OK)
		status = add_ann(search, source, ef, k, &count, result, error);
	if (status != LW_OK)
		return status;
	return rerank(search, &source->rerank, count, k, result, error);
}

static LwStatus
search_hybrid(LwSearch *search, const LwSearchSource *source, const LwSearchRequest *request,
			  LwSearchResult *result, LwError *error)
{
	size_t		k = (size_t) request->k;
	size_t		count = 0;
	const LwBm25Hit *hits;
	size_t		i;
	LwStatus	status = begin_candidates(search, source->rerank.rows, error);

	result->index_type = result->route = LW_ROUTE_HYBRID;
	result->fused = true;
	if (status == LW_OK && source->hnsw != NULL)
		status = add_ann(search, source, request->candidates, k, &count, result, error);
	else if (status == LW_OK && request->candidates > 0)
	{
		status = find_nearest(search, &source->rerank, request->candidates, &result->exact_candidates, result, error);
		for (i = 0; status == LW_OK && i < result->exact_candidates; i++)
			count = add_candidate(search, count, (uint32_t) search->hits[i].row);
	}
	if (status == LW_OK && source->bm25 != NULL)
	{
		status = lw_bm25_search(source->bm25, request->text, request->candidates, &hits,
								&result->bm25_candidates, error);
		for (i = 0; status == LW_OK && i < result->bm25_candidates; i++)
			count = add_candidate(search, count, hits[i].row);
	}
	if (status != LW_OK)
		return status;
	return rerank(search, &source->rerank, count, k, result, error);
}

static LwStatus
search_graph(LwSearch *search, const LwSearchSource *source, const LwSearchRequest *request,
			 LwSearchResult *result, LwError *error)
{
	size_t		rows = source->rerank.rows;
	size_t		k = (size_t) request->k;
	size_t		seeds;
	size_t		cap;
	size_t		i;
	LwStatus	status = begin_candidates(search, rows, error);

	result->index_type = result->route = LW_ROUTE_GRAPH;
	if (status == LW_OK)
		status = find_nearest(search, &source->rerank, request->ef > k ? request->ef : k, &seeds, result, error);
	if (status != LW_OK)
		return status;
	result->exact_candidates = seeds;
	cap = seeds <= rows / GRAPH_CAP ? seeds * GRAPH_CAP : rows;
	status = ROOM(search->visits, search->visits_room, cap);
	if (status != LW_OK)
		return status;
	for (i = 0; i < seeds; i++)
		search->rows[i] = (uint32_t) search->hits[i].row;
	result->graph_candidates = lw_graph_expand(source->graph, search->rows, seeds, request->hops, cap,
											   search->seen, search->visits);
	for (i = 0; i < result->graph_candidates; i++)
		search->rows[i] = search->visits[i].node;
	return rerank(search, &source->rerank, result->graph_candidates, k, result, error);
}

/* Whether a text has nothing but white space, by Unicode's property. */
static bool
is_blank(LwBytes text)
{
	static const char *const spaces[] = {
		"\t", "\n", "\v", "\f", "\r", " ", "\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80",
		"\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85",
		"\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
		"\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"
	};
	size_t		count = sizeof(spaces) / sizeof(spaces[0]);
	size_t		at = 0;

	while (at < text.size)
	{
		size_t		i;

		for (i = 0; i < count; i++)
		{
			size_t		size = strlen(spaces[i]);

			if (size <= text.size - at && memcmp(text.data + at, spaces[i], size) == 0)
				break;
		}
		if (i == count)
			return false;
		at += strlen(spaces[i]);
	}
	return true;
}

LwStatus
lw_search(LwSearch *search, const LwSearchSource *source, const LwSearchRequest *request,
		  LwSearchResult *result, LwError *error)
{
	LwSearchMethod method = request->method;
	size_t		ef = request->ef;
	size_t		k;
	LwStatus	status;

	memset(result, 0, sizeof(*result));
	if (source->is_space && method != LW_SEARCH_EXACT && method != LW_SEARCH_AUTO)
		return invalid(error, "InvalidInput", "the method exact for a space", "another one");
	status = prepare_query(search, source, request, error);
	if (status != LW_OK)
		return status;
	k = (size_t) request->k;
	result->truncated = k < source->rerank.rows;
	result->full_precision = source->rerank.type == LW_VECTOR_FLOAT32;
	result->reranked = true;
	result->recall = NAN;
	if (method == LW_SEARCH_AUTO)
	{
		ef = request->candidates;
		if (source->bm25 != NULL && !is_blank(request->text))
			method = LW_SEARCH_HYBRID;
		else
			method = LW_SEARCH_ANN;
	}
	if (method == LW_SEARCH_ANN && source->hnsw != NULL)
		return search_ann(search, source, ef, k, result, error);
	if (method == LW_SEARCH_HYBRID && source->rerank.rows <= UINT32_MAX)
		return search_hybrid(search, source, request, result, error);
	if (method == LW_SEARCH_GRAPH && source->graph != NULL)
		return search_graph(search, source, request, result, error);
	return search_exact(search, source, k, result, error);
}
