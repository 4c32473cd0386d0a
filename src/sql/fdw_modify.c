/*-------------------------------------------------------------------------
 *
 * fdw_modify.c
 *	  INSERT, COPY FROM, UPDATE, DELETE and TRUNCATE of a foreign table.
 *
 * The document that a row is, is known by its id: the plan of an UPDATE or
 * DELETE fetches it beside what the query asks for.  UPDATE is a deletion and an
 * append.  Rows come one at a time: a batch would be copied once more and save
 * nothing.  What a section file or a store that is not writable refuses is
 * refused where a statement would begin to change rows, so that all of them
 * say what the matter is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "server/change.h"
#include "server/ids.h"
#include "server/idset.h"
#include "sql/fdw.h"
#include "sql/multivector.h"

/* What the plan calls the columns that it fetches for us; core calls the second one so, too. */
#define OLD_ID "lateweave_id"
#define OLD_ROW "wholerow"

/* One table that a statement changes; ri_FdwState. */
typedef struct LwModify
{
	LwChange   *change;			/* NULL once it has ended */
	LwColumns	columns;
	AttrNumber	old_id;			/* in the plan's row: the id of the document to be changed */
	AttrNumber	old_row;		/* in the plan's row: the document as it was, when somebody asks */
	bool		keep_present;	/* ON CONFLICT DO NOTHING */
	lwidset_hash *renamed;		/* ids that the statement gave to documents of other ids, or NULL */
	MemoryContext context;
	MemoryContext row_context;
} LwModify;

/* ERROR unless the foreign table declares the column. */
static AttrNumber
required_column(Relation relation, const LwColumns *columns, LwColumn column, const char *name)
{
	if (columns->at[column] == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_COLUMN_NAME_NOT_FOUND),
				 errmsg("foreign table \"%s\" cannot be changed so: it has no column \"%s\"",
						RelationGetRelationName(relation), name)));
	return columns->at[column];
}

/* That the table can be changed by a command of this kind, as far as its definition says. */
static void
check_table(Relation relation, CmdType operation, LwColumns *columns)
{
	lw_source_check_writable(RelationGetRelid(relation));
	lw_match_columns(relation, columns);
	required_column(relation, columns, LW_COLUMN_ID, "id");
	if (operation != CMD_DELETE)
		required_column(relation, columns, LW_COLUMN_TOKENS, "tokens");
}

/* Whether the RETURNING list of a DELETE shows more of the row than its id. */
static bool
returns_tokens(Query *query, Index relation_index, const LwColumns *columns)
{
	Bitmapset  *attributes = NULL;

	if (query->commandType != CMD_DELETE || query->returningList == NIL)
		return false;
	/* a child's columns have other numbers than those of the parent that the query names */
	if ((int) relation_index != query->resultRelation)
		return true;
	pull_varattnos((Node *) query->returningList, relation_index, &attributes);
	return bms_is_member(columns->at[LW_COLUMN_TOKENS] - FirstLowInvalidHeapAttributeNumber, attributes) ||
		bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, attributes);
}

/* AddForeignUpdateTargets */
static void
add_row_identity(PlannerInfo *root, Index relation_index, RangeTblEntry *entry, Relation relation)
{
	LwColumns	columns;
	AttrNumber	id;
	Var		   *var;

	check_table(relation, root->parse->commandType, &columns);
	id = columns.at[LW_COLUMN_ID];
	var = makeVar((int) relation_index, id, TEXTOID, -1, TupleDescAttr(RelationGetDescr(relation), id - 1)->attcollation, 0);
	add_row_identity_var(root, var, relation_index, OLD_ID);
	if (returns_tokens(root->parse, relation_index, &columns))
	{
		var = makeVar((int) relation_index, InvalidAttrNumber, RECORDOID, -1, InvalidOid, 0);
		add_row_identity_var(root, var, relation_index, OLD_ROW);
	}
}

/* PlanForeignModify: only checks, so that the errors come before those of the executor. */
static List *
plan_modify(PlannerInfo *root, ModifyTable *plan, Index result_relation, int subplan_index)
{
	Relation	relation = table_open(planner_rt_fetch(result_relation, root)->relid, NoLock);
	LwColumns	columns;

	check_table(relation, plan->operation, &columns);
	table_close(relation, NoLock);
	return NIL;
}

/* Begins to change a table; `plan` is NULL for COPY. */
static LwModify *
begin_change(ResultRelInfo *result, const ModifyTable *plan, CmdType operation)
{
	LwModify   *modify = palloc0(sizeof(LwModify));
	Relation	relation = result->ri_RelationDesc;

	check_table(relation, operation, &modify->columns);
	modify->change = lw_change_begin(RelationGetRelid(relation), LW_CHANGE_ROWS);
	modify->keep_present = plan != NULL && plan->onConflictAction == ONCONFLICT_NOTHING;
	modify->context = CurrentMemoryContext;
	modify->row_context = AllocSetContextCreate(CurrentMemoryContext, "lateweave change", ALLOCSET_DEFAULT_SIZES);
	result->ri_FdwState = modify;
	return modify;
}

/* BeginForeignModify */
static void
begin_modify(ModifyTableState *state, ResultRelInfo *result, List *private, int subplan_index, int eflags)
{
	LwModify   *modify;
	List	   *targets = outerPlanState(state)->plan->targetlist;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	modify = begin_change(result, (ModifyTable *) state->ps.plan, state->operation);
	if (state->operation == CMD_INSERT)
		return;
	modify->old_id = ExecFindJunkAttributeInTlist(targets, OLD_ID);
	if (!AttributeNumberIsValid(modify->old_id))
		elog(ERROR, "could not find junk column " OLD_ID);
	modify->old_row = ExecFindJunkAttributeInTlist(targets, OLD_ROW);
}

/* BeginForeignInsert: COPY, and rows routed into a partition, which the same statement may be updating already */
static void
begin_insert(ModifyTableState *state, ResultRelInfo *result)
{
	if (result->ri_FdwState == NULL)
		begin_change(result, (ModifyTable *) state->ps.plan, CMD_INSERT);
}

/* A column of the new row that must not be NULL. */
static Datum
not_null(Relation relation, TupleTableSlot *slot, AttrNumber column)
{
	bool		is_null;
	Datum		value = slot_getattr(slot, column, &is_null);

	if (is_null)
	{
		const char *name = NameStr(TupleDescAttr(RelationGetDescr(relation), column - 1)->attname);

		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value in column \"%s\" of foreign table \"%s\"", name, RelationGetRelationName(relation)),
				 errtablecol(relation, column)));
	}
	return value;
}

static LwString
new_id(LwModify *modify, ResultRelInfo *result, TupleTableSlot *slot)
{
	return lw_id_from_text(DatumGetTextPP(not_null(result->ri_RelationDesc, slot, modify->columns.at[LW_COLUMN_ID])));
}

static LwString
old_id(LwModify *modify, TupleTableSlot *plan_slot)
{
	bool		is_null;
	Datum		value = ExecGetJunkAttribute(plan_slot, modify->old_id, &is_null);

	if (is_null)
		elog(ERROR, "document to be changed has no id");
	return lw_id_from_text(DatumGetTextPP(value));
}

static void
append_row(LwModify *modify, ResultRelInfo *result, LwString id, TupleTableSlot *slot)
{
	LwMultivector *m = DatumGetLwMultivector(not_null(result->ri_RelationDesc, slot,
													  modify->columns.at[LW_COLUMN_TOKENS]));

	lw_change_append(modify->change, id.data, id.size, m->values, (size_t) m->tokens, (uint64) m->dimension);
}

/* ExecForeignInsert */
static TupleTableSlot *
insert_row(EState *estate, ResultRelInfo *result, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	LwModify   *modify = result->ri_FdwState;
	MemoryContext old;
	LwString	id;
	bool		kept;

	MemoryContextReset(modify->row_context);
	old = MemoryContextSwitchTo(modify->row_context);
	id = new_id(modify, result, slot);
	kept = modify->keep_present && lw_change_holds(modify->change, id.data, id.size);
	if (!kept)
		append_row(modify, result, id, slot);
	MemoryContextSwitchTo(old);
	return kept ? NULL : slot;
}

/* Remembers that the document of this id is one that had another before. */
static void
note_renamed(LwModify *modify, LwString id)
{
	bool		found;

	if (modify->renamed == NULL)
		modify->renamed = lwidset_create(modify->context, 64, NULL);
	lwidset_insert(modify->renamed, lw_id_key(id.data, id.size), &found);
}

/*
 * ExecForeignUpdate.  Ids may move along a chain (a becomes b, b becomes c): what an
 * earlier row of the statement has become stays.
 */
static TupleTableSlot *
update_row(EState *estate, ResultRelInfo *result, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	LwModify   *modify = result->ri_FdwState;
	MemoryContext old;
	LwString	before;
	LwString	id;

	MemoryContextReset(modify->row_context);
	old = MemoryContextSwitchTo(modify->row_context);
	before = old_id(modify, plan_slot);
	id = new_id(modify, result, slot);
	if (!lw_string_equal(before, id))
	{
		if (modify->renamed == NULL ||
			lwidset_lookup(modify->renamed, lw_id_key(before.data, before.size)) == NULL)
			lw_change_remove(modify->change, before.data, before.size);
		note_renamed(modify, id);
	}
	append_row(modify, result, id, slot);
	MemoryContextSwitchTo(old);
	return slot;
}

/* What RETURNING shows of a deleted document: the whole row when the plan has it, else its id. */
static void
fill_deleted(LwModify *modify, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	bool		is_null = true;
	Datum		row = (Datum) 0;

	ExecClearTuple(slot);
	if (AttributeNumberIsValid(modify->old_row))
		row = ExecGetJunkAttribute(plan_slot, modify->old_row, &is_null);
	if (!is_null)
	{
		HeapTupleData tuple;

		tuple.t_data = DatumGetHeapTupleHeader(row);
		tuple.t_len = HeapTupleHeaderGetDatumLength(tuple.t_data);
		ItemPointerSetInvalid(&tuple.t_self);
		tuple.t_tableOid = InvalidOid;
		heap_deform_tuple(&tuple, slot->tts_tupleDescriptor, slot->tts_values, slot->tts_isnull);
	}
	else
	{
		AttrNumber	id = modify->columns.at[LW_COLUMN_ID];

		memset(slot->tts_isnull, true, sizeof(bool) * slot->tts_tupleDescriptor->natts);
		slot->tts_values[id - 1] = ExecGetJunkAttribute(plan_slot, modify->old_id, &slot->tts_isnull[id - 1]);
	}
	ExecStoreVirtualTuple(slot);
}

/* ExecForeignDelete */
static TupleTableSlot *
delete_row(EState *estate, ResultRelInfo *result, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	LwModify   *modify = result->ri_FdwState;
	MemoryContext old;
	LwString	id;
	bool		present;

	MemoryContextReset(modify->row_context);
	old = MemoryContextSwitchTo(modify->row_context);
	id = old_id(modify, plan_slot);
	present = lw_change_delete(modify->change, id.data, id.size);
	if (present)
		fill_deleted(modify, slot, plan_slot);
	MemoryContextSwitchTo(old);
	return present ? slot : NULL;
}

/* EndForeignModify and EndForeignInsert, which may both come */
static void
end_change(EState *estate, ResultRelInfo *result)
{
	LwModify   *modify = result->ri_FdwState;

	if (modify == NULL || modify->change == NULL)
		return;
	lw_change_end(modify->change);
	modify->change = NULL;
}

/* ExecForeignTruncate */
static void
truncate_tables(List *relations, DropBehavior behavior, bool restart_sequences)
{
	ListCell   *cell;

	foreach(cell, relations)
	{
		Oid			relid = RelationGetRelid((Relation) lfirst(cell));
		LwChange   *change;

		lw_source_check_writable(relid);
		change = lw_change_begin(relid, LW_CHANGE_ROWS);
		lw_change_truncate(change);
		lw_change_end(change);
	}
}

/*
 * IsForeignRelUpdatable.  COPY, and whoever routes rows into a partition, asks this first and
 * would say less than the error here does: they have locked the table for writing.
 * Those who only want to know, as information_schema, have not.
 */
static int
updatable(Relation relation)
{
	LwSource   *source = lw_source_lookup(RelationGetRelid(relation));

	if (source->kind == LW_SOURCE_STORE && source->writable)
		return (1 << CMD_INSERT) | (1 << CMD_UPDATE) | (1 << CMD_DELETE);
	if (CheckRelationLockedByMe(relation, RowExclusiveLock, false) &&
		!CheckRelationLockedByMe(relation, AccessExclusiveLock, false))
		lw_source_check_writable(RelationGetRelid(relation));
	return 0;
}

/* ExplainForeignModify */
static void
explain_modify(ModifyTableState *state, ResultRelInfo *result, List *private, int subplan_index,
			   struct ExplainState *es)
{
	ExplainPropertyText("Vector Store", lw_source_lookup(RelationGetRelid(result->ri_RelationDesc))->option, es);
}

void
lw_allow_changes(FdwRoutine *routine)
{
	routine->AddForeignUpdateTargets = add_row_identity;
	routine->PlanForeignModify = plan_modify;
	routine->BeginForeignModify = begin_modify;
	routine->BeginForeignInsert = begin_insert;
	routine->ExecForeignInsert = insert_row;
	routine->ExecForeignUpdate = update_row;
	routine->ExecForeignDelete = delete_row;
	routine->EndForeignModify = end_change;
	routine->EndForeignInsert = end_change;
	routine->ExecForeignTruncate = truncate_tables;
	routine->IsForeignRelUpdatable = updatable;
	routine->ExplainForeignModify = explain_modify;
}
