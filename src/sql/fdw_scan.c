/*-------------------------------------------------------------------------
 *
 * fdw_scan.c
 *	  Executing a scan of a foreign table, and explaining it.
 *
 * A scan reads the view that its statement has pinned, either all documents
 * or those that a key names, in the order of the files.  Rows lie in the
 * memory of their tuple, so a scan of any length stays small.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/pin.h"
#include "sql/fdw.h"

typedef struct LwScan
{
	LwView	   *view;			/* NULL under EXPLAIN without ANALYZE */
	LwColumns	columns;		/* to be filled in */
	ExprState  *key;			/* NULL: all documents */
	bool		key_is_array;
	bool		started;
	LwPlace		next;			/* without a key */
	LwPlace    *places;			/* with one, ascending */
	size_t		count;
	size_t		done;
	MemoryContext places_context;
	uint64		documents_read; /* over all rescans */
	MemoryContextCallback release;
} LwScan;

static void
release_view(void *view)
{
	lw_view_release(view);
}

void
lw_begin_scan(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Relation	relation = node->ss.ss_currentRelation;
	LwScan	   *scan = palloc0(sizeof(LwScan));

	node->fdw_state = scan;
	if (plan->fdw_exprs != NIL)
		scan->key = ExecInitExpr(linitial(plan->fdw_exprs), &node->ss.ps);
	scan->key_is_array = list_nth_int(plan->fdw_private, LW_SCAN_KEY_IS_ARRAY);
	lw_match_columns(relation, &scan->columns);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	/* The pin goes with its portal, which may be before the memory of this scan does. */
	scan->view = lw_view_retain(lw_pin_checked(RelationGetRelid(relation)));
	scan->release.func = release_view;
	scan->release.arg = scan->view;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &scan->release);

	lw_check_declared_dimension(relation, &scan->columns, scan->view);
	if (!list_nth_int(plan->fdw_private, LW_SCAN_WANTS_ID))
		scan->columns.id = InvalidAttrNumber;
	if (!list_nth_int(plan->fdw_private, LW_SCAN_WANTS_TOKENS))
		scan->columns.tokens = InvalidAttrNumber;
	scan->places_context = AllocSetContextCreate(CurrentMemoryContext, "lateweave scan", ALLOCSET_SMALL_SIZES);
}

static int
compare_places(const void *left, const void *right)
{
	const LwPlace *a = left;
	const LwPlace *b = right;

	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* Adds the place of an id, if the document is present. */
static void
look_up(LwScan *scan, Datum key)
{
	LwString	id = lw_id_from_text(DatumGetTextPP(key));

	if (lw_view_find(scan->view, id.data, id.size, &scan->places[scan->count]))
		scan->count++;
}

/* Finds the places of the ids in an array, each once. */
static void
look_up_array(LwScan *scan, Datum array)
{
	Datum	   *keys;
	bool	   *nulls;
	int			n;
	int			i;
	size_t		distinct = 0;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &keys, &nulls, &n);
	scan->places = MemoryContextAllocHuge(scan->places_context, sizeof(LwPlace) * Max(n, 1));
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			look_up(scan, keys[i]);
	}
	qsort(scan->places, scan->count, sizeof(LwPlace), compare_places);
	for (i = 0; i < (int) scan->count; i++)
		if (i == 0 || compare_places(&scan->places[i - 1], &scan->places[i]) != 0)
			scan->places[distinct++] = scan->places[i];
	scan->count = distinct;
}

/* Finds the documents that the key names now. */
static void
evaluate_key(ForeignScanState *node, LwScan *scan)
{
	bool		is_null;
	Datum		key = ExecEvalExprSwitchContext(scan->key, node->ss.ps.ps_ExprContext, &is_null);

	MemoryContextReset(scan->places_context);
	scan->count = scan->done = 0;
	if (is_null)
		return;
	if (scan->key_is_array)
		look_up_array(scan, key);
	else
	{
		scan->places = MemoryContextAlloc(scan->places_context, sizeof(LwPlace));
		look_up(scan, key);
	}
}

static void
start_scan(ForeignScanState *node, LwScan *scan)
{
	LwError		error;

	error.path[0] = '\0';
	if (scan->key != NULL)
		evaluate_key(node, scan);
	else if (lw_view_hidden(scan->view, &error) != LW_OK)
		lw_report(ERROR, &error);
	scan->started = true;
}

static bool
next_place(LwScan *scan, LwPlace *place)
{
	if (scan->key == NULL)
		return lw_next_document(scan->view, &scan->next, place);
	if (scan->done == scan->count)
		return false;
	*place = scan->places[scan->done++];
	return true;
}

TupleTableSlot *
lw_iterate_scan(ForeignScanState *node)
{
	LwScan	   *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	LwPlace		place;

	ExecClearTuple(slot);
	if (!scan->started)
		start_scan(node, scan);
	if (!next_place(scan, &place))
		return slot;
	scan->documents_read++;
	lw_fill_row(scan->view, place, &scan->columns, slot->tts_tupleDescriptor->natts,
				slot->tts_values, slot->tts_isnull);
	return ExecStoreVirtualTuple(slot);
}

void
lw_rescan(ForeignScanState *node)
{
	LwScan	   *scan = node->fdw_state;

	scan->started = false;
	scan->next.segment = 0;
	scan->next.row = 0;
}

void
lw_end_scan(ForeignScanState *node)
{
	/* the view goes with the query's memory, also after an error */
}

/* Properties of the store; left out when it cannot be read, so that a plan can always be seen. */
static void
explain_store(LwSource *source, LwView *view, ExplainState *es)
{
	LwError		ignored;

	if (view == NULL && lw_source_follow(source, &view, &ignored) != LW_OK)
		return;
	ExplainPropertyText("Encoding", view->manifest.encoding == LW_INT8 ? "int8" : "float32", es);
	ExplainPropertyUInteger("Dimension", NULL, view->manifest.dimension, es);
	ExplainPropertyUInteger("Commit", NULL, view->manifest.commit, es);
	ExplainPropertyUInteger("Segments", NULL, view->manifest.nsegments, es);
}

void
lw_explain_scan(ForeignScanState *node, struct ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	LwScan	   *scan = node->fdw_state;
	LwSource   *source = lw_source_lookup(RelationGetRelid(node->ss.ss_currentRelation));

	ExplainPropertyText("Vector Store", source->option, es);
	if (scan->key != NULL)
	{
		List	   *context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, NIL);

		ExplainPropertyText("Lookup", deparse_expression(linitial(plan->fdw_recheck_quals), context, false, false), es);
	}
	if (es->verbose)
		explain_store(source, scan->view, es);
	if (es->analyze)
		ExplainPropertyUInteger("Documents Read", NULL, scan->documents_read, es);
}
