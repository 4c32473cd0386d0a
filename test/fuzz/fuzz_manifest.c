/*-------------------------------------------------------------------------
 *
 * fuzz_manifest.c
 *	  manifest.json.  What must hold for any bytes: parsing is the same twice,
 *	  what is accepted keeps every rule of the format, and an error names its
 *	  rule and a place in the file.
 *
 *-------------------------------------------------------------------------
 */
#include "format/manifest.h"
#include "format/utf8.h"
#include "fuzz.h"

static void
check_string(LwString string)
{
	REQUIRE(string.data != NULL);
	REQUIRE(lw_utf8_valid(string.data, string.size) == string.size);
}

static void
check_manifest(const LwManifest *m, size_t size)
{
	size_t		i;

	check_string(m->store_id);
	check_string(m->corpus);
	check_string(m->encoder);
	check_string(m->encoder_revision);
	check_string(m->query_template);
	check_string(m->document_template);
	REQUIRE(m->store_id.size > 0 && m->corpus.size > 0);
	REQUIRE(m->encoder.size > 0 && m->encoder_revision.size > 0);
	REQUIRE(m->store_id.size + m->corpus.size + m->encoder.size + m->encoder_revision.size +
			m->query_template.size + m->document_template.size < size);
	REQUIRE(m->encoding == LW_FLOAT32 || m->encoding == LW_INT8);
	REQUIRE(m->dimension > 0);
	REQUIRE(m->committed_at >= 0 && m->committed_at < 9223372036854775808.0);
	REQUIRE(m->nsegments < size);
	for (i = 0; i < m->nsegments; i++)
	{
		const LwManifestSegment *segment = &m->segments[i];

		REQUIRE(i == 0 || segment->id > segment[-1].id);
		REQUIRE(segment->id < m->next_segment_id);
		REQUIRE(segment->tombstones <= m->commit);
		REQUIRE(segment->has_tombstones || segment->tombstones == 0);
	}
}

static void
check_error(const LwError *error, size_t size)
{
	REQUIRE(error->status == LW_MALFORMED);
	REQUIRE(error->name != NULL && error->expected[0] != '\0' && error->found[0] != '\0');
	REQUIRE(error->offset >= 0 && error->offset <= (int64_t) size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	   *text = exact_memory(size);
	LwManifest	first;
	LwManifest	second;
	LwError		error;
	LwError		same;
	LwStatus	status;

	if (size > 0)
		memcpy(text, data, size);
	status = lw_manifest_parse(text, size, &first, &error);
	REQUIRE(lw_manifest_parse(text, size, &second, &same) == status);
	if (status == LW_OK)
	{
		check_manifest(&first, size);
		REQUIRE(lw_manifest_equal(&first, &second));
		REQUIRE(lw_manifest_same_representation(&first, &second));
	}
	else
	{
		check_error(&error, size);
		REQUIRE(error.name == same.name && error.offset == same.offset);
		REQUIRE(first.strings == NULL && first.segments == NULL);
	}
	lw_manifest_free(&first);
	lw_manifest_free(&second);
	free(text);
	return 0;
}
