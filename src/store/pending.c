/*-------------------------------------------------------------------------
 *
 * pending.c
 *	  The directory of changes that are on their way into a store: intents.
 *
 * An intent is written under a name of its writer's and then linked to the
 * first number that is free, so that whoever sees it sees all of it.
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
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/pg_crc32c.h"

#include "store/fault.h"
#include "store/pending_files.h"

#define MAGIC UINT64_C(0x31544e45544e4957)
#define MAX_NUMBERS 1000

typedef struct Head
{
	uint64_t	magic;
	uint32_t	checksum;		/* CRC-32C of the file from `system` on */
	uint32_t	heartbeat;
	uint64_t	system;
	uint64_t	transaction;
	uint64_t	lsn;
	uint64_t	bulk;
	uint32_t	timeline;
	uint32_t	store_id_size;
	uint64_t	changes_size;
} Head;

static size_t
padded(size_t size)
{
	return (size + 7) & ~(size_t) 7;
}

uint32_t
lw_pending_checksum(const void *data, size_t size)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, size);
	FIN_CRC32C(crc);
	return (uint32_t) crc;
}

LwStatus
lw_pending_open(LwDirectory store, bool make, LwDirectory *pending, bool *there, LwError *error)
{
	struct stat status;
	LwStatus	failure;

	*there = false;
	lw_error_path(error, store.path, LW_PENDING_NAME);
	if (make && mkdirat(store.fd, LW_PENDING_NAME, 0700) == 0)
	{
		if (fstat(store.fd, &status) != 0 || fchmodat(store.fd, LW_PENDING_NAME, status.st_mode & 0777, 0) != 0)
			return lw_fail_errno(error, errno, "change the mode of");
		/* what is durable in it must be found */
		failure = lw_directory_sync(store, error);
		if (failure != LW_OK)
			return failure;
	}
	else if (make && errno != EEXIST)
		return lw_fail_errno(error, errno, "create");
	pending->fd = openat(store.fd, LW_PENDING_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	pending->path = store.path;
	if (pending->fd < 0)
		return errno == ENOENT ? LW_OK : lw_fail_errno(error, errno, "open");
	*there = true;
	return LW_OK;
}

/* Sets the path of an error to that of a file in the pending directory. */
void
lw_pending_path(LwError *error, LwDirectory pending, const char *name)
{
	char		path[sizeof(LW_PENDING_NAME) + LW_NAME_SIZE];

	snprintf(path, sizeof(path), LW_PENDING_NAME "/%s", name);
	lw_error_path(error, pending.path, path);
}

/* What a process calls an intent that it is writing. */
void
lw_pending_new_name(char name[LW_NAME_SIZE], long process)
{
	snprintf(name, LW_NAME_SIZE, LW_PENDING_NEW "%ld", process);
}

static void
intent_name(char name[LW_NAME_SIZE], uint64_t number, bool committed)
{
	snprintf(name, LW_NAME_SIZE, "%s-%" PRIu64, committed ? "committed" : "intent", number);
}

/* Whether a name is that of an intent; sets what it says. */
static bool
parse_intent_name(const char *name, LwIntent *intent)
{
	char		again[LW_NAME_SIZE];
	const char *dash = strrchr(name, '-');

	if (dash == NULL)
		return false;
	memset(intent, 0, sizeof(*intent));
	intent->number = strtoull(dash + 1, NULL, 10);
	intent->committed = name[0] == 'c';
	intent_name(again, intent->number, intent->committed);
	return strcmp(again, name) == 0;
}

static int
by_number(const void *a, const void *b)
{
	uint64_t	x = ((const LwIntent *) a)->number;
	uint64_t	y = ((const LwIntent *) b)->number;

	return (x > y) - (x < y);
}

LwStatus
lw_pending_each(LwDirectory pending, LwStatus (*visit) (void *arg, const char *name, LwError *error),
				void *arg, LwError *error)
{
	LwDirectory again;
	DIR		   *entries;
	struct dirent *entry;
	LwStatus	status = lw_directory_open(pending, ".", &again, error);

	if (status != LW_OK)
		return status;
	entries = fdopendir(again.fd);
	if (entries == NULL)
	{
		status = lw_fail_errno(error, errno, "list");
		close(again.fd);
		return status;
	}
	errno = 0;
	while (status == LW_OK && (entry = readdir(entries)) != NULL)
	{
		if (entry->d_name[0] != '.')
			status = visit(arg, entry->d_name, error);
		errno = 0;
	}
	if (status == LW_OK && errno != 0)
	{
		lw_pending_path(error, pending, "");
		status = lw_fail_errno(error, errno, "list");
	}
	closedir(entries);
	return status;
}

static LwStatus
collect_intent(void *arg, const char *name, LwError *error)
{
	LwIntents  *list = arg;
	LwIntent	intent;

	if (!parse_intent_name(name, &intent))
		return LW_OK;
	if (list->count == list->room)
	{
		size_t		room = list->room == 0 ? 16 : list->room * 2;
		LwIntent   *more = realloc(list->intents, room * sizeof(LwIntent));

		if (more == NULL)
			return lw_fail_errno(error, ENOMEM, "list");
		list->intents = more;
		list->room = room;
	}
	list->intents[list->count++] = intent;
	return LW_OK;
}

LwStatus
lw_intents_list(LwDirectory pending, LwIntents *list, LwError *error)
{
	LwStatus	status;
	size_t		i;
	size_t		n = 0;

	memset(list, 0, sizeof(*list));
	status = lw_pending_each(pending, collect_intent, list, error);
	if (status != LW_OK)
	{
		lw_intents_free(list);
		return status;
	}
	if (list->count == 0)
		return LW_OK;
	qsort(list->intents, list->count, sizeof(LwIntent), by_number);
	/* one that is known to have committed has both names */
	for (i = 0; i < list->count; i++)
		if (n > 0 && list->intents[n - 1].number == list->intents[i].number)
			list->intents[n - 1].committed |= list->intents[i].committed;
		else
			list->intents[n++] = list->intents[i];
	list->count = n;
	return LW_OK;
}

void
lw_intents_free(LwIntents *list)
{
	size_t		i;

	for (i = 0; i < list->count; i++)
		free(list->intents[i].memory);
	free(list->intents);
	memset(list, 0, sizeof(*list));
}

/* The bytes of an intent's file; LW_NO_MEMORY at worst. */
static LwStatus
intent_bytes(const LwIntent *intent, LwBuffer *file, LwError *error)
{
	Head		head = {0};
	static const uint8_t zero[8];

	head.magic = MAGIC;
	head.heartbeat = intent->heartbeat;
	head.system = intent->system;
	head.transaction = intent->transaction;
	head.lsn = intent->lsn;
	head.bulk = intent->bulk;
	head.timeline = intent->timeline;
	head.store_id_size = (uint32_t) intent->store_id.size;
	head.changes_size = intent->changes.size;
	lw_buffer_init(file, 0);
	lw_put_bytes(file, &head, sizeof(head));
	lw_put_bytes(file, intent->store_id.data, intent->store_id.size);
	lw_put_bytes(file, zero, padded(intent->store_id.size) - intent->store_id.size);
	if (intent->changes.size > 0)
		lw_put_bytes(file, intent->changes.data, intent->changes.size);
	if (!file->failed)
		((Head *) (void *) file->data)->checksum =
			lw_pending_checksum(file->data + offsetof(Head, heartbeat), file->size - offsetof(Head, heartbeat));
	return lw_buffer_status(file, error);
}

/* Links a file to the first number that is free. */
static LwStatus
link_intent(LwDirectory pending, const char *from, LwIntent *intent, uint64_t after, LwError *error)
{
	int			attempt;

	for (attempt = 0; attempt < MAX_NUMBERS; attempt++)
	{
		LwIntents	list;
		char		name[LW_NAME_SIZE];
		LwStatus	status = lw_intents_list(pending, &list, error);

		if (status != LW_OK)
			return status;
		intent->number = after;
		if (list.count > 0 && list.intents[list.count - 1].number > after)
			intent->number = list.intents[list.count - 1].number;
		lw_intents_free(&list);
		if (intent->number == UINT64_MAX)
			return lw_fail(error, LW_LIMIT, "PendingNumber", -1, "a number below 2^64 - 1", "none left");
		intent->number++;
		intent_name(name, intent->number, false);
		lw_pending_path(error, pending, name);
		if (linkat(pending.fd, from, pending.fd, name, 0) == 0)
			return LW_OK;
		if (errno != EEXIST)
			return lw_fail_errno(error, errno, "create");
	}
	return lw_fail_errno(error, EEXIST, "create");
}

LwStatus
lw_intent_write(LwDirectory pending, LwIntent *intent, uint64_t after, LwError *error)
{
	static const LwFileFaults faults = {"intent-create", "intent-written", "intent-synced"};
	char		name[LW_NAME_SIZE];
	char		linked[LW_NAME_SIZE];
	LwBuffer	file;
	mode_t		mode;
	LwStatus	status;

	lw_pending_new_name(name, (long) getpid());
	lw_pending_path(error, pending, name);
	status = intent_bytes(intent, &file, error);
	if (status == LW_OK)
		status = lw_directory_file_mode(pending, &mode, error);
	/* of a process of this number that died */
	if (status == LW_OK)
		status = lw_file_unlink(pending, name, error);
	if (status == LW_OK)
		status = lw_file_make(pending, name, mode, file.data, file.size, &faults, error);
	lw_buffer_free(&file);
	if (status != LW_OK)
		return status;
	status = LW_FAULT("intent-link");
	if (status == LW_OK)
		status = link_intent(pending, name, intent, after, error);
	(void) unlinkat(pending.fd, name, 0);
	if (status != LW_OK)
		return status;
	status = LW_FAULT("intent-linked");
	if (status == LW_OK)
		status = lw_directory_sync(pending, error);
	if (status == LW_OK)
		status = LW_FAULT("intent-durable");
	if (status != LW_OK)
	{
		intent_name(linked, intent->number, false);
		(void) unlinkat(pending.fd, linked, 0);
	}
	return status;
}

/* Reads a whole file into malloc'ed memory. */
static LwStatus
read_file(int fd, void **memory, size_t *size, LwError *error)
{
	struct stat file;
	size_t		done = 0;

	if (fstat(fd, &file) != 0)
		return lw_fail_errno(error, errno, "stat");
	*size = (size_t) file.st_size;
	*memory = malloc(*size + 1);
	if (*memory == NULL)
		return lw_fail_errno(error, ENOMEM, "read");
	while (done < *size)
	{
		ssize_t		got = pread(fd, (char *) *memory + done, *size - done, (off_t) done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return lw_fail_errno(error, errno, "read");
		if (got == 0)
			break;
		done += (size_t) got;
	}
	*size = done;
	return LW_OK;
}

/* Sets an intent from the bytes of its file. */
static LwStatus
parse_intent(LwIntent *intent, size_t size, LwError *error)
{
	const char *data = intent->memory;
	Head		head;

	if (size >= sizeof(head))
		memcpy(&head, data, sizeof(head));
	if (size < sizeof(head) || head.magic != MAGIC ||
		head.checksum != lw_pending_checksum(data + offsetof(Head, heartbeat), size - offsetof(Head, heartbeat)) ||
		padded(head.store_id_size) > size - sizeof(head) ||
		head.changes_size != size - sizeof(head) - padded(head.store_id_size))
		return lw_fail(error, LW_MALFORMED, "PendingDamaged", -1, "changes as they were written, by their checksum", "others");
	intent->system = head.system;
	intent->transaction = head.transaction;
	intent->lsn = head.lsn;
	intent->timeline = head.timeline;
	intent->heartbeat = head.heartbeat != 0;
	intent->bulk = head.bulk;
	intent->store_id.data = data + sizeof(head);
	intent->store_id.size = head.store_id_size;
	intent->changes.data = (const uint8_t *) data + sizeof(head) + padded(head.store_id_size);
	intent->changes.size = head.changes_size;
	return LW_OK;
}

LwStatus
lw_intent_read(LwDirectory pending, LwIntent *intent, LwError *error)
{
	char		name[LW_NAME_SIZE];
	size_t		size = 0;
	LwStatus	status;
	int			fd;

	intent_name(name, intent->number, intent->committed);
	lw_pending_path(error, pending, name);
	fd = openat(pending.fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT && !intent->committed)
	{
		/* perhaps it is being dropped, the other name last */
		intent_name(name, intent->number, true);
		fd = openat(pending.fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		intent->committed = fd >= 0;
	}
	if (fd < 0)
		return lw_fail_errno(error, errno, "open");
	free(intent->memory);
	intent->memory = NULL;
	status = read_file(fd, &intent->memory, &size, error);
	close(fd);
	if (status == LW_OK)
		status = parse_intent(intent, size, error);
	if (status != LW_OK)
	{
		free(intent->memory);
		intent->memory = NULL;
	}
	return status;
}

bool
lw_intent_exists(LwDirectory pending, const LwIntent *intent)
{
	char		name[LW_NAME_SIZE];
	struct stat status;
	bool		found;

	intent_name(name, intent->number, false);
	found = fstatat(pending.fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
	intent_name(name, intent->number, true);
	return found || fstatat(pending.fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

LwStatus
lw_intent_mark(LwDirectory pending, LwIntent *intent, LwError *error)
{
	char		from[LW_NAME_SIZE];
	char		to[LW_NAME_SIZE];
	LwStatus	status;

	if (intent->committed)
		return LW_OK;
	intent_name(from, intent->number, false);
	intent_name(to, intent->number, true);
	lw_pending_path(error, pending, to);
	status = LW_FAULT("intent-mark");
	/* a name more, not another: who lists the directory meanwhile could miss both */
	if (status == LW_OK && linkat(pending.fd, from, pending.fd, to, 0) != 0 && errno != EEXIST)
		status = lw_fail_errno(error, errno, "create");
	if (status == LW_OK)
		intent->committed = true;
	return status;
}

LwStatus
lw_intent_drop(LwDirectory pending, const LwIntent *intent, LwError *error)
{
	char		name[LW_NAME_SIZE];
	LwStatus	status;

	intent_name(name, intent->number, false);
	lw_pending_path(error, pending, name);
	status = LW_FAULT("intent-drop");
	if (status == LW_OK)
		status = lw_file_unlink(pending, name, error);
	if (status != LW_OK)
		return status;
	intent_name(name, intent->number, true);
	status = lw_file_unlink(pending, name, error);
	if (status == LW_OK && intent->bulk != 0)
		status = lw_bulk_remove(pending, intent->bulk, error);
	return status;
}
