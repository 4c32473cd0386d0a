/*-------------------------------------------------------------------------
 *
 * rank.c
 *	  Sorting keys, and the least of many.
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "section/rank.h"

#define ST_SORT sort_keys
#define ST_ELEMENT_TYPE uint64_t
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

void
lw_rank_sort(uint64_t *keys, size_t count)
{
	sort_keys(keys, count);
}

/* Puts a key into the heap of the first `count`, the greatest on top, from `place` downwards. */
static void
sink(uint64_t *keys, size_t count, size_t place, uint64_t key)
{
	size_t		child;

	while ((child = 2 * place + 1) < count)
	{
		if (child + 1 < count && keys[child] < keys[child + 1])
			child++;
		if (keys[child] <= key)
			break;
		keys[place] = keys[child];
		place = child;
	}
	keys[place] = key;
}

void
lw_rank_offer(uint64_t *keys, size_t *count, size_t limit, uint64_t key)
{
	size_t		place;

	if (*count == limit)
	{
		if (key < keys[0])
			sink(keys, limit, 0, key);
		return;
	}
	for (place = (*count)++; place > 0 && keys[(place - 1) / 2] < key; place = (place - 1) / 2)
		keys[place] = keys[(place - 1) / 2];
	keys[place] = key;
}
