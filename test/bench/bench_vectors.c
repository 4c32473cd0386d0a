/*-------------------------------------------------------------------------
 *
 * bench_vectors.c
 *	  The ten nearest of many single vectors, exactly, beside a plain read of
 *	  the same bytes and beside scoring every row.
 *
 * All are timed in turns, so that what the neighbours of a shared machine do
 * hits all alike; what is printed are medians, and medians of the ratios of
 * each turn.  One thread, and the time that it is running.
 *
 *	bench_vectors [--csv FILE] [TURNS]
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernel/maxsim.h"
#include "kernel/vectors.h"

#define MAX_TURNS 200
#define DIMENSION 384
#define BLOCKS (DIMENSION / LW_INT4_BLOCK)
#define NEAREST 10

typedef struct Shape
{
	const char *name;
	LwVectorType type;
	size_t		rows;
	size_t		code_bytes;		/* of a row */
	size_t		scale_bytes;
} Shape;

static const Shape shapes[] = {
	{"int4", LW_VECTOR_INT4, 1000000, DIMENSION / 2, BLOCKS * 2},
	{"int8", LW_VECTOR_INT8, 1000000, DIMENSION, 4},
	{"float16", LW_VECTOR_FLOAT16, 1000000, DIMENSION * 2, 0},
	{"float32", LW_VECTOR_FLOAT32, 250000, DIMENSION * 4, 0},
};

typedef enum Contender
{
	READ,
	FIND_NEAREST,
	SCORE_ALL,
	CONTENDERS
} Contender;

static const char *const names[CONTENDERS] = {"plain read", "exact top 10", "every row scored"};

typedef struct Data
{
	Shape		shape;
	LwVectorSlab slab;
	char	   *memory;
	LwVectorQuery *query;
	float	   *scores;
	LwNearest	nearest;
	LwVectorHit hits[NEAREST];
} Data;

static volatile uint64_t sink;

static void *
allocate(size_t size)
{
	void	   *memory;

	if (posix_memalign(&memory, 64, size) != 0)
	{
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

/* A sum of four numbers of 16 bits: near enough to Gaussian. */
static float
gaussian(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (float) ((int32_t) ((state & 0xffff) + (state >> 16 & 0xffff) + (state >> 32 & 0xffff) + (state >> 48)) - 0x20000);
}

static void
make_vector(float *values)
{
	float		squares = 0;
	int			i;

	for (i = 0; i < DIMENSION; i++)
	{
		values[i] = gaussian();
		squares += values[i] * values[i];
	}
	for (i = 0; i < DIMENSION; i++)
		values[i] /= sqrtf(squares);
}

/* A half of a value below 1. */
static uint16_t
to_half(float value)
{
	float		scaled = value * 0x1p-112f;
	uint32_t	bits;

	memcpy(&bits, &scaled, sizeof(bits));
	return (uint16_t) ((bits >> 16 & 0x8000) | ((bits & 0x7fffffff) + 0x1000) >> 13);
}

static float
largest(const float *values, int count)
{
	float		most = 0;
	int			i;

	for (i = 0; i < count; i++)
		most = fmaxf(most, fabsf(values[i]));
	return most;
}

/* A row as the format encodes it, but for ties in rounding. */
static void
encode(Data *data, size_t row, const float *values)
{
	char	   *codes = (char *) data->slab.codes + row * data->shape.code_bytes;
	char	   *scales = (char *) data->slab.scales + row * data->shape.scale_bytes;
	float		scale = 0;
	uint16_t	half;
	int			i;

	switch (data->shape.type)
	{
		case LW_VECTOR_FLOAT32:
			memcpy(codes, values, data->shape.code_bytes);
			break;
		case LW_VECTOR_FLOAT16:
			for (i = 0; i < DIMENSION; i++)
			{
				half = to_half(values[i]);
				memcpy(codes + i * 2, &half, 2);
			}
			break;
		case LW_VECTOR_INT8:
			scale = largest(values, DIMENSION) / 127;
			memcpy(scales, &scale, 4);
			for (i = 0; i < DIMENSION; i++)
				codes[i] = (char) lrintf(values[i] / scale);
			break;
		case LW_VECTOR_INT4:
			for (i = 0; i < DIMENSION; i++)
			{
				if (i % LW_INT4_BLOCK == 0)
				{
					scale = largest(values + i, LW_INT4_BLOCK) / 7;
					half = to_half(scale);
					memcpy(scales + i / LW_INT4_BLOCK * 2, &half, 2);
				}
				if (i % 2 == 0)
					codes[i / 2] = (char) (lrintf(values[i] / scale) & 15);
				else
					codes[i / 2] |= (char) ((unsigned int) lrintf(values[i] / scale) << 4);
			}
			break;
	}
}

/* Codes begin 8 bytes behind a cache line, as they may in a file. */
static void
make_data(Data *data, Shape shape)
{
	float		values[DIMENSION];
	size_t		row;

	data->shape = shape;
	data->memory = allocate(shape.rows * (shape.code_bytes + shape.scale_bytes) + 64);
	data->scores = allocate(shape.rows * sizeof(float));
	memset(data->scores, 0, shape.rows * sizeof(float));
	data->slab = (LwVectorSlab) {shape.type, DIMENSION, shape.rows, data->memory + 8 + shape.rows * shape.scale_bytes,
		data->memory + 8};
	for (row = 0; row < shape.rows; row++)
	{
		make_vector(values);
		encode(data, row, values);
	}
	make_vector(values);
	data->query = lw_vector_query_init(allocate(lw_vector_query_size(DIMENSION)), values, DIMENSION);
}

static void
free_data(Data *data)
{
	free(data->memory);
	free(data->scores);
	free(data->query);
}

static void
read_words(const char *bytes, size_t count)
{
	const uint64_t *words = (const void *) bytes;
	uint64_t	sums[4] = {0, 0, 0, 0};
	size_t		i;

	for (i = 0; i + 4 <= count / 8; i += 4)
	{
		sums[0] ^= words[i];
		sums[1] ^= words[i + 1];
		sums[2] ^= words[i + 2];
		sums[3] ^= words[i + 3];
	}
	sink = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
}

#if defined(__x86_64__)
static __attribute__((target("avx2"))) void
read_wide(const char *bytes, size_t count)
{
	__m256i		sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
	size_t		i;
	int			j;

	for (i = 0; i + 128 <= count; i += 128)
		for (j = 0; j < 4; j++)
			sums[j] = _mm256_xor_si256(sums[j], _mm256_load_si256((const __m256i *) (bytes + i + j * 32)));
	sums[0] = _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
	sink = (uint64_t) _mm256_extract_epi64(sums[0], 0);
}
#endif

/* As fast as memory is. */
static void
read_all(const Data *data)
{
	size_t		count = data->shape.rows * (data->shape.code_bytes + data->shape.scale_bytes);

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
	{
		read_wide(data->memory, count);
		return;
	}
#endif
	read_words(data->memory, count);
}

static double
run(Data *data, Contender contender)
{
	struct timespec start;
	struct timespec end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	switch (contender)
	{
		case READ:
			read_all(data);
			break;
		case FIND_NEAREST:
			lw_nearest_begin(&data->nearest, data->hits, NEAREST);
			lw_nearest_scan(&data->nearest, data->query, &data->slab, 0, data->shape.rows);
			lw_nearest_finish(&data->nearest);
			break;
		case SCORE_ALL:
			lw_vectors_score(data->query, &data->slab, 0, data->shape.rows, data->scores);
			break;
		case CONTENDERS:
			break;
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return (double) (end.tv_sec - start.tv_sec) * 1e3 + (double) (end.tv_nsec - start.tv_nsec) * 1e-6;
}

/* Every hit has its row's score, and no other row a better one. */
static bool
right(Data *data)
{
	size_t		better = 0;
	size_t		i;

	run(data, FIND_NEAREST);
	run(data, SCORE_ALL);
	for (i = 0; i < data->shape.rows; i++)
		better += data->scores[i] > data->hits[NEAREST - 1].score;
	for (i = 0; i < NEAREST; i++)
		if (data->scores[data->hits[i].row] != data->hits[i].score)
			return false;
	return better == NEAREST - 1;
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

static void
bench(Shape shape, int turns, FILE *csv)
{
	static double times[CONTENDERS][MAX_TURNS];
	static double ratios[MAX_TURNS];
	double		bytes = (double) shape.rows * (shape.code_bytes + shape.scale_bytes);
	Data		data;
	int			turn;
	int			c;

	make_data(&data, shape);
	if (!right(&data))
	{
		fprintf(stderr, "%s: wrong hits\n", shape.name);
		exit(1);
	}
	for (turn = 0; turn < turns; turn++)
		for (c = 0; c < CONTENDERS; c++)
			times[c][turn] = run(&data, c);
	printf("\n%zu x %d %s, %.0f MB; %zu rows scored\n", shape.rows, DIMENSION, shape.name, bytes / 1e6, data.nearest.scored);
	printf("  %-20s %9s %8s %16s %18s\n", "", "ms", "GB/s", "x time of read", "share of its speed");
	for (c = 0; c < CONTENDERS; c++)
	{
		double		ms = median(times[c], turns);
		double		ratio;

		for (turn = 0; turn < turns; turn++)
			ratios[turn] = times[c][turn] / times[READ][turn];
		ratio = median(ratios, turns);
		printf("  %-20s %9.3f %8.1f %16.2f %18.2f\n", names[c], ms, bytes / ms / 1e6, ratio, 1 / ratio);
		if (csv != NULL)
			fprintf(csv, "%s,%s,%.3f,%.3f\n", shape.name, names[c], ms, ratio);
	}
	free_data(&data);
}

int
main(int argc, char **argv)
{
	FILE	   *csv = NULL;
	int			turns = 25;
	int			i;

	for (i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "--csv") == 0 && i + 1 < argc)
		{
			csv = fopen(argv[++i], "a");
			if (csv == NULL)
			{
				perror(argv[i]);
				return 1;
			}
		}
		else
			turns = atoi(argv[i]);
	}
	if (turns < 1 || turns > MAX_TURNS)
		turns = MAX_TURNS;
	printf("kernel %s, medians of %d turns\n", lw_kernel_names[lw_kernel_active()], turns);
	for (i = 0; i < (int) (sizeof(shapes) / sizeof(shapes[0])); i++)
		bench(shapes[i], turns, csv);
	if (csv != NULL && fclose(csv) != 0)
	{
		perror("csv");
		return 1;
	}
	return 0;
}
