/*-------------------------------------------------------------------------
 *
 * test_json.c
 *	  The pull reader: tokens, faults and strings.
 *
 * cc -Isrc -Itest/unit -o test_json test/unit/test_json.c src/format/(any).c
 *
 *-------------------------------------------------------------------------
 */
#include "exact.h"
#include "format/json.h"
#include "unit.h"

/* The letter a token is written as in the tables below. */
static char
letter(LwJsonToken token)
{
	static const char letters[] = {
		[LW_JSON_ERROR] = '!',[LW_JSON_END] = '.',
		[LW_JSON_OBJECT] = '{',[LW_JSON_OBJECT_END] = '}',
		[LW_JSON_ARRAY] = '[',[LW_JSON_ARRAY_END] = ']',
		[LW_JSON_NAME] = 'N',[LW_JSON_STRING] = 'S',[LW_JSON_NUMBER] = '#',
		[LW_JSON_TRUE] = 't',[LW_JSON_FALSE] = 'f',[LW_JSON_NULL] = '0'
	};

	return letters[token];
}

/* Reads all of a text; writes the letters, and leaves *reader at the last token. */
static void
read_all(LwJson *reader, const char *data, size_t size, char *letters, size_t room)
{
	LwJsonToken token;
	size_t		n = 0;

	lw_json_init(reader, data, size);
	do
	{
		token = lw_json_next(reader);
		if (n < room - 1)
			letters[n++] = letter(token);
	} while (token != LW_JSON_ERROR && token != LW_JSON_END);
	letters[n] = '\0';
}

/* A reader that has read the first token of a text. */
static LwJsonToken
first_token(LwJson *reader, const char *text, size_t size)
{
	lw_json_init(reader, text, size);
	return lw_json_next(reader);
}

static void
test_accepted(void)
{
	static const struct
	{
		const char *text;
		const char *letters;
	}			cases[] = {
		{"1", "#."},
		{" \t\r\n1 \t\r\n", "#."},
		{"\"\"", "S."},
		{"\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0aF9\x7f\"", "S."},
		{"\"\xff\xc0\"", "S."},	/* UTF-8 is a matter of decoding */
		{"\"\\ud800\"", "S."},	/* and so are surrogates */
		{"true", "t."},
		{"false", "f."},
		{"null", "0."},
		{"[]", "[]."},
		{"{}", "{}."},
		{"[ ]", "[]."},
		{"{ }", "{}."},
		{"[1,\"a\",true,false,null,[],{}]", "[#Stf0[]{}]."},
		{"{\"a\":1,\"a\":[{}],\"\":{\"b\":null}}", "{N#N[{}]N{N0}}."},
		{" { \"a\" : 1 , \"b\" : [ 2 , 3 ] } ", "{N#N[##]}."},
		{"[0,-0,1.5,-1.25e+10,1E-5,0.0,0e0,1e999]", "[########]."},
		{"[[[[[[[[]]]]]]]]", "[[[[[[[[]]]]]]]]."},
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		size_t		size = strlen(cases[i].text);
		char	   *copy = exact_copy(cases[i].text, size);
		char		letters[64];
		LwJson		reader;

		read_all(&reader, copy, size, letters, sizeof(letters));
		CHECK(strcmp(letters, cases[i].letters) == 0, "%s: %s", cases[i].text, letters);
		CHECK(lw_json_next(&reader) == LW_JSON_END, "%s: no second end", cases[i].text);
		free(copy);
	}
}

static void
test_refused(void)
{
	static const struct
	{
		const char *text;
		size_t		at;
		const char *problem;
	}			cases[] = {
		{"", 0, "unexpected end"},
		{"  ", 2, "unexpected end"},
		{"[", 1, "unexpected end"},
		{"[1", 2, "unexpected end"},
		{"[1,", 3, "unexpected end"},
		{"{", 1, "unexpected end"},
		{"{\"a\"", 4, "unexpected end"},
		{"{\"a\":", 5, "unexpected end"},
		{"{\"a\":1", 6, "unexpected end"},
		{"{\"a\":1,", 7, "unexpected end"},
		{"]", 0, "no value"},
		{"}", 0, "no value"},
		{",", 0, "no value"},
		{"[,1]", 1, "no value"},
		{"[1,]", 3, "no value"},
		{"[1,,2]", 3, "no value"},
		{"[1}", 2, "no comma after a value"},
		{"[1 2]", 3, "no comma after a value"},
		{"[1:2]", 2, "no comma after a value"},
		{"{\"a\":1]", 6, "no comma after a value"},
		{"{\"a\":1 \"b\":2}", 7, "no comma after a value"},
		{"{\"a\":1,}", 7, "no member name"},
		{"{,}", 1, "no member name"},
		{"{1:2}", 1, "no member name"},
		{"{a:2}", 1, "no member name"},
		{"{'a':2}", 1, "no member name"},
		{"{]", 1, "no member name"},
		{"{\"a\"}", 4, "no colon after a member name"},
		{"{\"a\",1}", 4, "no colon after a member name"},
		{"{\"a\":}", 5, "no value"},
		{"{\"a\"::1}", 5, "no value"},
		{"1 2", 2, "text after the value"},
		{"{}{}", 2, "text after the value"},
		{"[]]", 2, "text after the value"},
		{"1,", 1, "text after the value"},
		{"1\f", 1, "text after the value"},
		{"\v1", 0, "no value"},
		{"\xef\xbb\xbf" "1", 0, "no value"},
		{"/**/1", 0, "no value"},
		{"nul", 0, "unknown word"},
		{"nulL", 0, "unknown word"},
		{"tru", 0, "unknown word"},
		{"nulll", 4, "text after the value"},
		{"True", 0, "no value"},
		{"NaN", 0, "no value"},
		{"Infinity", 0, "no value"},
		{"-Infinity", 1, "number without digits"},
		{"-", 1, "number without digits"},
		{"--1", 1, "number without digits"},
		{"+1", 0, "no value"},
		{".5", 0, "no value"},
		{"01", 1, "leading zero in a number"},
		{"-01", 2, "leading zero in a number"},
		{"1.", 2, "no digits after the decimal point"},
		{"1.e5", 2, "no digits after the decimal point"},
		{"1e", 2, "no digits in the exponent"},
		{"1e+", 3, "no digits in the exponent"},
		{"1e-x", 3, "no digits in the exponent"},
		{"1x", 1, "text after the value"},
		{"0x10", 1, "text after the value"},
		{"\"", 1, "unterminated string"},
		{"\"a", 2, "unterminated string"},
		{"\"a\\\"", 4, "unterminated string"},
		{"\"\\", 2, "unterminated string"},
		{"\"\t\"", 1, "control character in a string"},
		{"\"\x1f\"", 1, "control character in a string"},
		{"\"\\x41\"", 2, "unknown escape"},
		{"\"\\'\"", 2, "unknown escape"},
		{"\"\\U0041\"", 2, "unknown escape"},
		{"\"\\u12\"", 5, "\\u without four hexadecimal digits"},
		{"\"\\u12g4\"", 5, "\\u without four hexadecimal digits"},
		{"\"\\u", 3, "\\u without four hexadecimal digits"},
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		size_t		size = strlen(cases[i].text);
		char	   *copy = exact_copy(cases[i].text, size);
		char		letters[64];
		LwJson		reader;

		read_all(&reader, copy, size, letters, sizeof(letters));
		CHECK(letters[strlen(letters) - 1] == '!', "%s: %s", cases[i].text, letters);
		if (reader.problem != NULL)
			CHECK(strcmp(reader.problem, cases[i].problem) == 0 && reader.at == cases[i].at,
				  "%s: %s at %zu", cases[i].text, reader.problem, reader.at);
		CHECK(lw_json_next(&reader) == LW_JSON_ERROR, "%s: the error went away", cases[i].text);
		free(copy);
	}
}

/* Bytes that a C string cannot show. */
static void
test_nul(void)
{
	char		letters[8];
	LwJson		reader;

	read_all(&reader, "1\0", 2, letters, sizeof(letters));
	CHECK(strcmp(letters, "#!") == 0 && reader.at == 1, "%s", letters);
	read_all(&reader, "\"\0\"", 3, letters, sizeof(letters));
	CHECK(strcmp(letters, "!") == 0 && reader.at == 1, "%s", letters);
	read_all(&reader, "\"\\\0\"", 4, letters, sizeof(letters));
	CHECK(strcmp(letters, "!") == 0 && reader.at == 2, "%s", letters);
	read_all(&reader, NULL, 0, letters, sizeof(letters));
	CHECK(strcmp(letters, "!") == 0 && reader.at == 0, "%s", letters);
}

/* No prefix of a text is a text, and none is read past its end. */
static void
test_truncated(void)
{
	static const char text[] = " {\"a\\u00e9\\n\": [-12.5e+3, true, false, null], \"b\": {\"\": \"c\"}}";
	size_t		size;

	for (size = 0; size < sizeof(text); size++)
	{
		char	   *copy = exact_copy(text, size);
		char		letters[64];
		LwJson		reader;

		read_all(&reader, copy, size, letters, sizeof(letters));
		CHECK((strchr(letters, '!') == NULL) == (size == sizeof(text) - 1),
			  "the first %zu bytes: %s", size, letters);
		free(copy);
	}
}

static void
test_depth(void)
{
	size_t		deep;

	for (deep = LW_JSON_MAX_DEPTH - 1; deep <= LW_JSON_MAX_DEPTH + 1; deep++)
	{
		size_t		size = 2 * deep;
		char	   *text = malloc(size);
		char		letters[8];
		LwJson		reader;
		LwJsonToken token;

		memset(text, '[', deep);
		memset(text + deep, ']', deep);
		read_all(&reader, text, size, letters, sizeof(letters));
		if (deep <= LW_JSON_MAX_DEPTH)
			CHECK(reader.problem == NULL && reader.pos == size, "%zu deep", deep);
		else
			CHECK(reader.problem != NULL && strcmp(reader.problem, "nested too deeply") == 0 &&
				  reader.at == LW_JSON_MAX_DEPTH, "%zu deep", deep);
		token = first_token(&reader, text, size);
		CHECK(lw_json_skip(&reader, token) == (deep <= LW_JSON_MAX_DEPTH), "%zu deep", deep);
		free(text);
	}
	CHECK(LW_JSON_MAX_DEPTH >= 1003, "a value 1,000 deep in a member of a segment");
}

/* The kinds of containers are kept apart at every depth. */
static void
test_mixed_depth(void)
{
	char		text[6 * 300 + 1];
	char		letters[8];
	LwJson		reader;
	size_t		n = 0;
	int			i;

	for (i = 0; i < 300; i++)
	{
		if (i % 3 == 0)
			text[n++] = '[';
		else
		{
			memcpy(text + n, "{\"\":", 4);
			n += 4;
		}
	}
	text[n++] = '1';
	for (i = 299; i >= 0; i--)
		text[n++] = i % 3 == 0 ? ']' : '}';
	read_all(&reader, text, n, letters, sizeof(letters));
	CHECK(reader.problem == NULL, "%s at %zu", reader.problem, reader.at);
	text[n - 100] = text[n - 100] == ']' ? '}' : ']';
	read_all(&reader, text, n, letters, sizeof(letters));
	CHECK(reader.problem != NULL && reader.at == n - 100, "at %zu", reader.at);
}

static void
test_skip(void)
{
	static const char text[] = "[{\"a\": [1, {}, \"\xff\"], \"b\": {\"c\": null}}, 2]";
	LwJson		reader;
	LwJsonToken token;

	token = first_token(&reader, text, strlen(text));
	CHECK(token == LW_JSON_ARRAY, "%c", letter(token));
	token = lw_json_next(&reader);
	CHECK(lw_json_skip(&reader, token), "%s", reader.problem);
	token = lw_json_next(&reader);
	CHECK(token == LW_JSON_NUMBER && reader.raw[0] == '2', "%c", letter(token));
	CHECK(lw_json_skip(&reader, token), "a number");
	token = lw_json_next(&reader);
	CHECK(token == LW_JSON_ARRAY_END, "%c", letter(token));
	token = lw_json_next(&reader);
	CHECK(token == LW_JSON_END, "%c", letter(token));

	token = first_token(&reader, "[[1, 2}", 7);
	CHECK(!lw_json_skip(&reader, token) && reader.at == 6, "at %zu", reader.at);
	CHECK(!lw_json_skip(&reader, LW_JSON_ERROR), "an error");
}

static void
test_decode(void)
{
	static const struct
	{
		const char *text;		/* with its quotes */
		const char *decoded;	/* NULL when refused, then: */
		size_t		at;
		const char *problem;
	}			cases[] = {
		{"\"\"", "", 0, NULL},
		{"\"abc\"", "abc", 0, NULL},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 0, NULL},
		{"\"\\u0041\\u00e9\\u20AC\\uFFFF\"", "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf", 0, NULL},
		{"\"\\u007f\\u0080\\u07ff\\u0800\"", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80", 0, NULL},
		{"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 0, NULL},
		{"\"\\ud800\\udc00\\udbff\\udfff\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 0, NULL},
		{"\"\\ud7ff\\ue000\"", "\xed\x9f\xbf\xee\x80\x80", 0, NULL},
		{"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 0, NULL},
		{"\"a\\ud83d\"", NULL, 2, "lone surrogate escape"},
		{"\"\\ude00\"", NULL, 1, "lone surrogate escape"},
		{"\"\\ude00\\ud83d\"", NULL, 1, "lone surrogate escape"},
		{"\"\\ud83dx\"", NULL, 1, "lone surrogate escape"},
		{"\"\\ud83d\\n12345\"", NULL, 1, "lone surrogate escape"},
		{"\"\\ud83d\\ud83d\\ude00\"", NULL, 1, "lone surrogate escape"},
		{"\"\\ud83d\\udbff\"", NULL, 1, "lone surrogate escape"},
		{"\"\\ud83d\\ue000\"", NULL, 1, "lone surrogate escape"},
		{"\"\\ud83d\\u0041\"", NULL, 1, "lone surrogate escape"},
		{"\"ab\xff\"", NULL, 3, "invalid UTF-8"},
		{"\"\xc0\x80\"", NULL, 1, "invalid UTF-8"},
		{"\"\xed\xa0\x80\"", NULL, 1, "invalid UTF-8"},
		{"\"\xf4\x90\x80\x80\"", NULL, 1, "invalid UTF-8"},
		{"\"\\n\xe2\x82\"", NULL, 3, "invalid UTF-8"},
		{"\"\xe2\x82\\u00ac\"", NULL, 1, "invalid UTF-8"},	/* no escape completes a character */
		{"\"\\u00e9\xa9\"", NULL, 7, "invalid UTF-8"},
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		size_t		size = strlen(cases[i].text);
		char	   *copy = exact_copy(cases[i].text, size);
		LwJson		reader;
		char	   *out;
		size_t		decoded = 0;
		bool		good;

		CHECK(first_token(&reader, copy, size) == LW_JSON_STRING, "%s", cases[i].text);
		out = malloc(reader.raw_size);
		good = lw_json_decode(&reader, out, &decoded);
		if (cases[i].decoded != NULL)
			CHECK(good && decoded == strlen(cases[i].decoded) &&
				  memcmp(out, cases[i].decoded, decoded) == 0, "%s", cases[i].text);
		else
			CHECK(!good && strcmp(reader.problem, cases[i].problem) == 0 &&
				  reader.at == cases[i].at && lw_json_next(&reader) == LW_JSON_ERROR,
				  "%s: at %zu", cases[i].text, reader.at);
		free(out);
		free(copy);
	}
}

/* U+0000 is a character like any other. */
static void
test_decode_nul(void)
{
	LwJson		reader;
	char		out[16];
	size_t		size = 0;

	first_token(&reader, "\"a\\u0000b\"", 10);
	CHECK(lw_json_decode(&reader, out, &size) && size == 3 && memcmp(out, "a\0b", 3) == 0,
		  "%zu bytes", size);
}

/* Every code point, as one escape or two, decodes to its UTF-8. */
static void
test_decode_all(void)
{
	uint32_t	code;
	int			wrong = 0;

	for (code = 0; code <= 0x10ffff; code++)
	{
		LwJson		reader;
		char		text[16];
		char		out[16];
		size_t		size = 0;
		uint32_t	back = 0;
		size_t		i;
		int			length;

		if (code < 0x10000)
			length = snprintf(text, sizeof(text), "\"\\u%04x\"", code);
		else
			length = snprintf(text, sizeof(text), "\"\\u%04x\\u%04X\"",
							  0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
		first_token(&reader, text, (size_t) length);
		if (!lw_json_decode(&reader, out, &size))
		{
			wrong += code < 0xd800 || code > 0xdfff;
			continue;
		}
		back = (unsigned char) out[0];
		if (size > 1)
			back &= 0x7fu >> size;
		for (i = 1; i < size; i++)
			back = back << 6 | ((unsigned char) out[i] & 0x3f);
		wrong += back != code;
	}
	CHECK(wrong == 0, "%d code points", wrong);
}

/* Whatever another process writes over a string, decoding stays inside it. */
static void
test_decode_changed(void)
{
	static const char text[] = "\"\\u00e9\\ud83d\\ude00abcdefgh\"";
	static const char *const pieces[] = {
		"\\", "\\u", "\\u0", "\\uffff", "\\ud83d", "\\ud83d\\", "\\ud83d\\u", "\\ud83d\\ude00", "\"", "\xf0", "\xe2\x82", "a", "\\q"
	};
	const size_t npieces = sizeof(pieces) / sizeof(pieces[0]);
	size_t		a;
	size_t		b;
	size_t		c;

	for (a = 0; a < npieces; a++)
		for (b = 0; b < npieces; b++)
			for (c = 0; c < npieces; c++)
			{
				char	   *copy = exact_copy(text, strlen(text));
				char		fill[64];
				LwJson		reader;
				char	   *out;
				size_t		raw_size;
				size_t		size = 0;
				size_t		i;
				int			length;

				first_token(&reader, copy, strlen(text));
				raw_size = reader.raw_size;
				length = snprintf(fill, sizeof(fill), "%s%s%s", pieces[a], pieces[b], pieces[c]);
				for (i = 0; i < raw_size; i++)
					copy[1 + i] = fill[i % (size_t) length];
				out = malloc(raw_size);
				CHECK(!lw_json_decode(&reader, out, &size) || size <= raw_size, "%s", fill);
				free(out);
				free(copy);
			}
}

int
main(void)
{
	test_accepted();
	test_refused();
	test_nul();
	test_truncated();
	test_depth();
	test_mixed_depth();
	test_skip();
	test_decode();
	test_decode_nul();
	test_decode_all();
	test_decode_changed();
	return unit_done("json");
}
