/*-------------------------------------------------------------------------
 *
 * decode.h
 *	  int8 tokens to float32, bit for bit as the format's reference decodes.
 *
 * v[i] = code[i] * scale; when the representation is normalized, eight lanes
 * sum v[i]*v[i] for i = lane, lane + 8, ... over whole blocks of eight, the
 * lanes are added in order, then the remaining squares in order;
 * r = 1 / max(sqrt(sum), 1e-12); v[i] * r.  All in float32 without fused
 * multiply-add.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_KERNEL_DECODE_H
#define LW_KERNEL_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Writes tokens * dimension floats to `out`.  Returns `tokens`, or the
 * position of the first token whose scale is not finite and positive.
 */
extern size_t lw_decode_int8(const int8_t *codes, const float *scales,
							 size_t tokens, size_t dimension, bool normalized,
							 float *out);

#endif							/* LW_KERNEL_DECODE_H */
