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
 * q = s c + s' c' + r with c and c' of small whole numbers and s' = s / 128.
 * The similarity is S = f (q . d + e) (1 + t), where |e| <= 1.001 n u |q| |d|
 * is the rounding of n fused steps (Cauchy-Schwarz) and |t| <= u that of the
 * last product.  All bounds are of S / s.
 *
 * Coarse bounds.  The integer c . d is exact, and with P = f (c . d)
 *		|S / s - P| <= E (|q - s c| + (1.001 n + 1.001) u |q|) / s
 * The values P -+ b E are had by one conversion and one fused step, within
 * 2.01 u |P| + 1.01 u b E <= E (2.01 u |c| + 1.01 u b), so
 *		b = (1 + 2^-8) ((|q - s c| + (n + 4) u |q|) / s + 3 u |c|)
 * makes them bounds.
 *
 * Fine bounds, of the few pairs of tokens that the coarse ones leave.  The
 * integer c' . d is exact too, and with G = f (c' . d) / 128
 *		|S / s - P - G| <= E (|r| + (1.001 n + 1.001) u |q|) / s
 * P is taken from the coarse upper bound, less b E, which is within
 * 3.1 u |P| + 1.2 u b E; G is had within 2.1 u |G|; their sum and the roundings
 * of P + G -+ B E add 2.1 u (|P| + |G|) + u B E, so
 *		B = (1 + 2^-8) ((|r| + (n + 4) u |q|) / s + 6 u (|c| + b + |c'| / 128))
 * makes those bounds.
 *
 * E, B and b are rounded themselves, by relative errors that 2^-8 covers many
 * times.  E is taken as 1 for a normalized token that is not zero.  Underflow
 * adds at most n 2^-150 f, and q - s c and r, found in double, are off by
 * 2^-51 |q|; u |q| is far above both, and both B and b hold more than that to
 * spare, because |q| is within 2^-40 .. 2^40, |d| is 0 or at least 1, and
 * scales are those that maxsim.c scores without decoding.  In these ranges
 * nothing overflows.  A token of zero codes has S = 0 and all bounds 0.
 *
 * A whole document.  Sums of s times the largest coarse upper bounds of all
 * query tokens bound the score from above; float32 sums of m <= 2^32 maxima are
 * off by less than 1.01 m u times the sum of their magnitudes, and s, rounded,
 * by u times itself.
 *
 * Integers.  |c| <= `limit` and |c'| <= 64, so that sums over n dimensions stay
 * far below 2^31.  Where products of bytes are summed in 16 bits (`runs`), c is
 * so small that two neighbours have a sum of magnitudes of at most 128, and
 * those of half a run (below) of at most 255: no two products saturate, for
 * 255 * 128 < 2^15, and whatever 16 bits dropped on the way, the sum of half a
 * run is right, for 128 * 255 < 2^15.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_KERNEL_SCREEN_H
#define LW_KERNEL_SCREEN_H

#include "kernel/query.h"

#define LW_SCREEN_TOKENS 240	/* a block, whole tiles of 12; upper bounds of a group take 15 KB */
#define LW_SCREEN_GROUPS 2		/* bounded at a time, at most */

/*
 * Dimensions of a run.  Bytes 4 i and 4 i + 1 of it are one half, 4 i + 2 and
 * 4 i + 3 the other: so does VPMADDUBSW add up.
 */
#define LW_SCREEN_RUN 16
#define LW_SCREEN_DIMENSION 16384	/* of the proof */

/* Bytes that a block has for each token: whole registers of the widest kind. */
#define LW_SCREEN_PITCH(stride) (((stride) + 63) / 64 * 64)

/* A pair of a lane of a group and a token of the block. */
typedef struct LwPair
{
	uint16_t	token;
	uint16_t	lane;
} LwPair;

/* What an instruction set provides for screening. */
struct LwScreening
{
	int			limit;			/* largest |c| that `bound` takes */
	bool		runs;			/* whether it sums halves of runs in 16 bits */

	/*
	 * Writes the codes of `count` tokens as `bound` reads them, each plus 128
	 * where it wants them so, a token's dimension filled up to `stride`, and
	 * the sums of their squares.
	 */
	void		(*shift) (const int8_t *codes, size_t dimension, size_t count,
						  uint8_t *bytes, size_t stride, int32_t *squares);

	/* f and E of normalized tokens: lw_unit_factor of each, and 1 for one that is not zero. */
	void		(*unit_factors) (const int32_t *squares, size_t count,
								 float *factors, float *sizes);

	/*
	 * Raises the coarse lower bounds of `groups` <= LW_SCREEN_GROUPS lane
	 * groups from `group` on, and then finds for each token of the block which
	 * lanes it can hold the maximum of: screen->can, [0] for the first group.
	 */
	void		(*bound) (LwScreen *screen, size_t group, size_t groups, size_t count);

	/* Raises highest[LW_LANES] to the upper bounds of `count` tokens. */
	void		(*raise_highest) (const float *upper, size_t count, float *highest);

	/* c' . d of pairs of a group and the block. */
	void		(*dots) (const LwScreen *screen, size_t group, const LwPair *pairs,
						 size_t count, int32_t *dots);

	/*
	 * Raises the maxima of `groups` <= LW_SCREEN_GROUPS lane groups to
	 * similarities with a row for each lane, in the order of maxsim.h.
	 */
	void		(*raise_lanes) (LwQuery *query, size_t group, size_t groups,
								const int8_t *const *rows, const float *factors);
};

#if defined(__x86_64__)
extern const LwScreening lw_screening_avx2;
extern const LwScreening lw_screening_avxvnni;	/* AVX2 with AVX-VNNI */
extern const LwScreening lw_screening_avx512;	/* with AVX512_VNNI */

extern void lw_shift_avx2(const int8_t *codes, size_t dimension, size_t count,
						  uint8_t *bytes, size_t stride, int32_t *squares);
extern void lw_unit_factors_avx2(const int32_t *squares, size_t count,
								 float *factors, float *sizes);
extern void lw_dots_avx2(const LwScreen *screen, size_t group, const LwPair *pairs,
						 size_t count, int32_t *dots);
extern void lw_raise_lanes_avx2(LwQuery *query, size_t group, size_t groups,
								const int8_t *const *rows, const float *factors);

extern void lw_raise_highest_avx2(const float *upper, size_t count, float *highest);

/* can[]: of which lanes the upper bounds of a token, [count][LW_LANES], are not less than best[]. */
extern void lw_compare_avx2(const float *upper, const float *best, size_t count,
							uint16_t *can);
#endif

#if defined(__aarch64__)
extern const LwScreening lw_screening_neon;
extern const LwScreening lw_screening_neon_dotprod;
#endif

/*
 * What is tried for every document until it is of no use: then it rests for
 * one document, and for more each time that the next try is no better.
 */
typedef struct LwRest
{
	int			left;
	int			last;			/* 0: it was of use since */
} LwRest;

struct LwScreen
{
	const LwScreening *prepared;	/* for which; NULL: not yet */
	bool		fit;			/* whether norms of all query tokens are in range */
	LwRest		screens;		/* of no use where they leave too much */
	LwRest		floors;			/* passes to find that a document is below a floor; of no use when it isn't */
	size_t		stride;			/* dimension in whole runs */
	int8_t	   *codes;			/* c: [groups][stride / 4][LW_LANES][4] */
	int32_t    *starts;			/* -128 times the sum of c: [groups][LW_LANES] */
	int16_t    *run_starts;		/* of halves of runs, modulo 2^16: [groups][stride / LW_SCREEN_RUN][LW_LANES][2] */
	int8_t	   *rests;			/* c': [groups][LW_LANES][stride] */
	int32_t    *rest_starts;	/* -128 times the sum of c': [groups][LW_LANES] */
	float	   *steps;			/* s: [groups][LW_LANES] */
	float	   *coarse;			/* b: [groups][LW_LANES] */
	float	   *fine;			/* B: [groups][LW_LANES] */
	uint32_t   *live;			/* [groups], a bit for each lane whose token is not zero */
	float	   *coarse_best;	/* largest lower bounds in the document, [groups][LW_LANES] */
	float	   *fine_best;
	float	   *highest;		/* largest coarse upper bounds, [groups][LW_LANES] */
	uint8_t    *bytes;			/* a block's codes as `shift` wrote them */
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
 * are left to the caller.  Returns SIZE_MAX when the score is less than `floor`.
 */
extern size_t lw_screen_document(LwQuery *query, const LwArithmetic *arithmetic,
								 bool unit, const LwDocument *document, float floor);

#endif							/* LW_KERNEL_SCREEN_H */
