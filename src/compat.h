/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs among the PostgreSQL versions that lateweave builds with.
 *
 * The only file that looks at PG_VERSION_NUM; everything else is written for
 * the newest version and includes this.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_COMPAT_H
#define LW_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM >= 160000

#include "varatt.h"

#else

#ifndef palloc_array
#define palloc_array(type, count) ((type *) palloc(sizeof(type) * (Size) (count)))
#endif

/* Input errors cannot be soft before 16: the caller never asks, so they are raised. */
#define errsave(context, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
	} while (0)

#endif

#if PG_VERSION_NUM >= 170000
#define lw_estimate_array_length(root, array) estimate_array_length(root, array)
#else
#define lw_estimate_array_length(root, array) ((double) estimate_array_length(array))
#endif

#endif							/* LW_COMPAT_H */
