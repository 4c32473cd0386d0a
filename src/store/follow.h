/*-------------------------------------------------------------------------
 *
 * follow.h
 *	  A store that another process may be writing, and its current view.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_FOLLOW_H
#define LW_STORE_FOLLOW_H

#include "view.h"

/* Which file, and in which state: another one of these differs in something. */
typedef struct LwFileId
{
	dev_t		device;
	ino_t		inode;
	off_t		size;
	struct timespec modified;
	struct timespec changed;
} LwFileId;

extern LwFileId lw_file_id(const struct stat *status);
extern bool lw_same_file(const LwFileId *a, const LwFileId *b);

/* One store directory as this process knows it. */
typedef struct LwStore
{
	dev_t		device;			/* of the directory */
	ino_t		inode;
	uint64_t	serial;			/* of no other store of this process; a new one with another store_id */
	LwView	   *view;			/* the last one that was opened, or NULL */

	/* the manifest file of `view`; open, so that its inode is not used again */
	int			manifest_fd;	/* -1 when there is none */
	LwFileId	manifest_file;
	bool		unsettled;		/* it was so young that a later change could look the same */
	int			holds;			/* of those who want it to stay */
	bool		settled;		/* this process has seen to what a crash left in it */
	bool		was_read;		/* it was parsed here, not taken from lw_manifest_source */
	int			faults;			/* lw_map_faults when the view's maps were last looked at */
	void	   *identity;		/* lw_store_identity's, flat and without segments; malloc'ed, or NULL */
} LwStore;

/*
 * Who may know what the file of a store's manifest says, so that it need not be
 * parsed: false, or a copy.  NULL when there is nobody.  Raises nothing.
 */
typedef bool (*LwManifestSource) (const LwStore *store, const LwFileId *file, LwManifest *manifest);

extern LwManifestSource lw_manifest_source;

/*
 * Who wants to know what this process has published: the store's directory, the file of
 * its manifest, which no other will ever look like, and what it says.  NULL when there is nobody.  Raises nothing.
 */
typedef void (*LwManifestSink) (dev_t device, ino_t inode, const LwFileId *file, const LwManifest *manifest);

extern LwManifestSink lw_manifest_sink;

extern void lw_store_init(LwStore *store, dev_t device, ino_t inode);

/* Which directory lies at a path. LW_MISSING, LW_DENIED, or LW_MALFORMED when it is no directory. */
extern LwStatus lw_store_identify(const char *path, dev_t *device, ino_t *inode, LwError *error);

/*
 * Sets *view to the current view of the store at `path`, which the store
 * keeps (retain it to keep it longer).  One stat when nothing has changed; otherwise the
 * manifest is read again and only what is new is opened.  A file that
 * vanished is looked for in a newer manifest, up to a hundred times.  *moved is
 * set, and nothing else done, when another directory lies at `path` now.
 * On failure the last view stays in place and the next call tries again.
 * LW_REPLACED (StoreReplaced): corpus, encoding or representation is not
 * that of the last view.
 */
extern LwStatus lw_store_follow(LwStore *store, const char *path, LwView **view,
								bool *moved, LwError *error);

/*
 * The manifest as it is now, for the caller to free; the view stays what it was, and no
 * segment is opened.  For who writes and need not look at documents.  *moved as above.
 */
extern LwStatus lw_store_read(LwStore *store, const char *path, LwManifest *manifest,
							  bool *moved, LwError *error);

/*
 * The same without segments, and perhaps as it was at an earlier call: what stays as long as it is
 * the same store.  One stat.
 */
extern LwStatus lw_store_identity(LwStore *store, const char *path, LwManifest *manifest,
								  bool *moved, LwError *error);

/* Forgets the identity, and the view; what is loaded next has nothing to do with them. */
extern void lw_store_forget(LwStore *store);

#endif							/* LW_STORE_FOLLOW_H */
