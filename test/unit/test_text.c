/*-------------------------------------------------------------------------
 *
 * test_text.c
 *	  Zstandard frames, texts as streams, repeated texts, and the choice.
 *
 *-------------------------------------------------------------------------
 */
#include <zstd.h>

#include "codec.h"
#include "random.h"
#include "section/chooser.h"
#include "section/dedup.h"
#include "section/lists.h"
#include "section/text.h"

#define MAX_TEXTS 1000
#define HI "28b52ffd 0038 110000 6869"
#define EMPTY_FRAME "28b52ffd 20000100 00"

static const LwBytes nothing = {NULL, 0};

static void
free_bytes(LwBytes bytes)
{
	free((void *) bytes.data);
}

/* Texts that repeat words, some alike, some empty; the caller frees each. */
static void
make_texts(LwBytes *texts, size_t count, uint32_t words)
{
	size_t		i;

	for (i = 0; i < count; i++)
	{
		char		text[400] = "";
		uint32_t	length = random_below(12);
		size_t		size = 0;

		while (length-- > 0)
			size += snprintf(text + size, sizeof(text) - size, "w\xc3\xb6rd%u ", random_below(words));
		texts[i].data = (const uint8_t *) exact_copy(text, size);
		texts[i].size = size;
	}
}

static void
free_texts(LwBytes *texts, size_t count)
{
	size_t		i;

	for (i = 0; i < count; i++)
		free_bytes(texts[i]);
}

/* Decodes frames given in hex; the result must be `text` or an error. */
static void
check_frames(const char *hex, const char *text)
{
	LwBytes		stored = from_hex(hex);
	LwZstdReader reader;
	LwBuffer	out;
	LwError		error;
	LwStatus	status;

	lw_buffer_init(&out, 0);
	CHECK(lw_zstd_reader_init(&reader, NULL, &error) == LW_OK, "%s", error.expected);
	status = lw_zstd_decode(&reader, stored, &out, &error);
	if (text != NULL)
		CHECK(status == LW_OK && same_bytes(lw_buffer_bytes(&out), bytes_of(text)), "%s", hex);
	else
		CHECK(is_error(status, &error, MALFORMED_PAYLOAD), "%s", hex);
	lw_zstd_reader_free(&reader);
	lw_buffer_free(&out);
	free_bytes(stored);
}

/* A frame of `count` blocks that are 128 KiB of one byte each, declaring `declared` bytes unless that is 0. */
static void
put_repeats(LwBuffer *buffer, unsigned count, uint64_t declared)
{
	put_hex(buffer, declared > 0 ? "28b52ffd c0 70" : "28b52ffd 00 70");
	if (declared > 0)
		lw_put_u64(buffer, declared);
	while (count-- > 0)
	{
		unsigned	header = (count == 0) | 1 << 1 | 131072 << 3;

		lw_put_u16(buffer, (uint16_t) header);
		lw_put_u8(buffer, (uint8_t) (header >> 16));
		lw_put_u8(buffer, 'a');
	}
}

static LwStatus
decode_repeats(unsigned count, uint64_t declared, size_t limit, LwError *error)
{
	LwZstdReader reader;
	LwBuffer	stored;
	LwBuffer	out;
	LwStatus	status;

	lw_buffer_init(&stored, 0);
	lw_buffer_init(&out, limit);
	put_repeats(&stored, count, declared);
	CHECK(lw_zstd_reader_init(&reader, NULL, error) == LW_OK, "%s", error->expected);
	status = lw_zstd_decode(&reader, lw_buffer_bytes(&stored), &out, error);
	CHECK(status != LW_OK || out.size == (size_t) count * 131072, "%zu bytes", out.size);
	lw_zstd_reader_free(&reader);
	lw_buffer_free(&out);
	lw_buffer_free(&stored);
	return status;
}

static void
test_frames(void)
{
	LwError		error;

	check_frames("", "");
	check_frames(HI, "hi");
	check_frames(EMPTY_FRAME, "");
	check_frames(HI HI, "hihi");
	check_frames("502a4d18 03000000 616263" HI, "hi");
	check_frames("502a4d18 03000000 616263", "");
	check_frames(HI "ff", NULL);
	check_frames(HI "28b52ffd", NULL);
	check_frames("28b52ffd", NULL);
	check_frames("28b52ffe 0038 110000 6869", NULL);
	check_frames("28b52ffd 0038 110000 68", NULL);
	check_frames("28b52ffd 0038 070000 00", NULL);
	check_frames("28b52ffd 0038 100000 6869", NULL);
	check_frames("28b52ffd 20 02 110000 6869", "hi");
	check_frames("28b52ffd 20 01 110000 6869", NULL);
	check_frames("28b52ffd 20 03 110000 6869", NULL);
	check_frames("28b52ffd c038 ff*8 110000 6869", "hi");
	check_frames("28b52ffd 0438 110000 6869 00000000", NULL);
	check_frames("28b52ffd 0138 07 110000 6869", NULL);
	check_frames("5f2a4d18 ffffffff 00", NULL);
	check_frames("6869", NULL);

	/* 64 MiB is the cap, and 128 times the size that is larger. */
	CHECK(decode_repeats(512, 0, 0, &error) == LW_OK, "%s", error.expected);
	CHECK(is_error(decode_repeats(513, 0, 0, &error), &error, MALFORMED_PAYLOAD), "64 MiB and a block");
	CHECK(decode_repeats(512, 512 * 131072, 0, &error) == LW_OK, "%s", error.expected);
	CHECK(is_error(decode_repeats(1, (64 << 20) + 1, 0, &error), &error, MALFORMED_PAYLOAD), "declared");
	CHECK(is_error(decode_repeats(8192, 1000, 0, &error), &error, MALFORMED_PAYLOAD), "declared too little");
	CHECK(decode_repeats(100, 0, 1 << 20, &error) == LW_LIMIT, "a limit");
	CHECK(decode_repeats(8, 0, 1 << 20, &error) == LW_OK, "%s", error.expected);
}

/* Encodes one text and decodes it; returns the size of the frame. */
static size_t
check_frame(LwBytes raw, const char *hex, size_t prefix)
{
	LwZstdWriter writer;
	LwZstdReader reader;
	LwBuffer	frame;
	LwBuffer	out;
	LwError		error;
	size_t		size;

	lw_buffer_init(&frame, 0);
	lw_buffer_init(&out, 0);
	CHECK(lw_zstd_writer_init(&writer, NULL, &error) == LW_OK, "%s", error.expected);
	CHECK(lw_zstd_reader_init(&reader, NULL, &error) == LW_OK, "%s", error.expected);
	/* Twice, since a context must not remember. */
	CHECK(lw_zstd_encode(&writer, raw, &frame, &error) == LW_OK, "%s", error.expected);
	size = frame.size;
	CHECK(lw_zstd_encode(&writer, raw, &frame, &error) == LW_OK, "%s", error.expected);
	CHECK(frame.size == 2 * size && memcmp(frame.data, frame.data + size, size) == 0, "the second frame");
	CHECK(lw_zstd_decode(&reader, lw_buffer_bytes(&frame), &out, &error) == LW_OK, "%s", error.expected);
	CHECK(out.size == 2 * raw.size && (raw.size == 0 || memcmp(out.data + raw.size, raw.data, raw.size) == 0),
		  "%zu bytes", raw.size);
	if (prefix > 0)
		frame.size = prefix;
	else
		frame.size = size;
	CHECK(holds_hex(&frame, hex), "a frame of %zu bytes", raw.size);
	lw_zstd_reader_free(&reader);
	lw_zstd_writer_free(&writer);
	lw_buffer_free(&out);
	lw_buffer_free(&frame);
	return size;
}

static bool
always_asked(void *arg)
{
	++*(int *) arg;
	return true;
}

static void
test_encoding_frames(void)
{
	uint8_t    *text = calloc(131072 * 2, 1);
	LwBytes		raw = {text, 131072 * 2};
	LwZstdWriter writer;
	LwBuffer	frame;
	LwError		error;
	int			asked = 0;
	LwStop		stop = {always_asked, &asked};
	size_t		i;

	check_frame(nothing, EMPTY_FRAME, 0);
	check_frame(bytes_of("hi"), "28b52ffd 0068 110000 6869", 0);
	for (i = 0; i < raw.size; i++)
		text[i] = (uint8_t) ('a' + random_below(4));
	check_frame(raw, "28b52ffd 0068", 6);
	raw.size = 131072;
	lw_buffer_init(&frame, 0);
	CHECK(lw_zstd_writer_init(&writer, NULL, &error) == LW_OK, "%s", error.expected);
	CHECK(lw_zstd_encode(&writer, raw, &frame, &error) == LW_OK, "%s", error.expected);
	CHECK(memcmp(frame.data + frame.size - 3, "\1\0\0", 3) == 0, "an empty block at the end");
	writer.stop = &stop;
	frame.size = 0;
	CHECK(lw_zstd_encode(&writer, raw, &frame, &error) == LW_CANCELLED && asked > 0, "stopped");
	writer.stop = NULL;
	frame.size = 0;
	CHECK(lw_zstd_encode(&writer, bytes_of("hi"), &frame, &error) == LW_OK, "%s", error.expected);
	CHECK(holds_hex(&frame, "28b52ffd 0068 110000 6869"), "a frame after one that was stopped");
	lw_zstd_writer_free(&writer);
	lw_buffer_free(&frame);
	free(text);
}

/* Opens a payload given in hex and decodes all of it. */
static LwStatus
decode_texts(const char *hex, LwTextKind kind, const LwBytes *dictionary, LwBuffer *payload, LwError *error)
{
	LwBytes		stored = from_hex(hex);
	LwTexts		texts;
	LwStatus	status = lw_texts_open(stored, kind, dictionary, &texts, error);

	if (status == LW_OK)
		status = lw_texts_decode(&texts, payload, error);
	lw_texts_close(&texts);
	free_bytes(stored);
	return status;
}

static void
accept_texts(const char *hex, LwTextKind kind, const char *raw)
{
	LwBuffer	payload;
	LwError		error;

	lw_buffer_init(&payload, 0);
	CHECK(decode_texts(hex, kind, NULL, &payload, &error) == LW_OK && holds_hex(&payload, raw), "%s", hex);
	lw_buffer_free(&payload);
}

static void
refuse_texts(const char *hex, LwTextKind kind, const LwBytes *dictionary)
{
	LwBuffer	payload;
	LwError		error;

	lw_buffer_init(&payload, 0);
	CHECK(is_error(decode_texts(hex, kind, dictionary, &payload, &error), &error, MALFORMED_PAYLOAD), "%s", hex);
	lw_buffer_free(&payload);
}

/* Offsets 0, 11: two bytes wide 4. */
#define ONE "01 00*7 02000000 01000000 0c000000 00*8 04 "

static void
test_streams(void)
{
	static const char example[] = "00 02 00*7 03000000 01000000 0c000000 00*8 05 6051"
	"28b52ffd 0068 110000 6869" EMPTY_FRAME;
	LwBytes		texts[2] = {bytes_of("hi"), bytes_of("")};
	LwBuffer	payload;
	LwBuffer	text;
	LwBytes		stored = from_hex(example);
	LwTexts		open;
	LwError		error;
	size_t		i;

	lw_buffer_init(&payload, 0);
	lw_buffer_init(&text, 0);
	CHECK(lw_texts_encode(LW_TEXT_FRAMES, texts, 2, nothing, NULL, &payload, &error) == LW_OK, "%s", error.expected);
	CHECK(holds_hex(&payload, example), "the example");
	accept_texts(example, LW_TEXT_FRAMES, "01000000 02 00*7 02000000 6869 00000000");
	CHECK(lw_texts_open(stored, LW_TEXT_FRAMES, NULL, &open, &error) == LW_OK && open.count == 2, "%s", error.expected);
	CHECK(lw_texts_get(&open, 1, &text, &error) == LW_OK && text.size == 0, "the second text");
	CHECK(lw_texts_get(&open, 0, &text, &error) == LW_OK && same_bytes(lw_buffer_bytes(&text), bytes_of("hi")),
		  "the first text");
	CHECK(is_error(lw_texts_get(&open, 2, &text, &error), &error, MALFORMED_PAYLOAD), "a third text");
	lw_texts_close(&open);
	for (i = 0; i < stored.size; i++)
	{
		LwBytes		cut = {(const uint8_t *) exact_copy(stored.data, i), i};

		CHECK(is_error(lw_texts_open(cut, LW_TEXT_FRAMES, NULL, &open, &error), &error, MALFORMED_PAYLOAD),
			  "cut to %zu", i);
		lw_texts_close(&open);
		free_bytes(cut);
	}
	free_bytes(stored);
	lw_buffer_free(&text);
	lw_buffer_free(&payload);

	accept_texts("00 00*8 01000000 01000000 0c000000 00*8 00", LW_TEXT_FRAMES, "01000000 00*8");
	accept_texts("00" ONE "b0" HI, LW_TEXT_FRAMES, "01000000 01 00*7 02000000 6869");
	/* An empty stream is an empty text. */
	accept_texts("00 01 00*7 02000000 01000000 0c000000 00*8 00", LW_TEXT_FRAMES, "01000000 01 00*7 00000000");
	refuse_texts("00 01 00*7 02000000 01000000 0c000000 00*8 00 00", LW_TEXT_FRAMES, NULL);
	refuse_texts("", LW_TEXT_FRAMES, NULL);
	refuse_texts("00", LW_TEXT_FRAMES, NULL);
	refuse_texts("01" ONE "b0" HI, LW_TEXT_FRAMES, NULL);
	refuse_texts("03" ONE "b0" HI, LW_TEXT_FRAMES, NULL);
	refuse_texts("00" ONE "b0" HI, LW_TEXT_SYMBOLS, NULL);
	refuse_texts("00 02 00*7 02000000 01000000 0c000000 00*8 04 b0" HI, LW_TEXT_FRAMES, NULL);
	refuse_texts("00 ff*8 02000000 01000000 0c000000 00*8 04 b0" HI, LW_TEXT_FRAMES, NULL);
	refuse_texts("00 ff*8 00*8", LW_TEXT_FRAMES, NULL);
	refuse_texts("00 00*8 00*8", LW_TEXT_FRAMES, NULL);
	refuse_texts("00" ONE "b1" HI, LW_TEXT_FRAMES, NULL);
	refuse_texts("00" ONE "a0" HI, LW_TEXT_FRAMES, NULL);
	refuse_texts("00" ONE "c0" HI, LW_TEXT_FRAMES, NULL);
	refuse_texts("00" ONE "b0" HI "00", LW_TEXT_FRAMES, NULL);
	refuse_texts("00 02 00*7 03000000 01000000 0c000000 00*8 05 c059" HI HI, LW_TEXT_FRAMES, NULL);
	refuse_texts("00 01 00*7 02000000 01000000 0c000000 00*8 40 00*8 ff*8" HI, LW_TEXT_FRAMES, NULL);
	refuse_texts("00" ONE "20 7a7a", LW_TEXT_FRAMES, NULL);
	refuse_texts("00" ONE "a0 28b52ffd 0038 090000 ff", LW_TEXT_FRAMES, NULL);
	refuse_texts("00 02 00*7 03000000 01000000 0c000000 00*8 05 4051"
				 "28b52ffd 0038 090000 c3 28b52ffd 0038 090000 a9", LW_TEXT_FRAMES, NULL);
}

#define SYMBOLS "02 01 00*7 02000000 01000000 0c000000 00*8 "

static void
test_symbols(void)
{
	LwBytes		texts[2] = {bytes_of("abab"), bytes_of("ab")};
	LwBuffer	payload;
	LwError		error;

	lw_buffer_init(&payload, 0);
	CHECK(lw_texts_encode(LW_TEXT_SYMBOLS, texts, 2, nothing, NULL, &payload, &error) == LW_OK, "%s", error.expected);
	CHECK(payload.size == 86, "%zu bytes", payload.size);
	CHECK(holds_hex(&payload, "02 02 00*7 03000000 01000000 0c000000 00*8 02 24"
					"31000000 0b00 0461626162 06616261626162 03616261 056162616261 03626162"
					"056261626162 026162 0462616261 026261 0161 0162 00 06"), "the example");
	payload.size = 0;
	CHECK(lw_texts_encode(LW_TEXT_SYMBOLS, NULL, 0, nothing, NULL, &payload, &error) == LW_OK, "%s", error.expected);
	CHECK(holds_hex(&payload, "02 00*8 01000000 01000000 0c000000 00*8 00 02000000 0000"), "no texts");
	lw_buffer_free(&payload);

	accept_texts(SYMBOLS "01 02 09000000 0300 026869 01ff 0178 00", LW_TEXT_SYMBOLS, "01000000 01 00*7 02000000 6869");
	accept_texts(SYMBOLS "03 20 09000000 0300 026869 01ff 0178 ff68ff69", LW_TEXT_SYMBOLS,
				 "01000000 01 00*7 02000000 6869");
	accept_texts(SYMBOLS "02 08 02000000 0000 ff68", LW_TEXT_SYMBOLS, "01000000 01 00*7 01000000 68");
	accept_texts(SYMBOLS "01 02 06000000 0200 0161 0161 01", LW_TEXT_SYMBOLS, "01000000 01 00*7 01000000 61");
	refuse_texts(SYMBOLS "02 08 09000000 0300 026869 01ff 0178 00ff", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 09000000 0300 026869 01ff 0178 03", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 09000000 0300 026869 01ff 0178 fe", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 09000000 0300 026869 01ff 0178 01", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "02 08 09000000 0300 026869 01ff 0178 ffff", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 63000000 0300 026869 01ff 0178 00", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 03000000 0300 026869 01ff 0178 00", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 ffffffff 0300 026869 01ff 0178 00", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 09000000 0001 026869 01ff 0178 00", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 09000000 ffff 026869 01ff 0178 00", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 09000000 0100 026869 01ff 0178 00", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 06000000 0200 026869 00 00", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 0f000000 0200 026869 09*10 00", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "02 08 09000000 0300 026869 01ff 0178 00", LW_TEXT_SYMBOLS, NULL);
	refuse_texts(SYMBOLS "01 02 09000000 0300 026869 01ff 0178 00 7a7a", LW_TEXT_SYMBOLS, NULL);
	refuse_texts("02 00*8 01000000 01000000 0c000000 00*8 00 0100", LW_TEXT_SYMBOLS, NULL);
}

/* Texts through every kind, whole and one by one, and cut anywhere. */
static void
check_kinds(const LwBytes *texts, size_t count, LwBytes dictionary, bool cuts)
{
	LwBuffer	raw;
	LwError		error;
	int			kind;
	size_t		i;

	lw_buffer_init(&raw, 0);
	CHECK(lw_strings_encode(texts, count, &raw, &error) == LW_OK, "%s", error.expected);
	for (kind = LW_TEXT_FRAMES; kind <= LW_TEXT_SYMBOLS; kind++)
	{
		LwTexts		open;
		LwBuffer	payload;
		LwBuffer	again;
		LwBuffer	out;

		if (kind == LW_TEXT_DICTIONARY && dictionary.size == 0)
			continue;
		lw_buffer_init(&payload, 0);
		lw_buffer_init(&again, 0);
		lw_buffer_init(&out, 0);
		CHECK(lw_texts_encode(kind, texts, count, dictionary, NULL, &payload, &error) == LW_OK &&
			  lw_texts_encode(kind, texts, count, dictionary, NULL, &again, &error) == LW_OK, "%s", error.expected);
		CHECK(same_bytes(lw_buffer_bytes(&payload), lw_buffer_bytes(&again)), "other bytes");
		CHECK(lw_texts_open(lw_buffer_bytes(&payload), kind, &dictionary, &open, &error) == LW_OK, "%s", error.expected);
		CHECK(open.count == count, "%u texts", open.count);
		CHECK(lw_texts_decode(&open, &out, &error) == LW_OK, "%s", error.expected);
		CHECK(same_bytes(lw_buffer_bytes(&out), lw_buffer_bytes(&raw)), "kind %d", kind);
		for (i = 0; i < count; i++)
		{
			out.size = 0;
			CHECK(lw_texts_get(&open, i, &out, &error) == LW_OK && same_bytes(lw_buffer_bytes(&out), texts[i]),
				  "text %zu", i);
		}
		lw_texts_close(&open);
		lw_buffer_free(&out);
		for (i = 0; cuts && i < payload.size; i++)
		{
			LwBytes		cut = {(const uint8_t *) exact_copy(payload.data, i), i};

			CHECK(is_error(lw_texts_open(cut, kind, &dictionary, &open, &error), &error, MALFORMED_PAYLOAD),
				  "cut to %zu", i);
			lw_texts_close(&open);
			free_bytes(cut);
		}
		lw_buffer_free(&again);
		lw_buffer_free(&payload);
	}
	lw_buffer_free(&raw);
}

static void
test_dictionary(void)
{
	LwBytes		texts[MAX_TEXTS];
	LwBytes		few[8];
	LwBuffer	dictionary;
	LwBuffer	again;
	LwBuffer	payload;
	LwBuffer	out;
	LwTexts		open;
	LwBytes		trained;
	LwError		error;
	size_t		i;

	make_texts(texts, MAX_TEXTS, 3000);
	lw_buffer_init(&dictionary, 0);
	lw_buffer_init(&again, 0);
	lw_buffer_init(&payload, 0);
	lw_buffer_init(&out, 0);
	CHECK(lw_zstd_train(texts, MAX_TEXTS, &dictionary, &error) == LW_OK && dictionary.size > 100, "%zu bytes",
		  dictionary.size);
	/* Neither order nor repeats matter. */
	for (i = 0; i < MAX_TEXTS / 2; i++)
	{
		LwBytes		text = texts[i];

		texts[i] = texts[MAX_TEXTS - 1 - i];
		texts[MAX_TEXTS - 1 - i] = text;
	}
	CHECK(lw_zstd_train(texts, MAX_TEXTS, &again, &error) == LW_OK, "%s", error.expected);
	CHECK(same_bytes(lw_buffer_bytes(&dictionary), lw_buffer_bytes(&again)), "another order");
	trained = lw_buffer_bytes(&dictionary);
	check_kinds(texts, 60, trained, true);
	check_kinds(texts, MAX_TEXTS, trained, false);

	CHECK(lw_texts_encode(LW_TEXT_DICTIONARY, texts, 50, trained, NULL, &payload, &error) == LW_OK, "%s", error.expected);
	CHECK(is_error(lw_texts_open(lw_buffer_bytes(&payload), LW_TEXT_DICTIONARY, NULL, &open, &error), &error,
				   MALFORMED_PAYLOAD), "no dictionary");
	lw_texts_close(&open);
	again.data[4] ^= 1;
	trained = lw_buffer_bytes(&again);
	CHECK(lw_texts_open(lw_buffer_bytes(&payload), LW_TEXT_DICTIONARY, &trained, &open, &error) == LW_OK, "%s",
		  error.expected);
	CHECK(is_error(lw_texts_decode(&open, &out, &error), &error, MALFORMED_PAYLOAD), "another dictionary");
	lw_texts_close(&open);
	CHECK(lw_texts_open(lw_buffer_bytes(&payload), LW_TEXT_DICTIONARY, &nothing, &open, &error) == LW_OK, "%s",
		  error.expected);
	CHECK(is_error(lw_texts_decode(&open, &out, &error), &error, MALFORMED_PAYLOAD), "an empty dictionary");
	lw_texts_close(&open);
	memset(again.data + 8, 0xff, 64);
	CHECK(is_error(lw_texts_open(lw_buffer_bytes(&payload), LW_TEXT_DICTIONARY, &trained, &open, &error), &error,
				   MALFORMED_PAYLOAD), "a dictionary with corrupt tables");
	lw_texts_close(&open);

	/* Where libzstd would crash, and where there is too little. */
	for (i = 0; i < 8; i++)
	{
		few[i].data = (const uint8_t *) "abcdefgh" + i;
		few[i].size = 1;
	}
	again.size = 0;
	CHECK(lw_zstd_train(few, 8, &again, &error) == LW_OK && again.size == 0, "eight letters");
	few[7] = bytes_of("i am the only one that is long enough, and I am in the last quarter");
	CHECK(lw_zstd_train(few, 8, &again, &error) == LW_OK && again.size == 0, "one long text");
	few[0] = bytes_of("aa");
	CHECK(lw_zstd_train(few, 8, &again, &error) == LW_OK && again.size == 0, "seven bytes");
	CHECK(lw_zstd_train(texts, 7, &again, &error) == LW_OK && again.size == 0, "seven texts");
	CHECK(lw_zstd_train(texts, 0, &again, &error) == LW_OK && again.size == 0, "no texts");
	for (i = 0; i < 8; i++)
		few[i] = texts[i & 1];
	CHECK(lw_zstd_train(few, 8, &again, &error) == LW_OK && again.size == 0, "the same texts");
	lw_buffer_free(&out);
	lw_buffer_free(&payload);
	lw_buffer_free(&again);
	lw_buffer_free(&dictionary);
	free_texts(texts, MAX_TEXTS);
}

#define POOL "01000000 02 00*7 02000000 6161 02000000 6262"

static void
expand(const char *map, const char *pool, uint64_t expected, const char *raw, const char *name)
{
	LwBytes		stored = from_hex(map);
	LwBytes		texts = from_hex(pool);
	LwBuffer	payload;
	LwError		error;
	LwStatus	status;

	lw_buffer_init(&payload, 0);
	status = lw_dedup_expand(stored, texts, expected, &payload, &error);
	if (raw != NULL)
		CHECK(status == LW_OK && holds_hex(&payload, raw), "%s", map);
	else
		CHECK(is_error(status, &error, name), "%s over %s", map, pool);
	lw_buffer_free(&payload);
	free_bytes(texts);
	free_bytes(stored);
}

static void
test_dedup(void)
{
	LwBytes		texts[3] = {bytes_of("x"), bytes_of(""), bytes_of("x")};
	LwBuffer	pool;
	LwBuffer	map;
	LwBuffer	raw;
	LwError		error;
	size_t		distinct;
	uint64_t	number;
	LwIntpack	references;
	int			i;

	lw_buffer_init(&pool, 0);
	lw_buffer_init(&map, 0);
	CHECK(lw_dedup_encode(texts, 3, &pool, &map, &distinct, &error) == LW_OK && distinct == 2, "%s", error.expected);
	CHECK(holds_hex(&map, "00 03000000 01000000 0c000000 00*8 01 02"), "map");
	CHECK(holds_hex(&pool, "01000000 02 00*7 01000000 78 00000000"), "pool");
	CHECK(lw_dedup_open(lw_buffer_bytes(&map), &references, &error) == LW_OK && references.count == 3, "map");
	CHECK(lw_dedup_get(&references, 1, 2, &number, &error) == LW_OK && number == 1, "the second chunk");
	CHECK(is_error(lw_dedup_get(&references, 1, 1, &number, &error), &error, MALFORMED_PAYLOAD), "a smaller pool");
	CHECK(is_error(lw_dedup_get(&references, 3, 2, &number, &error), &error, MALFORMED_PAYLOAD), "a fourth chunk");

	expand("00 01000000 01000000 0c000000 01 00*7 00", POOL, 1, "01000000 01 00*7 02000000 6262", NULL);
	expand("00 01000000 01000000 0c000000 01 00*7 00 78", POOL, 1, "01000000 01 00*7 02000000 6262", NULL);
	expand("00 00*8", POOL, LW_ANY_COUNT, "01000000 00*8", NULL);
	expand("00 00*8", POOL, 1, NULL, "SectionCountMismatch");
	expand("00 02000000 01000000 0c000000 00*8 01 02", POOL, 2, "01000000 02 00*7 02000000 6161 02000000 6262", NULL);
	expand("00 02000000 01000000 0c000000 00*8 01 02", POOL, 1, NULL, "SectionCountMismatch");
	expand("", POOL, 1, NULL, MALFORMED_PAYLOAD);
	expand("01 01000000 01000000 0c000000 01 00*7 00", POOL, 1, NULL, MALFORMED_PAYLOAD);
	expand("00 01000000 01000000 0c000000 02 00*7 00", POOL, 1, NULL, MALFORMED_PAYLOAD);
	expand("00 01000000 01000000 0c000000 00000000 01000000 00", POOL, 1, NULL, MALFORMED_PAYLOAD);
	expand("00 01000000 01000000 0c000000 01 00*7", POOL, 1, NULL, MALFORMED_PAYLOAD);
	expand("00 01000000 02000000 00*20", POOL, 1, NULL, MALFORMED_PAYLOAD);
	expand("00 01000000 01000000 0c000000 00*8 00", "0100", 1, NULL, MALFORMED_PAYLOAD);
	expand("00 01000000 01000000 0c000000 00*8 00", "01000000 03 00*7 02000000 6161 02000000 6262", 1, NULL,
		   MALFORMED_PAYLOAD);
	expand("00 01000000 01000000 0c000000 00*8 00", "01000000 00*7 10 02000000 6161", 1, NULL, MALFORMED_PAYLOAD);
	expand("00 01000000 01000000 0c000000 00*8 00", "02000000 01 00*7 02000000 6161", 1, NULL,
		   "UnsupportedSectionVersion");

	/* One text of 1 MiB, named 8192 times by 64 times the same block. */
	pool.size = map.size = 0;
	put_hex(&pool, "01000000 01 00*7 00001000");
	for (i = 0; i < 1 << 20; i++)
		lw_put_u8(&pool, 'A');
	put_hex(&map, "00 00200000 40000000");
	for (i = 0; i < 64; i++)
		lw_put_u32(&map, 8 + 4 * 64);
	put_hex(&map, "00*9");
	lw_buffer_init(&raw, 10 << 20);
	CHECK(is_error(lw_dedup_expand(lw_buffer_bytes(&map), lw_buffer_bytes(&pool), 1, &raw, &error), &error,
				   "SectionCountMismatch") && raw.room == 0, "%s", error.expected);
	CHECK(lw_dedup_expand(lw_buffer_bytes(&map), lw_buffer_bytes(&pool), 8192, &raw, &error) == LW_LIMIT &&
		  raw.room <= 10 << 20, "%s", error.expected);
	lw_buffer_free(&raw);
	lw_buffer_free(&map);
	lw_buffer_free(&pool);
}

/* Random texts with repeats: expanded, they are what they were. */
static void
test_dedup_random(void)
{
	LwBytes		texts[MAX_TEXTS];
	LwBuffer	pool;
	LwBuffer	map;
	LwBuffer	raw;
	LwBuffer	out;
	LwError		error;
	size_t		distinct;
	size_t		unlike = 0;
	size_t		i;
	size_t		j;

	make_texts(texts, MAX_TEXTS, 2);
	for (i = 0; i < MAX_TEXTS; i++)
	{
		for (j = 0; j < i && !same_bytes(texts[i], texts[j]); j++)
			;
		unlike += j == i;
	}
	lw_buffer_init(&pool, 0);
	lw_buffer_init(&map, 0);
	lw_buffer_init(&raw, 0);
	lw_buffer_init(&out, 0);
	CHECK(lw_dedup_encode(texts, MAX_TEXTS, &pool, &map, &distinct, &error) == LW_OK, "%s", error.expected);
	CHECK(distinct == unlike && distinct < MAX_TEXTS, "%zu, not %zu", distinct, unlike);
	CHECK(lw_strings_encode(texts, MAX_TEXTS, &raw, &error) == LW_OK, "%s", error.expected);
	CHECK(lw_dedup_expand(lw_buffer_bytes(&map), lw_buffer_bytes(&pool), MAX_TEXTS, &out, &error) == LW_OK, "%s",
		  error.expected);
	CHECK(same_bytes(lw_buffer_bytes(&raw), lw_buffer_bytes(&out)), "expanded");
	lw_buffer_free(&out);
	lw_buffer_free(&raw);
	lw_buffer_free(&map);
	lw_buffer_free(&pool);
	free_texts(texts, MAX_TEXTS);
}

/* The choice is the smallest of all that there are, the first of equals, and decodes. */
static void
check_choice(const LwBytes *texts, size_t count, uint32_t encoding, uint32_t extra_id)
{
	LwTextChoice choice;
	LwBuffer	raw;
	LwBuffer	out;
	LwError		error;
	LwStatus	status;
	LwBytes		payload;

	CHECK(lw_choose_texts(texts, count, NULL, &choice, &error) == LW_OK, "%s", error.expected);
	CHECK(choice.encoding == encoding && choice.extra_id == extra_id, "encoding %u, section %u, %zu + %zu bytes",
		  choice.encoding, choice.extra_id, choice.payload.size, choice.extra.size);
	payload = lw_buffer_bytes(&choice.payload);
	lw_buffer_init(&raw, 0);
	lw_buffer_init(&out, 0);
	CHECK(lw_strings_encode(texts, count, &raw, &error) == LW_OK, "%s", error.expected);
	if (choice.encoding == 1)
	{
		LwZstdReader reader;

		CHECK(lw_zstd_reader_init(&reader, NULL, &error) == LW_OK, "%s", error.expected);
		status = lw_zstd_decode(&reader, payload, &out, &error);
		lw_zstd_reader_free(&reader);
		if (status == LW_OK && choice.extra_id == 0x0b)
		{
			LwBuffer	pool = out;

			lw_buffer_init(&out, 0);
			status = lw_dedup_expand(lw_buffer_bytes(&choice.extra), lw_buffer_bytes(&pool), count, &out, &error);
			lw_buffer_free(&pool);
		}
	}
	else
	{
		LwBytes		dictionary = lw_buffer_bytes(&choice.extra);
		LwTexts		open;

		status = lw_texts_open(payload, choice.encoding == 10 ? LW_TEXT_FRAMES :
							   choice.encoding == 5 ? LW_TEXT_DICTIONARY : LW_TEXT_SYMBOLS, &dictionary, &open, &error);
		if (status == LW_OK)
			status = lw_texts_decode(&open, &out, &error);
		lw_texts_close(&open);
	}
	CHECK(status == LW_OK && same_bytes(lw_buffer_bytes(&out), lw_buffer_bytes(&raw)), "decoded");
	lw_buffer_free(&out);
	lw_buffer_free(&raw);
	lw_text_choice_free(&choice);
}

static void
test_choice(void)
{
	static char block[60][100];
	LwBytes		texts[MAX_TEXTS];
	LwBytes		hi = bytes_of("hi");
	LwTextChoice choice;
	LwError		error;
	int			asked = 0;
	LwStop		stop = {always_asked, &asked};
	size_t		i;
	size_t		j;

	check_choice(&hi, 1, 1, 0);
	check_choice(NULL, 0, 1, 0);
	/* A frame spends some bytes on each repeat, the map some bits. */
	for (i = 0; i < 60; i++)
		for (j = 0; j < 100; j++)
			block[i][j] = (char) ('!' + random_below(90));
	for (i = 0; i < 600; i++)
	{
		texts[i].data = (const uint8_t *) block[i < 60 ? i : random_below(60)];
		texts[i].size = 100;
	}
	check_choice(texts, 600, 1, 0x0b);
	CHECK(lw_choose_texts(texts, 60, &stop, &choice, &error) == LW_CANCELLED && asked > 0, "stopped");
	lw_text_choice_free(&choice);
}

int
main(void)
{
	printf("libzstd %s\n", ZSTD_versionString());
	test_frames();
	test_encoding_frames();
	test_streams();
	test_symbols();
	test_dictionary();
	test_dedup();
	test_dedup_random();
	test_choice();
	return unit_done("test_text");
}
