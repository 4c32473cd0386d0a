/*-------------------------------------------------------------------------
 *
 * maintain.c
 *	  lateweave_compact and lateweave_settle.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "storage/lock.h"
#include "utils/builtins.h"

#include "server/maintain.h"

PG_FUNCTION_INFO_V1(lateweave_compact);
PG_FUNCTION_INFO_V1(lateweave_settle);

#define COLUMNS 5

Datum
lateweave_compact(PG_FUNCTION_ARGS)
{
	LwCompaction compaction;
	TupleDesc	desc;
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "lateweave_compact must return a row");
	lw_source_check_owner(PG_GETARG_OID(0), RowExclusiveLock);
	lw_maintain_compact(PG_GETARG_OID(0), NULL, &compaction);
	values[0] = Int64GetDatum((int64) compaction.documents);
	values[1] = Int64GetDatum((int64) compaction.tokens);
	values[2] = Int64GetDatum((int64) compaction.segments_before);
	values[3] = Int64GetDatum((int64) compaction.segments_after);
	values[4] = Int64GetDatum((int64) compaction.bytes_reclaimed);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

Datum
lateweave_settle(PG_FUNCTION_ARGS)
{
	char	   *action;
	LwUndecided what = LW_UNDECIDED_KEEP;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	action = text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (strcmp(action, "publish") == 0)
		what = LW_UNDECIDED_PUBLISH;
	else if (strcmp(action, "discard") == 0)
		what = LW_UNDECIDED_DISCARD;
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown action \"%s\"", action),
				 errhint("It is 'publish' or 'discard'.")));
	lw_source_check_owner(PG_GETARG_OID(0), RowExclusiveLock);
	PG_RETURN_INT64((int64) lw_maintain_settle(PG_GETARG_OID(0), what));
}
