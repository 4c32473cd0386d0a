/*-------------------------------------------------------------------------
 *
 * stage.h
 *	  What the current transaction has changed, store by store.
 *
 * stage.c keeps it and follows subtransactions, stage_bulk.c writes what is too
 * much for memory, change.c takes changes in, commit.c brings them into the
 * store, pending.c shows them to statements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_STAGE_H
#define LW_SERVER_STAGE_H

#include "postgres.h"

#include "lib/ilist.h"

#include "server/change.h"
#include "server/shared.h"
#include "server/source.h"
#include "server/stat.h"
#include "store/changes.h"
#include "store/pending.h"

/* Up to `end` of the changes: made by this command. */
typedef struct LwStageMark
{
	CommandId	command;
	size_t		end;
} LwStageMark;

/* Where the changes of a subtransaction begin. */
typedef struct LwStageLevel
{
	int			level;			/* nesting level of the subtransaction */
	size_t		begin;
	size_t		marks;			/* how many marks there were then */
} LwStageLevel;

/* What a transaction's changes up to `end` make of a view, laid over that or over the layer before. */
typedef struct LwStageLayer
{
	size_t		end;
	LwView	   *view;
} LwStageLayer;

/* Each is of at least twice the bytes of the one over it. */
#define LW_STAGE_LAYERS 48

/* The segments that are written to the pending directory, one at a time. */
typedef struct LwStageBulk
{
	uint64		id;				/* 0: there is no directory */
	char		name[LW_NAME_SIZE];
	LwDirectory directory;		/* open, and so held, once there is one */
	uint64		segments;		/* begun so far */
	bool		open;			/* one is being written: */
	LwSegmentWriter writer;
	struct lwidset_hash *ids; /* hashes of the ids in it */
	CommandId	command;		/* that appended the last of them */
	bool		of_one;			/* and all of them */
	int			lost;			/* one could not be ended, and its documents are in no change: levels there were then, + 1; 0: none */
} LwStageBulk;

typedef struct LwStage
{
	dlist_node	node;
	LwStore    *store;			/* held as long as the stage */
	char	   *path;			/* of its directory */
	Oid			relid;			/* the foreign table that was first used to change it */
	LwStatCounts *counts;		/* its statistics */
	LwManifest	manifest;		/* whose store_id and representation count; a copy */
	LwDirectory directory;		/* open */
	LwSharedStore *shared;		/* or NULL; held as long as the stage */

	LwBuffer	changes;
	LwChangeOrigin origin;		/* of the last append */
	size_t		run;			/* where the last run of appends begins */
	int			nmarks;
	int			marks_room;
	LwStageMark *marks;
	int			nlevels;
	int			levels_room;
	LwStageLevel *levels;

	LwStageBulk bulk;

	bool		heartbeat;
	bool		counted;		/* the shared count of intents was raised */
	bool		written;		/* the intent is there */
	LwIntent	intent;

	/* views of the changes over `view_base`, so that a statement after a few changes more looks at those only */
	LwView	   *view_base;
	int			nlayers;
	LwStageLayer layers[LW_STAGE_LAYERS];
	size_t		least;			/* the fewest bytes of changes since the last layer was made */

	/* what was given last: the changes of commands before `view_command`, InvalidCommandId when that is to be looked up */
	LwView	   *view;
	CommandId	view_command;
} LwStage;

/* The stages of this transaction. */
extern dlist_head lw_stages;

/* The stage of a store, or NULL. */
extern LwStage *lw_stage_find(const LwStore *store);

/*
 * The stage of a source's store, made when there is none.  Follows the store once a
 * transaction, and sees to it that changes which a crash left are settled.
 */
extern LwStage *lw_stage_get(LwSource *source);

/* Has what is added next belong to the current subtransaction and command. */
extern void lw_stage_begin_change(LwStage *stage);

/* After something was added: ERROR when there was no room. */
extern void lw_stage_end_change(LwStage *stage);

/* Cuts the changes off at a record. */
extern void lw_stage_cut(LwStage *stage, size_t size);

/* Adds a document to the changes, or to a file when the last run of appends is too long for memory. */
extern void lw_stage_append(LwStage *stage, LwString id, const float *values, size_t tokens);

/*
 * Ends the segment that is being written, if one is; the changes name it then, before the last run.  ERROR when
 * that fails, and from then on until whoever appended its documents is rolled back: another
 * subtransaction's rollback would have them missing.
 */
extern void lw_stage_end_bulk(LwStage *stage);

/* That ERROR, if it is due. */
extern void lw_stage_check_lost(const LwStage *stage);

/* Gives the segment up that is being written. */
extern void lw_stage_abort_bulk(LwStage *stage);

/* The directory of segments is let go. */
extern void lw_stage_release_bulk(LwStage *stage);

/*
 * Lays the changes of commands before `command` (InvalidCommandId: all) over a view.
 * The stage keeps the result until it gives another; `base` itself when there are none.
 */
extern LwView *lw_stage_view(LwStage *stage, LwView *base, CommandId command);

/* All of them end. */
extern void lw_stages_free(void);

extern void lw_stage_init(void);

#endif							/* LW_SERVER_STAGE_H */
