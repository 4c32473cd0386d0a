/*-------------------------------------------------------------------------
 *
 * test_section_manifest.c
 *	  Manifests of section files: each rule by itself, and which comes first.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "exact.h"
#include "section/manifest.h"
#include "unit.h"

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static const char *const base =
"{\"format_version\":1,\"schema_version\":1,\"embedding_model\":\"m\",\"embedding_dim\":64,\"n_chunks\":3,"
"\"dtype\":\"float32\",\"metric\":\"ip\",\"score_type\":\"cosine\",\"normalize\":\"l2\",\"index_type\":\"exact\","
"\"rerank_policy\":\"none\",\"model_hash\":\"sha256:" ZEROS "\",\"chunker_version\":\"c\","
"\"capabilities\":{\"supports_exact\":true,\"supports_ann\":false,\"supports_bm25\":false,"
"\"supports_citations\":true,\"supports_reproducible_build\":true}}";

/* A change: text that is there and what stands for it, twice at most; and the error, NULL for none. */
typedef struct Case
{
	const char *from;
	const char *to;
	const char *from_too;
	const char *to_too;
	const char *error;
} Case;

#define END "true}}"			/* keys may be added before the last brace */

static const Case cases[] = {
	{"{", "{", NULL, NULL, NULL},
	{"\"format_version\":1", "\"format_version\":2", "\"schema_version\":1", "\"schema_version\":9", "UnsupportedFormatVersion"},
	{"\"schema_version\":1", "\"schema_version\":2", "\"m\"", "\"\"", "UnsupportedSchemaVersion"},
	{"\"m\"", "\"\"", "sha256", "sha", "ManifestInvalid"},
	{"\"embedding_dim\":64", "\"embedding_dim\":0", "sha256", "sha", "ManifestInvalid"},
	{"\"n_chunks\":3", "\"n_chunks\":0", "sha256", "sha", "ManifestInvalid"},
	{"\"c\"", "\"\"", "sha256", "sha", "ManifestInvalid"},
	{"sha256", "sha512", "float32", "float64", "InvalidModelHash"},
	{"sha256:0", "sha256:", NULL, NULL, "InvalidModelHash"},
	{"sha256:0", "sha256:00", NULL, NULL, "InvalidModelHash"},
	{"sha256:0", "sha256:g", NULL, NULL, "InvalidModelHash"},
	{"sha256:0", "sha256:F", NULL, NULL, NULL},
	{"float32", "float64", "\"ip\"", "\"l2\"", "UnsupportedDType"},
	{"float32", "int8", NULL, NULL, NULL},
	{"float32", "int4", NULL, NULL, NULL},
	{"\"ip\"", "\"IP\"", "cosine", "dot", "UnsupportedMetric"},
	{"cosine", "dot", "\"l2\"", "\"\"", "UnsupportedScoreType"},
	{"cosine", "hybrid_rrf", NULL, NULL, NULL},
	{"\"l2\"", "\"none\"", "\"exact\"", "\"flat\"", "UnsupportedNormalize"},
	{"\"exact\"", "\"flat\"", "\"none\"", "\"all\"", "UnsupportedIndexType"},
	{"\"none\"", "\"all\"", "\"supports_exact\":true", "\"supports_exact\":false", "UnsupportedRerankPolicy"},
	{"\"none\"", "\"exact\"", NULL, NULL, NULL},
	{"\"exact\"", "\"hnsw\"", "\"supports_ann\":false", "\"supports_ann\":true", "ManifestInvalid"},
	{"\"exact\"", "\"hybrid\"", "\"supports_bm25\":false", "\"supports_bm25\":true", "ManifestInvalid"},
	{"\"exact\",\"rerank_policy\":\"none\"", "\"hnsw\",\"rerank_policy\":\"exact\"", NULL, NULL, "ManifestInvalid"},
	{"\"exact\",\"rerank_policy\":\"none\"", "\"hybrid\",\"rerank_policy\":\"exact\"", NULL, NULL, "ManifestInvalid"},
	{"\"exact\",\"rerank_policy\":\"none\"", "\"hnsw\",\"rerank_policy\":\"exact\"",
	"\"supports_ann\":false", "\"supports_ann\":true", NULL},
	{"\"exact\",\"rerank_policy\":\"none\"", "\"hybrid\",\"rerank_policy\":\"exact\"",
	"\"supports_bm25\":false", "\"supports_bm25\":true", NULL},
	{"\"supports_exact\":true", "\"supports_exact\":false", NULL, NULL, "ManifestInvalid"},
	{"\"supports_reproducible_build\":true", "\"supports_reproducible_build\":false", NULL, NULL, "ManifestInvalid"},
	{"\"supports_citations\":true", "\"supports_citations\":false", NULL, NULL, NULL},
	{END, "true},\"mrl_dim\":64}", NULL, NULL, "ManifestInvalid"},
	{END, "true},\"full_dim\":64}", NULL, NULL, "ManifestInvalid"},
	{END, "true},\"mrl_dim\":0,\"full_dim\":64}", NULL, NULL, "ManifestInvalid"},
	{END, "true},\"mrl_dim\":64,\"full_dim\":63}", NULL, NULL, "ManifestInvalid"},
	{END, "true},\"mrl_dim\":63,\"full_dim\":64}", NULL, NULL, "ManifestInvalid"},
	{END, "true},\"mrl_dim\":64,\"full_dim\":64}", NULL, NULL, NULL},
	{END, "true},\"mrl_dim\":null,\"full_dim\":null}", NULL, NULL, NULL},
	{"\"embedding_dim\":64", "\"embedding_dim\":60", "float32", "int4", NULL},
	{"\"embedding_dim\":64", "\"embedding_dim\":60,\"mrl_dim\":60,\"full_dim\":64", "float32", "int4", "ManifestInvalid"},
	{END, "true},\"title\":null,\"authors\":null,\"capabilities_ext\":null}", NULL, NULL, NULL},
	{END, "true},\"title\":null,\"title\":null}", NULL, NULL, "Json"},
	{END, "true},\"title\":1}", NULL, NULL, "Json"},
	{END, "true},\"authors\":[\"a\",null]}", NULL, NULL, "Json"},
	{END, "true},\"authors\":\"a\"}", NULL, NULL, "Json"},
	{END, "true},\"mrl_dim\":4294967296,\"full_dim\":1}", NULL, NULL, "Json"},
	{END, "true},\"capabilities_ext\":{\"graph_present\":1}}", NULL, NULL, "Json"},
	{END, "true},\"capabilities_ext\":[true,true,true,true]}", NULL, NULL, "Json"},
	{END, "true},\"capabilities_ext\":[true,true,true,true,null,null]}", NULL, NULL, "Json"},
	{END, "true},\"\\ud800\":1}", NULL, NULL, "Json"},
	{END, "true,\"x\":\"\\ud800\"}}", NULL, NULL, NULL},
	{END, "true,\"\\ud800\":1}}", NULL, NULL, "Json"},
	{END, "true}} ", NULL, NULL, NULL},
	{END, "true}}x", NULL, NULL, "Json"},
	{END, "true}", NULL, NULL, "Json"},
	{"\"n_chunks\":3", "\"n_chunks\":18446744073709551615", NULL, NULL, NULL},
	{"\"n_chunks\":3", "\"n_chunks\":18446744073709551616", NULL, NULL, "Json"},
	{"\"n_chunks\":3", "\"n_chunks\":3.0", NULL, NULL, "Json"},
	{"\"n_chunks\":3", "\"n_chunks\":-0", NULL, NULL, "Json"},
	{"\"n_chunks\":3,", "", NULL, NULL, "Json"},
	{"\"supports_ann\":false,", "", NULL, NULL, "Json"}
};

/* Replaces the first occurrence of a text. */
static void
replace(char *text, const char *from, const char *to)
{
	char	   *at = from == NULL ? NULL : strstr(text, from);

	if (from == NULL)
		return;
	if (at == NULL)
		abort();
	memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
	memcpy(at, to, strlen(to));
}

static void
check_case(const Case *c)
{
	char		text[2000];
	LwSectionManifest manifest;
	LwBytes		bytes;
	char	   *exact;
	LwError		error;
	LwStatus	status;

	strcpy(text, base);
	replace(text, c->from, c->to);
	replace(text, c->from_too, c->to_too);
	exact = exact_copy(text, strlen(text));
	bytes.data = (const uint8_t *) exact;
	bytes.size = strlen(text);
	status = lw_section_manifest_parse(bytes, 100, &manifest, &error);
	if (status == LW_OK)
		status = lw_section_manifest_check(&manifest, &error);
	else
		CHECK(error.offset >= 100, "%s", c->to);
	CHECK(c->error == NULL ? status == LW_OK : status == LW_MALFORMED && strcmp(error.name, c->error) == 0,
		  "%s and %s: %s, %s", c->to, c->to_too == NULL ? "" : c->to_too, status == LW_OK ? "good" : error.name,
		  status == LW_OK ? "" : error.found);
	lw_section_manifest_free(&manifest);
	free(exact);
}

/* Strings are decoded, kept apart from names, and may hold anything that is UTF-8. */
static void
check_strings(void)
{
	char		text[2000];
	LwSectionManifest m;
	LwBytes		bytes = {(const uint8_t *) text, 0};
	LwError		error;

	strcpy(text, base);
	replace(text, "\"m\"", "\"\\u00e9\\u0000\\ud83d\\ude00\"");
	replace(text, END, "true},\"a very long key that is not known\":{\"b\":[]},\"t\\u0069tle\":\"t\","
			"\"producer\":\"one\",\"producer\":\"two\",\"license\":\"l\"}");
	bytes.size = strlen(text);
	CHECK(lw_section_manifest_parse(bytes, 0, &m, &error) == LW_OK, "%s", error.found);
	CHECK(m.json.size == bytes.size && memcmp(m.json.data, text, bytes.size) == 0, "the text");
	memset(text, 'x', bytes.size);
	CHECK(m.embedding_model.size == 7 && memcmp(m.embedding_model.data, "\xc3\xa9\0\xf0\x9f\x98\x80", 7) == 0, "a name");
	CHECK(m.title.size == 1 && m.title.data[0] == 't', "title");
	CHECK(m.producer.size == 3 && memcmp(m.producer.data, "two", 3) == 0, "producer");
	CHECK(m.license.size == 1 && m.license.data[0] == 'l', "license");
	CHECK(m.created.data == NULL, "created");
	lw_section_manifest_free(&m);
	CHECK(m.memory == NULL, "freed");
}

int
main(void)
{
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_case(&cases[i]);
	check_strings();
	return unit_done("test_section_manifest");
}
