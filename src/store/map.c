/*-------------------------------------------------------------------------
 *
 * map.c
 *	  Files mapped read-only, guarded against truncation by others.
 *
 * The table of maps is read by the signal handler without a lock: SIGBUS is
 * raised by the thread that touches a map, and none of the code that changes
 * the table touches one.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "map.h"

#define SETTLE_NS INT64_C(20000000)

volatile sig_atomic_t lw_map_faults;

static LwMap **maps;
static size_t nmaps;
static size_t maps_room;
static size_t page_size;
static bool handler_set;
static struct sigaction previous_action;

static size_t
whole_pages(size_t size)
{
	return (size + page_size - 1) / page_size * page_size;
}

/* Puts zeros where a mapped file has lost its pages; see map.h. */
static void
handle_sigbus(int signo, siginfo_t *info, void *context)
{
	int			save_errno = errno;
	const char *address = info->si_addr;
	size_t		i;

	(void) context;
	if (info->si_code == BUS_ADRERR)
	{
		for (i = 0; i < nmaps; i++)
		{
			LwMap	   *map = maps[i];
			size_t		mapped = whole_pages(map->size);
			size_t		from;

			if (address < map->data || address >= map->data + mapped)
				continue;
			from = (size_t) (address - map->data) / page_size * page_size;
			if (mmap((void *) (map->data + from), mapped - from, PROT_READ,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
				break;
			map->faulted = 1;
			lw_map_faults++;
			errno = save_errno;
			return;
		}
	}

	/*
	 * Not ours: the access is repeated under the action that was set before;
	 * a signal that somebody sent is sent again.
	 */
	sigaction(signo, &previous_action, NULL);
	handler_set = false;
	if (info->si_code <= 0)
		raise(signo);
	errno = save_errno;
}

static bool
set_handler(void)
{
	struct sigaction action;

	if (handler_set)
		return true;
	page_size = (size_t) sysconf(_SC_PAGESIZE);
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handle_sigbus;
	action.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigemptyset(&action.sa_mask);
	handler_set = sigaction(SIGBUS, &action, &previous_action) == 0;
	return handler_set;
}

/* Makes room for one more map in the table. */
static bool
reserve_entry(void)
{
	LwMap	  **larger;
	size_t		room = maps_room == 0 ? 64 : maps_room * 2;

	if (nmaps < maps_room)
		return true;
	larger = realloc(maps, room * sizeof(LwMap *));
	if (larger == NULL)
		return false;
	maps = larger;
	maps_room = room;
	return true;
}

static LwStatus
map_descriptor(int fd, LwMap *map, struct stat *status, LwError *error)
{
	void	   *data;

	if (fstat(fd, status) != 0)
		return lw_fail_errno(error, errno, "stat");
	if (!S_ISREG(status->st_mode))
		return lw_fail(error, LW_MALFORMED, "NotRegular", -1, "a regular file", "%s",
					   S_ISDIR(status->st_mode) ? "a directory" :
					   S_ISFIFO(status->st_mode) ? "a FIFO" : "a special file");
	map->size = (size_t) status->st_size;
	map->data = "";
	if (map->size == 0)
		return LW_OK;
	data = mmap(NULL, map->size, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return lw_fail_errno(error, errno, "map");
	map->data = data;
	maps[nmaps++] = map;
	return LW_OK;
}

LwStatus
lw_map_open(int dirfd, const char *directory, const char *name,
			LwMap **result, struct stat *status, int *keep_fd, LwError *error)
{
	LwMap	   *map;
	struct stat own_status;
	LwStatus	failure;
	int			fd;

	lw_error_path(error, directory, name);
	map = calloc(1, sizeof(LwMap));
	if (map == NULL)
		return lw_fail_errno(error, ENOMEM, "map");
	map->path = strdup(error->path);
	if (map->path == NULL || !set_handler() || !reserve_entry())
	{
		free(map->path);
		free(map);
		return lw_fail_errno(error, ENOMEM, "map");
	}

	/* Without O_NONBLOCK a FIFO would wait for a writer. */
	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		failure = lw_fail_errno(error, errno, "open");
	else
		failure = map_descriptor(fd, map, status ? status : &own_status, error);
	if (failure != LW_OK)
	{
		if (fd >= 0)
			close(fd);
		free(map->path);
		free(map);
		return failure;
	}
	if (keep_fd != NULL)
		*keep_fd = fd;
	else
		close(fd);
	*result = map;
	return LW_OK;
}

void
lw_map_close(LwMap *map)
{
	size_t		i;

	if (map == NULL)
		return;
	for (i = nmaps; i-- > 0;)
	{
		if (maps[i] != map)
			continue;
		maps[i] = maps[--nmaps];
		munmap((void *) map->data, map->size);
		break;
	}
	free(map->path);
	free(map);
}

bool
lw_time_is_young(const struct timespec *when, const struct timespec *now)
{
	int64_t		seconds = (int64_t) now->tv_sec - (int64_t) when->tv_sec;

	if (seconds > 1)
		return false;
	if (seconds < -1)
		return true;
	return seconds * INT64_C(1000000000) + now->tv_nsec - when->tv_nsec < SETTLE_NS;
}

LwStatus
lw_map_check(const LwMap *map, LwError *error)
{
	if (map == NULL || !map->faulted)
		return LW_OK;
	lw_error_path(error, NULL, map->path);
	return lw_fail(error, LW_TRUNCATED, "Truncated", -1, "a file that keeps its bytes once it is published",
				   "a file that was cut while it was mapped");
}
