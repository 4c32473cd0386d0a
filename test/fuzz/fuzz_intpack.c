/*-------------------------------------------------------------------------
 *
 * fuzz_intpack.c
 *	  Packed lists of integers.  What must hold for any bytes: ranges and single
 *	  values agree with all of the list, and values written again are read as
 *	  they were.
 *
 *-------------------------------------------------------------------------
 */
#include "section/intpack.h"
#include "fuzz.h"

/* The list as the writer would make it holds the same. */
static void
check_written(const uint64_t *values, size_t count)
{
	LwBuffer	buffer;
	LwError		error;
	uint64_t   *again = exact_memory(count * sizeof(uint64_t));

	lw_buffer_init(&buffer, 0);
	lw_put_intpack(&buffer, values, count);
	REQUIRE(!buffer.failed && buffer.size == lw_intpack_size(values, count));
	REQUIRE(lw_intpack_read_all(lw_buffer_bytes(&buffer), count, again, &error) == LW_OK);
	REQUIRE(count == 0 || memcmp(values, again, count * sizeof(uint64_t)) == 0);
	lw_buffer_free(&buffer);
	free(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *copy = exact_memory(size);
	LwBytes		bytes = {copy, size};
	LwIntpack	list;
	LwError		error;
	uint64_t   *values;
	uint32_t	i;

	if (size > 0)
		memcpy(copy, data, size);
	/* A list has at most 32 values for each byte, so what is small can be read as a whole. */
	if (size <= 65536 && lw_intpack_open(bytes, &list, &error) == LW_OK)
	{
		REQUIRE(list.count <= size * 32);
		values = exact_memory(list.count * sizeof(uint64_t));
		if (lw_intpack_read_all(bytes, list.count, values, &error) == LW_OK)
		{
			for (i = 0; i < list.count; i += 1 + i / 8)
			{
				uint64_t	some[130];
				uint32_t	count = list.count - i < 130 ? list.count - i : 130;

				REQUIRE(lw_intpack_get(&list, i, some, &error) == LW_OK && some[0] == values[i]);
				REQUIRE(lw_intpack_read(&list, i, count, some, &error) == LW_OK);
				REQUIRE(memcmp(some, values + i, count * sizeof(uint64_t)) == 0);
			}
			REQUIRE(lw_intpack_get(&list, list.count, values, &error) == LW_MALFORMED);
			if (list.count > 0)
				REQUIRE(lw_intpack_get(&list, 0, values, &error) == LW_OK);
			check_written(values, list.count);
		}
		free(values);
	}
	free(copy);
	return 0;
}
