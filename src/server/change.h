/*-------------------------------------------------------------------------
 *
 * change.h
 *	  Changes of vector stores that belong to the current transaction.
 *
 * What is staged here is seen by later commands of the transaction, dropped by
 * ROLLBACK and ROLLBACK TO SAVEPOINT as far as they cover it, and published after
 * COMMIT.  Privileges and locks are the caller's business.  All of these
 * raise their errors.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_CHANGE_H
#define LW_SERVER_CHANGE_H

#include "postgres.h"

#include "server/source.h"

/* What becomes a segment of its own when the transaction is published alone. */
typedef enum LwChangeOrigin
{
	LW_CHANGE_ROWS,				/* all row changes of the transaction together: INSERT, COPY, triggers */
	LW_CHANGE_CALL				/* each one: lateweave_append */
} LwChangeOrigin;

/* The changes that one statement (or one firing of a row trigger) makes to one store. */
typedef struct LwChange LwChange;

/*
 * Begins.  Memory is that of the current context, where the result lives.
 * ERROR 25006: the store is not writable, is a section file, or the
 * transaction is read-only or a standby's; 55000: no store_id is recorded, or
 * another store lies there, or undecided changes are pending; 55006: changes of
 * another server are pending.  Costs next to nothing when repeated.
 */
extern LwChange *lw_change_begin(Oid relid, LwChangeOrigin origin);

/* The refusals of lw_change_begin that need no look at the store. */
extern void lw_change_check(const LwSource *source);

/* What documents of the store have to be; valid until lw_change_end. */
extern const LwManifest *lw_change_manifest(const LwChange *change);

/*
 * Appends a document of tokens x dimension values, row-major; the newest of an id counts.
 * ERROR 21000 when this LwChange has appended the id already (another message than
 * the caller can better), 22000 for a wrong dimension, NaN, infinity, no tokens or rows
 * that are not normalized where they must be; 54000 past a limit.
 */
extern void lw_change_append(LwChange *change, const char *id, size_t size,
							 const float *values, size_t tokens, uint64 dimension);

/* Deletes a document if it is present. */
extern void lw_change_remove(LwChange *change, const char *id, size_t size);

/* The same, where it matters: returns whether it was present, its own and earlier changes included; the first look costs in proportion to what is staged. */
extern bool lw_change_delete(LwChange *change, const char *id, size_t size);

/* Whether the document is present, its own and earlier changes included. */
extern bool lw_change_holds(LwChange *change, const char *id, size_t size);

/* Deletes every document that is present when the transaction is published. */
extern void lw_change_truncate(LwChange *change);

extern void lw_change_end(LwChange *change);

/* Has COMMIT publish: what is pending, or else an empty commit, which moves committed_at. */
extern void lw_change_commit(Oid relid);

/* Whether the transaction has changed the table's store: what publishes by itself is then refused with 55000. */
extern bool lw_change_is_staged(Oid relid);

/* The directory of a store that the transaction has made: it is removed if the transaction does not commit. */
extern void lw_change_created(const char *path);

/*
 * The store that the transaction drops: when it has committed, the store's own files
 * and then the directory are removed, as far as nothing else is in it.
 */
extern void lw_change_dropped(const char *path, const char *store_id);

/* Registers the callbacks. */
extern void lw_change_init(void);

#endif							/* LW_SERVER_CHANGE_H */
