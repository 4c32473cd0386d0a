/*-------------------------------------------------------------------------
 *
 * store.c
 *	  Functions that make, drop and copy whole stores.
 *
 * A store is made before its foreign table and removed after it: what a
 * transaction that rolls back has made goes, and what it has dropped stays.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "common/file_perm.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "compat.h"
#include "server/change.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/path.h"
#include "server/pin.h"
#include "sql/chunk.h"
#include "sql/fdw.h"
#include "store/create.h"
#include "store/publish.h"
#include "store/snapshot.h"

PG_FUNCTION_INFO_V1(lateweave_create_store);
PG_FUNCTION_INFO_V1(lateweave_drop_store);
PG_FUNCTION_INFO_V1(lateweave_snapshot);

#define SERVER "lateweave"

/* The arguments of lateweave_create_store, in order. */
enum
{
	TABLE_NAME,
	ENCODER,
	ENCODER_REVISION,
	DIMENSION,
	ENCODING,
	CORPUS,						/* may be NULL */
	NORMALIZED,
	QUERY_TEMPLATE,
	DOCUMENT_TEMPLATE,
	STORE_PATH,					/* may be NULL */
	ARGUMENTS
};

/* What is to be made. */
typedef struct NewStore
{
	Oid			schema;
	char	   *table;
	char		store_id[LW_STORE_ID_SIZE + 1];
	LwManifest	identity;
	const char *option;			/* the path as the table has it */
	char	   *path;			/* absolute */
} NewStore;

static void
refuse_null_arguments(FunctionCallInfo fcinfo)
{
	static const char *const names[ARGUMENTS] = {
		"table_name", "encoder", "encoder_revision", "dimension", "encoding", NULL,
		"normalized", "query_template", "document_template", NULL
	};
	int			i;

	for (i = 0; i < ARGUMENTS; i++)
		if (names[i] != NULL && PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be NULL", names[i])));
}

/* Where the table is to be, and that it is not there yet. */
static void
choose_table(text *name, NewStore *store)
{
	RangeVar   *range = makeRangeVarFromNameList(textToQualifiedNameList(name));

	store->schema = RangeVarGetCreationNamespace(range);
	store->table = range->relname;
	if (isTempNamespace(store->schema))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a vector store cannot be temporary")));
	if (OidIsValid(get_relname_relid(store->table, store->schema)))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("relation \"%s\" already exists", store->table)));
}

static LwEncoding
parse_encoding(const char *name)
{
	if (strcmp(name, "int8") == 0)
		return LW_INT8;
	if (strcmp(name, "float32") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown encoding \"%s\"", name),
				 errhint("It is int8 or float32.")));
	return LW_FLOAT32;
}

static void
choose_identity(FunctionCallInfo fcinfo, NewStore *store)
{
	LwManifest *identity = &store->identity;
	uint8		random[LW_STORE_ID_SIZE / 2];

	if (!pg_strong_random(random, sizeof(random)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a store_id")));
	lw_store_id(random, store->store_id);
	identity->store_id.data = store->store_id;
	identity->store_id.size = LW_STORE_ID_SIZE;
	identity->corpus = lw_id_from_text(PG_ARGISNULL(CORPUS) ? cstring_to_text(store->table) : PG_GETARG_TEXT_PP(CORPUS));
	identity->encoder = lw_id_from_text(PG_GETARG_TEXT_PP(ENCODER));
	identity->encoder_revision = lw_id_from_text(PG_GETARG_TEXT_PP(ENCODER_REVISION));
	identity->query_template = lw_id_from_text(PG_GETARG_TEXT_PP(QUERY_TEMPLATE));
	identity->document_template = lw_id_from_text(PG_GETARG_TEXT_PP(DOCUMENT_TEMPLATE));
	identity->encoding = parse_encoding(text_to_cstring(PG_GETARG_TEXT_PP(ENCODING)));
	identity->normalized = PG_GETARG_BOOL(NORMALIZED);
	if (PG_GETARG_INT32(DIMENSION) < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("dimension must be at least 1, not %d", PG_GETARG_INT32(DIMENSION))));
	identity->dimension = (uint64) PG_GETARG_INT32(DIMENSION);
	identity->committed_at = lw_clock();
}

/* Where the files are to be: in a directory of this database's own, unless the caller may say where. */
static void
choose_path(FunctionCallInfo fcinfo, NewStore *store)
{
	if (PG_ARGISNULL(STORE_PATH))
		store->option = psprintf("%u/%s", MyDatabaseId, store->store_id);
	else
	{
		store->option = text_to_cstring(PG_GETARG_TEXT_PP(STORE_PATH));
		lw_check_write_privilege(store->option);
	}
	store->path = lw_resolve_new_path("path", store->option);
}

static void
make_files(NewStore *store)
{
	LwError		error = {0};

	if (lw_store_create(store->path, (mode_t) pg_dir_create_mode, &store->identity, &error) != LW_OK)
		lw_report(ERROR, &error);
	lw_change_created(store->path);
}

static void
run_command(const char *command)
{
	SPI_connect();
	if (SPI_execute(command, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not execute: %s", command);
	SPI_finish();
}

static void
make_table(NewStore *store)
{
	Oid			type = lw_multivector_type(GetForeignServerByName(SERVER, false)->fdwid);
	char	   *command = psprintf("CREATE FOREIGN TABLE %s (id pg_catalog.text NOT NULL, tokens %s(" UINT64_FORMAT ") NOT NULL) "
								   "SERVER " SERVER " OPTIONS (store %s, store_id %s, writable 'true')",
								   quote_qualified_identifier(get_namespace_name(store->schema), store->table),
								   format_type_be_qualified(type), store->identity.dimension,
								   quote_literal_cstr(store->option), quote_literal_cstr(store->store_id));

	lw_path_just_made = store->option;
	PG_TRY();
	{
		run_command(command);
	}
	PG_FINALLY();
	{
		lw_path_just_made = NULL;
	}
	PG_END_TRY();
}

Datum
lateweave_create_store(PG_FUNCTION_ARGS)
{
	NewStore	store;

	memset(&store, 0, sizeof(store));
	PreventCommandIfReadOnly("lateweave_create_store()");
	PreventCommandDuringRecovery("lateweave_create_store()");
	refuse_null_arguments(fcinfo);
	choose_table(PG_GETARG_TEXT_PP(TABLE_NAME), &store);
	choose_identity(fcinfo, &store);
	choose_path(fcinfo, &store);
	make_files(&store);
	make_table(&store);
	PG_RETURN_OID(get_relname_relid(store.table, store.schema));
}

Datum
lateweave_drop_store(PG_FUNCTION_ARGS)
{
	Oid			relid;
	LwSource   *source;
	char	   *path;
	char	   *store_id;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	relid = PG_GETARG_OID(0);
	lw_source_check_owner(relid, AccessExclusiveLock);
	/* whoever may not change the store may not remove it */
	lw_change_end(lw_change_begin(relid, LW_CHANGE_ROWS));
	source = lw_source_lookup(relid);
	path = pstrdup(source->path);
	store_id = pstrdup(source->store_id);
	run_command(psprintf("DROP FOREIGN TABLE %s",
						 quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid))));
	lw_change_dropped(path, store_id);
	PG_RETURN_VOID();
}

Datum
lateweave_snapshot(PG_FUNCTION_ARGS)
{
	LwDirectory here = {AT_FDCWD, NULL};
	LwDirectory directory;
	LwSnapshot	snapshot;
	LwError		error = {0};
	LwStatus	status;
	LwView	   *view;
	char	   *option;
	char	   *target;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	option = text_to_cstring(PG_GETARG_TEXT_PP(1));
	lw_check_write_privilege(option);
	target = lw_resolve_new_path("directory", option);
	view = lw_pin_store(PG_GETARG_OID(0));

	status = lw_directory_open(here, view->directory, &directory, &error);
	if (status == LW_OK)
	{
		directory.path = view->directory;
		status = lw_store_snapshot(directory, target, (mode_t) pg_dir_create_mode, &snapshot, &error);
		close(directory.fd);
	}
	if (status != LW_OK)
		lw_report(ERROR, &error);
	if (snapshot.copied)
		ereport(NOTICE,
				(errmsg("files of \"%s\" were copied, since links to them from \"%s\" were refused",
						view->directory, target)));
	return lw_uint64_numeric(snapshot.commit);
}
