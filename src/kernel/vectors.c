/*-------------------------------------------------------------------------
 *
 * vectors.c
 *	  The query of single vectors, and scores of rows, block by block.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/vectors.h"

#include <string.h>

#include "kernel/bounds.h"
#include "kernel/maxsim.h"

#define ALIGNMENT 64
#define BLOCK 256				/* rows between two pauses */

/* Where the parts of a query begin, in bytes; all are of whole cache lines. */
typedef struct Layout
{
	size_t		stride;
	size_t		values;
	size_t		packed;
	size_t		codes;
	size_t		constants;
	size_t		scales;
	size_t		end;
} Layout;

static bool
lay_out(Layout *at, size_t dimension)
{
	size_t		pair = 2 * LW_INT4_BLOCK;
	size_t		blocks;

	if (dimension > SIZE_MAX / 16 - pair)
		return false;
	at->stride = (dimension + pair - 1) / pair * pair;
	blocks = (at->stride / LW_INT4_BLOCK + LW_CHUNK - 1) / LW_CHUNK * LW_CHUNK;
	at->values = (sizeof(LwVectorQuery) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	at->packed = at->values + at->stride * sizeof(float);
	at->codes = at->packed + at->stride * sizeof(float);
	at->constants = at->codes + at->stride * sizeof(int16_t);
	at->scales = at->constants + blocks * sizeof(float);
	at->end = at->scales + (blocks * LW_BOUND_ROWS + LW_CHUNK) * sizeof(float);
	return true;
}

/* Bytes that lw_vector_query_init needs. */
size_t
lw_vector_query_size(uint32_t dimension)
{
	Layout		at;

	return lay_out(&at, dimension) ? at.end : 0;
}

/* Prepares a query of `dimension` values; its bounds wait for the first scan. */
LwVectorQuery *
lw_vector_query_init(void *memory, const float *values, uint32_t dimension)
{
	LwVectorQuery *query = memory;
	char	   *base = memory;
	Layout		at;

	if (!lay_out(&at, dimension))
		return NULL;
	memset(memory, 0, at.end);
	query->dimension = dimension;
	query->stride = at.stride;
	query->values = (float *) (base + at.values);
	query->packed = base + at.packed;
	query->codes = (int16_t *) (base + at.codes);
	query->constants = (float *) (base + at.constants);
	query->scales = (float *) (base + at.scales);
	memcpy(query->values, values, dimension * sizeof(float));
	return query;
}

/* Scores rows in a run. */
void
lw_vectors_score(const LwVectorQuery *query, const LwVectorSlab *slab,
				 size_t first, size_t count, float *scores)
{
	const LwVectorKernel *kernel = lw_vector_kernel();
	size_t		rows[BLOCK];
	size_t		done;
	size_t		i;

	for (done = 0; done < count; done += BLOCK)
	{
		size_t		block = count - done < BLOCK ? count - done : BLOCK;

		lw_maxsim_pause();
		for (i = 0; i < block; i++)
			rows[i] = first + done + i;
		kernel->score(query, slab, rows, block, scores + done);
	}
}

/* Scores rows from all over the slab. */
void
lw_vectors_score_rows(const LwVectorQuery *query, const LwVectorSlab *slab,
					  const size_t *rows, size_t count, float *scores)
{
	const LwVectorKernel *kernel = lw_vector_kernel();
	size_t		done;

	for (done = 0; done < count; done += BLOCK)
	{
		lw_maxsim_pause();
		kernel->score(query, slab, rows + done, count - done < BLOCK ? count - done : BLOCK,
					  scores + done);
	}
}
