/*-------------------------------------------------------------------------
 *
 * chunks.h
 *	  The chunks of a section file: ids, texts, spans, provenance.
 *
 * Chunks are numbered as in the file ("ordinals", below file->rows).  What is
 * returned as LwBytes was valid UTF-8 when it was first read; see file.h for
 * how long that is worth something.  It stays until the handle is closed, but
 * a text until the next text is read, and an id until the next id is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_CHUNKS_H
#define LW_SECTION_CHUNKS_H

#include "section/file.h"
#include "section/lists.h"

typedef struct LwSpan
{
	LwSourceSpan source;
	bool		is_blob;		/* of the overlay: the uri is the blob's */
	uint32_t	blob;			/* its number */
} LwSpan;

extern LwStatus lw_chunk_id(LwSectionFile *file, size_t ordinal, LwBytes *id, LwError *error);
extern LwStatus lw_chunk_text(LwSectionFile *file, size_t ordinal, LwBytes *text, LwError *error);

/* Where the chunk comes from: 0x03, or 0x16 in its place where the file has blobs. */
extern LwStatus lw_chunk_span(LwSectionFile *file, size_t ordinal, LwSpan *span, LwError *error);

/* The ordinal of a chunk id, the first where it stands twice; SIZE_MAX when there is none. */
extern LwStatus lw_chunk_find(LwSectionFile *file, LwBytes id, size_t *ordinal, LwError *error);

/* The next chunk with the id of this one; SIZE_MAX when there is none. */
extern LwStatus lw_chunk_twin(LwSectionFile *file, size_t ordinal, size_t *twin, LwError *error);

/* Bytes of the derived file that has the ids; 0 when none is in use. */
extern uint64_t lw_chunk_derived_bytes(const LwSectionFile *file);

/* The JSON text of 0x05 after its checks.  Nothing else depends on these. */
extern LwStatus lw_section_provenance(LwSectionFile *file, LwBytes *json, LwError *error);

#endif							/* LW_SECTION_CHUNKS_H */
