/*-------------------------------------------------------------------------
 *
 * build_state.h
 *	  What the parts of the builder share: rows are added (build.c), media
 *	  are encoded (build_media.c), sections are made of it all (build_finish.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_BUILD_STATE_H
#define LW_SECTION_BUILD_STATE_H

#include "section/bm25.h"
#include "section/build.h"
#include "section/layout.h"

/* Required sections, five companions and indexes, four of media, and bands. */
#define LW_BUILD_PARTS (6 + 5 + 4 + LW_BUILD_SPACES)

struct LwBuild
{
	const LwBuildOptions *options;
	const LwStop *stop;
	size_t		memory;
	LwSectionManifest manifest; /* of the options, completed by the rows */
	bool		started;
	uint64_t	rows;
	uint32_t	source_dimension;	/* of the rows as they come */
	uint32_t	space_dimensions[LW_BUILD_SPACES];
	LwBm25Build *bm25;			/* or NULL */

	/* raw payloads, whose counts are set at the end */
	LwBuffer	ids;
	LwBuffer	texts;
	LwBuffer	spans;

	LwSpill		spill;			/* blobs, then rows */
	uint64_t	rows_offset;
	size_t		stride;
	float	   *row;			/* one in shorter form; with mrl_dim only */

	bool		blob_spans;
	uint32_t	nblobs;
	uint32_t	ninlined;
	LwBuffer	blob_refs;		/* records of section 0x14 */
	LwBuffer	blob_table;		/* of 0x17 */
	LwBuffer	overlay;		/* of 0x16 */
	uint64_t	blob_bytes;

	LwPart		parts[LW_BUILD_PARTS];
	LwBuffer	owned[LW_BUILD_PARTS];	/* what their bytes lie in, where it is not above */
	size_t		nparts;
};

/* Adds a part with the bytes of `owned`, which it takes over; whether that failed is looked at later. */
extern LwPart *lw_build_part(LwBuild *build, uint32_t id, uint32_t encoding, LwBuffer *owned);

/* Keeps a row's place in a blob; adds the parts of blobs and spaces. */
extern LwStatus lw_build_put_overlay(LwBuild *build, const LwBuildRow *row, LwError *error);
extern void lw_build_media(LwBuild *build);

/* The status of what a caller gave that the format does not allow. */
static inline LwStatus
lw_build_refused(LwStatus status, LwError *error)
{
	if (status == LW_MALFORMED)
		status = error->status = LW_INVALID;
	return status;
}

#endif							/* LW_SECTION_BUILD_STATE_H */
