/*-------------------------------------------------------------------------
 *
 * train.c
 *	  Centroids of the tokens of a store: k-means over a sample.
 *
 * The sample is kept as int8 codes, which are a quarter of float32 and differ
 * from it by less than tokens of one centroid do.
 *
 *-------------------------------------------------------------------------
 */
#include "train.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/decode.h"
#include "kernel/encode.h"

#define SEED UINT64_C(0x6c617465)
#define TOKENS_PER_CENTROID 32	/* of the sample, at most */
#define TOKENS_PER_MIDDLE 256	/* likewise, to find the cells by */
#define CELL_ITERATIONS 8
#define ITERATIONS 8
#define ONE_CELL 512			/* so few centroids need no cells */
#define DEFAULT_PER_ROOT 16

typedef struct Training
{
	const LwView *view;
	const LwLongWork *work;
	size_t		dimension;
	bool		normalized;
	uint64_t	random;
	size_t		sampled;
	int8_t	   *codes;			/* [sampled][dimension] */
	float	   *scales;			/* [sampled] */
	uint32_t   *order;			/* [sampled]: what is clustered, cell by cell */
	uint32_t   *chosen;			/* [sampled]: the cell */
	uint32_t   *starts;			/* of the cells in `order` */
	float	   *rows;			/* [LW_NEAREST_TOKENS][dimension] */
	void	   *pack;			/* of as many vectors as are clustered together */
	float	   *sums;			/* likewise */
	uint32_t   *counts;
	LwTrained  *trained;
} Training;

uint32_t
lw_train_default(uint64_t tokens)
{
	double		count = DEFAULT_PER_ROOT * sqrt((double) tokens);

	return count < 1 ? 1 : count > LW_CENTROIDS_MOST ? LW_CENTROIDS_MOST : (uint32_t) count;
}

/* From 0 to below `limit`: splitmix64. */
static uint64_t
random_below(Training *training, uint64_t limit)
{
	uint64_t	z = (training->random += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % limit;
}

/* Tokens of a segment, if it has files. */
static uint64_t
tokens_in_files(const LwSegment *segment)
{
	return segment->offsets_map == NULL ? 0 : segment->tokens;
}

static LwStatus
go_on(const LwLongWork *work, LwTrainingPhase phase, uint64_t done, uint64_t total, LwError *error)
{
	if (work->progress != NULL)
		work->progress(work->arg, phase, done, total);
	if (lw_stop_asked(work->stop))
		return lw_fail(error, LW_CANCELLED, NULL, -1, "to go on", "a request to stop");
	return LW_OK;
}

/* Decodes int8 tokens; one whose scale is bad, which scoring will report, is zeros. */
static void
decode(const int8_t *codes, const float *scales, size_t count, size_t dimension, bool normalized, float *rows)
{
	size_t		done = 0;

	while (done < count)
	{
		done += lw_decode_int8(codes + done * dimension, scales + done, count - done, dimension, normalized,
							   rows + done * dimension);
		if (done < count)
			memset(rows + done++ * dimension, 0, dimension * sizeof(float));
	}
}

const float *
lw_token_rows(const LwView *view, const LwSegment *segment, uint64_t first, size_t count, float *buffer)
{
	size_t		dimension = (size_t) view->manifest.dimension;
	const char *rows = segment->rows + first * segment->row_size;

	if (segment->scales == NULL)
		return (const float *) rows;
	decode((const int8_t *) rows, segment->scales + first, count, dimension, view->manifest.normalized, buffer);
	return buffer;
}

/* Where the share of a token of the sample begins. */
static uint64_t
begin_of_share(uint64_t tokens, uint64_t sampled, uint64_t i)
{
	return tokens / sampled * i + tokens % sampled * i / sampled;
}

/* Takes every so manieth token, at a random place of its share, in the order of the files. */
static LwStatus
take_sample(Training *training, uint64_t tokens, LwError *error)
{
	const LwView *view = training->view;
	size_t		dimension = training->dimension;
	LwSegment *const *segment = view->segments;
	uint64_t	before = 0;		/* tokens of the segments before this one */
	size_t		i;

	for (i = 0; i < training->sampled; i++)
	{
		uint64_t	begin = begin_of_share(tokens, training->sampled, i);
		uint64_t	token = begin + random_below(training, begin_of_share(tokens, training->sampled, i + 1) - begin) - before;
		LwStatus	status = i % 4096 == 0 ? go_on(training->work, LW_TRAINING_SAMPLE, i, training->sampled, error) : LW_OK;

		if (status != LW_OK)
			return status;
		for (; token >= tokens_in_files(*segment); segment++)
		{
			before += tokens_in_files(*segment);
			token -= tokens_in_files(*segment);
		}
		if ((*segment)->scales == NULL)
		{
			lw_encode_int8((const float *) ((*segment)->rows + token * (*segment)->row_size), 1, dimension,
						   training->codes + i * dimension, &training->scales[i]);
			continue;
		}
		memcpy(training->codes + i * dimension, (*segment)->rows + token * (*segment)->row_size, dimension);
		training->scales[i] = (*segment)->scales[token];
	}
	return lw_view_check(view, error);
}

/* A token of the sample as float32. */
static void
decode_sampled(const Training *training, uint32_t token, float *row)
{
	decode(training->codes + token * training->dimension, &training->scales[token], 1, training->dimension,
		   training->normalized, row);
}

/* The nearest of a pack for tokens of the sample, at most LW_NEAREST_TOKENS. */
static void
find_nearest(const Training *training, const LwPack *pack, const uint32_t *tokens, size_t count, uint32_t *winners)
{
	const float *pointers[LW_NEAREST_TOKENS];
	float		nearness[LW_NEAREST_TOKENS];
	size_t		i;

	for (i = 0; i < count; i++)
	{
		decode_sampled(training, tokens[i], training->rows + i * training->dimension);
		pointers[i] = training->rows + i * training->dimension;
	}
	lw_pack_nearest(pack, pointers, count, winners, nearness);
}

/* Adds all tokens to the sums of the vectors they are nearest to. */
static LwStatus
gather(Training *training, const LwPack *pack, const uint32_t *tokens, size_t count, LwError *error)
{
	size_t		dimension = training->dimension;
	size_t		first;

	memset(training->sums, 0, pack->count * dimension * sizeof(float));
	memset(training->counts, 0, pack->count * sizeof(uint32_t));
	for (first = 0; first < count; first += LW_NEAREST_TOKENS)
	{
		size_t		block = count - first < LW_NEAREST_TOKENS ? count - first : LW_NEAREST_TOKENS;
		uint32_t	winners[LW_NEAREST_TOKENS];
		size_t		i;
		size_t		j;

		if (first % (LW_NEAREST_TOKENS * 64) == 0 && lw_stop_asked(training->work->stop))
			return lw_fail(error, LW_CANCELLED, NULL, -1, "to go on", "a request to stop");
		find_nearest(training, pack, tokens + first, block, winners);
		for (i = 0; i < block; i++)
		{
			float	   *sum = training->sums + winners[i] * dimension;

			training->counts[winners[i]]++;
			for (j = 0; j < dimension; j++)
				sum[j] += training->rows[i * dimension + j];
		}
	}
	return LW_OK;
}

/* The middle of a vector's tokens; unit vectors have one that is a unit vector, too, which ranks documents better. */
static void
find_middle(const Training *training, size_t i, float *vector)
{
	const float *sum = training->sums + i * training->dimension;
	float		squares = 0.0f;
	float		factor;
	size_t		j;

	for (j = 0; j < training->dimension; j++)
		squares += sum[j] * sum[j];
	factor = 1.0f / (training->normalized && squares > 0 ? sqrtf(squares) : (float) training->counts[i]);
	for (j = 0; j < training->dimension; j++)
		vector[j] = sum[j] * factor;
}

/* k-means of some tokens of the sample, whose order it changes: k <= count vectors. */
static LwStatus
cluster(Training *training, uint32_t *tokens, size_t count, size_t k, int iterations, float *vectors, LwError *error)
{
	size_t		dimension = training->dimension;
	LwStatus	status = LW_OK;
	size_t		i;

	for (i = 0; i < k; i++)
	{
		size_t		other = i + random_below(training, count - i);
		uint32_t	token = tokens[other];

		tokens[other] = tokens[i];
		tokens[i] = token;
		decode_sampled(training, token, vectors + i * dimension);
	}
	while (status == LW_OK && iterations-- > 0)
	{
		LwPack		pack;

		lw_pack_init(&pack, training->pack, vectors, k, dimension);
		status = gather(training, &pack, tokens, count, error);
		for (i = 0; status == LW_OK && i < k; i++)
		{
			float	   *vector = vectors + i * dimension;

			if (training->counts[i] == 0)
				decode_sampled(training, tokens[random_below(training, count)], vector);
			else
				find_middle(training, i, vector);
		}
	}
	return status;
}

/* Finds each token's cell, and sorts them by it: *starts of cells + 1 in training->order. */
static LwStatus
sort_into_cells(Training *training, const float *middles, uint32_t cells, uint32_t *starts, LwError *error)
{
	uint32_t	block[LW_NEAREST_TOKENS];
	LwPack		pack;
	size_t		first;
	size_t		i;
	uint32_t	cell;

	memset(starts, 0, (cells + 1) * sizeof(*starts));
	lw_pack_init(&pack, training->pack, middles, cells, training->dimension);
	for (first = 0; first < training->sampled; first += LW_NEAREST_TOKENS)
	{
		size_t		count = training->sampled - first < LW_NEAREST_TOKENS ? training->sampled - first : LW_NEAREST_TOKENS;

		if (first % (LW_NEAREST_TOKENS * 64) == 0 && lw_stop_asked(training->work->stop))
			return lw_fail(error, LW_CANCELLED, NULL, -1, "to go on", "a request to stop");
		for (i = 0; i < count; i++)
			block[i] = (uint32_t) (first + i);
		find_nearest(training, &pack, block, count, training->chosen + first);
		for (i = 0; i < count; i++)
			starts[training->chosen[first + i] + 1]++;
	}
	for (cell = 0; cell < cells; cell++)
		starts[cell + 1] += starts[cell];
	for (i = 0; i < training->sampled; i++)
		training->order[starts[training->chosen[i]]++] = (uint32_t) i;
	memmove(starts + 1, starts, cells * sizeof(*starts));
	starts[0] = 0;
	return LW_OK;
}

/* Gives each cell its share of the centroids, and trains them; a cell too small for one goes. */
static LwStatus
train_cells(Training *training, uint32_t cells, uint32_t count, const uint32_t *tokens, LwError *error)
{
	LwCentroids *centroids = &training->trained->centroids;
	size_t		dimension = training->dimension;
	uint32_t   *starts = (uint32_t *) centroids->starts;
	float	   *middles = (float *) centroids->middles;
	uint32_t	given = 0;
	uint32_t	cell;

	centroids->cells = 0;
	for (cell = 0; cell < cells; cell++)
	{
		uint32_t	end = (uint32_t) ((double) count * tokens[cell + 1] / (double) training->sampled + 0.5);
		LwStatus	status = go_on(training->work, LW_TRAINING_CENTROIDS, tokens[cell], training->sampled, error);

		if (status == LW_OK && end > given)
		{
			status = cluster(training, training->order + tokens[cell], tokens[cell + 1] - tokens[cell],
							 end - given, ITERATIONS, (float *) centroids->rows + given * dimension, error);
			memmove(middles + centroids->cells * dimension, middles + cell * dimension, dimension * sizeof(float));
			starts[centroids->cells++] = given;
		}
		if (status != LW_OK)
			return status;
		given = end;
	}
	starts[centroids->cells] = given;
	centroids->count = given;
	return LW_OK;
}

/* All of the work, when there is memory for it. */
static LwStatus
train(Training *training, uint64_t tokens, uint32_t cells, uint32_t count, LwError *error)
{
	LwStatus	status = take_sample(training, tokens, error);
	float	   *middles = (float *) training->trained->centroids.middles;
	size_t		few = (size_t) cells * TOKENS_PER_MIDDLE;
	size_t		i;

	if (status == LW_OK)
		status = go_on(training->work, LW_TRAINING_CELLS, 0, training->sampled, error);
	for (i = 0; i < training->sampled; i++)
		training->order[i] = (uint32_t) i;
	/* a random part of the sample, whatever the order of the files */
	for (i = 0; i < few && i < training->sampled; i++)
	{
		size_t		other = i + random_below(training, training->sampled - i);
		uint32_t	token = training->order[other];

		training->order[other] = training->order[i];
		training->order[i] = token;
	}
	if (status == LW_OK)
		status = cluster(training, training->order, few < training->sampled ? few : training->sampled, cells,
						 CELL_ITERATIONS, middles, error);
	if (status == LW_OK)
		status = sort_into_cells(training, middles, cells, training->starts, error);
	if (status == LW_OK)
		status = train_cells(training, cells, count, training->starts, error);
	return status;
}

/* Decides how many tokens, cells and centroids there are to be, and takes the memory for them. */
static bool
begin_training(Training *training, uint64_t tokens, uint32_t *count, uint32_t *cells, size_t memory)
{
	LwCentroids *centroids = &training->trained->centroids;
	size_t		dimension = training->dimension;

	if (*count == 0)
		*count = lw_train_default(tokens);
	training->sampled = memory / (dimension + sizeof(float) + 2 * sizeof(uint32_t));
	if (training->sampled > (size_t) *count * TOKENS_PER_CENTROID)
		training->sampled = (size_t) *count * TOKENS_PER_CENTROID;
	if (training->sampled > tokens)
		training->sampled = (size_t) tokens;
	if (training->sampled == 0)
		training->sampled = 1;
	if (*count > training->sampled)
		*count = (uint32_t) training->sampled;
	*cells = *count < ONE_CELL ? 1 : (uint32_t) sqrt(*count);

	training->trained->sampled = training->sampled;
	centroids->dimension = (uint32_t) dimension;
	centroids->starts = malloc((*cells + 1) * sizeof(uint32_t));
	centroids->middles = malloc(*cells * dimension * sizeof(float));
	centroids->rows = malloc(*count * dimension * sizeof(float));
	training->starts = malloc((*cells + 1) * sizeof(uint32_t));
	training->codes = malloc(training->sampled * dimension);
	training->scales = malloc(training->sampled * sizeof(float));
	training->order = malloc(training->sampled * sizeof(uint32_t));
	training->chosen = malloc(training->sampled * sizeof(uint32_t));
	training->rows = malloc(LW_NEAREST_TOKENS * dimension * sizeof(float));
	training->pack = aligned_alloc(64, lw_pack_size(*count, dimension));
	training->sums = malloc(*count * dimension * sizeof(float));
	training->counts = malloc(*count * sizeof(uint32_t));
	return centroids->starts != NULL && centroids->middles != NULL && centroids->rows != NULL &&
		training->starts != NULL && training->codes != NULL && training->scales != NULL && training->order != NULL &&
		training->chosen != NULL && training->rows != NULL && training->pack != NULL && training->sums != NULL &&
		training->counts != NULL;
}

static void
end_training(Training *training)
{
	free(training->starts);
	free(training->codes);
	free(training->scales);
	free(training->order);
	free(training->chosen);
	free(training->rows);
	free(training->pack);
	free(training->sums);
	free(training->counts);
}

LwStatus
lw_train(const LwView *view, uint32_t count, size_t memory, const LwLongWork *work,
		 LwTrained *trained, LwError *error)
{
	Training	training;
	uint64_t	tokens = 0;
	uint32_t	cells;
	LwStatus	status;
	size_t		i;

	memset(trained, 0, sizeof(*trained));
	memset(&training, 0, sizeof(training));
	training.view = view;
	training.work = work;
	training.dimension = (size_t) view->manifest.dimension;
	training.normalized = view->manifest.normalized;
	training.random = SEED;
	training.trained = trained;
	lw_error_path(error, NULL, view->directory);
	for (i = 0; i < view->manifest.nsegments; i++)
		tokens += tokens_in_files(view->segments[i]);
	if (tokens == 0)
		return lw_fail(error, LW_INVALID, NULL, -1, "a store with documents", "one without");
	if (begin_training(&training, tokens, &count, &cells, memory))
		status = train(&training, tokens, cells, count, error);
	else
		status = lw_fail_errno(error, ENOMEM, "train centroids");
	end_training(&training);
	if (status != LW_OK)
		lw_trained_free(trained);
	return status;
}

void
lw_trained_free(LwTrained *trained)
{
	free((void *) trained->centroids.starts);
	free((void *) trained->centroids.middles);
	free((void *) trained->centroids.rows);
	memset(trained, 0, sizeof(*trained));
}
