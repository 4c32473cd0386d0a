/*-------------------------------------------------------------------------
 *
 * screen.h
 *	  MaxSim of int8 documents by integers first: which tokens can hold a
 *	  maximum at all.
 *
 * Scores do not depend on the screen.  It finds bounds of the similarities S
 * of maxsim.h, and rules out a token only when its upper bound is less than
 * the lower bound of another token of the document: its S is then strictly
 * less than the maximum and cannot change a bit of it.  What is left is scored
 * by the same chain of fused multiply-adds as without a screen.
 *
 * Below, u = 2^-24, n <= 2^14 is the dimension, |.| the 2-norm, q a query
 * token, d the codes of a document token, f its factor, E = f * |d|.
 *
 * Fine bounds.  S = f (q . d + e) (1 + t) where |e| <= 1.001 n u |q| |d| is
 * the rounding of n fused steps (Cauchy-Schwarz) and |t| <= u that of the last
 * product.  A dot product F in any other order obeys the same, so
 *		|F - S| <= E |q| (2.002 n + 2.1) u
 * and with the roundings of F -+ B E, at most 2.1 u |q| E + 2 u B E,
 *		B = (1 + 2^-8) (2 n + 8) u |q|
 * makes those two values bounds of S.
 *
 * Coarse bounds.  q = s * c + r with c of small whole numbers.  The integer
 * c . d is exact, and
 *		S - s f (c . d) = f (r . d + e) + t f (q . d + e)
 *		|S / s - f (c . d)| <= E (|r| + (1.001 n + 1.001) u |q|) / s
 * The values f (c . d) -+ b E are had by one conversion and one fused step,
 * within 2.01 u f |c . d| + 1.01 u b E <= E (2.01 u |c| + 1.01 u b), so
 *		b = (1 + 2^-8) ((|r| + (n + 4) u |q|) / s + 3 u |c|)
 * makes them bounds of S / s.
 *
 * E, B and b are rounded themselves, by relative errors that 2^-8 covers many
 * times.  E is taken as 1 for a normalized token that is not zero.  Underflow
 * adds at most n 2^-150 f, and r, found in double, is off by 2^-52 |q|; u |q|
 * is far above both, and both B and b hold more than that to spare, because
 * |q| is within 2^-40 .. 2^40, |d| is 0 or at least 1, and scales are those
 * that maxsim.c scores without decoding.  In these ranges nothing overflows.
 * A token of zero codes has S = 0 and all bounds 0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_KERNEL_SCREEN_H
#define LW_KERNEL_SCREEN_H

#include "kernel/query.h"

#define LW_SCREEN_TOKENS 240	/* a block, whole tiles of 12; upper bounds of a group take 15 KB */
#define LW_SCREEN_GROUPS 2		/* bounded at a time, at most */
#define LW_SCREEN_DIMENSION 16384	/* of the proof */

/* Bytes that a block has for each token: whole registers of the widest kind. */
#define LW_SCREEN_PITCH(stride) (((stride) + 63) / 64 * 64)

/* What an instruction set provides for screening. */
struct LwScreening
{
	int			limit;			/* largest |c| that `bound` takes */

	/*
	 * Writes the codes of `count` tokens plus 128 as `bound` reads them, a
	 * token's dimension filled up to `stride`, and the sums of their squares.
	 */
	void		(*shift) (const int8_t *codes, size_t dimension, size_t count,
						  uint8_t *bytes, size_t stride, int32_t *squares);

	/* lw_unit_factor of each. */
	void		(*unit_factors) (const int32_t *squares, size_t count, float *factors);

	/*
	 * Raises the coarse lower bounds of `groups` <= LW_SCREEN_GROUPS lane
	 * groups from `group` on, and then finds for each token of the block which
	 * lanes it can hold the maximum of: screen->can, [0] for the first group.
	 */
	void		(*bound) (LwScreen *screen, size_t group, size_t groups, size_t count);

	/* A dot product in any order. */
	float		(*dot) (const float *vector, const int8_t *codes, size_t dimension);

	/*
	 * Raises the maxima of a group to similarities with a row for each lane,
	 * in the order of maxsim.h.
	 */
	void		(*raise_lanes) (LwQuery *query, size_t group,
								const int8_t *const rows[LW_LANES],
								const float factors[LW_LANES]);
};

#if defined(__x86_64__)
extern const LwScreening lw_screening_avx2;
extern const LwScreening lw_screening_avxvnni;	/* AVX2 with AVX-VNNI */
extern const LwScreening lw_screening_avx512;	/* with AVX512_VNNI */

extern void lw_shift_avx2(const int8_t *codes, size_t dimension, size_t count,
						  uint8_t *bytes, size_t stride, int32_t *squares);
extern void lw_unit_factors_avx2(const int32_t *squares, size_t count, float *factors);

/* can[]: of which lanes the upper bounds of a token, [count][LW_LANES], are not less than best[]. */
extern void lw_compare_avx2(const float *upper, const float *best, size_t count,
							uint16_t *can);

extern float lw_dot_avx2(const float *vector, const int8_t *codes, size_t dimension);
extern void lw_raise_lanes_avx2(LwQuery *query, size_t group,
								const int8_t *const rows[LW_LANES],
								const float factors[LW_LANES]);
#endif

struct LwScreen
{
	int			limit;			/* that it was prepared for; 0: not yet */
	bool		fit;			/* whether norms of all query tokens are in range */
	int			rest;			/* documents to go unscreened, because the screen was of no use */
	int			last_rest;		/* as many it was the last time; 0: it was of use since */
	size_t		stride;			/* dimension in whole fours */
	float	   *vectors;		/* [groups][LW_LANES][dimension] */
	int8_t	   *codes;			/* c: [groups][stride / 4][LW_LANES][4] */
	int32_t    *starts;			/* -128 times the sum of c: [groups][LW_LANES] */
	float	   *coarse;			/* b: [groups][LW_LANES] */
	float	   *fine;			/* B: [groups][LW_LANES] */
	uint32_t   *live;			/* [groups], a bit for each lane whose token is not zero */
	float	   *coarse_best;	/* largest lower bounds in the document: [groups][LW_LANES] */
	uint8_t    *bytes;			/* codes + 128 of a block, as `shift` orders them */
	const int8_t *following;	/* where the codes go on after the block */
	float	   *upper;			/* coarse upper bounds: [LW_SCREEN_GROUPS][LW_SCREEN_TOKENS][LW_LANES] */
	float		factors[LW_SCREEN_TOKENS];	/* f */
	float		sizes[LW_SCREEN_TOKENS];	/* E */
	int32_t		squares[LW_SCREEN_TOKENS];
	uint16_t	can[LW_SCREEN_GROUPS][LW_SCREEN_TOKENS];
};

/*
 * Whether the next document shall be screened; prepares the screen when that
 * is not done yet.
 */
extern bool lw_screen_ready(LwQuery *query, const LwScreening *screening);

/*
 * Sets query->maxima to those of an int8 document whose tokens need no decoding,
 * or of as many tokens as it returns: where the screen is of no use, the others
 * are left to the caller.
 */
extern size_t lw_screen_document(LwQuery *query, const LwArithmetic *arithmetic,
								 bool unit, const LwDocument *document);

#endif							/* LW_KERNEL_SCREEN_H */
