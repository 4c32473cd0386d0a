/*-------------------------------------------------------------------------
 *
 * publish.c
 *	  Making a draft the current commit of its store.
 *
 *-------------------------------------------------------------------------
 */
#include "store/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/npy.h"
#include "store/fault.h"
#include "store/follow.h"
#include "store/manifest_file.h"
#include "store/manifest_text.h"

double
lw_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Removes the tombstone files and the manifest that were written. */
static void
unwrite(LwDraft *draft)
{
	char		name[LW_NAME_SIZE];
	size_t		i;

	for (i = 0; i < draft->nsegments; i++)
		if (draft->segments[i].tombstones_made)
		{
			lw_tombstones_name(name, draft->segments[i].entry.id, draft->manifest.commit);
			(void) unlinkat(draft->directory.fd, name, 0);
			draft->segments[i].tombstones_made = false;
		}
	if (draft->manifest_made)
		(void) unlinkat(draft->directory.fd, draft->next_name, 0);
	draft->manifest_made = false;
}

/* Sets what the next manifest says. */
static LwStatus
fill_manifest(LwDraft *draft, double committed_at, LwError *error)
{
	const LwManifest *base = &draft->view->manifest;
	LwManifest *manifest = &draft->manifest;
	size_t		i;

	lw_error_path(error, draft->directory.path, LW_MANIFEST_NAME);
	if (base->commit == UINT64_MAX)
		return lw_fail(error, LW_LIMIT, "CommitLimit", -1, "a commit of at most 2^64 - 1", "all of them used");
	free(manifest->segments);
	*manifest = *base;
	manifest->strings = NULL;
	manifest->commit = base->commit + 1;
	manifest->committed_at = committed_at;
	manifest->next_segment_id = draft->next_segment_id;
	manifest->nsegments = draft->nsegments;
	manifest->segments = calloc(draft->nsegments + 1, sizeof(LwManifestSegment));
	if (manifest->segments == NULL)
		return lw_fail_errno(error, ENOMEM, "write");
	for (i = 0; i < draft->nsegments; i++)
	{
		manifest->segments[i] = draft->segments[i].entry;
		if (draft->segments[i].deleted != NULL)
		{
			manifest->segments[i].has_tombstones = true;
			manifest->segments[i].tombstones = manifest->commit;
		}
	}
	return LW_OK;
}

/* Writes the file of all deleted rows of a segment. */
static LwStatus
write_tombstones(LwDraft *draft, LwDraftSegment *segment, mode_t mode, LwError *error)
{
	static const LwFileFaults faults = {"tombstones-create", "tombstones-written", "tombstones-synced"};
	char		header[LW_NPY_HEADER_SIZE];
	char		name[LW_NAME_SIZE];
	LwBuffer	file;
	LwStatus	status;
	uint64_t	row;

	lw_tombstones_name(name, segment->entry.id, draft->manifest.commit);
	lw_error_path(error, draft->directory.path, name);
	lw_buffer_init(&file, 0);
	lw_npy_header(LW_NPY_UINT64, 1, segment->ndeleted, 0, header);
	lw_put_bytes(&file, header, sizeof(header));
	for (row = 0; row < segment->entry.documents; row++)
		if (lw_bit(segment->deleted, row))
			lw_put_u64(&file, row);
	status = lw_buffer_status(&file, error);
	if (status == LW_OK)
		status = lw_file_make(draft->directory, name, mode, file.data, file.size, &faults, error);
	if (status == LW_OK)
		segment->tombstones_made = true;
	lw_buffer_free(&file);
	return status;
}

/*
 * Sets the manifest's time of modification from a clock that is finer than the one which file systems take
 * their times from: another manifest, even one of the same inode, does not get this time.
 */
static void
stamp(LwDraft *draft)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};

	clock_gettime(CLOCK_REALTIME, &times[1]);
	(void) utimensat(draft->directory.fd, draft->next_name, times, AT_SYMLINK_NOFOLLOW);
	draft->stamp = times[1];
}

static LwStatus
write_manifest(LwDraft *draft, mode_t mode, LwError *error)
{
	LwStatus	status;

	draft->text.size = 0;
	lw_put_store_manifest(&draft->text, &draft->manifest);
	lw_error_path(error, draft->directory.path, draft->next_name);
	status = lw_buffer_status(&draft->text, error);
	/* what a crash left under this name was never published */
	if (status == LW_OK)
		status = lw_file_unlink(draft->directory, draft->next_name, error);
	if (status == LW_OK)
		status = lw_file_make(draft->directory, draft->next_name, mode, draft->text.data, draft->text.size,
							  &lw_manifest_faults, error);
	draft->manifest_made = status == LW_OK;
	if (status == LW_OK)
		stamp(draft);
	return status;
}

LwStatus
lw_draft_write(LwDraft *draft, double committed_at, LwError *error)
{
	mode_t		mode;
	size_t		i;
	LwStatus	status;

	unwrite(draft);
	status = fill_manifest(draft, committed_at, error);
	if (status == LW_OK)
		status = lw_directory_file_mode(draft->directory, &mode, error);
	for (i = 0; status == LW_OK && i < draft->nsegments; i++)
		if (draft->segments[i].deleted != NULL)
			status = write_tombstones(draft, &draft->segments[i], mode, error);
	if (status == LW_OK)
		status = LW_FAULT("names-sync");
	if (status == LW_OK)
		status = lw_directory_sync(draft->directory, error);
	if (status == LW_OK)
		status = write_manifest(draft, mode, error);
	if (status != LW_OK)
		unwrite(draft);
	return status;
}

/* Whether the store's manifest is still the one the draft began with. */
static LwStatus
check_base(const LwDraft *draft, LwError *error)
{
	LwManifest	now;
	LwStatus	status = lw_manifest_read(draft->directory.fd, draft->directory.path, &now, NULL, NULL, error);

	if (status != LW_OK)
		return status;
	if (!lw_manifest_equal(&now, &draft->view->manifest))
		status = lw_fail(error, LW_OUTDATED, "ManifestMoved", -1, "the commit that was read before",
						 "commit %" PRIu64 " instead of %" PRIu64, now.commit, draft->view->manifest.commit);
	lw_manifest_free(&now);
	return status;
}

/* Tells what was published, unless the file system does not keep such times or there is another manifest already. */
static void
tell(const LwDraft *draft)
{
	struct stat directory;
	struct stat file;
	LwFileId	id;

	if (lw_manifest_sink == NULL || fstat(draft->directory.fd, &directory) != 0 ||
		fstatat(draft->directory.fd, LW_MANIFEST_NAME, &file, AT_SYMLINK_NOFOLLOW) != 0 ||
		file.st_mtim.tv_sec != draft->stamp.tv_sec || file.st_mtim.tv_nsec != draft->stamp.tv_nsec)
		return;
	id = lw_file_id(&file);
	lw_manifest_sink(directory.st_dev, directory.st_ino, &id, &draft->manifest);
}

/* Makes the rename durable. */
static LwStatus
settle(const LwDraft *draft, LwError *error)
{
	LwStatus	status;

	lw_error_path(error, draft->directory.path, LW_MANIFEST_NAME);
	status = LW_FAULT("manifest-renamed");
	if (status == LW_OK)
		status = lw_directory_sync(draft->directory, error);
	if (status == LW_OK)
		status = LW_FAULT("manifest-durable");
	if (status != LW_OK)
		error->name = "DurabilityUncertain";
	return status;
}

LwStatus
lw_draft_publish(LwDraft *draft, LwError *error)
{
	LwStatus	status;

	if (draft->published)
		return settle(draft, error);
	status = check_base(draft, error);
	if (status == LW_OK)
		status = LW_FAULT("manifest-rename");
	if (status != LW_OK)
		return status;
	if (renameat(draft->directory.fd, draft->next_name, draft->directory.fd, LW_MANIFEST_NAME) != 0)
	{
		lw_error_path(error, draft->directory.path, LW_MANIFEST_NAME);
		return lw_fail_errno(error, errno, "replace");
	}
	draft->published = true;
	tell(draft);
	return settle(draft, error);
}

LwStatus
lw_store_reclaim(LwDirectory directory, const LwManifest *manifest, uint64_t *bytes, LwError *error)
{
	LwError		ignored;
	struct dirent *entry;
	LwStatus	status;
	DIR		   *entries = lw_directory_list(directory, &status, error);

	if (bytes != NULL)
		*bytes = 0;
	if (entries == NULL)
		return status;
	while (status == LW_OK && (entry = readdir(entries)) != NULL)
	{
		LwName		name = lw_name_parse(entry->d_name);
		struct stat file;

		if (name.kind == LW_NAME_OTHER || name.kind == LW_NAME_PENDING || lw_manifest_names(manifest, &name) ||
			fstatat(directory.fd, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0 ||
			S_ISDIR(file.st_mode) != (name.kind == LW_NAME_STAGING))
			continue;
		lw_error_path(error, directory.path, entry->d_name);
		status = LW_FAULT("reclaim-one");
		if (status != LW_OK)
			break;
		if (name.kind == LW_NAME_STAGING)
			(void) lw_directory_remove(directory, entry->d_name, &ignored);
		else if (unlinkat(directory.fd, entry->d_name, 0) == 0 && bytes != NULL && file.st_nlink == 1)
			*bytes += (uint64_t) file.st_size;
	}
	closedir(entries);
	return status;
}
