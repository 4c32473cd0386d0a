/*-------------------------------------------------------------------------
 *
 * chooser.c
 *	  The smallest way of storing texts.
 *
 *-------------------------------------------------------------------------
 */
#include "section/chooser.h"

#include "section/dedup.h"
#include "section/lists.h"
#include "section/text.h"

enum
{
	SECTION_DICTIONARY = 0x0a,
	SECTION_DEDUP = 0x0b,
	ENCODING_ZSTD = 1,
	ENCODING_DICTIONARY = 5,
	ENCODING_SYMBOLS = 9,
	ENCODING_FRAMES = 10
};

typedef struct Choosing
{
	const LwBytes *texts;
	size_t		count;
	const LwStop *stop;
	LwTextChoice *best;
} Choosing;

static size_t
choice_size(const LwTextChoice *choice)
{
	return choice->payload.size + choice->extra.size;
}

static void
begin_candidate(LwTextChoice *candidate, uint32_t encoding, uint32_t extra_id)
{
	candidate->encoding = encoding;
	candidate->extra_id = extra_id;
	lw_buffer_init(&candidate->payload, 0);
	lw_buffer_init(&candidate->extra, 0);
}

/* Keeps a candidate if it is smaller than the best so far, and frees the other. */
static LwStatus
end_candidate(Choosing *choosing, LwTextChoice *candidate, LwStatus status)
{
	if (status == LW_OK &&
		(choosing->best->encoding == 0 || choice_size(candidate) < choice_size(choosing->best)))
	{
		LwTextChoice other = *choosing->best;

		*choosing->best = *candidate;
		*candidate = other;
	}
	lw_text_choice_free(candidate);
	return status;
}

/* One frame of a raw payload. */
static LwStatus
encode_frame(const Choosing *choosing, LwBytes raw, LwBuffer *frame, LwError *error)
{
	LwZstdWriter writer;
	LwStatus	status = lw_zstd_writer_init(&writer, NULL, error);

	if (status != LW_OK)
		return status;
	writer.stop = choosing->stop;
	status = lw_zstd_encode(&writer, raw, frame, error);
	lw_zstd_writer_free(&writer);
	return status;
}

/* One frame of all texts. */
static LwStatus
try_frame(Choosing *choosing, LwError *error)
{
	LwTextChoice candidate;
	LwBuffer	raw;
	LwStatus	status;

	begin_candidate(&candidate, ENCODING_ZSTD, 0);
	lw_buffer_init(&raw, 0);
	status = lw_strings_encode(choosing->texts, choosing->count, &raw, error);
	if (status == LW_OK)
		status = encode_frame(choosing, lw_buffer_bytes(&raw), &candidate.payload, error);
	lw_buffer_free(&raw);
	return end_candidate(choosing, &candidate, status);
}

/* Streams without a dictionary. */
static LwStatus
try_streams(Choosing *choosing, LwTextKind kind, uint32_t encoding, LwError *error)
{
	LwTextChoice candidate;
	LwBytes		nothing = {NULL, 0};
	LwStatus	status;

	begin_candidate(&candidate, encoding, 0);
	status = lw_texts_encode(kind, choosing->texts, choosing->count, nothing, choosing->stop,
							 &candidate.payload, error);
	return end_candidate(choosing, &candidate, status);
}

/* Streams with a dictionary, if one can be trained. */
static LwStatus
try_dictionary(Choosing *choosing, LwError *error)
{
	LwTextChoice candidate;
	LwStatus	status;

	begin_candidate(&candidate, ENCODING_DICTIONARY, SECTION_DICTIONARY);
	status = lw_zstd_train(choosing->texts, choosing->count, &candidate.extra, error);
	if (status == LW_OK && candidate.extra.size == 0)
	{
		lw_text_choice_free(&candidate);
		return LW_OK;
	}
	if (status == LW_OK)
		status = lw_texts_encode(LW_TEXT_DICTIONARY, choosing->texts, choosing->count,
								 lw_buffer_bytes(&candidate.extra), choosing->stop,
								 &candidate.payload, error);
	return end_candidate(choosing, &candidate, status);
}

/* One frame of the distinct texts, if some text repeats. */
static LwStatus
try_dedup(Choosing *choosing, LwError *error)
{
	LwTextChoice candidate;
	LwBuffer	pool;
	size_t		distinct;
	LwStatus	status;

	begin_candidate(&candidate, ENCODING_ZSTD, SECTION_DEDUP);
	lw_buffer_init(&pool, 0);
	status = lw_dedup_encode(choosing->texts, choosing->count, &pool, &candidate.extra,
							 &distinct, error);
	if (status == LW_OK && distinct == choosing->count)
	{
		lw_buffer_free(&pool);
		lw_text_choice_free(&candidate);
		return LW_OK;
	}
	if (status == LW_OK)
		status = encode_frame(choosing, lw_buffer_bytes(&pool), &candidate.payload, error);
	lw_buffer_free(&pool);
	return end_candidate(choosing, &candidate, status);
}

LwStatus
lw_choose_texts(const LwBytes *texts, size_t count, const LwStop *stop, LwTextChoice *choice,
				LwError *error)
{
	Choosing	choosing = {texts, count, stop, choice};
	LwStatus	status;

	begin_candidate(choice, 0, 0);
	status = try_frame(&choosing, error);
	if (status == LW_OK)
		status = try_streams(&choosing, LW_TEXT_FRAMES, ENCODING_FRAMES, error);
	if (status == LW_OK)
		status = try_dictionary(&choosing, error);
	if (status == LW_OK)
		status = try_streams(&choosing, LW_TEXT_SYMBOLS, ENCODING_SYMBOLS, error);
	if (status == LW_OK)
		status = try_dedup(&choosing, error);
	return status;
}

void
lw_text_choice_free(LwTextChoice *choice)
{
	lw_buffer_free(&choice->payload);
	lw_buffer_free(&choice->extra);
}
