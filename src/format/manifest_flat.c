/*-------------------------------------------------------------------------
 *
 * manifest_flat.c
 *	  A parsed manifest as one block without pointers.
 *
 * First the struct, then the segments, then the strings in the order of
 * strings_of; their sizes stand in the struct.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "manifest.h"

#define STRINGS 6

static void
strings_of(LwManifest *manifest, LwString *strings[STRINGS])
{
	strings[0] = &manifest->store_id;
	strings[1] = &manifest->corpus;
	strings[2] = &manifest->encoder;
	strings[3] = &manifest->encoder_revision;
	strings[4] = &manifest->query_template;
	strings[5] = &manifest->document_template;
}

static size_t
strings_size(const LwManifest *manifest)
{
	LwManifest	copy = *manifest;
	LwString   *strings[STRINGS];
	size_t		size = 0;
	int			i;

	strings_of(&copy, strings);
	for (i = 0; i < STRINGS; i++)
		size += strings[i]->size;
	return size;
}

size_t
lw_manifest_flat_size(const LwManifest *manifest)
{
	return sizeof(LwManifest) + manifest->nsegments * sizeof(LwManifestSegment) + strings_size(manifest);
}

void
lw_manifest_flatten(const LwManifest *manifest, void *flat)
{
	LwManifest	copy = *manifest;
	LwString   *strings[STRINGS];
	char	   *at = (char *) flat + sizeof(LwManifest);
	int			i;

	strings_of(&copy, strings);
	if (manifest->nsegments > 0)
		memcpy(at, manifest->segments, manifest->nsegments * sizeof(LwManifestSegment));
	at += manifest->nsegments * sizeof(LwManifestSegment);
	for (i = 0; i < STRINGS; i++)
	{
		if (strings[i]->size > 0)
			memcpy(at, strings[i]->data, strings[i]->size);
		at += strings[i]->size;
		strings[i]->data = NULL;
	}
	copy.segments = NULL;
	copy.strings = NULL;
	memcpy(flat, &copy, sizeof(copy));
}

bool
lw_manifest_unflatten(const void *flat, LwManifest *manifest)
{
	const char *at = (const char *) flat + sizeof(LwManifest);
	LwString   *strings[STRINGS];
	size_t		segments;
	size_t		size;
	int			i;

	memcpy(manifest, flat, sizeof(*manifest));
	segments = manifest->nsegments * sizeof(LwManifestSegment);
	size = strings_size(manifest);
	manifest->segments = malloc(segments + 1);
	manifest->strings = malloc(size + 1);
	if (manifest->segments == NULL || manifest->strings == NULL)
	{
		lw_manifest_free(manifest);
		return false;
	}
	memcpy(manifest->segments, at, segments);
	memcpy(manifest->strings, at + segments, size);
	strings_of(manifest, strings);
	for (i = 0, at = manifest->strings; i < STRINGS; i++)
	{
		strings[i]->data = at;
		at += strings[i]->size;
	}
	return true;
}
