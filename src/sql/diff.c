/*-------------------------------------------------------------------------
 *
 * diff.c
 *	  lateweave_diff: which documents a store and a table do not share.
 *
 * The table's ids come through a cursor and are looked up one by one; which of
 * the store's documents they found is noted in a bit each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/pin.h"
#include "sql/fdw.h"

PG_FUNCTION_INFO_V1(lateweave_diff);

#define BATCH 1000

typedef struct Diff
{
	ReturnSetInfo *result;
	LwView	   *view;
	uint8	  **found;			/* by segment, a bit a row: what the table has */
	MemoryContext row_context;
} Diff;

static void
put_problem(Diff *diff, text *id, const char *problem)
{
	Datum		values[2];
	bool		nulls[2] = {false, false};

	values[0] = PointerGetDatum(id);
	values[1] = CStringGetTextDatum(problem);
	tuplestore_putvalues(diff->result->setResult, diff->result->setDesc, values, nulls);
}

static void
begin_found(Diff *diff)
{
	size_t		nsegments = diff->view->manifest.nsegments;
	size_t		i;

	diff->found = palloc_extended(sizeof(uint8 *) * (nsegments + 1), MCXT_ALLOC_HUGE);
	for (i = 0; i < nsegments; i++)
		diff->found[i] = palloc_extended(diff->view->segments[i]->documents / 8 + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Looks up one id of the table. */
static void
take_id(Diff *diff, text *text_id)
{
	LwString	id = lw_id_from_text(text_id);
	LwPlace		place;

	if (lw_view_find(diff->view, id.data, id.size, &place))
		lw_set_bit(diff->found[place.segment], place.row);
	else
		put_problem(diff, text_id, "not in the store");
}

/* Goes through the table. */
static void
read_table(Diff *diff, Oid relid, const char *column)
{
	char	   *query = psprintf("SELECT (%s)::pg_catalog.text FROM %s", quote_identifier(column),
								 quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
															get_rel_name(relid)));
	Portal		portal;
	uint64		i;

	SPI_connect();
	portal = SPI_cursor_open_with_args(NULL, query, 0, NULL, NULL, NULL, true, 0);
	for (;;)
	{
		SPI_cursor_fetch(portal, true, BATCH);
		if (SPI_processed == 0)
			break;
		for (i = 0; i < SPI_processed; i++)
		{
			MemoryContext old = MemoryContextSwitchTo(diff->row_context);
			bool		is_null;
			Datum		id = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);

			CHECK_FOR_INTERRUPTS();
			if (!is_null)
				take_id(diff, DatumGetTextPP(id));
			MemoryContextSwitchTo(old);
			MemoryContextReset(diff->row_context);
		}
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(portal);
	SPI_finish();
}

/* Goes through the store. */
static void
read_store(Diff *diff)
{
	LwContent	content = {diff->view, NULL};
	LwError		error = {0};
	LwPlace		next = {0, 0};
	LwPlace		place;

	if (lw_view_hidden(diff->view, &error) != LW_OK)
		lw_report(ERROR, &error);
	while (lw_next_document(content, &next, &place))
	{
		MemoryContext old;
		const char *id;
		size_t		size;

		if (lw_bit(diff->found[place.segment], place.row))
			continue;
		old = MemoryContextSwitchTo(diff->row_context);
		id = lw_ids_get(&diff->view->segments[place.segment]->ids, place.row, &size);
		put_problem(diff, lw_id_to_text(id, size, diff->view->directory), "not in the table");
		MemoryContextSwitchTo(old);
		MemoryContextReset(diff->row_context);
	}
}

/* lateweave_diff(source regclass, relation regclass, id_column name) */
Datum
lateweave_diff(PG_FUNCTION_ARGS)
{
	Diff		diff;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	diff.result = (ReturnSetInfo *) fcinfo->resultinfo;
	/* of its own, for the query might be of another portal */
	diff.view = lw_view_retain(lw_pin_store(PG_GETARG_OID(0)));
	PG_TRY();
	{
		diff.row_context = AllocSetContextCreate(CurrentMemoryContext, "lateweave_diff", ALLOCSET_DEFAULT_SIZES);
		begin_found(&diff);
		read_table(&diff, PG_GETARG_OID(1), NameStr(*PG_GETARG_NAME(2)));
		read_store(&diff);
	}
	PG_FINALLY();
	{
		lw_view_release(diff.view);
	}
	PG_END_TRY();
	return (Datum) 0;
}
