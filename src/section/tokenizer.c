/*-------------------------------------------------------------------------
 *
 * tokenizer.c
 *	  Tokens of a text.
 *
 *-------------------------------------------------------------------------
 */
#include "section/tokenizer.h"

#include "section/tokenizer_table.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define SHORTEST 2				/* token, in code points */
#define LONG_I 0x130			/* the one code point whose lower case is two */

static bool
is_token_point(uint32_t point)
{
	size_t		low = 0;
	size_t		high = LENGTH(token_ranges);

	while (low < high)
	{
		size_t		middle = (low + high) / 2;

		if (token_ranges[middle].last < point)
			low = middle + 1;
		else
			high = middle;
	}
	return low < LENGTH(token_ranges) && token_ranges[low].first <= point;
}

static uint32_t
lower_of(uint32_t point)
{
	size_t		low = 0;
	size_t		high = LENGTH(lower_runs);

	while (low < high)
	{
		size_t		middle = (low + high) / 2;

		if (lower_runs[middle].last < point)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == LENGTH(lower_runs) || point < lower_runs[low].first ||
		(point - lower_runs[low].first) % (uint32_t) lower_runs[low].step != 0)
		return point;
	return (uint32_t) ((int32_t) point + lower_runs[low].distance);
}

int
lw_token_lower(uint32_t point, uint32_t lower[LW_LOWER_MAX])
{
	lower[0] = point;
	if (point < 0x80)
	{
		if (point >= 'A' && point <= 'Z')
			lower[0] = point + ('a' - 'A');
		return (lower[0] >= 'a' && lower[0] <= 'z') || (point >= '0' && point <= '9');
	}
	if (!is_token_point(point))
		return 0;
	if (point == LONG_I)
	{
		lower[0] = 'i';
		lower[1] = 0x307;
		return 2;
	}
	lower[0] = lower_of(point);
	return 1;
}

/*
 * Takes a code point of UTF-8; bytes that are none come one by one as
 * U+FFFD, which separates tokens.
 */
static uint32_t
take_point(LwTokenizer *tokenizer)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	const uint8_t *bytes = tokenizer->text.data + tokenizer->at++;
	size_t		left = tokenizer->text.size - tokenizer->at;
	uint32_t	point = bytes[0];
	size_t		more;
	size_t		i;

	if (point < 0x80)
		return point;
	more = point >= 0xf0 ? 3 : point >= 0xe0 ? 2 : 1;
	if (point < 0xc0 || point >= 0xf8 || more > left)
		return 0xfffd;
	point &= 0x3f >> more;
	for (i = 1; i <= more; i++)
	{
		uint8_t		byte = bytes[i];

		if ((byte & 0xc0) != 0x80)
			return 0xfffd;
		point = point << 6 | (byte & 0x3f);
	}
	if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 0xfffd;
	tokenizer->at += more;
	return point;
}

static void
put_point(LwBuffer *buffer, uint32_t point)
{
	uint8_t    *to = lw_buffer_reserve(buffer, 4);

	if (to == NULL)
		return;
	if (point < 0x80)
	{
		to[0] = (uint8_t) point;
		buffer->size += 1;
	}
	else if (point < 0x800)
	{
		to[0] = (uint8_t) (0xc0 | point >> 6);
		to[1] = (uint8_t) (0x80 | (point & 0x3f));
		buffer->size += 2;
	}
	else if (point < 0x10000)
	{
		to[0] = (uint8_t) (0xe0 | point >> 12);
		to[1] = (uint8_t) (0x80 | (point >> 6 & 0x3f));
		to[2] = (uint8_t) (0x80 | (point & 0x3f));
		buffer->size += 3;
	}
	else
	{
		to[0] = (uint8_t) (0xf0 | point >> 18);
		to[1] = (uint8_t) (0x80 | (point >> 12 & 0x3f));
		to[2] = (uint8_t) (0x80 | (point >> 6 & 0x3f));
		to[3] = (uint8_t) (0x80 | (point & 0x3f));
		buffer->size += 4;
	}
}

void
lw_tokenizer_init(LwTokenizer *tokenizer)
{
	LwBytes		nothing = {NULL, 0};

	lw_buffer_init(&tokenizer->token, 0);
	lw_tokenizer_start(tokenizer, nothing);
}

void
lw_tokenizer_free(LwTokenizer *tokenizer)
{
	lw_buffer_free(&tokenizer->token);
}

void
lw_tokenizer_start(LwTokenizer *tokenizer, LwBytes text)
{
	tokenizer->text = text;
	tokenizer->at = 0;
	tokenizer->token.size = 0;
	tokenizer->token.failed = false;
}

bool
lw_tokenizer_next(LwTokenizer *tokenizer)
{
	size_t		points = 0;

	tokenizer->token.size = 0;
	while (tokenizer->at < tokenizer->text.size)
	{
		uint32_t	lower[LW_LOWER_MAX];
		int			count = lw_token_lower(take_point(tokenizer), lower);
		int			i;

		for (i = 0; i < count; i++)
			put_point(&tokenizer->token, lower[i]);
		points += (size_t) count;
		if (count > 0)
			continue;
		if (points >= SHORTEST)
			break;
		points = 0;
		tokenizer->token.size = 0;
	}
	return points >= SHORTEST && !tokenizer->token.failed;
}
