/*-------------------------------------------------------------------------
 *
 * test_fsst.c
 *	  Symbol tables and the codes they give.
 *
 *-------------------------------------------------------------------------
 */
#include "codec.h"
#include "random.h"
#include "section/fsst.h"

/* A substring and what it saves, for the plain way of finding symbols. */
typedef struct Substring
{
	uint8_t		bytes[8];
	size_t		size;
	uint64_t	gain;
} Substring;

static int
compare_bytes(const void *a, const void *b)
{
	const Substring *x = a;
	const Substring *y = b;
	size_t		size = x->size < y->size ? x->size : y->size;
	int			order = memcmp(x->bytes, y->bytes, size);

	return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static int
compare_gains(const void *a, const void *b)
{
	const Substring *x = a;
	const Substring *y = b;

	if (x->gain != y->gain)
		return x->gain > y->gain ? -1 : 1;
	return compare_bytes(a, b);
}

/* The table as the format defines it: all substrings, sorted, counted, sorted by gain. */
static void
build_plainly(const LwBytes *texts, size_t count, LwFsst *table)
{
	LwBuffer	joined;
	Substring  *substrings;
	size_t		found = 0;
	size_t		distinct = 0;
	size_t		i;
	size_t		size;

	lw_buffer_init(&joined, 0);
	for (i = 0; i < count; i++)
		lw_put_bytes(&joined, texts[i].data, texts[i].size);
	substrings = calloc(8 * joined.size + 1, sizeof(Substring));
	for (i = 0; i < joined.size; i++)
		for (size = 1; size <= 8 && i + size <= joined.size; size++)
		{
			memcpy(substrings[found].bytes, joined.data + i, size);
			substrings[found++].size = size;
		}
	qsort(substrings, found, sizeof(Substring), compare_bytes);
	for (i = 0; i < found; i++)
	{
		if (distinct == 0 || compare_bytes(&substrings[distinct - 1], &substrings[i]) != 0)
			substrings[distinct++] = substrings[i];
		substrings[distinct - 1].gain += substrings[i].size - 1;
	}
	qsort(substrings, distinct, sizeof(Substring), compare_gains);
	memset(table, 0, sizeof(*table));
	table->count = distinct < 255 ? (unsigned) distinct : 255;
	for (i = 0; i < table->count; i++)
	{
		table->sizes[i] = (uint8_t) substrings[i].size;
		memcpy(table->symbols[i], substrings[i].bytes, substrings[i].size);
	}
	free(substrings);
	lw_buffer_free(&joined);
}

static bool
same_tables(const LwFsst *a, const LwFsst *b)
{
	return a->count == b->count && memcmp(a->sizes, b->sizes, sizeof(a->sizes)) == 0 &&
		memcmp(a->symbols, b->symbols, sizeof(a->symbols)) == 0;
}

/* The table of texts with room for few and for many counters is the one of the definition. */
static void
check_table(const LwBytes *texts, size_t count)
{
	static const size_t rooms[] = {16, 17, 40, 300, 5000};
	LwFsst		expected;
	LwFsst		table;
	LwError		error;
	size_t		i;

	build_plainly(texts, count, &expected);
	CHECK(lw_fsst_build(texts, count, NULL, &table, &error) == LW_OK, "%s", error.expected);
	CHECK(same_tables(&table, &expected), "%u symbols, not %u", table.count, expected.count);
	for (i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++)
	{
		CHECK(lw_fsst_build_within(texts, count, rooms[i], NULL, &table, &error) == LW_OK, "%s", error.expected);
		CHECK(same_tables(&table, &expected), "%u symbols, not %u, with room for %zu", table.count, expected.count,
			  rooms[i]);
	}
}

static void
test_tables(void)
{
	static uint8_t zeros[40];
	static const uint32_t letters[] = {1, 2, 3, 26, 256};
	LwBytes		texts[40];
	uint8_t		memory[40][60];
	LwFsst		table;
	LwError		error;
	int			round;
	size_t		i;
	size_t		j;

	check_table(NULL, 0);
	texts[0] = bytes_of("abab");
	texts[1] = bytes_of("ab");
	check_table(texts, 2);
	CHECK(lw_fsst_build(texts, 2, NULL, &table, &error) == LW_OK && table.count == 11 &&
		  memcmp(table.symbols[0], "abab", 5) == 0 && memcmp(table.symbols[1], "ababab", 7) == 0 &&
		  memcmp(table.symbols[10], "b", 2) == 0, "the example");
	for (i = 0; i <= sizeof(zeros); i++)
	{
		texts[0].data = zeros;
		texts[0].size = i;
		check_table(texts, 1);
	}
	for (round = 0; round < 60; round++)
	{
		size_t		count = random_below(40);
		uint32_t	below = letters[random_below(5)];

		for (i = 0; i < count; i++)
		{
			texts[i].data = memory[i];
			texts[i].size = random_below(round % 3 == 0 ? 4 : 60);
			for (j = 0; j < texts[i].size; j++)
				memory[i][j] = (uint8_t) (random_below(below) + (below < 200 ? random_below(2) * 'a' : 0));
		}
		check_table(texts, count);
	}
}

static bool
asked_thrice(void *arg)
{
	return ++*(int *) arg == 3;
}

static void
test_stop(void)
{
	uint8_t    *text = calloc(5 << 20, 1);
	LwBytes		bytes = {text, 5 << 20};
	LwFsst		table;
	LwError		error;
	int			asked = 0;
	LwStop		stop = {asked_thrice, &asked};

	CHECK(lw_fsst_build(&bytes, 1, &stop, &table, &error) == LW_CANCELLED && asked == 3, "asked %d times", asked);
	free(text);
}

/* A table of the symbols in `symbols`, separated by spaces. */
static LwFsst
table_of(const char *symbols)
{
	LwFsst		table = {0};

	while (*symbols != '\0')
	{
		size_t		size = strcspn(symbols, " ");

		memcpy(table.symbols[table.count], symbols, size);
		table.sizes[table.count++] = (uint8_t) size;
		symbols += size + (symbols[size] == ' ');
	}
	return table;
}

static void
check_frame(const char *symbols, const char *text, const char *hex)
{
	LwFsst		table = table_of(symbols);
	LwFsstEncoder encoder;
	LwBuffer	frame;
	LwBuffer	out;
	LwError		error;

	lw_buffer_init(&frame, 0);
	lw_buffer_init(&out, 0);
	lw_fsst_encoder_init(&encoder, &table);
	lw_fsst_encode(&encoder, bytes_of(text), &frame);
	CHECK(holds_hex(&frame, hex), "\"%s\" with %s", text, symbols);
	CHECK(lw_fsst_decode(&table, lw_buffer_bytes(&frame), &out, &error) == LW_OK &&
		  same_bytes(lw_buffer_bytes(&out), bytes_of(text)), "\"%s\" with %s", text, symbols);
	lw_buffer_free(&out);
	lw_buffer_free(&frame);
}

static void
test_frames(void)
{
	check_frame("ab abcd", "abcx", "ff61 ff62 ff63 ff78");
	check_frame("ab abcd", "abcdefgh", "ff61 ff62 ff63 ff64 ff65 ff66 ff67 ff68");
	check_frame("ab abcd", "ab", "00");
	check_frame("ab abcd", "abc", "00 ff63");
	check_frame("ab abcd", "", "");
	check_frame("ab abcd abcdefgh", "abcdefgh", "02");
	check_frame("ab abcd abcdefgh", "abcdefghabcd", "02 01");
	check_frame("hgfedcba abcdefgh bbbbbbbb", "xabcdefghhgfedcba", "ff78 01 00");
	check_frame("ab abcd", "xab", "ff78 00");
	check_frame("abcdefgh ab", "abcdefg", "01 ff63 ff64 ff65 ff66 ff67");
}

/* A table written and read; and cut or bad anywhere. */
static void
test_table_bytes(void)
{
	LwFsst		table = table_of("hi x abcdefgh");
	LwFsst		read;
	LwBuffer	buffer;
	LwCursor	cursor;
	LwError		error;
	size_t		i;

	lw_buffer_init(&buffer, 0);
	lw_put_fsst(&buffer, &table);
	CHECK(holds_hex(&buffer, "0300 02 6869 01 78 08 6162636465666768"), "a table");
	cursor = lw_cursor(lw_buffer_bytes(&buffer));
	CHECK(lw_take_fsst(&cursor, &read, &error) == LW_OK && lw_cursor_left(&cursor) == 0 && same_tables(&table, &read),
		  "%s", error.expected);
	for (i = 0; i < buffer.size; i++)
	{
		LwBytes		cut = {(const uint8_t *) exact_copy(buffer.data, i), i};

		cursor = lw_cursor(cut);
		CHECK(is_error(lw_take_fsst(&cursor, &read, &error), &error, MALFORMED_PAYLOAD), "cut to %zu", i);
		free((void *) cut.data);
	}
	lw_buffer_free(&buffer);
}

int
main(void)
{
	test_tables();
	test_stop();
	test_frames();
	test_table_bytes();
	return unit_done("test_fsst");
}
