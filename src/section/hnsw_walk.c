/*-------------------------------------------------------------------------
 *
 * hnsw_walk.c
 *	  Walking a graph of neighbours by distance.
 *
 * Distances are found for many neighbours at once and then looked at in the
 * order of their list, which gives the same as one after another.
 *
 *-------------------------------------------------------------------------
 */
#include "section/hnsw_walk.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/lanedot.h"

#define BATCH 64				/* neighbours whose distances are found at once */
#define STEPS 256				/* nodes between two pauses */
#define FIRST_ROOM 256			/* of a heap */

/* Whether an entry belongs above another. */
typedef bool (*Above) (float a, float b);

static inline bool
nearer(float a, float b)
{
	return a < b;
}

static inline bool
farther(float a, float b)
{
	return a > b;
}

static inline void
raise_entry(LwNeighbour *entries, size_t place, LwNeighbour entry, Above above)
{
	while (place > 0)
	{
		size_t		parent = (place - 1) / 2;

		if (!above(entry.distance, entries[parent].distance))
			break;
		entries[place] = entries[parent];
		place = parent;
	}
	entries[place] = entry;
}

/* Makes room for one more entry. */
static bool
make_room(LwHeap *heap)
{
	size_t		room = heap->room == 0 ? FIRST_ROOM : heap->room * 2;
	LwNeighbour *entries;

	if (heap->count < heap->room)
		return true;
	entries = realloc(heap->entries, room * sizeof(*entries));
	if (entries == NULL)
		return false;
	heap->entries = entries;
	heap->room = room;
	return true;
}

static inline bool
push(LwHeap *heap, LwNeighbour entry, Above above)
{
	if (!make_room(heap))
		return false;
	raise_entry(heap->entries, heap->count++, entry, above);
	return true;
}

/* Takes the top away: the last entry goes down to a leaf by the better children, the right one of equals, and up again. */
static inline LwNeighbour
pop(LwHeap *heap, Above above)
{
	LwNeighbour *entries = heap->entries;
	LwNeighbour top = entries[0];
	LwNeighbour last = entries[--heap->count];
	size_t		place = 0;
	size_t		child;

	while ((child = 2 * place + 1) < heap->count)
	{
		if (child + 1 < heap->count && !above(entries[child].distance, entries[child + 1].distance))
			child++;
		entries[place] = entries[child];
		place = child;
	}
	if (heap->count > 0)
		raise_entry(entries, place, last, above);
	return top;
}

LwStatus
lw_walk_init(LwWalk *walk, const LwWalkGraph *graph, LwError *error)
{
	memset(walk, 0, sizeof(*walk));
	walk->graph = graph;
	walk->visited = calloc(graph->nodes > 0 ? graph->nodes : 1, sizeof(*walk->visited));
	if (walk->visited == NULL)
		return lw_no_memory(error);
	return LW_OK;
}

void
lw_walk_free(LwWalk *walk)
{
	free(walk->visited);
	free(walk->frontier.entries);
	free(walk->results.entries);
	memset(walk, 0, sizeof(*walk));
}

/* Distances of rows, which are at most BATCH. */
static void
find_distances(const float *query, const LwVectorSlab *slab, const uint32_t *rows, size_t count, float *distances)
{
	size_t		i;

	lw_lane_dots(query, slab, rows, count, distances);
	for (i = 0; i < count; i++)
		distances[i] = 1.0f - distances[i];
}

float
lw_walk_distance(const float *query, const LwVectorSlab *slab, uint32_t row)
{
	float		distance;

	find_distances(query, slab, &row, 1, &distance);
	return distance;
}

void
lw_walk_greedy(const LwWalk *walk, const float *query, const LwVectorSlab *slab,
			   uint32_t layer, LwNeighbour *at)
{
	LwNeighbour from;

	do
	{
		size_t		count;
		const uint32_t *rows;

		from = *at;
		rows = walk->graph->neighbours(walk->graph->graph, from.row, layer, &count);
		while (count > 0)
		{
			size_t		batch = count < BATCH ? count : BATCH;
			float		distances[BATCH];
			size_t		i;

			find_distances(query, slab, rows, batch, distances);
			for (i = 0; i < batch; i++)
				if (distances[i] < at->distance)
					*at = (LwNeighbour) {distances[i], rows[i]};
			rows += batch;
			count -= batch;
		}
		if (walk->pause != NULL)
			walk->pause();
	} while (at->row != from.row);
}

/* Begins a search in which no node has been visited. */
static void
forget_visits(LwWalk *walk)
{
	if (++walk->search == 0)
	{
		memset(walk->visited, 0, walk->graph->nodes * sizeof(*walk->visited));
		walk->search = 1;
	}
	walk->frontier.count = 0;
	walk->results.count = 0;
}

/* Takes a neighbour into account. */
static inline bool
offer(LwWalk *walk, LwNeighbour neighbour, size_t beam)
{
	LwHeap	   *results = &walk->results;

	if (results->count >= beam && !(neighbour.distance < results->entries[0].distance))
		return true;
	if (!push(&walk->frontier, neighbour, nearer) || !push(results, neighbour, farther))
		return false;
	if (results->count > beam)
		pop(results, farther);
	return true;
}

/* Takes a node's neighbours into account. */
static bool
expand(LwWalk *walk, const float *query, const LwVectorSlab *slab, uint32_t layer, uint32_t node, size_t beam)
{
	size_t		count;
	const uint32_t *ids = walk->graph->neighbours(walk->graph->graph, node, layer, &count);
	size_t		done = 0;

	while (done < count)
	{
		uint32_t	rows[BATCH];
		float		distances[BATCH];
		size_t		batch = 0;
		size_t		i;

		for (; done < count && batch < BATCH; done++)
		{
			if (walk->visited[ids[done]] == walk->search)
				continue;
			walk->visited[ids[done]] = walk->search;
			rows[batch++] = ids[done];
		}
		find_distances(query, slab, rows, batch, distances);
		for (i = 0; i < batch; i++)
			if (!offer(walk, (LwNeighbour) {distances[i], rows[i]}, beam))
				return false;
	}
	return true;
}

LwStatus
lw_walk_layer(LwWalk *walk, const float *query, const LwVectorSlab *slab, uint32_t layer,
			  LwNeighbour entry, uint32_t ignored, size_t beam, LwError *error)
{
	bool		done;
	size_t		steps = 0;

	forget_visits(walk);
	if (ignored < walk->graph->nodes)
		walk->visited[ignored] = walk->search;
	walk->visited[entry.row] = walk->search;
	done = push(&walk->frontier, entry, nearer) && push(&walk->results, entry, farther);
	while (done && walk->frontier.count > 0)
	{
		LwNeighbour nearest = pop(&walk->frontier, nearer);

		if (walk->results.count >= beam && nearest.distance > walk->results.entries[0].distance)
			break;
		done = expand(walk, query, slab, layer, nearest.row, beam);
		if (++steps % STEPS == 0 && walk->pause != NULL)
			walk->pause();
	}
	if (!done)
		return lw_no_memory(error);
	return LW_OK;
}
