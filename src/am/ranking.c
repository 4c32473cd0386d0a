/*-------------------------------------------------------------------------
 *
 * ranking.c
 *	  The documents of a source in the order of their scores, best first.
 *
 * Rows are numbered through all segments ("ordinals"; of a section file its
 * own).  A document's rank is a key of its score and its ordinal
 * (section/rank.h), so that what comes after a document is what has a greater key.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/float.h"
#include "utils/memutils.h"

#include "compat.h"
#include "am/promising.h"
#include "am/ranking.h"
#include "section/chunks.h"
#include "section/rank.h"
#include "server/error.h"
#include "server/prepared.h"
#include "server/scoring.h"

#define FIRST_BATCH 1024			/* as fast to find as ten among many */
#define BATCH_GROWTH 4
#define BLOCK 256				/* documents scored at a time */

struct LwRanking
{
	const LwScorer *scorer;
	const LwMultivector *query;
	MemoryContext context;
	size_t		rows;			/* hidden ones, too */
	size_t	   *ends;			/* of a store: after the last ordinal of each segment */
	StringInfoData id;			/* of a section file: the one that was given last */
	float4	   *scores;			/* [rows]; NULL as long as they are not kept */
	bool		complete;		/* all are scored in full */
	uint64	   *keys;			/* the batch, ascending */
	size_t		room;			/* of the batch; 0 before the first */
	size_t		count;
	size_t		done;
	uint64		last;			/* greatest key of the batches before */
	bool		any;			/* there was one */
	size_t		candidates;		/* to begin with; 0: all documents are scored at once */
	LwPromising *promising;		/* NULL: they are */
};

/* Documents that wait for their scores. */
typedef struct Block
{
	LwPlace		places[BLOCK];
	uint32		ordinals[BLOCK];
	int			count;
} Block;

LwRanking *
lw_ranking_begin(const LwScorer *scorer, const LwMultivector *query, int candidates)
{
	LwRanking  *ranking = palloc0(sizeof(LwRanking));
	LwView	   *view = scorer->content.view;
	LwError		error;
	size_t		i;

	ranking->scorer = scorer;
	ranking->query = query;
	ranking->context = CurrentMemoryContext;
	if (view == NULL)
	{
		ranking->rows = scorer->vectors.slab.rows;
		initStringInfo(&ranking->id);
	}
	else
	{
		error.path[0] = '\0';
		if (lw_view_hidden(view, &error) != LW_OK)
			lw_report(ERROR, &error);
		ranking->candidates = (size_t) candidates;
		ranking->ends = palloc_array(size_t, view->manifest.nsegments + 1);
		for (i = 0; i < view->manifest.nsegments; i++)
			ranking->ends[i] = ranking->rows += view->segments[i]->documents;
	}
	if (ranking->rows > PG_UINT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("\"%s\" has too many documents for an index scan: %zu",
						lw_content_path(scorer->content), ranking->rows)));
	return ranking;
}

/* The score of the worst of the batch; what is less cannot come into it. */
static float4
floor_of(const LwRanking *ranking)
{
	if (ranking->count < ranking->room)
		return -get_float4_infinity();
	return -lw_rank_value(ranking->keys[0]);
}

/* Takes a scored document into account. */
static void
offer(LwRanking *ranking, uint32 ordinal, float4 score)
{
	uint64		key = lw_rank_descending(score, ordinal);

	if (!ranking->any || key > ranking->last)
		lw_rank_offer(ranking->keys, &ranking->count, ranking->room, key);
}

/* Scores a block; what cannot come into the first batch may get -infinity. */
static void
score_block(LwRanking *ranking, LwQuery *query, Block *block, bool in_full)
{
	float4		scores[BLOCK];
	int			i;

	lw_score_places(ranking->scorer->content.view, query, block->places, (size_t) block->count,
					in_full ? -get_float4_infinity() : floor_of(ranking), scores);
	for (i = 0; i < block->count; i++)
	{
		ranking->scores[block->ordinals[i]] = scores[i];
		if (!in_full)
			offer(ranking, block->ordinals[i], scores[i]);
	}
	block->count = 0;
}

/*
 * Scores the documents of a store: all, for the first batch, or in full those that did not need it
 * then.  A hidden row gets a score that is not a number.
 */
static void
score_store(LwRanking *ranking, bool in_full)
{
	LwView	   *view = ranking->scorer->content.view;
	LwQuery    *query = lw_prepare(ranking->query->values, ranking->query->tokens, ranking->query->dimension);
	Block	   *block = palloc(sizeof(Block));
	uint32		ordinal = 0;
	LwPlace		place;

	lw_stat_scored = ranking->scorer->counts;
	lw_stat_scored->scores += !in_full;
	block->count = 0;
	for (place.segment = 0; place.segment < view->manifest.nsegments; place.segment++)
	{
		const uint8_t *hidden = view->hidden[place.segment];

		for (place.row = 0; place.row < view->segments[place.segment]->documents; place.row++, ordinal++)
		{
			if (lw_bit(hidden, place.row))
				ranking->scores[ordinal] = get_float4_nan();
			else if (!in_full || isinf(ranking->scores[ordinal]))
			{
				block->places[block->count] = place;
				block->ordinals[block->count++] = ordinal;
				if (block->count == BLOCK)
					score_block(ranking, query, block, in_full);
			}
		}
	}
	score_block(ranking, query, block, in_full);
	pfree(block);
	lw_report_kernel_time(view->directory);
}

/* Finds the first batch of a section file. */
static void
search_section(LwRanking *ranking)
{
	const LwVectorSlab *slab = &ranking->scorer->vectors.slab;
	LwVectorQuery *query = lw_prepare_normalized(ranking->query->values, ranking->query->dimension);
	LwVectorHit *hits = palloc_array(LwVectorHit, ranking->room);
	LwNearest	nearest;
	instr_time	start;
	size_t		i;

	INSTR_TIME_SET_CURRENT(start);
	lw_nearest_begin(&nearest, hits, ranking->room);
	lw_nearest_scan(&nearest, query, slab, 0, slab->rows);
	ranking->count = lw_nearest_finish(&nearest);
	lw_stat_scored = ranking->scorer->counts;
	lw_stat_scored->scores++;
	lw_count_rows(slab, slab->rows, &start);
	for (i = 0; i < ranking->count; i++)
		ranking->keys[i] = lw_rank_descending(hits[i].score, (uint32) hits[i].row);
	pfree(hits);
}

/* Scores a section file in full. */
static void
score_section(LwRanking *ranking)
{
	const LwVectorSlab *slab = &ranking->scorer->vectors.slab;
	LwVectorQuery *query = lw_prepare_normalized(ranking->query->values, ranking->query->dimension);
	instr_time	start;
	size_t		done;

	INSTR_TIME_SET_CURRENT(start);
	for (done = 0; done < slab->rows; done += BLOCK)
	{
		CHECK_FOR_INTERRUPTS();
		lw_vectors_score(query, slab, done, Min(slab->rows - done, BLOCK), ranking->scores + done);
	}
	lw_stat_scored = ranking->scorer->counts;
	lw_count_rows(slab, slab->rows, &start);
}

/* Makes the first batch. */
static void
first_batch(LwRanking *ranking)
{
	ranking->room = FIRST_BATCH;
	ranking->keys = MemoryContextAlloc(ranking->context, sizeof(uint64) * ranking->room);
	if (ranking->scorer->content.section != NULL)
	{
		search_section(ranking);
		return;
	}
	ranking->scores = MemoryContextAllocHuge(ranking->context, sizeof(float4) * Max(ranking->rows, 1));
	score_store(ranking, false);
}

/* Chooses a batch, one that is not the first, among the scores. */
static void
choose_batch(LwRanking *ranking)
{
	bool		is_section = ranking->scorer->content.section != NULL;
	size_t		ordinal;

	if (!ranking->complete && is_section)
	{
		ranking->scores = MemoryContextAllocHuge(ranking->context, sizeof(float4) * Max(ranking->rows, 1));
		score_section(ranking);
	}
	else if (!ranking->complete)
		score_store(ranking, true);
	ranking->complete = true;

	ranking->room = Min(ranking->room * BATCH_GROWTH, Max(ranking->rows, 1));
	ranking->keys = repalloc_huge(ranking->keys, sizeof(uint64) * ranking->room);
	for (ordinal = 0; ordinal < ranking->rows; ordinal++)
	{
		if (ordinal % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		/* not a number is a hidden row of a store, but in a section file an error for who comes to it */
		if (is_section || !isnan(ranking->scores[ordinal]))
			offer(ranking, (uint32) ordinal, ranking->scores[ordinal]);
	}
}

/* Makes the next batch; false when all has been given. */
static bool
next_batch(LwRanking *ranking)
{
	if (ranking->room == 0)
		first_batch(ranking);
	else
	{
		/* the last one was not full: then it had all that there was */
		if (ranking->count < ranking->room)
			return false;
		ranking->last = ranking->keys[ranking->count - 1];
		ranking->any = true;
		ranking->count = ranking->done = 0;
		choose_batch(ranking);
	}
	lw_rank_sort(ranking->keys, ranking->count);
	return ranking->count > 0;
}

/* The id of a document of a store. */
static LwString
id_in_store(const LwRanking *ranking, size_t ordinal)
{
	const LwView *view = ranking->scorer->content.view;
	size_t		low = 0;
	size_t		high = view->manifest.nsegments - 1;
	LwString	id;

	while (low < high)
	{
		size_t		middle = (low + high) / 2;

		if (ordinal < ranking->ends[middle])
			high = middle;
		else
			low = middle + 1;
	}
	id.data = lw_ids_get(&view->segments[low]->ids, ordinal - (low == 0 ? 0 : ranking->ends[low - 1]), &id.size);
	lw_check_faults(view);
	return id;
}

/* The id of a chunk; false for one that stands once more, which no id names. */
static bool
id_in_section(LwRanking *ranking, size_t ordinal, LwString *id)
{
	LwSection  *section = ranking->scorer->content.section;
	LwBytes		bytes;
	LwPlace		place;
	LwError		error;

	lw_error_path(&error, NULL, section->path);
	if (lw_chunk_id(section->file, ordinal, &bytes, &error) != LW_OK)
		lw_report(ERROR, &error);
	/* finding it may read other ids, which take its place */
	resetStringInfo(&ranking->id);
	appendBinaryStringInfo(&ranking->id, (const char *) bytes.data, (int) bytes.size);
	id->data = ranking->id.data;
	id->size = (size_t) ranking->id.len;
	return lw_section_find_chunk(section, *id, &place) && place.row == ordinal;
}

/* The next document where candidates are asked for, and there are such. */
static bool
next_promising(LwRanking *ranking, LwString *id, float4 *score)
{
	uint32		ordinal;

	if (!lw_promising_next(ranking->promising, &ordinal, score))
		return false;
	*id = id_in_store(ranking, ordinal);
	return true;
}

bool
lw_ranking_next(LwRanking *ranking, LwString *id, float4 *score)
{
	LwSection  *section = ranking->scorer->content.section;

	if (ranking->candidates > 0)
		ranking->promising = lw_promising_begin(ranking->scorer, ranking->query, ranking->ends, ranking->candidates);
	ranking->candidates = 0;
	if (ranking->promising != NULL)
		return next_promising(ranking, id, score);
	for (;;)
	{
		uint64		key;

		CHECK_FOR_INTERRUPTS();
		if (ranking->done == ranking->count && !next_batch(ranking))
			return false;
		key = ranking->keys[ranking->done++];
		*score = -lw_rank_value(key);
		if (section == NULL)
		{
			*id = id_in_store(ranking, lw_rank_row(key));
			return true;
		}
		lw_check_score(section, lw_rank_row(key), *score);
		if (id_in_section(ranking, lw_rank_row(key), id))
			return true;
	}
}
