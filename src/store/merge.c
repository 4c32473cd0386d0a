/*-------------------------------------------------------------------------
 *
 * merge.c
 *	  Keeping the list of segments short while many small commits are published.
 *
 *-------------------------------------------------------------------------
 */
#include "store/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/compact.h"
#include "store/pending_files.h"

/* From so many segments on, and only when so many can be merged. */
#define MANY_SEGMENTS 24
#define LEAST_MERGED 8

#define COMPACTING "compacting"

LwStatus
lw_compacting_hold(LwDirectory pending, int *fd, bool *held, LwError *error)
{
	lw_pending_path(error, pending, COMPACTING);
	*held = false;
	*fd = openat(pending.fd, COMPACTING, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*fd < 0)
		return lw_fail_errno(error, errno, "create");
	*held = flock(*fd, LOCK_EX | LOCK_NB) == 0;
	if (*held)
		return LW_OK;
	close(*fd);
	*fd = -1;
	return LW_OK;
}

/* Where the segments begin that are each at most twice as large as all later ones together. */
static size_t
first_small(const LwDraft *draft)
{
	uint64_t	later = 0;
	size_t		first = draft->nsegments;

	while (first > 0 && draft->segments[first - 1].entry.documents <= 2 * later + LEAST_MERGED)
		later += draft->segments[--first].entry.documents;
	return first;
}

LwStatus
lw_draft_merge_small(LwDraft *draft, LwDirectory pending, LwError *error)
{
	const LwManifest *manifest = &draft->view->manifest;
	size_t		first = first_small(draft);
	size_t		count = draft->nsegments - first;
	LwManifestSegment entry = {0};
	LwSegmentWriter writer;
	LwStatus	status;
	bool		held;
	int			fd;

	if (draft->nsegments < MANY_SEGMENTS || count < LEAST_MERGED)
		return LW_OK;
	status = lw_compacting_hold(pending, &fd, &held, error);
	if (status != LW_OK || !held)
		return status;
	status = lw_draft_take_id(draft, &entry.id, error);
	if (status == LW_OK)
		status = lw_segment_write_begin(&writer, draft->directory, entry.id, manifest->encoding, manifest->dimension, error);
	if (status == LW_OK)
	{
		status = lw_draft_copy(draft, first, count, &writer, NULL, error);
		if (status == LW_OK && writer.entry.documents > 0)
			status = lw_segment_write_end(&writer, &entry, error);
		else
			lw_segment_write_abort(&writer);
	}
	if (status == LW_OK)
	{
		status = lw_draft_drop(draft, first, count, error);
		if (status == LW_OK && entry.documents > 0)
			status = lw_draft_add(draft, &entry, NULL, error);
		else if (entry.documents > 0)
			lw_segment_unlink(draft->directory, entry.id, manifest->encoding);
	}
	close(fd);
	return status;
}

bool
lw_draft_leaves_files(const LwDraft *draft)
{
	size_t		i;

	if (draft->dropped)
		return true;
	for (i = 0; i < draft->nbase; i++)
		if (draft->segments[i].deleted != NULL && draft->segments[i].entry.has_tombstones)
			return true;
	return false;
}
