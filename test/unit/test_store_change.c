/*-------------------------------------------------------------------------
 *
 * test_store_change.c
 *	  Random changes of stores against a simple model, and what is left when
 *	  the process ends, or a step fails, between any two steps.
 *
 *-------------------------------------------------------------------------
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "change_model.h"

#define CRASHED 42

static int
crash(const char *name)
{
	note_point(name);
	if (--shared->countdown == 0)
		_exit(CRASHED);
	return 0;
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

static void
test_encoding(LwEncoding which)
{
	encoding = which;
	make_store();
	change_at_random(unit_brief() ? 100 : 300);
	test_moved();
	test_collisions();
	test_no_room();
	test_retry();
	test_faults(true);
	test_faults(false);
	lw_sync_enabled = true;
	change_at_random(20);
	lw_sync_enabled = false;
	drop_store();
}

int
main(void)
{
	size_t		i;

	begin_model();
	test_encoding(LW_FLOAT32);
	test_encoding(LW_INT8);
	lw_sync_enabled = true;
	test_create();
	for (i = 0; i < FAULTS; i++)
		CHECK(shared->seen[i] || strncmp(fault_names[i], "snapshot-", 9) == 0, "never at the point %s", fault_names[i]);
	CHECK(!shared->unknown, "a point that is not in the table");
	remove_scratch();
	return unit_done("store_change");
}
