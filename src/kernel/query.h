/*-------------------------------------------------------------------------
 *
 * query.h
 *	  What the kernels share among themselves: the packed query and the
 *	  arithmetic that each instruction set provides.
 *
 * Query tokens are lanes: sixteen of them, a lane group, stand side by side
 * for every dimension, so that a document's value is broadcast, sums and
 * maxima are vertical and each (query token, document token) pair has one
 * chain of fused multiply-adds whatever the width of a register.  The last
 * group is filled up with zeros; such a lane may well hold a NaN (0 * inf),
 * so nothing reads its results.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_KERNEL_QUERY_H
#define LW_KERNEL_QUERY_H

#include "kernel/maxsim.h"

#include <math.h>

#define LW_LANES 16

/*
 * Document tokens a step: whole tiles of every kernel (6 and 8 tokens), and
 * few enough that all lane groups find them in the first-level cache.
 */
#define LW_STEP 24

typedef struct LwScreen LwScreen;
typedef struct LwScreening LwScreening;

struct LwQuery
{
	uint32_t	tokens;
	uint32_t	dimension;
	size_t		groups;
	bool		codes_fit;		/* no sum of query values times codes overflows */
	float	   *lanes;			/* [groups][dimension][LW_LANES] */
	float	   *maxima;			/* [groups][LW_LANES] */
	float	   *rows;			/* [LW_STEP][dimension], a step of int8 tokens as float32 */
	LwScreen   *screen;			/* kernel/screen.h; NULL when the dimension is beyond it */
	const char *next;			/* rows of the document that is scored next, or NULL */
	float		factors[LW_STEP];
	float		ones[LW_STEP];
};

/* The lanes of a group that are query tokens, a bit each. */
static inline uint32_t
lw_real_lanes(const LwQuery *query, size_t group)
{
	size_t		tokens = query->tokens - group * LW_LANES;

	return tokens >= LW_LANES ? (1U << LW_LANES) - 1 : (1U << tokens) - 1;
}

/* Tokens of the next tile, of as few and as even ones as `left` tokens need with at most `most` in each. */
static inline size_t
lw_next_tile(size_t left, size_t most)
{
	size_t		tiles = (left + most - 1) / most;

	return (left + tiles - 1) / tiles;
}

/* What similarities with a normalized token are multiplied by. */
static inline float
lw_unit_factor(uint64_t squares)
{
	return squares > 0 ? (float) (1 / sqrt((double) squares)) : 0;
}

typedef struct LwArithmetic
{
	/*
	 * Raises the maxima of `groups` lane groups from `group` on to the
	 * similarities, dot product times factor, of `count` <= LW_STEP rows.
	 * Returns whether one of them is a NaN.
	 */
	bool		(*raise_maxima) (LwQuery *query, size_t group, size_t groups,
								 const float *rows, const float *factors,
								 size_t count);

	/* Writes the codes of one token as floats; returns the sum of their squares. */
	uint64_t	(*widen) (const int8_t *codes, size_t dimension, float *row);

	const LwScreening *screening;	/* kernel/screen.h; NULL without one */
} LwArithmetic;

extern const LwArithmetic lw_arithmetic_scalar;
#if defined(__x86_64__)
extern const LwArithmetic lw_arithmetic_avx2;
extern const LwArithmetic lw_arithmetic_avx2_vnni;
extern const LwArithmetic lw_arithmetic_avx512;
extern const LwArithmetic lw_arithmetic_avx512_vnni;
#endif
#if defined(__aarch64__)
extern const LwArithmetic lw_arithmetic_neon;
extern const LwArithmetic lw_arithmetic_neon_dotprod;
#endif

/* The arithmetic of lw_kernel_active(). */
extern const LwArithmetic *lw_arithmetic(void);

/* X(0) X(1) ... X(n - 1): compilers keep named accumulators in registers, arrays of them not always. */
#define LW_EACH_1(X) X(0)
#define LW_EACH_2(X) LW_EACH_1(X) X(1)
#define LW_EACH_3(X) LW_EACH_2(X) X(2)
#define LW_EACH_4(X) LW_EACH_3(X) X(3)
#define LW_EACH_5(X) LW_EACH_4(X) X(4)
#define LW_EACH_6(X) LW_EACH_5(X) X(5)
#define LW_EACH_7(X) LW_EACH_6(X) X(6)
#define LW_EACH_8(X) LW_EACH_7(X) X(7)
#define LW_EACH_9(X) LW_EACH_8(X) X(8)
#define LW_EACH_10(X) LW_EACH_9(X) X(9)
#define LW_EACH_11(X) LW_EACH_10(X) X(10)
#define LW_EACH_12(X) LW_EACH_11(X) X(11)

/* Before a tile's loop: what clang does by itself. */
#if defined(__GNUC__) && !defined(__clang__)
#define LW_UNROLL _Pragma("GCC unroll 4")
#else
#define LW_UNROLL
#endif

#endif							/* LW_KERNEL_QUERY_H */
