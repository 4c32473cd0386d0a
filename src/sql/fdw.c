/*-------------------------------------------------------------------------
 *
 * fdw.c
 *	  Planning a scan of a foreign table, and the wrapper's handler.
 *
 * The planner looks at the source as it is now, and only for numbers: what the
 * statement sees is pinned by the executor.  A source that cannot be read gets
 * made-up numbers here, so that the error comes when the scan begins, after
 * privileges were checked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/sysattr.h"
#include "access/table.h"
#include "fmgr.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"

#include "compat.h"
#include "server/source.h"
#include "sql/fdw.h"
#include "sql/multivector.h"

PG_FUNCTION_INFO_V1(lateweave_fdw_handler);

/* What planning knows of one scan; rel->fdw_private. */
typedef struct LwRelation
{
	LwColumns	columns;		/* those by which lookups go are among them */
	LwColumns	wanted;			/* the columns that the query needs from the scan */
	double		documents;
	double		segments;
	double		tokens;			/* of a document */
	double		dimension;
	double		document_bytes; /* of its vectors in the files */
	double		text_bytes;		/* of its text */
} LwRelation;

static void
estimate_store(const LwView *view, LwRelation *relation)
{
	double		rows = 0;
	double		tokens = 0;
	size_t		i;

	for (i = 0; i < view->manifest.nsegments; i++)
	{
		rows += view->manifest.segments[i].documents;
		tokens += view->manifest.segments[i].tokens;
	}
	/* What later segments replace is known only once somebody has listed the documents. */
	relation->documents = view->hidden != NULL ? view->documents : rows - lw_view_deleted(view);
	relation->segments = view->manifest.nsegments;
	relation->dimension = view->manifest.dimension;
	if (rows > 0)
		relation->tokens = tokens / rows;
	relation->document_bytes = relation->tokens *
		(view->manifest.encoding == LW_INT8 ? relation->dimension + sizeof(float4) :
		 relation->dimension * sizeof(float4));
}

static void
estimate_section(const LwSection *section, LwRelation *relation)
{
	const LwSectionEntry *vectors = lw_section_find(section->file, LW_SECTION_EMBEDDINGS);
	const LwSectionEntry *texts = lw_section_find(section->file, LW_SECTION_TEXTS);
	double		rows = Max(section->file->rows, 1);

	relation->documents = section->file->rows;
	relation->tokens = 1;
	relation->dimension = section->file->dimension;
	relation->document_bytes = vectors != NULL ? vectors->size / rows : 0;
	relation->text_bytes = texts != NULL ? texts->size / rows : 0;
}

/* Numbers of the source, or a guess. */
static void
estimate_source(Oid relid, LwRelation *relation)
{
	LwContent	content;

	relation->documents = 1000;
	relation->segments = 1;
	relation->tokens = 100;
	relation->dimension = 128;
	relation->document_bytes = relation->tokens * relation->dimension;
	relation->text_bytes = 0;
	if (!lw_source_last_content(lw_source_lookup(relid), &content))
		return;
	if (content.view != NULL)
		estimate_store(content.view, relation);
	else
		estimate_section(content.section, relation);
}

/* Whether a column is among those of pull_varattnos; a whole-row reference has them all. */
static AttrNumber
if_wanted(AttrNumber column, Bitmapset *attributes)
{
	if (column == InvalidAttrNumber ||
		(!bms_is_member(column - FirstLowInvalidHeapAttributeNumber, attributes) &&
		 !bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, attributes)))
		return InvalidAttrNumber;
	return column;
}

/* Leaves in `columns` what the rest of the plan, or a filter of the scan, reads. */
static void
keep_wanted(RelOptInfo *rel, const LwLookup *lookup, LwColumns *columns)
{
	Bitmapset  *attributes = NULL;
	ListCell   *cell;
	int			i;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attributes);
	foreach(cell, rel->baserestrictinfo)
		if (lookup == NULL || lfirst(cell) != lookup->clause)
			pull_varattnos((Node *) lfirst_node(RestrictInfo, cell)->clause, rel->relid, &attributes);
	for (i = 0; i < LW_COLUMNS; i++)
		columns->at[i] = if_wanted(columns->at[i], attributes);
}

/* Estimated width of a column that has no fixed one, if the scan fills it. */
static void
set_width(RelOptInfo *rel, const LwRelation *relation, LwColumn column, double bytes)
{
	AttrNumber	at = relation->wanted.at[column];

	if (at != InvalidAttrNumber)
		rel->attr_widths[at - rel->min_attr] = (int32) Min(bytes, MaxAllocSize);
}

/* Whether rows have vectors. */
static bool
wants_vectors(const LwRelation *relation)
{
	return relation->wanted.at[LW_COLUMN_TOKENS] != InvalidAttrNumber ||
		relation->wanted.at[LW_COLUMN_EMBEDDING] != InvalidAttrNumber;
}

/* Bytes in the files that are read for a document. */
static double
bytes_read(const LwRelation *relation)
{
	double		bytes = 0;

	if (wants_vectors(relation))
		bytes += relation->document_bytes;
	if (relation->wanted.at[LW_COLUMN_CANONICAL_TEXT] != InvalidAttrNumber ||
		relation->wanted.at[LW_COLUMN_CANONICAL_BYTES] != InvalidAttrNumber)
		bytes += relation->text_bytes;
	return bytes;
}

/* GetForeignRelSize: how many rows, and how wide. */
static void
estimate_size(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	LwRelation *relation = palloc0(sizeof(LwRelation));
	Relation	table = table_open(relid, NoLock);
	LwLookup	lookup;
	bool		has_lookup;

	lw_match_columns(table, &relation->columns);
	table_close(table, NoLock);
	relation->wanted = relation->columns;
	has_lookup = lw_find_lookup(root, rel, &relation->columns, rel->baserestrictinfo, &lookup);
	keep_wanted(rel, has_lookup ? &lookup : NULL, &relation->wanted);
	estimate_source(relid, relation);
	rel->fdw_private = relation;

	rel->tuples = relation->documents;
	set_width(rel, relation, LW_COLUMN_TOKENS,
			  LW_MULTIVECTOR_SIZE(0, 0) + relation->tokens * relation->dimension * sizeof(float4));
	set_width(rel, relation, LW_COLUMN_EMBEDDING, relation->dimension * sizeof(float4));
	set_width(rel, relation, LW_COLUMN_CANONICAL_TEXT, VARHDRSZ + relation->text_bytes);
	set_width(rel, relation, LW_COLUMN_CANONICAL_BYTES, VARHDRSZ + relation->text_bytes);
	set_baserel_size_estimates(root, rel);
	if (has_lookup)
	{
		/* Ids are unique, whatever statistics (or their absence) say. */
		List	   *others = list_delete_ptr(list_copy(rel->baserestrictinfo), lookup.clause);

		rel->rows = clamp_row_est(Min(lookup.ids, rel->tuples) *
								  clauselist_selectivity(root, others, 0, JOIN_INNER, NULL));
	}
}

/*
 * Adds the path of a scan that tests `clauses`; with a lookup among them it
 * reads no more documents than that names.
 */
static void
add_scan_path(PlannerInfo *root, RelOptInfo *rel, List *clauses, double rows, Relids required_outer)
{
	LwRelation *relation = rel->fdw_private;
	double		documents = relation->documents;
	double		bytes = bytes_read(relation);
	Cost		all_pages = ceil(documents * bytes / BLCKSZ) * seq_page_cost;
	List	   *bounds = NIL;
	List	   *strategies = NIL;
	LwLookup	lookup;
	QualCost	filter;
	Cost		startup;
	Cost		run;

	cost_qual_eval(&filter, clauses, root);
	startup = filter.startup + rel->reltarget->cost.startup;
	run = rel->reltarget->cost.per_tuple * rows;
	if (lw_find_lookup(root, rel, &relation->columns, clauses, &lookup))
	{
		Cost		pages_each = random_page_cost + (ceil(bytes / BLCKSZ) - 1) * seq_page_cost;

		documents = Min(documents, lookup.ids);
		/* every segment is asked for each id */
		run += lookup.ids * Max(relation->segments, 1) * cpu_operator_cost;
		if (bytes > 0)
			run += Min(documents * pages_each, all_pages);
	}
	else
	{
		List	   *bounding = lw_find_bounds(root, rel, &relation->columns, clauses, &bounds, &strategies);
		Selectivity part = clauselist_selectivity(root, bounding, 0, JOIN_INNER, NULL);

		documents *= part;
		run += all_pages * part;
	}
	if (wants_vectors(relation))
		run += documents * relation->tokens * cpu_operator_cost;
	run += documents * (cpu_tuple_cost + filter.per_tuple);

	add_path(rel, (Path *) lw_create_foreignscan_path(root, rel, rows, startup, startup + run, required_outer));
}

/* GetForeignPaths: a scan, and one for each set of relations whose columns could name the documents. */
static void
add_paths(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	LwRelation *relation = rel->fdw_private;
	List	   *done = NIL;
	ListCell   *cell;

	add_scan_path(root, rel, rel->baserestrictinfo, rel->rows, rel->lateral_relids);
	foreach(cell, lw_join_lookups(root, rel, &relation->columns))
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, cell);
		Relids		required = bms_union(clause->clause_relids, rel->lateral_relids);
		ParamPathInfo *parameters;
		List	   *clauses;
		LwLookup	lookup;

		required = bms_del_member(required, rel->relid);
		if (bms_is_empty(required))
			continue;
		parameters = get_baserel_parampathinfo(root, rel, required);
		if (list_member_ptr(done, parameters))
			continue;
		done = lappend(done, parameters);

		clauses = list_concat_copy(rel->baserestrictinfo, parameters->ppi_clauses);
		if (!lw_find_lookup(root, rel, &relation->columns, clauses, &lookup))
			continue;
		parameters->ppi_rows = Min(parameters->ppi_rows, clamp_row_est(lookup.ids));
		add_scan_path(root, rel, clauses, parameters->ppi_rows, required);
	}
}

/* GetForeignPlan: the lookup goes to the scan, every other clause stays a filter, also one that bounds it. */
static ForeignScan *
make_plan(PlannerInfo *root, RelOptInfo *rel, Oid relid, ForeignPath *path,
		  List *tlist, List *clauses, Plan *outer_plan)
{
	LwRelation *relation = rel->fdw_private;
	List	   *expressions = NIL;
	List	   *strategies = NIL;
	List	   *recheck = NIL;
	List	   *private = NIL;
	LwLookup	lookup;
	int			i;
	bool		has_lookup = lw_find_lookup(root, rel, &relation->columns, clauses, &lookup);

	if (has_lookup)
	{
		clauses = list_delete_ptr(list_copy(clauses), lookup.clause);
		expressions = list_make1(lookup.key);
		recheck = list_make1(lookup.condition);
	}
	else
		lw_find_bounds(root, rel, &relation->columns, clauses, &expressions, &strategies);
	private = list_make1_int(has_lookup ? (int) lookup.kind : LW_KEY_NONE);
	for (i = 0; i < LW_COLUMNS; i++)
		private = lappend_int(private, relation->wanted.at[i] != InvalidAttrNumber);
	return make_foreignscan(tlist, extract_actual_clauses(clauses, false), rel->relid,
							expressions, list_concat(private, strategies), NIL, recheck, outer_plan);
}

Datum
lateweave_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->GetForeignRelSize = estimate_size;
	routine->GetForeignPaths = add_paths;
	routine->GetForeignPlan = make_plan;
	routine->BeginForeignScan = lw_begin_scan;
	routine->IterateForeignScan = lw_iterate_scan;
	routine->ReScanForeignScan = lw_rescan;
	routine->EndForeignScan = lw_end_scan;
	routine->ExplainForeignScan = lw_explain_scan;
	routine->AnalyzeForeignTable = lw_analyze;
	routine->ImportForeignSchema = lw_import_schema;
	lw_allow_changes(routine);
	PG_RETURN_POINTER(routine);
}
