/*-------------------------------------------------------------------------
 *
 * support.h
 *	  What scoring is estimated to cost.
 *
 * Nothing here raises for a source that is broken, or that the current user may not read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_SUPPORT_H
#define LW_SQL_SUPPORT_H

#include "postgres.h"

#include "nodes/nodes.h"

/* What the arguments of a call tell. */
typedef struct LwCall
{
	double		query_tokens;
	double		document_tokens;
	double		dimension;
	double		documents;		/* of the source */
	double		coded;			/* those that need not be scored when candidates are asked for */
} LwCall;

/*
 * What the right side of id @# query tells, as far as it is constant; the rest is assumed.
 * Whether the source is known, and so `documents`.
 */
extern bool lw_look_at_ranking(Node *query, LwCall *call);

/* How many documents a source has; -1 when that cannot be told. */
extern double lw_source_documents(Oid source);

/* How many documents' scores a search with so many candidates (0: exact) costs at first. */
extern double lw_documents_scored(const LwCall *call, int candidates);

/* The cost of one document's score. */
extern Cost lw_score_cost(const LwCall *call);

#endif							/* LW_SQL_SUPPORT_H */
