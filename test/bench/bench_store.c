/*-------------------------------------------------------------------------
 *
 * bench_store.c
 *	  Writes what bench_kernel measures first as vector stores, for the programs
 *	  that are not C.
 *
 *	bench_store DIRECTORY
 *
 * makes DIRECTORY with the stores int8 and float32 of the same documents, named
 * document-0, document-1, ..., and query.f32, the bare values of the query.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data.h"

/* Length of a .npy header here, a multiple of 64. */
#define HEADER 128

static void
make_directory(const char *path)
{
	if (mkdir(path, 0755) != 0)
		die("could not make the directory %s", path);
}

static FILE *
create(const char *directory, const char *name)
{
	char		path[1000];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "wb");
	if (file == NULL)
		die("could not create %s", path);
	return file;
}

/* Also tells whether all that was written before is in the file. */
static void
finish(FILE *file)
{
	if (ferror(file) || fclose(file) != 0)
		die("could not write a file");
}

static void
write_file(const char *directory, const char *name, const void *content, size_t size)
{
	FILE	   *file = create(directory, name);

	fwrite(content, 1, size, file);
	finish(file);
}

/* An array of `rows` rows of `columns` elements, or of one axis where columns is 0. */
static void
write_npy(const char *directory, const char *name, const char *type, size_t element,
		  const void *values, size_t rows, size_t columns)
{
	char		header[HEADER];
	char		shape[60];
	int			length;
	FILE	   *file = create(directory, name);

	snprintf(shape, sizeof(shape), columns > 0 ? "(%zu, %zu)" : "(%zu,)", rows, columns);
	memset(header, ' ', HEADER);
	memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
	length = snprintf(header + 10, HEADER - 10, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
	header[10 + length] = ' ';
	header[HEADER - 1] = '\n';
	fwrite(header, 1, HEADER, file);
	fwrite(values, element, rows * (columns > 0 ? columns : 1), file);
	finish(file);
}

/* The files that both encodings have: ids, offsets and manifest. */
static void
write_common(const Data *data, const char *directory, const char *encoding)
{
	uint64_t   *offsets = allocate((data->documents + 1) * sizeof(uint64_t));
	FILE	   *file;
	size_t		i;

	file = create(directory, "segment-0.ids.json");
	for (i = 0; i < data->documents; i++)
		fprintf(file, "%s\"document-%zu\"", i == 0 ? "[" : ",", i);
	fputc(']', file);
	finish(file);

	offsets[0] = 0;
	for (i = 0; i < data->documents; i++)
		offsets[i + 1] = offsets[i] + data->bytes[i].tokens;
	write_npy(directory, "segment-0.offsets.npy", "<u8", sizeof(uint64_t), offsets, data->documents + 1, 0);
	free(offsets);

	file = create(directory, "manifest.json");
	fprintf(file,
			"{\n"
			"  \"format\": \"lateweave-vectors-2\",\n"
			"  \"store_id\": \"bench-%s\",\n"
			"  \"encoding\": \"%s\",\n"
			"  \"corpus\": \"bench\",\n"
			"  \"representation\": {\n"
			"    \"encoder\": \"bench\",\n"
			"    \"encoder_revision\": \"1\",\n"
			"    \"dimension\": %zu,\n"
			"    \"normalized\": %s,\n"
			"    \"query_template\": \"\",\n"
			"    \"document_template\": \"\"\n"
			"  },\n"
			"  \"commit\": 1,\n"
			"  \"next_segment_id\": 1,\n"
			"  \"committed_at\": 1700000000.0,\n"
			"  \"segments\": [\n"
			"    {\n"
			"      \"id\": 0,\n"
			"      \"documents\": %zu,\n"
			"      \"tokens\": %zu,\n"
			"      \"tombstones\": null\n"
			"    }\n"
			"  ]\n"
			"}\n",
			encoding, encoding, data->dimension, data->normalized ? "true" : "false", data->documents, data->rows);
	finish(file);
}

int
main(int argc, char **argv)
{
	char		path[900];
	Data		data;

	if (argc != 2 || strlen(argv[1]) > 800)
		die("usage: bench_store DIRECTORY");
	data_first(&data);
	make_directory(argv[1]);
	write_file(argv[1], "query.f32", data.query, data.query_tokens * data.dimension * sizeof(float));

	snprintf(path, sizeof(path), "%s/int8", argv[1]);
	make_directory(path);
	write_npy(path, "segment-0.codes.npy", "|i1", 1, data.codes, data.rows, data.dimension);
	write_npy(path, "segment-0.scales.npy", "<f4", sizeof(float), data.scales, data.rows, 0);
	write_common(&data, path, "int8");

	snprintf(path, sizeof(path), "%s/float32", argv[1]);
	make_directory(path);
	write_npy(path, "segment-0.vectors.npy", "<f4", sizeof(float), data.vectors, data.rows, data.dimension);
	write_common(&data, path, "float32");
	data_free(&data);
	return 0;
}
