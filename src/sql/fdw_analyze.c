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
affordable_rows(const LwView *view, const LwColumns *columns, int rows)
{
	double		bytes;

	if (columns->tokens == InvalidAttrNumber || view->documents == 0)
		return rows;
	bytes = (double) view->tokens * view->manifest.dimension * sizeof(float4) / view->documents;
	return (int) Min(rows, Max(1, maintenance_work_mem * 1024.0 / bytes));
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
	LwView	   *view = lw_pin_checked(RelationGetRelid(relation));
	MemoryContext row_context;
	LwColumns	columns;
	LwPlace		next = {0, 0};
	LwPlace		place;
	LwError		error;
	Datum	   *values = palloc_array(Datum, descriptor->natts);
	bool	   *nulls = palloc_array(bool, descriptor->natts);
	double		left;
	double		all = 0;
	int			wanted;
	int			taken = 0;
	size_t		i;

	lw_match_columns(relation, &columns);
	lw_check_declared_dimension(relation, &columns, view);
	error.path[0] = '\0';
	if (lw_view_hidden(view, &error) != LW_OK)
		lw_report(ERROR, &error);
	wanted = affordable_rows(view, &columns, targrows);
	left = view->documents;

	row_context = AllocSetContextCreate(CurrentMemoryContext, "lateweave sample", ALLOCSET_DEFAULT_SIZES);
	while (taken < wanted && lw_next_document(view, &next, &place))
	{
		lw_vacuum_delay_point();
		if (pg_prng_double(&pg_global_prng_state) * left < wanted - taken)
		{
			MemoryContext old = MemoryContextSwitchTo(row_context);

			lw_fill_row(view, place, &columns, descriptor->natts, values, nulls);
			MemoryContextSwitchTo(old);
			rows[taken++] = heap_form_tuple(descriptor, values, nulls);
			MemoryContextReset(row_context);
		}
		left--;
	}
	MemoryContextDelete(row_context);

	for (i = 0; i < view->manifest.nsegments; i++)
		all += view->manifest.segments[i].documents;
	*totalrows = view->documents;
	*totaldeadrows = all - view->documents - view->unnameable;
	ereport(elevel,
			(errmsg("\"%s\": %d of %.0f documents sampled, %.0f rows of the store are deleted or replaced",
					RelationGetRelationName(relation), taken, *totalrows, *totaldeadrows)));
	return taken;
}

/*
 * AnalyzeForeignTable.  A store that cannot be read is skipped with a WARNING,
 * so that an ANALYZE of the whole database goes on.
 */
bool
lw_analyze(Relation relation, AcquireSampleRowsFunc *func, BlockNumber *totalpages)
{
	LwView	   *view;
	LwError		error;

	error.path[0] = '\0';
	if (lw_pin_try(RelationGetRelid(relation), &view, &error) != LW_OK)
	{
		lw_report(WARNING, &error);
		return false;
	}
	*func = sample_rows;
	*totalpages = (BlockNumber) Min(lw_view_bytes(view) / BLCKSZ + 1, MaxBlockNumber);
	return true;
}
