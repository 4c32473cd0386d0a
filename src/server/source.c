/*-------------------------------------------------------------------------
 *
 * source.c
 *	  Foreign tables of lateweave and the stores behind them.
 *
 * Two tables in this backend: sources by relation, and stores by directory
 * (device and inode), so that a store is mapped once however many tables
 * name it and however its path is spelled.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "format/json.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/path.h"
#include "server/source.h"

#define HANDLER "lateweave_fdw_handler"

typedef struct StoreKey
{
	dev_t		device;
	ino_t		inode;
} StoreKey;

typedef struct StoreEntry
{
	StoreKey	key;
	LwStore    *store;
	bool		used;			/* some table names it */
} StoreEntry;

uint64		lw_source_generation = 1;

static HTAB *sources;
static HTAB *stores;
static uint64 last_definition;

bool
lw_is_lateweave_wrapper(Oid fdwid)
{
	ForeignDataWrapper *wrapper = GetForeignDataWrapper(fdwid);
	HeapTuple	tuple;
	bool		ours = false;

	if (!OidIsValid(wrapper->fdwhandler))
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(wrapper->fdwhandler));
	if (HeapTupleIsValid(tuple))
	{
		bool		is_null;
		Datum		source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &is_null);

		ours = !is_null && strcmp(TextDatumGetCString(source), HANDLER) == 0;
		ReleaseSysCache(tuple);
	}
	return ours;
}

void
lw_parse_source_options(List *options, LwSourceOptions *result)
{
	ListCell   *cell;

	memset(result, 0, sizeof(*result));
	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "store") == 0)
			result->store = defGetString(option);
		else if (strcmp(option->defname, "store_id") == 0)
			result->store_id = defGetString(option);
		else if (strcmp(option->defname, "writable") == 0)
			result->writable = defGetBoolean(option);
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
		else
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", option->defname),
					 errhint("Valid options of a foreign table of lateweave are: store, store_id, min_commit, writable.")));
	}
}

static void
forget_definition(LwSource *source)
{
	if (source->option != NULL)
		pfree(source->option);
	if (source->path != NULL)
		pfree(source->path);
	if (source->store_id != NULL)
		pfree(source->store_id);
	source->option = source->path = source->store_id = NULL;
	source->store = NULL;
}

void
lw_source_forget_definitions(void)
{
	HASH_SEQ_STATUS scan;
	LwSource   *source;

	lw_source_generation++;
	hash_seq_init(&scan, sources);
	while ((source = hash_seq_search(&scan)) != NULL)
		source->valid = false;
}

static void
syscache_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	lw_source_forget_definitions();
}

static void
relcache_callback(Datum arg, Oid relid)
{
	LwSource   *source;

	if (!OidIsValid(relid))
	{
		lw_source_forget_definitions();
		return;
	}
	source = hash_search(sources, &relid, HASH_FIND, NULL);
	if (source != NULL)
	{
		lw_source_generation++;
		source->valid = false;
	}
}

void
lw_source_init(void)
{
	HASHCTL		control;

	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(LwSource);
	sources = hash_create("lateweave sources", 16, &control, HASH_ELEM | HASH_BLOBS);
	control.keysize = sizeof(StoreKey);
	control.entrysize = sizeof(StoreEntry);
	stores = hash_create("lateweave stores", 16, &control, HASH_ELEM | HASH_BLOBS);

	CacheRegisterSyscacheCallback(FOREIGNTABLEREL, syscache_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, syscache_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNDATAWRAPPEROID, syscache_callback, (Datum) 0);
	/* whose privileges a role has */
	CacheRegisterSyscacheCallback(AUTHOID, syscache_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, syscache_callback, (Datum) 0);
	CacheRegisterRelcacheCallback(relcache_callback, (Datum) 0);
}

static bool
same_option(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Reads the definition from the catalog. */
static void
read_definition(LwSource *source, Oid relid)
{
	LwSourceOptions options;
	ForeignTable *table = NULL;
	MemoryContext old;
	char	   *path;

	if (get_rel_relkind(relid) == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE &&
		SearchSysCacheExists1(FOREIGNTABLEREL, ObjectIdGetDatum(relid)))
		table = GetForeignTable(relid);
	if (table == NULL || !lw_is_lateweave_wrapper(GetForeignServer(table->serverid)->fdwid))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a source of lateweave", get_rel_name(relid)),
				 errhint("A source is a foreign table of a server with the foreign-data wrapper lateweave.")));

	lw_parse_source_options(table->options, &options);
	if (options.store == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("foreign table \"%s\" has no option \"store\"", get_rel_name(relid))));
	lw_check_path("store", options.store);
	path = lw_resolve_path(options.store);
	source->writable = options.writable;
	if (same_option(source->option, options.store) && same_option(source->path, path) &&
		same_option(source->store_id, options.store_id) &&
		source->has_min_commit == options.has_min_commit && source->min_commit == options.min_commit)
		return;

	old = MemoryContextSwitchTo(TopMemoryContext);
	forget_definition(source);
	source->option = pstrdup(options.store);
	source->path = pstrdup(path);
	if (options.store_id != NULL)
		source->store_id = pstrdup(options.store_id);
	source->has_min_commit = options.has_min_commit;
	source->min_commit = options.min_commit;
	source->definition = ++last_definition;
	MemoryContextSwitchTo(old);
}

LwSource *
lw_source_lookup(Oid relid)
{
	LwSource   *source;
	bool		found;

	source = hash_search(sources, &relid, HASH_ENTER, &found);
	if (!found)
	{
		memset(source, 0, sizeof(*source));
		source->relid = relid;
	}
	if (!source->valid)
	{
		/* Marked first: an invalidation that arrives while the catalog is read must not be lost. */
		source->valid = true;
		PG_TRY();
		{
			read_definition(source, relid);
		}
		PG_CATCH();
		{
			source->valid = false;
			if (!found)
				hash_search(sources, &relid, HASH_REMOVE, NULL);
			PG_RE_THROW();
		}
		PG_END_TRY();
	}
	return source;
}

/* Forgets stores that no table names any more, so that a backend does not keep files of the past mapped. */
void
lw_source_forget_unused(void)
{
	HASH_SEQ_STATUS scan;
	LwSource   *source;
	StoreEntry *entry;

	hash_seq_init(&scan, stores);
	while ((entry = hash_seq_search(&scan)) != NULL)
		entry->used = false;

	hash_seq_init(&scan, sources);
	while ((source = hash_seq_search(&scan)) != NULL)
	{
		StoreKey	key;

		if (source->store == NULL)
			continue;
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source->relid)))
		{
			source->store = NULL;
			continue;
		}
		memset(&key, 0, sizeof(key));
		key.device = source->store->device;
		key.inode = source->store->inode;
		entry = hash_search(stores, &key, HASH_FIND, NULL);
		entry->used = true;
	}

	hash_seq_init(&scan, stores);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->used)
			continue;
		lw_store_forget(entry->store);
		pfree(entry->store);
		ReleaseExternalFD();
		hash_search(stores, &entry->key, HASH_REMOVE, NULL);
	}
}

/* The store that lies at the source's path now. */
static LwStatus
find_store(LwSource *source, LwError *error)
{
	StoreKey	key;
	StoreEntry *entry;
	LwStatus	status;

	memset(&key, 0, sizeof(key));
	source->store = NULL;
	status = lw_store_identify(source->path, &key.device, &key.inode, error);
	if (status != LW_OK)
		return status;
	if (!is_absolute_path(source->option) && !lw_path_is_inside(source->path))
		return lw_fail(error, LW_DENIED, "PathLeavesDirectory", -1,
					   "a path inside lateweave.directory", "a symbolic link that leads out of it");
	entry = hash_search(stores, &key, HASH_FIND, NULL);
	if (entry == NULL)
	{
		LwStore    *store;

		lw_source_forget_unused();
		store = MemoryContextAlloc(TopMemoryContext, sizeof(LwStore));
		lw_store_init(store, key.device, key.inode);
		entry = hash_search(stores, &key, HASH_ENTER, NULL);
		entry->store = store;
		/* for the descriptor of the manifest, which stays open */
		ReserveExternalFD();
	}
	source->store = entry->store;
	return LW_OK;
}

/* Compares as the option was recorded: in the database's encoding, what that cannot hold escaped. */
static bool
holds_store_id(const LwSource *source, const LwView *view)
{
	char	   *store_id;
	bool		same;

	if (source->store_id == NULL)
		return true;
	store_id = lw_string_for_server(view->manifest.store_id);
	same = strcmp(source->store_id, store_id) == 0;
	pfree(store_id);
	return same;
}

/* That the view is of the store which the table remembers, and not too old. */
static LwStatus
check_identity(const LwSource *source, const LwView *view, LwError *error)
{
	lw_error_path(error, source->path, "manifest.json");
	if (!holds_store_id(source, view))
		return lw_fail(error, LW_REPLACED, "StoreIdMismatch", -1, "the store_id in the foreign table's options",
					   "\"%.*s\" instead of \"%.100s\"", (int) Min(view->manifest.store_id.size, 100),
					   view->manifest.store_id.data, source->store_id);
	if (source->has_min_commit && view->manifest.commit < source->min_commit)
		return lw_fail(error, LW_OUTDATED, "BelowMinCommit", -1, "a commit not below the foreign table's option min_commit",
					   UINT64_FORMAT " instead of " UINT64_FORMAT, view->manifest.commit, source->min_commit);
	return LW_OK;
}

LwStatus
lw_source_follow(LwSource *source, LwView **view, LwError *error)
{
	LwStatus	status;
	bool		moved = false;
	int			attempt;

	if (source->store == NULL)
	{
		status = find_store(source, error);
		if (status != LW_OK)
			return status;
		/* The table's store_id was set anew: nothing that was loaded before is used. */
		if (source->store->view != NULL && !holds_store_id(source, source->store->view))
			lw_store_forget(source->store);
	}
	for (attempt = 0; attempt < 8; attempt++)
	{
		status = lw_store_follow(source->store, source->path, view, &moved, error);
		if (status != LW_OK)
			return status;
		if (!moved)
			return check_identity(source, *view, error);

		/* Another directory lies at the path. */
		status = find_store(source, error);
		if (status != LW_OK)
			return status;
	}
	lw_error_path(error, NULL, source->path);
	return lw_fail(error, LW_MALFORMED, "StoreReplaced", -1, "a directory that stays where it is",
				   "another directory at each of %d attempts", attempt);
}

LwView *
lw_source_last_view(LwSource *source)
{
	LwView	   *view;
	LwError		ignored;

	if (source->store != NULL && source->store->view != NULL)
		return source->store->view;
	return lw_source_follow(source, &view, &ignored) == LW_OK ? view : NULL;
}

void
lw_source_check_select(Oid relid)
{
	AclResult	result;

	LockRelationOid(relid, AccessShareLock);
	result = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, get_relkind_objtype(get_rel_relkind(relid)), get_rel_name(relid));
}
