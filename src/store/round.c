/*-------------------------------------------------------------------------
 *
 * round.c
 *	  The directory of changes that are on their way into a store: rounds, and
 *	  what nobody needs any more.
 *
 * manifest.next is written and synced before the round is noted, and the note is
 * removed before it; so as long as there is a note, the next manifest is here
 * if and only if it was not published.
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/fault.h"
#include "store/map.h"
#include "store/pending_files.h"

#define ROUND "round"
#define NEW_ROUND "new-round"
#define NEXT "manifest.next"
#define BULK "bulk-"

/* A note: the count, the checksum of the rest, and number and bulk of each intent. */
typedef struct Note
{
	uint64_t	count;
	uint64_t	checksum;
} Note;

LwStatus
lw_round_write(LwDirectory pending, const LwIntent *const *intents, size_t count, LwError *error)
{
	static const LwFileFaults faults = {"round-create", "round-written", "round-synced"};
	LwBuffer	file;
	mode_t		mode;
	Note		note;
	LwStatus	status;
	size_t		i;

	lw_pending_path(error, pending, ROUND);
	lw_buffer_init(&file, 0);
	note.count = count;
	lw_put_bytes(&file, &note, sizeof(note));
	for (i = 0; i < count; i++)
	{
		lw_put_u64(&file, intents[i]->number);
		lw_put_u64(&file, intents[i]->bulk);
	}
	if (!file.failed)
		((Note *) (void *) file.data)->checksum = lw_pending_checksum(file.data + sizeof(note), file.size - sizeof(note));
	status = lw_buffer_status(&file, error);
	if (status == LW_OK)
		status = lw_directory_file_mode(pending, &mode, error);
	if (status == LW_OK)
		status = lw_file_unlink(pending, NEW_ROUND, error);
	if (status == LW_OK)
		status = lw_file_make(pending, NEW_ROUND, mode, file.data, file.size, &faults, error);
	lw_buffer_free(&file);
	if (status != LW_OK)
		return status;
	status = LW_FAULT("round-rename");
	if (status == LW_OK && renameat(pending.fd, NEW_ROUND, pending.fd, ROUND) != 0)
	{
		lw_pending_path(error, pending, ROUND);
		status = lw_fail_errno(error, errno, "rename");
	}
	if (status == LW_OK)
		status = lw_directory_sync(pending, error);
	if (status == LW_OK)
		status = LW_FAULT("round-durable");
	return status;
}

/* Whether a name is there. */
static LwStatus
find_name(LwDirectory pending, const char *name, bool *there, LwError *error)
{
	struct stat status;

	lw_pending_path(error, pending, name);
	*there = fstatat(pending.fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
	return *there || errno == ENOENT ? LW_OK : lw_fail_errno(error, errno, "stat");
}

/* The intents of a note, in order; their numbers and bulk directories are all that is set. */
static LwStatus
read_note(LwDirectory pending, LwIntents *noted, struct stat *file, LwError *error)
{
	LwMap	   *map;
	LwCursor	cursor = {0};
	LwStatus	status;
	uint64_t	count;
	uint64_t	sum;
	size_t		i;

	memset(noted, 0, sizeof(*noted));
	status = lw_map_open(pending.fd, pending.path, ROUND, &map, file, NULL, error);
	if (status != LW_OK)
		return status;
	lw_pending_path(error, pending, ROUND);
	cursor.data = (const uint8_t *) map->data;
	cursor.size = map->size;
	if (!lw_take_u64(&cursor, &count) || !lw_take_u64(&cursor, &sum) || lw_cursor_left(&cursor) / 16 != count ||
		lw_cursor_left(&cursor) % 16 != 0 || sum != lw_pending_checksum(map->data + sizeof(Note), map->size - sizeof(Note)))
		status = lw_fail(error, LW_MALFORMED, "PendingDamaged", -1, "a list of changes, by its checksum", "something else");
	else
	{
		noted->intents = calloc((size_t) count + 1, sizeof(LwIntent));
		if (noted->intents == NULL)
			status = lw_fail_errno(error, ENOMEM, "read");
	}
	for (i = 0; status == LW_OK && i < count; i++)
	{
		(void) lw_take_u64(&cursor, &noted->intents[i].number);
		(void) lw_take_u64(&cursor, &noted->intents[i].bulk);
		noted->count = i + 1;
	}
	lw_map_close(map);
	return status;
}

LwStatus
lw_round_published(LwDirectory pending, LwIntents *noted, LwError *error)
{
	struct stat before;
	struct stat after;
	bool		next = true;
	LwStatus	status = read_note(pending, noted, &before, error);

	if (status == LW_OK)
		status = find_name(pending, NEXT, &next, error);
	/* had it been undone meanwhile, the note would have gone first */
	if (status == LW_OK && !next && fstatat(pending.fd, ROUND, &after, AT_SYMLINK_NOFOLLOW) == 0 &&
		after.st_ino == before.st_ino && after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
		after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
		return LW_OK;
	lw_intents_free(noted);
	return status == LW_MISSING ? LW_OK : status;
}

LwStatus
lw_round_end(LwDirectory pending, LwError *error)
{
	LwIntents	noted;
	LwStatus	status = read_note(pending, &noted, NULL, error);
	size_t		i;

	for (i = 0; status == LW_OK && i < noted.count; i++)
		status = lw_intent_drop(pending, &noted.intents[i], error);
	lw_intents_free(&noted);
	if (status == LW_OK)
		status = LW_FAULT("intents-dropped");
	/* the note must not go before they do */
	if (status == LW_OK)
		status = lw_directory_sync(pending, error);
	if (status == LW_OK)
		status = LW_FAULT("round-drop");
	return status == LW_OK ? lw_file_unlink(pending, ROUND, error) : status;
}

/* The same of one that another process published: its manifest may not be durable. */
static LwStatus
finish_round(LwDirectory pending, LwError *error)
{
	LwDirectory store;
	LwStatus	status = lw_directory_open(pending, "..", &store, error);

	if (status != LW_OK)
		return status;
	store.path = pending.path;
	status = lw_directory_sync(store, error);
	close(store.fd);
	return status == LW_OK ? lw_round_end(pending, error) : status;
}

/* Removes what is noted of a manifest that was not published: first the note, durably. */
static LwStatus
undo_round(LwDirectory pending, bool noted, LwError *error)
{
	LwStatus	status = LW_OK;

	if (noted)
	{
		status = lw_file_unlink(pending, ROUND, error);
		if (status == LW_OK)
			status = lw_directory_sync(pending, error);
		if (status == LW_OK)
			status = LW_FAULT("round-undo");
	}
	return status == LW_OK ? lw_file_unlink(pending, NEXT, error) : status;
}

/* Removes a bulk directory, unless somebody writes it, and lets nobody begin to write it meanwhile. */
static LwStatus
remove_unheld(LwDirectory pending, const char *name, LwError *error)
{
	int			fd = openat(pending.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	bool		held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
	LwStatus	status = held ? LW_OK : lw_directory_remove(pending, name, error);

	if (fd >= 0)
		close(fd);
	return status;
}

/* The number in bulk-B-I, or 0. */
static uint64_t
bulk_number(const char *name)
{
	return strncmp(name, BULK, strlen(BULK)) == 0 ? strtoull(name + strlen(BULK), NULL, 16) : 0;
}

static void
bulk_name(char name[LW_NAME_SIZE], uint64_t bulk)
{
	snprintf(name, LW_NAME_SIZE, BULK "%016" PRIx64, bulk);
}

LwStatus
lw_bulk_remove(LwDirectory pending, uint64_t bulk, LwError *error)
{
	char		name[LW_NAME_SIZE];
	bool		there;
	LwStatus	status;

	bulk_name(name, bulk);
	status = find_name(pending, name, &there, error);
	return status == LW_OK && there ? lw_directory_remove(pending, name, error) : status;
}

typedef struct Sweep
{
	LwDirectory pending;
	const LwIntents *intents;	/* read */
	bool		bulks;			/* there are bulk directories */
} Sweep;

/* Removes a bulk directory that no intent names and nobody writes. */
static LwStatus
sweep_bulk(void *arg, const char *name, LwError *error)
{
	const Sweep *sweep = arg;
	uint64_t	bulk = bulk_number(name);
	size_t		i;

	if (bulk == 0)
		return LW_OK;
	for (i = 0; i < sweep->intents->count; i++)
		if (sweep->intents->intents[i].bulk == bulk)
			return LW_OK;
	return remove_unheld(sweep->pending, name, error);
}

/* Whether a name is a process's own, and that process is no more. */
static bool
is_orphan(const char *name, const char *prefix)
{
	char		again[LW_NAME_SIZE];
	long		process;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return false;
	process = strtol(name + strlen(prefix), NULL, 10);
	lw_pending_process_name(again, prefix, process);
	return process > 0 && strcmp(again, name) == 0 && kill((pid_t) process, 0) != 0 && errno == ESRCH;
}

/* Looks for bulk directories, and removes the files of processes that are no more. */
static LwStatus
sweep_files(void *arg, const char *name, LwError *error)
{
	Sweep	   *sweep = arg;

	sweep->bulks |= bulk_number(name) != 0;
	if (is_orphan(name, LW_PENDING_NEW) || is_orphan(name, LW_PENDING_SPARE))
		return lw_file_unlink(sweep->pending, name, error);
	return LW_OK;
}

/* Removes what transactions left that are no more. */
static LwStatus
sweep_pending(LwDirectory pending, LwError *error)
{
	Sweep		sweep = {pending, NULL, false};
	LwIntents	intents;
	LwStatus	status = lw_pending_each(pending, sweep_files, &sweep, error);
	size_t		i;

	if (status != LW_OK || !sweep.bulks)
		return status;
	status = lw_intents_list(pending, &intents, error);
	for (i = 0; status == LW_OK && i < intents.count; i++)
	{
		status = lw_intent_read(pending, &intents.intents[i], error);
		if (status == LW_MISSING)
			status = LW_OK;
	}
	sweep.intents = &intents;
	if (status == LW_OK)
		status = LW_FAULT("pending-sweep");
	if (status == LW_OK)
		status = lw_pending_each(pending, sweep_bulk, &sweep, error);
	lw_intents_free(&intents);
	/* an intent that cannot be read may name any of them: they stay */
	return status == LW_MALFORMED ? LW_OK : status;
}

LwStatus
lw_round_settle(LwDirectory pending, LwError *error)
{
	bool		noted;
	bool		next;
	LwStatus	status = find_name(pending, ROUND, &noted, error);

	if (status == LW_OK)
		status = find_name(pending, NEXT, &next, error);
	if (status != LW_OK)
		return status;
	if (noted && !next)
		status = finish_round(pending, error);
	else if (next)
		status = undo_round(pending, noted, error);
	return status == LW_OK ? sweep_pending(pending, error) : status;
}

/* Waits for a sweep that is removing the directory. */
static int
hold(int fd)
{
	int			result;

	while ((result = flock(fd, LOCK_SH)) != 0 && errno == EINTR)
		;
	return result;
}

LwStatus
lw_bulk_make(LwDirectory pending, uint64_t bulk, char name[LW_NAME_SIZE], LwDirectory *directory, LwError *error)
{
	int			attempt;

	bulk_name(name, bulk);
	for (attempt = 0; attempt < 8; attempt++)
	{
		struct stat status;
		struct stat mine;
		LwStatus	failure;

		lw_pending_path(error, pending, name);
		if (mkdirat(pending.fd, name, 0700) != 0 && errno != EEXIST)
			return lw_fail_errno(error, errno, "create");
		directory->fd = openat(pending.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		directory->path = pending.path;
		if (directory->fd < 0 && errno == ENOENT)
			continue;
		if (directory->fd < 0)
			return lw_fail_errno(error, errno, "open");
		if (hold(directory->fd) != 0 || fstat(directory->fd, &mine) != 0 ||
			fstat(pending.fd, &status) != 0 || fchmod(directory->fd, status.st_mode & 0777) != 0)
			failure = lw_fail_errno(error, errno, "hold");
		else
			failure = LW_FAULT("bulk-made");
		/* a sweep may have come between making and holding it */
		if (failure == LW_OK && fstatat(pending.fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
			status.st_ino == mine.st_ino)
			return LW_OK;
		close(directory->fd);
		if (failure != LW_OK)
			return failure;
	}
	return lw_fail_errno(error, EEXIST, "create");
}

LwStatus
lw_bulk_open(LwDirectory pending, LwString text, LwDirectory *directory, LwError *error)
{
	char		name[LW_NAME_SIZE];
	char		again[LW_NAME_SIZE];

	if (text.size > 0 && text.size < sizeof(name))
	{
		memcpy(name, text.data, text.size);
		name[text.size] = '\0';
		bulk_name(again, bulk_number(name));
	}
	if (text.size == 0 || text.size >= sizeof(name) || strcmp(name, again) != 0)
		return lw_fail(error, LW_MALFORMED, "PendingRecord", -1, "the name of a directory of pending changes", "another");
	lw_pending_path(error, pending, name);
	directory->fd = openat(pending.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	directory->path = pending.path;
	return directory->fd < 0 ? lw_fail_errno(error, errno, "open") : LW_OK;
}
