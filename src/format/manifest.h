/*-------------------------------------------------------------------------
 *
 * manifest.h
 *	  manifest.json of a vector store, format lateweave-vectors-2.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_FORMAT_MANIFEST_H
#define LW_FORMAT_MANIFEST_H

#include "error.h"

#define LW_MANIFEST_NAME "manifest.json"
#define LW_MANIFEST_FORMAT "lateweave-vectors-2"

typedef enum LwEncoding
{
	LW_FLOAT32,
	LW_INT8
} LwEncoding;

/* UTF-8, not NUL-terminated; may hold U+0000. */
typedef struct LwString
{
	const char *data;
	size_t		size;
} LwString;

typedef struct LwManifestSegment
{
	uint64_t	id;
	uint64_t	documents;
	uint64_t	tokens;
	bool		has_tombstones;
	uint64_t	tombstones;		/* the commit of the tombstone file, 0 when there is none */
} LwManifestSegment;

typedef struct LwManifest
{
	LwString	store_id;
	LwString	corpus;
	LwString	encoder;
	LwString	encoder_revision;
	LwString	query_template;
	LwString	document_template;
	LwEncoding	encoding;
	bool		normalized;
	uint64_t	dimension;
	uint64_t	commit;
	uint64_t	next_segment_id;
	double		committed_at;	/* seconds since 1970-01-01 UTC, 0 to below 2^63 */
	size_t		nsegments;
	LwManifestSegment *segments;
	char	   *strings;		/* malloc'ed, what the LwStrings point into */
} LwManifest;

/*
 * Parses a whole manifest.  On LW_OK *manifest owns memory (malloc), to be
 * given back by lw_manifest_free; on any other status it owns nothing.
 * Memory is at most a small multiple of `size`.  error->path is left to the
 * caller.  Error names: ManifestJson (syntax, a missing, repeated or
 * ill-typed member), Format, Encoding, EmptyString, CommittedAt,
 * SegmentOrder, Watermark, TombstoneCommit.
 */
extern LwStatus lw_manifest_parse(const void *data, size_t size,
								  LwManifest *manifest, LwError *error);
extern void lw_manifest_free(LwManifest *manifest);

/*
 * A parsed manifest as one block of bytes without pointers, at an address for a
 * uint64_t: its size, making it, and a copy from it, which owns memory as one
 * that was parsed; false when there is none.
 */
extern size_t lw_manifest_flat_size(const LwManifest *manifest);
extern void lw_manifest_flatten(const LwManifest *manifest, void *flat);
extern bool lw_manifest_unflatten(const void *flat, LwManifest *manifest);

/* Equal in every known member. */
extern bool lw_manifest_equal(const LwManifest *a, const LwManifest *b);

/* Equal in encoder, revision, dimension, normalized and both templates. */
extern bool lw_manifest_same_representation(const LwManifest *a, const LwManifest *b);

extern bool lw_string_equal(LwString a, LwString b);

#endif							/* LW_FORMAT_MANIFEST_H */
