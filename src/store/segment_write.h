/*-------------------------------------------------------------------------
 *
 * segment_write.h
 *	  Writing the files of one segment, a document at a time, in bounded memory.
 *
 * The files are new ones of a directory of the caller's: one where nobody
 * looks, from which lw_segment_link gives them their names in a store, or the
 * store itself under an id that no manifest has named.  They have that
 * directory's mode less execute bits, so it needs the store's.  Their bytes are those
 * that the format's reference writes.  Nobody checks here that an id comes
 * only once: opening the segment does (store/segment.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_SEGMENT_WRITE_H
#define LW_STORE_SEGMENT_WRITE_H

#include "kernel/maxsim.h"
#include "section/bytes.h"
#include "store/files.h"
#include "store/names.h"

/* One file; fd is -1 when the segment has none of it. */
typedef struct LwSegmentOutput
{
	int			fd;
	LwBuffer	pending;		/* not written yet */
	uint64_t	offset;			/* where they go */
} LwSegmentOutput;

typedef struct LwSegmentWriter
{
	LwDirectory directory;
	LwEncoding	encoding;
	uint64_t	dimension;
	size_t		row_size;		/* bytes of a token */
	LwManifestSegment entry;	/* id, and the counts so far; no tombstones */
	LwSegmentOutput outputs[LW_SEGMENT_FILES];
} LwSegmentWriter;

/*
 * Creates the files.  On failure nothing is left; on LW_OK the writer is to be
 * ended or aborted.  LW_LIMIT: a token has more bytes than there is memory.
 */
extern LwStatus lw_segment_write_begin(LwSegmentWriter *writer, LwDirectory directory, uint64_t id,
									   LwEncoding encoding, uint64_t dimension, LwError *error);

/*
 * Appends a document: tokens * dimension values, which lw_check_document has
 * passed.  After a failure the writer can only be aborted.
 */
extern LwStatus lw_segment_write(LwSegmentWriter *writer, LwString id, const float *values,
								 size_t tokens, LwError *error);

/* The same of rows as they lie in a segment of this encoding, copied as they are. */
extern LwStatus lw_segment_write_encoded(LwSegmentWriter *writer, LwString id,
										 const LwDocument *document, LwError *error);

/*
 * Writes what is left, syncs the files (their names the caller syncs, with the
 * directory) and sets *entry.  On failure nothing is left.
 */
extern LwStatus lw_segment_write_end(LwSegmentWriter *writer, LwManifestSegment *entry, LwError *error);

/* Removes the files. */
extern void lw_segment_write_abort(LwSegmentWriter *writer);

/* Whether a document may be appended to a store: LW_INVALID, NotFinite, NotNormalized, NoTokens, Dimension or IdUtf8. */
extern LwStatus lw_check_document(const LwManifest *manifest, LwString id, const float *values,
								  size_t tokens, uint64_t dimension, LwError *error);

/*
 * Gives the files of segment `id` of one directory their names in another, as
 * segment `new_id`.  A name that exists is an error, and then none is left.
 */
extern LwStatus lw_segment_link(LwDirectory from, uint64_t id, LwDirectory to, uint64_t new_id,
								LwEncoding encoding, LwError *error);

/* Removes the files of a segment as far as they are there; what cannot be removed stays. */
extern void lw_segment_unlink(LwDirectory directory, uint64_t id, LwEncoding encoding);

#endif							/* LW_STORE_SEGMENT_WRITE_H */
