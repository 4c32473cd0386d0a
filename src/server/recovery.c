/*-------------------------------------------------------------------------
 *
 * recovery.c
 *	  A short worker at server start that settles what a crash left in stores.
 *
 * It runs once recovery has ended, so on a standby at its promotion.  It knows
 * the stores by the registry and is in no database.  What it does not manage is done
 * before the first change of the store.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "server/error.h"
#include "server/publish.h"
#include "server/recovery.h"
#include "server/registry.h"

PGDLLEXPORT void lateweave_recovery_main(Datum arg);

/* Settles one store; raises. */
static void
settle_store(const char *path)
{
	LwStore		store;
	LwView	   *view;
	LwError		error;
	dev_t		device;
	ino_t		inode;
	bool		moved;

	error.path[0] = '\0';
	if (lw_store_identify(path, &device, &inode, &error) != LW_OK)
		lw_report(ERROR, &error);
	lw_store_init(&store, device, inode);
	if (lw_store_follow(&store, path, &view, &moved, &error) != LW_OK || moved)
		lw_report(ERROR, &error);
	PG_TRY();
	{
		LwManifest	manifest;
		void	   *flat = palloc(lw_manifest_flat_size(&view->manifest));

		/* the view changes when something is published */
		lw_manifest_flatten(&view->manifest, flat);
		if (lw_manifest_unflatten(flat, &manifest))
		{
			lw_publish_settle_once(&store, path, manifest.store_id);
			lw_manifest_free(&manifest);
		}
	}
	PG_FINALLY();
	{
		lw_store_forget(&store);
	}
	PG_END_TRY();
}

void
lateweave_recovery_main(Datum arg)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "lateweave recovery", ALLOCSET_DEFAULT_SIZES);
	List	   *paths;
	ListCell   *cell;

	BackgroundWorkerUnblockSignals();
	CurrentResourceOwner = ResourceOwnerCreate(NULL, "lateweave recovery");
	MemoryContextSwitchTo(context);
	paths = lw_registry_list();
	foreach(cell, paths)
	{
		const char *path = lfirst(cell);

		PG_TRY();
		{
			settle_store(path);
		}
		PG_CATCH();
		{
			/* said in the log; a statement that changes the store will meet it again */
			MemoryContextSwitchTo(context);
			EmitErrorReport();
			FlushErrorState();
		}
		PG_END_TRY();
		CHECK_FOR_INTERRUPTS();
	}
	proc_exit(0);
}

void
lw_recovery_init(void)
{
	BackgroundWorker worker = {0};

	if (!process_shared_preload_libraries_in_progress)
		return;
	strlcpy(worker.bgw_name, "lateweave recovery", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "lateweave recovery", BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, "lateweave", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "lateweave_recovery_main", BGW_MAXLEN);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	RegisterBackgroundWorker(&worker);
}
