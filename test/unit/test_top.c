/*-------------------------------------------------------------------------
 *
 * test_top.c
 *	  The best k as far as scores tell: all that may be among them, and no more
 *	  than is needed, whatever the order and however many are equal.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "store/top.h"
#include "unit.h"

#define MOST 3000

static LwPlace places[MOST];
static float scores[MOST];
static float sorted[MOST];

static int
compare(const void *a, const void *b)
{
	return lw_compare_scores(*(const float *) a, *(const float *) b);
}

/* Scores of `kinds` values, zeros of both signs and infinities among them. */
static void
make_scores(size_t count, uint32_t kinds)
{
	static const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY};
	size_t		i;

	for (i = 0; i < count; i++)
	{
		uint32_t	kind = random_below(kinds + 4);

		scores[i] = kind < 4 ? special[kind] : (float) kind - (float) kinds / 2;
		places[i].segment = random_below(5);
		places[i].row = i;
	}
	memcpy(sorted, scores, count * sizeof(float));
	qsort(sorted, count, sizeof(float), compare);
}

/* Offers all in blocks and compares what is kept with the sorted scores. */
static void
check_case(size_t count, uint64_t k, uint32_t kinds)
{
	LwTop	   *top = malloc(lw_top_size(k));
	bool	   *kept = calloc(count + 1, sizeof(bool));
	size_t		block = 1 + random_below(256);
	size_t		wanted = count;
	size_t		done;
	size_t		i;

	make_scores(count, kinds);
	memset(top, 0xff, lw_top_size(k));
	lw_top_init(top, k);
	CHECK(lw_top_floor(top) == -INFINITY, "an empty one has no floor");
	for (done = 0; done < count; done += block)
	{
		size_t		n = count - done < block ? count - done : block;

		CHECK(lw_top_fits(top, n), "%zu of %zu", done, count);
		lw_top_offer(top, places + done, scores + done, n);
	}
	if (count > k)
	{
		CHECK(lw_compare_scores(lw_top_floor(top), sorted[k - 1]) == 0, "the floor is the score of rank k");
		for (wanted = k; wanted < count && lw_compare_scores(sorted[wanted], sorted[k - 1]) == 0; wanted++)
			;
	}
	CHECK(top->count == wanted, "%zu kept, not %zu, of %zu and k %zu", (size_t) top->count, wanted, count, (size_t) k);
	for (i = 0; i < top->count; i++)
	{
		LwScored	found = top->found[i];

		CHECK(found.row < count && !kept[found.row], "row %zu comes once", (size_t) found.row);
		kept[found.row] = true;
		CHECK(found.segment == places[found.row].segment && lw_compare_scores(found.score, scores[found.row]) == 0,
			  "with what was offered");
		CHECK(lw_compare_scores(found.score, sorted[wanted - 1]) <= 0, "it may be among the best");
	}
	free(kept);
	free(top);
}

/* What does not fit, to the last one. */
static void
check_full(void)
{
	LwTop	   *top = malloc(lw_top_size(2));
	float		equal[100];
	size_t		offered = 0;
	size_t		i;

	for (i = 0; i < 100; i++)
		equal[i] = 1;
	lw_top_init(top, 2);
	for (; offered < 2 * LW_TOP_TIES && lw_top_fits(top, 100); offered += 100)
		lw_top_offer(top, places, equal, 100);
	CHECK(offered == (LW_TOP_TIES + 2) / 100 * 100, "%zu equal ones have room", offered);
	CHECK(top->count == offered, "all are kept");
	CHECK(lw_top_fits(top, (LW_TOP_TIES + 2) % 100), "up to the last");
	lw_top_offer(top, places, equal, (LW_TOP_TIES + 2) % 100);
	CHECK(!lw_top_fits(top, 1), "and not one more");
	CHECK(lw_top_floor(top) == 1, "the floor is theirs");
	free(top);
}

int
main(void)
{
	int			i;

	for (i = 0; i < 2000; i++)
	{
		static const uint32_t kinds[] = {1, 3, 20, 1000000};
		size_t		count = random_below(random_below(4) == 0 ? MOST : 40);

		check_case(count, 1 + random_below(random_below(2) ? 10 : MOST), kinds[random_below(4)]);
	}
	check_full();
	return unit_done("test_top");
}
