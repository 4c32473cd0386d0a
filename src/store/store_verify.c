/*-------------------------------------------------------------------------
 *
 * store_verify.c
 *	  Everything that can be checked about a store.
 *
 *-------------------------------------------------------------------------
 */
#include "store/store_verify.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/manifest_file.h"
#include "store/names.h"
#include "store/view.h"

/* Tokens that are looked at between two questions whether to stop. */
#define BLOCK_TOKENS 65536

typedef struct Verification
{
	LwDirectory store;
	const LwStoreReport *report;
	bool		(*stop) (void *arg);
	void	   *stop_arg;
	uint64_t	tokens;			/* looked at since the last question */
	LwError    *error;
} Verification;

static void
passed(const Verification *verification, const char *path, const char *check, uint64_t count)
{
	char		detail[24];

	snprintf(detail, sizeof(detail), "%" PRIu64, count);
	verification->report->passed(verification->report->arg, path, check, detail);
}

static LwStatus
verify_manifest(const Verification *verification, LwManifest *manifest)
{
	LwError    *error = verification->error;
	LwStatus	status = lw_manifest_read(verification->store.fd, verification->store.path, manifest, NULL, NULL, error);

	if (status == LW_OK)
		passed(verification, error->path, "manifest", manifest->commit);
	return status;
}

/* The files of one segment. */
static LwStatus
verify_segment(const Verification *verification, const LwManifest *manifest, const LwManifestSegment *entry)
{
	LwDirectory store = verification->store;
	LwSegment  *segment;
	LwTombstones *tombstones;
	LwStatus	status = lw_segment_open(store.fd, store.path, manifest, entry, verification->report,
										 &segment, verification->error);

	if (status != LW_OK)
		return status;
	if (segment->unnameable > 0)
	{
		char		name[LW_NAME_SIZE];

		lw_segment_name(name, entry->id, LW_FILE_IDS);
		lw_error_path(verification->error, store.path, name);
		passed(verification, verification->error->path, "ids with U+0000", segment->unnameable);
	}
	lw_segment_release(segment);
	if (!entry->has_tombstones)
		return LW_OK;
	status = lw_tombstones_open(store.fd, store.path, entry, verification->report, &tombstones, verification->error);
	if (status == LW_OK)
		lw_tombstones_release(tombstones);
	return status;
}

/* What is wrong with the values of a document, or NULL; *token is where. */
static const char *
find_fault(const LwView *view, const LwDocument *document, size_t *token)
{
	const float *values = document->rows;
	size_t		dimension = (size_t) view->manifest.dimension;
	size_t		i;

	for (*token = 0; *token < document->tokens; ++*token)
	{
		if (document->scales != NULL)
		{
			if (!(document->scales[*token] > 0 && document->scales[*token] <= FLT_MAX))
				return "Scales";
			continue;
		}
		for (i = 0; i < dimension; i++)
			if (isnan(values[*token * dimension + i]))
				return "NaN";
	}
	return NULL;
}

/* The values of one document. */
static LwStatus
verify_document(Verification *verification, const LwView *view, LwPlace place)
{
	const LwSegment *segment = view->segments[place.segment];
	LwError    *error = verification->error;
	LwDocument	document;
	const char *fault;
	const char *id;
	size_t		size;
	size_t		token;
	LwStatus	status = lw_view_document(view, place, &document, error);

	if (status != LW_OK)
		return status;
	verification->tokens += document.tokens;
	if (verification->tokens >= BLOCK_TOKENS)
	{
		verification->tokens = 0;
		if (verification->stop != NULL && verification->stop(verification->stop_arg))
			return lw_fail(error, LW_CANCELLED, NULL, -1, "to go on", "a request to stop");
	}
	fault = find_fault(view, &document, &token);
	if (fault == NULL)
		return LW_OK;
	status = lw_segment_check(segment, error);
	if (status != LW_OK)
		return status;
	id = lw_ids_get(&segment->ids, place.row, &size);
	lw_error_path(error, NULL, segment->scales_map != NULL ? segment->scales_map->path : segment->rows_map->path);
	return lw_fail(error, LW_MALFORMED, fault, -1,
				   segment->scales_map != NULL ? "scales that are finite and positive" : "values that are numbers",
				   "another in token %zu of \"%.*s\"", token + 1, (int) (size > 100 ? 100 : size), id);
}

/* The values of all documents that are present. */
static LwStatus
verify_values(Verification *verification, LwView *view)
{
	LwStatus	status = lw_view_hidden(view, verification->error);
	size_t		i;

	for (i = 0; status == LW_OK && i < view->manifest.nsegments; i++)
	{
		const LwSegment *segment = view->segments[i];
		LwPlace		place = {i, 0};
		uint64_t	documents = 0;

		for (; status == LW_OK && place.row < segment->documents; place.row++)
			if (!lw_bit(view->hidden[i], place.row))
			{
				status = verify_document(verification, view, place);
				documents++;
			}
		if (status == LW_OK)
			status = lw_segment_check(segment, verification->error);
		if (status == LW_OK)
			passed(verification, segment->rows_map->path, "values of present documents", documents);
	}
	return status;
}

/* Everything about one manifest, which it takes over. */
static LwStatus
verify_commit(Verification *verification, LwManifest *manifest)
{
	LwDirectory store = verification->store;
	LwStatus	status = LW_OK;
	LwView	   *view;
	size_t		i;

	for (i = 0; status == LW_OK && i < manifest->nsegments; i++)
		status = verify_segment(verification, manifest, &manifest->segments[i]);
	if (status == LW_OK)
	{
		status = lw_view_open(store.fd, store.path, manifest, NULL, &view, verification->error);
		if (status == LW_OK)
		{
			status = verify_values(verification, view);
			lw_view_release(view);
			return status;
		}
	}
	if (status == LW_MISSING && lw_manifest_moved(store, manifest))
		status = lw_fail(verification->error, LW_OUTDATED, "ManifestMoved", -1, "the commit that was read before",
						 "a newer one than %" PRIu64, manifest->commit);
	lw_manifest_free(manifest);
	return status;
}

LwStatus
lw_store_verify(LwDirectory store, const LwStoreReport *report,
				bool (*stop) (void *arg), void *stop_arg, LwError *error)
{
	Verification verification = {store, report, stop, stop_arg, 0, error};
	LwManifest	manifest;
	LwStatus	status = verify_manifest(&verification, &manifest);

	return status == LW_OK ? verify_commit(&verification, &manifest) : status;
}
