/*-------------------------------------------------------------------------
 *
 * options.c
 *	  The options of a foreign table of lateweave.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "commands/defrem.h"
#include "nodes/parsenodes.h"
#include "utils/guc.h"

#include "format/json.h"
#include "section/hash.h"
#include "server/options.h"

const char *
lw_path_option(LwSourceKind kind)
{
	return kind == LW_SOURCE_STORE ? "store" : "section_file";
}

/* A content hash as lw_section_content_hash writes it. */
static char *
get_content_hash(DefElem *option)
{
	char	   *value = defGetString(option);

	if (strncmp(value, "sha256:", 7) != 0 || strlen(value) != LW_TEXT_HASH_SIZE ||
		strspn(value + 7, "0123456789abcdef") != LW_TEXT_HASH_SIZE - 7)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"content_hash\": \"%s\"", value),
				 errhint("It takes \"sha256:\" and 64 lowercase hexadecimal digits, as lateweave_section_info gives it.")));
	return value;
}

/* A number from 0 to `most`, of seconds when it has a unit. */
static double
get_limit(DefElem *option, int flags, double most)
{
	char	   *value = defGetString(option);
	const char *hint = NULL;
	double		result;

	if (!parse_real(value, &result, flags, &hint) || !(result >= 0 && result <= most))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"", option->defname, value),
				 hint != NULL ? errhint("%s", _(hint)) : errhint("It takes a number from 0 to %.0f.", most)));
	return result;
}

/* Reads one of the options that take the place of settings; false when it is none. */
static bool
get_limits(DefElem *option, LwLimits *limits)
{
	if (strcmp(option->defname, "heartbeat") == 0)
		limits->heartbeat = (int) rint(get_limit(option, GUC_UNIT_S, LW_MAX_HEARTBEAT));
	else if (strcmp(option->defname, "compact_segments") == 0)
		limits->compact_segments = (int) rint(get_limit(option, 0, LW_MAX_COMPACT_SEGMENTS));
	else if (strcmp(option->defname, "compact_deleted_fraction") == 0)
		limits->compact_deleted_fraction = get_limit(option, 0, 1);
	else
		return false;
	return true;
}

/* That every option is one of the source's kind. */
static void
check_option_names(List *options, LwSourceKind kind)
{
	static const char *const names[][7] = {
		[LW_SOURCE_STORE] = {"store", "store_id", "min_commit", "writable",
		"heartbeat", "compact_segments", "compact_deleted_fraction"},
		[LW_SOURCE_SECTION] = {"section_file", "space", "content_hash"}
	};
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);
		bool		known = false;
		int			i;

		for (i = 0; i < (int) lengthof(names[0]) && names[kind][i] != NULL; i++)
			known |= strcmp(option->defname, names[kind][i]) == 0;
		if (known)
			continue;
		if (kind == LW_SOURCE_SECTION && strcmp(option->defname, "store") == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("options \"store\" and \"section_file\" exclude each other"),
					 errhint("A source is either a vector store or a section file.")));
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("invalid option \"%s\"", option->defname),
				 kind == LW_SOURCE_STORE ?
				 errhint("Valid options of a foreign table of lateweave are: store, store_id, min_commit, writable, "
						 "heartbeat, compact_segments, compact_deleted_fraction; or section_file, space, content_hash.") :
				 errhint("Valid options of a foreign table over a section file are: section_file, space, content_hash.")));
	}
}

void
lw_parse_source_options(List *options, LwSourceOptions *result)
{
	ListCell   *cell;

	memset(result, 0, sizeof(*result));
	result->limits.heartbeat = result->limits.compact_segments = -1;
	result->limits.compact_deleted_fraction = -1;
	foreach(cell, options)
		if (strcmp(lfirst_node(DefElem, cell)->defname, "section_file") == 0)
			result->kind = LW_SOURCE_SECTION;
	check_option_names(options, result->kind);
	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, lw_path_option(result->kind)) == 0)
			result->path = defGetString(option);
		else if (strcmp(option->defname, "space") == 0)
			result->space = defGetString(option);
		else if (strcmp(option->defname, "content_hash") == 0)
			result->content_hash = get_content_hash(option);
		else if (strcmp(option->defname, "store_id") == 0)
			result->store_id = defGetString(option);
		else if (strcmp(option->defname, "writable") == 0)
			result->writable = defGetBoolean(option);
		else if (get_limits(option, &result->limits))
			continue;
		else if (strcmp(option->defname, "min_commit") == 0)
		{
			LwJson		reader;
			char	   *value = defGetString(option);

			lw_json_init(&reader, value, strlen(value));
			if (lw_json_next(&reader) != LW_JSON_NUMBER || !lw_json_uint64(&reader, &result->min_commit) ||
				lw_json_next(&reader) != LW_JSON_END)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("invalid value for option \"min_commit\": \"%s\"", value),
						 errhint("It takes a commit number, from 0 to 18446744073709551615.")));
			result->has_min_commit = true;
		}
	}
}
