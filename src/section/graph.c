/*-------------------------------------------------------------------------
 *
 * graph.c
 *	  Payloads of the graph, and breadth-first search.
 *
 * A payload is gone through twice: first everything is checked and counted,
 * then it is copied into memory of just that size.  It may have changed in
 * between, so the second time checks as much, and the counts too.
 *
 *-------------------------------------------------------------------------
 */
#include "section/graph.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/maxsim.h"
#include "section/column.h"
#include "section/fault.h"
#include "section/file.h"

#define VERSION 1
#define KIND_ONE_TYPE 0
#define KIND_TYPES 1

/* The edges' types, of either kind. */
typedef struct Types
{
	uint8_t		kind;
	uint8_t		type;			/* KIND_ONE_TYPE */
	LwColumn	column;			/* KIND_TYPES */
} Types;

static LwStatus
take_types(LwCursor *cursor, uint64_t edges, Types *types, LwError *error)
{
	if (!lw_take_u8(cursor, &types->kind))
		return lw_malformed(error, "a graph with a kind of types", lw_cursor_left(cursor));
	if (types->kind == KIND_TYPES)
		return lw_take_column(cursor, &types->column, edges, "a type for each edge of a graph", error);
	if (types->kind != KIND_ONE_TYPE)
		return lw_malformed(error, "a graph with a kind of types", types->kind);
	if (!lw_take_u8(cursor, &types->type))
		return lw_malformed(error, "a type of a graph's edges", lw_cursor_left(cursor));
	return LW_OK;
}

static LwStatus
next_type(Types *types, uint8_t *type, LwError *error)
{
	uint64_t	value;
	LwStatus	status;

	*type = types->type;
	if (types->kind == KIND_ONE_TYPE)
		return LW_OK;
	status = lw_column_next(&types->column, &value, error);
	if (status == LW_OK && value > UINT8_MAX)
		return lw_malformed(error, "edge types of at most 255", value);
	*type = (uint8_t) value;
	return status;
}

/* Reads where each node's edges begin; returns in *edges how many there are. */
static LwStatus
read_starts(LwColumn *column, const LwGraph *graph, uint64_t *edges, LwError *error)
{
	uint64_t	start = 0;
	uint64_t	last = 0;
	uint32_t	i;

	for (i = 0; i <= graph->nodes; i++)
	{
		LwStatus	status = lw_column_next(column, &start, error);

		if (status != LW_OK)
			return status;
		if (i == 0 && start != 0)
			return lw_malformed(error, "a graph whose first edge is the first node's", start);
		if (start < last || start - last > LW_GRAPH_MAX_EDGES)
			return lw_malformed(error, "at most 1048576 edges of a node", start - last);
		if (start > UINT32_MAX)
			return lw_malformed(error, "edges that can be counted in 32 bits", start);
		if (graph->starts != NULL)
			graph->starts[i] = (uint32_t) start;
		last = start;
	}
	*edges = start;
	return LW_OK;
}

/* Reads the edges of one node from `at` on. */
static LwStatus
read_edges(LwColumn *gaps, Types *types, const LwGraph *graph, uint64_t at, uint64_t end, LwError *error)
{
	uint32_t	target = 0;
	int			last_type = -1;

	for (; at < end; at++)
	{
		uint64_t	gap;
		uint8_t		type;
		LwStatus	status = next_type(types, &type, error);

		if (status == LW_OK)
			status = lw_column_next(gaps, &gap, error);
		if (status != LW_OK)
			return status;
		if (gap > UINT32_MAX)
			return lw_malformed(error, "targets of edges that are rows", gap);
		target = type == last_type ? target + (uint32_t) gap : (uint32_t) gap;
		last_type = type;
		if (target >= graph->nodes)
			return lw_malformed(error, "targets of edges that are rows", target);
		if (graph->targets != NULL)
		{
			graph->targets[at] = target;
			graph->types[at] = type;
		}
	}
	return LW_OK;
}

/* Goes through a payload; *edges is how many edges there must be, UINT64_MAX: any number. */
static LwStatus
read_payload(LwBytes payload, uint64_t rows, LwGraph *graph, uint64_t *edges, LwError *error)
{
	LwCursor	cursor = lw_cursor(payload);
	LwColumn	starts;
	LwColumn	gaps;
	Types		types;
	LwStatus	status;
	uint32_t	version;
	uint64_t	nodes;
	uint64_t	found = 0;
	uint64_t	start = 0;
	uint64_t	end = 0;
	uint32_t	i;

	if (!lw_take_u32(&cursor, &version))
		return lw_malformed(error, "a graph of at least 4 bytes", payload.size);
	if (version != VERSION)
		return lw_section_bad_version(error, LW_SECTION_GRAPH, version);
	if (!lw_take_u64(&cursor, &nodes))
		return lw_malformed(error, "a graph of at least 12 bytes", payload.size);
	if (nodes != rows || nodes >= UINT32_MAX)
		return lw_malformed(error, "a node of the graph for each row", nodes);
	graph->nodes = (uint32_t) nodes;
	status = lw_take_column(&cursor, &starts, nodes + 1, "a start of edges for each node and their end", error);
	if (status == LW_OK)
		status = read_starts(&starts, graph, &found, error);
	if (status != LW_OK)
		return status;
	if (*edges != UINT64_MAX && found != *edges)
		return lw_malformed(error, "a graph that does not change", found);
	*edges = found;
	status = lw_take_column(&cursor, &gaps, found, "a gap for each edge of a graph", error);
	if (status == LW_OK)
		status = take_types(&cursor, found, &types, error);
	starts.at = 0;
	if (status == LW_OK)
		status = lw_column_next(&starts, &start, error);
	for (i = 0; status == LW_OK && i < graph->nodes; i++)
	{
		status = lw_column_next(&starts, &end, error);
		if (status == LW_OK && (start > end || end > found))
			status = lw_malformed(error, "a graph that does not change", end);
		if (status == LW_OK)
			status = read_edges(&gaps, &types, graph, start, end, error);
		start = end;
	}
	return status;
}

LwStatus
lw_graph_check(LwBytes payload, uint64_t rows, LwError *error)
{
	LwGraph		graph;
	uint64_t	edges = UINT64_MAX;

	memset(&graph, 0, sizeof(graph));
	return read_payload(payload, rows, &graph, &edges, error);
}

static uint64_t
memory_of(uint64_t nodes, uint64_t edges)
{
	return sizeof(LwGraph) + (nodes + 1 + edges) * sizeof(uint32_t) + edges;
}

size_t
lw_graph_memory(const LwGraph *graph)
{
	return (size_t) memory_of(graph->nodes, graph->starts[graph->nodes]);
}

LwStatus
lw_graph_open(LwBytes payload, uint64_t rows, size_t memory, LwGraph **graph, LwError *error)
{
	LwGraph		counted;
	uint64_t	edges = UINT64_MAX;
	uint64_t	size;
	LwStatus	status;

	*graph = NULL;
	memset(&counted, 0, sizeof(counted));
	status = read_payload(payload, rows, &counted, &edges, error);
	if (status != LW_OK)
		return status;
	size = memory_of(counted.nodes, edges);
	if (memory > 0 && size > memory)
		return lw_fail(error, LW_LIMIT, NULL, -1, "a graph within the memory allowed", "%llu bytes",
					   (unsigned long long) size);
	*graph = size > SIZE_MAX ? NULL : malloc((size_t) size);
	if (*graph == NULL)
		return lw_no_memory(error);
	(*graph)->nodes = counted.nodes;
	(*graph)->starts = (uint32_t *) (*graph + 1);
	(*graph)->targets = (*graph)->starts + counted.nodes + 1;
	(*graph)->types = (uint8_t *) ((*graph)->targets + edges);
	status = read_payload(payload, rows, *graph, &edges, error);
	if (status != LW_OK)
	{
		lw_graph_close(*graph);
		*graph = NULL;
	}
	return status;
}

void
lw_graph_close(LwGraph *graph)
{
	free(graph);
}

size_t
lw_graph_seen_size(const LwGraph *graph)
{
	return (size_t) graph->nodes / 8 + 1;
}

/* Adds a node unless it has been seen. */
static inline size_t
visit(LwGraphVisit next, uint8_t *seen, LwGraphVisit *visits, size_t count)
{
	uint8_t		bit = (uint8_t) (1 << next.node % 8);

	if ((seen[next.node / 8] & bit) != 0)
		return count;
	seen[next.node / 8] |= bit;
	visits[count] = next;
	return count + 1;
}

size_t
lw_graph_expand(const LwGraph *graph, const uint32_t *seeds, size_t nseeds, size_t hops,
				size_t cap, uint8_t *seen, LwGraphVisit *visits)
{
	size_t		count = 0;
	size_t		from = 0;
	size_t		end;
	uint32_t	hop;
	size_t		i;

	memset(seen, 0, lw_graph_seen_size(graph));
	for (i = 0; i < nseeds && count < cap; i++)
		if (seeds[i] < graph->nodes)
			count = visit((LwGraphVisit) {seeds[i], 0, 0}, seen, visits, count);
	for (hop = 1; hop <= hops && from < count; hop++)
	{
		for (end = count; from < end && count < cap; from++)
		{
			size_t		edges;
			const uint8_t *types;
			const uint32_t *targets = lw_graph_neighbours(graph, visits[from].node, &edges, &types);

			lw_maxsim_pause();
			for (i = 0; i < edges && count < cap; i++)
				count = visit((LwGraphVisit) {targets[i], hop, types[i]}, seen, visits, count);
		}
		if (count == cap)
			break;
	}
	return count;
}
