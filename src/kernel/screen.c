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

#define NORM_LOW 0x1p-40
#define NORM_HIGH 0x1p40
#define ROUNDING 0x1p-24		/* u of screen.h */
#define SPARE (1 + 0x1p-8)
#define FINER 128				/* s / s' */

/*
 * Pairs left for a token, on average, up to which they are looked at one by
 * one.  A screen that leaves more is of no use for the block.
 */
#define WORTHWHILE 3

/* Documents at most that something rests for: 1, 3, 7, 15, 31. */
#define LONGEST_REST 31

/*
 * The smallest s for which the codes of a lane are as small as sums in 16 bits
 * need them; 127 and 251 leave room for rounding.
 */
static double
run_step(const float *lanes, size_t dimension)
{
	double		step = 0;
	double		halves[2] = {0, 0};
	size_t		i;

	for (i = 0; i < dimension; i += 2)
	{
		double		two = fabs((double) lanes[i * LW_LANES]);

		if (i + 1 < dimension)
			two += fabs((double) lanes[(i + 1) * LW_LANES]);
		if (i % LW_SCREEN_RUN == 0)
			halves[0] = halves[1] = 0;
		halves[i / 2 % 2] += two;
		step = fmax(step, fmax(two / 127, halves[i / 2 % 2] / 251));
	}
	return step;
}

/*
 * Splits one lane, a query token, into c, c' and r and finds its bounds; false
 * when its norm is out of range.
 */
static bool
prepare_lane(LwQuery *query, size_t group, int lane)
{
	LwScreen   *screen = query->screen;
	size_t		dimension = query->dimension;
	size_t		stride = screen->stride;
	size_t		place = group * LW_LANES + lane;
	const float *lanes = query->lanes + group * dimension * LW_LANES + lane;
	int8_t	   *codes = screen->codes + group * stride * LW_LANES + lane * 4;
	int8_t	   *rests = screen->rests + place * stride;
	int16_t    *run_starts = screen->run_starts + (group * stride / LW_SCREEN_RUN * LW_LANES + lane) * 2;
	double		largest = 0;
	double		squares = 0;
	double		code_squares = 0;
	double		rest_squares = 0;
	double		coarse_squares = 0;
	double		fine_squares = 0;
	double		coarse;
	double		step;
	double		norm;
	double		rounding;
	int32_t		code_sum = 0;
	int32_t		rest_sum = 0;
	size_t		i;

	for (i = 0; i < dimension; i++)
	{
		double		value = fabs((double) lanes[i * LW_LANES]);

		largest = fmax(largest, value);
		squares += value * value;
	}
	norm = sqrt(squares);
	if (norm > 0 && !(norm >= NORM_LOW && norm <= NORM_HIGH))
		return false;
	step = largest / screen->prepared->limit;
	if (screen->prepared->runs)
		step = fmax(step, run_step(lanes, dimension));
	if (norm == 0)
		step = 1;
	for (i = 0; i < stride; i++)
	{
		double		value = i < dimension ? (double) lanes[i * LW_LANES] : 0;
		double		code = rint(value / step);
		double		left = value - step * code;
		double		rest = rint(left / step * FINER);
		int16_t    *half = run_starts + i / LW_SCREEN_RUN * LW_LANES * 2 + i / 2 % 2;

		codes[i / 4 * 4 * LW_LANES + i % 4] = (int8_t) code;
		rests[i] = (int8_t) rest;
		if (i % LW_SCREEN_RUN == 0)
			half[0] = half[1] = 0;
		*half = (int16_t) (*half - 128 * (int) code);
		code_sum += (int32_t) code;
		rest_sum += (int32_t) rest;
		code_squares += code * code;
		rest_squares += rest * rest;
		coarse_squares += left * left;
		left -= step / FINER * rest;
		fine_squares += left * left;
	}
	rounding = (double) (dimension + 4) * ROUNDING * norm;
	coarse = SPARE * ((sqrt(coarse_squares) + rounding) / step + 3 * ROUNDING * sqrt(code_squares));
	screen->starts[place] = -128 * code_sum;
	screen->rest_starts[place] = -128 * rest_sum;
	screen->steps[place] = (float) step;
	screen->coarse[place] = (float) coarse;
	screen->fine[place] = (float) (SPARE * ((sqrt(fine_squares) + rounding) / step +
											6 * ROUNDING * (sqrt(code_squares) + coarse + sqrt(rest_squares) / FINER)));
	if (norm > 0)
		screen->live[group] |= 1U << lane;
	return true;
}

static bool
resting(LwRest *rest)
{
	if (rest->left == 0)
		return false;
	rest->left--;
	return true;
}

static void
begin_rest(LwRest *rest)
{
	rest->last = rest->last < LONGEST_REST ? 2 * rest->last + 1 : LONGEST_REST;
	rest->left = rest->last;
}

bool
lw_screen_ready(LwQuery *query, const LwScreening *screening)
{
	LwScreen   *screen = query->screen;
	size_t		group;
	int			lane;

	if (screen == NULL)
		return false;
	if (screen->prepared != screening)
	{
		screen->prepared = screening;
		screen->fit = true;
		screen->screens = screen->floors = (LwRest) {0, 0};
		for (group = 0; group < query->groups; group++)
		{
			screen->live[group] = 0;
			for (lane = 0; lane < LW_LANES; lane++)
				screen->fit &= prepare_lane(query, group, lane);
		}
	}
	return screen->fit && !resting(&screen->screens);
}

/* Reads a block of the document's tokens into the screen. */
static void
read_block(LwQuery *query, const LwScreening *screening, bool unit,
		   const LwDocument *document, size_t first, size_t count)
{
	LwScreen   *screen = query->screen;
	const int8_t *codes = (const int8_t *) document->rows + first * query->dimension;
	const float *scales = document->scales + first;
	size_t		i;

	screen->following = codes + count * query->dimension;
	if (first + count == document->tokens && query->next != NULL)
		screen->following = (const int8_t *) query->next;
	screening->shift(codes, query->dimension, count, screen->bytes, screen->stride,
					 screen->squares);
	if (unit)
		screening->unit_factors(screen->squares, count, screen->factors, screen->sizes);
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
 * Lists the pairs that coarse bounds leave of a group's live lanes; returns how
 * many, or more than `room`.  Four tokens at a time, since which of them has a
 * pair is a coin toss that processors foretell badly.
 */
static size_t
list_pairs(uint16_t *can, uint32_t live_lanes, size_t count, LwPair *pairs, size_t room)
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

/* Finds fine bounds of a group's pairs and drops those that they rule out; returns how many are left. */
static size_t
keep_pairs(LwScreen *screen, const LwScreening *screening, size_t group,
		   const float *upper, LwPair *pairs, size_t count)
{
	const float *coarse = screen->coarse + group * LW_LANES;
	const float *fine = screen->fine + group * LW_LANES;
	float	   *best = screen->fine_best + group * LW_LANES;
	float		bounds[LW_SCREEN_TOKENS * WORTHWHILE];
	int32_t		dots[LW_SCREEN_TOKENS * WORTHWHILE];
	size_t		kept = 0;
	size_t		i;

	screening->dots(screen, group, pairs, count, dots);
	for (i = 0; i < count; i++)
	{
		size_t		token = pairs[i].token;
		size_t		lane = pairs[i].lane;
		float		size = screen->sizes[token];
		float		product = upper[token * LW_LANES + lane] - coarse[lane] * size;
		float		value = product + (float) dots[i] * screen->factors[token] * (1.0f / FINER);
		float		margin = fine[lane] * size;
		float		lower = value - margin;

		bounds[i] = value + margin;
		best[lane] = lower > best[lane] ? lower : best[lane];
	}
	for (i = 0; i < count; i++)
	{
		pairs[kept] = pairs[i];
		kept += bounds[i] >= best[pairs[i].lane];
	}
	return kept;
}

/* What is left to score of a group: pairs, in the order of the tokens. */
typedef struct Left
{
	LwPair		pairs[LW_SCREEN_TOKENS * WORTHWHILE];
	size_t		count;
	size_t		done;
} Left;

/*
 * Raises the maxima of groups to the similarities of pairs, as many lanes at
 * once as have one.  A lane without one gets the first token of the block,
 * which cannot do harm.
 */
static void
score_pairs(LwQuery *query, const LwScreening *screening, size_t group, size_t groups,
			const int8_t *codes, Left left[LW_SCREEN_GROUPS])
{
	const LwScreen *screen = query->screen;
	bool		more;

	do
	{
		const int8_t *rows[LW_SCREEN_GROUPS * LW_LANES];
		float		factors[LW_SCREEN_GROUPS * LW_LANES];
		size_t		i;

		more = false;
		for (i = 0; i < groups * LW_LANES; i++)
		{
			rows[i] = codes;
			factors[i] = screen->factors[0];
		}
		for (i = 0; i < groups; i++)
		{
			uint32_t	taken = 0;

			for (; left[i].done < left[i].count; left[i].done++)
			{
				LwPair		pair = left[i].pairs[left[i].done];

				if (taken >> pair.lane & 1)
					break;
				taken |= 1U << pair.lane;
				rows[i * LW_LANES + pair.lane] = codes + pair.token * (size_t) query->dimension;
				factors[i * LW_LANES + pair.lane] = screen->factors[pair.token];
			}
			more |= left[i].done < left[i].count;
		}
		screening->raise_lanes(query, group, groups, rows, factors);
	} while (more);
}

/* Raises the maxima of groups to the similarities of all tokens of the block. */
static void
score_all(LwQuery *query, const LwArithmetic *arithmetic, size_t group, size_t groups,
		  const int8_t *codes, size_t count)
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
 * Raises the maxima of groups that are bounded to those of the block; returns for how many of
 * them the screen was of no use.
 */
static size_t
raise_groups(LwQuery *query, const LwArithmetic *arithmetic, size_t group, size_t groups,
			 const int8_t *codes, size_t count)
{
	const LwScreening *screening = arithmetic->screening;
	LwScreen   *screen = query->screen;
	size_t		room = count * WORTHWHILE;
	Left		left[LW_SCREEN_GROUPS];
	size_t		useless = 0;
	size_t		i;

	for (i = 0; i < groups; i++)
	{
		left[i].done = 0;
		left[i].count = list_pairs(screen->can[i], screen->live[group + i], count,
								   left[i].pairs, room);
		useless += left[i].count > room;
	}
	if (useless == groups)
	{
		score_all(query, arithmetic, group, groups, codes, count);
		return useless;
	}
	for (i = 0; i < groups; i++)
	{
		if (left[i].count > room)
		{
			score_all(query, arithmetic, group + i, 1, codes, count);
			left[i].count = 0;
		}
		else
			left[i].count = keep_pairs(screen, screening, group + i,
									   screen->upper + i * LW_SCREEN_TOKENS * LW_LANES,
									   left[i].pairs, left[i].count);
	}
	score_pairs(query, screening, group, groups, codes, left);
	return useless;
}

/* Bounds groups of the block, also from above when asked for. */
static void
bound_groups(LwQuery *query, const LwScreening *screening, size_t group, size_t groups,
			 size_t count, bool above)
{
	LwScreen   *screen = query->screen;
	size_t		i;

	lw_maxsim_pause();
	screening->bound(screen, group, groups, count);
	for (i = 0; above && i < groups; i++)
		screening->raise_highest(screen->upper + i * LW_SCREEN_TOKENS * LW_LANES, count,
								 screen->highest + (group + i) * LW_LANES);
}

/* Whether the document's score is less than `floor`, by bounds of all its tokens. */
static bool
is_below(const LwQuery *query, float floor)
{
	const LwScreen *screen = query->screen;
	double		sum = 0;
	double		magnitude = 0;
	size_t		lane;

	for (lane = 0; lane < query->tokens; lane++)
	{
		double		most = (double) screen->highest[lane] * (double) screen->steps[lane];
		double		least = (double) screen->coarse_best[lane] * (double) screen->steps[lane];

		if ((screen->live[lane / LW_LANES] >> lane % LW_LANES & 1) == 0)
			continue;
		sum += most;
		magnitude += fmax(fabs(most), fabs(least));
	}
	return sum + ((double) query->tokens + 8) * 2 * ROUNDING * magnitude < (double) floor;
}

static size_t
block_size(const LwDocument *document, size_t first)
{
	size_t		left = document->tokens - first;

	return left < LW_SCREEN_TOKENS ? left : LW_SCREEN_TOKENS;
}

static size_t
groups_at(const LwQuery *query, size_t group)
{
	size_t		left = query->groups - group;

	return left < LW_SCREEN_GROUPS ? left : LW_SCREEN_GROUPS;
}

/* Finds the bounds of a document alone. */
static void
bound_document(LwQuery *query, const LwScreening *screening, bool unit, const LwDocument *document)
{
	size_t		group;
	size_t		first;

	for (first = 0; first < document->tokens; first += LW_SCREEN_TOKENS)
	{
		size_t		count = block_size(document, first);

		read_block(query, screening, unit, document, first, count);
		for (group = 0; group < query->groups; group += LW_SCREEN_GROUPS)
			bound_groups(query, screening, group, groups_at(query, group), count, true);
	}
}

/*
 * A document that is bounded as a whole is compared with the floor on the way;
 * of a larger one the bounds would have to be found again, so that is done
 * only as long as it pays.
 */
size_t
lw_screen_document(LwQuery *query, const LwArithmetic *arithmetic, bool unit,
				   const LwDocument *document, float floor)
{
	const LwScreening *screening = arithmetic->screening;
	LwScreen   *screen = query->screen;
	bool		above = floor > -INFINITY;
	bool		whole = document->tokens <= LW_SCREEN_TOKENS && query->groups <= LW_SCREEN_GROUPS;
	size_t		group;
	size_t		first;
	size_t		i;

	/* Zeros are +0 similar to any codes, and no pair is listed for them. */
	for (i = 0; i < query->groups * LW_LANES; i++)
	{
		query->maxima[i] = screen->live[i / LW_LANES] >> i % LW_LANES & 1 ? -INFINITY : 0.0f;
		screen->coarse_best[i] = -INFINITY;
		screen->fine_best[i] = -INFINITY;
		screen->highest[i] = -INFINITY;
	}
	if (above && !whole && !resting(&screen->floors))
	{
		bound_document(query, screening, unit, document);
		if (is_below(query, floor))
		{
			screen->floors.last = 0;
			return SIZE_MAX;
		}
		begin_rest(&screen->floors);
	}
	for (first = 0; first < document->tokens; first += LW_SCREEN_TOKENS)
	{
		const int8_t *codes = (const int8_t *) document->rows + first * query->dimension;
		size_t		count = block_size(document, first);
		size_t		useless = 0;

		read_block(query, screening, unit, document, first, count);
		for (group = 0; group < query->groups; group += LW_SCREEN_GROUPS)
		{
			size_t		groups = groups_at(query, group);

			bound_groups(query, screening, group, groups, count, above && whole);
			if (above && whole && is_below(query, floor))
				return SIZE_MAX;
			useless += raise_groups(query, arithmetic, group, groups, codes, count);
		}
		if (useless > query->groups / 2)
		{
			begin_rest(&screen->screens);
			return first + count;
		}
	}
	screen->screens.last = 0;
	return document->tokens;
}
