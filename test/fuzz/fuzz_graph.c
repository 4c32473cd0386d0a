/*-------------------------------------------------------------------------
 *
 * fuzz_graph.c
 *	  Graphs of section files.  What must hold for any bytes: checking and
 *	  opening say the same; edges lead to nodes; a breadth-first search finds
 *	  each node once, by ever more hops, as many as it may.
 *
 * The first byte of the input is the number of nodes, the second a seed, the
 * third the number of hops, the fourth the cap; then comes the payload.
 *
 *-------------------------------------------------------------------------
 */
#include "section/graph.h"
#include "fuzz.h"

static void
expand(const LwGraph *graph, const uint8_t *data)
{
	uint32_t	seeds[2] = {data[1], (uint32_t) data[1] / 2};
	size_t		cap = data[3];
	size_t		room = cap < graph->nodes ? cap : graph->nodes;
	uint8_t    *seen = exact_memory(lw_graph_seen_size(graph));
	LwGraphVisit *visits = exact_memory(room * sizeof(*visits));
	uint8_t		found[256] = {0};
	size_t		count = lw_graph_expand(graph, seeds, 2, data[2], cap, seen, visits);
	size_t		i;

	REQUIRE(count <= room);
	for (i = 0; i < count; i++)
	{
		REQUIRE(visits[i].node < graph->nodes && !found[visits[i].node]);
		REQUIRE(visits[i].hop <= data[2] && (i == 0 || visits[i - 1].hop <= visits[i].hop));
		found[visits[i].node] = 1;
	}
	free(seen);
	free(visits);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *payload;
	LwBytes		bytes;
	LwGraph    *graph;
	LwError		error;
	LwStatus	status;
	uint32_t	node;

	if (size < 4)
		return 0;
	payload = exact_memory(size - 4);
	memcpy(payload, data + 4, size - 4);
	bytes = (LwBytes) {payload, size - 4};
	status = lw_graph_check(bytes, data[0], &error);
	REQUIRE(status == LW_OK || (status == LW_MALFORMED && error.name != NULL));
	REQUIRE(lw_graph_open(bytes, data[0], 0, &graph, &error) == status);
	free(payload);
	if (status != LW_OK)
		return 0;
	for (node = 0; node < graph->nodes; node++)
	{
		const uint8_t *types;
		size_t		count;
		const uint32_t *targets = lw_graph_neighbours(graph, node, &count, &types);

		for (; count > 0; count--)
			REQUIRE(targets[count - 1] < graph->nodes);
	}
	expand(graph, data);
	lw_graph_close(graph);
	return 0;
}
