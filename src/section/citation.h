/*-------------------------------------------------------------------------
 *
 * citation.h
 *	  The hashes that name a section file, and citations of its chunks.
 *
 * A text hash is "sha256:" and 64 lowercase hex digits.  Both hashes read the
 * whole file; the handle remembers them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_CITATION_H
#define LW_SECTION_CITATION_H

#include "section/file.h"
#include "section/hash.h"

/* Of all bytes of the file, ended with a NUL. */
extern LwStatus lw_section_file_hash(LwSectionFile *file, char hash[LW_TEXT_HASH_SIZE + 1],
									 LwError *error);

/* Of what the required sections decode to, ended with a NUL. */
extern LwStatus lw_section_content_hash(LwSectionFile *file, char hash[LW_TEXT_HASH_SIZE + 1],
										LwError *error);

/* "urna://CONTENT_HASH/CHUNK_ID" */
extern LwStatus lw_citation_write(LwSectionFile *file, size_t ordinal, LwBuffer *citation,
								  LwError *error);

/*
 * Takes a citation apart.  The content hash comes with its prefix, wherever
 * the citation left it out; the chunk id stays in `citation`.  NULL when it
 * is a citation, else what is wrong with it.
 */
extern const char *lw_citation_parse(LwBytes citation, LwBuffer *content_hash, LwBytes *chunk_id);

/*
 * The ordinal that a citation names: CitationInvalid when it is none,
 * CitationMismatch when it is of another file, CitationNotFound when the file
 * has no such chunk.
 */
extern LwStatus lw_citation_resolve(LwSectionFile *file, LwBytes citation, size_t *ordinal,
									LwError *error);

#endif							/* LW_SECTION_CITATION_H */
