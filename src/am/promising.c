/*-------------------------------------------------------------------------
 *
 * promising.c
 *	  The documents of a store in the order of their scores, as far as it is
 *	  known which are promising.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/float.h"

#include "compat.h"
#include "am/promising.h"
#include "section/rank.h"
#include "server/candidates.h"
#include "server/prepared.h"
#include "server/scoring.h"

#define GROWTH 4
#define BLOCK 256				/* documents scored at a time */

/* Past this share of the documents the rest is scored, too. */
#define MOST_DIVISOR 4

/* Keys (section/rank.h) in ascending order. */
typedef struct Keys
{
	uint64	   *keys;
	size_t		count;
	size_t		room;
	size_t		done;
} Keys;

struct LwPromising
{
	const LwScorer *scorer;
	const LwMultivector *query;
	const size_t *ends;
	MemoryContext context;
	uint8	   *scored;			/* a bit a row */
	Keys		waiting;
	Keys		late;			/* better than what had been given when they were scored */
	size_t		candidates;		/* that were asked for */
	size_t		given;
	uint64		last;			/* key of what was given last */
	bool		complete;		/* all are scored */
};

/* Adds a key; they are sorted later. */
static void
add_key(LwPromising *promising, Keys *keys, uint64 key)
{
	if (keys->count == keys->room)
	{
		keys->room = Max(keys->room * 2, 1024);
		keys->keys = keys->keys == NULL ?
			MemoryContextAllocHuge(promising->context, mul_size(keys->room, sizeof(uint64))) :
			repalloc_huge(keys->keys, mul_size(keys->room, sizeof(uint64)));
	}
	keys->keys[keys->count++] = key;
}

/* Forgets the keys that are done, so that others can be added. */
static void
drop_done(Keys *keys)
{
	if (keys->done > 0)
		memmove(keys->keys, keys->keys + keys->done, (keys->count - keys->done) * sizeof(uint64));
	keys->count -= keys->done;
	keys->done = 0;
}

/* Scores what has not been scored of some documents, which lie in file order. */
static size_t
score_places(LwPromising *promising, LwQuery *query, const LwPlace *places, size_t count)
{
	LwPlace		block[BLOCK];
	uint32		ordinals[BLOCK];
	float4		scores[BLOCK];
	size_t		scored = 0;
	size_t		n = 0;
	size_t		i;

	for (i = 0; i <= count; i++)
	{
		if (n == BLOCK || (i == count && n > 0))
		{
			size_t		j;

			lw_score_places(promising->scorer->content.view, query, block, n, -get_float4_infinity(), scores);
			for (j = 0; j < n; j++)
				add_key(promising, &promising->waiting, lw_rank_descending(scores[j], ordinals[j]));
			scored += n;
			n = 0;
		}
		if (i < count)
		{
			size_t		before = places[i].segment == 0 ? 0 : promising->ends[places[i].segment - 1];
			uint32		ordinal = (uint32) (before + places[i].row);

			if (lw_bit(promising->scored, ordinal))
				continue;
			promising->scored[ordinal / 8] |= (uint8) (1 << ordinal % 8);
			block[n] = places[i];
			ordinals[n++] = ordinal;
		}
	}
	return scored;
}

/* Scores what is left of the segments that are not in `skip`, which may be NULL. */
static size_t
score_segments(LwPromising *promising, LwQuery *query, const bool *skip)
{
	LwView	   *view = promising->scorer->content.view;
	LwPlace		places[BLOCK];
	LwPlace		place;
	size_t		scored = 0;
	size_t		count = 0;

	for (place.segment = 0; place.segment < view->manifest.nsegments; place.segment++)
	{
		if (skip != NULL && skip[place.segment])
			continue;
		for (place.row = 0; place.row < view->segments[place.segment]->documents; place.row++)
		{
			if (lw_bit(view->hidden[place.segment], place.row))
				continue;
			places[count++] = place;
			if (count == BLOCK)
			{
				scored += score_places(promising, query, places, count);
				count = 0;
			}
		}
	}
	return scored + score_places(promising, query, places, count);
}

/* Whether so many candidates are worth being found. */
static bool
are_few(const LwView *view, size_t candidates)
{
	return candidates < view->documents / MOST_DIVISOR;
}

/* Scores the candidates that were found, and all documents of which nothing is known. */
static void
score_found(LwPromising *promising, LwQuery *query, LwCandidates *found)
{
	const LwView *view = promising->scorer->content.view;
	size_t		scored = score_places(promising, query, found->places, found->count);

	scored += score_segments(promising, query, found->coded);
	lw_candidates_report(view, scored);
	pfree(found->places);
	pfree(found->coded);
}

LwPromising *
lw_promising_begin(const LwScorer *scorer, const LwMultivector *query, const size_t *ends, size_t candidates)
{
	LwView	   *view = scorer->content.view;
	LwQuery    *prepared = lw_prepare(query->values, query->tokens, query->dimension);
	LwPromising *promising;
	LwCandidates found;

	if (!are_few(view, candidates) || !lw_candidates_find(view, prepared, candidates, &found))
		return NULL;
	promising = palloc0(sizeof(LwPromising));
	promising->scorer = scorer;
	promising->query = query;
	promising->ends = ends;
	promising->context = CurrentMemoryContext;
	promising->scored = palloc0(ends[view->manifest.nsegments - 1] / 8 + 1);
	promising->candidates = candidates;
	lw_stat_scored = scorer->counts;
	lw_stat_scored->scores++;
	score_found(promising, prepared, &found);
	lw_report_kernel_time(view->directory);
	lw_rank_sort(promising->waiting.keys, promising->waiting.count);
	return promising;
}

/* Scores more documents, of which those that come too late are set aside. */
static void
score_more(LwPromising *promising)
{
	LwView	   *view = promising->scorer->content.view;
	LwQuery    *query = lw_prepare(promising->query->values, promising->query->tokens, promising->query->dimension);
	Keys	   *waiting = &promising->waiting;
	LwCandidates found;

	lw_stat_scored = promising->scorer->counts;
	drop_done(waiting);
	promising->candidates *= GROWTH;
	if (are_few(view, promising->candidates) && lw_candidates_find(view, query, promising->candidates, &found))
		score_found(promising, query, &found);
	else
	{
		(void) score_segments(promising, query, NULL);
		promising->complete = true;
	}
	lw_report_kernel_time(view->directory);
	lw_rank_sort(waiting->keys, waiting->count);
	while (waiting->done < waiting->count && waiting->keys[waiting->done] < promising->last)
		add_key(promising, &promising->late, waiting->keys[waiting->done++]);
	if (promising->complete && promising->late.count > 0)
		lw_rank_sort(promising->late.keys, promising->late.count);
}

bool
lw_promising_next(LwPromising *promising, uint32 *ordinal, float4 *score)
{
	Keys	   *keys = &promising->waiting;

	while (!promising->complete && (keys->done == keys->count || promising->given >= promising->candidates / 2))
		score_more(promising);
	if (keys->done == keys->count)
		keys = &promising->late;
	if (keys->done == keys->count)
		return false;
	promising->last = keys->keys[keys->done++];
	promising->given++;
	*ordinal = lw_rank_row(promising->last);
	*score = -lw_rank_value(promising->last);
	return true;
}
