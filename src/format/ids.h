/*-------------------------------------------------------------------------
 *
 * ids.h
 *	  ids.json of a segment: the documents' ids, in row order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_FORMAT_IDS_H
#define LW_FORMAT_IDS_H

#include "error.h"

/* Id r is the bytes ends[r - 1] (0 for r = 0) up to ends[r]: UTF-8, may hold U+0000, may be empty. */
typedef struct LwIds
{
	uint64_t	count;
	char	   *bytes;			/* malloc'ed */
	uint64_t   *ends;			/* malloc'ed, [count] */
} LwIds;

/*
 * Parses a whole file.  Refused (IdsJson): anything but an array of strings
 * in valid UTF-8; (IdsCount): another number of ids than `documents`.
 * Repeated ids are not looked for here (store/idmap does).  Memory is bounded
 * by `size`, whatever `documents` claims.  On failure *ids owns nothing.
 */
extern LwStatus lw_ids_parse(const void *data, size_t size, uint64_t documents,
							 LwIds *ids, LwError *error);
extern void lw_ids_free(LwIds *ids);

static inline const char *
lw_ids_get(const LwIds *ids, uint64_t row, size_t *size)
{
	uint64_t	start = row == 0 ? 0 : ids->ends[row - 1];

	*size = ids->ends[row] - start;
	return ids->bytes + start;
}

#endif							/* LW_FORMAT_IDS_H */
