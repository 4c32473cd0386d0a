/*-------------------------------------------------------------------------
 *
 * path.c
 *	  Where a source's files are, and who may say so.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"

#include "server/path.h"

char	   *lw_directory;
const char *lw_path_just_made;

void
lw_check_path(const char *option, const char *path)
{
	const char *component;

	if (path[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must not be empty", option)));
	if (is_absolute_path(path))
		return;
	for (component = path;; component++)
	{
		size_t		length = strcspn(component, "/");

		if (length == 0 || (length == 1 && component[0] == '.') ||
			(length == 2 && component[0] == '.' && component[1] == '.'))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("relative path \"%s\" must stay inside the directory of lateweave", path),
					 errdetail("It has the component \"%.*s\".", (int) length, component),
					 errhint("Give names of directories below the setting lateweave.directory, or an absolute path.")));
		component += length;
		if (*component == '\0')
			break;
	}
}

/* lateweave.directory as an absolute path. */
static char *
base_directory(void)
{
	if (is_absolute_path(lw_directory))
		return pstrdup(lw_directory);
	return psprintf("%s/%s", DataDir, lw_directory);
}

char *
lw_resolve_path(const char *path)
{
	char	   *base;
	char	   *whole;

	if (is_absolute_path(path))
		return pstrdup(path);
	base = base_directory();
	whole = psprintf("%s/%s", base, path);
	pfree(base);
	return whole;
}

bool
lw_path_is_inside(const char *absolute)
{
	char	   *base = base_directory();
	char	   *real_base = realpath(base, NULL);
	char	   *real_path = realpath(absolute, NULL);
	bool		inside = true;

	if (real_base != NULL && real_path != NULL)
	{
		size_t		length = strlen(real_base);

		inside = strncmp(real_path, real_base, length) == 0 &&
			(real_path[length] == '/' || real_path[length] == '\0' || strcmp(real_base, "/") == 0);
	}
	free(real_base);
	free(real_path);
	pfree(base);
	return inside;
}

/* The same of the nearest directory above the path that there is. */
static bool
place_is_inside(const char *absolute)
{
	char	   *directory = pstrdup(absolute);
	struct stat status;

	do
		get_parent_directory(directory);
	while (strlen(directory) > 1 && stat(directory, &status) != 0);
	return lw_path_is_inside(directory);
}

char *
lw_resolve_new_path(const char *argument, const char *path)
{
	char	   *absolute;
	char	   *base = base_directory();
	struct stat status;

	lw_check_path(argument, path);
	absolute = lw_resolve_path(path);
	canonicalize_path(absolute);
	/* below a base that is not there yet nothing can lead astray */
	if (!is_absolute_path(path) && stat(base, &status) == 0 && !place_is_inside(absolute))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("relative path \"%s\" must stay inside the directory of lateweave", path),
				 errdetail("It follows a symbolic link.")));
	pfree(base);
	return absolute;
}

void
lw_check_attach_privilege(const char *path, bool writable)
{
	if (lw_path_just_made != NULL && strcmp(path, lw_path_just_made) == 0)
		return;
	if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to attach \"%s\"", path),
				 errdetail("Only a superuser or a member of the role pg_read_server_files may name files of the server.")));
	if (writable && !has_privs_of_role(GetUserId(), ROLE_PG_WRITE_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to attach \"%s\" for writing", path),
				 errdetail("Only a superuser or a member of the role pg_write_server_files may have files of the server written.")));
}

void
lw_check_write_privilege(const char *path)
{
	if (!has_privs_of_role(GetUserId(), ROLE_PG_WRITE_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to write \"%s\"", path),
				 errdetail("Only a superuser or a member of the role pg_write_server_files may have files of the server written.")));
}
