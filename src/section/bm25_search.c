/*-------------------------------------------------------------------------
 *
 * bm25_search.c
 *	  Scoring documents by BM25, in the reference's float32 steps.
 *
 *-------------------------------------------------------------------------
 */
#include "section/bm25_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/maxsim.h"
#include "section/rank.h"

#define BLOCK LW_INTPACK_BLOCK	/* postings read at once */
#define INLINE_POSTING 8		/* bytes */

typedef struct Posting
{
	uint32_t	document;
	uint32_t	frequency;
} Posting;

/* Where in a term's postings a search is. */
typedef struct Place
{
	size_t		next;			/* as LwTerm.posting */
	uint32_t	left;
	uint32_t	document;		/* of the last posting */
} Place;

/* Reads the next postings, at most BLOCK. */
static LwStatus
read_postings(const LwBm25 *bm25, Place *place, Posting *postings, uint32_t *count, LwError *error)
{
	uint64_t	gaps[BLOCK];
	uint64_t	frequencies[BLOCK];
	LwStatus	status;
	uint32_t	first;
	uint32_t	i;

	*count = place->left < BLOCK ? place->left : BLOCK;
	place->left -= *count;
	if (bm25->version == LW_BM25_VERSION_INLINE)
	{
		LwCursor	cursor = lw_cursor(bm25->payload);

		cursor.at = place->next;
		place->next += *count * (size_t) INLINE_POSTING;
		for (i = 0; i < *count; i++)
			if (!lw_take_u32(&cursor, &postings[i].document) || !lw_take_u32(&cursor, &postings[i].frequency))
				return lw_malformed(error, "BM25 postings within their index", cursor.at);
		return LW_OK;
	}
	first = (uint32_t) place->next;
	place->next += *count;
	status = lw_intpack_read(&bm25->gaps, first, *count, gaps, error);
	if (status == LW_OK)
		status = lw_intpack_read(&bm25->frequencies, first, *count, frequencies, error);
	for (i = 0; status == LW_OK && i < *count; i++)
	{
		place->document += (uint32_t) gaps[i];
		postings[i] = (Posting) {place->document, (uint32_t) frequencies[i]};
	}
	return status;
}

/* Adds what a term gives a document. */
static inline void
add(LwBm25 *bm25, Posting posting, float idf)
{
	uint32_t	document = posting.document;
	uint8_t		bit = (uint8_t) (1 << document % 8);
	float		frequency = (float) posting.frequency;
	float		length = (float) bm25->lengths[document];
	float		below = frequency + bm25->k1 * ((1.0f - bm25->b) + bm25->b * length / bm25->average);
	float		part = idf * (frequency * (bm25->k1 + 1.0f)) / below;

	if ((bm25->touched[document / 8] & bit) == 0)
	{
		bm25->touched[document / 8] |= bit;
		bm25->sums[document] = 0.0f;
	}
	bm25->sums[document] += part;
}

static LwStatus
add_term(LwBm25 *bm25, const LwTerm *term, LwError *error)
{
	float		df = (float) term->df;
	float		idf = logf(((float) bm25->documents - df + 0.5f) / (df + 0.5f) + 1.0f);
	Place		place = {term->posting, term->df, 0};

	while (place.left > 0)
	{
		Posting		postings[BLOCK];
		uint32_t	count;
		uint32_t	i;
		LwStatus	status = read_postings(bm25, &place, postings, &count, error);

		if (status != LW_OK)
			return status;
		lw_maxsim_pause();
		for (i = 0; i < count; i++)
		{
			if (postings[i].document >= bm25->documents)
				return lw_malformed(error, "BM25 postings of documents", postings[i].document);
			add(bm25, postings[i], idf);
		}
	}
	return LW_OK;
}

/* Room for the best `limit` documents. */
static LwStatus
make_room(LwBm25 *bm25, size_t limit, LwError *error)
{
	uint64_t   *keys;
	LwBm25Hit  *hits;

	if (limit <= bm25->room)
		return LW_OK;
	keys = realloc(bm25->keys, limit * sizeof(*keys));
	if (keys != NULL)
		bm25->keys = keys;
	hits = realloc(bm25->hits, limit * sizeof(*hits));
	if (hits != NULL)
		bm25->hits = hits;
	if (keys == NULL || hits == NULL)
		return lw_no_memory(error);
	bm25->room = limit;
	return LW_OK;
}

/* Lists the best of the documents that are touched; returns how many. */
static size_t
list_best(LwBm25 *bm25, size_t limit)
{
	size_t		count = 0;
	size_t		byte;
	size_t		i;

	for (byte = 0; byte <= bm25->documents / 8; byte++)
	{
		unsigned	bits = bm25->touched[byte];

		for (; bits != 0; bits &= bits - 1)
		{
			uint32_t	document = (uint32_t) (byte * 8) + (uint32_t) __builtin_ctz(bits);

			if (isfinite(bm25->sums[document]))
				lw_rank_offer(bm25->keys, &count, limit, lw_rank_descending(bm25->sums[document], document));
		}
	}
	lw_rank_sort(bm25->keys, count);
	for (i = 0; i < count; i++)
	{
		uint32_t	document = lw_rank_row(bm25->keys[i]);

		bm25->hits[i] = (LwBm25Hit) {document, bm25->sums[document]};
	}
	return count;
}

LwStatus
lw_bm25_search(LwBm25 *bm25, LwBytes text, size_t limit, const LwBm25Hit **hits, size_t *count, LwError *error)
{
	LwTokenizer *tokenizer = &bm25->tokenizer;
	LwStatus	status;

	*hits = NULL;
	*count = 0;
	if (limit > bm25->documents)
		limit = bm25->documents;
	if (limit == 0)
		return LW_OK;
	status = make_room(bm25, limit, error);
	if (status != LW_OK)
		return status;
	memset(bm25->touched, 0, bm25->documents / 8 + 1);
	lw_tokenizer_start(tokenizer, text);
	while (lw_tokenizer_next(tokenizer))
	{
		uint32_t	slot = *lw_term_slot(&bm25->table, bm25->payload.data, lw_buffer_bytes(&tokenizer->token));

		if (slot == 0)
			continue;
		status = add_term(bm25, &bm25->table.terms[slot - 1], error);
		if (status != LW_OK)
			return status;
	}
	if (tokenizer->token.failed)
		return lw_no_memory(error);
	*count = list_best(bm25, limit);
	*hits = bm25->hits;
	return LW_OK;
}
