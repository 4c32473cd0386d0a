/*-------------------------------------------------------------------------
 *
 * test_error.c
 *	  What an LwError says, and how it is cut.
 *
 * cc -Isrc -Itest/unit -o test_error test/unit/test_error.c src/format/error.c
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <string.h>

#include "format/error.h"
#include "unit.h"

static void
test_fail(void)
{
	char		longer[2 * LW_PATH_SIZE];
	LwError		error;

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	memset(&error, 0xee, sizeof(error));
	strcpy(error.path, "a path");

	CHECK(lw_fail(&error, LW_MALFORMED, "Name", 42, "what", "%d%s", 7, "\n\x7f\x80\xc3\xa9 ~") == LW_MALFORMED,
		  "status");
	CHECK(error.status == LW_MALFORMED, "status");
	CHECK(strcmp(error.name, "Name") == 0, "name");
	CHECK(error.offset == 42, "offset");
	CHECK(error.errnum == 0, "errnum");
	CHECK(strcmp(error.path, "a path") == 0, "path");
	CHECK(strcmp(error.expected, "what") == 0, "expected");
	CHECK(strcmp(error.found, "7????? ~") == 0, "%s", error.found);

	lw_fail(&error, LW_LIMIT, NULL, -1, longer, "%s", longer);
	CHECK(strlen(error.found) == LW_TEXT_SIZE - 1, "%zu", strlen(error.found));
	CHECK(strlen(error.expected) == LW_TEXT_SIZE - 1, "%zu", strlen(error.expected));
}

static void
test_errno(void)
{
	static const struct
	{
		int			errnum;
		LwStatus	status;
	}			cases[] = {
		{ENOENT, LW_MISSING},
		{ENOTDIR, LW_MISSING},
		{EACCES, LW_DENIED},
		{EPERM, LW_DENIED},
		{ENOMEM, LW_NO_MEMORY},
		{EIO, LW_IO},
		{ELOOP, LW_IO},
		{ENOSPC, LW_IO},
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		LwError		error;

		CHECK(lw_fail_errno(&error, cases[i].errnum, "open") == cases[i].status, "errno %d", cases[i].errnum);
		CHECK(error.status == cases[i].status && error.errnum == cases[i].errnum &&
			  error.name == NULL && error.offset == -1, "errno %d", cases[i].errnum);
		CHECK(strcmp(error.expected, "open") == 0 && error.found[0] != '\0', "errno %d", cases[i].errnum);
	}
}

static void
test_path(void)
{
	char		longer[2 * LW_PATH_SIZE];
	LwError		error;

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';

	lw_error_path(&error, "/a/b", "c.json");
	CHECK(strcmp(error.path, "/a/b/c.json") == 0, "%s", error.path);
	lw_error_path(&error, NULL, "c.json");
	CHECK(strcmp(error.path, "c.json") == 0, "%s", error.path);
	lw_error_path(&error, longer, "c.json");
	CHECK(strlen(error.path) == LW_PATH_SIZE - 1, "%zu", strlen(error.path));
	lw_error_path(&error, NULL, longer);
	CHECK(strlen(error.path) == LW_PATH_SIZE - 1, "%zu", strlen(error.path));
}

int
main(void)
{
	test_fail();
	test_errno();
	test_path();
	return unit_done("error");
}
