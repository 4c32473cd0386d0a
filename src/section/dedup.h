/*-------------------------------------------------------------------------
 *
 * dedup.h
 *	  Texts that occur more than once, kept once: a pool of distinct ones, and
 *	  a map with each chunk's number in it.
 *
 * The pool is a raw payload of strings (lists.h), the map the stored bytes of
 * 0x0B.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_DEDUP_H
#define LW_SECTION_DEDUP_H

#include "section/intpack.h"

/* The list of a map: MalformedSectionPayload when empty or of another kind. */
extern LwStatus lw_dedup_open(LwBytes map, LwIntpack *references, LwError *error);

/* A chunk's number in a pool of `distinct` texts; MalformedSectionPayload when it is not in there. */
extern LwStatus lw_dedup_get(const LwIntpack *references, uint32_t chunk, uint64_t distinct,
							 uint64_t *number, LwError *error);

/*
 * Appends the raw payload with every chunk's text.  Only when all of both has
 * been checked and there are `expected` references (SectionCountMismatch) is
 * anything expanded; a few bytes can name a long text millions of times, so
 * give `payload` a limit.
 */
extern LwStatus lw_dedup_expand(LwBytes map, LwBytes pool, uint64_t expected,
								LwBuffer *payload, LwError *error);

/*
 * Writes pool and map, the pool in order of first appearance; returns also how
 * many texts are distinct.
 */
extern LwStatus lw_dedup_encode(const LwBytes *texts, size_t count, LwBuffer *pool,
								LwBuffer *map, size_t *distinct, LwError *error);

#endif							/* LW_SECTION_DEDUP_H */
