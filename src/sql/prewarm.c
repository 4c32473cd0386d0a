/*-------------------------------------------------------------------------
 *
 * prewarm.c
 *	  lateweave_prewarm: has a source ready before its first query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>

#include "fmgr.h"
#include "miscadmin.h"

#include "section/chunks.h"
#include "section/space.h"
#include "server/candidates.h"
#include "server/error.h"
#include "server/pin.h"
#include "server/scoring.h"

PG_FUNCTION_INFO_V1(lateweave_prewarm);

#define PAGE 4096				/* no page of memory is smaller */
#define PIECE ((size_t) 4 << 20)	/* bytes between two looks for a cancellation */

/* Reads mapped bytes. */
static void
read_bytes(const char *data, size_t size)
{
	size_t		done;
	size_t		at;

	for (done = 0; done < size; done += PIECE)
	{
		size_t		end = Min(size, done + PIECE);

		CHECK_FOR_INTERRUPTS();
		(void) madvise((void *) TYPEALIGN_DOWN(PAGE, data + done), Min(size - done, 2 * PIECE), MADV_WILLNEED);
		for (at = done; at < end; at += PAGE)
			(void) *(const volatile char *) (data + at);
	}
}

/* A store's derived files were made when its view was opened, but for the codes of documents. */
static int64
prewarm_store(Oid relid, const LwView *view)
{
	int64		bytes = 0;
	size_t		i;

	(void) lw_candidates_refresh(relid, view, NULL);
	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < view->manifest.nsegments; i++)
	{
		const LwMap *maps[LW_SEGMENT_MAPS];
		int			count = lw_segment_maps(view->segments[i], maps);

		while (count-- > 0)
		{
			read_bytes(maps[count]->data, maps[count]->size);
			bytes += (int64) maps[count]->size;
		}
	}
	lw_check_faults(view);
	return bytes;
}

/* Checks all sections, so that no other session has to, and has the ids' derived file made. */
static int64
prewarm_section(LwSection *section)
{
	LwSectionFile *file = section->file;
	LwVectorSlab slab;
	LwBytes		ignored = {(const uint8_t *) "", 0};
	size_t		ordinal;
	size_t		i;
	LwError		error;
	LwStatus	status = LW_OK;

	lw_error_path(&error, NULL, section->path);
	read_bytes((const char *) file->bytes.data, file->bytes.size);
	for (i = 0; status == LW_OK && i < file->nentries; i++)
		status = lw_section_stored(file, file->entries[i].id, &ignored, &error);
	if (status == LW_OK)
		status = lw_section_rerank_vectors(file, &slab, &error);
	if (status == LW_OK)
		status = lw_chunk_find(file, ignored, &ordinal, &error);
	if (status != LW_OK)
		lw_report(ERROR, &error);
	lw_section_check_faults(section);
	return (int64) file->bytes.size;
}

Datum
lateweave_prewarm(PG_FUNCTION_ARGS)
{
	LwContent	content;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	content = lw_pin(PG_GETARG_OID(0));
	PG_RETURN_INT64(content.view != NULL ? prewarm_store(PG_GETARG_OID(0), content.view) : prewarm_section(content.section));
}
