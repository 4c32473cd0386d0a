/*-------------------------------------------------------------------------
 *
 * derived_write.c
 *	  Writing derived files, each by one process.
 *
 * The file that is being written is its own lock: who has flock'ed what lies at
 * that name may write it, and the lock goes with its process.  Waiters find
 * then that their descriptor is of a file that was renamed or removed, and
 * begin anew.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "derived_file.h"
#include "files.h"

#define MAX_ATTEMPTS 100
#define POLL_NS 5000000			/* between two looks whether the lock is free */

struct LwDerivedBuild
{
	LwDerivedKey key;
	char		owner_path[LW_PATH_SIZE];
	char		path[LW_PATH_SIZE];	/* of the file that is written */
	int			fd;
};

/* Makes a directory and the one it lies in. */
static bool
make_directory(const char *directory)
{
	char		parent[LW_PATH_SIZE];
	char	   *slash;

	if (mkdir(directory, lw_derived_settings.directory_mode) == 0)
		return true;
	snprintf(parent, sizeof(parent), "%s", directory);
	slash = strrchr(parent, '/');
	if (errno != ENOENT || slash == NULL || slash == parent)
		return errno == EEXIST;
	*slash = '\0';
	if (mkdir(parent, lw_derived_settings.directory_mode) != 0 && errno != EEXIST)
		return false;
	return mkdir(directory, lw_derived_settings.directory_mode) == 0 || errno == EEXIST;
}

static int
open_new(const char *directory, const char *path)
{
	const int	flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
	int			fd = open(path, flags, lw_derived_settings.file_mode);

	if (fd < 0 && errno == ENOENT && make_directory(directory))
		fd = open(path, flags, lw_derived_settings.file_mode);
	return fd;
}

/* Waits for the lock of an open file.  *locked is false when it is not to be had. */
static LwStatus
lock(int fd, bool wait, bool *locked, LwError *error)
{
	const struct timespec pause = {0, POLL_NS};

	for (;;)
	{
		*locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
		if (*locked || (errno != EINTR && (errno != EWOULDBLOCK || !wait)))
			return LW_OK;
		if (lw_stop_asked(lw_derived_settings.stop))
			return lw_fail(error, LW_CANCELLED, NULL, -1, "to go on", "a request to stop");
		nanosleep(&pause, NULL);
	}
}

/* Whether a descriptor is of the file at a path. */
static bool
is_at(int fd, const char *path)
{
	struct stat of_fd;
	struct stat of_path;

	return fstat(fd, &of_fd) == 0 && lstat(path, &of_path) == 0 && S_ISREG(of_fd.st_mode) &&
		of_fd.st_dev == of_path.st_dev && of_fd.st_ino == of_path.st_ino;
}

LwStatus
lw_derived_begin(const LwDerivedKey *key, const char *path, bool wait, LwDerivedBuild **result, LwError *error)
{
	const char *directory = lw_derived_directory((LwDerivedKind) key->kind);
	LwDerivedBuild *build;
	int			attempt;
	bool		locked;
	LwStatus	status;

	*result = NULL;
	if (directory == NULL || lw_derived_settings.passive || path[0] != '/' || strlen(path) >= LW_PATH_SIZE)
		return LW_OK;
	build = calloc(1, sizeof(LwDerivedBuild));
	if (build == NULL)
		return LW_OK;
	build->key = *key;
	snprintf(build->owner_path, sizeof(build->owner_path), "%s", path);
	lw_derived_path(build->path, key, LW_DERIVED_NEW);
	for (attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		build->fd = open_new(directory, build->path);
		if (build->fd < 0)
			break;
		status = lock(build->fd, wait, &locked, error);
		if (status == LW_OK && locked && is_at(build->fd, build->path))
		{
			*result = build;
			return LW_OK;
		}
		close(build->fd);
		if (status != LW_OK)
			lw_error_path(error, NULL, build->path);
		if (status != LW_OK || !locked)
		{
			free(build);
			return status;
		}
	}
	free(build);
	return LW_OK;
}

/* Puts the file's header and checksums, or its blocks, where they belong. */
static bool
put(int fd, const void *data, size_t size, uint64_t offset)
{
	LwError		ignored;

	return lw_file_write(fd, data, size, offset, &ignored) == LW_OK;
}

static uint64_t
whole_pages(uint64_t size)
{
	return (size + LW_DERIVED_PAGE - 1) / LW_DERIVED_PAGE * LW_DERIVED_PAGE;
}

/* Copies what lies in the file from `offset` on into a block; zeros lie between the parts. */
static void
fill_block(char *block, size_t size, uint64_t offset, const LwDerivedHeader *header,
		   const LwDerivedPart parts[LW_DERIVED_PARTS])
{
	int			i;

	memset(block, 0, size);
	for (i = 0; i < LW_DERIVED_PARTS; i++)
	{
		uint64_t	start = header->parts[i].offset;
		uint64_t	from = start > offset ? start : offset;
		uint64_t	end = start + parts[i].size;

		if (end > offset + size)
			end = offset + size;
		if (from < end)
			memcpy(block + (from - offset), parts[i].data + (from - start), (size_t) (end - from));
	}
}

static bool
write_file(int fd, LwDerivedHeader *header, const LwDerivedPart parts[LW_DERIVED_PARTS], uint32_t *sums)
{
	static char block[LW_DERIVED_BLOCK];
	uint64_t	i;

	if (ftruncate(fd, 0) != 0)
		return false;
	for (i = 0; i < header->blocks; i++)
	{
		uint64_t	offset = header->data_at + i * LW_DERIVED_BLOCK;
		size_t		size = header->size - offset < LW_DERIVED_BLOCK ? (size_t) (header->size - offset) : LW_DERIVED_BLOCK;

		if (lw_stop_asked(lw_derived_settings.stop))
			return false;
		fill_block(block, size, offset, header, parts);
		sums[i] = lw_derived_sum(block, size);
		if (!put(fd, block, size, offset))
			return false;
	}
	header->sums_checksum = lw_derived_sum(sums, header->blocks * sizeof(uint32_t));
	header->checksum = lw_derived_sum(header, offsetof(LwDerivedHeader, checksum));
	return put(fd, sums, header->blocks * sizeof(uint32_t), LW_DERIVED_PAGE) && put(fd, header, sizeof(*header), 0);
}

/* Where everything lies. */
static void
lay_out(LwDerivedHeader *header, const uint64_t sizes[LW_DERIVED_PARTS])
{
	uint64_t	size = 0;
	int			i;

	for (i = 0; i < LW_DERIVED_PARTS; i++)
	{
		header->parts[i].offset = size;
		header->parts[i].size = sizes[i];
		size += whole_pages(sizes[i]);
	}
	header->blocks = (size + LW_DERIVED_BLOCK - 1) / LW_DERIVED_BLOCK;
	header->data_at = LW_DERIVED_PAGE + whole_pages(header->blocks * sizeof(uint32_t));
	header->size = header->data_at + size;
	for (i = 0; i < LW_DERIVED_PARTS; i++)
		header->parts[i].offset += header->data_at;
}

uint64_t
lw_derived_size(const uint64_t sizes[LW_DERIVED_PARTS])
{
	LwDerivedHeader header;

	lay_out(&header, sizes);
	return header.size;
}

LwDerived *
lw_derived_finish(LwDerivedBuild *build, const uint64_t values[LW_DERIVED_VALUES],
				  const LwDerivedPart parts[LW_DERIVED_PARTS])
{
	LwDerivedHeader header;
	uint64_t	sizes[LW_DERIVED_PARTS];
	char		path[LW_PATH_SIZE];
	LwDerived  *file;
	uint32_t   *sums;
	bool		lasting = build->key.kind == LW_DERIVED_TRAINED;
	bool		written;
	LwError		ignored;
	int			i;

	memset(&header, 0, sizeof(header));
	memcpy(header.magic, LW_DERIVED_MAGIC, sizeof(header.magic));
	header.key = build->key;
	memcpy(header.values, values, sizeof(header.values));
	memcpy(header.path, build->owner_path, sizeof(header.path));
	for (i = 0; i < LW_DERIVED_PARTS; i++)
		sizes[i] = parts[i].size;
	lay_out(&header, sizes);
	sums = calloc(header.blocks + 1, sizeof(uint32_t));
	lw_derived_path(path, &build->key, "");
	written = sums != NULL && write_file(build->fd, &header, parts, sums) &&
		(!lasting || lw_file_sync(build->fd, &ignored) == LW_OK) && rename(build->path, path) == 0 &&
		(!lasting || lw_parent_sync(path, &ignored) == LW_OK);
	free(sums);
	if (!written)
	{
		lw_derived_abandon(build);
		return NULL;
	}
	file = lw_derived_open(&build->key);
	close(build->fd);
	free(build);
	return file;
}

void
lw_derived_abandon(LwDerivedBuild *build)
{
	if (build == NULL)
		return;
	unlink(build->path);
	close(build->fd);
	free(build);
}
