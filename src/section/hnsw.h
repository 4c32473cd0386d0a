/*-------------------------------------------------------------------------
 *
 * hnsw.h
 *	  The HNSW index of a section file (0x07): checking, opening, searching,
 *	  building, encoding.
 *
 * An open index is a copy in memory: what was checked stays so.  Nothing is
 * promised about its links beyond ids being below `nodes`: they need not be
 * symmetric, may lead to a node that is not on the layer, to the node itself,
 * or twice to one.
 *
 * A build gives the reference's bytes for the same rows, options and seed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_HNSW_H
#define LW_SECTION_HNSW_H

#include "format/error.h"
#include "kernel/vectors.h"
#include "section/bytes.h"
#include "section/stop.h"

#define LW_HNSW_MAX_LEVEL 64	/* that is read; none above 31 is written */
#define LW_HNSW_MAX_LINKS 4096	/* of a node on a layer */

/* Lists of neighbours are numbered node by node, layer 0 upwards. */
typedef struct LwHnsw
{
	uint32_t	m;
	uint32_t	m_max0;
	uint32_t	ef_construction;	/* as the file says it: any number */
	uint32_t	entry_point;
	uint32_t	max_level;		/* need not be a level of any node */
	uint32_t	nodes;
	uint32_t   *lists;			/* [nodes + 1] each node's list on layer 0, and the number of lists */
	uint32_t   *starts;			/* [lists + 1] each list's first id, and the number of ids */
	uint32_t   *ids;
} LwHnsw;

/* The neighbours of a node on a layer, none where it does not reach it. */
static inline const uint32_t *
lw_hnsw_neighbours(const LwHnsw *hnsw, uint32_t node, uint32_t layer, size_t *count)
{
	uint32_t	list = hnsw->lists[node] + layer;

	*count = 0;
	if (layer >= hnsw->lists[node + 1] - hnsw->lists[node])
		return NULL;
	*count = hnsw->starts[list + 1] - hnsw->starts[list];
	return hnsw->ids + hnsw->starts[list];
}

/* Checks a payload for a file of `rows` rows; takes no memory. */
extern LwStatus lw_hnsw_check(LwBytes payload, uint64_t rows, LwError *error);

/* Checks and opens it; LW_LIMIT when it would take more than `memory` bytes (0: any number). */
extern LwStatus lw_hnsw_open(LwBytes payload, uint64_t rows, size_t memory,
							 LwHnsw **hnsw, LwError *error);
extern void lw_hnsw_close(LwHnsw *hnsw);

/* An index with the numbers of `header` and room for so many lists and ids; NULL without memory. */
extern LwHnsw *lw_hnsw_allocate(const LwHnsw *header, uint64_t lists, uint64_t ids);

/* Bytes that an open index takes. */
extern size_t lw_hnsw_memory(const LwHnsw *hnsw);

typedef struct LwHnswOptions
{
	uint32_t	m;				/* at most LW_HNSW_MAX_LINKS / 2; the reference's default is 16 */
	uint32_t	ef_construction;	/* 400 */
	uint64_t	seed;			/* 42 */
	const LwStop *stop;			/* may be NULL */
} LwHnswOptions;

extern const LwHnswOptions lw_hnsw_defaults;

/*
 * Builds the index of float32 rows.  Takes about 16 m + 32 bytes a row at
 * its most, and twice what lw_hnsw_memory then says in the end.
 */
extern LwStatus lw_hnsw_build(const LwVectorSlab *rows, const LwHnswOptions *options,
							  LwHnsw **hnsw, LwError *error);

/* Writes the payload, version 2. */
extern void lw_hnsw_encode(const LwHnsw *hnsw, LwBuffer *payload);

/* What searches of an index need besides it; for one of them at a time. */
typedef struct LwHnswSearch LwHnswSearch;

extern LwStatus lw_hnsw_search_new(const LwHnsw *hnsw, LwHnswSearch **search, LwError *error);
extern void lw_hnsw_search_free(LwHnswSearch *search);

/* What a search found; the distance is 1 - the dot product (kernel/lanedot.h). */
typedef struct LwNeighbour
{
	float		distance;
	uint32_t	row;
} LwNeighbour;

/*
 * The rows of the beam, all of them, nearest first, equally near ones by row.
 * The beam is `ef` or, if that is more, the index's ef_construction.  `slab`
 * has a row for each node.  What is found stays until the next search.
 * lw_maxsim_pause (kernel/maxsim.h) is called on the way and may leave.
 */
extern LwStatus lw_hnsw_search(LwHnswSearch *search, const LwVectorSlab *slab,
							   const float *query, size_t ef,
							   const LwNeighbour **found, size_t *count, LwError *error);

#endif							/* LW_SECTION_HNSW_H */
