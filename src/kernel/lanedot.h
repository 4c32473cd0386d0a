/*-------------------------------------------------------------------------
 *
 * lanedot.h
 *	  Dot products in eight partial sums, by which graphs of neighbours are
 *	  built and walked.
 *
 * Partial sum j has the products of components j, j + 8, j + 16, ... in this
 * order; a ninth has those of the last dimension % 8 components.  The result
 * is ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7)) + tail.  All begin
 * with +0, and every product and every sum is rounded to float32 by itself.
 * Rows are decoded first, component by component: an int8 or int4 code times
 * its scale, rounded.  Every instruction set gives these bits; only which
 * NaN a NaN is may differ.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_KERNEL_LANEDOT_H
#define LW_KERNEL_LANEDOT_H

#include "kernel/vectors.h"

/* Dot products of a vector of the slab's dimension with `count` of its rows. */
extern void lw_lane_dots(const float *vector, const LwVectorSlab *slab,
					const uint32_t *rows, size_t count, float *dots);

#if defined(__x86_64__)
extern void lw_lane_dots_avx2(const float *vector, const LwVectorSlab *slab,
						 const uint32_t *rows, size_t count, float *dots);
#endif

#endif							/* LW_KERNEL_LANEDOT_H */
