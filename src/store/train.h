/*-------------------------------------------------------------------------
 *
 * train.h
 *	  Centroids of the tokens of a store: k-means over a sample.
 *
 * The sample's tokens are put into cells first, and the tokens of a cell then
 * have centroids of their own, as many as is the cell's share, so that the time
 * grows with k^1.5 and not with k^2.  Everything random comes from one fixed
 * seed: the same store gives the same centroids.
 *
 * Memory is bounded by what the caller grants; the sample is as small as that
 * makes it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_TRAIN_H
#define LW_STORE_TRAIN_H

#include "kernel/centroids.h"
#include "section/stop.h"
#include "view.h"

typedef enum LwTrainingPhase
{
	LW_TRAINING_SAMPLE,
	LW_TRAINING_CELLS,
	LW_TRAINING_CENTROIDS,
	LW_TRAINING_ASSIGN			/* of one segment */
} LwTrainingPhase;

/* What long work asks and tells, in tokens; all may be NULL. */
typedef struct LwLongWork
{
	const LwStop *stop;
	void		(*progress) (void *arg, LwTrainingPhase phase, uint64_t done, uint64_t total);
	void	   *arg;
} LwLongWork;

typedef struct LwTrained
{
	LwCentroids centroids;		/* malloc'ed */
	uint64_t	sampled;		/* tokens */
} LwTrained;

/* How many centroids suit so many tokens: 16 times the square root, at most LW_CENTROIDS_MOST. */
extern uint32_t lw_train_default(uint64_t tokens);

/*
 * Trains `count` centroids (0: as many as suit), or fewer where there are not
 * so many tokens, in some `memory` bytes.  Deleted documents are as good as others.
 * LW_CANCELLED, LW_NO_MEMORY, LW_INVALID when there are no tokens in files, or what is wrong with these.
 */
extern LwStatus lw_train(const LwView *view, uint32_t count, size_t memory, const LwLongWork *work,
						 LwTrained *trained, LwError *error);
extern void lw_trained_free(LwTrained *trained);

/* Tokens of a segment as float32 rows; those with a bad scale are zeros. */
extern const float *lw_token_rows(const LwView *view, const LwSegment *segment, uint64_t first, size_t count, float *buffer);

#endif							/* LW_STORE_TRAIN_H */
