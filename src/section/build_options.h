/*-------------------------------------------------------------------------
 *
 * build_options.h
 *	  How a section file is to be built: options as a JSON object, with the
 *	  names and defaults of the reference's builder.
 *
 * Besides these there are: preset micro, which is tiny with mrl_dim 256;
 * chunker_version has a default; embedding_dim need not be given; producer is
 * the manifest's key; blobs is a string for the caller, e.g. a query.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_BUILD_OPTIONS_H
#define LW_SECTION_BUILD_OPTIONS_H

#include "section/hnsw.h"
#include "section/manifest.h"

#define LW_BUILD_SPACES 15
#define LW_CHUNKER_VERSION "lateweave/1"
#define LW_PRODUCER "lateweave 0.2"

typedef struct LwBuildSpace
{
	LwBytes		name;
	LwVectorType type;
	LwBytes		model_hash;
} LwBuildSpace;

typedef struct LwBuildOptions
{
	LwSectionManifest manifest; /* what is known before any row; embedding_dim 0: not given */
	LwVectorType type;
	LwBuffer	authors;		/* as JSON, empty when absent */
	LwBuffer	provenance;		/* likewise */
	bool		zstd;			/* text mode */
	bool		hnsw;
	bool		bm25;
	bool		graph;
	uint32_t	graph_top_m;
	LwHnswOptions hnsw_options; /* without `stop` */
	bool		has_spaces;		/* also when there are none in the list */
	size_t		nspaces;
	LwBuildSpace spaces[LW_BUILD_SPACES];
	LwBytes		blobs;			/* {NULL, 0} when absent */
	char	   *memory;			/* what the strings lie in */
} LwBuildOptions;

/*
 * LW_INVALID for what is wrong: an unknown name, a value of the wrong kind, an
 * unknown preset, text_encoding or dtype, the placeholder for a model_hash
 * unless it is allowed, spaces that no file can have (with the reference's
 * error name).  The manifest's own rules are checked when there are rows.
 * Free the options also when this fails.
 */
extern LwStatus lw_build_options_parse(LwBytes json, LwBuildOptions *options, LwError *error);
extern void lw_build_options_free(LwBuildOptions *options);

#endif							/* LW_SECTION_BUILD_OPTIONS_H */
