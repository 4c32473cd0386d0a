/*-------------------------------------------------------------------------
 *
 * bm25.c
 *	  Payloads of the BM25 index.
 *
 * A payload is gone through twice: first everything is checked and counted,
 * then its terms and lengths are put into memory of just that size.  It may
 * have changed in between, so the second time checks as much, and the counts.
 *
 *-------------------------------------------------------------------------
 */
#include "section/bm25.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/utf8.h"
#include "section/bm25_read.h"

#define TOO_SHORT "a BM25 index as long as what it lists"

/* Whether a document of a posting is one. */
static LwStatus
check_document(const LwBm25 *bm25, uint64_t document, LwError *error)
{
	if (document >= bm25->documents)
		return lw_malformed(error, "BM25 postings of documents", document);
	return LW_OK;
}

/* Takes a term and its df; puts it in the table, if that is there. */
static LwStatus
take_term(LwBm25 *bm25, LwCursor *cursor, uint32_t number, uint64_t posting, LwTerm *term, LwError *error)
{
	LwBytes		text;

	if (!lw_take_string(cursor, &text) || !lw_take_u32(cursor, &term->df))
		return lw_malformed(error, TOO_SHORT, lw_cursor_left(cursor));
	if (lw_utf8_valid((const char *) text.data, text.size) != text.size)
		return lw_malformed(error, "BM25 terms that are UTF-8", number);
	term->at = (size_t) (text.data - cursor->data);
	term->size = (uint32_t) text.size;
	term->posting = (size_t) posting;
	if (bm25->table.terms != NULL)
	{
		bm25->table.terms[number] = *term;
		*lw_term_slot(&bm25->table, cursor->data, text) = number + 1;
	}
	return LW_OK;
}

/* Checks the documents of all postings: the terms' df are read again, in step with the gaps. */
static LwStatus
check_gaps(const LwBm25 *bm25, LwCursor terms, uint32_t nterms, LwColumn *gaps, LwError *error)
{
	LwStatus	status = LW_OK;
	uint32_t	number;

	for (number = 0; number < nterms; number++)
	{
		uint32_t	document = 0;
		LwBytes		text;
		uint32_t	df;

		if (!lw_take_string(&terms, &text) || !lw_take_u32(&terms, &df) || df > gaps->list.count - gaps->at)
			return lw_malformed(error, "a BM25 index that does not change", number);
		for (; df > 0; df--)
		{
			uint64_t	gap;

			status = lw_column_next(gaps, &gap, error);
			if (status != LW_OK)
				return status;
			document += (uint32_t) gap;
			status = check_document(bm25, document, error);
			if (status != LW_OK)
				return status;
		}
	}
	return LW_OK;
}

static LwStatus
read_columns(LwBm25 *bm25, LwCursor *cursor, uint32_t nterms, LwError *error)
{
	LwColumn	column;
	LwCursor	terms;
	LwTerm		term;
	uint64_t	postings = 0;
	uint64_t	value;
	uint32_t	i;
	LwStatus	status = lw_take_column(cursor, &column, bm25->documents, "a BM25 length for each document", error);

	for (i = 0; status == LW_OK && i < bm25->documents; i++)
	{
		status = lw_column_next(&column, &value, error);
		if (status == LW_OK && bm25->lengths != NULL)
			bm25->lengths[i] = (uint32_t) value;
	}
	terms = *cursor;
	for (i = 0; status == LW_OK && i < nterms; i++)
	{
		status = take_term(bm25, cursor, i, postings, &term, error);
		if (status == LW_OK)
			postings += term.df;
	}
	if (status == LW_OK)
		status = lw_take_column(cursor, &column, postings, "a BM25 gap for each posting", error);
	if (status == LW_OK)
	{
		bm25->gaps = column.list;
		status = check_gaps(bm25, terms, nterms, &column, error);
	}
	if (status == LW_OK)
		status = lw_take_column(cursor, &column, postings, "a BM25 frequency for each posting", error);
	if (status == LW_OK)
		bm25->frequencies = column.list;
	for (; status == LW_OK && postings > 0; postings--)
		status = lw_column_next(&column, &value, error);
	return status;
}

static LwStatus
read_inline(LwBm25 *bm25, LwCursor *cursor, uint32_t nterms, LwError *error)
{
	LwTerm		term;
	uint32_t	value;
	uint32_t	i;

	for (i = 0; i < bm25->documents; i++)
	{
		if (!lw_take_u32(cursor, &value))
			return lw_malformed(error, TOO_SHORT, i);
		if (bm25->lengths != NULL)
			bm25->lengths[i] = value;
	}
	for (i = 0; i < nterms; i++)
	{
		LwStatus	status = take_term(bm25, cursor, i, 0, &term, error);

		if (status != LW_OK)
			return status;
		if (bm25->table.terms != NULL)
			bm25->table.terms[i].posting = cursor->at;
		for (; term.df > 0; term.df--)
		{
			if (!lw_take_u32(cursor, &value))
				return lw_malformed(error, TOO_SHORT, i);
			status = check_document(bm25, value, error);
			if (status != LW_OK)
				return status;
			if (!lw_take_u32(cursor, &value))
				return lw_malformed(error, TOO_SHORT, i);
		}
	}
	return LW_OK;
}

/* Goes through a payload; fills in what `bm25` has memory for.  *nterms is how many terms there must be, UINT32_MAX: any number. */
static LwStatus
read_payload(LwBm25 *bm25, uint64_t rows, uint32_t *nterms, LwError *error)
{
	LwCursor	cursor = lw_cursor(bm25->payload);
	float		average;
	uint32_t	documents;
	uint32_t	found;

	if (!lw_take_u32(&cursor, &bm25->version) || !lw_take_f32(&cursor, &bm25->k1) ||
		!lw_take_f32(&cursor, &bm25->b) || !lw_take_f32(&cursor, &average) ||
		!lw_take_u32(&cursor, &documents) || !lw_take_u32(&cursor, &found))
		return lw_malformed(error, "a BM25 index of at least 24 bytes", bm25->payload.size);
	if (bm25->version != LW_BM25_VERSION && bm25->version != LW_BM25_VERSION_INLINE)
		return lw_fail(error, LW_MALFORMED, "UnsupportedSectionVersion", -1, "version 1 or 2 of a BM25 index",
					   "%u", (unsigned) bm25->version);
	if (!isfinite(bm25->k1) || !isfinite(bm25->b) || !isfinite(average))
		return lw_fail(error, LW_MALFORMED, "MalformedSectionPayload", -1, "finite parameters of a BM25 index",
					   "%g, %g, %g", bm25->k1, bm25->b, average);
	if (documents != rows)
		return lw_malformed(error, "a BM25 document for each row", documents);
	if (*nterms != UINT32_MAX && found != *nterms)
		return lw_malformed(error, "a BM25 index that does not change", found);
	*nterms = found;
	bm25->documents = documents;
	bm25->average = fmaxf(average, 1.0f);
	if (bm25->version == LW_BM25_VERSION)
		return read_columns(bm25, &cursor, found, error);
	return read_inline(bm25, &cursor, found, error);
}

LwStatus
lw_bm25_check(LwBytes payload, uint64_t rows, LwError *error)
{
	LwBm25		bm25;
	uint32_t	nterms = UINT32_MAX;

	memset(&bm25, 0, sizeof(bm25));
	bm25.payload = payload;
	return read_payload(&bm25, rows, &nterms, error);
}

static size_t
memory_of(size_t documents, size_t terms)
{
	return sizeof(LwBm25) + documents * (sizeof(uint32_t) + sizeof(float)) + (documents + 7) / 8 +
		terms * sizeof(LwTerm) + lw_term_slots(terms) * sizeof(uint32_t);
}

size_t
lw_bm25_memory(const LwBm25 *bm25)
{
	return memory_of(bm25->documents, bm25->table.count);
}

uint32_t
lw_bm25_terms(const LwBm25 *bm25)
{
	return (uint32_t) bm25->table.count;
}

/* Takes the memory of an index. */
static LwStatus
allocate(LwBm25 *bm25, size_t documents, size_t terms, LwError *error)
{
	bm25->table.count = terms;
	bm25->table.nslots = lw_term_slots(terms);
	bm25->table.terms = malloc((terms + 1) * sizeof(LwTerm));
	bm25->table.slots = calloc(bm25->table.nslots, sizeof(uint32_t));
	bm25->lengths = malloc((documents + 1) * sizeof(uint32_t));
	bm25->sums = malloc((documents + 1) * sizeof(float));
	bm25->touched = calloc(documents / 8 + 1, 1);
	if (bm25->table.terms == NULL || bm25->table.slots == NULL || bm25->lengths == NULL ||
		bm25->sums == NULL || bm25->touched == NULL)
		return lw_no_memory(error);
	return LW_OK;
}

LwStatus
lw_bm25_open(LwBytes payload, uint64_t rows, size_t memory, LwBm25 **bm25, LwError *error)
{
	LwBm25		counted;
	uint32_t	nterms = UINT32_MAX;
	LwStatus	status;

	*bm25 = NULL;
	memset(&counted, 0, sizeof(counted));
	counted.payload = payload;
	status = read_payload(&counted, rows, &nterms, error);
	if (status != LW_OK)
		return status;
	if (memory > 0 && memory_of(counted.documents, nterms) > memory)
		return lw_fail(error, LW_LIMIT, NULL, -1, "a BM25 index within the memory allowed",
					   "%zu bytes", memory_of(counted.documents, nterms));
	*bm25 = malloc(sizeof(**bm25));
	if (*bm25 == NULL)
		return lw_no_memory(error);
	**bm25 = counted;
	lw_tokenizer_init(&(*bm25)->tokenizer);
	status = allocate(*bm25, counted.documents, nterms, error);
	if (status == LW_OK)
		status = read_payload(*bm25, rows, &nterms, error);
	if (status != LW_OK)
	{
		lw_bm25_close(*bm25);
		*bm25 = NULL;
	}
	return status;
}

void
lw_bm25_close(LwBm25 *bm25)
{
	if (bm25 == NULL)
		return;
	lw_tokenizer_free(&bm25->tokenizer);
	free(bm25->table.terms);
	free(bm25->table.slots);
	free(bm25->lengths);
	free(bm25->sums);
	free(bm25->touched);
	free(bm25->keys);
	free(bm25->hits);
	free(bm25);
}
