/*-------------------------------------------------------------------------
 *
 * hnsw_walk.h
 *	  Walking a graph of neighbours by distance, for building and searching.
 *
 * Distances are 1 - the dot product of kernel/lanedot.h.  Equal ones count as
 * equal, and heaps are the reference's: which of equal nodes is met first is
 * theirs, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_HNSW_WALK_H
#define LW_SECTION_HNSW_WALK_H

#include "section/hnsw.h"

typedef struct LwHeap
{
	LwNeighbour *entries;
	size_t		count;
	size_t		room;
} LwHeap;

/* A graph; its ids are below `nodes`. */
typedef struct LwWalkGraph
{
	const void *graph;
	const uint32_t *(*neighbours) (const void *graph, uint32_t node, uint32_t layer, size_t *count);
	uint32_t	nodes;
} LwWalkGraph;

typedef struct LwWalk
{
	const LwWalkGraph *graph;
	void		(*pause) (void);	/* called now and then, or NULL */
	uint32_t   *visited;		/* [nodes] the last layer search that met the node */
	uint32_t	search;			/* this one */
	LwHeap		frontier;		/* nearest on top */
	LwHeap		results;		/* farthest on top */
} LwWalk;

extern LwStatus lw_walk_init(LwWalk *walk, const LwWalkGraph *graph, LwError *error);
extern void lw_walk_free(LwWalk *walk);

extern float lw_walk_distance(const float *query, const LwVectorSlab *slab, uint32_t row);

/* Moves `at` to ever nearer neighbours on a layer. */
extern void lw_walk_greedy(const LwWalk *walk, const float *query, const LwVectorSlab *slab,
						   uint32_t layer, LwNeighbour *at);

/*
 * Searches a layer from `entry`, never visiting the node `ignored` (any
 * number that is none: no node), and leaves the nearest `beam` in walk->results.
 */
extern LwStatus lw_walk_layer(LwWalk *walk, const float *query, const LwVectorSlab *slab,
							  uint32_t layer, LwNeighbour entry, uint32_t ignored,
							  size_t beam, LwError *error);

#endif							/* LW_SECTION_HNSW_WALK_H */
