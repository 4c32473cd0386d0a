/*-------------------------------------------------------------------------
 *
 * payload.c
 *	  Sections by id: their stored bytes, and what these decode to.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "section/parts.h"
#include "section/repack.h"

const LwSectionEntry *
lw_section_find(const LwSectionFile *file, uint32_t id)
{
	size_t		i;

	for (i = 0; i < file->nentries; i++)
		if (file->entries[i].id == id)
			return &file->entries[i];
	return NULL;
}

const char *
lw_section_name(uint32_t id)
{
	switch (id)
	{
		case LW_SECTION_CHUNK_IDS:
			return "chunk_ids";
		case LW_SECTION_TEXTS:
			return "chunks_canonical";
		case LW_SECTION_SPANS:
			return "chunks_original_spans";
		case LW_SECTION_EMBEDDINGS:
			return "embeddings";
		case LW_SECTION_PROVENANCE:
			return "provenance";
		case LW_SECTION_CONTRACT:
			return "search_contract";
		case LW_SECTION_HNSW:
			return "hnsw_index";
		case LW_SECTION_BM25:
			return "bm25_index";
		case LW_SECTION_GRAPH:
			return "graph_adjacency";
		case LW_SECTION_BLOB_REFS:
			return "blob_refs";
		case LW_SECTION_SPACES:
			return "space_table";
		case LW_SECTION_OVERLAY:
			return "blob_span_overlay";
		case LW_SECTION_BLOB_DATA:
			return "blob_data";
	}
	if (id >= LW_SECTION_BANDS && id < LW_SECTION_BANDS + LW_BANDS)
		return "space_embeddings";
	if (id >= LW_SECTION_BANDS_FP && id < LW_SECTION_BANDS_FP + LW_BANDS)
		return "space_embeddings_fp";
	return "unknown";
}

const char *
lw_section_encoding_name(uint32_t encoding)
{
	switch (encoding)
	{
		case LW_ENCODING_RAW:
			return "raw";
		case LW_ENCODING_ZSTD:
			return "zstd";
		case LW_ENCODING_FLOAT16:
			return "float16";
		case LW_ENCODING_INT8:
			return "int8";
		case LW_ENCODING_INTPACK:
			return "intpack";
		case LW_ENCODING_INT4:
			return "int4";
		default:
			return "unknown";
	}
}

/* Adds bytes to a sum, asking to stop in between. */
LwStatus
lw_section_hash_bytes(const LwSectionFile *file, LwSha256 *hash, LwBytes bytes, LwError *error)
{
	size_t		done;
	size_t		size;

	for (done = 0; done < bytes.size; done += size)
	{
		size = bytes.size - done < LW_STOP_BYTES ? bytes.size - done : LW_STOP_BYTES;
		lw_sha256_add(hash, bytes.data + done, size);
		if (size == LW_STOP_BYTES && lw_stop_asked(file->parts->stop))
			return lw_section_cancelled(error);
	}
	return LW_OK;
}

LwStatus
lw_section_sum(const LwSectionFile *file, LwBytes bytes, uint8_t sum[LW_SHA256_SIZE], LwError *error)
{
	LwSha256	hash;
	LwStatus	status;

	lw_sha256_begin(&hash);
	status = lw_section_hash_bytes(file, &hash, bytes, error);
	if (status == LW_OK)
		status = lw_sha256_sum(&hash, sum, error);
	else
		lw_sha256_free(&hash);
	return status;
}

LwBytes
lw_entry_bytes(const LwSectionFile *file, const LwSectionEntry *entry)
{
	LwBytes		bytes = {file->bytes.data + entry->offset, (size_t) entry->size};

	return bytes;
}

/* Compares an entry's checksum, unless that was done before. */
LwStatus
lw_entry_check(LwSectionFile *file, const LwSectionEntry *entry, LwError *error)
{
	bool	   *checked = &file->parts->checked[entry - file->entries];
	uint8_t		sum[LW_SHA256_SIZE];
	LwStatus	status;

	if (*checked)
		return LW_OK;
	status = lw_section_sum(file, lw_entry_bytes(file, entry), sum, error);
	if (status != LW_OK)
		return status;
	if (memcmp(sum, entry->checksum, LW_SHORT_SUM_SIZE) != 0)
		return lw_fail(error, LW_MALFORMED, "SectionChecksumMismatch", (int64_t) entry->offset,
					   "the checksum of the section's bytes", "another one of section 0x%02x", entry->id);
	*checked = true;
	if (entry->size >= LW_LEARNED_BYTES)
		lw_section_learned(file);
	return LW_OK;
}

/* The first entry with an id, with its checksum checked. */
static LwStatus
find_checked(LwSectionFile *file, uint32_t id, const LwSectionEntry **entry, LwError *error)
{
	*entry = lw_section_find(file, id);
	if (*entry == NULL)
		return lw_fail(error, LW_MALFORMED, "SectionNotFound", -1, "a section that is there",
					   "no section 0x%02x", id);
	return lw_entry_check(file, *entry, error);
}

LwStatus
lw_section_stored(LwSectionFile *file, uint32_t id, LwBytes *stored, LwError *error)
{
	const LwSectionEntry *entry;

	if (find_checked(file, id, &entry, error) != LW_OK)
		return lw_section_failed(file, error);
	*stored = lw_entry_bytes(file, entry);
	return LW_OK;
}

static LwStatus
decode_zstd(LwBytes stored, LwBuffer *out, LwError *error)
{
	LwZstdReader reader;
	LwStatus	status = lw_zstd_reader_init(&reader, NULL, error);

	if (status != LW_OK)
		return status;
	status = lw_zstd_decode(&reader, stored, out, error);
	lw_zstd_reader_free(&reader);
	return status;
}

/* Opens text streams: V1, V2 or V3, by their encoding. */
LwStatus
lw_streams_open(LwSectionFile *file, LwBytes stored, uint32_t encoding, LwTexts *texts, LwError *error)
{
	LwBytes		dictionary;
	const LwBytes *given = NULL;
	LwTextKind	kind = encoding == LW_ENCODING_STREAMS ? LW_TEXT_FRAMES :
		encoding == LW_ENCODING_FSST ? LW_TEXT_SYMBOLS : LW_TEXT_DICTIONARY;

	if (kind == LW_TEXT_DICTIONARY && lw_section_find(file, LW_SECTION_DICTIONARY) != NULL)
	{
		if (lw_section_stored(file, LW_SECTION_DICTIONARY, &dictionary, error) != LW_OK)
			return error->status;
		given = &dictionary;
	}
	return lw_texts_open(stored, kind, given, texts, error);
}

static LwStatus
decode_streams(LwSectionFile *file, LwBytes stored, uint32_t encoding, LwBuffer *out, LwError *error)
{
	LwTexts		texts;
	LwStatus	status = lw_streams_open(file, stored, encoding, &texts, error);

	if (status != LW_OK)
		return status;
	status = lw_texts_decode(&texts, out, error);
	lw_texts_close(&texts);
	return status;
}

/* Decodes stored bytes that are not the payload itself. */
static LwStatus
decode(LwSectionFile *file, const LwSectionEntry *entry, LwBuffer *out, LwError *error)
{
	LwBytes		stored = lw_entry_bytes(file, entry);

	switch (entry->encoding)
	{
		case LW_ENCODING_ZSTD:
			return decode_zstd(stored, out, error);
		case LW_ENCODING_INTPACK:
			return lw_repack_decode(stored, LW_ANY_COUNT, out, error);
		case LW_ENCODING_ZSTD_DICT:
			if (entry->id != LW_SECTION_TEXTS)
				break;
			/* FALLTHROUGH */
		case LW_ENCODING_FSST:
		case LW_ENCODING_STREAMS:
			return decode_streams(file, stored, entry->encoding, out, error);
	}
	return lw_fail(error, LW_MALFORMED, "UnsupportedSectionEncoding", -1,
				   "an encoding that can be decoded", "encoding %u", entry->encoding);
}

/* Whether the stored bytes are the payload. */
static bool
is_stored_raw(const LwSectionEntry *entry)
{
	return entry->encoding == LW_ENCODING_RAW || entry->encoding == LW_ENCODING_FLOAT16 ||
		entry->encoding == LW_ENCODING_INT8 || entry->encoding == LW_ENCODING_INT4;
}

/* Gives back the room that a buffer which is kept does not need. */
static void
give_back(LwBuffer *buffer)
{
	uint8_t    *data = buffer->size == 0 ? NULL : realloc(buffer->data, buffer->size);

	if (data == NULL)
		return;
	buffer->data = data;
	buffer->room = buffer->size;
}

static LwStatus
read_payload(LwSectionFile *file, uint32_t id, LwBytes *payload, LwError *error)
{
	LwBuffer	buffer;
	const LwSectionEntry *entry;
	LwStatus	status = find_checked(file, id, &entry, error);

	if (status != LW_OK)
		return status;
	if (is_stored_raw(entry))
	{
		*payload = lw_entry_bytes(file, entry);
		return LW_OK;
	}
	status = lw_section_buffer(file, &buffer, error);
	if (status != LW_OK)
		return status;
	status = decode(file, entry, &buffer, error);
	if (status == LW_OK)
		status = lw_buffer_status(&buffer, error);
	if (status == LW_OK)
		status = lw_section_hold(file, buffer.size, error);
	if (status != LW_OK)
	{
		lw_buffer_free(&buffer);
		return lw_section_of(error, id);
	}
	give_back(&buffer);
	file->parts->payloads[id].buffer = buffer;
	*payload = lw_buffer_bytes(&buffer);
	return LW_OK;
}

LwStatus
lw_section_payload(LwSectionFile *file, uint32_t id, LwBytes *payload, LwError *error)
{
	LwSectionParts *parts = file->parts;

	if (id >= LW_PAYLOADS)
		return lw_section_stored(file, id, payload, error);
	if (!parts->payloads[id].known)
	{
		if (read_payload(file, id, &parts->payloads[id].bytes, error) != LW_OK)
			return lw_section_failed(file, error);
		parts->payloads[id].known = true;
	}
	*payload = parts->payloads[id].bytes;
	return LW_OK;
}

LwStatus
lw_section_contract(LwSectionFile *file, LwError *error)
{
	LwBytes		payload;
	LwStatus	status;

	if (file->parts->contract_checked)
		return LW_OK;
	status = lw_section_payload(file, LW_SECTION_CONTRACT, &payload, error);
	if (status == LW_OK)
		status = lw_section_contract_check(payload, &file->manifest, error);
	file->parts->contract_checked = status == LW_OK;
	return status == LW_OK ? LW_OK : lw_section_failed(file, error);
}
