/*-------------------------------------------------------------------------
 *
 * section_scoring.c
 *	  The vectors of section files: which are meant, decoded, and scored.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "compat.h"
#include "section/chunks.h"
#include "section/quant.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/section_scoring.h"
#include "server/stat.h"

#define BLOCK 256				/* rows scored at a time */

/* The space of a name; ERROR when the file has none such, or does not say that it has spaces. */
static const LwSpace *
find_space(LwSection *section, const char *name)
{
	const LwSpace *spaces = NULL;
	size_t		count = 0;
	size_t		i;
	LwError		error;
	char	   *utf8 = pg_server_to_any(name, (int) strlen(name), PG_UTF8);

	lw_error_path(&error, NULL, section->path);
	if (section->file->manifest.supports_multimodal &&
		lw_section_spaces(section->file, &spaces, &count, &error) != LW_OK)
		lw_report(ERROR, &error);
	for (i = 0; i < count; i++)
		if (spaces[i].name.size == strlen(utf8) && memcmp(spaces[i].name.data, utf8, strlen(utf8)) == 0)
			return &spaces[i];
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"%s\" has no space \"%s\"", section->path, name),
			 errdetail("SpaceNotFound."),
			 errhint("lateweave_spaces lists those that it has.")));
}

void
lw_choose_vectors(LwSection *section, const char *space, LwSectionVectors *vectors)
{
	LwError		error;
	LwStatus	status;

	lw_error_path(&error, NULL, section->path);
	vectors->space = space == NULL ? NULL : find_space(section, space);
	if (vectors->space == NULL)
	{
		status = lw_section_rerank_vectors(section->file, &vectors->slab, &error);
		vectors->model_hash = section->file->manifest.model_hash;
	}
	else
	{
		status = lw_section_space_vectors(section->file, vectors->space, &vectors->slab, &error);
		vectors->model_hash = vectors->space->model_hash;
	}
	if (status != LW_OK)
		lw_report(ERROR, &error);
}

void
lw_choose_stored(LwSection *section, const char *space, LwVectorSlab *slab)
{
	LwSectionVectors vectors;
	LwError		error;

	lw_error_path(&error, NULL, section->path);
	if (space != NULL)
	{
		lw_choose_vectors(section, space, &vectors);
		*slab = vectors.slab;
	}
	else if (lw_section_vectors(section->file, slab, &error) != LW_OK)
		lw_report(ERROR, &error);
}

void
lw_check_section_query(const LwSectionVectors *vectors, const LwSection *section, int tokens, int dimension)
{
	if (tokens != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query has %d tokens, but a query of section files has one", tokens)));
	if ((uint32) dimension != vectors->slab.dimension)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("query has dimension %d, but the vectors of \"%s\" have dimension %u",
						dimension, section->path, vectors->slab.dimension),
				 errdetail("DimensionMismatch.")));
}

bool
lw_section_find_chunk(LwSection *section, LwString id, LwPlace *place)
{
	LwBytes		bytes = {(const uint8_t *) id.data, id.size};
	size_t		ordinal;
	LwError		error;

	lw_error_path(&error, NULL, section->path);
	if (lw_chunk_find(section->file, bytes, &ordinal, &error) != LW_OK)
		lw_report(ERROR, &error);
	place->segment = 0;
	place->row = ordinal;
	lw_section_check_faults(section);
	return ordinal != SIZE_MAX;
}

bool
lw_section_next_twin(LwSection *section, LwPlace *place)
{
	size_t		ordinal;
	LwError		error;

	lw_error_path(&error, NULL, section->path);
	if (lw_chunk_twin(section->file, place->row, &ordinal, &error) != LW_OK)
		lw_report(ERROR, &error);
	lw_section_check_faults(section);
	if (ordinal == SIZE_MAX)
		return false;
	place->row = ordinal;
	return true;
}

void
lw_check_score(LwSection *section, size_t ordinal, float4 score)
{
	LwBytes		id;
	LwError		error;

	if (!isnan(score))
		return;
	lw_error_path(&error, NULL, section->path);
	if (lw_chunk_id(section->file, ordinal, &id, &error) != LW_OK)
		lw_report(ERROR, &error);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("score of chunk \"%s\" in \"%s\" is not a number",
					lw_id_for_message((const char *) id.data, id.size), section->path),
			 errdetail("A sum overflowed to infinity on both sides.")));
}

/* Bytes of a row, with its share of the scales. */
static size_t
row_bytes(const LwVectorSlab *slab)
{
	switch (slab->type)
	{
		case LW_VECTOR_FLOAT32:
			return slab->dimension * sizeof(float4);
		case LW_VECTOR_FLOAT16:
			return slab->dimension * 2;
		case LW_VECTOR_INT8:
			return slab->dimension + sizeof(float4);
		case LW_VECTOR_INT4:
			return slab->dimension / 2 + slab->dimension / LW_QUANT_BLOCK * 2;
	}
	return 0;
}

void
lw_count_rows(const LwVectorSlab *slab, size_t rows, const instr_time *start)
{
	instr_time	time;

	lw_stat_scored->documents += rows;
	lw_stat_scored->tokens += rows;
	lw_stat_scored->bytes += rows * row_bytes(slab);
	lw_stat_scored->present = slab->rows;
	if (INSTR_TIME_IS_ZERO(*start))
	{
		lw_stat_scored->untimed += rows;
		return;
	}
	INSTR_TIME_SET_CURRENT(time);
	INSTR_TIME_SUBTRACT(time, *start);
	lw_stat_scored->nanoseconds += (uint64) (INSTR_TIME_GET_DOUBLE(time) * 1e9);
}

void
lw_score_rows(LwSection *section, const LwVectorQuery *query, const LwVectorSlab *slab,
			  const LwPlace *places, size_t count, float4 *scores)
{
	size_t		rows[BLOCK];
	instr_time	start;
	size_t		done;
	size_t		i;

	INSTR_TIME_SET_ZERO(start);
	if (count > 1 || track_io_timing)
		INSTR_TIME_SET_CURRENT(start);
	for (done = 0; done < count; done += BLOCK)
	{
		size_t		block = Min(count - done, BLOCK);

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < block; i++)
			rows[i] = places[done + i].row;
		lw_vectors_score_rows(query, slab, rows, block, scores + done);
		for (i = 0; i < block; i++)
			lw_check_score(section, rows[i], scores[done + i]);
	}
	lw_count_rows(slab, count, &start);
	lw_section_check_faults(section);
}

void
lw_decode_row(const LwVectorSlab *slab, size_t row, float4 *values)
{
	size_t		dimension = slab->dimension;
	const uint8_t *codes = slab->codes;
	const uint8_t *scales = slab->scales;
	float4		scale;

	switch (slab->type)
	{
		case LW_VECTOR_FLOAT32:
			memcpy(values, codes + row * dimension * sizeof(float4), dimension * sizeof(float4));
			break;
		case LW_VECTOR_FLOAT16:
			lw_dequantize_float16(codes + row * dimension * 2, dimension, values);
			break;
		case LW_VECTOR_INT8:
			memcpy(&scale, scales + row * sizeof(scale), sizeof(scale));
			lw_dequantize_int8(codes + row * dimension, scale, dimension, values);
			break;
		case LW_VECTOR_INT4:
			lw_dequantize_int4(codes + row * dimension / 2, scales + row * dimension / LW_QUANT_BLOCK * 2,
							   dimension, values);
			break;
	}
}
