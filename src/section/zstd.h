/*-------------------------------------------------------------------------
 *
 * zstd.h
 *	  Zstandard frames as the format has them, and its dictionaries.
 *
 * A reader or writer holds libzstd's contexts, so make one for many calls.
 * What libzstd finds wrong is MalformedSectionPayload.
 *
 * Written bytes depend on libzstd's version: the reference's are those of
 * 1.5.7.  Decoding does not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_ZSTD_H
#define LW_SECTION_ZSTD_H

#include "section/bytes.h"
#include "section/stop.h"

#define LW_ZSTD_LEVEL 19

/* What stored bytes may always expand to; beyond it, 128 times their size. */
#define LW_ZSTD_CAP ((uint64_t) 64 << 20)
#define LW_ZSTD_RATIO 128

typedef struct LwZstdReader
{
	struct ZSTD_DCtx_s *context;
	struct ZSTD_DDict_s *dictionary;	/* NULL without one */
	LwBuffer	stored;			/* a copy, which cannot change while it is decoded */
} LwZstdReader;

typedef struct LwZstdWriter
{
	struct ZSTD_CCtx_s *context;
	struct ZSTD_CDict_s *dictionary;	/* NULL without one */
	const LwStop *stop;			/* NULL: never asked; the owner may set it */
} LwZstdWriter;

/*
 * A reader; with a dictionary, of the frames made with it.  `dictionary` is
 * NULL for none; bytes that libzstd cannot digest are an error.  It is copied.
 */
extern LwStatus lw_zstd_reader_init(LwZstdReader *reader, const LwBytes *dictionary,
									LwError *error);
extern void lw_zstd_reader_free(LwZstdReader *reader);

/*
 * Appends what the stored bytes (any number of frames) decode to.  Without a
 * dictionary what they could expand to must lie below the cap; with one, what
 * they do expand to below LW_ZSTD_CAP.  LW_LIMIT when it does not fit in `out`.
 */
extern LwStatus lw_zstd_decode(LwZstdReader *reader, LwBytes stored, LwBuffer *out,
							   LwError *error);

extern LwStatus lw_zstd_writer_init(LwZstdWriter *writer, const LwBytes *dictionary,
									LwError *error);
extern void lw_zstd_writer_free(LwZstdWriter *writer);

/*
 * Appends one frame: without a dictionary by streaming, so that its size is
 * not known beforehand; with one in one go.  The bytes must not change meanwhile.
 */
extern LwStatus lw_zstd_encode(LwZstdWriter *writer, LwBytes raw, LwBuffer *out,
							   LwError *error);

/*
 * Trains a dictionary on the texts, in any order and with repeats; it is left
 * empty when there is none to be had.  Takes the texts' size in memory again,
 * and some MiB in libzstd.
 */
extern LwStatus lw_zstd_train(const LwBytes *texts, size_t count, LwBuffer *dictionary,
							  LwError *error);

#endif							/* LW_SECTION_ZSTD_H */
