/*-------------------------------------------------------------------------
 *
 * table.c
 *	  The structure of a section file: header, table, manifest, and what the
 *	  required sections must be, in the reference's order.
 *
 * Header and table are copied from the map before they are checked.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "section/parts.h"

#define VERSION_MAJOR 1
#define VERSION_MINOR 0
#define SUM_AT 72				/* of the header's own checksum, which does not cover itself */
#define ALIGNMENT 64

typedef struct Header
{
	uint8_t		bytes[LW_HEADER_SIZE];
	uint64_t	n_chunks;
	uint64_t	file_size;
	uint64_t	table_offset;
	uint64_t	table_count;
	uint64_t	manifest_offset;
	uint64_t	manifest_size;
	uint8_t		checksum[LW_SHORT_SUM_SIZE];
} Header;

static LwStatus
fail(LwError *error, const char *name, int64_t offset, const char *expected, uint64_t found)
{
	return lw_fail(error, LW_MALFORMED, name, offset, expected, "%llu", (unsigned long long) found);
}

static LwStatus
check_magic(LwSectionFile *file, const Header *header, LwError *error)
{
	file->legacy = memcmp(header->bytes, "NEST", 4) == 0;
	if (file->legacy || memcmp(header->bytes, "URNA", 4) == 0)
		return LW_OK;
	return lw_fail(error, LW_MALFORMED, "MagicMismatch", 0, "URNA", "%02x %02x %02x %02x",
				   header->bytes[0], header->bytes[1], header->bytes[2], header->bytes[3]);
}

static LwStatus
check_header_sum(const LwSectionFile *file, const Header *header, LwError *error)
{
	const size_t behind = SUM_AT + LW_SHORT_SUM_SIZE;
	uint8_t		sum[LW_SHA256_SIZE];
	LwSha256	hash;
	LwStatus	status;

	(void) file;
	lw_sha256_begin(&hash);
	lw_sha256_add(&hash, header->bytes, SUM_AT);
	lw_sha256_add(&hash, header->bytes + behind, LW_HEADER_SIZE - behind);
	status = lw_sha256_sum(&hash, sum, error);
	if (status == LW_OK && memcmp(sum, header->checksum, LW_SHORT_SUM_SIZE) != 0)
		return lw_fail(error, LW_MALFORMED, "InvalidHeaderChecksum", SUM_AT,
					   "the header's checksum", "another one");
	return status;
}

/* Reads the header and checks what needs nothing else. */
static LwStatus
read_header(LwSectionFile *file, Header *header, LwError *error)
{
	LwCursor	cursor = {header->bytes, LW_HEADER_SIZE, 4};
	LwBytes		sum;
	uint32_t	flags;
	uint64_t	rows;
	LwStatus	status;

	if (file->bytes.size < LW_HEADER_SIZE + LW_FOOTER_SIZE)
		return fail(error, "FileTruncated", -1, "at least 168 bytes", file->bytes.size);
	memcpy(header->bytes, file->bytes.data, LW_HEADER_SIZE);
	lw_take_u16(&cursor, &file->version_major);
	lw_take_u16(&cursor, &file->version_minor);
	lw_take_u32(&cursor, &flags);
	lw_take_u32(&cursor, &file->dimension);
	lw_take_u64(&cursor, &header->n_chunks);
	lw_take_u64(&cursor, &rows);
	lw_take_u64(&cursor, &header->file_size);
	lw_take_u64(&cursor, &header->table_offset);
	lw_take_u64(&cursor, &header->table_count);
	lw_take_u64(&cursor, &header->manifest_offset);
	lw_take_u64(&cursor, &header->manifest_size);
	lw_take_bytes(&cursor, LW_SHORT_SUM_SIZE, &sum);
	memcpy(header->checksum, sum.data, LW_SHORT_SUM_SIZE);
	file->rows = (size_t) rows;

	status = check_magic(file, header, error);
	if (status != LW_OK)
		return status;
	if (file->version_major != VERSION_MAJOR || file->version_minor > VERSION_MINOR)
		return lw_fail(error, LW_MALFORMED, "UnsupportedVersion", 4, "version 1.0", "%u.%u",
					   file->version_major, file->version_minor);
	status = check_header_sum(file, header, error);
	if (status != LW_OK)
		return status;
	if (header->file_size != file->bytes.size)
		return lw_fail(error, LW_MALFORMED, "FileSizeMismatch", -1, "the size that the header states",
					   "%zu bytes instead of %llu", file->bytes.size,
					   (unsigned long long) header->file_size);
	return LW_OK;
}

static bool
is_vector_section(uint32_t id)
{
	return id == LW_SECTION_EMBEDDINGS || (id >= LW_SECTION_BANDS && id < LW_SECTION_BANDS_FP + LW_BANDS);
}

static bool
encoding_is_legal(uint32_t id, uint32_t encoding)
{
	switch (encoding)
	{
		case LW_ENCODING_RAW:
			return true;
		case LW_ENCODING_FLOAT16:
		case LW_ENCODING_INT8:
		case LW_ENCODING_INT4:
			return is_vector_section(id);
		case LW_ENCODING_ZSTD:
		case LW_ENCODING_INTPACK:
		case LW_ENCODING_ZSTD_DICT:
		case LW_ENCODING_FSST:
		case LW_ENCODING_STREAMS:
			return !is_vector_section(id);
		default:
			return false;
	}
}

static LwStatus
check_entry(const LwSectionFile *file, const LwSectionEntry *entry, LwError *error)
{
	uint64_t	body = file->bytes.size - LW_FOOTER_SIZE;

	if (!encoding_is_legal(entry->id, entry->encoding))
		return lw_fail(error, LW_MALFORMED, "UnsupportedSectionEncoding", -1,
					   "an encoding that the section may have", "encoding %u of section 0x%02x",
					   entry->encoding, entry->id);
	if (entry->offset % ALIGNMENT != 0)
		return lw_fail(error, LW_MALFORMED, "SectionMisaligned", -1, "an offset divisible by 64",
					   "%llu of section 0x%02x", (unsigned long long) entry->offset, entry->id);
	if (entry->offset > body || entry->size > body - entry->offset)
		return lw_fail(error, LW_MALFORMED, "SectionOffsetOutOfBounds", -1,
					   "a section before the footer", "section 0x%02x of %llu bytes at %llu", entry->id,
					   (unsigned long long) entry->size, (unsigned long long) entry->offset);
	return LW_OK;
}

/* Reads the table into memory of its own, and checks each entry. */
static LwStatus
read_table(LwSectionFile *file, const Header *header, LwStructure how, LwError *error)
{
	uint64_t	body = file->bytes.size - LW_FOOTER_SIZE;
	LwCursor	cursor;
	size_t		i;

	if (header->table_count > UINT64_MAX / LW_ENTRY_SIZE ||
		header->table_offset > UINT64_MAX - header->table_count * LW_ENTRY_SIZE)
		return fail(error, "SectionOffsetOutOfBounds", 48, "a table within the file",
					header->table_count);
	if (header->table_offset + header->table_count * LW_ENTRY_SIZE > body)
		return fail(error, "FileTruncated", 40, "a table before the footer", header->table_offset);

	file->nentries = (size_t) header->table_count;
	file->entries = calloc(file->nentries + 1, sizeof(LwSectionEntry));
	file->parts->checked = calloc(file->nentries + 1, sizeof(bool));
	if (file->entries == NULL || file->parts->checked == NULL)
		return lw_fail_errno(error, ENOMEM, "read the table of");
	cursor = lw_cursor(file->bytes);
	cursor.at = (size_t) header->table_offset;
	for (i = 0; i < file->nentries; i++)
	{
		LwSectionEntry *entry = &file->entries[i];
		LwBytes		sum = {NULL, 0};
		LwStatus	status;

		lw_take_u32(&cursor, &entry->id);
		lw_take_u32(&cursor, &entry->encoding);
		lw_take_u64(&cursor, &entry->offset);
		lw_take_u64(&cursor, &entry->size);
		lw_take_bytes(&cursor, LW_SHORT_SUM_SIZE, &sum);
		memcpy(entry->checksum, sum.data, LW_SHORT_SUM_SIZE);
		status = check_entry(file, entry, error);
		if (status == LW_OK && how == LW_STRUCTURE_SUMS)
			status = lw_entry_check(file, entry, error);
		if (status != LW_OK)
			return status;
	}
	return LW_OK;
}

static LwStatus
read_manifest(LwSectionFile *file, const Header *header, LwError *error)
{
	uint64_t	body = file->bytes.size - LW_FOOTER_SIZE;
	LwBytes		text;
	LwStatus	status;

	if (header->manifest_offset > body || header->manifest_size > body - header->manifest_offset)
		return fail(error, "FileTruncated", 56, "a manifest before the footer", header->manifest_offset);
	text.data = file->bytes.data + header->manifest_offset;
	text.size = (size_t) header->manifest_size;
	status = lw_section_manifest_parse(text, header->manifest_offset, &file->manifest, error);
	if (status != LW_OK)
		return status;
	return lw_section_manifest_check(&file->manifest, error);
}

static LwStatus
check_footer(const LwSectionFile *file, LwError *error)
{
	LwBytes		body = {file->bytes.data, file->bytes.size - LW_FOOTER_SIZE};
	uint8_t		sum[LW_SHA256_SIZE];
	LwStatus	status = lw_section_sum(file, body, sum, error);

	if (status == LW_OK &&
		memcmp(sum, file->bytes.data + file->bytes.size - LW_SHA256_SIZE, LW_SHA256_SIZE) != 0)
		return lw_fail(error, LW_MALFORMED, "FooterHashMismatch",
					   (int64_t) (file->bytes.size - LW_SHA256_SIZE),
					   "the hash of all that lies before it", "another one");
	return status;
}

/* The required sections, and how large the vectors are. */
static LwStatus
check_required(const LwSectionFile *file, LwError *error)
{
	const LwSectionEntry *entry;
	uint64_t	size;
	uint32_t	id;
	LwStatus	status;

	for (id = LW_SECTION_CHUNK_IDS; id <= LW_SECTION_CONTRACT; id++)
		if (lw_section_find(file, id) == NULL)
			return lw_fail(error, LW_MALFORMED, "MissingRequiredSection", -1, "all required sections",
						   "none called %s", lw_section_name(id));
	entry = lw_section_find(file, LW_SECTION_EMBEDDINGS);
	if (entry->encoding != lw_vector_encoding(file->manifest.vector_type))
		return lw_fail(error, LW_MALFORMED, "ManifestInvalid", -1,
					   "an encoding of the vectors that fits dtype", "encoding %u for %s",
					   entry->encoding, lw_vector_type_name(file->manifest.vector_type));
	status = lw_slab_size(file->manifest.vector_type, file->rows, file->dimension, &size, error);
	if (status == LW_OK && entry->size != size)
		return lw_slab_bad_size(error, entry->id, size, entry->size);
	return status;
}

/* All that is known without decoding a section.  With LW_STRUCTURE_SUMS every byte is hashed. */
LwStatus
lw_section_structure(LwSectionFile *file, LwStructure how, LwError *error)
{
	Header		header;
	LwStatus	status;

	status = read_header(file, &header, error);
	if (status == LW_OK)
		status = read_table(file, &header, how, error);
	if (status == LW_OK)
		status = read_manifest(file, &header, error);
	if (status == LW_OK && how == LW_STRUCTURE_SUMS)
		status = check_footer(file, error);
	if (status != LW_OK)
		return status;
	if (file->manifest.embedding_dim != file->dimension)
		return lw_fail(error, LW_MALFORMED, "ManifestInvalid", -1, "the header's embedding_dim",
					   "%u instead of %u", file->manifest.embedding_dim, file->dimension);
	if (file->manifest.n_chunks != header.n_chunks)
		return lw_fail(error, LW_MALFORMED, "ManifestInvalid", -1, "the header's n_chunks",
					   "%llu instead of %llu", (unsigned long long) file->manifest.n_chunks,
					   (unsigned long long) header.n_chunks);
	return check_required(file, error);
}

LwStatus
lw_section_rows_check(const LwSectionFile *file, LwError *error)
{
	if (file->rows != file->manifest.n_chunks)
		return lw_section_bad_count(error, LW_SECTION_EMBEDDINGS, file->manifest.n_chunks, file->rows);
	return LW_OK;
}
