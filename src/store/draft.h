/*-------------------------------------------------------------------------
 *
 * draft.h
 *	  The next commit of a store in the making: a view, and what changes it.
 *
 * Changes take effect in the order in which they are made, so a document that
 * is deleted and then added again is present, and one that is added and then
 * deleted is not.  Nothing of it is visible to anyone before
 * store/publish.h makes it so.  Whoever publishes holds the store's lock from
 * before the view was read to after the publish.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_DRAFT_H
#define LW_STORE_DRAFT_H

#include "store/segment_write.h"
#include "store/view.h"

typedef struct LwDraftSegment
{
	LwManifestSegment entry;	/* as in the base; of a segment that was added without tombstones */
	LwSegment  *segment;		/* NULL: not opened yet */
	LwTombstones *tombstones;	/* of the base, or NULL; opened with the segment */
	uint8_t    *deleted;		/* malloc'ed bitmap of all deleted rows; NULL: those of the base */
	uint64_t	ndeleted;
	bool		made;			/* its files go when the draft is not published */
	bool		tombstones_made;	/* its tombstone file of the draft's commit is there */
} LwDraftSegment;

typedef struct LwDraft
{
	LwDirectory directory;		/* of the store; the caller's */
	LwView	   *view;			/* the base */
	size_t		nbase;			/* so many of the segments are the view's, in its order, unless some were dropped */
	bool		dropped;
	bool		unmerged;		/* the view's table does not find all of its segments' ids, or is not there */
	uint64_t	next_segment_id;
	size_t		nsegments;
	size_t		room;
	LwDraftSegment *segments;	/* malloc'ed, ids ascending */

	const char *next_name;		/* what the next manifest is called until it is published; LW_MANIFEST_NEXT unless changed */

	/* set by lw_draft_write */
	LwManifest	manifest;		/* its strings are the view's */
	LwBuffer	text;			/* the manifest's bytes */
	bool		manifest_made;
	struct timespec stamp;		/* its time of modification, where the file system keeps it */
	bool		published;
} LwDraft;

/* A draft that changes nothing yet.  Of lw_view_unopened's view it opens what it needs, and when it does. */
extern LwStatus lw_draft_begin(LwDraft *draft, LwView *view, LwDirectory directory, LwError *error);

/* Removes the files that the draft has made, unless it was published, and gives back memory. */
extern void lw_draft_free(LwDraft *draft);

/* Takes the next segment id, which the next manifest counts as used.  LW_LIMIT, SegmentLimit, when there is none. */
extern LwStatus lw_draft_take_id(LwDraft *draft, uint64_t *id, LwError *error);

/*
 * Adds a segment whose files lie in the store under their final names (put
 * there under the lock, since every publish clears away what no manifest
 * names), and takes them over: from now on they go with the draft, also when this fails.
 * Its id was taken by lw_draft_take_id, now or in an earlier commit, and is not
 * in the draft.  `opened` is the segment when the caller has opened it, else NULL.
 */
extern LwStatus lw_draft_add(LwDraft *draft, const LwManifestSegment *entry, LwSegment *opened, LwError *error);

/* Where an id stands: the last segment that holds it, by position in segments[].  *found false: nowhere. */
extern LwStatus lw_draft_find(LwDraft *draft, const char *id, size_t size,
							  LwPlace *place, bool *found, LwError *error);
extern bool lw_draft_deleted(const LwDraft *draft, LwPlace place);

/* Opens a segment of the draft and its tombstones, if they are not yet. */
extern LwStatus lw_draft_open(LwDraft *draft, size_t position, LwError *error);

/* Deletes one row. */
extern LwStatus lw_draft_delete_row(LwDraft *draft, LwPlace place, LwError *error);

/* Deletes a document; *present says whether it was there. */
extern LwStatus lw_draft_delete(LwDraft *draft, const char *id, size_t size, bool *present, LwError *error);

/*
 * Takes `count` segments from `first` on off the list: their documents are gone
 * unless they were copied to a segment that is added next.  What was deleted
 * in them stays deleted: the rows of older segments that they hid are deleted there.
 */
extern LwStatus lw_draft_drop(LwDraft *draft, size_t first, size_t count, LwError *error);

#endif							/* LW_STORE_DRAFT_H */
