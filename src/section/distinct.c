/*-------------------------------------------------------------------------
 *
 * distinct.c
 *	  Numbering distinct strings by a hash table.
 *
 * Open addressing with linear probing, at most half full; a slot holds a
 * string's number + 1.
 *
 *-------------------------------------------------------------------------
 */
#include "section/distinct.h"

#include <stdlib.h>
#include <string.h>

#include "store/idmap.h"

LwStatus
lw_distinct(const LwBytes *strings, size_t count, uint64_t *numbers, size_t *first,
			size_t *distinct, LwError *error)
{
	size_t		nslots = 4;
	uint32_t   *slots;
	size_t		i;

	*distinct = 0;
	if (count >= UINT32_MAX)
		return lw_fail(error, LW_INVALID, "InvalidInput", -1, "fewer than 4294967295 chunks",
					   "%zu", count);
	while (nslots < count * 2)
		nslots *= 2;
	slots = calloc(nslots, sizeof(uint32_t));
	if (slots == NULL)
		return lw_no_memory(error);
	for (i = 0; i < count; i++)
	{
		LwBytes		string = strings[i];
		size_t		slot = lw_id_hash((const char *) string.data, string.size) & (nslots - 1);

		for (; slots[slot] != 0; slot = (slot + 1) & (nslots - 1))
		{
			LwBytes		other = strings[first[slots[slot] - 1]];

			if (other.size == string.size &&
				(string.size == 0 || memcmp(other.data, string.data, string.size) == 0))
				break;
		}
		if (slots[slot] == 0)
		{
			first[*distinct] = i;
			slots[slot] = (uint32_t) ++*distinct;
		}
		numbers[i] = slots[slot] - 1;
	}
	free(slots);
	return LW_OK;
}
