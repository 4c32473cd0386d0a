/*-------------------------------------------------------------------------
 *
 * fuzz_canon.c
 *	  JSON written anew.  What must hold for any bytes: what comes out is JSON of
 *	  the same tokens without whitespace, and it stays as it is when it is
 *	  written anew, its floating-point numbers apart.
 *
 *-------------------------------------------------------------------------
 */
#include "format/json.h"
#include "section/canon.h"
#include "fuzz.h"

/* Compares strings and numbers of two texts, token by token. */
static void
check_tokens(LwBytes before, LwBytes after)
{
	LwJson		a;
	LwJson		b;
	LwJsonToken token;
	char	   *x = exact_memory(before.size);
	char	   *y = exact_memory(after.size);
	size_t		x_size;
	size_t		y_size;
	uint64_t	x_value;
	uint64_t	y_value;

	lw_json_init(&a, before.data, before.size);
	lw_json_init(&b, after.data, after.size);
	do
	{
		token = lw_json_next(&a);
		REQUIRE(token != LW_JSON_ERROR && lw_json_next(&b) == token);
		if (token == LW_JSON_NAME || token == LW_JSON_STRING)
		{
			REQUIRE(lw_json_decode(&a, x, &x_size) && lw_json_decode(&b, y, &y_size));
			REQUIRE(x_size == y_size && memcmp(x, y, x_size) == 0);
		}
		else if (token == LW_JSON_NUMBER && lw_json_uint64(&a, &x_value))
			REQUIRE(lw_json_uint64(&b, &y_value) && x_value == y_value);
	} while (token != LW_JSON_END);
	free(x);
	free(y);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *copy = exact_memory(size);
	LwBytes		text = {copy, size};
	LwBuffer	json;
	LwBuffer	again;
	LwError		error;
	LwStatus	status;

	if (size > 0)
		memcpy(copy, data, size);
	lw_buffer_init(&json, 0);
	lw_buffer_init(&again, 0);
	status = lw_put_json(&json, text, LW_CANON_DEPTH, &error);
	REQUIRE(status == LW_OK || (status == LW_MALFORMED && strcmp(error.name, "Json") == 0));
	if (status == LW_OK)
	{
		check_tokens(text, lw_buffer_bytes(&json));
		/* The greatest doubles can be read as larger than they are, and then are none. */
		status = lw_put_json(&again, lw_buffer_bytes(&json), LW_CANON_DEPTH, &error);
		REQUIRE(status == LW_OK || strstr(error.found, "out of range") != NULL);
		if (memchr(json.data, '.', json.size) == NULL && memchr(json.data, 'e', json.size) == NULL)
			REQUIRE(again.size == json.size && memcmp(again.data, json.data, json.size) == 0);
	}
	lw_buffer_free(&again);
	lw_buffer_free(&json);
	free(copy);
	return 0;
}
