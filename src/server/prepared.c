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

#include <math.h>

#include "utils/memutils.h"

#include "compat.h"
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
	LwQuery    *query;			/* behind the values; of a query of stores */
	LwVectorQuery *normalized;	/* likewise; of a query of section files */
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

/* Its Euclidean length: a sum in order, in float32, that may underflow to 0 or overflow. */
static float4
query_norm(const float4 *values, int dimension)
{
	float4		sum = 0;
	int			i;

	for (i = 0; i < dimension; i++)
		sum += values[i] * values[i];
	return sqrtf(sum);
}

/* A query divided by its norm (palloc'ed). */
static float4 *
normalize_query(const float4 *values, int dimension)
{
	float4	   *normalized = palloc_array(float4, dimension);
	float4		norm = query_norm(values, dimension);
	int			i;

	if (norm == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query has a norm of zero"),
				 errdetail("ZeroNormQuery."),
				 errhint("Its values are all zero, or so small that their squares are.")));
	for (i = 0; i < dimension; i++)
		normalized[i] = values[i] / norm;
	return normalized;
}

static void
pack(Prepared *entry, const float4 *values, int tokens, int dimension, bool normalize)
{
	Size		bytes = mul_size(mul_size(sizeof(float4), tokens), dimension);
	Size		query_bytes = normalize ? lw_vector_query_size((uint32_t) dimension) :
		lw_query_size(tokens, dimension);
	float4	   *normalized = normalize ? normalize_query(values, dimension) : NULL;
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
	memory = (char *) TYPEALIGN(QUERY_ALIGNMENT, memory + bytes);
	if (normalize)
	{
		entry->normalized = lw_vector_query_init(memory, normalized, (uint32_t) dimension);
		pfree(normalized);
	}
	else
		entry->query = lw_query_init(memory, values, tokens, dimension);
}

static Prepared *
prepare(const float4 *values, int tokens, int dimension, bool normalize)
{
	Prepared   *oldest = &kept[0];
	int			i;

	clock_hand++;
	for (i = 0; i < KEPT; i++)
	{
		Prepared   *entry = &kept[i];

		if (entry->tokens == tokens && entry->dimension == dimension &&
			(entry->normalized != NULL) == normalize &&
			memcmp(entry->values, values, entry->bytes) == 0)
		{
			entry->used = clock_hand;
			return entry;
		}
		if (entry->used < oldest->used)
			oldest = entry;
	}
	for (i = 0; i < KEPT; i++)
		if (kept[i].bytes > KEPT_BYTES)
			forget(&kept[i]);
	forget(oldest);
	pack(oldest, values, tokens, dimension, normalize);
	oldest->used = clock_hand;
	return oldest;
}

LwQuery *
lw_prepare(const float4 *values, int tokens, int dimension)
{
	return prepare(values, tokens, dimension, false)->query;
}

LwVectorQuery *
lw_prepare_normalized(const float4 *values, int dimension)
{
	return prepare(values, 1, dimension, true)->normalized;
}
