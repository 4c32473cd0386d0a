/*-------------------------------------------------------------------------
 *
 * hnsw_build.c
 *	  Building the HNSW index: the reference's graph, link by link.
 *
 * Every list has its greatest length's room: twice m on layer 0, m above.
 * The distance of a link is kept beside it, which saves finding it again when
 * the list is full: the dot product of two rows is the same both ways.
 *
 *-------------------------------------------------------------------------
 */
#include "section/hnsw_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/lanedot.h"
#include "section/rank.h"

#define MAX_LEVEL 31			/* that is written */
#define NO_NODE UINT32_MAX
#define TOGETHER 4				/* rows that a row is compared with at once */

const LwHnswOptions lw_hnsw_defaults = {16, 400, 42, NULL};

typedef struct Build
{
	const LwVectorSlab *rows;
	LwHnsw		header;
	size_t		beam;
	uint32_t   *lists;			/* [nodes + 1] as in LwHnsw */
	uint16_t   *counts;			/* [lists] */
	uint32_t   *ids;			/* the lists of layer 0, then the others */
	float	   *distances;		/* of the links, at the same places */
	LwWalkGraph graph;
	LwWalk		walk;

	/* of one selection */
	uint64_t   *candidates;		/* room for a beam, or a full list and one more */
	uint64_t   *shadowed;		/* as much room */
	uint32_t   *chosen;			/* room for a full list */
} Build;

static inline uint32_t
level_of(const Build *build, uint32_t node)
{
	return build->lists[node + 1] - build->lists[node] - 1;
}

/* Where the links of a list begin. */
static inline size_t
place_of(const Build *build, uint32_t node, uint32_t layer)
{
	size_t		base = build->header.m_max0;

	if (layer == 0)
		return node * base;
	return build->header.nodes * base + ((size_t) build->lists[node] - node + layer - 1) * build->header.m;
}

static const uint32_t *
neighbours(const void *graph, uint32_t node, uint32_t layer, size_t *count)
{
	const Build *build = graph;

	*count = 0;
	if (layer > level_of(build, node))
		return NULL;
	*count = build->counts[build->lists[node] + layer];
	return build->ids + place_of(build, node, layer);
}

static inline const float *
row_of(const Build *build, uint32_t row)
{
	return (const float *) build->rows->codes + (size_t) row * build->rows->dimension;
}

/* The next number of the reference's generator. */
static uint64_t
draw(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state;
}

/* Draws the level of every node; returns how many lists that makes. */
static uint64_t
draw_levels(uint32_t nodes, uint32_t m, uint64_t seed, uint32_t *lists)
{
	uint64_t	state = seed * UINT64_C(2862933555777941757) + UINT64_C(3037000493);
	double		factor = 1.0 / log((double) m);
	uint64_t	count = 0;
	uint32_t	node;

	for (node = 0; node < nodes; node++)
	{
		double		real = (double) (draw(&state) >> 11) * 0x1p-53;
		double		level = real > 0 ? floor(-log(real) * factor) : 0;

		lists[node] = (uint32_t) count;
		count += 1 + (level > MAX_LEVEL ? MAX_LEVEL : level > 0 ? (uint32_t) level : 0);
	}
	lists[nodes] = (uint32_t) count;
	return count;
}

/* Whether a chosen row is nearer to a candidate than what the selection is for. */
static bool
is_shadowed(const Build *build, uint64_t candidate, size_t nchosen)
{
	const float *row = row_of(build, lw_rank_row(candidate));
	float		distance = lw_rank_value(candidate);
	size_t		done;
	size_t		i;

	for (done = 0; done < nchosen; done += TOGETHER)
	{
		size_t		count = nchosen - done < TOGETHER ? nchosen - done : TOGETHER;
		float		dots[TOGETHER];

		lw_lane_dots(row, build->rows, build->chosen + done, count, dots);
		for (i = 0; i < count; i++)
			if (1.0f - dots[i] < distance)
				return true;
	}
	return false;
}

/* Makes the links of a list out of the candidates. */
static void
select_links(Build *build, size_t ncandidates, uint32_t node, uint32_t layer, uint32_t most)
{
	size_t		place = place_of(build, node, layer);
	uint32_t	count = 0;
	size_t		nshadowed = 0;
	size_t		i;

	lw_rank_sort(build->candidates, ncandidates);
	for (i = 0; i < ncandidates && count < most; i++)
	{
		uint64_t	candidate = build->candidates[i];

		if (is_shadowed(build, candidate, count))
			build->shadowed[nshadowed++] = candidate;
		else
		{
			build->chosen[count] = lw_rank_row(candidate);
			build->distances[place + count++] = lw_rank_value(candidate);
		}
	}
	memcpy(build->ids + place, build->chosen, count * sizeof(*build->ids));
	for (i = 0; i < nshadowed && count < most; i++)
	{
		build->ids[place + count] = lw_rank_row(build->shadowed[i]);
		build->distances[place + count++] = lw_rank_value(build->shadowed[i]);
	}
	build->counts[build->lists[node] + layer] = (uint16_t) count;
}

/* Links a node to one that has just chosen it. */
static void
link_back(Build *build, uint32_t node, uint32_t to, float distance, uint32_t layer)
{
	uint32_t	cap = layer == 0 ? build->header.m_max0 : build->header.m;
	size_t		place = place_of(build, node, layer);
	uint16_t   *count = &build->counts[build->lists[node] + layer];
	uint32_t	i;

	if (*count < cap)
	{
		build->ids[place + *count] = to;
		build->distances[place + *count] = distance;
		++*count;
		return;
	}
	for (i = 0; i < *count; i++)
		build->candidates[i] = lw_rank_ascending(build->distances[place + i], build->ids[place + i]);
	build->candidates[i] = lw_rank_ascending(distance, to);
	select_links(build, (size_t) *count + 1, node, layer, cap);
}

/* Links a node on a layer; moves `entry` to where the layer below begins. */
static LwStatus
link_layer(Build *build, uint32_t node, uint32_t layer, LwNeighbour *entry, LwError *error)
{
	LwHeap	   *results = &build->walk.results;
	size_t		place = place_of(build, node, layer);
	uint32_t	count;
	size_t		i;
	LwStatus	status;

	status = lw_walk_layer(&build->walk, row_of(build, node), build->rows, layer, *entry, node,
						   build->beam, error);
	if (status != LW_OK)
		return status;
	for (i = 0; i < results->count; i++)
		build->candidates[i] = lw_rank_ascending(results->entries[i].distance, results->entries[i].row);
	select_links(build, results->count, node, layer, build->header.m);
	count = build->counts[build->lists[node] + layer];
	*entry = (LwNeighbour) {lw_rank_value(build->candidates[0]), lw_rank_row(build->candidates[0])};
	if (count > 0)
		*entry = (LwNeighbour) {build->distances[place], build->ids[place]};
	for (i = 0; i < count; i++)
		if (layer <= level_of(build, build->ids[place + i]))
			link_back(build, build->ids[place + i], node, build->distances[place + i], layer);
	return LW_OK;
}

static LwStatus
insert(Build *build, uint32_t node, LwError *error)
{
	const float *row = row_of(build, node);
	uint32_t	level = level_of(build, node);
	uint32_t	layer = build->header.max_level;
	LwNeighbour entry = {0, build->header.entry_point};

	entry.distance = lw_walk_distance(row, build->rows, entry.row);
	for (; layer > level; layer--)
		lw_walk_greedy(&build->walk, row, build->rows, layer, &entry);
	for (;; layer--)
	{
		LwStatus	status = link_layer(build, node, layer, &entry, error);

		if (status != LW_OK)
			return status;
		if (layer == 0)
			break;
	}
	if (level > build->header.max_level)
	{
		build->header.max_level = level;
		build->header.entry_point = node;
	}
	return LW_OK;
}

/* Checks that the numbers fit, and takes the memory of a build. */
static LwStatus
begin(Build *build, const LwVectorSlab *rows, const LwHnswOptions *options, LwError *error)
{
	size_t		base = (size_t) options->m * 2;
	size_t		room;
	uint64_t	lists;
	uint64_t	links;
	LwStatus	status;

	if (options->m > LW_HNSW_MAX_LINKS / 2)
		return lw_fail(error, LW_INVALID, "InvalidInput", -1, "at most 2048 HNSW links", "%u", (unsigned) options->m);
	if (rows->rows >= NO_NODE || rows->rows * (base + 1) >= UINT32_MAX)
		return lw_fail(error, LW_LIMIT, NULL, -1, "HNSW links that can be counted in 32 bits", "%zu rows", rows->rows);
	build->rows = rows;
	build->header.m = options->m;
	build->header.m_max0 = (uint32_t) base;
	build->header.ef_construction = options->ef_construction;
	build->header.nodes = (uint32_t) rows->rows;
	build->beam = options->ef_construction < rows->rows ? options->ef_construction : rows->rows;
	build->graph = (LwWalkGraph) {build, neighbours, build->header.nodes};
	status = lw_walk_init(&build->walk, &build->graph, error);
	if (status != LW_OK)
		return status;

	room = (build->beam > base ? build->beam : base) + 1;
	build->candidates = malloc(room * sizeof(*build->candidates));
	build->shadowed = malloc(room * sizeof(*build->shadowed));
	build->chosen = malloc((base + 1) * sizeof(*build->chosen));
	build->lists = malloc((rows->rows + 1) * sizeof(*build->lists));
	if (build->lists != NULL)
	{
		lists = draw_levels(build->header.nodes, options->m, options->seed, build->lists);
		if (lists >= UINT32_MAX)
			return lw_fail(error, LW_LIMIT, NULL, -1, "HNSW lists that can be counted in 32 bits", "%llu",
						   (unsigned long long) lists);
		build->counts = calloc(lists + 1, sizeof(*build->counts));
		links = rows->rows * base + (lists - rows->rows) * options->m;
		build->ids = malloc((links + 1) * sizeof(*build->ids));
		build->distances = malloc((links + 1) * sizeof(*build->distances));
	}
	if (build->candidates == NULL || build->shadowed == NULL || build->chosen == NULL ||
		build->counts == NULL || build->ids == NULL || build->distances == NULL)
		return lw_no_memory(error);
	if (build->header.nodes > 0)
		build->header.max_level = level_of(build, 0);
	return LW_OK;
}

static void
end(Build *build)
{
	lw_walk_free(&build->walk);
	free(build->candidates);
	free(build->shadowed);
	free(build->chosen);
	free(build->lists);
	free(build->counts);
	free(build->ids);
	free(build->distances);
}

/* Copies the lists to an index of just their size. */
static LwStatus
copy_lists(const Build *build, LwHnsw **hnsw, LwError *error)
{
	uint32_t	lists = build->lists[build->header.nodes];
	uint64_t	ids = 0;
	uint32_t	list;
	uint32_t	node;

	for (list = 0; list < lists; list++)
		ids += build->counts[list];
	if (ids < UINT32_MAX)
		*hnsw = lw_hnsw_allocate(&build->header, lists, ids);
	if (*hnsw == NULL)
		return lw_no_memory(error);
	memcpy((*hnsw)->lists, build->lists, (build->header.nodes + (size_t) 1) * sizeof(*build->lists));
	ids = 0;
	for (node = 0; node < build->header.nodes; node++)
		for (list = build->lists[node]; list < build->lists[node + 1]; list++)
		{
			(*hnsw)->starts[list] = (uint32_t) ids;
			memcpy((*hnsw)->ids + ids, build->ids + place_of(build, node, list - build->lists[node]),
				   build->counts[list] * sizeof(*build->ids));
			ids += build->counts[list];
		}
	return LW_OK;
}

LwStatus
lw_hnsw_build(const LwVectorSlab *rows, const LwHnswOptions *options, LwHnsw **hnsw, LwError *error)
{
	Build		build;
	LwStatus	status;
	uint32_t	node;

	memset(&build, 0, sizeof(build));
	*hnsw = NULL;
	status = begin(&build, rows, options, error);
	for (node = 1; status == LW_OK && node < build.header.nodes; node++)
	{
		if (lw_stop_asked(options->stop))
			status = lw_fail(error, LW_CANCELLED, NULL, -1, "time to build an HNSW index", "a request to stop");
		else
			status = insert(&build, node, error);
	}
	if (status == LW_OK)
		status = copy_lists(&build, hnsw, error);
	end(&build);
	return status;
}
