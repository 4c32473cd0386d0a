/*-------------------------------------------------------------------------
 *
 * section_scoring.h
 *	  The vectors of section files: which are meant, decoded, and scored.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_SECTION_SCORING_H
#define LW_SERVER_SECTION_SCORING_H

#include "postgres.h"

#include "portability/instr_time.h"

#include "format/manifest.h"
#include "kernel/vectors.h"
#include "section/space.h"
#include "server/section.h"
#include "store/view.h"

/* The vectors that a table or a call means: the file's own, or those of a named space. */
typedef struct LwSectionVectors
{
	const LwSpace *space;		/* NULL: the file's own */
	LwVectorSlab slab;			/* what scores are computed from */
	LwBytes		model_hash;
} LwSectionVectors;

/* Chooses by the name of a space, in the database's encoding; NULL is the file's own.  ERROR 22023, SpaceNotFound. */
extern void lw_choose_vectors(LwSection *section, const char *space, LwSectionVectors *vectors);

/* The vectors as they are stored, which a file's full-precision ones do not take the place of. */
extern void lw_choose_stored(LwSection *section, const char *space, LwVectorSlab *slab);

/* ERROR 22023 unless there is one token, 22000 unless the dimension is that of the vectors. */
extern void lw_check_section_query(const LwSectionVectors *vectors, const LwSection *section,
								   int tokens, int dimension);

/* Whether the file holds a chunk, and where: the row is its ordinal. */
extern bool lw_section_find_chunk(LwSection *section, LwString id, LwPlace *place);

/* Moves on to the next chunk with the same id, if there is one. */
extern bool lw_section_next_twin(LwSection *section, LwPlace *place);

/* Counts rows that were scored; `start` is when that began, zero where it was not measured. */
extern void lw_count_rows(const LwVectorSlab *slab, size_t rows, const instr_time *start);

/*
 * Scores rows.  ERROR XX001 for a file that was cut, 22023 for a score that
 * is not a number.  Interruptible.
 */
extern void lw_score_rows(LwSection *section, const LwVectorQuery *query, const LwVectorSlab *slab,
						  const LwPlace *places, size_t count, float4 *scores);

/* ERROR 22023 for a score that is not a number: names the chunk. */
extern void lw_check_score(LwSection *section, size_t ordinal, float4 score);

/* The values of a row, as scores use them; `values` has room for the slab's dimension. */
extern void lw_decode_row(const LwVectorSlab *slab, size_t row, float4 *values);

#endif							/* LW_SERVER_SECTION_SCORING_H */
