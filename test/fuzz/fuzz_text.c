/*-------------------------------------------------------------------------
 *
 * fuzz_text.c
 *	  Texts as streams.  The first byte is the kind that is asked for, plus 3
 *	  times the length of a dictionary before the payload.  What must hold for
 *	  any bytes: the texts one by one are those of the payload as a whole, and
 *	  are UTF-8.  Symbols written again read as they were.
 *
 *-------------------------------------------------------------------------
 */
#include "format/utf8.h"
#include "section/lists.h"
#include "section/text.h"
#include "fuzz.h"

/* Small, so that bombs are cheap. */
#define LIMIT ((size_t) 1 << 20)

static bool
same_bytes(LwBytes a, LwBytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Encodes texts as symbols and decodes them. */
static void
check_symbols(const LwBytes *texts, size_t count, LwBytes raw)
{
	LwBytes		nothing = {NULL, 0};
	LwBuffer	payload;
	LwBuffer	again;
	LwTexts		open;
	LwError		error;

	lw_buffer_init(&payload, 0);
	lw_buffer_init(&again, 0);
	REQUIRE(lw_texts_encode(LW_TEXT_SYMBOLS, texts, count, nothing, NULL, &payload, &error) == LW_OK);
	REQUIRE(lw_texts_open(lw_buffer_bytes(&payload), LW_TEXT_SYMBOLS, NULL, &open, &error) == LW_OK);
	REQUIRE(open.count == count && lw_texts_decode(&open, &again, &error) == LW_OK);
	REQUIRE(same_bytes(lw_buffer_bytes(&again), raw));
	lw_texts_close(&open);
	lw_buffer_free(&again);
	lw_buffer_free(&payload);
}

/* Decodes all texts, and some by themselves. */
static void
check_texts(LwTexts *open)
{
	LwBuffer	raw;
	LwBuffer	text;
	LwBytes    *texts;
	LwError		error;
	size_t		i;
	LwStatus	status;

	lw_buffer_init(&raw, LIMIT);
	lw_buffer_init(&text, LIMIT);
	status = lw_texts_decode(open, &raw, &error);
	REQUIRE(status == LW_OK || status == LW_MALFORMED || status == LW_LIMIT);
	if (status == LW_OK)
	{
		REQUIRE(lw_strings_decode(lw_buffer_bytes(&raw), open->count, &texts, &error) == LW_OK);
		for (i = 0; i < open->count; i += 1 + i / 8)
		{
			text.size = 0;
			status = lw_texts_get(open, i, &text, &error);
			REQUIRE(status == LW_OK || status == LW_LIMIT);
			if (status == LW_LIMIT)
				break;
			REQUIRE(same_bytes(lw_buffer_bytes(&text), texts[i]));
			REQUIRE(lw_utf8_valid((const char *) texts[i].data, texts[i].size) == texts[i].size);
		}
		if (raw.size <= 4096)
			check_symbols(texts, open->count, lw_buffer_bytes(&raw));
		free(texts);
	}
	lw_buffer_free(&text);
	lw_buffer_free(&raw);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	LwBytes		dictionary;
	LwBytes		payload;
	LwTexts		open;
	LwError		error;
	LwStatus	status;
	uint8_t    *copy;

	if (size < 1)
		return 0;
	copy = exact_memory(size - 1);
	if (size > 1)
		memcpy(copy, data + 1, size - 1);
	dictionary.data = copy;
	dictionary.size = data[0] / 3u < size - 1 ? data[0] / 3u : size - 1;
	payload.data = copy + dictionary.size;
	payload.size = size - 1 - dictionary.size;
	status = lw_texts_open(payload, data[0] % 3, &dictionary, &open, &error);
	REQUIRE(status == LW_OK || status == LW_MALFORMED);
	if (status == LW_OK)
		check_texts(&open);
	lw_texts_close(&open);
	free(copy);
	return 0;
}
