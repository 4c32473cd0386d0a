/*-------------------------------------------------------------------------
 *
 * multivector.h
 *	  The SQL types multivector and maxsim_query, in memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_MULTIVECTOR_H
#define LW_SQL_MULTIVECTOR_H

#include "postgres.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/memutils.h"

/* tokens x dimension float4, row-major; both at least 1, every value finite. On disk as it is in memory. */
typedef struct LwMultivector
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int32		tokens;
	int32		dimension;
	Oid			source;			/* maxsim_query only: the foreign table, or InvalidOid; 0 in a multivector */
	float4		values[FLEXIBLE_ARRAY_MEMBER];
} LwMultivector;

#define LW_MULTIVECTOR_HEADER offsetof(LwMultivector, values)
#define LW_MULTIVECTOR_SIZE(tokens, dimension) \
	(LW_MULTIVECTOR_HEADER + sizeof(float4) * (Size) (tokens) * (Size) (dimension))

#define DatumGetLwMultivector(d) ((LwMultivector *) PG_DETOAST_DATUM(d))
#define PG_GETARG_MULTIVECTOR(n) DatumGetLwMultivector(PG_GETARG_DATUM(n))

/* How many values fit into a varlena. */
#define LW_MULTIVECTOR_MAX_VALUES \
	((int64) ((MaxAllocSize - LW_MULTIVECTOR_HEADER) / sizeof(float4)))

/* ERROR 54000 when a multivector of this shape would exceed 1 GB. */
extern void lw_multivector_check_size(int64 tokens, int64 dimension);

/* A new one with header filled in and values not set; ERROR 54000 when it would exceed 1 GB. */
extern LwMultivector *lw_multivector_new(int64 tokens, int64 dimension);

/* ERROR 22000 unless every value is finite, naming token and position of the first that is not. */
extern void lw_multivector_check_finite(const LwMultivector *m);

/* The elements of an array, as ARR_DATA_PTR, which mixes signs and so does not compile with every warning on. */
static inline void *
lw_array_data(ArrayType *array)
{
	Size		offset = ARR_HASNULL(array)
		? (Size) array->dataoffset : ARR_OVERHEAD_NONULLS(ARR_NDIM(array));

	return (char *) array + offset;
}

#endif							/* LW_SQL_MULTIVECTOR_H */
