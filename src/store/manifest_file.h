/*-------------------------------------------------------------------------
 *
 * manifest_file.h
 *	  Reading and writing the manifest of a store directory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_MANIFEST_FILE_H
#define LW_STORE_MANIFEST_FILE_H

#include <sys/stat.h>

#include "format/manifest.h"
#include "store/files.h"

/*
 * Reads and parses it.  Unless NULL, *status is that of the file and *keep_fd
 * its descriptor, which stays open on LW_OK.
 */
extern LwStatus lw_manifest_read(int dirfd, const char *path, LwManifest *manifest,
								 struct stat *status, int *keep_fd, LwError *error);

/* Whether the store has another manifest by now; also when none can be read, since reading it then says why. */
extern bool lw_manifest_moved(LwDirectory directory, const LwManifest *manifest);

/* Puts a text into a directory as its first manifest, durably; on failure none is there, or one that may not last. */
extern LwStatus lw_manifest_install(LwDirectory directory, const void *text, size_t size, LwError *error);

/* Fault points of every manifest that is written. */
extern const LwFileFaults lw_manifest_faults;

#endif							/* LW_STORE_MANIFEST_FILE_H */
