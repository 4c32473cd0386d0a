/*-------------------------------------------------------------------------
 *
 * bm25_build.c
 *	  Building the BM25 index of texts.
 *
 * Postings are kept as they come, document by document, and put in the order
 * of their terms at the end.
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "section/bm25.h"

#include <stdlib.h>
#include <string.h>

#include "section/bm25_terms.h"
#include "section/intpack.h"
#include "section/tokenizer.h"

typedef struct Posting
{
	uint32_t	term;
	uint32_t	frequency;
} Posting;

typedef struct Document
{
	uint32_t	length;			/* in tokens */
	uint32_t	postings;
} Document;

struct LwBm25Build
{
	size_t		memory;			/* 0: any number */
	size_t		taken;			/* of it */
	LwTokenizer tokenizer;
	LwTermTable table;
	size_t		terms_room;
	uint8_t    *texts;			/* of the terms */
	size_t		texts_size;
	size_t		texts_room;
	Document   *documents;
	size_t		ndocuments;
	size_t		documents_room;
	Posting    *postings;
	size_t		npostings;
	size_t		postings_room;
	uint64_t	tokens;			/* of all documents */
};

/* Accounts for `size` more bytes. */
static LwStatus
take_memory(LwBm25Build *build, size_t size, LwError *error)
{
	if (build->memory > 0 && size > build->memory - build->taken)
		return lw_fail(error, LW_LIMIT, NULL, -1, "a BM25 index built within the memory allowed",
					   "more than %zu bytes", build->memory);
	build->taken += size;
	return LW_OK;
}

/* Sees to room for `need` elements of an array, which never grows past 2^32. */
static LwStatus
make_room(LwBm25Build *build, void **array, size_t *room, size_t need, size_t element, LwError *error)
{
	size_t		new_room = *room < 64 ? 128 : *room / 2 * 3;
	LwStatus	status;
	void	   *grown;

	if (need <= *room)
		return LW_OK;
	if (need >= UINT32_MAX)
		return lw_fail(error, LW_LIMIT, NULL, -1, "a BM25 index with counts of 32 bits", "%zu", need);
	if (new_room < need)
		new_room = need;
	status = take_memory(build, (new_room - *room) * element, error);
	if (status != LW_OK)
		return status;
	grown = realloc(*array, new_room * element);
	if (grown == NULL)
		return lw_no_memory(error);
	*array = grown;
	*room = new_room;
	return LW_OK;
}

/* Makes a table of slots for twice the terms. */
static LwStatus
grow_slots(LwBm25Build *build, LwError *error)
{
	LwTermTable *table = &build->table;
	size_t		nslots = lw_term_slots(table->count * 2);
	uint32_t   *old = table->slots;
	LwStatus	status = take_memory(build, (nslots - table->nslots) * sizeof(uint32_t), error);
	uint32_t   *slots = status == LW_OK ? calloc(nslots, sizeof(uint32_t)) : NULL;
	size_t		i;

	if (status != LW_OK)
		return status;
	if (slots == NULL)
		return lw_no_memory(error);
	table->slots = slots;
	table->nslots = nslots;
	for (i = 0; i < table->count; i++)
	{
		LwBytes		text = {build->texts + table->terms[i].at, table->terms[i].size};

		*lw_term_slot(table, build->texts, text) = (uint32_t) i + 1;
	}
	free(old);
	return LW_OK;
}

LwStatus
lw_bm25_build_begin(size_t memory, LwBm25Build **build, LwError *error)
{
	LwStatus	status;

	*build = calloc(1, sizeof(**build));
	if (*build == NULL)
		return lw_no_memory(error);
	(*build)->memory = memory;
	lw_tokenizer_init(&(*build)->tokenizer);
	status = grow_slots(*build, error);
	if (status != LW_OK)
	{
		lw_bm25_build_free(*build);
		*build = NULL;
	}
	return status;
}

void
lw_bm25_build_free(LwBm25Build *build)
{
	if (build == NULL)
		return;
	lw_tokenizer_free(&build->tokenizer);
	free(build->table.terms);
	free(build->table.slots);
	free(build->texts);
	free(build->documents);
	free(build->postings);
	free(build);
}

/* The number of a term, a new one if need be. */
static LwStatus
number_term(LwBm25Build *build, LwBytes text, uint32_t *number, LwError *error)
{
	LwTermTable *table = &build->table;
	uint32_t   *slot = lw_term_slot(table, build->texts, text);
	LwStatus	status;

	if (*slot != 0)
	{
		*number = *slot - 1;
		return LW_OK;
	}
	status = make_room(build, (void **) &table->terms, &build->terms_room, table->count + 1, sizeof(LwTerm), error);
	if (status == LW_OK)
		status = make_room(build, (void **) &build->texts, &build->texts_room,
						   build->texts_size + text.size, 1, error);
	if (status != LW_OK)
		return status;
	*number = (uint32_t) table->count;
	table->terms[table->count++] = (LwTerm) {build->texts_size, (uint32_t) text.size, 0, 0};
	memcpy(build->texts + build->texts_size, text.data, text.size);
	build->texts_size += text.size;
	*slot = *number + 1;
	if (table->count * 2 > table->nslots)
		return grow_slots(build, error);
	return LW_OK;
}

/* Counts a token of the document whose postings begin at `first`. */
static LwStatus
add_token(LwBm25Build *build, LwBytes text, size_t first, LwError *error)
{
	LwTerm	   *term;
	uint32_t	number;
	LwStatus	status = number_term(build, text, &number, error);

	if (status != LW_OK)
		return status;
	term = &build->table.terms[number];
	if (term->df > 0 && term->posting >= first)
	{
		build->postings[term->posting].frequency++;
		return LW_OK;
	}
	status = make_room(build, (void **) &build->postings, &build->postings_room, build->npostings + 1,
					   sizeof(Posting), error);
	if (status != LW_OK)
		return status;
	term->df++;
	term->posting = build->npostings;
	build->postings[build->npostings++] = (Posting) {number, 1};
	return LW_OK;
}

LwStatus
lw_bm25_build_add(LwBm25Build *build, LwBytes text, LwError *error)
{
	size_t		first = build->npostings;
	uint32_t	length = 0;
	LwStatus	status = make_room(build, (void **) &build->documents, &build->documents_room,
								   build->ndocuments + 1, sizeof(Document), error);

	if (text.size >= UINT32_MAX)
		return lw_fail(error, LW_LIMIT, NULL, -1, "texts of less than 4 GiB", "%zu bytes", text.size);
	lw_tokenizer_start(&build->tokenizer, text);
	while (status == LW_OK && lw_tokenizer_next(&build->tokenizer))
	{
		length++;
		status = add_token(build, lw_buffer_bytes(&build->tokenizer.token), first, error);
	}
	if (status == LW_OK && build->tokenizer.token.failed)
		status = lw_no_memory(error);
	if (status != LW_OK)
		return status;
	build->documents[build->ndocuments++] = (Document) {length, (uint32_t) (build->npostings - first)};
	build->tokens += length;
	return LW_OK;
}

/* What putting postings in order needs. */
typedef struct Order
{
	uint32_t   *terms;			/* numbers in the order of their texts */
	size_t	   *next;			/* by number: where the next posting goes */
	uint32_t   *last;			/* by number: the document of the last one */
	uint64_t   *values;			/* of a column */
} Order;

/* Which of two terms comes first in bytes; none are equal. */
static int
compare_terms(const LwBm25Build *build, uint32_t a, uint32_t b)
{
	const LwTerm *term_a = &build->table.terms[a];
	const LwTerm *term_b = &build->table.terms[b];
	uint32_t	size = term_a->size < term_b->size ? term_a->size : term_b->size;
	int			order = memcmp(build->texts + term_a->at, build->texts + term_b->at, size);

	if (order != 0)
		return order;
	return term_a->size < term_b->size ? -1 : 1;
}

#define ST_SORT sort_terms
#define ST_ELEMENT_TYPE uint32_t
#define ST_COMPARE_ARG_TYPE const LwBm25Build
#define ST_COMPARE(a, b, build) (*(a) == *(b) ? 0 : compare_terms(build, *(a), *(b)))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Fills in a column of postings: gaps, else frequencies. */
static void
fill_postings(const LwBm25Build *build, Order *order, bool gaps)
{
	size_t		at = 0;
	size_t		place = 0;
	size_t		document;
	size_t		i;

	for (i = 0; i < build->table.count; i++)
	{
		uint32_t	number = order->terms[i];

		order->next[number] = place;
		order->last[number] = 0;
		place += build->table.terms[number].df;
	}
	for (document = 0; document < build->ndocuments; document++)
		for (i = 0; i < build->documents[document].postings; i++, at++)
		{
			Posting		posting = build->postings[at];
			uint64_t   *value = &order->values[order->next[posting.term]++];

			*value = gaps ? document - order->last[posting.term] : posting.frequency;
			order->last[posting.term] = (uint32_t) document;
		}
}

static void
write_payload(const LwBm25Build *build, Order *order, LwBuffer *payload)
{
	float		average = 0.0f;
	size_t		i;

	if (build->ndocuments > 0)
		average = (float) build->tokens / (float) build->ndocuments;
	lw_put_u32(payload, LW_BM25_VERSION);
	lw_put_f32(payload, LW_BM25_K1);
	lw_put_f32(payload, LW_BM25_B);
	lw_put_f32(payload, average);
	lw_put_u32(payload, (uint32_t) build->ndocuments);
	lw_put_u32(payload, (uint32_t) build->table.count);
	for (i = 0; i < build->ndocuments; i++)
		order->values[i] = build->documents[i].length;
	lw_put_intpack_column(payload, order->values, build->ndocuments);
	for (i = 0; i < build->table.count; i++)
	{
		const LwTerm *term = &build->table.terms[order->terms[i]];
		LwBytes		text = {build->texts + term->at, term->size};

		lw_put_string(payload, text);
		lw_put_u32(payload, term->df);
	}
	fill_postings(build, order, true);
	lw_put_intpack_column(payload, order->values, build->npostings);
	fill_postings(build, order, false);
	lw_put_intpack_column(payload, order->values, build->npostings);
}

LwStatus
lw_bm25_build_finish(LwBm25Build *build, LwBuffer *payload, LwError *error)
{
	size_t		terms = build->table.count;
	size_t		values = build->npostings > build->ndocuments ? build->npostings : build->ndocuments;
	Order		order = {NULL, NULL, NULL, NULL};
	LwStatus	status;
	size_t		i;

	status = take_memory(build, values * sizeof(uint64_t) + terms * (sizeof(size_t) + 2 * sizeof(uint32_t)), error);
	if (status != LW_OK)
		return status;
	order.terms = malloc((terms + 1) * sizeof(*order.terms));
	order.next = malloc((terms + 1) * sizeof(*order.next));
	order.last = malloc((terms + 1) * sizeof(*order.last));
	order.values = malloc((values + 1) * sizeof(*order.values));
	if (order.terms == NULL || order.next == NULL || order.last == NULL || order.values == NULL)
		status = lw_no_memory(error);
	else
	{
		for (i = 0; i < terms; i++)
			order.terms[i] = (uint32_t) i;
		sort_terms(order.terms, terms, build);
		write_payload(build, &order, payload);
		status = lw_buffer_status(payload, error);
	}
	free(order.terms);
	free(order.next);
	free(order.last);
	free(order.values);
	return status;
}
