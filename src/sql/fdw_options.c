/*-------------------------------------------------------------------------
 *
 * fdw_options.c
 *	  Options of the wrapper's objects, and which store a new table is over.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/path.h"
#include "server/source.h"

PG_FUNCTION_INFO_V1(lateweave_fdw_validator);
PG_FUNCTION_INFO_V1(lateweave_record_store_id);

/*
 * lateweave_fdw_validator(text[], oid).  It sees the options as they will be, so whoever
 * changes any of a table's must be allowed to attach its files.
 */
Datum
lateweave_fdw_validator(PG_FUNCTION_ARGS)
{
	List	   *options = untransformRelOptions(PG_GETARG_DATUM(0));
	LwSourceOptions source;

	if (PG_GETARG_OID(1) != ForeignTableRelationId)
	{
		if (options != NIL)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", linitial_node(DefElem, options)->defname),
					 errhint("Only foreign tables of lateweave have options.")));
		PG_RETURN_VOID();
	}
	lw_parse_source_options(options, &source);
	if (source.path == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_OPTION_NAME_NOT_FOUND),
				 errmsg("option \"store\" or \"section_file\" is required for a foreign table of lateweave"),
				 errhint("It names the directory of a vector store, or a section file.")));
	lw_check_path(lw_path_option(source.kind), source.path);
	lw_check_attach_privilege(source.path, source.writable);
	PG_RETURN_VOID();
}

/* Writes the store's id into a table's options. */
static void
set_store_id(Oid relid, const LwView *view)
{
	char	   *table = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
												   get_rel_name(relid));
	char	   *store_id = lw_string_for_server(view->manifest.store_id);
	char	   *command = psprintf("ALTER FOREIGN TABLE %s OPTIONS (ADD store_id %s)",
								   table, quote_literal_cstr(store_id));

	if (SPI_execute(command, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not execute: %s", command);
}

/*
 * Opens the source of a new table.  A table that names its store's id may be
 * part of a restore, which has to go on without the files, and so may any over
 * a section file; another is an error over a store that cannot be read, and
 * gets the id of the one that is there.
 */
static void
record_store_id(Oid relid)
{
	LwSource   *source = lw_source_lookup(relid);
	bool		named = source->store_id != NULL || source->kind == LW_SOURCE_SECTION;
	LwContent	content;
	LwError		error;

	/* What a dropped table was over says nothing of the new one. */
	lw_source_forget_unused();
	error.path[0] = '\0';
	if (lw_source_follow(source, &content, &error) != LW_OK)
		lw_report(named ? WARNING : ERROR, &error);
	else if (!named)
		set_store_id(relid, content.view);
}

static bool
is_new_source(Oid classid, Oid objid, const char *tag)
{
	return classid == RelationRelationId && strcmp(tag, "CREATE FOREIGN TABLE") == 0 &&
		get_rel_relkind(objid) == RELKIND_FOREIGN_TABLE &&
		lw_is_lateweave_wrapper(GetForeignServer(GetForeignTable(objid)->serverid)->fdwid);
}

/* lateweave_record_store_id(): an event trigger at the end of CREATE FOREIGN TABLE and IMPORT FOREIGN SCHEMA. */
Datum
lateweave_record_store_id(PG_FUNCTION_ARGS)
{
	Oid		   *relids;
	uint64		count = 0;
	uint64		i;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("lateweave_record_store_id must be called as an event trigger")));
	SPI_connect();
	if (SPI_execute("SELECT classid, objid, command_tag FROM pg_catalog.pg_event_trigger_ddl_commands()",
					false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list the commands of the event trigger");
	relids = palloc_array(Oid, SPI_processed + 1);
	for (i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	descriptor = SPI_tuptable->tupdesc;
		bool		is_null;
		Oid			classid = DatumGetObjectId(SPI_getbinval(row, descriptor, 1, &is_null));
		Oid			objid = DatumGetObjectId(SPI_getbinval(row, descriptor, 2, &is_null));

		if (is_new_source(classid, objid, SPI_getvalue(row, descriptor, 3)))
			relids[count++] = objid;
	}
	for (i = 0; i < count; i++)
		record_store_id(relids[i]);
	SPI_finish();
	PG_RETURN_NULL();
}
