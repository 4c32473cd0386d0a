/*-------------------------------------------------------------------------
 *
 * stage_bulk.c
 *	  Segments that a transaction writes before it commits, since what it
 *	  appends is too much for memory.
 *
 * Appended documents are collected in memory as all changes are.  When a run of them
 * has grown past SPILL_SIZE, the documents of earlier commands go to the files of a
 * segment, and those of the current one when they alone are too many: so a
 * snapshot between two large commands has the documents of the first.  The
 * segment comes before what is left of the run.  An id that is in the
 * segment already ends it, so that the later document is in a later one.
 * Memory: the run, and an idset.
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

/* What earlier commands have added stays in memory when it is less. */
#define LEAST_SEGMENT (SPILL_SIZE / 16)

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

/* Has the changes name a segment, before the last run of them. */
static void
put_segment(LwStage *stage, const LwManifestSegment *entry)
{
	LwStageBulk *bulk = &stage->bulk;
	LwString	name = {bulk->name, strlen(bulk->name)};
	size_t		tail = stage->changes.size - stage->run;
	uint8	   *copy = MemoryContextAllocHuge(CurrentMemoryContext, tail + 1);
	size_t		added;
	int			i;

	if (tail > 0)
		memcpy(copy, stage->changes.data + stage->run, tail);
	stage->changes.size = stage->run;
	stage->least = Min(stage->least, stage->run);
	lw_put_bulk(&stage->changes, name, entry);
	added = stage->changes.size - stage->run;
	for (i = stage->nmarks; i-- > 0 && stage->marks[i].end >= stage->run && stage->marks[i].command >= bulk->command;)
		stage->marks[i].end += added;
	stage->run += added;
	lw_put_bytes(&stage->changes, copy, tail);
	pfree(copy);
	lw_stage_end_change(stage);
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
	put_segment(stage, &entry);
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

/* Takes the first bytes of the run out of the changes and writes them: documents up to those of a command. */
static void
write_run(LwStage *stage, size_t size, CommandId command)
{
	size_t		all = stage->changes.size - stage->run;
	uint8	   *copy = MemoryContextAllocHuge(CurrentMemoryContext, all);
	LwBytes		written;

	memcpy(copy, stage->changes.data + stage->run, all);
	written.data = copy;
	written.size = size;
	lw_stage_cut(stage, stage->run);
	stage->bulk.command = command;
	write_records(stage, written);
	lw_put_bytes(&stage->changes, copy + size, all - size);
	pfree(copy);
}

/* Has what earlier commands have added to the run leave it. */
static void
write_earlier(LwStage *stage)
{
	const LwStageMark *before = stage->nmarks > 1 ? &stage->marks[stage->nmarks - 2] : NULL;

	if (before == NULL || before->end <= stage->run)
		return;
	if (stage->bulk.of_one)
		lw_stage_end_bulk(stage);
	stage->bulk.of_one = false;
	if (!stage->bulk.open && before->end - stage->run < LEAST_SEGMENT)
		stage->run = before->end;
	else
		write_run(stage, before->end - stage->run, before->command);
}

/* Writes a document to the segment of the current command. */
static void
write_current(LwStage *stage, LwString id, const float *values, size_t tokens)
{
	LwBuffer	record;

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

void
lw_stage_append(LwStage *stage, LwString id, const float *values, size_t tokens)
{
	LwStageBulk *bulk = &stage->bulk;
	CommandId	command = stage->marks[stage->nmarks - 1].command;

	if (stage->changes.size - stage->run > SPILL_SIZE)
	{
		write_earlier(stage);
		if (stage->changes.size - stage->run > SPILL_SIZE)
		{
			lw_stage_end_bulk(stage);
			bulk->of_one = true;
			write_run(stage, stage->changes.size - stage->run, command);
		}
	}
	if (bulk->open && bulk->command == command)
		write_current(stage, id, values, tokens);
	else
		lw_put_append(&stage->changes, lw_change_format(&stage->manifest), id, values, tokens);
}
