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

/* The nearest half, of two the even one; infinity from 65520 on. */
static inline uint16_t
lw_half_from_float(float value)
{
	uint32_t	bits;
	uint16_t	sign;
	uint32_t	half;
	uint32_t	rest;			/* what is cut off, and the half of the last place */
	uint32_t	middle;

	memcpy(&bits, &value, sizeof(bits));
	sign = (uint16_t) (bits >> 16 & 0x8000);
	bits &= 0x7fffffff;
	if (bits > 0x7f800000)
		return sign | 0x7e00 | (uint16_t) (bits >> 13 & 0x3ff);
	if (bits >= 0x47800000)
		return sign | 0x7c00;
	if (bits >= 0x38800000)
	{
		half = (bits - 0x38000000) >> 13;
		rest = bits & 0x1fff;
		middle = 0x1000;
	}
	else if (bits >= 0x33000000)
	{
		/* A subnormal half: units of 2^-24. */
		uint32_t	fraction = (bits & 0x7fffff) | 0x800000;
		unsigned	shift = 126 - (bits >> 23);

		half = fraction >> shift;
		middle = (uint32_t) 1 << (shift - 1);
		rest = fraction & (2 * middle - 1);
	}
	else
		return sign;
	if (rest > middle || (rest == middle && (half & 1) != 0))
		half++;
	return (uint16_t) (sign | half);
}

#endif							/* LW_FORMAT_HALF_H */
