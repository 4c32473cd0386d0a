/*-------------------------------------------------------------------------
 *
 * codec.h
 *	  What the SQL functions of the codecs share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_CODEC_H
#define LW_SQL_CODEC_H

#include "postgres.h"

#include "utils/array.h"
#include "utils/palloc.h"

#include "section/text.h"

/* What must be freed that PostgreSQL's memory contexts do not know of. */
typedef struct LwCodecScratch
{
	MemoryContextCallback callback;
	LwBuffer	out;
	LwBuffer	extra;
	void	   *list;			/* malloc'ed */
	LwTexts		texts;
	bool		texts_open;
	LwZstdReader reader;
	LwZstdWriter writer;
} LwCodecScratch;

/* Empty scratch, freed with the current memory context; its buffers take what fits in a bytea. */
extern LwCodecScratch *lw_codec_scratch(void);

/* Raises unless the status is LW_OK: 22000 for what is wrong with the values, DETAIL with the format's error name. */
extern void lw_codec_check(LwStatus status, const LwError *error);

/* Asked by encoders that take long. */
extern const LwStop lw_codec_stop;

/* A copy of bytes as a bytea. */
extern Datum lw_codec_bytea(LwBytes bytes);
extern LwBytes lw_codec_bytes(const bytea *value);

/* The integers of an array, without NULLs, from 0 to 2^64-1; palloc'ed. */
extern uint64 *lw_codec_integers(ArrayType *array, size_t *count);
extern Datum lw_codec_integer_array(const uint64 *values, size_t count);

#endif							/* LW_SQL_CODEC_H */
