/*-------------------------------------------------------------------------
 *
 * bounds.h
 *	  Upper bounds of scores, by which most rows of a slab are ruled out, and
 *	  what the instruction sets provide for single vectors.
 *
 * Hits do not depend on the bounds.  A row is ruled out only when the bound U
 * of its score S (vectors.h) is below the worst of k hits, so that its S is
 * too.  Any other row is scored in the order that defines S.  What must hold
 * is S <= U, or that U is a NaN, which is not below anything.  A row whose S
 * is a NaN may have any U: it comes behind a hit that U is below.
 *
 * Below, u = 2^-24, n is the dimension, 16 <= n < 2^16, |.| the sum of
 * magnitudes, q the query, 2^-60 <= |q| <= 2^60, and g(m) = m u / (1 - m u).
 * A float32 sum of products with at most m roundings a term is off by at most
 * g(m) times the sum of the terms' magnitudes, plus 2^-150 for a product that
 * underflows.  g(n) <= 1.005 n u.  SPARE is 1 + 2^-6, and covers g(n), the
 * roundings of the constants themselves and small multiples of u.
 *
 * float32, float16.  The products q[i] r[i] are summed by fused steps in
 * lanes, lane l having all i of some L.  M[l] is the largest |r[i]| there, or
 * 2^-40 when that is more (2^-24 for float16), and
 *		U = sum over l of (F[l] + B[l] M[l]),  B[l] = SPARE (2 n + 8) u sum |q[i]|
 * or 2^-126 when that is more, so that B[l] does not underflow.
 * Both S and the sum of F[l] are within g(n) sum |q[i] r[i]| + n 2^-150 of
 * q . r, and sum |q[i] r[i]| <= sum over l of M[l] sum |q[i]|.  So B M holds
 * both, and the roundings of its own addition, since SPARE (1 - g(n)) > 1.01;
 * what is to spare is above 0.01 n u 2^-60 2^-40 and holds n 2^-149, too.  All
 * this while nothing overflows, which M <= 2^60 ensures; rows of a larger one,
 * or a NaN, are left.
 *
 * int8.  q = s c + r, c of whole numbers, |c| limited so that integer sums of
 * products are exact.  P, what S is a scale times of, is within g(n) 128 |q|
 * of q . d, d being the codes: their products with floats lose nothing when
 * they underflow.  q . d = s (c . d) + r . d, and s (c . d) + M, found by a
 * conversion and a fused step, is off by at most 3 u 128 s |c| + u M.  So, as
 * s |c| <= |q| + |r|, with
 *		M = SPARE 128 (|r| + (n + 8) u (|q| + |r|))
 * P is in s (c . d) -+ M.  Rounding is monotonic: with a scale f that is not
 * negative S = fl(f P) <= fl(f (s (c . d) + M)) = U, and with a negative one
 * M is subtracted.  A scale that is infinite or a NaN gives such a U, too.
 *
 * int4.  In each of N blocks with the scale f the sum p of 64 terms is within
 * g(64) 8 |q| of q . d, which is s (c . d) + r . d, |q|, |c| and |r| now being
 * those of the block.  S has at most N + 1 further roundings a block, and is
 *		S <= sum over blocks of f s ((c . d) + e)
 *		e = (8 |r| + 8.1 (N + 66) u |q|) / s + 2^-30
 * where 2^-30 is for the underflow of p f: f is 0 or at least 2^-24, and s
 * at least 2^-91.  The kernels have codes d + 8 and so sum up
 *		f ((c . (d + 8)) + C),  C = m - 8 times the sum of c
 * in parts, the magnitudes of which are below f (15 |c| + |C|), with at most
 * 2 N + 16 roundings each, so
 *		m = SPARE (e + (2 N + 18) u 24 |c|)
 * which is multiplied by s at the end.  This needs scales which are finite
 * and not negative; rows of others are left.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_KERNEL_BOUNDS_H
#define LW_KERNEL_BOUNDS_H

#include "kernel/vectors.h"

#define LW_BOUND_ROWS 8			/* bounds are found for so many at a time */
#define LW_CHUNK 16				/* lanes of the proof, and components a step of rows of floats */
#define LW_LARGEST 0x1p60f		/* of the proof */
#define LW_SMALLEST 0x1p-40f

typedef struct LwVectorKernel LwVectorKernel;

/* Lists the rows from `first` on, `count` in whole eights, whose bounds are not below `least`; returns how many. */
typedef size_t (*LwBound) (LwVectorQuery *query, const LwVectorSlab *slab, size_t first,
						   size_t count, float least, size_t *left);

/* What an instruction set provides. */
struct LwVectorKernel
{
	/* Scores of any rows. */
	void		(*score) (const LwVectorQuery *query, const LwVectorSlab *slab,
						  const size_t *rows, size_t count, float *scores);

	/* Largest magnitude of c for a type; NULL where nothing is ruled out. */
	int32_t		(*limit) (LwVectorType type, size_t dimension);

	/* Puts c in the order in which `bound` reads it. */
	void		(*pack) (LwVectorQuery *query, LwVectorType type);

	LwBound		bound[LW_VECTOR_TYPES];
};

extern const LwVectorKernel lw_vectors_scalar;
#if defined(__x86_64__)
extern const LwVectorKernel lw_vectors_avx2;	/* needs F16C, too */
extern const LwVectorKernel lw_vectors_avx512;	/* needs VNNI, too */

extern void lw_vectors_score_avx2(const LwVectorQuery *query, const LwVectorSlab *slab,
								  const size_t *rows, size_t count, float *scores);
extern bool lw_widen_scales_avx2(const void *halves, size_t count, float *scales);
#endif

/* What lw_kernel_active() has for single vectors. */
extern const LwVectorKernel *lw_vector_kernel(void);

struct LwVectorQuery
{
	uint32_t	dimension;
	size_t		stride;			/* dimension in whole pairs of blocks */
	float	   *values;			/* [stride], zeros at the end */

	/* Of the bounds, as they were prepared last: */
	const LwVectorKernel *kernel;
	LwVectorType type;
	bool		fit;			/* whether q is as the proof needs it */
	float		step;			/* s */
	float		margin;			/* M of int8 */
	int32_t		sum;			/* of c */
	int16_t    *codes;			/* c: [stride], zeros at the end */
	void	   *packed;			/* [stride] floats' room: q in chunks, or c as the kernel packs it */
	float	   *constants;		/* B of each lane, or C of each block, then zeros */
	float	   *scales;			/* of eight int4 rows, then zeros */
};

/*
 * Whether rows can be ruled out; prepares the bounds when they are others'.
 * float32 and float16 have q packed in whole chunks, and a last one which
 * ends where q ends, with zeros for what the others have had.
 */
extern bool lw_bounds_ready(LwVectorQuery *query, const LwVectorKernel *kernel,
							LwVectorType type);

#endif							/* LW_KERNEL_BOUNDS_H */
