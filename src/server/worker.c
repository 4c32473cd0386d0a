/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  A short process that looks after the stores of a database, or compacts one.
 *
 * It leaves at once when somebody wants the database to himself, which it sees by the
 * lock on it, and gives a compaction up when somebody waits for the table.  One store's
 * error is logged and does not concern the others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "catalog/pg_foreign_table.h"
#include "commands/dbcommands.h"
#include "foreign/foreign.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "server/area.h"
#include "server/stat.h"
#include "server/upkeep.h"
#include "server/worker.h"

PGDLLEXPORT void lateweave_worker_main(Datum arg);

/* As VACUUM; LockHasWaiters takes none of the weaker ones. */
#define COMPACTION_LOCK ShareUpdateExclusiveLock

/* How often it looks whether it is in somebody's way. */
#define LOOK_US 200000

/* When a database is visited again at the latest: with stores that are written here, and without, s. */
#define VISIT_SECONDS 60
#define IDLE_VISIT_SECONDS 300

/* What a visit finds out. */
typedef struct Visit
{
	TimestampTz next;
	Oid			compact;		/* of the tables that want it: the first after `last`, or else the first */
	Oid			last;
} Visit;

static Oid	locked;				/* the table that is being worked on */
static bool gave_way;			/* a compaction was given up, since it was in somebody's way */

/* Whether a lock cannot be had at once, since somebody holds or waits for one that conflicts with it. */
static bool
is_wanted(const LOCKTAG *tag, LOCKMODE mode)
{
	if (LockAcquire(tag, mode, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(tag, mode, false);
	return false;
}

/* Whether this database is: to drop, rename, move or copy it. */
static bool
database_is_wanted(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	return is_wanted(&tag, RowExclusiveLock);
}

/*
 * Whether somebody waits for the table, on which a compaction holds COMPACTION_LOCK.  (Who holds a lock gets
 * another one before those who wait, so that trying to get one would not tell.)
 */
static bool
table_is_wanted(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, locked);
	return LockHasWaiters(&tag, COMPACTION_LOCK, false);
}

/* What a compaction asks. */
static bool
is_in_the_way(void)
{
	static TimestampTz last;
	TimestampTz now = GetCurrentTimestamp();

	if (now - last < LOOK_US)
		return false;
	last = now;
	gave_way = table_is_wanted() || database_is_wanted();
	return gave_way;
}

/* The tables of this database over stores that this server writes. */
static List *
list_tables(MemoryContext context)
{
	Relation	catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;
	List	   *tables = NIL;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_foreign_table table = (Form_pg_foreign_table) GETSTRUCT(tuple);
		ForeignServer *server = GetForeignServerExtended(table->ftserver, FSV_MISSING_OK);

		if (server != NULL && lw_is_lateweave_wrapper(server->fdwid))
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			tables = lappend_oid(tables, table->ftrelid);
			MemoryContextSwitchTo(old);
		}
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return tables;
}

static void
look_after(Oid relid, Visit *visit)
{
	TimestampTz next;
	bool		compact;

	lw_upkeep(relid, &next, &compact);
	visit->next = Min(visit->next, next);
	if (compact && (!OidIsValid(visit->compact) ||
					(relid > visit->last) > (visit->compact > visit->last) ||
					((relid > visit->last) == (visit->compact > visit->last) && relid < visit->compact)))
		visit->compact = relid;
}

/* What messages call a table. */
static char *
name_table(MemoryContext context, Oid relid)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	char	   *name = psprintf("%s.%s.%s", get_database_name(MyDatabaseId),
								get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid));

	MemoryContextSwitchTo(old);
	return name;
}

static void
compact(Oid relid, const char *table)
{
	TimestampTz start = GetCurrentTimestamp();
	LwCompaction done;
	bool		compacted;
	long		seconds;
	int			microseconds;

	/* the catalogs have been read: it keeps no row from being vacuumed meanwhile */
	InvalidateCatalogSnapshot();
	compacted = lw_upkeep_compact(relid, is_in_the_way, &done);
	SpinLockAcquire(&lw_area->board.mutex);
	lw_area->board.compacted = MyDatabaseId;
	SpinLockRelease(&lw_area->board.mutex);
	if (!compacted)
		return;
	TimestampDifference(start, GetCurrentTimestamp(), &seconds, &microseconds);
	ereport(LOG,
			(errmsg("automatic compaction of \"%s\": %llu segments before, %llu after, %llu documents, %llu tokens, %llu bytes reclaimed, elapsed: %ld.%03d s",
					table, (unsigned long long) done.segments_before, (unsigned long long) done.segments_after,
					(unsigned long long) done.documents, (unsigned long long) done.tokens,
					(unsigned long long) done.bytes_reclaimed, seconds, microseconds / 1000)));
}

/* Says in the log what went wrong with a table, once as long as it is the same, and ends the transaction. */
static void
report_failure(MemoryContext context, Oid relid, const char *table, bool compacting)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	if (compacting)
		errcontext("automatic compaction of \"%s\"", table);
	else
		errcontext("automatic upkeep of \"%s\"", table);
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED ? !gave_way : lw_stat_error(relid, error->message))
		EmitErrorReport();
	FlushErrorState();
	FreeErrorData(error);
	AbortCurrentTransaction();
	if (gave_way)
		ereport(LOG,
				(errmsg("automatic compaction of \"%s\" was given up, since another session waits for the table or the database",
						table)));
}

/* Does one table's work in a transaction of its own; passes over what it may not or need not do now. */
static void
work_on(Oid relid, bool compacting, Visit *visit)
{
	MemoryContext context = CurrentMemoryContext;
	char	   *volatile table = NULL;

	StartTransactionCommand();
	PG_TRY();
	{
		/* it may have been dropped since it was listed */
		if (ConditionalLockRelationOid(relid, compacting ? COMPACTION_LOCK : RowExclusiveLock) &&
			SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		{
			LwSource   *source;

			table = name_table(context, relid);
			source = lw_source_lookup(relid);
			locked = relid;
			if (source->kind == LW_SOURCE_STORE && source->writable && source->store_id != NULL)
			{
				visit->next = Min(visit->next, GetCurrentTimestamp() + VISIT_SECONDS * USECS_PER_SEC);
				(void) lw_stat_of(relid);
				pgstat_report_activity(STATE_RUNNING, psprintf(compacting ? "lateweave: compaction of %s" :
															   "lateweave: upkeep of %s", table));
				if (compacting)
					compact(relid, table);
				else
					look_after(relid, visit);
			}
		}
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		report_failure(context, relid, table == NULL ? "" : table, compacting);
	}
	PG_END_TRY();
	pgstat_report_activity(STATE_IDLE, NULL);
	MemoryContextSwitchTo(context);
}

/* Looks after all of them, or leaves when asked. */
static void
look_after_all(MemoryContext context, Visit *visit)
{
	List	   *tables;
	ListCell   *cell;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	tables = list_tables(context);
	CommitTransactionCommand();
	foreach(cell, tables)
	{
		CHECK_FOR_INTERRUPTS();
		StartTransactionCommand();
		if (database_is_wanted())
			proc_exit(0);
		CommitTransactionCommand();
		MemoryContextSwitchTo(context);
		work_on(lfirst_oid(cell), false, visit);
	}
}

/* Leaves word for the launcher. */
static void
report_visit(const Visit *visit)
{
	LwBoard    *board = &lw_area->board;

	SpinLockAcquire(&board->mutex);
	board->visited = MyDatabaseId;
	board->next = visit->next;
	board->compact = visit->compact;
	SpinLockRelease(&board->mutex);
}

/* As autovacuum does: what users are set to is not meant for this, nor are the limits of their statements. */
static void
override_settings(void)
{
	static const char *const settings[][2] = {
		{"default_transaction_read_only", "false"},
		{"default_transaction_isolation", "read committed"},
		{"lock_timeout", "0"},
		{"transaction_timeout", "0"}	/* from PostgreSQL 17 on */
	};
	int			i;

	for (i = 0; i < (int) lengthof(settings); i++)
		if (GetConfigOption(settings[i][0], true, false) != NULL)
			SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
}

void
lateweave_worker_main(Datum arg)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "lateweave worker", ALLOCSET_DEFAULT_SIZES);
	Visit		visit = {GetCurrentTimestamp() + IDLE_VISIT_SECONDS * USECS_PER_SEC, InvalidOid, InvalidOid};
	LwOrder		order;

	memcpy(&order, MyBgworkerEntry->bgw_extra, sizeof(order));
	visit.last = order.last;
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(arg), InvalidOid, 0);
	if (!lw_area_available())
		proc_exit(0);
	override_settings();
	MemoryContextSwitchTo(context);
	if (OidIsValid(order.compact))
		work_on(order.compact, true, &visit);
	else
	{
		look_after_all(context, &visit);
		report_visit(&visit);
	}
	proc_exit(0);
}
