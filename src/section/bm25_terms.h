/*-------------------------------------------------------------------------
 *
 * bm25_terms.h
 *	  The terms of a BM25 index, found by their text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_BM25_TERMS_H
#define LW_SECTION_BM25_TERMS_H

#include "section/bytes.h"

#define LW_BM25_VERSION 2		/* that is written: columns */
#define LW_BM25_VERSION_INLINE 1	/* postings term by term, integers of 32 bits */
#define LW_BM25_K1 1.5f
#define LW_BM25_B 0.75f

typedef struct LwTerm
{
	size_t		at;				/* its text, from where all texts begin */
	uint32_t	size;
	uint32_t	df;				/* documents that have it */
	size_t		posting;		/* when reading its first one, when building its last */
} LwTerm;

/* Open addressing with linear probing; a slot holds a term's number + 1. */
typedef struct LwTermTable
{
	LwTerm	   *terms;
	size_t		count;
	uint32_t   *slots;
	size_t		nslots;			/* a power of two, more than `count` */
} LwTermTable;

/* The slots for so many terms: they are at most half full. */
extern size_t lw_term_slots(size_t count);

/* The slot that holds a term, or the empty one where it belongs; `texts` is where their texts begin. */
extern uint32_t *lw_term_slot(const LwTermTable *table, const uint8_t *texts, LwBytes term);

#endif							/* LW_SECTION_BM25_TERMS_H */
