/*-------------------------------------------------------------------------
 *
 * intpack.h
 *	  Packed lists of unsigned 64-bit integers, in blocks of 128.
 *
 * A list claims 128 values for as little as 4 bytes, since blocks of its
 * directory may be the same one.  So nothing here allocates: the caller says
 * how many values there must be, and brings the room, or reads a list block by
 * block.  A block's bounds are checked when it is read, each time anew.
 *
 * Everything wrong with a list is MalformedSectionPayload.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_INTPACK_H
#define LW_SECTION_INTPACK_H

#include "section/bytes.h"

#define LW_INTPACK_BLOCK 128

typedef struct LwIntpack
{
	LwBytes		bytes;			/* from the list's first byte on; more may follow the list */
	uint32_t	count;			/* values it claims to hold */
} LwIntpack;

/* Checks the header and that the directory is there. */
extern LwStatus lw_intpack_open(LwBytes bytes, LwIntpack *list, LwError *error);

/* One value. */
extern LwStatus lw_intpack_get(const LwIntpack *list, uint32_t index, uint64_t *value,
							   LwError *error);

/* The values first .. first + count - 1; a range beyond the list is an error of the file, too. */
extern LwStatus lw_intpack_read(const LwIntpack *list, uint32_t first, uint32_t count,
								uint64_t *values, LwError *error);

/* All values of a list that must hold exactly `count`; `values` has room for them. */
extern LwStatus lw_intpack_read_all(LwBytes bytes, size_t count, uint64_t *values,
									LwError *error);

/* Takes a column: a u32 length and a list of that many bytes. */
extern LwStatus lw_take_intpack(LwCursor *cursor, LwIntpack *list, LwError *error);

/* Bytes that the writer would make of these values; UINT64_MAX when they cannot be written. */
extern uint64_t lw_intpack_size(const uint64_t *values, size_t count);

/* Writes a list; the buffer fails beyond 2^32 - 1 values or a list of 4 GiB. */
extern void lw_put_intpack(LwBuffer *buffer, const uint64_t *values, size_t count);

/* Writes a column. */
extern void lw_put_intpack_column(LwBuffer *buffer, const uint64_t *values, size_t count);

#endif							/* LW_SECTION_INTPACK_H */
