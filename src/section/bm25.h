/*-------------------------------------------------------------------------
 *
 * bm25.h
 *	  The BM25 index of a section file (0x08): checking, opening, scoring,
 *	  building.
 *
 * An open index keeps a table of the terms and the documents' lengths, and
 * reads terms and postings in the payload, which must outlive it.  Should the
 * payload change, scores may be wrong; nothing else happens.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_BM25_H
#define LW_SECTION_BM25_H

#include "format/error.h"
#include "section/bytes.h"

typedef struct LwBm25 LwBm25;

/* Checks a payload for a file of `rows` rows; takes no memory. */
extern LwStatus lw_bm25_check(LwBytes payload, uint64_t rows, LwError *error);

/*
 * Checks and opens it; LW_LIMIT when it would take more than `memory` bytes
 * (0: any number).  It takes about 8 bytes a row and 36 a term; a search 8
 * more for each document that has its tokens, 16 for each that is wanted.
 */
extern LwStatus lw_bm25_open(LwBytes payload, uint64_t rows, size_t memory,
							 LwBm25 **bm25, LwError *error);
extern void lw_bm25_close(LwBm25 *bm25);

/* Bytes that an open index takes. */
extern size_t lw_bm25_memory(const LwBm25 *bm25);
extern uint32_t lw_bm25_terms(const LwBm25 *bm25);

typedef struct LwBm25Hit
{
	uint32_t	row;
	float		score;
} LwBm25Hit;

/*
 * The documents with tokens of the text, best first, equal ones by row, at
 * most `limit` of them.  They stay until the next search.  lw_maxsim_pause
 * (kernel/maxsim.h) is called on the way and may leave.
 */
extern LwStatus lw_bm25_search(LwBm25 *bm25, LwBytes text, size_t limit,
							   const LwBm25Hit **hits, size_t *count, LwError *error);

typedef struct LwBm25Build LwBm25Build;

/*
 * A build takes documents in the order of their rows.  It takes up to 12 bytes
 * a posting and 12 a document, at its end 8 more, and about 60 and the text of
 * each term; beyond `memory` (0: any number) it fails with LW_LIMIT.
 */
extern LwStatus lw_bm25_build_begin(size_t memory, LwBm25Build **build, LwError *error);
extern LwStatus lw_bm25_build_add(LwBm25Build *build, LwBytes text, LwError *error);

/* Writes the payload, version 2. */
extern LwStatus lw_bm25_build_finish(LwBm25Build *build, LwBuffer *payload, LwError *error);
extern void lw_bm25_build_free(LwBm25Build *build);

#endif							/* LW_SECTION_BM25_H */
