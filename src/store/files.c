/*-------------------------------------------------------------------------
 *
 * files.c
 *	  What writing a store asks of the operating system.
 *
 *-------------------------------------------------------------------------
 */
#include "store/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/fault.h"

#define COPY_SIZE ((size_t) 256 * 1024)

/* Levels of directories that are removed. */
#define MAX_LEVELS 32

bool		lw_sync_enabled = true;
int			(*lw_fault_hook) (const char *name);

LwStatus
lw_directory_file_mode(LwDirectory directory, mode_t *mode, LwError *error)
{
	struct stat status;

	if (fstat(directory.fd, &status) != 0)
	{
		lw_error_path(error, NULL, directory.path);
		return lw_fail_errno(error, errno, "stat");
	}
	*mode = status.st_mode & 0666;
	return LW_OK;
}

LwStatus
lw_directory_open(LwDirectory parent, const char *name, LwDirectory *directory, LwError *error)
{
	lw_error_path(error, parent.path, name);
	directory->fd = openat(parent.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return directory->fd < 0 ? lw_fail_errno(error, errno, "open") : LW_OK;
}

DIR *
lw_directory_list(LwDirectory directory, LwStatus *status, LwError *error)
{
	LwDirectory again;
	DIR		   *entries;

	*status = lw_directory_open(directory, ".", &again, error);
	if (*status != LW_OK)
		return NULL;
	entries = fdopendir(again.fd);
	if (entries == NULL)
	{
		*status = lw_fail_errno(error, errno, "list");
		close(again.fd);
	}
	return entries;
}

LwStatus
lw_file_create(LwDirectory directory, const char *name, mode_t mode, int *fd, LwError *error)
{
	LwStatus	status;

	lw_error_path(error, directory.path, name);
	*fd = openat(directory.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (*fd < 0)
		return lw_fail_errno(error, errno, "create");
	/* the process's umask is not the store's */
	if (fchmod(*fd, mode) == 0)
		return LW_OK;
	status = lw_fail_errno(error, errno, "change the mode of");
	close(*fd);
	(void) unlinkat(directory.fd, name, 0);
	*fd = -1;
	return status;
}

LwStatus
lw_file_write(int fd, const void *data, size_t size, uint64_t offset, LwError *error)
{
	const char *from = data;

	while (size > 0)
	{
		ssize_t		written = pwrite(fd, from, size, (off_t) offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return lw_fail_errno(error, written < 0 ? errno : ENOSPC, "write");
		from += written;
		offset += (uint64_t) written;
		size -= (size_t) written;
	}
	return LW_OK;
}

void
lw_file_begin_sync(int fd)
{
#if defined(SYNC_FILE_RANGE_WRITE)
	if (lw_sync_enabled)
		(void) sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
#else
	(void) fd;
#endif
}

LwStatus
lw_file_sync(int fd, LwError *error)
{
	while (lw_sync_enabled && fsync(fd) != 0)
		if (errno != EINTR)
			return lw_fail_errno(error, errno, "sync");
	return LW_OK;
}

LwStatus
lw_file_sync_data(int fd, LwError *error)
{
	while (lw_sync_enabled && fdatasync(fd) != 0)
		if (errno != EINTR)
			return lw_fail_errno(error, errno, "sync");
	return LW_OK;
}

LwStatus
lw_directory_sync(LwDirectory directory, LwError *error)
{
	lw_error_path(error, NULL, directory.path);
	return lw_file_sync(directory.fd, error);
}

LwStatus
lw_file_make(LwDirectory directory, const char *name, mode_t mode,
			 const void *data, size_t size, const LwFileFaults *faults, LwError *error)
{
	int			fd;
	LwStatus	status;

	lw_error_path(error, directory.path, name);
	status = LW_FAULT(faults->create);
	if (status == LW_OK)
		status = lw_file_create(directory, name, mode, &fd, error);
	if (status != LW_OK)
		return status;
	status = lw_file_write(fd, data, size, 0, error);
	if (status == LW_OK)
		status = LW_FAULT(faults->written);
	if (status == LW_OK)
		status = lw_file_sync(fd, error);
	if (status == LW_OK)
		status = LW_FAULT(faults->synced);
	if (close(fd) != 0 && status == LW_OK)
		status = lw_fail_errno(error, errno, "close");
	if (status != LW_OK)
		(void) unlinkat(directory.fd, name, 0);
	return status;
}

LwStatus
lw_parent_sync(const char *path, LwError *error)
{
	LwDirectory here = {AT_FDCWD, NULL};
	LwDirectory parent;
	const char *slash = strrchr(path, '/');
	char	   *name = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t) (slash - path));
	LwStatus	status;

	if (name == NULL)
		return lw_fail_errno(error, ENOMEM, "sync");
	status = lw_directory_open(here, name, &parent, error);
	if (status == LW_OK)
	{
		parent.path = name;
		status = lw_directory_sync(parent, error);
		close(parent.fd);
	}
	free(name);
	return status;
}

LwStatus
lw_directory_make(const char *path, mode_t mode, bool new, LwError *error)
{
	LwStatus	status;

	lw_error_path(error, NULL, path);
	if (mkdir(path, mode) != 0)
		return errno == EEXIST && !new ? LW_OK : lw_fail_errno(error, errno, "create");
	if (chmod(path, mode) != 0)
		status = lw_fail_errno(error, errno, "change the mode of");
	else
		status = lw_parent_sync(path, error);
	if (status != LW_OK)
		(void) rmdir(path);
	return status;
}

/* Appends all that can be read from one descriptor to another. */
static LwStatus
copy_bytes(int from, int to, LwError *error)
{
	char	   *block = malloc(COPY_SIZE);
	uint64_t	offset = 0;
	LwStatus	status = LW_OK;

	if (block == NULL)
		return lw_fail_errno(error, ENOMEM, "copy");
	while (status == LW_OK)
	{
		ssize_t		got = pread(from, block, COPY_SIZE, (off_t) offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			status = lw_fail_errno(error, errno, "read");
		if (got <= 0)
			break;
		status = lw_file_write(to, block, (size_t) got, offset, error);
		offset += (uint64_t) got;
	}
	free(block);
	return status;
}

static LwStatus
copy_file(LwDirectory from, const char *name, LwDirectory to, const char *new_name, mode_t mode, LwError *error)
{
	LwStatus	status;
	int			source;
	int			target;

	lw_error_path(error, from.path, name);
	source = openat(from.fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (source < 0)
		return lw_fail_errno(error, errno, "open");
	status = lw_file_create(to, new_name, mode, &target, error);
	if (status != LW_OK)
	{
		close(source);
		return status;
	}
	status = copy_bytes(source, target, error);
	if (status == LW_OK)
		status = lw_file_sync(target, error);
	close(source);
	if (close(target) != 0 && status == LW_OK)
		status = lw_fail_errno(error, errno, "close");
	if (status != LW_OK)
		(void) unlinkat(to.fd, new_name, 0);
	return status;
}

LwStatus
lw_file_link(LwDirectory from, const char *name, LwDirectory to, const char *new_name,
			 mode_t mode, bool *copied, LwError *error)
{
	/* of a symbolic link it is the file that gets another name */
	if (linkat(from.fd, name, to.fd, new_name, AT_SYMLINK_FOLLOW) == 0)
		return LW_OK;
	switch (errno)
	{
		case EXDEV:
		case EPERM:
		case EMLINK:
		case ENOSYS:
		case EOPNOTSUPP:
			*copied = true;
			return copy_file(from, name, to, new_name, mode, error);
		case EEXIST:
			lw_error_path(error, to.path, new_name);
			return lw_fail_errno(error, EEXIST, "create");
		default:
			lw_error_path(error, from.path, name);
			return lw_fail_errno(error, errno, "link");
	}
}

LwStatus
lw_file_unlink(LwDirectory directory, const char *name, LwError *error)
{
	if (unlinkat(directory.fd, name, 0) == 0 || errno == ENOENT)
		return LW_OK;
	lw_error_path(error, directory.path, name);
	return lw_fail_errno(error, errno, "remove");
}

/* One level of a directory that is removed. */
typedef struct Level
{
	DIR		   *entries;
	char		name[256];		/* in the level above */
} Level;

static bool
enter(int parent, const char *name, Level *level)
{
	int			fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || strlen(name) >= sizeof(level->name))
	{
		if (fd >= 0)
			close(fd);
		return false;
	}
	strcpy(level->name, name);
	level->entries = fdopendir(fd);
	if (level->entries == NULL)
		close(fd);
	return level->entries != NULL;
}

/*
 * Walks down and up without recursion.  A directory that cannot be entered or
 * emptied is left, and so are those above it.
 */
LwStatus
lw_directory_remove(LwDirectory parent, const char *name, LwError *error)
{
	Level	   *levels = malloc(MAX_LEVELS * sizeof(Level));
	int			depth = 0;
	int			errnum = 0;

	lw_error_path(error, parent.path, name);
	if (levels == NULL)
		return lw_fail_errno(error, ENOMEM, "remove");
	if (!enter(parent.fd, name, &levels[depth++]))
	{
		errnum = errno;
		free(levels);
		return errnum == ENOENT ? LW_OK : lw_fail_errno(error, errnum, "remove");
	}
	while (depth > 0)
	{
		Level	   *level = &levels[depth - 1];
		struct dirent *entry = readdir(level->entries);
		int			fd = dirfd(level->entries);
		int			above;

		if (entry != NULL)
		{
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
				unlinkat(fd, entry->d_name, 0) == 0)
				continue;
			errnum = errno;
			if (errnum != EISDIR && errnum != EPERM)
				continue;
			if (depth < MAX_LEVELS && enter(fd, entry->d_name, &levels[depth]))
				depth++;
			continue;
		}
		closedir(level->entries);
		depth--;
		above = depth == 0 ? parent.fd : dirfd(levels[depth - 1].entries);
		if (unlinkat(above, level->name, AT_REMOVEDIR) != 0 && errno != ENOENT)
			errnum = errno;
		else
			errnum = 0;
	}
	free(levels);
	return errnum == 0 ? LW_OK : lw_fail_errno(error, errnum, "remove");
}
