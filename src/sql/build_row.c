/*-------------------------------------------------------------------------
 *
 * build_row.c
 *	  Rows of a query as rows of a section file that is built.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "server/ids.h"
#include "sql/build_row.h"
#include "sql/numbers.h"

#define SPACE_PREFIX "space:"
#define SHA256_SIZE 32

/* What a column may be. */
typedef enum ColumnType
{
	TEXT_OR_BYTES,
	TEXT,
	BYTES,
	NUMBER,
	REALS
} ColumnType;

typedef struct Column
{
	const char *name;
	ColumnType	type;
	bool		required;
} Column;

static const Column row_columns[LW_ROW_SPACES] = {
	{"text", TEXT_OR_BYTES, true},
	{"uri", TEXT, true},
	{"start", NUMBER, true},
	{"end", NUMBER, true},
	{"embedding", REALS, true},
	{"blob_index", NUMBER, false},
	{"blob_start", NUMBER, false},
	{"blob_end", NUMBER, false}
};

enum
{
	BLOB_URI,
	BLOB_SHA256,
	BLOB_BYTES,
	BLOB_BYTE_LEN,
	BLOB_COLUMNS
};

static const Column blob_columns[BLOB_COLUMNS] = {
	{"uri", TEXT, true},
	{"sha256", BYTES, true},
	{"bytes", BYTES, true},
	{"byte_len", NUMBER, false}
};

static bool
type_fits(ColumnType type, Oid oid)
{
	switch (type)
	{
		case TEXT_OR_BYTES:
			return oid == TEXTOID || oid == VARCHAROID || oid == BYTEAOID;
		case TEXT:
			return oid == TEXTOID || oid == VARCHAROID;
		case BYTES:
			return oid == BYTEAOID;
		case NUMBER:
			return lw_is_number(oid);
		case REALS:
			return oid == FLOAT4ARRAYOID;
	}
	return false;
}

static const char *
type_text(ColumnType type)
{
	switch (type)
	{
		case TEXT_OR_BYTES:
			return "text or bytea";
		case TEXT:
			return "text";
		case BYTES:
			return "bytea";
		case NUMBER:
			return "bigint or numeric";
		case REALS:
			return "real[]";
	}
	return "";
}

/* Notes where a column is, after checking its type. */
static void
found_column(Form_pg_attribute attribute, ColumnType type, int *place)
{
	const char *name = NameStr(attribute->attname);

	if (*place != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_COLUMN),
				 errmsg("the query has two columns \"%s\"", name)));
	if (!type_fits(type, getBaseType(attribute->atttypid)))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query must be %s, not %s", name, type_text(type),
						format_type_be(attribute->atttypid))));
	*place = attribute->attnum;
}

static void
missing_column(const char *name, ColumnType type)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("the query has no column \"%s\" (%s)", name, type_text(type))));
}

/* The space that a column is of, or -1. */
static int
space_of(const char *name, const LwBuildOptions *options)
{
	size_t		prefix = strlen(SPACE_PREFIX);
	LwString	space;
	size_t		i;

	if (strncmp(name, SPACE_PREFIX, prefix) != 0)
		return -1;
	space = lw_id_from_text(cstring_to_text(name + prefix));
	for (i = 0; i < options->nspaces; i++)
		if (options->spaces[i].name.size == space.size &&
			memcmp(options->spaces[i].name.data, space.data, space.size) == 0)
			return (int) i;
	return -1;
}

/* Finds the columns of a list; `places` tells of each where it is. */
static void
find_columns(TupleDesc desc, const Column *columns, int ncolumns, const LwBuildOptions *options, int *places)
{
	int			i;
	int			c;

	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		const char *name = NameStr(attribute->attname);
		int			space = options == NULL ? -1 : space_of(name, options);

		for (c = 0; c < ncolumns && strcmp(columns[c].name, name) != 0; c++)
			;
		if (c < ncolumns)
			found_column(attribute, columns[c].type, &places[c]);
		else if (space >= 0)
			found_column(attribute, REALS, &places[ncolumns + space]);
		else
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column \"%s\" of the query means nothing here", name)));
	}
	for (c = 0; c < ncolumns; c++)
		if (columns[c].required && places[c] == 0)
			missing_column(columns[c].name, columns[c].type);
}

void
lw_row_reader_init(LwRowReader *reader, TupleDesc desc, const LwBuildOptions *options)
{
	LwString	name;
	int			c;
	int			i;

	memset(reader, 0, sizeof(*reader));
	reader->desc = desc;
	reader->nspaces = (int) options->nspaces;
	find_columns(desc, row_columns, LW_ROW_SPACES, options, reader->columns);
	for (i = 0; i < reader->nspaces; i++)
		if (reader->columns[LW_ROW_SPACES + i] == 0)
		{
			name.data = (const char *) options->spaces[i].name.data;
			name.size = options->spaces[i].name.size;
			missing_column(psprintf(SPACE_PREFIX "%s", lw_string_for_server(name)), REALS);
		}
	for (c = LW_ROW_BLOB_INDEX; c <= LW_ROW_BLOB_END; c++)
	{
		if (reader->columns[c] != 0 && options->blobs.data == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column \"%s\" of the query needs the option blobs", row_columns[c].name)));
		reader->has_blobs = reader->has_blobs || reader->columns[c] != 0;
	}
	for (c = LW_ROW_BLOB_INDEX; reader->has_blobs && c <= LW_ROW_BLOB_END; c++)
		if (reader->columns[c] == 0)
			missing_column(row_columns[c].name, NUMBER);
}

static Oid
column_type(TupleDesc desc, int column)
{
	return getBaseType(TupleDescAttr(desc, column - 1)->atttypid);
}

/* A value that must be there. */
static Datum
get_value(HeapTuple tuple, TupleDesc desc, int column, uint64 number)
{
	bool		isnull;
	Datum		value = SPI_getbinval(tuple, desc, column, &isnull);

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("column \"%s\" is NULL in row %llu",
						NameStr(TupleDescAttr(desc, column - 1)->attname), (unsigned long long) number)));
	return value;
}

static LwBytes
get_bytes(HeapTuple tuple, TupleDesc desc, int column, uint64 number)
{
	struct varlena *value = PG_DETOAST_DATUM_PACKED(get_value(tuple, desc, column, number));
	LwBytes		bytes;
	LwString	string;

	if (column_type(desc, column) == BYTEAOID)
	{
		bytes.data = (const uint8 *) VARDATA_ANY(value);
		bytes.size = VARSIZE_ANY_EXHDR(value);
		return bytes;
	}
	string = lw_id_from_text((text *) value);
	bytes.data = (const uint8 *) string.data;
	bytes.size = string.size;
	return bytes;
}

static uint64
get_number(HeapTuple tuple, TupleDesc desc, int column, uint64 number)
{
	Datum		value = get_value(tuple, desc, column, number);
	uint64		result;

	if (!lw_number_uint64(value, column_type(desc, column), &result))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("column \"%s\" is no integer from 0 to 2^64-1 in row %llu",
						NameStr(TupleDescAttr(desc, column - 1)->attname), (unsigned long long) number)));
	return result;
}

static LwBuildVector
get_vector(HeapTuple tuple, TupleDesc desc, int column, uint64 number)
{
	ArrayType  *array = DatumGetArrayTypeP(get_value(tuple, desc, column, number));
	const char *name = NameStr(TupleDescAttr(desc, column - 1)->attname);
	LwBuildVector vector;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("column \"%s\" has more than one dimension in row %llu", name, (unsigned long long) number)));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("column \"%s\" has a component that is NULL in row %llu", name, (unsigned long long) number)));
	vector.values = (const float *) ARR_DATA_PTR(array);
	vector.dimension = (size_t) ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return vector;
}

static bool
is_null(HeapTuple tuple, TupleDesc desc, int column)
{
	bool		isnull;

	SPI_getbinval(tuple, desc, column, &isnull);
	return isnull;
}

/* Which blob the chunk is of: with NULL as its number of none, whatever the range is. */
static void
read_blob_span(LwRowReader *reader, HeapTuple tuple, uint64 number, LwBuildRow *row)
{
	TupleDesc	desc = reader->desc;
	const int  *columns = reader->columns;
	uint64		blob;

	row->blob = LW_NO_BLOB;
	row->blob_start = row->blob_end = 0;
	if (!is_null(tuple, desc, columns[LW_ROW_BLOB_INDEX]))
	{
		blob = get_number(tuple, desc, columns[LW_ROW_BLOB_INDEX], number);
		if (blob >= LW_NO_BLOB)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("row %llu names blob %llu, which is not there", (unsigned long long) number,
							(unsigned long long) blob)));
		row->blob = (uint32) blob;
	}
	else if (is_null(tuple, desc, columns[LW_ROW_BLOB_START]) && is_null(tuple, desc, columns[LW_ROW_BLOB_END]))
		return;
	row->blob_start = get_number(tuple, desc, columns[LW_ROW_BLOB_START], number);
	row->blob_end = get_number(tuple, desc, columns[LW_ROW_BLOB_END], number);
}

void
lw_read_build_row(LwRowReader *reader, HeapTuple tuple, uint64 number, LwBuildRow *row)
{
	TupleDesc	desc = reader->desc;
	const int  *columns = reader->columns;
	int			i;

	row->text = get_bytes(tuple, desc, columns[LW_ROW_TEXT], number);
	row->uri = get_bytes(tuple, desc, columns[LW_ROW_URI], number);
	row->start = get_number(tuple, desc, columns[LW_ROW_START], number);
	row->end = get_number(tuple, desc, columns[LW_ROW_END], number);
	row->embedding = get_vector(tuple, desc, columns[LW_ROW_EMBEDDING], number);
	for (i = 0; i < reader->nspaces; i++)
		reader->spaces[i] = get_vector(tuple, desc, columns[LW_ROW_SPACES + i], number);
	row->spaces = reader->spaces;
	if (reader->has_blobs)
		read_blob_span(reader, tuple, number, row);
}

void
lw_blob_reader_init(LwBlobReader *reader, TupleDesc desc)
{
	memset(reader, 0, sizeof(*reader));
	reader->desc = desc;
	find_columns(desc, blob_columns, BLOB_COLUMNS, NULL, reader->columns);
}

void
lw_read_blob_row(LwBlobReader *reader, HeapTuple tuple, uint64 number, LwBlobRow *row)
{
	TupleDesc	desc = reader->desc;
	const int  *columns = reader->columns;
	LwBytes		hash;

	memset(row, 0, sizeof(*row));
	row->uri = get_bytes(tuple, desc, columns[BLOB_URI], number);
	row->inlined = !is_null(tuple, desc, columns[BLOB_BYTES]);
	if (row->inlined)
	{
		row->data = get_bytes(tuple, desc, columns[BLOB_BYTES], number);
		row->size = row->data.size;
	}
	else if (columns[BLOB_BYTE_LEN] != 0 && !is_null(tuple, desc, columns[BLOB_BYTE_LEN]))
		row->size = get_number(tuple, desc, columns[BLOB_BYTE_LEN], number);
	if (row->inlined && is_null(tuple, desc, columns[BLOB_SHA256]))
		return;
	hash = get_bytes(tuple, desc, columns[BLOB_SHA256], number);
	if (hash.size != SHA256_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("column \"sha256\" has %zu bytes instead of 32 in row %llu of the blobs",
						hash.size, (unsigned long long) number)));
	row->sha256 = hash.data;
}
