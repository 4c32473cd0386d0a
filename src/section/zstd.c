/*-------------------------------------------------------------------------
 *
 * zstd.c
 *	  Zstandard by libzstd.
 *
 *-------------------------------------------------------------------------
 */
#define ZSTD_STATIC_LINKING_ONLY	/* ZSTD_decompressBound */
#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "section/zstd.h"

#include <stdlib.h>
#include <string.h>

/* What is given to libzstd between two questions whether to stop. */
#define STEP ((size_t) 256 << 10)

/* Training: fewest samples, and the sizes of a dictionary. */
#define MIN_SAMPLES 8
#define MIN_DICTIONARY ((size_t) 4 << 10)
#define MAX_DICTIONARY ((size_t) 112 << 10)

/* What the trainer must have in the samples that it trains on; with less it crashes. */
#define MIN_TRAINED 8

LwStatus
lw_zstd_reader_init(LwZstdReader *reader, const LwBytes *dictionary, LwError *error)
{
	reader->dictionary = NULL;
	lw_buffer_init(&reader->stored, 0);
	reader->context = ZSTD_createDCtx();
	if (reader->context == NULL)
		return lw_no_memory(error);
	if (dictionary == NULL)
		return LW_OK;
	/* Digested from a copy, since the bytes could change while libzstd looks at them. */
	lw_put_bytes(&reader->stored, dictionary->data, dictionary->size);
	if (!reader->stored.failed)
		reader->dictionary = ZSTD_createDDict(reader->stored.data, reader->stored.size);
	if (reader->dictionary != NULL)
		return LW_OK;
	lw_zstd_reader_free(reader);
	return lw_malformed(error, "a Zstandard dictionary", dictionary->size);
}

void
lw_zstd_reader_free(LwZstdReader *reader)
{
	ZSTD_freeDCtx(reader->context);
	ZSTD_freeDDict(reader->dictionary);
	lw_buffer_free(&reader->stored);
	reader->context = NULL;
	reader->dictionary = NULL;
}

/* What `size` stored bytes may expand to. */
static uint64_t
expansion_cap(size_t size)
{
	uint64_t	cap = size <= UINT64_MAX / LW_ZSTD_RATIO ? size * (uint64_t) LW_ZSTD_RATIO : UINT64_MAX;

	return cap > LW_ZSTD_CAP ? cap : LW_ZSTD_CAP;
}

/*
 * Room for what the frames expand to.  A frame without its size counts 128 KiB
 * for each block.  Where libzstd finds no bound it cannot decode either.
 */
static LwStatus
decoded_room(const LwZstdReader *reader, size_t *room, LwError *error)
{
	unsigned long long bound = ZSTD_decompressBound(reader->stored.data, reader->stored.size);

	if (bound == ZSTD_CONTENTSIZE_ERROR)
		return lw_malformed(error, "Zstandard frames", reader->stored.size);
	if (reader->dictionary != NULL && bound > LW_ZSTD_CAP)
		bound = LW_ZSTD_CAP;
	if (bound > expansion_cap(reader->stored.size))
		return lw_malformed(error, "Zstandard frames that expand to 64 MiB, or 128 times their size",
							bound);
	*room = (size_t) bound;
	return LW_OK;
}

LwStatus
lw_zstd_decode(LwZstdReader *reader, LwBytes stored, LwBuffer *out, LwError *error)
{
	size_t		room = 0;
	size_t		size;
	uint8_t    *to;
	LwStatus	status;

	reader->stored.size = 0;
	lw_put_bytes(&reader->stored, stored.data, stored.size);
	status = lw_buffer_status(&reader->stored, error);
	if (status == LW_OK)
		status = decoded_room(reader, &room, error);
	if (status != LW_OK)
		return status;
	to = lw_buffer_reserve(out, room);
	status = lw_buffer_status(out, error);
	if (status != LW_OK)
		return status;
	if (reader->dictionary != NULL)
		size = ZSTD_decompress_usingDDict(reader->context, to, room, reader->stored.data,
										  reader->stored.size, reader->dictionary);
	else
		size = ZSTD_decompressDCtx(reader->context, to, room, reader->stored.data,
								   reader->stored.size);
	if (ZSTD_isError(size))
		return lw_fail(error, LW_MALFORMED, "MalformedSectionPayload", -1, "Zstandard frames",
					   "%s", ZSTD_getErrorName(size));
	out->size += size;
	return LW_OK;
}

LwStatus
lw_zstd_writer_init(LwZstdWriter *writer, const LwBytes *dictionary, LwError *error)
{
	bool		ready;

	writer->stop = NULL;
	writer->dictionary = NULL;
	writer->context = ZSTD_createCCtx();
	ready = writer->context != NULL;
	if (ready && dictionary == NULL)
		ready = !ZSTD_isError(ZSTD_CCtx_setParameter(writer->context, ZSTD_c_compressionLevel,
													 LW_ZSTD_LEVEL));
	else if (ready)
	{
		writer->dictionary = ZSTD_createCDict(dictionary->data, dictionary->size, LW_ZSTD_LEVEL);
		ready = writer->dictionary != NULL &&
			!ZSTD_isError(ZSTD_CCtx_refCDict(writer->context, writer->dictionary));
	}
	if (ready)
		return LW_OK;
	lw_zstd_writer_free(writer);
	return lw_no_memory(error);
}

void
lw_zstd_writer_free(LwZstdWriter *writer)
{
	ZSTD_freeCCtx(writer->context);
	ZSTD_freeCDict(writer->dictionary);
	writer->context = NULL;
	writer->dictionary = NULL;
}

/* What kept libzstd from encoding. */
static LwStatus
encode_failure(size_t code, LwError *error)
{
	if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
		return lw_no_memory(error);
	return lw_fail(error, LW_INVALID, "InvalidInput", -1, "bytes that Zstandard can encode",
				   "%s", ZSTD_getErrorName(code));
}

/* Gives libzstd input until all of it is taken, or the frame until all of it is there. */
static LwStatus
encode_step(LwZstdWriter *writer, LwBytes raw, ZSTD_EndDirective directive, LwBuffer *out,
			LwError *error)
{
	ZSTD_inBuffer input = {raw.data, raw.size, 0};
	size_t		left;

	do
	{
		ZSTD_outBuffer output = {NULL, ZSTD_CStreamOutSize(), 0};

		output.dst = lw_buffer_reserve(out, output.size);
		if (output.dst == NULL)
			return lw_buffer_status(out, error);
		left = ZSTD_compressStream2(writer->context, &output, &input, directive);
		if (ZSTD_isError(left))
			return encode_failure(left, error);
		out->size += output.pos;
	} while (directive == ZSTD_e_end ? left > 0 : input.pos < input.size);
	return LW_OK;
}

/*
 * One frame by streaming.  Ending with no input keeps libzstd from seeing the
 * size; only when there never was any it knows, as the format has it.
 */
static LwStatus
encode_stream(LwZstdWriter *writer, LwBytes raw, LwBuffer *out, LwError *error)
{
	LwBytes		nothing = {NULL, 0};
	size_t		at;

	for (at = 0; at < raw.size; at += STEP)
	{
		LwBytes		step = {raw.data + at, raw.size - at < STEP ? raw.size - at : STEP};
		LwStatus	status = encode_step(writer, step, ZSTD_e_continue, out, error);

		if (status == LW_OK && lw_stop_asked(writer->stop))
			status = lw_fail(error, LW_CANCELLED, NULL, -1, "to go on", "a request to stop");
		if (status != LW_OK)
			return status;
	}
	return encode_step(writer, nothing, ZSTD_e_end, out, error);
}

LwStatus
lw_zstd_encode(LwZstdWriter *writer, LwBytes raw, LwBuffer *out, LwError *error)
{
	LwStatus	status;
	size_t		room;
	uint8_t    *to;

	if (writer->dictionary == NULL)
	{
		status = encode_stream(writer, raw, out, error);
		/* A frame that was given up must not go on in the next one. */
		if (status != LW_OK)
			ZSTD_CCtx_reset(writer->context, ZSTD_reset_session_only);
		return status;
	}
	if (lw_stop_asked(writer->stop))
		return lw_fail(error, LW_CANCELLED, NULL, -1, "to go on", "a request to stop");
	room = ZSTD_compressBound(raw.size);
	to = lw_buffer_reserve(out, room);
	if (to == NULL)
		return lw_buffer_status(out, error);
	room = ZSTD_compress2(writer->context, to, room, raw.data, raw.size);
	if (ZSTD_isError(room))
		return encode_failure(room, error);
	out->size += room;
	return LW_OK;
}

/* Order of texts by their bytes, a prefix before what goes on. */
static int
compare_bytes(const void *a, const void *b)
{
	const LwBytes *x = a;
	const LwBytes *y = b;
	size_t		size = x->size < y->size ? x->size : y->size;
	int			order = size > 0 ? memcmp(x->data, y->data, size) : 0;

	return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* Leaves each text once, in order of their bytes; returns how many there are. */
static size_t
sort_distinct(LwBytes *texts, size_t count)
{
	size_t		kept = 0;
	size_t		i;

	qsort(texts, count, sizeof(LwBytes), compare_bytes);
	for (i = 0; i < count; i++)
		if (kept == 0 || compare_bytes(&texts[kept - 1], &texts[i]) != 0)
			texts[kept++] = texts[i];
	return kept;
}

/* Trains on samples; leaves `dictionary` empty when that does not work. */
static LwStatus
train(const LwBytes *samples, size_t count, LwBuffer *dictionary, LwError *error)
{
	size_t	   *sizes = calloc(count, sizeof(size_t));
	LwBuffer	joined;
	size_t		trained = 0;
	size_t		i;
	LwStatus	status;

	lw_buffer_init(&joined, 0);
	if (sizes == NULL)
		return lw_no_memory(error);
	for (i = 0; i < count; i++)
	{
		sizes[i] = samples[i].size;
		lw_put_bytes(&joined, samples[i].data, samples[i].size);
		if (i < count / 4 * 3 + count % 4 * 3 / 4)
			trained += samples[i].size;
	}
	status = lw_buffer_status(&joined, error);
	if (status == LW_OK && trained >= MIN_TRAINED && count <= UINT32_MAX)
	{
		size_t		room = joined.size / 10;
		uint8_t    *to;

		if (room < MIN_DICTIONARY)
			room = MIN_DICTIONARY;
		if (room > MAX_DICTIONARY)
			room = MAX_DICTIONARY;
		to = lw_buffer_reserve(dictionary, room);
		status = lw_buffer_status(dictionary, error);
		if (status == LW_OK)
		{
			size_t		size = ZDICT_trainFromBuffer(to, room, joined.data, sizes, (unsigned) count);

			if (!ZDICT_isError(size))
				dictionary->size += size;
		}
	}
	lw_buffer_free(&joined);
	free(sizes);
	return status;
}

LwStatus
lw_zstd_train(const LwBytes *texts, size_t count, LwBuffer *dictionary, LwError *error)
{
	LwBytes    *samples;
	size_t		nsamples;
	LwStatus	status = LW_OK;

	if (count < MIN_SAMPLES)
		return LW_OK;
	samples = calloc(count, sizeof(LwBytes));
	if (samples == NULL)
		return lw_no_memory(error);
	memcpy(samples, texts, count * sizeof(LwBytes));
	nsamples = sort_distinct(samples, count);
	if (nsamples >= MIN_SAMPLES)
		status = train(samples, nsamples, dictionary, error);
	free(samples);
	return status;
}
