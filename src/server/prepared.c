/*-------------------------------------------------------------------------
 *
 * prepared.c
 *	  Queries packed for the kernels, kept from one call to the next.
 *
 * Memory: KEPT queries of at most KEPT_BYTES each stay for the life of the
 * backend; a larger one goes when the next query is prepared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "server/prepared.h"

#define KEPT 4
#define KEPT_BYTES (4 * 1024 * 1024)
#define QUERY_ALIGNMENT 64

typedef struct Prepared
{
	int			tokens;			/* 0: not in use */
	int			dimension;
	Size		bytes;			/* of values[] */
	float4	   *values;			/* the query as it was given; start of the allocation */
	LwQuery    *query;			/* behind the values */
	uint64		used;			/* when it was last asked for */
} Prepared;

static Prepared kept[KEPT];
static uint64 clock_hand;

static void
forget(Prepared *entry)
{
	if (entry->tokens != 0)
		pfree(entry->values);
	memset(entry, 0, sizeof(*entry));
}

static void
pack(Prepared *entry, const float4 *values, int tokens, int dimension)
{
	Size		bytes = mul_size(mul_size(sizeof(float4), tokens), dimension);
	Size		query_bytes = lw_query_size(tokens, dimension);
	char	   *memory;

	if (query_bytes == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("query of %d tokens with dimension %d is too large", tokens, dimension)));
	memory = MemoryContextAllocHuge(TopMemoryContext, add_size(add_size(bytes, query_bytes), QUERY_ALIGNMENT));
	memcpy(memory, values, bytes);
	entry->values = (float4 *) memory;
	entry->bytes = bytes;
	entry->tokens = tokens;
	entry->dimension = dimension;
	entry->query = lw_query_init((void *) TYPEALIGN(QUERY_ALIGNMENT, memory + bytes), values, tokens, dimension);
}

LwQuery *
lw_prepare(const float4 *values, int tokens, int dimension)
{
	Prepared   *oldest = &kept[0];
	int			i;

	clock_hand++;
	for (i = 0; i < KEPT; i++)
	{
		Prepared   *entry = &kept[i];

		if (entry->tokens == tokens && entry->dimension == dimension &&
			memcmp(entry->values, values, entry->bytes) == 0)
		{
			entry->used = clock_hand;
			return entry->query;
		}
		if (entry->used < oldest->used)
			oldest = entry;
	}
	for (i = 0; i < KEPT; i++)
		if (kept[i].bytes > KEPT_BYTES)
			forget(&kept[i]);
	forget(oldest);
	pack(oldest, values, tokens, dimension);
	oldest->used = clock_hand;
	return oldest->query;
}
