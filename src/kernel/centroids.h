/*-------------------------------------------------------------------------
 *
 * centroids.h
 *	  Documents by the centroids of their tokens: which centroid a token is
 *	  nearest to, and which documents are worth scoring for a query.
 *
 * A document is held by the numbers of its tokens' centroids, each once.  For
 * a query there is a table of bytes, how similar each centroid is to each of
 * its tokens; the rank of a document is the sum over the query tokens of the
 * largest byte among its centroids, which is MaxSim in coarse steps.
 *
 * The numbers come from files, so whatever they are nothing is read outside
 * the table: a number that is no centroid's counts as 0.
 *
 * Which token has which centroid, the table and the ranks do not depend on the
 * instruction set.  Nothing here allocates, raises or locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_KERNEL_CENTROIDS_H
#define LW_KERNEL_CENTROIDS_H

#include "kernel/maxsim.h"

#define LW_CENTROIDS_MOST 65536 /* their numbers are uint16 */

/*
 * Centroids, those of one cell one behind the other.  A token is looked for in
 * the cells nearest to it only.
 */
typedef struct LwCentroids
{
	uint32_t	dimension;
	uint32_t	cells;			/* at least 1 */
	uint32_t	count;			/* 1 .. LW_CENTROIDS_MOST */
	const uint32_t *starts;		/* [cells + 1]: a cell's first centroid; ascending, from 0 to count */
	const float *middles;		/* [cells][dimension] */
	const float *rows;			/* [count][dimension] */
} LwCentroids;

/* ---- Assigning tokens ---- */

/* Vectors packed so that tokens are compared with sixteen at a time. */
typedef struct LwPack
{
	size_t		dimension;
	size_t		count;
	size_t		groups;			/* of sixteen, the last filled up */
	float	   *lanes;			/* [groups][dimension][16] */
	float	   *biases;			/* [groups][16]: half the square of the norm, negative */
} LwPack;

/* Bytes, aligned to 64, that a pack of vectors takes; 0 when that overflows. */
extern size_t lw_pack_size(size_t count, size_t dimension);
extern void lw_pack_init(LwPack *pack, void *memory, const float *rows, size_t count, size_t dimension);

#define LW_NEAREST_TOKENS 36	/* looked at together; whole tiles of every kernel */

/*
 * The vector of a pack that is nearest to each of `count` rows, at most
 * LW_NEAREST_TOKENS, by Euclidean distance; of equal ones the first.
 * nearness[] is half the square of the row's norm less half that of the distance.
 */
extern void lw_pack_nearest(const LwPack *pack, const float *const *rows, size_t count,
							uint32_t *winners, float *nearness);

/* What assigning to centroids needs, in the caller's memory. */
typedef struct LwAssigner LwAssigner;

#define LW_ASSIGN_TOKENS 2048	/* at a time */

/* Bytes, aligned to 64; 0 when that overflows.  About one and a quarter of the centroids' own. */
extern size_t lw_assigner_size(const LwCentroids *centroids);
extern LwAssigner *lw_assigner_init(void *memory, const LwCentroids *centroids);

/* The centroids of `count` tokens, at most LW_ASSIGN_TOKENS: rows is [count][dimension]. */
extern void lw_assign(LwAssigner *assigner, const float *rows, size_t count, uint16_t *ids);

/* ---- Ranking documents ---- */

#define LW_RANK_LANES 32		/* query tokens to a group */

/* Similarities of a query with more than so many centroids times tokens are not tabled. */
#define LW_TABLE_MOST ((size_t) 1 << 24)

typedef struct LwCentroidTable
{
	uint32_t	count;			/* of centroids */
	size_t		groups;			/* of query tokens */
	uint8_t    *rows;			/* [count][groups][LW_RANK_LANES]; what is no query token's is 0 */
} LwCentroidTable;

/* Bytes, aligned to 64, that a table takes while it is made; 0 beyond LW_TABLE_MOST. */
extern size_t lw_table_size(uint32_t centroids, uint32_t tokens);
extern void lw_table_init(LwCentroidTable *table, void *memory, const LwCentroids *centroids, const LwQuery *query);

/* The centroids of a document; read once each, wherever they lie. */
typedef struct LwCodes
{
	const uint16_t *ids;
	size_t		count;
} LwCodes;

/* The ranks of `count` documents; more is better. */
extern void lw_rank(const LwCentroidTable *table, const LwCodes *documents, size_t count, uint32_t *ranks);

typedef struct LwHit
{
	uint32_t	rank;
	uint32_t	segment;
	uint64_t	row;
} LwHit;

/* The best `room` documents: rank descending, then segment and row ascending. */
typedef struct LwBest
{
	LwHit	   *hits;			/* the caller's; until lw_best_finish a heap, the worst on top */
	size_t		room;
	size_t		count;
} LwBest;

extern void lw_best_offer(LwBest *best, LwHit hit);

/* Puts the hits in order. */
extern void lw_best_finish(LwBest *best);

/* ---- What an instruction set provides ---- */

#define LW_PACK_LANES 16

typedef struct LwCentroidKernel
{
	/*
	 * Dot products of `count` rows with sixteen lanes: dots is [count][16], each
	 * fma(row[n-1], lane[n-1], ... fma(row[0], lane[0], 0)).
	 */
	void		(*dots) (const float *lanes, size_t dimension, const float *const *rows, size_t count, float *dots);

	/* Where dots + biases is greater than best, [count][16], puts it there, and the group into groups. */
	void		(*raise) (const float *dots, size_t count, const float *biases, uint32_t group,
						  float *best, uint32_t *groups);

	/* Bytes (dots - low) * scale, rounded half up, 0 to 255 (a NaN is 0): sixteen a row, `pitch` apart. */
	void		(*quantize) (const float *dots, size_t count, const float *low, float scale,
							 uint8_t *bytes, size_t pitch);

	void		(*rank) (const LwCentroidTable *table, const LwCodes *documents, size_t count, uint32_t *ranks);
} LwCentroidKernel;

extern const LwCentroidKernel lw_centroids_scalar;
#if defined(__x86_64__)
extern const LwCentroidKernel lw_centroids_avx2;
extern const LwCentroidKernel lw_centroids_avx512;

extern void lw_raise_avx2(const float *dots, size_t count, const float *biases, uint32_t group,
						  float *best, uint32_t *groups);
extern void lw_quantize_avx2(const float *dots, size_t count, const float *low, float scale,
							 uint8_t *bytes, size_t pitch);
#endif
#if defined(__aarch64__)
extern const LwCentroidKernel lw_centroids_neon;
#endif

/* What lw_kernel_active() has. */
extern const LwCentroidKernel *lw_centroid_kernel(void);

/* The centroid that a number from a file stands for; the file may change, so it is read once. */
static inline size_t
lw_code(const uint16_t *ids, size_t i, uint32_t count)
{
	uint16_t	id = ((const volatile uint16_t *) ids)[i];

	return id < count ? id : 0;
}

#endif							/* LW_KERNEL_CENTROIDS_H */
