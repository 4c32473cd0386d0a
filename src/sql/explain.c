/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  What EXPLAIN (ANALYZE) shows of the sources that a statement scored.
 *
 * Functions and indexes have no place in a plan's output, so what was scored is shown
 * after the plan: for each source what the session had counted of it at the end of the
 * statement less what it had at the beginning, functions and triggers that the statement
 * called included.  The workers of a parallel plan score no sources.
 *
 * Before PostgreSQL 18 the end of the executor is where a plan has been printed
 * but its group is still open.  There is no way there to come by the output of
 * EXPLAIN EXECUTE.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/fmgrprotos.h"

#include "compat.h"
#include "kernel/maxsim.h"
#include "server/stat.h"
#include "sql/explain.h"

/* What the session had counted at some moment. */
typedef struct Counted
{
	int			count;
	LwStatOfSource *sources;
} Counted;

void
lw_explain_source(const LwSource *source, ExplainState *es)
{
	ExplainPropertyText(source->kind == LW_SOURCE_STORE ? "Vector Store" : "Section File", source->option, es);
}

static void
count_now(Counted *counted)
{
	counted->sources = lw_stat_session(&counted->count);
}

/* Takes what was counted before out of the sums. */
static void
subtract(LwStatCounts *counts, const LwStatCounts *before)
{
	uint64	   *sums = (uint64 *) counts;
	const uint64 *less = (const uint64 *) before;
	int			i;

	for (i = 0; i < (int) LW_STAT_SUMS; i++)
		sums[i] -= less[i];
}

/* A function may have scored, by its owner's privileges, what its caller may not know of. */
static bool
may_see(Oid relid)
{
	bool		is_missing = false;

	return pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &is_missing) == ACLCHECK_OK && !is_missing;
}

static void
show_source(const LwStatOfSource *scored, ExplainState *es)
{
	const LwStatCounts *counts = &scored->counts;
	const LwSource *source = lw_source_lookup(scored->relid);
	char	   *name = DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(scored->relid)));
	bool		is_text = es->format == EXPLAIN_FORMAT_TEXT;

	ExplainOpenGroup("Scored Source", NULL, true, es);
	ExplainPropertyText(is_text ? "Scored Source" : "Source", name, es);
	if (is_text)
		es->indent++;
	lw_explain_source(source, es);
	if (source->kind == LW_SOURCE_STORE && counts->documents > 0)
		ExplainPropertyUInteger("Commit", NULL, counts->commit, es);
	ExplainPropertyUInteger("Calls", NULL, counts->scores, es);
	ExplainPropertyText("Answer", counts->approximate > 0 ? "approximate" : "exact", es);
	if (counts->present > 0)
		ExplainPropertyUInteger("Documents Present", NULL, counts->present, es);
	if (counts->candidates > 0)
		ExplainPropertyUInteger("Candidates", NULL, counts->candidates, es);
	if (es->timing && counts->choosing > 0)
		ExplainPropertyFloat("Candidates Time", "ms", counts->choosing / 1e6, 3, es);
	ExplainPropertyUInteger("Documents Scored", NULL, counts->documents, es);
	ExplainPropertyUInteger("Tokens Scored", NULL, counts->tokens, es);
	ExplainPropertyUInteger("Bytes Scored", NULL, counts->bytes, es);
	ExplainPropertyText("Kernel", lw_kernel_names[lw_kernel_active()], es);
	if (es->timing && counts->untimed < counts->documents)
		ExplainPropertyFloat("Kernel Time", "ms", counts->nanoseconds / 1e6, 3, es);
	if (es->timing && counts->untimed > 0)
		ExplainPropertyUInteger("Documents Not Timed", NULL, counts->untimed, es);
	if (is_text)
		es->indent--;
	ExplainCloseGroup("Scored Source", NULL, true, es);
}

/* Shows what was scored since `counted`, and counts anew. */
static void
show_scored(Counted *counted, ExplainState *es)
{
	Counted		before = *counted;
	int			begun = 0;
	int			known = 0;
	int			i;

	count_now(counted);
	for (i = 0; i < counted->count; i++)
	{
		LwStatOfSource scored = counted->sources[i];

		if (known < before.count && before.sources[known].relid == scored.relid)
			subtract(&scored.counts, &before.sources[known++].counts);
		if (scored.counts.scores + scored.counts.documents == 0 || !may_see(scored.relid))
			continue;
		if (begun++ == 0)
			ExplainOpenGroup("Lateweave", "Lateweave", false, es);
		show_source(&scored, es);
	}
	if (begun > 0)
		ExplainCloseGroup("Lateweave", "Lateweave", false, es);
}

#if LW_HAS_EXPLAIN_HOOKS

static int	extension;
static explain_validate_options_hook_type previous_validate;
static explain_per_plan_hook_type previous_plan;

/* EXPLAIN begins. */
static void
begin(ExplainState *es, List *options, ParseState *pstate)
{
	Counted    *counted;

	if (previous_validate != NULL)
		previous_validate(es, options, pstate);
	if (!es->analyze)
		return;
	counted = palloc(sizeof(Counted));
	count_now(counted);
	SetExplainExtensionState(es, extension, counted);
}

/* A plan has been printed. */
static void
end(PlannedStmt *plan, IntoClause *into, ExplainState *es, const char *text,
	ParamListInfo params, QueryEnvironment *environment)
{
	Counted    *counted = GetExplainExtensionState(es, extension);

	if (previous_plan != NULL)
		previous_plan(plan, into, es, text, params, environment);
	if (counted != NULL)
		show_scored(counted, es);
}

void
lw_explain_init(void)
{
	extension = GetExplainExtensionId("lateweave");
	previous_validate = explain_validate_options_hook;
	explain_validate_options_hook = begin;
	previous_plan = explain_per_plan_hook;
	explain_per_plan_hook = end;
}

#else

/* A statement that is being explained, and executed. */
typedef struct Explained
{
	struct Explained *outer;	/* the one that called it */
	ExplainState *es;
	const char *text;			/* of this very pointer: no statement that it calls has it */
	Counted		counted;
} Explained;

static Explained *explained;	/* the innermost one */
static ExplainOneQuery_hook_type previous_explain;
static ExecutorEnd_hook_type previous_end;

/* Explains a statement. */
static void
explain(Query *query, int cursor_options, IntoClause *into, ExplainState *es, const char *text,
		ParamListInfo params, QueryEnvironment *environment)
{
	ExplainOneQuery_hook_type next = previous_explain != NULL ? previous_explain : lw_standard_explain;
	Explained	this;

	if (!es->analyze)
	{
		next(query, cursor_options, into, es, text, params, environment);
		return;
	}
	this.outer = explained;
	this.es = es;
	this.text = text;
	count_now(&this.counted);
	explained = &this;
	PG_TRY();
	{
		next(query, cursor_options, into, es, text, params, environment);
	}
	PG_FINALLY();
	{
		explained = this.outer;
	}
	PG_END_TRY();
}

/* Ends a plan.  That of a statement that is explained has been printed by now. */
static void
end(QueryDesc *query)
{
	if (explained != NULL && explained->text == query->sourceText)
		show_scored(&explained->counted, explained->es);
	if (previous_end != NULL)
		previous_end(query);
	else
		standard_ExecutorEnd(query);
}

void
lw_explain_init(void)
{
	previous_explain = ExplainOneQuery_hook;
	ExplainOneQuery_hook = explain;
	previous_end = ExecutorEnd_hook;
	ExecutorEnd_hook = end;
}

#endif
