/*-------------------------------------------------------------------------
 *
 * slab.h
 *	  Slabs of vectors in a section file: their layout and the check of
 *	  their values.  lw_slab_size and lw_vector_type_name are in space.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_SLAB_H
#define LW_SECTION_SLAB_H

#include "section/space.h"

/* The encoding that section 0x04 has for a type. */
extern uint32_t lw_vector_encoding(LwVectorType type);

extern LwStatus lw_slab_bad_size(LwError *error, uint32_t id, uint64_t expected, uint64_t found);

/* Where codes and scales lie in bytes that must be exactly a slab of this type. */
extern LwStatus lw_slab_describe(LwBytes bytes, LwVectorType type, size_t rows, uint32_t dimension,
								 LwVectorSlab *slab, LwError *error);

/* InvalidEmbeddingValue unless all values, or all scales, are finite in what the encoding of a section says. */
extern LwStatus lw_values_check(const LwSectionFile *file, const LwSectionEntry *entry,
								uint32_t dimension, LwError *error);

#endif							/* LW_SECTION_SLAB_H */
