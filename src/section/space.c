/*-------------------------------------------------------------------------
 *
 * space.c
 *	  The table of spaces, and slabs of vectors as they lie in the file.
 *
 *-------------------------------------------------------------------------
 */
#include "section/space.h"

#include <string.h>

#include "section/parts.h"

#define TABLE_VERSION 1
#define MIN_ENTRY 22			/* bytes of an entry with empty strings */
#define MAX_INDEX 15
#define HASH_PREFIX "sha256:"

static LwStatus
malformed(LwError *error, const char *expected, const char *found)
{
	return lw_section_malformed(error, LW_SECTION_SPACES, expected, found);
}

/* Reads an entry; its bytes must all be there. */
static LwStatus
read_entry(LwCursor *cursor, LwSpace *space, uint64_t *rows, LwError *error)
{
	uint8_t		type;

	if (!lw_take_u8(cursor, &space->index) || !lw_take_string(cursor, &space->name) ||
		!lw_take_u32(cursor, &space->dimension) || !lw_take_u8(cursor, &type) ||
		!lw_take_string(cursor, &space->model_hash) || !lw_take_u64(cursor, rows))
		return malformed(error, "whole entries", "one that runs past the end");
	if (space->index < 1 || space->index > MAX_INDEX)
		return malformed(error, "an index from 1 to 15", "another one");
	if (type >= LW_VECTOR_TYPES)
		return malformed(error, "a dtype from 0 to 3", "another one");
	space->type = (LwVectorType) type;
	if (space->name.size == 0)
		return malformed(error, "a name", "an empty one");
	if (lw_check_utf8(space->name, "a name in UTF-8", error) != LW_OK ||
		lw_check_utf8(space->model_hash, "a model_hash in UTF-8", error) != LW_OK)
		return lw_section_of(error, LW_SECTION_SPACES);
	if (space->model_hash.size < strlen(HASH_PREFIX) ||
		memcmp(space->model_hash.data, HASH_PREFIX, strlen(HASH_PREFIX)) != 0)
		return malformed(error, "a model_hash that begins with sha256:", "another one");
	return LW_OK;
}

static LwStatus
check_unique(const LwSpace *spaces, size_t count, LwError *error)
{
	const LwSpace *last = &spaces[count];
	size_t		i;

	for (i = 0; i < count; i++)
	{
		if (spaces[i].index == last->index)
			return malformed(error, "each index once", "one twice");
		if (lw_bytes_equal(spaces[i].name, (const char *) last->name.data, last->name.size))
			return malformed(error, "each name once", "one twice");
	}
	return LW_OK;
}

/* Reads the table; as indexes are unique, it has no more entries than there are. */
static LwStatus
read_table(LwBytes payload, LwSpace spaces[MAX_INDEX + 1], uint64_t rows[MAX_INDEX + 1], size_t *count,
		   LwError *error)
{
	LwCursor	cursor = lw_cursor(payload);
	uint32_t	version;
	uint64_t	claimed;
	uint64_t	i;
	LwStatus	status;

	if (payload.size < sizeof(version) + sizeof(claimed) ||
		!lw_take_u32(&cursor, &version) || !lw_take_u64(&cursor, &claimed))
		return malformed(error, "a version and a count", "fewer than 12 bytes");
	if (version != TABLE_VERSION)
		return lw_section_bad_version(error, LW_SECTION_SPACES, version);
	if (claimed > lw_cursor_left(&cursor) / MIN_ENTRY)
		return malformed(error, "as many entries as there is room for", "a larger count");
	for (i = 0; i < claimed; i++)
	{
		status = read_entry(&cursor, &spaces[i], &rows[i], error);
		if (status == LW_OK)
			status = check_unique(spaces, (size_t) i, error);
		if (status != LW_OK)
			return status;
	}
	if (lw_cursor_left(&cursor) != 0)
		return malformed(error, "nothing behind the entries", "more bytes");
	*count = (size_t) claimed;
	return LW_OK;
}

/* Compares an entry with the file and with its band. */
static LwStatus
check_band(const LwSectionFile *file, LwSpace *space, uint64_t rows, LwError *error)
{
	const LwSectionEntry *band = lw_section_find(file, LW_SECTION_BANDS + space->index);
	LwStatus	status;

	if (rows != file->manifest.n_chunks)
		return lw_fail(error, LW_MALFORMED, "ManifestInvalid", -1, "a vector of each space for each chunk",
					   "%llu for %llu in space %u", (unsigned long long) rows,
					   (unsigned long long) file->manifest.n_chunks, space->index);
	if (band == NULL)
		return lw_fail(error, LW_MALFORMED, "ManifestInvalid", -1, "a section for each space",
					   "none for space %u", space->index);
	status = lw_slab_size(space->type, rows, space->dimension, &space->band_size, error);
	if (status == LW_OK && band->size != space->band_size)
		return lw_slab_bad_size(error, band->id, space->band_size, band->size);
	return status;
}

LwStatus
lw_spaces_load(LwSectionFile *file, LwError *error)
{
	LwSectionParts *parts = file->parts;
	LwSpace		spaces[MAX_INDEX + 1];
	uint64_t	rows[MAX_INDEX + 1];
	size_t		count = 0;
	size_t		i;
	LwBytes		payload;
	void	   *memory;
	LwStatus	status = LW_OK;

	if (parts->spaces_known)
		return LW_OK;
	if (lw_section_find(file, LW_SECTION_SPACES) != NULL)
	{
		status = lw_section_payload(file, LW_SECTION_SPACES, &payload, error);
		if (status == LW_OK)
			status = read_table(payload, spaces, rows, &count, error);
	}
	for (i = 0; status == LW_OK && i < count; i++)
		status = check_band(file, &spaces[i], rows[i], error);
	if (status == LW_OK)
		status = lw_section_alloc(file, count, sizeof(LwSpace), &memory, error);
	if (status != LW_OK)
		return status;
	memcpy(memory, spaces, count * sizeof(LwSpace));
	parts->spaces = memory;
	parts->nspaces = count;
	parts->spaces_known = true;
	return LW_OK;
}

LwStatus
lw_section_spaces(LwSectionFile *file, const LwSpace **spaces, size_t *count, LwError *error)
{
	if (lw_spaces_load(file, error) != LW_OK)
		return lw_section_failed(file, error);
	*spaces = file->parts->spaces;
	*count = file->parts->nspaces;
	return LW_OK;
}

/*
 * A slab of the file's bytes once its checksum and values have been checked.
 * The reference checks them as what the section's encoding says, which a band
 * need not have right, and nothing else.
 */
static LwStatus
read_slab(LwSectionFile *file, uint32_t id, LwVectorType type, uint32_t dimension, bool *finite,
		  LwVectorSlab *slab, LwError *error)
{
	LwBytes		stored;
	LwStatus	status = lw_section_stored(file, id, &stored, error);

	if (status == LW_OK)
		status = lw_slab_describe(stored, type, file->rows, dimension, slab, error);
	if (status == LW_OK && !*finite)
	{
		status = lw_values_check(file, lw_section_find(file, id), dimension, error);
		*finite = status == LW_OK;
		if (*finite)
			lw_section_learned(file);
	}
	return status == LW_OK ? LW_OK : lw_section_failed(file, error);
}

LwStatus
lw_section_vectors(LwSectionFile *file, LwVectorSlab *slab, LwError *error)
{
	return read_slab(file, LW_SECTION_EMBEDDINGS, file->manifest.vector_type, file->dimension,
					 &file->parts->vectors_finite, slab, error);
}

LwStatus
lw_section_space_vectors(LwSectionFile *file, const LwSpace *space, LwVectorSlab *slab, LwError *error)
{
	return read_slab(file, LW_SECTION_BANDS + space->index, space->type, space->dimension,
					 &file->parts->band_finite[space->index], slab, error);
}

/*
 * The type of the full-precision slab follows from its size.  Its encoding
 * must be raw, so its values are checked as float32 whatever they are.
 */
static LwStatus
read_fp_slab(LwSectionFile *file, LwVectorSlab *slab, LwError *error)
{
	const LwSectionEntry *entry = lw_section_find(file, LW_SECTION_EMBEDDINGS_FP);
	uint64_t	values = (uint64_t) file->rows * file->dimension;
	LwBytes		stored;
	LwStatus	status = lw_section_stored(file, LW_SECTION_EMBEDDINGS_FP, &stored, error);

	if (status != LW_OK)
		return status;
	if (values == 0 || values / file->dimension != file->rows ||
		(stored.size / values != sizeof(float) && stored.size / values != sizeof(uint16_t)))
		return lw_section_malformed(error, LW_SECTION_EMBEDDINGS_FP, "4 or 2 bytes a component", "another size");
	if (entry->encoding != LW_ENCODING_RAW)
		return lw_fail(error, LW_MALFORMED, "UnsupportedSectionEncoding", -1, "raw vectors",
					   "encoding %u of section 0x%02x", entry->encoding, entry->id);
	slab->type = stored.size / values == sizeof(float) ? LW_VECTOR_FLOAT32 : LW_VECTOR_FLOAT16;
	slab->dimension = file->dimension;
	slab->rows = file->rows;
	slab->codes = stored.data;
	slab->scales = NULL;
	if (file->parts->fp_finite)
		return LW_OK;
	status = lw_values_check(file, entry, file->dimension, error);
	file->parts->fp_finite = status == LW_OK;
	if (status == LW_OK)
		lw_section_learned(file);
	return status;
}

LwStatus
lw_section_rerank_vectors(LwSectionFile *file, LwVectorSlab *slab, LwError *error)
{
	if (lw_section_find(file, LW_SECTION_EMBEDDINGS_FP) == NULL)
		return lw_section_vectors(file, slab, error);
	return read_fp_slab(file, slab, error) == LW_OK ? LW_OK : lw_section_failed(file, error);
}
