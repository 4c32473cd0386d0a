/*-------------------------------------------------------------------------
 *
 * build.c
 *	  lateweave_build_section_file: a query's rows as a section file.
 *
 * The file is written beside its place under another name and appears there
 * whole, or not at all: what is unfinished is removed on any error, also when
 * the session is terminated.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "utils/builtins.h"

#include "compat.h"
#include "section/file.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/maintain.h"
#include "server/path.h"
#include "server/progress.h"
#include "sql/build_row.h"

PG_FUNCTION_INFO_V1(lateweave_build_section_file);

/* Rows that are fetched at a time. */
#define BATCH 256

typedef struct Job
{
	char	   *path;			/* absolute */
	char	   *temporary;
	bool		created;		/* `temporary` is there */
	int			fd;
	int			spill_fd;
	LwBuildOptions options;
	LwBuild    *build;
	LwBuildResult result;
	LwStop		stop;
	bool		finishing;		/* the rows are taken */
	uint64		balance;		/* of lw_rest */
	off_t		written;		/* of the file, when it was last looked at */
	struct Job *outer;			/* whose query has called for this one */
} Job;

static Job *running;			/* the innermost */

/* Also rests as the file grows.  The interrupt itself is taken when the error is reported. */
static bool
stop_asked(void *arg)
{
	Job		   *job = arg;
	struct stat status;

	if (job->finishing && fstat(job->fd, &status) == 0 && status.st_size >= job->written)
	{
		lw_rest(&job->balance, (uint64) (status.st_size - job->written));
		job->written = status.st_size;
		lw_progress_set((uint64) status.st_size);
	}
	return QueryCancelPending || ProcDiePending;
}

/* Raises what went wrong: of the query's row `row`, counted from 1, or with 0 of the file as a whole. */
static void
raise_failure(const Job *job, LwError *error, uint64 row)
{
	lw_error_path(error, NULL, job->path);
	if (error->status != LW_INVALID)
		lw_report(ERROR, error);
	ereport(ERROR,
			(errcode(row > 0 ? ERRCODE_DATA_EXCEPTION : ERRCODE_INVALID_PARAMETER_VALUE),
			 row > 0 ?
			 errmsg("row %llu cannot be in a section file: expected %s, found %s", (unsigned long long) row,
					error->expected, error->found) :
			 errmsg("section file \"%s\" cannot be built: expected %s, found %s", job->path,
					error->expected, error->found),
			 error->name != NULL ? errdetail_internal("%s.", error->name) : 0));
}

/* The directory that a path lies in. */
static char *
directory_of(const char *path)
{
	char	   *directory = pstrdup(path);

	get_parent_directory(directory);
	return directory[0] == '\0' ? pstrdup("/") : directory;
}

static void
raise_exists(const char *path)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_FILE),
			 errmsg("file \"%s\" already exists", path),
			 errhint("With overwrite => true it is replaced.")));
}

/* Checks where the file is to go, and who says so. */
static void
check_target(const char *option, bool overwrite, Job *job)
{
	struct stat status;

	lw_check_write_privilege(option);
	job->path = lw_resolve_new_path("path", option);
	if (lstat(job->path, &status) != 0)
		return;
	if (S_ISDIR(status.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a directory", job->path)));
	if (!overwrite)
		raise_exists(job->path);
}

/* A new file of this session; one that a crash has left is none of ours. */
static int
create_file(const char *path)
{
	int			fd = OpenTransientFile(path, O_RDWR | O_CREAT | O_EXCL | PG_BINARY);

	if (fd < 0 && errno == EEXIST && unlink(path) == 0)
		fd = OpenTransientFile(path, O_RDWR | O_CREAT | O_EXCL | PG_BINARY);
	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not create file \"%s\": %m", path)));
	return fd;
}

/* Opens the new file, and the spill, whose name goes at once. */
static void
create_files(Job *job)
{
	char	   *spill = psprintf("%s.rows%d", job->path, MyProcPid);
	char	   *directory = directory_of(job->path);
	struct stat status;

	job->spill_fd = create_file(spill);
	if (unlink(spill) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not remove file \"%s\": %m", spill)));
	job->temporary = psprintf("%s.tmp%d", job->path, MyProcPid);
	job->fd = create_file(job->temporary);
	job->created = true;
	/* who may look into the directory may read the file */
	if (stat(directory, &status) != 0 || fchmod(job->fd, (status.st_mode & 0644) | 0600) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not set permissions of file \"%s\": %m", job->temporary)));
}

/* Frees what PostgreSQL does not, and removes an unfinished file. */
static void
clean_up(Job *job)
{
	lw_build_free(job->build);
	job->build = NULL;
	lw_build_options_free(&job->options);
	if (job->created && unlink(job->temporary) != 0)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not remove file \"%s\": %m", job->temporary)));
	job->created = false;
}

/*
 * When the session ends in the middle.  Registered once and for good: what a query calls may register others of
 * this kind, in any order.
 */
static void
clean_up_all(int code, Datum arg)
{
	for (; running != NULL; running = running->outer)
		clean_up(running);
}

/* What is to be done with each row of a query. */
typedef struct RowTaker
{
	void		(*begin) (struct RowTaker *taker, TupleDesc desc);
	void		(*take) (struct RowTaker *taker, HeapTuple tuple, uint64 number);
	Job		   *job;
	LwRowReader rows;
	LwBlobReader blobs;
} RowTaker;

static void
begin_blobs(RowTaker *taker, TupleDesc desc)
{
	lw_blob_reader_init(&taker->blobs, desc);
}

static void
take_blob(RowTaker *taker, HeapTuple tuple, uint64 number)
{
	Job		   *job = taker->job;
	LwBlobRow	blob;
	LwError		error = {0};

	lw_read_blob_row(&taker->blobs, tuple, number, &blob);
	if (lw_build_add_blob(job->build, blob.uri, blob.sha256, blob.size, blob.inlined ? &blob.data : NULL,
						  &error) != LW_OK)
		raise_failure(job, &error, number);
}

static void
begin_rows(RowTaker *taker, TupleDesc desc)
{
	lw_row_reader_init(&taker->rows, desc, &taker->job->options);
	if (taker->rows.has_blobs)
		lw_build_blob_spans(taker->job->build);
}

static void
take_row(RowTaker *taker, HeapTuple tuple, uint64 number)
{
	Job		   *job = taker->job;
	LwBuildRow	row;
	LwError		error = {0};

	lw_read_build_row(&taker->rows, tuple, number, &row);
	lw_rest(&job->balance, tuple->t_len);
	lw_progress_set(number);
	if (lw_build_add_row(job->build, &row, &error) == LW_OK)
		return;
	/* the first row is what the options' own rules wait for */
	raise_failure(job, &error, lw_build_started(job->build) ? number : 0);
}

/* Runs a query and hands its rows over, one by one. */
static void
run_query(const char *query, RowTaker *taker)
{
	SPIPlanPtr	plan = SPI_prepare(query, 0, NULL);
	Portal		portal;
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext, "lateweave build row",
													  ALLOCSET_DEFAULT_SIZES);
	uint64		number = 0;
	uint64		i;

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	portal = SPI_cursor_open(NULL, plan, NULL, NULL, false);
	taker->begin(taker, portal->tupDesc);
	for (;;)
	{
		SPI_cursor_fetch(portal, true, BATCH);
		if (SPI_processed == 0)
			break;
		for (i = 0; i < SPI_processed; i++)
		{
			MemoryContext old = MemoryContextSwitchTo(row_context);

			CHECK_FOR_INTERRUPTS();
			taker->take(taker, SPI_tuptable->vals[i], ++number);
			MemoryContextSwitchTo(old);
			MemoryContextReset(row_context);
		}
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(portal);
	SPI_freeplan(plan);
	MemoryContextDelete(row_context);
}

/* Takes the blobs, then the rows. */
static void
run_queries(Job *job, const char *query)
{
	RowTaker	taker;
	LwBytes		blobs = job->options.blobs;
	text	   *blob_query;
	int			code;

	memset(&taker, 0, sizeof(taker));
	taker.begin = begin_blobs;
	taker.take = take_blob;
	taker.job = job;
	SPI_connect();
	if (blobs.data != NULL)
	{
		blob_query = lw_utf8_to_text((const char *) blobs.data, blobs.size, &code);
		if (blob_query == NULL)
			lw_report_text(code, "option blobs", job->path);
		run_query(text_to_cstring(blob_query), &taker);
	}
	taker.begin = begin_rows;
	taker.take = take_row;
	run_query(query, &taker);
	SPI_finish();
}

/* Puts the finished file in its place, for good. */
static void
publish(Job *job, bool overwrite)
{
	if (pg_fsync(job->fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not fsync file \"%s\": %m", job->temporary)));
	if (CloseTransientFile(job->fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not close file \"%s\": %m", job->temporary)));
	CloseTransientFile(job->spill_fd);
	if (overwrite)
	{
		durable_rename(job->temporary, job->path, ERROR);
		job->created = false;
		return;
	}
	/* a link never takes another file's place, which may be there by now */
	if (link(job->temporary, job->path) != 0)
	{
		if (errno == EEXIST)
			raise_exists(job->path);
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not link file \"%s\" to \"%s\": %m", job->temporary, job->path)));
	}
	if (unlink(job->temporary) == 0)
		job->created = false;
	fsync_fname_ext(directory_of(job->path), true, false, ERROR);
}

static void
build(Job *job, const char *query, LwString options, bool overwrite)
{
	LwBytes		json = {(const uint8 *) options.data, options.size};
	LwError		error = {0};

	if (lw_build_options_parse(json, &job->options, &error) != LW_OK)
		raise_failure(job, &error, 0);
	create_files(job);
	job->stop.asked = stop_asked;
	job->stop.arg = job;
	lw_progress_begin(InvalidOid, LW_PHASE_BUILD_READ, 0);
	if (lw_build_begin(&job->options, job->spill_fd, LW_SECTION_MEMORY, &job->stop, &job->build, &error) != LW_OK)
		raise_failure(job, &error, 0);
	run_queries(job, query);
	job->finishing = true;
	lw_progress_phase(LW_PHASE_BUILD_WRITE, 0);
	if (lw_build_finish(job->build, job->fd, &job->result, &error) != LW_OK)
		raise_failure(job, &error, 0);
	publish(job, overwrite);
	lw_progress_end();
}

Datum
lateweave_build_section_file(PG_FUNCTION_ARGS)
{
	static const char *const arguments[] = {"path", "query", "options", "overwrite"};
	static bool registered;
	Job		   *job = palloc0(sizeof(Job));
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false, false};
	char	   *query;
	LwString	options;
	int			i;

	for (i = 0; i < lengthof(arguments); i++)
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be NULL", arguments[i])));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	query = text_to_cstring(PG_GETARG_TEXT_PP(1));
	options = lw_id_from_text(PG_GETARG_TEXT_PP(2));
	check_target(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_BOOL(3), job);
	if (!registered)
		before_shmem_exit(clean_up_all, (Datum) 0);
	registered = true;
	job->outer = running;
	running = job;
	PG_TRY();
	{
		build(job, query, options, PG_GETARG_BOOL(3));
	}
	PG_FINALLY();
	{
		running = job->outer;
		clean_up(job);
	}
	PG_END_TRY();
	values[0] = Int64GetDatum((int64) job->result.bytes);
	values[1] = CStringGetTextDatum(job->result.content_hash);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}
