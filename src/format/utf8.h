/*-------------------------------------------------------------------------
 *
 * utf8.h
 *	  Strict UTF-8 (no overlong forms, no surrogates, nothing past U+10FFFF).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_FORMAT_UTF8_H
#define LW_FORMAT_UTF8_H

#include <stddef.h>

/* Length of the valid prefix; equals `size` when all of it is valid. */
extern size_t lw_utf8_valid(const char *data, size_t size);

#endif							/* LW_FORMAT_UTF8_H */
