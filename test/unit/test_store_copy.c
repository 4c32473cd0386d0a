/*-------------------------------------------------------------------------
 *
 * test_store_copy.c
 *	  What copies a store: compactions and snapshots that are stopped,
 *	  overtaken, of odd or damaged bytes, or made while another process writes.
 *
 *-------------------------------------------------------------------------
 */
#include <sys/wait.h>

#include "change_model.h"
#include "store/snapshot.h"

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

static void
test_encoding(LwEncoding which)
{
	encoding = which;
	make_store();
	change_at_random(unit_brief() ? 50 : 100);
	test_compact_keeps();
	test_compact_ends();
	test_compact_truncated();
	test_snapshot();
	test_copies();
	test_meanwhile();
	drop_store();
}

int
main(void)
{
	size_t		i;

	begin_model();
	test_encoding(LW_FLOAT32);
	test_encoding(LW_INT8);
	for (i = 0; i < FAULTS; i++)
		CHECK(shared->seen[i] || strncmp(fault_names[i], "snapshot-", 9) != 0, "never at the point %s", fault_names[i]);
	CHECK(!shared->unknown, "a point that is not in the table");
	remove_scratch();
	return unit_done("store_copy");
}
