/*-------------------------------------------------------------------------
 *
 * canon.h
 *	  JSON as the format writes it: no whitespace, one way for each string and
 *	  number.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_CANON_H
#define LW_SECTION_CANON_H

#include "section/bytes.h"

/* Containers that may be open at a time, the outermost included. */
#define LW_CANON_DEPTH 127

/* A string in quotes; it must be UTF-8. */
extern void lw_put_json_string(LwBuffer *json, LwBytes string);
extern void lw_put_json_uint64(LwBuffer *json, uint64_t value);
extern void lw_put_json_int64(LwBuffer *json, int64_t value);

/* A finite number, with the fewest digits that read back as it is. */
extern void lw_put_json_double(LwBuffer *json, double value);

/*
 * Writes a JSON value anew, keys in their order: integers from -2^63 to
 * 2^64 - 1 stay, all other numbers are read as the reference reads them (not
 * always the nearest double) and written shortest.  At most `depth` containers
 * may be open at a time.  What is no such JSON is the error Json.
 */
extern LwStatus lw_put_json(LwBuffer *json, LwBytes text, int depth, LwError *error);

/* A JSON number, not an integer in range, as the reference reads it; false when it is too large. */
extern bool lw_json_quirk_double(const char *digits, size_t size, double *value);

#endif							/* LW_SECTION_CANON_H */
