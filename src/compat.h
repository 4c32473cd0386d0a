/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs among the PostgreSQL versions that lateweave builds with.
 *
 * The only file that looks at PG_VERSION_NUM; everything else is written for
 * the newest version and includes this.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_COMPAT_H
#define LW_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM >= 160000

#include "varatt.h"

#define lw_owns_relation(relid, role) object_ownercheck(RelationRelationId, relid, role)

#else

#define lw_owns_relation(relid, role) pg_class_ownercheck(relid, role)

#ifndef palloc_array
#define palloc_array(type, count) ((type *) palloc(sizeof(type) * (Size) (count)))
#endif

/* Input errors cannot be soft before 16: the caller never asks, so they are raised. */
#define errsave(context, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
	} while (0)

#endif

#if PG_VERSION_NUM >= 170000
#define lw_estimate_array_length(root, array) estimate_array_length(root, array)
#else
#define lw_estimate_array_length(root, array) ((double) estimate_array_length(array))
#endif

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#define lw_vacuum_delay_point() vacuum_delay_point(true)
#else
#define lw_vacuum_delay_point() vacuum_delay_point()
#define pg_noreturn pg_attribute_noreturn()
#endif

/* Whether EXPLAIN asks extensions what they want to add to a plan's output. */
#if PG_VERSION_NUM >= 180000
#define LW_HAS_EXPLAIN_HOOKS 1
#else
#define LW_HAS_EXPLAIN_HOOKS 0
#endif

/* What EXPLAIN does with a statement when nothing is hooked in. */
#if PG_VERSION_NUM >= 170000
#define lw_standard_explain standard_ExplainOneQuery
#else
#include "executor/instrument.h"
#include "tcop/tcopprot.h"

static inline void
lw_standard_explain(Query *query, int cursor_options, IntoClause *into, ExplainState *es, const char *text,
					ParamListInfo params, QueryEnvironment *environment)
{
	BufferUsage before = pgBufferUsage;
	BufferUsage buffers = {0};
	PlannedStmt *plan;
	instr_time	start;
	instr_time	duration;

	INSTR_TIME_SET_CURRENT(start);
	plan = pg_plan_query(query, text, cursor_options, params);
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, start);
	BufferUsageAccumDiff(&buffers, &pgBufferUsage, &before);
	ExplainOnePlan(plan, into, es, text, params, environment, &duration, es->buffers ? &buffers : NULL);
}
#endif

#if PG_VERSION_NUM >= 170000
#define LW_OLDEST_CLOG_XID (TransamVariables->oldestClogXid)
#else
#define LW_OLDEST_CLOG_XID (ShmemVariableCache->oldestClogXid)
#endif

/* Which of the processes this one is, from 0. */
#if PG_VERSION_NUM >= 170000
#define LW_MY_PROC_NUMBER MyProcNumber
#else
#define LW_MY_PROC_NUMBER (MyProc->pgprocno)
#endif

/* A transactional message in the log, of nothing; returns the position after it. */
#if PG_VERSION_NUM >= 170000
#define lw_log_message(prefix) LogLogicalMessage(prefix, "", 0, true, false)
#else
#define lw_log_message(prefix) LogLogicalMessage(prefix, "", 0, true)
#endif

/* The next datum of a sort, in the caller's memory. */
#if PG_VERSION_NUM >= 160000
#define lw_tuplesort_getdatum(sort, datum, is_null) tuplesort_getdatum(sort, true, true, datum, is_null, NULL)
#else
#define lw_tuplesort_getdatum(sort, datum, is_null) tuplesort_getdatum(sort, true, datum, is_null, NULL)
#endif

/* Has the planner take any other path before this one; its costs are infinite, too. */
#if PG_VERSION_NUM >= 180000
#define lw_disable_path(path) ((path)->disabled_nodes = 2)
#else
#define lw_disable_path(path) ((void) 0)
#endif

/*
 * Shared memory is asked for in shmem_request_hook on all of these versions.  From 17 on a segment
 * can be had by name without that.
 */
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#define LW_DSHASH_COPY_FUNCTION .copy_function = dshash_memcpy,
#define LW_HAS_NAMED_SEGMENTS true
#define lw_named_segment(name, size, init, found) GetNamedDSMSegment(name, size, init, found)
#else
#define LW_DSHASH_COPY_FUNCTION
#define LW_HAS_NAMED_SEGMENTS false
#define lw_named_segment(name, size, init, found) ((void) (name), (void) (init), (void) (found), NULL)
#endif

/* create_foreignscan_path of a base relation, without order, outer path and private data. */
#if PG_VERSION_NUM >= 180000
#define lw_create_foreignscan_path(root, rel, rows, startup, total, outer) \
	create_foreignscan_path(root, rel, NULL, rows, 0, startup, total, NIL, outer, NULL, NIL, NIL)
#elif PG_VERSION_NUM >= 170000
#define lw_create_foreignscan_path(root, rel, rows, startup, total, outer) \
	create_foreignscan_path(root, rel, NULL, rows, startup, total, NIL, outer, NULL, NIL, NIL)
#else
#define lw_create_foreignscan_path(root, rel, rows, startup, total, outer) \
	create_foreignscan_path(root, rel, NULL, rows, startup, total, NIL, outer, NULL, NIL)
#endif

/* A wait event of our own name, where there are such. */
#include "utils/wait_event.h"
#if PG_VERSION_NUM >= 170000
#define lw_new_wait_event(name) WaitEventExtensionNew(name)
#else
#define lw_new_wait_event(name) PG_WAIT_EXTENSION
#endif

#endif							/* LW_COMPAT_H */
