/*-------------------------------------------------------------------------
 *
 * bm25_read.h
 *	  An open BM25 index from within.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_BM25_READ_H
#define LW_SECTION_BM25_READ_H

#include "section/bm25.h"
#include "section/bm25_terms.h"
#include "section/column.h"
#include "section/tokenizer.h"

struct LwBm25
{
	LwBytes		payload;
	uint32_t	version;
	float		k1;
	float		b;
	float		average;		/* length of documents, at least 1 */
	uint32_t	documents;
	uint32_t   *lengths;		/* [documents] */
	LwTermTable table;			/* texts begin where the payload does */
	LwIntpack	gaps;			/* LW_BM25_VERSION; a term's posting is its first one's number in both */
	LwIntpack	frequencies;

	/* of a search */
	LwTokenizer tokenizer;
	float	   *sums;			/* [documents] of those that are touched */
	uint8_t    *touched;		/* a bit for each document */
	uint64_t   *keys;			/* of the best documents */
	LwBm25Hit  *hits;
	size_t		room;			/* of both */
};

#endif							/* LW_SECTION_BM25_READ_H */
