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
static uint64 checked_view;

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

/* Compares one member; appends a line to `differences` when it is not the view's. */
static void
compare_member(const LwManifest *manifest, const JsonbValue *key, const JsonbValue *value,
			   StringInfo differences)
{
	const struct
	{
		const char *name;
		LwString	expected;
	}			strings[] = {
		{"encoder", manifest->encoder},
		{"encoder_revision", manifest->encoder_revision},
		{"query_template", manifest->query_template},
		{"document_template", manifest->document_template}
	};
	const char *separator = differences->len > 0 ? "; " : "";
	int			i;

	for (i = 0; i < (int) lengthof(strings); i++)
	{
		if (!name_is(key, strings[i].name))
			continue;
		if (!string_equals(value, strings[i].expected))
			appendStringInfo(differences, "%s%s is %s, the source's is \"%s\"", separator,
							 strings[i].name, shown(value), lw_string_for_server(strings[i].expected));
		return;
	}
	if (name_is(key, "dimension"))
	{
		if (!dimension_equals(value, manifest->dimension))
			appendStringInfo(differences, "%sdimension is %s, the source's is " UINT64_FORMAT, separator,
							 shown(value), manifest->dimension);
	}
	else if (name_is(key, "normalized"))
	{
		if (value->type != jbvBool || value->val.boolean != manifest->normalized)
			appendStringInfo(differences, "%snormalized is %s, the source's is %s", separator,
							 shown(value), manifest->normalized ? "true" : "false");
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown member \"%s\" of a representation", pnstrdup(key->val.string.val, key->val.string.len)),
				 errhint("The members of a store's representation are encoder, encoder_revision, dimension, "
						 "normalized, query_template and document_template.")));
}

/* Remembers what has fitted this view. */
static void
remember(const LwView *view, Jsonb *representation)
{
	if (checked != NULL)
		pfree(checked);
	checked = NULL;
	checked = MemoryContextAlloc(TopMemoryContext, VARSIZE(representation));
	memcpy(checked, representation, VARSIZE(representation));
	checked_view = view->serial;
}

void
lw_check_representation(const LwView *view, Jsonb *representation)
{
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	value;
	JsonbValue	key;
	StringInfoData differences;

	if (checked != NULL && checked_view == view->serial && VARSIZE(checked) == VARSIZE(representation) &&
		memcmp(checked, representation, VARSIZE(checked)) == 0)
		return;
	if (!JB_ROOT_IS_OBJECT(representation))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a representation must be a JSON object")));
	initStringInfo(&differences);
	iterator = JsonbIteratorInit(&representation->root);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			key = value;
			token = JsonbIteratorNext(&iterator, &value, true);
			compare_member(&view->manifest, &key, &value, &differences);
		}
	}
	if (differences.len > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("incompatible query: its representation is not that of \"%s\"", view->directory),
				 errdetail_internal("%s.", differences.data)));
	pfree(differences.data);
	remember(view, representation);
}
