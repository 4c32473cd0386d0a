/*-------------------------------------------------------------------------
 *
 * follow.c
 *	  Following the writer of a vector store.
 *
 * The manifest is replaced by rename, so a new commit is a new inode.  The
 * descriptor of the manifest in use stays open: while it is, its inode
 * number cannot be given to another file.  A manifest changed in place within one tick
 * of the file system's clock would look unchanged, so one that was young
 * (lw_time_is_young) when it was read is read again.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "follow.h"
#include "store/manifest_file.h"

#define MAX_ATTEMPTS 100

LwManifestSource lw_manifest_source = NULL;
LwManifestSink lw_manifest_sink = NULL;

static uint64_t last_serial;

void
lw_store_init(LwStore *store, dev_t device, ino_t inode)
{
	memset(store, 0, sizeof(*store));
	store->device = device;
	store->inode = inode;
	store->serial = ++last_serial;
	store->manifest_fd = -1;
}

LwStatus
lw_store_identify(const char *path, dev_t *device, ino_t *inode, LwError *error)
{
	struct stat status;

	lw_error_path(error, NULL, path);
	if (stat(path, &status) != 0)
		return lw_fail_errno(error, errno, "open");
	if (!S_ISDIR(status.st_mode))
		return lw_fail(error, LW_MALFORMED, "NotDirectory", -1, "a directory", "a file");
	*device = status.st_dev;
	*inode = status.st_ino;
	return LW_OK;
}

LwFileId
lw_file_id(const struct stat *status)
{
	LwFileId	id;

	id.device = status->st_dev;
	id.inode = status->st_ino;
	id.size = status->st_size;
	id.modified = status->st_mtim;
	id.changed = status->st_ctim;
	return id;
}

bool
lw_same_file(const LwFileId *a, const LwFileId *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
		a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec &&
		a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* A manifest as read from its file. */
typedef struct Reading
{
	LwManifest	manifest;
	LwFileId	file;
	int			fd;
	bool		young;
	bool		parsed;			/* here */
} Reading;

static LwStatus
read_manifest(const LwStore *store, int dirfd, const char *path, Reading *reading, LwError *error)
{
	struct timespec now;
	struct stat file;
	LwMap	   *map;
	LwStatus	status;

	clock_gettime(CLOCK_REALTIME, &now);
	status = lw_map_open(dirfd, path, LW_MANIFEST_NAME, &map, &file, &reading->fd, error);
	if (status != LW_OK)
		return status;
	reading->file = lw_file_id(&file);
	reading->young = lw_time_is_young(&file.st_mtim, &now) || lw_time_is_young(&file.st_ctim, &now);
	reading->parsed = lw_manifest_source == NULL || !lw_manifest_source(store, &reading->file, &reading->manifest);
	if (reading->parsed)
		status = lw_manifest_parse(map->data, map->size, &reading->manifest, error);
	if (map->faulted)
	{
		if (status == LW_OK)
			lw_manifest_free(&reading->manifest);
		status = lw_map_check(map, error);
	}
	lw_map_close(map);
	if (status != LW_OK)
		close(reading->fd);
	return status;
}

/* Makes the file of `reading` the one that later calls compare with; takes its descriptor over. */
static void
adopt_file(LwStore *store, const Reading *reading)
{
	if (store->manifest_fd >= 0)
		close(store->manifest_fd);
	store->manifest_fd = reading->fd;
	store->manifest_file = reading->file;
	store->unsettled = reading->young;
	store->was_read = reading->parsed;
}

static LwStatus
check_same_kind(const LwView *before, const LwView *now, const char *path, LwError *error)
{
	const char *what = NULL;

	if (!lw_string_equal(before->manifest.corpus, now->manifest.corpus))
		what = "another corpus";
	else if (before->manifest.encoding != now->manifest.encoding)
		what = "another encoding";
	else if (!lw_manifest_same_representation(&before->manifest, &now->manifest))
		what = "another representation";
	if (what == NULL)
		return LW_OK;
	lw_error_path(error, path, LW_MANIFEST_NAME);
	return lw_fail(error, LW_REPLACED, "StoreReplaced", -1,
				   "the corpus, encoding and representation that the store had when it was opened", "%s", what);
}

/* Whether no map of the last view has faulted; looks at them only when some map of this process has. */
static bool
view_is_intact(LwStore *store)
{
	LwError		ignored;

	if (store->faults == lw_map_faults)
		return true;
	if (lw_view_check(store->view, &ignored) != LW_OK)
		return false;
	store->faults = lw_map_faults;
	return true;
}

/* Opens the view of a manifest that differs from the last one. */
static LwStatus
load(LwStore *store, int dirfd, const char *path, Reading *reading, LwError *error)
{
	const LwView *last = store->view;
	const LwView *reusable = last;
	LwView	   *view = NULL;
	LwStatus	status;

	if (last != NULL && !lw_string_equal(last->manifest.store_id, reading->manifest.store_id))
		reusable = NULL;
	/* Rows of another width or encoding are not those of the last view; let their own checks speak first. */
	if (reusable != NULL && (last->manifest.encoding != reading->manifest.encoding ||
							 last->manifest.dimension != reading->manifest.dimension))
		reusable = NULL;
	status = lw_view_open(dirfd, path, &reading->manifest, reusable, &view, error);
	if (status != LW_OK)
		return status;
	if (last != NULL)
		status = check_same_kind(last, view, path, error);
	if (status != LW_OK)
	{
		memset(&reading->manifest, 0, sizeof(LwManifest));	/* the view has taken it */
		lw_view_release(view);
		return status;
	}
	if (last != NULL && !lw_string_equal(last->manifest.store_id, view->manifest.store_id))
		store->serial = ++last_serial;
	lw_view_release(store->view);
	store->view = view;
	store->faults = lw_map_faults;
	return LW_OK;
}

static LwStatus
reload(LwStore *store, int dirfd, const char *path, LwError *error)
{
	LwDirectory directory = {dirfd, path};
	int			attempt;

	for (attempt = 1;; attempt++)
	{
		Reading		reading;
		LwStatus	status = read_manifest(store, dirfd, path, &reading, error);

		if (status != LW_OK)
			return status;
		if (store->view != NULL && lw_manifest_equal(&reading.manifest, &store->view->manifest) &&
			view_is_intact(store))
		{
			lw_manifest_free(&reading.manifest);
			adopt_file(store, &reading);
			return LW_OK;
		}
		status = load(store, dirfd, path, &reading, error);
		if (status == LW_OK)
		{
			adopt_file(store, &reading);
			return LW_OK;
		}
		if (status == LW_MISSING && attempt < MAX_ATTEMPTS && lw_manifest_moved(directory, &reading.manifest))
			status = LW_OK;		/* the writer was quicker: once more */
		lw_manifest_free(&reading.manifest);
		close(reading.fd);
		if (status != LW_OK)
			return status;
	}
}

/* Opens the store's directory; *moved: another one lies at the path now, and none is open. */
static LwStatus
open_directory(const LwStore *store, const char *path, int *dirfd, bool *moved, LwError *error)
{
	struct stat status;
	LwStatus	result = LW_OK;

	lw_error_path(error, NULL, path);
	*dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*dirfd < 0)
		return lw_fail_errno(error, errno, "open");
	if (fstat(*dirfd, &status) != 0)
		result = lw_fail_errno(error, errno, "stat");
	*moved = result == LW_OK && (status.st_dev != store->device || status.st_ino != store->inode);
	if (result != LW_OK || *moved)
		close(*dirfd);
	return result;
}

LwStatus
lw_store_follow(LwStore *store, const char *path, LwView **view, bool *moved, LwError *error)
{
	struct stat status;
	LwFileId	file;
	LwStatus	result;
	int			dirfd;

	*moved = false;
	lw_error_path(error, path, LW_MANIFEST_NAME);
	if (store->view != NULL && !store->unsettled && stat(error->path, &status) == 0)
	{
		file = lw_file_id(&status);
		if (lw_same_file(&file, &store->manifest_file) && view_is_intact(store))
		{
			*view = store->view;
			return LW_OK;
		}
	}

	result = open_directory(store, path, &dirfd, moved, error);
	if (result != LW_OK || *moved)
		return result;
	result = reload(store, dirfd, path, error);
	*view = store->view;
	close(dirfd);
	return result;
}

LwStatus
lw_store_read(LwStore *store, const char *path, LwManifest *manifest, bool *moved, LwError *error)
{
	Reading		reading;
	LwStatus	result;
	int			dirfd;

	*moved = false;
	result = open_directory(store, path, &dirfd, moved, error);
	if (result != LW_OK || *moved)
		return result;
	result = read_manifest(store, dirfd, path, &reading, error);
	close(dirfd);
	if (result != LW_OK)
		return result;
	close(reading.fd);
	*manifest = reading.manifest;
	return LW_OK;
}

/* Keeps a copy of what lw_store_identity gives next time, if there is memory for it. */
static void
keep_identity(LwStore *store, const LwManifest *manifest)
{
	LwManifest	short_one = *manifest;

	short_one.nsegments = 0;
	free(store->identity);
	store->identity = malloc(lw_manifest_flat_size(&short_one));
	if (store->identity != NULL)
		lw_manifest_flatten(&short_one, store->identity);
}

LwStatus
lw_store_identity(LwStore *store, const char *path, LwManifest *manifest, bool *moved, LwError *error)
{
	struct stat status;
	LwStatus	result;

	*moved = false;
	if (store->identity != NULL && stat(path, &status) == 0 &&
		status.st_dev == store->device && status.st_ino == store->inode &&
		lw_manifest_unflatten(store->identity, manifest))
		return LW_OK;
	result = lw_store_read(store, path, manifest, moved, error);
	if (result == LW_OK && !*moved)
		keep_identity(store, manifest);
	return result;
}

void
lw_store_forget(LwStore *store)
{
	int			holds = store->holds;

	free(store->identity);
	lw_view_release(store->view);
	if (store->manifest_fd >= 0)
		close(store->manifest_fd);
	lw_store_init(store, store->device, store->inode);
	store->holds = holds;
}
