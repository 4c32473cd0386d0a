/*-------------------------------------------------------------------------
 *
 * screen.c
 *	  The screen of int8 documents, block by block: coarse bounds of all
 *	  pairs of tokens, fine bounds of those left, scores of those left again.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/screen.h"

#include <math.h>
#include <string.h>

#define NORM_LOW 0x1p-40
#define NORM_HIGH 0x1p40
#define ROUNDING 0x1p-24		/* u of screen.h */
#define SPARE (1 + 0x1p-8)

/*
 * Pairs left for a token, on average, up to which they are looked at one by
 * one.  A screen that leaves more is of no use for the block.
 */
#define WORTHWHILE 3

/*
 * Documents at most that go unscreened after one whose screen was of no use:
 * one, and twice as many and one more each time that the next is no better.
 */
#define LONGEST_REST 31

/* A pair that coarse bounds do not rule out, and its fine upper bound. */
typedef struct Pair
{
	uint16_t	token;
	uint16_t	lane;
	float		upper;
} Pair;

/*
 * Splits one lane, a query token, into c and r and finds its bounds; false
 * when its norm is out of range.
 */
static bool
prepare_lane(LwQuery *query, size_t group, int lane)
{
	LwScreen   *screen = query->screen;
	size_t		dimension = query->dimension;
	size_t		place = group * LW_LANES + lane;
	const float *lanes = query->lanes + group * dimension * LW_LANES + lane;
	float	   *vector = screen->vectors + place * dimension;
	int8_t	   *codes = screen->codes + group * screen->stride * LW_LANES + lane * 4;
	double		largest = 0;
	double		squares = 0;
	double		code_squares = 0;
	double		rest_squares = 0;
	double		step;
	double		norm;
	int32_t		sum = 0;
	size_t		i;

	for (i = 0; i < dimension; i++)
	{
		double		value = fabs((double) lanes[i * LW_LANES]);

		vector[i] = lanes[i * LW_LANES];
		largest = value > largest ? value : largest;
		squares += value * value;
	}
	norm = sqrt(squares);
	if (norm > 0 && !(norm >= NORM_LOW && norm <= NORM_HIGH))
		return false;
	step = norm > 0 ? largest / screen->limit : 1;
	for (i = 0; i < screen->stride; i++)
	{
		double		value = i < dimension ? (double) lanes[i * LW_LANES] : 0;
		double		code = rint(value / step);
		double		rest = value - step * code;

		codes[i / 4 * 4 * LW_LANES + i % 4] = (int8_t) code;
		sum += (int32_t) code;
		code_squares += code * code;
		rest_squares += rest * rest;
	}
	screen->starts[place] = -128 * sum;
	screen->coarse[place] = (float) (SPARE *
									 ((sqrt(rest_squares) + (double) (dimension + 4) * ROUNDING * norm) / step +
									  3 * ROUNDING * sqrt(code_squares)));
	screen->fine[place] = (float) (SPARE * (double) (2 * dimension + 8) * ROUNDING * norm);
	if (norm > 0)
		screen->live[group] |= 1U << lane;
	return true;
}

bool
lw_screen_ready(LwQuery *query, const LwScreening *screening)
{
	LwScreen   *screen = query->screen;
	size_t		group;
	int			lane;

	if (screen == NULL)
		return false;
	if (screen->limit != screening->limit)
	{
		screen->limit = screening->limit;
		screen->fit = true;
		screen->rest = 0;
		screen->last_rest = 0;
		for (group = 0; group < query->groups; group++)
		{
			screen->live[group] = 0;
			for (lane = 0; lane < LW_LANES; lane++)
				screen->fit &= prepare_lane(query, group, lane);
		}
	}
	if (screen->rest > 0)
	{
		screen->rest--;
		return false;
	}
	return screen->fit;
}

/* Reads a block of the document's tokens into the screen. */
static void
read_block(LwQuery *query, const LwScreening *screening, bool unit,
		   const int8_t *codes, const float *scales, size_t count)
{
	LwScreen   *screen = query->screen;
	size_t		i;

	screen->following = codes + count * query->dimension;
	screening->shift(codes, query->dimension, count, screen->bytes, screen->stride,
					 screen->squares);
	if (unit)
	{
		screening->unit_factors(screen->squares, count, screen->factors);
		for (i = 0; i < count; i++)
			screen->sizes[i] = screen->squares[i] > 0 ? 1.0f : 0.0f;
	}
	else
	{
		for (i = 0; i < count; i++)
		{
			screen->factors[i] = scales[i];
			screen->sizes[i] = scales[i] * sqrtf((float) screen->squares[i]);
		}
	}
}

/*
 * Lists the pairs that coarse bounds leave of a group's live lanes; returns
 * how many, or more than `room`.  Four tokens at a time, since which of them
 * has a pair is a coin toss that processors foretell badly.
 */
static size_t
list_pairs(uint16_t *can, uint32_t live_lanes, size_t count, Pair *pairs, size_t room)
{
	const uint64_t live = live_lanes * UINT64_C(0x0001000100010001);
	size_t		found = 0;
	size_t		token;

	for (token = count; token % 4 != 0; token++)
		can[token] = 0;
	for (token = 0; token < count; token += 4)
	{
		uint64_t	four = can[token] | (uint64_t) can[token + 1] << 16 |
			(uint64_t) can[token + 2] << 32 | (uint64_t) can[token + 3] << 48;

		for (four &= live; four != 0; four &= four - 1)
		{
			int			bit = __builtin_ctzll(four);

			if (found == room)
				return room + 1;
			pairs[found].token = (uint16_t) (token + bit / LW_LANES);
			pairs[found].lane = (uint16_t) (bit % LW_LANES);
			found++;
		}
	}
	return found;
}

/*
 * Drops the pairs that fine bounds rule out; returns how many are left.  A
 * lane's only pair in the document so far is scored in any case and needs none.
 */
static size_t
keep_pairs(const LwQuery *query, const LwScreening *screening, size_t group,
		   const int8_t *codes, Pair *pairs, size_t count)
{
	const LwScreen *screen = query->screen;
	size_t		dimension = query->dimension;
	const float *vectors = screen->vectors + group * LW_LANES * dimension;
	const float *fine = screen->fine + group * LW_LANES;
	float		best[LW_LANES];
	uint16_t	pairs_of[LW_LANES] = {0};
	size_t		kept = 0;
	size_t		i;

	memcpy(best, query->maxima + group * LW_LANES, sizeof(best));
	for (i = 0; i < count; i++)
		pairs_of[pairs[i].lane]++;
	for (i = 0; i < count; i++)
	{
		size_t		token = pairs[i].token;
		size_t		lane = pairs[i].lane;
		float		value;
		float		margin;
		float		lower;

		pairs[i].upper = INFINITY;
		if (pairs_of[lane] == 1 && best[lane] == -INFINITY)
			continue;
		value = screening->dot(vectors + lane * dimension, codes + token * dimension, dimension) *
			screen->factors[token];
		margin = fine[lane] * screen->sizes[token];
		lower = value - margin;
		pairs[i].upper = value + margin;
		best[lane] = lower > best[lane] ? lower : best[lane];
	}
	for (i = 0; i < count; i++)
	{
		pairs[kept] = pairs[i];
		kept += pairs[i].upper >= best[pairs[i].lane];
	}
	return kept;
}

/*
 * Raises the maxima of a group to the similarities of pairs, as many lanes at
 * once as have one.  A lane without one gets another token of the document,
 * which cannot do harm.
 */
static void
score_pairs(LwQuery *query, const LwScreening *screening, size_t group,
			const int8_t *codes, const Pair *pairs, size_t count)
{
	const int8_t *rows[LW_LANES];
	float		factors[LW_LANES];
	uint32_t	taken = 0;
	size_t		i;
	int			lane;

	for (i = 0; i < count; i++)
	{
		const int8_t *row = codes + pairs[i].token * (size_t) query->dimension;
		float		factor = query->screen->factors[pairs[i].token];

		if (taken >> pairs[i].lane & 1)
		{
			screening->raise_lanes(query, group, rows, factors);
			taken = 0;
		}
		if (taken == 0)
		{
			for (lane = 0; lane < LW_LANES; lane++)
			{
				rows[lane] = row;
				factors[lane] = factor;
			}
		}
		rows[pairs[i].lane] = row;
		factors[pairs[i].lane] = factor;
		taken |= 1U << pairs[i].lane;
	}
	if (taken != 0)
		screening->raise_lanes(query, group, rows, factors);
}

/* Raises the maxima of groups to the similarities of all tokens of the block. */
static void
score_all(LwQuery *query, const LwArithmetic *arithmetic, size_t group,
		  size_t groups, const int8_t *codes, size_t count)
{
	size_t		dimension = query->dimension;
	size_t		done;

	for (done = 0; done < count; done += LW_STEP)
	{
		size_t		step = count - done < LW_STEP ? count - done : LW_STEP;
		size_t		i;

		for (i = 0; i < step; i++)
			arithmetic->widen(codes + (done + i) * dimension, dimension,
							  query->rows + i * dimension);
		arithmetic->raise_maxima(query, group, groups, query->rows,
								 query->screen->factors + done, step);
	}
}

/*
 * Raises the maxima of a group to the similarities of the tokens that can[]
 * and fine bounds leave; false, and nothing done, when the screen is of no use.
 */
static bool
score_left(LwQuery *query, const LwScreening *screening, size_t group,
		   uint16_t *can, const int8_t *codes, size_t count)
{
	Pair		pairs[LW_SCREEN_TOKENS * WORTHWHILE];
	size_t		room = count * WORTHWHILE;
	size_t		found = list_pairs(can, query->screen->live[group], count, pairs, room);

	if (found > room)
		return false;
	found = keep_pairs(query, screening, group, codes, pairs, found);
	score_pairs(query, screening, group, codes, pairs, found);
	return true;
}

/*
 * Raises the maxima of at most LW_SCREEN_GROUPS groups to those of the block;
 * returns for how many of them the screen was of no use.
 */
static size_t
raise_groups(LwQuery *query, const LwArithmetic *arithmetic, size_t group,
			 size_t groups, const int8_t *codes, size_t count)
{
	const LwScreening *screening = arithmetic->screening;
	LwScreen   *screen = query->screen;
	size_t		useless = 0;
	size_t		unscored = 0;	/* groups right before group + i */
	size_t		i;

	screening->bound(screen, group, groups, count);
	for (i = 0; i <= groups; i++)
	{
		if (i < groups && !score_left(query, screening, group + i, screen->can[i], codes, count))
			unscored++;
		else if (unscored > 0)
		{
			score_all(query, arithmetic, group + i - unscored, unscored, codes, count);
			useless += unscored;
			unscored = 0;
		}
	}
	return useless;
}

size_t
lw_screen_document(LwQuery *query, const LwArithmetic *arithmetic, bool unit,
				   const LwDocument *document)
{
	LwScreen   *screen = query->screen;
	size_t		group;
	size_t		first;
	size_t		i;

	/* Zeros are +0 similar to any codes, and no pair is listed for them. */
	for (i = 0; i < query->groups * LW_LANES; i++)
	{
		query->maxima[i] = screen->live[i / LW_LANES] >> i % LW_LANES & 1 ? -INFINITY : 0.0f;
		screen->coarse_best[i] = -INFINITY;
	}
	for (first = 0; first < document->tokens; first += LW_SCREEN_TOKENS)
	{
		const int8_t *codes = (const int8_t *) document->rows + first * query->dimension;
		size_t		left = document->tokens - first;
		size_t		count = left < LW_SCREEN_TOKENS ? left : LW_SCREEN_TOKENS;
		size_t		useless = 0;

		read_block(query, arithmetic->screening, unit, codes, document->scales + first, count);
		for (group = 0; group < query->groups; group += LW_SCREEN_GROUPS)
		{
			size_t		rest = query->groups - group;
			size_t		groups = rest < LW_SCREEN_GROUPS ? rest : LW_SCREEN_GROUPS;

			lw_maxsim_pause();
			useless += raise_groups(query, arithmetic, group, groups, codes, count);
		}
		if (useless > query->groups / 2)
		{
			screen->last_rest = screen->last_rest < LONGEST_REST ? 2 * screen->last_rest + 1 : LONGEST_REST;
			screen->rest = screen->last_rest;
			return first + count;
		}
	}
	screen->last_rest = 0;
	return document->tokens;
}
