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

/* Drops the intents of the note, in order. */
static LwStatus
drop_noted(LwDirectory pending, const LwMap *map, LwError *error)
{
	LwCursor	cursor = {(const uint8_t *) map->data, map->size, 0};
	LwStatus	status = LW_OK;
	uint64_t	count;
	uint64_t	sum;

	if (!lw_take_u64(&cursor, &count) || !lw_take_u64(&cursor, &sum) || lw_cursor_left(&cursor) / 16 != count ||
		lw_cursor_left(&cursor) % 16 != 0 || sum != lw_pending_checksum(map->data + sizeof(Note), map->size - sizeof(Note)))
		return lw_fail(error, LW_MALFORMED, "PendingDamaged", -1, "a list of changes, by its checksum", "something else");
	while (status == LW_OK && count-- > 0)
	{
		LwIntent	intent = {0};

		(void) lw_take_u64(&cursor, &intent.number);
		(void) lw_take_u64(&cursor, &intent.bulk);
		status = lw_intent_drop(pending, &intent, error);
	}
	return status;
}

/* What a crash left of a round that was published: its intents, then the note. */
static LwStatus
finish_round(LwDirectory pending, LwError *error)
{
	LwMap	   *map;
	LwStatus	status = lw_map_open(pending.fd, pending.path, ROUND, &map, NULL, NULL, error);

	if (status != LW_OK)
		return status;
	lw_pending_path(error, pending, ROUND);
	status = drop_noted(pending, map, error);
	lw_map_close(map);
	if (status == LW_OK)
		status = LW_FAULT("intents-dropped");
	/* the note must not go before they do */
	if (status == LW_OK)
		status = lw_directory_sync(pending, error);
	if (status == LW_OK)
		status = LW_FAULT("round-drop");
	return status == LW_OK ? lw_file_unlink(pending, ROUND, error) : status;
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

/* Whether somebody writes the bulk directory. */
static bool
bulk_is_held(LwDirectory pending, const char *name)
{
	int			fd = openat(pending.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	bool		held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;

	if (fd >= 0)
		close(fd);
	return held;
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
	return bulk_is_held(sweep->pending, name) ? LW_OK : lw_directory_remove(sweep->pending, name, error);
}

static LwStatus
find_bulk(void *arg, const char *name, LwError *error)
{
	(void) error;
	*(bool *) arg |= bulk_number(name) != 0;
	return LW_OK;
}

/* Removes the bulk directories of transactions that are no more. */
static LwStatus
sweep_bulks(LwDirectory pending, LwError *error)
{
	Sweep		sweep = {pending, NULL};
	LwIntents	intents;
	bool		any = false;
	LwStatus	status = lw_pending_each(pending, find_bulk, &any, error);
	size_t		i;

	if (status != LW_OK || !any)
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
	return status == LW_OK ? sweep_bulks(pending, error) : status;
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
		if (flock(directory->fd, LOCK_SH | LOCK_NB) != 0 || fstat(directory->fd, &mine) != 0 ||
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
