/*-------------------------------------------------------------------------
 *
 * source.c
 *	  Foreign tables of lateweave and the files behind them.
 *
 * Two tables in this backend: sources by relation, and stores by directory
 * (device and inode), so that a store is mapped once however many tables
 * name it and however its path is spelled.  Section files are kept by
 * server/section.c; each source holds a reference to its own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
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

#include "compat.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/path.h"
#include "server/shared.h"
#include "server/source.h"
#include "server/stat.h"
#include "section/citation.h"

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
	ForeignDataWrapper *wrapper = GetForeignDataWrapperExtended(fdwid, FDW_MISSING_OK);
	HeapTuple	tuple;
	bool		ours = false;

	if (wrapper == NULL || !OidIsValid(wrapper->fdwhandler))
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

LwContent
lw_content_retain(LwContent content)
{
	if (content.view != NULL)
		lw_view_retain(content.view);
	if (content.section != NULL)
		lw_section_retain(content.section);
	return content;
}

void
lw_content_release(LwContent content)
{
	if (content.view != NULL)
		lw_view_release(content.view);
	if (content.section != NULL)
		lw_section_release(content.section);
}

const char *
lw_content_path(LwContent content)
{
	return content.view != NULL ? content.view->directory : content.section->path;
}

static void
forget_section(LwSource *source)
{
	LwSection  *section = source->section;

	source->section = NULL;
	source->content_checked = false;
	if (section != NULL)
		lw_section_release(section);
}

static void
forget_definition(LwSource *source)
{
	char	  **strings[] = {&source->option, &source->path, &source->store_id, &source->space, &source->content_hash};
	int			i;

	for (i = 0; i < (int) lengthof(strings); i++)
	{
		if (*strings[i] != NULL)
			pfree(*strings[i]);
		*strings[i] = NULL;
	}
	source->store = NULL;
	forget_section(source);
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
	if (options.path == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("foreign table \"%s\" has no option \"store\" or \"section_file\"", get_rel_name(relid))));
	lw_check_path(lw_path_option(options.kind), options.path);
	path = lw_resolve_path(options.path);
	source->writable = options.writable;
	source->limits = options.limits;
	if (source->kind == options.kind &&
		same_option(source->option, options.path) && same_option(source->path, path) &&
		same_option(source->store_id, options.store_id) &&
		same_option(source->space, options.space) &&
		same_option(source->content_hash, options.content_hash) &&
		source->has_min_commit == options.has_min_commit && source->min_commit == options.min_commit)
		return;

	old = MemoryContextSwitchTo(TopMemoryContext);
	forget_definition(source);
	source->kind = options.kind;
	source->option = pstrdup(options.path);
	source->path = pstrdup(path);
	if (options.store_id != NULL)
		source->store_id = pstrdup(options.store_id);
	if (options.space != NULL)
		source->space = pstrdup(options.space);
	if (options.content_hash != NULL)
		source->content_hash = pstrdup(options.content_hash);
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

/* Forgets what no table names any more, so that a backend does not keep files of the past mapped. */
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

		if (source->store == NULL && source->section == NULL)
			continue;
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source->relid)))
		{
			source->store = NULL;
			forget_section(source);
		}
		if (source->store == NULL)
			continue;
		memset(&key, 0, sizeof(key));
		key.device = source->store->device;
		key.inode = source->store->inode;
		entry = hash_search(stores, &key, HASH_FIND, NULL);
		entry->used = true;
	}

	hash_seq_init(&scan, stores);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->used || entry->store->holds > 0)
			continue;
		lw_store_forget(entry->store);
		pfree(entry->store);
		ReleaseExternalFD();
		hash_search(stores, &entry->key, HASH_REMOVE, NULL);
	}
}

LwStatus
lw_source_check_inside(const LwSource *source, LwError *error)
{
	lw_error_path(error, NULL, source->path);
	if (!is_absolute_path(source->option) && !lw_path_is_inside(source->path))
		return lw_fail(error, LW_DENIED, "PathLeavesDirectory", -1,
					   "a path inside lateweave.directory", "a symbolic link that leads out of it");
	return LW_OK;
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
	status = lw_source_check_inside(source, error);
	if (status != LW_OK)
		return status;
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
holds_store_id(const LwSource *source, const LwManifest *manifest)
{
	char	   *store_id;
	bool		same;

	if (source->store_id == NULL)
		return true;
	store_id = lw_string_for_server(manifest->store_id);
	same = strcmp(source->store_id, store_id) == 0;
	pfree(store_id);
	return same;
}

/* That the manifest is of the store which the table remembers, and not too old. */
static LwStatus
check_identity(const LwSource *source, const LwManifest *manifest, LwError *error)
{
	lw_error_path(error, source->path, "manifest.json");
	if (!holds_store_id(source, manifest))
		return lw_fail(error, LW_REPLACED, "StoreIdMismatch", -1, "the store_id in the foreign table's options",
					   "\"%.*s\" instead of \"%.100s\"", (int) Min(manifest->store_id.size, 100),
					   manifest->store_id.data, source->store_id);
	if (source->has_min_commit && manifest->commit < source->min_commit)
		return lw_fail(error, LW_OUTDATED, "BelowMinCommit", -1, "a commit not below the foreign table's option min_commit",
					   UINT64_FORMAT " instead of " UINT64_FORMAT, manifest->commit, source->min_commit);
	return LW_OK;
}

/* The source's section file as it is at its path now. */
static LwStatus
follow_section(LwSource *source, LwError *error)
{
	struct stat status;
	LwSection  *section;
	LwStatus	result;
	char		hash[LW_TEXT_HASH_SIZE + 1];

	lw_error_path(error, NULL, source->path);
	if (stat(source->path, &status) != 0)
		return lw_fail_errno(error, errno, "open");
	if (source->section == NULL || !lw_section_is_current(source->section, &status))
	{
		result = lw_source_check_inside(source, error);
		if (result != LW_OK)
			return result;
		forget_section(source);
		lw_source_forget_unused();
		result = lw_section_get(source->path, &status, &section, error);
		if (result != LW_OK)
			return result;
		source->section = section;
	}
	if (source->content_hash == NULL || source->content_checked)
		return LW_OK;
	result = lw_section_content_hash(source->section->file, hash, error);
	if (result != LW_OK)
		return result;
	lw_error_path(error, NULL, source->path);
	if (strcmp(hash, source->content_hash) != 0)
		return lw_fail(error, LW_REPLACED, "ContentHashMismatch", -1, "the content_hash in the foreign table's options",
					   "\"%s\" instead of \"%s\"", hash, source->content_hash);
	source->content_checked = true;
	return LW_OK;
}

/* Opens the view of the source's store, and says what of it is new. */
static LwStatus
follow_store(LwSource *source, LwView **view, bool *moved, LwError *error)
{
	const LwView *last = source->store->view;
	LwStatus	status = lw_store_follow(source->store, source->path, view, moved, error);

	if (status != LW_OK || *moved)
		return status;
	if (*view != last && OidIsValid(source->relid))
		lw_stat_of(source->relid)->reloads++;
	if (*view != last)
		elog(DEBUG2, "%s of \"%s\": commit " UINT64_FORMAT,
			 source->store->was_read ? "manifest" : "shared view", source->path, (*view)->manifest.commit);
	lw_shared_offer(source->store);
	return check_identity(source, &(*view)->manifest, error);
}

/* Takes what identifies the source's store; of one that was known and no longer fits the manifest is read. */
static LwStatus
identify_store(LwSource *source, LwManifest *manifest, bool *moved, LwError *error)
{
	LwStatus	status = lw_store_identity(source->store, source->path, manifest, moved, error);

	if (status != LW_OK || *moved || check_identity(source, manifest, error) == LW_OK)
		return status;
	lw_manifest_free(manifest);
	status = lw_store_read(source->store, source->path, manifest, moved, error);
	if (status != LW_OK || *moved)
		return status;
	status = check_identity(source, manifest, error);
	if (status != LW_OK)
		lw_manifest_free(manifest);
	return status;
}

/* The source's store as it is at its path now: its view, or what identifies it when `view` is NULL. */
static LwStatus
visit_store(LwSource *source, LwView **view, LwManifest *manifest, LwError *error)
{
	LwStatus	status;
	bool		moved = false;
	int			attempt;

	/* what may raise, while nothing is held that would be lost by it */
	(void) lw_shared_available();
	if (OidIsValid(source->relid))
		(void) lw_stat_of(source->relid);
	if (source->store == NULL)
	{
		status = find_store(source, error);
		if (status != LW_OK)
			return status;
		/* The table's store_id was set anew: nothing that was loaded before is used. */
		if (source->store->view != NULL && !holds_store_id(source, &source->store->view->manifest))
			lw_store_forget(source->store);
	}
	for (attempt = 0; attempt < 8; attempt++)
	{
		status = view != NULL ? follow_store(source, view, &moved, error) :
			identify_store(source, manifest, &moved, error);
		if (status != LW_OK || !moved)
			return status;

		/* Another directory lies at the path. */
		status = find_store(source, error);
		if (status != LW_OK)
			return status;
	}
	lw_error_path(error, NULL, source->path);
	return lw_fail(error, LW_MALFORMED, "StoreReplaced", -1, "a directory that stays where it is",
				   "another directory at each of %d attempts", attempt);
}

LwStatus
lw_source_follow(LwSource *source, LwContent *content, LwError *error)
{
	LwStatus	status;

	content->view = NULL;
	content->section = NULL;
	if (source->kind == LW_SOURCE_STORE)
		return visit_store(source, &content->view, NULL, error);
	status = follow_section(source, error);
	content->section = source->section;
	return status;
}

LwStatus
lw_source_identity(LwSource *source, LwManifest *manifest, LwError *error)
{
	return visit_store(source, NULL, manifest, error);
}

bool
lw_source_last_content(LwSource *source, LwContent *content)
{
	LwError		ignored;

	content->view = source->store != NULL ? source->store->view : NULL;
	content->section = source->section;
	if (content->view != NULL || content->section != NULL)
		return true;
	ignored.path[0] = '\0';
	return lw_source_follow(source, content, &ignored) == LW_OK;
}

void
lw_source_wrong_kind(Oid relid, LwSourceKind expected)
{
	if (expected == LW_SOURCE_STORE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a section file, not a vector store", get_rel_name(relid))));
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is a vector store, not a section file", get_rel_name(relid)),
			 errhint("This works on foreign tables with the option \"section_file\".")));
}

void
lw_source_check_privileges(Oid relid, LOCKMODE lock, AclMode privileges)
{
	LockRelationOid(relid, lock);
	if (pg_class_aclmask(relid, GetUserId(), privileges, ACLMASK_ALL) != privileges)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)), get_rel_name(relid));
}

void
lw_source_check_owner(Oid relid, LOCKMODE lock)
{
	LockRelationOid(relid, lock);
	if (!lw_owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)), get_rel_name(relid));
}

void
lw_source_check_select(Oid relid)
{
	lw_source_check_privileges(relid, AccessShareLock, ACL_SELECT);
}

void
lw_source_check_writable(Oid relid)
{
	LwSource   *source = lw_source_lookup(relid);

	if (source->kind == LW_SOURCE_SECTION)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot change \"%s\": section files are immutable", get_rel_name(relid)),
				 errhint("Build another file and put it in the place of this one.")));
	if (!source->writable)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot change \"%s\": the foreign table is not writable", get_rel_name(relid)),
				 errhint("Where no other process writes the store, its table can have the option writable 'true'.")));
}
