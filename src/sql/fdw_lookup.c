/*-------------------------------------------------------------------------
 *
 * fdw_lookup.c
 *	  Clauses by which a scan finds documents by id or ordinal.
 *
 * They are id = key and id = ANY (keys), chunk_id and ordinal likewise, where the key is known before the
 * scan's rows are: a constant, a parameter, or a column of a relation that a
 * nested loop reads first.  Ids are found by their bytes, which is what
 * text equality means under a deterministic collation, and under no other.
 * Besides, ordinals are bounded by <, <=, >= and >; these stay filters.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
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

/* How an operator compares integers: its btree strategy, 0 when it does not. */
static int
integer_strategy(Oid operator)
{
	return get_op_opfamily_strategy(operator, INTEGER_BTREE_FAM_OID);
}

/* Whether an expression has one value for a whole scan. */
static bool
is_stable_key(PlannerInfo *root, RelOptInfo *rel, Node *node)
{
	return !bms_is_member(rel->relid, pull_varnos(root, node)) && !contain_volatile_functions(node);
}

/* The column of document ids. */
static AttrNumber
id_column(const LwColumns *columns)
{
	return columns->at[LW_COLUMN_ID] != InvalidAttrNumber ? columns->at[LW_COLUMN_ID] : columns->at[LW_COLUMN_CHUNK_ID];
}

/* Takes a clause apart; false when it is no lookup. */
static bool
match_clause(PlannerInfo *root, RelOptInfo *rel, const LwColumns *columns, RestrictInfo *clause, LwLookup *lookup)
{
	AttrNumber	column;
	Oid			operator;
	Oid			collation;
	bool		is_array;
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
		is_array = false;
	}
	else if (IsA(clause->clause, ScalarArrayOpExpr))
	{
		ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) clause->clause;

		if (!op->useOr)
			return false;
		operator = op->opno;
		collation = op->inputcollid;
		args = op->args;
		is_array = true;
	}
	else
		return false;
	if (is_byte_equality(operator, collation))
	{
		column = id_column(columns);
		lookup->kind = is_array ? LW_KEY_IDS : LW_KEY_ID;
	}
	else if (integer_strategy(operator) == BTEqualStrategyNumber)
	{
		column = columns->at[LW_COLUMN_ORDINAL];
		lookup->kind = is_array ? LW_KEY_ORDINALS : LW_KEY_ORDINAL;
	}
	else
		return false;
	if (column == InvalidAttrNumber)
		return false;

	if (!is_array && is_column(lsecond(args), rel, column))
	{
		/* the other way round */
		OpExpr	   *flipped = copyObject((OpExpr *) clause->clause);

		CommuteOpExpr(flipped);
		args = flipped->args;
		lookup->condition = (Expr *) flipped;
	}
	if (!is_column(linitial(args), rel, column) || !is_stable_key(root, rel, lsecond(args)))
		return false;
	lookup->key = lsecond(args);
	lookup->ids = is_array ? Max(1, lw_estimate_array_length(root, lsecond(args))) : 1;
	return true;
}

bool
lw_find_lookup(PlannerInfo *root, RelOptInfo *rel, const LwColumns *columns, List *clauses, LwLookup *lookup)
{
	ListCell   *cell;
	bool		found = false;

	foreach(cell, clauses)
	{
		LwLookup	other;

		if (match_clause(root, rel, columns, lfirst_node(RestrictInfo, cell), &other) &&
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
lw_join_lookups(PlannerInfo *root, RelOptInfo *rel, const LwColumns *columns)
{
	AttrNumber	keys[] = {id_column(columns), columns->at[LW_COLUMN_ORDINAL]};
	List	   *clauses = NIL;
	List	   *result = NIL;
	ListCell   *cell;
	LwLookup	ignored;
	int			i;

	foreach(cell, rel->joininfo)
		if (join_clause_is_movable_to(lfirst_node(RestrictInfo, cell), rel))
			clauses = lappend(clauses, lfirst(cell));
	for (i = 0; i < (int) lengthof(keys); i++)
		if (rel->has_eclass_joins && keys[i] != InvalidAttrNumber)
			clauses = list_concat(clauses,
								  generate_implied_equalities_for_column(root, rel, is_column_member, &keys[i],
																		 rel->lateral_referencers));
	foreach(cell, clauses)
		if (match_clause(root, rel, columns, lfirst_node(RestrictInfo, cell), &ignored))
			result = lappend(result, lfirst(cell));
	return result;
}

/* Takes a clause that compares the ordinal apart; *strategy is that of the column on the left. */
static bool
match_bound(PlannerInfo *root, RelOptInfo *rel, AttrNumber ordinal, RestrictInfo *clause,
			Node **bound, int *strategy)
{
	OpExpr	   *op = (OpExpr *) clause->clause;
	Oid			operator;

	if (clause->pseudoconstant || !IsA(op, OpExpr) || list_length(op->args) != 2 ||
		!restriction_is_securely_promotable(clause, rel))
		return false;
	operator = op->opno;
	*bound = lsecond(op->args);
	if (is_column(*bound, rel, ordinal))
	{
		operator = get_commutator(operator);
		*bound = linitial(op->args);
	}
	else if (!is_column(linitial(op->args), rel, ordinal))
		return false;
	*strategy = OidIsValid(operator) ? integer_strategy(operator) : 0;
	return *strategy != 0 && is_stable_key(root, rel, *bound);
}

List *
lw_find_bounds(PlannerInfo *root, RelOptInfo *rel, const LwColumns *columns,
			   List *clauses, List **bounds, List **strategies)
{
	List	   *result = NIL;
	ListCell   *cell;

	if (columns->at[LW_COLUMN_ORDINAL] == InvalidAttrNumber)
		return NIL;
	foreach(cell, clauses)
	{
		Node	   *bound;
		int			strategy;

		if (!match_bound(root, rel, columns->at[LW_COLUMN_ORDINAL], lfirst_node(RestrictInfo, cell),
						 &bound, &strategy))
			continue;
		result = lappend(result, lfirst(cell));
		*bounds = lappend(*bounds, bound);
		*strategies = lappend_int(*strategies, strategy);
	}
	return result;
}

int64
lw_integer_datum(Datum value, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}
