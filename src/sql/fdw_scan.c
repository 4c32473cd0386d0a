/*-------------------------------------------------------------------------
 *
 * fdw_scan.c
 *	  Executing a scan of a foreign table, and explaining it.
 *
 * A scan reads what its statement has pinned, either all documents
 * or those that a key names, in the order of the files.  Rows lie in the
 * memory of their tuple, so a scan of any length stays small.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "nodes/nodeFuncs.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/pin.h"
#include "server/scoring.h"
#include "server/section_scoring.h"
#include "sql/explain.h"
#include "sql/fdw.h"

/* A bound of the ordinal. */
typedef struct Bound
{
	ExprState  *state;
	Oid			type;
	int			strategy;
} Bound;

typedef struct LwScan
{
	LwRows		rows;			/* content is empty under EXPLAIN without ANALYZE */
	ExprState  *key;			/* NULL: all documents, within the bounds */
	LwKey		kind;
	Oid			key_type;
	Bound	   *bounds;
	int			nbounds;
	bool		started;
	LwPlace		next;			/* without a key */
	uint64		end;			/* of a section file: no ordinal from here on */
	LwPlace    *places;			/* with one, ascending */
	size_t		count;
	size_t		room;
	size_t		done;
	MemoryContext places_context;
	/* over all rescans */
	uint64		documents_read;
	uint64		tokens_read;	/* of those whose vectors were wanted */
	uint64		bytes_read;
	instr_time	read_time;		/* measured with track_io_timing */
	MemoryContextCallback release;
} LwScan;

static void
release_content(void *scan)
{
	lw_content_release(((LwScan *) scan)->rows.content);
}

/* Takes the expressions of a plan over: the key, if there is one, and bounds. */
static void
begin_expressions(ForeignScanState *node, ForeignScan *plan, LwScan *scan)
{
	ListCell   *cell;

	scan->kind = (LwKey) linitial_int(plan->fdw_private);
	scan->bounds = palloc_array(Bound, list_length(plan->fdw_exprs) + 1);
	foreach(cell, plan->fdw_exprs)
	{
		ExprState  *state = ExecInitExpr(lfirst(cell), &node->ss.ps);
		Bound	   *bound;

		if (scan->kind != LW_KEY_NONE)
		{
			scan->key = state;
			scan->key_type = exprType(lfirst(cell));
			continue;
		}
		bound = &scan->bounds[scan->nbounds];
		bound->state = state;
		bound->type = exprType(lfirst(cell));
		bound->strategy = list_nth_int(plan->fdw_private, 1 + LW_COLUMNS + scan->nbounds);
		scan->nbounds++;
	}
}

void
lw_begin_scan(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Relation	relation = node->ss.ss_currentRelation;
	LwScan	   *scan = palloc0(sizeof(LwScan));
	int			i;

	node->fdw_state = scan;
	begin_expressions(node, plan, scan);
	lw_match_columns(relation, &scan->rows.columns);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	/* The pin goes with its portal, which may be before the memory of this scan does. */
	scan->rows.content = lw_content_retain(lw_pin_checked(RelationGetRelid(relation)));
	scan->release.func = release_content;
	scan->release.arg = scan;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &scan->release);

	for (i = 0; i < LW_COLUMNS; i++)
		if (!list_nth_int(plan->fdw_private, 1 + i))
			scan->rows.columns.at[i] = InvalidAttrNumber;
	lw_begin_rows(&scan->rows, relation);
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

static void
add_place(LwScan *scan, LwPlace place)
{
	if (scan->count == scan->room)
	{
		scan->room *= 2;
		scan->places = repalloc_huge(scan->places, sizeof(LwPlace) * scan->room);
	}
	scan->places[scan->count++] = place;
}

/* Adds the places of the documents that a key names, if they are present. */
static void
look_up(LwScan *scan, Datum key, Oid type)
{
	LwSection  *section = scan->rows.content.section;
	LwPlace		place = {0, 0};
	LwString	id;

	if (scan->kind == LW_KEY_ORDINAL || scan->kind == LW_KEY_ORDINALS)
	{
		int64		ordinal = lw_integer_datum(key, type);

		place.row = (uint64) ordinal;
		if (ordinal >= 0 && place.row < section->file->rows)
			add_place(scan, place);
		return;
	}
	id = lw_id_from_text(DatumGetTextPP(key));
	if (section == NULL)
	{
		if (lw_find_document(scan->rows.content.view, id, &place))
			add_place(scan, place);
	}
	else if (lw_section_find_chunk(section, id, &place))
	{
		do
			add_place(scan, place);
		while (lw_section_next_twin(section, &place));
	}
}

/* Finds the places of the keys in an array, each once. */
static void
look_up_array(LwScan *scan, Datum array)
{
	Oid			type = ARR_ELEMTYPE(DatumGetArrayTypeP(array));
	int16		length;
	bool		by_value;
	char		alignment;
	Datum	   *keys;
	bool	   *nulls;
	int			n;
	int			i;
	size_t		place;
	size_t		distinct = 0;

	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	deconstruct_array(DatumGetArrayTypeP(array), type, length, by_value, alignment, &keys, &nulls, &n);
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			look_up(scan, keys[i], type);
	}
	qsort(scan->places, scan->count, sizeof(LwPlace), compare_places);
	for (place = 0; place < scan->count; place++)
		if (place == 0 || compare_places(&scan->places[place - 1], &scan->places[place]) != 0)
			scan->places[distinct++] = scan->places[place];
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
	scan->room = 8;
	scan->places = MemoryContextAlloc(scan->places_context, sizeof(LwPlace) * scan->room);
	if (scan->kind == LW_KEY_IDS || scan->kind == LW_KEY_ORDINALS)
		look_up_array(scan, key);
	else
		look_up(scan, key, scan->key_type);
}

/* Narrows the ordinals from `next` to `end` down to what the bounds leave now. */
static void
evaluate_bounds(ForeignScanState *node, LwScan *scan)
{
	int64		first = 0;
	int64		end = (int64) scan->rows.content.section->file->rows;
	int			i;

	for (i = 0; i < scan->nbounds; i++)
	{
		bool		is_null;
		Datum		datum = ExecEvalExprSwitchContext(scan->bounds[i].state, node->ss.ps.ps_ExprContext, &is_null);
		int64		value = is_null ? 0 : lw_integer_datum(datum, scan->bounds[i].type);

		if (is_null)
			end = 0;
		else if (scan->bounds[i].strategy == BTLessStrategyNumber)
			end = Min(end, value);
		else if (scan->bounds[i].strategy == BTLessEqualStrategyNumber && value < end)
			end = value + 1;
		else if (scan->bounds[i].strategy == BTGreaterEqualStrategyNumber)
			first = Max(first, value);
		else if (scan->bounds[i].strategy == BTGreaterStrategyNumber && value >= first)
			first = value < end ? value + 1 : end;
	}
	scan->next.row = (uint64) first;
	scan->end = (uint64) Max(end, 0);
}

static void
start_scan(ForeignScanState *node, LwScan *scan)
{
	LwError		error;

	error.path[0] = '\0';
	scan->next.segment = 0;
	scan->next.row = 0;
	if (scan->key != NULL)
		evaluate_key(node, scan);
	else if (scan->rows.content.section != NULL)
		evaluate_bounds(node, scan);
	else if (lw_view_hidden(scan->rows.content.view, &error) != LW_OK)
		lw_report(ERROR, &error);
	scan->started = true;
}

static bool
next_place(LwScan *scan, LwPlace *place)
{
	if (scan->key == NULL)
		return lw_next_document(scan->rows.content, &scan->next, place) &&
			(scan->rows.content.section == NULL || place->row < scan->end);
	if (scan->done == scan->count)
		return false;
	*place = scan->places[scan->done++];
	return true;
}

/* Fills the row of a document and counts what EXPLAIN shows of it. */
static void
fill_row(LwScan *scan, LwPlace place, TupleTableSlot *slot)
{
	const LwView *view = scan->rows.content.view;
	LwDocument	document;
	LwError		ignored;
	instr_time	start;
	instr_time	end;

	if (track_io_timing)
		INSTR_TIME_SET_CURRENT(start);
	lw_fill_row(&scan->rows, place, slot->tts_tupleDescriptor->natts, slot->tts_values, slot->tts_isnull);
	if (track_io_timing)
	{
		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_ACCUM_DIFF(scan->read_time, end, start);
	}
	scan->documents_read++;
	if (view == NULL || !AttributeNumberIsValid(scan->rows.columns.at[LW_COLUMN_TOKENS]) ||
		lw_view_document(view, place, &document, &ignored) != LW_OK)
		return;
	scan->tokens_read += document.tokens;
	scan->bytes_read += document.tokens *
		(view->segments[place.segment]->row_size + (document.scales != NULL ? sizeof(float4) : 0));
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
	fill_row(scan, place, slot);
	return ExecStoreVirtualTuple(slot);
}

void
lw_rescan(ForeignScanState *node)
{
	LwScan	   *scan = node->fdw_state;

	scan->started = false;
}

void
lw_end_scan(ForeignScanState *node)
{
	/* the content goes with the query's memory, also after an error */
}

/* Properties of the source; left out when it cannot be read, so that a plan can always be seen. */
static void
explain_content(LwSource *source, LwContent content, ExplainState *es)
{
	LwError		ignored = {0};

	if (content.view == NULL && content.section == NULL &&
		lw_source_follow(source, &content, &ignored) != LW_OK)
		return;
	if (content.view != NULL)
	{
		const LwManifest *manifest = &content.view->manifest;

		ExplainPropertyText("Encoding", manifest->encoding == LW_INT8 ? "int8" : "float32", es);
		ExplainPropertyUInteger("Dimension", NULL, manifest->dimension, es);
		ExplainPropertyUInteger("Commit", NULL, manifest->commit, es);
		ExplainPropertyUInteger("Segments", NULL, manifest->nsegments, es);
	}
	else
	{
		ExplainPropertyText("Encoding", lw_vector_type_name(content.section->file->manifest.vector_type), es);
		ExplainPropertyUInteger("Dimension", NULL, content.section->file->dimension, es);
		ExplainPropertyUInteger("Chunks", NULL, content.section->file->rows, es);
	}
}

void
lw_explain_scan(ForeignScanState *node, struct ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	LwScan	   *scan = node->fdw_state;
	LwSource   *source = lw_source_lookup(RelationGetRelid(node->ss.ss_currentRelation));
	bool		in_detail = es->verbose || (es->analyze && es->buffers);

	lw_explain_source(source, es);
	if (scan->key != NULL)
	{
		List	   *context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, NIL);

		ExplainPropertyText("Lookup", deparse_expression(linitial(plan->fdw_recheck_quals), context, false, false), es);
	}
	if (in_detail)
		explain_content(source, scan->rows.content, es);
	if (!es->analyze)
		return;
	ExplainPropertyUInteger("Documents Read", NULL, scan->documents_read, es);
	if (!in_detail)
		return;
	if (scan->tokens_read > 0)
	{
		ExplainPropertyUInteger("Tokens Read", NULL, scan->tokens_read, es);
		ExplainPropertyUInteger("Bytes Read", NULL, scan->bytes_read, es);
	}
	if (track_io_timing && es->timing)
		ExplainPropertyFloat("Read Time", "ms", INSTR_TIME_GET_MILLISEC(scan->read_time), 3, es);
}
