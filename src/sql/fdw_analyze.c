/*-------------------------------------------------------------------------
 *
 * fdw_analyze.c
 *	  Sampling a foreign table for ANALYZE.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/vacuum.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"
#include "server/error.h"
#include "server/pin.h"
#include "sql/fdw.h"

/* How many of `rows` rows of the sample fit into maintenance_work_mem. */
static int
affordable_rows(const LwRows *source, double documents, int rows)
{
	double		bytes = 1;

	if (documents == 0)
		return rows;
	if (source->columns.at[LW_COLUMN_TOKENS] != InvalidAttrNumber)
		bytes = (double) source->content.view->tokens * source->content.view->manifest.dimension * sizeof(float4) / documents;
	else if (source->columns.at[LW_COLUMN_EMBEDDING] != InvalidAttrNumber)
		bytes = source->slab.dimension * sizeof(float4);
	return (int) Min(rows, Max(1, maintenance_work_mem * 1024.0 / bytes));
}

/* Documents that a scan of the source gives; *dead is how many rows of it are deleted or replaced. */
static double
count_documents(LwContent content, double *dead)
{
	LwError		error;
	double		all = 0;
	size_t		i;

	*dead = 0;
	if (content.section != NULL)
		return content.section->file->rows;
	error.path[0] = '\0';
	if (lw_view_hidden(content.view, &error) != LW_OK)
		lw_report(ERROR, &error);
	for (i = 0; i < content.view->manifest.nsegments; i++)
		all += content.view->manifest.segments[i].documents;
	*dead = all - content.view->documents - content.view->unnameable;
	return content.view->documents;
}

/*
 * Draws rows so that every set of as many is equally likely: one that comes up
 * is taken with the probability (wanted / left).  Only those are decoded.
 */
static int
sample_rows(Relation relation, int elevel, HeapTuple *rows, int targrows,
			double *totalrows, double *totaldeadrows)
{
	TupleDesc	descriptor = RelationGetDescr(relation);
	MemoryContext row_context;
	LwRows		source = {0};
	LwPlace		next = {0, 0};
	LwPlace		place;
	Datum	   *values = palloc_array(Datum, descriptor->natts);
	bool	   *nulls = palloc_array(bool, descriptor->natts);
	double		left;
	int			wanted;
	int			taken = 0;

	source.content = lw_pin_checked(RelationGetRelid(relation));
	lw_match_columns(relation, &source.columns);
	lw_begin_rows(&source, relation);
	*totalrows = left = count_documents(source.content, totaldeadrows);
	wanted = affordable_rows(&source, left, targrows);

	row_context = AllocSetContextCreate(CurrentMemoryContext, "lateweave sample", ALLOCSET_DEFAULT_SIZES);
	while (taken < wanted && lw_next_document(source.content, &next, &place))
	{
		lw_vacuum_delay_point();
		if (pg_prng_double(&pg_global_prng_state) * left < wanted - taken)
		{
			MemoryContext old = MemoryContextSwitchTo(row_context);

			lw_fill_row(&source, place, descriptor->natts, values, nulls);
			MemoryContextSwitchTo(old);
			rows[taken++] = heap_form_tuple(descriptor, values, nulls);
			MemoryContextReset(row_context);
		}
		left--;
	}
	MemoryContextDelete(row_context);
	ereport(elevel,
			(errmsg("\"%s\": %d of %.0f documents sampled, %.0f rows of the store are deleted or replaced",
					RelationGetRelationName(relation), taken, *totalrows, *totaldeadrows)));
	return taken;
}

/*
 * AnalyzeForeignTable.  A source that cannot be read is skipped with a WARNING,
 * so that an ANALYZE of the whole database goes on.
 */
bool
lw_analyze(Relation relation, AcquireSampleRowsFunc *func, BlockNumber *totalpages)
{
	LwContent	content;
	LwError		error;
	uint64		bytes;

	error.path[0] = '\0';
	if (lw_pin_try(RelationGetRelid(relation), &content, &error) != LW_OK)
	{
		lw_report(WARNING, &error);
		return false;
	}
	bytes = content.view != NULL ? lw_view_bytes(content.view) : content.section->file->bytes.size;
	*func = sample_rows;
	*totalpages = (BlockNumber) Min(bytes / BLCKSZ + 1, MaxBlockNumber);
	return true;
}
