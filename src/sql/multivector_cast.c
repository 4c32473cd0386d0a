/*-------------------------------------------------------------------------
 *
 * multivector_cast.c
 *	  Casts between multivector and arrays, and from raw bytes.
 *
 * Whatever cannot be a multivector is ERROR 22000 that names the token and
 * the value at fault, both from 1.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "compat.h"
#include "port/pg_bswap.h"
#include "sql/multivector.h"

PG_FUNCTION_INFO_V1(multivector_from_real_array);
PG_FUNCTION_INFO_V1(multivector_from_double_array);
PG_FUNCTION_INFO_V1(multivector_to_real_array);
PG_FUNCTION_INFO_V1(multivector_from_bytes);

/* Raises ERROR 22000 at the first element that is NULL, if there is one. */
static void
lw_refuse_null_element(ArrayType *array, int dimension)
{
	const bits8 *bitmap = ARR_NULLBITMAP(array);
	int			i = 0;

	if (!array_contains_nulls(array))
		return;

	while (bitmap[i / 8] & (1 << (i % 8)))
		i++;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("NULL is not allowed in a multivector"),
			 errdetail("Token %d, value %d: NULL.",
					   i / dimension + 1, i % dimension + 1)));
}

/* Returns a new multivector of an array's shape, once the array has one and holds no NULL. */
static LwMultivector *
lw_multivector_like(ArrayType *array)
{
	int			ndim = ARR_NDIM(array);
	int			tokens = ndim == 2 ? ARR_DIMS(array)[0] : 1;
	int			dimension;

	if (ndim == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("an empty array is no multivector"),
				 errdetail("Token 1, value 1: missing.")));
	if (ndim > 2)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("an array of %d dimensions is no multivector", ndim),
				 errhint("Use an array of one dimension (one token) or two (tokens, values).")));

	dimension = ARR_DIMS(array)[ndim - 1];
	lw_refuse_null_element(array, dimension);
	return lw_multivector_new(tokens, dimension);
}

/* multivector(real[]): one dimension is one token, two are tokens x dimension. */
Datum
multivector_from_real_array(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	LwMultivector *m = lw_multivector_like(array);

	memcpy(m->values, lw_array_data(array),
		   VARSIZE(m) - LW_MULTIVECTOR_HEADER);
	lw_multivector_check_finite(m);

	PG_FREE_IF_COPY(array, 0);
	PG_RETURN_POINTER(m);
}

/* multivector(double precision[]): the same, each value rounded to the nearest float4. */
Datum
multivector_from_double_array(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	LwMultivector *m = lw_multivector_like(array);
	const float8 *from = lw_array_data(array);
	int64		count = (int64) m->tokens * m->dimension;
	int64		i;

	for (i = 0; i < count; i++)
	{
		m->values[i] = (float4) from[i];
		if (unlikely(isinf(m->values[i]) && !isinf(from[i])))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("%g is out of range for a multivector", from[i]),
					 errdetail("Token %lld, value %lld: exceeds type real.",
							   (long long) (i / m->dimension + 1),
							   (long long) (i % m->dimension + 1))));
	}
	lw_multivector_check_finite(m);

	PG_FREE_IF_COPY(array, 0);
	PG_RETURN_POINTER(m);
}

/* multivector_to_array(multivector): real[] of two dimensions, tokens x dimension. */
Datum
multivector_to_real_array(PG_FUNCTION_ARGS)
{
	LwMultivector *m = PG_GETARG_MULTIVECTOR(0);
	int			shape[2];
	Size		size;
	ArrayType  *array;

	shape[0] = m->tokens;
	shape[1] = m->dimension;
	/* an array can hold fewer elements than a multivector: this raises past that */
	size = ARR_OVERHEAD_NONULLS(2) + sizeof(float4) * ArrayGetNItems(2, shape);

	array = (ArrayType *) palloc0(size);
	SET_VARSIZE(array, size);
	array->ndim = 2;
	array->elemtype = FLOAT4OID;
	ARR_DIMS(array)[0] = m->tokens;
	ARR_DIMS(array)[1] = m->dimension;
	ARR_LBOUND(array)[0] = 1;
	ARR_LBOUND(array)[1] = 1;
	memcpy(lw_array_data(array), m->values,
		   VARSIZE(m) - LW_MULTIVECTOR_HEADER);

	PG_FREE_IF_COPY(m, 0);
	PG_RETURN_ARRAYTYPE_P(array);
}

/* multivector_from_bytes(bytea, integer): little-endian float32, row by row. */
Datum
multivector_from_bytes(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	int32		dimension = PG_GETARG_INT32(1);
	Size		length = VARSIZE_ANY_EXHDR(bytes);
	Size		token_size;
	LwMultivector *m;
#ifdef WORDS_BIGENDIAN
	int64		i;
#endif

	if (dimension < 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("dimension of a multivector must be at least 1, not %d",
						dimension)));
	token_size = sizeof(float4) * (Size) dimension;
	if (length == 0 || length % token_size != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("%zu bytes are no tokens of dimension %d",
						length, dimension),
				 errdetail("Token %zu: a token takes %zu bytes, and %zu are left.",
						   length / token_size + 1, token_size,
						   length % token_size)));

	m = lw_multivector_new(length / token_size, dimension);
	memcpy(m->values, VARDATA_ANY(bytes), length);
#ifdef WORDS_BIGENDIAN
	for (i = 0; i < (int64) m->tokens * dimension; i++)
	{
		uint32		bits;

		memcpy(&bits, &m->values[i], sizeof(bits));
		bits = pg_bswap32(bits);
		memcpy(&m->values[i], &bits, sizeof(bits));
	}
#endif
	lw_multivector_check_finite(m);

	PG_FREE_IF_COPY(bytes, 0);
	PG_RETURN_POINTER(m);
}
