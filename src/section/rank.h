/*-------------------------------------------------------------------------
 *
 * rank.h
 *	  Rows ordered by a float and then by number, as 64-bit keys: the lesser
 *	  key comes first.
 *
 * The float is in the upper half, so that it can be read back; only which NaN
 * a NaN was is lost.  NaN comes last, +0 and -0 in IEEE total order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_RANK_H
#define LW_SECTION_RANK_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The least value first. */
static inline uint64_t
lw_rank_ascending(float value, uint32_t row)
{
	uint32_t	bits;

	memcpy(&bits, &value, sizeof(bits));
	if (isnan(value))
		bits = UINT32_MAX;
	else
		bits = bits >> 31 ? ~bits : bits | 0x80000000;
	return (uint64_t) bits << 32 | row;
}

/* The largest value first. */
static inline uint64_t
lw_rank_descending(float value, uint32_t row)
{
	return lw_rank_ascending(-value, row);
}

static inline uint32_t
lw_rank_row(uint64_t key)
{
	return (uint32_t) key;
}

/* The float of an ascending key. */
static inline float
lw_rank_value(uint64_t key)
{
	uint32_t	bits = (uint32_t) (key >> 32);
	float		value;

	bits = bits >> 31 ? bits & 0x7fffffff : ~bits;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

extern void lw_rank_sort(uint64_t *keys, size_t count);

/*
 * The least `limit` keys of many: offers one to the heap of the *count found
 * so far, in `keys`, which has room for `limit` (at least 1).  They are in
 * order when they have been sorted at last.
 */
extern void lw_rank_offer(uint64_t *keys, size_t *count, size_t limit, uint64_t key);

#endif							/* LW_SECTION_RANK_H */
