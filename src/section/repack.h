/*-------------------------------------------------------------------------
 *
 * repack.h
 *	  Chunk ids as bare digests, and spans as columns: encoding 4.
 *
 * Everything wrong is MalformedSectionPayload.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_REPACK_H
#define LW_SECTION_REPACK_H

#include "section/lists.h"

/*
 * Appends the raw payload that was repacked; its kind byte, not the section,
 * says which.  Nothing is expanded before all is checked and there are
 * `expected` entries (SectionCountMismatch).  A few bytes can name a long uri
 * millions of times, so give `payload` a limit.
 */
extern LwStatus lw_repack_decode(LwBytes stored, uint64_t expected, LwBuffer *payload,
								 LwError *error);

/* Whether all ids are "sha256:" and 64 lowercase hex digits; only then can they be repacked. */
extern bool lw_repack_can_ids(const LwBytes *ids, size_t count);

/* Writes ids that lw_repack_can_ids is true of. */
extern LwStatus lw_repack_ids(const LwBytes *ids, size_t count, LwBuffer *stored,
							  LwError *error);
extern LwStatus lw_repack_spans(const LwSourceSpan *spans, size_t count, LwBuffer *stored,
								LwError *error);

#endif							/* LW_SECTION_REPACK_H */
