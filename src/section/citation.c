/*-------------------------------------------------------------------------
 *
 * citation.c
 *	  The hashes that name a section file, and citations of its chunks.
 *
 *-------------------------------------------------------------------------
 */
#include "section/citation.h"

#include <string.h>

#include "section/parts.h"

#define SCHEME "urna://"
#define HASH_PREFIX "sha256:"

/* Version and count of a raw payload, and the length of each of its strings. */
#define LIST_VERSION 1
#define STRING_HEADER 4

static LwStatus
file_hash(LwSectionFile *file, LwError *error)
{
	char	   *hash = file->parts->file_hash;
	uint8_t		sum[LW_SHA256_SIZE];
	LwStatus	status;

	if (hash[0] != '\0')
		return LW_OK;
	status = lw_section_sum(file, file->bytes, sum, error);
	if (status == LW_OK)
		status = lw_section_intact(file, error);
	if (status == LW_OK)
	{
		lw_text_hash(sum, hash);
		lw_section_learned(file);
	}
	return status;
}

LwStatus
lw_section_file_hash(LwSectionFile *file, char hash[LW_TEXT_HASH_SIZE + 1], LwError *error)
{
	if (file_hash(file, error) != LW_OK)
		return lw_section_failed(file, error);
	memcpy(hash, file->parts->file_hash, LW_TEXT_HASH_SIZE + 1);
	return LW_OK;
}

/* Adds a payload's name and length. */
static void
add_header(LwSha256 *hash, uint32_t id, uint64_t size)
{
	const char *name = lw_section_name(id);

	lw_sha256_add_u32(hash, (uint32_t) strlen(name));
	lw_sha256_add(hash, name, strlen(name));
	lw_sha256_add_u64(hash, size);
}

/*
 * Adds texts as the raw payload that they would be, without making it: reads
 * them once for the payload's size and once for its bytes.
 */
static LwStatus
add_texts(LwSectionFile *file, LwSha256 *hash, LwError *error)
{
	size_t		count = lw_texts_count(file);
	uint64_t	size = LW_LIST_HEADER;
	size_t		unasked = 0;
	LwBytes		text;
	size_t		i;
	int			pass;
	LwStatus	status;

	for (pass = 0; pass < 2; pass++)
	{
		if (pass == 1)
		{
			add_header(hash, LW_SECTION_TEXTS, size);
			lw_sha256_add_u32(hash, LIST_VERSION);
			lw_sha256_add_u64(hash, count);
		}
		for (i = 0; i < count; i++)
		{
			status = lw_texts_fetch(file, i, &text, error);
			if (status != LW_OK)
				return status;
			if (pass == 0)
				size += STRING_HEADER + (uint64_t) text.size;
			else
			{
				lw_sha256_add_u32(hash, (uint32_t) text.size);
				lw_sha256_add(hash, text.data, text.size);
			}
			unasked += text.size + LW_STOP_ENTRY;
			if (unasked > LW_STOP_BYTES)
			{
				unasked = 0;
				if (lw_stop_asked(file->parts->stop))
					return lw_section_cancelled(error);
			}
		}
	}
	return LW_OK;
}

/* Whether the texts' raw payload is not what section 0x02 decodes to, or is not kept. */
static bool
texts_are_apart(const LwSectionFile *file)
{
	switch (lw_section_find(file, LW_SECTION_TEXTS)->encoding)
	{
		case LW_ENCODING_ZSTD_DICT:
		case LW_ENCODING_FSST:
		case LW_ENCODING_STREAMS:
			return true;
		default:
			return lw_section_find(file, LW_SECTION_DEDUP) != NULL;
	}
}

static LwStatus
add_section(LwSectionFile *file, LwSha256 *hash, uint32_t id, LwError *error)
{
	LwBytes		payload;
	LwStatus	status;

	if (id == LW_SECTION_TEXTS && texts_are_apart(file))
	{
		status = lw_texts_load(file, error);
		return status == LW_OK ? add_texts(file, hash, error) : status;
	}
	status = lw_section_payload(file, id, &payload, error);
	if (status != LW_OK)
		return status;
	add_header(hash, id, payload.size);
	return lw_section_hash_bytes(file, hash, payload, error);
}

static LwStatus
content_hash(LwSectionFile *file, LwError *error)
{
	char	   *text = file->parts->content_hash;
	uint8_t		sum[LW_SHA256_SIZE];
	LwSha256	hash;
	uint32_t	id;
	LwStatus	status = LW_OK;

	if (text[0] != '\0')
		return LW_OK;
	lw_sha256_begin(&hash);
	for (id = LW_SECTION_CHUNK_IDS; status == LW_OK && id <= LW_SECTION_CONTRACT; id++)
		status = add_section(file, &hash, id, error);
	if (status == LW_OK)
		status = lw_sha256_sum(&hash, sum, error);
	else
		lw_sha256_free(&hash);
	if (status == LW_OK)
		status = lw_section_intact(file, error);
	if (status == LW_OK)
	{
		lw_text_hash(sum, text);
		lw_section_learned(file);
	}
	return status;
}

LwStatus
lw_section_content_hash(LwSectionFile *file, char hash[LW_TEXT_HASH_SIZE + 1], LwError *error)
{
	if (content_hash(file, error) != LW_OK)
		return lw_section_failed(file, error);
	memcpy(hash, file->parts->content_hash, LW_TEXT_HASH_SIZE + 1);
	return LW_OK;
}

LwStatus
lw_citation_write(LwSectionFile *file, size_t ordinal, LwBuffer *citation, LwError *error)
{
	char		hash[LW_TEXT_HASH_SIZE + 1];
	LwBytes		id;
	LwStatus	status = lw_section_content_hash(file, hash, error);

	if (status == LW_OK)
		status = lw_chunk_id(file, ordinal, &id, error);
	if (status != LW_OK)
		return status;
	lw_put_bytes(citation, SCHEME, strlen(SCHEME));
	lw_put_bytes(citation, hash, LW_TEXT_HASH_SIZE);
	lw_put_u8(citation, '/');
	lw_put_bytes(citation, id.data, id.size);
	return lw_buffer_status(citation, error);
}

/* Cuts a prefix off; false when it is not there. */
static bool
cut_prefix(LwBytes *bytes, const char *prefix)
{
	size_t		size = strlen(prefix);

	if (bytes->size < size || memcmp(bytes->data, prefix, size) != 0)
		return false;
	bytes->data += size;
	bytes->size -= size;
	return true;
}

/* The bytes before the first slash. */
static LwBytes
component(LwBytes bytes)
{
	const uint8_t *slash = bytes.size == 0 ? NULL : memchr(bytes.data, '/', bytes.size);

	if (slash != NULL)
		bytes.size = (size_t) (slash - bytes.data);
	return bytes;
}

const char *
lw_citation_parse(LwBytes citation, LwBuffer *content_hash, LwBytes *chunk_id)
{
	LwBytes		left;

	if (!cut_prefix(&citation, SCHEME))
		return "it does not begin with urna://";
	left = component(citation);
	if (left.size == citation.size)
		return "it has no chunk id";
	chunk_id->data = left.data + left.size + 1;
	chunk_id->size = citation.size - left.size - 1;
	*chunk_id = component(*chunk_id);
	while (cut_prefix(&left, HASH_PREFIX))
		;
	lw_put_bytes(content_hash, HASH_PREFIX, strlen(HASH_PREFIX));
	lw_put_bytes(content_hash, left.data, left.size);
	return NULL;
}

static LwStatus
resolve(LwSectionFile *file, LwBytes citation, LwBuffer *wanted, size_t *ordinal, LwError *error)
{
	char		hash[LW_TEXT_HASH_SIZE + 1];
	LwBytes		id;
	const char *problem = lw_citation_parse(citation, wanted, &id);
	LwStatus	status;

	if (problem != NULL)
		return lw_fail(error, LW_NOT_FOUND, "CitationInvalid", -1, "urna://CONTENT_HASH/CHUNK_ID", "%s", problem);
	status = lw_buffer_status(wanted, error);
	if (status == LW_OK)
		status = lw_section_content_hash(file, hash, error);
	if (status != LW_OK)
		return status;
	if (!lw_bytes_equal(lw_buffer_bytes(wanted), hash, LW_TEXT_HASH_SIZE))
		return lw_section_bad_string(error, LW_NOT_FOUND, "CitationMismatch", "a citation of this file",
									 "content hash", lw_buffer_bytes(wanted));
	status = lw_chunk_find(file, id, ordinal, error);
	if (status == LW_OK && *ordinal == SIZE_MAX)
		return lw_section_bad_string(error, LW_NOT_FOUND, "CitationNotFound", "a chunk of this file", "chunk id", id);
	return status;
}

LwStatus
lw_citation_resolve(LwSectionFile *file, LwBytes citation, size_t *ordinal, LwError *error)
{
	LwBuffer	wanted;
	LwStatus	status;

	lw_buffer_init(&wanted, 0);
	status = resolve(file, citation, &wanted, ordinal, error);
	lw_buffer_free(&wanted);
	return status == LW_OK ? LW_OK : lw_section_failed(file, error);
}
