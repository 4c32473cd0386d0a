/*-------------------------------------------------------------------------
 *
 * segment.h
 *	  One segment of a vector store, and a tombstone file of it, opened.
 *
 * Both are immutable and counted by reference, so that views share them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_SEGMENT_H
#define LW_STORE_SEGMENT_H

#include "format/ids.h"
#include "format/manifest.h"
#include "kernel/maxsim.h"
#include "derived.h"
#include "idmap.h"

typedef struct LwSegment
{
	int			references;
	uint64_t	id;
	uint64_t	documents;
	uint64_t	tokens;
	size_t		row_size;		/* bytes of one token: dimension * 4, or * 1 for int8 */
	LwIds		ids;			/* lw_ids_get, and lw_idmap_find with `idmap`; nothing else reads them */
	LwIdmap		idmap;
	struct LwKeptIds *kept;		/* ids in a derived file, or NULL */
	uint64_t	unnameable;		/* ids with U+0000 */
	LwMap	   *offsets_map;
	LwMap	   *rows_map;		/* vectors or codes */
	LwMap	   *scales_map;		/* int8 only */
	void	   *memory;			/* malloc'ed, for a segment that has no files and no maps */
	const uint64_t *offsets;	/* into the maps, past the headers */
	const char *rows;
	const float *scales;
	LwDerivedKey files;			/* what the files were when they were mapped, in their order; of a segment without files none */
	LwDerived  *codes;			/* centroids of its documents (store/candidates.h), or NULL */
	LwFileIdentity codes_of;	/* the training by which they are */
} LwSegment;

typedef struct LwTombstones
{
	int			references;
	uint64_t	segment;
	uint64_t	commit;
	uint64_t	count;
	uint8_t    *deleted;		/* malloc'ed bitmap, a bit a row of the segment */
} LwTombstones;

static inline bool
lw_bit(const uint8_t *bitmap, uint64_t i)
{
	return (bitmap[i >> 3] >> (i & 7)) & 1;
}

static inline void
lw_set_bit(uint8_t *bitmap, uint64_t i)
{
	bitmap[i >> 3] |= (uint8_t) (1 << (i & 7));
}

/* Hears of every file that passed all its checks, in their order. */
typedef struct LwStoreReport
{
	void		(*passed) (void *arg, const char *path, const char *check, const char *detail);
	void	   *arg;
} LwStoreReport;

/*
 * Opens the files of `entry` and checks all that the format says of them.
 * `dirfd` is the store's directory, `directory` its path for messages, `report` may be NULL.
 * Error names: those of ids.h and npy.h, MissingFile, Offsets, IdsRepeated.
 */
extern LwStatus lw_segment_open(int dirfd, const char *directory,
								const LwManifest *manifest, const LwManifestSegment *entry,
								const LwStoreReport *report, LwSegment **segment, LwError *error);
extern void lw_segment_release(LwSegment *segment);

/* Opens the tombstone file that `entry` names, for the rows of `segment`. Error name Tombstones. */
extern LwStatus lw_tombstones_open(int dirfd, const char *directory,
								   const LwManifestSegment *entry, const LwStoreReport *report,
								   LwTombstones **tombstones, LwError *error);
extern void lw_tombstones_release(LwTombstones *tombstones);

/*
 * The tokens of a row.  Its offsets are checked again at each call, since
 * the file is only mapped: LW_MALFORMED, Offsets, when they have changed.
 */
extern LwStatus lw_segment_document(const LwSegment *segment, uint64_t row,
									LwDocument *document, LwError *error);

#define LW_SEGMENT_MAPS 5

/* The maps that reading its documents reads, its derived files among them; returns how many. */
extern int	lw_segment_maps(const LwSegment *segment, const LwMap *maps[LW_SEGMENT_MAPS]);

/* LW_TRUNCATED when one of its maps faulted; also what else kept ids from being read. */
extern LwStatus lw_segment_check(const LwSegment *segment, LwError *error);

#endif							/* LW_STORE_SEGMENT_H */
