/*-------------------------------------------------------------------------
 *
 * slab.c
 *	  Sizes and layouts of slabs, and whether all their values are finite.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "section/parts.h"

#define PREFIX 8				/* version and kind of scale, of int8 and int4 */
#define SLAB_VERSION 1

/* Values that are looked at before somebody is asked whether to stop. */
#define SLICE (LW_STOP_BYTES / sizeof(float))

const char *
lw_vector_type_name(LwVectorType type)
{
	static const char *const names[LW_VECTOR_TYPES] = {"float32", "float16", "int8", "int4"};

	return names[type];
}

uint32_t
lw_vector_encoding(LwVectorType type)
{
	static const uint32_t encodings[LW_VECTOR_TYPES] = {
		LW_ENCODING_RAW, LW_ENCODING_FLOAT16, LW_ENCODING_INT8, LW_ENCODING_INT4
	};

	return encodings[type];
}

/* a * b + c, or false when that overflows. */
static bool
multiply_add(uint64_t a, uint64_t b, uint64_t c, uint64_t *result)
{
	return !__builtin_mul_overflow(a, b, result) && !__builtin_add_overflow(*result, c, result);
}

/* Bytes of all scales, which lie between prefix and codes. */
static bool
scales_size(LwVectorType type, uint64_t rows, uint32_t dimension, uint64_t *size)
{
	switch (type)
	{
		case LW_VECTOR_INT8:
			return multiply_add(rows, sizeof(float), 0, size);
		case LW_VECTOR_INT4:
			return multiply_add(rows, (uint64_t) dimension / LW_INT4_BLOCK * sizeof(uint16_t), 0, size);
		default:
			*size = 0;
			return true;
	}
}

LwStatus
lw_slab_size(LwVectorType type, uint64_t rows, uint32_t dimension, uint64_t *size, LwError *error)
{
	static const uint8_t half_bytes[LW_VECTOR_TYPES] = {8, 4, 2, 1};
	uint64_t	prefix = type == LW_VECTOR_INT8 || type == LW_VECTOR_INT4 ? PREFIX : 0;
	uint64_t	scales;

	if ((type == LW_VECTOR_INT4 && dimension % LW_INT4_BLOCK != 0) ||
		!scales_size(type, rows, dimension, &scales) ||
		__builtin_add_overflow(scales, prefix, &scales) ||
		!multiply_add(rows, (uint64_t) dimension * half_bytes[type] / 2, scales, size))
		return lw_fail(error, LW_MALFORMED, "UnsupportedDType", -1, "vectors of a size that can be",
					   "%llu x %u of %s", (unsigned long long) rows, dimension, lw_vector_type_name(type));
	return LW_OK;
}

LwStatus
lw_slab_bad_size(LwError *error, uint32_t id, uint64_t expected, uint64_t found)
{
	return lw_fail(error, LW_MALFORMED, "EmbeddingSizeMismatch", -1, "as many bytes as the vectors have",
				   "%llu instead of %llu in section 0x%02x", (unsigned long long) found,
				   (unsigned long long) expected, id);
}

/* Checks the prefix of int8 and int4; messages name section 0x04 for every slab, as the reference does. */
static LwStatus
check_prefix(LwBytes bytes, LwVectorType type, LwError *error)
{
	LwCursor	cursor = lw_cursor(bytes);
	uint32_t	version = 0;
	uint32_t	kind = 0;

	lw_take_u32(&cursor, &version);
	lw_take_u32(&cursor, &kind);
	if (version != SLAB_VERSION)
		return lw_section_bad_version(error, LW_SECTION_EMBEDDINGS, version);
	if (kind != (type == LW_VECTOR_INT8 ? 0 : 1))
		return lw_section_malformed(error, LW_SECTION_EMBEDDINGS, "scale_kind 0 for int8, 1 for int4",
									"another one");
	return LW_OK;
}

/* Where codes and scales lie in the bytes of a slab. */
LwStatus
lw_slab_describe(LwBytes bytes, LwVectorType type, size_t rows, uint32_t dimension,
				 LwVectorSlab *slab, LwError *error)
{
	uint64_t	size;
	uint64_t	scales;
	LwStatus	status;

	/* Only a band can be so: that of 0x04 has a dimension, and a size, by now. */
	if (type == LW_VECTOR_INT4 && dimension == 0)
		return lw_section_malformed(error, LW_SECTION_EMBEDDINGS, "a dimension of whole blocks", "0");
	status = lw_slab_size(type, rows, dimension, &size, error);
	if (status == LW_OK && size != bytes.size)
		return lw_slab_bad_size(error, LW_SECTION_EMBEDDINGS, size, bytes.size);
	if (status != LW_OK)
		return status;
	memset(slab, 0, sizeof(*slab));
	slab->type = type;
	slab->dimension = dimension;
	slab->rows = rows;
	slab->codes = bytes.data;
	if (type != LW_VECTOR_INT8 && type != LW_VECTOR_INT4)
		return LW_OK;
	scales_size(type, rows, dimension, &scales);
	slab->scales = bytes.data + PREFIX;
	slab->codes = bytes.data + PREFIX + scales;
	return check_prefix(bytes, type, error);
}

static LwStatus
not_finite(LwError *error, uint32_t id)
{
	return lw_fail(error, LW_MALFORMED, "InvalidEmbeddingValue", -1, "finite values and scales",
				   "an infinite one or none in section 0x%02x", id);
}

/* Whether float32 values, at any alignment, are all finite. */
static bool
words_finite(const uint8_t *bytes, size_t count)
{
	uint32_t	bad = 0;
	size_t		i;

	for (i = 0; i < count; i++)
	{
		uint32_t	word;

		memcpy(&word, bytes + 4 * i, sizeof(word));
		bad |= (word & 0x7f800000) == 0x7f800000;
	}
	return bad == 0;
}

/* The same for float16. */
static bool
halves_finite(const uint8_t *bytes, size_t count)
{
	uint32_t	bad = 0;
	size_t		i;

	for (i = 0; i < count; i++)
	{
		uint16_t	half;

		memcpy(&half, bytes + 2 * i, sizeof(half));
		bad |= (half & 0x7c00) == 0x7c00;
	}
	return bad == 0;
}

static LwStatus
check_finite(const LwSectionFile *file, const uint8_t *bytes, size_t count, size_t size, uint32_t id,
			 LwError *error)
{
	size_t		done;
	size_t		part;

	for (done = 0; done < count; done += part)
	{
		part = count - done < SLICE ? count - done : SLICE;
		if (!(size == sizeof(float) ? words_finite : halves_finite) (bytes + done * size, part))
			return not_finite(error, id);
		if (part == SLICE && lw_stop_asked(file->parts->stop))
			return lw_section_cancelled(error);
	}
	return LW_OK;
}

LwStatus
lw_values_check(const LwSectionFile *file, const LwSectionEntry *entry, uint32_t dimension, LwError *error)
{
	LwBytes		bytes = lw_entry_bytes(file, entry);
	LwVectorType type = entry->encoding == LW_ENCODING_INT8 ? LW_VECTOR_INT8 : LW_VECTOR_INT4;
	LwVectorSlab slab;
	LwStatus	status;

	if (entry->encoding == LW_ENCODING_RAW)
		return check_finite(file, bytes.data, bytes.size / sizeof(float), sizeof(float), entry->id, error);
	if (entry->encoding == LW_ENCODING_FLOAT16)
		return check_finite(file, bytes.data, bytes.size / sizeof(uint16_t), sizeof(uint16_t), entry->id, error);
	status = lw_slab_describe(bytes, type, file->rows, dimension, &slab, error);
	if (status != LW_OK)
		return status;
	if (type == LW_VECTOR_INT8)
		return check_finite(file, slab.scales, slab.rows, sizeof(float), entry->id, error);
	return check_finite(file, slab.scales, slab.rows * (dimension / LW_INT4_BLOCK), sizeof(uint16_t),
						entry->id, error);
}
