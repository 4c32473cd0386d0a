/*-------------------------------------------------------------------------
 *
 * candidates.c
 *	  Ranking the documents of a view by the centroids of their tokens.
 *
 * Numbers in the files are read once and checked, also when their checksum
 * was good before.
 *
 *-------------------------------------------------------------------------
 */
#include "candidates.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

/* Of the file of a training. */
enum
{
	PART_STARTS,				/* uint32 [cells + 1] */
	PART_MIDDLES,				/* float [cells][dimension] */
	PART_ROWS					/* float [count][dimension] */
};

enum
{
	VALUE_CELLS,
	VALUE_COUNT,
	VALUE_SAMPLED,
	VALUE_TIME
};

/* Of the file of codes. */
enum
{
	PART_BEGINS,				/* uint64 [documents + 1] */
	PART_IDS					/* uint16 */
};

#define BLOCK 64				/* documents ranked at a time */

static LwTraining *trainings;

static void
find_key(const LwView *view, LwDerivedKey *key)
{
	lw_derived_key(key, LW_DERIVED_TRAINED, 0, view->manifest.store_id.data, view->manifest.store_id.size);
}

/* Whether a part is of so many rows of so many values of four bytes. */
static bool
has_rows(const LwDerivedPart *part, uint64_t rows, uint64_t values)
{
	return part->size % sizeof(float) == 0 && part->size / sizeof(float) % values == 0 &&
		part->size / sizeof(float) / values == rows;
}

/* Looks whether a file is a training; what is small is copied, so that it stays what was checked. */
static bool
read_training(LwTraining *training, uint64_t dimension)
{
	const LwDerivedPart *parts = training->file->parts;
	const uint64_t *values = training->file->values;
	LwCentroids *centroids = &training->centroids;
	uint32_t   *starts;
	uint64_t	cell;

	if (values[VALUE_COUNT] < 1 || values[VALUE_COUNT] > LW_CENTROIDS_MOST ||
		values[VALUE_CELLS] < 1 || values[VALUE_CELLS] > values[VALUE_COUNT] ||
		dimension > UINT32_MAX || !has_rows(&parts[PART_STARTS], values[VALUE_CELLS] + 1, 1) ||
		!has_rows(&parts[PART_MIDDLES], values[VALUE_CELLS], dimension) ||
		!has_rows(&parts[PART_ROWS], values[VALUE_COUNT], dimension) ||
		!lw_derived_touch(training->file, parts[PART_STARTS].data, parts[PART_STARTS].size) ||
		!lw_derived_touch(training->file, parts[PART_MIDDLES].data, parts[PART_MIDDLES].size) ||
		!lw_derived_touch(training->file, parts[PART_ROWS].data, parts[PART_ROWS].size))
		return false;
	starts = malloc(parts[PART_STARTS].size);
	if (starts == NULL)
		return false;
	memcpy(starts, parts[PART_STARTS].data, parts[PART_STARTS].size);
	centroids->starts = starts;
	centroids->dimension = (uint32_t) dimension;
	centroids->cells = (uint32_t) values[VALUE_CELLS];
	centroids->count = (uint32_t) values[VALUE_COUNT];
	centroids->middles = (const void *) parts[PART_MIDDLES].data;
	centroids->rows = (const void *) parts[PART_ROWS].data;
	training->sampled = values[VALUE_SAMPLED];
	training->trained_at = (int64_t) values[VALUE_TIME];
	for (cell = 0; cell < centroids->cells; cell++)
		if (starts[cell] > starts[cell + 1])
			return false;
	return starts[0] == 0 && starts[centroids->cells] == centroids->count;
}

static void
close_training(LwTraining *training)
{
	lw_derived_close(training->file);
	free((void *) training->centroids.starts);
	free(training);
}

static LwTraining *
open_training(const LwDerivedKey *key, uint64_t dimension)
{
	LwTraining *training = calloc(1, sizeof(LwTraining));

	if (training == NULL)
		return NULL;
	training->key = *key;
	training->file = lw_derived_open(key);
	if (training->file != NULL && read_training(training, dimension))
		return training;
	close_training(training);
	return NULL;
}

LwTraining *
lw_training_get(const LwView *view)
{
	LwTraining **place = &trainings;
	LwTraining *training;
	LwFileIdentity identity;
	LwDerivedKey key;

	find_key(view, &key);
	while (*place != NULL && memcmp(&(*place)->key, &key, sizeof(key)) != 0)
		place = &(*place)->next;
	training = *place;
	if (training != NULL)
	{
		if (!training->file->map->faulted && lw_derived_stat(&key, &identity) &&
			memcmp(&identity, &training->file->identity, sizeof(identity)) == 0)
			return training;
		*place = training->next;
		close_training(training);
	}
	training = open_training(&key, view->manifest.dimension);
	if (training != NULL)
	{
		training->next = trainings;
		trainings = training;
	}
	return training;
}

/* What the codes of a segment are known by; false when it has no files. */
static bool
find_codes_key(const LwSegment *segment, const LwTraining *training, LwDerivedKey *key)
{
	uint64_t	file;

	if (segment->offsets_map == NULL)
		return false;
	memset(key, 0, sizeof(*key));
	key->kind = LW_DERIVED_CODES;
	key->segment = segment->id;
	memcpy(key->store, segment->files.store, sizeof(key->store));
	/* the tokens' own file first, to which it belongs; ids are of no interest */
	key->files[key->nfiles++] = segment->files.files[LW_FILE_VECTORS];
	for (file = 1; file < segment->files.nfiles; file++)
		if (file != LW_FILE_VECTORS)
			key->files[key->nfiles++] = segment->files.files[file];
	key->files[key->nfiles++] = training->file->identity;
	return true;
}

LwStatus
lw_training_put(const LwView *view, const LwTrained *trained, int64_t now, LwError *error)
{
	const LwCentroids *centroids = &trained->centroids;
	const uint64_t values[LW_DERIVED_VALUES] = {
		[VALUE_CELLS] = centroids->cells,
		[VALUE_COUNT] = centroids->count,
		[VALUE_SAMPLED] = trained->sampled,
		[VALUE_TIME] = (uint64_t) now
	};
	const LwDerivedPart parts[LW_DERIVED_PARTS] = {
		[PART_STARTS] = {(const char *) centroids->starts, (centroids->cells + 1) * sizeof(uint32_t)},
		[PART_MIDDLES] = {(const char *) centroids->middles, centroids->cells * (size_t) centroids->dimension * sizeof(float)},
		[PART_ROWS] = {(const char *) centroids->rows, centroids->count * (size_t) centroids->dimension * sizeof(float)}
	};
	LwTraining *former = lw_training_get(view);
	LwDerivedBuild *build = NULL;
	LwDerived  *file = NULL;
	LwDerivedKey key;
	LwStatus	status;
	size_t		i;

	find_key(view, &key);
	lw_error_path(error, view->directory, LW_MANIFEST_NAME);
	for (i = 0; former != NULL && i < view->manifest.nsegments; i++)
	{
		LwDerivedKey codes;

		if (find_codes_key(view->segments[i], former, &codes))
			lw_derived_remove(&codes);
	}
	if (centroids->count == 0)
	{
		lw_derived_remove(&key);
		return LW_OK;
	}
	errno = 0;
	status = lw_derived_begin(&key, error->path, true, &build, error);
	if (status != LW_OK)
		return status;
	if (build != NULL)
		file = lw_derived_finish(build, values, parts);
	if (file == NULL)
	{
		status = lw_fail_errno(error, errno != 0 ? errno : EIO, "write centroids in");
		lw_error_path(error, NULL, lw_derived_settings.trained == NULL ? "" : lw_derived_settings.trained);
		return status;
	}
	lw_derived_close(file);
	return LW_OK;
}

void
lw_training_remove(const char *store_id, size_t size)
{
	LwDerivedKey key;

	lw_derived_key(&key, LW_DERIVED_TRAINED, 0, store_id, size);
	lw_derived_remove(&key);
}

bool
lw_codes_wanted(const LwSegment *segment)
{
	return segment->offsets_map != NULL && segment->documents >= LW_CODES_DOCUMENTS;
}

/* Whether the codes have the sizes that they must have, and are what was written. */
static bool
codes_are_good(LwDerived *codes, uint64_t documents)
{
	const LwDerivedPart *parts = codes->parts;

	return parts[PART_BEGINS].size % sizeof(uint64_t) == 0 &&
		parts[PART_BEGINS].size / sizeof(uint64_t) - 1 == documents && parts[PART_IDS].size % sizeof(uint16_t) == 0 &&
		lw_derived_touch(codes, parts[PART_BEGINS].data, parts[PART_BEGINS].size) &&
		lw_derived_touch(codes, parts[PART_IDS].data, parts[PART_IDS].size);
}

/* Lets go of codes that turned out to be damaged. */
static void
drop_codes(LwSegment *segment)
{
	lw_derived_discard(segment->codes);
	lw_derived_close(segment->codes);
	segment->codes = NULL;
}

bool
lw_codes_open(LwSegment *segment, const LwTraining *training)
{
	LwDerivedKey key;

	if (!lw_codes_wanted(segment))
		return false;
	if (segment->codes != NULL)
	{
		if (memcmp(&segment->codes_of, &training->file->identity, sizeof(segment->codes_of)) == 0)
			return true;
		lw_derived_close(segment->codes);
		segment->codes = NULL;
	}
	if (!find_codes_key(segment, training, &key))
		return false;
	segment->codes = lw_derived_open(&key);
	segment->codes_of = training->file->identity;
	if (segment->codes != NULL && !codes_are_good(segment->codes, segment->documents))
		drop_codes(segment);
	return segment->codes != NULL;
}

/* The codes of a segment while they are made. */
typedef struct Making
{
	void	   *memory;			/* of the assigner */
	LwAssigner *assigner;		/* NULL until it is needed */
	float	   *rows;			/* [LW_ASSIGN_TOKENS][dimension], for tokens that have to be decoded */
	uint32_t   *seen;			/* [LW_CENTROIDS_MOST]: row + 1 of the last document that has the centroid */
	uint64_t   *begins;			/* [documents + 1] */
	uint16_t   *ids;
	uint64_t	count;			/* of ids */
	uint64_t	room;
} Making;

static bool
make_room(Making *making)
{
	uint64_t	room = making->room + making->room / 2 + LW_ASSIGN_TOKENS;
	uint16_t   *ids;

	if (making->count + LW_ASSIGN_TOKENS <= making->room)
		return true;
	ids = realloc(making->ids, room * sizeof(uint16_t));
	if (ids == NULL)
		return false;
	making->ids = ids;
	making->room = room;
	return true;
}

/* Finds the centroids of all documents of a segment. */
static LwStatus
assign_segment(const LwView *view, const LwSegment *segment, const LwLongWork *work, Making *making, LwError *error)
{
	uint64_t	row = 0;
	uint64_t	end = 0;		/* of the row before */
	uint64_t	token;
	uint64_t	step;

	memset(making->seen, 0, LW_CENTROIDS_MOST * sizeof(uint32_t));
	making->count = 0;
	for (token = 0; token < segment->tokens; token += step)
	{
		uint16_t	ids[LW_ASSIGN_TOKENS];
		uint64_t	i;

		step = segment->tokens - token < LW_ASSIGN_TOKENS ? segment->tokens - token : LW_ASSIGN_TOKENS;
		if (work->progress != NULL)
			work->progress(work->arg, LW_TRAINING_ASSIGN, token, segment->tokens);
		if (lw_stop_asked(work->stop))
			return lw_fail(error, LW_CANCELLED, NULL, -1, "to go on", "a request to stop");
		if (!make_room(making))
			return lw_fail_errno(error, ENOMEM, "assign centroids");
		lw_assign(making->assigner, lw_token_rows(view, segment, token, (size_t) step, making->rows), (size_t) step, ids);
		for (i = 0; i < step; i++)
		{
			if (token + i == end && row < segment->documents)
			{
				LwDocument	document;
				LwStatus	status = lw_segment_document(segment, row, &document, error);

				if (status != LW_OK)
					return status;
				making->begins[row++] = making->count;
				end += document.tokens;
			}
			if (making->seen[ids[i]] != row)
			{
				making->seen[ids[i]] = (uint32_t) row;
				making->ids[making->count++] = ids[i];
			}
		}
	}
	/* more than one where offsets changed meanwhile */
	while (row <= segment->documents)
		making->begins[row++] = making->count;
	return lw_segment_check(segment, error);
}

/* Makes the codes of one segment, unless another process has. */
static LwStatus
make_codes(const LwView *view, LwSegment *segment, const LwTraining *training, const LwLongWork *work,
		   Making *making, LwError *error)
{
	const uint64_t values[LW_DERIVED_VALUES] = {0};
	LwDerivedPart parts[LW_DERIVED_PARTS] = {{NULL, 0}};
	LwDerivedBuild *build;
	LwDerivedKey key;
	LwStatus	status;

	if (!find_codes_key(segment, training, &key) || !lw_derived_settled(&key, true))
		return LW_OK;
	status = lw_derived_begin(&key, segment->rows_map->path, true, &build, error);
	if (status != LW_OK || build == NULL || lw_codes_open(segment, training))
	{
		lw_derived_abandon(build);
		return status;
	}
	making->begins = malloc((segment->documents + 1) * sizeof(uint64_t));
	if (making->begins == NULL)
		status = lw_fail_errno(error, ENOMEM, "assign centroids");
	else
		status = assign_segment(view, segment, work, making, error);
	if (status == LW_OK)
	{
		parts[PART_BEGINS] = (LwDerivedPart) {(const char *) making->begins, (segment->documents + 1) * sizeof(uint64_t)};
		parts[PART_IDS] = (LwDerivedPart) {(const char *) making->ids, making->count * sizeof(uint16_t)};
		segment->codes = lw_derived_finish(build, values, parts);
		segment->codes_of = training->file->identity;
	}
	else
		lw_derived_abandon(build);
	free(making->begins);
	return status;
}

/* The memory for all segments; the training is packed for it. */
static LwStatus
begin_making(const LwView *view, const LwTraining *training, Making *making, LwError *error)
{
	size_t		size = lw_assigner_size(&training->centroids);
	size_t		dimension = (size_t) view->manifest.dimension;

	making->memory = size == 0 ? NULL : aligned_alloc(64, size);
	making->seen = malloc(LW_CENTROIDS_MOST * sizeof(uint32_t));
	making->rows = malloc(LW_ASSIGN_TOKENS * dimension * sizeof(float));
	if (making->memory == NULL || making->seen == NULL || making->rows == NULL)
		return lw_fail_errno(error, ENOMEM, "assign centroids");
	making->assigner = lw_assigner_init(making->memory, &training->centroids);
	return LW_OK;
}

LwStatus
lw_codes_make(const LwView *view, const LwTraining *training, const LwLongWork *work, uint64_t *made, LwError *error)
{
	Making		making;
	LwStatus	status = LW_OK;
	size_t		i;

	memset(&making, 0, sizeof(making));
	*made = 0;
	for (i = 0; status == LW_OK && i < view->manifest.nsegments; i++)
	{
		LwSegment  *segment = view->segments[i];

		if (!lw_codes_wanted(segment) || lw_codes_open(segment, training))
			continue;
		lw_error_path(error, NULL, segment->rows_map->path);
		if (making.assigner == NULL)
			status = begin_making(view, training, &making, error);
		if (status == LW_OK)
			status = make_codes(view, segment, training, work, &making, error);
		*made += segment->codes != NULL;
	}
	free(making.memory);
	free(making.rows);
	free(making.seen);
	free(making.ids);
	return status;
}

uint64_t
lw_codes_missing(const LwView *view, const LwTraining *training)
{
	uint64_t	missing = 0;
	uint64_t	row;
	size_t		i;

	for (i = 0; i < view->manifest.nsegments; i++)
	{
		LwSegment  *segment = view->segments[i];

		if (training != NULL && lw_codes_open(segment, training))
			continue;
		for (row = 0; row < segment->documents; row++)
			missing += !lw_bit(view->hidden[i], row);
	}
	return missing;
}

/* Ranks a segment's documents; false when its codes are damaged. */
static bool
rank_segment(const LwView *view, size_t number, const LwCentroidTable *table, LwBest *best)
{
	const LwSegment *segment = view->segments[number];
	const LwDerivedPart *parts = segment->codes->parts;
	const volatile uint64_t *begins = (const volatile void *) parts[PART_BEGINS].data;
	const uint16_t *ids = (const void *) parts[PART_IDS].data;
	uint64_t	most = parts[PART_IDS].size / sizeof(uint16_t);
	LwCodes		documents[BLOCK];
	uint64_t	rows[BLOCK];
	uint32_t	ranks[BLOCK];
	uint64_t	row = 0;

	while (row < segment->documents)
	{
		size_t		count = 0;
		size_t		i;

		lw_maxsim_pause();
		for (; row < segment->documents && count < BLOCK; row++)
		{
			uint64_t	begin = begins[row];
			uint64_t	end = begins[row + 1];

			if (begin > end || end > most)
				return false;
			if (lw_bit(view->hidden[number], row))
				continue;
			documents[count] = (LwCodes) {ids + begin, (size_t) (end - begin)};
			rows[count++] = row;
		}
		lw_rank(table, documents, count, ranks);
		for (i = 0; i < count; i++)
			/* later ones lose ties */
			if (best->count < best->room || (best->room > 0 && ranks[i] > best->hits[0].rank))
				lw_best_offer(best, (LwHit) {ranks[i], (uint32_t) number, rows[i]});
	}
	return !segment->codes->map->faulted;
}

void
lw_codes_rank(const LwView *view, const LwTraining *training, const LwCentroidTable *table, LwBest *best, bool *coded)
{
	size_t		count = view->manifest.nsegments;
	size_t		i;

	for (i = 0; i < count; i++)
		coded[i] = lw_codes_open(view->segments[i], training);
	best->count = 0;
	for (i = 0; i < count; i++)
	{
		if (!coded[i] || rank_segment(view, i, table, best))
			continue;
		/* what it gave is worth nothing: once more without it */
		drop_codes(view->segments[i]);
		coded[i] = false;
		best->count = 0;
		i = SIZE_MAX;
	}
}
