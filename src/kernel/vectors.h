/*-------------------------------------------------------------------------
 *
 * vectors.h
 *	  Scores of single vectors, and the nearest of a slab, by one query.
 *
 * The score of a row is the reference's, in its plain order: float32, every
 * product and every sum rounded by itself, for components i ascending
 *	  float32, float16	((q[0]*r[0] + q[1]*r[1]) + q[2]*r[2]) + ...
 *	  int8				the same over the codes, then times the row's scale
 *	  int4				((p[0]*s[0]) + p[1]*s[1]) + ... over blocks of 64, where p is
 *						the same over a block's codes and s the block's scale
 * all beginning with +0.  Every instruction set gives these bits, whatever
 * the values are; only which NaN a NaN is may differ.
 *
 * Nothing here allocates, raises or locks; beside what the caller provides it
 * takes a few kilobytes of stack.  lw_maxsim_pause (maxsim.h) is called
 * between blocks of rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_KERNEL_VECTORS_H
#define LW_KERNEL_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum LwVectorType
{
	LW_VECTOR_FLOAT32,
	LW_VECTOR_FLOAT16,
	LW_VECTOR_INT8,
	LW_VECTOR_INT4
} LwVectorType;

#define LW_VECTOR_TYPES 4
#define LW_INT4_BLOCK 64		/* components that share a scale */

/*
 * Rows as they lie in a file, one after another, with any alignment.  Two
 * int4 codes share a byte, the even component's in its low half.
 */
typedef struct LwVectorSlab
{
	LwVectorType type;
	uint32_t	dimension;		/* at least 1; int4: whole blocks */
	size_t		rows;
	const void *codes;
	const void *scales;			/* int8: a float32 a row; int4: a float16 a block */
} LwVectorSlab;

/*
 * A query packed for the kernels, with their scratch: not to be used by two
 * callers at a time.  The caller provides lw_vector_query_size() bytes (about
 * 11 a component; 0 when that overflows), aligned to 64.  The dimension is at
 * least 1.  It stays valid when the kernel cap changes, and serves slabs of
 * its dimension and any type.
 */
typedef struct LwVectorQuery LwVectorQuery;

extern size_t lw_vector_query_size(uint32_t dimension);
extern LwVectorQuery *lw_vector_query_init(void *memory, const float *values,
										   uint32_t dimension);

/* Scores of `count` rows from `first` on. */
extern void lw_vectors_score(const LwVectorQuery *query, const LwVectorSlab *slab,
							 size_t first, size_t count, float *scores);

/* Scores of any rows. */
extern void lw_vectors_score_rows(const LwVectorQuery *query, const LwVectorSlab *slab,
								  const size_t *rows, size_t count, float *scores);

typedef struct LwVectorHit
{
	size_t		row;
	float		score;
} LwVectorHit;

/*
 * The k best rows: scores descending in IEEE total order (+0 before -0), NaN
 * behind all others, equal ones by ascending row.  `hits` is the caller's,
 * with room for k or, if that is less, for all rows that will be scanned.
 */
typedef struct LwNearest
{
	LwVectorHit	   *hits;			/* until `finish` a heap, the worst on top */
	size_t		k;
	size_t		count;
	size_t		scored;			/* rows that bounds did not rule out */
} LwNearest;

extern void lw_nearest_begin(LwNearest *nearest, LwVectorHit *hits, size_t k);

/* Takes rows into account: in any order, each once. */
extern void lw_nearest_scan(LwNearest *nearest, LwVectorQuery *query,
							const LwVectorSlab *slab, size_t first, size_t count);

/* Puts the hits in order; returns how many there are. */
extern size_t lw_nearest_finish(LwNearest *nearest);

#endif							/* LW_KERNEL_VECTORS_H */
