/*-------------------------------------------------------------------------
 *
 * scorer.h
 *	  What the scoring functions share: a source, a query, and ids.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_SCORER_H
#define LW_SQL_SCORER_H

#include "postgres.h"
#include "utils/jsonb.h"

#include "kernel/maxsim.h"
#include "kernel/vectors.h"
#include "sql/multivector.h"
#include "server/section_scoring.h"
#include "server/source.h"
#include "server/stat.h"

/* A source as the statement sees it, and a query that fits it. Valid until the next query is prepared. */
typedef struct LwScorer
{
	LwContent	content;
	LwQuery    *query;			/* of a store */
	LwVectorQuery *vector;		/* of a section file */
	LwSectionVectors vectors;	/* likewise: what it scores */
	LwStatCounts *counts;		/* where what is scored is counted */
} LwScorer;

/*
 * Pins the source, checks SELECT, the query's dimension and, when not NULL,
 * its representation, and packs the query.
 */
extern void lw_scorer_begin(LwScorer *scorer, Oid source, const LwMultivector *query,
							Datum representation, bool has_representation);

/* The same for a query that has to name its source: else ERROR 22023. */
extern void lw_scorer_begin_named(LwScorer *scorer, const LwMultivector *query);

/* Whether the source holds a document, and where: of a section file the row is its ordinal. */
extern bool lw_scorer_find(const LwScorer *scorer, LwString id, LwPlace *place);

/*
 * Scores the documents at places; what ranks after the best k may get
 * -infinity.  ERROR as lw_score_places says; interruptible.
 */
extern void lw_scorer_score(const LwScorer *scorer, const LwPlace *places, size_t count,
							size_t k, float4 *scores);

/* ERROR 22000 unless scores of the two sources are on one scale. */
extern void lw_check_one_scale(const LwScorer *first, const LwScorer *other);

/*
 * ERROR 22000 "incompatible query" that names every member of the jsonb
 * object `representation` which differs from the source's; 22023 for an unknown member.
 */
extern void lw_check_representation(const LwScorer *scorer, Jsonb *representation);

/* Enough for the text form of any fixed-length id. */
typedef struct LwIdBuffer
{
	char		data[64];
} LwIdBuffer;

/*
 * The UTF-8 text form of an id of type text, bigint, integer, smallint or
 * uuid; points into the datum or the buffer.
 */
extern LwString lw_id_from_datum(Datum id, Oid type, LwIdBuffer *buffer);

/* The ids of an array of text, bigint or uuid. */
typedef struct LwIdList
{
	int			count;
	LwString   *ids;
} LwIdList;

/* ERROR 22023 that names it when an id is NULL; 22023 for more than one dimension. */
extern void lw_id_list(ArrayType *array, LwIdList *list);

/* ERROR 22023 that names the first id that stands twice. */
extern void lw_refuse_repeated_ids(const LwString *ids, int count);

/* A place with its score, as results are ordered. */
typedef struct LwRanked
{
	float4		score;
	int			position;		/* in gather order */
	LwPlace		place;
} LwRanked;

/* For qsort: score descending in IEEE total order, ties in gather order. */
extern int	lw_compare_ranked(const void *a, const void *b);

#endif							/* LW_SQL_SCORER_H */
