/*-------------------------------------------------------------------------
 *
 * test_store_change.c
 *	  Random changes of stores against a simple model, and what is left when
 *	  the process ends, or a step fails, between any two steps.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "kernel/encode.h"
#include "random.h"
#include "store.h"
#include "store/fault.h"
#include "store/snapshot.h"
#include "store/store_verify.h"

#define IDS 24
#define TOKENS 3
#define DIMENSION 5
#define STATES 16
#define CRASHED 42

static const char *const fault_names[] = {LW_FAULT_NAMES};

#define FAULTS (sizeof(fault_names) / sizeof(fault_names[0]))

typedef struct Document
{
	bool		present;
	uint32_t	tokens;
	float		values[TOKENS * DIMENSION];
} Document;

typedef struct Model
{
	Document	documents[IDS];
} Model;

/* What a process that may end at any moment tells the one that looks afterwards. */
typedef struct Shared
{
	Model		states[STATES]; /* one after another, as they are published */
	int			last;			/* the last one whose publish was begun */
	int			done;			/* the last one whose publish came back */
	bool		seen[FAULTS];
	bool		unknown;		/* a name that is not in the table */
	int			countdown;		/* points until the fault */
	bool		fired;
} Shared;

static Shared *shared;
static LwDirectory store;
static LwDirectory staging;
static LwEncoding encoding;
static const char *current;		/* operation, for messages */
static bool after_rename;		/* the last failure was behind the visibility point */

/* ---- faults ---- */

static void
note_point(const char *name)
{
	size_t		i;

	for (i = 0; i < FAULTS && strcmp(name, fault_names[i]) != 0; i++)
		;
	if (i < FAULTS)
		shared->seen[i] = true;
	else
		shared->unknown = true;
}

static int
count_only(const char *name)
{
	note_point(name);
	return 0;
}

static int
crash(const char *name)
{
	note_point(name);
	if (--shared->countdown == 0)
		_exit(CRASHED);
	return 0;
}

static int
fail(const char *name)
{
	note_point(name);
	if (--shared->countdown != 0)
		return 0;
	shared->fired = true;
	after_rename = strcmp(name, "manifest-renamed") == 0 || strcmp(name, "manifest-durable") == 0 ||
		strcmp(name, "reclaim-one") == 0;
	return ENOSPC;
}

/* ---- the model ---- */

static LwString
id_of(int number)
{
	static char names[IDS][24];
	LwString	string = {names[number], 0};

	/* one has what JSON escapes, one what SQL cannot name */
	string.size = (size_t) snprintf(names[number], sizeof(names[number]), "%d%s", number, number == 3 ? "\"\\\n\x1f" : "");
	if (number == 4)
		string.size++;			/* the NUL */
	return string;
}

static void
randomize(Document *document)
{
	uint32_t	i;

	document->present = true;
	document->tokens = 1 + random_below(TOKENS);
	for (i = 0; i < document->tokens * DIMENSION; i++)
		document->values[i] = gaussian();
}

static bool
same_document(const Document *document, const LwDocument *found)
{
	int8_t		codes[TOKENS * DIMENSION];
	float		scales[TOKENS];

	if (document->tokens != found->tokens)
		return false;
	if (encoding == LW_FLOAT32)
		return memcmp(document->values, found->rows, document->tokens * DIMENSION * sizeof(float)) == 0;
	lw_encode_int8(document->values, document->tokens, DIMENSION, codes, scales);
	return memcmp(codes, found->rows, document->tokens * DIMENSION) == 0 &&
		memcmp(scales, found->scales, document->tokens * sizeof(float)) == 0;
}

/* Whether a view shows what the model has. */
static bool
shows(LwView *view, const Model *model)
{
	uint64_t	present = 0;
	LwError		error;
	int			i;

	for (i = 0; i < IDS; i++)
	{
		LwString	id = id_of(i);
		LwPlace		place;
		LwDocument	document;
		bool		found = lw_view_find(view, id.data, id.size, &place);

		if (found != model->documents[i].present)
			return false;
		if (found && (lw_view_document(view, place, &document, &error) != LW_OK ||
					  !same_document(&model->documents[i], &document)))
			return false;
		present += found;
	}
	return lw_view_hidden(view, &error) == LW_OK && view->documents + view->unnameable == present;
}

/* ---- operations; each begins with the last published state ---- */

static const Model *
model_now(void)
{
	return &shared->states[shared->done];
}

static LwStatus
publish(LwDraft *draft, const Model *next, LwError *error)
{
	LwStatus	status;

	shared->states[++shared->last] = *next;
	status = lw_draft_write(draft, lw_clock(), error);
	if (status == LW_OK)
		status = lw_draft_publish(draft, error);
	if (draft->published)
		shared->done = shared->last;
	else
		shared->last = shared->done;
	if (status == LW_OK)
		status = lw_store_reclaim(store, &draft->manifest, NULL, error);
	return status;
}

/* Adds a segment of some random documents, and what `copy` appends before. */
static LwStatus
add_segment(LwDraft *draft, Model *model, const bool *chosen, size_t first, size_t count,
			const LwCopyControl *control, bool linked, LwError *error)
{
	LwDirectory where = linked ? staging : store;
	LwSegmentWriter writer;
	LwManifestSegment entry;
	uint64_t	id;
	LwStatus	status = lw_draft_take_id(draft, &id, error);
	int			i;

	if (status == LW_OK)
		status = lw_segment_write_begin(&writer, where, id, encoding, DIMENSION, error);
	if (status != LW_OK)
		return status;
	status = lw_draft_copy(draft, first, count, &writer, control, error);
	for (i = 0; status == LW_OK && i < IDS; i++)
		if (chosen[i])
		{
			randomize(&model->documents[i]);
			status = lw_segment_write(&writer, id_of(i), model->documents[i].values, model->documents[i].tokens, error);
		}
	if (status != LW_OK)
	{
		lw_segment_write_abort(&writer);
		return status;
	}
	status = lw_segment_write_end(&writer, &entry, error);
	if (status == LW_OK && linked)
	{
		status = lw_segment_link(staging, id, store, id, encoding, error);
		lw_segment_unlink(staging, id, encoding);
	}
	if (status == LW_OK && count > 0)
	{
		status = lw_draft_drop(draft, first, count, error);
		if (status != LW_OK)
			lw_segment_unlink(store, id, encoding);
	}
	return status == LW_OK ? lw_draft_add(draft, &entry, NULL, error) : status;
}

static void
choose(bool *chosen, uint32_t least)
{
	uint32_t	n = least + random_below(5);
	int			i;

	memset(chosen, 0, IDS);
	for (i = 0; i < (int) n; i++)
		chosen[random_below(IDS)] = true;
}

/* Appends and deletes in one commit, in any order. */
static LwStatus
change(LwError *error)
{
	Model		model = *model_now();
	LwView	   *view = open_view(store);
	LwDraft		draft;
	int			steps = (int) random_below(4);
	LwStatus	status = lw_draft_begin(&draft, view, store, error);
	int			step;

	for (step = 0; status == LW_OK && step < steps; step++)
	{
		if (random_below(2))
		{
			bool		chosen[IDS];

			choose(chosen, 1);
			status = add_segment(&draft, &model, chosen, 0, 0, NULL, random_below(2), error);
		}
		else
		{
			int			number = (int) random_below(IDS);
			LwString	id = id_of(number);
			bool		present;

			status = lw_draft_delete(&draft, id.data, id.size, &present, error);
			if (status == LW_OK && present != model.documents[number].present)
				status = lw_fail(error, LW_INVALID, "Test", -1, "the model's presence", "%d", present);
			model.documents[number].present = false;
		}
	}
	if (status == LW_OK)
		status = publish(&draft, &model, error);
	lw_draft_free(&draft);
	lw_view_release(view);
	return status;
}

/* Removes everything. */
static LwStatus
clear(LwError *error)
{
	Model		model = *model_now();
	LwView	   *view = open_view(store);
	LwDraft		draft;
	LwStatus	status = lw_draft_begin(&draft, view, store, error);
	int			i;

	for (i = 0; i < IDS; i++)
		model.documents[i].present = false;
	if (status == LW_OK)
		status = lw_draft_drop(&draft, 0, draft.nsegments, error);
	if (status == LW_OK)
		status = publish(&draft, &model, error);
	lw_draft_free(&draft);
	lw_view_release(view);
	return status;
}

static bool
is_chosen(void *arg, LwString id)
{
	const bool *chosen = arg;
	int			i;

	for (i = 0; i < IDS; i++)
		if (chosen[i] && lw_string_equal(id, id_of(i)))
			return true;
	return false;
}

/* Merges the newest segments with documents that are appended. */
static LwStatus
merge(LwError *error)
{
	Model		model = *model_now();
	LwView	   *view = open_view(store);
	LwDraft		draft;
	bool		chosen[IDS];
	LwCopyControl control = {NULL, is_chosen, chosen};
	LwStatus	status = lw_draft_begin(&draft, view, store, error);

	choose(chosen, 1);
	if (status == LW_OK)
	{
		size_t		first = random_below((uint32_t) draft.nsegments + 1);

		status = add_segment(&draft, &model, chosen, first, draft.nsegments - first, &control, random_below(2), error);
	}
	if (status == LW_OK)
		status = publish(&draft, &model, error);
	lw_draft_free(&draft);
	lw_view_release(view);
	return status;
}

/* Whether exactly those rows of the first segment are deleted that are no longer their documents. */
static bool
only_stale_rows_deleted(LwDraft *draft, LwError *error)
{
	LwPlace		place = {0, 0};

	if (lw_draft_open(draft, 0, error) != LW_OK)
		return false;
	for (; place.row < draft->segments[0].entry.documents; place.row++)
	{
		size_t		size;
		const char *id = lw_ids_get(&draft->segments[0].segment->ids, place.row, &size);
		LwPlace		newest;
		bool		found;

		if (lw_draft_find(draft, id, size, &newest, &found, error) != LW_OK ||
			(newest.segment > 0 && !lw_draft_deleted(draft, place)))
			return false;
	}
	return true;
}

/* Puts a finished compaction into the store as it is now. */
static LwStatus
apply(const LwView *copied, const LwManifestSegment *entry, LwError *error)
{
	Model		model = *model_now();
	LwView	   *view = open_view(store);
	LwDraft		draft;
	LwStatus	status = lw_draft_begin(&draft, view, store, error);

	if (status == LW_OK)
		status = lw_compact_apply(&draft, copied, staging, entry, error);
	if (status == LW_OK)
		status = publish(&draft, &model, error);
	CHECK(status != LW_OK || entry->documents == 0 ||
		  (draft.segments[0].entry.id == entry->id && only_stale_rows_deleted(&draft, error)), "the compacted segment");
	lw_draft_free(&draft);
	lw_view_release(view);
	return status;
}

/* Compacts, with some changes between the beginning and the end. */
static LwStatus
compact(LwError *error)
{
	LwView	   *view = open_view(store);
	LwManifestSegment entry;
	uint64_t	id;
	int			changes = (int) random_below(4);
	LwStatus	status;

	shared->states[shared->last + 1] = *model_now();
	shared->last++;
	status = lw_compact_begin(view, store, lw_clock(), &id, error);
	if (status == LW_OK || error->name != NULL)
		shared->done = shared->last;
	else
		shared->last = shared->done;
	lw_view_release(view);
	if (status != LW_OK)
		return status;

	view = open_view(store);
	status = lw_compact_copy(view, store, staging, id, NULL, &entry, error);
	while (status == LW_OK && changes-- > 0)
		status = change(error);
	if (status == LW_OK)
		status = apply(view, &entry, error);
	lw_segment_unlink(staging, id, encoding);
	lw_view_release(view);
	return status;
}

typedef struct Operation
{
	const char *name;
	LwStatus	(*run) (LwError *error);
} Operation;

static const Operation operations[] = {
	{"change", change}, {"merge", merge}, {"compact", compact}, {"change more", change}, {"clear", clear},
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

/* ---- what is left ---- */

static void
ignore_passed(void *arg, const char *path, const char *check, const char *detail)
{
	(void) arg;
	CHECK(path != NULL && check != NULL && detail != NULL, "a report");
}

/* Whether there is a file in the store that its manifest does not name. */
static bool
has_litter(const LwManifest *manifest)
{
	DIR		   *entries = opendir(store.path);
	struct dirent *entry;
	bool		litter = false;

	while ((entry = readdir(entries)) != NULL)
	{
		LwName		name = lw_name_parse(entry->d_name);

		litter |= entry->d_name[0] != '.' && !lw_manifest_names(manifest, &name);
	}
	closedir(entries);
	return litter;
}

/* The store is at a state whose publish was at least begun, not before one that came back. */
static void
check_store(bool after_crash)
{
	static const LwStoreReport report = {ignore_passed, NULL};
	LwView	   *view = open_view(store);
	LwError		error = {0};
	int			state;

	if (view == NULL)
		return;
	for (state = shared->last; state > shared->done && !shows(view, &shared->states[state]); state--)
		;
	CHECK(shows(view, &shared->states[state]), "%s, commit %" PRIu64 ": other documents", current, view->manifest.commit);
	shared->states[0] = shared->states[state];
	shared->last = shared->done = 0;
	CHECK(lw_store_verify(store, &report, NULL, NULL, &error) == LW_OK, "%s: %s: %s", current, error.path, error.found);
	if (after_crash)
	{
		CHECK(lw_store_reclaim(store, &view->manifest, NULL, &error) == LW_OK, "%s", error.found);
		run_command("rm -f '%s'/*%s", staging.path, "");
	}
	CHECK(!has_litter(&view->manifest), "%s: files that no manifest names", current);
	lw_view_release(view);
}

/* Runs an operation in a process that ends at a point; false when there are not so many points. */
static bool
run_and_crash(const Operation *operation, uint64_t seed, int point)
{
	pid_t		child;
	int			result;

	random_state = seed;
	shared->countdown = point;
	child = fork();
	if (child == 0)
	{
		LwError		error = {0};

		lw_fault_hook = crash;
		_exit(operation->run(&error) == LW_OK ? 0 : 1);
	}
	waitpid(child, &result, 0);
	CHECK(WIFEXITED(result) && (WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == CRASHED),
		  "%s, point %d: result %d", operation->name, point, result);
	check_store(true);
	return WIFEXITED(result) && WEXITSTATUS(result) == CRASHED;
}

/* Runs an operation whose step fails at a point. */
static bool
run_and_fail(const Operation *operation, uint64_t seed, int point)
{
	LwError		error = {0};
	LwStatus	status;

	random_state = seed;
	shared->countdown = point;
	shared->fired = false;
	lw_fault_hook = fail;
	status = operation->run(&error);
	lw_fault_hook = NULL;
	CHECK((status == LW_IO && error.errnum == ENOSPC) == shared->fired && (status == LW_OK) == !shared->fired,
		  "%s, point %d: %d, %s: %s", operation->name, point, status, error.path, error.found);
	CHECK(error.name == NULL || (after_rename && strcmp(error.name, "DurabilityUncertain") == 0),
		  "%s, point %d: %s", operation->name, point, error.name);
	if (shared->fired && after_rename)
	{
		/* the new commit stands, and what it no longer names is cleared away by the next one */
		LwView	   *view = open_view(store);

		CHECK(lw_store_reclaim(store, &view->manifest, NULL, &error) == LW_OK, "%s", error.found);
		lw_view_release(view);
	}
	check_store(false);
	return shared->fired;
}

static void
test_faults(bool crashes)
{
	size_t		i;

	for (i = 0; i < OPERATIONS; i++)
	{
		uint64_t	seed = 1234567 + 977 * i;
		int			point = 1;

		current = operations[i].name;
		while (crashes ? run_and_crash(&operations[i], seed, point) : run_and_fail(&operations[i], seed, point))
			point++;
		CHECK(point > 5, "%s: %d points", current, point);
	}
}

static void
test_random(int rounds)
{
	uint64_t	state = 88172645463325252ULL + encoding;

	lw_fault_hook = count_only;
	while (rounds-- > 0)
	{
		const Operation *operation;
		LwError		error = {0};
		LwStatus	status;

		random_state = state;
		operation = &operations[random_below(20) == 0 ? OPERATIONS - 1 : random_below(OPERATIONS - 1)];
		current = operation->name;
		status = operation->run(&error);
		CHECK(status == LW_OK, "%s: %s: %s, %s", current, error.path, error.expected, error.found);
		state = random_state;
		check_store(false);
	}
	lw_fault_hook = NULL;
}

static void
make_store(void)
{
	LwManifest	manifest = identity(encoding, DIMENSION, false);
	LwError		error;

	if (lw_store_create(in_scratch("store"), 0755, &manifest, &error) != LW_OK)
		exit(1);
	store = open_directory(strdup(in_scratch("store")));
	memset(shared, 0, offsetof(Shared, seen));
}

static void
drop_store(void)
{
	LwError		error;
	bool		left;

	CHECK(lw_store_drop(store.path, &left, &error) == LW_OK && !left, "%s", error.found);
	CHECK(access(store.path, F_OK) != 0, "the directory is left");
	close(store.fd);
	free((void *) store.path);
}

/* Two writers: the later publish finds the other's commit and changes nothing; begun again it succeeds. */
static void
test_moved(void)
{
	LwView	   *view = open_view(store);
	LwDraft		mine;
	LwError		error = {0};

	CHECK(lw_draft_begin(&mine, view, store, &error) == LW_OK && lw_draft_write(&mine, 5, &error) == LW_OK, "%s", error.found);
	random_state = 4711;
	CHECK(change(&error) == LW_OK, "%s", error.found);
	CHECK(lw_draft_publish(&mine, &error) == LW_OUTDATED && strcmp(error.name, "ManifestMoved") == 0, "%s", error.found);
	lw_draft_free(&mine);
	lw_view_release(view);
	current = "moved";
	check_store(false);
}

/* A name that exists is never replaced, and stays. */
static void
test_collisions(void)
{
	LwView	   *view = open_view(store);
	LwManifest	manifest = view->manifest;
	LwSegmentWriter writer;
	LwDraft		draft;
	LwError		error = {0};
	char		name[LW_NAME_SIZE];
	uint64_t	id;
	int			fd;
	int			file;

	for (file = 0; file < LW_SEGMENT_FILES; file++)
	{
		if (!lw_encoding_has(encoding, (LwSegmentFile) file))
			continue;
		lw_segment_name(name, manifest.next_segment_id, (LwSegmentFile) file);
		fd = openat(store.fd, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
		CHECK(lw_segment_write_begin(&writer, store, manifest.next_segment_id, encoding, DIMENSION, &error) == LW_IO &&
			  error.errnum == EEXIST, "%s", name);
		close(fd);
		CHECK(unlinkat(store.fd, name, 0) == 0 && !has_litter(&manifest), "%s is gone, or others are left", name);
	}

	/* a tombstone file of the next commit */
	if (view->manifest.nsegments > 0)
	{
		LwPlace		place = {0, 0};

		CHECK(lw_draft_begin(&draft, view, store, &error) == LW_OK, "%s", error.found);
		while (lw_draft_deleted(&draft, place))
			place.row++;
		CHECK(lw_draft_delete_row(&draft, place, &error) == LW_OK, "%s", error.found);
		lw_tombstones_name(name, manifest.segments[0].id, manifest.commit + 1);
		fd = openat(store.fd, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
		CHECK(lw_draft_write(&draft, 1, &error) == LW_IO && error.errnum == EEXIST, "%s", name);
		close(fd);
		CHECK(unlinkat(store.fd, name, 0) == 0 && !has_litter(&manifest), "%s is gone, or others are left", name);
		CHECK(lw_draft_write(&draft, 1, &error) == LW_OK, "%s", error.found);
		CHECK(lw_draft_take_id(&draft, &id, &error) == LW_OK && id == manifest.next_segment_id, "id %" PRIu64, id);
		lw_draft_free(&draft);
		CHECK(!has_litter(&manifest), "a draft that was given up leaves files");
	}
	lw_view_release(view);
}

/* A snapshot is the commit, byte for byte, and stays it; a step that fails leaves none. */
static void
test_snapshot(void)
{
	const char *target = in_scratch("snapshot");
	LwSnapshot	snapshot;
	LwDirectory kept = store;
	LwError		error = {0};
	LwView	   *view;
	bool		left;
	int			point;

	for (point = 1;; point++)
	{
		LwStatus	status;

		shared->countdown = point;
		shared->fired = false;
		lw_fault_hook = fail;
		status = lw_store_snapshot(store, target, 0750, &snapshot, &error);
		lw_fault_hook = NULL;
		CHECK((status == LW_OK) == !shared->fired, "point %d: %s", point, error.found);
		if (!shared->fired)
			break;
		CHECK(access(target, F_OK) != 0, "point %d: something is left", point);
	}
	CHECK(point > 5, "%d points", point);
	CHECK(lw_store_snapshot(store, target, 0750, &snapshot, &error) == LW_IO && error.errnum == EEXIST, "%s", error.found);
	run_command("diff -r '%s' '%s'", store.path, target);
	view = open_view(store);
	CHECK(!snapshot.copied && snapshot.commit == view->manifest.commit, "commit %" PRIu64, snapshot.commit);
	lw_view_release(view);
	CHECK(change(&error) == LW_OK, "%s", error.found);
	shared->last = shared->done = 0;
	store = open_directory(target);
	current = "snapshot";
	check_store(false);
	close(store.fd);
	store = kept;
	CHECK(lw_store_drop(target, &left, &error) == LW_OK && !left, "%s", error.found);
	shared->states[0] = shared->states[1];
	current = "after the snapshot";
	check_store(false);
}

/* A file system that is full, or a limit, fails the append and leaves nothing. */
static void
test_no_room(void)
{
	struct rlimit kept;
	struct rlimit small;
	LwError		error = {0};
	LwStatus	status = LW_OK;
	LwView	   *view = open_view(store);
	LwDraft		draft;
	int			i;

	getrlimit(RLIMIT_FSIZE, &kept);
	signal(SIGXFSZ, SIG_IGN);
	for (i = 0; status != LW_OK || i == 0; i++)
	{
		small.rlim_cur = (rlim_t) i * 30;
		small.rlim_max = kept.rlim_max;
		setrlimit(RLIMIT_FSIZE, &small);
		random_state = 12345;
		status = change(&error);
		setrlimit(RLIMIT_FSIZE, &kept);
		CHECK(status == LW_OK || (status == LW_IO && error.errnum == EFBIG), "%s: %s", error.path, error.found);
		CHECK(status == LW_OK || !has_litter(&view->manifest), "%d bytes: something is left", i * 30);
	}
	CHECK(i > 5, "%d limits", i);
	lw_view_release(view);
	current = "no room";
	check_store(false);

	/* and so does a store whose directory went read-only, unless the process may write anywhere */
	view = open_view(store);
	CHECK(chmod(store.path, 0555) == 0 && lw_draft_begin(&draft, view, store, &error) == LW_OK, "%s", error.found);
	status = lw_draft_write(&draft, 1, &error);
	CHECK(geteuid() == 0 ? status == LW_OK : status == LW_DENIED, "%d: %s", status, error.found);
	lw_draft_free(&draft);
	CHECK(chmod(store.path, 0755) == 0, "chmod");
	lw_view_release(view);
}

/* What cannot be scored is copied as it is. */
static void
test_compact_keeps(void)
{
	LwView	   *view;
	LwManifestSegment entry;
	LwError		error = {0};
	float		odd[DIMENSION] = {0, -0.0f, 1, 1e-45f, 0};
	int8_t		codes[DIMENSION] = {-128, 127, 0, 1, 2};
	float		scale = -1;
	LwDocument	document = {odd, NULL, 1};
	LwSegmentWriter writer;
	LwDraft		draft;
	LwPlace		place;
	uint64_t	id;

	memset(&odd[4], 0xff, sizeof(float));
	if (encoding == LW_INT8)
	{
		document.rows = codes;
		document.scales = &scale;
	}
	view = open_view(store);
	CHECK(lw_draft_begin(&draft, view, store, &error) == LW_OK && lw_draft_take_id(&draft, &id, &error) == LW_OK &&
		  lw_segment_write_begin(&writer, store, id, encoding, DIMENSION, &error) == LW_OK &&
		  lw_segment_write_encoded(&writer, LITERAL("odd"), &document, &error) == LW_OK &&
		  lw_segment_write_end(&writer, &entry, &error) == LW_OK && lw_draft_add(&draft, &entry, NULL, &error) == LW_OK &&
		  lw_draft_write(&draft, 1, &error) == LW_OK && lw_draft_publish(&draft, &error) == LW_OK, "%s", error.found);
	lw_draft_free(&draft);
	lw_view_release(view);
	CHECK(compact(&error) == LW_OK, "%s", error.found);
	shared->states[0] = shared->states[shared->done];
	shared->last = shared->done = 0;
	view = open_view(store);
	CHECK(lw_view_find(view, "odd", 3, &place) && lw_view_document(view, place, &document, &error) == LW_OK &&
		  memcmp(document.rows, encoding == LW_INT8 ? (void *) codes : (void *) odd, view->segments[0]->row_size) == 0 &&
		  (encoding == LW_FLOAT32 || document.scales[0] == -1), "other bytes");
	CHECK(lw_draft_begin(&draft, view, store, &error) == LW_OK, "%s", error.found);
	CHECK(lw_draft_delete_row(&draft, place, &error) == LW_OK && publish(&draft, model_now(), &error) == LW_OK, "%s", error.found);
	lw_draft_free(&draft);
	lw_view_release(view);
	current = "odd values";
	check_store(false);
}

/* A draft that could not be written leaves nothing, and can be written again. */
static void
test_retry(void)
{
	LwView	   *view = open_view(store);
	Model		model = *model_now();
	LwError		error = {0};
	LwDraft		draft;
	int			point;
	int			i;

	CHECK(lw_draft_begin(&draft, view, store, &error) == LW_OK, "%s", error.found);
	for (i = 0; i < IDS; i += 2)
	{
		LwString	id = id_of(i);
		bool		present;

		CHECK(lw_draft_delete(&draft, id.data, id.size, &present, &error) == LW_OK &&
			  present == model.documents[i].present, "%s", error.found);
		model.documents[i].present = false;
	}
	for (point = 1;; point++)
	{
		LwStatus	status;

		shared->countdown = point;
		shared->fired = false;
		lw_fault_hook = fail;
		status = lw_draft_write(&draft, 1, &error);
		lw_fault_hook = NULL;
		CHECK((status == LW_OK) == !shared->fired, "point %d: %s", point, error.found);
		if (!shared->fired)
			break;
		CHECK(!has_litter(&view->manifest), "point %d: something is left", point);
	}
	CHECK(point > 4, "%d points", point);

	/* the second point is behind the rename: the commit is there, and a repetition makes it durable */
	shared->countdown = 2;
	lw_fault_hook = fail;
	CHECK(lw_draft_publish(&draft, &error) == LW_IO && draft.published &&
		  strcmp(error.name, "DurabilityUncertain") == 0, "%s", error.found);
	lw_fault_hook = NULL;
	CHECK(lw_draft_publish(&draft, &error) == LW_OK, "%s", error.found);
	CHECK(lw_store_reclaim(store, &draft.manifest, NULL, &error) == LW_OK, "%s", error.found);
	shared->states[0] = model;
	lw_draft_free(&draft);
	lw_view_release(view);
	current = "retry";
	check_store(false);
}

static bool
stop_second(void *arg, uint64_t bytes)
{
	(void) bytes;
	return ++*(int *) arg == 2;
}

/* A compaction that is stopped leaves nothing; one that another has overtaken is refused. */
static void
test_compact_ends(void)
{
	LwManifestSegment entry;
	LwManifestSegment late;
	LwError		error = {0};
	LwDraft		draft;
	LwView	   *view;
	LwView	   *now;
	uint64_t	id = 0;
	int			asked = 0;
	LwCopyControl control = {stop_second, NULL, &asked};

	random_state = 99;
	while (view = open_view(store), view->manifest.nsegments < 3)
	{
		lw_view_release(view);
		CHECK(change(&error) == LW_OK, "%s", error.found);
	}
	shared->states[0] = shared->states[shared->done];
	shared->last = shared->done = 0;
	CHECK(lw_view_compactable(view), "compactable");
	CHECK(lw_compact_copy(view, store, staging, 500, &control, &entry, &error) == LW_CANCELLED && asked == 2, "%d: %s", asked, error.found);
	CHECK(rmdir(staging.path) == 0 && mkdir(staging.path, 0755) == 0, "files are left");
	close(staging.fd);
	staging.fd = open(staging.path, O_RDONLY | O_DIRECTORY);
	CHECK(chmod(staging.path, 0755) == 0 && lw_compact_begin(view, store, 1, &id, &error) == LW_OK &&
		  lw_compact_copy(view, store, staging, id, NULL, &late, &error) == LW_OK, "%s", error.found);
	CHECK(compact(&error) == LW_OK, "%s", error.found);
	now = open_view(store);
	CHECK(lw_draft_begin(&draft, now, store, &error) == LW_OK, "%s", error.found);
	CHECK(lw_compact_apply(&draft, view, staging, &late, &error) == LW_OUTDATED &&
		  strcmp(error.name, "CompactionOvertaken") == 0, "%s", error.found);
	lw_draft_free(&draft);
	lw_segment_unlink(staging, id, encoding);
	lw_view_release(now);
	lw_view_release(view);
	current = "overtaken";
	check_store(false);
}

/* Rows that are cut off while they are copied end the compaction. */
static void
test_compact_truncated(void)
{
	LwManifestSegment entry;
	LwError		error = {0};
	LwView	   *view;
	char		spare[400];

	random_state = 7;
	while (view = open_view(store), view->manifest.nsegments == 0)
	{
		lw_view_release(view);
		CHECK(change(&error) == LW_OK, "%s", error.found);
	}
	shared->states[0] = shared->states[shared->done];
	shared->last = shared->done = 0;
	snprintf(spare, sizeof(spare), "%s/spare", scratch);
	run_command("cp '%s' '%s'", view->segments[0]->rows_map->path, spare);
	CHECK(truncate(view->segments[0]->rows_map->path, 0) == 0, "truncate");
	CHECK(lw_compact_copy(view, store, staging, 600, NULL, &entry, &error) == LW_TRUNCATED, "%s", error.found);
	CHECK(rmdir(staging.path) == 0 && mkdir(staging.path, 0755) == 0, "files are left");
	close(staging.fd);
	staging.fd = open(staging.path, O_RDONLY | O_DIRECTORY);
	CHECK(chmod(staging.path, 0755) == 0, "chmod");
	run_command("cp '%s' '%s'", spare, view->segments[0]->rows_map->path);
	lw_view_release(view);
	current = "truncated";
	check_store(false);
}

static LwStatus
create(const LwManifest *manifest, LwError *error)
{
	memset(error, 0, sizeof(*error));
	return lw_store_create(in_scratch("a/b/store"), 0750, manifest, error);
}

/* A store is made whole or not at all, never over anything, and only as the format allows. */
static void
test_create(void)
{
	LwManifest	manifest = identity(LW_INT8, 128, true);
	LwManifest	wrong;
	LwError		error;
	struct stat status;
	int			point;

	for (point = 1;; point++)
	{
		LwStatus	result;

		shared->countdown = point;
		shared->fired = false;
		lw_fault_hook = fail;
		result = create(&manifest, &error);
		lw_fault_hook = NULL;
		CHECK((result == LW_OK) == !shared->fired, "point %d: %s: %s", point, error.path, error.found);
		if (!shared->fired)
			break;
		CHECK(access(in_scratch("a/b/store"), F_OK) != 0, "point %d: something is left", point);
	}
	CHECK(point > 5, "%d points", point);
	CHECK(stat(in_scratch("a/b/store"), &status) == 0 && (status.st_mode & 0777) == 0750, "mode %o", status.st_mode);
	CHECK(stat(in_scratch("a/b/store/manifest.json"), &status) == 0 && (status.st_mode & 0777) == 0640, "mode %o", status.st_mode);
	CHECK(create(&manifest, &error) == LW_IO && error.errnum == EEXIST, "over a store: %s", error.found);
	wrong = manifest;
	wrong.corpus.size = 0;
	CHECK(create(&wrong, &error) == LW_INVALID, "no corpus");
	wrong = manifest;
	wrong.dimension = 0;
	CHECK(create(&wrong, &error) == LW_INVALID, "no dimension");
}

/* Snapshots and verifications of a store that another process is changing are of one commit each. */
static void
test_meanwhile(void)
{
	static const LwStoreReport report = {ignore_passed, NULL};
	const char *target = in_scratch("meanwhile");
	pid_t		writer = fork();
	int			snapshots = 0;
	int			verified = 0;
	bool		running = true;

	if (writer == 0)
	{
		int			changes;
		LwError		error = {0};

		for (changes = 0; changes < 300; changes++)
		{
			LwStatus	status = changes % 3 ? change(&error) : compact(&error);

			shared->states[0] = shared->states[shared->done];
			shared->last = shared->done = 0;
			if (status != LW_OK)
				_exit(1);
		}
		_exit(0);
	}
	while (running)
	{
		LwSnapshot	snapshot;
		LwError		error = {0};
		LwStatus	status = lw_store_verify(store, &report, NULL, NULL, &error);
		bool		left;
		int			result;

		CHECK(status == LW_OK || status == LW_OUTDATED, "%s: %s", error.path, error.found);
		verified += status == LW_OK;
		CHECK(lw_store_snapshot(store, target, 0700, &snapshot, &error) == LW_OK, "%s: %s", error.path, error.found);
		snapshots++;
		{
			LwDirectory directory = open_directory(target);

			CHECK(lw_store_verify(directory, &report, NULL, NULL, &error) == LW_OK, "%s: %s", error.path, error.found);
			close(directory.fd);
		}
		CHECK(lw_store_drop(target, &left, &error) == LW_OK && !left, "%s: %s", error.path, error.found);
		running = waitpid(writer, &result, WNOHANG) == 0;
		CHECK(running || (WIFEXITED(result) && WEXITSTATUS(result) == 0), "result %d", result);
	}
	CHECK(snapshots > 3 && verified > 0, "%d snapshots, %d verified", snapshots, verified);
	current = "meanwhile";
	check_store(false);
}

/* On another file system a snapshot is made of copies. */
static void
test_copies(void)
{
	char		target[100];
	struct stat here;
	struct stat there;
	LwSnapshot	snapshot;
	LwError		error = {0};
	bool		left;

	if (stat(store.path, &here) != 0 || stat("/dev/shm", &there) != 0 || here.st_dev == there.st_dev ||
		access("/dev/shm", W_OK) != 0)
		return;
	snprintf(target, sizeof(target), "/dev/shm/lateweave-unit.%d", (int) getpid());
	CHECK(lw_store_snapshot(store, target, 0700, &snapshot, &error) == LW_OK && snapshot.copied, "%s: %s", error.path, error.found);
	run_command("diff -r '%s' '%s'", store.path, target);
	CHECK(lw_store_drop(target, &left, &error) == LW_OK && !left, "%s", error.found);
}

static void
test_encoding(LwEncoding which)
{
	int			rounds = unit_brief() ? 100 : 300;

	encoding = which;
	make_store();
	test_random(rounds);
	test_moved();
	test_collisions();
	test_no_room();
	test_compact_keeps();
	test_retry();
	test_compact_ends();
	test_compact_truncated();
	test_snapshot();
	test_copies();
	test_meanwhile();
	test_faults(true);
	test_faults(false);
	lw_sync_enabled = true;
	test_random(20);
	lw_sync_enabled = false;
	drop_store();
}

int
main(void)
{
	size_t		i;

	make_scratch();
	shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || mkdir(in_scratch("staging"), 0755) != 0 || chmod(in_scratch("staging"), 0755) != 0)
		return 1;
	staging = open_directory(strdup(in_scratch("staging")));
	lw_sync_enabled = false;
	test_encoding(LW_FLOAT32);
	test_encoding(LW_INT8);
	lw_sync_enabled = true;
	test_create();
	for (i = 0; i < FAULTS; i++)
		CHECK(shared->seen[i], "never at the point %s", fault_names[i]);
	CHECK(!shared->unknown, "a point that is not in the table");
	remove_scratch();
	return unit_done("store_change");
}
