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
#include "nodes/parsenodes.h"
#include "storage/lockdefs.h"

#include "compat.h"
#include "server/options.h"
#include "server/section.h"
#include "store/follow.h"

/* What is read of a source: of its kind one is set, the other NULL. */
typedef struct LwContent
{
	LwView	   *view;			/* of a store */
	LwSection  *section;
} LwContent;

extern LwContent lw_content_retain(LwContent content);
extern void lw_content_release(LwContent content);

/* The path of the store's directory or of the section file, for messages. */
extern const char *lw_content_path(LwContent content);

/*
 * What a backend knows of one foreign table.  Lives as long as the backend;
 * read anew when the table's definition has changed.
 */
typedef struct LwSource
{
	Oid			relid;			/* hash key */
	bool		valid;			/* what follows is that of the catalog */
	uint64		definition;		/* another number when what follows has changed */
	LwSourceKind kind;
	char	   *option;			/* the path as the option has it */
	char	   *path;			/* absolute */
	char	   *store_id;		/* as lw_string_for_server gives it, or NULL when none is recorded */
	bool		writable;
	LwLimits	limits;
	bool		has_min_commit;
	uint64		min_commit;
	LwStore    *store;			/* the directory last found at `path`, shared by all its tables */
	char	   *space;			/* of a section file: whose vectors are the table's, or NULL */
	char	   *content_hash;	/* what its content must be, or NULL */
	LwSection  *section;		/* the file last found at `path`; holds a reference */
	bool		content_checked;	/* of `section` */
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
 * The current content of a source, kept by it: retain it to keep it.
 * One stat when nothing has changed.  Fails as lw_store_follow and lw_section_open do and
 * besides with LW_REPLACED (StoreIdMismatch, ContentHashMismatch) when it is not what the
 * table remembers; LW_OUTDATED (BelowMinCommit); LW_DENIED (PathLeavesDirectory) when a relative path leads out of lateweave.directory.  Raises nothing.
 */
extern LwStatus lw_source_follow(LwSource *source, LwContent *content, LwError *error);

/*
 * The manifest of a source that is a store, for the caller to free, with the same checks, but without segments and
 * perhaps of an earlier commit: for who writes.  No segment is opened.
 */
extern LwStatus lw_source_identity(LwSource *source, LwManifest *manifest, LwError *error);

/*
 * The content of a source that was followed last, or if there is none the
 * current one; false when that cannot be read.  For estimates: costs no look
 * at the disk where the statement itself will take one.
 */
extern bool lw_source_last_content(LwSource *source, LwContent *content);

/* ERROR 42809: the table is not of the kind that was expected. */
pg_noreturn extern void lw_source_wrong_kind(Oid relid, LwSourceKind expected);

/* Whether a path follows no symbolic link out of lateweave.directory, when its option is relative. */
extern LwStatus lw_source_check_inside(const LwSource *source, LwError *error);

/*
 * Locks a table until the transaction ends and checks that the current user has all of the
 * privileges (ACL_SELECT and so on), as SQL would.
 */
extern void lw_source_check_privileges(Oid relid, LOCKMODE lock, AclMode privileges);

/* The same for what only the table's owner may do. */
extern void lw_source_check_owner(Oid relid, LOCKMODE lock);

/* For reading. */
extern void lw_source_check_select(Oid relid);

/* ERROR 25006 unless the source is a store and its table has the option writable. */
extern void lw_source_check_writable(Oid relid);

/* Whether the foreign-data wrapper is lateweave's. */
extern bool lw_is_lateweave_wrapper(Oid fdwid);

/* Has every definition read again when it is next used. */
extern void lw_source_forget_definitions(void);

/* Forgets stores and section files that no table names any more: a table that is new over such a directory starts afresh. */
extern void lw_source_forget_unused(void);

extern void lw_source_init(void);

#endif							/* LW_SERVER_SOURCE_H */
