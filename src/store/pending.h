/*-------------------------------------------------------------------------
 *
 * pending.h
 *	  The directory of changes that are on their way into a store.
 *
 * It lies in the store under a name that the format's writers leave alone.  A
 * transaction that is about to commit puts its changes there (an intent);
 * whoever publishes notes which intents the next manifest holds (a round),
 * renames the manifest out of this directory into its place, and drops them.
 * As the next manifest lies here until it is published, whether it is still here says
 * after a crash, for good, whether that happened: a commit of another
 * writer in between changes nothing about it.
 *
 * Plain calls that never raise.  Names of ours:
 *	  intent-N		changes of a transaction that may have committed or not
 *	  committed-N	the same of one that has
 *	  bulk-B		a directory with segments, named by an intent or by nobody yet
 *	  manifest.next, round
 *	  new-...		what is being written
 *	  spare-P		a file that process P keeps for its next intent
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_PENDING_H
#define LW_STORE_PENDING_H

#include "section/bytes.h"
#include "store/files.h"
#include "store/names.h"

/* What the next manifest is called, from the store's directory. */
#define LW_PENDING_MANIFEST LW_PENDING_NAME "/manifest.next"

typedef struct LwIntent
{
	uint64_t	number;			/* its place in the order */
	bool		committed;		/* known to be */
	uint64_t	system;			/* identifier of the cluster */
	uint64_t	transaction;	/* full transaction id */
	uint64_t	lsn;			/* the log holds the transaction id before it */
	uint32_t	timeline;
	bool		heartbeat;		/* wants a commit, whatever it changes */
	uint64_t	bulk;			/* its segments are in bulk-B; 0: it has none */
	LwString	store_id;
	LwBytes		changes;		/* store/changes.h */
	void	   *memory;			/* malloc'ed, of one that was read; both of the above point into it */
} LwIntent;

typedef struct LwIntents
{
	size_t		count;
	size_t		room;
	LwIntent   *intents;		/* malloc'ed, numbers ascending */
} LwIntents;

/* Opens the directory of a store, and makes it when `make` is set; *there is false when there is none. */
extern LwStatus lw_pending_open(LwDirectory store, bool make, LwDirectory *pending, bool *there, LwError *error);

/*
 * Writes an intent, synced, and sets its number: `number`, above those of all whose transactions have
 * committed, or the first after it which is free.  Sets nothing else; store_id and changes are the caller's.
 */
extern LwStatus lw_intent_write(LwDirectory pending, LwIntent *intent, uint64_t number, LwError *error);

/* The numbers that are there, and whether each is known to be committed; reads no file. */
extern LwStatus lw_intents_list(LwDirectory pending, LwIntents *list, LwError *error);
extern void lw_intents_free(LwIntents *list);

/*
 * Reads one of a list; its memory is NULL unless that went well.  LW_MISSING: it is
 * gone by now, under either name.  LW_MALFORMED, PendingDamaged.
 */
extern LwStatus lw_intent_read(LwDirectory pending, LwIntent *intent, LwError *error);

/* Whether it is there, under either name. */
extern bool lw_intent_exists(LwDirectory pending, const LwIntent *intent);

/* Says that it has committed, by another name; durable when the directory is. */
extern LwStatus lw_intent_mark(LwDirectory pending, LwIntent *intent, LwError *error);

/* Removes an intent, and its bulk directory. */
extern LwStatus lw_intent_drop(LwDirectory pending, const LwIntent *intent, LwError *error);

/* The same of one's own whose transaction has not committed. */
extern LwStatus lw_intent_abandon(LwDirectory pending, const LwIntent *intent, LwError *error);

/* Notes, durably, that the manifest which was written as the next one holds these intents. */
extern LwStatus lw_round_write(LwDirectory pending, const LwIntent *const *intents, size_t count, LwError *error);

/*
 * The intents, by number, of a round that was published and has not ended: the manifest, or one that came
 * before it, has them.  None when there is no such round.
 */
extern LwStatus lw_round_published(LwDirectory pending, LwIntents *noted, LwError *error);

/* Ends a round whose manifest is published, durably: drops its intents. */
extern LwStatus lw_round_end(LwDirectory pending, LwError *error);

/*
 * Ends a round that was noted, whoever did: drops its intents when its manifest was
 * published, else removes that.  What lies there unnoted is removed too, bulk
 * directories that nobody is writing included.  Only for who holds the
 * store's lock.
 */
extern LwStatus lw_round_settle(LwDirectory pending, LwError *error);

/* Makes the directory bulk-B for the segments of a transaction; nobody removes it as long as it is open. */
extern LwStatus lw_bulk_make(LwDirectory pending, uint64_t bulk, char name[LW_NAME_SIZE],
							 LwDirectory *directory, LwError *error);

/* Opens one that a record of changes names. */
extern LwStatus lw_bulk_open(LwDirectory pending, LwString name, LwDirectory *directory, LwError *error);

/* Removes it, if there is one. */
extern LwStatus lw_bulk_remove(LwDirectory pending, uint64_t bulk, LwError *error);

#endif							/* LW_STORE_PENDING_H */
