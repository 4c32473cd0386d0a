/*-------------------------------------------------------------------------
 *
 * scoring.h
 *	  Scores of a view's documents, and what can go wrong with them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_SCORING_H
#define LW_SERVER_SCORING_H

#include "postgres.h"

#include "compat.h"
#include "kernel/maxsim.h"
#include "server/stat.h"
#include "store/view.h"

/*
 * ERROR 22000 unless the query's dimension is the source's.
 */
extern void lw_check_dimension(const LwView *view, int dimension);

/* Whether a document is present, and where.  ERROR XX001 when its segments' ids can no longer be read. */
extern bool lw_find_document(const LwView *view, LwString id, LwPlace *place);

/*
 * Scores the documents at places[0..count-1].  ERROR XX001 for a bad scale or
 * a file that was cut under the query, 22023 for a score that is not a
 * number; each names the document or the file.  Interruptible.
 *
 * A document whose score is less than `floor` may get -infinity instead, which
 * is faster; -infinity as the floor gets all scores.
 */
extern void lw_score_places(const LwView *view, LwQuery *query, const LwPlace *places,
							size_t count, float4 floor, float4 *scores);

/* The same for who leaves it to another to say what is wrong: false, and the scores are undefined. */
extern bool lw_try_score_places(const LwView *view, LwQuery *query, const LwPlace *places,
								size_t count, float4 floor, float4 *scores);

/*
 * The same as lw_score_places when only the best k are wanted, ties included: what ranks after
 * them may get -infinity.
 */
extern void lw_score_best(const LwView *view, LwQuery *query, const LwPlace *places,
						  size_t count, size_t k, float4 *scores);

/* Counts documents of a view, with their tokens, bytes and kernel time, that another process has scored. */
extern void lw_count_scored(const LwView *view, const LwStatCounts *counts);

/*
 * For the calls that score many documents: says at DEBUG1 how many there were, with their tokens and
 * bytes, of which commit, and how long the kernel took, of all that was scored since the last call.
 */
extern void lw_report_kernel_time(const char *path);

/* Reports a problem with one document. Does not return. */
pg_noreturn extern void lw_report_score_problem(const LwView *view, LwPlace place, LwScoreProblem problem);

/* ERROR when a map of the view has faulted, now or at an earlier use: before a result is used. */
extern void lw_check_faults(const LwView *view);

#endif							/* LW_SERVER_SCORING_H */
