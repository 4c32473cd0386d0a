/*-------------------------------------------------------------------------
 *
 * test_build.c
 *	  Section files built from the inputs of the golden ones, and what a build
 *	  refuses.
 *
 * Uses the golden files under $LATEWEAVE_GOLDEN.  Where a file has texts in
 * zstd frames and libzstd is not the reference's, what the sections decode to
 * is compared instead of the bytes.
 *
 *-------------------------------------------------------------------------
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "codec.h"
#include "format/npy.h"
#include "section/build.h"
#include "section/canon.h"
#include "section/citation.h"
#include "section/indexes.h"
#include "section/verify.h"
#include "tree.h"

#define PRODUCER "urna 0.5.6"
#define MODEL_HASH "sha256:5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e"
#define REQUIRED "\"embedding_model\": \"m\", \"model_hash\": \"" MODEL_HASH "\""

static const char *golden;

/* An empty file without a name. */
static int
scratch_file(void)
{
	char		name[] = "/tmp/lateweave-test-XXXXXX";
	int			fd = mkstemp(name);

	if (fd < 0 || unlink(name) != 0)
		abort();
	return fd;
}

static LwBuffer
read_fd(int fd)
{
	LwBuffer	content;
	uint8_t		block[65536];
	ssize_t		got;

	lw_buffer_init(&content, 0);
	lseek(fd, 0, SEEK_SET);
	while ((got = read(fd, block, sizeof(block))) > 0)
		lw_put_bytes(&content, block, (size_t) got);
	return content;
}

static char *
golden_path(const char *name, const char *suffix)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/sections/%s%s", golden, name, suffix);
	return path;
}

static void
must(bool condition)
{
	if (!condition)
	{
		fprintf(stderr, "the golden inputs are not as expected\n");
		abort();
	}
}

/* The inputs of a golden file. */
typedef struct Inputs
{
	Tree	   *tree;
	const Tree *spaces;			/* the first, or NULL */
	const Tree *blob_spans;		/* likewise */
	char	   *npy;
	const float *rows;
	size_t		count;
	size_t		dimension;
} Inputs;

/* Members that are not options of the builder: the media themselves. */
static bool
is_media(const Tree *member)
{
	static const char *const names[] = {"vectors", "blob_refs", "blob_data_hex", "chunk_blob_spans"};
	size_t		i;

	for (i = 0; member->name != NULL && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(member->name, names[i]) == 0)
			return true;
	return false;
}

static void
put_text(LwBuffer *json, const char *text)
{
	lw_put_bytes(json, text, strlen(text));
}

static void
put_tree(LwBuffer *json, const Tree *tree)
{
	LwBytes		string = {(const uint8_t *) tree->text, tree->size};
	bool		object = tree->type == LW_JSON_OBJECT;
	const Tree *member;
	bool		first = true;

	switch (tree->type)
	{
		case LW_JSON_STRING:
			lw_put_json_string(json, string);
			return;
		case LW_JSON_NUMBER:
			put_text(json, tree->text);
			return;
		case LW_JSON_OBJECT:
		case LW_JSON_ARRAY:
			break;
		default:
			put_text(json, tree->type == LW_JSON_TRUE ? "true" : tree->type == LW_JSON_FALSE ? "false" : "null");
			return;
	}
	put_text(json, object ? "{" : "[");
	for (member = tree->first; member != NULL; member = member->next)
	{
		if (is_media(member))
			continue;
		if (!first)
			put_text(json, ", ");
		first = false;
		if (object)
		{
			lw_put_json_string(json, bytes_of(member->name));
			put_text(json, ": ");
		}
		put_tree(json, member);
	}
	put_text(json, object ? "}" : "]");
}

static void
read_inputs(Inputs *inputs, const char *name)
{
	const Tree *options;
	const Tree *list;
	LwNpy		header;
	LwError		error;
	size_t		size;

	memset(inputs, 0, sizeof(*inputs));
	inputs->tree = tree_read(golden_path(name, ".input.json"));
	options = tree_get(inputs->tree, "options");
	list = tree_find(options, "spaces");
	inputs->spaces = list == NULL ? NULL : list->first;
	list = tree_find(options, "chunk_blob_spans");
	inputs->blob_spans = list == NULL ? NULL : list->first;
	inputs->npy = read_file(golden_path(name, ".rows.npy"), &size);
	must(lw_npy_parse(inputs->npy, size, &header, &error) == LW_OK && header.axes == 2);
	inputs->rows = (const float *) (inputs->npy + header.data_offset);
	inputs->count = (size_t) header.shape[0];
	inputs->dimension = (size_t) header.shape[1];
	must(tree_get(inputs->tree, "chunks")->count == inputs->count);
}

static void
add_blobs(const Tree *options, LwBuild *build)
{
	const Tree *list = tree_find(options, "blob_refs");
	const Tree *data;
	const Tree *blob;
	LwError		error;

	if (list == NULL)
		return;
	data = tree_get(options, "blob_data_hex")->first;
	for (blob = list->first; blob != NULL; blob = blob->next, data = data->next)
	{
		LwBytes		hash = from_hex(tree_text(blob, "content_hash") + strlen("sha256:"));
		LwBytes		bytes = from_hex(data->text == NULL ? "" : data->text);

		must(lw_build_add_blob(build, bytes_of(tree_text(blob, "original_uri")), hash.data,
							   tree_number(blob, "byte_len"), tree_true(blob, "inlined") ? &bytes : NULL,
							   &error) == LW_OK);
		free((void *) hash.data);
		free((void *) bytes.data);
	}
	lw_build_blob_spans(build);
}

/* A malloc'ed copy of a list of numbers. */
static float *
read_vector(const Tree *list, LwBuildVector *vector)
{
	float	   *values = calloc(list->count, sizeof(float));
	const Tree *number;

	vector->values = values;
	vector->dimension = list->count;
	for (number = list->first; number != NULL; number = number->next)
		*values++ = (float) strtod(number->text, NULL);
	return values - list->count;
}

/* Adds a chunk. */
static LwStatus
add_row(const Inputs *inputs, const Tree *chunk, size_t ordinal, const Tree *blob_span, LwBuild *build,
		LwError *error)
{
	LwBuildVector spaces[LW_BUILD_SPACES];
	float	   *memory[LW_BUILD_SPACES];
	const Tree *text = tree_get(chunk, "canonical_text");
	LwBuildRow	row;
	const Tree *space;
	int			nspaces = 0;
	LwStatus	status;

	memset(&row, 0, sizeof(row));
	row.text.data = (const uint8_t *) text->text;
	row.text.size = text->size;
	row.uri = bytes_of(tree_text(chunk, "source_uri"));
	row.start = tree_number(chunk, "byte_start");
	row.end = tree_number(chunk, "byte_end");
	row.embedding.values = inputs->rows + ordinal * inputs->dimension;
	row.embedding.dimension = inputs->dimension;
	row.spaces = spaces;
	for (space = inputs->spaces; space != NULL; space = space->next, nspaces++)
	{
		const Tree *vector = tree_get(space, "vectors")->first;
		size_t		i;

		for (i = 0; i < ordinal; i++)
			vector = vector->next;
		memory[nspaces] = read_vector(vector, &spaces[nspaces]);
	}
	if (blob_span != NULL)
	{
		row.blob = tree_get(blob_span, "blob_ref_index")->type == LW_JSON_NULL ? LW_NO_BLOB :
			(uint32_t) tree_number(blob_span, "blob_ref_index");
		row.blob_start = tree_number(blob_span, "byte_start");
		row.blob_end = tree_number(blob_span, "byte_end");
	}
	status = lw_build_add_row(build, &row, error);
	while (nspaces > 0)
		free(memory[--nspaces]);
	return status;
}

static LwStatus
add_rows(const Inputs *inputs, LwBuild *build, LwError *error)
{
	const Tree *chunk = tree_get(inputs->tree, "chunks")->first;
	const Tree *blob_span = inputs->blob_spans;
	size_t		i;
	LwStatus	status = LW_OK;

	for (i = 0; status == LW_OK && i < inputs->count; i++, chunk = chunk->next)
	{
		status = add_row(inputs, chunk, i, blob_span, build, error);
		blob_span = blob_span == NULL ? NULL : blob_span->next;
	}
	return status;
}

/* Builds a golden file anew, into `built`, whatever comes of it. */
static LwStatus
rebuild(const Inputs *inputs, const LwStop *stop, size_t memory, LwBuffer *built, LwBuildResult *result,
		LwError *error)
{
	const Tree *given = tree_get(inputs->tree, "options");
	LwBuffer	json;
	LwBuildOptions options;
	LwBuild    *build = NULL;
	int			spill = scratch_file();
	int			out = scratch_file();
	LwStatus	status;

	memset(error, 0, sizeof(*error));
	lw_buffer_init(&json, 0);
	put_tree(&json, given);
	json.size--;
	put_text(&json, ", \"producer\": \"" PRODUCER "\"");
	put_text(&json, inputs->blob_spans != NULL ? ", \"blobs\": \"given\"}" : "}");
	status = lw_build_options_parse(lw_buffer_bytes(&json), &options, error);
	if (status == LW_OK)
		status = lw_build_begin(&options, spill, memory, stop, &build, error);
	if (status == LW_OK)
	{
		add_blobs(given, build);
		status = add_rows(inputs, build, error);
	}
	if (status == LW_OK)
		status = lw_build_finish(build, out, result, error);
	lw_build_free(build);
	lw_build_options_free(&options);
	lw_buffer_free(&json);
	*built = read_fd(out);
	close(spill);
	close(out);
	return status;
}

static void
free_inputs(Inputs *inputs)
{
	tree_free(inputs->tree);
	free(inputs->npy);
}

static bool
same(LwBytes a, LwBytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Whether a section's stored bytes depend on libzstd's version. */
static bool
is_compressed(const LwSectionEntry *entry)
{
	return entry->encoding == LW_ENCODING_ZSTD || entry->encoding == LW_ENCODING_ZSTD_DICT ||
		entry->encoding == LW_ENCODING_STREAMS || entry->id == LW_SECTION_DICTIONARY;
}

static bool
has_compressed(const LwSectionFile *file)
{
	size_t		i;

	for (i = 0; i < file->nentries; i++)
		if (is_compressed(&file->entries[i]))
			return true;
	return false;
}

/* Compares files whose compressed sections may differ. */
static void
compare_sections(const char *name, LwSectionFile *expected, LwSectionFile *built)
{
	LwError		error;
	size_t		i;

	CHECK(same(expected->manifest.json, built->manifest.json), "%s", name);
	for (i = 0; i < expected->nentries; i++)
	{
		uint32_t	id = expected->entries[i].id;
		const LwSectionEntry *entry = lw_section_find(built, id);
		LwBytes		a;
		LwBytes		b;

		if (id == LW_SECTION_DICTIONARY || id == LW_SECTION_DEDUP)
			continue;
		CHECK(entry != NULL, "%s: section 0x%02x", name, id);
		if (entry == NULL)
			continue;
		CHECK(lw_section_payload(expected, id, &a, &error) == LW_OK &&
			  lw_section_payload(built, id, &b, &error) == LW_OK && same(a, b), "%s: section 0x%02x", name, id);
		if (!is_compressed(&expected->entries[i]))
			CHECK(lw_section_stored(expected, id, &a, &error) == LW_OK &&
				  lw_section_stored(built, id, &b, &error) == LW_OK && same(a, b),
				  "%s: section 0x%02x", name, id);
	}
}

/* Returns whether the file was compared byte for byte. */
static bool
check_case(const char *name)
{
	const LwVerify how = {LW_VERIFY_OPEN, &lw_index_checks, NULL, NULL, 0};
	Inputs		inputs;
	LwBytes		file;
	LwBuffer	built;
	LwBuildResult result;
	LwSectionFile *expected;
	LwSectionFile *opened;
	char		hash[LW_TEXT_HASH_SIZE + 1];
	LwError		error;
	LwStatus	status;
	bool		whole;

	read_inputs(&inputs, name);
	file.data = (const uint8_t *) read_file(golden_path(name, ".urna"), &file.size);
	status = rebuild(&inputs, NULL, 0, &built, &result, &error);
	CHECK(status == LW_OK, "%s: %s, found %s", name, error.expected, error.found);
	must(lw_section_open_bytes(file, 0, &expected, &error) == LW_OK);
	whole = status == LW_OK && (reference_zstd() || !has_compressed(expected));
	if (status == LW_OK)
	{
		CHECK(result.bytes == built.size && result.rows == expected->rows, "%s", name);
		CHECK(lw_section_content_hash(expected, hash, &error) == LW_OK && strcmp(hash, result.content_hash) == 0,
			  "%s: %s instead of %s", name, result.content_hash, hash);
		if (whole)
			CHECK(same(file, lw_buffer_bytes(&built)), "%s", name);
		status = lw_section_verify_bytes(lw_buffer_bytes(&built), &how, &opened, &error);
		CHECK(status == LW_OK, "%s: %s %s", name, error.name, error.found);
		if (status == LW_OK)
		{
			compare_sections(name, expected, opened);
			lw_section_close(opened);
		}
	}
	lw_section_close(expected);
	lw_buffer_free(&built);
	free((void *) file.data);
	free_inputs(&inputs);
	return whole;
}

static void
test_golden(void)
{
	char		path[512];
	DIR		   *directory;
	struct dirent *entry;
	int			cases = 0;
	int			whole = 0;

	snprintf(path, sizeof(path), "%s/sections", golden);
	directory = opendir(path);
	must(directory != NULL);
	while ((entry = readdir(directory)) != NULL)
	{
		char	   *suffix = strstr(entry->d_name, ".input.json");

		if (suffix == NULL)
			continue;
		*suffix = '\0';
		whole += check_case(entry->d_name);
		cases++;
	}
	closedir(directory);
	CHECK(cases >= 60, "%d golden inputs", cases);
	printf("build: libzstd %s: %d of %d files compared byte for byte\n", ZSTD_versionString(), whole, cases);
}

/* Counts down to a stop. */
static bool
count_down(void *arg)
{
	int		   *left = arg;

	return (*left)-- <= 0;
}

static void
test_stop(void)
{
	static const char *const names[] = {"everything", "hnsw-raw", "text-dictionary"};
	size_t		i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		LwStatus	status = LW_CANCELLED;
		Inputs		inputs;
		int			asked;

		read_inputs(&inputs, names[i]);
		for (asked = 0; status == LW_CANCELLED && asked < 100000; asked += asked / 2 + 1)
		{
			int			left = asked;
			LwStop		stop = {count_down, &left};
			LwBuildResult result;
			LwBuffer	built;
			LwError		error;

			status = rebuild(&inputs, &stop, 0, &built, &result, &error);
			CHECK(status == LW_CANCELLED || (status == LW_OK && left >= 0), "%s stopped after %d: %s %s",
				  names[i], asked, error.expected, error.found);
			lw_buffer_free(&built);
		}
		CHECK(status == LW_OK && asked > 3, "%s was asked %d times", names[i], asked);
		free_inputs(&inputs);
	}
}

static void
test_memory(void)
{
	LwBuildResult result;
	LwBuffer	built;
	Inputs		inputs;
	LwError		error;

	read_inputs(&inputs, "text-long-raw");
	CHECK(rebuild(&inputs, NULL, 1000, &built, &result, &error) == LW_LIMIT, "%s", error.found);
	lw_buffer_free(&built);
	CHECK(rebuild(&inputs, NULL, 1000000, &built, &result, &error) == LW_OK, "%s", error.found);
	lw_buffer_free(&built);
	free_inputs(&inputs);
}

/* Builds a file of rows with these options; its bytes are dropped. */
static LwStatus
attempt(const char *text, const LwBuildRow *rows, size_t nrows, int spill_fd, int fd, LwError *error)
{
	LwBuildOptions options;
	LwBuildResult result;
	LwBuild    *build = NULL;
	size_t		i;
	LwStatus	status;

	memset(error, 0, sizeof(*error));
	status = lw_build_options_parse(bytes_of(text), &options, error);
	if (status == LW_OK)
		status = lw_build_begin(&options, spill_fd, 0, NULL, &build, error);
	for (i = 0; status == LW_OK && i < nrows; i++)
		status = lw_build_add_row(build, &rows[i], error);
	if (status == LW_OK)
		status = lw_build_finish(build, fd, &result, error);
	lw_build_free(build);
	lw_build_options_free(&options);
	return status;
}

static LwBuildRow
make_row(const float *values, size_t dimension)
{
	LwBuildRow	row;

	memset(&row, 0, sizeof(row));
	row.text = bytes_of("hi");
	row.uri = bytes_of("doc");
	row.end = 2;
	row.blob = LW_NO_BLOB;
	row.embedding.values = values;
	row.embedding.dimension = dimension;
	return row;
}

/* What is refused: with one row of 4 components, and with none. */
static void
test_refused_options(void)
{
	static const struct
	{
		const char *options;
		const char *name;		/* NULL: none */
		const char *found;		/* the beginning of it */
		const char *without_rows;	/* the error's name with no rows */
	}			cases[] = {
		{"", NULL, "unexpected end", NULL},
		{"[]", NULL, "not an object", NULL},
		{"{} x", NULL, "", NULL},
		{"{" REQUIRED ", \"titel\": \"x\"}", NULL, "option \"titel\"", NULL},
		{"{" REQUIRED ", \"title\": 1}", NULL, "not a string", NULL},
		{"{" REQUIRED ", \"title\": \"a\", \"title\": \"b\"}", NULL, "a key", NULL},
		{"{" REQUIRED ", \"title\": \"\\ud800\"}", NULL, "", NULL},
		{"{" REQUIRED ", \"reproducible\": 1}", NULL, "not a boolean", NULL},
		{"{" REQUIRED ", \"mrl_dim\": -1}", NULL, "not an integer", NULL},
		{"{" REQUIRED ", \"mrl_dim\": 4294967296}", NULL, "not an integer", NULL},
		{"{" REQUIRED ", \"authors\": \"me\"}", NULL, "not an array", NULL},
		{"{" REQUIRED ", \"authors\": [1]}", NULL, "not a string", NULL},
		{"{" REQUIRED ", \"provenance\": [1]}", NULL, "not an object", NULL},
		{"{" REQUIRED ", \"provenance\": {\"a\": 1e400}}", "Json", "", "Json"},
		{"{" REQUIRED ", \"preset\": \"small\"}", NULL, "preset \"small\"", NULL},
		{"{" REQUIRED ", \"text_encoding\": \"lz4\"}", NULL, "text_encoding \"lz4\"", NULL},
		{"{" REQUIRED ", \"dtype\": \"int2\"}", NULL, "dtype \"int2\"", NULL},
		{"{" REQUIRED ", \"hnsw_m\": 2049}", NULL, "2049", NULL},
		{"{\"embedding_model\": \"\", \"model_hash\": \"sha256:"
			"0000000000000000000000000000000000000000000000000000000000000000\"}", NULL, "the placeholder", NULL},
		{"{" REQUIRED ", \"spaces\": {}}", NULL, "not an array", NULL},
		{"{" REQUIRED ", \"spaces\": [{\"name\": \"a\", \"dtype\": \"int8\"}]}", NULL, "a space without", NULL},
		{"{" REQUIRED ", \"spaces\": [{\"name\": \"\", \"dtype\": \"int8\", \"model_hash\": \"sha256:\"}]}",
			"MalformedSectionPayload", "an empty one", "MalformedSectionPayload"},
		{"{" REQUIRED ", \"spaces\": [{\"name\": \"a\", \"dtype\": \"int8\", \"model_hash\": \"sha:\"}]}",
			"MalformedSectionPayload", "model_hash", "MalformedSectionPayload"},
		{"{" REQUIRED ", \"spaces\": [{\"name\": \"a\", \"dtype\": \"int8\", \"model_hash\": \"sha256:\"}, "
			"{\"name\": \"a\", \"dtype\": \"int8\", \"model_hash\": \"sha256:\"}]}",
			"MalformedSectionPayload", "name \"a\"", "MalformedSectionPayload"},
		{"{}", "ManifestInvalid", "", "ManifestInvalid"},
		{"{\"embedding_model\": \"m\"}", "InvalidModelHash", "", "ManifestInvalid"},
		{"{\"embedding_model\": \"m\", \"model_hash\": \"x\"}", "InvalidModelHash", "", "ManifestInvalid"},
		{"{\"embedding_model\": \"m\", \"model_hash\": \"x\", \"chunker_version\": \"\"}", "ManifestInvalid",
			"", "ManifestInvalid"},
		{"{" REQUIRED ", \"embedding_dim\": 3}", "DimensionMismatch", "4 components", "ManifestInvalid"},
		{"{" REQUIRED ", \"mrl_dim\": 0}", NULL, "0 for 4", "ManifestInvalid"},
		{"{" REQUIRED ", \"mrl_dim\": 5}", NULL, "5 for 4", "ManifestInvalid"},
		{"{" REQUIRED ", \"preset\": \"micro\"}", NULL, "256 for 4", "ManifestInvalid"},
		{"{" REQUIRED ", \"dtype\": \"int4\"}", "InvalidInput", "4", "ManifestInvalid"},
		{"{\"dtype\": \"int4\", \"embedding_model\": null}", "InvalidInput", "4", "ManifestInvalid"}
	};
	const float values[4] = {1, 0, 0, 0};
	LwBuildRow	row = make_row(values, 4);
	size_t		i;
	LwError		error;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		int			spill = scratch_file();
		int			out = scratch_file();
		LwStatus	status = attempt(cases[i].options, &row, 1, spill, out, &error);

		CHECK(status == LW_INVALID && (error.name == NULL) == (cases[i].name == NULL) &&
			  (error.name == NULL || strcmp(error.name, cases[i].name) == 0) &&
			  strncmp(error.found, cases[i].found, strlen(cases[i].found)) == 0,
			  "%s: %d %s, found %s", cases[i].options, status, error.name, error.found);
		status = attempt(cases[i].options, NULL, 0, spill, out, &error);
		CHECK(status != LW_OK && (error.name == NULL) == (cases[i].without_rows == NULL) &&
			  (error.name == NULL || strcmp(error.name, cases[i].without_rows) == 0),
			  "%s without rows: %s, found %s", cases[i].options, error.name, error.found);
		CHECK(lseek(out, 0, SEEK_END) == 0, "%s", cases[i].options);
		close(spill);
		close(out);
	}
}

static void
test_refused_rows(void)
{
	static const float bad[4] = {0, 0, 0, (float) (1e300 * 1e300)};
	static const float large[64] = {65520};
	static const float values[64] = {1};
	static const char not_utf8[] = "\xff";
	LwBuildRow	rows[2] = {make_row(values, 64), make_row(values, 64)};
	LwBuildRow	good = rows[1];
	LwBuildVector space = {values, 4};
	LwError		error;
	int			spill = scratch_file();
	int			out = scratch_file();

#define REFUSED(options, nrows, error_name) \
	CHECK(attempt("{" REQUIRED options "}", rows, nrows, spill, out, &error) == LW_INVALID && \
		  error.name != NULL && strcmp(error.name, error_name) == 0, "%s, found %s", error.name, error.found)
#define ACCEPTED(options, nrows) \
	CHECK(attempt("{" REQUIRED options "}", rows, nrows, spill, out, &error) == LW_OK, "%s, found %s", \
		  error.name, error.found)

	ACCEPTED("", 2);
	rows[1].embedding.dimension = 3;
	REFUSED("", 2, "DimensionMismatch");
	rows[1] = good;
	rows[1].embedding.values = large;
	ACCEPTED("", 2);
	ACCEPTED(", \"dtype\": \"int4\"", 2);
	REFUSED(", \"dtype\": \"float16\"", 2, "InvalidEmbeddingValue");
	rows[1] = good;
	rows[1].start = 3;
	REFUSED("", 2, "InvalidInput");
	rows[1].embedding.dimension = 3;
	REFUSED("", 2, "DimensionMismatch");
	rows[1] = good;
	rows[1].text.data = (const uint8_t *) not_utf8;
	rows[1].text.size = 1;
	REFUSED("", 2, "InvalidInput");
	rows[1] = good;
	rows[1].uri = rows[1].text;
	rows[1].uri.data = (const uint8_t *) not_utf8;
	rows[1].uri.size = 1;
	REFUSED("", 2, "InvalidInput");
	rows[0] = make_row(bad, 4);
	rows[0].start = 3;
	REFUSED("", 1, "InvalidEmbeddingValue");
	rows[0].start = 0;
	ACCEPTED(", \"mrl_dim\": 3", 1);
#undef ACCEPTED
	rows[0] = good;
	rows[1] = good;
	rows[0].spaces = rows[1].spaces = &space;
	REFUSED(", \"spaces\": [{\"name\": \"a\", \"dtype\": \"int4\", \"model_hash\": \"sha256:\"}]", 1, "InvalidInput");
	space.values = bad;
	REFUSED(", \"spaces\": [{\"name\": \"a\", \"dtype\": \"int8\", \"model_hash\": \"sha256:\"}]", 1,
			"InvalidEmbeddingValue");
	space.dimension = 0;
	REFUSED(", \"spaces\": [{\"name\": \"a\", \"dtype\": \"int8\", \"model_hash\": \"sha256:\"}]", 1,
			"DimensionMismatch");
#undef REFUSED
	close(spill);
	close(out);
}

static void
test_blobs(void)
{
	LwBytes		uri = bytes_of("u");
	LwBytes		data = bytes_of("data");
	const float values[4] = {1, 0, 0, 0};
	const uint8_t other[32] = {1};
	LwBuildRow	row = make_row(values, 4);
	LwBuildOptions options;
	LwBuild    *build;
	LwError		error;
	int			spill = scratch_file();

	must(lw_build_options_parse(bytes_of("{" REQUIRED ", \"blobs\": \"\"}"), &options, &error) == LW_OK);
	must(lw_build_begin(&options, spill, 0, NULL, &build, &error) == LW_OK);
	CHECK(lw_build_add_blob(build, uri, other, 4, &data, &error) == LW_INVALID &&
		  strcmp(error.name, "BlobHashMismatch") == 0, "%s", error.found);
	CHECK(lw_build_add_blob(build, uri, NULL, 4, &data, &error) == LW_OK, "%s", error.found);
	CHECK(lw_build_add_blob(build, uri, other, UINT64_MAX, NULL, &error) == LW_OK, "%s", error.found);
	lw_build_blob_spans(build);
	row.blob = 1;
	CHECK(lw_build_add_row(build, &row, &error) == LW_OK, "%s", error.found);
	row.blob = 2;
	CHECK(lw_build_add_row(build, &row, &error) == LW_INVALID && strcmp(error.name, "InvalidInput") == 0, "%s",
		  error.found);
	lw_build_free(build);
	lw_build_options_free(&options);
	close(spill);
}

/* A section that readers would take for a bomb. */
static void
test_cap(void)
{
	const size_t zeros = (size_t) 70 << 20;
	const char *front = "{" REQUIRED ", \"provenance\": {\"zeros\": \"";
	static const float values[4] = {1};
	LwBuildRow	row = make_row(values, 4);
	int			spill = scratch_file();
	int			out = scratch_file();
	char	   *options = malloc(zeros + 1000);
	char	   *end = options + strlen(front) + zeros;
	LwError		error;

	must(options != NULL);
	strcpy(options, front);
	memset(options + strlen(front), '0', zeros);
	strcpy(end, "\"}}");
	CHECK(attempt(options, &row, 1, spill, out, &error) == LW_OK, "%s", error.found);
	strcpy(end, "\"}, \"text_encoding\": \"zstd\"}");
	CHECK(attempt(options, &row, 1, spill, out, &error) == LW_LIMIT, "%s", error.found);
	free(options);
	close(spill);
	close(out);
}

/* What goes wrong in the operating system. */
static void
test_files(void)
{
	static const float values[64] = {1};
	LwBuildRow	row = make_row(values, 64);
	int			spill = scratch_file();
	int			out = scratch_file();
	int			full = open("/dev/full", O_RDWR);
	LwError		error;

	must(full >= 0);
	CHECK(attempt("{" REQUIRED "}", &row, 1, spill, full, &error) == LW_IO && error.errnum == ENOSPC, "%s",
		  error.expected);
	CHECK(attempt("{" REQUIRED "}", &row, 1, full, out, &error) == LW_IO && error.errnum == ENOSPC, "%s",
		  error.expected);
	CHECK(attempt("{" REQUIRED "}", &row, 1, -1, out, &error) == LW_IO && error.errnum == EBADF, "%s",
		  error.expected);
	CHECK(attempt("{" REQUIRED ", \"with_hnsw\": true}", &row, 1, -1, out, &error) == LW_IO, "%s", error.expected);
	close(full);
	close(spill);
	close(out);
}

int
main(void)
{
	golden = getenv("LATEWEAVE_GOLDEN");
	if (golden == NULL)
	{
		fprintf(stderr, "set LATEWEAVE_GOLDEN to the directory of the golden files\n");
		return 1;
	}
	test_golden();
	test_stop();
	test_memory();
	test_refused_options();
	test_refused_rows();
	test_blobs();
	test_cap();
	test_files();
	return unit_done("build");
}
