/*-------------------------------------------------------------------------
 *
 * test_npy.c
 *	  Headers of .npy files.
 *
 * cc -Isrc -Itest/unit -o test_npy test/unit/test_npy.c src/format/(any).c
 *
 *-------------------------------------------------------------------------
 */
#include "exact.h"
#include "format/npy.h"
#include "unit.h"

/*
 * Builds a file: the header's text, spaces so that the data begin at a
 * multiple of `align` plus `shift`, a newline, and `bytes` of data.
 */
static char *
build(int major, const char *header, size_t align, size_t shift, size_t bytes, size_t *size)
{
	size_t		preamble = major == 1 ? 10 : 12;
	size_t		length = strlen(header) + 1;
	char	   *file;

	length += (align - (preamble + length) % align) % align + shift;
	*size = preamble + length + bytes;
	file = malloc(*size);
	memset(file, ' ', *size);
	memcpy(file, "\x93NUMPY", 6);
	file[6] = (char) major;
	file[7] = 0;
	file[8] = (char) (length & 0xff);
	file[9] = (char) (length >> 8 & 0xff);
	if (major != 1)
	{
		file[10] = (char) (length >> 16 & 0xff);
		file[11] = (char) (length >> 24 & 0xff);
	}
	memcpy(file + preamble, header, strlen(header));
	file[preamble + length - 1] = '\n';
	return file;
}

static LwStatus
parse(const char *data, size_t size, LwNpy *npy, LwError *error)
{
	char	   *copy = exact_copy(data, size);
	LwStatus	status;

	memset(error, 0, sizeof(*error));
	memset(npy, 0xee, sizeof(*npy));
	status = lw_npy_parse(copy, size, npy, error);
	free(copy);
	return status;
}

#define HEADER(descr, shape) "{'descr': " descr ", 'fortran_order': False, 'shape': " shape ", }"

static void
test_accepted(void)
{
	static const struct
	{
		const char *header;
		size_t		bytes;
		LwNpyType	type;
		int			axes;
		uint64_t	shape[3];
	}			cases[] = {
		{HEADER("'<f4'", "(2, 3)"), 24, LW_NPY_FLOAT32, 2, {2, 3}},
		{HEADER("'<f4'", "(5,)"), 20, LW_NPY_FLOAT32, 1, {5}},
		{HEADER("'|i1'", "(2, 3)"), 6, LW_NPY_INT8, 2, {2, 3}},
		{HEADER("'<i1'", "(2, 3)"), 6, LW_NPY_INT8, 2, {2, 3}},
		{HEADER("'<u8'", "(3,)"), 24, LW_NPY_UINT64, 1, {3}},
		{HEADER("'<u8'", "(0,)"), 0, LW_NPY_UINT64, 1, {0}},
		{HEADER("'<u8'", "()"), 8, LW_NPY_UINT64, 0, {0}},
		{HEADER("'<f4'", "(2, 3, 1)"), 24, LW_NPY_FLOAT32, 3, {2, 3, 1}},
		{HEADER("'<f4'", "(0, 18446744073709551615)"), 0, LW_NPY_FLOAT32, 2, {0, UINT64_MAX}},
		{HEADER("'|i1'", "(18446744073709551615, 0)"), 0, LW_NPY_INT8, 2, {UINT64_MAX, 0}},
		{HEADER("'<f4'", "(4611686018427387903, 0)"), 0, LW_NPY_FLOAT32, 2, {UINT64_C(4611686018427387903), 0}},
		{"{'shape': (2, 3), 'descr': '<f4', 'fortran_order': False}", 24, LW_NPY_FLOAT32, 2, {2, 3}},
		{"{'descr':'<f4','fortran_order':False,'shape':(2,3)}", 24, LW_NPY_FLOAT32, 2, {2, 3}},
		{"{'descr':\t\n'<f4' , 'fortran_order':   False ,'shape':\v\f\r(  2\t,\n3 ,)}", 24, LW_NPY_FLOAT32, 2, {2, 3}},
		{"{'descr': \xc2\xa0'<f4', 'fortran_order':\xe3\x80\x80" "False, 'shape': (2\xe2\x80\x89, 3)}", 24, LW_NPY_FLOAT32, 2, {2, 3}},
		{"{'\xc3\xa9': 1, 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", 24, LW_NPY_FLOAT32, 2, {2, 3}},
	};
	size_t		i;
	int			major;
	int			axis;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (major = 1; major <= 3; major++)
		{
			size_t		size;
			char	   *file = build(major, cases[i].header, 64, 0, cases[i].bytes, &size);
			LwNpy		npy;
			LwError		error;

			CHECK(parse(file, size, &npy, &error) == LW_OK, "%s: %s", cases[i].header, error.found);
			CHECK(npy.type == cases[i].type && npy.axes == cases[i].axes, "%s", cases[i].header);
			for (axis = 0; axis < npy.axes && axis < 3; axis++)
				CHECK(npy.shape[axis] == cases[i].shape[axis], "%s", cases[i].header);
			CHECK(npy.data_offset == size - cases[i].bytes, "%s: data at %zu", cases[i].header, npy.data_offset);
			free(file);
		}
}

static void
test_refused(void)
{
	static const struct
	{
		const char *header;
		size_t		bytes;
		const char *name;
		const char *at;			/* the text that the error points at, "" for the data, NULL for no place */
	}			cases[] = {
		{"", 24, "Npy", " "},
		{"__import__('os').system('true')", 24, "Npy", "__import"},
		{"{'fortran_order': False, 'shape': (2, 3), }", 24, "Npy", "{"},
		{"{'descr': '<f4', 'shape': (2, 3), }", 24, "Npy", "{"},
		{"{'descr': '<f4', 'fortran_order': False, }", 24, "Npy", "{"},
		{"{\"descr\": '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, "Npy", "{"},
		{"{'descr' : '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, "Npy", "{"},
		{HEADER("\"<f4\"", "(2, 3)"), 24, "Npy", "\"<f4"},
		{HEADER("'>f4'", "(2, 3)"), 24, "Npy", "'>f4"},
		{HEADER("'=f4'", "(2, 3)"), 24, "Npy", "'=f4"},
		{HEADER("'<f8'", "(2, 3)"), 48, "Npy", "'<f8"},
		{HEADER("'<f2'", "(2, 6)"), 24, "Npy", "'<f2"},
		{HEADER("'<i4'", "(2, 3)"), 24, "Npy", "'<i4"},
		{HEADER("'<i8'", "(3,)"), 24, "Npy", "'<i8"},
		{HEADER("'|u1'", "(2, 3)"), 6, "Npy", "'|u1"},
		{HEADER("'|b1'", "(2, 3)"), 6, "Npy", "'|b1"},
		{HEADER("'|O'", "(2, 3)"), 24, "Npy", "'|O"},
		{HEADER("[('a', '<f4')]", "(2, 3)"), 24, "Npy", "[('a"},
		{HEADER("'<f4", "(2, 3)"), 24, "Npy", "'<f4"},
		{HEADER("<f4", "(2, 3)"), 24, "Npy", "<f4"},
		{"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24, "Npy", "True"},
		{"{'descr': '<f4', 'fortran_order': Fals, 'shape': (2, 3), }", 24, "Npy", "Fals"},
		{"{'descr': '<f4', 'fortran_order': false, 'shape': (2, 3), }", 24, "Npy", "false"},
		{"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }", 24, "Npy", "0"},
		{HEADER("'<f4'", "[2, 3]"), 24, "Npy", "[2"},
		{HEADER("'<f4'", "2"), 8, "Npy", "2"},
		{HEADER("'<f4'", "(-2, -3)"), 24, "Npy", "-2"},
		{HEADER("'<f4'", "(2, -3)"), 24, "Npy", "-3"},
		{HEADER("'<f4'", "(2.0, 3)"), 24, "Npy", "2.0"},
		{HEADER("'<f4'", "(0x2, 3)"), 24, "Npy", "0x2"},
		{HEADER("'<f4'", "(2L, 3L)"), 24, "Npy", "2L"},
		{HEADER("'<f4'", "(2_0, 3)"), 240, "Npy", "2_0"},
		{HEADER("'<f4'", "(2 3)"), 24, "Npy", "2 3"},
		{HEADER("'<f4'", "((2, 3))"), 24, "Npy", "(2, 3)"},
		{HEADER("'<f4'", "(2, 3"), 24, "Npy", "}"},
		{HEADER("'<f4'", "(18446744073709551616, 3)"), 24, "Npy", "1844"},
		{HEADER("'<f4'", "(3, 18446744073709551616)"), 24, "Npy", "1844"},
		{HEADER("'<f4'", "(4611686018427387904, 1)"), 0, "Npy", "4611"},
		{HEADER("'<f4'", "(4611686018427387910,)"), 24, "Npy", "4611"},
		{HEADER("'<f4'", "(2, 4611686018427387907)"), 24, "Npy", "4611"},
		{HEADER("'<f4'", "(18446744073709551615, 0)"), 0, "Npy", "1844"},
		{HEADER("'|i1'", "(4294967296, 4294967296, 0)"), 0, "Npy", "4294967296, 0"},
		{HEADER("'<f4'", "(2, 3)"), 23, "Npy", ""},
		{HEADER("'<f4'", "(2, 3)"), 25, "Npy", ""},
		{HEADER("'<f4'", "(2, 3)"), 0, "Npy", ""},
		{HEADER("'<f4'", "()"), 24, "Npy", ""},
		{HEADER("'<f4'", "(4611686018427387903,)"), 24, "Npy", ""},
		{HEADER("'<f4'", "(2, 3, 1, 1, 1, 1, 1, 1, 1)"), 24, "ArrayShape", NULL},
		{HEADER("'<f4'", "(2, 3, 1, 1, 1, 1, 1, 1, 2)"), 24, "Npy", ""},
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		size_t		size;
		char	   *file = build(1, cases[i].header, 64, 0, cases[i].bytes, &size);
		int64_t		offset = -1;
		LwNpy		npy;
		LwError		error;
		LwStatus	status = parse(file, size, &npy, &error);

		if (cases[i].at != NULL && cases[i].at[0] == '\0')
			offset = (int64_t) (size - cases[i].bytes);
		else if (cases[i].at != NULL)
			offset = 10 + (strlen(cases[i].header) == 0 ? 0 :
						   strstr(cases[i].header, cases[i].at) - cases[i].header);
		CHECK(status == LW_MALFORMED && error.status == status, "%s: %d", cases[i].header, status);
		if (status == LW_MALFORMED)
		{
			CHECK(strcmp(error.name, cases[i].name) == 0, "%s: %s", cases[i].header, error.name);
			CHECK(error.offset == offset, "%s: at %d, not %d", cases[i].header,
				  (int) error.offset, (int) offset);
			CHECK(error.expected[0] != '\0' && error.found[0] != '\0', "%s", cases[i].header);
		}
		free(file);
	}
}

/* Magic, version and header length. */
static void
test_preamble(void)
{
	static const struct
	{
		int			major;
		size_t		at;
		char		byte;
		bool		good;
		int64_t		offset;
	}			cases[] = {
		{1, 0, '\x94', false, 0},
		{1, 5, 'y', false, 0},
		{1, 6, 0, false, 6},
		{1, 6, 4, false, 6},
		{1, 6, '\xff', false, 6},
		{1, 7, 9, true, 0},
		{1, 9, '\xff', false, 8},
		{1, 9, 1, false, 8},
		{2, 9, 1, false, 8},
		{2, 10, 1, false, 8},
		{3, 11, '\xff', false, 8},
		{1, 90, '\xe9', false, 90},
		{1, 90, '\0', true, 0},
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		size_t		size;
		char	   *file = build(cases[i].major, HEADER("'<f4'", "(2, 3)"), 64, 0, 24, &size);
		LwNpy		npy;
		LwError		error;
		LwStatus	status;

		file[cases[i].at] = cases[i].byte;
		status = parse(file, size, &npy, &error);
		CHECK((status == LW_OK) == cases[i].good, "byte %zu: %d", cases[i].at, status);
		if (status != LW_OK)
			CHECK(strcmp(error.name, "Npy") == 0 && error.offset == cases[i].offset,
				  "byte %zu: %s at %d", cases[i].at, error.name, (int) error.offset);
		free(file);
	}
}

/* Data are aligned to their elements, from the start of the file. */
static void
test_aligned(void)
{
	static const struct
	{
		const char *header;
		size_t		element;
	}			cases[] = {
		{HEADER("'<f4'", "(6,)"), 4},
		{HEADER("'<u8'", "(3,)"), 8},
		{HEADER("'|i1'", "(24,)"), 1},
	};
	size_t		i;
	size_t		shift;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (shift = 0; shift <= 16; shift++)
		{
			size_t		size;
			char	   *file = build(1, cases[i].header, 16, shift, 24, &size);
			LwNpy		npy;
			LwError		error;
			LwStatus	status = parse(file, size, &npy, &error);

			CHECK((status == LW_OK) == (shift % cases[i].element == 0), "%s shifted by %zu",
				  cases[i].header, shift);
			if (status != LW_OK)
				CHECK(strcmp(error.name, "ArrayShape") == 0 && error.offset == (int64_t) (size - 24),
					  "%s shifted by %zu", cases[i].header, shift);
			free(file);
		}
}

/* A header of any length and any number of axes. */
static void
test_long(void)
{
	char	   *header = malloc(400000);
	char	   *end = header;
	size_t		size;
	char	   *file;
	LwNpy		npy;
	LwError		error;
	int			i;

	strcpy(header, HEADER("'<f4'", "(2, 3)"));
	file = build(1, header, 65536 - 64, 0, 24, &size);
	CHECK(parse(file, size, &npy, &error) == LW_OK, "%s", error.found);
	free(file);
	file = build(2, header, 1000000, 0, 24, &size);
	CHECK(parse(file, size, &npy, &error) == LW_OK && npy.data_offset == 1000000, "%s", error.found);
	free(file);

	end += sprintf(end, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, ");
	for (i = 0; i < 100000; i++)
		end += sprintf(end, "1, ");
	sprintf(end, "), }");
	file = build(2, header, 64, 0, 24, &size);
	CHECK(parse(file, size, &npy, &error) == LW_MALFORMED && strcmp(error.name, "ArrayShape") == 0,
		  "100,000 axes");
	free(file);
	free(header);
}

static void
test_expect(void)
{
	static const LwNpy vectors = {LW_NPY_FLOAT32, 2, {315, 7}, 128};
	static const LwNpy offsets = {LW_NPY_UINT64, 1, {21}, 128};
	static const LwNpy scalar = {LW_NPY_UINT64, 0, {0}, 128};
	static const LwNpy widest = {LW_NPY_INT8, LW_NPY_MAX_AXES,
		{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, 128};
	LwError		error;

	CHECK(lw_npy_expect(&vectors, LW_NPY_FLOAT32, 2, 315, 7, &error) == LW_OK, "equal");
	CHECK(lw_npy_expect(&offsets, LW_NPY_UINT64, 1, 21, 5, &error) == LW_OK, "columns are ignored");

	CHECK(lw_npy_expect(&vectors, LW_NPY_FLOAT32, 2, 315, 8, &error) == LW_MALFORMED, "columns");
	CHECK(strcmp(error.name, "ArrayShape") == 0 && error.offset == -1 &&
		  strcmp(error.expected, "'<f4' (315, 8)") == 0 &&
		  strcmp(error.found, "'<f4' (315, 7)") == 0, "%s: %s", error.expected, error.found);
	CHECK(lw_npy_expect(&vectors, LW_NPY_FLOAT32, 2, 7, 315, &error) == LW_MALFORMED, "swapped");
	CHECK(lw_npy_expect(&vectors, LW_NPY_INT8, 2, 315, 7, &error) == LW_MALFORMED, "type");
	CHECK(lw_npy_expect(&vectors, LW_NPY_FLOAT32, 1, 315, 0, &error) == LW_MALFORMED, "axes");
	CHECK(lw_npy_expect(&offsets, LW_NPY_UINT64, 1, 20, 0, &error) == LW_MALFORMED, "rows");
	CHECK(strcmp(error.expected, "'<u8' (20,)") == 0 && strcmp(error.found, "'<u8' (21,)") == 0,
		  "%s: %s", error.expected, error.found);
	CHECK(lw_npy_expect(&offsets, LW_NPY_UINT64, 2, 21, 0, &error) == LW_MALFORMED, "axes");
	CHECK(lw_npy_expect(&scalar, LW_NPY_UINT64, 1, 0, 0, &error) == LW_MALFORMED, "no axes");
	CHECK(strcmp(error.found, "'<u8' ()") == 0, "%s", error.found);
	CHECK(lw_npy_expect(&widest, LW_NPY_INT8, 2, UINT64_MAX, UINT64_MAX, &error) == LW_MALFORMED, "axes");
	CHECK(error.found[strlen(error.found) - 1] == ')', "%s", error.found);
}

/* No proper prefix is a file, and nor is one with any byte of it changed read out of bounds. */
static void
test_truncated(void)
{
	static const char bytes[] = "\0\xff\x80 '(),:9";
	int			major;

	for (major = 1; major <= 2; major++)
	{
		size_t		full;
		char	   *file = build(major, HEADER("'<u8'", "(3,)"), 64, 0, 24, &full);
		size_t		size;
		size_t		i;
		LwNpy		npy;
		LwError		error;

		for (size = 0; size < full; size++)
			CHECK(parse(file, size, &npy, &error) == LW_MALFORMED && strcmp(error.name, "Npy") == 0 &&
				  error.offset <= (int64_t) size, "the first %zu bytes", size);
		for (size = 0; size < full; size++)
			for (i = 0; i < sizeof(bytes) - 1; i++)
			{
				char		kept = file[size];
				LwStatus	status;

				file[size] = bytes[i];
				status = parse(file, full, &npy, &error);
				CHECK(status == LW_MALFORMED ||
					  (npy.data_offset <= full && npy.axes <= LW_NPY_MAX_AXES), "byte %zu", size);
				file[size] = kept;
			}
		free(file);
	}
}

/* What is written is read, whatever the numbers, and is what numpy would have written. */
static void
test_written(void)
{
	static const struct
	{
		LwNpyType	type;
		int			axes;
		uint64_t	rows;
		uint64_t	columns;
		const char *text;
	}			cases[] = {
		{LW_NPY_FLOAT32, 2, 6, 4, "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 4), }"},
		{LW_NPY_INT8, 2, 0, UINT64_MAX, "{'descr': '|i1', 'fortran_order': False, 'shape': (0, 18446744073709551615), }"},
		{LW_NPY_UINT64, 1, 6, 9, "{'descr': '<u8', 'fortran_order': False, 'shape': (6,), }"},
		{LW_NPY_INT8, 2, UINT64_MAX, UINT64_MAX,
		"{'descr': '|i1', 'fortran_order': False, 'shape': (18446744073709551615, 18446744073709551615), }"},
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char	   *header = malloc(LW_NPY_HEADER_SIZE);
		LwError		error;
		LwNpy		npy;
		LwStatus	status;

		lw_npy_header(cases[i].type, cases[i].axes, cases[i].rows, cases[i].columns, header);
		CHECK(memcmp(header, "\x93NUMPY\x01\0\x76\0", 10) == 0, "case %zu: preamble", i);
		CHECK(memcmp(header + 10, cases[i].text, strlen(cases[i].text)) == 0, "case %zu: %.117s", i, header + 10);
		CHECK(strspn(header + 10 + strlen(cases[i].text), " ") == 117 - strlen(cases[i].text) && header[127] == '\n',
			  "case %zu: padding", i);
		status = lw_npy_parse(header, LW_NPY_HEADER_SIZE, &npy, &error);
		CHECK((status == LW_OK) == (cases[i].rows == 0), "case %zu: %d", i, status);
		CHECK(status != LW_OK || lw_npy_expect(&npy, cases[i].type, cases[i].axes, cases[i].rows, cases[i].columns, &error) == LW_OK,
			  "case %zu: another shape", i);
		free(header);
	}
}

int
main(void)
{
	test_accepted();
	test_refused();
	test_preamble();
	test_aligned();
	test_long();
	test_expect();
	test_truncated();
	test_written();
	return unit_done("npy");
}
