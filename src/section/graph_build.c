/*-------------------------------------------------------------------------
 *
 * graph_build.c
 *	  Building the graph that the reference builds.
 *
 *-------------------------------------------------------------------------
 */
#include "section/graph.h"

#include <stdlib.h>

#include "section/intpack.h"
#include "section/rank.h"

#define VERSION 1
#define KIND_ONE_TYPE 0
#define KIND_TYPES 1

typedef struct Edges
{
	uint64_t   *starts;			/* [nodes + 1] */
	uint64_t   *gaps;
	uint64_t   *types;
	size_t		count;
} Edges;

/* Adds edges of one type; the targets are put in order. */
static void
add_edges(Edges *edges, uint64_t *targets, size_t count, uint8_t type)
{
	uint64_t	last = 0;
	size_t		i;

	lw_rank_sort(targets, count);
	for (i = 0; i < count; i++)
	{
		edges->gaps[edges->count] = targets[i] - last;
		edges->types[edges->count++] = type;
		last = targets[i];
	}
}

static void
add_node(Edges *edges, const LwHnsw *hnsw, uint32_t node, uint32_t top_m)
{
	uint64_t	targets[LW_HNSW_MAX_LINKS];
	size_t		nlinks;
	const uint32_t *links = lw_hnsw_neighbours(hnsw, node, 0, &nlinks);
	size_t		count = 0;
	size_t		i;

	edges->starts[node] = edges->count;
	if (node > 0)
		targets[count++] = node - 1;
	if (node + 1 < hnsw->nodes)
		targets[count++] = node + 1;
	add_edges(edges, targets, count, LW_EDGE_NEXT_CHUNK);
	count = 0;
	for (i = 0; i < nlinks && i < top_m; i++)
		if (links[i] != node)
			targets[count++] = links[i];
	add_edges(edges, targets, count, LW_EDGE_SEMANTIC);
}

static void
write_payload(const Edges *edges, size_t nodes, LwBuffer *payload)
{
	uint8_t		kind = KIND_ONE_TYPE;
	size_t		i;

	for (i = 1; i < edges->count; i++)
		if (edges->types[i] != edges->types[0])
			kind = KIND_TYPES;
	lw_put_u32(payload, VERSION);
	lw_put_u64(payload, nodes);
	lw_put_intpack_column(payload, edges->starts, nodes + 1);
	lw_put_intpack_column(payload, edges->gaps, edges->count);
	lw_put_u8(payload, kind);
	if (kind == KIND_TYPES)
		lw_put_intpack_column(payload, edges->types, edges->count);
	else
		lw_put_u8(payload, (uint8_t) edges->types[0]);
}

LwStatus
lw_graph_build(const LwHnsw *hnsw, uint32_t top_m, LwBuffer *payload, LwError *error)
{
	size_t		nodes = hnsw->nodes;
	size_t		links = top_m < LW_HNSW_MAX_LINKS ? top_m : LW_HNSW_MAX_LINKS;
	Edges		edges = {NULL, NULL, NULL, 0};
	LwStatus	status = LW_OK;
	uint32_t	node;

	if (nodes < 2)
		return LW_OK;
	if (nodes > UINT32_MAX / (links + 2))
		return lw_fail(error, LW_LIMIT, NULL, -1, "edges that can be counted in 32 bits", "%zu nodes", nodes);
	edges.starts = malloc((nodes + 1) * sizeof(uint64_t));
	edges.gaps = malloc(nodes * (links + 2) * sizeof(uint64_t));
	edges.types = malloc(nodes * (links + 2) * sizeof(uint64_t));
	if (edges.starts == NULL || edges.gaps == NULL || edges.types == NULL)
		status = lw_no_memory(error);
	else
	{
		for (node = 0; node < nodes; node++)
			add_node(&edges, hnsw, node, top_m);
		edges.starts[nodes] = edges.count;
		write_payload(&edges, nodes, payload);
		status = lw_buffer_status(payload, error);
	}
	free(edges.starts);
	free(edges.gaps);
	free(edges.types);
	return status;
}
