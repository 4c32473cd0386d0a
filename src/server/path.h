/*-------------------------------------------------------------------------
 *
 * path.h
 *	  Where a source's files are, and who may say so.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_PATH_H
#define LW_SERVER_PATH_H

#include "postgres.h"

/* The setting lateweave.directory. */
extern char *lw_directory;

/*
 * What is wrong with the text of a path option whatever lies there, as an
 * ERROR: an empty path (22023), and of a relative one an empty, "." or
 * ".." component (42501).
 */
extern void lw_check_path(const char *option, const char *path);

/* The absolute path that an option means (palloc'ed); a relative one lies under lateweave.directory. */
extern char *lw_resolve_path(const char *path);

/*
 * Whether what lies at the absolute path of a relative option is inside
 * lateweave.directory once symbolic links are followed.  True when nothing
 * lies there: opening it will say so.
 */
extern bool lw_path_is_inside(const char *absolute);

/*
 * The absolute path, in its shortest form, of something that is to be made.  ERROR as lw_check_path says, and
 * 42501 when a relative one leads out of lateweave.directory by a symbolic link.
 */
extern char *lw_resolve_new_path(const char *argument, const char *path);

/*
 * The path option of the store that lateweave_create_store has just made, while it attaches it, else NULL: a
 * role may attach what was made for it.
 */
extern const char *lw_path_just_made;

/* ERROR 42501 unless the current user may attach files of the server (also for writing). */
extern void lw_check_attach_privilege(const char *path, bool writable);

/* ERROR 42501 unless the current user may have files of the server written. */
extern void lw_check_write_privilege(const char *path);

#endif							/* LW_SERVER_PATH_H */
