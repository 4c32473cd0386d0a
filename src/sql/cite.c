/*-------------------------------------------------------------------------
 *
 * cite.c
 *	  lateweave_cite: a citation resolved among the attached section files.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "section/citation.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/pin.h"
#include "server/section_scoring.h"
#include "sql/chunk.h"

PG_FUNCTION_INFO_V1(lateweave_cite);

/* A citation taken apart, in memory of the call. */
typedef struct Citation
{
	char	   *content_hash;
	LwString	chunk_id;
} Citation;

static void
parse_citation(LwString string, Citation *citation)
{
	LwBytes		bytes = {(const uint8_t *) string.data, string.size};
	LwBytes		chunk_id;
	LwBuffer	hash;
	const char *problem;
	char	   *copy = NULL;

	lw_buffer_init(&hash, 0);
	problem = lw_citation_parse(bytes, &hash, &chunk_id);
	if (problem == NULL && !hash.failed)
		copy = palloc_extended(hash.size + 1, MCXT_ALLOC_NO_OOM);
	if (copy != NULL)
	{
		memcpy(copy, hash.data, hash.size);
		copy[hash.size] = '\0';
	}
	lw_buffer_free(&hash);
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not a citation: %s", lw_string_for_server(string), problem),
				 errdetail("CitationInvalid."),
				 errhint("A citation is \"urna://\", the content hash of a section file, \"/\" and the id of a chunk.")));
	if (copy == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	citation->content_hash = copy;
	citation->chunk_id.data = (const char *) chunk_id.data;
	citation->chunk_id.size = chunk_id.size;
}

/* Adds the row of a table whose file the citation is of and holds the chunk. */
static void
put_cited(Oid relid, const Citation *citation, ReturnSetInfo *result)
{
	LwSource   *source = lw_source_lookup(relid);
	LwContent	content;
	LwPlace		place;
	LwSpan		span;
	char		hash[LW_TEXT_HASH_SIZE + 1];
	Datum		values[7];
	bool		nulls[7] = {false, false, false, false, false, false, false};
	LwError		error = {0};

	if (source->kind != LW_SOURCE_SECTION ||
		(source->content_hash != NULL && strcmp(source->content_hash, citation->content_hash) != 0))
		return;
	if (lw_pin_try(relid, &content, &error) != LW_OK ||
		lw_section_content_hash(content.section->file, hash, &error) != LW_OK)
	{
		/* another table may have what is asked for */
		lw_report(error.status == LW_CANCELLED ? ERROR : WARNING, &error);
		return;
	}
	if (strcmp(hash, citation->content_hash) != 0 ||
		!lw_section_find_chunk(content.section, citation->chunk_id, &place))
		return;
	lw_get_span(content.section, place.row, &span);
	values[0] = ObjectIdGetDatum(relid);
	values[1] = PointerGetDatum(lw_chunk_id_text(content.section, place.row));
	values[2] = Int64GetDatum((int64) place.row);
	values[3] = PointerGetDatum(lw_chunk_canonical_text(content.section, place.row));
	values[4] = PointerGetDatum(lw_chunk_uri(content.section, place.row, &span));
	values[5] = lw_chunk_offset(content.section, place.row, "byte_start", span.source.start);
	values[6] = lw_chunk_offset(content.section, place.row, "byte_end", span.source.end);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* The tables of lateweave in this database that the current user may read. */
static List *
readable_sources(void)
{
	Relation	catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	List	   *relids = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_foreign_table table = (Form_pg_foreign_table) GETSTRUCT(tuple);
		ForeignServer *server = GetForeignServerExtended(table->ftserver, FSV_MISSING_OK);

		if (server != NULL && lw_is_lateweave_wrapper(server->fdwid))
			relids = lappend_oid(relids, table->ftrelid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	list_sort(relids, list_oid_cmp);
	return relids;
}

Datum
lateweave_cite(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Citation	citation;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	parse_citation(lw_id_from_text(PG_GETARG_TEXT_PP(0)), &citation);
	foreach(cell, readable_sources())
	{
		Oid			relid = lfirst_oid(cell);

		CHECK_FOR_INTERRUPTS();
		/* who changes a table is not waited for, as in lateweave_sources */
		if (!ConditionalLockRelationOid(relid, AccessShareLock))
			continue;
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)) &&
			pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
			put_cited(relid, &citation, result);
		UnlockRelationOid(relid, AccessShareLock);
	}
	return (Datum) 0;
}
