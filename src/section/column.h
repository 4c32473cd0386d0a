/*-------------------------------------------------------------------------
 *
 * column.h
 *	  A column of an index's payload, read from its first value to its last.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_COLUMN_H
#define LW_SECTION_COLUMN_H

#include "section/intpack.h"

typedef struct LwColumn
{
	LwIntpack	list;
	uint32_t	at;				/* next value */
	uint64_t	block[LW_INTPACK_BLOCK];	/* of the last value */
} LwColumn;

/* Takes a column that must have `count` values; `expected` is a literal for the message. */
static inline LwStatus
lw_take_column(LwCursor *cursor, LwColumn *column, uint64_t count, const char *expected, LwError *error)
{
	LwStatus	status = lw_take_intpack(cursor, &column->list, error);

	column->at = 0;
	if (status == LW_OK && column->list.count != count)
		return lw_malformed(error, expected, column->list.count);
	return status;
}

/* The next value, of which there must be one. */
static inline LwStatus
lw_column_next(LwColumn *column, uint64_t *value, LwError *error)
{
	uint32_t	place = column->at % LW_INTPACK_BLOCK;

	if (place == 0)
	{
		uint32_t	left = column->list.count - column->at;
		LwStatus	status = lw_intpack_read(&column->list, column->at,
											 left < LW_INTPACK_BLOCK ? left : LW_INTPACK_BLOCK,
											 column->block, error);

		if (status != LW_OK)
			return status;
	}
	column->at++;
	*value = column->block[place];
	return LW_OK;
}

#endif							/* LW_SECTION_COLUMN_H */
