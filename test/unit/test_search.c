/*-------------------------------------------------------------------------
 *
 * test_search.c
 *	  Searches of golden section files, bit for bit as the reference's, and
 *	  indexes built from what those files were built from, byte for byte.
 *
 * Uses the golden files under $LATEWEAVE_GOLDEN.
 *
 *-------------------------------------------------------------------------
 */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "format/npy.h"
#include "kernel/maxsim.h"
#include "section/chunks.h"
#include "section/indexes.h"
#include "section/space.h"
#include "tree.h"
#include "unit.h"

static const char *current;		/* case, for messages */
static char directory[500];		/* of the golden files */
static LwSearch *search;
static int	searched;			/* searches of golden files */
static int	built;				/* indexes */

/* A file of the current case, by the ending of its name. */
static const char *
path_of(const char *ending)
{
	static char path[1000];

	snprintf(path, sizeof(path), "%s/%s%s", directory, current, ending);
	return path;
}

static LwBytes
bytes_of(const char *text)
{
	LwBytes		bytes = {(const uint8_t *) text, strlen(text)};

	return bytes;
}

#define GOOD(call) \
	do { \
		LwStatus	good_status = (call); \
		CHECK(good_status == LW_OK, "%s: %s: expected %s, found %s", current, \
			  error.name ? error.name : "", error.expected, error.found); \
		if (good_status != LW_OK) \
			exit(1); \
	} while (0)

/* The float32 rows of a .npy file of the current case. */
static float *
read_rows(const char *ending, size_t *rows, size_t *columns)
{
	size_t		size;
	char	   *data = read_file(path_of(ending), &size);
	float	   *values;
	LwNpy		npy;
	LwError		error;

	GOOD(lw_npy_parse(data, size, &npy, &error));
	CHECK(npy.type == LW_NPY_FLOAT32 && npy.axes == 2, "%s", current);
	*rows = (size_t) npy.shape[0];
	*columns = (size_t) npy.shape[1];
	values = tree_memory(*rows * *columns * sizeof(float));
	memcpy(values, data + npy.data_offset, *rows * *columns * sizeof(float));
	free(data);
	return values;
}

static float
from_hex(const char *text)
{
	uint32_t	bits = (uint32_t) strtoul(text, NULL, 16);
	float		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Compares hits with a list of [ordinal, ..., bits in hex]; an ordinal may be null. */
static void
check_hits(const LwSearchResult *result, const Tree *hits, const char *what)
{
	const Tree *hit = hits->first;
	size_t		i;

	CHECK(result->count == hits->count, "%s %s: %zu hits, not %zu", current, what, result->count, hits->count);
	for (i = 0; hit != NULL && i < result->count; i++, hit = hit->next)
	{
		const Tree *bits = hit->first;
		float		score;

		while (bits->next != NULL)
			bits = bits->next;
		score = from_hex(bits->text);
		CHECK(hit->first->type == LW_JSON_NULL || result->hits[i].row == strtoull(hit->first->text, NULL, 10),
			  "%s %s: hit %zu is row %zu, not %s", current, what, i, result->hits[i].row, hit->first->text);
		CHECK(memcmp(&score, &result->hits[i].score, sizeof(score)) == 0, "%s %s: hit %zu scores %.9g, not %.9g",
			  current, what, i, result->hits[i].score, score);
	}
}

/* Whether a result says of itself what the reference's tables say. */
static void
check_explained(const LwSearchResult *result, const LwSearchSource *source, LwSearchMethod method,
				const LwSearchRequest *request)
{
	size_t		rows = source->rerank.rows;
	size_t		all;
	size_t		found;

	CHECK(result->truncated == ((size_t) request->k < rows), "%s", current);
	CHECK(result->full_precision == (source->rerank.type == LW_VECTOR_FLOAT32), "%s", current);
	CHECK(strcmp(lw_search_rerank_source(result), result->full_precision ? "full_precision" : "stored_precision") == 0,
		  "%s", current);
	if (method == LW_SEARCH_ANN && source->hnsw != NULL)
	{
		CHECK(result->index_type == LW_ROUTE_HNSW && result->reranked && isnan(result->recall) && !result->fused,
			  "%s", current);
		CHECK(result->ann_candidates > 0 && result->exact_candidates + result->bm25_candidates +
			  result->graph_candidates == 0, "%s", current);
		CHECK(result->scored == result->ann_candidates, "%s", current);
	}
	else if (method == LW_SEARCH_HYBRID)
	{
		CHECK(result->index_type == LW_ROUTE_HYBRID && result->reranked && isnan(result->recall) && result->fused,
			  "%s", current);
		CHECK((result->ann_candidates > 0) == (source->hnsw != NULL) && result->graph_candidates == 0,
			  "%s", current);
		CHECK(result->exact_candidates == (source->hnsw != NULL ? 0 : request->candidates < rows ?
										   request->candidates : rows), "%s", current);
		CHECK(result->bm25_candidates <= request->candidates, "%s", current);
		/* a candidate that was found in two ways is scored once */
		all = source->hnsw == NULL && request->candidates > 0 ? rows : 0;
		found = result->exact_candidates + result->ann_candidates;
		CHECK(result->scored >= all + (found > result->bm25_candidates ? found : result->bm25_candidates) &&
			  result->scored <= all + found + result->bm25_candidates, "%s", current);
	}
	else if (method == LW_SEARCH_GRAPH && source->graph != NULL)
	{
		size_t		seeds = request->ef > (size_t) request->k ? request->ef : (size_t) request->k;

		CHECK(result->index_type == LW_ROUTE_GRAPH && result->reranked && isnan(result->recall) && !result->fused,
			  "%s", current);
		CHECK(result->exact_candidates == (seeds < rows ? seeds : rows), "%s", current);
		CHECK(result->graph_candidates >= result->exact_candidates &&
			  result->graph_candidates <= 8 * result->exact_candidates, "%s", current);
		CHECK(result->scored == rows + result->graph_candidates, "%s", current);
	}
	else
		CHECK(result->index_type == (source->is_space ? LW_ROUTE_SPACE : LW_ROUTE_EXACT) && !result->reranked &&
			  result->recall == 1.0f && result->exact_candidates == rows && result->scored == rows && !result->fused,
			  "%s", current);
	CHECK(strcmp(lw_search_route_name(result->route), source->is_space ? "exact" :
				 lw_search_route_name(result->index_type)) == 0, "%s", current);
}

static LwSearchMethod
method_of(const char *name)
{
	if (strcmp(name, "ann") == 0)
		return LW_SEARCH_ANN;
	if (strcmp(name, "hybrid") == 0)
		return LW_SEARCH_HYBRID;
	return strcmp(name, "graph") == 0 ? LW_SEARCH_GRAPH : LW_SEARCH_EXACT;
}

/* One search of the reference. */
static void
check_search(LwIndexes *indexes, const Tree *expected, const float *queries, size_t columns)
{
	const Tree *space = tree_find(expected, "space");
	LwSearchRequest request;
	LwSearchSource source;
	LwSearchResult result;
	LwError		error;
	float		values[4096];
	char		what[100];

	memset(&request, 0, sizeof(request));
	request.k = (int32_t) tree_number(expected, "k");
	if (space != NULL)
	{
		const Tree *value;
		LwBytes		none = {NULL, 0};

		request.method = LW_SEARCH_EXACT;
		for (value = tree_get(expected, "query_values")->first; value != NULL; value = value->next)
			values[request.nvalues++] = strtof(value->text, NULL);
		request.values = values;
		snprintf(what, sizeof(what), "space %s", space->text);
		GOOD(lw_indexes_space(indexes, bytes_of(space->text), none, &source, &error));
	}
	else
	{
		request.method = method_of(tree_text(expected, "method"));
		request.values = queries + tree_number(expected, "query") * columns;
		request.nvalues = columns;
		if (tree_find(expected, "ef") != NULL)
			request.ef = tree_number(expected, "ef");
		if (tree_find(expected, "hops") != NULL)
			request.hops = tree_number(expected, "hops");
		if (tree_find(expected, "candidates") != NULL)
			request.candidates = tree_number(expected, "candidates");
		if (tree_find(expected, "text") != NULL)
			request.text = bytes_of(tree_text(expected, "text"));
		snprintf(what, sizeof(what), "%s k %d", tree_text(expected, "method"), (int) request.k);
		GOOD(lw_indexes_source(indexes, request.method, &source, &error));
	}
	GOOD(lw_search(search, &source, &request, &result, &error));
	check_hits(&result, tree_get(expected, "hits"), what);
	check_explained(&result, &source, request.method, &request);
	searched++;
}

/* Whether a built payload is the section's. */
static void
check_payload(LwSectionFile *file, uint32_t id, LwBuffer *payload)
{
	LwBytes		expected = {NULL, 0};
	LwError		error;

	GOOD(lw_section_payload(file, id, &expected, &error));
	CHECK(payload->size == expected.size && memcmp(payload->data, expected.data, expected.size) == 0,
		  "%s: section %u is built differently, %zu bytes for %zu", current, id, payload->size, expected.size);
	lw_buffer_free(payload);
	built++;
}

/* Rows cut to the file's dimension and divided by what is then their norm, as the reference's builder does. */
static float *
cut_rows(const float *rows, size_t count, size_t columns, size_t dimension)
{
	float	   *cut = tree_memory(count * dimension * sizeof(float));
	size_t		i;
	size_t		j;

	for (i = 0; i < count; i++)
	{
		const float *from = rows + i * columns;
		float	   *to = cut + i * dimension;
		double		sum = 0;

		for (j = 0; j < dimension; j++)
			sum += (double) from[j] * from[j];
		for (j = 0; j < dimension; j++)
			to[j] = columns == dimension ? from[j] : (float) (from[j] / sqrt(sum));
	}
	return cut;
}

/* Options of the HNSW index that the file's options ask for, themselves or by a preset. */
static LwHnswOptions
hnsw_options(const Tree *options)
{
	LwHnswOptions hnsw = lw_hnsw_defaults;

	if (tree_find(options, "hnsw_m") != NULL)
		hnsw.m = (uint32_t) tree_number(options, "hnsw_m");
	if (tree_find(options, "hnsw_ef_construction") != NULL)
		hnsw.ef_construction = (uint32_t) tree_number(options, "hnsw_ef_construction");
	if (tree_find(options, "hnsw_seed") != NULL)
		hnsw.seed = tree_number(options, "hnsw_seed");
	return hnsw;
}

/* Builds the indexes of a file from the rows and texts that the reference had. */
static void
check_built(LwSectionFile *file)
{
	Tree	   *input = tree_read(path_of(".input.json"));
	const Tree *options = tree_get(input, "options");
	bool		has_graph = lw_section_find(file, LW_SECTION_GRAPH) != NULL;
	LwBuffer	payload;
	LwError		error;

	lw_buffer_init(&payload, 0);
	if (has_graph || lw_section_find(file, LW_SECTION_HNSW) != NULL)
	{
		LwHnswOptions hnsw_how = hnsw_options(options);
		uint32_t	top_m = LW_GRAPH_TOP_M;
		size_t		count;
		size_t		columns;
		float	   *rows = read_rows(".rows.npy", &count, &columns);
		LwVectorSlab slab = {LW_VECTOR_FLOAT32, file->dimension, count, NULL, NULL};
		LwHnsw	   *hnsw;

		slab.codes = cut_rows(rows, count, columns, file->dimension);
		GOOD(lw_hnsw_build(&slab, &hnsw_how, &hnsw, &error));
		if (lw_section_find(file, LW_SECTION_HNSW) != NULL)
		{
			lw_hnsw_encode(hnsw, &payload);
			check_payload(file, LW_SECTION_HNSW, &payload);
		}
		if (tree_find(options, "graph_top_m") != NULL)
			top_m = (uint32_t) tree_number(options, "graph_top_m");
		if (has_graph)
		{
			GOOD(lw_graph_build(hnsw, top_m, &payload, &error));
			check_payload(file, LW_SECTION_GRAPH, &payload);
		}
		lw_hnsw_close(hnsw);
		free((void *) slab.codes);
		free(rows);
	}
	if (lw_section_find(file, LW_SECTION_BM25) != NULL)
	{
		LwBm25Build *build;
		const Tree *chunk;

		GOOD(lw_bm25_build_begin(0, &build, &error));
		for (chunk = tree_get(input, "chunks")->first; chunk != NULL; chunk = chunk->next)
		{
			const Tree *text = tree_get(chunk, "canonical_text");
			LwBytes		bytes = {(const uint8_t *) text->text, text->size};

			GOOD(lw_bm25_build_add(build, bytes, &error));
		}
		GOOD(lw_bm25_build_finish(build, &payload, &error));
		lw_bm25_build_free(build);
		check_payload(file, LW_SECTION_BM25, &payload);
	}
	tree_free(input);
}

/* A file without inputs: its own texts give its BM25 index, but for those of version 1. */
static void
check_rebuilt(LwSectionFile *file)
{
	LwBm25Build *build;
	LwBuffer	payload;
	LwError		error;
	size_t		i;

	if (lw_section_find(file, LW_SECTION_BM25) == NULL || strcmp(current, "bm25-version1") == 0)
		return;
	lw_buffer_init(&payload, 0);
	GOOD(lw_bm25_build_begin(0, &build, &error));
	for (i = 0; i < file->rows; i++)
	{
		LwBytes		text;

		GOOD(lw_chunk_text(file, i, &text, &error));
		GOOD(lw_bm25_build_add(build, text, &error));
	}
	GOOD(lw_bm25_build_finish(build, &payload, &error));
	lw_bm25_build_free(build);
	check_payload(file, LW_SECTION_BM25, &payload);
}

static LwSectionFile *
open_file(const char *ending)
{
	LwSectionFile *file;
	char		name[500];
	LwError		error;
	int			dirfd = open(directory, O_RDONLY | O_DIRECTORY);

	snprintf(name, sizeof(name), "%s%s", current, ending);
	GOOD(lw_section_open(dirfd, directory, name, 0, &file, NULL, &error));
	close(dirfd);
	return file;
}

static void
check_case(void)
{
	Tree	   *expected = tree_read(path_of(".expected.json"));
	const Tree *has = tree_get(expected, "has");
	const Tree *one;
	LwSectionFile *file = open_file(".urna");
	LwIndexes	indexes;
	LwError		error;
	size_t		rows;
	size_t		columns;
	float	   *queries = read_rows(".query.npy", &rows, &columns);

	lw_indexes_init(&indexes, file, 0);
	for (one = tree_get(tree_get(expected, "searches"), "scalar")->first; one != NULL; one = one->next)
		check_search(&indexes, one, queries, columns);
	GOOD(lw_indexes_hnsw(&indexes, &error));
	GOOD(lw_indexes_bm25(&indexes, &error));
	GOOD(lw_indexes_graph(&indexes, &error));
	CHECK((indexes.hnsw != NULL) == tree_true(has, "ann"), "%s", current);
	CHECK((indexes.bm25 != NULL) == tree_true(has, "bm25"), "%s", current);
	CHECK((indexes.graph != NULL) == tree_true(has, "graph"), "%s", current);
	if (access(path_of(".input.json"), R_OK) == 0)
		check_built(file);
	else
		check_rebuilt(file);
	lw_indexes_free(&indexes);
	lw_section_close(file);
	free(queries);
	tree_free(expected);
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* All golden files, with the kernels of one instruction set. */
static void
check_golden(const char *only)
{
	struct dirent **entries;
	int			count = scandir(directory, &entries, NULL, by_name);
	int			files = 0;
	int			i;

	for (i = 0; i < count; i++)
	{
		char	   *dot = strstr(entries[i]->d_name, ".urna");

		if (dot != NULL && dot[5] == '\0')
		{
			*dot = '\0';
			current = entries[i]->d_name;
			if (only == NULL || strcmp(only, current) == 0)
			{
				check_case();
				files++;
			}
		}
		free(entries[i]);
	}
	free(entries);
	CHECK(only != NULL || files >= 70, "%d files", files);
}

/* A small source of three float32 rows, without indexes. */
static const float three_rows[] = {1, 0, 0, 1, 0.6f, 0.8f};

static LwSearchSource
three(void)
{
	LwSearchSource source;

	memset(&source, 0, sizeof(source));
	source.rerank = source.walked = (LwVectorSlab) {LW_VECTOR_FLOAT32, 2, 3, three_rows, NULL};
	return source;
}

static LwSearchRequest
asked(LwSearchMethod method, const float *values, size_t nvalues, int32_t k)
{
	LwSearchRequest request;

	memset(&request, 0, sizeof(request));
	request.method = method;
	request.values = values;
	request.nvalues = nvalues;
	request.k = k;
	request.ef = LW_SEARCH_EF;
	request.hops = LW_SEARCH_HOPS;
	request.candidates = LW_SEARCH_CANDIDATES(k);
	return request;
}

/* What is wrong with a query is found in the reference's order. */
static void
test_invalid(void)
{
	static const float values[][3] = {{0, 0, 0}, {NAN, 0, 0}, {0, INFINITY, 0}, {1e-30f, 0, 0}, {1e30f, 0, 0}, {0, -2, 0}};
	static const struct
	{
		int			values;
		size_t		count;
		int32_t		k;
		const char *error;
	}			cases[] = {
		{1, 0, 0, "InvalidK"}, {1, 3, INT32_MIN, "InvalidK"}, {1, 0, 1, "EmptyQuery"}, {1, 3, 1, "DimensionMismatch"},
		{1, 1, 1, "DimensionMismatch"}, {1, 2, 1, "InvalidQueryValue"}, {2, 2, 1, "InvalidQueryValue"},
		{0, 2, 1, "ZeroNormQuery"}, {3, 2, 1, "ZeroNormQuery"}, {4, 2, 1, NULL}, {5, 2, 1, NULL}, {5, 2, INT32_MAX, NULL}
	};
	LwSearchSource source = three();
	LwSearchResult result;
	LwError		error;
	size_t		i;
	int			method;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (method = LW_SEARCH_AUTO; method <= LW_SEARCH_GRAPH; method++)
		{
			LwSearchRequest request = asked((LwSearchMethod) method, values[cases[i].values], cases[i].count, cases[i].k);
			LwStatus	status;

			request.text = bytes_of("text");
			status = lw_search(search, &source, &request, &result, &error);
			CHECK(cases[i].error == NULL ? status == LW_OK :
				  status == LW_INVALID && strcmp(error.name, cases[i].error) == 0, "case %zu, method %d", i, method);
			if (status == LW_OK)
				CHECK(result.count == (cases[i].k < 3 ? 1 : 3) &&
					  result.index_type == (method == LW_SEARCH_HYBRID ? LW_ROUTE_HYBRID : LW_ROUTE_EXACT),
					  "case %zu, method %d", i, method);
		}
	/* a norm that overflows makes all scores 0 */
	{
		LwSearchRequest request = asked(LW_SEARCH_EXACT, values[4], 2, 5);

		GOOD(lw_search(search, &source, &request, &result, &error));
		CHECK(result.count == 3 && result.hits[2].score == 0.0f && result.hits[0].row == 0, "%zu", result.count);
	}
}

static void
test_space(void)
{
	static const float values[] = {0, 3};
	LwSearchSource source = three();
	LwSearchResult result;
	LwError		error;
	int			method;

	source.is_space = true;
	for (method = LW_SEARCH_AUTO; method <= LW_SEARCH_GRAPH; method++)
	{
		LwSearchRequest request = asked((LwSearchMethod) method, values, 2, 2);
		LwStatus	status = lw_search(search, &source, &request, &result, &error);

		if (method > LW_SEARCH_EXACT)
			CHECK(status == LW_INVALID && strcmp(error.name, "InvalidInput") == 0, "%d", method);
		else
			CHECK(status == LW_OK && result.count == 2 && result.hits[0].row == 1 && result.hits[0].score == 1.0f &&
				  result.hits[1].row == 2 && result.index_type == LW_ROUTE_SPACE && result.route == LW_ROUTE_EXACT &&
				  result.truncated, "%d", method);
	}
}

/* How a text is routed by its white space. */
static void
test_auto(void)
{
	static const float values[] = {1, 1};
	static const struct
	{
		const char *text;
		LwSearchRoute route;
	}			cases[] = {
		{"", LW_ROUTE_HNSW}, {" \t\r\n", LW_ROUTE_HNSW}, {"\xc2\xa0\xe2\x80\x83\xe3\x80\x80", LW_ROUTE_HNSW},
		{" x ", LW_ROUTE_HYBRID}, {"C++ !", LW_ROUTE_HYBRID}, {"\xe2\x80\x8b", LW_ROUTE_HYBRID},
		{"\xe2\x80", LW_ROUTE_HYBRID}
	};
	LwSearchSource source = three();
	LwVectorSlab rows = source.rerank;
	LwBm25Build *build;
	LwBuffer	payload;
	LwSearchResult result;
	LwHnsw	   *hnsw;
	LwError		error;
	size_t		i;

	GOOD(lw_hnsw_build(&rows, &lw_hnsw_defaults, &hnsw, &error));
	GOOD(lw_hnsw_search_new(hnsw, &source.hnsw, &error));
	GOOD(lw_bm25_build_begin(0, &build, &error));
	for (i = 0; i < 3; i++)
		GOOD(lw_bm25_build_add(build, bytes_of("some text"), &error));
	lw_buffer_init(&payload, 0);
	GOOD(lw_bm25_build_finish(build, &payload, &error));
	lw_bm25_build_free(build);
	GOOD(lw_bm25_open(lw_buffer_bytes(&payload), 3, 0, &source.bm25, &error));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		LwSearchRequest request = asked(LW_SEARCH_AUTO, values, 2, 2);

		request.text = bytes_of(cases[i].text);
		GOOD(lw_search(search, &source, &request, &result, &error));
		CHECK(result.index_type == cases[i].route && result.count == 2, "%zu", i);
	}
	{
		LwSearchRequest request = asked(LW_SEARCH_HYBRID, values, 2, 2);

		/* without candidates there is no lexical list; the beam is as wide as the index */
		request.candidates = 0;
		request.text = bytes_of("text");
		GOOD(lw_search(search, &source, &request, &result, &error));
		CHECK(result.ann_candidates == 3 && result.bm25_candidates == 0 && result.count == 2, "%zu", result.ann_candidates);
		lw_hnsw_search_free(source.hnsw);
		source.hnsw = NULL;
		GOOD(lw_search(search, &source, &request, &result, &error));
		CHECK(result.count == 0 && result.exact_candidates == 0 && result.index_type == LW_ROUTE_HYBRID, "%zu", result.count);
		request.candidates = 1;
		GOOD(lw_search(search, &source, &request, &result, &error));
		CHECK(result.exact_candidates == 1 && result.bm25_candidates == 1 && result.count == 2 &&
			  result.hits[0].row == 2 && result.hits[1].row == 0, "%zu", result.count);
		request.method = LW_SEARCH_AUTO;
		request.text.size = 0;
		GOOD(lw_search(search, &source, &request, &result, &error));
		CHECK(result.index_type == LW_ROUTE_EXACT && !result.reranked, "exact");
	}
	lw_bm25_close(source.bm25);
	lw_hnsw_close(hnsw);
	lw_buffer_free(&payload);
}

/* How many candidates there are: a beam of k at least, eight times the seeds of a graph at most. */
static void
test_candidates(void)
{
	static const float query[] = {1, 0};
	float		values[30];
	LwVectorSlab rows = {LW_VECTOR_FLOAT32, 2, 15, values, NULL};
	LwHnswOptions options = {4, 1, 42, NULL};
	LwSearchSource source = three();
	LwSearchRequest request = asked(LW_SEARCH_ANN, query, 2, 9);
	LwSearchResult result;
	LwBuffer	payload;
	LwHnsw	   *hnsw;
	LwGraph    *graph;
	LwError		error;
	size_t		i;

	for (i = 0; i < 15; i++)
	{
		values[2 * i] = cosf((float) i / 10);
		values[2 * i + 1] = sinf((float) i / 10);
	}
	source.rerank = source.walked = rows;
	GOOD(lw_hnsw_build(&rows, &options, &hnsw, &error));
	GOOD(lw_hnsw_search_new(hnsw, &source.hnsw, &error));
	request.ef = 1;
	GOOD(lw_search(search, &source, &request, &result, &error));
	CHECK(result.ann_candidates == 9 && result.count == 9, "%zu", result.ann_candidates);
	request.method = LW_SEARCH_AUTO;
	request.candidates = 12;
	GOOD(lw_search(search, &source, &request, &result, &error));
	CHECK(result.ann_candidates == 12 && result.count == 9, "%zu", result.ann_candidates);

	lw_buffer_init(&payload, 0);
	GOOD(lw_graph_build(hnsw, 0, &payload, &error));
	GOOD(lw_graph_open(lw_buffer_bytes(&payload), 15, 0, &graph, &error));
	source.graph = graph;
	request = asked(LW_SEARCH_GRAPH, query, 2, 1);
	request.ef = 0;
	request.hops = 100;
	GOOD(lw_search(search, &source, &request, &result, &error));
	CHECK(result.exact_candidates == 1 && result.graph_candidates == 8, "%zu", result.graph_candidates);
	request.ef = 2;
	GOOD(lw_search(search, &source, &request, &result, &error));
	CHECK(result.exact_candidates == 2 && result.graph_candidates == 15, "%zu", result.graph_candidates);
	request.hops = 0;
	GOOD(lw_search(search, &source, &request, &result, &error));
	CHECK(result.exact_candidates == 2 && result.graph_candidates == 2, "%zu", result.graph_candidates);
	lw_graph_close(graph);
	lw_buffer_free(&payload);
	lw_hnsw_search_free(source.hnsw);
	lw_hnsw_close(hnsw);
}

/* Space names and model hashes of a golden file. */
static void
test_space_names(void)
{
	LwSectionFile *file;
	LwIndexes	indexes;
	LwSearchSource source;
	LwBytes		none = {NULL, 0};
	const LwSpace *spaces;
	LwError		error;
	size_t		count;

	current = "spaces";
	file = open_file(".urna");
	lw_indexes_init(&indexes, file, 0);
	GOOD(lw_section_spaces(file, &spaces, &count, &error));
	CHECK(count > 0, "%zu", count);
	CHECK(lw_indexes_space(&indexes, bytes_of("none such"), none, &source, &error) == LW_INVALID &&
		  strcmp(error.name, "SpaceNotFound") == 0, "%s", error.name);
	CHECK(lw_indexes_space(&indexes, spaces[0].name, bytes_of("sha256:00"), &source, &error) == LW_INVALID &&
		  strcmp(error.name, "SpaceModelMismatch") == 0, "%s", error.name);
	GOOD(lw_indexes_space(&indexes, spaces[0].name, spaces[0].model_hash, &source, &error));
	CHECK(source.is_space && source.rerank.rows == file->rows && source.rerank.dimension == spaces[0].dimension,
		  "%zu", source.rerank.rows);
	lw_indexes_free(&indexes);
	lw_section_close(file);

	/* indexes that would take too much memory */
	current = "everything";
	file = open_file(".urna");
	lw_indexes_init(&indexes, file, 1000);
	CHECK(lw_indexes_source(&indexes, LW_SEARCH_ANN, &source, &error) == LW_LIMIT, "%s", error.expected);
	CHECK(lw_indexes_source(&indexes, LW_SEARCH_GRAPH, &source, &error) == LW_LIMIT, "%s", error.expected);
	GOOD(lw_indexes_source(&indexes, LW_SEARCH_EXACT, &source, &error));
	CHECK(source.hnsw == NULL && source.bm25 == NULL && source.graph == NULL, "none");
	lw_indexes_free(&indexes);
	lw_section_close(file);
}

int
main(int argc, char **argv)
{
	const char *golden = getenv("LATEWEAVE_GOLDEN");
	const char *only = argc > 1 ? argv[1] : NULL;
	LwError		error;

	snprintf(directory, sizeof(directory), "%s/sections", golden == NULL ? "test/golden" : golden);
	GOOD(lw_search_new(&search, &error));
	test_invalid();
	test_space();
	test_auto();
	test_candidates();
	test_space_names();
	lw_kernel_cap(LW_KERNEL_SCALAR);
	check_golden(only);
	lw_kernel_cap(LW_KERNEL_AUTO);
	check_golden(only);
	lw_search_free(search);
	printf("searches: %d, indexes built: %d\n", searched, built);
	return unit_done("test_search");
}
