/*-------------------------------------------------------------------------
 *
 * section.h
 *	  A small writer of section files, for unit programs that need one that
 *	  is not among the golden files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_UNIT_SECTION_H
#define LW_UNIT_SECTION_H

#include <stdlib.h>
#include <string.h>

#include "section/file.h"
#include "section/hash.h"

typedef struct SectionInput
{
	uint32_t	id;
	uint32_t	encoding;
	LwBytes		stored;
} SectionInput;

static inline LwBytes
section_bytes(const char *text)
{
	LwBytes		bytes = {(const uint8_t *) text, strlen(text)};

	return bytes;
}

static inline void
section_sum(const void *data, size_t size, uint8_t sum[LW_SHA256_SIZE])
{
	LwSha256	hash;
	LwError		error;

	lw_sha256_begin(&hash);
	lw_sha256_add(&hash, data, size);
	if (lw_sha256_sum(&hash, sum, &error) != LW_OK)
		abort();
}

/* Makes header checksum and footer right; with `sections` those of the sections in the table, too. */
static inline void
section_seal(uint8_t *data, size_t size, bool sections)
{
	uint8_t		sum[LW_SHA256_SIZE];
	uint8_t		header[120];
	LwBytes		bytes = {data, size};
	LwCursor	cursor = lw_cursor(bytes);
	uint64_t	table;
	uint64_t	count;
	uint64_t	i;

	if (size < 168)
		return;
	cursor.at = 40;
	lw_take_u64(&cursor, &table);
	lw_take_u64(&cursor, &count);
	for (i = 0; sections && i < count && table <= size - 40 && i < (size - 40 - table) / 32; i++)
	{
		uint64_t	offset;
		uint64_t	length;

		cursor.at = (size_t) (table + 32 * i + 8);
		lw_take_u64(&cursor, &offset);
		lw_take_u64(&cursor, &length);
		if (offset <= size - 40 && length <= size - 40 - offset)
		{
			section_sum(data + offset, (size_t) length, sum);
			memcpy(data + table + 32 * i + 24, sum, 8);
		}
	}
	memcpy(header, data, 72);
	memcpy(header + 72, data + 80, 48);
	section_sum(header, sizeof(header), sum);
	memcpy(data + 72, sum, 8);
	section_sum(data, size - 40, sum);
	memcpy(data + size - 32, sum, sizeof(sum));
}

static inline void
section_align(LwBuffer *out)
{
	while (out->size % 64 != 0)
		lw_put_u8(out, 0);
}

/* Appends a whole file to an empty buffer. */
static inline void
section_write(LwBuffer *out, const char *manifest, uint32_t dimension, uint64_t chunks, uint64_t rows,
			  const SectionInput *sections, size_t count)
{
	size_t		manifest_size = strlen(manifest);
	size_t		offset = 128 + 32 * count + manifest_size;
	size_t		end = offset;
	size_t		i;

	for (i = 0; i < count; i++)
		end = (end + 63) / 64 * 64 + sections[i].stored.size;
	lw_put_bytes(out, "URNA\1\0\0\0\0\0\0\0", 12);
	lw_put_u32(out, dimension);
	lw_put_u64(out, chunks);
	lw_put_u64(out, rows);
	lw_put_u64(out, end + 40);
	lw_put_u64(out, 128);
	lw_put_u64(out, count);
	lw_put_u64(out, 128 + 32 * count);
	lw_put_u64(out, manifest_size);
	while (out->size < 128)
		lw_put_u8(out, 0);
	for (i = 0; i < count; i++)
	{
		offset = (offset + 63) / 64 * 64;
		lw_put_u32(out, sections[i].id);
		lw_put_u32(out, sections[i].encoding);
		lw_put_u64(out, offset);
		lw_put_u64(out, sections[i].stored.size);
		lw_put_u64(out, 0);
		offset += sections[i].stored.size;
	}
	lw_put_bytes(out, manifest, manifest_size);
	for (i = 0; i < count; i++)
	{
		section_align(out);
		lw_put_bytes(out, sections[i].stored.data, sections[i].stored.size);
	}
	lw_put_u64(out, 40);
	for (i = 0; i < 4; i++)
		lw_put_u64(out, 0);
	if (out->failed)
		abort();
	section_seal(out->data, out->size, true);
}

#endif							/* LW_UNIT_SECTION_H */
