/*-------------------------------------------------------------------------
 *
 * section.c
 *	  Section files that this backend has open.
 *
 * The open files are a list: few, and looked through only when a table's file
 * is another one than before.  What is malloc'ed and mapped belongs to a
 * handle, and a handle to whoever holds a reference, so that an ERROR
 * anywhere leaks nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "section/recall.h"
#include "server/error.h"
#include "server/section.h"
#include "store/map.h"

bool		lw_verify_on_open = false;

static dlist_head sections = DLIST_STATIC_INIT(sections);
static uint64 last_serial;

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
		a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool
lw_section_is_current(const LwSection *section, const struct stat *status)
{
	return same_file(&section->status, status) && (section->verified || !lw_verify_on_open);
}

LwSection *
lw_section_retain(LwSection *section)
{
	section->references++;
	return section;
}

void
lw_section_release(LwSection *section)
{
	if (--section->references > 0)
		return;
	dlist_delete(&section->node);
	if (section->search != NULL)
		lw_search_free(section->search);
	lw_indexes_free(&section->indexes);
	lw_section_close(section->file);
	pfree(section->path);
	pfree(section);
}

/* Whether the user wants the statement to end; the interrupt itself is taken when the error is reported. */
static bool
stop_asked(void *arg)
{
	return QueryCancelPending || ProcDiePending;
}

const LwStop lw_stop = {stop_asked, NULL};

LwStatus
lw_section_check_all(const char *path, const LwVerifyReport *report,
					 LwSectionFile **file, struct stat *status, LwError *error)
{
	LwVerify	how = {0};
	LwStatus	result;

	status->st_ino = 0;
	how.level = LW_VERIFY_OPEN;
	how.checks = &lw_index_checks;
	how.report = report;
	how.stop = &lw_stop;
	result = lw_section_verify(AT_FDCWD, NULL, path, &how, file, status, error);
	if (result == LW_OK)
	{
		lw_section_recall(*file, status);
		lw_section_set_all_checked(*file);
	}
	else if (result == LW_MALFORMED && status->st_ino != 0)
		lw_section_forget(status);
	return result;
}

static LwStatus
open_file(LwSection *section, LwError *error)
{
	LwStatus	status = lw_section_open(AT_FDCWD, NULL, section->path, 0, &section->file, &section->status, error);

	if (status == LW_OK)
	{
		lw_section_recall(section->file, &section->status);
		section->verified = lw_section_all_checked(section->file);
	}
	if (lw_verify_on_open && !section->verified)
	{
		if (status == LW_OK)
			lw_section_close(section->file);
		/* also of a file that does not open: what is wrong first is what counts */
		status = lw_section_check_all(section->path, NULL, &section->file, &section->status, error);
		section->verified = status == LW_OK;
	}
	if (status != LW_OK)
		return status;
	lw_indexes_init(&section->indexes, section->file, 0);
	lw_section_stop(section->file, &lw_stop);
	section->serial = ++last_serial;
	return LW_OK;
}

LwStatus
lw_section_get(const char *path, const struct stat *status, LwSection **result, LwError *error)
{
	LwSection  *section;
	LwStatus	failure;
	dlist_iter	iter;

	dlist_foreach(iter, &sections)
	{
		section = dlist_container(LwSection, node, iter.cur);
		if (lw_section_is_current(section, status))
		{
			*result = lw_section_retain(section);
			return LW_OK;
		}
	}

	/* first the memory, whose lack is an ERROR, then what would be lost by one */
	section = MemoryContextAllocZero(TopMemoryContext, sizeof(LwSection));
	section->path = MemoryContextStrdup(TopMemoryContext, path);
	failure = open_file(section, error);
	if (failure != LW_OK)
	{
		pfree(section->path);
		pfree(section);
		return failure;
	}
	section->references = 1;
	dlist_push_head(&sections, &section->node);
	*result = section;
	return LW_OK;
}

void
lw_section_check_faults(const LwSection *section)
{
	LwError		error;

	/* A fault may have been in another map; then this one's data is whole. */
	if (lw_map_faults != 0 && lw_section_intact(section->file, &error) != LW_OK)
		lw_report(ERROR, &error);
}
