/*-------------------------------------------------------------------------
 *
 * tokenizer.h
 *	  Tokens of a text, as the reference's lexical index counts them.
 *
 * A token is a run of letters and numbers (by the reference's Unicode data,
 * tokenizer_table.h), each put into lower case by itself, if it has at least
 * two code points then.
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
	LwBuffer	token;			/* the last one, UTF-8 */
} LwTokenizer;

extern void lw_tokenizer_init(LwTokenizer *tokenizer);
extern void lw_tokenizer_free(LwTokenizer *tokenizer);

/* Begins a text, which is borrowed.  Bytes of it that are no UTF-8 separate tokens. */
extern void lw_tokenizer_start(LwTokenizer *tokenizer, LwBytes text);

/* Goes on to the next token; false at the end, and when memory runs out (token.failed). */
extern bool lw_tokenizer_next(LwTokenizer *tokenizer);

#define LW_LOWER_MAX 2			/* code points */

/* The lower case of a code point of tokens: how many code points it has; 0 for a separator. */
extern int	lw_token_lower(uint32_t point, uint32_t lower[LW_LOWER_MAX]);

#endif							/* LW_SECTION_TOKENIZER_H */
