/*-------------------------------------------------------------------------
 *
 * derived.c
 *	  Derived files: opening, checking, removing.
 *
 * The file: a page with the header, the checksums of the blocks, and from a
 * page on the blocks, in which the parts lie.  All numbers are this machine's.
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "common/hashfn.h"
#include "port/pg_crc32c.h"

#include "derived_file.h"

LwDerivedSettings lw_derived_settings;

static const char *const kind_names[LW_DERIVED_KINDS] = {"segment", "chunks", "checks", "codes", "trained"};

#define NANOSECONDS INT64_C(1000000000)
#define SETTLE_PAUSE 5000000	/* ns */
#define SETTLE_PAUSES 6
#define DIGITS 16				/* of the key's hash, in a name */

void
lw_derived_key(LwDerivedKey *key, LwDerivedKind kind, uint64_t segment, const char *store_id, size_t size)
{
	int			part = size > INT_MAX ? INT_MAX : (int) size;

	memset(key, 0, sizeof(*key));
	key->kind = kind;
	key->segment = segment;
	key->store[0] = hash_bytes_extended((const unsigned char *) store_id, part, 0);
	key->store[1] = hash_bytes_extended((const unsigned char *) store_id, part, 1);
}

static LwFileIdentity
identify(const struct stat *status)
{
	LwFileIdentity identity;

	identity.device = (uint64_t) status->st_dev;
	identity.inode = (uint64_t) status->st_ino;
	identity.size = (uint64_t) status->st_size;
	identity.mtime = (int64_t) status->st_mtim.tv_sec * NANOSECONDS + status->st_mtim.tv_nsec;
	return identity;
}

void
lw_derived_key_add(LwDerivedKey *key, const struct stat *status)
{
	key->files[key->nfiles++] = identify(status);
}

/* Whether some file of a key was changed lately. */
static bool
is_young(const LwDerivedKey *key)
{
	struct timespec now;
	uint64_t	i;

	clock_gettime(CLOCK_REALTIME, &now);
	for (i = 0; i < key->nfiles; i++)
	{
		struct timespec when;

		when.tv_sec = (time_t) (key->files[i].mtime / NANOSECONDS);
		when.tv_nsec = (long) (key->files[i].mtime % NANOSECONDS);
		if (lw_time_is_young(&when, &now))
			return true;
	}
	return false;
}

bool
lw_derived_settled(const LwDerivedKey *key, bool wait)
{
	const struct timespec pause = {0, SETTLE_PAUSE};
	int			pauses;

	for (pauses = 0; is_young(key); pauses++)
	{
		if (!wait || lw_derived_settings.passive || pauses == SETTLE_PAUSES)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

const char *
lw_derived_directory(LwDerivedKind kind)
{
	return kind == LW_DERIVED_TRAINED ? lw_derived_settings.trained : lw_derived_settings.directory;
}

void
lw_derived_path(char path[LW_PATH_SIZE], const LwDerivedKey *key, const char *suffix)
{
	snprintf(path, LW_PATH_SIZE, "%s/%s-%0*" PRIx64 "%s", lw_derived_directory((LwDerivedKind) key->kind), kind_names[key->kind],
			 DIGITS, hash_bytes_extended((const unsigned char *) key, sizeof(*key), 0), suffix);
}

uint32_t
lw_derived_sum(const void *data, size_t size)
{
	pg_crc32c	sum;

	INIT_CRC32C(sum);
	COMP_CRC32C(sum, data, size);
	FIN_CRC32C(sum);
	return sum;
}

/* Whether a header is one, in all that is not about the file's size. */
static bool
header_is_good(const LwDerivedHeader *header)
{
	return memcmp(header->magic, LW_DERIVED_MAGIC, sizeof(header->magic)) == 0 &&
		header->checksum == lw_derived_sum(header, offsetof(LwDerivedHeader, checksum)) &&
		memchr(header->path, '\0', sizeof(header->path)) != NULL;
}

/* Checks header and checksums, and fills in what a handle knows of the file. */
static bool
read_header(LwDerived *file, const LwDerivedKey *key)
{
	const LwMap *map = file->map;
	LwDerivedHeader header;
	uint64_t	blocks;
	int			i;

	if (map->size < LW_DERIVED_PAGE)
		return false;
	memcpy(&header, map->data, sizeof(header));
	if (!header_is_good(&header) || memcmp(&header.key, key, sizeof(*key)) != 0 || header.size != map->size ||
		header.data_at < LW_DERIVED_PAGE || header.data_at > map->size)
		return false;
	blocks = (map->size - header.data_at + LW_DERIVED_BLOCK - 1) / LW_DERIVED_BLOCK;
	if (header.blocks != blocks || blocks > (header.data_at - LW_DERIVED_PAGE) / sizeof(uint32_t) ||
		header.sums_checksum != lw_derived_sum(map->data + LW_DERIVED_PAGE, blocks * sizeof(uint32_t)))
		return false;
	for (i = 0; i < LW_DERIVED_PARTS; i++)
	{
		const LwDerivedRange *range = &header.parts[i];

		if (range->offset < header.data_at || range->offset > map->size || range->size > map->size - range->offset)
			return false;
		file->parts[i].data = map->data + range->offset;
		file->parts[i].size = range->size;
	}
	memcpy(file->values, header.values, sizeof(file->values));
	file->data_at = header.data_at;
	file->owner = header.key.files[0];
	file->owner_path = strdup(header.path);
	file->checked = calloc(1, blocks / 8 + 1);
	return file->owner_path != NULL && file->checked != NULL && !map->faulted;
}

static void
unmap(LwDerived *file)
{
	lw_map_close(file->map);
	free(file->owner_path);
	free(file->checked);
	free(file);
}

bool
lw_derived_stat(const LwDerivedKey *key, LwFileIdentity *identity)
{
	char		path[LW_PATH_SIZE];
	struct stat status;

	if (lw_derived_directory((LwDerivedKind) key->kind) == NULL)
		return false;
	lw_derived_path(path, key, "");
	if (stat(path, &status) != 0)
		return false;
	*identity = identify(&status);
	return true;
}

LwDerived *
lw_derived_open(const LwDerivedKey *key)
{
	char		path[LW_PATH_SIZE];
	LwDerived  *file;
	LwError		ignored;
	struct stat status;

	if (lw_derived_directory((LwDerivedKind) key->kind) == NULL)
		return NULL;
	file = calloc(1, sizeof(LwDerived));
	if (file == NULL)
		return NULL;
	lw_derived_path(path, key, "");
	if (lw_map_open(AT_FDCWD, NULL, path, &file->map, &status, NULL, &ignored) != LW_OK)
	{
		free(file);
		return NULL;
	}
	file->identity = identify(&status);
	if (!read_header(file, key))
	{
		unmap(file);
		return NULL;
	}
	return file;
}

/* Whether the file of an identity is no longer at its path; not when nobody can tell. */
static bool
is_gone(const char *path, const LwFileIdentity *identity)
{
	struct stat status;
	LwFileIdentity now;

	if (stat(path, &status) != 0)
		return errno == ENOENT || errno == ENOTDIR;
	now = identify(&status);
	return memcmp(&now, identity, sizeof(now)) != 0;
}

void
lw_derived_close(LwDerived *file)
{
	if (file == NULL)
		return;
	if (file->owner.inode != 0 && is_gone(file->owner_path, &file->owner))
		lw_derived_discard(file);
	unmap(file);
}

bool
lw_derived_touch(LwDerived *file, const void *data, size_t size)
{
	size_t		at = (size_t) ((const char *) data - file->map->data) - file->data_at;
	size_t		block;

	for (block = at / LW_DERIVED_BLOCK; size > 0 && block <= (at + size - 1) / LW_DERIVED_BLOCK; block++)
	{
		size_t		start = file->data_at + block * LW_DERIVED_BLOCK;
		size_t		left = file->map->size - start;
		uint32_t	expected;

		if (file->checked[block >> 3] >> (block & 7) & 1)
			continue;
		memcpy(&expected, file->map->data + LW_DERIVED_PAGE + block * sizeof(expected), sizeof(expected));
		if (lw_derived_sum(file->map->data + start, left < LW_DERIVED_BLOCK ? left : LW_DERIVED_BLOCK) != expected)
			return false;
		file->checked[block >> 3] |= (uint8_t) (1 << (block & 7));
	}
	return !file->map->faulted;
}

void
lw_derived_discard(const LwDerived *file)
{
	struct stat status;

	if (lstat(file->map->path, &status) == 0 && status.st_ino == file->identity.inode)
		unlink(file->map->path);
}

void
lw_derived_remove(const LwDerivedKey *key)
{
	char		path[LW_PATH_SIZE];

	if (lw_derived_directory((LwDerivedKind) key->kind) == NULL)
		return;
	lw_derived_path(path, key, "");
	unlink(path);
}

/* Whether a name is one that lw_derived_path gives; *is_new: of a file that is being written. */
static bool
is_our_name(const char *name, bool *is_new)
{
	int			kind;

	for (kind = 0; kind < LW_DERIVED_KINDS; kind++)
	{
		size_t		length = strlen(kind_names[kind]);
		const char *digits = name + length + 1;

		if (strncmp(name, kind_names[kind], length) != 0 || name[length] != '-' ||
			strspn(digits, "0123456789abcdef") != DIGITS)
			continue;
		*is_new = strcmp(digits + DIGITS, LW_DERIVED_NEW) == 0;
		return *is_new || digits[DIGITS] == '\0';
	}
	return false;
}

/* Whether an open derived file belongs to nothing, or is none. */
static bool
is_orphan(int fd)
{
	LwDerivedHeader header;

	if (pread(fd, &header, sizeof(header), 0) != (ssize_t) sizeof(header))
		return true;
	return !header_is_good(&header) || is_gone(header.path, &header.key.files[0]);
}

void
lw_derived_sweep(int seconds)
{
	static time_t last;
	struct timespec now;
	DIR		   *directory;
	struct dirent *entry;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (lw_derived_settings.directory == NULL || (last != 0 && now.tv_sec - last < seconds))
		return;
	last = now.tv_sec;
	directory = opendir(lw_derived_settings.directory);
	if (directory == NULL)
		return;
	while ((entry = readdir(directory)) != NULL)
	{
		bool		is_new;
		int			fd;

		if (!is_our_name(entry->d_name, &is_new))
			continue;
		fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
		if (fd < 0)
			continue;
		/* who writes one holds its lock */
		if (is_new ? flock(fd, LOCK_EX | LOCK_NB) == 0 : is_orphan(fd))
			unlinkat(dirfd(directory), entry->d_name, 0);
		close(fd);
	}
	closedir(directory);
}
