/*-------------------------------------------------------------------------
 *
 * manifest_text.c
 *	  Writing manifest.json of a vector store: members in the order of the
 *	  format page, two spaces a level, a newline at the end.
 *
 *-------------------------------------------------------------------------
 */
#include "store/manifest_text.h"

#include <string.h>

#include "section/canon.h"

static void
put_text(LwBuffer *text, const char *literal)
{
	lw_put_bytes(text, literal, strlen(literal));
}

/* Begins a member: `before` ends what stands before it and indents. */
static void
put_key(LwBuffer *text, const char *before, const char *key)
{
	put_text(text, before);
	lw_put_u8(text, '"');
	put_text(text, key);
	put_text(text, "\": ");
}

static void
put_string(LwBuffer *text, const char *before, const char *key, LwString string)
{
	LwBytes		bytes = {(const uint8_t *) string.data, string.size};

	put_key(text, before, key);
	lw_put_json_string(text, bytes);
}

static void
put_number(LwBuffer *text, const char *before, const char *key, uint64_t value)
{
	put_key(text, before, key);
	lw_put_json_uint64(text, value);
}

static void
put_representation(LwBuffer *text, const LwManifest *manifest)
{
	put_key(text, ",\n  ", "representation");
	put_string(text, "{\n    ", "encoder", manifest->encoder);
	put_string(text, ",\n    ", "encoder_revision", manifest->encoder_revision);
	put_number(text, ",\n    ", "dimension", manifest->dimension);
	put_key(text, ",\n    ", "normalized");
	put_text(text, manifest->normalized ? "true" : "false");
	put_string(text, ",\n    ", "query_template", manifest->query_template);
	put_string(text, ",\n    ", "document_template", manifest->document_template);
	put_text(text, "\n  }");
}

static void
put_segment(LwBuffer *text, const LwManifestSegment *segment)
{
	put_number(text, "\n    {\n      ", "id", segment->id);
	put_number(text, ",\n      ", "documents", segment->documents);
	put_number(text, ",\n      ", "tokens", segment->tokens);
	if (segment->has_tombstones)
		put_number(text, ",\n      ", "tombstones", segment->tombstones);
	else
	{
		put_key(text, ",\n      ", "tombstones");
		put_text(text, "null");
	}
	put_text(text, "\n    }");
}

void
lw_put_store_manifest(LwBuffer *text, const LwManifest *manifest)
{
	size_t		i;

	put_key(text, "{\n  ", "format");
	put_text(text, "\"" LW_MANIFEST_FORMAT "\"");
	put_string(text, ",\n  ", "store_id", manifest->store_id);
	put_key(text, ",\n  ", "encoding");
	put_text(text, manifest->encoding == LW_INT8 ? "\"int8\"" : "\"float32\"");
	put_string(text, ",\n  ", "corpus", manifest->corpus);
	put_representation(text, manifest);
	put_number(text, ",\n  ", "commit", manifest->commit);
	put_number(text, ",\n  ", "next_segment_id", manifest->next_segment_id);
	put_key(text, ",\n  ", "committed_at");
	lw_put_json_double(text, manifest->committed_at);
	put_key(text, ",\n  ", "segments");
	put_text(text, "[");
	for (i = 0; i < manifest->nsegments; i++)
	{
		if (i > 0)
			put_text(text, ",");
		put_segment(text, &manifest->segments[i]);
	}
	put_text(text, manifest->nsegments > 0 ? "\n  ]\n}\n" : "]\n}\n");
}
