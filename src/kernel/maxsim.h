/*-------------------------------------------------------------------------
 *
 * maxsim.h
 *	  MaxSim of one prepared query against blocks of documents.
 *
 * The score of a document is the sum over the query tokens, in order and in
 * float32, of the largest similarity with any of its tokens.  The scalar
 * kernel defines the answer; every other kernel gives the same bits, for any
 * block size, alignment and position of the document.
 *
 * Similarity of query token q and document token d (dimension n):
 *	  float32	fma(q[n-1], d[n-1], ... fma(q[1], d[1], fma(q[0], d[0], 0)))
 *	  int8		the same over the codes as floats, times the token's factor
 *	  int8 unit	likewise; the factor is 1 / |codes|, the float nearest to the
 *				double quotient, and 0 for a token of zero codes
 * A larger one replaces the maximum only if it is greater (so of +0 and -0
 * the first stays, and a NaN never does).
 *
 * Where float32 steps of the format's own decoding would overflow or
 * underflow (spec: scale * |codes| outside 1e-12 .. 1e19, products outside
 * the normal range, queries so large that q . codes overflows), the document
 * is decoded as the format says (kernel/decode.h) and scored as float32.
 *
 * Nothing here allocates, raises or locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_KERNEL_MAXSIM_H
#define LW_KERNEL_MAXSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum LwKernel
{
	LW_KERNEL_AUTO,
	LW_KERNEL_SCALAR,
	LW_KERNEL_AVX2,
	LW_KERNEL_AVX512,
	LW_KERNEL_NEON
} LwKernel;

#define LW_KERNEL_COUNT 5

extern const char *const lw_kernel_names[LW_KERNEL_COUNT];	/* "auto", "scalar", "avx2", "avx512", "neon" */

/* Caps the instruction set used from now on; LW_KERNEL_AUTO lifts the cap. */
extern void lw_kernel_cap(LwKernel cap);

/* What scoring uses now; never LW_KERNEL_AUTO. */
extern LwKernel lw_kernel_active(void);

/* Whether this build and this processor (CPUID, XGETBV) have it. */
extern bool lw_kernel_available(LwKernel kernel);

typedef enum LwScoring
{
	LW_SCORE_FLOAT32,
	LW_SCORE_INT8,				/* code * scale */
	LW_SCORE_INT8_UNIT			/* then divided by its own norm */
} LwScoring;

typedef enum LwScoreProblem
{
	LW_SCORE_FINE,
	LW_SCORE_NAN,				/* a dot product, or the sum, is not a number */
	LW_SCORE_SCALE				/* a scale is not finite and positive */
} LwScoreProblem;

/* One document: `tokens` rows of float32 or int8, as the scoring says. Rows are read where they lie, with any alignment of the element. */
typedef struct LwDocument
{
	const void *rows;
	const float *scales;		/* int8 only, [tokens] */
	size_t		tokens;			/* at least 1 */
} LwDocument;

/*
 * A query packed for the kernels, with their scratch: not to be used by two
 * scorings at a time.  The caller provides lw_query_size() bytes, aligned to
 * 64 (0 when the size overflows).  tokens and dimension are at least 1.
 * It stays valid when the kernel cap changes.
 */
typedef struct LwQuery LwQuery;

extern size_t lw_query_size(uint32_t tokens, uint32_t dimension);
extern LwQuery *lw_query_init(void *memory, const float *vectors,
							  uint32_t tokens, uint32_t dimension);
extern uint32_t lw_query_tokens(const LwQuery *query);
extern uint32_t lw_query_dimension(const LwQuery *query);

/*
 * Called between the steps of a score, which may take hours; it may leave by
 * longjmp, for nothing is held and the next score starts afresh.
 */
extern void (*lw_maxsim_pause) (void);

/*
 * Scores a block of documents: scores[i] for each i.  Returns how many are
 * good: `count`, or the position of the first document with a problem, which
 * *problem names; scores from there on are undefined.
 */
extern size_t lw_maxsim(LwQuery *query, LwScoring scoring,
						const LwDocument *documents, size_t count,
						float *scores, LwScoreProblem *problem);

/*
 * The same for the best of many: a document whose score is less than `floor`
 * may get -INFINITY instead, which takes less time.
 */
extern size_t lw_maxsim_above(LwQuery *query, LwScoring scoring,
							  const LwDocument *documents, size_t count,
							  float floor, float *scores, LwScoreProblem *problem);

/*
 * Which token won: similarity[tokens of the query] sums, in order, to the
 * score of lw_maxsim, winner[] counts from 0; of equal ones the first wins.
 */
extern LwScoreProblem lw_maxsim_winners(LwQuery *query, LwScoring scoring,
										const LwDocument *document,
										float *similarity, size_t *winner);

/* Negative when score a ranks before b, positive when after, by IEEE total order descending. */
static inline int
lw_compare_scores(float a, float b)
{
	int32_t		x;
	int32_t		y;

	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	x ^= (int32_t) ((uint32_t) (x >> 31) >> 1);
	y ^= (int32_t) ((uint32_t) (y >> 31) >> 1);
	return (x < y) - (x > y);
}

#endif							/* LW_KERNEL_MAXSIM_H */
