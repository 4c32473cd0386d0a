/*-------------------------------------------------------------------------
 *
 * test_ids.c
 *	  ids.json: arrays of strings, and nothing else.
 *
 * cc -Isrc -Itest/unit -o test_ids test/unit/test_ids.c src/format/(any).c
 *
 *-------------------------------------------------------------------------
 */
#include "exact.h"
#include "format/ids.h"
#include "unit.h"

static LwStatus
parse(const char *text, size_t size, uint64_t documents, LwIds *ids, LwError *error)
{
	char	   *copy = exact_copy(text, size);
	LwStatus	status;

	memset(error, 0, sizeof(*error));
	memset(ids, 0xee, sizeof(*ids));
	status = lw_ids_parse(copy, size, documents, ids, error);
	free(copy);
	CHECK(status == LW_OK || (ids->bytes == NULL && ids->ends == NULL), "memory after an error");
	return status;
}

/* Whether id `row` is the bytes given. */
static bool
is(const LwIds *ids, uint64_t row, const char *bytes, size_t size)
{
	size_t		found;
	const char *id = lw_ids_get(ids, row, &found);

	return found == size && memcmp(id, bytes, size) == 0;
}

static void
test_accepted(void)
{
	static const char text[] =
	" [ \"doc-0\" ,\n\"\",\t\"\",\"\\u00e9\",\"\xc3\xa9\",\"e\\u0301\",\"\\ud83d\\ude00\","
	"\"a\\u0000b\",\"\x7f\",\"../../etc/passwd\",\"\\\"\\\\\\/\"] \r\n";
	LwIds		ids;
	LwError		error;

	CHECK(parse(text, strlen(text), 11, &ids, &error) == LW_OK, "%s", error.found);
	if (ids.bytes == NULL)
		return;
	CHECK(ids.count == 11, "%d ids", (int) ids.count);
	CHECK(is(&ids, 0, "doc-0", 5), "0");
	CHECK(is(&ids, 1, "", 0), "1");
	CHECK(is(&ids, 2, "", 0), "2");
	CHECK(is(&ids, 3, "\xc3\xa9", 2), "3");
	CHECK(is(&ids, 4, "\xc3\xa9", 2), "4");
	CHECK(is(&ids, 5, "e\xcc\x81", 3), "5");
	CHECK(is(&ids, 6, "\xf0\x9f\x98\x80", 4), "6");
	CHECK(is(&ids, 7, "a\0b", 3), "7");
	CHECK(is(&ids, 8, "\x7f", 1), "8");
	CHECK(is(&ids, 9, "../../etc/passwd", 16), "9");
	CHECK(is(&ids, 10, "\"\\/", 3), "10");
	lw_ids_free(&ids);
	CHECK(ids.bytes == NULL && ids.ends == NULL && ids.count == 0, "freed");

	CHECK(parse("[]", 2, 0, &ids, &error) == LW_OK && ids.count == 0, "no ids");
	lw_ids_free(&ids);
	CHECK(parse("[\"\"]", 4, 1, &ids, &error) == LW_OK && is(&ids, 0, "", 0), "the shortest id");
	lw_ids_free(&ids);
	CHECK(parse("[\"\",\"\",\"\"]", 10, 3, &ids, &error) == LW_OK && ids.count == 3, "the densest ids");
	lw_ids_free(&ids);
}

static void
test_refused(void)
{
	static const struct
	{
		const char *text;
		uint64_t	documents;
		const char *name;
		int64_t		offset;
		const char *found;
	}			cases[] = {
		{"", 0, "IdsJson", 0, "unexpected end"},
		{"null", 0, "IdsJson", 0, "a value that is no array"},
		{"{}", 0, "IdsJson", 0, "a value that is no array"},
		{"\"a\"", 1, "IdsJson", 0, "a value that is no array"},
		{"\xef\xbb\xbf[]", 0, "IdsJson", 0, "no value"},
		{"[\"a\",7]", 2, "IdsJson", 5, "a value that is no string"},
		{"[\"a\",null]", 2, "IdsJson", 5, "a value that is no string"},
		{"[\"a\",true]", 2, "IdsJson", 5, "a value that is no string"},
		{"[[\"a\"]]", 1, "IdsJson", 1, "a value that is no string"},
		{"[{\"a\":\"b\"}]", 1, "IdsJson", 1, "a value that is no string"},
		{"[\"a\",]", 1, "IdsJson", 5, "no value"},
		{"[\"a\" \"b\"]", 2, "IdsJson", 5, "no comma after a value"},
		{"[\"a\"", 1, "IdsJson", 4, "unexpected end"},
		{"[\"a", 1, "IdsJson", 3, "unterminated string"},
		{"[\"a\"]x", 1, "IdsJson", 5, "text after the value"},
		{"[\"a\"][]", 1, "IdsJson", 5, "text after the value"},
		{"[a]", 1, "IdsJson", 1, "no value"},
		{"['a']", 1, "IdsJson", 1, "no value"},
		{"[\"a\x1f\"]", 1, "IdsJson", 3, "control character in a string"},
		{"[\"a\xff\"]", 1, "IdsJson", 3, "invalid UTF-8"},
		{"[\"\xf4\x90\x80\x80\"]", 1, "IdsJson", 2, "invalid UTF-8"},
		{"[\"\xe2\x82\",\"\xac\"]", 2, "IdsJson", 2, "invalid UTF-8"},
		{"[\"ab\\ud800\"]", 1, "IdsJson", 4, "lone surrogate escape"},
		{"[\"\\ud83d\",\"\\ude00\"]", 2, "IdsJson", 2, "lone surrogate escape"},
		{"[\"a\\x41\"]", 1, "IdsJson", 4, "unknown escape"},
		{"[]", 1, "IdsCount", -1, "0 ids, 1 documents"},
		{"[\"a\"]", 0, "IdsCount", -1, "1 ids, 0 documents"},
		{"[\"a\",\"b\"]", 1, "IdsCount", -1, "2 ids, 1 documents"},
		{"[\"a\",\"b\"]", 3, "IdsCount", -1, "2 ids, 3 documents"},
		{"[\"\",\"\",\"\"]", 2, "IdsCount", -1, "3 ids, 2 documents"},
		{"[\"a\"]", UINT64_C(9223372036854775808), "IdsCount", -1, "1 ids, 9223372036854775808 documents"},
		{"[\"a\"]", UINT64_MAX, "IdsCount", -1, "1 ids, 18446744073709551615 documents"},
		{"[\"a\",\"b\"", 1, "IdsJson", 8, "unexpected end"},	/* syntax before the count */
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		LwIds		ids;
		LwError		error;
		LwStatus	status = parse(cases[i].text, strlen(cases[i].text), cases[i].documents, &ids, &error);

		CHECK(status == LW_MALFORMED && error.status == status, "%s: %d", cases[i].text, status);
		if (status != LW_MALFORMED)
			continue;
		CHECK(strcmp(error.name, cases[i].name) == 0, "%s: %s", cases[i].text, error.name);
		CHECK(error.offset == cases[i].offset, "%s: at %d", cases[i].text, (int) error.offset);
		CHECK(strcmp(error.found, cases[i].found) == 0, "%s: %s", cases[i].text, error.found);
	}
}

/* Brackets without end take no stack, and a raw NUL is a control character. */
static void
test_odd_bytes(void)
{
	const size_t deep = 1000000;
	char	   *text = malloc(deep);
	LwIds		ids;
	LwError		error;

	memset(text, '[', deep);
	CHECK(parse(text, deep, 1, &ids, &error) == LW_MALFORMED && error.offset == 1, "brackets");
	CHECK(parse("[\"\0\"]", 5, 1, &ids, &error) == LW_MALFORMED && error.offset == 2, "NUL");
	CHECK(parse("[\"a\"]", 6, 1, &ids, &error) == LW_MALFORMED && error.offset == 5, "NUL at the end");
	free(text);
}

/* Many ids, and one very long one. */
static void
test_many(void)
{
	const int	count = 100000;
	const size_t length = 16000000;
	char	   *text = malloc(length + 4);
	char	   *end = text;
	LwIds		ids;
	LwError		error;
	int			wrong = 0;
	int			i;

	for (i = 0; i < count; i++)
		end += sprintf(end, "%c\"%d\"", i == 0 ? '[' : ',', i);
	*end++ = ']';
	CHECK(parse(text, (size_t) (end - text), (uint64_t) count, &ids, &error) == LW_OK, "%s", error.found);
	for (i = 0; i < count && ids.bytes != NULL; i++)
	{
		char		id[16];
		int			size = snprintf(id, sizeof(id), "%d", i);

		wrong += !is(&ids, (uint64_t) i, id, (size_t) size);
	}
	CHECK(wrong == 0, "%d ids", wrong);
	lw_ids_free(&ids);

	memset(text, 'x', length + 4);
	memcpy(text, "[\"", 2);
	memcpy(text + length + 2, "\"]", 2);
	CHECK(parse(text, length + 4, 1, &ids, &error) == LW_OK && ids.ends[0] == length, "%s", error.found);
	lw_ids_free(&ids);
	free(text);
}

/* No proper prefix is an array. */
static void
test_truncated(void)
{
	static const char text[] = "[\"doc-0\",\"\\u00e9\\n\", \"\xf0\x9f\x98\x80\" , \"\\ud83d\\ude00\",\"\"]";
	size_t		size;

	for (size = 0; size < sizeof(text); size++)
	{
		LwIds		ids;
		LwError		error;
		LwStatus	status = parse(text, size, 5, &ids, &error);

		CHECK((status == LW_OK) == (size == sizeof(text) - 1), "the first %zu bytes: %d", size, status);
		if (status == LW_OK)
			lw_ids_free(&ids);
		else
			CHECK(strcmp(error.name, "IdsJson") == 0 && error.offset <= (int64_t) size,
				  "the first %zu bytes: %s at %d", size, error.name, (int) error.offset);
	}
}

int
main(void)
{
	test_accepted();
	test_refused();
	test_odd_bytes();
	test_many();
	test_truncated();
	return unit_done("ids");
}
