/*-------------------------------------------------------------------------
 *
 * test_intpack.c
 *	  Packed lists of integers.
 *
 *-------------------------------------------------------------------------
 */
#include "codec.h"
#include "random.h"
#include "section/intpack.h"

/* Writes values, compares the bytes, and reads them back. */
static void
check_list(const uint64_t *values, size_t count, const char *hex)
{
	uint64_t	read[300];
	LwBuffer	buffer;
	LwBytes		copy;
	LwError		error;

	lw_buffer_init(&buffer, 0);
	lw_put_intpack(&buffer, values, count);
	CHECK(buffer.size == lw_intpack_size(values, count), "%zu bytes", buffer.size);
	if (hex != NULL)
		CHECK(holds_hex(&buffer, hex), "list of %zu values", count);
	copy.data = (const uint8_t *) exact_copy(buffer.data, buffer.size);
	copy.size = buffer.size;
	CHECK(lw_intpack_read_all(copy, count, read, &error) == LW_OK, "%s", error.expected);
	CHECK(memcmp(values, read, count * sizeof(uint64_t)) == 0, "values of %zu", count);
	CHECK(is_error(lw_intpack_read_all(copy, count + 1, read, &error), &error, MALFORMED_PAYLOAD),
		  "another count");
	free((void *) copy.data);
	lw_buffer_free(&buffer);
}

static void
test_examples(void)
{
	static const uint64_t sevens[] = {7, 7, 7, 7};
	static const uint64_t small[] = {0, 1, 2, 3, 4, 5};
	static const uint64_t million[] = {1000000, 1000001, 1000005, 1000002};
	static const uint64_t offsets[] = {0, 11, 11, 30};
	static const uint64_t wide[] = {UINT64_MAX, 0, INT64_MAX};
	static const uint64_t mixed[] = {5, 1, 9, 2};
	uint64_t	many[300];
	LwBuffer	buffer;
	size_t		i;

	check_list(sevens, 0, "00*8");
	check_list(small, 1, "01000000 01000000 0c000000 00*8 00");
	check_list(sevens, 4, "04000000 01000000 0c000000 07 00*7 00");
	check_list(sevens, 3, "03000000 01000000 0c000000 07 00*7 00");
	check_list(small, 6, "06000000 01000000 0c000000 00*8 03 88c602");
	check_list(million, 4, "04000000 01000000 0c000000 40420f 00*5 03 4805");
	check_list(offsets, 4, "04000000 01000000 0c000000 00*8 05 602d0f");
	check_list(wide, 3, "03000000 01000000 0c000000 00*8 40 ff*8 00*8 ff*7 7f");
	check_list(mixed, 4, "04000000 01000000 0c000000 01 00*7 04 0418");
	for (i = 0; i < 300; i++)
		many[i] = i * 7 % 31;
	check_list(many, 300, NULL);
	lw_buffer_init(&buffer, 0);
	lw_put_intpack(&buffer, many, 300);
	CHECK(buffer.size == 235 && buffer.data[8] == 20 && buffer.data[12] == 109 && buffer.data[16] == 198,
		  "blocks of 300 values");
	lw_buffer_free(&buffer);
}

/* Every width, and counts on both sides of a block's end. */
static void
test_widths(void)
{
	static const size_t counts[] = {1, 127, 128, 129, 255, 256, 257, 300};
	unsigned	width;
	size_t		i;
	size_t		j;

	for (width = 0; width <= 64; width++)
		for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		{
			uint64_t	values[300];

			for (j = 0; j < counts[i]; j++)
			{
				values[j] = (uint64_t) random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
				values[j] = (width == 0 ? 0 : values[j] >> (64 - width)) + (width < 60 ? 12345 : 0);
			}
			check_list(values, counts[i], NULL);
		}
}

/* Ranges are what the whole list has there. */
static void
test_ranges(void)
{
	uint64_t	values[300];
	LwBuffer	buffer;
	LwIntpack	list;
	LwError		error;
	uint32_t	first;
	uint32_t	count;
	uint64_t	read[300];

	for (first = 0; first < 300; first++)
		values[first] = random_below(1000000);
	lw_buffer_init(&buffer, 0);
	lw_put_intpack(&buffer, values, 300);
	CHECK(lw_intpack_open(lw_buffer_bytes(&buffer), &list, &error) == LW_OK, "%s", error.expected);
	CHECK(list.count == 300, "%u", list.count);
	for (first = 0; first < 300; first += 7)
		for (count = 0; first + count <= 300; count += 11)
		{
			CHECK(lw_intpack_read(&list, first, count, read, &error) == LW_OK, "%s", error.expected);
			CHECK(memcmp(read, values + first, count * sizeof(uint64_t)) == 0, "%u + %u", first, count);
		}
	CHECK(lw_intpack_get(&list, 299, read, &error) == LW_OK && read[0] == values[299], "the last");
	CHECK(is_error(lw_intpack_get(&list, 300, read, &error), &error, MALFORMED_PAYLOAD), "one more");
	CHECK(is_error(lw_intpack_read(&list, 290, 11, read, &error), &error, MALFORMED_PAYLOAD), "beyond");
	CHECK(is_error(lw_intpack_read(&list, 301, 0, read, &error), &error, MALFORMED_PAYLOAD), "behind");
	CHECK(is_error(lw_intpack_read(&list, 4, UINT32_MAX, read, &error), &error, MALFORMED_PAYLOAD), "wraps");
	lw_buffer_free(&buffer);
}

/* Reads all of a list given in hex, where `count` values are expected. */
static LwStatus
read_hex(const char *hex, size_t count, uint64_t *values, LwError *error)
{
	LwBytes		bytes = from_hex(hex);
	LwStatus	status = lw_intpack_read_all(bytes, count, values, error);

	free((void *) bytes.data);
	return status;
}

static void
test_refused(void)
{
	static const struct
	{
		const char *hex;
		size_t		count;
	}			lists[] = {
		{"", 0},
		{"00*7", 0},
		{"00*4 01000000 00*16", 0},	/* a block too many */
		{"01000000 00*4 00*16", 1},	/* a block too few */
		{"81000000 01000000 0c000000 00*9", 129},
		{"01000000 02000000 0c000000 0c000000 00*9", 1},
		{"40420f00 851e0000", 1000000},	/* no directory */
		{"01000000 01000000 0c0000", 1},
		{"01000000 01000000 0d000000 00*9", 1},
		{"01000000 01000000 0c000000 00*8", 1},
		{"01000000 01000000 ffffffff 00*9", 1},
		{"01000000 01000000 0c000000 00*8 41 00*9", 1},	/* width 65 */
		{"01000000 01000000 0c000000 00*8 ff 00*32", 1},
		{"01000000 01000000 0c000000 00*8 40 00*7", 1},
		{"06000000 01000000 0c000000 00*8 03 88c6", 6},
		{"ffffffff 00000002", UINT32_MAX},
	};
	uint64_t	values[130];
	LwError		error;
	size_t		i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		CHECK(is_error(read_hex(lists[i].hex, lists[i].count, values, &error), &error, MALFORMED_PAYLOAD),
			  "%s", lists[i].hex);
}

/* What a reader takes although no writer makes it. */
static void
test_tolerated(void)
{
	static const uint8_t repeated[] = {0, 1, 0, 0, 2, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0,
	9, 0, 0, 0, 0, 0, 0, 0, 0};
	uint64_t	values[300] = {0};
	LwBytes		bytes = {repeated, sizeof(repeated)};
	LwError		error;

	CHECK(read_hex("01000000 01000000 0d000000 ee 05 00*7 00 eeee", 1, values, &error) == LW_OK &&
		  values[0] == 5, "a gap and trailing bytes");
	CHECK(read_hex("01000000 01000000 0c000000 02 00*7 08 01", 1, values, &error) == LW_OK &&
		  values[0] == 3, "more width than needed");
	CHECK(read_hex("01000000 01000000 0c000000 ff*8 02 fe", 1, values, &error) == LW_OK &&
		  values[0] == 1, "beyond 2^64, padding set");
	CHECK(read_hex("01000000 01000000 00000000 00*4", 1, values, &error) == LW_OK &&
		  values[0] == (1 | (uint64_t) 1 << 32), "a block that begins in the header");
	CHECK(lw_intpack_read_all(bytes, 256, values, &error) == LW_OK && values[255] == 9, "the same block twice");
}

static void
test_columns(void)
{
	static const uint64_t values[] = {0, 1, 0};
	LwBuffer	buffer;
	LwCursor	cursor;
	LwIntpack	list;
	LwError		error;

	lw_buffer_init(&buffer, 0);
	lw_put_intpack_column(&buffer, values, 3);
	CHECK(holds_hex(&buffer, "16000000 03000000 01000000 0c000000 00*8 01 02"), "a column");
	cursor = lw_cursor(lw_buffer_bytes(&buffer));
	CHECK(lw_take_intpack(&cursor, &list, &error) == LW_OK && list.count == 3 && lw_cursor_left(&cursor) == 0,
		  "%s", error.expected);
	cursor = lw_cursor(lw_buffer_bytes(&buffer));
	cursor.size--;
	CHECK(is_error(lw_take_intpack(&cursor, &list, &error), &error, MALFORMED_PAYLOAD), "a column cut");
	CHECK(cursor.at == 0, "the cursor moved");
	lw_buffer_free(&buffer);
}

/* Damaged lists are read or refused, within their bytes. */
static void
test_damaged(void)
{
	uint64_t	values[300];
	uint64_t	read[300];
	LwBuffer	buffer;
	LwError		error;
	size_t		i;
	int			flip;

	for (i = 0; i < 300; i++)
		values[i] = random_below(100000);
	lw_buffer_init(&buffer, 0);
	lw_put_intpack(&buffer, values, 300);
	for (i = 0; i < buffer.size; i++)
	{
		LwBytes		copy = {(const uint8_t *) exact_copy(buffer.data, i), i};

		CHECK(is_error(lw_intpack_read_all(copy, 300, read, &error), &error, MALFORMED_PAYLOAD),
			  "cut to %zu", i);
		free((void *) copy.data);
	}
	for (flip = 0; flip < 20000; flip++)
	{
		LwBytes		copy = {(const uint8_t *) exact_copy(buffer.data, buffer.size), buffer.size};
		LwStatus	status;

		((uint8_t *) copy.data)[random_below((uint32_t) copy.size)] ^= (uint8_t) (1 + random_below(255));
		status = lw_intpack_read_all(copy, 300, read, &error);
		if (status != LW_OK && !is_error(status, &error, MALFORMED_PAYLOAD))
			CHECK(false, "status %d", status);
		free((void *) copy.data);
	}
	lw_buffer_free(&buffer);
}

int
main(void)
{
	test_examples();
	test_widths();
	test_ranges();
	test_refused();
	test_tolerated();
	test_columns();
	test_damaged();
	return unit_done("test_intpack");
}
