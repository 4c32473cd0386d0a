/*-------------------------------------------------------------------------
 *
 * texts.c
 *	  Texts of chunks, one at a time.
 *
 * Texts that are streams are decoded when they are asked for; those of one
 * zstd frame are decoded together and kept.  Either may be a pool of distinct
 * texts, which is never expanded.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "section/dedup.h"
#include "section/parts.h"

static bool
are_streams(uint32_t encoding)
{
	return encoding == LW_ENCODING_STREAMS || encoding == LW_ENCODING_ZSTD_DICT ||
		encoding == LW_ENCODING_FSST;
}

static LwStatus
load_streams(LwSectionFile *file, const LwSectionEntry *entry, LwTextParts *texts, LwError *error)
{
	LwBytes		stored;
	LwStatus	status = lw_section_stored(file, LW_SECTION_TEXTS, &stored, error);

	if (status == LW_OK)
		status = lw_streams_open(file, stored, entry->encoding, &texts->streams, error);
	if (status != LW_OK)
		return status;
	texts->streamed = true;
	texts->count = texts->streams.count;
	return LW_OK;
}

/* A list that must have as many texts as there are chunks, unless it is a pool. */
static LwStatus
load_list(LwSectionFile *file, LwTextParts *texts, LwError *error)
{
	LwBytes		payload;
	LwStatus	status = lw_section_payload(file, LW_SECTION_TEXTS, &payload, error);

	if (status != LW_OK)
		return status;
	texts->count = file->rows;
	if (texts->repeated)
		status = lw_list_count(payload, &texts->count, error);
	if (status == LW_OK)
		status = lw_section_hold(file, texts->count * sizeof(LwBytes), error);
	if (status != LW_OK)
		return status;
	status = lw_strings_decode(payload, texts->count, &texts->strings, error);
	if (status != LW_OK)
		lw_section_free(file, NULL, texts->count * sizeof(LwBytes));
	return status;
}

static LwStatus
load(LwSectionFile *file, LwTextParts *texts, LwError *error)
{
	const LwSectionEntry *entry = lw_section_find(file, LW_SECTION_TEXTS);
	LwBytes		map;
	LwStatus	status;

	texts->repeated = lw_section_find(file, LW_SECTION_DEDUP) != NULL;
	status = are_streams(entry->encoding) ? load_streams(file, entry, texts, error) :
		load_list(file, texts, error);
	if (status != LW_OK)
		return lw_section_of(error, LW_SECTION_TEXTS);
	if (!texts->repeated)
		return LW_OK;
	status = lw_section_stored(file, LW_SECTION_DEDUP, &map, error);
	if (status == LW_OK)
		status = lw_dedup_open(map, &texts->references, error);
	if (status != LW_OK)
		return lw_section_of(error, LW_SECTION_DEDUP);

	/* A few bytes can name a long text millions of times. */
	if (texts->references.count != file->manifest.n_chunks)
		return lw_section_bad_count(error, LW_SECTION_DEDUP, file->manifest.n_chunks, texts->references.count);
	return LW_OK;
}

LwStatus
lw_texts_load(LwSectionFile *file, LwError *error)
{
	LwTextParts *texts = &file->parts->texts;

	if (texts->known)
		return LW_OK;
	if (load(file, texts, error) != LW_OK)
	{
		if (texts->strings != NULL)
			lw_section_free(file, NULL, texts->count * sizeof(LwBytes));
		lw_texts_free(texts);
		return error->status;
	}
	texts->known = true;
	return LW_OK;
}

void
lw_texts_free(LwTextParts *texts)
{
	const LwTextParts none = {0};

	if (texts->streamed)
		lw_texts_close(&texts->streams);
	free(texts->strings);
	lw_buffer_free(&texts->text);
	*texts = none;
}

size_t
lw_texts_count(const LwSectionFile *file)
{
	const LwTextParts *texts = &file->parts->texts;

	return texts->repeated ? texts->references.count : texts->count;
}

/* Decodes a stream into the handle's buffer. */
static LwStatus
fetch_stream(LwSectionFile *file, size_t number, LwBytes *text, LwError *error)
{
	LwTextParts *texts = &file->parts->texts;
	LwStatus	status;

	lw_buffer_free(&texts->text);
	status = lw_section_buffer(file, &texts->text, error);
	if (status == LW_OK)
		status = lw_texts_get(&texts->streams, number, &texts->text, error);
	if (status == LW_OK)
		status = lw_buffer_status(&texts->text, error);
	if (status != LW_OK)
		return lw_section_of(error, LW_SECTION_TEXTS);
	*text = lw_buffer_bytes(&texts->text);
	if (text->size == 0)
		text->data = (const uint8_t *) "";
	return LW_OK;
}

LwStatus
lw_texts_fetch(LwSectionFile *file, size_t ordinal, LwBytes *text, LwError *error)
{
	LwTextParts *texts = &file->parts->texts;
	uint64_t	number = ordinal;

	if (texts->repeated &&
		lw_dedup_get(&texts->references, (uint32_t) ordinal, texts->count, &number, error) != LW_OK)
		return lw_section_of(error, LW_SECTION_DEDUP);
	if (texts->streamed)
		return fetch_stream(file, (size_t) number, text, error);
	*text = texts->strings[number];
	return LW_OK;
}

LwStatus
lw_chunk_text(LwSectionFile *file, size_t ordinal, LwBytes *text, LwError *error)
{
	LwStatus	status = lw_ordinal_check(file, ordinal, error);

	if (status == LW_OK)
		status = lw_texts_load(file, error);
	if (status == LW_OK && lw_texts_count(file) != file->rows)
		status = lw_section_bad_count(error, LW_SECTION_TEXTS, file->rows, lw_texts_count(file));
	if (status == LW_OK)
		status = lw_texts_fetch(file, ordinal, text, error);
	return status == LW_OK ? LW_OK : lw_section_failed(file, error);
}
