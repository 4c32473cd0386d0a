/*-------------------------------------------------------------------------
 *
 * build_finish.c
 *	  Making the sections of a file out of what a build has taken, and writing
 *	  the file.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "section/build_state.h"
#include "section/chooser.h"
#include "section/fault.h"
#include "section/graph.h"
#include "section/lists.h"
#include "section/manifest_text.h"
#include "section/repack.h"
#include "section/slab.h"
#include "section/zstd.h"

#define FRAME_VERSION 1			/* of 0x05 and 0x06 */
#define ZSTD_BLOCK ((uint64_t) 128 * 1024)

/* Raw payloads of the required sections but the vectors. */
typedef struct Payloads
{
	LwBytes		raw[LW_SECTION_CONTRACT + 1];
	LwBuffer	provenance;
	LwBuffer	contract;
} Payloads;

LwPart *
lw_build_part(LwBuild *build, uint32_t id, uint32_t encoding, LwBuffer *owned)
{
	LwPart	   *part = &build->parts[build->nparts];

	memset(part, 0, sizeof(*part));
	part->id = id;
	part->encoding = encoding;
	part->bytes = lw_buffer_bytes(owned);
	build->owned[build->nparts++] = *owned;
	return part;
}

/* Sets the count of a raw payload. */
static void
set_count(LwBuffer *list, uint64_t count)
{
	int			byte;

	for (byte = 0; byte < 8; byte++)
		list->data[sizeof(uint32_t) + byte] = (uint8_t) (count >> 8 * byte);
}

/* Wraps JSON as 0x05 and 0x06 have it. */
static void
put_framed(LwBuffer *payload, LwBytes json)
{
	lw_put_u32(payload, FRAME_VERSION);
	lw_put_u64(payload, json.size);
	lw_put_bytes(payload, json.data, json.size);
}

static LwStatus
make_payloads(LwBuild *build, Payloads *payloads, LwError *error)
{
	static const LwBytes empty_object = {(const uint8_t *) "{}", 2};
	const LwBuffer *provenance = &build->options->provenance;
	LwBuffer	json;
	LwStatus	status;

	set_count(&build->ids, build->rows);
	set_count(&build->texts, build->rows);
	set_count(&build->spans, build->rows);
	put_framed(&payloads->provenance, provenance->size > 0 ? lw_buffer_bytes(provenance) : empty_object);
	lw_buffer_init(&json, 0);
	lw_put_contract(&json, &build->manifest);
	put_framed(&payloads->contract, lw_buffer_bytes(&json));
	status = lw_buffer_status(&json, error);
	lw_buffer_free(&json);
	if (status == LW_OK)
		status = lw_buffer_status(&payloads->provenance, error);
	if (status == LW_OK)
		status = lw_buffer_status(&payloads->contract, error);
	payloads->raw[LW_SECTION_CHUNK_IDS] = lw_buffer_bytes(&build->ids);
	payloads->raw[LW_SECTION_TEXTS] = lw_buffer_bytes(&build->texts);
	payloads->raw[LW_SECTION_SPANS] = lw_buffer_bytes(&build->spans);
	payloads->raw[LW_SECTION_PROVENANCE] = lw_buffer_bytes(&payloads->provenance);
	payloads->raw[LW_SECTION_CONTRACT] = lw_buffer_bytes(&payloads->contract);
	return status;
}

/* LW_LIMIT when readers would refuse a frame of these bytes, for fear of what it expands to. */
static LwStatus
check_cap(LwBytes raw, size_t stored, LwError *error)
{
	uint64_t	bound = (raw.size / ZSTD_BLOCK + 1) * ZSTD_BLOCK;
	uint64_t	cap = (uint64_t) stored * LW_ZSTD_RATIO;

	if (bound > LW_ZSTD_CAP && bound > cap)
		return lw_fail(error, LW_LIMIT, NULL, -1, "a section that zstd makes at most 128 times smaller",
					   "%zu bytes of %zu; text_encoding raw has no such limit", stored, raw.size);
	return LW_OK;
}

/* Appends the one frame of a raw payload. */
static LwStatus
compress(const LwBuild *build, LwBytes raw, LwBuffer *frame, LwError *error)
{
	LwZstdWriter writer;
	LwStatus	status = lw_zstd_writer_init(&writer, NULL, error);

	if (status != LW_OK)
		return status;
	writer.stop = build->stop;
	status = lw_zstd_encode(&writer, raw, frame, error);
	lw_zstd_writer_free(&writer);
	return status == LW_OK ? check_cap(raw, frame->size, error) : status;
}

/* Adds a section as the text mode has it; the raw bytes stay the caller's. */
static LwStatus
put_plain(LwBuild *build, uint32_t id, LwBytes raw, LwError *error)
{
	LwBuffer	owned;
	LwStatus	status = LW_OK;

	lw_buffer_init(&owned, 0);
	if (build->options->zstd)
		status = compress(build, raw, &owned, error);
	if (build->options->zstd)
		lw_build_part(build, id, LW_ENCODING_ZSTD, &owned);
	else
		lw_build_part(build, id, LW_ENCODING_RAW, &owned)->bytes = raw;
	return status;
}

static LwStatus
put_ids(LwBuild *build, LwBytes raw, LwError *error)
{
	LwBytes    *ids;
	LwBuffer	stored;
	LwStatus	status = lw_strings_decode(raw, build->rows, &ids, error);

	if (status != LW_OK)
		return status;
	lw_buffer_init(&stored, 0);
	status = lw_repack_ids(ids, (size_t) build->rows, &stored, error);
	free(ids);
	lw_build_part(build, LW_SECTION_CHUNK_IDS, LW_ENCODING_INTPACK, &stored);
	return status;
}

static LwStatus
put_texts(LwBuild *build, LwBytes raw, LwError *error)
{
	LwBytes    *texts;
	LwTextChoice choice;
	LwStatus	status = lw_strings_decode(raw, build->rows, &texts, error);

	if (status != LW_OK)
		return status;
	status = lw_choose_texts(texts, (size_t) build->rows, build->stop, &choice, error);
	free(texts);
	if (status != LW_OK)
	{
		lw_text_choice_free(&choice);
		return status;
	}
	if (choice.encoding == LW_ENCODING_ZSTD && choice.extra_id == 0)
		status = check_cap(raw, choice.payload.size, error);
	lw_build_part(build, LW_SECTION_TEXTS, choice.encoding, &choice.payload);
	if (choice.extra_id != 0)
		lw_build_part(build, choice.extra_id, LW_ENCODING_RAW, &choice.extra);
	return status;
}

/* Columns when they are smaller than a frame. */
static LwStatus
put_spans(LwBuild *build, LwBytes raw, LwError *error)
{
	LwSourceSpan *spans;
	LwBuffer	columns;
	LwBuffer	frame;
	LwStatus	status = lw_spans_decode(raw, build->rows, &spans, error);

	if (status != LW_OK)
		return status;
	lw_buffer_init(&columns, 0);
	lw_buffer_init(&frame, 0);
	status = lw_repack_spans(spans, (size_t) build->rows, &columns, error);
	free(spans);
	if (status == LW_OK)
		status = compress(build, raw, &frame, error);
	if (columns.size < frame.size)
	{
		lw_build_part(build, LW_SECTION_SPANS, LW_ENCODING_INTPACK, &columns);
		lw_buffer_free(&frame);
	}
	else
	{
		lw_build_part(build, LW_SECTION_SPANS, LW_ENCODING_ZSTD, &frame);
		lw_buffer_free(&columns);
	}
	return status;
}

/* The required sections but the vectors. */
static LwStatus
put_required(LwBuild *build, const Payloads *payloads, LwError *error)
{
	uint32_t	id;
	LwStatus	status = LW_OK;

	for (id = LW_SECTION_CHUNK_IDS; status == LW_OK && id <= LW_SECTION_CONTRACT; id++)
	{
		LwBytes		raw = payloads->raw[id];

		if (id == LW_SECTION_EMBEDDINGS)
			continue;
		if (build->options->zstd && id == LW_SECTION_CHUNK_IDS)
			status = put_ids(build, raw, error);
		else if (build->options->zstd && id == LW_SECTION_TEXTS)
			status = put_texts(build, raw, error);
		else if (build->options->zstd && id == LW_SECTION_SPANS)
			status = put_spans(build, raw, error);
		else
			status = put_plain(build, id, raw, error);
	}
	return status;
}

/* The rows as the sections and HNSW have them. */
static LwSpilledRows
own_rows(const LwBuild *build)
{
	LwSpilledRows rows = {
		&build->spill, build->rows_offset, build->stride, build->rows, build->manifest.embedding_dim,
		build->options->type
	};

	return rows;
}

/* Copies the rows, among which there are those of spaces, to the end of the spill, one behind another. */
static LwStatus
gather_rows(LwBuild *build, uint64_t *offset, LwError *error)
{
	size_t		size = build->manifest.embedding_dim * sizeof(float);
	float	   *row = malloc(size);
	uint64_t	i;
	LwStatus	status = row == NULL ? lw_no_memory(error) : lw_spill_flush(&build->spill, error);

	*offset = build->spill.size;
	for (i = 0; status == LW_OK && i < build->rows; i++)
	{
		status = lw_spill_read(&build->spill, build->rows_offset + i * build->stride, row, size, error);
		if (status == LW_OK)
			status = lw_spill_put(&build->spill, row, size, error);
		if (status == LW_OK && i % 4096 == 0 && lw_stop_asked(build->stop))
			status = lw_section_cancelled(error);
	}
	free(row);
	return status;
}

static LwStatus
build_hnsw(LwBuild *build, LwHnsw **hnsw, LwError *error)
{
	LwHnswOptions options = build->options->hnsw_options;
	LwVectorSlab slab = {LW_VECTOR_FLOAT32, build->manifest.embedding_dim, (size_t) build->rows, NULL, NULL};
	uint64_t	offset = build->rows_offset;
	const uint8_t *data;
	LwStatus	status = LW_OK;

	if (build->options->nspaces > 0)
		status = gather_rows(build, &offset, error);
	if (status == LW_OK)
		status = lw_spill_map(&build->spill, &data, error);
	if (status != LW_OK)
		return status;
	slab.codes = data + offset;
	options.stop = build->stop;
	return lw_hnsw_build(&slab, &options, hnsw, error);
}

/* HNSW, and the graph, which has its links. */
static LwStatus
put_hnsw_and_graph(LwBuild *build, LwError *error)
{
	bool		graph = build->options->graph && build->rows > 1;
	LwHnsw	   *hnsw;
	LwBuffer	payload;
	LwStatus	status;

	if (!build->options->hnsw && !graph)
		return LW_OK;
	status = build_hnsw(build, &hnsw, error);
	if (status != LW_OK)
		return status;
	if (build->options->hnsw)
	{
		lw_buffer_init(&payload, 0);
		lw_hnsw_encode(hnsw, &payload);
		lw_build_part(build, LW_SECTION_HNSW, LW_ENCODING_RAW, &payload);
	}
	if (graph)
	{
		lw_buffer_init(&payload, 0);
		status = lw_graph_build(hnsw, build->options->graph_top_m, &payload, error);
		lw_build_part(build, LW_SECTION_GRAPH, LW_ENCODING_RAW, &payload);
		build->manifest.graph_present = true;
	}
	lw_hnsw_close(hnsw);
	return status;
}

static LwStatus
put_bm25(LwBuild *build, LwError *error)
{
	LwBuffer	payload;
	LwBuffer	stored;
	LwStatus	status;

	if (build->bm25 == NULL)
		return LW_OK;
	lw_buffer_init(&payload, 0);
	status = lw_bm25_build_finish(build->bm25, &payload, error);
	lw_bm25_build_free(build->bm25);
	build->bm25 = NULL;
	if (!build->options->zstd)
	{
		lw_build_part(build, LW_SECTION_BM25, LW_ENCODING_RAW, &payload);
		return status;
	}
	lw_buffer_init(&stored, 0);
	if (status == LW_OK)
		status = compress(build, lw_buffer_bytes(&payload), &stored, error);
	lw_buffer_free(&payload);
	lw_build_part(build, LW_SECTION_BM25, LW_ENCODING_ZSTD, &stored);
	return status;
}

/* Adds a payload's name and size to the sum over the content. */
static void
add_content(LwSha256 *content, uint32_t id, uint64_t size)
{
	const char *name = lw_section_name(id);

	lw_sha256_add_u32(content, (uint32_t) strlen(name));
	lw_sha256_add(content, name, strlen(name));
	lw_sha256_add_u64(content, size);
}

/* Hashes all parts, adds that of the vectors, and sums the content up. */
static LwStatus
hash_parts(LwBuild *build, const Payloads *payloads, LwSha256 *content, LwError *error)
{
	LwBuffer	nothing;
	LwPart	   *vectors;
	uint64_t	size;
	uint32_t	id;
	size_t		i;
	LwStatus	status = lw_slab_size(build->options->type, build->rows, build->manifest.embedding_dim,
									  &size, error);

	for (i = 0; status == LW_OK && i < build->nparts; i++)
	{
		status = lw_buffer_status(&build->owned[i], error);
		if (status == LW_OK)
			status = lw_part_hash(&build->parts[i], NULL, build->stop, error);
	}
	lw_buffer_init(&nothing, 0);
	vectors = lw_build_part(build, LW_SECTION_EMBEDDINGS, lw_vector_encoding(build->options->type), &nothing);
	vectors->rows = own_rows(build);
	for (id = LW_SECTION_CHUNK_IDS; status == LW_OK && id <= LW_SECTION_CONTRACT; id++)
	{
		LwBytes		raw = payloads->raw[id];

		add_content(content, id, id == LW_SECTION_EMBEDDINGS ? size : raw.size);
		if (id == LW_SECTION_EMBEDDINGS)
			status = lw_part_hash(vectors, content, build->stop, error);
		else
			lw_sha256_add(content, raw.data, raw.size);
	}
	return lw_build_refused(status, error);
}

/* Writes the file, all of whose parts are there. */
static LwStatus
write_file(LwBuild *build, int fd, LwBuildResult *result, LwError *error)
{
	LwLayout	layout = {
		build->parts, build->nparts, {NULL, 0}, build->manifest.embedding_dim, build->rows, build->stop
	};
	LwBuffer	json;
	LwStatus	status;

	lw_buffer_init(&json, 0);
	lw_put_manifest(&json, &build->manifest, lw_buffer_bytes(&build->options->authors));
	status = lw_buffer_status(&json, error);
	layout.manifest = lw_buffer_bytes(&json);
	if (status == LW_OK)
		status = lw_layout_write(&layout, fd, &result->bytes, error);
	lw_buffer_free(&json);
	return status;
}

/* Makes the parts, from those that take much memory on. */
static LwStatus
make_parts(LwBuild *build, const Payloads *payloads, LwError *error)
{
	LwStatus	status = lw_spill_flush(&build->spill, error);

	if (status == LW_OK)
		status = put_hnsw_and_graph(build, error);
	if (status == LW_OK)
		status = put_bm25(build, error);
	if (status == LW_OK)
		status = put_required(build, payloads, error);
	if (status == LW_OK)
		lw_build_media(build);
	return status;
}

LwStatus
lw_build_finish(LwBuild *build, int fd, LwBuildResult *result, LwError *error)
{
	Payloads	payloads;
	uint8_t		sum[LW_SHA256_SIZE];
	LwSha256	content;
	LwStatus	status;

	build->manifest.n_chunks = build->rows;
	status = lw_build_refused(lw_section_manifest_check(&build->manifest, error), error);
	if (status != LW_OK)
		return status;
	memset(&payloads, 0, sizeof(payloads));
	lw_sha256_begin(&content);
	status = make_payloads(build, &payloads, error);
	if (status == LW_OK)
		status = make_parts(build, &payloads, error);
	if (status == LW_OK)
		status = hash_parts(build, &payloads, &content, error);
	if (status == LW_OK)
		status = lw_sha256_sum(&content, sum, error);
	else
		lw_sha256_free(&content);
	if (status == LW_OK)
		status = write_file(build, fd, result, error);
	lw_buffer_free(&payloads.provenance);
	lw_buffer_free(&payloads.contract);
	if (status != LW_OK)
		return status;
	result->rows = build->rows;
	lw_text_hash(sum, result->content_hash);
	result->content_hash[LW_TEXT_HASH_SIZE] = '\0';
	return LW_OK;
}
