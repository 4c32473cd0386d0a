/*-------------------------------------------------------------------------
 *
 * test_section_damaged.c
 *	  Damaged section files: each recipe of damaged.json ends as the
 *	  reference says, both by the checks of its command line and by those of
 *	  opening; and what is accepted reads as it does there.
 *
 * Makes the files with damage.py in a temporary directory.  A name after the
 * program's runs that recipe only.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "section/blob.h"
#include "section/bm25.h"
#include "section/chunks.h"
#include "section/citation.h"
#include "section/graph.h"
#include "section/space.h"
#include "section/verify.h"
#include "tree.h"
#include "unit.h"

#define MEMORY_MB 400			/* peak of this program; some files claim 2^64 bytes */

static const LwSectionChecks checks = {lw_hnsw_check, lw_bm25_check, lw_graph_check};
static const char *current;		/* recipe, for messages */
static int	directory;			/* of the damaged files, open */

/*
 * Recipes that are refused though the reference accepts them, or dies of
 * them.  There must be as many vectors as chunks, as many references to texts
 * and as many documents of BM25; and gaps between targets of edges must be
 * those that a writer makes.
 */
static const struct
{
	const char *recipe;
	const char *error;
	bool		by_container;	/* also refused by the container checks */
}			refused[] =
{
	{"embeddings-none-empty-lists", "SectionCountMismatch", false},
	{"dedup-none", "SectionCountMismatch", true},
	{"dedup-two", "SectionCountMismatch", true},
	{"dedup-many", "SectionCountMismatch", true},
	{"dedup-amplified", "SectionCountMismatch", true},
	{"lexical-doc-of-more-docs", "MalformedSectionPayload", false},
	{"lexical-fewer-docs", "MalformedSectionPayload", false},
	{"lexical-no-docs", "MalformedSectionPayload", false},
	{"graph-target-wraps", "MalformedSectionPayload", false},
	{NULL, NULL, false}
};

/* Recipes where the order of the texts, or which they are, depends on how well a damaged index finds them. */
static const char *const searched[] = {
	"ids-repeated", "hnsw-no-links", "hnsw-self-links", "hnsw-layer-missing", "hnsw-degree-4096", NULL
};

static const char *
name_of(LwStatus status, const LwError *error)
{
	return status == LW_OK ? "ok" : error->name == NULL ? "no name" : error->name;
}

static bool
is_searched(void)
{
	size_t		i;

	for (i = 0; searched[i] != NULL; i++)
		if (strcmp(searched[i], current) == 0)
			return true;
	return false;
}

/* Whether an error has the name that the container checks must give; the reference has none for blobs. */
static bool
is_container_error(const char *found, const char *name)
{
	if (strcmp(name, "blob check") == 0)
		return strcmp(found, "BlobHashMismatch") == 0 || strcmp(found, "BlobCountMismatch") == 0;
	return strcmp(found, name) == 0;
}

/* What has to be said where the reference dies. */
static const char *
wanted(const char *outcome)
{
	if (strcmp(outcome, "Panic") == 0 || strncmp(outcome, "crash", 5) == 0)
		return "MalformedSectionPayload";
	return outcome;
}

typedef struct Chunk
{
	LwBytes		id;
	char	   *text;
	size_t		size;
} Chunk;

static int
by_id(const void *a, const void *b)
{
	const Chunk *x = a;
	const Chunk *y = b;
	int			order = memcmp(x->id.data, y->id.data, x->id.size < y->id.size ? x->id.size : y->id.size);

	return order != 0 ? order : (x->id.size > y->id.size) - (x->id.size < y->id.size);
}

/* The sum of all texts as damage.py makes it, or the name of the error. */
static const char *
texts_sum(LwSectionFile *file)
{
	static char text[2 * LW_SHA256_SIZE + 1];
	Chunk	   *chunks = tree_memory((file->rows + 1) * sizeof(Chunk));
	uint8_t		sum[LW_SHA256_SIZE];
	LwSha256	hash;
	LwError		error;
	LwStatus	status = LW_OK;
	size_t		i;

	lw_sha256_begin(&hash);
	for (i = 0; status == LW_OK && i < file->rows; i++)
	{
		LwBytes		bytes = {NULL, 0};

		status = lw_chunk_id(file, i, &chunks[i].id, &error);
		if (status == LW_OK)
			status = lw_chunk_text(file, i, &bytes, &error);
		if (status == LW_OK)
		{
			chunks[i].size = bytes.size;
			chunks[i].text = tree_memory(bytes.size + 1);
			memcpy(chunks[i].text, bytes.data, bytes.size);
		}
	}
	if (status == LW_OK)
		qsort(chunks, file->rows, sizeof(Chunk), by_id);
	for (i = 0; i < file->rows; i++)
	{
		if (status == LW_OK)
		{
			lw_sha256_add(&hash, chunks[i].id.data, chunks[i].id.size);
			lw_sha256_add(&hash, "\n", 1);
			lw_sha256_add(&hash, chunks[i].text, chunks[i].size);
			lw_sha256_add(&hash, "\n", 1);
		}
		free(chunks[i].text);
	}
	free(chunks);
	if (status != LW_OK)
	{
		lw_sha256_free(&hash);
		return error.name;
	}
	if (lw_sha256_sum(&hash, sum, &error) != LW_OK)
		abort();
	for (i = 0; i < sizeof(sum); i++)
		sprintf(text + 2 * i, "%02x", sum[i]);
	return text;
}

/* An accepted file: what it holds. */
static void
check_contents(LwSectionFile *file, const Tree *outcome)
{
	char		hash[LW_TEXT_HASH_SIZE + 1];
	const Tree *blobs = tree_find(outcome, "blobs");
	const Tree *blob;
	const char *texts;
	LwError		error;
	size_t		i = 0;

	CHECK(lw_section_content_hash(file, hash, &error) == LW_OK &&
		  strcmp(hash, tree_text(outcome, "content_hash")) == 0, "%s", current);
	CHECK(file->rows == tree_number(outcome, "n"), "%s", current);
	texts = texts_sum(file);
	CHECK(is_searched() || strcmp(texts, tree_text(outcome, "texts_sha256")) == 0, "%s: texts are %s, not %s", current,
		  texts, tree_text(outcome, "texts_sha256"));
	for (blob = blobs == NULL ? NULL : blobs->first; blob != NULL; blob = blob->next, i++)
	{
		LwBytes		data;
		LwStatus	status = lw_blob_data(file, i, &data, &error);

		CHECK(status == LW_OK ? strlen(blob->text) == 2 * LW_SHA256_SIZE :
			  strcmp(error.name, blob->text) == 0, "%s: blob %zu", current, i);
	}
}

/* Reads all there is to read, as it is needed; the name of the first error. */
static const char *
read_everything(LwSectionFile *file)
{
	static LwError error;
	LwVectorSlab slab;
	const LwSpace *spaces;
	LwBytes		bytes;
	LwBlobRef	ref;
	LwSpan		span;
	size_t		count = 0;
	size_t		i;
	LwStatus	status = LW_OK;

	for (i = 0; status == LW_OK && i < file->rows; i++)
	{
		status = lw_chunk_id(file, i, &bytes, &error);
		if (status == LW_OK)
			status = lw_chunk_text(file, i, &bytes, &error);
		if (status == LW_OK)
			status = lw_chunk_span(file, i, &span, &error);
		if (status == LW_OK)
			status = lw_chunk_find(file, span.source.uri, &count, &error);
	}
	if (status == LW_OK)
		status = lw_section_rerank_vectors(file, &slab, &error);
	if (status == LW_OK)
		status = lw_section_vectors(file, &slab, &error);
	if (status == LW_OK)
		status = lw_section_spaces(file, &spaces, &count, &error);
	for (i = 0; status == LW_OK && i < count; i++)
		status = lw_section_space_vectors(file, &spaces[i], &slab, &error);
	if (status == LW_OK)
		status = lw_blob_count(file, &count, &error);
	for (i = 0; status == LW_OK && i < count; i++)
	{
		status = lw_blob_ref(file, i, &ref, &error);
		if (status == LW_OK && ref.inlined)
			status = lw_blob_data(file, i, &bytes, &error);
	}
	if (status == LW_OK)
		status = lw_section_provenance(file, &bytes, &error);
	return name_of(status, &error);
}

/* Opening by structure accepts more, but nothing less. */
static void
check_lazy(const char *name, bool accepted)
{
	LwSectionFile *file;
	LwError		error;
	LwStatus	status = lw_section_open(directory, "damaged", name, 0, &file, NULL, &error);

	CHECK(status == LW_OK || !accepted, "%s: %s", current, name_of(status, &error));
	if (status != LW_OK)
		return;
	CHECK(read_everything(file) != NULL, "%s", current);
	CHECK(lw_section_intact(file, &error) == LW_OK, "%s", current);
	lw_section_close(file);
}

static void
check_recipe(const Tree *recipe)
{
	const Tree *outcome = tree_get(recipe, "outcome");
	const char *open_name = wanted(tree_text(outcome, "open"));
	const char *container_name = wanted(tree_text(outcome, "validate"));
	LwVerify	how = {LW_VERIFY_CONTAINER, &checks, NULL, NULL, 0};
	LwSectionFile *file;
	char		name[200];
	const char *found;
	LwError		error;
	LwStatus	status;
	size_t		i;

	for (i = 0; refused[i].recipe != NULL; i++)
	{
		if (strcmp(refused[i].recipe, current) != 0)
			continue;
		open_name = refused[i].error;
		if (refused[i].by_container)
			container_name = refused[i].error;
	}
	snprintf(name, sizeof(name), "%s.urna", current);
	status = lw_section_verify(directory, "damaged", name, &how, &file, NULL, &error);
	found = name_of(status, &error);
	CHECK(is_container_error(found, container_name), "%s: validate says %s, not %s", current, found, container_name);
	CHECK(status == LW_OK || strcmp(error.path + strlen(error.path) - strlen(name), name) == 0, "%s", error.path);
	if (status == LW_OK)
		lw_section_close(file);

	how.level = LW_VERIFY_OPEN;
	status = lw_section_verify(directory, "damaged", name, &how, &file, NULL, &error);
	found = name_of(status, &error);
	CHECK(strcmp(found, open_name) == 0, "%s: open says %s (%s, %s), not %s", current, found,
		  status == LW_OK ? "" : error.expected, status == LW_OK ? "" : error.found, open_name);
	if (status == LW_OK)
	{
		if (strcmp(tree_text(outcome, "open"), "ok") == 0)
			check_contents(file, outcome);
		lw_section_close(file);
	}
	check_lazy(name, status == LW_OK);
}

/* Makes all files. */
static void
make_files(const char *golden, const char *scratch)
{
	char		command[1000];

	snprintf(command, sizeof(command), "python3 -B '%s/sections/damage.py' write '%s'", golden, scratch);
	if (system(command) != 0)
	{
		fprintf(stderr, "could not make the damaged files\n");
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	char		scratch[] = "/tmp/lateweave-unit.XXXXXX";
	char		path[500];
	const char *golden = getenv("LATEWEAVE_GOLDEN");
	struct rusage usage;
	Tree	   *recipes;
	const Tree *recipe;

	if (golden == NULL)
		golden = "test/golden";
	if (mkdtemp(scratch) == NULL)
		return 1;
	make_files(golden, scratch);
	directory = open(scratch, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/sections/damaged.json", golden);
	recipes = tree_read(path);
	CHECK(recipes->count == 820, "%zu recipes", recipes->count);
	for (recipe = recipes->first; recipe != NULL; recipe = recipe->next)
	{
		current = tree_text(recipe, "name");
		if (argc < 2 || strcmp(argv[1], current) == 0)
			check_recipe(recipe);
	}
	tree_free(recipes);
	close(directory);
	snprintf(path, sizeof(path), "rm -r '%s'", scratch);
	CHECK(system(path) == 0, "%s", path);
	getrusage(RUSAGE_SELF, &usage);
	printf("peak memory: %ld MB\n", usage.ru_maxrss / 1024);
#ifndef __SANITIZE_ADDRESS__
	CHECK(usage.ru_maxrss / 1024 < MEMORY_MB, "%ld kB", usage.ru_maxrss);
#endif
	return unit_done("test_section_damaged");
}
