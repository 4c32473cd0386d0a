/*-------------------------------------------------------------------------
 *
 * manifest.c
 *	  Reading the manifest of a section file.
 *
 * The text is copied first, so that what was checked is what is kept.  The
 * decoded strings follow it in the same memory: together they are never
 * longer than the text.
 *
 *-------------------------------------------------------------------------
 */
#include "section/manifest.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "section/fault.h"
#include "section/record.h"

typedef enum FieldType
{
	FIELD_U32,
	FIELD_U64,
	FIELD_STRING,
	FIELD_OPTIONAL_U32,
	FIELD_OPTIONAL_STRING,
	FIELD_OPTIONAL_STRINGS,		/* checked, not kept */
	FIELD_CAPABILITIES,
	FIELD_OPTIONAL_CAPABILITIES
} FieldType;

/* The keys, as they are written; `required` ones come first. */
static const char *const keys[] = {
	"format_version", "schema_version", "embedding_model", "embedding_dim", "n_chunks", "dtype",
	"metric", "score_type", "normalize", "index_type", "rerank_policy", "model_hash",
	"chunker_version", "capabilities",
	"title", "version", "created", "description", "authors", "license", "mrl_dim", "full_dim",
	"capabilities_ext"
};

#define REQUIRED_KEYS 14
#define KEYS ((int) (sizeof(keys) / sizeof(keys[0])))

static const struct
{
	FieldType	type;
	size_t		offset;			/* in an LwSectionManifest */
	size_t		present;		/* likewise, of FIELD_OPTIONAL_U32 */
}			fields[] =
{
	{FIELD_U32, offsetof(LwSectionManifest, format_version), 0},
	{FIELD_U32, offsetof(LwSectionManifest, schema_version), 0},
	{FIELD_STRING, offsetof(LwSectionManifest, embedding_model), 0},
	{FIELD_U32, offsetof(LwSectionManifest, embedding_dim), 0},
	{FIELD_U64, offsetof(LwSectionManifest, n_chunks), 0},
	{FIELD_STRING, offsetof(LwSectionManifest, dtype), 0},
	{FIELD_STRING, offsetof(LwSectionManifest, metric), 0},
	{FIELD_STRING, offsetof(LwSectionManifest, score_type), 0},
	{FIELD_STRING, offsetof(LwSectionManifest, normalize), 0},
	{FIELD_STRING, offsetof(LwSectionManifest, index_type), 0},
	{FIELD_STRING, offsetof(LwSectionManifest, rerank_policy), 0},
	{FIELD_STRING, offsetof(LwSectionManifest, model_hash), 0},
	{FIELD_STRING, offsetof(LwSectionManifest, chunker_version), 0},
	{FIELD_CAPABILITIES, 0, 0},
	{FIELD_OPTIONAL_STRING, offsetof(LwSectionManifest, title), 0},
	{FIELD_OPTIONAL_STRING, offsetof(LwSectionManifest, version), 0},
	{FIELD_OPTIONAL_STRING, offsetof(LwSectionManifest, created), 0},
	{FIELD_OPTIONAL_STRING, offsetof(LwSectionManifest, description), 0},
	{FIELD_OPTIONAL_STRINGS, 0, 0},
	{FIELD_OPTIONAL_STRING, offsetof(LwSectionManifest, license), 0},
	{FIELD_OPTIONAL_U32, offsetof(LwSectionManifest, mrl_dim), offsetof(LwSectionManifest, has_mrl_dim)},
	{FIELD_OPTIONAL_U32, offsetof(LwSectionManifest, full_dim), offsetof(LwSectionManifest, has_full_dim)},
	{FIELD_OPTIONAL_CAPABILITIES, 0, 0}
};

static const char *const capability_keys[] = {
	"supports_exact", "supports_ann", "supports_bm25", "supports_citations", "supports_reproducible_build"
};
static const size_t capability_offsets[] = {
	offsetof(LwSectionManifest, supports_exact), offsetof(LwSectionManifest, supports_ann),
	offsetof(LwSectionManifest, supports_bm25), offsetof(LwSectionManifest, supports_citations),
	offsetof(LwSectionManifest, supports_reproducible_build)
};
static const char *const extension_keys[] = {
	"supports_multimodal", "graph_present", "graph_entities_present", "supports_catalog", "blobs_present"
};
static const size_t extension_offsets[] = {
	offsetof(LwSectionManifest, supports_multimodal), offsetof(LwSectionManifest, graph_present),
	offsetof(LwSectionManifest, graph_entities_present), offsetof(LwSectionManifest, supports_catalog),
	offsetof(LwSectionManifest, blobs_present)
};

#define CAPABILITIES 5
#define ALL_CAPABILITIES 31u

/* What the readers below work on. */
typedef struct Target
{
	LwSectionManifest *manifest;
	char	   *free;			/* where the next string goes */
} Target;

static void *
field_at(Target *target, size_t offset)
{
	return (char *) target->manifest + offset;
}

static bool
read_string(Target *target, LwJson *reader, LwJsonToken token, LwBytes *string)
{
	if (token != LW_JSON_STRING)
		return lw_record_refuse(reader, "not a string");
	if (!lw_json_decode(reader, target->free, &string->size))
		return false;
	string->data = (uint8_t *) target->free;
	target->free += string->size;
	return true;
}

static bool
read_u64(LwJson *reader, LwJsonToken token, uint64_t limit, uint64_t *value)
{
	if (token != LW_JSON_NUMBER || !lw_json_uint64(reader, value) || *value > limit)
		return lw_record_refuse(reader, "not an integer in range");
	return true;
}

static bool
read_u32(LwJson *reader, LwJsonToken token, uint32_t *value)
{
	uint64_t	wide;

	if (!read_u64(reader, token, UINT32_MAX, &wide))
		return false;
	*value = (uint32_t) wide;
	return true;
}

static bool
read_strings(Target *target, LwJson *reader, LwJsonToken token)
{
	size_t		size;

	if (token != LW_JSON_ARRAY)
		return lw_record_refuse(reader, "not an array");
	while ((token = lw_json_next(reader)) != LW_JSON_ARRAY_END)
	{
		if (token != LW_JSON_STRING)
			return lw_record_refuse(reader, "not a string");
		if (!lw_json_decode(reader, target->free, &size))
			return false;
	}
	return true;
}

static bool
read_capability(void *arg, LwJson *reader, LwJsonToken token, int key)
{
	if (token != LW_JSON_TRUE && token != LW_JSON_FALSE)
		return lw_record_refuse(reader, "not a boolean");
	*(bool *) field_at(arg, capability_offsets[key]) = token == LW_JSON_TRUE;
	return true;
}

static bool
read_extension(void *arg, LwJson *reader, LwJsonToken token, int key)
{
	if (token != LW_JSON_TRUE && token != LW_JSON_FALSE && token != LW_JSON_NULL)
		return lw_record_refuse(reader, "not a boolean");
	*(bool *) field_at(arg, extension_offsets[key]) = token == LW_JSON_TRUE;
	return true;
}

/* Reads capabilities, all of which must be there, or capabilities_ext. */
static bool
read_capabilities(Target *target, LwJson *reader, LwJsonToken token, bool extension)
{
	LwRecordShape shape = {extension ? extension_keys : capability_keys, CAPABILITIES, true,
		extension ? read_extension : read_capability, NULL};
	uint32_t	seen;

	if (!lw_record_read(&shape, reader, token, &target->free, target, &seen))
		return false;
	if (!extension && seen != ALL_CAPABILITIES)
		return lw_record_refuse(reader, "a missing capability");
	return true;
}

static bool
read_known(void *arg, LwJson *reader, LwJsonToken token, int key)
{
	Target	   *target = arg;
	void	   *field = field_at(target, fields[key].offset);
	uint64_t	number;

	if (key >= REQUIRED_KEYS && token == LW_JSON_NULL)
		return true;
	switch (fields[key].type)
	{
		case FIELD_U64:
			if (!read_u64(reader, token, UINT64_MAX, &number))
				return false;
			*(uint64_t *) field = number;
			return true;
		case FIELD_OPTIONAL_U32:
			*(bool *) field_at(target, fields[key].present) = true;
			return read_u32(reader, token, field);
		case FIELD_U32:
			return read_u32(reader, token, field);
		case FIELD_OPTIONAL_STRINGS:
			return read_strings(target, reader, token);
		case FIELD_CAPABILITIES:
			return read_capabilities(target, reader, token, false);
		case FIELD_OPTIONAL_CAPABILITIES:
			return read_capabilities(target, reader, token, true);
		case FIELD_STRING:
		case FIELD_OPTIONAL_STRING:
			break;
	}
	return read_string(target, reader, token, field);
}

static bool
read_unknown(void *arg, LwJson *reader, LwJsonToken token, LwBytes name)
{
	Target	   *target = arg;
	LwBytes    *producer = &target->manifest->producer;

	if (name.size == strlen("producer") && memcmp(name.data, "producer", name.size) == 0)
	{
		memset(producer, 0, sizeof(*producer));
		if (token == LW_JSON_STRING)
			return read_string(target, reader, token, producer);
	}
	return lw_record_keep(reader, token, target->free);
}

LwStatus
lw_section_manifest_parse(LwBytes text, uint64_t offset, LwSectionManifest *manifest, LwError *error)
{
	LwRecordShape shape = {keys, KEYS, false, read_known, read_unknown};
	LwJson		reader;
	Target		target;
	uint32_t	required = (UINT32_C(1) << REQUIRED_KEYS) - 1;
	uint32_t	seen;
	bool		good;

	memset(manifest, 0, sizeof(*manifest));
	if (text.size > SIZE_MAX / 2 - 1 || (manifest->memory = malloc(2 * text.size + 1)) == NULL)
		return lw_fail_errno(error, ENOMEM, "read the manifest of");
	memcpy(manifest->memory, text.data, text.size);
	manifest->json.data = (uint8_t *) manifest->memory;
	manifest->json.size = text.size;

	target.manifest = manifest;
	target.free = manifest->memory + text.size;
	lw_json_init(&reader, manifest->memory, text.size);
	good = lw_record_read(&shape, &reader, lw_json_next(&reader), &target.free, &target, &seen);
	if (good && (seen & required) != required)
		good = lw_record_refuse(&reader, "a missing key");
	if (good && lw_json_next(&reader) == LW_JSON_END)
		return LW_OK;
	lw_section_manifest_free(manifest);
	return lw_fail(error, LW_MALFORMED, "Json", (int64_t) (offset + reader.at),
				   "a manifest in JSON", "%s", reader.problem);
}

void
lw_section_manifest_free(LwSectionManifest *manifest)
{
	free(manifest->memory);
	memset(manifest, 0, sizeof(*manifest));
}
