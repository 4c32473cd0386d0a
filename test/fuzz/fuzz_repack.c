/*-------------------------------------------------------------------------
 *
 * fuzz_repack.c
 *	  Repacked chunk ids and spans.  What must hold for any bytes: what comes
 *	  out is a list with the entries that were expected, and repacked again and
 *	  unpacked it is the same.
 *
 *-------------------------------------------------------------------------
 */
#include "section/repack.h"
#include "fuzz.h"

/* Small, so that bombs are cheap. */
#define LIMIT ((size_t) 1 << 20)

static void
check_again(LwBytes payload, const LwBuffer *stored)
{
	LwBuffer	again;
	LwError		error;

	lw_buffer_init(&again, 0);
	REQUIRE(lw_repack_decode(lw_buffer_bytes(stored), LW_ANY_COUNT, &again, &error) == LW_OK);
	REQUIRE(again.size == payload.size && memcmp(again.data, payload.data, payload.size) == 0);
	lw_buffer_free(&again);
}

/* Repacks what was unpacked. */
static void
check_payload(LwBytes payload, uint8_t kind)
{
	LwBuffer	stored;
	LwBytes    *ids;
	LwSourceSpan *spans;
	LwError		error;
	size_t		count;

	lw_buffer_init(&stored, 0);
	REQUIRE(lw_list_count(payload, &count, &error) == LW_OK);
	if (kind == 0)
	{
		REQUIRE(lw_strings_decode(payload, count, &ids, &error) == LW_OK);
		REQUIRE(lw_repack_can_ids(ids, count));
		REQUIRE(lw_repack_ids(ids, count, &stored, &error) == LW_OK);
		free(ids);
	}
	else
	{
		REQUIRE(lw_spans_decode(payload, count, &spans, &error) == LW_OK);
		REQUIRE(lw_repack_spans(spans, count, &stored, &error) == LW_OK);
		free(spans);
	}
	check_again(payload, &stored);
	lw_buffer_free(&stored);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *copy = exact_memory(size);
	LwBytes		stored = {copy, size};
	LwBuffer	payload;
	LwError		error;
	size_t		count;
	LwStatus	status;

	if (size > 0)
		memcpy(copy, data, size);
	lw_buffer_init(&payload, LIMIT);
	status = lw_repack_decode(stored, LW_ANY_COUNT, &payload, &error);
	REQUIRE(status == LW_OK || status == LW_MALFORMED || status == LW_LIMIT);
	if (status == LW_OK)
	{
		check_payload(lw_buffer_bytes(&payload), data[0]);
		REQUIRE(lw_list_count(lw_buffer_bytes(&payload), &count, &error) == LW_OK);
		payload.size = 0;
		REQUIRE(lw_repack_decode(stored, count + 1, &payload, &error) == LW_MALFORMED);
		REQUIRE(strcmp(error.name, "SectionCountMismatch") == 0 && payload.size == 0);
	}
	lw_buffer_free(&payload);
	free(copy);
	return 0;
}
