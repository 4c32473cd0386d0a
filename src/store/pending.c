/*-------------------------------------------------------------------------
 *
 * pending.c
 *	  The directory of changes that are on their way into a store: intents.
 *
 * An intent is written under a name of its writer's and then linked to its
 * number, so that whoever sees it sees all of it.
 *
 * To make and to remove a file costs a file system more than all else here, so a
 * process keeps that of its last intent under a name of its own, and writes over it
 * once the round that published it has taken the other name away: until that is
 * durable there is the round's note, and nobody looks into what it names.  Of an intent
 * that was given up there is no note; then the file is not used again.
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

/* Bytes of a file that is worth keeping. */
#define MAX_SPARE ((size_t) 64 * 1024)

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

/* The file that this process keeps for its next intent, and the directory where; 0: none. */
static struct
{
	dev_t		device;
	ino_t		directory;
	ino_t		file;
}			spare;

static const LwFileFaults intent_faults = {"intent-create", "intent-written", "intent-synced"};

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

/* Makes the directory, durably and with the store's mode; somebody else may have done so. */
static LwStatus
make_pending(LwDirectory store, LwError *error)
{
	struct stat status;

	if (mkdirat(store.fd, LW_PENDING_NAME, 0700) != 0)
		return errno == EEXIST ? LW_OK : lw_fail_errno(error, errno, "create");
	if (fstat(store.fd, &status) != 0 || fchmodat(store.fd, LW_PENDING_NAME, status.st_mode & 0777, 0) != 0)
		return lw_fail_errno(error, errno, "change the mode of");
	/* what is durable in it must be found */
	return lw_directory_sync(store, error);
}

LwStatus
lw_pending_open(LwDirectory store, bool make, LwDirectory *pending, bool *there, LwError *error)
{
	const int	flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;

	*there = false;
	lw_error_path(error, store.path, LW_PENDING_NAME);
	pending->path = store.path;
	pending->fd = openat(store.fd, LW_PENDING_NAME, flags);
	/* to ask for it each time would have all wait for each other */
	if (pending->fd < 0 && errno == ENOENT && make)
	{
		LwStatus	status = make_pending(store, error);

		if (status != LW_OK)
			return status;
		pending->fd = openat(store.fd, LW_PENDING_NAME, flags);
	}
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

/* The name of a file of one process. */
void
lw_pending_process_name(char name[LW_NAME_SIZE], const char *prefix, long process)
{
	snprintf(name, LW_NAME_SIZE, "%s%ld", prefix, process);
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
	struct dirent *entry;
	LwStatus	status;
	DIR		   *entries = lw_directory_list(pending, &status, error);

	if (entries == NULL)
		return status;
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

/* Links a file to its number, or to the first after that which is free. */
static LwStatus
link_intent(LwDirectory pending, const char *from, LwIntent *intent, uint64_t number, LwError *error)
{
	int			attempt;

	for (attempt = 0; attempt < MAX_NUMBERS && number < UINT64_MAX; attempt++, number++)
	{
		char		name[LW_NAME_SIZE];

		intent->number = number;
		intent_name(name, number, false);
		lw_pending_path(error, pending, name);
		if (linkat(pending.fd, from, pending.fd, name, 0) == 0)
			return LW_OK;
		if (errno != EEXIST)
			return lw_fail_errno(error, errno, "create");
	}
	return lw_fail(error, LW_LIMIT, "PendingNumber", -1, "a number that is free", "none from %" PRIu64 " on", number);
}

/* Opens the spare file, if there is one that no intent has and that is of use; -1 when there is none. */
static int
open_spare(LwDirectory pending, const char *name, size_t size)
{
	struct stat status;
	int			fd;

	if (spare.file == 0 || size > MAX_SPARE || fstat(pending.fd, &status) != 0 ||
		status.st_dev != spare.device || status.st_ino != spare.directory)
		return -1;
	fd = openat(pending.fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && fstat(fd, &status) == 0 && status.st_ino == spare.file && status.st_nlink == 1)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Writes over the spare file and closes it; what it had beyond that stays. */
static LwStatus
write_over(int fd, const LwBuffer *file, LwError *error)
{
	LwStatus	status = LW_FAULT(intent_faults.create);

	if (status == LW_OK)
		status = lw_file_write(fd, file->data, file->size, 0, error);
	if (status == LW_OK)
		status = LW_FAULT(intent_faults.written);
	if (status == LW_OK)
		status = lw_file_sync_data(fd, error);
	if (status == LW_OK)
		status = LW_FAULT(intent_faults.synced);
	if (close(fd) != 0 && status == LW_OK)
		status = lw_fail_errno(error, errno, "close");
	return status;
}

/* Makes a file under the name of one that is new, or what is left of a process of this number that died. */
static LwStatus
make_new(LwDirectory pending, const char *name, const LwBuffer *file, LwError *error)
{
	mode_t		mode;
	LwStatus	status = lw_directory_file_mode(pending, &mode, error);

	if (status == LW_OK)
		status = lw_file_unlink(pending, name, error);
	if (status == LW_OK)
		status = lw_file_make(pending, name, mode, file->data, file->size, &intent_faults, error);
	return status;
}

/* Keeps the new file under the name of the spare one; removes it when that cannot be. */
static void
keep_spare(LwDirectory pending, const char *name, const char *spare_name, size_t size)
{
	struct stat directory;
	struct stat file;

	spare.file = 0;
	if (size <= MAX_SPARE && fstat(pending.fd, &directory) == 0 &&
		fstatat(pending.fd, name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
		renameat(pending.fd, name, pending.fd, spare_name) == 0)
	{
		spare.device = directory.st_dev;
		spare.directory = directory.st_ino;
		spare.file = file.st_ino;
	}
	else
		(void) unlinkat(pending.fd, name, 0);
}

/* No intent is written over the spare file any more. */
static void
give_up_spare(LwDirectory pending)
{
	char		name[LW_NAME_SIZE];

	spare.file = 0;
	lw_pending_process_name(name, LW_PENDING_SPARE, (long) getpid());
	(void) unlinkat(pending.fd, name, 0);
}

/* Writes the bytes of an intent to a file of this process, and links it. */
static LwStatus
write_and_link(LwDirectory pending, const LwBuffer *file, LwIntent *intent, uint64_t number, LwError *error)
{
	char		name[LW_NAME_SIZE];
	char		spare_name[LW_NAME_SIZE];
	LwStatus	status;
	int			fd;

	lw_pending_process_name(name, LW_PENDING_NEW, (long) getpid());
	lw_pending_process_name(spare_name, LW_PENDING_SPARE, (long) getpid());
	fd = open_spare(pending, spare_name, file->size);
	lw_pending_path(error, pending, fd >= 0 ? spare_name : name);
	status = fd >= 0 ? write_over(fd, file, error) : make_new(pending, name, file, error);
	if (status != LW_OK)
		return status;
	status = LW_FAULT("intent-link");
	if (status == LW_OK)
		status = link_intent(pending, fd >= 0 ? spare_name : name, intent, number, error);
	if (fd < 0)
		keep_spare(pending, name, spare_name, file->size);
	return status;
}

LwStatus
lw_intent_write(LwDirectory pending, LwIntent *intent, uint64_t number, LwError *error)
{
	char		name[LW_NAME_SIZE];
	LwBuffer	file;
	LwStatus	status;

	lw_pending_path(error, pending, "");
	status = intent_bytes(intent, &file, error);
	if (status == LW_OK)
		status = write_and_link(pending, &file, intent, number, error);
	lw_buffer_free(&file);
	if (status != LW_OK)
	{
		give_up_spare(pending);
		return status;
	}
	status = LW_FAULT("intent-linked");
	if (status == LW_OK)
		status = lw_directory_sync(pending, error);
	if (status == LW_OK)
		status = LW_FAULT("intent-durable");
	if (status != LW_OK)
	{
		intent_name(name, intent->number, false);
		(void) unlinkat(pending.fd, name, 0);
		give_up_spare(pending);
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

static LwStatus
damaged(LwError *error)
{
	return lw_fail(error, LW_MALFORMED, "PendingDamaged", -1, "changes as they were written, by their checksum", "others");
}

/* Sets an intent from the bytes of its file. */
static LwStatus
parse_intent(LwIntent *intent, size_t size, LwError *error)
{
	const char *data = intent->memory;
	Head		head;

	if (size >= sizeof(head))
		memcpy(&head, data, sizeof(head));
	if (size < sizeof(head) || head.magic != MAGIC || padded(head.store_id_size) > size - sizeof(head) ||
		head.changes_size > size - sizeof(head) - padded(head.store_id_size))
		return damaged(error);
	/* what follows is of an earlier intent that had more */
	size = sizeof(head) + padded(head.store_id_size) + head.changes_size;
	if (head.checksum != lw_pending_checksum(data + offsetof(Head, heartbeat), size - offsetof(Head, heartbeat)))
		return damaged(error);
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
	struct stat file;
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
	/* as long as it has its name nobody writes over it */
	if ((status == LW_OK || status == LW_MALFORMED) && fstatat(pending.fd, name, &file, AT_SYMLINK_NOFOLLOW) != 0)
		status = lw_fail_errno(error, errno, "open");
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

LwStatus
lw_intent_abandon(LwDirectory pending, const LwIntent *intent, LwError *error)
{
	give_up_spare(pending);
	return lw_intent_drop(pending, intent, error);
}
