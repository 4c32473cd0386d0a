/*-------------------------------------------------------------------------
 *
 * create.c
 *	  Making an empty store, and removing one.
 *
 *-------------------------------------------------------------------------
 */
#include "store/create.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/fault.h"
#include "store/manifest_file.h"
#include "store/manifest_text.h"

void
lw_store_id(const uint8_t random[16], char text[LW_STORE_ID_SIZE + 1])
{
	int			i;

	for (i = 0; i < LW_STORE_ID_SIZE / 2; i++)
		sprintf(text + 2 * i, "%02x", random[i]);
}

/* Makes the directories above a path. */
static LwStatus
make_parents(const char *path, mode_t mode, LwError *error)
{
	char	   *name = strdup(path);
	char	   *slash;
	LwStatus	status = LW_OK;

	if (name == NULL)
		return lw_fail_errno(error, ENOMEM, "create");
	for (slash = name + strspn(name, "/"); status == LW_OK && (slash = strchr(slash, '/')) != NULL; slash++)
	{
		*slash = '\0';
		status = lw_directory_make(name, mode, false, error);
		*slash = '/';
	}
	free(name);
	return status;
}

/* Whether the format allows what a store is to be. */
static LwStatus
check_identity(const LwManifest *identity, LwError *error)
{
	if (identity->store_id.size == 0 || identity->corpus.size == 0 ||
		identity->encoder.size == 0 || identity->encoder_revision.size == 0)
		return lw_fail(error, LW_INVALID, "EmptyString", -1,
					   "a corpus, an encoder, an encoder revision and a store_id", "an empty string");
	if (identity->dimension == 0)
		return lw_fail(error, LW_INVALID, "Dimension", -1, "a positive dimension", "0");
	return LW_OK;
}

/* Writes and publishes the first manifest. */
static LwStatus
write_first(LwDirectory directory, const LwManifest *identity, LwError *error)
{
	LwManifest	manifest = *identity;
	LwBuffer	text;
	LwStatus	status;

	manifest.commit = 0;
	manifest.next_segment_id = 0;
	manifest.nsegments = 0;
	lw_buffer_init(&text, 0);
	lw_put_store_manifest(&text, &manifest);
	status = lw_buffer_status(&text, error);
	if (status == LW_OK)
		status = lw_manifest_install(directory, text.data, text.size, error);
	lw_buffer_free(&text);
	return status;
}

/* Fills the new directory. */
static LwStatus
fill(const char *path, const LwManifest *identity, LwError *error)
{
	LwDirectory here = {AT_FDCWD, NULL};
	LwDirectory directory;
	LwStatus	status = lw_directory_open(here, path, &directory, error);

	if (status != LW_OK)
		return status;
	directory.path = path;
	status = LW_FAULT("store-made");
	if (status == LW_OK)
		status = write_first(directory, identity, error);
	if (status == LW_OK)
		status = LW_FAULT("store-filled");
	if (status != LW_OK)
		(void) unlinkat(directory.fd, LW_MANIFEST_NAME, 0);
	close(directory.fd);
	return status;
}

LwStatus
lw_store_create(const char *path, mode_t mode, const LwManifest *identity, LwError *error)
{
	LwStatus	status;

	lw_error_path(error, NULL, path);
	status = check_identity(identity, error);
	if (status == LW_OK)
		status = make_parents(path, mode, error);
	if (status == LW_OK)
		status = lw_directory_make(path, mode, true, error);
	if (status != LW_OK)
		return status;
	status = fill(path, identity, error);
	if (status != LW_OK)
		(void) rmdir(path);
	return status;
}

/* Removes one name of a store; what is not a store's stays. */
static LwStatus
drop_entry(LwDirectory directory, const char *entry, LwError *error)
{
	LwName		name = lw_name_parse(entry);
	struct stat file;
	bool		is_directory;

	if (name.kind == LW_NAME_OTHER || fstatat(directory.fd, entry, &file, AT_SYMLINK_NOFOLLOW) != 0)
		return LW_OK;
	is_directory = S_ISDIR(file.st_mode);
	if (is_directory != (name.kind == LW_NAME_STAGING || name.kind == LW_NAME_PENDING))
		return LW_OK;
	/* a writer's own manifests begin so; other spare names may be anybody's */
	if (name.kind == LW_NAME_SPARE && strncmp(entry, LW_MANIFEST_NAME, strlen(LW_MANIFEST_NAME)) != 0)
		return LW_OK;
	return is_directory ? lw_directory_remove(directory, entry, error) : lw_file_unlink(directory, entry, error);
}

/* Removes all that is a store's in a directory. */
static LwStatus
empty(LwDirectory directory, LwError *error)
{
	DIR		   *entries = NULL;
	struct dirent *entry;
	LwStatus	status = lw_file_unlink(directory, LW_MANIFEST_NAME, error);

	if (status == LW_OK)
		status = lw_directory_sync(directory, error);
	if (status == LW_OK)
		entries = lw_directory_list(directory, &status, error);
	if (entries == NULL)
		return status;
	while (status == LW_OK && (entry = readdir(entries)) != NULL)
		status = drop_entry(directory, entry->d_name, error);
	closedir(entries);
	return status;
}

LwStatus
lw_store_drop(const char *path, bool *left, LwError *error)
{
	LwDirectory here = {AT_FDCWD, NULL};
	LwDirectory directory;
	LwStatus	status = lw_directory_open(here, path, &directory, error);

	*left = false;
	if (status != LW_OK)
		return status;
	directory.path = path;
	status = empty(directory, error);
	close(directory.fd);
	if (status != LW_OK)
		return status;
	lw_error_path(error, NULL, path);
	if (rmdir(path) == 0)
		return lw_parent_sync(path, error);
	if (errno != ENOTEMPTY && errno != EEXIST)
		return lw_fail_errno(error, errno, "remove");
	*left = true;
	return LW_OK;
}
