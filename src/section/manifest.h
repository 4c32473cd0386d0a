/*-------------------------------------------------------------------------
 *
 * manifest.h
 *	  The manifest of a section file: what the known keys say, and the text.
 *
 * Parsing holds the reference's rules, its odd ones included: a duplicate
 * known key is an error and a duplicate unknown one is not; an array may stand
 * for the capabilities; what is thrown away is only skipped.  The strings lie
 * in memory of the manifest, decoded and valid UTF-8; they may hold U+0000.
 * The text itself is kept as it stands in the file: it may hold invalid UTF-8
 * inside values that were skipped, so check it before it goes anywhere.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_MANIFEST_H
#define LW_SECTION_MANIFEST_H

#include "format/error.h"
#include "kernel/vectors.h"
#include "section/bytes.h"

typedef enum LwIndexType
{
	LW_INDEX_EXACT,
	LW_INDEX_HNSW,
	LW_INDEX_HYBRID
} LwIndexType;

/* Strings are {NULL, 0} when their key is absent or null. */
typedef struct LwSectionManifest
{
	LwBytes		json;			/* the text as it was read */
	uint32_t	format_version;
	uint32_t	schema_version;
	LwBytes		embedding_model;
	uint32_t	embedding_dim;
	uint64_t	n_chunks;
	LwBytes		dtype;
	LwBytes		metric;
	LwBytes		score_type;
	LwBytes		normalize;
	LwBytes		index_type;
	LwBytes		rerank_policy;
	LwBytes		model_hash;
	LwBytes		chunker_version;
	LwBytes		title;
	LwBytes		version;
	LwBytes		created;
	LwBytes		description;
	LwBytes		license;
	LwBytes		producer;		/* an unknown key to the format; absent unless it is a string */
	bool		has_mrl_dim;
	bool		has_full_dim;
	uint32_t	mrl_dim;
	uint32_t	full_dim;

	/* capabilities, and capabilities_ext, which are false when absent */
	bool		supports_exact;
	bool		supports_ann;
	bool		supports_bm25;
	bool		supports_citations;
	bool		supports_reproducible_build;
	bool		supports_multimodal;
	bool		graph_present;
	bool		graph_entities_present;
	bool		supports_catalog;
	bool		blobs_present;

	/* what the strings mean; set by lw_section_manifest_check */
	LwVectorType vector_type;
	LwIndexType index;

	char	   *memory;			/* the text and the decoded strings */
} LwSectionManifest;

/* Json when the text is not of the right shape.  `offset` is the text's in its file, for messages. */
extern LwStatus lw_section_manifest_parse(LwBytes text, uint64_t offset,
										  LwSectionManifest *manifest, LwError *error);
extern void lw_section_manifest_free(LwSectionManifest *manifest);

/* The manifest's own rules, in the reference's order. */
extern LwStatus lw_section_manifest_check(LwSectionManifest *manifest, LwError *error);

/* Whether the payload of section 0x06 says the same as the manifest. */
extern LwStatus lw_section_contract_check(LwBytes payload, const LwSectionManifest *manifest,
										  LwError *error);

#endif							/* LW_SECTION_MANIFEST_H */
