/*-------------------------------------------------------------------------
 *
 * data.c
 *	  Documents and a query for the bench programs, random or somebody's own.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "format/npy.h"
#include "kernel/decode.h"
#include "random.h"
#include "store/follow.h"

static const Shape first_shape = {500, 128, 128, 32};

void
die(const char *format,...)
{
	va_list		arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

void *
allocate(size_t size)
{
	void	   *memory;

	if (posix_memalign(&memory, 64, size + 64) != 0)
		die("out of memory");
	return memory;
}

/* Everything but the documents' bounds and the values themselves. */
static void
data_init(Data *data, size_t documents, size_t rows, size_t dimension, size_t query_tokens, bool normalized)
{
	data->documents = documents;
	data->rows = rows;
	data->dimension = dimension;
	data->query_tokens = query_tokens;
	data->normalized = normalized;
	data->query = allocate(query_tokens * dimension * sizeof(float));
	data->vectors = allocate(rows * dimension * sizeof(float));
	data->codes = allocate(rows * dimension);
	data->scales = allocate(rows * sizeof(float));
	data->floats = allocate(documents * sizeof(LwDocument));
	data->bytes = allocate(documents * sizeof(LwDocument));
	snprintf(data->label, sizeof(data->label), "%zu x %.4g x %zu, %zu",
			 documents, (double) rows / (double) documents, dimension, query_tokens);
}

void
data_free(Data *data)
{
	free(data->query);
	free(data->vectors);
	free(data->codes);
	free(data->scales);
	free(data->floats);
	free(data->bytes);
}

/* Document number `document` is the rows from `first` on. */
static void
set_document(Data *data, size_t document, size_t first, size_t tokens)
{
	data->floats[document] = (LwDocument) {data->vectors + first * data->dimension, NULL, tokens};
	data->bytes[document] = (LwDocument) {data->codes + first * data->dimension, data->scales + first, tokens};
}

/* The codes of all vectors, as the format encodes them. */
static void
encode(Data *data)
{
	size_t		row;
	size_t		i;

	for (row = 0; row < data->rows; row++)
	{
		const float *vector = data->vectors + row * data->dimension;
		float		largest = 0;

		for (i = 0; i < data->dimension; i++)
			largest = fmaxf(largest, fabsf(vector[i]));
		data->scales[row] = fmaxf(largest / 127, 1e-12f);
		for (i = 0; i < data->dimension; i++)
			data->codes[row * data->dimension + i] = (int8_t) roundf(vector[i] / data->scales[row]);
	}
}

/* ---- random ---- */

static void
random_rows(float *rows, size_t n, size_t dimension)
{
	size_t		row;
	size_t		i;

	for (row = 0; row < n; row++, rows += dimension)
	{
		double		squares = 0;

		for (i = 0; i < dimension; i++)
		{
			rows[i] = gaussian();
			squares += (double) rows[i] * rows[i];
		}
		for (i = 0; i < dimension; i++)
			rows[i] = (float) (rows[i] / sqrt(squares));
	}
}

void
data_random(Data *data, Shape shape)
{
	size_t		documents = (size_t) shape.documents;
	size_t		tokens = (size_t) shape.tokens;
	size_t		i;

	data_init(data, documents, documents * tokens, (size_t) shape.dimension, (size_t) shape.query, true);
	random_rows(data->query, data->query_tokens, data->dimension);
	random_rows(data->vectors, data->rows, data->dimension);
	encode(data);
	for (i = 0; i < documents; i++)
		set_document(data, i, i * tokens, tokens);
}

/* ---- given ---- */

static void
check(LwStatus status, const LwError *error)
{
	if (status != LW_OK)
		die("%s: expected %s, found %s", error->path, error->expected, error->found);
}

/* The whole of a .npy file of float32 with two axes, whose header it sets. */
static char *
read_npy(const char *path, LwNpy *npy)
{
	FILE	   *file = fopen(path, "rb");
	LwError		error = {0};
	char	   *content;
	long		size;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
		die("could not open %s", path);
	rewind(file);
	content = allocate((size_t) size);
	if (fread(content, 1, (size_t) size, file) != (size_t) size)
		die("could not read %s", path);
	fclose(file);
	lw_error_path(&error, NULL, path);
	check(lw_npy_parse(content, (size_t) size, npy, &error), &error);
	if (npy->type != LW_NPY_FLOAT32 || npy->axes != 2 || npy->shape[0] == 0)
		die("%s is no float32 array of tokens x dimension", path);
	return content;
}

/* The current view of the store at a path. */
static LwView *
open_view(LwStore *store, const char *path)
{
	LwError		error = {0};
	LwView	   *view;
	dev_t		device;
	ino_t		inode;
	bool		moved;

	check(lw_store_identify(path, &device, &inode, &error), &error);
	lw_store_init(store, device, inode);
	check(lw_store_follow(store, path, &view, &moved, &error), &error);
	check(lw_view_hidden(view, &error), &error);
	return view;
}

/* The places of the first documents, at most `limit`; returns how many, and counts their tokens. */
static size_t
first_places(const LwView *view, LwPlace *places, size_t limit, size_t *tokens)
{
	LwError		error = {0};
	LwDocument	document;
	size_t		n = 0;
	LwPlace		place;

	*tokens = 0;
	for (place.segment = 0; place.segment < view->manifest.nsegments; place.segment++)
		for (place.row = 0; place.row < view->segments[place.segment]->documents && n < limit; place.row++)
			if (!lw_bit(view->hidden[place.segment], place.row))
			{
				check(lw_view_document(view, place, &document, &error), &error);
				*tokens += document.tokens;
				places[n++] = place;
			}
	return n;
}

bool
data_given(Data *data, size_t limit)
{
	const char *path = getenv("BENCH_STORE");
	const char *query_path = getenv("BENCH_QUERY");
	LwStore		store;
	LwView	   *view;
	LwPlace    *places;
	LwNpy		npy;
	LwError		error = {0};
	char	   *query;
	size_t		documents;
	size_t		rows;
	size_t		i;

	if (path == NULL && query_path == NULL)
		return false;
	if (path == NULL || query_path == NULL)
		die("BENCH_STORE and BENCH_QUERY go together");
	view = open_view(&store, path);
	query = read_npy(query_path, &npy);
	if (npy.shape[1] != view->manifest.dimension)
		die("%s has another dimension than %s", query_path, path);

	places = allocate(limit * sizeof(LwPlace));
	documents = first_places(view, places, limit, &rows);
	if (documents == 0)
		die("%s has no documents", path);
	data_init(data, documents, rows, (size_t) npy.shape[1], (size_t) npy.shape[0], view->manifest.normalized);
	memcpy(data->query, query + npy.data_offset, data->query_tokens * data->dimension * sizeof(float));
	for (i = 0, rows = 0; i < documents; i++)
	{
		float	   *vectors = data->vectors + rows * data->dimension;
		LwDocument	document;

		check(lw_view_document(view, places[i], &document, &error), &error);
		if (view->manifest.encoding == LW_FLOAT32)
			memcpy(vectors, document.rows, document.tokens * data->dimension * sizeof(float));
		else
		{
			memcpy(data->codes + rows * data->dimension, document.rows, document.tokens * data->dimension);
			memcpy(data->scales + rows, document.scales, document.tokens * sizeof(float));
			if (lw_decode_int8(document.rows, document.scales, document.tokens, data->dimension, data->normalized,
							   vectors) != document.tokens)
				die("%s has a bad scale", path);
		}
		set_document(data, i, rows, document.tokens);
		rows += document.tokens;
	}
	if (view->manifest.encoding == LW_FLOAT32)
		encode(data);
	lw_store_forget(&store);
	free(places);
	free(query);
	return true;
}

void
data_first(Data *data)
{
	if (!data_given(data, (size_t) first_shape.documents))
		data_random(data, first_shape);
}
