/*-------------------------------------------------------------------------
 *
 * encode.h
 *	  Rows of float32 that go into a store: what is refused, and int8 codes,
 *	  bit for bit as the format's reference makes them.
 *
 * scale = max(|v|) / 127, at least 1e-12; code = v / scale, rounded half away
 * from zero, clamped to [-127, 127].  Each step is float32 and rounded by
 * itself.  Every instruction set gives the same bits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_KERNEL_ENCODE_H
#define LW_KERNEL_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LW_INT8_MOST 127.0f		/* the greatest code that is written */
#define LW_INT8_LEAST_SCALE 1e-12f

typedef enum LwRowProblem
{
	LW_ROWS_FINE,
	LW_ROWS_NOT_FINITE,			/* a NaN or an infinity */
	LW_ROWS_NOT_UNIT			/* a norm that is off 1 by more than 1.1e-3 */
} LwRowProblem;

/*
 * Looks at tokens * dimension values: first whether all are finite, then, when
 * they should be normalized, at each token's norm: squares summed in order, in
 * float32.  *token is the first one at fault, *component the value in it (0 for a norm).
 */
extern LwRowProblem lw_check_rows(const float *values, size_t tokens, size_t dimension,
								  bool normalized, size_t *token, size_t *component);

/* Whether there is no NaN and no infinity. */
extern bool lw_values_are_finite(const float *values, size_t count);

/* Values whose bytes are the other way round, anywhere. */
extern void lw_swap_values(const void *from, size_t count, float *values);

/* Encodes finite rows: tokens * dimension codes and a scale each token. */
extern void lw_encode_int8(const float *values, size_t tokens, size_t dimension,
						   int8_t *codes, float *scales);

/* For each instruction set: whether a row can be encoded, its codes and scale, and the swap. */
extern bool lw_row_is_finite_scalar(const float *values, size_t dimension);
extern float lw_encode_row_scalar(const float *values, size_t dimension, int8_t *codes);
extern void lw_swap_values_scalar(const void *from, size_t count, float *values);
#if defined(__x86_64__)
extern bool lw_row_is_finite_avx2(const float *values, size_t dimension);
extern float lw_encode_row_avx2(const float *values, size_t dimension, int8_t *codes);
extern void lw_swap_values_avx2(const void *from, size_t count, float *values);
#endif

#endif							/* LW_KERNEL_ENCODE_H */
