/*-------------------------------------------------------------------------
 *
 * chunk.h
 *	  Chunks of a section file as values of the database.
 *
 * Every function copies what it needs and then checks the copy, for a file
 * may change while it is mapped.  They raise: XX001 for damage, 22021 for a
 * text with U+0000, 22P05 for one that the database's encoding cannot hold,
 * 22003 for a number out of range; each names the chunk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_CHUNK_H
#define LW_SQL_CHUNK_H

#include "postgres.h"

#include "kernel/vectors.h"
#include "section/chunks.h"
#include "server/section.h"
#include "sql/multivector.h"

extern text *lw_chunk_id_text(LwSection *section, size_t ordinal);
extern text *lw_chunk_canonical_text(LwSection *section, size_t ordinal);
extern bytea *lw_chunk_canonical_bytes(LwSection *section, size_t ordinal);
extern text *lw_chunk_citation(LwSection *section, size_t ordinal);

/* Where the chunk comes from. */
extern void lw_get_span(LwSection *section, size_t ordinal, LwSpan *span);
extern text *lw_chunk_uri(LwSection *section, size_t ordinal, const LwSpan *span);

/* A byte offset as a bigint; `what` names it in the message. */
extern Datum lw_chunk_offset(LwSection *section, size_t ordinal, const char *what, uint64 offset);

/* A string of the file as a text; `what` and the path name it in messages. */
extern text *lw_section_text(LwSection *section, const char *what, LwBytes bytes);

/* A number up to 2^64-1. */
extern Datum lw_uint64_numeric(uint64 value);

/* A row of vectors as real[], and as a multivector of one token. */
extern Datum lw_row_array(LwSection *section, const LwVectorSlab *slab, size_t row);
extern LwMultivector *lw_read_row(LwSection *section, const LwVectorSlab *slab, size_t row);

#endif							/* LW_SQL_CHUNK_H */
