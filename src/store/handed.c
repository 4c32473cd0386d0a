/*-------------------------------------------------------------------------
 *
 * handed.c
 *	  A view handed to another process, which scores documents of it, too.
 *
 * First a header, then the manifest, a record for each segment, the bitmaps of the
 * hidden rows and the paths.  It is trusted: the process that wrote it has checked
 * the files, and these are the same.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "handed.h"

/* Files that are read to score: offsets, rows and, of int8, scales. */
#define FILES 3

typedef struct HandedFile
{
	LwFileIdentity identity;
	uint64_t	data_at;
	uint64_t	path_size;		/* with its NUL; 0: there is no such file */
} HandedFile;

typedef struct HandedSegment
{
	uint64_t	id;
	uint64_t	documents;		/* 0 when it is not handed over */
	uint64_t	tokens;
	uint64_t	row_size;
	HandedFile	files[FILES];
} HandedSegment;

typedef struct Handed
{
	uint64_t	manifest_size;	/* of what lw_manifest_flatten makes, rounded up */
	uint64_t	nsegments;
	uint64_t	directory_size; /* with its NUL */
} Handed;

static size_t
round_up(size_t size)
{
	return (size + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

static size_t
bitmap_size(uint64_t documents)
{
	return documents / 8 + 1;
}

/* The maps of a segment's files, in the order of HandedSegment, and where their data begin. */
static void
files_of(const LwSegment *segment, const LwMap *maps[FILES], const void *data[FILES])
{
	maps[0] = segment->offsets_map;
	maps[1] = segment->rows_map;
	maps[2] = segment->scales_map;
	data[0] = segment->offsets;
	data[1] = segment->rows;
	data[2] = segment->scales;
}

/* The identity of file number `file` of a segment; before them that of its ids was opened. */
static const LwFileIdentity *
identity_of(const LwSegment *segment, int file)
{
	return &segment->files.files[file + 1];
}

static bool
same_identity(const LwFileIdentity *identity, const struct stat *status)
{
	LwDerivedKey now = {0};

	lw_derived_key_add(&now, status);
	return memcmp(&now.files[0], identity, sizeof(LwFileIdentity)) == 0;
}

void
lw_handed_choose(const LwView *view, bool *handed)
{
	size_t		i;
	int			file;

	for (i = 0; i < view->manifest.nsegments; i++)
	{
		const LwMap *maps[FILES];
		const void *data[FILES];
		struct stat status;

		files_of(view->segments[i], maps, data);
		handed[i] = maps[0] != NULL;
		for (file = 0; handed[i] && file < FILES; file++)
			if (maps[file] != NULL)
				handed[i] = stat(maps[file]->path, &status) == 0 &&
					same_identity(identity_of(view->segments[i], file), &status);
	}
}

size_t
lw_handed_size(const LwView *view, const bool *handed)
{
	size_t		size = sizeof(Handed) + round_up(lw_manifest_flat_size(&view->manifest)) +
		view->manifest.nsegments * sizeof(HandedSegment) + strlen(view->directory) + 1;
	size_t		i;
	int			file;

	for (i = 0; i < view->manifest.nsegments; i++)
	{
		const LwMap *maps[FILES];
		const void *data[FILES];

		if (!handed[i])
			continue;
		size += bitmap_size(view->segments[i]->documents);
		files_of(view->segments[i], maps, data);
		for (file = 0; file < FILES; file++)
			if (maps[file] != NULL)
				size += strlen(maps[file]->path) + 1;
	}
	return size;
}

static char *
put(char *at, const void *data, size_t size)
{
	memcpy(at, data, size);
	return at + size;
}

/* Fills in the record of a segment that is handed over. */
static void
describe(const LwSegment *segment, HandedSegment *handed)
{
	const LwMap *maps[FILES];
	const void *data[FILES];
	int			file;

	handed->documents = segment->documents;
	handed->tokens = segment->tokens;
	handed->row_size = segment->row_size;
	files_of(segment, maps, data);
	for (file = 0; file < FILES; file++)
	{
		if (maps[file] == NULL)
			continue;
		handed->files[file].identity = *identity_of(segment, file);
		handed->files[file].data_at = (uint64_t) ((const char *) data[file] - maps[file]->data);
		handed->files[file].path_size = strlen(maps[file]->path) + 1;
	}
}

void
lw_handed_write(const LwView *view, const bool *handed, void *flat)
{
	Handed		header;
	HandedSegment *segments;
	char	   *at = flat;
	size_t		i;
	int			file;

	header.manifest_size = round_up(lw_manifest_flat_size(&view->manifest));
	header.nsegments = view->manifest.nsegments;
	header.directory_size = strlen(view->directory) + 1;
	at = put(at, &header, sizeof(header));
	lw_manifest_flatten(&view->manifest, at);
	segments = (void *) (at + header.manifest_size);
	memset(segments, 0, header.nsegments * sizeof(HandedSegment));
	at = put((char *) (segments + header.nsegments), view->directory, header.directory_size);
	for (i = 0; i < header.nsegments; i++)
	{
		const LwSegment *segment = view->segments[i];
		const LwMap *maps[FILES];
		const void *data[FILES];

		segments[i].id = segment->id;
		if (!handed[i])
			continue;
		describe(segment, &segments[i]);
		at = put(at, view->hidden[i], bitmap_size(segment->documents));
		files_of(segment, maps, data);
		for (file = 0; file < FILES; file++)
			if (maps[file] != NULL)
				at = put(at, maps[file]->path, segments[i].files[file].path_size);
	}
}

/* Maps the file at a path, if it is the one that was handed over; *data points at its first element. */
static LwStatus
open_file(const HandedFile *handed, const char *path, LwMap **map, const void **data, LwError *error)
{
	struct stat file;
	LwStatus	status = lw_map_open(AT_FDCWD, NULL, path, map, &file, NULL, error);

	if (status != LW_OK)
		return status;
	if (!same_identity(&handed->identity, &file))
		return lw_fail(error, LW_REPLACED, "HandedFile", -1, "the file that was handed over", "another one");
	*data = (*map)->data + handed->data_at;
	return LW_OK;
}

/* Opens segment i of a view; *at stands at its bitmap, and moves on. */
static LwStatus
open_segment(const HandedSegment *handed, LwView *view, size_t i, const char **at, LwError *error)
{
	LwSegment  *segment = calloc(1, sizeof(LwSegment));
	size_t		bitmap = bitmap_size(handed->documents);
	LwMap	  **maps[FILES];
	const void *data[FILES] = {NULL, NULL, NULL};
	LwStatus	status = LW_OK;
	int			file;

	if (segment == NULL)
		return lw_fail_errno(error, ENOMEM, "open a segment");
	view->segments[i] = segment;
	segment->references = 1;
	segment->id = handed->id;
	segment->documents = handed->documents;
	segment->tokens = handed->tokens;
	segment->row_size = handed->row_size;
	if (handed->files[0].path_size == 0)
		return LW_OK;
	view->hidden[i] = malloc(bitmap);
	if (view->hidden[i] == NULL)
		return lw_fail_errno(error, ENOMEM, "open a segment");
	memcpy(view->hidden[i], *at, bitmap);
	*at += bitmap;
	maps[0] = &segment->offsets_map;
	maps[1] = &segment->rows_map;
	maps[2] = &segment->scales_map;
	for (file = 0; status == LW_OK && file < FILES; file++)
	{
		if (handed->files[file].path_size == 0)
			continue;
		status = open_file(&handed->files[file], *at, maps[file], &data[file], error);
		*at += handed->files[file].path_size;
	}
	segment->offsets = data[0];
	segment->rows = data[1];
	segment->scales = data[2];
	return status;
}

LwStatus
lw_handed_open(const void *flat, LwView **result, LwError *error)
{
	const Handed *header = flat;
	const char *manifest_at = (const char *) (header + 1);
	const HandedSegment *segments = (const void *) (manifest_at + header->manifest_size);
	const char *directory = (const char *) (segments + header->nsegments);
	const char *at = directory + header->directory_size;
	LwManifest	manifest;
	LwView	   *view;
	LwStatus	status;
	size_t		i;

	lw_error_path(error, NULL, directory);
	if (!lw_manifest_unflatten(manifest_at, &manifest))
		return lw_fail_errno(error, ENOMEM, "open a view");
	status = lw_view_unopened(directory, &manifest, &view, error);
	if (status != LW_OK)
	{
		lw_manifest_free(&manifest);
		return status;
	}
	view->hidden = calloc(header->nsegments + 1, sizeof(uint8_t *));
	if (view->hidden == NULL)
		status = lw_fail_errno(error, ENOMEM, "open a view");
	for (i = 0; status == LW_OK && i < header->nsegments; i++)
		status = open_segment(&segments[i], view, i, &at, error);
	if (status == LW_OK)
		*result = view;
	else
		lw_view_release(view);
	return status;
}
