/*-------------------------------------------------------------------------
 *
 * test_store_verify.c
 *	  Damaged stores: checking one says what the reference says when it reads
 *	  it; a writer clears away what the reference's does, and dropping a store
 *	  what is a store's.
 *
 * Makes the stores with damage.py in a temporary directory.
 *
 *-------------------------------------------------------------------------
 */
#include <ctype.h>

#include "store.h"
#include "store/store_verify.h"
#include "tree.h"

static int	npassed;			/* checks that a verification reported */
static uint64_t unnameable;

static void
note_passed(void *arg, const char *path, const char *check, const char *detail)
{
	const char *store = arg;

	npassed++;
	CHECK(strncmp(path, store, strlen(store)) == 0, "%s: %s", check, path);
	if (strcmp(check, "ids with U+0000") == 0)
		unnameable += strtoull(detail, NULL, 10);
}

static LwStatus
verify(const char *path, LwError *error)
{
	LwStoreReport report = {note_passed, (void *) path};
	LwDirectory store = open_directory(path);
	LwStatus	status;

	npassed = 0;
	unnameable = 0;
	memset(error, 0, sizeof(*error));
	status = lw_store_verify(store, &report, NULL, NULL, error);
	close(store.fd);
	return status;
}

/* Whether "TombstoneCommit" is "tombstone-commit". */
static bool
same_name(const char *ours, const char *class)
{
	for (; *ours != '\0' && *class != '\0'; ours++, class++)
	{
		if (*class == '-')
			class++;
		if (tolower((unsigned char) *ours) != *class)
			return false;
	}
	return *ours == *class;
}

/* Whether a failure is the one that the reference has, which stops at the first thing it finds. */
static bool
is_expected(const LwError *error, const char *name, const char *class)
{
	if (strcmp(class, "missing-file") == 0)
		return error->status == LW_MISSING;

	/* ours: what is no file, what is not aligned, times that panic the reference, numbers that are none */
	if (strncmp(name, "fifo-", 5) == 0 || strncmp(name, "directory-", 10) == 0 || strstr(name, "dev-") != NULL)
		return error->name != NULL && strcmp(error->name, "NotRegular") == 0;
	if (strcmp(class, "os-error") == 0)
		return error->status == LW_IO;
	if (strcmp(class, "panic") == 0)
		return error->name != NULL && (strcmp(error->name, "ArrayShape") == 0 || strcmp(error->name, "CommittedAt") == 0);
	if (strcmp(class, "") == 0)
		return error->name != NULL && strcmp(error->name, "NaN") == 0;
	return error->name != NULL && same_name(error->name, class);
}

static void
check_recipe(const Tree *recipe)
{
	const char *name = tree_text(recipe, "name");
	const char *required = tree_text(recipe, "required");
	const Tree *class = tree_find(tree_get(recipe, "reference"), "class");
	LwError		error;
	LwStatus	status = verify(in_scratch(name), &error);

	if (strcmp(required, "refused") == 0 || strcmp(required, "part") == 0)
		CHECK(status != LW_OK && is_expected(&error, name, class == NULL ? "" : class->text),
			  "%s: %d, %s: %s, found %s", name, status, error.name == NULL ? "" : error.name, error.path, error.found);
	else if (strcmp(required, "any") != 0)
		CHECK(status == LW_OK && npassed > 0, "%s: %s: %s, found %s", name, error.path, error.expected, error.found);
	if (status == LW_OK)
		CHECK((unnameable > 0) == (strcmp(name, "ids-escape-nul") == 0), "%s: %" PRIu64 " ids", name, unnameable);
}

/* Clears away in a store what a writer of the reference did. */
static void
check_reclaimed(const Tree *recipe)
{
	LwDirectory store = open_directory(in_scratch(tree_text(recipe, "name")));
	LwView	   *view = open_view(store);
	const Tree *left = tree_get(tree_get(recipe, "reference"), "left");
	const Tree *name;
	LwError		error = {0};
	uint64_t	bytes = 0;
	DIR		   *entries;
	size_t		count = 0;

	CHECK(lw_store_reclaim(store, &view->manifest, &bytes, &error) == LW_OK, "%s", error.found);
	for (name = left->first; name != NULL; name = name->next)
		CHECK(faccessat(store.fd, name->text, F_OK, AT_SYMLINK_NOFOLLOW) == 0, "%s is gone", name->text);
	entries = opendir(store.path);
	while (readdir(entries) != NULL)
		count++;
	closedir(entries);
	CHECK(count == left->count + 2, "%zu names", count);
	CHECK(bytes > 0, "no bytes");
	lw_view_release(view);
	close(store.fd);
}

/* Only what is a store's goes; links are removed, not followed. */
static void
check_drop(void)
{
	static const char *const kept[] = {
		"notes.txt", "segment-x", "segment-00.ids.json", "manifest.jsonx", "segment-1.ids.json.bak", ".staging-file", NULL
	};
	static const char *const gone[] = {
		"segment-0.ids.json", "segment-18446744073709551615.scales.npy", "segment-7.tombstones-0.npy",
		"manifest.json.a1b2", ".staging-x/inner/file", LW_PENDING_NAME "/1/2/3", NULL
	};
	const char *path = in_scratch("dropped/store");
	LwManifest	manifest = identity(LW_INT8, 128, true);
	LwError		error;
	bool		left;
	int			i;

	if (lw_store_create(path, 0700, &manifest, &error) != LW_OK)
		exit(1);
	for (i = 0; kept[i] != NULL; i++)
		run_command("touch '%s/%s'", path, kept[i]);
	run_command("mkdir -p '%s/.staging-x/inner' '%s/" LW_PENDING_NAME "/1/2'", path, path);
	for (i = 0; gone[i] != NULL; i++)
		run_command("touch '%s/%s'", path, gone[i]);
	run_command("ln -s .. '%s/.staging-x/up'; ln -s ../../../outside '%s/" LW_PENDING_NAME "/1/link'", path, path);
	run_command("mkdir '%s/segment-9.ids.json'; touch '%s/../outside'", path, path);
	CHECK(lw_store_drop(path, &left, &error) == LW_OK && left, "%s: %s", error.path, error.found);
	for (i = 0; kept[i] != NULL; i++)
		run_command("rm '%s/%s'", path, kept[i]);
	run_command("rm '%s/../outside'; rmdir '%s/segment-9.ids.json'", path, path);
	CHECK(lw_store_drop(path, &left, &error) == LW_OK && !left, "%s: %s", error.path, error.found);
	CHECK(access(path, F_OK) != 0 && lw_store_drop(path, &left, &error) == LW_MISSING, "%s", error.found);
}

static void
make_stores(void)
{
	char		path[300];
	FILE	   *program;

	snprintf(path, sizeof(path), "%s/make.py", scratch);
	program = fopen(path, "w");
	if (program == NULL)
		exit(1);
	fputs("import json, sys\n"
		  "from pathlib import Path\n"
		  "sys.path.insert(0, sys.argv[1] + '/stores')\n"
		  "import damage\n"
		  "for recipe in json.loads((damage.HERE / 'damaged.json').read_text()):\n"
		  "    if recipe.get('while_open'):\n"
		  "        continue\n"
		  "    out = Path(sys.argv[2]) / recipe['name']\n"
		  "    damage.base(recipe, out, [damage.HERE])\n"
		  "    damage.damage(recipe, out, [damage.HERE])\n", program);
	fclose(program);
	run_command("cd '%s' && chmod -R u+w . && python3 -B make.py \"$(cd - >/dev/null; cd '%s'; pwd)\" .", scratch, golden_root());
}

/* The golden stores are good, and their ids are counted. */
static void
check_good(void)
{
	char		path[600];
	Tree	   *index;
	const Tree *entry;

	snprintf(path, sizeof(path), "%s/stores/index.json", golden_root());
	index = tree_read(path);
	for (entry = index->first; entry != NULL; entry = entry->next)
	{
		LwError		error;

		snprintf(path, sizeof(path), "%s/stores/%s/store", golden_root(), tree_text(entry, "case"));
		CHECK(verify(path, &error) == LW_OK, "%s: %s: %s", path, error.expected, error.found);
		CHECK(unnameable == (strcmp(tree_text(entry, "case"), "ids-nul") == 0 ? 4 : 0), "%s: %" PRIu64, path, unnameable);
	}
	tree_free(index);
}

static bool
always(void *arg)
{
	++*(int *) arg;
	return true;
}

/* A long verification can be stopped; one that meets a newer commit says so. */
static void
check_stopped(void)
{
	LwManifest	manifest = identity(LW_INT8, 1, false);
	LwStoreReport report = {note_passed, scratch};
	LwSegmentWriter writer;
	LwManifestSegment entry;
	LwDirectory store;
	LwDraft		draft;
	LwView	   *view;
	LwError		error = {0};
	float	   *values = calloc(100000, sizeof(float));
	uint64_t	id;
	int			asked = 0;

	if (lw_store_create(in_scratch("large"), 0700, &manifest, &error) != LW_OK)
		exit(1);
	store = open_directory(in_scratch("large"));
	view = open_view(store);
	CHECK(lw_draft_begin(&draft, view, store, &error) == LW_OK && lw_draft_take_id(&draft, &id, &error) == LW_OK &&
		  lw_segment_write_begin(&writer, store, id, LW_INT8, 1, &error) == LW_OK &&
		  lw_segment_write(&writer, LITERAL("a"), values, 100000, &error) == LW_OK &&
		  lw_segment_write_end(&writer, &entry, &error) == LW_OK &&
		  lw_draft_add(&draft, &entry, NULL, &error) == LW_OK &&
		  lw_draft_write(&draft, 1, &error) == LW_OK && lw_draft_publish(&draft, &error) == LW_OK, "%s", error.found);
	lw_draft_free(&draft);
	lw_view_release(view);
	CHECK(lw_store_verify(store, &report, always, &asked, &error) == LW_CANCELLED && asked == 1, "%s", error.found);
	CHECK(lw_store_verify(store, &report, NULL, NULL, &error) == LW_OK, "%s", error.found);
	close(store.fd);
	free(values);
}

int
main(void)
{
	char		path[600];
	Tree	   *recipes;
	const Tree *recipe;
	int			checked = 0;

	make_scratch();
	make_stores();
	snprintf(path, sizeof(path), "%s/stores/damaged.json", golden_root());
	recipes = tree_read(path);
	for (recipe = recipes->first; recipe != NULL; recipe = recipe->next, checked++)
	{
		if (tree_find(recipe, "writer") != NULL)
			check_reclaimed(recipe);
		else if (tree_find(recipe, "while_open") == NULL)
			check_recipe(recipe);
	}
	CHECK(checked > 300, "%d recipes", checked);
	tree_free(recipes);
	check_good();
	check_stopped();
	check_drop();
	remove_scratch();
	return unit_done("store_verify");
}
