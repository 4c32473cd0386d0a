/*-------------------------------------------------------------------------
 *
 * stat.c
 *	  lateweave_stat and lateweave_progress: what has been done, and what is going on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "server/progress.h"
#include "server/shared.h"
#include "server/source.h"
#include "server/stat.h"
#include "sql/sources.h"

PG_FUNCTION_INFO_V1(lateweave_list_stat);
PG_FUNCTION_INFO_V1(lateweave_stat_reset);
PG_FUNCTION_INFO_V1(lateweave_list_progress);

/* What lateweave_list_stat gives, in the order of its columns. */
enum
{
	SOURCE,
	SCORES,
	DOCUMENTS,
	TOKENS,
	BYTES_READ,
	SCORE_TIME,
	VIEW_RELOADS,
	COMMITS,
	TRANSACTIONS_PER_COMMIT,
	COMPACTIONS,
	LAST_ERROR,
	LAST_ERROR_AT,
	STATS_RESET,
	STAT_COLUMNS
};

static void
put_stat(Oid relid, bool locked, void *arg)
{
	ReturnSetInfo *result = arg;
	Datum		values[STAT_COLUMNS];
	bool		nulls[STAT_COLUMNS] = {false};
	LwStat		stat = {0};
	const LwStatCounts *counts = &stat.counts;

	nulls[STATS_RESET] = !lw_stat_get(relid, &stat);
	values[SOURCE] = ObjectIdGetDatum(relid);
	values[SCORES] = Int64GetDatum((int64) counts->scores);
	values[DOCUMENTS] = Int64GetDatum((int64) counts->documents);
	values[TOKENS] = Int64GetDatum((int64) counts->tokens);
	values[BYTES_READ] = Int64GetDatum((int64) counts->bytes);
	values[SCORE_TIME] = Float8GetDatum(counts->nanoseconds / 1e6);
	values[VIEW_RELOADS] = Int64GetDatum((int64) counts->reloads);
	values[COMMITS] = Int64GetDatum((int64) counts->commits);
	nulls[TRANSACTIONS_PER_COMMIT] = counts->commits == 0;
	values[TRANSACTIONS_PER_COMMIT] = Float8GetDatum((double) counts->transactions / Max(counts->commits, 1));
	values[COMPACTIONS] = Int64GetDatum((int64) counts->compactions);
	nulls[LAST_ERROR] = nulls[LAST_ERROR_AT] = stat.error_at == 0;
	values[LAST_ERROR] = CStringGetTextDatum(stat.error);
	values[LAST_ERROR_AT] = TimestampTzGetDatum(stat.error_at);
	values[STATS_RESET] = TimestampTzGetDatum(stat.since);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
lateweave_list_stat(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	if (lw_shared_available())
		lw_for_each_source(put_stat, fcinfo->resultinfo);
	return (Datum) 0;
}

Datum
lateweave_stat_reset(PG_FUNCTION_ARGS)
{
	lw_stat_reset();
	PG_RETURN_VOID();
}

/* Whether the current user may see what a session does with a table. */
static bool
may_see(const LwProgress *progress)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) || has_privs_of_role(GetUserId(), progress->role) ||
		(OidIsValid(progress->relation) &&
		 SearchSysCacheExists1(RELOID, ObjectIdGetDatum(progress->relation)) &&
		 pg_class_aclcheck(progress->relation, GetUserId(), ACL_SELECT) == ACLCHECK_OK);
}

/* What the sessions of this database are doing. */
Datum
lateweave_list_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LwProgress	progress;
	bool		more = true;
	int			number;

	InitMaterializedSRF(fcinfo, 0);
	for (number = 0; more; number++)
	{
		Datum		values[5];
		bool		nulls[5] = {false};

		if (!lw_progress_get(number, &progress, &more) || progress.database != MyDatabaseId || !may_see(&progress))
			continue;
		nulls[1] = !OidIsValid(progress.relation);
		nulls[4] = progress.total == 0;
		values[0] = Int32GetDatum(progress.pid);
		values[1] = ObjectIdGetDatum(progress.relation);
		values[2] = CStringGetTextDatum(lw_progress_name(progress.phase));
		values[3] = Int64GetDatum((int64) progress.done);
		values[4] = Int64GetDatum((int64) progress.total);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
