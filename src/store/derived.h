/*-------------------------------------------------------------------------
 *
 * derived.h
 *	  Files of what every session would otherwise compute for itself.
 *
 * A derived file belongs to files of a source, by their identity, so that
 * whatever replaces one of these has another derived file.  It is a cache:
 * every loss of it, and every damage, costs time and nothing else.  It is
 * written under another name and renamed, mapped read-only, and its bytes are
 * checked block by block when this process first touches them, since to check all
 * would take longer than the first query may.  What was checked may still change,
 * so whoever reads it stays within bounds whatever the bytes say.
 *
 * Nothing here fails for want of a derived file: callers then compute.
 *
 * What was trained is no cache: to train again is somebody's decision, and
 * takes long.  Its file has this form, too, but belongs to a store_id and to no
 * files, lies in a directory of its own, and is removed only when it is asked for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_DERIVED_H
#define LW_STORE_DERIVED_H

#include "map.h"
#include "section/stop.h"

/* Sources of fewer documents or chunks have none: computing takes no longer than opening one. */
#define LW_DERIVED_DOCUMENTS 1000

/* Bytes that are checked together. */
#define LW_DERIVED_BLOCK 8192

#define LW_DERIVED_FILES 4
#define LW_DERIVED_PARTS 4
#define LW_DERIVED_VALUES 4

/* Set by who runs the process. */
typedef struct LwDerivedSettings
{
	const char *directory;		/* absolute; NULL: no derived files are read or written */
	const char *trained;		/* the same for what was trained */
	mode_t		directory_mode; /* of these and the one they lie in, should they have to be made */
	mode_t		file_mode;
	const LwStop *stop;			/* asked while another process is waited for; may be NULL */
	bool		passive;		/* while it is set, none is made and nobody waited for */
} LwDerivedSettings;

extern LwDerivedSettings lw_derived_settings;

typedef enum LwDerivedKind
{
	LW_DERIVED_SEGMENT,			/* ids of a segment of a store */
	LW_DERIVED_CHUNKS,			/* ids of a section file's chunks */
	LW_DERIVED_CHECKS,			/* what was checked in a section file */
	LW_DERIVED_CODES,			/* centroids of a segment's documents */
	LW_DERIVED_TRAINED,			/* the centroids of a store */
	LW_DERIVED_KINDS
} LwDerivedKind;

typedef struct LwFileIdentity
{
	uint64_t	device;
	uint64_t	inode;
	uint64_t	size;
	int64_t		mtime;			/* in ns */
} LwFileIdentity;

/* What a derived file is known by.  Without padding, so that keys can be compared as bytes. */
typedef struct LwDerivedKey
{
	uint64_t	kind;
	uint64_t	segment;		/* of a store, and its store_id as two hashes */
	uint64_t	store[2];
	uint64_t	nfiles;
	LwFileIdentity files[LW_DERIVED_FILES];
} LwDerivedKey;

extern void lw_derived_key(LwDerivedKey *key, LwDerivedKind kind, uint64_t segment, const char *store_id, size_t size);

extern void lw_derived_key_add(LwDerivedKey *key, const struct stat *status);

/*
 * Whether every file is as old as it must be for a later change to leave
 * another time: else there must be no derived file.  With `wait` it waits for
 * that, some 20 ms; what goes into the derived file is to be read afterwards.
 */
extern bool lw_derived_settled(const LwDerivedKey *key, bool wait);

typedef struct LwDerivedPart
{
	const char *data;
	size_t		size;
} LwDerivedPart;

/* A derived file that is mapped. */
typedef struct LwDerived
{
	LwMap	   *map;
	uint64_t	values[LW_DERIVED_VALUES];	/* as they were given to lw_derived_finish */
	LwDerivedPart parts[LW_DERIVED_PARTS];	/* each begins a page; unchecked until lw_derived_touch */
	size_t		data_at;		/* where the blocks begin */
	uint8_t    *checked;		/* a bit a block */
	LwFileIdentity owner;		/* key.files[0], and where it lies; zeros when it belongs to no file */
	char	   *owner_path;
	LwFileIdentity identity;	/* of the derived file */
} LwDerived;

/* The identity of the derived file of a key as it is now; false when there is none. */
extern bool lw_derived_stat(const LwDerivedKey *key, LwFileIdentity *identity);

/* The derived file of a key, or NULL when there is none that is whole, as far as its header says. */
extern LwDerived *lw_derived_open(const LwDerivedKey *key);

/* Unmaps it, and removes the file when that to which it belongs is gone. */
extern void lw_derived_close(LwDerived *file);

/* Whether `size` bytes at `data`, which lie in one of the parts, are as they were written. */
extern bool lw_derived_touch(LwDerived *file, const void *data, size_t size);

/* Removes a file that is damaged, but not another that took its place; the map stays. */
extern void lw_derived_discard(const LwDerived *file);

typedef struct LwDerivedBuild LwDerivedBuild;

/*
 * Takes the right to write the derived file of a key, waiting for the process
 * that has it when `wait` is set; afterwards look once more whether there is
 * one.  *build is NULL when it cannot be had: the directory is not writable,
 * for one.  `path` is where key->files[0] lies, or for what was trained the
 * store.  LW_CANCELLED at worst.
 */
extern LwStatus lw_derived_begin(const LwDerivedKey *key, const char *path, bool wait,
								 LwDerivedBuild **build, LwError *error);

/* Writes the file, durably if it was trained, and opens it; NULL when that fails.  Frees the build, as the next does. */
extern LwDerived *lw_derived_finish(LwDerivedBuild *build, const uint64_t values[LW_DERIVED_VALUES],
									const LwDerivedPart parts[LW_DERIVED_PARTS]);
extern void lw_derived_abandon(LwDerivedBuild *build);

/* Bytes of a file with parts of these sizes. */
extern uint64_t lw_derived_size(const uint64_t sizes[LW_DERIVED_PARTS]);

extern void lw_derived_remove(const LwDerivedKey *key);

/*
 * Removes derived files whose files are gone, and what processes that died
 * have left, unless this process did so less than so many seconds ago.
 */
extern void lw_derived_sweep(int seconds);

#endif							/* LW_STORE_DERIVED_H */
