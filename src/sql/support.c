/*-------------------------------------------------------------------------
 *
 * support.c
 *	  What the planner is told of the scoring functions: rows and cost.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/selfuncs.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "server/candidates.h"
#include "server/source.h"
#include "sql/multivector.h"
#include "sql/support.h"

/* of score.c */
extern PGDLLEXPORT Datum maxsim_query_of_source(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(lateweave_score_support);
PG_FUNCTION_INFO_V1(lateweave_rerank_support);
PG_FUNCTION_INFO_V1(lateweave_rerank_sources_support);
PG_FUNCTION_INFO_V1(lateweave_search_support);
PG_FUNCTION_INFO_V1(lateweave_fetch_support);
PG_FUNCTION_INFO_V1(lateweave_explain_support);
PG_FUNCTION_INFO_V1(maxsim_support);

/* What is assumed of a query or a document that is not known when a statement is planned. */
#define DEFAULT_QUERY_TOKENS 32
#define DEFAULT_DOCUMENT_TOKENS 128
#define DEFAULT_DIMENSION 128

/*
 * Multiplications that cost as much as one operator.  A kernel does 50 to 300
 * of them in a nanosecond; an operator of the executor takes some 10 ns.
 */
#define MULTIPLICATIONS_PER_OPERATOR 1000.0

/*
 * So many tokens of documents are ranked by their centroids for the cost of one operator,
 * for the tokens of the query that go into one group.
 */
#define TOKENS_RANKED_PER_OPERATOR 6.0
#define QUERY_TOKENS_RANKED 32

/* What a call costs besides, in operators: the pin, the packed query and the document are found. */
#define OPERATORS_PER_CALL 150

static Const *
constant_argument(List *arguments, int position)
{
	Node	   *node;

	if (position < 0 || position >= list_length(arguments))
		return NULL;
	node = list_nth(arguments, position);
	if (!IsA(node, Const) || ((Const *) node)->constisnull)
		return NULL;
	return (Const *) node;
}

/* Whether it tells anything: an empty store may just not have been looked at since it was filled. */
static bool
look_at_source(LwContent content, LwCall *call)
{
	double		documents = 0;
	double		tokens = 0;
	size_t		i;

	if (content.section != NULL)
	{
		call->documents = content.section->file->rows;
		call->document_tokens = 1;
		call->dimension = content.section->file->dimension;
		return call->documents > 0;
	}
	for (i = 0; i < content.view->manifest.nsegments; i++)
	{
		documents += content.view->manifest.segments[i].documents;
		tokens += content.view->manifest.segments[i].tokens;
	}
	if (documents == 0)
		return false;
	call->documents = documents;
	call->coded = (double) lw_candidates_coded(content.view);
	call->document_tokens = tokens / documents;
	call->dimension = content.view->manifest.dimension;
	return true;
}

/* The call's arguments, whichever node it is; NIL when it is neither function nor operator. */
static List *
call_arguments(Node *node)
{
	if (node != NULL && is_funcclause(node))
		return ((FuncExpr *) node)->args;
	if (node != NULL && is_opclause(node))
		return ((OpExpr *) node)->args;
	return NIL;
}

/* Looks at a source, if it may be; whether it was. */
static bool
look_at_relation(Oid relid, LwCall *call)
{
	LwContent	content;

	/* The estimates of a plan are shown to whoever may not read the source, too. */
	if (get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE ||
		pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		return false;
	/* A broken source is an error of the execution, not of the planner. */
	return lw_source_last_content(lw_source_lookup(relid), &content) && look_at_source(content, call);
}

/* Looks at a constant query, of either type; the source that it names, or InvalidOid. */
static Oid
look_at_query(const Const *constant, LwCall *call)
{
	LwMultivector *m = DatumGetLwMultivector(constant->constvalue);
	Oid			source = m->source;

	call->query_tokens = m->tokens;
	call->dimension = m->dimension;
	if ((Pointer) m != DatumGetPointer(constant->constvalue))
		pfree(m);
	return source;
}

static void
assume_defaults(LwCall *call)
{
	call->query_tokens = DEFAULT_QUERY_TOKENS;
	call->document_tokens = DEFAULT_DOCUMENT_TOKENS;
	call->dimension = DEFAULT_DIMENSION;
	call->documents = 1000;
	call->coded = 0;
}

/* Looks at a constant query and at the manifest of a constant source. */
static void
look_at_call(List *arguments, int source, int query, LwCall *call)
{
	Const	   *constant = constant_argument(arguments, query);

	assume_defaults(call);
	if (constant != NULL)
		look_at_query(constant, call);
	constant = constant_argument(arguments, source);
	if (constant != NULL)
		look_at_relation(DatumGetObjectId(constant->constvalue), call);
}

/* Whether it is maxsim_query(source, query), which is not evaluated when a statement is planned. */
static bool
is_query_of_source(Node *node)
{
	FmgrInfo	function;

	if (!is_funcclause(node))
		return false;
	fmgr_info(((FuncExpr *) node)->funcid, &function);
	return function.fn_addr == maxsim_query_of_source;
}

bool
lw_look_at_ranking(Node *query, LwCall *call)
{
	Const	   *constant = constant_argument(list_make1(query), 0);
	Oid			source = InvalidOid;

	assume_defaults(call);
	if (constant != NULL)
		source = look_at_query(constant, call);
	else if (is_query_of_source(query))
	{
		List	   *arguments = call_arguments(query);

		constant = constant_argument(arguments, 1);
		if (constant != NULL)
			look_at_query(constant, call);
		constant = constant_argument(arguments, 0);
		if (constant != NULL)
			source = DatumGetObjectId(constant->constvalue);
	}
	return OidIsValid(source) && look_at_relation(source, call);
}

double
lw_source_documents(Oid source)
{
	LwCall		call;

	return look_at_relation(source, &call) ? call.documents : -1;
}

double
lw_documents_scored(const LwCall *call, int candidates)
{
	Cost		ranking;

	if (candidates <= 0 || call->coded <= candidates)
		return call->documents;
	ranking = cpu_operator_cost * ceil(call->query_tokens / QUERY_TOKENS_RANKED) *
		call->coded * call->document_tokens / TOKENS_RANKED_PER_OPERATOR;
	return Min(call->documents, call->documents - call->coded + candidates + ranking / lw_score_cost(call));
}

Cost
lw_score_cost(const LwCall *call)
{
	return cpu_operator_cost *
		(1 + call->query_tokens * call->document_tokens * call->dimension / MULTIPLICATIONS_PER_OPERATOR);
}

/* Elements of the array argument. */
static double
list_argument_length(PlannerInfo *root, List *arguments, int position)
{
	if (position >= list_length(arguments))
		return 10;
	return lw_estimate_array_length(root, list_nth(arguments, position));
}

/* A constant k caps the rows. */
static double
capped_by_k(double rows, List *arguments, int position)
{
	Const	   *k = constant_argument(arguments, position);

	return k != NULL ? Min(rows, Max(1, DatumGetInt32(k->constvalue))) : rows;
}

/*
 * Answers a request for a function of which `documents` are scored for `rows`
 * results.  Returns the request, or NULL when it is another one.
 */
static Node *
answer(Node *request, double rows, double documents, const LwCall *call)
{
	if (IsA(request, SupportRequestRows))
	{
		((SupportRequestRows *) request)->rows = Max(1, rows);
		return request;
	}
	if (IsA(request, SupportRequestCost))
	{
		((SupportRequestCost *) request)->startup = 0;
		((SupportRequestCost *) request)->per_tuple = Max(1, documents) * lw_score_cost(call) +
			OPERATORS_PER_CALL * cpu_operator_cost;
		return request;
	}
	return NULL;
}

/* The call that a request is about; *root is NULL for a request of cost without a planner. */
static List *
request_arguments(Node *request, PlannerInfo **root)
{
	if (IsA(request, SupportRequestRows))
	{
		*root = ((SupportRequestRows *) request)->root;
		return call_arguments(((SupportRequestRows *) request)->node);
	}
	if (IsA(request, SupportRequestCost))
	{
		*root = ((SupportRequestCost *) request)->root;
		return call_arguments(((SupportRequestCost *) request)->node);
	}
	return NIL;
}

Datum
lateweave_score_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	PlannerInfo *root;
	List	   *arguments = request_arguments(request, &root);
	LwCall		call;

	if (arguments == NIL || !IsA(request, SupportRequestCost))
		PG_RETURN_POINTER(NULL);
	look_at_call(arguments, 0, 1, &call);
	PG_RETURN_POINTER(answer(request, 1, 1, &call));
}

/* maxsim and @#, whose query is not an argument of its own */
Datum
maxsim_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	PlannerInfo *root;
	List	   *arguments = request_arguments(request, &root);
	LwCall		call;

	if (!IsA(request, SupportRequestCost))
		PG_RETURN_POINTER(NULL);
	if (list_length(arguments) == 2)
		lw_look_at_ranking(lsecond(arguments), &call);
	else
		assume_defaults(&call);
	PG_RETURN_POINTER(answer(request, 1, 1, &call));
}

Datum
lateweave_rerank_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	PlannerInfo *root;
	List	   *arguments = request_arguments(request, &root);
	double		candidates;
	LwCall		call;

	if (arguments == NIL)
		PG_RETURN_POINTER(NULL);
	look_at_call(arguments, 0, 1, &call);
	candidates = list_argument_length(root, arguments, 2);
	PG_RETURN_POINTER(answer(request, capped_by_k(candidates, arguments, 3), candidates, &call));
}

Datum
lateweave_rerank_sources_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	PlannerInfo *root;
	List	   *arguments = request_arguments(request, &root);
	double		candidates;
	LwCall		call;

	if (arguments == NIL)
		PG_RETURN_POINTER(NULL);
	look_at_call(arguments, -1, 1, &call);
	candidates = list_argument_length(root, arguments, 3);
	PG_RETURN_POINTER(answer(request, capped_by_k(candidates, arguments, 4), candidates, &call));
}

Datum
lateweave_search_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	PlannerInfo *root;
	List	   *arguments = request_arguments(request, &root);
	Const	   *constant;
	double		documents;
	LwCall		call;

	if (arguments == NIL)
		PG_RETURN_POINTER(NULL);
	look_at_call(arguments, 0, 1, &call);
	constant = constant_argument(arguments, 3);
	documents = lw_documents_scored(&call, constant == NULL ? lw_candidates_setting : DatumGetInt32(constant->constvalue));
	PG_RETURN_POINTER(answer(request, capped_by_k(call.documents, arguments, 2), documents, &call));
}

Datum
lateweave_fetch_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	PlannerInfo *root;
	List	   *arguments = request_arguments(request, &root);
	double		documents;
	LwCall		call;

	if (arguments == NIL)
		PG_RETURN_POINTER(NULL);
	look_at_call(arguments, 0, -1, &call);
	call.query_tokens = 1;		/* a document is read once, not multiplied */
	documents = list_argument_length(root, arguments, 1);
	PG_RETURN_POINTER(answer(request, documents, documents, &call));
}

Datum
lateweave_explain_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	PlannerInfo *root;
	List	   *arguments = request_arguments(request, &root);
	LwCall		call;

	if (arguments == NIL)
		PG_RETURN_POINTER(NULL);
	look_at_call(arguments, 0, 1, &call);
	PG_RETURN_POINTER(answer(request, call.query_tokens, 1, &call));
}
