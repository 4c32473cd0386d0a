/*-------------------------------------------------------------------------
 *
 * npy.h
 *	  The header of a NumPy .npy file, as far as a vector store uses it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_FORMAT_NPY_H
#define LW_FORMAT_NPY_H

#include "error.h"

#define LW_NPY_MAX_AXES 8

typedef enum LwNpyType
{
	LW_NPY_FLOAT32,				/* '<f4' */
	LW_NPY_INT8,				/* '|i1' or '<i1' */
	LW_NPY_UINT64				/* '<u8' */
} LwNpyType;

typedef struct LwNpy
{
	LwNpyType	type;
	int			axes;
	uint64_t	shape[LW_NPY_MAX_AXES];
	size_t		data_offset;	/* aligned for the type; the file is exactly data_offset + product(shape) * element size */
} LwNpy;

/*
 * Parses the header at the front of a file of `size` bytes and checks the
 * file's length against it.  Error name Npy; for data that is not aligned and
 * for an array of another type ArrayShape.  Follows the reference's text
 * look-up (spec/store.md 2), not Python's grammar.
 */
extern LwStatus lw_npy_parse(const void *data, size_t size, LwNpy *npy, LwError *error);

/* ArrayShape unless it is of this type and shape; columns is ignored for axes = 1. */
extern LwStatus lw_npy_expect(const LwNpy *npy, LwNpyType type, int axes,
							  uint64_t rows, uint64_t columns, LwError *error);

/* A header as numpy writes it; the longest shape of two axes has room. */
#define LW_NPY_HEADER_SIZE 128

/* Writes the header of one axis (columns is ignored), or of two. */
extern void lw_npy_header(LwNpyType type, int axes, uint64_t rows, uint64_t columns,
						  char header[LW_NPY_HEADER_SIZE]);

#endif							/* LW_FORMAT_NPY_H */
