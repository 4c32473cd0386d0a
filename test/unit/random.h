/*-------------------------------------------------------------------------
 *
 * random.h
 *	  Random numbers for the unit programs, the same in every run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_RANDOM_H
#define LW_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 88172645463325252ULL;

/* From 0 to below `limit`. */
static inline uint32_t
random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t) ((random_state >> 32) * limit >> 32);
}

/* Near enough to a normal distribution, mean 0, deviation 1. */
static inline float
gaussian(void)
{
	float		sum = -6;
	int			i;

	for (i = 0; i < 12; i++)
		sum += (float) random_below(1 << 20) / (1 << 20);
	return sum;
}

#endif							/* LW_RANDOM_H */
