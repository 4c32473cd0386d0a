/*-------------------------------------------------------------------------
 *
 * registry.c
 *	  Which stores this server writes, for whoever settles them after a crash.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "miscadmin.h"
#include "storage/fd.h"

#include "server/registry.h"

/* Relative to the data directory, which every server process is in. */
#define PARENT "lateweave"
#define DIRECTORY PARENT "/.written"

static void
file_name(char name[MAXPGPATH], dev_t device, ino_t inode)
{
	snprintf(name, MAXPGPATH, DIRECTORY "/%llu-%llu", (unsigned long long) device, (unsigned long long) inode);
}

/* Makes a directory that may be there. */
static void
make_directory(const char *path)
{
	if (MakePGDirectory(path) != 0 && errno != EEXIST)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not create directory \"%s\": %m", path)));
}

/* The path that a file of the directory holds, or NULL. */
static char *
read_entry(const char *name)
{
	char		path[MAXPGPATH];
	int			fd = OpenTransientFile(name, O_RDONLY | PG_BINARY);
	ssize_t		size;

	if (fd < 0)
		return NULL;
	size = read(fd, path, sizeof(path) - 1);
	CloseTransientFile(fd);
	return size > 0 ? pnstrdup(path, size) : NULL;
}

void
lw_registry_add(const LwStore *store, const char *path)
{
	char		name[MAXPGPATH];
	char		temporary[MAXPGPATH];
	char	   *noted;
	Size		size = strlen(path);
	int			fd;

	file_name(name, store->device, store->inode);
	noted = read_entry(name);
	if (noted != NULL && strcmp(noted, path) == 0)
		return;
	make_directory(PARENT);
	make_directory(DIRECTORY);
	/* lw_registry_list, which removes what is no store's, passes over such a name */
	snprintf(temporary, sizeof(temporary), DIRECTORY "/.new-%d", MyProcPid);
	fd = OpenTransientFile(temporary, O_WRONLY | O_CREAT | O_TRUNC | PG_BINARY);
	errno = fd < 0 ? errno : ENOSPC;	/* of a short write */
	if (fd < 0 || write(fd, path, size) != (ssize_t) size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", temporary)));
	CloseTransientFile(fd);
	(void) durable_rename(temporary, name, ERROR);
}

void
lw_registry_strike(dev_t device, ino_t inode)
{
	char		name[MAXPGPATH];

	file_name(name, device, inode);
	(void) unlink(name);
}

List *
lw_registry_list(void)
{
	DIR		   *directory = AllocateDir(DIRECTORY);
	struct dirent *entry;
	List	   *paths = NIL;

	if (directory == NULL)
		return NIL;
	while ((entry = ReadDirExtended(directory, DIRECTORY, LOG)) != NULL)
	{
		char		name[MAXPGPATH];
		char		expected[MAXPGPATH];
		struct stat status;
		char	   *path;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), DIRECTORY "/%s", entry->d_name);
		path = read_entry(name);
		/* a directory that is not there now may be there again */
		if (path == NULL || stat(path, &status) != 0)
			continue;
		file_name(expected, status.st_dev, status.st_ino);
		if (strcmp(name, expected) == 0)
			paths = lappend(paths, path);
		else
			(void) unlink(name);
	}
	FreeDir(directory);
	return paths;
}
