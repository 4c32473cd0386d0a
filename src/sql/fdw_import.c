/*-------------------------------------------------------------------------
 *
 * fdw_import.c
 *	  IMPORT FOREIGN SCHEMA: the sources in a directory as foreign tables.
 *
 * The remote schema is a directory: a store itself, or one whose direct
 * sub-directories are looked at, and its files whose names say that they are
 * section files.  Only manifests are read here; the event trigger opens the
 * sources of the tables that are made.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "server/error.h"
#include "server/ids.h"
#include "server/path.h"
#include "server/section.h"
#include "sql/fdw.h"
#include "sql/multivector.h"
#include "store/map.h"

#define MANIFEST "manifest.json"

typedef struct LwImport
{
	ImportForeignSchemaStmt *stmt;
	char	   *server;
	char	   *type;			/* multivector, qualified and quoted */
	List	   *commands;
} LwImport;

/* The directory that a statement means, as it is given. */
static char *
import_directory(ImportForeignSchemaStmt *stmt)
{
	char	   *directory = NULL;
	ListCell   *cell;

	foreach(cell, stmt->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "directory") != 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", option->defname),
					 errhint("The option of IMPORT FOREIGN SCHEMA is: directory.")));
		directory = defGetString(option);
	}
	if (directory == NULL)
	{
		if (strlen(stmt->remote_schema) >= NAMEDATALEN - 1)
			ereport(ERROR,
					(errcode(ERRCODE_NAME_TOO_LONG),
					 errmsg("name of directory \"%s\" may have been cut to %d bytes",
							stmt->remote_schema, NAMEDATALEN - 1),
					 errhint("Give it as OPTIONS (directory '...').")));
		directory = stmt->remote_schema;
	}
	directory = pstrdup(directory);
	if (is_absolute_path(directory))
		canonicalize_path(directory);
	lw_check_path("directory", directory);
	return directory;
}

static LwStatus
read_manifest(const char *path, LwManifest *manifest, LwError *error)
{
	LwMap	   *map;
	LwStatus	status;
	int			dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	lw_error_path(error, NULL, path);
	if (dirfd < 0)
		return lw_fail_errno(error, errno, "open");
	status = lw_map_open(dirfd, path, MANIFEST, &map, NULL, NULL, error);
	close(dirfd);
	if (status != LW_OK)
		return status;
	status = lw_manifest_parse(map->data, map->size, manifest, error);
	if (status == LW_OK && map->faulted)
	{
		lw_manifest_free(manifest);
		status = lw_map_check(map, error);
	}
	lw_map_close(map);
	return status;
}

/* Whether a table of this name is to be made; a WARNING when it cannot be. */
static bool
is_wanted(LwImport *import, const char *name)
{
	if (!IsImportableForeignTable(name, import->stmt))
		return false;
	if (strlen(name) < NAMEDATALEN && pg_verifymbstr(name, (int) strlen(name), true))
		return true;
	ereport(WARNING,
			(errmsg("skipped a source whose name cannot be that of a table"),
			 errdetail("It has %zu bytes; a table's name has at most %d, in the encoding of the database.",
					   strlen(name), NAMEDATALEN - 1),
			 errhint("Use CREATE FOREIGN TABLE with another name.")));
	return false;
}

/* Adds the command that makes the table `name` over the store at `path`, given in options as `option`. */
static void
import_store(LwImport *import, const char *name, const char *path, const char *option)
{
	LwManifest	manifest;
	LwError		error;
	char	   *store_id;
	char	   *dimension = "";

	if (!is_wanted(import, name))
		return;
	if (read_manifest(path, &manifest, &error) != LW_OK)
	{
		lw_report(WARNING, &error);
		return;
	}
	if (manifest.dimension <= LW_MULTIVECTOR_MAX_VALUES)
		dimension = psprintf("(" UINT64_FORMAT ")", manifest.dimension);
	store_id = lw_string_for_server(manifest.store_id);
	lw_manifest_free(&manifest);
	import->commands = lappend(import->commands,
							   psprintf("CREATE FOREIGN TABLE %s (id pg_catalog.text NOT NULL, tokens %s%s) "
										"SERVER %s OPTIONS (store %s, store_id %s)",
										quote_identifier(name), import->type, dimension,
										import->server, quote_literal_cstr(option), quote_literal_cstr(store_id)));
}

/* Adds the command that makes a table over the section file `file`, called as it without its ending. */
static void
import_section(LwImport *import, const char *file, const char *path, const char *option)
{
	char	   *name = pnstrdup(file, strrchr(file, '.') - file);
	struct stat status;
	LwSection  *section;
	LwError		error;

	if (!is_wanted(import, name))
		return;
	lw_error_path(&error, NULL, path);
	if (stat(path, &status) != 0)
		lw_fail_errno(&error, errno, "open");
	else if (lw_section_get(path, &status, &section, &error) == LW_OK)
	{
		lw_section_release(section);
		import->commands = lappend(import->commands,
								   psprintf("CREATE FOREIGN TABLE %s (ordinal pg_catalog.int8 NOT NULL, "
											"chunk_id pg_catalog.text NOT NULL, canonical_text pg_catalog.text NOT NULL, "
											"source_uri pg_catalog.text NOT NULL, byte_start pg_catalog.int8 NOT NULL, "
											"byte_end pg_catalog.int8 NOT NULL, citation pg_catalog.text NOT NULL, "
											"embedding pg_catalog.float4[] NOT NULL) SERVER %s OPTIONS (section_file %s)",
											quote_identifier(name), import->server, quote_literal_cstr(option)));
		return;
	}
	lw_report(WARNING, &error);
}

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

/* The names in a directory, hidden ones left out, sorted by their bytes. */
static List *
list_directory(const char *path)
{
	DIR		   *directory = AllocateDir(path);
	struct dirent *entry;
	List	   *names = NIL;

	while ((entry = ReadDir(directory, path)) != NULL)
		if (entry->d_name[0] != '.')
			names = lappend(names, pstrdup(entry->d_name));
	FreeDir(directory);
	list_sort(names, compare_names);
	return names;
}

/* Whether a directory holds a manifest. */
static bool
is_store(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
		return false;
	return stat(psprintf("%s/%s", path, MANIFEST), &status) == 0 || errno != ENOENT;
}

/* Whether a name says that what lies there is a section file, and it is a file. */
static bool
is_section_file(const char *name, const char *path)
{
	const char *ending = strrchr(name, '.');
	struct stat status;

	return ending != NULL && ending != name && strcmp(ending, ".urna") == 0 &&
		(stat(path, &status) != 0 || S_ISREG(status.st_mode));
}

List *
lw_import_schema(ImportForeignSchemaStmt *stmt, Oid serverid)
{
	ForeignServer *server = GetForeignServer(serverid);
	Oid			type = lw_multivector_type(server->fdwid);
	char	   *option = import_directory(stmt);
	bool		absolute = is_absolute_path(option);
	char	   *path;
	LwImport	import = {0};
	ListCell   *cell;

	lw_check_attach_privilege(option, false);
	path = lw_resolve_path(option);
	if (!absolute && !lw_path_is_inside(path))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("directory \"%s\" leaves the directory of lateweave by a symbolic link", option),
				 errhint("Give the absolute path instead.")));
	import.stmt = stmt;
	import.server = pstrdup(quote_identifier(server->servername));
	import.type = format_type_be_qualified(type);
	if (is_store(path))
		import_store(&import, last_dir_separator(path) + 1, path, option);
	else if (is_section_file(last_dir_separator(path) + 1, path))
		import_section(&import, last_dir_separator(path) + 1, path, option);
	else
		foreach(cell, list_directory(path))
		{
			const char *name = lfirst(cell);
			char	   *below = psprintf("%s/%s", path, name);

			/* a link that leads out makes no table that could be read */
			if (!absolute && !lw_path_is_inside(below))
				continue;
			if (is_store(below))
				import_store(&import, name, below, psprintf("%s/%s", option, name));
			else if (is_section_file(name, below))
				import_section(&import, name, below, psprintf("%s/%s", option, name));
		}
	return import.commands;
}
