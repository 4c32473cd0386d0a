/*-------------------------------------------------------------------------
 *
 * fdw_rows.c
 *	  Documents of a store as rows of a foreign table.
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

void
lw_match_columns(Relation relation, LwColumns *columns)
{
	TupleDesc	descriptor = RelationGetDescr(relation);
	Oid			serverid = GetForeignTable(RelationGetRelid(relation))->serverid;
	Oid			multivector = lw_multivector_type(GetForeignServer(serverid)->fdwid);
	int			i;

	columns->id = columns->tokens = InvalidAttrNumber;
	columns->dimension = -1;
	for (i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(descriptor, i);

		if (column->attisdropped)
			continue;
		if (strcmp(NameStr(column->attname), "id") == 0)
		{
			check_column_type(relation, column, TEXTOID);
			columns->id = column->attnum;
		}
		else if (strcmp(NameStr(column->attname), "tokens") == 0)
		{
			check_column_type(relation, column, multivector);
			columns->tokens = column->attnum;
			columns->dimension = column->atttypmod;
		}
		else
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_COLUMN_NAME),
					 errmsg("a vector store has no column \"%s\", which foreign table \"%s\" declares",
							NameStr(column->attname), RelationGetRelationName(relation)),
					 errhint("The columns of a store are id text and tokens %s.", format_type_be(multivector))));
	}
}

void
lw_check_declared_dimension(Relation relation, const LwColumns *columns, const LwView *view)
{
	if (columns->dimension >= 0 && (uint64) columns->dimension != view->manifest.dimension)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("column \"tokens\" of foreign table \"%s\" has dimension %d, but the vectors of \"%s\" have dimension " UINT64_FORMAT,
						RelationGetRelationName(relation), columns->dimension,
						view->directory, view->manifest.dimension)));
}

bool
lw_next_document(const LwView *view, LwPlace *next, LwPlace *place)
{
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

void
lw_fill_row(const LwView *view, LwPlace place, const LwColumns *columns,
			int natts, Datum *values, bool *nulls)
{
	memset(values, 0, sizeof(Datum) * natts);
	memset(nulls, true, sizeof(bool) * natts);
	if (columns->id != InvalidAttrNumber)
	{
		size_t		size;
		const char *id = lw_ids_get(&view->segments[place.segment]->ids, place.row, &size);

		values[columns->id - 1] = PointerGetDatum(lw_id_to_text(id, size, view->directory));
		nulls[columns->id - 1] = false;
	}
	if (columns->tokens != InvalidAttrNumber)
	{
		values[columns->tokens - 1] = PointerGetDatum(lw_read_document(view, place));
		nulls[columns->tokens - 1] = false;
	}
}
