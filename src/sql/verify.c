/*-------------------------------------------------------------------------
 *
 * verify.c
 *	  lateweave_verify: everything that can be checked about a source.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "section/blob.h"
#include "section/citation.h"
#include "server/error.h"
#include "server/progress.h"
#include "server/section.h"
#include "server/source.h"
#include "store/store_verify.h"

PG_FUNCTION_INFO_V1(lateweave_verify);

#define DETAIL_SIZE 128
#define MAX_ATTEMPTS 100

typedef struct Passed
{
	char	   *object;			/* the file */
	const char *check;			/* a literal */
	char		detail[DETAIL_SIZE];
} Passed;

/* What passed.  Filled while a file is open that nobody would close after an ERROR, so nothing here raises. */
typedef struct Checks
{
	const LwSource *source;
	MemoryContext context;
	Passed	   *passed;
	int			count;
	int			room;
	bool		out_of_memory;
} Checks;

static void
note_passed_file(void *arg, const char *path, const char *check, const char *detail)
{
	Checks	   *checks = arg;
	size_t		size = strlen(path) + 1;
	char	   *object = MemoryContextAllocExtended(checks->context, size, MCXT_ALLOC_NO_OOM);

	if (checks->count == checks->room)
	{
		int			room = checks->room * 2 + 16;
		Passed	   *more = MemoryContextAllocExtended(checks->context, sizeof(Passed) * room, MCXT_ALLOC_NO_OOM);

		if (more != NULL && checks->count > 0)
			memcpy(more, checks->passed, sizeof(Passed) * checks->count);
		if (more != NULL)
		{
			checks->passed = more;
			checks->room = room;
		}
	}
	if (object == NULL || checks->count == checks->room)
	{
		checks->out_of_memory = true;
		return;
	}
	memcpy(object, path, size);
	lw_progress_add(1);
	checks->passed[checks->count].object = object;
	checks->passed[checks->count].check = check;
	strlcpy(checks->passed[checks->count].detail, detail, DETAIL_SIZE);
	checks->count++;
}

/* The same of a section file, which is the only one. */
static void
note_passed(void *arg, const char *check, const char *detail)
{
	note_passed_file(arg, ((Checks *) arg)->source->path, check, detail);
}

/* Inlined blobs, whose bytes opening a file does not look at. */
static LwStatus
verify_blobs(LwSectionFile *file, Checks *checks, LwError *error)
{
	size_t		count;
	size_t		verified = 0;
	size_t		i;
	char		detail[DETAIL_SIZE];
	LwStatus	status;

	if (!file->manifest.blobs_present || lw_section_find(file, LW_SECTION_BLOB_DATA) == NULL)
		return LW_OK;
	status = lw_blob_count(file, &count, error);
	for (i = 0; status == LW_OK && i < count; i++)
	{
		LwBlobRef	ref;

		status = lw_blob_ref(file, i, &ref, error);
		if (status != LW_OK || !ref.inlined)
			continue;
		status = lw_blob_verify(file, i, error);
		verified++;
	}
	snprintf(detail, sizeof(detail), "%zu", verified);
	if (status == LW_OK)
		note_passed(checks, "inlined blobs", detail);
	return status;
}

/* That the content is what the table's option says. */
static LwStatus
verify_identity(LwSectionFile *file, const LwSource *source, Checks *checks, LwError *error)
{
	char		hash[LW_TEXT_HASH_SIZE + 1];
	LwStatus	status;

	if (source->content_hash == NULL)
		return LW_OK;
	status = lw_section_content_hash(file, hash, error);
	if (status != LW_OK)
		return status;
	if (strcmp(hash, source->content_hash) != 0)
		return lw_fail(error, LW_REPLACED, "ContentHashMismatch", -1, "the content_hash in the foreign table's options",
					   "\"%s\" instead of \"%s\"", hash, source->content_hash);
	note_passed(checks, "option content_hash", "");
	return LW_OK;
}

static LwStatus
verify_section(const LwSource *source, Checks *checks, LwError *error)
{
	LwVerifyReport report = {note_passed, checks};
	LwSectionFile *file;
	struct stat status;
	LwStatus	result = lw_source_check_inside(source, error);

	if (result == LW_OK)
		result = lw_section_check_all(source->path, &report, &file, &status, error);
	if (result != LW_OK)
		return result;
	lw_error_path(error, NULL, source->path);
	result = verify_blobs(file, checks, error);
	if (result == LW_OK)
		result = verify_identity(file, source, checks, error);
	if (result == LW_OK)
		result = lw_section_intact(file, error);
	lw_section_close(file);
	return result;
}

/* What store/store_verify.h asks between documents. */
static bool
wants_to_stop(void *arg)
{
	return INTERRUPTS_PENDING_CONDITION();
}

static LwStatus
verify_files(const LwSource *source, Checks *checks, LwError *error)
{
	LwStoreReport report = {note_passed_file, checks};
	LwDirectory here = {AT_FDCWD, NULL};
	LwDirectory directory;
	LwStatus	status = lw_directory_open(here, source->path, &directory, error);

	checks->count = 0;
	lw_progress_set(0);
	if (status != LW_OK)
		return status;
	directory.path = source->path;
	status = lw_store_verify(directory, &report, wants_to_stop, NULL, error);
	close(directory.fd);
	return status;
}

static LwStatus
verify_store(LwSource *source, Checks *checks, LwError *error)
{
	LwContent	content;
	LwStatus	status = lw_source_check_inside(source, error);
	int			attempt = 0;

	if (status == LW_OK)
	{
		/* once more when another commit came and its files went meanwhile, or the interrupt was no cancellation */
		do
		{
			CHECK_FOR_INTERRUPTS();
			status = verify_files(source, checks, error);
		} while ((status == LW_OUTDATED && ++attempt < MAX_ATTEMPTS) || status == LW_CANCELLED);
	}
	/* that it is the store which the table remembers */
	if (status == LW_OK)
		status = lw_source_follow(source, &content, error);
	if (status == LW_OK && source->store_id != NULL)
		note_passed(checks, "option store_id", "");
	return status;
}

static void
put_row(ReturnSetInfo *result, const char *object, const char *check, bool ok, const char *detail)
{
	Datum		values[4];
	bool		nulls[4] = {false, false, false, false};

	values[0] = CStringGetTextDatum(object);
	values[1] = CStringGetTextDatum(check);
	values[2] = BoolGetDatum(ok);
	values[3] = CStringGetTextDatum(detail);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
lateweave_verify(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LwSource   *source;
	Checks		checks = {0};
	LwError		error = {0};
	LwStatus	status;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	lw_source_check_select(PG_GETARG_OID(0));
	source = lw_source_lookup(PG_GETARG_OID(0));
	checks.source = source;
	lw_progress_begin(source->relid, LW_PHASE_VERIFY, 0);
	checks.context = CurrentMemoryContext;
	status = source->kind == LW_SOURCE_SECTION ? verify_section(source, &checks, &error) :
		verify_store(source, &checks, &error);
	lw_progress_end();
	if (checks.out_of_memory)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	/* what says nothing about the file is no finding */
	if (status != LW_OK && status != LW_MALFORMED && status != LW_TRUNCATED && status != LW_REPLACED)
		lw_report(ERROR, &error);
	for (i = 0; i < checks.count; i++)
		put_row(result, checks.passed[i].object, checks.passed[i].check, true, checks.passed[i].detail);
	if (status != LW_OK)
		put_row(result, error.path, error.name, false, lw_error_message(&error));
	return (Datum) 0;
}
