/*-------------------------------------------------------------------------
 *
 * spill.h
 *	  What a build has read and need not hold in memory: bytes appended to a
 *	  temporary file, and rows of float32 among them.
 *
 * Nobody else may change the file.  Its descriptor stays the caller's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_SPILL_H
#define LW_SECTION_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "format/error.h"

typedef struct LwSpill
{
	int			fd;				/* open for reading and writing, empty at first */
	uint64_t	size;			/* bytes appended */
	uint8_t    *pending;		/* the last of them, not written yet */
	size_t		npending;
	void	   *map;			/* or NULL */
	size_t		map_size;
} LwSpill;

extern LwStatus lw_spill_begin(LwSpill *spill, int fd, LwError *error);
extern void lw_spill_free(LwSpill *spill);

extern LwStatus lw_spill_put(LwSpill *spill, const void *data, size_t size, LwError *error);

/* Writes what is pending: before anything is read. */
extern LwStatus lw_spill_flush(LwSpill *spill, LwError *error);

/* Reads bytes that were appended. */
extern LwStatus lw_spill_read(const LwSpill *spill, uint64_t offset, void *to, size_t size,
							  LwError *error);

/* The whole file in memory until the spill is freed; nothing may be appended any more. */
extern LwStatus lw_spill_map(LwSpill *spill, const uint8_t **data, LwError *error);

/* Writes all of it to a descriptor, at its position. */
extern LwStatus lw_write_all(int fd, const void *data, size_t size, LwError *error);

#endif							/* LW_SECTION_SPILL_H */
