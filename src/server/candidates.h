/*-------------------------------------------------------------------------
 *
 * candidates.h
 *	  The documents of a store that are worth scoring for a query, when not
 *	  all are to be scored.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_CANDIDATES_H
#define LW_SERVER_CANDIDATES_H

#include "postgres.h"

#include "kernel/maxsim.h"
#include "store/view.h"

/* The setting lateweave.candidates: how many documents are scored exactly; 0: all. */
extern int	lw_candidates_setting;

typedef struct LwCandidates
{
	LwPlace    *places;			/* of documents with codes, as they lie in the files */
	size_t		count;
	bool	   *coded;			/* [nsegments]: whether the documents of a segment have codes */
	uint64		uncoded;		/* documents that have none; all of them are to be scored */
} LwCandidates;

/*
 * Finds the `n` most promising documents (fewer when there are not so many); those of fewer
 * are among those of more, so who needs further ones asks again for more and passes over what it
 * has had.  Hidden documents are left out.  False: the store has no trained centroids, or the query
 * has too many tokens for them; then all documents are to be scored.
 * Memory is the current context's; interruptible.
 */
extern bool lw_candidates_find(LwView *view, LwQuery *query, size_t n, LwCandidates *candidates);

/* Counts that an answer is approximate, and of how many documents, which it says at DEBUG1. */
extern void lw_candidates_report(const LwView *view, uint64 scored);

typedef struct LwTrainingResult
{
	uint32		centroids;
	uint64		sampled;		/* tokens */
	uint64		segments;		/* that have codes now */
} LwTrainingResult;

/*
 * Trains centroids (0: as many as suit) for the view's store, and makes the codes of its segments.
 * Interruptible: while it trains without effect, then with codes missing.
 */
extern void lw_candidates_train(Oid relid, const LwView *view, uint32 centroids, LwTrainingResult *result);

/* Has a store forget its centroids. */
extern void lw_candidates_forget(const LwView *view);

/*
 * Makes the codes of segments that have none, if the store has centroids; returns how many.
 * What goes wrong is a WARNING, a request to stop none: they are missing then.
 * `leave` (may be NULL) is asked often; true is as a request to stop.
 */
extern uint64 lw_candidates_refresh(Oid relid, const LwView *view, bool (*leave) (void));

/* Documents, hidden ones too, in segments that have codes. */
extern uint64 lw_candidates_coded(const LwView *view);

/* Whether segments that could have codes have none, although the store has centroids. */
extern bool lw_candidates_wanted(const LwView *view);

/*
 * Documents of a view, of which `documents` are present, without codes, and when its centroids were
 * trained (microseconds since 1970; 0: never).
 */
extern LwStatus lw_candidates_status(LwView *view, uint64 documents, uint64 *uncoded, int64 *trained_at, LwError *error);

#endif							/* LW_SERVER_CANDIDATES_H */
