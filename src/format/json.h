/*-------------------------------------------------------------------------
 *
 * json.h
 *	  A pull reader of JSON text, for the files of both formats.
 *
 * It works over bytes that lie in memory (usually a map), allocates nothing,
 * does not recurse and never trusts a byte twice: another process may change
 * a mapped file at any moment, so every access is bounded by `size` alone.
 * Numbers stay text, since the formats hold 64-bit integers that a double
 * would lose.  Syntax is RFC 8259 exactly (JSON whitespace only, no byte
 * order mark, no trailing commas, no bare control characters in strings).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_FORMAT_JSON_H
#define LW_FORMAT_JSON_H

#include "error.h"

/* The formats ask for 1,000 levels in a value that lies some levels down itself. */
#define LW_JSON_MAX_DEPTH 1024

typedef enum LwJsonToken
{
	LW_JSON_ERROR,				/* reader.problem and reader.at say what and where */
	LW_JSON_END,				/* the value has ended and nothing but whitespace follows */
	LW_JSON_OBJECT,				/* { */
	LW_JSON_OBJECT_END,
	LW_JSON_ARRAY,				/* [ */
	LW_JSON_ARRAY_END,
	LW_JSON_NAME,				/* a member's name; its value is the next token */
	LW_JSON_STRING,
	LW_JSON_NUMBER,
	LW_JSON_TRUE,
	LW_JSON_FALSE,
	LW_JSON_NULL
} LwJsonToken;

typedef struct LwJson
{
	const char *data;
	size_t		size;
	size_t		pos;			/* next byte to look at */

	/* of the last token */
	size_t		at;				/* its first byte; for LW_JSON_ERROR the byte at fault */
	const char *raw;			/* NAME, STRING: between the quotes; NUMBER: its digits */
	size_t		raw_size;
	const char *problem;		/* LW_JSON_ERROR: a literal such as "unterminated string" */

	/* inner state */
	int			depth;
	int			state;
	uint64_t	is_object[(LW_JSON_MAX_DEPTH + 63) / 64];
} LwJson;

extern void lw_json_init(LwJson *reader, const void *data, size_t size);
extern LwJsonToken lw_json_next(LwJson *reader);

/*
 * Skips the value whose first token is `first` (as lw_json_next gave it):
 * returns false on a syntax error, with the reader as after LW_JSON_ERROR.
 * Strings inside are held to JSON syntax only, not to valid UTF-8.
 */
extern bool lw_json_skip(LwJson *reader, LwJsonToken first);

/*
 * Decodes the last NAME or STRING into `out`, which must have room for
 * raw_size bytes (decoding never makes it longer), and sets *size.  Escapes are decoded, surrogate pairs
 * combined; U+0000 is kept.  False when it is not valid UTF-8 or holds a lone
 * surrogate escape; then reader->problem and reader->at are set.
 */
extern bool lw_json_decode(LwJson *reader, char *out, size_t *size);

/* The last NUMBER as an unsigned 64-bit integer in plain digits; false for anything else ("1.0", "-0", 2^64, ...). */
extern bool lw_json_uint64(const LwJson *reader, uint64_t *value);

/* The last NUMBER as the nearest double; false when it is not finite. */
extern bool lw_json_double(const LwJson *reader, double *value);

#endif							/* LW_FORMAT_JSON_H */
