/*-------------------------------------------------------------------------
 *
 * distinct.h
 *	  Strings numbered in order of first appearance.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_DISTINCT_H
#define LW_SECTION_DISTINCT_H

#include "section/bytes.h"

/*
 * Sets numbers[i] to the number of strings[i], and first[n] to the index of
 * the first string with number n; *distinct becomes how many there are.  Both
 * arrays are the caller's, with room for `count`, which is below 2^32 - 1
 * (InvalidInput).  Takes up to 16 bytes for each string while it runs.
 */
extern LwStatus lw_distinct(const LwBytes *strings, size_t count, uint64_t *numbers,
							size_t *first, size_t *distinct, LwError *error);

#endif							/* LW_SECTION_DISTINCT_H */
