/*-------------------------------------------------------------------------
 *
 * bench_kernel.c
 *	  MaxSim kernels beside OpenBLAS and a plain read, in turns in one process
 *	  of one thread.
 *
 *	bench_kernel [--csv FILE] [TURNS]
 *
 * Appends rows (turns.h) to the file, or prints them.
 *
 *-------------------------------------------------------------------------
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "best.h"
#include "turns.h"

/* After the first data set (data.h), which is A. */
static const Shape shapes[] = {
	{500, 8, 128, 32},
	{50, 4096, 128, 32},
	{500, 128, 128, 1},
	{500, 128, 128, 8},
	{500, 128, 128, 512},
	{500, 32, 768, 32},
};

/* The first one is what the others' times are compared to. */
typedef enum Contender
{
	INT8,
	INT8_BEST,
	FLOAT32,
	SGEMM_EACH,
	SGEMM_ALL,
	READ_INT8,
	CONTENDERS
} Contender;

static const char *const names[CONTENDERS] = {
	"int8", "int8, the best 10", "float32", "OpenBLAS, sgemm for each document + max", "OpenBLAS, one sgemm without max",
	"plain read of the codes"
};

/* What a run works with. */
typedef struct Bench
{
	Data		data;
	LwQuery    *query;
	float	   *scores;
	float	   *products;
	float	   *best;
} Bench;

static volatile uint64_t sink;

static void
score(Bench *bench, LwScoring scoring, const LwDocument *documents)
{
	LwScoreProblem problem;

	if (lw_maxsim(bench->query, scoring, documents, bench->data.documents, bench->scores, &problem) !=
		bench->data.documents)
		die("a document has a problem");
}

static void
sgemm(const Bench *bench, size_t rows, const float *vectors)
{
	const Data *data = &bench->data;
	blasint		dimension = (blasint) data->dimension;
	blasint		query_tokens = (blasint) data->query_tokens;

	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint) rows, query_tokens, dimension,
				1, vectors, dimension, data->query, dimension, 0, bench->products, query_tokens);
}

/* What a user of OpenBLAS does at best: a product that stays in the cache, then its maxima. */
static void
sgemm_each(Bench *bench)
{
	size_t		lanes = bench->data.query_tokens;
	float	   *best = bench->best;
	size_t		document;
	size_t		token;
	size_t		i;

	for (document = 0; document < bench->data.documents; document++)
	{
		const LwDocument *floats = &bench->data.floats[document];
		float		sum = 0;

		sgemm(bench, floats->tokens, floats->rows);
		memcpy(best, bench->products, sizeof(float) * lanes);
		for (token = 1; token < floats->tokens; token++)
		{
			const float *products = bench->products + token * lanes;

			for (i = 0; i < lanes; i++)
				best[i] = products[i] > best[i] ? products[i] : best[i];
		}
		for (i = 0; i < lanes; i++)
			sum += best[i];
		bench->scores[document] = sum;
	}
}

static void
read_codes(const Data *data)
{
	const uint64_t *words = (const void *) data->codes;
	size_t		n = data->rows * data->dimension / sizeof(uint64_t);
	uint64_t	sums[4] = {0, 0, 0, 0};
	size_t		i;

	for (i = 0; i + 4 <= n; i += 4)
	{
		sums[0] ^= words[i];
		sums[1] ^= words[i + 1];
		sums[2] ^= words[i + 2];
		sums[3] ^= words[i + 3];
	}
	sink = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
}

static double
run(Bench *bench, Contender contender)
{
	const Data *data = &bench->data;
	double		start = milliseconds();

	switch (contender)
	{
		case INT8:
			score(bench, data->normalized ? LW_SCORE_INT8_UNIT : LW_SCORE_INT8, data->bytes);
			break;
		case INT8_BEST:
			score_best(bench->query, data->normalized ? LW_SCORE_INT8_UNIT : LW_SCORE_INT8, data->bytes,
					   data->documents, bench->scores);
			break;
		case FLOAT32:
			score(bench, LW_SCORE_FLOAT32, data->floats);
			break;
		case SGEMM_EACH:
			sgemm_each(bench);
			break;
		case SGEMM_ALL:
			sgemm(bench, data->rows, data->vectors);
			break;
		case READ_INT8:
			read_codes(data);
			break;
		case CONTENDERS:
			break;
	}
	return milliseconds() - start;
}

/* Times the contenders over the bench's data, which it frees. */
static void
measure(Bench *bench, int turns, FILE *csv)
{
	static double times[CONTENDERS][MAX_TURNS];
	Data	   *data = &bench->data;
	uint32_t	query_tokens = (uint32_t) data->query_tokens;
	uint32_t	dimension = (uint32_t) data->dimension;
	double		multiplications = (double) data->rows * dimension * query_tokens;
	int			turn;
	int			c;

	bench->query = lw_query_init(allocate(lw_query_size(query_tokens, dimension)), data->query,
								 query_tokens, dimension);
	bench->scores = allocate(data->documents * sizeof(float));
	bench->products = allocate(data->rows * query_tokens * sizeof(float));
	bench->best = allocate(query_tokens * sizeof(float));
	for (c = 0; c < CONTENDERS; c++)
		run(bench, c);			/* warm */
	for (turn = 0; turn < turns; turn++)
		for (c = 0; c < CONTENDERS; c++)
			times[c][turn] = run(bench, c);
	for (c = 0; c < CONTENDERS; c++)
		csv_row(csv, data->label, names[c], times[c], times[INT8], turns, c == READ_INT8 ? 0 : multiplications);
	fflush(csv);

	free(bench->query);
	free(bench->scores);
	free(bench->products);
	free(bench->best);
	data_free(data);
}

int
main(int argc, char **argv)
{
	int			turns = 25;
	FILE	   *csv = stdout;
	Bench		bench;
	size_t		i;

	if (argc > 2 && strcmp(argv[1], "--csv") == 0)
	{
		csv = fopen(argv[2], "a");
		if (csv == NULL)
			die("could not open %s", argv[2]);
		argc -= 2;
		argv += 2;
	}
	if (argc > 1)
		turns = atoi(argv[1]);
	if (argc > 2 || turns < 1 || turns > MAX_TURNS)
		die("usage: bench_kernel [--csv FILE] [TURNS], turns from 1 to %d", MAX_TURNS);

	openblas_set_num_threads(1);
	fprintf(csv, "# kernel %s; OpenBLAS beside it in C: %s\n", lw_kernel_names[lw_kernel_active()], openblas_get_corename());
	data_first(&bench.data);
	measure(&bench, turns, csv);
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
	{
		data_random(&bench.data, shapes[i]);
		measure(&bench, turns, csv);
	}
	return 0;
}
