/*-------------------------------------------------------------------------
 *
 * graph.h
 *	  The graph of a section file (0x0C): checking, opening, neighbours,
 *	  breadth-first search, building.
 *
 * An open graph is a copy in memory: what was checked stays so.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_GRAPH_H
#define LW_SECTION_GRAPH_H

#include "section/hnsw.h"

/* Other types up to 255 are read and mean nothing here. */
enum
{
	LW_EDGE_NEXT_CHUNK = 0,
	LW_EDGE_SEMANTIC = 1,
	LW_EDGE_CITATION = 2
};

#define LW_GRAPH_MAX_EDGES (1 << 20)	/* of a node */
#define LW_GRAPH_TOP_M 8		/* the reference's default */

typedef struct LwGraph
{
	uint32_t	nodes;
	uint32_t   *starts;			/* [nodes + 1] each node's first edge, and the number of edges */
	uint32_t   *targets;		/* by type, then ascending */
	uint8_t    *types;			/* of each edge */
} LwGraph;

/* Checks a payload for a file of `rows` rows; takes no memory. */
extern LwStatus lw_graph_check(LwBytes payload, uint64_t rows, LwError *error);

/* Checks and opens it; LW_LIMIT when it would take more than `memory` bytes (0: any number). */
extern LwStatus lw_graph_open(LwBytes payload, uint64_t rows, size_t memory,
							  LwGraph **graph, LwError *error);
extern void lw_graph_close(LwGraph *graph);

/* Bytes that an open graph takes. */
extern size_t lw_graph_memory(const LwGraph *graph);

/* The targets of a node's edges, and their types at the same places. */
static inline const uint32_t *
lw_graph_neighbours(const LwGraph *graph, uint32_t node, size_t *count, const uint8_t **types)
{
	uint32_t	start = graph->starts[node];

	*count = graph->starts[node + 1] - start;
	*types = graph->types + start;
	return graph->targets + start;
}

/* How a breadth-first search came to a node. */
typedef struct LwGraphVisit
{
	uint32_t	node;
	uint32_t	hop;			/* 0: a seed */
	uint8_t		type;			/* of the edge that led there; of seeds 0 */
} LwGraphVisit;

/*
 * Breadth-first search: the seeds, then what up to `hops` steps lead to, each
 * node once, in the order of discovery, at most `cap` of them.  Seeds that
 * are no nodes or repeated are passed over.  `visits` has room for `cap` or,
 * if that is less, all nodes of the graph, `seen` for lw_graph_seen_size()
 * bytes.  Returns how many it found.  lw_maxsim_pause (kernel/maxsim.h) is
 * called on the way and may leave.
 */
extern size_t lw_graph_seen_size(const LwGraph *graph);
extern size_t lw_graph_expand(const LwGraph *graph, const uint32_t *seeds, size_t nseeds,
							  size_t hops, size_t cap, uint8_t *seen, LwGraphVisit *visits);

/*
 * Writes the payload of the graph that the reference builds: chunks in reading
 * order, both ways, and each node's first `top_m` neighbours in `hnsw`.
 * Writes nothing for fewer than two nodes.
 */
extern LwStatus lw_graph_build(const LwHnsw *hnsw, uint32_t top_m, LwBuffer *payload, LwError *error);

#endif							/* LW_SECTION_GRAPH_H */
