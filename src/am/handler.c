/*-------------------------------------------------------------------------
 *
 * handler.c
 *	  What the server is told of the access method.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/progress.h"
#include "commands/vacuum.h"

#include "am/index.h"

PG_FUNCTION_INFO_V1(lateweave_index_handler);

static char *
build_phase_name(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case LW_BUILD_SCAN:
			return "reading ids";
		case LW_BUILD_SORT:
			return "sorting";
		case LW_BUILD_WRITE:
			return "writing pages";
		default:
			return NULL;
	}
}

/* The server takes the one property that depends on the operator class from here. */
static bool
property(Oid index, int attribute, IndexAMProperty property, const char *name, bool *result, bool *is_null)
{
	if (attribute == 0 || property != AMPROP_DISTANCE_ORDERABLE)
		return false;
	*result = true;
	return true;
}

Datum
lateweave_index_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	routine->amstrategies = LW_STRATEGY_DISTANCE;
	routine->amsupport = 0;
	routine->amoptsprocnum = 0;
	routine->amcanorder = false;
	routine->amcanorderbyop = true;
	routine->amcanbackward = false;
	routine->amcanunique = false;
	routine->amcanmulticol = false;
	routine->amoptionalkey = true;
	routine->amsearcharray = false;
	routine->amsearchnulls = false;
	routine->amstorage = false;
	routine->amclusterable = false;
	routine->ampredlocks = false;
	routine->amcanparallel = false;
	routine->amcaninclude = false;
	routine->amusemaintenanceworkmem = false;
	routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_CLEANUP;
	routine->amkeytype = InvalidOid;

	routine->ambuild = lw_index_build;
	routine->ambuildempty = lw_index_build_empty;
	routine->aminsert = lw_index_insert;
	routine->ambulkdelete = lw_index_bulk_delete;
	routine->amvacuumcleanup = lw_index_vacuum_cleanup;
	routine->amcanreturn = NULL;
	routine->amcostestimate = lw_index_cost;
	routine->amoptions = lw_index_options;
	routine->amproperty = property;
	routine->ambuildphasename = build_phase_name;
	routine->amvalidate = lw_index_validate;
	routine->amadjustmembers = NULL;
	routine->ambeginscan = lw_index_begin_scan;
	routine->amrescan = lw_index_rescan;
	routine->amgettuple = lw_index_next;
	routine->amgetbitmap = NULL;
	routine->amendscan = lw_index_end_scan;
	routine->ammarkpos = NULL;
	routine->amrestrpos = NULL;
	routine->amestimateparallelscan = NULL;
	routine->aminitparallelscan = NULL;
	routine->amparallelrescan = NULL;

	PG_RETURN_POINTER(routine);
}
