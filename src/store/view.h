/*-------------------------------------------------------------------------
 *
 * view.h
 *	  One commit of a vector store: its manifest and its opened segments.
 *
 * A view never changes once it is made (what it computes lazily aside) and
 * stays readable through its own maps, however many commits follow.  Views
 * are counted by reference and belong to one process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_VIEW_H
#define LW_STORE_VIEW_H

#include "merged.h"

typedef struct LwView
{
	int			references;
	uint64_t	serial;			/* of no other view of this process */
	char	   *directory;		/* path, for messages */
	LwManifest	manifest;
	LwSegment **segments;		/* [manifest.nsegments]; NULL in lw_view_unopened's */
	LwTombstones **tombstones;	/* [manifest.nsegments], NULL where there are none */
	LwMerged	merged;			/* where ids are looked up */
	uint8_t   **hidden;			/* lw_view_hidden; NULL until it is asked for */
	uint64_t	documents;		/* present and nameable, set with `hidden` */
	uint64_t	tokens;			/* of those */
	uint64_t	unnameable;		/* present ids with U+0000, set with `hidden` */
} LwView;

/* A document's place in a view. */
typedef struct LwPlace
{
	size_t		segment;		/* position in segments[] */
	uint64_t	row;
} LwPlace;

extern LwView *lw_view_retain(LwView *view);
extern void lw_view_release(LwView *view);

/*
 * Makes a view of a parsed manifest, which it takes over on LW_OK only.
 * Segments and tombstones of `previous` (may be NULL) are used again by id,
 * and by id and commit; a segment whose counts changed is SegmentChanged.
 */
extern LwStatus lw_view_open(int dirfd, const char *directory, LwManifest *manifest,
							 const LwView *previous, LwView **view, LwError *error);

/*
 * Makes a view without any segment or tombstones opened, NULL in their places, of a
 * parsed manifest, which it takes over on LW_OK only.  It is good for a draft and nothing else.
 */
extern LwStatus lw_view_unopened(const char *directory, LwManifest *manifest, LwView **view, LwError *error);

/*
 * Makes a view of the base's commit with these segments instead of its own;
 * references are added to them and to the tombstones (each may be NULL).
 */
extern LwStatus lw_view_assemble(const LwView *base, const LwManifestSegment *entries, LwSegment *const *segments,
								 LwTombstones *const *tombstones, size_t count, LwView **view, LwError *error);

/* Whether a document is present, and where: the last segment that holds the id decides. */
extern bool lw_view_find(const LwView *view, const char *id, size_t size, LwPlace *place);

/* The tokens at a place; see lw_segment_document. */
extern LwStatus lw_view_document(const LwView *view, LwPlace place,
								 LwDocument *document, LwError *error);

/*
 * Computes, once, which rows are not to be listed: deleted ones, those that a
 * later segment replaces, and ids with U+0000 (which no SQL text can hold).
 * Afterwards view->hidden[segment] is a bitmap by row, and the counts hold.
 * A bit a row of memory; time in proportion to the documents.
 */
extern LwStatus lw_view_hidden(LwView *view, LwError *error);

/* LW_TRUNCATED, with the file, when one of the view's maps faulted. */
extern LwStatus lw_view_check(const LwView *view, LwError *error);

static inline LwScoring
lw_view_scoring(const LwView *view)
{
	if (view->manifest.encoding == LW_FLOAT32)
		return LW_SCORE_FLOAT32;
	return view->manifest.normalized ? LW_SCORE_INT8_UNIT : LW_SCORE_INT8;
}

/* float32-exact-full-maxsim or int8-reconstructed-approximate-full-maxsim */
extern const char *lw_view_score_semantics(const LwView *view);

/* Rows listed in the tombstone files, of all segments. */
extern uint64_t lw_view_deleted(const LwView *view);

/* Bytes of the manifest's files, as mapped. */
extern uint64_t lw_view_bytes(const LwView *view);

#endif							/* LW_STORE_VIEW_H */
