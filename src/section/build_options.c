/*-------------------------------------------------------------------------
 *
 * build_options.c
 *	  How a section file is to be built.
 *
 *-------------------------------------------------------------------------
 */
#include "section/build_options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "section/canon.h"
#include "section/fault.h"
#include "section/graph.h"
#include "section/record.h"
#include "section/space.h"

/* The names; what their values must be is in read_option. */
enum
{
	EMBEDDING_MODEL, CHUNKER_VERSION, MODEL_HASH, TITLE, VERSION, CREATED, DESCRIPTION, LICENSE,
	PRODUCER, PRESET, TEXT_ENCODING, DTYPE, BLOBS,
	EMBEDDING_DIM, MRL_DIM, GRAPH_TOP_M, HNSW_M, HNSW_EF_CONSTRUCTION,
	REPRODUCIBLE, WITH_HNSW, WITH_BM25, WITH_GRAPH, ALLOW_PLACEHOLDER,
	HNSW_SEED, AUTHORS, PROVENANCE, SPACES,
	NAMES
};

#define STRINGS EMBEDDING_DIM	/* that many names, from the first on */
#define NUMBERS (REPRODUCIBLE - EMBEDDING_DIM)
#define FLAGS (HNSW_SEED - REPRODUCIBLE)

static const char *const names[NAMES] = {
	"embedding_model", "chunker_version", "model_hash", "title", "version", "created", "description",
	"license", "producer", "preset", "text_encoding", "dtype", "blobs",
	"embedding_dim", "mrl_dim", "graph_top_m", "hnsw_m", "hnsw_ef_construction",
	"reproducible", "with_hnsw", "with_bm25", "with_graph", "allow_placeholder_model_hash",
	"hnsw_seed", "authors", "provenance", "spaces"
};

static const char *const space_keys[] = {"name", "dtype", "model_hash"};

typedef struct Preset
{
	const char *name;
	bool		zstd;
	LwVectorType type;
	bool		hnsw;
	bool		bm25;
	uint32_t	mrl_dim;		/* 0: none */
} Preset;

static const Preset presets[] = {
	{"exact", false, LW_VECTOR_FLOAT32, false, false, 0},
	{"compressed", true, LW_VECTOR_FLOAT16, false, false, 0},
	{"tiny", true, LW_VECTOR_INT8, true, false, 0},
	{"nano", true, LW_VECTOR_INT4, true, false, 0},
	{"hybrid", true, LW_VECTOR_FLOAT32, true, true, 0},
	{"micro", true, LW_VECTOR_INT8, true, false, 256}
};

#define PRESETS ((int) (sizeof(presets) / sizeof(presets[0])))

typedef enum Flag
{
	UNSET,
	NO,
	YES
} Flag;

/* What the text says. */
typedef struct Given
{
	LwBuildOptions *options;
	LwBytes		strings[STRINGS];
	LwBytes		space_strings[3];	/* of the space being read */
	uint32_t	numbers[NUMBERS];
	bool		has_number[NUMBERS];
	Flag		flags[FLAGS];
	char	   *free;			/* where the next string goes */
	const char *text;
	LwError    *error;			/* filled in when `failed` is not LW_OK */
	LwStatus	failed;
} Given;

static LwBytes
literal(const char *text)
{
	LwBytes		bytes = {(const uint8_t *) text, strlen(text)};

	return bytes;
}

static bool
is(LwBytes string, const char *text)
{
	return lw_bytes_equal(string, text, strlen(text));
}

static bool
read_string(Given *given, LwJson *reader, LwJsonToken token, LwBytes *string)
{
	if (token != LW_JSON_STRING)
		return lw_record_refuse(reader, "not a string");
	if (!lw_json_decode(reader, given->free, &string->size))
		return false;
	string->data = (uint8_t *) given->free;
	given->free += string->size;
	return true;
}

/* Copies a value as the format writes it; with `strings` it must be an array of strings, else an object. */
static bool
copy_json(Given *given, LwJson *reader, LwJsonToken token, bool strings, LwBuffer *json)
{
	LwBytes		text;

	if (token != (strings ? LW_JSON_ARRAY : LW_JSON_OBJECT))
		return lw_record_refuse(reader, strings ? "not an array" : "not an object");
	text.data = (const uint8_t *) given->text + reader->at;
	if (strings)
	{
		while ((token = lw_json_next(reader)) == LW_JSON_STRING)
			;
		if (token != LW_JSON_ARRAY_END)
			return token != LW_JSON_ERROR && lw_record_refuse(reader, "not a string");
	}
	else if (!lw_json_skip(reader, token))
		return false;
	text.size = (size_t) ((const uint8_t *) given->text + reader->pos - text.data);
	given->failed = lw_put_json(json, text, LW_CANON_DEPTH, given->error);
	return given->failed == LW_OK || lw_record_refuse(reader, "no JSON");
}

static bool
refuse_unknown(void *arg, LwJson *reader, LwJsonToken token, LwBytes name)
{
	Given	   *given = arg;

	(void) token;
	given->failed = lw_section_bad_string(given->error, LW_INVALID, NULL, "a known option", "option", name);
	return lw_record_refuse(reader, "unknown option");
}

static bool
read_space_member(void *arg, LwJson *reader, LwJsonToken token, int key)
{
	Given	   *given = arg;

	return read_string(given, reader, token, &given->space_strings[key]);
}

static bool
find_type(LwBytes name, LwVectorType *type)
{
	int			i;

	for (i = 0; i < LW_VECTOR_TYPES; i++)
		if (is(name, lw_vector_type_name((LwVectorType) i)))
		{
			*type = (LwVectorType) i;
			return true;
		}
	return false;
}

static LwStatus
unknown_type(LwError *error, LwBytes name)
{
	return lw_section_bad_string(error, LW_INVALID, NULL, "float32, float16, int8 or int4", "dtype", name);
}

/* Adds the space that was read. */
static LwStatus
add_space(Given *given)
{
	const char *const rule = "MalformedSectionPayload";
	LwBuildOptions *options = given->options;
	LwBuildSpace *space = &options->spaces[options->nspaces];
	size_t		i;

	space->name = given->space_strings[0];
	space->model_hash = given->space_strings[2];
	if (!find_type(given->space_strings[1], &space->type))
		return unknown_type(given->error, given->space_strings[1]);
	if (space->name.size == 0)
		return lw_fail(given->error, LW_INVALID, rule, -1, "a name for each space", "an empty one");
	if (space->model_hash.size < 7 || memcmp(space->model_hash.data, "sha256:", 7) != 0)
		return lw_section_bad_string(given->error, LW_INVALID, rule, "sha256: before the digits", "model_hash",
									 space->model_hash);
	for (i = 0; i < options->nspaces; i++)
		if (options->spaces[i].name.size == space->name.size &&
			memcmp(options->spaces[i].name.data, space->name.data, space->name.size) == 0)
			return lw_section_bad_string(given->error, LW_INVALID, rule, "another name for each space", "name",
										 space->name);
	options->nspaces++;
	return LW_OK;
}

static bool
read_spaces(Given *given, LwJson *reader, LwJsonToken token)
{
	const LwRecordShape shape = {space_keys, 3, false, read_space_member, refuse_unknown};
	uint32_t	seen;

	if (token != LW_JSON_ARRAY)
		return lw_record_refuse(reader, "not an array");
	given->options->has_spaces = true;
	while ((token = lw_json_next(reader)) != LW_JSON_ARRAY_END)
	{
		if (given->options->nspaces == LW_BUILD_SPACES)
			return lw_record_refuse(reader, "more than 15 spaces");
		if (!lw_record_read(&shape, reader, token, &given->free, given, &seen))
			return false;
		if (seen != 7)
			return lw_record_refuse(reader, "a space without name, dtype or model_hash");
		given->failed = add_space(given);
		if (given->failed != LW_OK)
			return lw_record_refuse(reader, "no such space");
	}
	return true;
}

static bool
read_number(Given *given, LwJson *reader, LwJsonToken token, int number)
{
	uint64_t	wide;

	if (token != LW_JSON_NUMBER || !lw_json_uint64(reader, &wide) || wide > UINT32_MAX)
		return lw_record_refuse(reader, "not an integer in range");
	given->numbers[number] = (uint32_t) wide;
	given->has_number[number] = true;
	return true;
}

/* Reads an option; null stands for its default. */
static bool
read_option(void *arg, LwJson *reader, LwJsonToken token, int key)
{
	Given	   *given = arg;

	if (token == LW_JSON_NULL)
		return true;
	if (key < STRINGS)
		return read_string(given, reader, token, &given->strings[key]);
	if (key < REPRODUCIBLE)
		return read_number(given, reader, token, key - EMBEDDING_DIM);
	switch (key)
	{
		case HNSW_SEED:
			return (token == LW_JSON_NUMBER && lw_json_uint64(reader, &given->options->hnsw_options.seed)) ||
				lw_record_refuse(reader, "not an integer in range");
		case AUTHORS:
			return copy_json(given, reader, token, true, &given->options->authors);
		case PROVENANCE:
			return copy_json(given, reader, token, false, &given->options->provenance);
		case SPACES:
			return read_spaces(given, reader, token);
		default:
			if (token != LW_JSON_TRUE && token != LW_JSON_FALSE)
				return lw_record_refuse(reader, "not a boolean");
			given->flags[key - REPRODUCIBLE] = token == LW_JSON_TRUE ? YES : NO;
			return true;
	}
}

static uint32_t
number_or(const Given *given, int key, uint32_t otherwise)
{
	return given->has_number[key - EMBEDDING_DIM] ? given->numbers[key - EMBEDDING_DIM] : otherwise;
}

static bool
flag_or(const Given *given, int key, bool otherwise)
{
	Flag		flag = given->flags[key - REPRODUCIBLE];

	return flag == UNSET ? otherwise : flag == YES;
}

static LwBytes
string_or(const Given *given, int key, const char *otherwise)
{
	return given->strings[key].data == NULL ? literal(otherwise) : given->strings[key];
}

/* The manifest as far as the options determine it. */
static void
fill_manifest(const Given *given, const Preset *preset)
{
	LwBuildOptions *options = given->options;
	LwSectionManifest *manifest = &options->manifest;

	manifest->format_version = 1;
	manifest->schema_version = 1;
	manifest->embedding_model = string_or(given, EMBEDDING_MODEL, "");
	manifest->embedding_dim = number_or(given, EMBEDDING_DIM, 0);
	manifest->dtype = literal(lw_vector_type_name(options->type));
	manifest->metric = literal("ip");
	manifest->score_type = literal("cosine");
	manifest->normalize = literal("l2");
	manifest->index_type = literal(options->hnsw ? "hnsw" : "exact");
	manifest->rerank_policy = literal(options->hnsw ? "exact" : "none");
	manifest->model_hash = string_or(given, MODEL_HASH, "");
	manifest->chunker_version = string_or(given, CHUNKER_VERSION, LW_CHUNKER_VERSION);
	manifest->title = given->strings[TITLE];
	manifest->version = given->strings[VERSION];
	manifest->created = given->strings[CREATED];
	manifest->description = given->strings[DESCRIPTION];
	manifest->license = given->strings[LICENSE];
	manifest->producer = string_or(given, PRODUCER, LW_PRODUCER);
	if (flag_or(given, REPRODUCIBLE, false))
		manifest->created = literal("1970-01-01T00:00:00Z");
	manifest->has_mrl_dim = given->has_number[MRL_DIM - EMBEDDING_DIM] || preset->mrl_dim > 0;
	manifest->mrl_dim = number_or(given, MRL_DIM, preset->mrl_dim);
	manifest->supports_exact = true;
	manifest->supports_ann = options->hnsw;
	manifest->supports_bm25 = options->bm25;
	manifest->supports_citations = true;
	manifest->supports_reproducible_build = true;
	manifest->supports_multimodal = options->has_spaces;
	manifest->blobs_present = options->blobs.data != NULL;
}

/* "sha256:" and 64 zeros, which stands for no model. */
static bool
is_placeholder(LwBytes hash)
{
	size_t		i;

	if (hash.size != 71 || memcmp(hash.data, "sha256:", 7) != 0)
		return false;
	for (i = 7; i < hash.size; i++)
		if (hash.data[i] != '0')
			return false;
	return true;
}

/* Presets, and what overrides them. */
static LwStatus
resolve(const Given *given)
{
	LwBuildOptions *options = given->options;
	LwBytes		name = string_or(given, PRESET, "exact");
	LwBytes		mode = given->strings[TEXT_ENCODING];
	const Preset *preset = presets;

	while (preset < presets + PRESETS && !is(name, preset->name))
		preset++;
	if (preset == presets + PRESETS)
		return lw_section_bad_string(given->error, LW_INVALID, NULL,
									 "exact, compressed, tiny, nano, hybrid or micro", "preset", name);
	if (mode.data != NULL && !is(mode, "raw") && !is(mode, "zstd"))
		return lw_section_bad_string(given->error, LW_INVALID, NULL, "raw or zstd", "text_encoding", mode);
	options->zstd = mode.data == NULL ? preset->zstd : is(mode, "zstd");
	options->type = preset->type;
	if (given->strings[DTYPE].data != NULL && !find_type(given->strings[DTYPE], &options->type))
		return unknown_type(given->error, given->strings[DTYPE]);
	options->hnsw = flag_or(given, WITH_HNSW, preset->hnsw);
	options->bm25 = flag_or(given, WITH_BM25, preset->bm25);
	options->graph = flag_or(given, WITH_GRAPH, false);
	options->graph_top_m = number_or(given, GRAPH_TOP_M, LW_GRAPH_TOP_M);
	options->hnsw_options.m = number_or(given, HNSW_M, lw_hnsw_defaults.m);
	options->hnsw_options.ef_construction = number_or(given, HNSW_EF_CONSTRUCTION,
													  lw_hnsw_defaults.ef_construction);
	if (options->hnsw_options.m > LW_HNSW_MAX_LINKS / 2)
		return lw_fail(given->error, LW_INVALID, NULL, -1, "hnsw_m of at most 2048", "%u",
					   options->hnsw_options.m);
	options->blobs = given->strings[BLOBS];
	fill_manifest(given, preset);
	if (is_placeholder(options->manifest.model_hash) && !flag_or(given, ALLOW_PLACEHOLDER, false))
		return lw_fail(given->error, LW_INVALID, NULL, -1, "the embedder's model_hash",
					   "the placeholder of zeros; allow_placeholder_model_hash allows it");
	return LW_OK;
}

LwStatus
lw_build_options_parse(LwBytes json, LwBuildOptions *options, LwError *error)
{
	const LwRecordShape shape = {names, NAMES, false, read_option, refuse_unknown};
	Given		given;
	LwJson		reader;
	uint32_t	seen;

	memset(options, 0, sizeof(*options));
	memset(&given, 0, sizeof(given));
	options->hnsw_options = lw_hnsw_defaults;
	lw_buffer_init(&options->authors, 0);
	lw_buffer_init(&options->provenance, 0);
	options->memory = malloc(json.size + 1);
	if (options->memory == NULL)
		return lw_no_memory(error);
	given.options = options;
	given.free = options->memory;
	given.text = (const char *) json.data;
	given.error = error;
	lw_json_init(&reader, json.data, json.size);
	if (!lw_record_read(&shape, &reader, lw_json_next(&reader), &given.free, &given, &seen) ||
		lw_json_next(&reader) != LW_JSON_END)
	{
		if (given.failed == LW_MALFORMED)
			error->status = LW_INVALID;
		if (given.failed != LW_OK)
			return error->status;
		return lw_fail(error, LW_INVALID, NULL, (int64_t) reader.at, "options as a JSON object", "%s",
					   reader.problem);
	}
	return resolve(&given);
}

void
lw_build_options_free(LwBuildOptions *options)
{
	lw_buffer_free(&options->authors);
	lw_buffer_free(&options->provenance);
	free(options->memory);
	options->memory = NULL;
}
