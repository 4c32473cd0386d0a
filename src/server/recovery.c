/*-------------------------------------------------------------------------
 *
 * recovery.c
 *	  Settling what a crash left in stores, when the server starts.
 *
 * The stores are known by the registry, whatever database they belong to.  What cannot be
 * settled now is, before the first change of the store.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "server/error.h"
#include "server/publish.h"
#include "server/recovery.h"
#include "server/registry.h"

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
lw_recovery_settle(void)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "lateweave recovery", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ResourceOwner owner = CurrentResourceOwner;
	List	   *paths;
	ListCell   *cell;

	CurrentResourceOwner = ResourceOwnerCreate(NULL, "lateweave recovery");
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
	ResourceOwnerRelease(CurrentResourceOwner, RESOURCE_RELEASE_BEFORE_LOCKS, false, true);
	ResourceOwnerRelease(CurrentResourceOwner, RESOURCE_RELEASE_LOCKS, false, true);
	ResourceOwnerRelease(CurrentResourceOwner, RESOURCE_RELEASE_AFTER_LOCKS, false, true);
	ResourceOwnerDelete(CurrentResourceOwner);
	CurrentResourceOwner = owner;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
