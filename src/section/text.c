/*-------------------------------------------------------------------------
 *
 * text.c
 *	  Texts as streams.
 *
 * A payload is: u8 kind; u64 count; an integer list of count + 1 offsets; the
 * streams.  Of symbols (V3) a u32 size and the table come before the streams.
 * The list is as long as the writer would have made it.
 *
 *-------------------------------------------------------------------------
 */
#include "section/text.h"

#include <stdlib.h>

#include "section/lists.h"

/*
 * Reads all offsets: they begin with 0 and do not descend.  Returns the last,
 * and how long the writer would have made the list.
 */
static LwStatus
check_offsets(const LwIntpack *offsets, uint64_t *last, uint64_t *size, LwError *error)
{
	uint32_t	first;
	uint32_t	length;

	*last = 0;
	*size = 2 * sizeof(uint32_t);
	for (first = 0; first < offsets->count; first += length)
	{
		uint64_t	values[LW_INTPACK_BLOCK];
		LwStatus	status;
		uint32_t	i;

		length = offsets->count - first;
		if (length > LW_INTPACK_BLOCK)
			length = LW_INTPACK_BLOCK;
		status = lw_intpack_read(offsets, first, length, values, error);
		if (status != LW_OK)
			return status;
		if (first == 0 && values[0] != 0)
			return lw_malformed(error, "texts whose first offset is 0", values[0]);
		for (i = 0; i < length; i++)
		{
			if (values[i] < *last)
				return lw_malformed(error, "offsets of texts that do not descend", values[i]);
			*last = values[i];
		}
		*size += lw_intpack_size(values, length) - 2 * sizeof(uint32_t);
	}
	return LW_OK;
}

/* Takes the symbol table that comes before the streams of V3. */
static LwStatus
take_table(LwCursor *region, LwFsst *table, LwError *error)
{
	uint32_t	size;
	size_t		start;
	LwStatus	status;

	if (!lw_take_u32(region, &size))
		return lw_malformed(error, "a symbol table before the texts", lw_cursor_left(region));
	start = region->at;
	status = lw_take_fsst(region, table, error);
	if (status == LW_OK && region->at - start != size)
		status = lw_malformed(error, "a symbol table of the size that is stated", size);
	return status;
}

/* Opens all but the reader. */
static LwStatus
open_streams(LwBytes payload, LwTexts *texts, LwError *error)
{
	LwCursor	cursor = lw_cursor(payload);
	uint8_t		kind;
	uint64_t	count;
	uint64_t	last;
	uint64_t	size;
	LwBytes		rest;
	LwStatus	status;

	if (!lw_take_u8(&cursor, &kind) || kind != texts->kind)
		return lw_malformed(error, "texts of the kind that their encoding says",
							payload.size > 0 ? kind : 0);
	if (!lw_take_u64(&cursor, &count))
		return lw_malformed(error, "a number of texts", payload.size);
	rest.data = cursor.data + cursor.at;
	rest.size = lw_cursor_left(&cursor);
	status = lw_intpack_open(rest, &texts->offsets, error);
	if (status != LW_OK)
		return status;
	if (texts->offsets.count == 0 || count != texts->offsets.count - 1)
		return lw_malformed(error, "an offset for each text and one more", texts->offsets.count);
	texts->count = (uint32_t) count;
	status = check_offsets(&texts->offsets, &last, &size, error);
	if (status != LW_OK)
		return status;
	if (size > rest.size)
		return lw_malformed(error, "texts behind their offsets", rest.size);
	cursor.at += (size_t) size;
	if (texts->kind == LW_TEXT_SYMBOLS)
		status = take_table(&cursor, &texts->table, error);
	if (status != LW_OK)
		return status;
	if (last != lw_cursor_left(&cursor))
		return lw_malformed(error, "texts that end where the section does", last);
	lw_take_bytes(&cursor, lw_cursor_left(&cursor), &texts->streams);
	return LW_OK;
}

LwStatus
lw_texts_open(LwBytes payload, LwTextKind kind, const LwBytes *dictionary, LwTexts *texts,
			  LwError *error)
{
	LwStatus	status;

	texts->kind = kind;
	texts->reader.context = NULL;
	texts->reader.dictionary = NULL;
	lw_buffer_init(&texts->reader.stored, 0);
	if (kind == LW_TEXT_DICTIONARY && dictionary == NULL)
		return lw_malformed(error, "a dictionary (section 10)", 0);
	status = open_streams(payload, texts, error);
	if (status == LW_OK && kind != LW_TEXT_SYMBOLS)
		status = lw_zstd_reader_init(&texts->reader,
									 kind == LW_TEXT_DICTIONARY ? dictionary : NULL, error);
	return status;
}

void
lw_texts_close(LwTexts *texts)
{
	lw_zstd_reader_free(&texts->reader);
}

/* Appends the text of the stream between two offsets. */
static LwStatus
decode_stream(LwTexts *texts, uint64_t start, uint64_t end, LwBuffer *text, LwError *error)
{
	size_t		before = text->size;
	LwBytes		stream;
	LwBytes		decoded;
	LwStatus	status;

	if (start > end || end > texts->streams.size)
		return lw_malformed(error, "texts within the section", end);
	stream.data = texts->streams.data + start;
	stream.size = (size_t) (end - start);
	if (texts->kind == LW_TEXT_SYMBOLS)
		status = lw_fsst_decode(&texts->table, stream, text, error);
	else
		status = lw_zstd_decode(&texts->reader, stream, text, error);
	if (status != LW_OK)
		return status;
	decoded.data = text->data + before;
	decoded.size = text->size - before;
	return lw_check_utf8(decoded, "texts in UTF-8", error);
}

LwStatus
lw_texts_get(LwTexts *texts, size_t index, LwBuffer *text, LwError *error)
{
	uint64_t	offsets[2];
	LwStatus	status;

	if (index >= texts->count)
		return lw_malformed(error, "a text for each chunk", texts->count);
	status = lw_intpack_read(&texts->offsets, (uint32_t) index, 2, offsets, error);
	if (status != LW_OK)
		return status;
	return decode_stream(texts, offsets[0], offsets[1], text, error);
}

/* Appends one text with its size before it. */
static LwStatus
decode_entry(LwTexts *texts, uint64_t start, uint64_t end, LwBuffer *payload, LwError *error)
{
	size_t		before = payload->size;
	size_t		size;
	int			i;
	LwStatus	status;

	lw_put_u32(payload, 0);
	status = lw_buffer_status(payload, error);
	if (status == LW_OK)
		status = decode_stream(texts, start, end, payload, error);
	if (status != LW_OK)
		return status;
	size = payload->size - before - sizeof(uint32_t);
	if (size > UINT32_MAX)
		return lw_malformed(error, "texts of less than 4 GiB", size);
	for (i = 0; i < 4; i++)
		payload->data[before + i] = (uint8_t) (size >> 8 * i);
	return LW_OK;
}

LwStatus
lw_texts_decode(LwTexts *texts, LwBuffer *payload, LwError *error)
{
	uint64_t	start = 0;
	uint32_t	first;
	uint32_t	length;

	lw_put_list_header(payload, texts->count);
	for (first = 0; first < texts->count; first += length)
	{
		uint64_t	ends[LW_INTPACK_BLOCK];
		LwStatus	status;
		uint32_t	i;

		length = texts->count - first;
		if (length > LW_INTPACK_BLOCK)
			length = LW_INTPACK_BLOCK;
		status = lw_intpack_read(&texts->offsets, first + 1, length, ends, error);
		for (i = 0; status == LW_OK && i < length; i++)
		{
			status = decode_entry(texts, start, ends[i], payload, error);
			start = ends[i];
		}
		if (status != LW_OK)
			return status;
	}
	return lw_buffer_status(payload, error);
}

/* Writes the streams of all texts, and where each ends. */
static LwStatus
encode_frames(const LwBytes *texts, size_t count, const LwBytes *dictionary, const LwStop *stop,
			  LwBuffer *streams, uint64_t *ends, LwError *error)
{
	LwZstdWriter writer;
	LwStatus	status = lw_zstd_writer_init(&writer, dictionary, error);
	size_t		i;

	if (status != LW_OK)
		return status;
	writer.stop = stop;
	for (i = 0; status == LW_OK && i < count; i++)
	{
		status = lw_zstd_encode(&writer, texts[i], streams, error);
		ends[i] = streams->size;
	}
	lw_zstd_writer_free(&writer);
	return status;
}

/* The same of V3; the table is in the streams' buffer first, but not counted. */
static LwStatus
encode_symbols(const LwBytes *texts, size_t count, const LwStop *stop, LwBuffer *streams,
			   uint64_t *ends, LwError *error)
{
	LwFsst		table;
	LwFsstEncoder encoder;
	LwBuffer	written;
	size_t		before;
	size_t		i;
	LwStatus	status = lw_fsst_build(texts, count, stop, &table, error);

	if (status != LW_OK)
		return status;
	lw_buffer_init(&written, 0);
	lw_put_fsst(&written, &table);
	lw_put_string(streams, lw_buffer_bytes(&written));
	status = lw_buffer_status(&written, error);
	lw_buffer_free(&written);
	before = streams->size;
	lw_fsst_encoder_init(&encoder, &table);
	for (i = 0; status == LW_OK && i < count; i++)
	{
		lw_fsst_encode(&encoder, texts[i], streams);
		ends[i] = streams->size - before;
		status = lw_buffer_status(streams, error);
	}
	return status;
}

LwStatus
lw_texts_encode(LwTextKind kind, const LwBytes *texts, size_t count, LwBytes dictionary,
				const LwStop *stop, LwBuffer *payload, LwError *error)
{
	uint64_t   *offsets = calloc(count + 1, sizeof(uint64_t));
	LwBuffer	streams;
	LwStatus	status;

	if (offsets == NULL)
		return lw_no_memory(error);
	lw_buffer_init(&streams, payload->limit);
	if (kind == LW_TEXT_SYMBOLS)
		status = encode_symbols(texts, count, stop, &streams, offsets + 1, error);
	else
		status = encode_frames(texts, count, kind == LW_TEXT_DICTIONARY ? &dictionary : NULL,
							   stop, &streams, offsets + 1, error);
	if (status == LW_OK)
	{
		lw_put_u8(payload, (uint8_t) kind);
		lw_put_u64(payload, count);
		lw_put_intpack(payload, offsets, count + 1);
		lw_put_bytes(payload, streams.data, streams.size);
		status = lw_buffer_status(payload, error);
	}
	lw_buffer_free(&streams);
	free(offsets);
	return status;
}
