/*-------------------------------------------------------------------------
 *
 * error.h
 *	  From an LwError of the lower layers to an ereport.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_ERROR_H
#define LW_SERVER_ERROR_H

#include "postgres.h"

#include "format/error.h"

/* The SQLSTATE that the interface gives a status. */
extern int	lw_error_code(const LwError *error);

/* One line of text (palloc'ed): the file and what is wrong with it. */
extern char *lw_error_message(const LwError *error);

/*
 * Reports at `elevel`: message, DETAIL with the format's error name, HINT
 * where there is something to do.  Does not return when that is ERROR or above.
 */
extern void lw_report(int elevel, const LwError *error);

#endif							/* LW_SERVER_ERROR_H */
