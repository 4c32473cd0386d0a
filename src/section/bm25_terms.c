/*-------------------------------------------------------------------------
 *
 * bm25_terms.c
 *	  Finding terms.
 *
 *-------------------------------------------------------------------------
 */
#include "section/bm25_terms.h"

#include <string.h>

#include "store/idmap.h"

size_t
lw_term_slots(size_t count)
{
	size_t		slots = 4;

	while (slots < count * 2)
		slots *= 2;
	return slots;
}

uint32_t *
lw_term_slot(const LwTermTable *table, const uint8_t *texts, LwBytes term)
{
	size_t		slot = lw_id_hash((const char *) term.data, term.size) & (table->nslots - 1);

	for (; table->slots[slot] != 0; slot = (slot + 1) & (table->nslots - 1))
	{
		const LwTerm *other = &table->terms[table->slots[slot] - 1];

		if (other->size == term.size && (term.size == 0 || memcmp(texts + other->at, term.data, term.size) == 0))
			break;
	}
	return &table->slots[slot];
}
