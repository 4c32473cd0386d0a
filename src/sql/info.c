/*-------------------------------------------------------------------------
 *
 * info.c
 *	  What a DBA sees: sources, their time, and the kernels of this machine.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "kernel/maxsim.h"
#include "server/candidates.h"
#include "server/error.h"
#include "server/ids.h"
#include "section/chunks.h"
#include "section/space.h"
#include "server/pending.h"
#include "server/pin.h"
#include "server/shared.h"
#include "server/upkeep.h"
#include "sql/chunk.h"
#include "sql/sources.h"

PG_FUNCTION_INFO_V1(lateweave_as_of);
PG_FUNCTION_INFO_V1(lateweave_list_sources);
PG_FUNCTION_INFO_V1(lateweave_kernels);

#define MICROSECONDS INT64CONST(1000000)
#define NANOSECONDS INT64CONST(1000000000)
#define UNIX_EPOCH ((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)	/* to the year 2000, from which a timestamp counts */

/*
 * committed_at, seconds since 1970 as a double, as the reference understands
 * it: rounded to the nearest nanosecond, then cut to the microsecond.
 * 'infinity' past what a timestamptz can hold.
 */
static TimestampTz
committed_at(const LwManifest *manifest)
{
	double		whole = floor(manifest->committed_at);
	int64		nanoseconds = (int64) rint((manifest->committed_at - whole) * NANOSECONDS);
	TimestampTz result;

	/* far above any timestamp, and low enough not to overflow below */
	if (whole >= 1e13)
		return DT_NOEND;
	result = (int64) whole * MICROSECONDS + nanoseconds / 1000 - UNIX_EPOCH;
	return IS_VALID_TIMESTAMP(result) ? result : DT_NOEND;
}

Datum
lateweave_as_of(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(committed_at(&lw_pin_store(PG_GETARG_OID(0))->manifest));
}

/* What lateweave_list_sources gives, in the order of its columns. */
enum
{
	SOURCE,
	KIND,
	PATH,
	CORPUS,
	ENCODING,
	DIMENSION,
	ENCODER,
	STORE_ID,
	COMMIT,
	COMMITTED_AT,
	LAG,
	DOCUMENTS,
	UNNAMEABLE,
	DELETED,
	TOKENS,
	SEGMENTS,
	BYTES,
	PENDING,
	DERIVED_BYTES,
	UNASSIGNED,
	TRAINED_AT,
	NOTES,
	FAILURE,
	COLUMNS
};

static Datum
string_datum(LwString string)
{
	return CStringGetTextDatum(lw_string_for_server(string));
}

/* Of a store; its counts are given, since a look at every id would take too long for who asks each second. */
static void
fill_view(LwView *view, const LwSharedCounts *counts, uint64 unassigned, int64 trained_at, Datum *values, bool *nulls)
{
	const LwManifest *manifest = &view->manifest;
	TimestampTz time = committed_at(manifest);

	values[CORPUS] = string_datum(manifest->corpus);
	values[ENCODING] = CStringGetTextDatum(manifest->encoding == LW_INT8 ? "int8" : "float32");
	values[DIMENSION] = lw_uint64_numeric(manifest->dimension);
	values[ENCODER] = string_datum(manifest->encoder);
	values[STORE_ID] = string_datum(manifest->store_id);
	values[COMMIT] = lw_uint64_numeric(manifest->commit);
	values[COMMITTED_AT] = TimestampTzGetDatum(time);
	values[DOCUMENTS] = Int64GetDatum((int64) counts->documents);
	values[UNNAMEABLE] = Int64GetDatum((int64) counts->unnameable);
	values[DELETED] = Int64GetDatum((int64) lw_view_deleted(view));
	values[TOKENS] = Int64GetDatum((int64) counts->tokens);
	values[SEGMENTS] = Int64GetDatum((int64) manifest->nsegments);
	values[BYTES] = Int64GetDatum((int64) lw_view_bytes(view));
	values[DERIVED_BYTES] = Int64GetDatum((int64) lw_view_derived_bytes(view));
	values[UNASSIGNED] = Int64GetDatum((int64) unassigned);
	values[TRAINED_AT] = TimestampTzGetDatum(trained_at - UNIX_EPOCH);
	memset(nulls + CORPUS, false, FAILURE - CORPUS);
	nulls[TRAINED_AT] = trained_at == 0;
	if (TIMESTAMP_NOT_FINITE(time))
		nulls[LAG] = true;
	else
		values[LAG] = DirectFunctionCall2(timestamp_mi, TimestampTzGetDatum(GetCurrentTimestamp()),
										  TimestampTzGetDatum(time));
}

/* The format's bytes as a string, NULL when they are not there. */
static void
put_bytes(LwBytes bytes, Datum *value, bool *is_null)
{
	*is_null = bytes.data == NULL;
	if (!*is_null)
		*value = string_datum((LwString) {(const char *) bytes.data, bytes.size});
}

static void
fill_section(const LwSection *section, Datum *values, bool *nulls)
{
	const LwSectionFile *file = section->file;

	put_bytes(file->manifest.title, &values[CORPUS], &nulls[CORPUS]);
	put_bytes(file->manifest.embedding_model, &values[ENCODER], &nulls[ENCODER]);
	values[ENCODING] = CStringGetTextDatum(lw_vector_type_name(file->manifest.vector_type));
	values[DIMENSION] = lw_uint64_numeric(file->dimension);
	values[DOCUMENTS] = values[TOKENS] = Int64GetDatum((int64) file->rows);
	values[BYTES] = Int64GetDatum((int64) file->bytes.size);
	values[DERIVED_BYTES] = Int64GetDatum((int64) lw_chunk_derived_bytes(file));
	nulls[ENCODING] = nulls[DIMENSION] = nulls[DOCUMENTS] = nulls[TOKENS] = nulls[BYTES] = nulls[DERIVED_BYTES] = false;
}

static void
put_readable_source(Oid relid, ReturnSetInfo *result)
{
	LwSource   *source = lw_source_lookup(relid);
	LwContent	content;
	LwError		error;
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];
	LwSharedCounts counts;
	LwPendingCount pending = {0};
	uint64		unassigned = 0;
	int64		trained_at = 0;
	Datum		notes[4];
	int			nnotes = 0;

	memset(nulls, true, sizeof(nulls));
	error.path[0] = '\0';
	values[SOURCE] = ObjectIdGetDatum(relid);
	values[KIND] = CStringGetTextDatum(lw_path_option(source->kind));
	values[PATH] = CStringGetTextDatum(source->path);
	nulls[SOURCE] = nulls[KIND] = nulls[PATH] = nulls[NOTES] = false;
	if (source->kind == LW_SOURCE_STORE && source->store_id == NULL)
		notes[nnotes++] = CStringGetTextDatum("unprotected");
	if (source->kind == LW_SOURCE_STORE && !lw_shared_available())
		notes[nnotes++] = CStringGetTextDatum("no shared view");
	if (lw_pin_try(relid, &content, &error) != LW_OK ||
		(content.view != NULL &&
		 (lw_source_counts(source, content.view, &counts, &error) != LW_OK ||
		  lw_candidates_status(content.view, counts.documents, &unassigned, &trained_at, &error) != LW_OK)))
	{
		values[FAILURE] = CStringGetTextDatum(lw_error_message(&error));
		nulls[FAILURE] = false;
	}
	else if (content.view != NULL)
	{
		lw_pending_count(source, &pending);
		values[PENDING] = Int64GetDatum((int64) pending.changes);
		fill_view(content.view, &counts, unassigned, trained_at, values, nulls);
		if (lw_source_wants_compaction(source, content.view, &counts))
			notes[nnotes++] = CStringGetTextDatum("compaction recommended");
		if (pending.undecided > 0)
			notes[nnotes++] = CStringGetTextDatum("undecided changes");
	}
	else
		fill_section(content.section, values, nulls);
	values[NOTES] = PointerGetDatum(construct_array(notes, nnotes, TEXTOID, -1, false, TYPALIGN_INT));
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* The row of a table that another session is altering or dropping. */
static void
put_busy_source(Oid relid, ReturnSetInfo *result)
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];

	memset(nulls, true, sizeof(nulls));
	values[SOURCE] = ObjectIdGetDatum(relid);
	values[FAILURE] = CStringGetTextDatum(_("another session is changing the foreign table"));
	nulls[SOURCE] = nulls[FAILURE] = false;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void
put_source(Oid relid, bool locked, void *arg)
{
	if (locked)
		put_readable_source(relid, arg);
	else
		put_busy_source(relid, arg);
}

void
lw_for_each_source(void (*put) (Oid relid, bool locked, void *arg), void *arg)
{
	bool		monitor = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
	Relation	catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_foreign_table table = (Form_pg_foreign_table) GETSTRUCT(tuple);
		ForeignServer *server = GetForeignServerExtended(table->ftserver, FSV_MISSING_OK);
		bool		locked;

		if (server == NULL || !lw_is_lateweave_wrapper(server->fdwid))
			continue;

		/*
		 * Locked, else the table could be dropped while its row is made; but
		 * who watches the sources does not wait for who changes one.
		 */
		locked = ConditionalLockRelationOid(table->ftrelid, AccessShareLock);
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table->ftrelid)) &&
			(monitor || pg_class_aclcheck(table->ftrelid, GetUserId(), ACL_SELECT) == ACLCHECK_OK))
			put(table->ftrelid, locked, arg);
		if (locked)
			UnlockRelationOid(table->ftrelid, AccessShareLock);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

Datum
lateweave_list_sources(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	lw_for_each_source(put_source, fcinfo->resultinfo);
	return (Datum) 0;
}

Datum
lateweave_kernels(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int			kernel;

	InitMaterializedSRF(fcinfo, 0);
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		Datum		values[3];
		bool		nulls[3] = {false, false, false};

		values[0] = CStringGetTextDatum(lw_kernel_names[kernel]);
		values[1] = BoolGetDatum(lw_kernel_available((LwKernel) kernel));
		values[2] = BoolGetDatum(lw_kernel_active() == (LwKernel) kernel);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
