/*-------------------------------------------------------------------------
 *
 * options.c
 *	  The options of an index: source and candidates.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "foreign/foreign.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/varlena.h"

#include "am/index.h"
#include "server/candidates.h"
#include "server/source.h"

static relopt_kind option_kind;

/* The parts of a name, one or two; NIL when it is none. */
static List *
split_name(const char *name)
{
	List	   *parts;

	if (!SplitIdentifierString(pstrdup(name), '.', &parts) || list_length(parts) < 1 || list_length(parts) > 2)
		return NIL;
	return parts;
}

static void
check_source(const char *value)
{
	if (value != NULL && split_name(value) == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"source\": \"%s\"", value),
				 errhint("It takes the name of a foreign table, with a schema or without.")));
}

void
lw_index_options_init(void)
{
	option_kind = add_reloption_kind();
	add_string_reloption(option_kind, "source", "Foreign table whose documents are the indexed rows",
						 NULL, check_source, AccessExclusiveLock);
	add_int_reloption(option_kind, "candidates", "Documents scored exactly by an approximate scan, 0 = exact",
					  -1, 0, INT_MAX, AccessExclusiveLock);
}

bytea *
lw_index_options(Datum options, bool validate)
{
	static const relopt_parse_elt elements[] = {
		{.optname = "source", .opttype = RELOPT_TYPE_STRING, .offset = offsetof(LwIndexOptions, source)},
		{.optname = "candidates", .opttype = RELOPT_TYPE_INT, .offset = offsetof(LwIndexOptions, candidates)},
	};

	return build_reloptions(options, validate, option_kind, sizeof(LwIndexOptions), elements, lengthof(elements));
}

int
lw_index_candidates(Relation index)
{
	const LwIndexOptions *options = (const LwIndexOptions *) index->rd_options;

	return options == NULL || options->candidates < 0 ? lw_candidates_setting : options->candidates;
}

Oid
lw_index_source(const LwIndexOptions *options, Oid schema)
{
	List	   *parts;
	Oid			relid;

	if (options == NULL || options->source == 0)
		return InvalidOid;
	parts = split_name((const char *) options + options->source);
	if (list_length(parts) == 2)
		schema = get_namespace_oid(linitial(parts), true);
	relid = OidIsValid(schema) && parts != NIL ? get_relname_relid(llast(parts), schema) : InvalidOid;
	if (!OidIsValid(relid) || get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE ||
		!lw_is_lateweave_wrapper(GetForeignServer(GetForeignTable(relid)->serverid)->fdwid))
		return InvalidOid;
	return relid;
}
