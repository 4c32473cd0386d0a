/*-------------------------------------------------------------------------
 *
 * text.h
 *	  Texts as streams: each chunk's text encoded by itself, so that one is
 *	  read without the others.
 *
 * Everything wrong is MalformedSectionPayload.  Streams do not overlap, and
 * opening checks all offsets, but what they expand to is bounded only stream
 * by stream (zstd.h), so give lw_text_decode a buffer with a limit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_TEXT_H
#define LW_SECTION_TEXT_H

#include "section/fsst.h"
#include "section/intpack.h"
#include "section/zstd.h"

/* The kind byte; the encoding number in the comment must go with it. */
typedef enum LwTextKind
{
	LW_TEXT_FRAMES = 0,			/* V1, encoding 10: zstd */
	LW_TEXT_DICTIONARY = 1,		/* V2, encoding 5: zstd with a dictionary */
	LW_TEXT_SYMBOLS = 2			/* V3, encoding 9 */
} LwTextKind;

typedef struct LwTexts
{
	LwTextKind	kind;
	uint32_t	count;			/* of texts; the caller compares it with the number of chunks */
	LwIntpack	offsets;
	LwBytes		streams;		/* which the offsets are relative to */
	LwZstdReader reader;		/* V1 and V2 */
	LwFsst		table;			/* V3 */
} LwTexts;

/*
 * Opens a payload of the kind that its encoding asks for.  `dictionary` is the
 * stored bytes of 0x0A, NULL when that is absent; only V2 uses it.
 */
extern LwStatus lw_texts_open(LwBytes payload, LwTextKind kind, const LwBytes *dictionary,
							  LwTexts *texts, LwError *error);
extern void lw_texts_close(LwTexts *texts);

/* Appends one text, which is UTF-8; an index beyond the last is an error. */
extern LwStatus lw_texts_get(LwTexts *texts, size_t index, LwBuffer *text, LwError *error);

/* Appends the raw payload (lists.h) with all texts. */
extern LwStatus lw_texts_decode(LwTexts *texts, LwBuffer *payload, LwError *error);

/* Writes the texts; `dictionary` is for V2 only, and not empty there. */
extern LwStatus lw_texts_encode(LwTextKind kind, const LwBytes *texts, size_t count,
								LwBytes dictionary, const LwStop *stop, LwBuffer *payload,
								LwError *error);

#endif							/* LW_SECTION_TEXT_H */
