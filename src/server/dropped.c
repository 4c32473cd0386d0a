/*-------------------------------------------------------------------------
 *
 * dropped.c
 *	  Store directories that the transaction has made or drops.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xact.h"
#include "utils/memutils.h"

#include "server/change.h"
#include "server/dropped.h"
#include "server/error.h"
#include "server/registry.h"
#include "store/candidates.h"
#include "store/create.h"
#include "store/manifest_file.h"

typedef struct Directory
{
	struct Directory *next;
	int			level;			/* of the subtransaction */
	bool		drops;			/* else it was made */
	char	   *path;
	char	   *store_id;		/* of a store that is dropped */
} Directory;

static Directory *directories;	/* the newest first, in TopMemoryContext */

static void
remember(const char *path, const char *store_id)
{
	Directory  *directory = MemoryContextAllocZero(TopMemoryContext, sizeof(Directory));

	directory->path = MemoryContextStrdup(TopMemoryContext, path);
	if (store_id != NULL)
		directory->store_id = MemoryContextStrdup(TopMemoryContext, store_id);
	directory->drops = store_id != NULL;
	directory->level = GetCurrentTransactionNestLevel();
	directory->next = directories;
	directories = directory;
}

void
lw_change_created(const char *path)
{
	remember(path, NULL);
}

void
lw_change_dropped(const char *path, const char *store_id)
{
	remember(path, store_id);
}

bool
lw_dropped_any(void)
{
	return directories != NULL;
}

/* Whether the store at the path is the one that was dropped. */
static bool
is_same_store(const Directory *directory)
{
	LwManifest	manifest;
	LwError		ignored;
	bool		same;
	int			fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return false;
	same = lw_manifest_read(fd, directory->path, &manifest, NULL, NULL, &ignored) == LW_OK;
	close(fd);
	if (!same)
		return false;
	same = strlen(directory->store_id) == manifest.store_id.size &&
		memcmp(directory->store_id, manifest.store_id.data, manifest.store_id.size) == 0;
	lw_manifest_free(&manifest);
	return same;
}

/* Removes a store's files; what cannot be removed is a WARNING. */
static void
remove_store(const Directory *directory)
{
	MemoryContext context = CurrentMemoryContext;
	struct stat before;
	LwError		error;
	bool		left = false;
	LwStatus	status;

	if ((directory->drops && !is_same_store(directory)) || stat(directory->path, &before) != 0)
		return;
	status = lw_store_drop(directory->path, &left, &error);
	if (status == LW_OK && directory->drops)
		lw_training_remove(directory->store_id, strlen(directory->store_id));
	if (status == LW_OK)
		lw_registry_strike(before.st_dev, before.st_ino);
	if (status == LW_OK && !left)
		return;
	PG_TRY();
	{
		if (status == LW_OK)
			ereport(LOG,
					(errmsg("\"%s\" stays: it holds files that are not the store's", directory->path)));
		else
			ereport(WARNING,
					(errcode(lw_error_code(&error)),
					 errmsg("could not remove all of the store \"%s\"", directory->path),
					 errdetail_internal("%s", lw_error_message(&error))));
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
}

/* Takes the newest off the list. */
static void
forget_first(void)
{
	Directory  *directory = directories;

	directories = directory->next;
	pfree(directory->path);
	if (directory->store_id != NULL)
		pfree(directory->store_id);
	pfree(directory);
}

static void
end_transaction(bool committed)
{
	while (directories != NULL)
	{
		if (directories->drops == committed)
			remove_store(directories);
		forget_first();
	}
}

void
lw_dropped_commit(void)
{
	end_transaction(true);
}

void
lw_dropped_abort(void)
{
	end_transaction(false);
}

static void
subtransaction_callback(SubXactEvent event, SubTransactionId self, SubTransactionId parent, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();
	Directory  *directory;

	if (event == SUBXACT_EVENT_COMMIT_SUB)
	{
		for (directory = directories; directory != NULL && directory->level >= level; directory = directory->next)
			directory->level = level - 1;
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		while (directories != NULL && directories->level >= level)
		{
			if (!directories->drops)
				remove_store(directories);
			forget_first();
		}
	}
}

void
lw_dropped_init(void)
{
	RegisterSubXactCallback(subtransaction_callback, NULL);
}
