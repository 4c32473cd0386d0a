/*-------------------------------------------------------------------------
 *
 * fdw_rows.c
 *	  Documents of a store, and chunks of a section file, as rows of a foreign table.
 *
 * Columns are matched by name and type, so a table may declare any of them
 * in any order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "server/ids.h"
#include "server/scoring.h"
#include "server/section_scoring.h"
#include "sql/chunk.h"
#include "sql/document.h"
#include "sql/fdw.h"

/* The type lies in the schema of the wrapper's handler: both belong to the extension, which is not relocatable. */
Oid
lw_multivector_type(Oid fdwid)
{
	Oid			handler = GetForeignDataWrapper(fdwid)->fdwhandler;

	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("multivector"),
						   ObjectIdGetDatum(get_func_namespace(handler)));
}

static void
check_column_type(Relation relation, Form_pg_attribute column, Oid expected)
{
	if (column->atttypid != expected)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("column \"%s\" of foreign table \"%s\" has type %s, but must have type %s",
						NameStr(column->attname), RelationGetRelationName(relation),
						format_type_be(column->atttypid), format_type_be(expected))));
}

/* What the columns of the two kinds of sources are called, and their type; InvalidOid stands for multivector. */
static const struct
{
	const char *name;
	LwSourceKind kind;
	Oid			type;
	Oid			other_type;		/* that it may have as well */
}			known_columns[LW_COLUMNS] = {
	[LW_COLUMN_ID] = {"id", LW_SOURCE_STORE, TEXTOID, TEXTOID},
	[LW_COLUMN_TOKENS] = {"tokens", LW_SOURCE_STORE, InvalidOid, InvalidOid},
	[LW_COLUMN_ORDINAL] = {"ordinal", LW_SOURCE_SECTION, INT8OID, INT8OID},
	[LW_COLUMN_CHUNK_ID] = {"chunk_id", LW_SOURCE_SECTION, TEXTOID, TEXTOID},
	[LW_COLUMN_CANONICAL_TEXT] = {"canonical_text", LW_SOURCE_SECTION, TEXTOID, TEXTOID},
	[LW_COLUMN_CANONICAL_BYTES] = {"canonical_bytes", LW_SOURCE_SECTION, BYTEAOID, BYTEAOID},
	[LW_COLUMN_SOURCE_URI] = {"source_uri", LW_SOURCE_SECTION, TEXTOID, TEXTOID},
	[LW_COLUMN_BYTE_START] = {"byte_start", LW_SOURCE_SECTION, INT8OID, NUMERICOID},
	[LW_COLUMN_BYTE_END] = {"byte_end", LW_SOURCE_SECTION, INT8OID, NUMERICOID},
	[LW_COLUMN_CITATION] = {"citation", LW_SOURCE_SECTION, TEXTOID, TEXTOID},
	[LW_COLUMN_EMBEDDING] = {"embedding", LW_SOURCE_SECTION, FLOAT4ARRAYOID, FLOAT4ARRAYOID}
};

/* Which column of its kind of source one is; LW_COLUMNS when it is none. */
static LwColumn
find_column(const char *name, LwSourceKind kind)
{
	LwColumn	column;

	for (column = 0; column < LW_COLUMNS; column++)
		if (known_columns[column].kind == kind && strcmp(known_columns[column].name, name) == 0)
			break;
	return column;
}

static void
report_unknown_column(Relation relation, const char *name, LwSourceKind kind, Oid multivector)
{
	if (kind == LW_SOURCE_STORE)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_COLUMN_NAME),
				 errmsg("a vector store has no column \"%s\", which foreign table \"%s\" declares",
						name, RelationGetRelationName(relation)),
				 errhint("The columns of a store are id text and tokens %s.", format_type_be(multivector))));
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_COLUMN_NAME),
			 errmsg("a section file has no column \"%s\", which foreign table \"%s\" declares",
					name, RelationGetRelationName(relation)),
			 errhint("The columns of a section file are ordinal bigint, chunk_id text, canonical_text text, canonical_bytes bytea, "
					 "source_uri text, byte_start and byte_end bigint or numeric, citation text and embedding real[].")));
}

void
lw_match_columns(Relation relation, LwColumns *columns)
{
	TupleDesc	descriptor = RelationGetDescr(relation);
	Oid			serverid = GetForeignTable(RelationGetRelid(relation))->serverid;
	Oid			multivector = lw_multivector_type(GetForeignServer(serverid)->fdwid);
	LwSourceKind kind = lw_source_lookup(RelationGetRelid(relation))->kind;
	int			i;

	memset(columns, 0, sizeof(*columns));
	columns->dimension = -1;
	for (i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		LwColumn	column;
		Oid			type;

		if (attribute->attisdropped)
			continue;
		column = find_column(NameStr(attribute->attname), kind);
		if (column == LW_COLUMNS)
			report_unknown_column(relation, NameStr(attribute->attname), kind, multivector);
		type = OidIsValid(known_columns[column].type) ? known_columns[column].type : multivector;
		columns->is_numeric[column] = attribute->atttypid == NUMERICOID;
		if (attribute->atttypid != known_columns[column].other_type)
			check_column_type(relation, attribute, type);
		columns->at[column] = attribute->attnum;
		if (column == LW_COLUMN_TOKENS)
			columns->dimension = attribute->atttypmod;
	}
}

/* ERROR unless the dimension that the declaration of tokens fixes is the store's. */
static void
check_declared_dimension(Relation relation, const LwColumns *columns, const LwView *view)
{
	if (columns->dimension >= 0 && (uint64) columns->dimension != view->manifest.dimension)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("column \"tokens\" of foreign table \"%s\" has dimension %d, but the vectors of \"%s\" have dimension %llu",
						RelationGetRelationName(relation), columns->dimension,
						view->directory, (unsigned long long) view->manifest.dimension)));
}

void
lw_begin_rows(LwRows *rows, Relation relation)
{
	if (rows->content.view != NULL)
		check_declared_dimension(relation, &rows->columns, rows->content.view);
	else if (rows->columns.at[LW_COLUMN_EMBEDDING] != InvalidAttrNumber)
		lw_choose_stored(rows->content.section, lw_source_lookup(RelationGetRelid(relation))->space, &rows->slab);
}

bool
lw_next_document(LwContent content, LwPlace *next, LwPlace *place)
{
	const LwView *view = content.view;

	if (content.section != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		*place = *next;
		return next->row++ < content.section->file->rows;
	}
	while (next->segment < view->manifest.nsegments)
	{
		const uint8_t *hidden = view->hidden[next->segment];
		uint64		documents = view->segments[next->segment]->documents;

		while (next->row < documents)
		{
			CHECK_FOR_INTERRUPTS();
			*place = *next;
			next->row++;
			if (!lw_bit(hidden, place->row))
				return true;
		}
		next->segment++;
		next->row = 0;
	}
	return false;
}

/* Puts a value into its column. */
static void
put(const LwColumns *columns, LwColumn column, Datum value, Datum *values, bool *nulls)
{
	values[columns->at[column] - 1] = value;
	nulls[columns->at[column] - 1] = false;
}

static void
fill_document(const LwRows *rows, LwPlace place, Datum *values, bool *nulls)
{
	const LwColumns *columns = &rows->columns;
	const LwView *view = rows->content.view;

	if (columns->at[LW_COLUMN_ID] != InvalidAttrNumber)
	{
		size_t		size;
		const char *id = lw_ids_get(&view->segments[place.segment]->ids, place.row, &size);

		put(columns, LW_COLUMN_ID, PointerGetDatum(lw_id_to_text(id, size, view->directory)), values, nulls);
		lw_check_faults(view);
	}
	if (columns->at[LW_COLUMN_TOKENS] != InvalidAttrNumber)
		put(columns, LW_COLUMN_TOKENS, PointerGetDatum(lw_read_document(view, place)), values, nulls);
}

/* Fills in what tells where a chunk comes from. */
static void
fill_span(const LwRows *rows, size_t ordinal, Datum *values, bool *nulls)
{
	const LwColumns *columns = &rows->columns;
	LwSection  *section = rows->content.section;
	LwSpan		span;

	lw_get_span(section, ordinal, &span);
	if (columns->at[LW_COLUMN_SOURCE_URI] != InvalidAttrNumber)
		put(columns, LW_COLUMN_SOURCE_URI, PointerGetDatum(lw_chunk_uri(section, ordinal, &span)), values, nulls);
	if (columns->at[LW_COLUMN_BYTE_START] != InvalidAttrNumber)
		put(columns, LW_COLUMN_BYTE_START,
			columns->is_numeric[LW_COLUMN_BYTE_START] ? lw_uint64_numeric(span.source.start) :
			lw_chunk_offset(section, ordinal, "byte_start", span.source.start), values, nulls);
	if (columns->at[LW_COLUMN_BYTE_END] != InvalidAttrNumber)
		put(columns, LW_COLUMN_BYTE_END,
			columns->is_numeric[LW_COLUMN_BYTE_END] ? lw_uint64_numeric(span.source.end) :
			lw_chunk_offset(section, ordinal, "byte_end", span.source.end), values, nulls);
}

static void
fill_chunk(const LwRows *rows, size_t ordinal, Datum *values, bool *nulls)
{
	const LwColumns *columns = &rows->columns;
	LwSection  *section = rows->content.section;

	if (columns->at[LW_COLUMN_ORDINAL] != InvalidAttrNumber)
		put(columns, LW_COLUMN_ORDINAL, Int64GetDatum((int64) ordinal), values, nulls);
	if (columns->at[LW_COLUMN_CHUNK_ID] != InvalidAttrNumber)
		put(columns, LW_COLUMN_CHUNK_ID, PointerGetDatum(lw_chunk_id_text(section, ordinal)), values, nulls);
	if (columns->at[LW_COLUMN_CANONICAL_TEXT] != InvalidAttrNumber)
		put(columns, LW_COLUMN_CANONICAL_TEXT, PointerGetDatum(lw_chunk_canonical_text(section, ordinal)), values, nulls);
	if (columns->at[LW_COLUMN_CANONICAL_BYTES] != InvalidAttrNumber)
		put(columns, LW_COLUMN_CANONICAL_BYTES, PointerGetDatum(lw_chunk_canonical_bytes(section, ordinal)), values, nulls);
	if (columns->at[LW_COLUMN_SOURCE_URI] != InvalidAttrNumber ||
		columns->at[LW_COLUMN_BYTE_START] != InvalidAttrNumber ||
		columns->at[LW_COLUMN_BYTE_END] != InvalidAttrNumber)
		fill_span(rows, ordinal, values, nulls);
	if (columns->at[LW_COLUMN_CITATION] != InvalidAttrNumber)
		put(columns, LW_COLUMN_CITATION, PointerGetDatum(lw_chunk_citation(section, ordinal)), values, nulls);
	if (columns->at[LW_COLUMN_EMBEDDING] != InvalidAttrNumber)
		put(columns, LW_COLUMN_EMBEDDING, lw_row_array(section, &rows->slab, ordinal), values, nulls);
}

void
lw_fill_row(const LwRows *rows, LwPlace place, int natts, Datum *values, bool *nulls)
{
	memset(values, 0, sizeof(Datum) * natts);
	memset(nulls, true, sizeof(bool) * natts);
	if (rows->content.view != NULL)
		fill_document(rows, place, values, nulls);
	else
		fill_chunk(rows, place.row, values, nulls);
}
