/*-------------------------------------------------------------------------
 *
 * indexes.h
 *	  The indexes of a section file, opened as searches need them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_INDEXES_H
#define LW_SECTION_INDEXES_H

#include "section/search.h"
#include "section/verify.h"

typedef struct LwIndexes
{
	LwSectionFile *file;
	size_t		memory;			/* bytes that may yet be taken */
	LwHnsw	   *hnsw;			/* NULL until opened; likewise below */
	LwHnswSearch *walk;
	LwBm25	   *bm25;
	LwGraph    *graph;
} LwIndexes;

/* `memory` limits the bytes that open indexes take together, LW_LIMIT beyond; 0 is LW_SECTION_MEMORY. */
extern void lw_indexes_init(LwIndexes *indexes, LwSectionFile *file, size_t memory);

/* To be called before the file is closed. */
extern void lw_indexes_free(LwIndexes *indexes);

/* Open the HNSW index, the BM25 index, the graph; all leave it NULL when the file has none. */
extern LwStatus lw_indexes_hnsw(LwIndexes *indexes, LwError *error);
extern LwStatus lw_indexes_bm25(LwIndexes *indexes, LwError *error);
extern LwStatus lw_indexes_graph(LwIndexes *indexes, LwError *error);

/* What a method searches, opened; it stays as long as the indexes do. */
extern LwStatus lw_indexes_source(LwIndexes *indexes, LwSearchMethod method,
								  LwSearchSource *source, LwError *error);

/*
 * The same for a named space: LW_INVALID with SpaceNotFound, or with
 * SpaceModelMismatch unless `model_hash` is that of the space or {NULL, 0}.
 */
extern LwStatus lw_indexes_space(LwIndexes *indexes, LwBytes name, LwBytes model_hash,
								 LwSearchSource *source, LwError *error);

/* What lw_section_verify wants to know of the indexes. */
extern const LwSectionChecks lw_index_checks;

#endif							/* LW_SECTION_INDEXES_H */
