/*-------------------------------------------------------------------------
 *
 * map.h
 *	  Files mapped read-only, and what happens when one is cut under us.
 *
 * Touching a page of a mapped file that somebody truncated raises SIGBUS.
 * The handler installed here puts pages of zeros in place of the missing
 * ones, remembers it in the map and in lw_map_faults, and returns; no jump
 * crosses the code that was reading.  So whoever reads a map must
 *	 - be memory-safe whatever the bytes are, also when they change, and
 *	 - look at the map's `faulted` before it uses a result, each time: the
 *	   zeros stay.  As long as lw_map_faults is 0 no map has faulted.
 * A SIGBUS anywhere else keeps the action that was set before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_MAP_H
#define LW_STORE_MAP_H

#include <signal.h>
#include <sys/stat.h>

#include "format/error.h"

typedef struct LwMap
{
	const char *data;			/* page-aligned; never NULL, also for an empty file */
	size_t		size;
	volatile sig_atomic_t faulted;	/* pages of it were missing when read */
	char	   *path;			/* for messages */
} LwMap;

/* Counts faults of all maps of this process; never goes back. */
extern volatile sig_atomic_t lw_map_faults;

/*
 * Opens and maps the regular file `name` of the directory open as `dirfd`
 * (links are followed).  `directory` is its path, for messages.  A FIFO, a
 * directory or a device is LW_MALFORMED, NotRegular.  With `keep_fd` the
 * descriptor stays open and is returned there, else it is closed; *status
 * gets what fstat said, when asked for.
 */
extern LwStatus lw_map_open(int dirfd, const char *directory, const char *name,
							LwMap **map, struct stat *status, int *keep_fd,
							LwError *error);
extern void lw_map_close(LwMap *map);

/*
 * Whether `when` is so little before `now` (or after it) that a later change
 * of a file could leave the same time: the clock of file systems ticks.
 */
extern bool lw_time_is_young(const struct timespec *when, const struct timespec *now);

/* LW_TRUNCATED with the map's path if it faulted, else LW_OK. */
extern LwStatus lw_map_check(const LwMap *map, LwError *error);

#endif							/* LW_STORE_MAP_H */
