/*-------------------------------------------------------------------------
 *
 * build.c
 *	  Taking the rows of a section file that is built.
 *
 *-------------------------------------------------------------------------
 */
#include "section/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/utf8.h"
#include "section/build_state.h"
#include "section/lists.h"
#include "section/quant.h"

/* From here on a float32 is infinite as a float16. */
#define FLOAT16_END 65520.0f

/* Rows begin at a multiple of it, so that they are aligned in memory. */
#define ROWS_ALIGNMENT 64

LwStatus
lw_build_begin(const LwBuildOptions *options, int spill_fd, size_t memory, const LwStop *stop,
			   LwBuild **result, LwError *error)
{
	LwBuild    *build = calloc(1, sizeof(*build));
	LwStatus	status;

	*result = NULL;
	if (build == NULL)
		return lw_no_memory(error);
	build->options = options;
	build->stop = stop;
	build->memory = memory;
	build->manifest = options->manifest;
	lw_buffer_init(&build->ids, memory);
	lw_buffer_init(&build->texts, memory);
	lw_buffer_init(&build->spans, memory);
	lw_buffer_init(&build->blob_refs, memory);
	lw_buffer_init(&build->blob_table, memory);
	lw_buffer_init(&build->overlay, memory);
	lw_put_list_header(&build->ids, 0);
	lw_put_list_header(&build->texts, 0);
	lw_put_list_header(&build->spans, 0);
	status = lw_spill_begin(&build->spill, spill_fd, error);
	if (status == LW_OK && options->bm25)
		status = lw_bm25_build_begin(memory, &build->bm25, error);
	if (status == LW_OK)
		*result = build;
	else
		lw_build_free(build);
	return status;
}

void
lw_build_free(LwBuild *build)
{
	size_t		i;

	if (build == NULL)
		return;
	for (i = 0; i < build->nparts; i++)
		lw_buffer_free(&build->owned[i]);
	lw_buffer_free(&build->overlay);
	lw_buffer_free(&build->blob_table);
	lw_buffer_free(&build->blob_refs);
	lw_buffer_free(&build->spans);
	lw_buffer_free(&build->texts);
	lw_buffer_free(&build->ids);
	if (build->bm25 != NULL)
		lw_bm25_build_free(build->bm25);
	lw_spill_free(&build->spill);
	free(build->row);
	free(build);
}

static LwStatus
bad_dimension(LwError *error, size_t expected, size_t found)
{
	return lw_fail(error, LW_INVALID, "DimensionMismatch", -1, "vectors of one dimension",
				   "%zu components where there must be %zu", found, expected);
}

/* int4 wants whole blocks. */
static LwStatus
check_blocks(LwVectorType type, uint32_t dimension, LwError *error)
{
	if (type == LW_VECTOR_INT4 && (dimension == 0 || dimension % LW_QUANT_BLOCK != 0))
		return lw_fail(error, LW_INVALID, "InvalidInput", -1, "for int4 a multiple of 64 components",
					   "%u", dimension);
	return LW_OK;
}

/* The dimensions of spaces, by the first row. */
static LwStatus
start_spaces(LwBuild *build, const LwBuildRow *row, LwError *error)
{
	size_t		i;

	for (i = 0; i < build->options->nspaces; i++)
	{
		size_t		dimension = row->spaces[i].dimension;
		LwStatus	status;

		if (dimension == 0 || dimension > UINT32_MAX)
			return bad_dimension(error, 1, dimension);
		status = check_blocks(build->options->spaces[i].type, (uint32_t) dimension, error);
		if (status != LW_OK)
			return status;
		build->space_dimensions[i] = (uint32_t) dimension;
		build->stride += dimension * sizeof(float);
	}
	return LW_OK;
}

/* Fixes the dimensions, and checks the options against them. */
static LwStatus
start(LwBuild *build, const LwBuildRow *row, LwError *error)
{
	static const uint8_t zeros[ROWS_ALIGNMENT];
	LwSectionManifest *manifest = &build->manifest;
	size_t		dimension = manifest->embedding_dim > 0 ? manifest->embedding_dim : row->embedding.dimension;
	LwStatus	status;

	if (dimension > UINT32_MAX / sizeof(float))
		return bad_dimension(error, UINT32_MAX / sizeof(float), dimension);
	build->source_dimension = (uint32_t) dimension;
	if (manifest->has_mrl_dim)
	{
		if (manifest->mrl_dim == 0 || manifest->mrl_dim > dimension)
			return lw_fail(error, LW_INVALID, NULL, -1, "mrl_dim from 1 to the dimension of the rows",
						   "%u for %zu", manifest->mrl_dim, dimension);
		manifest->has_full_dim = true;
		manifest->full_dim = (uint32_t) dimension;
		dimension = manifest->mrl_dim;
	}
	manifest->embedding_dim = (uint32_t) dimension;
	manifest->n_chunks = 1;
	status = check_blocks(build->options->type, manifest->embedding_dim, error);
	if (status == LW_OK)
		status = lw_build_refused(lw_section_manifest_check(manifest, error), error);
	build->stride = dimension * sizeof(float);
	if (status == LW_OK)
		status = start_spaces(build, row, error);
	if (status == LW_OK)
	{
		build->row = malloc(dimension * sizeof(float));
		if (build->row == NULL)
			status = lw_no_memory(error);
	}
	if (status == LW_OK)
		status = lw_spill_put(&build->spill, zeros,
							  (ROWS_ALIGNMENT - build->spill.size % ROWS_ALIGNMENT) % ROWS_ALIGNMENT, error);
	build->rows_offset = build->spill.size;
	return status;
}

/* Whether a vector can be kept as its type. */
static LwStatus
check_values(const float *values, size_t dimension, LwVectorType type, LwError *error)
{
	float		end = type == LW_VECTOR_FLOAT16 ? FLOAT16_END : FLOAT16_END * 7;
	size_t		i;

	if (!lw_all_finite(values, dimension))
		return lw_fail(error, LW_INVALID, "InvalidEmbeddingValue", -1, "finite components", "NaN or infinity");
	if (type != LW_VECTOR_FLOAT16 && type != LW_VECTOR_INT4)
		return LW_OK;
	for (i = 0; i < dimension; i++)
		if (fabsf(values[i]) >= end)
			return lw_fail(error, LW_INVALID, "InvalidEmbeddingValue", -1,
						   "components that the dtype can hold", "%g", values[i]);
	return LW_OK;
}

/* Keeps the first components of a row, and makes their norm 1. */
static void
shorten(const float *from, size_t dimension, float *to)
{
	float		squares = 0;
	float		norm;
	size_t		i;

	for (i = 0; i < dimension; i++)
		squares += from[i] * from[i];
	norm = sqrtf(squares);
	if (!isfinite(norm) || norm <= 0)
		norm = 1;
	for (i = 0; i < dimension; i++)
		to[i] = from[i] / norm;
}

/* Keeps the vectors of a row. */
static LwStatus
put_vectors(LwBuild *build, const LwBuildRow *row, LwError *error)
{
	const LwBuildOptions *options = build->options;
	size_t		dimension = build->manifest.embedding_dim;
	const float *values = row->embedding.values;
	size_t		i;
	LwStatus	status;

	if (row->embedding.dimension != build->source_dimension)
		return bad_dimension(error, build->source_dimension, row->embedding.dimension);
	if (dimension < build->source_dimension)
	{
		shorten(values, dimension, build->row);
		values = build->row;
	}
	status = check_values(values, dimension, options->type, error);
	if (status == LW_OK && row->end < row->start)
		status = lw_fail(error, LW_INVALID, "InvalidInput", -1, "an end that is not before the start",
						 "%llu before %llu", (unsigned long long) row->end, (unsigned long long) row->start);
	if (status == LW_OK)
		status = lw_spill_put(&build->spill, values, dimension * sizeof(float), error);
	for (i = 0; status == LW_OK && i < options->nspaces; i++)
	{
		const LwBuildVector *vector = &row->spaces[i];

		if (vector->dimension != build->space_dimensions[i])
			return bad_dimension(error, build->space_dimensions[i], vector->dimension);
		status = check_values(vector->values, vector->dimension, options->spaces[i].type, error);
		if (status == LW_OK)
			status = lw_spill_put(&build->spill, vector->values, vector->dimension * sizeof(float), error);
	}
	return status;
}

static LwStatus
check_string(LwBytes string, const char *what, LwError *error)
{
	size_t		valid = lw_utf8_valid((const char *) string.data, string.size);

	if (valid < string.size)
		return lw_fail(error, LW_INVALID, "InvalidInput", -1, what, "other bytes at %zu", valid);
	if (string.size > UINT32_MAX)
		return lw_fail(error, LW_INVALID, "InvalidInput", -1, "strings of less than 4 GiB", "%zu bytes",
					   string.size);
	return LW_OK;
}

/* Keeps text, uri, span and id of a row. */
static LwStatus
put_chunk(LwBuild *build, const LwBuildRow *row, LwError *error)
{
	char		id[LW_TEXT_HASH_SIZE];
	LwBytes		id_bytes = {(const uint8_t *) id, sizeof(id)};
	LwStatus	status = check_string(row->text, "a text in UTF-8", error);

	if (status == LW_OK)
		status = check_string(row->uri, "a uri in UTF-8", error);
	if (status == LW_OK)
		status = lw_chunk_hash(row->text, row->uri, row->start, row->end, build->manifest.chunker_version,
							   id, error);
	if (status != LW_OK)
		return lw_build_refused(status, error);
	lw_put_string(&build->ids, id_bytes);
	lw_put_string(&build->texts, row->text);
	lw_put_string(&build->spans, row->uri);
	lw_put_u64(&build->spans, row->start);
	lw_put_u64(&build->spans, row->end);
	status = lw_buffer_status(&build->ids, error);
	if (status == LW_OK)
		status = lw_buffer_status(&build->texts, error);
	if (status == LW_OK)
		status = lw_buffer_status(&build->spans, error);
	if (status == LW_OK && build->bm25 != NULL)
		status = lw_bm25_build_add(build->bm25, row->text, error);
	return status;
}

LwStatus
lw_build_add_row(LwBuild *build, const LwBuildRow *row, LwError *error)
{
	LwStatus	status = LW_OK;

	if (build->rows == UINT32_MAX)
		return lw_fail(error, LW_LIMIT, NULL, -1, "fewer than 2^32 rows", "more");
	if (build->rows == 0)
		status = start(build, row, error);
	build->started = status == LW_OK;
	if (status == LW_OK)
		status = put_vectors(build, row, error);
	if (status == LW_OK)
		status = put_chunk(build, row, error);
	if (status == LW_OK && build->blob_spans)
		status = lw_build_put_overlay(build, row, error);
	if (status == LW_OK)
		build->rows++;
	return status;
}

bool
lw_build_started(const LwBuild *build)
{
	return build->started;
}
