/*-------------------------------------------------------------------------
 *
 * cost.c
 *	  What a scan of the index is estimated to cost.
 *
 * Before the first row comes, every document of the source has been scored, or as
 * many candidates as the scan begins with; then the others are, the more rows are taken.
 * A document costs here what id @# query costs for a row, so that the planner
 * weighs scoring all documents against scoring the rows that a condition leaves.
 * For each row that comes, as many documents are looked up as there are for a row of
 * the index.  Reading the source's files is in neither: they are mapped, and
 * the same pages are read either way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/float.h"
#include "utils/rel.h"
#include "utils/spccache.h"

#include "compat.h"
#include "am/index.h"
#include "sql/support.h"

/* Looking a document up costs as much as so many operators. */
#define LOOKUP_OPERATORS 100

/*
 * A scan that begins with candidates takes so many documents' scores for each document that it gives: from time to time
 * it scores four times as many as before (promising.h), and ranks all documents anew.
 */
#define SCORED_PER_GIVEN 8

/* What the options of the index tell: the source, InvalidOid when that is nothing, and how many candidates a scan begins with. */
static Oid
look_at_options(Oid indexoid, int *candidates)
{
	Relation	index = index_open(indexoid, NoLock);
	Oid			source = lw_index_source((LwIndexOptions *) index->rd_options, RelationGetNamespace(index));

	*candidates = lw_index_candidates(index);
	index_close(index, NoLock);
	return source;
}

void
lw_index_cost(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
			  Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *index = path->indexinfo;
	double		documents;
	double		first;			/* documents scored before the first row comes */
	double		later;
	double		pages_read;
	double		random_page;
	Cost		score;
	LwCall		call;
	Oid			source;
	int			candidates;

	*selectivity = 1;
	*correlation = 0;
	*pages = index->pages;
	/* the server looks whether the conditions of a scan are PARALLEL SAFE, but not at its order, which is RESTRICTED */
	path->path.parallel_safe = false;

	/* Rows come in the order of one query, and of nothing else. */
	if (list_length(path->indexorderbys) != 1)
	{
		*startup = *total = get_float8_infinity();
		lw_disable_path(&path->path);
		return;
	}

	source = look_at_options(index->indexoid, &candidates);
	documents = index->tuples;
	if (lw_look_at_ranking(lsecond(linitial_node(OpExpr, path->indexorderbys)->args), &call))
		documents = call.documents;
	else
	{
		call.documents = OidIsValid(source) ? lw_source_documents(source) : -1;
		if (call.documents >= 0)
			documents = call.documents;
		else
			call.documents = documents;
	}

	get_tablespace_page_costs(index->reltablespace, &random_page, NULL);
	pages_read = index_pages_fetched(Max(documents, 1), index->pages, index->pages, root);
	score = lw_score_cost(&call);
	first = lw_documents_scored(&call, candidates);
	later = first < call.documents ? SCORED_PER_GIVEN * documents : 0;
	*startup = first * score;
	*total = *startup + later * score + documents * LOOKUP_OPERATORS * cpu_operator_cost +
		index->tuples * cpu_index_tuple_cost + pages_read * random_page;
}
