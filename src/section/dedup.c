/*-------------------------------------------------------------------------
 *
 * dedup.c
 *	  A pool of distinct texts and a map into it.
 *
 *-------------------------------------------------------------------------
 */
#include "section/dedup.h"

#include <stdlib.h>

#include "section/distinct.h"
#include "section/lists.h"

#define MAP_KIND 0

LwStatus
lw_dedup_open(LwBytes map, LwIntpack *references, LwError *error)
{
	LwCursor	cursor = lw_cursor(map);
	uint8_t		kind;
	LwBytes		list;

	if (!lw_take_u8(&cursor, &kind))
		return lw_malformed(error, "a map of repeated texts of at least 9 bytes", 0);
	if (kind != MAP_KIND)
		return lw_malformed(error, "a map of repeated texts of kind 0", kind);
	lw_take_bytes(&cursor, lw_cursor_left(&cursor), &list);
	return lw_intpack_open(list, references, error);
}

/* Whether a reference is into the pool. */
static LwStatus
check_reference(uint64_t number, uint64_t distinct, LwError *error)
{
	if (number > UINT32_MAX || number >= distinct)
		return lw_malformed(error, "references to texts of the pool", number);
	return LW_OK;
}

LwStatus
lw_dedup_get(const LwIntpack *references, uint32_t chunk, uint64_t distinct, uint64_t *number,
			 LwError *error)
{
	LwStatus	status = lw_intpack_get(references, chunk, number, error);

	return status == LW_OK ? check_reference(*number, distinct, error) : status;
}

/* Does something with the text of every reference; `buffer` may be NULL to only check them. */
static LwStatus
put_references(const LwIntpack *references, const LwBytes *pool, size_t distinct,
			   LwBuffer *payload, LwError *error)
{
	uint32_t	first;
	uint32_t	length;

	for (first = 0; first < references->count; first += length)
	{
		uint64_t	numbers[LW_INTPACK_BLOCK];
		LwStatus	status;
		uint32_t	i;

		length = references->count - first;
		if (length > LW_INTPACK_BLOCK)
			length = LW_INTPACK_BLOCK;
		status = lw_intpack_read(references, first, length, numbers, error);
		for (i = 0; status == LW_OK && i < length; i++)
		{
			status = check_reference(numbers[i], distinct, error);
			if (status == LW_OK && payload != NULL)
				lw_put_string(payload, pool[numbers[i]]);
		}
		if (status == LW_OK && payload != NULL)
			status = lw_buffer_status(payload, error);
		if (status != LW_OK)
			return status;
	}
	return LW_OK;
}

LwStatus
lw_dedup_expand(LwBytes map, LwBytes pool, uint64_t expected, LwBuffer *payload, LwError *error)
{
	LwIntpack	references;
	LwBytes    *texts = NULL;
	size_t		distinct = 0;
	LwStatus	status = lw_list_count(pool, &distinct, error);

	if (status == LW_OK)
		status = lw_strings_decode(pool, distinct, &texts, error);
	if (status == LW_OK)
		status = lw_dedup_open(map, &references, error);
	if (status == LW_OK)
		status = put_references(&references, texts, distinct, NULL, error);
	if (status == LW_OK)
		status = lw_check_count(references.count, expected, error);
	if (status == LW_OK)
	{
		lw_put_list_header(payload, references.count);
		status = put_references(&references, texts, distinct, payload, error);
	}
	free(texts);
	return status;
}

LwStatus
lw_dedup_encode(const LwBytes *texts, size_t count, LwBuffer *pool, LwBuffer *map,
				size_t *distinct, LwError *error)
{
	uint64_t   *numbers = calloc(count + 1, sizeof(uint64_t));
	size_t	   *first = calloc(count + 1, sizeof(size_t));
	LwBytes    *kept = NULL;
	LwStatus	status = LW_OK;
	size_t		i;

	*distinct = 0;
	if (numbers == NULL || first == NULL)
		status = lw_no_memory(error);
	else
		status = lw_distinct(texts, count, numbers, first, distinct, error);
	if (status == LW_OK)
	{
		kept = calloc(*distinct + 1, sizeof(LwBytes));
		if (kept == NULL)
			status = lw_no_memory(error);
	}
	for (i = 0; status == LW_OK && i < *distinct; i++)
		kept[i] = texts[first[i]];
	if (status == LW_OK)
		status = lw_strings_encode(kept, *distinct, pool, error);
	if (status == LW_OK)
	{
		lw_put_u8(map, MAP_KIND);
		lw_put_intpack(map, numbers, count);
		status = lw_buffer_status(map, error);
	}
	free(kept);
	free(first);
	free(numbers);
	return status;
}
