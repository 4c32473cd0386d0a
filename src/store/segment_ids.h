/*-------------------------------------------------------------------------
 *
 * segment_ids.h
 *	  The ids of a segment: computed, or in a derived file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_SEGMENT_IDS_H
#define LW_STORE_SEGMENT_IDS_H

#include "derived_ids.h"
#include "segment.h"

/*
 * A segment's derived file, which computes the ids from ids.json, kept
 * mapped, once the derived file proves to be damaged.
 */
typedef struct LwKeptIds
{
	LwIdsKeeper keeper;			/* of segment->ids */
	LwDerivedIds derived;
	LwMap	   *json;			/* ids.json */
	bool		computed;		/* what follows is used in place of `derived` */
	LwIds		ids;
	LwIdmap		idmap;
	bool		unsure;			/* `derived` was cut, and something may have read zeros */
	LwStatus	lost;			/* neither could be read: why not */
	LwError    *error;			/* says it; NULL without memory */
} LwKeptIds;

/* Reads the ids of `json` and their hash; counts unnameable ones.  Checks what the format says of them. */
extern LwStatus lw_segment_ids_compute(const LwMap *json, uint64_t documents, LwIds *ids, LwIdmap *idmap,
									   uint64_t *unnameable, LwError *error);

/*
 * Has a segment use the ids of a derived file from now on, in place of those that were computed.
 * The file and ids.json are taken over.  False, and nothing is changed, without memory.
 */
extern bool lw_segment_ids_keep(LwSegment *segment, const LwDerivedIds *derived, LwMap *json);

/* LW_OK unless ids that were given out may have been wrong. */
extern LwStatus lw_segment_ids_check(const LwKeptIds *kept, LwError *error);
extern void lw_segment_ids_free(LwKeptIds *kept);

#endif							/* LW_STORE_SEGMENT_IDS_H */
