/*-------------------------------------------------------------------------
 *
 * quant.h
 *	  Rows of float32 as float16, int8 and int4, and back.
 *
 * Every operation is float32 and rounded by itself, as the format says, so
 * the codes are the same everywhere.  Values must be finite; a large one can
 * still give an infinite float16 or int4 scale, which the format refuses.
 * Codes and scales are bytes as they lie in a file, with any alignment.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_QUANT_H
#define LW_SECTION_QUANT_H

#include "section/bytes.h"

#define LW_QUANT_BLOCK 64		/* components of int4 that share a scale */

extern bool lw_all_finite(const float *values, size_t count);

/* One row; float16 and int8 have 2 and 1 bytes a component, int4 half a byte and a scale of 2 bytes a block. */
extern void lw_quantize_float16(const float *row, size_t dimension, uint8_t *codes);
extern float lw_quantize_int8(const float *row, size_t dimension, uint8_t *codes);
extern void lw_quantize_int4(const float *row, size_t dimension, uint8_t *scales, uint8_t *codes);

extern void lw_dequantize_float16(const uint8_t *codes, size_t dimension, float *row);
extern void lw_dequantize_int8(const uint8_t *codes, float scale, size_t dimension, float *row);
extern void lw_dequantize_int4(const uint8_t *codes, const uint8_t *scales, size_t dimension, float *row);

/*
 * Appends the payload of a vector section: rows of `dimension` components, one
 * after another.  For int4 that is whole blocks.
 */
extern void lw_put_float32_rows(LwBuffer *payload, const float *rows, size_t count, size_t dimension);
extern void lw_put_float16_rows(LwBuffer *payload, const float *rows, size_t count, size_t dimension);
extern void lw_put_int8_rows(LwBuffer *payload, const float *rows, size_t count, size_t dimension);
extern void lw_put_int4_rows(LwBuffer *payload, const float *rows, size_t count, size_t dimension);

#endif							/* LW_SECTION_QUANT_H */
