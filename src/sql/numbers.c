/*-------------------------------------------------------------------------
 *
 * numbers.c
 *	  Unsigned 64-bit integers out of SQL's numbers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/fmgrprotos.h"

#include "sql/numbers.h"

bool
lw_is_number(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID;
}

/* The digits of a numeric that is an integer say all about it. */
static bool
numeric_uint64(Datum value, uint64 *result)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out,
														   DirectFunctionCall1(numeric_trim_scale, value)));
	char	   *end;

	if (text[strspn(text, "0123456789")] != '\0')
		return false;
	errno = 0;
	*result = strtou64(text, &end, 10);
	return errno == 0;
}

bool
lw_number_uint64(Datum value, Oid type, uint64 *result)
{
	int64		number;

	switch (type)
	{
		case INT2OID:
			number = DatumGetInt16(value);
			break;
		case INT4OID:
			number = DatumGetInt32(value);
			break;
		case INT8OID:
			number = DatumGetInt64(value);
			break;
		default:
			return numeric_uint64(value, result);
	}
	*result = (uint64) number;
	return number >= 0;
}
