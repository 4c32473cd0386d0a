/*-------------------------------------------------------------------------
 *
 * fuzz_zstd.c
 *	  Zstandard frames, with a dictionary when the first byte is odd: then the
 *	  second says how many times 4 bytes it is long.  What must hold for any bytes: no more comes
 *	  out than the buffer may hold, and the same again from the same context.
 *
 *-------------------------------------------------------------------------
 */
#include "section/zstd.h"
#include "fuzz.h"

/* Small, so that bombs are cheap. */
#define LIMIT ((size_t) 1 << 20)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	LwZstdReader reader;
	LwBytes		dictionary;
	LwBytes		stored;
	LwBuffer	out;
	LwError		error;
	LwStatus	status;
	size_t		first;
	uint8_t    *copy;

	if (size < 2)
		return 0;
	copy = exact_memory(size - 2);
	memcpy(copy, data + 2, size - 2);
	dictionary.data = copy;
	dictionary.size = 4 * data[1] < size - 2 ? 4 * data[1] : size - 2;
	if (data[0] % 2 == 0)
		dictionary.size = 0;
	stored.data = copy + dictionary.size;
	stored.size = size - 2 - dictionary.size;
	status = lw_zstd_reader_init(&reader, data[0] % 2 == 0 ? NULL : &dictionary, &error);
	REQUIRE(status == LW_OK || status == LW_MALFORMED);
	if (status == LW_OK)
	{
		lw_buffer_init(&out, LIMIT);
		status = lw_zstd_decode(&reader, stored, &out, &error);
		REQUIRE(status == LW_OK || status == LW_MALFORMED || status == LW_LIMIT);
		REQUIRE(out.size <= LIMIT && out.room <= LIMIT);
		first = out.size;
		if (status == LW_OK && first <= LIMIT / 4)
		{
			status = lw_zstd_decode(&reader, stored, &out, &error);
			REQUIRE(status == LW_LIMIT || (status == LW_OK && out.size == 2 * first));
			REQUIRE(status == LW_LIMIT || first == 0 || memcmp(out.data, out.data + first, first) == 0);
		}
		lw_buffer_free(&out);
	}
	lw_zstd_reader_free(&reader);
	free(copy);
	return 0;
}
