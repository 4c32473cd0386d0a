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

/* Who gives out ids that lie elsewhere than in an LwIds. */
typedef struct LwIdsKeeper LwIdsKeeper;
struct LwIdsKeeper
{
	/* As lw_ids_get; the id of the row, which is below the count. */
	const char *(*get) (LwIdsKeeper *keeper, uint64_t row, size_t *size);

	/* The row of an id, UINT64_MAX when it is not among them. */
	uint64_t	(*find) (LwIdsKeeper *keeper, const char *id, size_t size, uint64_t hash);
};

/* Id r is the bytes ends[r - 1] (0 for r = 0) up to ends[r]: UTF-8, may hold U+0000, may be empty. */
typedef struct LwIds
{
	uint64_t	count;
	char	   *bytes;			/* malloc'ed; NULL with a keeper */
	uint64_t   *ends;			/* malloc'ed, [count]; likewise */
	LwIdsKeeper *keeper;		/* NULL, or who is asked; belongs to somebody else */
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

/* Stays where it is as long as the ids do. */
static inline const char *
lw_ids_get(const LwIds *ids, uint64_t row, size_t *size)
{
	uint64_t	start;

	if (ids->keeper != NULL)
		return ids->keeper->get(ids->keeper, row, size);
	start = row == 0 ? 0 : ids->ends[row - 1];
	*size = ids->ends[row] - start;
	return ids->bytes + start;
}

#endif							/* LW_FORMAT_IDS_H */
