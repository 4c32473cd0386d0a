/*-------------------------------------------------------------------------
 *
 * cost.c
 *	  What a scan of the index is estimated to cost.
 *
 * Before the first row comes, every document of the source has been scored; a
 * document costs here what id @# query costs for a row, so that the planner
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

/* How many documents the source has that the index's option names; -1 when that cannot be told. */
static double
documents_by_option(Oid indexoid)
{
	Relation	index = index_open(indexoid, NoLock);
	Oid			source = lw_index_source((LwIndexOptions *) index->rd_options, RelationGetNamespace(index));

	index_close(index, NoLock);
	return OidIsValid(source) ? lw_source_documents(source) : -1;
}

void
lw_index_cost(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
			  Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *index = path->indexinfo;
	double		documents;
	double		pages_read;
	double		random_page;
	LwCall		call;

	*selectivity = 1;
	*correlation = 0;
	*pages = index->pages;

	/* Rows come in the order of one query, and of nothing else. */
	if (list_length(path->indexorderbys) != 1)
	{
		*startup = *total = get_float8_infinity();
		lw_disable_path(&path->path);
		return;
	}

	documents = index->tuples;
	if (lw_look_at_ranking(lsecond(linitial_node(OpExpr, path->indexorderbys)->args), &call))
		documents = call.documents;
	else
	{
		call.documents = documents_by_option(index->indexoid);
		if (call.documents >= 0)
			documents = call.documents;
	}

	get_tablespace_page_costs(index->reltablespace, &random_page, NULL);
	pages_read = index_pages_fetched(Max(documents, 1), index->pages, index->pages, root);
	*startup = documents * lw_score_cost(&call);
	*total = *startup + documents * LOOKUP_OPERATORS * cpu_operator_cost +
		index->tuples * cpu_index_tuple_cost + pages_read * random_page;
}
