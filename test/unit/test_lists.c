/*-------------------------------------------------------------------------
 *
 * test_lists.c
 *	  Chunk ids, texts and spans: raw, repacked, and their hash.
 *
 *-------------------------------------------------------------------------
 */
#include "codec.h"
#include "random.h"
#include "section/hash.h"
#include "section/repack.h"

#define UNSUPPORTED_VERSION "UnsupportedSectionVersion"
#define COUNT_MISMATCH "SectionCountMismatch"

static LwStatus
read_strings(const char *hex, uint64_t expected, LwBytes **strings, LwBytes *payload, LwError *error)
{
	*payload = from_hex(hex);
	return lw_strings_decode(*payload, expected, strings, error);
}

static void
refuse_strings(const char *hex, uint64_t expected, const char *name)
{
	LwBytes    *strings;
	LwBytes		payload;
	LwError		error;
	LwStatus	status = read_strings(hex, expected, &strings, &payload, &error);

	CHECK(is_error(status, &error, name) && strings == NULL, "%s", hex);
	free((void *) payload.data);
}

static void
test_strings(void)
{
	static const char text[] = "01000000 02000000 00000000 02000000 6869 00000000";
	LwBytes    *strings;
	LwBytes		payload;
	LwError		error;
	LwBuffer	buffer;
	size_t		count;

	CHECK(read_strings(text, 2, &strings, &payload, &error) == LW_OK, "%s", error.expected);
	CHECK(strings[0].size == 2 && memcmp(strings[0].data, "hi", 2) == 0 && strings[1].size == 0, "strings");
	lw_buffer_init(&buffer, 0);
	CHECK(lw_strings_encode(strings, 2, &buffer, &error) == LW_OK, "%s", error.expected);
	CHECK(same_bytes(lw_buffer_bytes(&buffer), payload), "written again");
	CHECK(lw_list_count(payload, &count, &error) == LW_OK && count == 2, "count");
	free(strings);
	CHECK(lw_strings_decode(payload, LW_ANY_COUNT, &strings, &error) == LW_OK, "any number");
	free(strings);
	free((void *) payload.data);
	lw_buffer_free(&buffer);

	CHECK(read_strings("01000000 00*8", 0, &strings, &payload, &error) == LW_OK && strings == NULL, "none");
	free((void *) payload.data);
	refuse_strings("", 0, MALFORMED_PAYLOAD);
	refuse_strings("01000000 00*7", 0, MALFORMED_PAYLOAD);
	refuse_strings("63000000 00*8", 0, UNSUPPORTED_VERSION);
	refuse_strings("02000000 00*8", 1, UNSUPPORTED_VERSION);
	refuse_strings("01000000 01 00*7 01000000 68", 2, COUNT_MISMATCH);
	refuse_strings("01000000 ff*8", 1, COUNT_MISMATCH);
	refuse_strings("01000000 ff*8", UINT64_MAX - 1, COUNT_MISMATCH);
	refuse_strings("01000000 ff*8", UINT64_MAX, MALFORMED_PAYLOAD);
	refuse_strings("01000000 00000000 01000000 01000000 68", (uint64_t) 1 << 32, MALFORMED_PAYLOAD);
	refuse_strings("01000000 01 00*7 010000", 1, MALFORMED_PAYLOAD);
	refuse_strings("01000000 01 00*7 02000000 68", 1, MALFORMED_PAYLOAD);
	refuse_strings("01000000 01 00*7 ffffffff 68", 1, MALFORMED_PAYLOAD);
	refuse_strings("01000000 01 00*7 01000000 ff", 1, MALFORMED_PAYLOAD);
	refuse_strings("01000000 01 00*7 01000000 68 00", 1, MALFORMED_PAYLOAD);
	refuse_strings("01000000 02 00*7 01000000 c3 01000000 a9", 2, MALFORMED_PAYLOAD);
}

static void
refuse_spans(const char *hex, uint64_t expected, const char *name)
{
	LwSourceSpan *spans;
	LwBytes		payload = from_hex(hex);
	LwError		error;
	LwStatus	status = lw_spans_decode(payload, expected, &spans, &error);

	CHECK(is_error(status, &error, name) && spans == NULL, "%s", hex);
	free((void *) payload.data);
}

static void
test_spans(void)
{
	LwSourceSpan *spans;
	LwBytes		payload = from_hex("01000000 02 00*7 01000000 61 05 00*7 09 00*7 00*4 ff*8 00*8");
	LwError		error;
	LwBuffer	buffer;

	CHECK(lw_spans_decode(payload, 2, &spans, &error) == LW_OK, "%s", error.expected);
	CHECK(spans[0].uri.size == 1 && spans[0].start == 5 && spans[0].end == 9, "first");
	CHECK(spans[1].uri.size == 0 && spans[1].start == UINT64_MAX && spans[1].end == 0, "second");
	lw_buffer_init(&buffer, 0);
	CHECK(lw_spans_encode(spans, 2, &buffer, &error) == LW_OK, "%s", error.expected);
	CHECK(same_bytes(lw_buffer_bytes(&buffer), payload), "written again");
	lw_buffer_free(&buffer);
	free(spans);
	free((void *) payload.data);
	refuse_spans("01000000 01 00*7 01000000 61 05 00*7 09 00*6", 1, MALFORMED_PAYLOAD);
	refuse_spans("01000000 01 00*7 01000000 61 05 00*7", 1, MALFORMED_PAYLOAD);
	refuse_spans("01000000 01 00*7 01000000 ff 05 00*7 09 00*7", 1, MALFORMED_PAYLOAD);
	refuse_spans("01000000 01 00*7 01000000 61 05 00*7 09 00*7 00", 1, MALFORMED_PAYLOAD);
	refuse_spans("01000000 01 00*7 01000000 61 05 00*7 09 00*7", 2, COUNT_MISMATCH);
	refuse_spans("00000000 01 00*7 01000000 61 05 00*7 09 00*7", 1, UNSUPPORTED_VERSION);
}

/* Decodes hex, which must give `raw` or the error `name`. */
static void
unpack(const char *hex, uint64_t expected, const char *raw, const char *name)
{
	LwBytes		stored = from_hex(hex);
	LwBuffer	payload;
	LwError		error;
	LwStatus	status;

	lw_buffer_init(&payload, 0);
	status = lw_repack_decode(stored, expected, &payload, &error);
	if (raw != NULL)
		CHECK(status == LW_OK && holds_hex(&payload, raw), "%s", hex);
	else
		CHECK(is_error(status, &error, name), "%s", hex);
	lw_buffer_free(&payload);
	free((void *) stored.data);
}

#define LIST0 "15000000 01000000 01000000 0c000000 00*8 00"
#define LIST1 "15000000 01000000 01000000 0c000000 01 00*7 00"
#define LIST_MAX "15000000 01000000 01000000 0c000000 ff*8 00"
#define LIST2 "15000000 02000000 01000000 0c000000 00*8 00"

static void
test_unpacking(void)
{
	unpack("", 0, NULL, MALFORMED_PAYLOAD);
	unpack("02", 0, NULL, MALFORMED_PAYLOAD);
	unpack("06000000 01000000 0c000000 00*8 03 88c602", LW_ANY_COUNT, NULL, MALFORMED_PAYLOAD);

	unpack("00 00000000", 0, "01000000 00*8", NULL);
	unpack("00 01000000 aa*32", 1, "01000000 01 00*7 47000000 7368613235363a 61*64", NULL);
	unpack("00 01000000 aa*32", LW_ANY_COUNT, "01000000 01 00*7 47000000 7368613235363a 61*64", NULL);
	unpack("00 01000000 aa*32", 2, NULL, COUNT_MISMATCH);
	unpack("00 02000000 aa*32", 2, NULL, MALFORMED_PAYLOAD);
	unpack("00 01000000 aa*31", 1, NULL, MALFORMED_PAYLOAD);
	unpack("00 01000000 aa*33", 1, NULL, MALFORMED_PAYLOAD);
	unpack("00 010000", 1, NULL, MALFORMED_PAYLOAD);
	unpack("00 ffffffff", UINT32_MAX, NULL, MALFORMED_PAYLOAD);

	unpack("01 01000000 01000000 01000000 75" LIST1, 1, NULL, MALFORMED_PAYLOAD);
	unpack("01 01000000 01000000 01000000 75" LIST0 LIST1 LIST_MAX, 1,
		   "01000000 01 00*7 01000000 75 01 00*7 00*8", NULL);
	unpack("01 01000000 01000000 01000000 75" LIST1 LIST0 LIST0, 1, NULL, MALFORMED_PAYLOAD);
	unpack("01 01000000 01000000 01000000 75" LIST_MAX LIST0 LIST0, 1, NULL, MALFORMED_PAYLOAD);
	unpack("01 02000000 01000000 01000000 75" LIST0 LIST0 LIST0, 2, NULL, MALFORMED_PAYLOAD);
	unpack("01 01000000 01000000 01000000 75" LIST0 LIST2 LIST0, 1, NULL, MALFORMED_PAYLOAD);
	unpack("01 01000000 ffffffff 01000000 75" LIST0 LIST0 LIST0, 1, NULL, MALFORMED_PAYLOAD);
	unpack("01 01000000 02000000 01000000 75 01000000 76" LIST0 LIST0 LIST0, 1,
		   "01000000 01 00*7 01000000 75 00*16", NULL);
	unpack("01 01000000 01000000 01000000 ff" LIST0 LIST0 LIST0, 1, NULL, MALFORMED_PAYLOAD);
	unpack("01 01000000 01000000 01000000 75" LIST0 LIST0 LIST0 "78", 1, NULL, MALFORMED_PAYLOAD);
	unpack("01 01000000 01000000 01000000 75" LIST0 LIST0 LIST0, 2, NULL, COUNT_MISMATCH);
	/* What is wrong inside comes before the count. */
	unpack("01 01000000 01000000 01000000 75" LIST1 LIST0 LIST0, 2, NULL, MALFORMED_PAYLOAD);
	unpack("01 00000000 00000000 08000000 00*8 08000000 00*8 08000000 00*8", 0, "01000000 00*8", NULL);
}

/* Spans written, and read back as the raw payload; also cut everywhere. */
static void
check_repacked(const LwSourceSpan *spans, size_t count, const char *hex)
{
	LwBuffer	stored;
	LwBuffer	payload;
	LwBuffer	raw;
	LwError		error;
	size_t		i;

	lw_buffer_init(&stored, 0);
	lw_buffer_init(&payload, 0);
	lw_buffer_init(&raw, 0);
	CHECK(lw_repack_spans(spans, count, &stored, &error) == LW_OK, "%s", error.expected);
	if (hex != NULL)
		CHECK(holds_hex(&stored, hex), "%zu spans", count);
	CHECK(lw_repack_decode(lw_buffer_bytes(&stored), count, &payload, &error) == LW_OK, "%s", error.expected);
	CHECK(lw_spans_encode(spans, count, &raw, &error) == LW_OK, "%s", error.expected);
	CHECK(same_bytes(lw_buffer_bytes(&payload), lw_buffer_bytes(&raw)), "%zu spans", count);
	for (i = 0; i < stored.size; i++)
	{
		LwBytes		copy = {(const uint8_t *) exact_copy(stored.data, i), i};
		LwStatus	status = lw_repack_decode(copy, count, &payload, &error);

		CHECK(is_error(status, &error, MALFORMED_PAYLOAD), "cut to %zu", i);
		free((void *) copy.data);
	}
	lw_buffer_free(&raw);
	lw_buffer_free(&payload);
	lw_buffer_free(&stored);
}

static void
test_repacking_spans(void)
{
	LwSourceSpan spans[400] = {
		{bytes_of("a.txt"), 5, 9}, {bytes_of("b.txt"), 0, 100}, {bytes_of("a.txt"), 9, 12}
	};
	char		names[20][12];
	size_t		i;

	check_repacked(spans, 3, "01 03000000 02000000 05000000 612e747874 05000000 622e747874"
				   "16000000 03000000 01000000 0c000000 00*8 01 02"
				   "17000000 03000000 01000000 0c000000 00*8 04 0509"
				   "18000000 03000000 01000000 0c000000 03 00*7 07 813000");
	check_repacked(spans, 0, NULL);
	for (i = 0; i < 400; i++)
	{
		char	   *name = names[random_below(20)];

		snprintf(name, sizeof(names[0]), "%d", (int) (name - names[0]));
		spans[i].uri = i % 50 == 0 ? bytes_of("") : bytes_of(name);
		spans[i].start = i % 9 == 0 ? UINT64_MAX - i : random_below(100000);
		spans[i].end = random_below(100000);
	}
	check_repacked(spans, 400, NULL);
}

static void
test_repacking_ids(void)
{
	static const char *const others[] = {
		"0000000000000000000000000000000000000000000000000000000000000000",
		"sha256:000000000000000000000000000000000000000000000000000000000000000",
		"sha256:00000000000000000000000000000000000000000000000000000000000000000",
		"sha256:000000000000000000000000000000000000000000000000000000000000000A",
		"sha256:000000000000000000000000000000000000000000000000000000000000000g",
		"SHA256:0000000000000000000000000000000000000000000000000000000000000000",
		""
	};
	LwBytes		ids[2] = {
		bytes_of("sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
		bytes_of("sha256:ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff00")
	};
	LwBuffer	stored;
	LwBuffer	payload;
	LwBuffer	raw;
	LwError		error;
	size_t		i;

	lw_buffer_init(&stored, 0);
	lw_buffer_init(&payload, 0);
	lw_buffer_init(&raw, 0);
	CHECK(lw_repack_can_ids(ids, 2), "canonical ids");
	CHECK(lw_repack_ids(ids, 2, &stored, &error) == LW_OK, "%s", error.expected);
	CHECK(holds_hex(&stored, "00 02000000 0123456789abcdef 0123456789abcdef 0123456789abcdef 0123456789abcdef ff*31 00"),
		  "ids");
	CHECK(lw_repack_decode(lw_buffer_bytes(&stored), 2, &payload, &error) == LW_OK, "%s", error.expected);
	CHECK(lw_strings_encode(ids, 2, &raw, &error) == LW_OK, "%s", error.expected);
	CHECK(same_bytes(lw_buffer_bytes(&payload), lw_buffer_bytes(&raw)), "ids");
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
	{
		ids[1] = bytes_of(others[i]);
		CHECK(!lw_repack_can_ids(ids, 2), "%s", others[i]);
	}
	CHECK(lw_repack_can_ids(ids, 0), "no ids");
	lw_buffer_free(&raw);
	lw_buffer_free(&payload);
	lw_buffer_free(&stored);
}

/* A few bytes that stand for gigabytes stop at the limit, and at the count. */
static void
test_bombs(void)
{
	LwBuffer	stored;
	LwBuffer	payload;
	LwError		error;
	int			i;
	int			column;

	lw_buffer_init(&stored, 0);
	put_hex(&stored, "01 00002000 01000000 00000800");
	for (i = 0; i < 1 << 19; i++)
		lw_put_u8(&stored, 'a');
	for (column = 0; column < 3; column++)
	{
		lw_put_u32(&stored, 8 + 4 * 16384 + 9);
		put_hex(&stored, "00002000 00400000");
		for (i = 0; i < 16384; i++)
			lw_put_u32(&stored, 8 + 4 * 16384);
		put_hex(&stored, "00*9");
	}
	lw_buffer_init(&payload, 1 << 20);
	CHECK(is_error(lw_repack_decode(lw_buffer_bytes(&stored), 3, &payload, &error), &error, COUNT_MISMATCH),
		  "%s", error.expected);
	CHECK(payload.size == 0, "%zu bytes", payload.size);
	CHECK(lw_repack_decode(lw_buffer_bytes(&stored), 1 << 21, &payload, &error) == LW_LIMIT, "%s", error.expected);
	CHECK(payload.room <= 1 << 20, "%zu bytes", payload.room);
	lw_buffer_free(&payload);
	lw_buffer_free(&stored);
}

static void
test_hash(void)
{
	char		id[LW_TEXT_HASH_SIZE];
	char		other[LW_TEXT_HASH_SIZE];
	LwSha256	hash;
	uint8_t		sum[LW_SHA256_SIZE];
	LwError		error;

	CHECK(lw_chunk_hash(bytes_of("hi"), bytes_of("doc.txt"), 0, 2, bytes_of("demo-chunker/1"), id, &error) == LW_OK,
		  "%s", error.found);
	CHECK(memcmp(id, "sha256:186d842224fbbee05b4ae5d2851ef966c7da8a54372517c450c2a5d35dd213c3", sizeof(id)) == 0,
		  "%.71s", id);
	CHECK(lw_chunk_hash(bytes_of("ho"), bytes_of("doc.txt"), 0, 2, bytes_of("demo-chunker/1"), other, &error) == LW_OK &&
		  memcmp(id, other, sizeof(id)) != 0, "text");
	CHECK(lw_chunk_hash(bytes_of("hi"), bytes_of("doc.tx"), 0, 2, bytes_of("demo-chunker/1"), other, &error) == LW_OK &&
		  memcmp(id, other, sizeof(id)) != 0, "uri");
	CHECK(lw_chunk_hash(bytes_of("hi"), bytes_of("doc.txt"), 1, 2, bytes_of("demo-chunker/1"), other, &error) == LW_OK &&
		  memcmp(id, other, sizeof(id)) != 0, "start");
	CHECK(lw_chunk_hash(bytes_of("hi"), bytes_of("doc.txt"), 0, 3, bytes_of("demo-chunker/1"), other, &error) == LW_OK &&
		  memcmp(id, other, sizeof(id)) != 0, "end");
	CHECK(lw_chunk_hash(bytes_of("hi"), bytes_of("doc.txt"), 0, 2, bytes_of("demo-chunker/2"), other, &error) == LW_OK &&
		  memcmp(id, other, sizeof(id)) != 0, "chunker");
	lw_sha256_begin(&hash);
	CHECK(lw_sha256_sum(&hash, sum, &error) == LW_OK, "%s", error.found);
	lw_text_hash(sum, id);
	CHECK(memcmp(id, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", sizeof(id)) == 0,
		  "%.71s", id);
}

int
main(void)
{
	test_strings();
	test_spans();
	test_unpacking();
	test_repacking_spans();
	test_repacking_ids();
	test_bombs();
	test_hash();
	return unit_done("test_lists");
}
