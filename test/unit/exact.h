/*-------------------------------------------------------------------------
 *
 * exact.h
 *	  Copies that end where their bytes end.
 *
 * The parsers are handed maps of files.  A copy in its own allocation lets
 * the address sanitizer and valgrind see a read one byte past the end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_UNIT_EXACT_H
#define LW_UNIT_EXACT_H

#include <stdlib.h>
#include <string.h>

static inline char *
exact_copy(const void *data, size_t size)
{
	char	   *copy = malloc(size);

	if (copy == NULL && size > 0)
		abort();
	if (size > 0)
		memcpy(copy, data, size);
	return copy;
}

#endif							/* LW_UNIT_EXACT_H */
