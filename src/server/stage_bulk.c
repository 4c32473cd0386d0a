/*-------------------------------------------------------------------------
 *
 * stage_bulk.c
 *	  Segments that a transaction writes before it commits, since what it
 *	  appends is too much for memory.
 *
 * Appended documents are collected in memory as all changes are.  A run of them
 * that has grown past SPILL_SIZE goes to the files of a segment, and so does
 * what follows, until the run ends.  An id that is in the segment already ends it, so
 * that the later document is in a later one.  Memory: the run, and an idset.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "server/error.h"
#include "server/idset.h"
#include "server/progress.h"
#include "server/stage.h"

#define SPILL_SIZE ((size_t) 16 * 1024 * 1024)

void
lw_stage_abort_bulk(LwStage *stage)
{
	LwStageBulk *bulk = &stage->bulk;

	if (!bulk->open)
		return;
	lw_segment_write_abort(&bulk->writer);
	bulk->open = false;
	lwidset_destroy(bulk->ids);
	bulk->ids = NULL;
}

void
lw_stage_release_bulk(LwStage *stage)
{
	if (stage->bulk.directory.fd < 0)
		return;
	close(stage->bulk.directory.fd);
	stage->bulk.directory.fd = -1;
	ReleaseExternalFD();
}

/* Makes the directory of the transaction's segments, once. */
static void
make_directory(LwStage *stage)
{
	LwStageBulk *bulk = &stage->bulk;
	LwDirectory pending;
	LwError		error;
	LwStatus	status;
	bool		there;

	if (bulk->directory.fd >= 0)
		return;
	while (bulk->id == 0)
		if (!pg_strong_random(&bulk->id, sizeof(bulk->id)))
			ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not make a random number")));
	if (!AcquireExternalFD())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("out of file descriptors for \"%s\"", stage->path)));
	lw_error_path(&error, NULL, stage->path);
	status = lw_pending_open(stage->directory, true, &pending, &there, &error);
	if (status == LW_OK)
	{
		status = lw_bulk_make(pending, bulk->id, bulk->name, &bulk->directory, &error);
		close(pending.fd);
	}
	if (status == LW_OK)
	{
		bulk->directory.path = stage->path;
		return;
	}
	bulk->directory.fd = -1;
	ReleaseExternalFD();
	lw_report(ERROR, &error);
}

static void
begin_segment(LwStage *stage)
{
	LwStageBulk *bulk = &stage->bulk;
	LwError		error;

	make_directory(stage);
	bulk->ids = lwidset_create(TopMemoryContext, 1024, NULL);
	lw_error_path(&error, NULL, stage->path);
	if (lw_segment_write_begin(&bulk->writer, bulk->directory, bulk->segments, stage->manifest.encoding,
							   stage->manifest.dimension, &error) != LW_OK)
	{
		lwidset_destroy(bulk->ids);
		bulk->ids = NULL;
		lw_report(ERROR, &error);
	}
	bulk->segments++;
	bulk->open = true;
	if (bulk->segments == 1)
		lw_progress_begin(stage->relid, LW_PHASE_LOAD, 0);
}

void
lw_stage_check_lost(const LwStage *stage)
{
	if (stage->bulk.lost != 0)
		ereport(ERROR,
				(errcode(ERRCODE_IO_ERROR),
				 errmsg("documents that this transaction has appended to \"%s\" could not be written", stage->path),
				 errhint("Roll back to a savepoint before they were appended, or the whole transaction.")));
}

void
lw_stage_end_bulk(LwStage *stage)
{
	LwStageBulk *bulk = &stage->bulk;
	LwString	name = {bulk->name, strlen(bulk->name)};
	LwManifestSegment entry;
	LwError		error;
	LwStatus	status;

	lw_stage_check_lost(stage);
	if (!bulk->open)
		return;
	bulk->lost = stage->nlevels + 1;
	lw_error_path(&error, NULL, stage->path);
	status = lw_segment_write_end(&bulk->writer, &entry, &error);
	bulk->open = false;
	lwidset_destroy(bulk->ids);
	bulk->ids = NULL;
	if (status == LW_OK)
		status = lw_directory_sync(bulk->directory, &error);
	if (status != LW_OK)
		lw_report(ERROR, &error);
	lw_put_bulk(&stage->changes, name, &entry);
	stage->run = stage->changes.size;
	lw_stage_end_change(stage);
	bulk->lost = 0;
}

/* Appends an encoded document to the segment, or to another when it holds the id. */
static void
write_document(LwStage *stage, LwString id, const LwDocument *document)
{
	LwStageBulk *bulk = &stage->bulk;
	LwIdKey		key = lw_id_key(id.data, id.size);
	bool		found;
	LwError		error;

	if (bulk->open && lwidset_lookup(bulk->ids, key) != NULL)
		lw_stage_end_bulk(stage);
	if (!bulk->open)
		begin_segment(stage);
	lwidset_insert(bulk->ids, key, &found);
	lw_error_path(&error, NULL, stage->path);
	if (lw_segment_write_encoded(&bulk->writer, id, document, &error) != LW_OK)
	{
		lw_stage_abort_bulk(stage);
		lw_report(ERROR, &error);
	}
	lw_progress_add(1);
}

/* Writes the documents of records. */
static void
write_records(LwStage *stage, LwBytes records)
{
	LwChangeFormat format = lw_change_format(&stage->manifest);
	LwChangeRecord record;
	LwError		error;
	size_t		at = 0;
	bool		found = true;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		lw_error_path(&error, NULL, stage->path);
		if (lw_next_change(records, format, &at, &record, &found, &error) != LW_OK)
			lw_report(ERROR, &error);
		if (!found)
			break;
		write_document(stage, record.id, &record.document);
	}
}

/* Takes the run out of the changes and writes it. */
static void
write_run(LwStage *stage)
{
	LwBytes		run;
	uint8	   *copy;

	run.size = stage->changes.size - stage->run;
	copy = MemoryContextAllocHuge(CurrentMemoryContext, run.size);
	memcpy(copy, stage->changes.data + stage->run, run.size);
	run.data = copy;
	stage->changes.size = stage->run;
	write_records(stage, run);
	pfree(copy);
}

bool
lw_stage_spills(const LwStage *stage)
{
	return stage->bulk.open || stage->changes.size - stage->run > SPILL_SIZE;
}

void
lw_stage_spill(LwStage *stage, LwString id, const float *values, size_t tokens)
{
	LwBuffer	record;

	if (!stage->bulk.open)
		write_run(stage);
	lw_buffer_init(&record, 0);
	lw_put_append(&record, lw_change_format(&stage->manifest), id, values, tokens);
	if (record.failed)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	PG_TRY();
	{
		write_records(stage, lw_buffer_bytes(&record));
	}
	PG_FINALLY();
	{
		lw_buffer_free(&record);
	}
	PG_END_TRY();
}
