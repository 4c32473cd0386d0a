/*-------------------------------------------------------------------------
 *
 * changes.h
 *	  Changes of documents, in the order in which they were made, as bytes.
 *
 * A transaction stages them so, a pending file holds them so, and they are laid
 * over a view or written to a store from there.  Rows are encoded as the store's
 * segments have them.  The bytes are a file's or one's own: every record is
 * checked against what is there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_CHANGES_H
#define LW_STORE_CHANGES_H

#include "section/bytes.h"
#include "store/draft.h"

typedef enum LwChangeKind
{
	LW_CHANGE_APPEND = 1,		/* a document: id, tokens, rows, scales */
	LW_CHANGE_DELETE,			/* a document: id */
	LW_CHANGE_TRUNCATE,			/* all documents */
	LW_CHANGE_BATCH,			/* what follows begins a segment of its own */
	LW_CHANGE_BULK				/* a segment whose files lie in the pending directory: in the directory `id`, under the number `segment` */
} LwChangeKind;

typedef struct LwChangeRecord
{
	LwChangeKind kind;
	LwString	id;
	LwDocument	document;		/* of an append */
	LwManifestSegment segment;	/* of a bulk segment */
} LwChangeRecord;

/* What rows look like. */
typedef struct LwChangeFormat
{
	LwEncoding	encoding;
	uint64_t	dimension;
} LwChangeFormat;

extern LwChangeFormat lw_change_format(const LwManifest *manifest);

/* Adds a record to a buffer, which then has failed or holds it whole. */
extern void lw_put_append(LwBuffer *changes, LwChangeFormat format, LwString id, const float *values, size_t tokens);
extern void lw_put_change(LwBuffer *changes, LwChangeKind kind, LwString id);
extern void lw_put_bulk(LwBuffer *changes, LwString directory, const LwManifestSegment *segment);

/*
 * The record at *at, which is moved past it; false at the end.  The data is
 * that of a buffer or of a file, at an address for a uint64_t.  LW_MALFORMED, PendingRecord.
 */
extern LwStatus lw_next_change(LwBytes changes, LwChangeFormat format, size_t *at,
							   LwChangeRecord *record, bool *found, LwError *error);

/* Whether they delete documents by id, so that these have to be looked up; also when that cannot be told. */
extern bool lw_changes_delete(const LwBytes *pieces, size_t npieces, LwChangeFormat format);

/*
 * Lays changes over a draft, in order: `pieces` are runs of records, the older first.
 * The documents of a piece, up to an LW_CHANGE_BATCH, are one segment, without
 * what the piece itself replaced or deleted again; of `merged` pieces, and where there are
 * more than 16 such segments, all that are not bulk.  `files`: segments are written to the store's directory and bulk ones
 * linked there; else they are in memory, and the draft is good for lw_draft_view only.
 * `pending` is the directory of bulk segments.
 */
extern LwStatus lw_draft_apply(LwDraft *draft, const LwBytes *pieces, size_t npieces, bool merged,
							   bool files, LwDirectory pending, LwError *error);

/* A view of what the draft would publish, of the base's commit. */
extern LwStatus lw_draft_view(LwDraft *draft, LwView **view, LwError *error);

#endif							/* LW_STORE_CHANGES_H */
