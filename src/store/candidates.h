/*-------------------------------------------------------------------------
 *
 * candidates.h
 *	  Which documents of a view are worth scoring: the centroids that were
 *	  trained for a store, and those of each document.
 *
 * A segment's codes are a derived file (derived.h) of its files and of the
 * training: for each document where its centroids begin, and the number of each
 * centroid that some token of it has, once.  Where they are missing all
 * documents of the segment are worth scoring.  No answer is wrong for want of
 * them, or when they are damaged: documents are found less well then.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_CANDIDATES_H
#define LW_STORE_CANDIDATES_H

#include "train.h"

/* The centroids of a store, mapped; kept by the process. */
typedef struct LwTraining
{
	struct LwTraining *next;
	LwDerivedKey key;
	LwDerived  *file;
	LwCentroids centroids;
	uint64_t	sampled;		/* tokens */
	int64_t		trained_at;		/* microseconds since 1970 */
} LwTraining;

/* The training of a view's store as it is now, or NULL.  Valid until the next call for this store. */
extern LwTraining *lw_training_get(const LwView *view);

/*
 * Puts a training in place of the one that the store has; that of no centroids
 * removes it.  `now` is in microseconds.  Codes of the view's segments by
 * the former training go.  LW_IO when the file cannot be written.
 */
extern LwStatus lw_training_put(const LwView *view, const LwTrained *trained, int64_t now, LwError *error);

/* Removes the training of a store that is gone. */
extern void lw_training_remove(const char *store_id, size_t size);

/* Segments of fewer documents have no codes: they are scored as fast. */
#define LW_CODES_DOCUMENTS LW_DERIVED_DOCUMENTS

/* Whether a segment could have codes. */
extern bool lw_codes_wanted(const LwSegment *segment);

/* Whether a segment has codes by a training, which it has opened then. */
extern bool lw_codes_open(LwSegment *segment, const LwTraining *training);

/*
 * Makes the codes of those segments of a view that want them and have none; counts them.
 * Memory: the centroids once more, 2 bytes for each code and 8 for each document of a segment.
 * LW_CANCELLED, LW_NO_MEMORY, LW_IO, and what is wrong with the segments' files.
 */
extern LwStatus lw_codes_make(const LwView *view, const LwTraining *training, const LwLongWork *work,
							  uint64_t *made, LwError *error);

/* Documents of a view that are in segments without codes and not hidden (lw_view_hidden comes first); `training` may be NULL. */
extern uint64_t lw_codes_missing(const LwView *view, const LwTraining *training);

/*
 * Ranks the documents that have codes and are not hidden (lw_view_hidden comes first):
 * fills `best`.  coded[segment] says which segments have codes; all documents of the others
 * are worth scoring.  lw_maxsim_pause is called meanwhile.
 */
extern void lw_codes_rank(const LwView *view, const LwTraining *training, const LwCentroidTable *table,
						  LwBest *best, bool *coded);

#endif							/* LW_STORE_CANDIDATES_H */
