/*-------------------------------------------------------------------------
 *
 * representation.c
 *	  Whether a query was encoded as a source's documents were.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "server/ids.h"
#include "sql/scorer.h"

/* The last representation that fitted, so that a scan which scores a row a call compares bytes only. */
static Jsonb *checked;
static uint64 checked_view;		/* serial, 0 for a section file */
static uint64 checked_section;	/* the other way round */
static uint8 checked_space;

static bool
string_equals(const JsonbValue *value, LwString expected)
{
	char	   *utf8;

	if (value->type != jbvString)
		return false;
	utf8 = pg_server_to_any(value->val.string.val, value->val.string.len, PG_UTF8);
	if (utf8 == value->val.string.val)
		return (size_t) value->val.string.len == expected.size && memcmp(utf8, expected.data, expected.size) == 0;
	return strlen(utf8) == expected.size && memcmp(utf8, expected.data, expected.size) == 0;
}

static bool
dimension_equals(const JsonbValue *value, uint64 expected)
{
	Datum		number;

	if (value->type != jbvNumeric)
		return false;
	number = DirectFunctionCall3(numeric_in, CStringGetDatum(psprintf(UINT64_FORMAT, expected)),
								 ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	return DatumGetBool(DirectFunctionCall2(numeric_eq, NumericGetDatum(value->val.numeric), number));
}

/* A member's value in a message. */
static char *
shown(const JsonbValue *value)
{
	JsonbValue	copy = *value;

	if (copy.type == jbvBinary)
		return JsonbToCString(NULL, copy.val.binary.data, copy.val.binary.len);
	return JsonbToCString(NULL, &JsonbValueToJsonb(&copy)->root, 0);
}

static bool
name_is(const JsonbValue *key, const char *name)
{
	return (size_t) key->val.string.len == strlen(name) &&
		memcmp(key->val.string.val, name, strlen(name)) == 0;
}

/* What members are compared with; strings without data are members that the kind of source does not have. */
typedef struct Representation
{
	LwString	encoder;
	LwString	encoder_revision;
	LwString	query_template;
	LwString	document_template;
	LwString	model_hash;
	uint64		dimension;
	bool		is_store;
	bool		normalized;		/* of a store */
} Representation;

static void
get_representation(const LwScorer *scorer, Representation *result)
{
	memset(result, 0, sizeof(*result));
	if (scorer->content.view != NULL)
	{
		const LwManifest *manifest = &scorer->content.view->manifest;

		result->is_store = true;
		result->encoder = manifest->encoder;
		result->encoder_revision = manifest->encoder_revision;
		result->query_template = manifest->query_template;
		result->document_template = manifest->document_template;
		result->dimension = manifest->dimension;
		result->normalized = manifest->normalized;
	}
	else
	{
		LwBytes		encoder = scorer->content.section->file->manifest.embedding_model;

		result->encoder = (LwString) {(const char *) encoder.data, encoder.size};
		result->model_hash = (LwString) {(const char *) scorer->vectors.model_hash.data, scorer->vectors.model_hash.size};
		result->dimension = scorer->vectors.slab.dimension;
	}
}

/* Compares one member; appends a line to `differences` when it is not the source's. */
static void
compare_member(const Representation *expected, const JsonbValue *key, const JsonbValue *value,
			   StringInfo differences)
{
	const struct
	{
		const char *name;
		LwString	expected;
	}			strings[] = {
		{"encoder", expected->encoder},
		{"encoder_revision", expected->encoder_revision},
		{"query_template", expected->query_template},
		{"document_template", expected->document_template},
		{"model_hash", expected->model_hash}
	};
	const char *separator = differences->len > 0 ? "; " : "";
	int			i;

	for (i = 0; i < (int) lengthof(strings); i++)
	{
		if (!name_is(key, strings[i].name) || strings[i].expected.data == NULL)
			continue;
		if (!string_equals(value, strings[i].expected))
			appendStringInfo(differences, "%s%s is %s, the source's is \"%s\"", separator,
							 strings[i].name, shown(value), lw_string_for_server(strings[i].expected));
		return;
	}
	if (name_is(key, "dimension"))
	{
		if (!dimension_equals(value, expected->dimension))
			appendStringInfo(differences, "%sdimension is %s, the source's is " UINT64_FORMAT, separator,
							 shown(value), expected->dimension);
	}
	else if (expected->is_store && name_is(key, "normalized"))
	{
		if (value->type != jbvBool || value->val.boolean != expected->normalized)
			appendStringInfo(differences, "%snormalized is %s, the source's is %s", separator,
							 shown(value), expected->normalized ? "true" : "false");
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown member \"%s\" of a representation", pnstrdup(key->val.string.val, key->val.string.len)),
				 expected->is_store ?
				 errhint("The members of a store's representation are encoder, encoder_revision, dimension, "
						 "normalized, query_template and document_template.") :
				 errhint("The members of a section file's representation are encoder, dimension and model_hash.")));
}

/* Whether this is what fitted last. */
static bool
is_remembered(const LwScorer *scorer, const Jsonb *representation)
{
	return checked != NULL && VARSIZE(checked) == VARSIZE(representation) &&
		checked_view == (scorer->content.view != NULL ? scorer->content.view->serial : 0) &&
		checked_section == (scorer->content.section != NULL ? scorer->content.section->serial : 0) &&
		checked_space == (scorer->vectors.space != NULL ? scorer->vectors.space->index : 0) &&
		memcmp(checked, representation, VARSIZE(checked)) == 0;
}

/* Remembers what has fitted this source. */
static void
remember(const LwScorer *scorer, Jsonb *representation)
{
	if (checked != NULL)
		pfree(checked);
	checked = NULL;
	checked = MemoryContextAlloc(TopMemoryContext, VARSIZE(representation));
	memcpy(checked, representation, VARSIZE(representation));
	checked_view = scorer->content.view != NULL ? scorer->content.view->serial : 0;
	checked_section = scorer->content.section != NULL ? scorer->content.section->serial : 0;
	checked_space = scorer->vectors.space != NULL ? scorer->vectors.space->index : 0;
}

void
lw_check_representation(const LwScorer *scorer, Jsonb *representation)
{
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	value;
	JsonbValue	key;
	StringInfoData differences;
	Representation expected;

	if (is_remembered(scorer, representation))
		return;
	if (!JB_ROOT_IS_OBJECT(representation))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a representation must be a JSON object")));
	get_representation(scorer, &expected);
	initStringInfo(&differences);
	iterator = JsonbIteratorInit(&representation->root);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			key = value;
			token = JsonbIteratorNext(&iterator, &value, true);
			compare_member(&expected, &key, &value, &differences);
		}
	}
	if (differences.len > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("incompatible query: its representation is not that of \"%s\"", lw_content_path(scorer->content)),
				 errdetail_internal("%s.", differences.data)));
	pfree(differences.data);
	remember(scorer, representation);
}
