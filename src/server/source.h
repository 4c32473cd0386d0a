/*-------------------------------------------------------------------------
 *
 * source.h
 *	  A foreign table of lateweave and the files behind it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_SOURCE_H
#define LW_SERVER_SOURCE_H

#include "postgres.h"
#include "nodes/pg_list.h"

#include "store/follow.h"

/*
 * What a backend knows of one foreign table.  Lives as long as the backend;
 * read anew when the table's definition has changed.
 */
typedef struct LwSource
{
	Oid			relid;			/* hash key */
	bool		valid;			/* what follows is that of the catalog */
	uint64		definition;		/* another number when what follows has changed */
	char	   *option;			/* the path as the option has it */
	char	   *path;			/* absolute */
	char	   *store_id;		/* as lw_string_for_server gives it, or NULL when none is recorded */
	bool		writable;
	bool		has_min_commit;
	uint64		min_commit;
	LwStore    *store;			/* the directory last found at `path`, shared by all its tables */
} LwSource;

/* Goes up when the definition or the privileges of some source may have changed. */
extern uint64 lw_source_generation;

/*
 * The source of a foreign table.  ERROR 42809 when the relation is none of
 * lateweave's, 42P01 when it does not exist.  Takes no lock, checks no
 * privilege and opens no file.
 */
extern LwSource *lw_source_lookup(Oid relid);

/*
 * The current view of a source, kept by its store: retain it to keep it.
 * One stat when nothing has changed.  Fails as lw_store_follow does and
 * besides with LW_REPLACED (StoreIdMismatch) when the store is not the one that the
 * table remembers; LW_OUTDATED (BelowMinCommit); LW_DENIED (PathLeavesDirectory) when a relative path leads out of lateweave.directory.  Raises nothing.
 */
extern LwStatus lw_source_follow(LwSource *source, LwView **view, LwError *error);

/*
 * The view of a source that was followed last, or if there is none the
 * current one; NULL when that cannot be read.  For estimates: costs no look
 * at the disk where the statement itself will take one.
 */
extern LwView *lw_source_last_view(LwSource *source);

/* Locks the table for reading and checks SELECT for the current user, as SQL would. */
extern void lw_source_check_select(Oid relid);

/* Whether the foreign-data wrapper is lateweave's. */
extern bool lw_is_lateweave_wrapper(Oid fdwid);

/* Values of a table's options, from a list of DefElem, without opening anything; strings point into the list. */
typedef struct LwSourceOptions
{
	const char *store;			/* or NULL */
	const char *store_id;		/* in the database's encoding, or NULL */
	bool		writable;
	bool		has_min_commit;
	uint64		min_commit;
} LwSourceOptions;

/* ERROR HV00D for an unknown option, 22023 for a bad value. */
extern void lw_parse_source_options(List *options, LwSourceOptions *result);

/* Has every definition read again when it is next used. */
extern void lw_source_forget_definitions(void);

/* Forgets stores that no table names any more: a table that is new over such a directory starts afresh. */
extern void lw_source_forget_unused(void);

extern void lw_source_init(void);

#endif							/* LW_SERVER_SOURCE_H */
