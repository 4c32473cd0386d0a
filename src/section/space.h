/*-------------------------------------------------------------------------
 *
 * space.h
 *	  The vectors of a section file: its own, its full-precision ones, and
 *	  those of named spaces.
 *
 * A slab is checked when it is first asked for: the checksum, and that every
 * value or scale is finite.  Its bytes stay in the file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_SPACE_H
#define LW_SECTION_SPACE_H

#include "section/file.h"

typedef struct LwSpace
{
	uint8_t		index;			/* 1 to 15; its rows are section 0x20 + index */
	LwBytes		name;
	uint32_t	dimension;
	LwVectorType type;
	LwBytes		model_hash;		/* begins with "sha256:", that is all */
	uint64_t	band_size;		/* bytes */
} LwSpace;

/* Section 0x04. */
extern LwStatus lw_section_vectors(LwSectionFile *file, LwVectorSlab *slab, LwError *error);

/* What scores are computed from: 0x09 if the file has it, else 0x04. */
extern LwStatus lw_section_rerank_vectors(LwSectionFile *file, LwVectorSlab *slab, LwError *error);

/*
 * The table of spaces, checked against its bands; none without a table.  It is
 * there whatever the manifest says: spaces are to be used only when the
 * manifest says supports_multimodal.
 */
extern LwStatus lw_section_spaces(LwSectionFile *file, const LwSpace **spaces, size_t *count,
								  LwError *error);
extern LwStatus lw_section_space_vectors(LwSectionFile *file, const LwSpace *space,
										 LwVectorSlab *slab, LwError *error);

/* Bytes of a slab of `rows` x `dimension`; UnsupportedDType when that cannot be. */
extern LwStatus lw_slab_size(LwVectorType type, uint64_t rows, uint32_t dimension,
							 uint64_t *size, LwError *error);

/* "float32" and so on. */
extern const char *lw_vector_type_name(LwVectorType type);

#endif							/* LW_SECTION_SPACE_H */
