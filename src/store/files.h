/*-------------------------------------------------------------------------
 *
 * files.h
 *	  What writing a store asks of the operating system: plain calls that can
 *	  fail, never raise, and name the file at fault.
 *
 * All of it may run where a server may not raise an error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_FILES_H
#define LW_STORE_FILES_H

#include <dirent.h>
#include <sys/types.h>

#include "format/error.h"

/* A directory that is open; its path is for messages. */
typedef struct LwDirectory
{
	int			fd;
	const char *path;
} LwDirectory;

/* Whether files and directories are synced; a server that gives up durability clears it. */
extern bool lw_sync_enabled;

/* The mode of files that belong into a directory: its own, less the execute bits. */
extern LwStatus lw_directory_file_mode(LwDirectory directory, mode_t *mode, LwError *error);

/* Opens a directory; its path is the caller's to set. */
extern LwStatus lw_directory_open(LwDirectory parent, const char *name, LwDirectory *directory, LwError *error);

/* What lists the entries of a directory that is open, with its own position; closedir ends it.  NULL on failure. */
extern DIR *lw_directory_list(LwDirectory directory, LwStatus *status, LwError *error);

/* Makes a directory of exactly this mode, durably; that it exists is a failure only if it must be new. */
extern LwStatus lw_directory_make(const char *path, mode_t mode, bool new, LwError *error);

/* Syncs the directory in which a path lies. */
extern LwStatus lw_parent_sync(const char *path, LwError *error);

/* Makes a new file, which must not exist, of exactly this mode. */
extern LwStatus lw_file_create(LwDirectory directory, const char *name, mode_t mode, int *fd, LwError *error);
extern LwStatus lw_file_write(int fd, const void *data, size_t size, uint64_t offset, LwError *error);

/* Begins to write what is in memory only, so that several files are synced at once; never fails. */
extern void lw_file_begin_sync(int fd);
extern LwStatus lw_file_sync(int fd, LwError *error);

/* Only what is needed to read the data again; for a file that was there before, all that counts. */
extern LwStatus lw_file_sync_data(int fd, LwError *error);
extern LwStatus lw_directory_sync(LwDirectory directory, LwError *error);

/* Fault points (store/fault.h) before a file is created, when it is written, when it is synced. */
typedef struct LwFileFaults
{
	const char *create;
	const char *written;
	const char *synced;
} LwFileFaults;

/* The whole of it: a new file of these bytes, synced.  On failure it is gone. */
extern LwStatus lw_file_make(LwDirectory directory, const char *name, mode_t mode,
							 const void *data, size_t size, const LwFileFaults *faults, LwError *error);

/*
 * Gives a file another name, which must not exist, by a hard link; where links
 * are refused (another file system, or one without them) it is copied, synced,
 * and *copied set.
 */
extern LwStatus lw_file_link(LwDirectory from, const char *name, LwDirectory to, const char *new_name,
							 mode_t mode, bool *copied, LwError *error);

/* Removes a name; that it is not there is no failure. */
extern LwStatus lw_file_unlink(LwDirectory directory, const char *name, LwError *error);

/*
 * Removes a directory with all it holds, links not followed; LW_IO when something stays.  Two may
 * remove the same one at a time: that it is not there is no failure.
 */
extern LwStatus lw_directory_remove(LwDirectory parent, const char *name, LwError *error);

#endif							/* LW_STORE_FILES_H */
