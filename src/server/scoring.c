/*-------------------------------------------------------------------------
 *
 * scoring.c
 *	  Scores of a view's documents, and what can go wrong with them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "utils/float.h"

#include "server/error.h"
#include "server/ids.h"
#include "server/scoring.h"
#include "server/stat.h"
#include "store/ahead.h"

/* Documents and tokens handed to the kernel at a time; between two of them a query can be cancelled. */
#define BLOCK_DOCUMENTS 64
#define BLOCK_TOKENS 131072

/* What is wrong with a block. */
typedef struct Trouble
{
	LwStatus	status;			/* with its files */
	LwError		error;
	LwScoreProblem problem;		/* with its document number `good`, from 0, when the files are good */
	size_t		good;
} Trouble;

/* Since the last lw_report_kernel_time. */
static LwStatCounts reported;

void
lw_check_dimension(const LwView *view, int dimension)
{
	if ((uint64) dimension != view->manifest.dimension)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("query has dimension %d, but the vectors of \"%s\" have dimension " UINT64_FORMAT,
						dimension, view->directory, view->manifest.dimension)));
}

void
lw_check_faults(const LwView *view)
{
	LwError		error;

	/* A fault may have been in another view's map; then this one's data is whole. */
	if (lw_map_faults != 0 && lw_view_check(view, &error) != LW_OK)
		lw_report(ERROR, &error);
}

bool
lw_find_document(const LwView *view, LwString id, LwPlace *place)
{
	bool		found = lw_view_find(view, id.data, id.size, place);

	lw_check_faults(view);
	return found;
}

/* Position of the first bad scale of a row. */
static size_t
bad_scale(const LwSegment *segment, uint64 row)
{
	LwDocument	document;
	LwError		error;
	size_t		i = 0;

	if (lw_segment_document(segment, row, &document, &error) != LW_OK)
		lw_report(ERROR, &error);
	while (i + 1 < document.tokens && isfinite(document.scales[i]) && document.scales[i] > 0)
		i++;
	return i;
}

void
lw_report_score_problem(const LwView *view, LwPlace place, LwScoreProblem problem)
{
	const LwSegment *segment = view->segments[place.segment];
	size_t		size;
	const char *id = lw_ids_get(&segment->ids, place.row, &size);
	LwError		error;

	if (lw_view_check(view, &error) != LW_OK)
		lw_report(ERROR, &error);
	if (problem == LW_SCORE_SCALE)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("\"%s\" is damaged: the scale of token %zu of document \"%s\" is not finite and positive",
						segment->scales_map->path, bad_scale(segment, place.row) + 1, lw_id_for_message(id, size)),
				 errdetail("Scales."),
				 errhint("Restore the file from a copy of the store, or append the document again.")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("score of document \"%s\" in \"%s\" is not a number",
					lw_id_for_message(id, size), view->directory),
			 errdetail("Its vectors contain NaN, or a sum overflowed to infinity on both sides."),
			 errhint("Append the document again with finite vectors, or leave it out of the candidates.")));
}

/* Adds documents of a view that were scored to other ones. */
static void
add_scored(LwStatCounts *sum, const LwView *view, const LwStatCounts *counts)
{
	sum->documents += counts->documents;
	sum->tokens += counts->tokens;
	sum->bytes += counts->bytes;
	sum->nanoseconds += counts->nanoseconds;
	sum->untimed += counts->untimed;
	sum->commit = view->manifest.commit;
	sum->present = view->hidden == NULL ? 0 : view->documents;
}

void
lw_count_scored(const LwView *view, const LwStatCounts *counts)
{
	add_scored(lw_stat_scored, view, counts);
	add_scored(&reported, view, counts);
}

/* Counts a block; `nanoseconds` is 0 when they were not measured. */
static void
count_block(const LwView *view, size_t documents, size_t tokens, uint64 nanoseconds)
{
	LwStatCounts counts = {0};

	counts.documents = documents;
	counts.tokens = tokens;
	counts.bytes = tokens * view->segments[0]->row_size;
	if (view->manifest.encoding == LW_INT8)
		counts.bytes += tokens * sizeof(float4);
	counts.nanoseconds = nanoseconds;
	counts.untimed = nanoseconds == 0 ? documents : 0;
	lw_count_scored(view, &counts);
}

/* Scores a block, the first of `count` documents, and sets *done to how many they were; false when something is wrong. */
static bool
score_block(const LwView *view, LwQuery *query, const LwPlace *places, size_t count,
			bool timed, float4 floor, float4 *scores, size_t *done, Trouble *trouble)
{
	LwDocument	documents[BLOCK_DOCUMENTS];
	instr_time	start;
	instr_time	end;
	uint64		nanoseconds = 0;
	size_t		n = 0;
	size_t		tokens = 0;

	while (n < BLOCK_DOCUMENTS && n < count && tokens < BLOCK_TOKENS)
	{
		trouble->status = lw_view_document(view, places[n], &documents[n], &trouble->error);
		if (trouble->status != LW_OK)
			return false;
		tokens += documents[n++].tokens;
	}
	lw_read_ahead(view, places + n, count - n);
	if (timed)
		INSTR_TIME_SET_CURRENT(start);
	trouble->good = lw_maxsim_above(query, lw_view_scoring(view), documents, n, floor, scores, &trouble->problem);
	if (timed)
	{
		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_SUBTRACT(end, start);
		nanoseconds = (uint64) (INSTR_TIME_GET_DOUBLE(end) * 1e9);
	}
	count_block(view, n, tokens, nanoseconds);
	if (lw_map_faults != 0)
		trouble->status = lw_view_check(view, &trouble->error);
	*done = n;
	return trouble->status == LW_OK && trouble->good == n;
}

/* Scores documents in blocks; when something is wrong, it is with the block that begins at the number that is returned. */
static size_t
score_blocks(const LwView *view, LwQuery *query, const LwPlace *places, size_t count,
			 bool timed, float4 floor, float4 *scores, Trouble *trouble)
{
	size_t		done = 0;
	size_t		n;

	/* one document alone is read when it is touched */
	if (count > 1)
		lw_read_ahead(view, places, count);
	while (done < count)
	{
		CHECK_FOR_INTERRUPTS();
		if (!score_block(view, query, places + done, count - done, timed, floor, scores + done, &n, trouble))
			break;
		done += n;
	}
	return done;
}

/* As lw_score_places; measures the time when `timed` is set. */
static void
score_places(const LwView *view, LwQuery *query, const LwPlace *places, size_t count,
			 bool timed, float4 floor, float4 *scores)
{
	Trouble		trouble;
	size_t		done = score_blocks(view, query, places, count, timed, floor, scores, &trouble);

	if (done == count)
		return;
	if (trouble.status != LW_OK)
		lw_report(ERROR, &trouble.error);
	lw_report_score_problem(view, places[done + trouble.good], trouble.problem);
}

void
lw_score_places(const LwView *view, LwQuery *query, const LwPlace *places, size_t count,
				float4 floor, float4 *scores)
{
	score_places(view, query, places, count, true, floor, scores);
}

bool
lw_try_score_places(const LwView *view, LwQuery *query, const LwPlace *places, size_t count,
					float4 floor, float4 *scores)
{
	Trouble		ignored;

	return score_blocks(view, query, places, count, true, floor, scores, &ignored) == count;
}

/* Puts the lowest score on top. */
static int
compare_lowest(Datum a, Datum b, void *arg)
{
	float4		x = DatumGetFloat4(a);
	float4		y = DatumGetFloat4(b);

	return (x < y) - (x > y);
}

void
lw_score_best(const LwView *view, LwQuery *query, const LwPlace *places, size_t count,
			  size_t k, float4 *scores)
{
	bool		timed = count > 1 || track_io_timing;	/* the clock may take as long as one document does */
	binaryheap *best;			/* the k best scores so far */
	size_t		done;
	size_t		i;

	if (k >= count)
	{
		score_places(view, query, places, count, timed, -get_float4_infinity(), scores);
		return;
	}
	score_places(view, query, places, k, timed, -get_float4_infinity(), scores);
	best = binaryheap_allocate((int) k, compare_lowest, NULL);
	for (i = 0; i < k; i++)
		binaryheap_add_unordered(best, Float4GetDatum(scores[i]));
	binaryheap_build(best);
	for (done = k; done < count; done = i)
	{
		size_t		end = Min(count, done + BLOCK_DOCUMENTS);

		lw_read_ahead(view, places + end, count - end);
		score_places(view, query, places + done, end - done, timed,
					 DatumGetFloat4(binaryheap_first(best)), scores + done);
		for (i = done; i < end; i++)
			if (scores[i] > DatumGetFloat4(binaryheap_first(best)))
				binaryheap_replace_first(best, Float4GetDatum(scores[i]));
	}
	binaryheap_free(best);
}

void
lw_report_kernel_time(const char *path)
{
	if (reported.documents > 0)
		ereport(DEBUG1,
				(errmsg_internal("\"%s\": " UINT64_FORMAT " documents scored in %.3f ms of the kernel \"%s\": "
								 UINT64_FORMAT " tokens, " UINT64_FORMAT " bytes, commit " UINT64_FORMAT,
								 path, reported.documents, reported.nanoseconds / 1e6,
								 lw_kernel_names[lw_kernel_active()],
								 reported.tokens, reported.bytes, reported.commit)));
	memset(&reported, 0, sizeof(reported));
}
