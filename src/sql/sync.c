/*-------------------------------------------------------------------------
 *
 * sync.c
 *	  lateweave_sync: a trigger that keeps a store in step with a table.
 *
 * A row whose vectors are not NULL is a document; the text form of its id names
 * it.  What a statement needs to know is looked up when the trigger first fires for it and
 * looked up again when the catalogs have changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "server/change.h"
#include "server/ids.h"
#include "server/idset.h"
#include "sql/fdw.h"
#include "sql/multivector.h"

PG_FUNCTION_INFO_V1(lateweave_sync);

/* A column of the table, and how its values become ids or vectors. */
typedef struct Column
{
	int			number;
	bool		by_value;
	int16		length;
	CoercionPathType path;
	FmgrInfo	function;		/* of the cast, or output; not of COERCION_PATH_RELABELTYPE */
} Column;

/* A row that has got an id which was another's. */
typedef struct Renamed
{
	LwIdKey		id;
	ItemPointerData row;
	char		status;
} Renamed;

#define SH_PREFIX renamed
#define SH_ELEMENT_TYPE Renamed
#define SH_KEY_TYPE LwIdKey
#define SH_KEY id
#define SH_HASH_KEY(table, key) ((uint32) (key).a)
#define SH_EQUAL(table, x, y) ((x).a == (y).a && (x).b == (y).b)
#define SH_SCOPE static inline
#define SH_DEFINE
#define SH_DECLARE
#include "lib/simplehash.h"

/* What firings of one statement share; fn_extra. */
typedef struct Sync
{
	uint64		generation;		/* of the definitions and privileges that were looked at */
	Oid			role;			/* whose privileges were checked */
	Oid			source;
	Column		id;
	Column		tokens;
	renamed_hash *renamed;		/* NULL while there are none */
	MemoryContext context;
} Sync;

static void
check_use(FunctionCallInfo fcinfo)
{
	TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("lateweave_sync: must be called as a trigger")));
	if (!TRIGGER_FIRED_AFTER(data->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("lateweave_sync: must be called after the change")));
	if (TRIGGER_FIRED_FOR_STATEMENT(data->tg_event) && !TRIGGER_FIRED_BY_TRUNCATE(data->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("lateweave_sync: must be called for each row, or after TRUNCATE")));
	if (data->tg_trigger->tgnargs != 3)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("lateweave_sync: must be called with three arguments, not %d", data->tg_trigger->tgnargs),
				 errhint("They are the foreign table, the column of the ids, and the column of the vectors.")));
}

/* Finds a column and the cast of its type to `target`. */
static void
find_column(const TriggerData *data, const char *name, Oid target, CoercionContext context, Column *column)
{
	TupleDesc	descriptor = RelationGetDescr(data->tg_relation);
	Form_pg_attribute attribute;
	Oid			type;
	Oid			function = InvalidOid;

	column->number = SPI_fnumber(descriptor, name);
	if (column->number <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("lateweave_sync: table \"%s\" has no column \"%s\"",
						RelationGetRelationName(data->tg_relation), name)));
	attribute = TupleDescAttr(descriptor, column->number - 1);
#ifdef ATTRIBUTE_GENERATED_VIRTUAL
	if (attribute->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("lateweave_sync: column \"%s\" is a virtual generated column", name)));
#endif
	column->by_value = attribute->attbyval;
	column->length = attribute->attlen;
	type = getBaseType(attribute->atttypid);
	column->path = type == target ? COERCION_PATH_RELABELTYPE :
		find_coercion_pathway(target, type, context, &function);
	if (column->path == COERCION_PATH_COERCEVIAIO)
	{
		bool		is_varlena;

		getTypeOutputInfo(type, &function, &is_varlena);
	}
	else if (column->path != COERCION_PATH_FUNC && column->path != COERCION_PATH_RELABELTYPE)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("lateweave_sync: column \"%s\" has type %s, which has no cast to %s",
						name, format_type_be(attribute->atttypid), format_type_be(target)),
				 errhint("Vectors are of type multivector, real[] or double precision[]; "
						 "lateweave_enable_pgvector() makes the casts from pgvector's types.")));
	if (OidIsValid(function))
		fmgr_info_cxt(function, &column->function, CurrentMemoryContext);
}

/* The value of a column, cast. */
static Datum
cast_value(Column *column, Datum value)
{
	if (column->path == COERCION_PATH_RELABELTYPE)
		return value;
	if (column->path == COERCION_PATH_COERCEVIAIO)
		return CStringGetTextDatum(OutputFunctionCall(&column->function, value));
	/* a cast may ask for a type modifier, of which there is none, and whether it is explicit */
	if (column->function.fn_nargs == 3)
		return FunctionCall3(&column->function, value, Int32GetDatum(-1), BoolGetDatum(false));
	if (column->function.fn_nargs == 2)
		return FunctionCall2(&column->function, value, Int32GetDatum(-1));
	return FunctionCall1(&column->function, value);
}

/* Locks the store's foreign table and checks what the role may do with it. */
static void
check_source(Sync *sync, const TriggerData *data)
{
	bool		truncate = TRIGGER_FIRED_BY_TRUNCATE(data->tg_event);

	sync->source = DatumGetObjectId(DirectFunctionCall1(regclassin, CStringGetDatum(data->tg_trigger->tgargs[0])));
	lw_source_check_privileges(sync->source, truncate ? AccessExclusiveLock : RowExclusiveLock,
							   truncate ? ACL_TRUNCATE : ACL_INSERT | ACL_DELETE);
	lw_source_check_writable(sync->source);
	sync->role = GetUserId();
}

/* What is known of this statement's firings, looked up if need be. */
static Sync *
look_up(FunctionCallInfo fcinfo, TriggerData *data)
{
	Sync	   *sync = fcinfo->flinfo->fn_extra;
	MemoryContext old;
	uint64		generation = lw_source_generation;
	bool		is_new = sync == NULL;

	if (!is_new && sync->generation == generation && sync->role == GetUserId())
		return sync;
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	if (is_new)
	{
		sync = palloc0(sizeof(Sync));
		sync->context = fcinfo->flinfo->fn_mcxt;
	}
	check_source(sync, data);
	if (is_new && TRIGGER_FIRED_FOR_ROW(data->tg_event))
	{
		ForeignServer *server = GetForeignServer(GetForeignTable(sync->source)->serverid);

		find_column(data, data->tg_trigger->tgargs[1], TEXTOID, COERCION_EXPLICIT, &sync->id);
		find_column(data, data->tg_trigger->tgargs[2], lw_multivector_type(server->fdwid),
					COERCION_ASSIGNMENT, &sync->tokens);
	}
	sync->generation = generation;
	fcinfo->flinfo->fn_extra = sync;
	MemoryContextSwitchTo(old);
	return sync;
}

/* A row before or after the change. */
typedef struct Row
{
	HeapTuple	tuple;
	bool		has_id;
	bool		has_tokens;
	Datum		id;
	Datum		tokens;
	LwString	name;			/* of its document, once it is needed */
} Row;

static void
read_row(const Sync *sync, TupleDesc descriptor, HeapTuple tuple, Row *row)
{
	bool		is_null;

	row->tuple = tuple;
	row->id = heap_getattr(tuple, sync->id.number, descriptor, &is_null);
	row->has_id = !is_null;
	row->tokens = heap_getattr(tuple, sync->tokens.number, descriptor, &is_null);
	row->has_tokens = !is_null;
}

static void
name_row(Sync *sync, const TriggerData *data, Row *row)
{
	if (!row->has_id)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("lateweave_sync: null value in column \"%s\" of a row with vectors", data->tg_trigger->tgargs[1]),
				 errtablecol(data->tg_relation, sync->id.number)));
	row->name = lw_id_from_text(DatumGetTextPP(cast_value(&sync->id, row->id)));
}

/* Whether two values are the same; what is stored out of line is read only when it was written anew. */
static bool
same_value(const Column *column, bool has_a, Datum a, bool has_b, Datum b)
{
	if (!has_a || !has_b)
		return has_a == has_b;
	return datumIsEqual(a, b, column->by_value, column->length) ||
		datum_image_eq(a, b, column->by_value, column->length);
}

static void
append_row(Sync *sync, LwChange *change, const Row *row)
{
	LwMultivector *m = DatumGetLwMultivector(cast_value(&sync->tokens, row->tokens));

	lw_change_append(change, row->name.data, row->name.size, m->values, (size_t) m->tokens, (uint64) m->dimension);
}

/*
 * Deletes the document of a row that is no more, unless another row has got its id since: when ids
 * move along a chain (a becomes b, b becomes c), what an earlier row has become stays.  It is the
 * same row only when the trigger was deferred, and rows that have no place are never.
 */
static void
delete_row(Sync *sync, LwChange *change, const Row *row)
{
	Renamed    *entry = sync->renamed == NULL ? NULL :
		renamed_lookup(sync->renamed, lw_id_key(row->name.data, row->name.size));

	if (entry == NULL || (ItemPointerIsValid(&entry->row) &&
						  ItemPointerCompare(&entry->row, &row->tuple->t_self) == 0))
		lw_change_remove(change, row->name.data, row->name.size);
}

static void
note_renamed(Sync *sync, const Row *row)
{
	bool		found;

	if (sync->renamed == NULL)
		sync->renamed = renamed_create(sync->context, 64, NULL);
	renamed_insert(sync->renamed, lw_id_key(row->name.data, row->name.size), &found)->row = row->tuple->t_self;
}

/* Has the store follow one row: from `before` to `after`, either of which may be no document. */
static void
follow_row(Sync *sync, const TriggerData *data, Row *before, Row *after, bool same_id)
{
	LwChange   *change;

	if (before->has_tokens)
		name_row(sync, data, before);
	if (after->has_tokens)
		name_row(sync, data, after);

	change = lw_change_begin(sync->source, LW_CHANGE_ROWS);
	if (before->has_tokens && !(after->has_tokens && lw_string_equal(before->name, after->name)))
		delete_row(sync, change, before);
	if (after->has_tokens)
		append_row(sync, change, after);
	if (after->has_tokens && before->tuple != NULL && !same_id)
		note_renamed(sync, after);
	lw_change_end(change);
}

/* Reads the row as it was and as it is, and has the store follow unless it is the same document. */
static void
follow_event(Sync *sync, const TriggerData *data)
{
	TupleDesc	descriptor = RelationGetDescr(data->tg_relation);
	Row			before = {0};
	Row			after = {0};
	bool		same_id;

	if (TRIGGER_FIRED_BY_INSERT(data->tg_event))
		read_row(sync, descriptor, data->tg_trigtuple, &after);
	else
		read_row(sync, descriptor, data->tg_trigtuple, &before);
	if (TRIGGER_FIRED_BY_UPDATE(data->tg_event))
		read_row(sync, descriptor, data->tg_newtuple, &after);
	/* no id, no document, whatever let such a row in */
	before.has_tokens = before.has_tokens && before.has_id;
	if (!before.has_tokens && !after.has_tokens)
		return;
	same_id = same_value(&sync->id, before.has_id, before.id, after.has_id, after.id);
	if (!same_id || !same_value(&sync->tokens, before.has_tokens, before.tokens, after.has_tokens, after.tokens))
		follow_row(sync, data, &before, &after, same_id);
}

static void
truncate_store(Oid source)
{
	LwChange   *change = lw_change_begin(source, LW_CHANGE_ROWS);

	lw_change_truncate(change);
	lw_change_end(change);
}

/* lateweave_sync(source, id column, vector column) */
Datum
lateweave_sync(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	Sync	   *sync;

	check_use(fcinfo);
	sync = look_up(fcinfo, data);
	if (TRIGGER_FIRED_BY_TRUNCATE(data->tg_event))
		truncate_store(sync->source);
	else
		follow_event(sync, data);
	return PointerGetDatum(NULL);
}
