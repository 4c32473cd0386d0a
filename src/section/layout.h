/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  Writing a section file out of its parts: table, manifest, sections at
 *	  multiples of 64 bytes, hashes, footer.
 *
 * A part is bytes in memory, or follows them with bytes or rows of a spill,
 * which are encoded as they go: so it is read twice, once for its checksum and
 * once to be written, and nothing large is held.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_LAYOUT_H
#define LW_SECTION_LAYOUT_H

#include "section/file.h"
#include "section/hash.h"
#include "section/spill.h"

/* Rows of float32 in a spill, one every `stride` bytes; no rows when spill is NULL. */
typedef struct LwSpilledRows
{
	const LwSpill *spill;
	uint64_t	offset;			/* of the first row */
	size_t		stride;
	uint64_t	count;
	uint32_t	dimension;
	LwVectorType type;			/* that they are written as */
} LwSpilledRows;

typedef struct LwPart
{
	uint32_t	id;
	uint32_t	encoding;
	LwBytes		bytes;			/* all of it, or what comes first */
	const LwSpill *spill;		/* what follows, from `offset` on; NULL: nothing */
	uint64_t	offset;
	uint64_t	length;
	LwSpilledRows rows;			/* what follows otherwise */

	/* set by lw_part_hash */
	uint64_t	size;
	uint8_t		checksum[8];
} LwPart;

/* Determines size and checksum; adds the bytes to `also`, too, unless that is NULL. */
extern LwStatus lw_part_hash(LwPart *part, LwSha256 *also, const LwStop *stop, LwError *error);

typedef struct LwLayout
{
	LwPart	   *parts;			/* hashed; put in the order of their ids */
	size_t		nparts;
	LwBytes		manifest;
	uint32_t	dimension;
	uint64_t	rows;
	const LwStop *stop;
} LwLayout;

/* Writes the whole file to an empty descriptor; returns its size. */
extern LwStatus lw_layout_write(const LwLayout *layout, int fd, uint64_t *size, LwError *error);

#endif							/* LW_SECTION_LAYOUT_H */
