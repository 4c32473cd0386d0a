/*-------------------------------------------------------------------------
 *
 * build.h
 *	  Building a section file: options, blobs if any, rows one after another,
 *	  and then the file at once.
 *
 * The bytes are the reference's for the same options and rows (zstd text:
 * with libzstd 1.5.7).  What is wrong with them is found in the reference's
 * order and has its error names, with the status LW_INVALID.  Beyond the
 * reference, what its own reader would refuse is an error, too: infinite
 * vectors of spaces, values that float16 or an int4 scale cannot hold, a
 * chunk of a blob that is not there, zstd frames above the format's cap.
 *
 * A build keeps the texts, the uris and about 120 bytes a row in memory, each
 * of the lists up to `memory` bytes (0: any number), else LW_LIMIT; its end takes
 * besides, one after another, what HNSW (hnsw.h), BM25 (bm25.h) and, with zstd,
 * the chooser (chooser.h) need.  Vectors and blobs lie in the temporary file:
 * 4 bytes a component, HNSW beside spaces 4 more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_BUILD_H
#define LW_SECTION_BUILD_H

#include "section/build_options.h"
#include "section/hash.h"

#define LW_NO_BLOB UINT32_MAX

/* The dimension may be another one than it should be. */
typedef struct LwBuildVector
{
	const float *values;
	size_t		dimension;
} LwBuildVector;

typedef struct LwBuildRow
{
	LwBytes		text;
	LwBytes		uri;
	uint64_t	start;
	uint64_t	end;
	LwBuildVector embedding;
	const LwBuildVector *spaces;	/* as many as the options have */
	uint32_t	blob;			/* the number of one that was added, or LW_NO_BLOB */
	uint64_t	blob_start;
	uint64_t	blob_end;
} LwBuildRow;

typedef struct LwBuildResult
{
	uint64_t	bytes;
	uint64_t	rows;
	char		content_hash[LW_TEXT_HASH_SIZE + 1];	/* with a NUL */
} LwBuildResult;

typedef struct LwBuild LwBuild;

/*
 * The options must outlive the build.  `spill_fd` is an empty file for reading
 * and writing, which stays the caller's.  `stop` may be NULL.
 */
extern LwStatus lw_build_begin(const LwBuildOptions *options, int spill_fd, size_t memory,
							   const LwStop *stop, LwBuild **build, LwError *error);

/*
 * Adds a blob, before the first row.  Without `data` it is only referred to,
 * by hash and size; else `sha256` may be NULL, or must be its hash (BlobHashMismatch).
 */
extern LwStatus lw_build_add_blob(LwBuild *build, LwBytes uri, const uint8_t *sha256, uint64_t size,
								  const LwBytes *data, LwError *error);

/* After a failure nothing more can be added. */
extern LwStatus lw_build_add_row(LwBuild *build, const LwBuildRow *row, LwError *error);

/* Whether the options have been found to fit the first row: what fails from then on is a row's fault. */
extern bool lw_build_started(const LwBuild *build);

/* Whether the file says which blob each chunk is of; without it, LwBuildRow's are not looked at. */
extern void lw_build_blob_spans(LwBuild *build);

/* Writes the file to an empty descriptor.  It is neither synchronized nor closed. */
extern LwStatus lw_build_finish(LwBuild *build, int fd, LwBuildResult *result, LwError *error);
extern void lw_build_free(LwBuild *build);

#endif							/* LW_SECTION_BUILD_H */
