/*-------------------------------------------------------------------------
 *
 * file.c
 *	  Opening and closing section files.
 *
 *-------------------------------------------------------------------------
 */
#include "section/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "section/parts.h"

/* A handle that has looked at nothing yet.  The map is its own from now on, also when this fails. */
LwStatus
lw_section_begin(LwBytes bytes, LwMap *map, size_t memory, LwSectionFile **result, LwError *error)
{
	LwSectionFile *file = calloc(1, sizeof(LwSectionFile));
	LwSectionParts *parts = calloc(1, sizeof(LwSectionParts));

	if (file == NULL || parts == NULL)
	{
		free(file);
		free(parts);
		lw_map_close(map);
		return lw_fail_errno(error, ENOMEM, "open");
	}
	parts->map = map;
	parts->memory = memory == 0 ? LW_SECTION_MEMORY : memory;
	file->parts = parts;
	file->bytes = bytes;
	file->path = map == NULL ? "" : map->path;
	*result = file;
	return LW_OK;
}

void
lw_section_close(LwSectionFile *file)
{
	LwSectionParts *parts;
	size_t		i;

	if (file == NULL)
		return;
	parts = file->parts;
	lw_texts_free(&parts->texts);
	for (i = 0; i < LW_PAYLOADS; i++)
		lw_buffer_free(&parts->payloads[i].buffer);
	free(parts->ids);
	free(parts->slots);
	free(parts->twins);
	lw_derived_ids_close(&parts->kept);
	free(parts->spans);
	free(parts->blobs);
	free(parts->spaces);
	free(parts->checked);
	lw_map_close(parts->map);
	free(parts);
	lw_section_manifest_free(&file->manifest);
	free(file->entries);
	free(file);
}

/* Opens what can be opened without reading sections. */
static LwStatus
open_structure(LwBytes bytes, LwMap *map, size_t memory, LwSectionFile **result, LwError *error)
{
	LwSectionFile *file;
	LwStatus	status = lw_section_begin(bytes, map, memory, &file, error);

	if (status != LW_OK)
		return status;
	status = lw_section_structure(file, LW_STRUCTURE_ONLY, error);
	if (status == LW_OK)
		status = lw_section_rows_check(file, error);
	if (status == LW_OK)
		status = lw_section_intact(file, error);
	if (status != LW_OK)
	{
		status = lw_section_failed(file, error);
		lw_section_close(file);
		return status;
	}
	*result = file;
	return LW_OK;
}

LwStatus
lw_section_open(int dirfd, const char *directory, const char *name, size_t memory,
				LwSectionFile **file, struct stat *status, LwError *error)
{
	LwMap	   *map;
	LwBytes		bytes;
	LwStatus	failure = lw_map_open(dirfd, directory, name, &map, status, NULL, error);

	if (failure != LW_OK)
		return failure;
	bytes.data = (const uint8_t *) map->data;
	bytes.size = map->size;
	return open_structure(bytes, map, memory, file, error);
}

LwStatus
lw_section_open_bytes(LwBytes bytes, size_t memory, LwSectionFile **file, LwError *error)
{
	return open_structure(bytes, NULL, memory, file, error);
}

LwStatus
lw_section_intact(const LwSectionFile *file, LwError *error)
{
	const LwSectionParts *parts = file->parts;
	LwStatus	status = lw_map_check(parts->map, error);

	if (status == LW_OK && parts->kept.file != NULL && !parts->kept_damaged)
		status = lw_map_check(parts->kept.file->map, error);
	return status;
}

void
lw_section_stop(LwSectionFile *file, const LwStop *stop)
{
	file->parts->stop = stop;
}

LwStatus
lw_section_failed(const LwSectionFile *file, LwError *error)
{
	lw_error_path(error, NULL, file->path);
	lw_map_check(file->parts->map, error);
	return error->status;
}

LwStatus
lw_section_hold(LwSectionFile *file, size_t size, LwError *error)
{
	LwSectionParts *parts = file->parts;

	if (size > parts->memory - parts->used)
		return lw_fail(error, LW_LIMIT, "SectionMemory", -1, "sections that decode to less than the limit",
					   "%zu bytes beside %zu of %zu", size, parts->used, parts->memory);
	parts->used += size;
	return LW_OK;
}

LwStatus
lw_section_alloc(LwSectionFile *file, size_t count, size_t size, void **memory, LwError *error)
{
	LwStatus	status;

	if (count > SIZE_MAX / size)
		return lw_fail_errno(error, ENOMEM, "read");
	status = lw_section_hold(file, count * size, error);
	if (status != LW_OK)
		return status;
	*memory = malloc(count == 0 ? 1 : count * size);
	if (*memory == NULL)
		return lw_fail_errno(error, ENOMEM, "read");
	return LW_OK;
}

void
lw_section_free(LwSectionFile *file, void *memory, size_t size)
{
	file->parts->used -= size;
	free(memory);
}

LwStatus
lw_section_buffer(const LwSectionFile *file, LwBuffer *buffer, LwError *error)
{
	size_t		left = file->parts->memory - file->parts->used;

	if (left == 0)
		return lw_fail(error, LW_LIMIT, "SectionMemory", -1, "sections that decode to less than the limit",
					   "%zu bytes", file->parts->memory);
	lw_buffer_init(buffer, left);
	return LW_OK;
}
