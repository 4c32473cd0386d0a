/*-------------------------------------------------------------------------
 *
 * fuzz_hnsw.c
 *	  HNSW indexes of section files.  What must hold for any bytes: checking
 *	  and opening say the same; an open index is found again in what is
 *	  written of it; a search finds rows, each once, nearest first.
 *
 * The first byte of the input is the number of rows, the rest the payload.
 *
 *-------------------------------------------------------------------------
 */
#include "section/hnsw.h"
#include "fuzz.h"

#define DIMENSION 2

static void
search(const LwHnsw *hnsw, uint32_t rows)
{
	static const float query[DIMENSION] = {0.6f, 0.8f};
	float		values[256 * DIMENSION];
	LwVectorSlab slab = {LW_VECTOR_FLOAT32, DIMENSION, rows, values, NULL};
	uint8_t		seen[256] = {0};
	const LwNeighbour *found;
	LwHnswSearch *search;
	LwError		error;
	size_t		count;
	size_t		i;

	for (i = 0; i < rows; i++)
	{
		values[2 * i] = (float) (i * 7 % 13) - 6;
		values[2 * i + 1] = (float) (i * 5 % 11) - 5;
	}
	REQUIRE(lw_hnsw_search_new(hnsw, &search, &error) == LW_OK);
	REQUIRE(lw_hnsw_search(search, &slab, query, 1, &found, &count, &error) == LW_OK);
	REQUIRE(count <= rows && (count > 0) == (rows > 0));
	for (i = 0; i < count; i++)
	{
		REQUIRE(found[i].row < rows && !seen[found[i].row]);
		REQUIRE(i == 0 || found[i - 1].distance <= found[i].distance);
		seen[found[i].row] = 1;
	}
	lw_hnsw_search_free(search);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *payload;
	LwBytes		bytes;
	LwBuffer	written;
	LwHnsw	   *hnsw;
	LwHnsw	   *again;
	LwError		error;
	LwStatus	status;

	if (size == 0)
		return 0;
	payload = exact_memory(size - 1);
	memcpy(payload, data + 1, size - 1);
	bytes = (LwBytes) {payload, size - 1};
	status = lw_hnsw_check(bytes, data[0], &error);
	REQUIRE(status == LW_OK || (status == LW_MALFORMED && error.name != NULL));
	REQUIRE(lw_hnsw_open(bytes, data[0], 0, &hnsw, &error) == status);
	free(payload);
	if (status != LW_OK)
		return 0;

	lw_buffer_init(&written, 0);
	lw_hnsw_encode(hnsw, &written);
	REQUIRE(lw_hnsw_open(lw_buffer_bytes(&written), data[0], 0, &again, &error) == LW_OK);
	REQUIRE(lw_hnsw_memory(again) == lw_hnsw_memory(hnsw));
	REQUIRE(memcmp(again + 1, hnsw + 1, lw_hnsw_memory(hnsw) - sizeof(*hnsw)) == 0);
	lw_buffer_free(&written);
	lw_hnsw_close(again);
	search(hnsw, data[0]);
	lw_hnsw_close(hnsw);
	return 0;
}
