/*-------------------------------------------------------------------------
 *
 * test_index.c
 *	  The indexes of section files by themselves: examples in hex, builds
 *	  with known sums, payloads that are wrong in one place.
 *
 * Uses the golden file tokenizer.json under $LATEWEAVE_GOLDEN.  The large
 * build is made when LATEWEAVE_SLOW is set.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "codec.h"
#include "section.h"
#include "section/bm25.h"
#include "section/graph.h"
#include "section/hnsw.h"
#include "section/intpack.h"
#include "section/rank.h"
#include "section/tokenizer.h"
#include "tree.h"

static LwError error;

/* A check of some index. */
typedef LwStatus (*Check) (LwBytes payload, uint64_t rows, LwError *error);

typedef struct WrongCase
{
	const char *what;
	const char *hex;
	const char *error;			/* NULL: MALFORMED_PAYLOAD */
} WrongCase;

/* Checks that each payload is refused, and says why. */
static void
check_wrong(Check check, uint64_t rows, const WrongCase *cases)
{
	for (; cases->what != NULL; cases++)
	{
		LwBytes		payload = from_hex(cases->hex);
		const char *name = cases->error != NULL ? cases->error : MALFORMED_PAYLOAD;
		LwStatus	status = check(payload, rows, &error);

		CHECK(is_error(status, &error, name), "%s: %d", cases->what, (int) status);
		free((void *) payload.data);
	}
}

/* Checks that a payload is refused when it ends early, and not when it goes on. */
static void
check_cut(Check check, uint64_t rows, const char *hex)
{
	LwBytes		payload = from_hex(hex);
	size_t		size;

	for (size = 0; size < payload.size; size++)
	{
		LwBytes		cut = {(const uint8_t *) exact_copy(payload.data, size), size};

		CHECK(is_error(check(cut, rows, &error), &error, MALFORMED_PAYLOAD), "%zu bytes", size);
		free((void *) cut.data);
	}
	CHECK(check(payload, rows, &error) == LW_OK, "%s, %s", error.expected, error.found);
	CHECK(check(payload, rows + 1, &error) == LW_MALFORMED, "a row more");
	CHECK(check(payload, rows - 1, &error) == LW_MALFORMED, "a row less");
	free((void *) payload.data);
}

#define HNSW_HEADER(version) version "000000 10000000 20000000 90010000 00000000 01000000 03000000"
#define HNSW_LEVELS "16000000 03000000 01000000 0c000000 0000000000000000 01 01"
#define HNSW_COUNTS "16000000 04000000 01000000 0c000000 0000000000000000 02 a2"
#define HNSW_IDS "17000000 06000000 01000000 0c000000 0000000000000000 02 89 04"
#define HNSW_2 HNSW_HEADER("02") HNSW_LEVELS HNSW_COUNTS HNSW_IDS
#define HNSW_1 HNSW_HEADER("01") "01000000 02000000 01000000 02000000 00000000" \
	"00000000 02000000 00000000 02000000 00000000 02000000 00000000 01000000"

static void
check_links(const LwHnsw *hnsw, uint32_t node, uint32_t layer, size_t count, uint32_t first, uint32_t second)
{
	size_t		found;
	const uint32_t *links = lw_hnsw_neighbours(hnsw, node, layer, &found);

	CHECK(found == count && (count < 1 || links[0] == first) && (count < 2 || links[1] == second),
		  "node %u, layer %u: %zu links", (unsigned) node, (unsigned) layer, found);
}

static void
test_hnsw_example(void)
{
	static const char *const payloads[] = {HNSW_2, HNSW_1, HNSW_2 "00ff", HNSW_1 "00"};
	size_t		i;

	for (i = 0; i < 4; i++)
	{
		LwBytes		payload = from_hex(payloads[i]);
		LwBuffer	encoded;
		LwHnsw	   *hnsw;

		CHECK(lw_hnsw_check(payload, 3, &error) == LW_OK, "%zu", i);
		CHECK(lw_hnsw_open(payload, 3, 0, &hnsw, &error) == LW_OK, "%zu", i);
		free((void *) payload.data);
		CHECK(hnsw->m == 16 && hnsw->m_max0 == 32 && hnsw->ef_construction == 400 && hnsw->entry_point == 0 &&
			  hnsw->max_level == 1 && hnsw->nodes == 3, "%zu", i);
		check_links(hnsw, 0, 0, 2, 1, 2);
		check_links(hnsw, 0, 1, 0, 0, 0);
		check_links(hnsw, 0, 2, 0, 0, 0);
		check_links(hnsw, 1, 0, 2, 0, 2);
		check_links(hnsw, 1, 1, 0, 0, 0);
		check_links(hnsw, 2, 0, 2, 0, 1);
		check_links(hnsw, 2, UINT32_MAX, 0, 0, 0);
		CHECK(lw_hnsw_memory(hnsw) == sizeof(LwHnsw) + 4 * (4 + 5 + 6), "%zu", lw_hnsw_memory(hnsw));
		lw_buffer_init(&encoded, 0);
		lw_hnsw_encode(hnsw, &encoded);
		CHECK(holds_hex(&encoded, HNSW_2), "%zu", i);
		lw_buffer_free(&encoded);
		lw_hnsw_close(hnsw);
	}
}

static void
test_hnsw_memory(void)
{
	LwBytes		payload = from_hex(HNSW_2);
	size_t		size = sizeof(LwHnsw) + 4 * (4 + 5 + 6);
	LwHnsw	   *hnsw;

	CHECK(lw_hnsw_open(payload, 3, size - 1, &hnsw, &error) == LW_LIMIT && hnsw == NULL, "too little");
	CHECK(lw_hnsw_open(payload, 3, size, &hnsw, &error) == LW_OK, "enough");
	lw_hnsw_close(hnsw);
	lw_hnsw_close(NULL);
	free((void *) payload.data);
}

static void
test_hnsw_wrong(void)
{
	static const WrongCase cases[] = {
		{"version 0", HNSW_HEADER("00") HNSW_LEVELS HNSW_COUNTS HNSW_IDS, "UnsupportedSectionVersion"},
		{"version 3", HNSW_HEADER("03") HNSW_LEVELS HNSW_COUNTS HNSW_IDS, "UnsupportedSectionVersion"},
		{"four nodes and version 3", "03000000 10000000 20000000 90010000 00000000 01000000 04000000" HNSW_LEVELS, NULL},
		{"entry point 3", "02000000 10000000 20000000 90010000 03000000 01000000 03000000" HNSW_LEVELS HNSW_COUNTS HNSW_IDS, NULL},
		{"top level 65", "02000000 10000000 20000000 90010000 00000000 41000000 03000000" HNSW_LEVELS HNSW_COUNTS HNSW_IDS, NULL},
		{"two levels", HNSW_HEADER("02") "15000000 02000000 01000000 0c000000 0000000000000000 00" HNSW_COUNTS HNSW_IDS, NULL},
		{"level 65", HNSW_HEADER("02") "15000000 03000000 01000000 0c000000 4100000000000000 00" HNSW_COUNTS HNSW_IDS, NULL},
		{"level 2^64 - 1", HNSW_HEADER("02") "15000000 03000000 01000000 0c000000 ffffffffffffffff 00" HNSW_COUNTS HNSW_IDS, NULL},
		{"three counts", HNSW_HEADER("02") HNSW_LEVELS "16000000 03000000 01000000 0c000000 0000000000000000 02 22" HNSW_IDS, NULL},
		{"4097 links", HNSW_HEADER("02") HNSW_LEVELS "15000000 04000000 01000000 0c000000 0110000000000000 00" HNSW_IDS, NULL},
		{"2^64 - 1 links", HNSW_HEADER("02") HNSW_LEVELS "15000000 04000000 01000000 0c000000 ffffffffffffffff 00" HNSW_IDS, NULL},
		{"five ids", HNSW_HEADER("02") HNSW_LEVELS HNSW_COUNTS "17000000 05000000 01000000 0c000000 0000000000000000 02 89 04", NULL},
		{"id 3", HNSW_HEADER("02") HNSW_LEVELS HNSW_COUNTS "17000000 06000000 01000000 0c000000 0000000000000000 02 89 0c", NULL},
		{"id 2^32", HNSW_HEADER("02") HNSW_LEVELS HNSW_COUNTS "15000000 06000000 01000000 0c000000 0000000001000000 00", NULL},
		{"column beyond the end", HNSW_HEADER("02") "ffffffff 03000000 01000000 0c000000 0000000000000000 01 01" HNSW_COUNTS HNSW_IDS, NULL},
		{"version 1: level 65", HNSW_HEADER("01") "41000000 02000000 01000000 02000000 00000000", NULL},
		{"version 1: 4097 links", HNSW_HEADER("01") "01000000 01100000 01000000*5000", NULL},
		{"version 1: id 3", HNSW_HEADER("01") "01000000 02000000 01000000 03000000 00000000"
		"00000000 02000000 00000000 02000000 00000000 02000000 00000000 01000000", NULL},
		{NULL, NULL, NULL}
	};

	check_wrong(lw_hnsw_check, 3, cases);
	check_cut(lw_hnsw_check, 3, HNSW_2);
	check_cut(lw_hnsw_check, 3, HNSW_1);
}

/* A list that claims many ids with few bytes takes memory only when that is allowed. */
static void
test_hnsw_amplified(void)
{
	LwBytes		payload;
	LwBuffer	buffer;
	LwHnsw	   *hnsw;
	uint64_t	links = LW_HNSW_MAX_LINKS;
	uint32_t	nodes = 1000;
	uint32_t	blocks = (uint32_t) (nodes * links / LW_INTPACK_BLOCK);
	uint32_t	i;

	lw_buffer_init(&buffer, 0);
	put_hex(&buffer, "02000000 10000000 20000000 90010000 00000000 00000000 e8030000");
	for (i = 0; i < 2; i++)
	{
		/* every level is 0, every count 4096 */
		uint32_t	block;

		lw_put_u32(&buffer, 8 + 8 * 4 + 9);
		lw_put_u32(&buffer, nodes);
		lw_put_u32(&buffer, 8);
		for (block = 0; block < 8; block++)
			lw_put_u32(&buffer, 8 + 8 * 4);
		lw_put_u64(&buffer, i == 0 ? 0 : links);
		lw_put_u8(&buffer, 0);
	}
	lw_put_u32(&buffer, 8 + blocks * 4 + 9);
	lw_put_u32(&buffer, (uint32_t) (nodes * links));
	lw_put_u32(&buffer, blocks);
	for (i = 0; i < blocks; i++)
		lw_put_u32(&buffer, 8 + blocks * 4);
	lw_put_u64(&buffer, 7);
	lw_put_u8(&buffer, 0);
	payload = lw_buffer_bytes(&buffer);
	CHECK(lw_hnsw_check(payload, nodes, &error) == LW_OK, "%s, %s", error.expected, error.found);
	CHECK(lw_hnsw_open(payload, nodes, (size_t) 1 << 20, &hnsw, &error) == LW_LIMIT, "1 MB");
	CHECK(lw_hnsw_open(payload, nodes, (size_t) 1 << 30, &hnsw, &error) == LW_OK, "1 GB");
	lw_hnsw_close(hnsw);
	lw_buffer_free(&buffer);
}

/* The reference's corpus: unit vectors of its generator. */
static float *
make_corpus(size_t rows, size_t dimension, uint64_t seed)
{
	float	   *corpus = tree_memory(rows * dimension * sizeof(float));
	uint64_t	state = seed * UINT64_C(2862933555777941757) + UINT64_C(3037000493);
	size_t		i;
	size_t		j;

	for (i = 0; i < rows; i++)
	{
		float	   *row = corpus + i * dimension;
		float		sum = 0;

		for (j = 0; j < dimension; j++)
		{
			state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			row[j] = (float) ((double) (state >> 11) * 0x1p-53) - 0.5f;
			sum += row[j] * row[j];
		}
		sum = sqrtf(sum);
		for (j = 0; j < dimension; j++)
			row[j] /= sum;
	}
	return corpus;
}

/* Builds an index and compares the payload's sum. */
static void
check_digest(size_t rows, size_t dimension, uint64_t corpus_seed, uint64_t seed, size_t size, const char *digest)
{
	float	   *corpus = make_corpus(rows, dimension, corpus_seed);
	LwVectorSlab slab = {LW_VECTOR_FLOAT32, (uint32_t) dimension, rows, corpus, NULL};
	LwHnswOptions options = lw_hnsw_defaults;
	uint8_t		sum[LW_SHA256_SIZE];
	char		text[2 * LW_SHA256_SIZE + 1];
	LwBuffer	payload;
	LwHnsw	   *hnsw;
	size_t		i;

	options.seed = seed;
	CHECK(lw_hnsw_build(&slab, &options, &hnsw, &error) == LW_OK, "%s", error.expected);
	lw_buffer_init(&payload, 0);
	lw_hnsw_encode(hnsw, &payload);
	section_sum(payload.data, payload.size, sum);
	for (i = 0; i < sizeof(sum); i++)
		sprintf(text + 2 * i, "%02x", sum[i]);
	CHECK(payload.size == size && strcmp(text, digest) == 0, "%zu rows: %zu bytes, %s", rows, payload.size, text);
	CHECK(lw_hnsw_check(lw_buffer_bytes(&payload), rows, &error) == LW_OK, "%s", error.expected);
	lw_buffer_free(&payload);
	lw_hnsw_close(hnsw);
	free(corpus);
}

static void
test_hnsw_digests(void)
{
	check_digest(2000, 128, 0x5EED0001, 0xBEEF, 81587,
				 "0210ecf212b48524fea016a3033064259ce23075666cbae43f0bdb02d0b77f9b");
	if (getenv("LATEWEAVE_SLOW") != NULL)
		check_digest(10000, 384, 0xCAFEBABE, 0xDEADBEEF, 506779,
					 "bf93c2fecdb6bba867787f23b0b541e1e9534bdeec625007162eb0d152254139");
}

/* The level of each node by the published seed. */
static void
test_hnsw_levels(void)
{
	static const uint32_t level_1[] = {32, 93, 112, 128, 133, 142, 154, 180, 184, UINT32_MAX};
	float	   *corpus = make_corpus(200, 4, 1);
	LwVectorSlab slab = {LW_VECTOR_FLOAT32, 4, 200, corpus, NULL};
	LwHnsw	   *hnsw;
	size_t		next = 0;
	uint32_t	i;

	CHECK(lw_hnsw_build(&slab, &lw_hnsw_defaults, &hnsw, &error) == LW_OK, "%s", error.expected);
	for (i = 0; i < 200; i++)
	{
		uint32_t	level = i == 176 ? 2 : i == 145 ? 3 : i == level_1[next];

		if (level == 1)
			next++;
		CHECK(hnsw->lists[i + 1] - hnsw->lists[i] == level + 1, "node %u", (unsigned) i);
	}
	CHECK(hnsw->max_level == 3 && hnsw->entry_point == 145, "%u, %u", (unsigned) hnsw->max_level,
		  (unsigned) hnsw->entry_point);
	lw_hnsw_close(hnsw);
	free(corpus);
}

static bool
stop_at_zero(void *arg)
{
	int		   *left = arg;

	return --*left <= 0;
}

/* Builds of few rows and odd options hold their own rules, and searches of them find rows. */
static void
test_hnsw_odd(void)
{
	static const uint32_t links[] = {0, 1, 2, 5, 16, 2048};
	static const uint32_t beams[] = {0, 1, 7, 400, UINT32_MAX};
	float	   *corpus = make_corpus(40, 8, 2);
	size_t		rows;
	size_t		i;
	size_t		j;

	/* twins and a row of zeros */
	memcpy(corpus + 9 * 8, corpus + 3 * 8, 8 * sizeof(float));
	memcpy(corpus + 10 * 8, corpus + 3 * 8, 8 * sizeof(float));
	memset(corpus + 11 * 8, 0, 8 * sizeof(float));
	for (rows = 0; rows <= 40; rows += rows < 3 ? 1 : 37)
		for (i = 0; i < 6; i++)
			for (j = 0; j < 5; j++)
			{
				LwVectorSlab slab = {LW_VECTOR_FLOAT32, 8, rows, corpus, NULL};
				LwHnswOptions options = {links[i], beams[j], 42, NULL};
				const LwNeighbour *found;
				LwHnswSearch *search;
				LwBuffer	payload;
				LwHnsw	   *hnsw;
				LwHnsw	   *again;
				size_t		count;
				size_t		k;

				CHECK(lw_hnsw_build(&slab, &options, &hnsw, &error) == LW_OK, "%s", error.expected);
				lw_buffer_init(&payload, 0);
				lw_hnsw_encode(hnsw, &payload);
				CHECK(lw_hnsw_open(lw_buffer_bytes(&payload), rows, 0, &again, &error) == LW_OK, "%s", error.expected);
				CHECK(again->ef_construction == beams[j] && lw_hnsw_memory(hnsw) == lw_hnsw_memory(again) &&
					  memcmp(hnsw + 1, again + 1, lw_hnsw_memory(hnsw) - sizeof(LwHnsw)) == 0,
					  "%zu rows, m %u, ef %u", rows, (unsigned) links[i], (unsigned) beams[j]);
				CHECK(lw_hnsw_search_new(again, &search, &error) == LW_OK, "%s", error.expected);
				CHECK(lw_hnsw_search(search, &slab, corpus, 3, &found, &count, &error) == LW_OK, "%s", error.expected);
				CHECK(count <= rows && (count > 0) == (rows > 0), "%zu of %zu", count, rows);
				for (k = 1; k < count; k++)
					CHECK(found[k - 1].distance < found[k].distance ||
						  (found[k - 1].distance == found[k].distance && found[k - 1].row < found[k].row), "%zu", k);
				lw_hnsw_search_free(search);
				lw_hnsw_close(again);
				lw_hnsw_close(hnsw);
				lw_buffer_free(&payload);
			}
	free(corpus);
}

static void
test_hnsw_refused(void)
{
	float	   *corpus = make_corpus(40, 8, 2);
	LwVectorSlab slab = {LW_VECTOR_FLOAT32, 8, 40, corpus, NULL};
	int			left = 20;
	LwStop		stop = {stop_at_zero, &left};
	LwHnswOptions options = {2049, 400, 42, NULL};
	LwHnsw	   *hnsw;

	CHECK(lw_hnsw_build(&slab, &options, &hnsw, &error) == LW_INVALID && hnsw == NULL, "m 2049");
	options.m = 16;
	options.stop = &stop;
	CHECK(lw_hnsw_build(&slab, &options, &hnsw, &error) == LW_CANCELLED && hnsw == NULL, "stopped");
	CHECK(left == 0, "%d", left);
	left = 1000;
	CHECK(lw_hnsw_build(&slab, &options, &hnsw, &error) == LW_OK, "not stopped");
	CHECK(left == 1000 - 39, "%d", left);
	lw_hnsw_close(hnsw);
	slab.rows = UINT32_MAX;
	CHECK(lw_hnsw_build(&slab, &options, &hnsw, &error) == LW_LIMIT, "too many rows");
	free(corpus);
}

/* A beam as wide as the index finds what comparing with every row finds, in the same order. */
static void
test_hnsw_search(void)
{
	size_t		rows = 300;
	size_t		dimension = 24;
	float	   *corpus = make_corpus(rows, dimension, 3);
	float	   *queries = make_corpus(20, dimension, 4);
	LwVectorSlab slab = {LW_VECTOR_FLOAT32, (uint32_t) dimension, rows, corpus, NULL};
	LwHnswOptions options = {8, 20, 42, NULL};
	LwHnsw	   *hnsw;
	LwHnswSearch *search;
	size_t		missed = 0;
	size_t		i;

	CHECK(lw_hnsw_build(&slab, &options, &hnsw, &error) == LW_OK, "%s", error.expected);
	CHECK(lw_hnsw_search_new(hnsw, &search, &error) == LW_OK, "%s", error.expected);
	for (i = 0; i < 20; i++)
	{
		const float *query = queries + i * dimension;
		const LwNeighbour *found;
		LwNeighbour ten[10];
		size_t		count;
		size_t		j;

		CHECK(lw_hnsw_search(search, &slab, query, SIZE_MAX, &found, &count, &error) == LW_OK, "%zu", i);
		CHECK(count == rows, "%zu", count);
		memcpy(ten, found, sizeof(ten));
		for (j = 0; j < rows; j++)
		{
			float		distance = found[j].distance;
			float		dot = 0;
			size_t		k;

			for (k = 0; k < dimension; k++)
				dot += query[k] * corpus[found[j].row * dimension + k];
			CHECK(fabsf(1 - dot - distance) < 1e-5f, "%zu", j);
			CHECK(j == 0 || found[j - 1].distance <= distance, "%zu", j);
		}
		CHECK(lw_hnsw_search(search, &slab, query, 1, &found, &count, &error) == LW_OK, "%zu", i);
		CHECK(count == 20, "the floor of the beam: %zu", count);
		for (j = 0; j < 10; j++)
			missed += found[j].row != ten[j].row;
	}
	CHECK(missed < 40, "%zu of 200 missed", missed);
	lw_hnsw_search_free(search);
	lw_hnsw_search_free(NULL);
	lw_hnsw_close(hnsw);
	free(corpus);
	free(queries);
}

/* The first code point of UTF-8. */
static uint32_t
first_point(const char *text)
{
	const uint8_t *bytes = (const uint8_t *) text;
	int			more = bytes[0] < 0x80 ? 0 : bytes[0] < 0xe0 ? 1 : bytes[0] < 0xf0 ? 2 : 3;
	uint32_t	point = more == 0 ? bytes[0] : bytes[0] & (0x3f >> more);
	int			i;

	for (i = 1; i <= more; i++)
		point = point << 6 | (bytes[i] & 0x3f);
	return point;
}

/* Every code point is as measured from the reference. */
static void
test_token_points(void)
{
	const char *golden = getenv("LATEWEAVE_GOLDEN");
	char		path[500];
	Tree	   *measured;
	const Tree *range;
	const Tree *lower;
	uint8_t    *expected = tree_memory(0x110000);
	uint32_t	point;

	snprintf(path, sizeof(path), "%s/sections/tokenizer.json", golden == NULL ? "test/golden" : golden);
	measured = tree_read(path);
	for (range = tree_get(measured, "token_ranges")->first; range != NULL; range = range->next)
		memset(expected + strtoul(range->first->text, NULL, 10), 1,
			   strtoul(range->first->next->text, NULL, 10) - strtoul(range->first->text, NULL, 10) + 1);
	for (lower = tree_get(measured, "lowercase")->first; lower != NULL; lower = lower->next)
		expected[strtoul(lower->name, NULL, 10)] |= 2;
	lower = tree_get(measured, "lowercase")->first;
	for (point = 0; point < 0x110000; point++)
	{
		uint32_t	found[LW_LOWER_MAX];
		int			count = lw_token_lower(point, found);

		if ((count > 0) != (expected[point] & 1))
			CHECK(false, "U+%04X", (unsigned) point);
		if (count > 0 && (count != 1 || found[0] != point) != (expected[point] >> 1))
			CHECK(false, "U+%04X", (unsigned) point);
	}
	for (; lower != NULL; lower = lower->next)
	{
		uint32_t	found[LW_LOWER_MAX];

		point = (uint32_t) strtoul(lower->name, NULL, 10);
		CHECK(lw_token_lower(point, found) == (point == 0x130 ? 2 : 1) && found[0] == first_point(lower->text),
			  "U+%04X", (unsigned) point);
	}
	free(expected);
	tree_free(measured);
}

/* The tokens of a text, with a bar between them. */
static void
check_tokens(LwBytes text, const char *expected)
{
	LwTokenizer tokenizer;
	LwBuffer	tokens;
	LwBytes		copy = {(const uint8_t *) exact_copy(text.data, text.size), text.size};

	lw_tokenizer_init(&tokenizer);
	lw_buffer_init(&tokens, 0);
	lw_tokenizer_start(&tokenizer, copy);
	while (lw_tokenizer_next(&tokenizer))
	{
		if (tokens.size > 0)
			lw_put_u8(&tokens, '|');
		lw_put_bytes(&tokens, tokenizer.token.data, tokenizer.token.size);
	}
	CHECK(same_bytes(lw_buffer_bytes(&tokens), bytes_of(expected)), "\"%.*s\", not \"%s\"", (int) tokens.size,
		  (const char *) tokens.data, expected);
	lw_buffer_free(&tokens);
	lw_tokenizer_free(&tokenizer);
	free((void *) copy.data);
}

static void
test_tokens(void)
{
	static const char *const cases[][2] = {
		{"", ""}, {" ", ""}, {"a", ""}, {"ab", "ab"}, {"a b", ""}, {"a b cd e", "cd"},
		{"The cat, the CAT.", "the|cat|the|cat"},
		{"a\xc3\xa7\xc3\xa3o acao", "a\xc3\xa7\xc3\xa3o|acao"},
		{"ca\xcc\x83o", "ca"},
		{"COVID-19", "covid|19"}, {"3.14", "14"}, {"C++ !", ""}, {"snake_case it's e-mail", "snake|case|it|mail"},
		{"\xce\xa3\xce\xaf\xcf\x83\xcf\x85\xcf\x86\xce\xbf\xcf\x82 \xce\xa3\xce\xa3", "\xcf\x83\xce\xaf\xcf\x83\xcf\x85\xcf\x86\xce\xbf\xcf\x82|\xcf\x83\xcf\x83"},
		{"\xc4\xb0", "i\xcc\x87"}, {"\xc4\xb0stanbul", "i\xcc\x87stanbul"},
		{"Stra\xc3\x9f" "e", "stra\xc3\x9f" "e"},
		{"\xe6\x9d\xb1\xe4\xba\xac \xe6\x9d\xb1", "\xe6\x9d\xb1\xe4\xba\xac"},
		{"\xf0\x90\x90\x80\xf0\x90\x90\x81", "\xf0\x90\x90\xa8\xf0\x90\x90\xa9"},
		{"ok\xf0\x9f\x98\x80no", "ok|no"},
		/* no UTF-8: cut off, overlong, a surrogate, beyond the last, bare */
		{"ab\xc3", "ab"}, {"ab\xc3" "cd", "ab|cd"}, {"ab\xc1\xa1" "cd", "ab|cd"}, {"ab\xe0\x81\xa1" "cd", "ab|cd"},
		{"ab\xed\xa0\x80" "cd", "ab|cd"}, {"ab\xf4\x90\x80\x80" "cd", "ab|cd"}, {"ab\xf8\x88\x80\x80\x80" "cd", "ab|cd"},
		{"ab\x80\xbf" "cd", "ab|cd"}, {"ab\xf0\x9f\x98", "ab"}, {"ab\xff" "cd", "ab|cd"}
	};
	LwBytes		nothing = {NULL, 0};
	LwBytes		zero = {(const uint8_t *) "ab\0cd", 5};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_tokens(bytes_of(cases[i][0]), cases[i][1]);
	check_tokens(nothing, "");
	check_tokens(zero, "ab|cd");
}

#define BM25_HEADER "02000000 0000c03f 0000403f 00002040 02000000 03000000"
#define BM25_LENGTHS "16000000 02000000 01000000 0c000000 0200000000000000 01 01"
#define BM25_TERMS "04000000 63c3a36f 01000000 04000000 6761746f 01000000 05000000 707265746f 02000000"
#define BM25_GAPS "16000000 04000000 01000000 0c000000 0000000000000000 01 09"
#define BM25_COUNTS "16000000 04000000 01000000 0c000000 0100000000000000 01 02"
#define BM25_2 BM25_HEADER BM25_LENGTHS BM25_TERMS BM25_GAPS BM25_COUNTS
#define BM25_1 "01000000 0000c03f 0000403f 00002040 02000000 03000000 03000000 02000000" \
	"04000000 63c3a36f 01000000 01000000 01000000 04000000 6761746f 01000000 00000000 02000000" \
	"05000000 707265746f 02000000 00000000 01000000 01000000 01000000"

static void
check_scores(LwBm25 *bm25, const char *query, size_t limit, size_t expected, uint32_t first, float first_score,
			 uint32_t second, float second_score)
{
	const LwBm25Hit *hits;
	size_t		count;

	CHECK(lw_bm25_search(bm25, bytes_of(query), limit, &hits, &count, &error) == LW_OK, "%s", query);
	CHECK(count == expected, "%s: %zu hits", query, count);
	if (count > 0)
		CHECK(hits[0].row == first && fabsf(hits[0].score - first_score) < 1e-6f, "%s: %u %.9g", query,
			  (unsigned) hits[0].row, hits[0].score);
	if (count > 1)
		CHECK(hits[1].row == second && fabsf(hits[1].score - second_score) < 1e-6f, "%s: %u %.9g", query,
			  (unsigned) hits[1].row, hits[1].score);
}

static void
test_bm25_example(void)
{
	static const char *const payloads[] = {BM25_2, BM25_1, BM25_2 "00"};
	size_t		i;

	for (i = 0; i < 3; i++)
	{
		LwBytes		payload = from_hex(payloads[i]);
		LwBm25	   *bm25;
		size_t		memory;

		CHECK(lw_bm25_check(payload, 2, &error) == LW_OK, "%zu", i);
		CHECK(lw_bm25_open(payload, 2, 0, &bm25, &error) == LW_OK, "%zu", i);
		CHECK(lw_bm25_terms(bm25) == 3, "%u", (unsigned) lw_bm25_terms(bm25));
		check_scores(bm25, "preto gato", 10, 2, 0, 1.097667f, 1, 0.200353f);
		check_scores(bm25, "preto preto", 10, 2, 1, 0.400707f, 0, 0.334535f);
		check_scores(bm25, "preto preto", 1, 1, 1, 0.400707f, 0, 0);
		check_scores(bm25, "preto preto", 0, 0, 0, 0, 0, 0);
		check_scores(bm25, "C\xc3\x83O", 10, 1, 1, 0.761700f, 0, 0);
		check_scores(bm25, "cao", 10, 0, 0, 0, 0, 0);
		check_scores(bm25, "", 10, 0, 0, 0, 0, 0);
		check_scores(bm25, "C++ !", SIZE_MAX, 0, 0, 0, 0, 0);
		memory = lw_bm25_memory(bm25);
		lw_bm25_close(bm25);
		CHECK(lw_bm25_open(payload, 2, memory - 1, &bm25, &error) == LW_LIMIT && bm25 == NULL, "%zu", i);
		CHECK(lw_bm25_open(payload, 2, memory, &bm25, &error) == LW_OK, "%zu", i);
		lw_bm25_close(bm25);
		free((void *) payload.data);
	}
}

/* What the format does not forbid: a term twice (the last counts), a document twice, a df of 0, sums that are not finite. */
static void
test_bm25_strange(void)
{
	static const char *const payloads[] = {
		"01000000 0000c03f 0000403f 00002040 02000000 02000000 03000000 02000000"
		"04000000 6761746f 01000000 00000000 02000000 04000000 6761746f 01000000 01000000 01000000",
		"01000000 0000c03f 0000403f 00002040 02000000 01000000 03000000 02000000"
		"04000000 6761746f 02000000 01000000 01000000 01000000 01000000",
		"01000000 0000c03f 0000403f 00002040 02000000 01000000 03000000 02000000 04000000 6761746f 00000000",
		"01000000 0000c0bf 00000000 00002040 02000000 01000000 03000000 02000000"
		"04000000 6761746f 01000000 01000000 00000000"
	};
	static const size_t counts[] = {1, 1, 0, 1};
	size_t		i;

	for (i = 0; i < 4; i++)
	{
		LwBytes		payload = from_hex(payloads[i]);
		const LwBm25Hit *hits;
		LwBm25	   *bm25;
		size_t		count;

		CHECK(lw_bm25_open(payload, 2, 0, &bm25, &error) == LW_OK, "%zu: %s, %s", i, error.expected, error.found);
		CHECK(lw_bm25_search(bm25, bytes_of("gato"), 10, &hits, &count, &error) == LW_OK, "%zu", i);
		CHECK(count == counts[i] && (count == 0 || hits[0].row == 1), "%zu: %zu", i, count);
		lw_bm25_close(bm25);
		free((void *) payload.data);
	}
}

static void
test_bm25_wrong(void)
{
	static const WrongCase cases[] = {
		{"version 0", "00000000 0000c03f 0000403f 00002040 02000000 03000000" BM25_LENGTHS BM25_TERMS BM25_GAPS BM25_COUNTS, "UnsupportedSectionVersion"},
		{"version 3", "03000000 0000c03f 0000403f 00002040 02000000 03000000" BM25_LENGTHS BM25_TERMS BM25_GAPS BM25_COUNTS, "UnsupportedSectionVersion"},
		{"k1 NaN", "02000000 0000c07f 0000403f 00002040 02000000 03000000" BM25_LENGTHS BM25_TERMS BM25_GAPS BM25_COUNTS, NULL},
		{"b infinite", "02000000 0000c03f 000080ff 00002040 02000000 03000000" BM25_LENGTHS BM25_TERMS BM25_GAPS BM25_COUNTS, NULL},
		{"average NaN", "02000000 0000c03f 0000403f 0000c0ff 02000000 03000000" BM25_LENGTHS BM25_TERMS BM25_GAPS BM25_COUNTS, NULL},
		{"a document more", "02000000 0000c03f 0000403f 00002040 03000000 03000000" BM25_LENGTHS BM25_TERMS BM25_GAPS BM25_COUNTS, NULL},
		{"2^32 - 1 terms", "02000000 0000c03f 0000403f 00002040 02000000 ffffffff" BM25_LENGTHS BM25_TERMS BM25_GAPS BM25_COUNTS, NULL},
		{"a term less", "02000000 0000c03f 0000403f 00002040 02000000 02000000" BM25_LENGTHS BM25_TERMS BM25_GAPS BM25_COUNTS, NULL},
		{"one length", BM25_HEADER "15000000 01000000 01000000 0c000000 0200000000000000 00" BM25_TERMS BM25_GAPS BM25_COUNTS, NULL},
		{"no UTF-8", BM25_HEADER BM25_LENGTHS "04000000 63c3286f 01000000 04000000 6761746f 01000000 05000000 707265746f 02000000" BM25_GAPS BM25_COUNTS, NULL},
		{"a long term", BM25_HEADER BM25_LENGTHS "ffffffff 63c3a36f 01000000 04000000 6761746f 01000000 05000000 707265746f 02000000" BM25_GAPS BM25_COUNTS, NULL},
		{"df 2^32 - 1", BM25_HEADER BM25_LENGTHS "04000000 63c3a36f ffffffff 04000000 6761746f 01000000 05000000 707265746f 02000000" BM25_GAPS BM25_COUNTS, NULL},
		{"three gaps", BM25_HEADER BM25_LENGTHS BM25_TERMS "16000000 03000000 01000000 0c000000 0000000000000000 01 01" BM25_COUNTS, NULL},
		{"three counts", BM25_HEADER BM25_LENGTHS BM25_TERMS BM25_GAPS "16000000 03000000 01000000 0c000000 0100000000000000 01 02", NULL},
		{"document 2", BM25_HEADER BM25_LENGTHS BM25_TERMS "16000000 04000000 01000000 0c000000 0000000000000000 02 02" BM25_COUNTS, NULL},
		{"document 1 + 1", BM25_HEADER BM25_LENGTHS BM25_TERMS "16000000 04000000 01000000 0c000000 0000000000000000 01 0d" BM25_COUNTS, NULL},
		{"version 1: document 2", "01000000 0000c03f 0000403f 00002040 02000000 01000000 03000000 02000000"
		"04000000 63c3a36f 01000000 02000000 01000000", NULL},
		{"version 1: df 2^32 - 1", "01000000 0000c03f 0000403f 00002040 02000000 01000000 03000000 02000000"
		"04000000 63c3a36f ffffffff 01000000 01000000", NULL},
		{"version 1: 2^32 - 1 documents", "01000000 0000c03f 0000403f 00002040 ffffffff 01000000 03000000 02000000", NULL},
		{NULL, NULL, NULL}
	};

	check_wrong(lw_bm25_check, 2, cases);
	check_cut(lw_bm25_check, 2, BM25_2);
	check_cut(lw_bm25_check, 2, BM25_1);
}

static void
test_bm25_build(void)
{
	LwBm25Build *build;
	LwBuffer	payload;
	LwStatus	status = LW_OK;
	int			i;

	lw_buffer_init(&payload, 0);
	CHECK(lw_bm25_build_begin(0, &build, &error) == LW_OK, "begin");
	CHECK(lw_bm25_build_add(build, bytes_of("Gato gato preto"), &error) == LW_OK, "add");
	CHECK(lw_bm25_build_add(build, bytes_of("O c\xc3\xa3o preto \xc3\xa9"), &error) == LW_OK, "add");
	CHECK(lw_bm25_build_finish(build, &payload, &error) == LW_OK, "finish");
	CHECK(holds_hex(&payload, BM25_2), "build");
	lw_bm25_build_free(build);
	lw_buffer_free(&payload);

	CHECK(lw_bm25_build_begin(0, &build, &error) == LW_OK, "begin");
	CHECK(lw_bm25_build_finish(build, &payload, &error) == LW_OK, "finish");
	CHECK(holds_hex(&payload, "02000000 0000c03f 0000403f 00000000 00000000 00000000"
					"08000000 00000000 00000000 08000000 00000000 00000000 08000000 00000000 00000000"), "nothing");
	CHECK(lw_bm25_check(lw_buffer_bytes(&payload), 0, &error) == LW_OK, "nothing");
	lw_bm25_build_free(build);
	lw_buffer_free(&payload);

	CHECK(lw_bm25_build_begin((size_t) 1 << 16, &build, &error) == LW_OK, "begin");
	for (i = 0; status == LW_OK && i < 100000; i++)
	{
		char		text[100];

		snprintf(text, sizeof(text), "word%d word%d common", i, i + 1);
		status = lw_bm25_build_add(build, bytes_of(text), &error);
	}
	CHECK(status == LW_LIMIT && i > 300, "%d documents", i);
	lw_bm25_build_free(build);
	CHECK(lw_bm25_build_begin(1, &build, &error) == LW_LIMIT && build == NULL, "begin");
	lw_bm25_build_free(NULL);
}

/* Many documents and terms: the payload says the same as a list of what was put in. */
static void
test_bm25_many(void)
{
	int			documents = 3000;
	LwBm25Build *build;
	LwBm25	   *bm25;
	LwBuffer	payload;
	int			i;

	lw_buffer_init(&payload, 0);
	CHECK(lw_bm25_build_begin(0, &build, &error) == LW_OK, "begin");
	for (i = 0; i < documents; i++)
	{
		char		text[200];

		/* every document has "all", every n-th "n" as many times as n has digits */
		snprintf(text, sizeof(text), "all own%d %s %s %s", i, i % 2 ? "" : "two", i % 30 ? "" : "thirty thirty",
				 i % 700 ? "" : "many many many");
		CHECK(lw_bm25_build_add(build, bytes_of(text), &error) == LW_OK, "add");
	}
	CHECK(lw_bm25_build_finish(build, &payload, &error) == LW_OK, "finish");
	lw_bm25_build_free(build);
	CHECK(lw_bm25_check(lw_buffer_bytes(&payload), (uint64_t) documents, &error) == LW_OK, "%s", error.expected);
	CHECK(lw_bm25_open(lw_buffer_bytes(&payload), (uint64_t) documents, 0, &bm25, &error) == LW_OK, "open");
	CHECK(lw_bm25_terms(bm25) == (uint32_t) documents + 4, "%u", (unsigned) lw_bm25_terms(bm25));
	for (i = 0; i < 6; i++)
	{
		static const char *const words[] = {"all", "two", "thirty", "many", "own2999", "own0"};
		static const size_t counts[] = {3000, 1500, 100, 5, 1, 1};
		static const uint32_t every[] = {1, 2, 30, 700, 3000, 3000};
		const LwBm25Hit *hits;
		size_t		count;
		size_t		j;

		CHECK(lw_bm25_search(bm25, bytes_of(words[i]), 5000, &hits, &count, &error) == LW_OK, "%s", words[i]);
		CHECK(count == counts[i], "%s: %zu", words[i], count);
		for (j = 0; j < count; j++)
			CHECK(hits[j].row % every[i] == (i == 4 ? 2999 : 0) &&
				  (j == 0 || hits[j - 1].score > hits[j].score ||
				   (hits[j - 1].score == hits[j].score && hits[j - 1].row < hits[j].row)), "%s: %zu", words[i], j);
	}
	lw_bm25_close(bm25);
	lw_buffer_free(&payload);
}

#define GRAPH_HEADER "01000000 0400000000000000"
#define GRAPH_STARTS "18000000 05000000 01000000 0c000000 0000000000000000 04 30 75 08"
#define GRAPH_GAPS "17000000 08000000 01000000 0c000000 0000000000000000 02 19 a6"
#define GRAPH_TYPES "01 16000000 08000000 01000000 0c000000 0000000000000000 01 06"
#define GRAPH_1 GRAPH_HEADER GRAPH_STARTS GRAPH_GAPS GRAPH_TYPES

static void
check_edges(const LwGraph *graph, uint32_t node, const char *expected)
{
	size_t		count;
	const uint8_t *types;
	const uint32_t *targets = lw_graph_neighbours(graph, node, &count, &types);
	char		text[200] = "";
	size_t		i;

	for (i = 0; i < count; i++)
		sprintf(text + strlen(text), "%u:%u ", (unsigned) types[i], (unsigned) targets[i]);
	CHECK(strcmp(text, expected) == 0, "node %u: %s", (unsigned) node, text);
}

static void
check_expanded(const LwGraph *graph, uint32_t seed, uint32_t seed2, size_t hops, size_t cap, const char *expected)
{
	uint32_t	seeds[4] = {seed, seed2, seed, 99};
	size_t		room = cap < graph->nodes ? cap : graph->nodes;
	LwGraphVisit *visits = malloc((room + 1) * sizeof(*visits));
	uint8_t    *seen = malloc(lw_graph_seen_size(graph));
	size_t		count = lw_graph_expand(graph, seeds, 4, hops, cap, seen, visits);
	char		text[200] = "";
	size_t		i;

	for (i = 0; i < count; i++)
		sprintf(text + strlen(text), "%u@%u:%u ", (unsigned) visits[i].node, (unsigned) visits[i].hop,
				(unsigned) visits[i].type);
	CHECK(strcmp(text, expected) == 0, "%s, not %s", text, expected);
	free(visits);
	free(seen);
}

static void
test_graph_example(void)
{
	LwBytes		payload = from_hex(GRAPH_1 "00");
	LwGraph    *graph;
	size_t		memory;

	CHECK(lw_graph_check(payload, 4, &error) == LW_OK, "%s", error.expected);
	CHECK(lw_graph_open(payload, 4, 0, &graph, &error) == LW_OK, "%s", error.expected);
	check_edges(graph, 0, "0:1 1:2 1:3 ");
	check_edges(graph, 1, "0:0 0:2 ");
	check_edges(graph, 2, "0:1 0:3 ");
	check_edges(graph, 3, "0:2 ");
	check_expanded(graph, 3, 77, 0, 9, "3@0:0 ");
	check_expanded(graph, 3, 77, 1, 9, "3@0:0 2@1:0 ");
	check_expanded(graph, 3, 77, 2, 9, "3@0:0 2@1:0 1@2:0 ");
	check_expanded(graph, 3, 77, 9, 9, "3@0:0 2@1:0 1@2:0 0@3:0 ");
	check_expanded(graph, 3, 77, SIZE_MAX, 3, "3@0:0 2@1:0 1@2:0 ");
	check_expanded(graph, 0, 3, 1, 9, "0@0:0 3@0:0 1@1:0 2@1:1 ");
	check_expanded(graph, 3, 0, 1, 9, "3@0:0 0@0:0 2@1:0 1@1:0 ");
	check_expanded(graph, 3, 0, 1, 1, "3@0:0 ");
	check_expanded(graph, 3, 0, 1, 0, "");
	check_expanded(graph, 4, 77, 5, 9, "");
	memory = lw_graph_memory(graph);
	lw_graph_close(graph);
	CHECK(lw_graph_open(payload, 4, memory - 1, &graph, &error) == LW_LIMIT && graph == NULL, "too little");
	CHECK(lw_graph_open(payload, 4, memory, &graph, &error) == LW_OK, "enough");
	lw_graph_close(graph);
	lw_graph_close(NULL);
	free((void *) payload.data);
}

static void
test_graph_wrong(void)
{
	static const WrongCase cases[] = {
		{"version 2", "02000000 0400000000000000" GRAPH_STARTS GRAPH_GAPS GRAPH_TYPES, "UnsupportedSectionVersion"},
		{"2^64 - 1 nodes", "01000000 ffffffffffffffff" GRAPH_STARTS GRAPH_GAPS GRAPH_TYPES, NULL},
		{"four starts", GRAPH_HEADER "17000000 04000000 01000000 0c000000 0000000000000000 04 30 75" GRAPH_GAPS GRAPH_TYPES, NULL},
		{"first start 1", GRAPH_HEADER "18000000 05000000 01000000 0c000000 0000000000000000 04 31 75 08" GRAPH_GAPS GRAPH_TYPES, NULL},
		{"starts that fall", GRAPH_HEADER "18000000 05000000 01000000 0c000000 0000000000000000 04 30 72 08" GRAPH_GAPS GRAPH_TYPES, NULL},
		{"2^20 + 1 edges of a node", GRAPH_HEADER "27000000 05000000 01000000 0c000000 0000000000000000 20"
		"00000000 01001000 01001000 01001000 01001000 0000000000" GRAPH_GAPS GRAPH_TYPES, NULL},
		{"nine edges", GRAPH_HEADER "18000000 05000000 01000000 0c000000 0000000000000000 04 30 75 09" GRAPH_GAPS GRAPH_TYPES, NULL},
		{"seven gaps", GRAPH_HEADER GRAPH_STARTS "17000000 07000000 01000000 0c000000 0000000000000000 02 19 26" GRAPH_TYPES, NULL},
		{"kind 2", GRAPH_HEADER GRAPH_STARTS GRAPH_GAPS "02 16000000 08000000 01000000 0c000000 0000000000000000 01 06", NULL},
		{"seven types", GRAPH_HEADER GRAPH_STARTS GRAPH_GAPS "01 16000000 07000000 01000000 0c000000 0000000000000000 01 06", NULL},
		{"type 256", GRAPH_HEADER GRAPH_STARTS GRAPH_GAPS "01 15000000 08000000 01000000 0c000000 0001000000000000 00", NULL},
		{"target 4", GRAPH_HEADER GRAPH_STARTS "15000000 08000000 01000000 0c000000 0400000000000000 00" GRAPH_TYPES, NULL},
		{"target 2 + 3", GRAPH_HEADER GRAPH_STARTS "17000000 08000000 01000000 0c000000 0000000000000000 02 39 a6" GRAPH_TYPES, NULL},
		{"gap 2^32", GRAPH_HEADER GRAPH_STARTS "15000000 08000000 01000000 0c000000 0000000001000000 00" GRAPH_TYPES, NULL},
		{NULL, NULL, NULL}
	};

	check_wrong(lw_graph_check, 4, cases);
	check_cut(lw_graph_check, 4, GRAPH_1);
	check_cut(lw_graph_check, 4, GRAPH_HEADER GRAPH_STARTS
			  "15000000 08000000 01000000 0c000000 0000000000000000 00" "00 07");
}

static void
test_graph_build(void)
{
	LwBytes		payload = from_hex(HNSW_2);
	LwHnsw	   *hnsw;
	LwGraph    *graph;
	LwBuffer	built;

	CHECK(lw_hnsw_open(payload, 3, 0, &hnsw, &error) == LW_OK, "open");
	lw_buffer_init(&built, 0);
	CHECK(lw_graph_build(hnsw, 1, &built, &error) == LW_OK, "build");
	CHECK(lw_graph_open(lw_buffer_bytes(&built), 3, 0, &graph, &error) == LW_OK, "%s", error.expected);
	check_edges(graph, 0, "0:1 1:1 ");
	check_edges(graph, 1, "0:0 0:2 1:0 ");
	check_edges(graph, 2, "0:1 1:0 ");
	lw_graph_close(graph);
	lw_buffer_free(&built);
	CHECK(lw_graph_build(hnsw, 0, &built, &error) == LW_OK, "build");
	CHECK(lw_graph_open(lw_buffer_bytes(&built), 3, 0, &graph, &error) == LW_OK, "%s", error.expected);
	check_edges(graph, 1, "0:0 0:2 ");
	CHECK(built.data[built.size - 2] == 0 && built.data[built.size - 1] == 0, "one type");
	lw_graph_close(graph);
	lw_buffer_free(&built);
	lw_hnsw_close(hnsw);
	free((void *) payload.data);
}

static void
test_rank(void)
{
	static const float values[] = {INFINITY, 2, 1, 0x1p-149f, 0.0f, -0.0f, -0x1p-149f, -1, -INFINITY, NAN};
	size_t		i;
	size_t		j;

	for (i = 0; i < 10; i++)
		for (j = 0; j < 10; j++)
		{
			uint64_t	a = lw_rank_descending(values[i], 7);
			uint64_t	b = lw_rank_descending(values[j], 6);

			CHECK((a < b) == (i < j), "%g %g", values[i], values[j]);
			a = lw_rank_ascending(values[i], 7);
			b = lw_rank_ascending(values[j], 6);
			CHECK(i == j || (a < b) == (i == 9 ? false : j == 9 ? true : i > j), "%g %g", values[i], values[j]);
			CHECK(lw_rank_row(a) == 7 && (isnan(values[i]) ? isnan(lw_rank_value(a)) : lw_rank_value(a) == values[i]),
				  "%g", values[i]);
		}
	CHECK(lw_rank_ascending(-NAN, 3) == lw_rank_ascending(NAN, 3), "NaN");
	for (i = 1; i <= 40; i++)
	{
		uint64_t	keys[40];
		size_t		count = 0;

		for (j = 0; j < 40; j++)
			lw_rank_offer(keys, &count, i, (uint64_t) (j * 17 % 40));
		lw_rank_sort(keys, count);
		CHECK(count == i, "%zu", count);
		for (j = 0; j < count; j++)
			CHECK(keys[j] == j, "%zu of %zu", j, i);
	}
}

int
main(void)
{
	test_rank();
	test_hnsw_example();
	test_hnsw_memory();
	test_hnsw_wrong();
	test_hnsw_amplified();
	test_hnsw_digests();
	test_hnsw_levels();
	test_hnsw_odd();
	test_hnsw_refused();
	test_hnsw_search();
	test_token_points();
	test_tokens();
	test_bm25_example();
	test_bm25_strange();
	test_bm25_wrong();
	test_bm25_build();
	test_bm25_many();
	test_graph_example();
	test_graph_wrong();
	test_graph_build();
	return unit_done("test_index");
}
