/*-------------------------------------------------------------------------
 *
 * fsst.h
 *	  Texts as one-byte codes of up to 255 common substrings.
 *
 * A code below the table's count stands for its symbol, 0xff for the byte
 * after it.  Everything wrong is MalformedSectionPayload.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_FSST_H
#define LW_SECTION_FSST_H

#include "section/bytes.h"
#include "section/stop.h"

#define LW_FSST_SYMBOLS 255
#define LW_FSST_SYMBOL_SIZE 8

typedef struct LwFsst
{
	unsigned	count;
	uint8_t		sizes[LW_FSST_SYMBOLS];
	uint8_t		symbols[LW_FSST_SYMBOLS][LW_FSST_SYMBOL_SIZE];	/* zeros behind the symbol */
} LwFsst;

/* Takes a table: its count, then each symbol with its size. */
extern LwStatus lw_take_fsst(LwCursor *cursor, LwFsst *table, LwError *error);
extern void lw_put_fsst(LwBuffer *buffer, const LwFsst *table);

/* Appends the text of one frame: at most 8 times as many bytes. */
extern LwStatus lw_fsst_decode(const LwFsst *table, LwBytes frame, LwBuffer *text, LwError *error);

/*
 * The format's table for these texts: the substrings of 1 to 8 bytes that save
 * most.  Takes 32 bytes for each byte of the texts, but at most 128 MiB; the
 * less memory there is, the more often the texts are read.
 */
extern LwStatus lw_fsst_build(const LwBytes *texts, size_t count, const LwStop *stop,
							  LwFsst *table, LwError *error);

/* The same with room for `entries` counters, at least 16. */
extern LwStatus lw_fsst_build_within(const LwBytes *texts, size_t count, size_t entries,
									 const LwStop *stop, LwFsst *table, LwError *error);

/* What encoding looks symbols up by. */
typedef struct LwFsstEncoder
{
	unsigned	nlong;			/* symbols of 8 bytes */
	uint64_t	longs[LW_FSST_SYMBOLS];	/* ascending */
	uint8_t		long_codes[LW_FSST_SYMBOLS];
	const LwFsst *table;
} LwFsstEncoder;

extern void lw_fsst_encoder_init(LwFsstEncoder *encoder, const LwFsst *table);

/* Appends the frame of one text, byte for byte the reference's: at most 2 bytes for each. */
extern void lw_fsst_encode(const LwFsstEncoder *encoder, LwBytes text, LwBuffer *frame);

#endif							/* LW_SECTION_FSST_H */
