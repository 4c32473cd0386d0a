/*-------------------------------------------------------------------------
 *
 * test_centroids.c
 *	  Assigning tokens to centroids, and ranking documents by them: each
 *	  instruction set against plain loops, and all against each other.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <string.h>

#include "kernel/centroids.h"
#include "exact.h"
#include "random.h"
#include "unit.h"

#define MOST_TOKENS 100

static void *
aligned_memory(size_t size)
{
	void	   *memory = aligned_alloc(64, (size + 63) / 64 * 64);

	if (memory == NULL)
		abort();
	return memory;
}

static float *
random_rows(size_t count, size_t dimension)
{
	float	   *rows = malloc(count * dimension * sizeof(float));
	size_t		i;

	for (i = 0; i < count * dimension; i++)
		rows[i] = gaussian();
	return rows;
}

/* Centroids in cells of any size, empty ones among them; the middles are near what is in them. */
static LwCentroids
make_centroids(uint32_t dimension, uint32_t cells, uint32_t count)
{
	float	   *middles = random_rows(cells, dimension);
	float	   *rows = random_rows(count, dimension);
	uint32_t   *starts = malloc((cells + 1) * sizeof(uint32_t));
	LwCentroids centroids = {dimension, cells, count, starts, middles, rows};
	uint32_t	cell;
	uint32_t	i;
	uint32_t	j;

	starts[0] = 0;
	for (cell = 1; cell < cells; cell++)
	{
		starts[cell] = starts[cell - 1] + random_below(2 * count / cells + 1);
		if (starts[cell] > count)
			starts[cell] = count;
	}
	starts[cells] = count;
	for (cell = 0; cell < cells; cell++)
		for (i = starts[cell]; i < starts[cell + 1]; i++)
			for (j = 0; j < dimension; j++)
				rows[i * dimension + j] = rows[i * dimension + j] / 2 + middles[cell * dimension + j];
	return centroids;
}

static void
free_centroids(LwCentroids *centroids)
{
	free((void *) centroids->middles);
	free((void *) centroids->rows);
	free((void *) centroids->starts);
}

/* The chain of fused steps that the header defines. */
static float
dot(const float *a, const float *b, size_t dimension)
{
	float		sum = 0;
	size_t		i;

	for (i = 0; i < dimension; i++)
		sum = fmaf(a[i], b[i], sum);
	return sum;
}

/* Half the square of the distance, less half that of the row's norm. */
static double
farness(const float *row, const float *vector, size_t dimension)
{
	double		sum = 0;
	size_t		i;

	for (i = 0; i < dimension; i++)
		sum += 0.5 * vector[i] * vector[i] - (double) row[i] * vector[i];
	return sum;
}

static void
check_nearest(size_t count, size_t dimension)
{
	float	   *vectors = random_rows(count, dimension);
	float	   *rows = random_rows(LW_NEAREST_TOKENS, dimension);
	void	   *memory = aligned_memory(lw_pack_size(count, dimension));
	const float *pointers[LW_NEAREST_TOKENS];
	uint32_t	winners[LW_NEAREST_TOKENS];
	uint32_t	first[LW_NEAREST_TOKENS];
	float		nearness[LW_NEAREST_TOKENS];
	float		first_nearness[LW_NEAREST_TOKENS];
	LwPack		pack;
	int			kernel;
	size_t		tokens;
	size_t		i;
	size_t		j;

	/* equal vectors: the first of them wins */
	if (count > 20)
		memcpy(vectors + 19 * dimension, vectors + 2 * dimension, dimension * sizeof(float));
	lw_pack_init(&pack, memory, vectors, count, dimension);
	for (i = 0; i < LW_NEAREST_TOKENS; i++)
		pointers[i] = rows + i * dimension;
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		if (!lw_kernel_available((LwKernel) kernel))
			continue;
		lw_kernel_cap((LwKernel) kernel);
		tokens = kernel == LW_KERNEL_SCALAR ? LW_NEAREST_TOKENS : 1 + random_below(LW_NEAREST_TOKENS);
		lw_pack_nearest(&pack, pointers, tokens, winners, nearness);
		if (kernel == LW_KERNEL_SCALAR)
		{
			memcpy(first, winners, sizeof(first));
			memcpy(first_nearness, nearness, sizeof(first_nearness));
		}
		CHECK(memcmp(first, winners, tokens * sizeof(*first)) == 0 &&
			  memcmp(first_nearness, nearness, tokens * sizeof(*nearness)) == 0,
			  "%s: another nearest of %zu x %zu", lw_kernel_names[kernel], count, dimension);
	}
	for (i = 0; i < LW_NEAREST_TOKENS; i++)
	{
		double		found = farness(pointers[i], vectors + first[i] * dimension, dimension);
		bool		best = first[i] < count && first[i] != 19;

		for (j = 0; j < count; j++)
			best &= farness(pointers[i], vectors + j * dimension, dimension) >= found - 1e-4;
		CHECK(best && fabs(first_nearness[i] + found) < 1e-3, "row %zu of %zu x %zu", i, count, dimension);
	}
	lw_kernel_cap(LW_KERNEL_AUTO);
	free(vectors);
	free(rows);
	free(memory);
}

/* How many tokens have the centroid that a look at all of them finds. */
static size_t
count_exact(const LwCentroids *centroids, const float *rows, size_t count, const uint16_t *ids)
{
	size_t		dimension = centroids->dimension;
	size_t		exact = 0;
	size_t		i;
	uint32_t	j;

	for (i = 0; i < count; i++)
	{
		double		found = farness(rows + i * dimension, centroids->rows + ids[i] * dimension, dimension);
		bool		best = true;

		for (j = 0; j < centroids->count && best; j++)
			best = farness(rows + i * dimension, centroids->rows + j * dimension, dimension) >= found - 1e-4;
		exact += best;
	}
	return exact;
}

static void
check_assign(uint32_t dimension, uint32_t cells, uint32_t centroid_count, size_t count)
{
	LwCentroids centroids = make_centroids(dimension, cells, centroid_count);
	float	   *rows = random_rows(count, dimension);
	uint16_t   *ids = malloc(count * sizeof(uint16_t));
	uint16_t   *first = malloc(count * sizeof(uint16_t));
	void	   *memory = aligned_memory(lw_assigner_size(&centroids));
	LwAssigner *assigner = lw_assigner_init(memory, &centroids);
	size_t		exact;
	size_t		i;
	size_t		j;
	int			kernel;

	/* tokens are near centroids, as they are after a training */
	for (i = 0; i < count; i++)
	{
		uint32_t	near = random_below(centroid_count);

		for (j = 0; j < dimension; j++)
			rows[i * dimension + j] = rows[i * dimension + j] / 4 + centroids.rows[near * dimension + j];
	}
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		if (!lw_kernel_available((LwKernel) kernel))
			continue;
		lw_kernel_cap((LwKernel) kernel);
		lw_assign(assigner, rows, count, ids);
		if (kernel == LW_KERNEL_SCALAR)
			memcpy(first, ids, count * sizeof(uint16_t));
		CHECK(memcmp(first, ids, count * sizeof(uint16_t)) == 0, "%s: other centroids", lw_kernel_names[kernel]);
	}
	exact = count_exact(&centroids, rows, count, ids);
	CHECK(cells <= 4 ? exact == count : exact >= count * 9 / 10, "%zu of %zu tokens have the nearest of %u centroids in %u cells",
		  exact, count, centroid_count, cells);
	lw_kernel_cap(LW_KERNEL_AUTO);
	free(memory);
	free(rows);
	free(ids);
	free(first);
	free_centroids(&centroids);
}

/* The byte that a similarity becomes. */
static uint8_t
quantized(float similarity, float highest, float range)
{
	float		value = (similarity - (highest - range)) * (255.0f / range);

	value = value > 0 ? value : 0;
	value = value < 255 ? value : 255;
	return (uint8_t) (value + 0.5f);
}

/* A table against plain loops; the same bytes from every instruction set. */
static void
check_table(uint32_t dimension, uint32_t count, uint32_t tokens)
{
	LwCentroids centroids = make_centroids(dimension, 1, count);
	float	   *values = random_rows(tokens, dimension);
	LwQuery    *query = lw_query_init(aligned_memory(lw_query_size(tokens, dimension)), values, tokens, dimension);
	void	   *memory = aligned_memory(lw_table_size(count, tokens));
	float		highest[MOST_TOKENS];
	float		range = 0;
	LwCentroidTable table;
	uint32_t	i;
	uint32_t	token;
	int			kernel;

	for (token = 0; token < tokens; token++)
	{
		highest[token] = -INFINITY;
		for (i = 0; i < count; i++)
			highest[token] = fmaxf(highest[token], dot(values + token * dimension, centroids.rows + i * dimension, dimension));
		range = fmaxf(range, fabsf(highest[token]));
	}
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		size_t		wrong = 0;

		if (!lw_kernel_available((LwKernel) kernel))
			continue;
		lw_kernel_cap((LwKernel) kernel);
		memset(memory, 0x55, lw_table_size(count, tokens));
		lw_table_init(&table, memory, &centroids, query);
		for (i = 0; i < count; i++)
			for (token = 0; token < table.groups * LW_RANK_LANES; token++)
			{
				uint8_t		expected = 0;

				if (token < tokens)
					expected = quantized(dot(values + token * dimension, centroids.rows + i * dimension, dimension),
										 highest[token], range);
				wrong += table.rows[i * table.groups * LW_RANK_LANES + token] != expected;
			}
		CHECK(wrong == 0 && table.groups == (tokens + 31) / 32, "%s: %zu bytes are wrong for %u tokens and %u centroids",
			  lw_kernel_names[kernel], wrong, tokens, count);
	}
	lw_kernel_cap(LW_KERNEL_AUTO);
	free(query);
	free(memory);
	free(values);
	free_centroids(&centroids);
}

/* Ranks of documents, damaged ones among them, against plain loops. */
static void
check_rank(uint32_t count, size_t groups)
{
	size_t		pitch = groups * LW_RANK_LANES;
	uint8_t    *bytes = aligned_memory(count * pitch);
	uint8_t    *rows;
	LwCentroidTable table;
	LwCodes		documents[40];
	uint32_t	ranks[40];
	size_t		i;
	size_t		j;
	int			kernel;

	for (i = 0; i < count * pitch; i++)
		bytes[i] = (uint8_t) random_below(256);
	/* no byte more, for the address sanitizer */
	rows = (uint8_t *) exact_copy(bytes, count * pitch);
	table = (LwCentroidTable) {count, groups, rows};
	for (i = 0; i < 40; i++)
	{
		size_t		size = i < 10 ? i : random_below(200);
		uint16_t   *ids = malloc(size * sizeof(uint16_t) + 1);

		for (j = 0; j < size; j++)
			ids[j] = (uint16_t) random_below(i % 4 == 3 ? 65536 : count);
		documents[i] = (LwCodes) {ids, size};
	}
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		size_t		wrong = 0;

		if (!lw_kernel_available((LwKernel) kernel))
			continue;
		lw_kernel_cap((LwKernel) kernel);
		lw_rank(&table, documents, 40, ranks);
		for (i = 0; i < 40; i++)
		{
			uint32_t	expected = 0;
			size_t		token;

			for (token = 0; token < pitch; token++)
			{
				uint8_t		best = 0;

				for (j = 0; j < documents[i].count; j++)
				{
					uint16_t	id = documents[i].ids[j];
					uint8_t		byte = rows[(id < count ? id : 0) * pitch + token];

					best = byte > best ? byte : best;
				}
				expected += best;
			}
			wrong += ranks[i] != expected;
		}
		CHECK(wrong == 0, "%s: %zu ranks are wrong with %u centroids, %zu groups", lw_kernel_names[kernel], wrong, count, groups);
	}
	lw_kernel_cap(LW_KERNEL_AUTO);
	for (i = 0; i < 40; i++)
		free((void *) documents[i].ids);
	free(rows);
	free(bytes);
}

static int
compare_hits(const void *a, const void *b)
{
	const LwHit *x = a;
	const LwHit *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* The best of hits in any order, with many ties, are those of a sort; more of them begin with fewer. */
static void
check_best(size_t count, size_t room)
{
	LwHit	   *all = calloc(count + 1, sizeof(LwHit));
	LwHit	   *hits = calloc(room + 1, sizeof(LwHit));
	LwBest		best = {hits, room, 0};
	size_t		i;

	for (i = 0; i < count; i++)
		all[i] = (LwHit) {random_below(50), random_below(3), i};
	for (i = 0; i < count; i++)
		lw_best_offer(&best, all[i]);
	lw_best_finish(&best);
	qsort(all, count, sizeof(LwHit), compare_hits);
	CHECK(best.count == (room < count ? room : count) && memcmp(all, hits, best.count * sizeof(LwHit)) == 0,
		  "the best %zu of %zu", room, count);
	free(all);
	free(hits);
}

/* Values that no training writes, but a damaged file may have: nothing is read or written out of bounds. */
static void
check_strange(void)
{
	LwCentroids centroids = make_centroids(8, 20, 100);
	float	   *rows = random_rows(50, 8);
	uint16_t	ids[50];
	void	   *memory = aligned_memory(lw_assigner_size(&centroids));
	LwQuery    *query = lw_query_init(aligned_memory(lw_query_size(5, 8)), rows, 5, 8);
	void	   *table_memory = aligned_memory(lw_table_size(100, 5));
	LwCentroidTable table;
	size_t		i;
	bool		in_range = true;

	for (i = 0; i < 800; i++)
		((float *) centroids.rows)[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : 1e38f;
	for (i = 0; i < 160; i++)
		((float *) centroids.middles)[i] = i % 5 == 0 ? NAN : -INFINITY;
	lw_assign(lw_assigner_init(memory, &centroids), rows, 50, ids);
	for (i = 0; i < 50; i++)
		in_range &= ids[i] < 100;
	CHECK(in_range, "a number is no centroid's");
	lw_table_init(&table, table_memory, &centroids, query);
	CHECK(table.count == 100 && table.rows[31] == 0, "the table of strange values");
	CHECK(lw_table_size(65536, 256) > 0 && lw_table_size(65536, 257) == 0, "size of a table");
	CHECK(lw_pack_size(SIZE_MAX / 64, 100) == 0, "size of a pack");
	free(memory);
	free(table_memory);
	free(query);
	free(rows);
	free_centroids(&centroids);
}

int
main(void)
{
	const uint32_t dimensions[] = {1, 7, 16, 33, 128};
	const uint32_t tokens[] = {1, 15, 16, 17, 32, 33, 70, 100};
	size_t		i;

	for (i = 0; i < 5; i++)
	{
		check_nearest(1, dimensions[i]);
		check_nearest(17 + random_below(100), dimensions[i]);
	}
	check_assign(16, 1, 200, 500);
	check_assign(24, 4, 300, LW_ASSIGN_TOKENS);
	check_assign(32, 40, unit_brief() ? 300 : 2000, 700);
	for (i = 0; i < 8; i++)
	{
		check_table(dimensions[i % 5], 200 + random_below(100), tokens[i]);
		check_rank(1 + random_below(300), (tokens[i] + 31) / 32);
	}
	check_table(3, 1, 2);
	check_rank(65536, 1);
	check_best(1000, 60);
	check_best(1000, 400);
	check_best(10, 60);
	check_best(0, 5);
	check_best(20, 0);
	check_strange();
	return unit_done("test_centroids");
}
