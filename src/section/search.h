/*-------------------------------------------------------------------------
 *
 * search.h
 *	  The searches of section files, whatever they are kept in.
 *
 * Whichever way candidates are found, all of them are scored exactly, ordered
 * by score (descending, NaN last, equal ones by row) and cut to k.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_SEARCH_H
#define LW_SECTION_SEARCH_H

#include "section/bm25.h"
#include "section/graph.h"
#include "section/hnsw.h"

/* What is searched.  It outlives the searches, and is used by one at a time. */
typedef struct LwSearchSource
{
	LwVectorSlab rerank;		/* what scores are computed from */
	LwVectorSlab walked;		/* what the HNSW index is walked with; as many rows */
	LwHnswSearch *hnsw;			/* these three may be NULL, and have a node or document for each row */
	LwBm25	   *bm25;
	const LwGraph *graph;
	bool		is_space;		/* a named space, without the three: LW_SEARCH_EXACT or LW_SEARCH_AUTO */
} LwSearchSource;

typedef enum LwSearchMethod
{
	LW_SEARCH_AUTO,				/* hybrid if there are BM25 and a text, else ann if there is HNSW, else exact */
	LW_SEARCH_EXACT,
	LW_SEARCH_ANN,
	LW_SEARCH_HYBRID,
	LW_SEARCH_GRAPH
} LwSearchMethod;

/* The reference's defaults; AUTO passes `candidates` as ef. */
#define LW_SEARCH_K 10
#define LW_SEARCH_EF 100
#define LW_SEARCH_HOPS 1
#define LW_SEARCH_CANDIDATES(k) ((size_t) (k) > 16 ? (size_t) (k) * 4 : 64)

typedef struct LwSearchRequest
{
	LwSearchMethod method;
	const float *values;
	size_t		nvalues;
	int32_t		k;
	LwBytes		text;			/* hybrid, auto; {NULL, 0} when there is none */
	size_t		ef;				/* ann, graph */
	size_t		hops;			/* graph */
	size_t		candidates;		/* hybrid, auto */
} LwSearchRequest;

/* How the reference labels a result. */
typedef enum LwSearchRoute
{
	LW_ROUTE_EXACT,
	LW_ROUTE_HNSW,
	LW_ROUTE_HYBRID,
	LW_ROUTE_GRAPH,
	LW_ROUTE_SPACE
} LwSearchRoute;

typedef struct LwSearchResult
{
	const LwVectorHit *hits;	/* stay until the next search */
	size_t		count;
	LwSearchRoute index_type;
	LwSearchRoute route;		/* the same, but exact for a space */
	bool		reranked;
	bool		truncated;		/* k is less than there are rows */
	float		recall;			/* 1, or NaN where it is not known */
	size_t		exact_candidates;
	size_t		ann_candidates;
	size_t		bm25_candidates;
	size_t		graph_candidates;
	size_t		scored;			/* rows, in these ways; but those that a walk over the HNSW index met */
	bool		fused;			/* fusion is "rrf", else "none" */
	bool		full_precision; /* scores come from float32 rows */
} LwSearchResult;

/* "exact", "hnsw", "hybrid", "graph", "space" */
extern const char *lw_search_route_name(LwSearchRoute route);

/* "full_precision" or "stored_precision" */
extern const char *lw_search_rerank_source(const LwSearchResult *result);

/* Memory that searches share and keep, at most about 40 bytes a row; for one at a time. */
typedef struct LwSearch LwSearch;

extern LwStatus lw_search_new(LwSearch **search, LwError *error);
extern void lw_search_free(LwSearch *search);

/*
 * Searches.  LW_INVALID with the reference's name for a query that cannot be:
 * InvalidK, EmptyQuery, DimensionMismatch, InvalidQueryValue, ZeroNormQuery,
 * in this order; before, InvalidInput for a method that spaces do not have.  lw_maxsim_pause (kernel/maxsim.h) is called on the way; it
 * may leave, and the next search starts afresh.
 */
extern LwStatus lw_search(LwSearch *search, const LwSearchSource *source,
						  const LwSearchRequest *request, LwSearchResult *result,
						  LwError *error);

#endif							/* LW_SECTION_SEARCH_H */
