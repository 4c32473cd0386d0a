/*-------------------------------------------------------------------------
 *
 * fuzz_dedup.c
 *	  Repeated texts.  The first byte is the length of the map before the pool.
 *	  What must hold for any bytes: each text is the one that its reference
 *	  names, and repeats taken out again and put back are the same.
 *
 *-------------------------------------------------------------------------
 */
#include "section/dedup.h"
#include "section/lists.h"
#include "fuzz.h"

/* Small, so that bombs are cheap. */
#define LIMIT ((size_t) 1 << 20)

static bool
same_bytes(LwBytes a, LwBytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Takes repeats out and puts them back. */
static void
check_again(const LwBytes *texts, size_t count, LwBytes payload)
{
	LwBuffer	pool;
	LwBuffer	map;
	LwBuffer	again;
	LwError		error;
	size_t		distinct;

	lw_buffer_init(&pool, 0);
	lw_buffer_init(&map, 0);
	lw_buffer_init(&again, 0);
	REQUIRE(lw_dedup_encode(texts, count, &pool, &map, &distinct, &error) == LW_OK && distinct <= count);
	REQUIRE(lw_dedup_expand(lw_buffer_bytes(&map), lw_buffer_bytes(&pool), count, &again, &error) == LW_OK);
	REQUIRE(same_bytes(lw_buffer_bytes(&again), payload));
	lw_buffer_free(&again);
	lw_buffer_free(&map);
	lw_buffer_free(&pool);
}

/* Compares the expanded texts with those of the pool. */
static void
check_texts(LwBytes map, LwBytes pool, LwBytes payload)
{
	LwIntpack	references;
	LwBytes    *kept;
	LwBytes    *texts;
	LwError		error;
	size_t		distinct;
	uint32_t	i;

	REQUIRE(lw_dedup_open(map, &references, &error) == LW_OK);
	REQUIRE(lw_list_count(pool, &distinct, &error) == LW_OK);
	REQUIRE(lw_strings_decode(pool, distinct, &kept, &error) == LW_OK);
	REQUIRE(lw_strings_decode(payload, references.count, &texts, &error) == LW_OK);
	for (i = 0; i < references.count; i++)
	{
		uint64_t	number;

		REQUIRE(lw_dedup_get(&references, i, distinct, &number, &error) == LW_OK);
		REQUIRE(same_bytes(texts[i], kept[number]));
	}
	check_again(texts, references.count, payload);
	free(texts);
	free(kept);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	LwBytes		map;
	LwBytes		pool;
	LwBuffer	payload;
	LwError		error;
	LwStatus	status;
	uint8_t    *copy;

	if (size < 1)
		return 0;
	copy = exact_memory(size - 1);
	if (size > 1)
		memcpy(copy, data + 1, size - 1);
	map.data = copy;
	map.size = data[0] < size - 1 ? data[0] : size - 1;
	pool.data = copy + map.size;
	pool.size = size - 1 - map.size;
	lw_buffer_init(&payload, LIMIT);
	status = lw_dedup_expand(map, pool, LW_ANY_COUNT, &payload, &error);
	REQUIRE(status == LW_OK || status == LW_MALFORMED || status == LW_LIMIT);
	if (status == LW_OK)
		check_texts(map, pool, lw_buffer_bytes(&payload));
	lw_buffer_free(&payload);
	free(copy);
	return 0;
}
