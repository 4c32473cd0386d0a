/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  The process that starts workers for the databases.
 *
 * It starts once recovery has ended, so on a standby at its promotion, and first settles
 * what a crash left.  It reads pg_database but is in no database itself, so none of them
 * is kept from being dropped or copied.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/spin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "server/area.h"
#include "server/recovery.h"
#include "server/worker.h"

PGDLLEXPORT void lateweave_launcher_main(Datum arg);

/* How often the list of databases is read, s. */
#define LIST_SECONDS 60

/* After what goes wrong, or a compaction that did not come to its end, it is tried again, s. */
#define RETRY_SECONDS 60

/* The launcher is started again after a crash of its own, s. */
#define RESTART_SECONDS 5

typedef struct Database
{
	Oid			oid;
	bool		found;			/* in the list that was read last */
	TimestampTz next;			/* when its stores are to be looked after; 0: somebody has asked for it */
	Oid			compact;		/* table whose store is to be compacted, or InvalidOid */
	Oid			last;			/* the one before */
	TimestampTz not_before;		/* when that may begin */
} Database;

/* A worker that was started. */
typedef struct Started
{
	BackgroundWorkerHandle *handle; /* NULL: none */
	Oid			database;
} Started;

static Database *databases;		/* [ndatabases] */
static int	ndatabases;
static int	room;
static Started visit;
static Started compaction;

void
lw_board_init(LwBoard *board)
{
	memset(board, 0, sizeof(*board));
	SpinLockInit(&board->mutex);
}

void
lw_worker_call(void)
{
	LwBoard    *board;
	Latch	   *latch;
	int			i;

	if (lw_area == NULL || !OidIsValid(MyDatabaseId))
		return;
	board = &lw_area->board;
	SpinLockAcquire(&board->mutex);
	for (i = 0; i < Min(board->nwanted, LW_BOARD_WANTED) && board->wanted[i] != MyDatabaseId; i++)
		;
	if (i == board->nwanted && i < LW_BOARD_WANTED)
		board->wanted[i] = MyDatabaseId;
	if (i == board->nwanted)
		board->nwanted++;
	latch = board->launcher;
	SpinLockRelease(&board->mutex);
	if (latch != NULL)
		SetLatch(latch);
}

static TimestampTz
after(int seconds)
{
	return GetCurrentTimestamp() + seconds * USECS_PER_SEC;
}

static Database *
find_database(Oid oid)
{
	int			i;

	for (i = 0; i < ndatabases; i++)
		if (databases[i].oid == oid)
			return &databases[i];
	return NULL;
}

static void
add_database(Oid oid)
{
	Database   *database = find_database(oid);

	if (database == NULL)
	{
		if (ndatabases == room)
		{
			room = room * 2 + 16;
			databases = databases == NULL ? MemoryContextAlloc(TopMemoryContext, sizeof(Database) * room) :
				repalloc(databases, sizeof(Database) * room);
		}
		database = &databases[ndatabases++];
		memset(database, 0, sizeof(*database));
		database->oid = oid;
	}
	database->found = true;
}

/* Reads which databases there are that can be connected to; new ones are due at once. */
static void
read_databases(void)
{
	Relation	relation;
	TableScanDesc scan;
	HeapTuple	tuple;
	int			n = 0;
	int			i;

	for (i = 0; i < ndatabases; i++)
		databases[i].found = false;
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	relation = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(relation, 0, NULL);
	while (HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection)))
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);

		/* a negative limit is that of a database whose DROP was interrupted */
		if (form->datallowconn && form->datconnlimit >= -1)
			add_database(form->oid);
	}
	table_endscan(scan);
	table_close(relation, AccessShareLock);
	CommitTransactionCommand();
	for (i = 0; i < ndatabases; i++)
		if (databases[i].found)
			databases[n++] = databases[i];
	ndatabases = n;
}

/* The database that is due first for something; NULL when none is.  Lowers *wake to when it will be. */
static Database *
find_due(bool compact, TimestampTz *wake)
{
	TimestampTz now = GetCurrentTimestamp();
	Database   *first = NULL;
	TimestampTz when = DT_NOEND;
	int			i;

	for (i = 0; i < ndatabases; i++)
	{
		TimestampTz its = compact ? databases[i].not_before : databases[i].next;

		if ((compact && !OidIsValid(databases[i].compact)) || its >= when)
			continue;
		when = its;
		first = &databases[i];
	}
	if (when <= now)
		return first;
	*wake = Min(*wake, when);
	return NULL;
}

/* Takes over which databases are wanted. */
static void
take_wanted(void)
{
	LwBoard    *board = &lw_area->board;
	Oid			wanted[LW_BOARD_WANTED];
	int			nwanted;
	int			i;
	int			k;

	SpinLockAcquire(&board->mutex);
	nwanted = board->nwanted;
	memcpy(wanted, board->wanted, sizeof(wanted));
	board->nwanted = 0;
	SpinLockRelease(&board->mutex);
	/* one that is new is not in the list yet */
	for (k = 0; k < Min(nwanted, LW_BOARD_WANTED); k++)
		add_database(wanted[k]);
	for (i = 0; i < ndatabases; i++)
		for (k = 0; k < nwanted; k++)
			if (nwanted > LW_BOARD_WANTED || databases[i].oid == wanted[k])
			{
				databases[i].next = 0;
				break;
			}
}

/* Whether something of the kind is due. */
static bool
is_due(bool compact)
{
	TimestampTz ignored = DT_NOEND;

	return find_due(compact, &ignored) != NULL;
}

/* Starts a worker. */
static bool
start(Started *started, Oid database, LwOrder order)
{
	BackgroundWorker worker = {0};

	snprintf(worker.bgw_name, BGW_MAXLEN, "lateweave worker for database %u", database);
	strlcpy(worker.bgw_type, "lateweave worker", BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, "lateweave", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "lateweave_worker_main", BGW_MAXLEN);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	worker.bgw_notify_pid = MyProcPid;
	memcpy(worker.bgw_extra, &order, sizeof(order));
	started->database = database;
	return RegisterDynamicBackgroundWorker(&worker, &started->handle);
}

/* Whether a worker that was started is there no more; then it is forgotten. */
static bool
has_ended(Started *started)
{
	pid_t		pid;

	if (started->handle == NULL || GetBackgroundWorkerPid(started->handle, &pid) != BGWH_STOPPED)
		return false;
	pfree(started->handle);
	started->handle = NULL;
	return true;
}

/* Takes over what a visit has found out. */
static void
end_visit(void)
{
	LwBoard    *board = &lw_area->board;
	Database   *database = find_database(visit.database);

	if (database == NULL)
		return;
	SpinLockAcquire(&board->mutex);
	if (board->visited == visit.database)
	{
		/* who has asked meanwhile may have changed what the visit had left */
		if (database->next != 0)
			database->next = board->next;
		database->compact = board->compact;
	}
	board->visited = InvalidOid;
	SpinLockRelease(&board->mutex);
}

/* Looks how a compaction has ended. */
static void
end_compaction(void)
{
	LwBoard    *board = &lw_area->board;
	Database   *database = find_database(compaction.database);

	if (database == NULL)
		return;
	/* whether there is more to do says the next visit */
	database->next = 0;
	database->compact = InvalidOid;
	SpinLockAcquire(&board->mutex);
	if (board->compacted == compaction.database)
		database->not_before = 0;
	board->compacted = InvalidOid;
	SpinLockRelease(&board->mutex);
}

/* Starts what is due, as far as nothing of its kind runs; returns when to look again. */
static TimestampTz
start_due(void)
{
	TimestampTz wake = after(LIST_SECONDS);
	Database   *due;

	if (has_ended(&visit))
		end_visit();
	if (has_ended(&compaction))
		end_compaction();
	/* what was dropped meanwhile is not to be visited */
	if ((visit.handle == NULL && is_due(false)) || (compaction.handle == NULL && is_due(true)))
		read_databases();
	if (visit.handle == NULL && (due = find_due(false, &wake)) != NULL)
	{
		LwOrder		order = {InvalidOid, due->last};

		due->next = after(RETRY_SECONDS);
		if (!start(&visit, due->oid, order))
			wake = Min(wake, due->next = after(RESTART_SECONDS));
	}
	if (compaction.handle == NULL && (due = find_due(true, &wake)) != NULL)
	{
		LwOrder		order = {due->compact, InvalidOid};

		due->not_before = after(RETRY_SECONDS);
		due->last = due->compact;
		if (start(&compaction, due->oid, order))
			due->compact = InvalidOid;
	}
	return wake;
}

static void
make_all_due(void)
{
	int			i;

	for (i = 0; i < ndatabases; i++)
		databases[i].next = databases[i].not_before = 0;
}

/* Has nobody call a launcher that is no more. */
static void
leave_board(int code, Datum arg)
{
	LwBoard    *board = (LwBoard *) DatumGetPointer(arg);

	SpinLockAcquire(&board->mutex);
	board->launcher = NULL;
	SpinLockRelease(&board->mutex);
}

void
lateweave_launcher_main(Datum arg)
{
	TimestampTz list = 0;
	LwBoard    *board;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	if (!lw_area_available())
		proc_exit(0);
	board = &lw_area->board;
	SpinLockAcquire(&board->mutex);
	board->launcher = MyLatch;
	SpinLockRelease(&board->mutex);
	before_shmem_exit(leave_board, PointerGetDatum(board));
	lw_recovery_settle();

	while (!ShutdownRequestPending)
	{
		TimestampTz wake;

		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			/* what is due may be another time */
			list = 0;
			make_all_due();
		}
		if (list <= GetCurrentTimestamp())
		{
			read_databases();
			list = after(LIST_SECONDS);
		}
		take_wanted();
		wake = start_due();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 TimestampDifferenceMilliseconds(GetCurrentTimestamp(), Min(wake, list)) + 1,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	/* not 0, after which it would not be started again */
	proc_exit(1);
}

void
lw_worker_init(void)
{
	BackgroundWorker worker = {0};

	if (!process_shared_preload_libraries_in_progress)
		return;
	strlcpy(worker.bgw_name, "lateweave launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "lateweave launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, "lateweave", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "lateweave_launcher_main", BGW_MAXLEN);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = RESTART_SECONDS;
	RegisterBackgroundWorker(&worker);
}
