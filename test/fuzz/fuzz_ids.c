/*-------------------------------------------------------------------------
 *
 * fuzz_ids.c
 *	  ids.json.  What must hold for any bytes: exactly the arrays of strings
 *	  are read, with exactly their number of documents, and each id is UTF-8
 *	  and what the JSON reader decodes.
 *
 *-------------------------------------------------------------------------
 */
#include "format/ids.h"
#include "format/json.h"
#include "format/utf8.h"
#include "fuzz.h"

/* Counts the strings of an array; -1 for anything else, or a string that does not decode. */
static int64_t
count_ids(const char *text, size_t size)
{
	char	   *out = exact_memory(size);
	LwJson		reader;
	LwJsonToken token;
	size_t		length;
	int64_t		count = -1;

	lw_json_init(&reader, text, size);
	if (lw_json_next(&reader) == LW_JSON_ARRAY)
	{
		count = 0;
		while ((token = lw_json_next(&reader)) == LW_JSON_STRING && lw_json_decode(&reader, out, &length))
			count++;
		if (token != LW_JSON_ARRAY_END || lw_json_next(&reader) != LW_JSON_END)
			count = -1;
	}
	free(out);
	return count;
}

/* Compares the ids with what the reader decodes. */
static void
check_ids(const LwIds *ids, const char *text, size_t size)
{
	char	   *out = exact_memory(size);
	LwJson		reader;
	uint64_t	row;

	lw_json_init(&reader, text, size);
	lw_json_next(&reader);
	for (row = 0; row < ids->count; row++)
	{
		size_t		length;
		size_t		expected = 0;
		const char *id = lw_ids_get(ids, row, &length);

		REQUIRE(lw_json_next(&reader) == LW_JSON_STRING && lw_json_decode(&reader, out, &expected));
		REQUIRE(length == expected && memcmp(id, out, length) == 0);
		REQUIRE(lw_utf8_valid(id, length) == length);
	}
	free(out);
}

/* Parses with a number of documents that the file does not have. */
static void
check_refused(const char *text, size_t size, uint64_t documents, const char *name)
{
	LwIds		ids;
	LwError		error;

	REQUIRE(lw_ids_parse(text, size, documents, &ids, &error) == LW_MALFORMED);
	REQUIRE(strcmp(error.name, name) == 0);
	REQUIRE(error.offset >= -1 && error.offset <= (int64_t) size);
	REQUIRE(ids.bytes == NULL && ids.ends == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	   *text = exact_memory(size);
	int64_t		count;

	if (size > 0)
		memcpy(text, data, size);
	count = count_ids(text, size);
	if (count >= 0)
	{
		LwIds		ids;
		LwError		error;

		REQUIRE(lw_ids_parse(text, size, (uint64_t) count, &ids, &error) == LW_OK);
		REQUIRE(ids.count == (uint64_t) count);
		check_ids(&ids, text, size);
		lw_ids_free(&ids);
	}
	check_refused(text, size, (uint64_t) count + 1 + (count < 0), count < 0 ? "IdsJson" : "IdsCount");
	check_refused(text, size, UINT64_MAX, count < 0 ? "IdsJson" : "IdsCount");
	free(text);
	return 0;
}
