/*-------------------------------------------------------------------------
 *
 * fuzz_section.c
 *	  A whole section file.  What must hold for any bytes: it is refused with
 *	  a name or it opens; what passes all checks opens and can be read, the
 *	  same each time; and nothing breaks when its bytes change while it is open.
 *
 * An odd first byte says that checksums and hashes are to be made right first,
 * so that damage reaches what lies behind them.  The rest is the file.
 *
 *-------------------------------------------------------------------------
 */
#include "fuzz.h"
#include "section/blob.h"
#include "section/bm25.h"
#include "section/chunks.h"
#include "section/citation.h"
#include "section/graph.h"
#include "section/space.h"
#include "section/verify.h"
#include "section.h"

#define MEMORY ((size_t) 32 << 20)

/* Steps of long work that an input may take. */
#define PATIENCE 200

static int	asked;

static bool
lose_patience(void *arg)
{
	(void) arg;
	return ++asked > PATIENCE;
}

static const LwStop stop = {lose_patience, NULL};
static const LwSectionChecks checks = {lw_hnsw_check, lw_bm25_check, lw_graph_check};

/* An error says what it is about. */
static LwStatus
named(LwStatus status, const LwError *error)
{
	REQUIRE(status == LW_OK || status == error->status);
	REQUIRE(status != LW_MALFORMED || error->name != NULL);
	REQUIRE(status == LW_OK || error->expected[0] != '\0');
	REQUIRE(status == LW_OK || memchr(error->found, '\0', sizeof(error->found)) != NULL);
	REQUIRE(status == LW_OK || memchr(error->path, '\0', sizeof(error->path)) != NULL);
	return status;
}

/* Touches every byte, for a sanitizer to see. */
static uint32_t
touch(LwBytes bytes)
{
	uint32_t	sum = 0;
	size_t		i;

	for (i = 0; i < bytes.size; i++)
		sum = sum * 31 + bytes.data[i];
	return sum;
}

static void
touch_slab(const LwVectorSlab *slab)
{
	static const unsigned half_bytes[LW_VECTOR_TYPES] = {8, 4, 2, 1};
	LwBytes		codes = {slab->codes, slab->rows * slab->dimension / 2 * half_bytes[slab->type]};
	LwBytes		scales = {slab->scales, 0};

	if (slab->type == LW_VECTOR_INT8)
		scales.size = 4 * slab->rows;
	if (slab->type == LW_VECTOR_INT4)
		scales.size = 2 * slab->rows * (slab->dimension / LW_INT4_BLOCK);
	touch(codes);
	touch(scales);
}

static void
read_chunk(LwSectionFile *file, size_t ordinal)
{
	LwBytes		bytes;
	LwSpan		span;
	LwBuffer	citation;
	size_t		found;
	LwError		error;

	if (named(lw_chunk_id(file, ordinal, &bytes, &error), &error) == LW_OK)
	{
		touch(bytes);
		if (named(lw_chunk_find(file, bytes, &found, &error), &error) == LW_OK)
			REQUIRE(found == SIZE_MAX || found < file->rows);
	}
	if (named(lw_chunk_text(file, ordinal, &bytes, &error), &error) == LW_OK)
		touch(bytes);
	if (named(lw_chunk_span(file, ordinal, &span, &error), &error) == LW_OK)
		touch(span.source.uri);
	lw_buffer_init(&citation, 0);
	if (named(lw_citation_write(file, ordinal, &citation, &error), &error) == LW_OK)
		named(lw_citation_resolve(file, lw_buffer_bytes(&citation), &found, &error), &error);
	lw_buffer_free(&citation);
}

/* Reads whatever can be read. */
static void
read_all(LwSectionFile *file)
{
	char		hash[LW_TEXT_HASH_SIZE + 1];
	LwVectorSlab slab;
	const LwSpace *spaces;
	LwBytes		bytes;
	LwBlobRef	ref;
	size_t		count;
	uint32_t	id;
	size_t		i;
	LwError		error;

	for (i = 0; i < file->rows && i < 100; i++)
		read_chunk(file, i);
	if (named(lw_section_vectors(file, &slab, &error), &error) == LW_OK)
		touch_slab(&slab);
	if (named(lw_section_rerank_vectors(file, &slab, &error), &error) == LW_OK)
		touch_slab(&slab);
	if (named(lw_section_spaces(file, &spaces, &count, &error), &error) == LW_OK)
		for (i = 0; i < count; i++)
			if (named(lw_section_space_vectors(file, &spaces[i], &slab, &error), &error) == LW_OK)
				touch_slab(&slab);
	if (named(lw_blob_count(file, &count, &error), &error) == LW_OK)
		for (i = 0; i < count && i < 100; i++)
			if (named(lw_blob_ref(file, i, &ref, &error), &error) == LW_OK)
			{
				touch(ref.uri);
				if (named(lw_blob_data(file, i, &bytes, &error), &error) == LW_OK)
					touch(bytes);
				named(lw_blob_verify(file, i, &error), &error);
			}
	for (id = 0; id < 0x20; id++)
		if (named(lw_section_payload(file, id, &bytes, &error), &error) == LW_OK)
			touch(bytes);
	if (named(lw_section_provenance(file, &bytes, &error), &error) == LW_OK)
		touch(bytes);
	named(lw_section_content_hash(file, hash, &error), &error);
	named(lw_section_file_hash(file, hash, &error), &error);
}

/* Whether an error is that an input is too much for this target, not for the format. */
static bool
gave_up(LwStatus status)
{
	return status == LW_LIMIT || status == LW_CANCELLED || status == LW_NO_MEMORY;
}

/* Verifies twice the same, and by the other level; true when the file is good. */
static bool
verify(LwBytes bytes, char hash[LW_TEXT_HASH_SIZE + 1])
{
	LwVerify	how = {LW_VERIFY_OPEN, &checks, NULL, &stop, MEMORY};
	LwSectionFile *file;
	LwError		first;
	LwError		error;
	LwStatus	status = named(lw_section_verify_bytes(bytes, &how, &file, &first), &first);

	if (status == LW_OK)
	{
		REQUIRE(lw_section_content_hash(file, hash, &error) == LW_OK);
		read_all(file);
		lw_section_close(file);
	}
	asked = 0;
	if (named(lw_section_verify_bytes(bytes, &how, &file, &error), &error) == LW_OK)
		lw_section_close(file);
	REQUIRE(error.status == first.status || status == LW_OK || gave_up(status));
	how.level = LW_VERIFY_CONTAINER;
	asked = 0;
	if (named(lw_section_verify_bytes(bytes, &how, &file, &error), &error) == LW_OK)
		lw_section_close(file);
	return status == LW_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char		hash[LW_TEXT_HASH_SIZE + 1];
	LwSectionFile *file;
	LwBytes		bytes;
	uint8_t    *copy;
	LwError		error;
	bool		good;
	size_t		i;

	if (size < 1)
		return 0;
	bytes.size = size - 1;
	copy = exact_memory(bytes.size);
	memcpy(copy, data + 1, bytes.size);
	bytes.data = copy;
	if (data[0] & 1)
		section_seal(copy, bytes.size, true);
	asked = 0;
	good = verify(bytes, hash);
	asked = 0;
	if (named(lw_section_open_bytes(bytes, MEMORY, &file, &error), &error) != LW_OK)
	{
		REQUIRE(!good);
		free(copy);
		return 0;
	}
	lw_section_stop(file, &stop);

	/* Half of the inputs are read before their bytes change, so that what was checked changes, too. */
	if (data[0] & 2)
		read_all(file);
	for (i = 0; i < bytes.size; i += 1 + data[1 + i] % 64)
		copy[i] ^= data[bytes.size - i];
	read_all(file);
	lw_section_close(file);
	free(copy);
	return 0;
}
