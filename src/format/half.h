/*-------------------------------------------------------------------------
 *
 * half.h
 *	  IEEE half floats.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_FORMAT_HALF_H
#define LW_FORMAT_HALF_H

#include <stdint.h>
#include <string.h>

/* The float of a half, exactly: its bits moved up have an exponent that is 112 too small. */
static inline float
lw_half_to_float(uint16_t half)
{
	uint32_t	sign = (uint32_t) (half & 0x8000) << 16;
	uint32_t	bits = (uint32_t) (half & 0x7fff) << 13;
	float		value;

	if (bits >= 0x0f800000)
		bits |= 0x7f800000;
	else
	{
		memcpy(&value, &bits, sizeof(value));
		value *= 0x1p112f;
		memcpy(&bits, &value, sizeof(bits));
	}
	bits |= sign;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif							/* LW_FORMAT_HALF_H */
