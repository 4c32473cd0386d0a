/*-------------------------------------------------------------------------
 *
 * numbers.h
 *	  Unsigned 64-bit integers out of SQL's numbers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_NUMBERS_H
#define LW_SQL_NUMBERS_H

#include "postgres.h"

/* Whether a type is one that lw_number_uint64 takes: smallint, integer, bigint or numeric. */
extern bool lw_is_number(Oid type);

/* False unless the value is an integer from 0 to 2^64-1. */
extern bool lw_number_uint64(Datum value, Oid type, uint64 *result);

#endif							/* LW_SQL_NUMBERS_H */
