/*-------------------------------------------------------------------------
 *
 * bench_vectors.c
 *	  The ten nearest of many single vectors, exactly, beside a plain read of
 *	  the same bytes and beside scoring every row.
 *
 * All take turns in one process of one thread.
 *
 *	bench_vectors [--csv FILE] [TURNS]
 *
 * Appends rows (turns.h) to the file, or prints them.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernel/maxsim.h"
#include "kernel/vectors.h"
#include "turns.h"

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
	double		start = milliseconds();

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
	return milliseconds() - start;
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

/* Times the contenders over rows of one type. */
static void
measure(Shape shape, int turns, FILE *csv)
{
	static double times[CONTENDERS][MAX_TURNS];
	double		multiplications = (double) shape.rows * DIMENSION;
	char		label[64];
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
	snprintf(label, sizeof(label), "%zu x %d %s", shape.rows, DIMENSION, shape.name);
	for (c = 0; c < CONTENDERS; c++)
		csv_row(csv, label, names[c], times[c], times[READ], turns, c == READ ? 0 : multiplications);
	fprintf(csv, "# %s: %zu rows were scored to find the best %d\n", label, data.nearest.scored, NEAREST);
	fflush(csv);
	free_data(&data);
}

int
main(int argc, char **argv)
{
	FILE	   *csv = stdout;
	int			turns = 25;
	size_t		i;

	if (argc > 2 && strcmp(argv[1], "--csv") == 0)
	{
		csv = fopen(argv[2], "a");
		if (csv == NULL)
		{
			perror(argv[2]);
			return 1;
		}
		argc -= 2;
		argv += 2;
	}
	if (argc > 1)
		turns = atoi(argv[1]);
	if (argc > 2 || turns < 1 || turns > MAX_TURNS)
	{
		fprintf(stderr, "usage: bench_vectors [--csv FILE] [TURNS], turns from 1 to %d\n", MAX_TURNS);
		return 1;
	}
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		measure(shapes[i], turns, csv);
	return 0;
}
