/*-------------------------------------------------------------------------
 *
 * tokenizer.h
 *	  Tokens of a text, as the reference's lexical index counts them.
 *
 * A token is a run of letters and numbers (by the reference's Unicode data,
 * tokenizer_table.c), each in lower case for itself, of at least two code
 * points after that.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_TOKENIZER_H
#define LW_SECTION_TOKENIZER_H

#include "section/bytes.h"

typedef struct LwTokenizer
{
	LwBytes		text;
	size_t		at;
	LwBuffer	token;			/* the last one */
} LwTokenizer;

/* The text is borrowed.  Bytes of it that are not UTF-8 separate tokens. */
extern void lw_tokenizer_init(LwTokenizer *tokenizer, LwBytes text);
extern void lw_tokenizer_free(LwTokenizer *tokenizer);

/* Goes on to the next token; false at the end, and when memory runs out (token.failed). */
extern bool lw_tokenizer_next(LwTokenizer *tokenizer);

#define LW_LOWER_MAX 2			/* code points */

/* Whether a code point belongs to tokens, and what it is in lower case: returns how many code points, 0 for a separator. */
extern int	lw_token_point(uint32_t point, uint32_t lower[LW_LOWER_MAX]);

#endif							/* LW_SECTION_TOKENIZER_H */
