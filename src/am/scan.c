/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Scans in the order of id @# query.
 *
 * First come the rows of the documents, best document first; then, from a walk over
 * the whole index, the rows whose id is no document of the source, at infinity, and
 * at last those without id, at NULL.  So every row comes exactly once: the
 * first part gives the rows whose id is a document, the second leaves these out.
 * A NULL query has the second part only, all of it at NULL.
 *
 * Rows with a long id are rechecked by the server, which computes their distance and puts
 * them where they belong: an entry that has the hash of a document may be of
 * another id.  Such an entry comes with the first document of that hash, which has the least
 * distance that can be its own.
 *
 * A scan sees what its statement has pinned.  It holds no lock and no pin of a page between rows, so
 * only a snapshot keeps it from seeing a row that took the place of a dead one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "catalog/pg_type.h"
#include "pgstat.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "am/index.h"
#include "am/ranking.h"
#include "am/tree.h"
#include "server/idset.h"
#include "server/source.h"
#include "sql/multivector.h"

typedef struct LwIndexScan
{
	MemoryContext context;		/* of one run over the rows, with all that follows */
	bool		started;
	LwMultivector *query;		/* NULL when it is NULL */
	LwScorer	scorer;
	uint64		definition;		/* of the source, when it was pinned */
	MemoryContextCallback release;
	LwRanking  *ranking;		/* NULL when there is no other document */
	lwidset_hash *long_ids;		/* hashes of the documents with long ids so far; NULL: none */
	LwString	id;				/* of the document whose rows come */
	LwKey		key;			/* likewise */
	float8		distance;
	LwWalk		walk;
} LwIndexScan;

IndexScanDesc
lw_index_begin_scan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	LwIndexScan *state = palloc0(sizeof(LwIndexScan));

	state->context = AllocSetContextCreate(CurrentMemoryContext, "lateweave index scan", ALLOCSET_DEFAULT_SIZES);
	if (norderbys > 0)
	{
		scan->xs_orderbyvals = palloc0_array(Datum, norderbys);
		scan->xs_orderbynulls = palloc_array(bool, norderbys);
		memset(scan->xs_orderbynulls, true, sizeof(bool) * norderbys);
	}
	scan->opaque = state;
	return scan;
}

void
lw_index_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	LwIndexScan *state = scan->opaque;

	if (orderbys != NULL && scan->numberOfOrderBys > 0)
		memmove(scan->orderByData, orderbys, sizeof(ScanKeyData) * scan->numberOfOrderBys);
	state->started = false;
	MemoryContextReset(state->context);
}

void
lw_index_end_scan(IndexScanDesc scan)
{
	LwIndexScan *state = scan->opaque;

	MemoryContextDelete(state->context);
	pfree(state);
}

static void
release_content(void *content)
{
	lw_content_release(*(LwContent *) content);
}

/* Pins the source that the query names, and begins with its documents. */
static void
begin_documents(LwIndexScan *state, Datum query, int candidates)
{
	state->query = (LwMultivector *) PG_DETOAST_DATUM_COPY(query);
	lw_scorer_begin_named(&state->scorer, state->query);
	state->definition = lw_source_lookup(state->query->source)->definition;

	/* the pin may go before this scan does */
	lw_content_retain(state->scorer.content);
	state->release.func = release_content;
	state->release.arg = &state->scorer.content;
	MemoryContextRegisterResetCallback(state->context, &state->release);

	state->ranking = lw_ranking_begin(&state->scorer, state->query, candidates);
	lw_walk_begin(&state->walk, NULL, lw_key_end(), lw_key_end());
}

static void
begin(IndexScanDesc scan, LwIndexScan *state)
{
	ScanKey		order = scan->orderByData;
	MemoryContext old;

	if (scan->numberOfOrderBys != 1 || scan->numberOfKeys != 0)
		elog(ERROR, "index \"%s\" can only be scanned in the order of one query",
			 RelationGetRelationName(scan->indexRelation));
	if (!IsMVCCSnapshot(scan->xs_snapshot))
		elog(ERROR, "index \"%s\" can only be scanned with an MVCC snapshot",
			 RelationGetRelationName(scan->indexRelation));
	pgstat_count_index_scan(scan->indexRelation);

	state->query = NULL;
	state->ranking = NULL;
	state->long_ids = NULL;
	old = MemoryContextSwitchTo(state->context);
	if (order->sk_flags & SK_ISNULL)
		lw_walk_begin(&state->walk, scan->indexRelation, lw_key_first(0), lw_key_end());
	else
		begin_documents(state, order->sk_argument, lw_index_candidates(scan->indexRelation));
	MemoryContextSwitchTo(old);
	state->started = true;
}

/* Remembers that the rows of a long id have come; false when those of its hash had come before. */
static bool
is_first_of_hash(LwIndexScan *state, uint64 hash)
{
	LwIdKey		key = {hash, 0};
	bool		found;

	if (state->long_ids == NULL)
		state->long_ids = lwidset_create(state->context, 64, NULL);
	lwidset_insert(state->long_ids, key, &found);
	return !found;
}

/* Goes on to the rows of the next document; after the last to all rows. */
static void
next_document(IndexScanDesc scan, LwIndexScan *state)
{
	float4		score;
	MemoryContext old = MemoryContextSwitchTo(state->context);

	do
	{
		if (!lw_ranking_next(state->ranking, &state->id, &score))
		{
			state->ranking = NULL;
			lw_walk_begin(&state->walk, scan->indexRelation, lw_key_first(0), lw_key_end());
			MemoryContextSwitchTo(old);
			return;
		}
		state->key = lw_id_to_key(state->id);
	} while (state->key.size == LW_ID_LONG && !is_first_of_hash(state, state->key.hash));
	MemoryContextSwitchTo(old);
	state->distance = -(float8) score;
	lw_walk_begin(&state->walk, scan->indexRelation,
				  lw_key_first(state->key.hash), lw_key_first(state->key.hash + 1));
}

/* Whether an entry is of a document, whose rows have come. */
static bool
has_come(const LwIndexScan *state, const LwEntry *entry)
{
	if (entry->key.size == LW_ID_LONG)
	{
		LwIdKey		key = {entry->key.hash, 0};

		return state->long_ids != NULL && lwidset_lookup(state->long_ids, key) != NULL;
	}
	else
	{
		LwString	id = {entry->id, lw_key_id_size(&entry->key)};
		LwPlace		place;

		return lw_scorer_find(&state->scorer, id, &place);
	}
}

/* Has the server get the row of an entry. */
static void
give(IndexScanDesc scan, const LwEntry *entry, float8 distance, bool is_null)
{
	const LwIndexScan *state = scan->opaque;
	bool		recheck = !is_null && entry->key.size == LW_ID_LONG;
	Oid			type = FLOAT8OID;
	IndexOrderByDistance order = {distance, is_null};

	/* the server would compute the distance from what the source is now */
	if (recheck && lw_source_lookup(state->query->source)->definition != state->definition)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" was altered while an index scan ranks its documents",
						get_rel_name(state->query->source))));
	ItemPointerSet(&scan->xs_heaptid, entry->key.block, entry->key.offset);
	scan->xs_recheck = false;
	index_store_float8_orderby_distances(scan, &type, &order, recheck);
}

bool
lw_index_next(IndexScanDesc scan, ScanDirection direction)
{
	LwIndexScan *state = scan->opaque;

	Assert(ScanDirectionIsForward(direction));
	if (!state->started)
		begin(scan, state);
	for (;;)
	{
		const LwEntry *entry = lw_walk_next(&state->walk);

		if (entry == NULL)
		{
			if (state->ranking == NULL)
				return false;
			next_document(scan, state);
		}
		else if (state->ranking != NULL)
		{
			if (!lw_entry_matches(entry, &state->key, state->id))
				continue;
			give(scan, entry, state->distance, false);
			return true;
		}
		else if (state->query == NULL || entry->key.size == LW_ID_NULL)
		{
			give(scan, entry, 0, true);
			return true;
		}
		else if (!has_come(state, entry))
		{
			give(scan, entry, get_float8_infinity(), false);
			return true;
		}
	}
}
