/*-------------------------------------------------------------------------
 *
 * train.c
 *	  lateweave_train: what approximate candidates need.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "storage/lock.h"

#include "kernel/centroids.h"
#include "server/candidates.h"
#include "server/pin.h"

PG_FUNCTION_INFO_V1(lateweave_train);

#define COLUMNS 3

Datum
lateweave_train(PG_FUNCTION_ARGS)
{
	LwTrainingResult result = {0};
	TupleDesc	desc;
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};
	int32		centroids = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT32(1);
	LwView	   *view;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (centroids < 0 || centroids > LW_CENTROIDS_MOST)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("centroids must be between 0 and %d, but is %d", LW_CENTROIDS_MOST, centroids)));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "lateweave_train must return a row");
	/* one at a time, as with ANALYZE */
	lw_source_check_owner(PG_GETARG_OID(0), ShareUpdateExclusiveLock);
	view = lw_pin_store(PG_GETARG_OID(0));
	if (!PG_ARGISNULL(1) && centroids == 0)
		lw_candidates_forget(view);
	else
		lw_candidates_train(PG_GETARG_OID(0), view, (uint32) centroids, &result);
	values[0] = Int32GetDatum((int32) result.centroids);
	values[1] = Int64GetDatum((int64) result.sampled);
	values[2] = Int64GetDatum((int64) result.segments);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
