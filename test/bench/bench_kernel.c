/*-------------------------------------------------------------------------
 *
 * bench_kernel.c
 *	  MaxSim kernels beside OpenBLAS and a plain read, in one process.
 *
 * Everything is timed in turns, so that what the neighbours of a shared machine do
 * hits all alike; what is printed are medians, and medians of the ratios of
 * each turn.  One thread.  OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are unset
 * before OpenBLAS chooses its kernel.
 *
 *	bench_kernel [TURNS]
 *
 *-------------------------------------------------------------------------
 */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernel/maxsim.h"

#define MAX_TURNS 200

typedef struct Shape
{
	const char *name;
	int			documents;
	int			tokens;			/* of a document */
	int			dimension;
	int			query;			/* tokens of the query */
} Shape;

static const Shape shapes[] = {
	{"500 x 128 tokens, query 32 (A)", 500, 128, 128, 32},
	{"500 x 8 tokens", 500, 8, 128, 32},
	{"50 x 4096 tokens", 50, 4096, 128, 32},
	{"query of 1", 500, 128, 128, 1},
	{"query of 8", 500, 128, 128, 8},
	{"query of 512", 500, 128, 128, 512},
	{"dimension 768", 500, 32, 768, 32},
};

typedef enum Contender
{
	READ_INT8,
	INT8,
	FLOAT32,
	SGEMM_EACH,
	SGEMM_ALL,
	CONTENDERS
} Contender;

static const char *const names[CONTENDERS] = {
	"plain read of the codes", "int8", "float32", "sgemm per document + max", "one sgemm, no max"
};

/* The data of one shape. */
typedef struct Data
{
	Shape		shape;
	size_t		rows;
	float	   *query;
	float	   *vectors;
	int8_t	   *codes;
	float	   *scales;
	float	   *products;
	float	   *scores;
	LwDocument *floats;
	LwDocument *bytes;
	LwQuery    *prepared;
} Data;

static volatile float sink;

static void *
allocate(size_t size)
{
	void	   *memory;

	if (posix_memalign(&memory, 64, size + 64) != 0)
	{
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

static float
gaussian(void)
{
	float		sum = -6;
	int			i;

	for (i = 0; i < 12; i++)
		sum += (float) rand() / (float) RAND_MAX;
	return sum;
}

static void
normalize(float *row, int dimension)
{
	double		squares = 0;
	int			i;

	for (i = 0; i < dimension; i++)
		squares += (double) row[i] * row[i];
	for (i = 0; i < dimension; i++)
		row[i] = (float) (row[i] / sqrt(squares));
}

/* A row as the format encodes it. */
static void
encode(const float *row, int dimension, int8_t *codes, float *scale)
{
	float		largest = 0;
	int			i;

	for (i = 0; i < dimension; i++)
		largest = fmaxf(largest, fabsf(row[i]));
	*scale = largest / 127;
	for (i = 0; i < dimension; i++)
		codes[i] = (int8_t) roundf(row[i] / *scale);
}

static void
make_data(Data *data, Shape shape)
{
	size_t		dimension = (size_t) shape.dimension;
	size_t		i;

	data->shape = shape;
	data->rows = (size_t) shape.documents * shape.tokens;
	data->query = allocate(shape.query * dimension * sizeof(float));
	data->vectors = allocate(data->rows * dimension * sizeof(float));
	data->codes = allocate(data->rows * dimension);
	data->scales = allocate(data->rows * sizeof(float));
	data->products = allocate(data->rows * shape.query * sizeof(float));
	data->scores = allocate(shape.documents * sizeof(float));
	data->floats = allocate(shape.documents * sizeof(LwDocument));
	data->bytes = allocate(shape.documents * sizeof(LwDocument));
	for (i = 0; i < shape.query * dimension; i++)
		data->query[i] = gaussian();
	for (i = 0; i < (size_t) shape.query; i++)
		normalize(data->query + i * dimension, shape.dimension);
	for (i = 0; i < data->rows * dimension; i++)
		data->vectors[i] = gaussian();
	for (i = 0; i < data->rows; i++)
	{
		normalize(data->vectors + i * dimension, shape.dimension);
		encode(data->vectors + i * dimension, shape.dimension, data->codes + i * dimension, &data->scales[i]);
	}
	for (i = 0; i < (size_t) shape.documents; i++)
	{
		size_t		first = i * shape.tokens;

		data->floats[i] = (LwDocument) {data->vectors + first * dimension, NULL, (size_t) shape.tokens};
		data->bytes[i] = (LwDocument) {data->codes + first * dimension, data->scales + first, (size_t) shape.tokens};
	}
	data->prepared = lw_query_init(allocate(lw_query_size(shape.query, shape.dimension)), data->query,
								   shape.query, shape.dimension);
}

static void
free_data(Data *data)
{
	free(data->query);
	free(data->vectors);
	free(data->codes);
	free(data->scales);
	free(data->products);
	free(data->scores);
	free(data->floats);
	free(data->bytes);
	free(data->prepared);
}

static void
score(Data *data, LwScoring scoring, const LwDocument *documents)
{
	LwScoreProblem problem;

	if (lw_maxsim(data->prepared, scoring, documents, data->shape.documents, data->scores, &problem) !=
		(size_t) data->shape.documents)
	{
		fputs("a document has a problem\n", stderr);
		exit(1);
	}
}

static void
sgemm(const Data *data, size_t rows, const float *vectors, float *products)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint) rows, data->shape.query, data->shape.dimension,
				1, vectors, data->shape.dimension, data->query, data->shape.dimension, 0,
				products, data->shape.query);
}

/* What a user of OpenBLAS does at best: a product that stays in the cache, then its maxima. */
static void
sgemm_each(Data *data)
{
	int			lanes = data->shape.query;
	float	   *best = malloc(sizeof(float) * lanes);
	int			document;
	int			token;
	int			i;

	for (document = 0; document < data->shape.documents; document++)
	{
		float		sum = 0;

		sgemm(data, data->shape.tokens, data->floats[document].rows, data->products);
		memcpy(best, data->products, sizeof(float) * lanes);
		for (token = 1; token < data->shape.tokens; token++)
			for (i = 0; i < lanes; i++)
				best[i] = data->products[token * lanes + i] > best[i] ? data->products[token * lanes + i] : best[i];
		for (i = 0; i < lanes; i++)
			sum += best[i];
		data->scores[document] = sum;
	}
	free(best);
}

static void
read_codes(const Data *data)
{
	const uint64_t *words = (const void *) data->codes;
	size_t		n = data->rows * data->shape.dimension / sizeof(uint64_t);
	uint64_t	sums[4] = {0, 0, 0, 0};
	size_t		i;

	for (i = 0; i + 4 <= n; i += 4)
	{
		sums[0] ^= words[i];
		sums[1] ^= words[i + 1];
		sums[2] ^= words[i + 2];
		sums[3] ^= words[i + 3];
	}
	sink = (float) (sums[0] ^ sums[1] ^ sums[2] ^ sums[3]);
}

static double
run(Data *data, Contender contender)
{
	struct timespec start;
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &start);
	switch (contender)
	{
		case READ_INT8:
			read_codes(data);
			break;
		case INT8:
			score(data, LW_SCORE_INT8_UNIT, data->bytes);
			break;
		case FLOAT32:
			score(data, LW_SCORE_FLOAT32, data->floats);
			break;
		case SGEMM_EACH:
			sgemm_each(data);
			break;
		case SGEMM_ALL:
			sgemm(data, data->rows, data->vectors, data->products);
			break;
		case CONTENDERS:
			break;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (double) (end.tv_sec - start.tv_sec) * 1e3 + (double) (end.tv_nsec - start.tv_nsec) * 1e-6;
}

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static double
median(const double *values, int n)
{
	double		sorted[MAX_TURNS];

	memcpy(sorted, values, sizeof(double) * n);
	qsort(sorted, n, sizeof(double), compare);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Median over the turns of how many times as long `slow` takes as `fast`. */
static double
ratio(double times[CONTENDERS][MAX_TURNS], Contender slow, Contender fast, int turns)
{
	double		ratios[MAX_TURNS];
	int			i;

	for (i = 0; i < turns; i++)
		ratios[i] = times[slow][i] / times[fast][i];
	return median(ratios, turns);
}

static void
bench(Shape shape, int turns)
{
	static double times[CONTENDERS][MAX_TURNS];
	double		work = (double) shape.documents * shape.tokens * shape.dimension * shape.query;
	Data		data;
	int			turn;
	int			c;

	make_data(&data, shape);
	for (c = 0; c < CONTENDERS; c++)
		run(&data, c);			/* warm */
	for (turn = 0; turn < turns; turn++)
		for (c = 0; c < CONTENDERS; c++)
			times[c][turn] = run(&data, c);

	printf("\n%s, dimension %d\n", shape.name, shape.dimension);
	printf("  %-26s %9s %8s %14s %14s\n", "", "ms", "GMAC/s", "x sgemm each", "x one sgemm");
	for (c = 0; c < CONTENDERS; c++)
	{
		double		ms = median(times[c], turns);

		printf("  %-26s %9.3f ", names[c], ms);
		if (c == READ_INT8)
			printf("%8s", "");
		else
			printf("%8.1f", work / ms / 1e6);
		printf(" %14.2f %14.2f\n", ratio(times, SGEMM_EACH, c, turns), ratio(times, SGEMM_ALL, c, turns));
	}
	printf("  int8 is %.2f x float32\n", ratio(times, FLOAT32, INT8, turns));
	free_data(&data);
}

int
main(int argc, char **argv)
{
	int			turns = argc > 1 ? atoi(argv[1]) : 25;
	size_t		i;

	if (getenv("OPENBLAS_CORETYPE") != NULL || getenv("OPENBLAS_L2_SIZE") != NULL)
	{
		/* OpenBLAS has read them already: begin again without */
		unsetenv("OPENBLAS_CORETYPE");
		unsetenv("OPENBLAS_L2_SIZE");
		execv("/proc/self/exe", argv);
	}
	if (turns < 1 || turns > MAX_TURNS)
		turns = MAX_TURNS;
	openblas_set_num_threads(1);
	printf("kernel %s, OpenBLAS %s, medians of %d turns\n",
		   lw_kernel_names[lw_kernel_active()], openblas_get_corename(), turns);
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		bench(shapes[i], turns);
	return 0;
}
