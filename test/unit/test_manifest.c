/*-------------------------------------------------------------------------
 *
 * test_manifest.c
 *	  manifest.json: what is read, what is refused, and where.
 *
 * cc -Isrc -Itest/unit -o test_manifest test/unit/test_manifest.c src/format/(any).c
 *
 *-------------------------------------------------------------------------
 */
#include "exact.h"
#include "format/manifest.h"
#include "unit.h"

static const char base[] =
"{\n"
"  \"format\": \"lateweave-vectors-2\",\n"
"  \"store_id\": \"5f0c\",\n"
"  \"encoding\": \"float32\",\n"
"  \"corpus\": \"laws\",\n"
"  \"representation\": {\n"
"    \"encoder\": \"some/encoder\",\n"
"    \"encoder_revision\": \"main\",\n"
"    \"dimension\": 128,\n"
"    \"normalized\": true,\n"
"    \"query_template\": \"[Q] \",\n"
"    \"document_template\": \"[D] \"\n"
"  },\n"
"  \"commit\": 12,\n"
"  \"next_segment_id\": 8,\n"
"  \"committed_at\": 1790000000.25,\n"
"  \"segments\": [\n"
"    {\"id\": 3, \"documents\": 1000, \"tokens\": 51234, \"tombstones\": 11},\n"
"    {\"id\": 5, \"documents\": 20, \"tokens\": 900, \"tombstones\": null}\n"
"  ]\n"
"}\n";

/* The base with the first `old` replaced; malloc'ed, and as long as it is. */
static char *
edited(const char *old, const char *new, size_t *size)
{
	const char *at = strstr(base, old);
	size_t		before;
	char	   *text;

	if (at == NULL)
	{
		fprintf(stderr, "not in the base: %s\n", old);
		abort();
	}
	before = (size_t) (at - base);
	*size = strlen(base) - strlen(old) + strlen(new);
	text = malloc(*size + 1);
	sprintf(text, "%.*s%s%s", (int) before, base, new, at + strlen(old));
	return text;
}

static LwStatus
parse(const char *text, size_t size, LwManifest *manifest, LwError *error)
{
	char	   *copy = exact_copy(text, size);
	LwStatus	status;

	memset(error, 0, sizeof(*error));
	memset(manifest, 0xee, sizeof(*manifest));
	status = lw_manifest_parse(copy, size, manifest, error);
	free(copy);
	return status;
}

/* Parses the base with an edit that must be accepted. */
static LwManifest
accept(const char *old, const char *new)
{
	size_t		size;
	char	   *text = edited(old, new, &size);
	LwManifest	manifest;
	LwError		error;

	CHECK(parse(text, size, &manifest, &error) == LW_OK, "%.80s: %s %s at %d, expected %s",
		  new, error.name, error.found, (int) error.offset, error.expected);
	free(text);
	return manifest;
}

/*
 * An edit that must be refused: the error's name, the text that it points at
 * (the first such text from the edit's line on, less the newline it may begin
 * with; "" for the end of the file, NULL for the segment with the edit), and
 * what it says was found.
 */
typedef struct Refused
{
	const char *old;
	const char *new;
	const char *name;
	const char *at;
	const char *found;
} Refused;

static const Refused refused[] = {
	/* syntax */
	{"{", "", "ManifestJson", "\"format\"", "\"format\""},
	{"{", "[", "ManifestJson", "[", "an array"},
	{"]\n}\n", "]\n", "ManifestJson", "", "unexpected end"},
	{"]\n}\n", "]\n}\n{}", "ManifestJson", "{}", "text after the value"},
	{"]\n}\n", "],\n}\n", "ManifestJson", "}", "no member name"},
	{"\"commit\": 12", "\"commit\": 012", "ManifestJson", "12", "leading zero in a number"},
	{"\"commit\": 12", "\"x\": 01, \"commit\": 12", "ManifestJson", "1, ", "leading zero in a number"},
	{"\"commit\": 12", "\"x\": NaN, \"commit\": 12", "ManifestJson", "NaN", "no value"},
	{"\"commit\": 12", "\"x\": [1,{\"y\":}], \"commit\": 12", "ManifestJson", "}", "no value"},
	{"\"laws\"", "\"la\tws\"", "ManifestJson", "\t", "control character in a string"},

	/* members */
	{"\"format\"", "\"Format\"", "ManifestJson", "\n}", "no format"},
	{"\"store_id\"", "\"store\"", "ManifestJson", "\n}", "no store_id"},
	{"\"encoding\"", "\"x\"", "ManifestJson", "\n}", "no encoding"},
	{"\"corpus\"", "\"x\"", "ManifestJson", "\n}", "no corpus"},
	{"\"representation\"", "\"x\"", "ManifestJson", "\n}", "no representation"},
	{"\"commit\"", "\"x\"", "ManifestJson", "\n}", "no commit"},
	{"\"next_segment_id\"", "\"x\"", "ManifestJson", "\n}", "no next_segment_id"},
	{"\"committed_at\"", "\"x\"", "ManifestJson", "\n}", "no committed_at"},
	{"\"segments\"", "\"x\"", "ManifestJson", "\n}", "no segments"},
	{"\"encoder\"", "\"x\"", "ManifestJson", "}", "no representation.encoder"},
	{"\"encoder_revision\"", "\"x\"", "ManifestJson", "}", "no representation.encoder_revision"},
	{"\"dimension\"", "\"x\"", "ManifestJson", "}", "no representation.dimension"},
	{"\"normalized\"", "\"x\"", "ManifestJson", "}", "no representation.normalized"},
	{"\"id\"", "\"x\"", "ManifestJson", "}", "no segments.id"},
	{"\"documents\"", "\"x\"", "ManifestJson", "}", "no segments.documents"},
	{"\"tokens\"", "\"x\"", "ManifestJson", "}", "no segments.tokens"},
	{"\"corpus\"", "\"format\"", "ManifestJson", "\"format\"", "a second format"},
	{"\"corpus\"", "\"\\u0066orm\\u0061t\"", "ManifestJson", "\"\\u0066", "a second format"},
	{"\"document_template\"", "\"query_template\"", "ManifestJson", "\"query_template\"", "a second query_template"},
	{"\"tokens\"", "\"documents\"", "ManifestJson", "\"documents\": 51234", "a second documents"},
	{"\"tokens\"", "\"tombstones\"", "ManifestJson", "\"tombstones\": 11", "a second tombstones"},

	/* types and ranges */
	{"\"lateweave-vectors-2\"", "2", "ManifestJson", "2", "format: 2"},
	{"\"5f0c\"", "null", "ManifestJson", "null", "store_id: null"},
	{"\"float32\"", "{}", "ManifestJson", "{}", "encoding: an object"},
	{"\"laws\"", "[\"laws\"]", "ManifestJson", "[", "corpus: an array"},
	{"\"[Q] \"", "null", "ManifestJson", "null", "query_template: null"},
	{"\"[D] \"", "false", "ManifestJson", "false", "document_template: false"},
	{"\"some/encoder\"", "\"\"", "ManifestJson", "\"\"", "encoder: \"\""},
	{"\"main\"", "\"\"", "ManifestJson", "\"\"", "encoder_revision: \"\""},
	{"128", "0", "ManifestJson", "0", "dimension: 0"},
	{"128", "-7", "ManifestJson", "-7", "dimension: -7"},
	{"128", "128.0", "ManifestJson", "128.0", "dimension: 128.0"},
	{"128", "18446744073709551616", "ManifestJson", "1844", "dimension: 18446744073709551616"},
	{"true", "1", "ManifestJson", "1", "normalized: 1"},
	{"true", "\"true\"", "ManifestJson", "\"true\"", "normalized: \"true\""},
	{"true", "null", "ManifestJson", "null", "normalized: null"},
	{"\"commit\": 12", "\"commit\": 12.0", "ManifestJson", "12.0", "commit: 12.0"},
	{"\"commit\": 12", "\"commit\": 12e0", "ManifestJson", "12e0", "commit: 12e0"},
	{"\"commit\": 12", "\"commit\": -0", "ManifestJson", "-0", "commit: -0"},
	{"\"commit\": 12", "\"commit\": \"12\"", "ManifestJson", "\"12\"", "commit: \"12\""},
	{"\"commit\": 12", "\"commit\": \"\"", "ManifestJson", "\"\"", "commit: \"\""},
	{"\"commit\": 12", "\"commit\": null", "ManifestJson", "null", "commit: null"},
	{"\"commit\": 12", "\"commit\": true", "ManifestJson", "true", "commit: true"},
	{"\"next_segment_id\": 8", "\"next_segment_id\": 8e2", "ManifestJson", "8e2", "next_segment_id: 8e2"},
	{"1790000000.25", "\"1790000000\"", "ManifestJson", "\"1790", "committed_at: \"1790000000\""},
	{"1790000000.25", "null", "ManifestJson", "null", "committed_at: null"},
	{"1790000000.25", "1e400", "ManifestJson", "1e400", "committed_at: 1e400"},
	{"\"segments\": [", "\"segments\": null, \"x\": [", "ManifestJson", "null", "segments: null"},
	{"\"segments\": [", "\"segments\": {}, \"x\": [", "ManifestJson", "{}", "segments: an object"},
	{"\"segments\": [", "\"segments\": [null,", "ManifestJson", "null", "segments: null"},
	{"\"segments\": [", "\"segments\": [[3,1000,51234,11],", "ManifestJson", "[3", "segments: an array"},
	{"\"representation\": {", "\"representation\": [], \"x\": {", "ManifestJson", "[]", "representation: an array"},
	{"\"id\": 3", "\"id\": \"3\"", "ManifestJson", "\"3\"", "id: \"3\""},
	{"\"documents\": 1000", "\"documents\": null", "ManifestJson", "null", "documents: null"},
	{"51234", "-51234", "ManifestJson", "-51234", "tokens: -51234"},
	{"\"tombstones\": 11", "\"tombstones\": false", "ManifestJson", "false", "tombstones: false"},
	{"\"tombstones\": 11", "\"tombstones\": \"../x\"", "ManifestJson", "\"../x", "tombstones: \"../x\""},

	/* encoding */
	{"\"laws\"", "\"a\xff\"", "ManifestJson", "\xff", "invalid UTF-8"},
	{"\"laws\"", "\"a\xc0\x80\"", "ManifestJson", "\xc0", "invalid UTF-8"},
	{"\"laws\"", "\"a\\ud800\"", "ManifestJson", "\\ud800", "lone surrogate escape"},
	{"\"corpus\"", "\"\xff\": 1, \"corpus\"", "ManifestJson", "\xff", "invalid UTF-8"},
	{"\"corpus\"", "\"\\udc00\": 1, \"corpus\"", "ManifestJson", "\\udc00", "lone surrogate escape"},

	/* the rules between values */
	{"vectors-2", "vectors-1", "Format", "\"lateweave", "\"lateweave-vectors-1\""},
	{"vectors-2", "vectors-2 ", "Format", "\"lateweave", "\"lateweave-vectors-2 \""},
	{"lateweave-vectors-2", "", "Format", "\"\"", "\"\""},
	{"vectors-2", "vectors-2\\u0000", "Format", "\"lateweave", "\"lateweave-vectors-2\""},
	{"float32", "Float32", "Encoding", "\"Float32", "\"Float32\""},
	{"float32", "", "Encoding", "\"\"", "\"\""},
	{"laws", "", "EmptyString", "\"\"", "\"\""},
	{"5f0c", "", "EmptyString", "\"\"", "\"\""},
	{"1790000000.25", "-1", "CommittedAt", "-1", "-1"},
	{"1790000000.25", "-1e-300", "CommittedAt", "-1e-300", "-1e-300"},
	{"1790000000.25", "9223372036854775808", "CommittedAt", "9223", "9.2233720368547758e+18"},
	{"1790000000.25", "1e308", "CommittedAt", "1e308", "1e+308"},
	{"\"id\": 5", "\"id\": 3", "SegmentOrder", NULL, "3 after 3"},
	{"\"id\": 5", "\"id\": 2", "SegmentOrder", NULL, "2 after 3"},
	{"\"id\": 3", "\"id\": 18446744073709551615", "SegmentOrder", "{\"id\": 5", "5 after 18446744073709551615"},
	{"\"id\": 5", "\"id\": 8", "Watermark", NULL, "segment 8, next_segment_id 8"},
	{"\"next_segment_id\": 8", "\"next_segment_id\": 0", "Watermark", "{\"id\": 5", "segment 5, next_segment_id 0"},
	{"\"tombstones\": 11", "\"tombstones\": 13", "TombstoneCommit", NULL, "tombstones 13, commit 12"},
	{"\"tombstones\": null", "\"tombstones\": 18446744073709551615", "TombstoneCommit", NULL, "tombstones 18446744073709551615, commit 12"},
	{"\"commit\": 12", "\"commit\": 10", "TombstoneCommit", "{\"id\": 3", "tombstones 11, commit 10"},

	/* several faults: what the schema says comes first, wherever it is */
	{"vectors-2\",", "vectors-1\", \"corpus\": 1,", "ManifestJson", "1,", "corpus: 1"},
};

static void
test_refused(void)
{
	size_t		i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
	{
		const Refused *r = &refused[i];
		size_t		size;
		char	   *text = edited(r->old, r->new, &size);
		const char *at = text + (strstr(base, r->old) - base);
		LwManifest	manifest;
		LwError		error;
		LwStatus	status;

		while (at > text && *at != (r->at == NULL ? '{' : '\n'))
			at--;
		if (r->at != NULL)
			at = r->at[0] == '\0' ? text + size : strstr(at, r->at);
		if (at != NULL && *at == '\n')
			at++;

		status = parse(text, size, &manifest, &error);
		CHECK(status == LW_MALFORMED && error.status == status, "%s: status %d", r->new, status);
		if (status == LW_MALFORMED)
		{
			CHECK(strcmp(error.name, r->name) == 0, "%s: %s", r->new, error.name);
			CHECK(at != NULL && error.offset == at - text, "%s: at %d, not %d", r->new,
				  (int) error.offset, (int) (at - text));
			CHECK(strcmp(error.found, r->found) == 0, "%s: %s", r->new, error.found);
			CHECK(error.expected[0] != '\0', "%s", r->new);
			CHECK(manifest.segments == NULL && manifest.strings == NULL, "%s: memory", r->new);
		}
		free(text);
	}
}

/* A NUL, which the tables cannot hold. */
static void
test_nul(void)
{
	LwManifest	manifest;
	LwError		error;

	CHECK(parse(base, sizeof(base), &manifest, &error) == LW_MALFORMED &&
		  error.offset == sizeof(base) - 1, "after the object");
	CHECK(parse("", 0, &manifest, &error) == LW_MALFORMED && error.offset == 0, "no bytes");
}

static bool
is(LwString string, const char *text)
{
	return string.size == strlen(text) && memcmp(string.data, text, string.size) == 0;
}

static void
test_values(void)
{
	LwManifest	m = accept("{", "{");

	CHECK(is(m.store_id, "5f0c"), "store_id");
	CHECK(is(m.corpus, "laws"), "corpus");
	CHECK(is(m.encoder, "some/encoder"), "encoder");
	CHECK(is(m.encoder_revision, "main"), "encoder_revision");
	CHECK(is(m.query_template, "[Q] "), "query_template");
	CHECK(is(m.document_template, "[D] "), "document_template");
	CHECK(m.encoding == LW_FLOAT32, "encoding");
	CHECK(m.normalized, "normalized");
	CHECK(m.dimension == 128, "dimension");
	CHECK(m.commit == 12, "commit");
	CHECK(m.next_segment_id == 8, "next_segment_id");
	CHECK(m.committed_at == 1790000000.25, "committed_at");
	CHECK(m.nsegments == 2, "segments");
	CHECK(m.segments[0].id == 3 && m.segments[0].documents == 1000 &&
		  m.segments[0].tokens == 51234 && m.segments[0].has_tombstones &&
		  m.segments[0].tombstones == 11, "the first segment");
	CHECK(m.segments[1].id == 5 && m.segments[1].documents == 20 &&
		  m.segments[1].tokens == 900 && !m.segments[1].has_tombstones &&
		  m.segments[1].tombstones == 0, "the second segment");
	lw_manifest_free(&m);
	CHECK(m.segments == NULL && m.strings == NULL, "freed");
	lw_manifest_free(&m);
}

/* Edits that change nothing that is known. */
static void
test_same(void)
{
	static const struct
	{
		const char *old;
		const char *new;
	}			cases[] = {
		{"\n}\n", "\n} \t\r\n "},
		{"\"format\"", "\"\\u0066ormat\""},
		{"\"lateweave-vectors-2\"", "\"\\u006cateweave-vectors-2\""},
		{"\"laws\"", "\"l\\u0061ws\""},
		{"\"corpus\"", "\"x\": 1, \"x\": 2, \"corpus\""},
		{"\"corpus\"", "\"x\": 1e999, \"y\": -0, \"z\": 123456789012345678901234567890, \"corpus\""},
		{"\"corpus\"", "\"x\": [[[[{\"format\": [{\"corpus\": null}]}]]]], \"corpus\""},
		{"\"corpus\"", "\"x\": \"\xff\\ud800\", \"corpus\""},
		{"\"encoder\"", "\"format\": 1, \"segments\": 2, \"id\": 3, \"encoder\""},
		{"\"id\"", "\"format\": 1, \"encoder\": {}, \"id\""},
		{", \"tombstones\": null", ""},
		{"1790000000.25", "179000000025e-2"},
	};
	LwManifest	m = accept("{", "{");
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		LwManifest	other = accept(cases[i].old, cases[i].new);

		CHECK(lw_manifest_equal(&m, &other) && lw_manifest_equal(&other, &m), "%s", cases[i].new);
		lw_manifest_free(&other);
	}
	lw_manifest_free(&m);
}

/* Edits that change what is known, and whether the representation with it. */
static void
test_other(void)
{
	static const struct
	{
		const char *old;
		const char *new;
		bool		same_representation;
	}			cases[] = {
		{"5f0c", "5f0d", true},
		{"5f0c", "\\u00e9 \\\" \\ud83d\\ude00", true},
		{"float32", "int8", true},
		{"laws", "law", true},
		{"laws", "laws\\u0000", true},
		{"\"some/encoder\"", "\"x\"", false},
		{"\"main\"", "\"x\"", false},
		{"128", "129", false},
		{"128", "18446744073709551615", false},
		{"true", "false", false},
		{"\"query_template\": \"[Q] \",", "", false},
		{"[Q] ", "", false},
		{",\n    \"document_template\": \"[D] \"", "", false},
		{"\"commit\": 12", "\"commit\": 11", true},
		{"\"commit\": 12", "\"commit\": 18446744073709551615", true},
		{"\"next_segment_id\": 8", "\"next_segment_id\": 6", true},
		{"\"next_segment_id\": 8", "\"next_segment_id\": 18446744073709551615", true},
		{"1790000000.25", "0", true},
		{"1790000000.25", "-0.0", true},
		{"1790000000.25", "9223372036854774784", true},
		{"\"id\": 3", "\"id\": 0", true},
		{"\"id\": 5", "\"id\": 7", true},
		{"\"documents\": 20", "\"documents\": 18446744073709551615", true},
		{"\"tokens\": 900", "\"tokens\": 9223372036854775808", true},
		{"\"tombstones\": 11", "\"tombstones\": 12", true},
		{"\"tombstones\": 11", "\"tombstones\": null", true},
		{", \"tombstones\": 11", "", true},
		{"\"tombstones\": null", "\"tombstones\": 0", true},
		{"\"segments\": [", "\"segments\": [], \"x\": [", true},
	};
	LwManifest	m = accept("{", "{");
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		LwManifest	other = accept(cases[i].old, cases[i].new);

		CHECK(!lw_manifest_equal(&m, &other) && !lw_manifest_equal(&other, &m), "%s", cases[i].new);
		CHECK(lw_manifest_same_representation(&m, &other) == cases[i].same_representation,
			  "%s", cases[i].new);
		lw_manifest_free(&other);
	}
	lw_manifest_free(&m);

	m = accept("\"query_template\": \"[Q] \",", "");
	CHECK(m.query_template.size == 0, "the default template");
	lw_manifest_free(&m);
}

/* 64-bit numbers survive. */
static void
test_limits(void)
{
	LwManifest	m;

	m = accept("\"commit\": 12", "\"commit\": 18446744073709551615");
	CHECK(m.commit == UINT64_MAX, "commit");
	lw_manifest_free(&m);
	m = accept("\"commit\": 12", "\"commit\": 9223372036854775808");
	CHECK(m.commit == UINT64_C(9223372036854775808), "commit");
	lw_manifest_free(&m);
	m = accept("128", "18446744073709551615");
	CHECK(m.dimension == UINT64_MAX, "dimension");
	lw_manifest_free(&m);
	m = accept("laws", "a\\u0000b");
	CHECK(m.corpus.size == 3 && memcmp(m.corpus.data, "a\0b", 3) == 0, "corpus");
	lw_manifest_free(&m);
}

/* A value of an unknown member may be 1,000 levels deep, anywhere. */
static void
test_depth(void)
{
	static const char *const places[] = {"\"corpus\"", "\"encoder\"", "\"id\""};
	size_t		deep;
	size_t		i;

	for (i = 0; i < 3; i++)
		for (deep = 1000; deep <= 100000; deep *= 100)
		{
			char	   *new = malloc(2 * deep + 64);
			size_t		size;
			char	   *text;
			LwManifest	manifest;
			LwError		error;
			LwStatus	status;

			memcpy(new, "\"x\": ", 5);
			memset(new + 5, '[', deep);
			memset(new + 5 + deep, ']', deep);
			sprintf(new + 5 + 2 * deep, ", %s", places[i]);
			text = edited(places[i], new, &size);
			status = parse(text, size, &manifest, &error);
			CHECK(status == (deep == 1000 ? LW_OK : LW_MALFORMED), "%zu deep before %s", deep, places[i]);
			if (status == LW_OK)
				lw_manifest_free(&manifest);
			else
				CHECK(strcmp(error.found, "nested too deeply") == 0, "%s", error.found);
			free(text);
			free(new);
		}
}

/* Many segments: all kept, in order. */
static void
test_many_segments(void)
{
	const size_t count = 1000;
	char	   *new = malloc(count * 64);
	char	   *end = new;
	LwManifest	m;
	size_t		i;
	int			wrong = 0;

	end += sprintf(end, "\"next_segment_id\": %zu, \"segments\": [", 2 * count);
	for (i = 0; i < count; i++)
		end += sprintf(end, "%s{\"id\":%zu,\"documents\":%zu,\"tokens\":%zu}",
					   i == 0 ? "" : ",", 2 * i + 1, i, 3 * i);
	sprintf(end, "], \"committed_at\": 1, \"x\": 1, \"y\":");
	m = accept("\"next_segment_id\": 8,\n  \"committed_at\": 1790000000.25,\n  \"segments\":", new);
	CHECK(m.nsegments == count, "%zu segments", m.nsegments);
	for (i = 0; i < m.nsegments; i++)
		wrong += m.segments[i].id != 2 * i + 1 || m.segments[i].documents != i ||
			m.segments[i].tokens != 3 * i || m.segments[i].has_tombstones;
	CHECK(wrong == 0, "%d segments", wrong);
	lw_manifest_free(&m);
	free(new);
}

/* An error quotes a part of a long or unprintable value. */
static void
test_quoting(void)
{
	char		new[2048];
	size_t		size;
	char	   *text;
	LwManifest	manifest;
	LwError		error;

	memset(new, '7', 1000);
	new[1000] = '\0';
	text = edited("128", new, &size);
	CHECK(parse(text, size, &manifest, &error) == LW_MALFORMED &&
		  strlen(error.found) < 120 && strstr(error.found, "7 and so on") != NULL, "%s", error.found);
	free(text);

	text = edited("vectors-2", "\\n\\u0007\\u00e9", &size);
	CHECK(parse(text, size, &manifest, &error) == LW_MALFORMED &&
		  strcmp(error.found, "\"lateweave-????\"") == 0, "%s", error.found);
	free(text);
}

/* No prefix is accepted but those that only lack the whitespace at the end. */
static void
test_truncated(void)
{
	size_t		size;

	for (size = 0; size < strlen(base); size++)
	{
		LwManifest	manifest;
		LwError		error;
		LwStatus	status = parse(base, size, &manifest, &error);

		CHECK((status == LW_OK) == (size == strlen(base) - 1), "the first %zu bytes", size);
		if (status == LW_OK)
			lw_manifest_free(&manifest);
		else
			CHECK(strcmp(error.name, "ManifestJson") == 0 && error.offset <= (int64_t) size,
				  "the first %zu bytes: %s at %d", size, error.name, (int) error.offset);
	}
}

/* With any one byte changed it is read or refused, nothing else. */
static void
test_flipped(void)
{
	static const char bytes[] = "\"\\{}[],:0-.e u\t\x80\xff";
	size_t		at;
	size_t		i;

	for (at = 0; at < strlen(base); at++)
		for (i = 0; i < sizeof(bytes); i++)
		{
			char		text[sizeof(base)];
			LwManifest	manifest;
			LwError		error;
			LwStatus	status;

			memcpy(text, base, sizeof(base));
			text[at] = bytes[i];
			status = parse(text, sizeof(base) - 1, &manifest, &error);
			CHECK(status == LW_OK || status == LW_MALFORMED, "byte %zu: %d", at, status);
			if (status == LW_OK)
				lw_manifest_free(&manifest);
		}
}

/* A copy by way of one block is equal, wherever the original and the block go. */
static void
test_flat(void)
{
	static const char *const others[][2] = {
		{"some/encoder", "e"}, {"\"[Q] \"", "\"\""}, {"\"id\": 3", "\"id\": 4"}
	};
	size_t		i;

	for (i = 0; i < 3; i++)
	{
		LwManifest	manifest;
		LwManifest	copy;
		LwManifest	again;
		LwError		error;
		size_t		size;
		size_t		flat_size;
		char	   *text = edited(others[i][0], others[i][1], &size);
		char	   *flat;

		CHECK(parse(text, size, &manifest, &error) == LW_OK, "%s", error.found);
		flat_size = lw_manifest_flat_size(&manifest);
		flat = malloc(flat_size);
		lw_manifest_flatten(&manifest, flat);
		lw_manifest_free(&manifest);
		CHECK(lw_manifest_unflatten(flat, &copy), "no memory");
		memset(flat, 0xa5, flat_size);
		free(flat);
		CHECK(parse(text, size, &again, &error) == LW_OK, "%s", error.found);
		CHECK(lw_manifest_equal(&copy, &again), "%s", others[i][1]);
		lw_manifest_free(&copy);
		lw_manifest_free(&again);
		free(text);
	}
}

int
main(void)
{
	test_refused();
	test_nul();
	test_values();
	test_same();
	test_other();
	test_limits();
	test_depth();
	test_many_segments();
	test_quoting();
	test_truncated();
	test_flipped();
	test_flat();
	return unit_done("manifest");
}
