/*-------------------------------------------------------------------------
 *
 * fdw_lookup.c
 *	  Clauses by which a scan finds documents by id.
 *
 * They are id = key and id = ANY (keys), where the key is known before the
 * scan's rows are: a constant, a parameter, or a column of a relation that a
 * nested loop reads first.  Ids are found by their bytes, which is what
 * text equality means under a deterministic collation, and under no other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "sql/fdw.h"

/* Whether a node is the column, relabelled or not: a cast to varchar or another collation leaves its bytes. */
static bool
is_column(Node *node, RelOptInfo *rel, AttrNumber column)
{
	Var		   *var;

	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var))
		return false;
	var = (Var *) node;
	return var->varno == (int) rel->relid && var->varattno == column && var->varlevelsup == 0;
}

/* Whether an operator compares bytes for equality. */
static bool
is_byte_equality(Oid operator, Oid collation)
{
	return operator == TextEqualOperator && OidIsValid(collation) && get_collation_isdeterministic(collation);
}

/* Whether an expression has one value for a whole scan. */
static bool
is_stable_key(PlannerInfo *root, RelOptInfo *rel, Node *node)
{
	return !bms_is_member(rel->relid, pull_varnos(root, node)) && !contain_volatile_functions(node);
}

/* Takes a clause apart; false when it is no lookup. */
static bool
match_clause(PlannerInfo *root, RelOptInfo *rel, AttrNumber id, RestrictInfo *clause, LwLookup *lookup)
{
	Oid			operator;
	Oid			collation;
	List	   *args;

	if (clause->pseudoconstant || !restriction_is_securely_promotable(clause, rel))
		return false;
	lookup->clause = clause;
	lookup->condition = clause->clause;
	if (IsA(clause->clause, OpExpr))
	{
		OpExpr	   *op = (OpExpr *) clause->clause;

		operator = op->opno;
		collation = op->inputcollid;
		args = op->args;
		lookup->is_array = false;
	}
	else if (IsA(clause->clause, ScalarArrayOpExpr))
	{
		ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) clause->clause;

		if (!op->useOr)
			return false;
		operator = op->opno;
		collation = op->inputcollid;
		args = op->args;
		lookup->is_array = true;
	}
	else
		return false;
	if (!is_byte_equality(operator, collation))
		return false;

	if (!lookup->is_array && is_column(lsecond(args), rel, id))
	{
		/* the other way round; the operator is its own commutator */
		OpExpr	   *flipped = copyObject((OpExpr *) clause->clause);

		flipped->args = list_make2(lsecond(args), linitial(args));
		args = flipped->args;
		lookup->condition = (Expr *) flipped;
	}
	if (!is_column(linitial(args), rel, id) || !is_stable_key(root, rel, lsecond(args)))
		return false;
	lookup->key = lsecond(args);
	lookup->ids = lookup->is_array ? Max(1, lw_estimate_array_length(root, lsecond(args))) : 1;
	return true;
}

bool
lw_find_lookup(PlannerInfo *root, RelOptInfo *rel, AttrNumber id, List *clauses, LwLookup *lookup)
{
	ListCell   *cell;
	bool		found = false;

	if (id == InvalidAttrNumber)
		return false;
	foreach(cell, clauses)
	{
		LwLookup	other;

		if (match_clause(root, rel, id, lfirst_node(RestrictInfo, cell), &other) &&
			(!found || other.ids < lookup->ids))
		{
			*lookup = other;
			found = true;
		}
	}
	return found;
}

/* A column, as the callback of generate_implied_equalities_for_column gets it. */
static bool
is_column_member(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *class,
				 EquivalenceMember *member, void *column)
{
	return is_column((Node *) member->em_expr, rel, *(AttrNumber *) column);
}

List *
lw_join_lookups(PlannerInfo *root, RelOptInfo *rel, AttrNumber id)
{
	List	   *clauses = NIL;
	List	   *implied;
	List	   *result = NIL;
	ListCell   *cell;
	LwLookup	ignored;

	if (id == InvalidAttrNumber)
		return NIL;
	foreach(cell, rel->joininfo)
		if (join_clause_is_movable_to(lfirst_node(RestrictInfo, cell), rel))
			clauses = lappend(clauses, lfirst(cell));
	if (rel->has_eclass_joins)
	{
		implied = generate_implied_equalities_for_column(root, rel, is_column_member, &id,
														 rel->lateral_referencers);
		clauses = list_concat(clauses, implied);
	}
	foreach(cell, clauses)
		if (match_clause(root, rel, id, lfirst_node(RestrictInfo, cell), &ignored))
			result = lappend(result, lfirst(cell));
	return result;
}
