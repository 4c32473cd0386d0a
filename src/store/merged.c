/*-------------------------------------------------------------------------
 *
 * merged.c
 *	  One table over the ids of a view's small segments.
 *
 * Open addressing with linear probing, at most half full.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merged.h"

/*
 * Up to which size segments are merged: the limit, halved until all of them
 * together keep to it; 0 when none are.
 */
static uint64_t
choose_size(LwSegment *const *segments, size_t count, uint64_t *documents)
{
	uint64_t	size;
	size_t		i;

	*documents = 0;
	if (count <= LW_UNMERGED_SEGMENTS)
		return 0;
	for (size = LW_MERGED_DOCUMENTS; size > 0; size /= 2)
	{
		*documents = 0;
		for (i = 0; i < count; i++)
			if (segments[i]->documents <= size)
				*documents += segments[i]->documents;
		if (*documents <= LW_MERGED_DOCUMENTS)
			break;
	}
	return size;
}

/* The slot that holds the id, or the empty one where it belongs. */
static LwMergedSlot *
probe(const LwMerged *merged, LwSegment *const *segments, const char *id, size_t size, uint64_t hash)
{
	uint64_t	at;

	for (at = hash & merged->mask; merged->slots[at].row != 0; at = (at + 1) & merged->mask)
	{
		size_t		other_size;
		const char *other = lw_ids_get(&segments[merged->slots[at].segment]->ids,
									   merged->slots[at].row - 1, &other_size);

		if (other_size == size && memcmp(other, id, size) == 0)
			break;
	}
	return &merged->slots[at];
}

LwStatus
lw_merged_build(LwSegment *const *segments, size_t count, LwMerged *merged, LwError *error)
{
	uint64_t	documents;
	uint64_t	small = choose_size(segments, count, &documents);
	uint64_t	slots = 4;
	uint64_t	row;
	size_t		i;

	while (slots < documents * 2)
		slots *= 2;
	merged->mask = slots - 1;
	merged->slots = calloc(slots, sizeof(LwMergedSlot));
	merged->nlarge = 0;
	merged->large = calloc(count + 1, sizeof(uint32_t));
	if (merged->slots == NULL || merged->large == NULL)
	{
		lw_merged_free(merged);
		return lw_fail_errno(error, ENOMEM, "hash the ids");
	}
	for (i = 0; i < count; i++)
		if (segments[i]->documents > small)
			merged->large[merged->nlarge++] = (uint32_t) i;

	/* From the newest back: the first to come holds the place. */
	for (i = count; i-- > 0;)
	{
		if (segments[i]->documents > small)
			continue;
		for (row = 0; row < segments[i]->documents; row++)
		{
			size_t		size;
			const char *id = lw_ids_get(&segments[i]->ids, row, &size);
			LwMergedSlot *slot = probe(merged, segments, id, size, lw_id_hash(id, size));

			if (slot->row == 0)
			{
				slot->segment = (uint32_t) i;
				slot->row = (uint32_t) row + 1;
			}
		}
	}
	return LW_OK;
}

void
lw_merged_free(LwMerged *merged)
{
	free(merged->slots);
	free(merged->large);
	merged->slots = NULL;
	merged->large = NULL;
}

bool
lw_merged_find(const LwMerged *merged, LwSegment *const *segments,
			   const char *id, size_t size, size_t *segment, uint64_t *row)
{
	uint64_t	hash = lw_id_hash(id, size);
	const LwMergedSlot *slot = probe(merged, segments, id, size, hash);
	bool		found = slot->row != 0;
	size_t		i;

	/* Only a newer one outranks what the table knows. */
	for (i = merged->nlarge; i-- > 0;)
	{
		size_t		large = merged->large[i];
		uint64_t	at;

		if (found && large < slot->segment)
			break;
		at = lw_idmap_find(&segments[large]->idmap, &segments[large]->ids, id, size, hash);
		if (at != LW_IDMAP_NONE)
		{
			*segment = large;
			*row = at;
			return true;
		}
	}
	if (found)
	{
		*segment = slot->segment;
		*row = slot->row - 1;
	}
	return found;
}
