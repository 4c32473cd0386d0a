/*-------------------------------------------------------------------------
 *
 * derived.c
 *	  Where this server keeps derived files.
 *
 * Always in the data directory, wherever sources lie: base backups and
 * pg_rewind leave out what has a name of this kind, and another server has its own.
 * What was trained is to be in backups, so it lies beside them: a store that is only
 * read may be in a directory that this server cannot write.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/file_perm.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "server/derived.h"
#include "server/section.h"
#include "store/derived.h"

#define DIRECTORY "lateweave/pgsql_tmp_derived"
#define TRAINED "lateweave/trained"

void
lw_derived_init(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	lw_derived_settings.directory = psprintf("%s/" DIRECTORY, DataDir);
	lw_derived_settings.trained = psprintf("%s/" TRAINED, DataDir);
	lw_derived_settings.directory_mode = (mode_t) pg_dir_create_mode;
	lw_derived_settings.file_mode = (mode_t) pg_file_create_mode;
	lw_derived_settings.stop = &lw_stop;
	MemoryContextSwitchTo(old);
}
