/*-------------------------------------------------------------------------
 *
 * change.c
 *	  Functions that change the documents of a store within the transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "compat.h"
#include "server/change.h"
#include "sql/multivector.h"
#include "sql/scorer.h"

PG_FUNCTION_INFO_V1(lateweave_append);
PG_FUNCTION_INFO_V1(lateweave_delete);
PG_FUNCTION_INFO_V1(lateweave_commit);

/* ERROR 23502 that says which element is NULL, if one is; 22023 for more than one dimension. */
static void
check_array(ArrayType *array, const char *name)
{
	const bits8 *bitmap = ARR_NULLBITMAP(array);
	int			i = 0;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("array \"%s\" must have one dimension, not %d", name, ARR_NDIM(array))));
	if (!array_contains_nulls(array))
		return;
	while (bitmap[i / 8] & (1 << (i % 8)))
		i++;
	ereport(ERROR,
			(errcode(ERRCODE_NOT_NULL_VIOLATION),
			 errmsg("null value in array \"%s\"", name),
			 errdetail("It is at position %d.", i + 1)));
}

static int
array_length(ArrayType *array)
{
	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
}

/* lateweave_append(regclass, ids, multivector[]): how many. */
Datum
lateweave_append(PG_FUNCTION_ARGS)
{
	ArrayType  *ids;
	ArrayType  *documents;
	ArrayIterator iterator;
	MemoryContext document_context;
	LwIdList	list;
	LwChange   *change;
	int			i;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	lw_source_check_privileges(PG_GETARG_OID(0), RowExclusiveLock, ACL_INSERT);
	ids = PG_GETARG_ARRAYTYPE_P(1);
	documents = PG_GETARG_ARRAYTYPE_P(2);
	check_array(ids, "ids");
	check_array(documents, "tokens");
	if (array_length(ids) != array_length(documents))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d ids do not go with %d documents", array_length(ids), array_length(documents))));
	lw_id_list(ids, &list);

	change = lw_change_begin(PG_GETARG_OID(0), LW_CHANGE_CALL);
	document_context = AllocSetContextCreate(CurrentMemoryContext, "lateweave_append", ALLOCSET_DEFAULT_SIZES);
	iterator = array_create_iterator(documents, 0, NULL);
	for (i = 0; i < list.count; i++)
	{
		MemoryContext old;
		LwMultivector *m;
		Datum		value;
		bool		is_null;

		CHECK_FOR_INTERRUPTS();
		if (!array_iterate(iterator, &value, &is_null))
			elog(ERROR, "array ended early");
		old = MemoryContextSwitchTo(document_context);
		m = DatumGetLwMultivector(value);
		lw_change_append(change, list.ids[i].data, list.ids[i].size,
						 m->values, (size_t) m->tokens, (uint64) m->dimension);
		MemoryContextSwitchTo(old);
		MemoryContextReset(document_context);
	}
	lw_change_end(change);
	array_free_iterator(iterator);
	MemoryContextDelete(document_context);
	PG_RETURN_INT64(list.count);
}

/* lateweave_delete(regclass, ids): how many were present. */
Datum
lateweave_delete(PG_FUNCTION_ARGS)
{
	ArrayType  *ids;
	LwIdList	list;
	LwChange   *change;
	int64		present = 0;
	int			i;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	lw_source_check_privileges(PG_GETARG_OID(0), RowExclusiveLock, ACL_DELETE);
	ids = PG_GETARG_ARRAYTYPE_P(1);
	check_array(ids, "ids");
	lw_id_list(ids, &list);

	change = lw_change_begin(PG_GETARG_OID(0), LW_CHANGE_CALL);
	for (i = 0; i < list.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (lw_change_delete(change, list.ids[i].data, list.ids[i].size))
			present++;
	}
	lw_change_end(change);
	PG_RETURN_INT64(present);
}

/* lateweave_commit(regclass): has COMMIT publish, also when nothing has changed. */
Datum
lateweave_commit(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	lw_source_check_owner(PG_GETARG_OID(0), RowExclusiveLock);
	lw_change_commit(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}
