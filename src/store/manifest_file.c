/*-------------------------------------------------------------------------
 *
 * manifest_file.c
 *	  Reading and writing the manifest of a store directory.
 *
 *-------------------------------------------------------------------------
 */
#include "store/manifest_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "store/fault.h"
#include "store/map.h"
#include "store/names.h"

const LwFileFaults lw_manifest_faults = {"manifest-create", "manifest-written", "manifest-synced"};

LwStatus
lw_manifest_read(int dirfd, const char *path, LwManifest *manifest,
				 struct stat *status, int *keep_fd, LwError *error)
{
	LwMap	   *map;
	LwStatus	result = lw_map_open(dirfd, path, LW_MANIFEST_NAME, &map, status, keep_fd, error);

	if (result != LW_OK)
		return result;
	result = lw_manifest_parse(map->data, map->size, manifest, error);
	if (map->faulted)
	{
		if (result == LW_OK)
			lw_manifest_free(manifest);
		result = lw_map_check(map, error);
	}
	lw_map_close(map);
	if (result != LW_OK && keep_fd != NULL)
		close(*keep_fd);
	return result;
}

bool
lw_manifest_moved(LwDirectory directory, const LwManifest *manifest)
{
	LwManifest	now;
	LwError		ignored;
	bool		equal;

	if (lw_manifest_read(directory.fd, directory.path, &now, NULL, NULL, &ignored) != LW_OK)
		return true;
	equal = lw_manifest_equal(&now, manifest);
	lw_manifest_free(&now);
	return !equal;
}

LwStatus
lw_manifest_install(LwDirectory directory, const void *text, size_t size, LwError *error)
{
	mode_t		mode;
	LwStatus	status = lw_directory_file_mode(directory, &mode, error);

	if (status == LW_OK)
		status = lw_file_make(directory, LW_MANIFEST_NEXT, mode, text, size, &lw_manifest_faults, error);
	if (status != LW_OK)
		return status;
	status = LW_FAULT("manifest-rename");
	if (status == LW_OK && renameat(directory.fd, LW_MANIFEST_NEXT, directory.fd, LW_MANIFEST_NAME) != 0)
		status = lw_fail_errno(error, errno, "rename");
	if (status != LW_OK)
	{
		(void) unlinkat(directory.fd, LW_MANIFEST_NEXT, 0);
		return status;
	}
	status = LW_FAULT("manifest-renamed");
	return status == LW_OK ? lw_directory_sync(directory, error) : status;
}
