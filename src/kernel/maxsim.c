/*-------------------------------------------------------------------------
 *
 * maxsim.c
 *	  Scores documents step by step: what the instruction sets share.
 *
 * A step of tokens is brought to float32 rows and factors, and the arithmetic
 * in use raises the maxima to their similarities.  int8 tokens become their
 * codes as floats.  That stands for the format's decoding while
 *
 *	- every scale of the document is in SCALE_LOW .. SCALE_HIGH.  Normalized,
 *	  the squares code * scale squared are then normal numbers, their sum is
 *	  below 2^40 * 2^40 * 2^14 * 2^32 < 2^127, and the norm of a token that is
 *	  not zero is at least the 1e-12 which decoding divides by;
 *	- sums of query values times codes do not overflow (codes_fit).
 *
 * Any other document is decoded and scored as float32.  An append writes no
 * scale below SCALE_LOW.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/query.h"

#include <float.h>
#include <math.h>

#include "kernel/decode.h"
#include "kernel/screen.h"

#define SCALE_LOW 1e-12f
#define SCALE_HIGH 1099511627776.0f /* 2^40 */

/* Codes and tokens of a document from which on a screen pays. */
#define SCREEN_CODES (48 * 128)
#define SCREEN_TOKENS 32

/* What is fetched of the next document before a document is scored. */
#define NEXT_BYTES 2048

static void
no_pause(void)
{
}

void		(*lw_maxsim_pause) (void) = no_pause;

typedef enum Path
{
	FLOATS,						/* rows as they lie */
	CODES,						/* codes times scale */
	CODES_UNIT,					/* codes over their norm */
	DECODED,
	DECODED_UNIT
} Path;

/* Finds how to score a document; false when a scale is not finite and positive. */
static bool
choose_path(const LwQuery *query, LwScoring scoring,
			const LwDocument *document, Path *path)
{
	bool		decode = !query->codes_fit;
	bool		fit = true;
	size_t		i;

	if (scoring == LW_SCORE_FLOAT32)
	{
		*path = FLOATS;
		return true;
	}
	for (i = 0; i < document->tokens; i++)
		fit &= (document->scales[i] >= SCALE_LOW) & (document->scales[i] <= SCALE_HIGH);
	if (!fit)
	{
		for (i = 0; i < document->tokens; i++)
			if (!(document->scales[i] > 0 && document->scales[i] <= FLT_MAX))
				return false;
		decode = true;
	}
	if (scoring == LW_SCORE_INT8_UNIT)
		*path = decode ? DECODED_UNIT : CODES_UNIT;
	else
		*path = decode ? DECODED : CODES;
	return true;
}

/*
 * Raises the maxima to the similarities of the tokens from `first` on, at
 * most a step of them.
 */
static LwScoreProblem
score_step(LwQuery *query, const LwArithmetic *arithmetic, Path path,
		   const LwDocument *document, size_t first, size_t count)
{
	size_t		dimension = query->dimension;
	const float *rows = query->rows;
	const float *factors = query->ones;
	const int8_t *codes;
	size_t		i;

	switch (path)
	{
		case FLOATS:
			rows = (const float *) document->rows + first * dimension;
			break;
		case CODES:
		case CODES_UNIT:
			codes = (const int8_t *) document->rows + first * dimension;
			factors = query->factors;
			for (i = 0; i < count; i++)
			{
				uint64_t	squares = arithmetic->widen(codes + i * dimension, dimension,
														query->rows + i * dimension);

				if (path == CODES)
					query->factors[i] = document->scales[first + i];
				else
					query->factors[i] = lw_unit_factor(squares);
			}
			break;
		case DECODED:
		case DECODED_UNIT:
			codes = (const int8_t *) document->rows + first * dimension;
			if (lw_decode_int8(codes, document->scales + first, count, dimension,
							   path == DECODED_UNIT, query->rows) < count)
				return LW_SCORE_SCALE;
			break;
	}
	return arithmetic->raise_maxima(query, 0, query->groups, rows, factors, count) ?
		LW_SCORE_NAN : LW_SCORE_FINE;
}

/* Forgets the maxima. */
static void
reset_maxima(LwQuery *query)
{
	size_t		i;

	for (i = 0; i < query->groups * LW_LANES; i++)
		query->maxima[i] = -INFINITY;
}

/* Sets the maxima to those of a document; or finds it *below the floor. */
static LwScoreProblem
find_maxima(LwQuery *query, const LwArithmetic *arithmetic, Path path,
			const LwDocument *document, float floor, bool *below)
{
	LwScoreProblem problem = LW_SCORE_FINE;
	size_t		first = 0;

	if ((path == CODES || path == CODES_UNIT) &&
		document->tokens >= SCREEN_TOKENS && document->tokens >= SCREEN_CODES / query->dimension &&
		arithmetic->screening != NULL && lw_screen_ready(query, arithmetic->screening))
		first = lw_screen_document(query, arithmetic, path == CODES_UNIT, document, floor);
	else
		reset_maxima(query);
	*below = first == SIZE_MAX;
	for (; first < document->tokens && problem == LW_SCORE_FINE; first += LW_STEP)
	{
		size_t		left = document->tokens - first;

		lw_maxsim_pause();
		problem = score_step(query, arithmetic, path, document, first,
							 left < LW_STEP ? left : LW_STEP);
	}
	return problem;
}

/* Scores one document. */
static LwScoreProblem
score_document(LwQuery *query, const LwArithmetic *arithmetic,
			   LwScoring scoring, const LwDocument *document, float floor, float *score)
{
	LwScoreProblem problem;
	float		sum = 0.0f;
	bool		below;
	Path		path;
	uint32_t	token;

	if (!choose_path(query, scoring, document, &path))
		return LW_SCORE_SCALE;
	problem = find_maxima(query, arithmetic, path, document, floor, &below);
	if (problem != LW_SCORE_FINE)
		return problem;
	if (below)
	{
		*score = -INFINITY;
		return LW_SCORE_FINE;
	}
	for (token = 0; token < query->tokens; token++)
		sum += query->maxima[token];
	*score = sum;
	return isnan(sum) ? LW_SCORE_NAN : LW_SCORE_FINE;
}

/* Has the first rows of the next document fetched; the kernels go on from there. */
static void
prefetch_next(LwQuery *query, const LwDocument *next)
{
	size_t		i;

	query->next = next->rows;
	for (i = 0; i < NEXT_BYTES; i += 64)
		__builtin_prefetch(query->next + i);
	if (next->scales != NULL)
		__builtin_prefetch(next->scales);
}

/* Scores a block of documents up to the first with a problem. */
size_t
lw_maxsim_above(LwQuery *query, LwScoring scoring, const LwDocument *documents,
				size_t count, float floor, float *scores, LwScoreProblem *problem)
{
	const LwArithmetic *arithmetic = lw_arithmetic();
	size_t		i;

	*problem = LW_SCORE_FINE;
	for (i = 0; i < count && *problem == LW_SCORE_FINE; i++)
	{
		query->next = NULL;
		if (i + 1 < count)
			prefetch_next(query, &documents[i + 1]);
		*problem = score_document(query, arithmetic, scoring, &documents[i], floor, &scores[i]);
	}
	return *problem == LW_SCORE_FINE ? count : i - 1;
}

size_t
lw_maxsim(LwQuery *query, LwScoring scoring, const LwDocument *documents,
		  size_t count, float *scores, LwScoreProblem *problem)
{
	return lw_maxsim_above(query, scoring, documents, count, -INFINITY, scores, problem);
}

/* Finds the token that each query token is most similar to, token by token. */
LwScoreProblem
lw_maxsim_winners(LwQuery *query, LwScoring scoring, const LwDocument *document,
				  float *similarity, size_t *winner)
{
	const LwArithmetic *arithmetic = lw_arithmetic();
	float		sum = 0.0f;
	Path		path;
	size_t		i;
	uint32_t	token;

	if (!choose_path(query, scoring, document, &path))
		return LW_SCORE_SCALE;
	for (token = 0; token < query->tokens; token++)
	{
		similarity[token] = -INFINITY;
		winner[token] = 0;
	}
	for (i = 0; i < document->tokens; i++)
	{
		LwScoreProblem problem;

		lw_maxsim_pause();
		reset_maxima(query);
		problem = score_step(query, arithmetic, path, document, i, 1);
		if (problem != LW_SCORE_FINE)
			return problem;
		for (token = 0; token < query->tokens; token++)
		{
			if (query->maxima[token] > similarity[token])
			{
				similarity[token] = query->maxima[token];
				winner[token] = i;
			}
		}
	}
	for (token = 0; token < query->tokens; token++)
		sum += similarity[token];
	return isnan(sum) ? LW_SCORE_NAN : LW_SCORE_FINE;
}
