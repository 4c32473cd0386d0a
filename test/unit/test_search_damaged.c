/*-------------------------------------------------------------------------
 *
 * test_search_damaged.c
 *	  Damaged section files: each recipe of damaged.json opens or not as the
 *	  reference says, indexes included, and what opens is searched with the
 *	  same result.
 *
 * Makes the files with damage.py in a temporary directory.  A name after the
 * program's runs that recipe only.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <unistd.h>

#include "section/chunks.h"
#include "section/hash.h"
#include "section/indexes.h"
#include "section/space.h"
#include "tree.h"
#include "unit.h"

static const char *current;		/* recipe, for messages */
static int	directory;			/* of the damaged files, open */
static int	searched;

/*
 * Recipes that are refused though the reference accepts them: another number of
 * vectors, texts or BM25 documents than chunks, and a target beyond 2^32.
 */
static const struct
{
	const char *recipe;
	const char *error;
}			refused[] =
{
	{"embeddings-none-empty-lists", "SectionCountMismatch"},
	{"dedup-none", "SectionCountMismatch"},
	{"dedup-two", "SectionCountMismatch"},
	{"dedup-many", "SectionCountMismatch"},
	{"dedup-amplified", "SectionCountMismatch"},
	{"lexical-doc-of-more-docs", "MalformedSectionPayload"},
	{"lexical-fewer-docs", "MalformedSectionPayload"},
	{"lexical-no-docs", "MalformedSectionPayload"},
	{"graph-target-wraps", "MalformedSectionPayload"},
	{NULL, NULL}
};

/* What has to be said of a recipe: where the reference dies, that it is malformed. */
static const char *
wanted(const Tree *outcome)
{
	const char *name = tree_text(outcome, "open");
	size_t		i;

	for (i = 0; refused[i].recipe != NULL; i++)
		if (strcmp(refused[i].recipe, current) == 0)
			return refused[i].error;
	if (strcmp(name, "Panic") == 0 || strncmp(name, "crash", 5) == 0)
		return "MalformedSectionPayload";
	return name;
}

/* A search as damage.py makes it: components 1, 1/2, 1/3, ... */
static LwStatus
run(LwSearch *search, const LwSearchSource *source, LwSearchMethod method, size_t k, LwSearchResult *result,
	LwError *error)
{
	LwSearchRequest request;
	float	   *values = tree_memory((source->rerank.dimension + 1) * sizeof(float));
	LwStatus	status;
	size_t		i;

	memset(&request, 0, sizeof(request));
	for (i = 0; i < source->rerank.dimension; i++)
		values[i] = (float) (1.0 / (double) (i + 1));
	request.method = method;
	request.values = values;
	request.nvalues = source->rerank.dimension;
	request.k = (int32_t) k;
	request.hops = 1;
	request.ef = method == LW_SEARCH_GRAPH ? 3 : 4;
	request.candidates = method == LW_SEARCH_AUTO ? k : 4;
	if (method == LW_SEARCH_HYBRID)
		request.text = (LwBytes) {(const uint8_t *) "river cora\xc3\xa7\xc3\xa3o #3 the", 23};
	status = lw_search(search, source, &request, result, error);
	free(values);
	return status;
}

/* Compares a result with a list of [ordinal, bits in hex], or with the name of an error. */
static void
check_result(LwStatus status, const LwSearchResult *result, const LwError *error, const Tree *expected, const char *what)
{
	const Tree *hit = expected->first;
	size_t		i;

	searched++;
	if (expected->type == LW_JSON_STRING)
	{
		CHECK(status != LW_OK && strcmp(error->name, expected->text) == 0, "%s %s: not %s", current, what, expected->text);
		return;
	}
	CHECK(status == LW_OK && result->count == expected->count, "%s %s: %d, %zu hits, not %zu", current, what,
		  (int) status, status == LW_OK ? result->count : 0, expected->count);
	for (i = 0; status == LW_OK && hit != NULL && i < result->count; i++, hit = hit->next)
	{
		uint32_t	bits;

		memcpy(&bits, &result->hits[i].score, sizeof(bits));
		CHECK(hit->first->type == LW_JSON_NULL || strtoull(hit->first->text, NULL, 10) == result->hits[i].row,
			  "%s %s: hit %zu is row %zu", current, what, i, result->hits[i].row);
		CHECK(strtoul(hit->first->next->text, NULL, 16) == bits, "%s %s: hit %zu scores %08x", current, what, i,
			  (unsigned) bits);
	}
}

typedef struct Hit
{
	LwBytes		id;
	size_t		place;			/* among the hits */
	size_t		row;
} Hit;

static int
by_id(const void *a, const void *b)
{
	const Hit  *x = a;
	const Hit  *y = b;
	int			order = memcmp(x->id.data, y->id.data, x->id.size < y->id.size ? x->id.size : y->id.size);

	if (order == 0)
		order = (x->id.size > y->id.size) - (x->id.size < y->id.size);
	return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* The sum of the ids and texts of all rows that a search finds, by id; a text is that of the last chunk with the id. */
static void
check_texts(LwSectionFile *file, const LwSearchResult *result, const char *expected)
{
	char		text[2 * LW_SHA256_SIZE + 1];
	uint8_t		sum[LW_SHA256_SIZE];
	Hit		   *hits = tree_memory((result->count + 1) * sizeof(Hit));
	LwSha256	hash;
	LwError		error;
	LwStatus	status = LW_OK;
	size_t		row;
	size_t		i;

	for (i = 0; status == LW_OK && i < result->count; i++)
	{
		hits[i].place = i;
		status = lw_chunk_id(file, result->hits[i].row, &hits[i].id, &error);
		for (row = 0; status == LW_OK && row < file->rows; row++)
		{
			LwBytes		id;

			status = lw_chunk_id(file, row, &id, &error);
			if (status == LW_OK && id.size == hits[i].id.size && memcmp(id.data, hits[i].id.data, id.size) == 0)
				hits[i].row = row;
		}
	}
	if (status == LW_OK)
		qsort(hits, result->count, sizeof(Hit), by_id);
	lw_sha256_begin(&hash);
	for (i = 0; status == LW_OK && i < result->count; i++)
	{
		LwBytes		bytes;

		status = lw_chunk_text(file, hits[i].row, &bytes, &error);
		if (status != LW_OK)
			break;
		lw_sha256_add(&hash, hits[i].id.data, hits[i].id.size);
		lw_sha256_add(&hash, "\n", 1);
		lw_sha256_add(&hash, bytes.data, bytes.size);
		lw_sha256_add(&hash, "\n", 1);
	}
	free(hits);
	if (status != LW_OK)
	{
		lw_sha256_free(&hash);
		CHECK(strcmp(error.name, expected) == 0, "%s: texts are %s, not %s", current, error.name, expected);
		return;
	}
	if (lw_sha256_sum(&hash, sum, &error) != LW_OK)
		abort();
	for (i = 0; i < sizeof(sum); i++)
		sprintf(text + 2 * i, "%02x", sum[i]);
	CHECK(strcmp(text, expected) == 0, "%s: texts are %s, not %s", current, text, expected);
}

static void
check_searches(LwSectionFile *file, const Tree *outcome)
{
	static const struct
	{
		const char *name;
		LwSearchMethod method;
	}			methods[] = {
		{"exact", LW_SEARCH_EXACT}, {"ann", LW_SEARCH_ANN}, {"hybrid", LW_SEARCH_HYBRID}, {"graph", LW_SEARCH_GRAPH}
	};
	const Tree *spaces = tree_find(outcome, "spaces");
	const Tree *space;
	LwIndexes	indexes;
	LwSearchSource source;
	LwSearchResult result;
	LwSearch   *search;
	LwError		error;
	LwStatus	status;
	size_t		i;

	if (lw_search_new(&search, &error) != LW_OK)
		abort();
	lw_indexes_init(&indexes, file, 0);
	for (i = 0; i < 4; i++)
	{
		const Tree *expected = tree_find(outcome, methods[i].name);

		if (expected == NULL)
			continue;
		status = lw_indexes_source(&indexes, methods[i].method, &source, &error);
		CHECK((methods[i].method != LW_SEARCH_ANN || source.hnsw != NULL) &&
			  (methods[i].method != LW_SEARCH_HYBRID || source.bm25 != NULL) &&
			  (methods[i].method != LW_SEARCH_GRAPH || source.graph != NULL), "%s %s", current, methods[i].name);
		if (status == LW_OK)
			status = run(search, &source, methods[i].method, 3, &result, &error);
		check_result(status, &result, &error, expected, methods[i].name);
	}
	for (space = spaces == NULL ? NULL : spaces->first; space != NULL; space = space->next)
	{
		LwBytes		none = {NULL, 0};
		LwBytes		name = {(const uint8_t *) space->name, strlen(space->name)};

		status = lw_indexes_space(&indexes, name, none, &source, &error);
		if (status == LW_OK)
			status = run(search, &source, LW_SEARCH_EXACT, 3, &result, &error);
		check_result(status, &result, &error, space, space->name);
	}
	status = lw_indexes_source(&indexes, LW_SEARCH_AUTO, &source, &error);
	if (status == LW_OK)
		status = run(search, &source, LW_SEARCH_AUTO, file->rows, &result, &error);
	CHECK(status == LW_OK, "%s: %s", current, error.name);
	if (status == LW_OK)
		check_texts(file, &result, tree_text(outcome, "texts_sha256"));
	lw_indexes_free(&indexes);
	lw_search_free(search);
}

static void
check_recipe(const Tree *recipe)
{
	const Tree *outcome = tree_get(recipe, "outcome");
	LwVerify	how = {LW_VERIFY_OPEN, &lw_index_checks, NULL, NULL, 0};
	LwSectionFile *file;
	LwError		error;
	LwStatus	status;
	char		name[200];
	const char *found = "ok";

	snprintf(name, sizeof(name), "%s.urna", current);
	status = lw_section_verify(directory, "damaged", name, &how, &file, NULL, &error);
	if (status != LW_OK)
		found = error.name == NULL ? "no name" : error.name;
	CHECK(strcmp(found, wanted(outcome)) == 0, "%s: open says %s (%s, %s), not %s", current, found,
		  status == LW_OK ? "" : error.expected, status == LW_OK ? "" : error.found, wanted(outcome));
	if (status != LW_OK)
		return;
	if (strcmp(tree_text(outcome, "open"), "ok") == 0)
		check_searches(file, outcome);
	lw_section_close(file);
}

int
main(int argc, char **argv)
{
	char		scratch[] = "/tmp/lateweave-unit.XXXXXX";
	char		command[1000];
	const char *golden = getenv("LATEWEAVE_GOLDEN");
	Tree	   *recipes;
	const Tree *recipe;

	if (golden == NULL)
		golden = "test/golden";
	if (mkdtemp(scratch) == NULL)
		return 1;
	snprintf(command, sizeof(command), "python3 -B '%s/sections/damage.py' write '%s'", golden, scratch);
	if (system(command) != 0)
		return 1;
	directory = open(scratch, O_RDONLY | O_DIRECTORY);
	snprintf(command, sizeof(command), "%s/sections/damaged.json", golden);
	recipes = tree_read(command);
	CHECK(recipes->count == 820, "%zu recipes", recipes->count);
	for (recipe = recipes->first; recipe != NULL; recipe = recipe->next)
	{
		current = tree_text(recipe, "name");
		if (argc < 2 || strcmp(argv[1], current) == 0)
			check_recipe(recipe);
	}
	tree_free(recipes);
	close(directory);
	snprintf(command, sizeof(command), "rm -r '%s'", scratch);
	CHECK(system(command) == 0, "%s", command);
	printf("searches: %d\n", searched);
	return unit_done("test_search_damaged");
}
