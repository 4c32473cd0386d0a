/*-------------------------------------------------------------------------
 *
 * fdw_modify.c
 *	  Refusing to change what is only read.
 *
 * The errors come where a statement would begin to change rows, so that
 * INSERT, COPY, UPDATE, DELETE and TRUNCATE all say what the matter is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/parsenodes.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "server/source.h"
#include "sql/fdw.h"

static void
refuse(Oid relid)
{
	if (lw_source_lookup(relid)->kind == LW_SOURCE_SECTION)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot change \"%s\": section files are immutable", get_rel_name(relid)),
				 errhint("Build another file and put it in the place of this one.")));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot change foreign table \"%s\": vector stores are only read", get_rel_name(relid))));
}

/* PlanForeignModify */
static List *
plan_modify(PlannerInfo *root, ModifyTable *plan, Index result_relation, int subplan_index)
{
	refuse(planner_rt_fetch(result_relation, root)->relid);
	return NIL;
}

/* BeginForeignInsert: COPY, and rows routed into a partition */
static void
begin_insert(ModifyTableState *state, ResultRelInfo *relation)
{
	refuse(RelationGetRelid(relation->ri_RelationDesc));
}

/* ExecForeignInsert, ExecForeignUpdate, ExecForeignDelete: there, so that the functions above are called */
static TupleTableSlot *
change_row(EState *estate, ResultRelInfo *relation, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	refuse(RelationGetRelid(relation->ri_RelationDesc));
	return NULL;
}

/* ExecForeignTruncate */
static void
truncate_tables(List *relations, DropBehavior behavior, bool restart_sequences)
{
	refuse(RelationGetRelid((Relation) linitial(relations)));
}

/* IsForeignRelUpdatable: COPY asks before it begins, all others when they are planned. */
static int
updatable(Relation relation)
{
	return 1 << CMD_INSERT;
}

void
lw_refuse_changes(FdwRoutine *routine)
{
	routine->PlanForeignModify = plan_modify;
	routine->BeginForeignInsert = begin_insert;
	routine->ExecForeignInsert = change_row;
	routine->ExecForeignUpdate = change_row;
	routine->ExecForeignDelete = change_row;
	routine->ExecForeignTruncate = truncate_tables;
	routine->IsForeignRelUpdatable = updatable;
}
