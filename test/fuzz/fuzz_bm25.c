/*-------------------------------------------------------------------------
 *
 * fuzz_bm25.c
 *	  BM25 indexes of section files, and what is built of texts.  What must
 *	  hold for any bytes: checking and opening say the same; a search finds
 *	  documents, each once, best first; an index built of any texts opens, and
 *	  finds each document by its first token.
 *
 * The first byte of the input is the number of documents, the second the size
 * of a query; then come the query and the payload.  For the build, the whole
 * input is texts, with a newline behind each.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "section/bm25.h"
#include "section/tokenizer.h"
#include "fuzz.h"

#define MAX_DOCUMENTS 200

static void
check_hits(const LwBm25Hit *hits, size_t count, uint64_t documents)
{
	uint8_t		seen[256] = {0};
	size_t		i;

	REQUIRE(count <= documents);
	for (i = 0; i < count; i++)
	{
		REQUIRE(hits[i].row < documents && !seen[hits[i].row] && isfinite(hits[i].score));
		REQUIRE(i == 0 || hits[i - 1].score >= hits[i].score);
		seen[hits[i].row] = 1;
	}
}

static void
read_index(const uint8_t *data, size_t size)
{
	size_t		query_size = data[1] < size - 2 ? data[1] : size - 2;
	LwBytes		query = {data + 2, query_size};
	size_t		payload_size = size - 2 - query_size;
	uint8_t    *payload = exact_memory(payload_size);
	LwBytes		bytes = {payload, payload_size};
	const LwBm25Hit *hits;
	LwBm25	   *bm25;
	LwError		error;
	LwStatus	status;
	size_t		count;

	memcpy(payload, data + 2 + query_size, payload_size);
	status = lw_bm25_check(bytes, data[0], &error);
	REQUIRE(status == LW_OK || (status == LW_MALFORMED && error.name != NULL));
	REQUIRE(lw_bm25_open(bytes, data[0], 0, &bm25, &error) == status);
	if (status == LW_OK)
	{
		REQUIRE(lw_bm25_search(bm25, query, 1000, &hits, &count, &error) == LW_OK);
		check_hits(hits, count, data[0]);
		/* another process may change the map: no byte may be trusted twice */
		memset(payload, 0xff, payload_size);
		if (lw_bm25_search(bm25, query, 3, &hits, &count, &error) == LW_OK)
			check_hits(hits, count, data[0]);
		lw_bm25_close(bm25);
	}
	free(payload);
}

static void
build_index(const uint8_t *data, size_t size)
{
	LwBytes		texts[MAX_DOCUMENTS];
	LwBm25Build *build;
	LwBm25	   *bm25;
	LwBuffer	payload;
	LwTokenizer tokenizer;
	LwError		error;
	size_t		documents = 0;
	size_t		start = 0;
	size_t		i;

	REQUIRE(lw_bm25_build_begin(0, &build, &error) == LW_OK);
	for (i = 0; i < size && documents < MAX_DOCUMENTS; i++)
	{
		if (data[i] != '\n')
			continue;
		texts[documents] = (LwBytes) {data + start, i - start};
		REQUIRE(lw_bm25_build_add(build, texts[documents++], &error) == LW_OK);
		start = i + 1;
	}
	lw_buffer_init(&payload, 0);
	REQUIRE(lw_bm25_build_finish(build, &payload, &error) == LW_OK);
	lw_bm25_build_free(build);
	REQUIRE(lw_bm25_open(lw_buffer_bytes(&payload), documents, 0, &bm25, &error) == LW_OK);
	lw_tokenizer_init(&tokenizer);
	for (i = 0; i < documents; i++)
	{
		const LwBm25Hit *hits;
		size_t		count;
		size_t		j;

		lw_tokenizer_start(&tokenizer, texts[i]);
		if (!lw_tokenizer_next(&tokenizer))
			continue;
		REQUIRE(lw_bm25_search(bm25, lw_buffer_bytes(&tokenizer.token), documents, &hits, &count, &error) == LW_OK);
		check_hits(hits, count, documents);
		for (j = 0; j < count && hits[j].row != i;)
			j++;
		REQUIRE(j < count);
	}
	lw_tokenizer_free(&tokenizer);
	lw_bm25_close(bm25);
	lw_buffer_free(&payload);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= 2)
		read_index(data, size);
	build_index(data, size);
	return 0;
}
