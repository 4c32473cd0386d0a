/*-------------------------------------------------------------------------
 *
 * test_candidates.c
 *	  Training centroids, the codes of segments, and ranking by them; and
 *	  that no damage of either file leads anywhere but to documents which are
 *	  scored after all.
 *
 *-------------------------------------------------------------------------
 */
#include "random.h"
#include "store.h"
#include "store/candidates.h"
#include "store/derived_file.h"

#include <math.h>

#define DIMENSION 16
#define DOCUMENTS 1200
#define MOST_TOKENS 20
#define TOPICS 40

static char store_path[300];
static LwDirectory store;
static float topics[TOPICS][DIMENSION];
static int	stop_after;			/* so many times it is not asked to stop; negative: never */

static bool
stop_asked(void *arg)
{
	(void) arg;
	return stop_after >= 0 && stop_after-- == 0;
}

static const LwStop stop = {stop_asked, NULL};
static const LwLongWork work = {&stop, NULL, NULL};

/* The tokens of a document: near some topics. */
static size_t
make_document(float *values, bool unit)
{
	size_t		tokens = 1 + random_below(MOST_TOKENS);
	size_t		i;
	size_t		j;

	for (i = 0; i < tokens; i++)
	{
		const float *topic = topics[random_below(TOPICS)];
		float		squares = 0;

		for (j = 0; j < DIMENSION; j++)
		{
			values[i * DIMENSION + j] = topic[j] + gaussian() / 4;
			squares += values[i * DIMENSION + j] * values[i * DIMENSION + j];
		}
		for (j = 0; unit && j < DIMENSION; j++)
			values[i * DIMENSION + j] /= sqrtf(squares);
	}
	return tokens;
}

/* Appends a segment of documents that are called `prefix` and a number. */
static void
append(const char *prefix, size_t documents)
{
	LwView	   *view = open_view(store);
	LwSegmentWriter writer;
	LwManifestSegment entry;
	LwDraft		draft;
	LwError		error;
	uint64_t	id;
	size_t		i;
	bool		good = lw_draft_begin(&draft, view, store, &error) == LW_OK &&
		lw_draft_take_id(&draft, &id, &error) == LW_OK &&
		lw_segment_write_begin(&writer, store, id, view->manifest.encoding, DIMENSION, &error) == LW_OK;

	for (i = 0; good && i < documents; i++)
	{
		float		values[MOST_TOKENS * DIMENSION];
		char		name[40];
		size_t		tokens = make_document(values, view->manifest.normalized);

		snprintf(name, sizeof(name), "%s%zu", prefix, i);
		good = lw_segment_write(&writer, LITERAL(name), values, tokens, &error) == LW_OK;
	}
	good = good && lw_segment_write_end(&writer, &entry, &error) == LW_OK &&
		lw_draft_add(&draft, &entry, NULL, &error) == LW_OK &&
		lw_draft_write(&draft, 1790000001, &error) == LW_OK && lw_draft_publish(&draft, &error) == LW_OK;
	CHECK(good, "%s: %s, found %s", error.path, error.expected, error.found);
	lw_draft_free(&draft);
	lw_view_release(view);
}

static void
delete(const char *prefix, size_t first, size_t count)
{
	LwView	   *view = open_view(store);
	LwDraft		draft;
	LwError		error;
	bool		good = lw_draft_begin(&draft, view, store, &error) == LW_OK;

	for (; good && count > 0; first++, count--)
	{
		char		name[40];
		bool		present;

		snprintf(name, sizeof(name), "%s%zu", prefix, first);
		good = lw_draft_delete(&draft, name, strlen(name), &present, &error) == LW_OK && present;
	}
	good = good && lw_draft_write(&draft, 1790000002, &error) == LW_OK && lw_draft_publish(&draft, &error) == LW_OK;
	CHECK(good, "deleting");
	lw_draft_free(&draft);
	lw_view_release(view);
}

/* A new store in the scratch directory. */
static void
make_store(const char *name, LwEncoding encoding, bool normalized)
{
	LwManifest	manifest = identity(encoding, DIMENSION, normalized);
	LwError		error;
	static int	stores;
	char		store_id[40];

	snprintf(store_id, sizeof(store_id), "%032d", ++stores);
	manifest.store_id = LITERAL(store_id);
	CHECK(lw_store_create(in_scratch(name), 0700, &manifest, &error) == LW_OK, "%s", name);
	snprintf(store_path, sizeof(store_path), "%s", in_scratch(name));
	store = open_directory(store_path);
}

/* The current view, with what is hidden. */
static LwView *
open_whole(void)
{
	LwView	   *view = open_view(store);
	LwError		error;

	CHECK(lw_view_hidden(view, &error) == LW_OK, "hidden");
	return view;
}

/* Files in a directory whose name begins so. */
static int
count_files(const char *directory, const char *prefix, char *path)
{
	DIR		   *open_one = opendir(directory);
	struct dirent *entry;
	int			count = 0;

	while (open_one != NULL && (entry = readdir(open_one)) != NULL)
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
		{
			count++;
			if (path != NULL)
				snprintf(path, 600, "%s/%s", directory, entry->d_name);
		}
	if (open_one != NULL)
		closedir(open_one);
	return count;
}

static bool
same_training(const LwTrained *a, const LwTrained *b)
{
	const LwCentroids *x = &a->centroids;
	const LwCentroids *y = &b->centroids;

	return a->sampled == b->sampled && x->cells == y->cells && x->count == y->count &&
		memcmp(x->starts, y->starts, (x->cells + 1) * sizeof(uint32_t)) == 0 &&
		memcmp(x->middles, y->middles, x->cells * DIMENSION * sizeof(float)) == 0 &&
		memcmp(x->rows, y->rows, x->count * DIMENSION * sizeof(float)) == 0;
}

/* The same centroids every time and from every instruction set; as many as were asked for. */
static void
check_training(const LwView *view)
{
	LwTrained	first;
	LwTrained	trained;
	LwError		error;
	int			kernel;

	CHECK(lw_train(view, 0, 1 << 24, &work, &first, &error) == LW_OK, "training");
	CHECK(first.centroids.count == lw_train_default(view->segments[0]->tokens + view->segments[1]->tokens), "%u", first.centroids.count);
	CHECK(first.centroids.cells > 1, "%u cells", first.centroids.cells);
	for (kernel = LW_KERNEL_SCALAR; kernel < LW_KERNEL_COUNT; kernel++)
	{
		if (!lw_kernel_available((LwKernel) kernel))
			continue;
		lw_kernel_cap((LwKernel) kernel);
		CHECK(lw_train(view, 0, 1 << 24, &work, &trained, &error) == LW_OK && same_training(&first, &trained),
			  "%s: other centroids", lw_kernel_names[kernel]);
		lw_trained_free(&trained);
	}
	lw_kernel_cap(LW_KERNEL_AUTO);
	CHECK(lw_train(view, 7, 1 << 24, &work, &trained, &error) == LW_OK && trained.centroids.count == 7 &&
		  trained.centroids.cells == 1 && trained.sampled == 7 * 32, "seven centroids");
	lw_trained_free(&trained);
	CHECK(lw_train(view, 100, 1000, &work, &trained, &error) == LW_OK &&
		  trained.centroids.count == trained.sampled && trained.sampled <= 1000 / DIMENSION, "without memory");
	lw_trained_free(&trained);
	lw_trained_free(&first);
}

static LwQuery *
make_query(uint32_t tokens)
{
	float		values[100 * DIMENSION];
	size_t		i;

	for (i = 0; i < tokens * DIMENSION; i++)
		values[i] = topics[random_below(TOPICS)][i % DIMENSION] + gaussian() / 8;
	return lw_query_init(aligned_alloc(64, lw_query_size(tokens, DIMENSION)), values, tokens, DIMENSION);
}

/* What the best documents are for a query; the caller's hits. */
static size_t
find_best(LwView *view, LwTraining *training, LwQuery *query, LwHit *hits, size_t room, bool *coded)
{
	void	   *memory = aligned_alloc(64, (lw_table_size(training->centroids.count, lw_query_tokens(query)) + 63) / 64 * 64);
	LwBest		best = {hits, room, 0};
	LwCentroidTable table;

	lw_table_init(&table, memory, &training->centroids, query);
	lw_codes_rank(view, training, &table, &best, coded);
	lw_best_finish(&best);
	free(memory);
	return best.count;
}

/* How many of the ten documents of the highest score are among the best `room`, of ten queries. */
static int
count_found(LwView *view, LwTraining *training, size_t room)
{
	int			found = 0;
	int			round;

	random_state = 4711;
	for (round = 0; round < 10; round++)
	{
		LwQuery    *query = make_query(8);
		LwHit	   *hits = calloc(room, sizeof(LwHit));
		bool		coded[16];
		size_t		count = find_best(view, training, query, hits, room, coded);
		float	   *scores = calloc(DOCUMENTS, sizeof(float));
		uint64_t	row;
		int			i;

		for (row = 0; row < DOCUMENTS; row++)
		{
			LwDocument	document;
			LwScoreProblem problem;
			LwError		error;

			scores[row] = -INFINITY;
			if (lw_bit(view->hidden[0], row) || lw_segment_document(view->segments[0], row, &document, &error) != LW_OK)
				continue;
			lw_maxsim(query, lw_view_scoring(view), &document, 1, &scores[row], &problem);
		}
		for (i = 0; i < 10; i++)
		{
			uint64_t	best = 0;
			size_t		j;

			for (row = 0; row < DOCUMENTS; row++)
				if (scores[row] > scores[best])
					best = row;
			scores[best] = -INFINITY;
			for (j = 0; j < count; j++)
				found += hits[j].segment == 0 && hits[j].row == best;
		}
		free(scores);
		free(hits);
		free(query);
	}
	return found;
}

/* Codes are what assigning gives, each once; ranks are those of a plain look at them. */
static void
check_codes(LwView *view, LwTraining *training)
{
	LwSegment  *segment = view->segments[0];
	const uint64_t *begins = (const void *) segment->codes->parts[0].data;
	const uint16_t *ids = (const void *) segment->codes->parts[1].data;
	void	   *memory = aligned_alloc(64, lw_assigner_size(&training->centroids));
	LwAssigner *assigner = lw_assigner_init(memory, &training->centroids);
	size_t		wrong = 0;
	uint64_t	row;

	for (row = 0; row < segment->documents; row++)
	{
		float		buffer[MOST_TOKENS * DIMENSION];
		uint16_t	assigned[MOST_TOKENS];
		size_t		tokens = segment->offsets[row + 1] - segment->offsets[row];
		uint64_t	expected = 0;
		size_t		i;
		uint64_t	j;

		lw_assign(assigner, lw_token_rows(view, segment, segment->offsets[row], tokens, buffer), tokens, assigned);
		for (i = 0; i < tokens; i++)
		{
			size_t		before = 0;

			while (before < i && assigned[before] != assigned[i])
				before++;
			expected += before == i;
			for (j = begins[row]; j < begins[row + 1] && ids[j] != assigned[i]; j++)
				;
			wrong += j == begins[row + 1];
		}
		wrong += begins[row + 1] - begins[row] != expected;
	}
	CHECK(wrong == 0, "%zu codes are wrong", wrong);
	free(memory);
}

/* More of the best begin with fewer; hidden documents are none; segments without codes are said to be. */
static void
check_ranking(LwView *view, LwTraining *training)
{
	LwQuery    *query = make_query(40);
	LwHit	   *all = calloc(2 * DOCUMENTS, sizeof(LwHit));
	LwHit		few[50];
	bool		coded[16];
	size_t		count = find_best(view, training, query, all, 2 * DOCUMENTS, coded);
	size_t		wrong = 0;
	size_t		i;

	CHECK(count == DOCUMENTS - 100, "%zu documents", count);
	for (i = 0; i < count; i++)
		wrong += all[i].segment != 0 || all[i].row < 100;
	CHECK(wrong == 0, "%zu that are deleted, or have no codes", wrong);
	CHECK(find_best(view, training, query, few, 50, coded) == 50 && memcmp(few, all, sizeof(few)) == 0, "the best 50");
	CHECK(coded[0] && !coded[1], "which segments have codes");
	CHECK(lw_codes_missing(view, training) == 50, "%" PRIu64 " documents without", lw_codes_missing(view, training));
	free(all);
	free(query);
}

static void
train(LwView *view, uint32_t count)
{
	LwTrained	trained;
	LwError		error;

	CHECK(lw_train(view, count, 1 << 24, &work, &trained, &error) == LW_OK &&
		  lw_training_put(view, &trained, 1234567, &error) == LW_OK, "%s: %s", error.path, error.expected);
	lw_trained_free(&trained);
}

static void
forget(const LwView *view)
{
	LwTrained	none = {0};
	LwError		error;

	CHECK(lw_training_put(view, &none, 0, &error) == LW_OK && lw_training_get(view) == NULL, "forgotten");
	CHECK(count_files(lw_derived_settings.directory, "codes-", NULL) == 0 &&
		  count_files(lw_derived_settings.trained, "trained-", NULL) == 0, "files are left");
}

static uint64_t
make_codes(LwView *view)
{
	LwTraining *training = lw_training_get(view);
	uint64_t	made = 0;
	LwError		error;

	CHECK(training != NULL && lw_codes_make(view, training, &work, &made, &error) == LW_OK, "codes");
	return made;
}

/* A store of each kind: trained, found, trained anew, appended to, forgotten. */
static void
check_store(LwEncoding encoding, bool normalized)
{
	const char *name = encoding == LW_INT8 ? normalized ? "unit" : "int8" : "float32";
	LwView	   *view;
	LwTraining *training;
	int			found;

	make_store(name, encoding, normalized);
	append("a", DOCUMENTS);
	delete("a", 0, 100);
	append("b", 50);
	view = open_whole();
	CHECK(lw_training_get(view) == NULL && lw_codes_missing(view, NULL) == DOCUMENTS - 100 + 50, "%s: trained already", name);
	check_training(view);
	train(view, 0);
	training = lw_training_get(view);
	CHECK(training != NULL && training->trained_at == 1234567 && training == lw_training_get(view), "%s: no training", name);
	CHECK(make_codes(view) == 1 && make_codes(view) == 0, "%s: codes were made", name);
	check_codes(view, training);
	check_ranking(view, training);
	found = count_found(view, training, 60);
	CHECK(found >= 90, "%s: %d of 100", name, found);

	/* another session finds them */
	lw_view_release(view);
	view = open_whole();
	CHECK(lw_codes_open(view->segments[0], training) && make_codes(view) == 0, "%s: codes of another session", name);

	/* other centroids have other codes, and the former ones go */
	train(view, 300);
	CHECK(count_files(lw_derived_settings.directory, "codes-", NULL) == 0, "%s: codes of the former training", name);
	training = lw_training_get(view);
	CHECK(training->centroids.count == 300 && !lw_codes_open(view->segments[0], training), "%s: the former training", name);
	CHECK(make_codes(view) == 1, "%s: codes were made", name);
	check_codes(view, training);

	/* a segment that is appended has codes by the same */
	append("c", 1000);
	lw_view_release(view);
	view = open_whole();
	CHECK(lw_codes_missing(view, training) == 1050 && make_codes(view) == 1 && lw_codes_missing(view, training) == 50,
		  "%s: a new segment", name);
	forget(view);
	lw_view_release(view);
	close(store.fd);
}

/* Asked to stop at each place in turn, work ends with that and leaves no file. */
static void
check_stop(void)
{
	LwView	   *view;
	LwTrained	trained;
	LwError		error;
	uint64_t	made;
	int			after;
	int			cancelled = 0;

	make_store("stop", LW_INT8, true);
	append("a", DOCUMENTS);
	view = open_whole();
	for (after = 0; after < 1000; after = after * 2 + 1)
	{
		LwStatus	status;

		stop_after = after;
		status = lw_train(view, 600, 1 << 24, &work, &trained, &error);
		CHECK(status == (stop_after < 0 ? LW_CANCELLED : LW_OK), "after %d: %d", after, status);
		cancelled += status == LW_CANCELLED;
		if (status == LW_OK)
			lw_trained_free(&trained);
	}
	stop_after = -1;
	CHECK(cancelled > 4, "%d times", cancelled);
	train(view, 600);
	for (after = 0; after < 5; after++)
	{
		stop_after = after;
		CHECK(lw_codes_make(view, lw_training_get(view), &work, &made, &error) == LW_CANCELLED && made == 0 &&
			  count_files(lw_derived_settings.directory, "codes-", NULL) == 0, "codes after %d", after);
	}
	stop_after = -1;
	CHECK(make_codes(view) == 1, "after all");
	forget(view);
	lw_view_release(view);
	close(store.fd);
}

/* Writes bytes into a file; its size and its time stay. */
static void
damage(const char *path, long at, unsigned char with)
{
	struct stat status;
	struct timespec times[2];
	int			fd = open(path, O_RDWR);
	unsigned char byte;

	if (fd < 0 || fstat(fd, &status) != 0 || pread(fd, &byte, 1, at) != 1)
		abort();
	byte ^= with;
	if (pwrite(fd, &byte, 1, at) != 1)
		abort();
	times[0] = status.st_atim;
	times[1] = status.st_mtim;
	futimens(fd, times);
	close(fd);
}

/* Puts other numbers into codes, with checksums that hold: no damage, but what a foe would do. */
static void
check_forged(LwView *view, LwTraining *training, const char *path)
{
	LwSegment  *segment = view->segments[0];
	LwQuery    *query = make_query(5);
	LwHit		hits[2000];
	bool		coded[16];
	size_t		size = segment->codes->parts[1].size;
	char	   *ids = malloc(size);
	uint64_t   *begins = malloc((DOCUMENTS + 1) * sizeof(uint64_t));
	int			way;

	memcpy(ids, segment->codes->parts[1].data, size);
	for (way = 0; way < 4; way++)
	{
		const uint64_t values[LW_DERIVED_VALUES] = {0};
		LwDerivedPart parts[LW_DERIVED_PARTS] = {{(char *) begins, (DOCUMENTS + 1) * sizeof(uint64_t)}, {ids, size}};
		LwDerivedHeader header;
		LwDerivedBuild *build;
		LwDerived  *file;
		LwError		error;
		int			fd = open(path, O_RDONLY);

		if (pread(fd, &header, sizeof(header), 0) != (ssize_t) sizeof(header))
			abort();
		close(fd);
		memcpy(begins, segment->codes->parts[0].data, (DOCUMENTS + 1) * sizeof(uint64_t));
		memset(ids, 0xff, size);	/* no centroids */
		if (way == 1)
			begins[700] = UINT64_MAX / 2;
		if (way == 2)
			begins[DOCUMENTS] = size;	/* of which half are there */
		if (way == 3)
			parts[0].size -= sizeof(uint64_t);
		lw_derived_close(segment->codes);
		segment->codes = NULL;
		CHECK(lw_derived_begin(&header.key, header.path, true, &build, &error) == LW_OK && build != NULL, "begin");
		file = lw_derived_finish(build, values, parts);
		CHECK(file != NULL, "finish");
		lw_derived_close(file);
		CHECK((find_best(view, training, query, hits, 2000, coded) == DOCUMENTS) == (way == 0) && coded[0] == (way == 0),
			  "codes with other numbers, %d", way);
		if (way > 0)
			CHECK(make_codes(view) == 1, "made anew, %d", way);
	}
	free(begins);
	free(ids);
	free(query);
}

/* Bytes that changed, files that were cut: codes are made anew, a training is none. */
static void
check_damage(void)
{
	char		path[600];
	char		trained[600];
	LwView	   *view;
	LwTraining *training;
	LwQuery    *query = make_query(5);
	LwHit		hits[2000];
	bool		coded[16];
	struct stat status;
	long		at;

	make_store("damage", LW_INT8, true);
	append("a", DOCUMENTS);
	view = open_whole();
	train(view, 200);
	training = lw_training_get(view);
	CHECK(make_codes(view) == 1 && count_files(lw_derived_settings.directory, "codes-", path) == 1 &&
		  count_files(lw_derived_settings.trained, "trained-", trained) == 1, "files");
	if (stat(path, &status) != 0)
		abort();
	for (at = 0; at < status.st_size; at += 1 + random_below(3000))
	{
		size_t		count;

		lw_derived_close(view->segments[0]->codes);
		view->segments[0]->codes = NULL;
		damage(path, at, 1 << random_below(8));
		/* where nothing lies it does no harm */
		count = find_best(view, training, query, hits, 2000, coded);
		CHECK(count == (coded[0] ? DOCUMENTS : 0), "byte %ld", at);
		(void) make_codes(view);
		CHECK(find_best(view, training, query, hits, 2000, coded) == DOCUMENTS && coded[0], "made anew after byte %ld", at);
	}

	check_forged(view, training, path);

	/* cut while it is mapped */
	if (truncate(path, 0) != 0)
		abort();
	CHECK(find_best(view, training, query, hits, 2000, coded) == 0 && !coded[0], "cut");
	CHECK(make_codes(view) == 1 && find_best(view, training, query, hits, 2000, coded) == DOCUMENTS, "made anew");

	/* the training */
	if (stat(trained, &status) != 0)
		abort();
	for (at = 0; at < 4096; at += 1 + random_below(200))
	{
		unsigned char with = (unsigned char) (1 << random_below(8));

		if (utimensat(AT_FDCWD, trained, (struct timespec[2]) {{at, 1}, {at, 1}}, 0) != 0)
			abort();
		damage(trained, at, with);
		CHECK(lw_training_get(view) == NULL || at >= (long) sizeof(LwDerivedHeader), "training, byte %ld", at);
		damage(trained, at, with);
	}
	damage(trained, status.st_size - 5000, 1);
	if (utimensat(AT_FDCWD, trained, (struct timespec[2]) {{7, 1}, {7, 1}}, 0) != 0)
		abort();
	CHECK(lw_training_get(view) == NULL, "a training with another value");
	train(view, 200);
	CHECK(lw_training_get(view) != NULL, "trained anew");
	lw_view_release(view);
	free(query);
	close(store.fd);
}

int
main(void)
{
	size_t		i;

	make_scratch();
	lw_derived_settings.directory = strdup(in_scratch("derived"));
	lw_derived_settings.trained = strdup(in_scratch("trained"));
	lw_derived_settings.directory_mode = 0700;
	lw_derived_settings.file_mode = 0600;
	for (i = 0; i < TOPICS * DIMENSION; i++)
		topics[i / DIMENSION][i % DIMENSION] = gaussian();
	stop_after = -1;
	check_store(LW_INT8, true);
	check_store(LW_INT8, false);
	check_store(LW_FLOAT32, true);
	check_stop();
	check_damage();
	remove_scratch();
	return unit_done("test_candidates");
}
