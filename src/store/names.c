/*-------------------------------------------------------------------------
 *
 * names.c
 *	  Names of the files in a store directory.
 *
 *-------------------------------------------------------------------------
 */
#include "store/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/utf8.h"

#define SEGMENT_PREFIX "segment-"
#define TOMBSTONES_PREFIX "tombstones-"
#define ARRAY_SUFFIX ".npy"
#define STAGING_PREFIX ".staging-"

static const char *const suffixes[LW_SEGMENT_FILES] =
{"ids.json", "offsets.npy", "vectors.npy", "codes.npy", "scales.npy"};

void
lw_segment_name(char name[LW_NAME_SIZE], uint64_t segment, LwSegmentFile file)
{
	snprintf(name, LW_NAME_SIZE, SEGMENT_PREFIX "%" PRIu64 ".%s", segment, suffixes[file]);
}

void
lw_tombstones_name(char name[LW_NAME_SIZE], uint64_t segment, uint64_t commit)
{
	snprintf(name, LW_NAME_SIZE, SEGMENT_PREFIX "%" PRIu64 "." TOMBSTONES_PREFIX "%" PRIu64 ARRAY_SUFFIX,
			 segment, commit);
}

static bool
begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Reads a number as it is written, without leading zeros, and moves *text past it. */
static bool
take_number(const char **text, uint64_t *number)
{
	const char *at = *text;

	*number = 0;
	for (; *at >= '0' && *at <= '9'; at++)
	{
		uint64_t	digit = (uint64_t) (*at - '0');

		if (at > *text && *number == 0)
			return false;
		if (*number > (UINT64_MAX - digit) / 10)
			return false;
		*number = *number * 10 + digit;
	}
	if (at == *text)
		return false;
	*text = at;
	return true;
}

/* What follows the prefix of all files of segments. */
static bool
parse_segment_file(const char *text, LwName *name)
{
	int			file;

	if (!take_number(&text, &name->segment) || *text++ != '.')
		return false;
	for (file = 0; file < LW_SEGMENT_FILES; file++)
		if (strcmp(text, suffixes[file]) == 0)
		{
			name->kind = LW_NAME_SEGMENT;
			name->file = (LwSegmentFile) file;
			return true;
		}
	if (!begins_with(text, TOMBSTONES_PREFIX))
		return false;
	text += strlen(TOMBSTONES_PREFIX);
	if (!take_number(&text, &name->commit) || strcmp(text, ARRAY_SUFFIX) != 0)
		return false;
	name->kind = LW_NAME_TOMBSTONES;
	return true;
}

LwName
lw_name_parse(const char *name)
{
	LwName		result = {LW_NAME_OTHER, LW_FILE_IDS, 0, 0};

	if (lw_utf8_valid(name, strlen(name)) != strlen(name))
		return result;
	if (strcmp(name, LW_MANIFEST_NAME) == 0)
		result.kind = LW_NAME_MANIFEST;
	else if (strcmp(name, LW_PENDING_NAME) == 0)
		result.kind = LW_NAME_PENDING;
	else if (begins_with(name, STAGING_PREFIX))
		result.kind = LW_NAME_STAGING;
	else if (begins_with(name, LW_MANIFEST_NAME "."))
		result.kind = LW_NAME_SPARE;
	else if (begins_with(name, SEGMENT_PREFIX) && !parse_segment_file(name + strlen(SEGMENT_PREFIX), &result))
		result.kind = LW_NAME_SPARE;
	return result;
}

bool
lw_manifest_names(const LwManifest *manifest, const LwName *name)
{
	size_t		low = 0;
	size_t		high = manifest->nsegments;
	const LwManifestSegment *segment;

	if (name->kind == LW_NAME_MANIFEST)
		return true;
	if (name->kind != LW_NAME_SEGMENT && name->kind != LW_NAME_TOMBSTONES)
		return false;
	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (manifest->segments[middle].id < name->segment)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == manifest->nsegments || manifest->segments[low].id != name->segment)
		return false;
	segment = &manifest->segments[low];
	if (name->kind == LW_NAME_SEGMENT)
		return lw_encoding_has(manifest->encoding, name->file);
	return segment->has_tombstones && segment->tombstones == name->commit;
}
