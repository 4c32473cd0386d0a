/*-------------------------------------------------------------------------
 *
 * snapshot.c
 *	  A copy of one commit of a store in a new directory.
 *
 * Published files never change, so a link is as good as a copy.
 *
 *-------------------------------------------------------------------------
 */
#include "store/snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include "store/fault.h"
#include "store/manifest_file.h"
#include "store/map.h"
#include "store/names.h"

#define MAX_ATTEMPTS 100

/* Does something with the name of every file that a manifest names, until that fails. */
static LwStatus
for_each_file(const LwManifest *manifest,
			  LwStatus (*act) (void *arg, const char *name, LwError *error), void *arg, LwError *error)
{
	char		name[LW_NAME_SIZE];
	LwStatus	status = LW_OK;
	size_t		i;
	int			file;

	for (i = 0; i < manifest->nsegments; i++)
	{
		const LwManifestSegment *segment = &manifest->segments[i];

		for (file = 0; status == LW_OK && file < LW_SEGMENT_FILES; file++)
			if (lw_encoding_has(manifest->encoding, (LwSegmentFile) file))
			{
				lw_segment_name(name, segment->id, (LwSegmentFile) file);
				status = act(arg, name, error);
			}
		if (status == LW_OK && segment->has_tombstones)
		{
			lw_tombstones_name(name, segment->id, segment->tombstones);
			status = act(arg, name, error);
		}
	}
	return status;
}

typedef struct Linking
{
	LwDirectory from;
	LwDirectory to;
	mode_t		mode;
	bool		copied;
} Linking;

static LwStatus
link_file(void *arg, const char *name, LwError *error)
{
	Linking    *linking = arg;
	LwStatus	status = lw_file_link(linking->from, name, linking->to, name, linking->mode, &linking->copied, error);

	return status == LW_OK ? LW_FAULT("snapshot-file") : status;
}

static LwStatus
unlink_file(void *arg, const char *name, LwError *error)
{
	const Linking *linking = arg;

	(void) error;
	(void) unlinkat(linking->to.fd, name, 0);
	return LW_OK;
}

/* Links the files of one manifest, whose bytes `map` has. */
static LwStatus
link_files(Linking *linking, const LwManifest *manifest, const LwMap *map, LwError *error)
{
	LwStatus	status = for_each_file(manifest, link_file, linking, error);
	LwError		ignored;

	if (status == LW_OK)
		status = LW_FAULT("snapshot-names-sync");
	if (status == LW_OK)
		status = lw_directory_sync(linking->to, error);
	if (status == LW_OK)
		status = lw_manifest_install(linking->to, map->data, map->size, error);
	if (status == LW_OK)
		status = lw_map_check(map, error);
	if (status != LW_OK)
	{
		for_each_file(manifest, unlink_file, linking, &ignored);
		(void) unlinkat(linking->to.fd, LW_MANIFEST_NAME, 0);
	}
	return status;
}

/* Makes the snapshot of the manifest as it is now; *again when a newer one must be taken instead. */
static LwStatus
attempt(Linking *linking, uint64_t *commit, bool *again, LwError *error)
{
	LwManifest	manifest;
	LwMap	   *map;
	LwStatus	status = lw_map_open(linking->from.fd, linking->from.path, LW_MANIFEST_NAME, &map, NULL, NULL, error);

	*again = false;
	if (status != LW_OK)
		return status;
	status = lw_manifest_parse(map->data, map->size, &manifest, error);
	if (status == LW_OK)
	{
		*commit = manifest.commit;
		status = link_files(linking, &manifest, map, error);
		*again = status == LW_MISSING && lw_manifest_moved(linking->from, &manifest);
		lw_manifest_free(&manifest);
	}
	lw_map_close(map);
	return status;
}

LwStatus
lw_store_snapshot(LwDirectory store, const char *target, mode_t mode, LwSnapshot *snapshot, LwError *error)
{
	LwDirectory here = {AT_FDCWD, NULL};
	Linking		linking = {store, {-1, target}, mode & 0666, false};
	int			attempts = MAX_ATTEMPTS;
	bool		again = false;
	LwStatus	status = lw_directory_make(target, mode, true, error);

	if (status != LW_OK)
		return status;
	status = lw_directory_open(here, target, &linking.to, error);
	linking.to.path = target;
	if (status == LW_OK)
		status = LW_FAULT("snapshot-made");
	if (status == LW_OK)
		do
			status = attempt(&linking, &snapshot->commit, &again, error);
		while (again && --attempts > 0);
	snapshot->copied = linking.copied;
	if (linking.to.fd >= 0)
		close(linking.to.fd);
	if (status != LW_OK)
		(void) rmdir(target);
	return status;
}
