/*-------------------------------------------------------------------------
 *
 * manifest_text.c
 *	  Writing the manifest of a section file.
 *
 *-------------------------------------------------------------------------
 */
#include "section/manifest_text.h"

#include <string.h>

#include "section/canon.h"

static void
put_text(LwBuffer *json, const char *text)
{
	lw_put_bytes(json, text, strlen(text));
}

/* Begins a member of the object that is open. */
static void
put_key(LwBuffer *json, const char *key)
{
	if (json->size > 0 && json->data[json->size - 1] != '{')
		lw_put_u8(json, ',');
	lw_put_u8(json, '"');
	put_text(json, key);
	put_text(json, "\":");
}

static void
put_number(LwBuffer *json, const char *key, uint64_t value)
{
	put_key(json, key);
	lw_put_json_uint64(json, value);
}

static void
put_bool(LwBuffer *json, const char *key, bool value)
{
	put_key(json, key);
	put_text(json, value ? "true" : "false");
}

static void
put_string(LwBuffer *json, const char *key, LwBytes string)
{
	put_key(json, key);
	lw_put_json_string(json, string);
}

/* A member that is left out when absent. */
static void
put_optional(LwBuffer *json, const char *key, LwBytes string)
{
	if (string.data != NULL)
		put_string(json, key, string);
}

/* A flag that is left out when false. */
static void
put_flag(LwBuffer *json, const char *key, bool value)
{
	if (value)
		put_bool(json, key, true);
}

static void
put_capabilities(LwBuffer *json, const LwSectionManifest *manifest)
{
	put_key(json, "capabilities");
	lw_put_u8(json, '{');
	put_bool(json, "supports_exact", manifest->supports_exact);
	put_bool(json, "supports_ann", manifest->supports_ann);
	put_bool(json, "supports_bm25", manifest->supports_bm25);
	put_bool(json, "supports_citations", manifest->supports_citations);
	put_bool(json, "supports_reproducible_build", manifest->supports_reproducible_build);
	lw_put_u8(json, '}');
}

static void
put_extensions(LwBuffer *json, const LwSectionManifest *manifest)
{
	if (!manifest->supports_multimodal && !manifest->graph_present &&
		!manifest->graph_entities_present && !manifest->supports_catalog && !manifest->blobs_present)
		return;
	put_key(json, "capabilities_ext");
	lw_put_u8(json, '{');
	put_flag(json, "supports_multimodal", manifest->supports_multimodal);
	put_flag(json, "graph_present", manifest->graph_present);
	put_flag(json, "graph_entities_present", manifest->graph_entities_present);
	put_flag(json, "supports_catalog", manifest->supports_catalog);
	put_flag(json, "blobs_present", manifest->blobs_present);
	lw_put_u8(json, '}');
}

/* The members that 0x06 repeats. */
static void
put_search_terms(LwBuffer *json, const LwSectionManifest *manifest)
{
	put_string(json, "metric", manifest->metric);
	put_string(json, "score_type", manifest->score_type);
	put_string(json, "normalize", manifest->normalize);
	put_string(json, "index_type", manifest->index_type);
	put_string(json, "rerank_policy", manifest->rerank_policy);
}

void
lw_put_manifest(LwBuffer *json, const LwSectionManifest *manifest, LwBytes authors)
{
	lw_put_u8(json, '{');
	put_number(json, "format_version", manifest->format_version);
	put_number(json, "schema_version", manifest->schema_version);
	put_string(json, "embedding_model", manifest->embedding_model);
	put_number(json, "embedding_dim", manifest->embedding_dim);
	put_number(json, "n_chunks", manifest->n_chunks);
	put_string(json, "dtype", manifest->dtype);
	put_search_terms(json, manifest);
	put_string(json, "model_hash", manifest->model_hash);
	put_string(json, "chunker_version", manifest->chunker_version);
	put_capabilities(json, manifest);
	put_optional(json, "title", manifest->title);
	put_optional(json, "version", manifest->version);
	put_optional(json, "created", manifest->created);
	put_optional(json, "description", manifest->description);
	if (authors.data != NULL)
	{
		put_key(json, "authors");
		lw_put_bytes(json, authors.data, authors.size);
	}
	put_optional(json, "license", manifest->license);
	if (manifest->has_mrl_dim)
		put_number(json, "mrl_dim", manifest->mrl_dim);
	if (manifest->has_full_dim)
		put_number(json, "full_dim", manifest->full_dim);
	put_extensions(json, manifest);
	put_optional(json, "producer", manifest->producer);
	lw_put_u8(json, '}');
}

void
lw_put_contract(LwBuffer *json, const LwSectionManifest *manifest)
{
	lw_put_u8(json, '{');
	put_search_terms(json, manifest);
	lw_put_u8(json, '}');
}
