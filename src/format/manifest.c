/*-------------------------------------------------------------------------
 *
 * manifest.c
 *	  Reading manifest.json.
 *
 * The text is read once, in two steps as the format's reference takes them,
 * so that a file with several faults gets the same error name here: first
 * everything that a JSON schema could say (ManifestJson), then the rules
 * between values.  What the second step needs to point at a fault is
 * remembered by the first.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "manifest.h"

#define UINT64_EXPECTED "an unsigned 64-bit integer in plain digits"

/* As much of a value as an error quotes, in bytes. */
#define QUOTED_SIZE 80

/* What a member holds. */
typedef enum Kind
{
	KIND_STRING,				/* LwString */
	KIND_NAME,					/* LwString, not empty */
	KIND_UINT64,				/* uint64_t */
	KIND_POSITIVE,				/* uint64_t, not 0 */
	KIND_BOOL,					/* bool */
	KIND_SECONDS,				/* double */
	KIND_COMMIT,				/* the tombstones of an LwManifestSegment */
	KIND_REPRESENTATION,		/* members of the Parser itself */
	KIND_SEGMENTS				/* the segments of the Parser */
} Kind;

/* Where in the file one segment of the list begins. */
typedef struct Place
{
	size_t		segment;
	size_t		at;
} Place;

/* The top-level members, in the order of top_members. */
enum
{
	TOP_FORMAT,
	TOP_STORE_ID,
	TOP_ENCODING,
	TOP_CORPUS,
	TOP_REPRESENTATION,
	TOP_COMMIT,
	TOP_NEXT_SEGMENT_ID,
	TOP_COMMITTED_AT,
	TOP_SEGMENTS,
	TOP_MEMBERS
};

typedef struct Parser
{
	LwJson		json;
	LwError    *error;
	LwManifest	manifest;
	LwString	format;
	LwString	encoding;
	size_t		strings_used;	/* bytes of manifest.strings */
	size_t		segments_room;
	size_t		at[TOP_MEMBERS];	/* where the top-level values begin */
	bool		disordered;
	Place		disorder;		/* the first segment whose id does not ascend */
	Place		last;			/* the last segment */
	Place		newest;			/* the first one with the highest tombstones */
} Parser;

/* A known member of an object, stored at `offset` of the object's struct. */
typedef struct Member
{
	const char *name;
	Kind		kind;
	bool		optional;
	size_t		offset;
} Member;

static const Member top_members[TOP_MEMBERS] = {
	{"format", KIND_STRING, false, offsetof(Parser, format)},
	{"store_id", KIND_STRING, false, offsetof(Parser, manifest.store_id)},
	{"encoding", KIND_STRING, false, offsetof(Parser, encoding)},
	{"corpus", KIND_STRING, false, offsetof(Parser, manifest.corpus)},
	{"representation", KIND_REPRESENTATION, false, 0},
	{"commit", KIND_UINT64, false, offsetof(Parser, manifest.commit)},
	{"next_segment_id", KIND_UINT64, false, offsetof(Parser, manifest.next_segment_id)},
	{"committed_at", KIND_SECONDS, false, offsetof(Parser, manifest.committed_at)},
	{"segments", KIND_SEGMENTS, false, 0},
};

static const Member representation_members[] = {
	{"encoder", KIND_NAME, false, offsetof(Parser, manifest.encoder)},
	{"encoder_revision", KIND_NAME, false, offsetof(Parser, manifest.encoder_revision)},
	{"dimension", KIND_POSITIVE, false, offsetof(Parser, manifest.dimension)},
	{"normalized", KIND_BOOL, false, offsetof(Parser, manifest.normalized)},
	{"query_template", KIND_STRING, true, offsetof(Parser, manifest.query_template)},
	{"document_template", KIND_STRING, true, offsetof(Parser, manifest.document_template)},
};

static const Member segment_members[] = {
	{"id", KIND_UINT64, false, offsetof(LwManifestSegment, id)},
	{"documents", KIND_UINT64, false, offsetof(LwManifestSegment, documents)},
	{"tokens", KIND_UINT64, false, offsetof(LwManifestSegment, tokens)},
	{"tombstones", KIND_COMMIT, true, 0},
};

#define LENGTH(array) ((int) (sizeof(array) / sizeof((array)[0])))

static LwStatus read_object(Parser *parser, LwJsonToken token, const char *name,
							const Member *members, int nmembers, void *object,
							size_t *at);

/* Fails with the reader's own fault. */
static LwStatus
syntax_error(Parser *parser)
{
	return lw_fail(parser->error, LW_MALFORMED, "ManifestJson",
				   (int64_t) parser->json.at, "JSON text in UTF-8", "%s",
				   parser->json.problem);
}

/* Fails since the value just read is not what `name` holds (NULL: the file). */
static LwStatus
wrong_value(Parser *parser, LwJsonToken token, const char *name, const char *expected)
{
	const LwJson *json = &parser->json;
	const char *value;
	const char *quote = "";
	size_t		size;

	switch (token)
	{
		case LW_JSON_OBJECT:
			value = "an object";
			break;
		case LW_JSON_ARRAY:
			value = "an array";
			break;
		case LW_JSON_TRUE:
			value = "true";
			break;
		case LW_JSON_FALSE:
			value = "false";
			break;
		case LW_JSON_NULL:
			value = "null";
			break;
		case LW_JSON_STRING:
			value = json->raw;
			quote = "\"";
			break;
		case LW_JSON_NUMBER:
			value = json->raw;
			break;
		default:
			return syntax_error(parser);
	}
	size = value == json->raw ? json->raw_size : strlen(value);
	return lw_fail(parser->error, LW_MALFORMED, "ManifestJson",
				   (int64_t) json->at, expected, "%s%s%s%.*s%s%s",
				   name == NULL ? "" : name, name == NULL ? "" : ": ", quote,
				   (int) (size < QUOTED_SIZE ? size : QUOTED_SIZE), value, quote,
				   size > QUOTED_SIZE ? " and so on" : "");
}

/*
 * Decodes the name or string just read into the manifest's strings, not yet
 * counting it as used.  There is always room: what was decoded before lies in
 * other bytes of the file, and nothing is longer decoded than raw.
 */
static LwStatus
decode(Parser *parser, LwString *string)
{
	char	   *out = parser->manifest.strings + parser->strings_used;

	if (!lw_json_decode(&parser->json, out, &string->size))
		return syntax_error(parser);
	string->data = out;
	return LW_OK;
}

static bool
equals_literal(LwString string, const char *literal)
{
	return string.size == strlen(literal) && memcmp(string.data, literal, string.size) == 0;
}

/* Makes room for one more segment and clears it; NULL when out of memory. */
static LwManifestSegment *
add_segment(Parser *parser)
{
	LwManifest *manifest = &parser->manifest;
	LwManifestSegment *segment;

	if (manifest->nsegments == parser->segments_room)
	{
		size_t		room = parser->segments_room == 0 ? 8 : parser->segments_room * 2;

		segment = NULL;
		if (room <= SIZE_MAX / sizeof(*segment))
			segment = realloc(manifest->segments, room * sizeof(*segment));
		if (segment == NULL)
			return NULL;
		manifest->segments = segment;
		parser->segments_room = room;
	}
	segment = &manifest->segments[manifest->nsegments++];
	memset(segment, 0, sizeof(*segment));
	return segment;
}

/* Reads the list of segments, whose first token is `token`. */
static LwStatus
read_segments(Parser *parser, LwJsonToken token)
{
	LwManifest *manifest = &parser->manifest;

	if (token != LW_JSON_ARRAY)
		return wrong_value(parser, token, "segments", "an array");
	while ((token = lw_json_next(&parser->json)) != LW_JSON_ARRAY_END)
	{
		LwManifestSegment *segment = add_segment(parser);
		Place		here = {manifest->nsegments - 1, parser->json.at};
		LwStatus	status;

		if (segment == NULL)
			return lw_fail(parser->error, LW_NO_MEMORY, NULL, -1, "memory",
						   "none for another segment");
		status = read_object(parser, token, "segments", segment_members,
							 LENGTH(segment_members), segment, NULL);
		if (status != LW_OK)
			return status;

		if (here.segment > 0 && segment->id <= segment[-1].id && !parser->disordered)
		{
			parser->disordered = true;
			parser->disorder = here;
		}
		parser->last = here;
		if (here.segment == 0 ||
			segment->tombstones > manifest->segments[parser->newest.segment].tombstones)
			parser->newest = here;
	}
	return LW_OK;
}

/* Reads the value of a known member, whose first token is `token`. */
static LwStatus
read_member(Parser *parser, LwJsonToken token, const Member *member, void *object)
{
	void	   *target = (char *) object + member->offset;

	switch (member->kind)
	{
		case KIND_STRING:
		case KIND_NAME:
			if (token != LW_JSON_STRING)
				return wrong_value(parser, token, member->name, "a string");
			if (member->kind == KIND_NAME && parser->json.raw_size == 0)
				return wrong_value(parser, token, member->name, "a string that is not empty");
			if (decode(parser, target) != LW_OK)
				return parser->error->status;
			parser->strings_used += ((LwString *) target)->size;
			return LW_OK;

		case KIND_UINT64:
		case KIND_POSITIVE:
			if (token != LW_JSON_NUMBER || !lw_json_uint64(&parser->json, target))
				return wrong_value(parser, token, member->name, UINT64_EXPECTED);
			if (member->kind == KIND_POSITIVE && *(uint64_t *) target == 0)
				return wrong_value(parser, token, member->name, "a positive integer");
			return LW_OK;

		case KIND_BOOL:
			if (token != LW_JSON_TRUE && token != LW_JSON_FALSE)
				return wrong_value(parser, token, member->name, "true or false");
			*(bool *) target = token == LW_JSON_TRUE;
			return LW_OK;

		case KIND_SECONDS:
			if (token != LW_JSON_NUMBER || !lw_json_double(&parser->json, target))
				return wrong_value(parser, token, member->name, "a number in the range of a double");
			return LW_OK;

		case KIND_COMMIT:
			{
				LwManifestSegment *segment = object;

				if (token == LW_JSON_NULL)
					return LW_OK;
				if (token != LW_JSON_NUMBER ||
					!lw_json_uint64(&parser->json, &segment->tombstones))
					return wrong_value(parser, token, member->name, UINT64_EXPECTED " or null");
				segment->has_tombstones = true;
				return LW_OK;
			}

		case KIND_REPRESENTATION:
			return read_object(parser, token, member->name, representation_members,
							   LENGTH(representation_members), parser, NULL);

		case KIND_SEGMENTS:
			return read_segments(parser, token);
	}
	return LW_OK;
}

/*
 * Reads an object into the struct `object`, skipping members that are not
 * known.  `name` is the member that holds it; `at`, unless NULL, gets where
 * the members' values begin.
 */
static LwStatus
read_object(Parser *parser, LwJsonToken token, const char *name,
			const Member *members, int nmembers, void *object, size_t *at)
{
	LwJson	   *json = &parser->json;
	unsigned	seen = 0;
	int			i;

	if (token != LW_JSON_OBJECT)
		return wrong_value(parser, token, name, "an object");
	while ((token = lw_json_next(json)) == LW_JSON_NAME)
	{
		size_t		name_at = json->at;
		LwString	found;

		if (decode(parser, &found) != LW_OK)
			return parser->error->status;
		for (i = 0; i < nmembers; i++)
			if (equals_literal(found, members[i].name))
				break;
		if (i < nmembers && (seen & 1u << i) != 0)
			return lw_fail(parser->error, LW_MALFORMED, "ManifestJson", (int64_t) name_at,
						   "each member once", "a second %s", members[i].name);

		token = lw_json_next(json);
		if (i == nmembers)
		{
			if (!lw_json_skip(json, token))
				return syntax_error(parser);
			continue;
		}
		seen |= 1u << i;
		if (at != NULL)
			at[i] = json->at;
		if (read_member(parser, token, &members[i], object) != LW_OK)
			return parser->error->status;
	}
	if (token == LW_JSON_ERROR)
		return syntax_error(parser);

	for (i = 0; i < nmembers; i++)
		if ((seen & 1u << i) == 0 && !members[i].optional)
			return lw_fail(parser->error, LW_MALFORMED, "ManifestJson", (int64_t) json->at,
						   "every required member", "no %s%s%s",
						   name == NULL ? "" : name, name == NULL ? "" : ".",
						   members[i].name);
	return LW_OK;
}

/* Fails since a top-level string has the wrong value. */
static LwStatus
wrong_string(Parser *parser, int member, const char *name, const char *expected, LwString string)
{
	return lw_fail(parser->error, LW_MALFORMED, name, (int64_t) parser->at[member],
				   expected, "\"%.*s\"%s",
				   (int) (string.size < QUOTED_SIZE ? string.size : QUOTED_SIZE), string.data,
				   string.size > QUOTED_SIZE ? " and so on" : "");
}

/* The rules between values, and the values that have error names of their own. */
static LwStatus
check_values(Parser *parser)
{
	LwManifest *manifest = &parser->manifest;
	const LwManifestSegment *segments = manifest->segments;

	if (!equals_literal(parser->format, LW_MANIFEST_FORMAT))
		return wrong_string(parser, TOP_FORMAT, "Format", "\"" LW_MANIFEST_FORMAT "\"", parser->format);

	if (equals_literal(parser->encoding, "float32"))
		manifest->encoding = LW_FLOAT32;
	else if (equals_literal(parser->encoding, "int8"))
		manifest->encoding = LW_INT8;
	else
		return wrong_string(parser, TOP_ENCODING, "Encoding", "\"float32\" or \"int8\"",
							parser->encoding);

	if (manifest->corpus.size == 0)
		return wrong_string(parser, TOP_CORPUS, "EmptyString",
							"a corpus that is not empty", manifest->corpus);
	if (manifest->store_id.size == 0)
		return wrong_string(parser, TOP_STORE_ID, "EmptyString",
							"a store_id that is not empty", manifest->store_id);

	/* the upper bound is 2^63 */
	if (!(manifest->committed_at >= 0 && manifest->committed_at < 9223372036854775808.0))
		return lw_fail(parser->error, LW_MALFORMED, "CommittedAt",
					   (int64_t) parser->at[TOP_COMMITTED_AT],
					   "seconds since 1970, from 0 to below 2^63", "%.17g",
					   manifest->committed_at);

	if (parser->disordered)
		return lw_fail(parser->error, LW_MALFORMED, "SegmentOrder",
					   (int64_t) parser->disorder.at, "strictly ascending segment ids",
					   "%" PRIu64 " after %" PRIu64, segments[parser->disorder.segment].id,
					   segments[parser->disorder.segment - 1].id);
	if (manifest->nsegments == 0)
		return LW_OK;
	if (segments[parser->last.segment].id >= manifest->next_segment_id)
		return lw_fail(parser->error, LW_MALFORMED, "Watermark",
					   (int64_t) parser->last.at, "segment ids below next_segment_id",
					   "segment %" PRIu64 ", next_segment_id %" PRIu64,
					   segments[parser->last.segment].id, manifest->next_segment_id);
	if (segments[parser->newest.segment].tombstones > manifest->commit)
		return lw_fail(parser->error, LW_MALFORMED, "TombstoneCommit",
					   (int64_t) parser->newest.at, "tombstones of commits up to the manifest's",
					   "tombstones %" PRIu64 ", commit %" PRIu64,
					   segments[parser->newest.segment].tombstones, manifest->commit);
	return LW_OK;
}

/* Reads the whole text. */
static LwStatus
read_manifest(Parser *parser)
{
	LwStatus	status;

	status = read_object(parser, lw_json_next(&parser->json), NULL, top_members,
						 TOP_MEMBERS, parser, parser->at);
	if (status != LW_OK)
		return status;
	if (lw_json_next(&parser->json) != LW_JSON_END)
		return syntax_error(parser);
	return check_values(parser);
}

/* Parses a manifest. */
LwStatus
lw_manifest_parse(const void *data, size_t size, LwManifest *manifest, LwError *error)
{
	Parser		parser;
	LwStatus	status;

	memset(manifest, 0, sizeof(*manifest));
	memset(&parser, 0, sizeof(parser));
	parser.error = error;
	parser.manifest.strings = malloc(size == 0 ? 1 : size);
	if (parser.manifest.strings == NULL)
		return lw_fail(error, LW_NO_MEMORY, NULL, -1, "memory", "none for %zu bytes", size);
	parser.manifest.query_template.data = parser.manifest.strings;
	parser.manifest.document_template.data = parser.manifest.strings;

	lw_json_init(&parser.json, data, size);
	status = read_manifest(&parser);
	if (status == LW_OK)
		*manifest = parser.manifest;
	else
		lw_manifest_free(&parser.manifest);
	return status;
}

/* Gives back a manifest's memory. */
void
lw_manifest_free(LwManifest *manifest)
{
	free(manifest->strings);
	free(manifest->segments);
	memset(manifest, 0, sizeof(*manifest));
}

/* Equality, byte by byte. */
bool
lw_string_equal(LwString a, LwString b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Equality of the six members of the representation. */
bool
lw_manifest_same_representation(const LwManifest *a, const LwManifest *b)
{
	return lw_string_equal(a->encoder, b->encoder) &&
		lw_string_equal(a->encoder_revision, b->encoder_revision) &&
		a->dimension == b->dimension &&
		a->normalized == b->normalized &&
		lw_string_equal(a->query_template, b->query_template) &&
		lw_string_equal(a->document_template, b->document_template);
}

/* Equality of all that is known. */
bool
lw_manifest_equal(const LwManifest *a, const LwManifest *b)
{
	size_t		i;

	if (!lw_string_equal(a->store_id, b->store_id) ||
		!lw_string_equal(a->corpus, b->corpus) ||
		a->encoding != b->encoding ||
		!lw_manifest_same_representation(a, b) ||
		a->commit != b->commit ||
		a->next_segment_id != b->next_segment_id ||
		a->committed_at != b->committed_at ||
		a->nsegments != b->nsegments)
		return false;
	for (i = 0; i < a->nsegments; i++)
	{
		const LwManifestSegment *x = &a->segments[i];
		const LwManifestSegment *y = &b->segments[i];

		if (x->id != y->id || x->documents != y->documents || x->tokens != y->tokens ||
			x->has_tombstones != y->has_tombstones || x->tombstones != y->tombstones)
			return false;
	}
	return true;
}
