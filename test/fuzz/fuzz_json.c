/*-------------------------------------------------------------------------
 *
 * fuzz_json.c
 *	  The JSON reader.  What must hold for any bytes: reading is the same
 *	  twice and by skipping, tokens lie in the text, decoded strings are UTF-8
 *	  and no longer than raw, numbers agree with strtod, and a text that
 *	  changes after it was read is decoded within bounds.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "format/json.h"
#include "format/utf8.h"
#include "fuzz.h"

/* Decodes the last string and checks the result; returns its size, SIZE_MAX when refused. */
static size_t
decode(LwJson reader)
{
	char	   *out = exact_memory(reader.raw_size);
	size_t		size = SIZE_MAX;
	bool		good = lw_json_decode(&reader, out, &size);

	if (good)
	{
		REQUIRE(size <= reader.raw_size);
		REQUIRE(lw_utf8_valid(out, size) == size);
	}
	else
	{
		REQUIRE(reader.problem != NULL && reader.at < reader.size);
		REQUIRE(lw_json_next(&reader) == LW_JSON_ERROR);
		size = SIZE_MAX;
	}
	free(out);
	return size;
}

/* Decodes the last string as it would be if its bytes had changed, and puts them back. */
static void
decode_changed(LwJson reader, char *text)
{
	static const char fill[] = "\\ud83d\\ude00\\u\xe2\x82\\\"\\n\\u12\xf0\\ud800\\";
	size_t		start = (size_t) (reader.raw - reader.data);
	char	   *kept = exact_memory(reader.raw_size);
	size_t		i;

	if (reader.raw_size > 0)
		memcpy(kept, text + start, reader.raw_size);
	for (i = 0; i < reader.raw_size; i++)
		text[start + i] = fill[(i + reader.raw_size) % (sizeof(fill) - 1)];
	decode(reader);
	if (reader.raw_size > 0)
		memcpy(text + start, kept, reader.raw_size);
	free(kept);
}

/* Checks the two ways to read the last number against strtod. */
static void
check_number(const LwJson *reader)
{
	char	   *text = exact_memory(reader->raw_size + 1);
	double		expected;
	double		value = 0;
	uint64_t	integer;
	bool		finite;

	memcpy(text, reader->raw, reader->raw_size);
	text[reader->raw_size] = '\0';
	expected = strtod(text, NULL);
	finite = lw_json_double(reader, &value);
	REQUIRE(finite == (isfinite(expected) != 0));
	REQUIRE(memcmp(&value, &expected, sizeof(value)) == 0);
	if (lw_json_uint64(reader, &integer))
	{
		char		digits[32];

		snprintf(digits, sizeof(digits), "%llu", (unsigned long long) integer);
		REQUIRE(strcmp(digits, text) == 0);
	}
	else
		REQUIRE(strspn(text, "0123456789") < reader->raw_size || expected >= 18446744073709551615.0);
	free(text);
}

/* Reads all of a text and checks each token; returns the last one, and a sum over all. */
static LwJsonToken
walk(LwJson *reader, char *text, size_t size, uint64_t *sum)
{
	LwJsonToken token;

	*sum = 0;
	lw_json_init(reader, text, size);
	do
	{
		size_t		before = reader->pos;

		token = lw_json_next(reader);
		*sum = (*sum + (uint64_t) token + reader->at) * UINT64_C(0x9e3779b97f4a7c15);
		if (token == LW_JSON_ERROR || token == LW_JSON_END)
			break;
		REQUIRE(reader->pos > before && reader->pos <= size);
		REQUIRE(reader->at >= before && reader->at < reader->pos);
		REQUIRE(reader->depth >= 0 && reader->depth <= LW_JSON_MAX_DEPTH);
		if (token == LW_JSON_NAME || token == LW_JSON_STRING)
		{
			REQUIRE(reader->raw == text + reader->at + 1);
			REQUIRE(reader->raw_size == reader->pos - reader->at - 2);
			decode_changed(*reader, text);
			*sum += decode(*reader);
		}
		else if (token == LW_JSON_NUMBER)
		{
			REQUIRE(reader->raw == text + reader->at);
			REQUIRE(reader->raw_size == reader->pos - reader->at);
			check_number(reader);
		}
	} while (true);
	if (token == LW_JSON_ERROR)
		REQUIRE(reader->problem != NULL && reader->at <= size);
	return token;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	   *text = exact_memory(size);
	LwJson		reader;
	LwJson		skipping;
	LwJsonToken last;
	uint64_t	sum;
	uint64_t	again;

	if (size > 0)
		memcpy(text, data, size);
	last = walk(&reader, text, size, &sum);
	REQUIRE(walk(&reader, text, size, &again) == last);
	REQUIRE(again == sum);

	lw_json_init(&skipping, text, size);
	if (!lw_json_skip(&skipping, lw_json_next(&skipping)))
		REQUIRE(last == LW_JSON_ERROR);
	else
		REQUIRE(lw_json_next(&skipping) == last);
	REQUIRE(skipping.at == reader.at && skipping.pos == reader.pos);

	free(text);
	return 0;
}
