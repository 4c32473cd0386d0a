/*-------------------------------------------------------------------------
 *
 * query.c
 *	  Packing a query into the lanes that the kernels read.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/query.h"

#include <float.h>
#include <math.h>

#include "kernel/screen.h"

#define ALIGNMENT 64

/* Where the parts of a query begin, in bytes. */
typedef struct Layout
{
	size_t		groups;
	size_t		stride;
	size_t		lanes;
	size_t		maxima;
	size_t		rows;
	size_t		screen;
	size_t		codes;
	size_t		starts;
	size_t		run_starts;
	size_t		rests;
	size_t		rest_starts;
	size_t		steps;
	size_t		coarse;
	size_t		fine;
	size_t		live;
	size_t		coarse_best;
	size_t		fine_best;
	size_t		highest;
	size_t		bytes;
	size_t		upper;
	size_t		end;
} Layout;

/*
 * Begins a part of count * size * width bytes at the end; false when that
 * overflows.
 */
static bool
reserve(size_t *end, size_t *begin, size_t count, size_t size, size_t width)
{
	*begin = *end;
	if (size > SIZE_MAX / width || count > SIZE_MAX / (size * width))
		return false;
	width *= count * size;
	if (width > SIZE_MAX - (ALIGNMENT - 1))
		return false;
	width = (width + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (*end > SIZE_MAX - width)
		return false;
	*end += width;
	return true;
}

static bool
lay_out(Layout *at, size_t tokens, size_t dimension)
{
	size_t		groups = tokens / LW_LANES + (tokens % LW_LANES != 0);
	size_t		stride = (dimension + LW_SCREEN_RUN - 1) / LW_SCREEN_RUN * LW_SCREEN_RUN;

	at->groups = groups;
	at->stride = stride;
	at->end = sizeof(LwQuery) + (ALIGNMENT - 1);
	at->end -= at->end % ALIGNMENT;
	if (!reserve(&at->end, &at->lanes, groups, dimension, LW_LANES * sizeof(float)) ||
		!reserve(&at->end, &at->maxima, groups, LW_LANES, sizeof(float)) ||
		!reserve(&at->end, &at->rows, LW_STEP, dimension, sizeof(float)))
		return false;
	if (dimension > LW_SCREEN_DIMENSION)
		return true;
	return reserve(&at->end, &at->screen, 1, 1, sizeof(LwScreen)) &&
		reserve(&at->end, &at->codes, groups, stride, LW_LANES) &&
		reserve(&at->end, &at->starts, groups, LW_LANES, sizeof(int32_t)) &&
		reserve(&at->end, &at->run_starts, groups, stride / LW_SCREEN_RUN, LW_LANES * 2 * sizeof(int16_t)) &&
		reserve(&at->end, &at->rests, groups, stride, LW_LANES) &&
		reserve(&at->end, &at->rest_starts, groups, LW_LANES, sizeof(int32_t)) &&
		reserve(&at->end, &at->steps, groups, LW_LANES, sizeof(float)) &&
		reserve(&at->end, &at->coarse, groups, LW_LANES, sizeof(float)) &&
		reserve(&at->end, &at->fine, groups, LW_LANES, sizeof(float)) &&
		reserve(&at->end, &at->live, groups, 1, sizeof(uint32_t)) &&
		reserve(&at->end, &at->coarse_best, groups, LW_LANES, sizeof(float)) &&
		reserve(&at->end, &at->fine_best, groups, LW_LANES, sizeof(float)) &&
		reserve(&at->end, &at->highest, groups, LW_LANES, sizeof(float)) &&
		reserve(&at->end, &at->bytes, LW_SCREEN_TOKENS, LW_SCREEN_PITCH(stride), 1) &&
		reserve(&at->end, &at->upper, LW_SCREEN_GROUPS * LW_SCREEN_TOKENS, LW_LANES, sizeof(float));
}

/* Bytes that lw_query_init needs. */
size_t
lw_query_size(uint32_t tokens, uint32_t dimension)
{
	Layout		at;

	return lay_out(&at, tokens, dimension) ? at.end : 0;
}

/* Packs the values into lanes. */
static void
pack(LwQuery *query, const float *vectors)
{
	size_t		dimension = query->dimension;
	size_t		group;
	size_t		i;
	int			lane;

	query->codes_fit = true;
	for (group = 0; group < query->groups; group++)
	{
		float	   *lanes = query->lanes + group * dimension * LW_LANES;

		for (lane = 0; lane < LW_LANES; lane++)
		{
			size_t		token = group * LW_LANES + lane;
			double		sum = 0;

			for (i = 0; i < dimension; i++)
			{
				float		value = token < query->tokens ? vectors[token * dimension + i] : 0.0f;

				lanes[i * LW_LANES + lane] = value;
				sum += fabs((double) value);
			}
			if (!(sum * 128 <= FLT_MAX / 2))
				query->codes_fit = false;
		}
	}
}

/* Prepares a query of tokens * dimension values; its screen waits for the first int8 document. */
LwQuery *
lw_query_init(void *memory, const float *vectors, uint32_t tokens,
			  uint32_t dimension)
{
	LwQuery    *query = memory;
	char	   *base = memory;
	Layout		at;
	int			i;

	if (!lay_out(&at, tokens, dimension))
		return NULL;
	query->tokens = tokens;
	query->dimension = dimension;
	query->groups = at.groups;
	query->lanes = (float *) (base + at.lanes);
	query->maxima = (float *) (base + at.maxima);
	query->rows = (float *) (base + at.rows);
	query->screen = NULL;
	query->next = NULL;
	if (dimension <= LW_SCREEN_DIMENSION)
	{
		LwScreen   *screen = (LwScreen *) (base + at.screen);

		screen->prepared = NULL;
		screen->stride = at.stride;
		screen->codes = (int8_t *) (base + at.codes);
		screen->starts = (int32_t *) (base + at.starts);
		screen->run_starts = (int16_t *) (base + at.run_starts);
		screen->rests = (int8_t *) (base + at.rests);
		screen->rest_starts = (int32_t *) (base + at.rest_starts);
		screen->steps = (float *) (base + at.steps);
		screen->coarse = (float *) (base + at.coarse);
		screen->fine = (float *) (base + at.fine);
		screen->live = (uint32_t *) (base + at.live);
		screen->coarse_best = (float *) (base + at.coarse_best);
		screen->fine_best = (float *) (base + at.fine_best);
		screen->highest = (float *) (base + at.highest);
		screen->bytes = (uint8_t *) (base + at.bytes);
		screen->upper = (float *) (base + at.upper);
		query->screen = screen;
	}
	for (i = 0; i < LW_STEP; i++)
		query->ones[i] = 1.0f;
	pack(query, vectors);
	return query;
}

/* Number of query tokens. */
uint32_t
lw_query_tokens(const LwQuery *query)
{
	return query->tokens;
}

/* Number of values a token. */
uint32_t
lw_query_dimension(const LwQuery *query)
{
	return query->dimension;
}
