/*-------------------------------------------------------------------------
 *
 * test_store_write.c
 *	  What the reference's writer was asked, asked of ours: every file of every
 *	  commit of the golden stores has the same bytes, and the same appends are
 *	  refused.  Then a segment that is too large for the writer's buffers.
 *
 *-------------------------------------------------------------------------
 */
#include "format/npy.h"
#include "kernel/encode.h"
#include "random.h"
#include "section/hash.h"
#include "store.h"
#include "store/manifest_text.h"
#include "tree.h"

/* A writer between two commits. */
typedef struct Writer
{
	LwDirectory store;
	LwDirectory staging;		/* where some segments are written first */
	LwView	   *view;
	LwDraft		draft;
	const float *inputs;
	double		committed_at;	/* of the last commit */
	LwError		error;
} Writer;

static const char *current;		/* case, for messages */

static void
begin(Writer *writer)
{
	writer->view = open_view(writer->store);
	if (writer->view == NULL ||
		lw_draft_begin(&writer->draft, writer->view, writer->store, &writer->error) != LW_OK)
		exit(1);
}

static void
end(Writer *writer)
{
	lw_draft_free(&writer->draft);
	lw_view_release(writer->view);
}

static LwString
string_of(const Tree *tree)
{
	LwString	string = {tree->text, tree->size};

	return string;
}

/* Writes the documents of an append as segment `id` of a directory. */
static LwStatus
write_documents(Writer *writer, LwDirectory directory, uint64_t id, const Tree *step, LwManifestSegment *entry)
{
	const LwManifest *manifest = &writer->view->manifest;
	const Tree *name = tree_get(step, "ids")->first;
	const Tree *length = tree_get(step, "lengths")->first;
	const float *values = writer->inputs + strtoull(tree_get(step, "rows")->first->text, NULL, 10) * manifest->dimension;
	LwSegmentWriter segment;
	LwStatus	status = lw_segment_write_begin(&segment, directory, id, manifest->encoding, manifest->dimension, &writer->error);

	if (status != LW_OK)
		return status;
	for (; status == LW_OK && name != NULL; name = name->next, length = length->next)
	{
		size_t		tokens = (size_t) strtoull(length->text, NULL, 10);

		status = lw_check_document(manifest, string_of(name), values, tokens, manifest->dimension, &writer->error);
		if (status == LW_OK)
			status = lw_segment_write(&segment, string_of(name), values, tokens, &writer->error);
		values += tokens * manifest->dimension;
	}
	if (status != LW_OK)
	{
		lw_segment_write_abort(&segment);
		return status;
	}
	return lw_segment_write_end(&segment, entry, &writer->error);
}

/* Appends a segment, written in place or elsewhere and linked, in turns. */
static LwStatus
append(Writer *writer, const Tree *step)
{
	static int	turn;
	LwManifestSegment entry;
	uint64_t	id;
	LwStatus	status = lw_draft_take_id(&writer->draft, &id, &writer->error);

	if (status != LW_OK)
		return status;
	if (turn++ % 2 == 0)
		status = write_documents(writer, writer->store, id, step, &entry);
	else
	{
		status = write_documents(writer, writer->staging, 5, step, &entry);
		if (status == LW_OK)
			status = lw_segment_link(writer->staging, 5, writer->store, id, writer->view->manifest.encoding, &writer->error);
		lw_segment_unlink(writer->staging, 5, writer->view->manifest.encoding);
		entry.id = id;
	}
	return status == LW_OK ? lw_draft_add(&writer->draft, &entry, NULL, &writer->error) : status;
}

static LwStatus
delete(Writer *writer, const Tree *step)
{
	const Tree *id;
	unsigned long long deleted = 0;
	LwStatus	status = LW_OK;

	for (id = tree_get(step, "ids")->first; status == LW_OK && id != NULL; id = id->next)
	{
		bool		present;

		status = lw_draft_delete(&writer->draft, id->text, id->size, &present, &writer->error);
		deleted += present;
	}
	CHECK(deleted == tree_number(step, "deleted"), "%s: %llu deleted", current, deleted);
	return status;
}

/* As the reference: all that is staged, too, and nothing when there is nothing to gain. */
static LwStatus
compact(Writer *writer)
{
	LwDraft    *draft = &writer->draft;
	size_t		count = draft->nsegments;
	LwSegmentWriter segment;
	LwManifestSegment entry;
	uint64_t	id = draft->next_segment_id;
	LwStatus	status;

	if (count == 0 || (count == 1 && draft->segments[0].ndeleted == 0))
		return LW_OK;
	status = lw_segment_write_begin(&segment, writer->staging, id, writer->view->manifest.encoding,
									writer->view->manifest.dimension, &writer->error);
	if (status == LW_OK)
		status = lw_draft_copy(draft, 0, count, &segment, NULL, &writer->error);
	if (status == LW_OK && segment.entry.documents == 0)
	{
		lw_segment_write_abort(&segment);
		return lw_draft_drop(draft, 0, count, &writer->error);
	}
	if (status == LW_OK)
		status = lw_segment_write_end(&segment, &entry, &writer->error);
	if (status == LW_OK)
		status = lw_draft_take_id(draft, &id, &writer->error);
	if (status == LW_OK)
		status = lw_segment_link(writer->staging, id, writer->store, id, writer->view->manifest.encoding, &writer->error);
	lw_segment_unlink(writer->staging, id, writer->view->manifest.encoding);
	if (status == LW_OK)
		status = lw_draft_drop(draft, 0, count, &writer->error);
	return status == LW_OK ? lw_draft_add(draft, &entry, NULL, &writer->error) : status;
}

static void
sum_of(const char *path, char *text)
{
	size_t		size;
	char	   *data = read_file(path, &size);
	uint8_t		sum[LW_SHA256_SIZE];
	LwSha256	hash;
	LwError		error;
	int			i;

	lw_sha256_begin(&hash);
	lw_sha256_add(&hash, data, size);
	if (lw_sha256_sum(&hash, sum, &error) != LW_OK)
		abort();
	for (i = 0; i < LW_SHA256_SIZE; i++)
		sprintf(text + 2 * i, "%02x", sum[i]);
	free(data);
}

/* The files of the store are those of the step, and no others. */
static void
check_files(const Writer *writer, const Tree *sums)
{
	DIR		   *entries = opendir(writer->store.path);
	struct dirent *entry;
	size_t		seen = 0;

	while ((entry = readdir(entries)) != NULL)
	{
		char		path[600];
		char		text[2 * LW_SHA256_SIZE + 1];
		const Tree *sum;
		struct stat status;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", writer->store.path, entry->d_name);
		CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0644, "%s: mode %o", path, status.st_mode);
		if (strcmp(entry->d_name, LW_MANIFEST_NAME) == 0)
			continue;
		sum = tree_find(sums, entry->d_name);
		CHECK(sum != NULL, "%s: there is %s", current, entry->d_name);
		if (sum == NULL)
			continue;
		sum_of(path, text);
		CHECK(strcmp(text, sum->text) == 0, "%s: bytes of %s", current, entry->d_name);
		seen++;
	}
	CHECK(seen == sums->count, "%s: %zu files instead of %zu", current, seen, sums->count);
	closedir(entries);
}

/* The manifest says what the step says. */
static void
check_manifest(const Writer *writer, const Tree *step)
{
	LwView	   *view = open_view(writer->store);
	const Tree *segments = tree_get(step, "segments");
	const Tree *segment;
	size_t		i = 0;

	if (view == NULL)
		return;
	CHECK(view->manifest.commit == tree_number(step, "commit"), "%s: commit %" PRIu64, current, view->manifest.commit);
	CHECK(view->manifest.next_segment_id == tree_number(step, "next_segment_id"),
		  "%s: next_segment_id %" PRIu64, current, view->manifest.next_segment_id);
	CHECK(view->manifest.nsegments == segments->count, "%s: %zu segments", current, view->manifest.nsegments);
	for (segment = segments->first; segment != NULL && i < view->manifest.nsegments; segment = segment->next)
	{
		const LwManifestSegment *entry = &view->manifest.segments[i++];
		bool		null = tree_get(segment, "tombstones")->type == LW_JSON_NULL;

		CHECK(entry->id == tree_number(segment, "id") && entry->documents == tree_number(segment, "documents") &&
			  entry->tokens == tree_number(segment, "tokens") && entry->has_tombstones == !null &&
			  (null || entry->tombstones == tree_number(segment, "tombstones")),
			  "%s, commit %" PRIu64 ": segment %" PRIu64, current, view->manifest.commit, entry->id);
	}
	lw_view_release(view);
}

static LwStatus
commit(Writer *writer, const Tree *step)
{
	double		committed_at = step->next == NULL ? writer->committed_at : lw_clock();
	LwStatus	status = lw_draft_write(&writer->draft, committed_at, &writer->error);

	if (status == LW_OK)
		status = lw_draft_publish(&writer->draft, &writer->error);
	if (status == LW_OK)
		status = lw_store_reclaim(writer->store, &writer->draft.manifest, NULL, &writer->error);
	if (status != LW_OK)
		return status;
	check_files(writer, tree_get(step, "sha256"));
	check_manifest(writer, step);
	end(writer);
	begin(writer);
	return LW_OK;
}

/* The text of the last manifest is the reference's. */
static void
check_text(const Writer *writer, const char *golden)
{
	size_t		size;
	size_t		golden_size;
	char	   *text = read_file(in_scratch("store/manifest.json"), &size);
	char	   *golden_text = read_file(golden, &golden_size);

	(void) writer;
	CHECK(size == golden_size && memcmp(text, golden_text, size) == 0, "%s: the last manifest is\n%s", current, text);
	free(text);
	free(golden_text);
}

/* For the store of 64-bit numbers the reference was given a manifest of its own. */
static void
prepare_u64(const Writer *writer, LwManifest *manifest)
{
	LwBuffer	text;
	LwError		error;

	manifest->commit = UINT64_MAX - 5;
	manifest->next_segment_id = UINT64_MAX - 3;
	manifest->nsegments = 0;
	lw_buffer_init(&text, 0);
	lw_put_store_manifest(&text, manifest);
	if (lw_manifest_install(writer->store, text.data, text.size, &error) != LW_OK)
		exit(1);
	lw_buffer_free(&text);
}

/* Nothing more can be appended or committed; and nothing is left of trying. */
static void
check_full(Writer *writer, const Tree *sums)
{
	uint64_t	id;

	CHECK(lw_draft_take_id(&writer->draft, &id, &writer->error) == LW_LIMIT &&
		  strcmp(writer->error.name, "SegmentLimit") == 0, "%s", writer->error.found);
	CHECK(lw_draft_write(&writer->draft, 1, &writer->error) == LW_LIMIT &&
		  strcmp(writer->error.name, "CommitLimit") == 0, "%s", writer->error.found);
	check_files(writer, sums);
}

static const float *
read_inputs(const char *path, char **data)
{
	size_t		size;
	LwNpy		npy;
	LwError		error;

	*data = read_file(path, &size);
	if (lw_npy_parse(*data, size, &npy, &error) != LW_OK || npy.type != LW_NPY_FLOAT32)
		exit(1);
	return (const float *) (const void *) (*data + npy.data_offset);
}

static LwStatus
do_step(Writer *writer, const Tree *step)
{
	const char *what = tree_text(step, "do");

	if (strcmp(what, "append") == 0)
		return append(writer, step);
	if (strcmp(what, "delete") == 0)
		return delete(writer, step);
	if (strcmp(what, "compact") == 0)
		return compact(writer);
	return commit(writer, step);
}

/* Replays a case. */
static void
replay(const char *name)
{
	char		path[700];
	char		manifest_path[700];
	char	   *inputs;
	char	   *text;
	size_t		size;
	LwManifest	manifest;
	Writer		writer = {0};
	Tree	   *steps;
	const Tree *step;
	LwStatus	status = LW_OK;

	current = name;
	snprintf(path, sizeof(path), "%s/stores/%s/steps.json", golden_root(), name);
	steps = tree_read(path);
	snprintf(path, sizeof(path), "%s/stores/%s/%s", golden_root(), name, tree_text(steps, "inputs"));
	writer.inputs = read_inputs(path, &inputs);
	snprintf(manifest_path, sizeof(manifest_path), "%s/stores/%s/store/manifest.json", golden_root(), name);
	text = read_file(manifest_path, &size);
	if (lw_manifest_parse(text, size, &manifest, &writer.error) != LW_OK ||
		lw_store_create(in_scratch("store"), 0755, &manifest, &writer.error) != LW_OK)
	{
		CHECK(false, "%s: %s", writer.error.path, writer.error.found);
		exit(1);
	}
	free(text);
	writer.committed_at = manifest.committed_at;
	writer.store = open_directory(in_scratch("store"));
	writer.staging = open_directory(in_scratch("staging"));
	if (strcmp(name, "u64") == 0)
		prepare_u64(&writer, &manifest);

	begin(&writer);
	for (step = tree_get(steps, "steps")->first; status == LW_OK && step != NULL; step = step->next)
		status = do_step(&writer, step);
	CHECK(status == LW_OK, "%s: %s: expected %s, found %s", name, writer.error.path, writer.error.expected, writer.error.found);
	check_text(&writer, manifest_path);
	if (strcmp(name, "u64") == 0)
	{
		for (step = tree_get(steps, "steps")->first; step->next != NULL; step = step->next)
			;
		check_full(&writer, tree_get(step, "sha256"));
	}
	end(&writer);
	close(writer.store.fd);
	close(writer.staging.fd);
	lw_manifest_free(&manifest);
	tree_free(steps);
	free(inputs);
	run_command("rm -rf '%s'%s", in_scratch("store"), "");
}

static void
replay_all(void)
{
	char		path[600];
	Tree	   *index;
	const Tree *entry;
	int			replayed = 0;

	snprintf(path, sizeof(path), "%s/stores/index.json", golden_root());
	index = tree_read(path);
	for (entry = index->first; entry != NULL; entry = entry->next)
	{
		snprintf(path, sizeof(path), "%s/stores/%s/steps.json", golden_root(), tree_text(entry, "case"));
		if (access(path, R_OK) != 0)
			continue;
		replay(tree_text(entry, "case"));
		replayed++;
	}
	CHECK(replayed > 30, "%d cases", replayed);
	tree_free(index);
}

/* What an append of this many ids, lengths and values asks: one document after another, then the ids. */
static LwStatus
try_append(Writer *writer, const Tree *entry, const float *values)
{
	const LwManifest *manifest = &writer->view->manifest;
	size_t		columns = (size_t) tree_number(entry, "columns");
	const Tree *name = tree_get(entry, "ids")->first;
	const Tree *length = tree_get(entry, "lengths")->first;
	LwSegmentWriter writing;
	LwManifestSegment segment;
	LwSegment  *opened;
	LwStatus	status = lw_segment_write_begin(&writing, writer->store, 0, manifest->encoding, manifest->dimension, &writer->error);

	if (status != LW_OK)
		return status;
	for (; status == LW_OK && name != NULL; name = name->next, length = length->next)
	{
		size_t		tokens = (size_t) strtoull(length->text, NULL, 10);

		status = lw_check_document(manifest, string_of(name), values, tokens, columns, &writer->error);
		if (status == LW_OK)
			status = lw_segment_write(&writing, string_of(name), values, tokens, &writer->error);
		values += tokens * columns;
	}
	if (status != LW_OK)
	{
		lw_segment_write_abort(&writing);
		return status;
	}
	status = lw_segment_write_end(&writing, &segment, &writer->error);
	if (status == LW_OK)
	{
		status = lw_segment_open(writer->store.fd, writer->store.path, manifest, &segment, NULL, &opened, &writer->error);
		if (status == LW_OK)
			lw_segment_release(opened);
		else
			lw_segment_unlink(writer->store, 0, manifest->encoding);
	}
	return status;
}

/* Whether ids, lengths and values go together at all; a caller that hands over documents cannot even say it otherwise. */
static bool
is_consistent(const Tree *entry)
{
	const Tree *length;
	size_t		rows = tree_get(entry, "bits")->count / (size_t) tree_number(entry, "columns");

	if (tree_get(entry, "ids")->count != tree_get(entry, "lengths")->count)
		return false;
	for (length = tree_get(entry, "lengths")->first; length != NULL; length = length->next)
	{
		long		tokens = strtol(length->text, NULL, 10);

		if (tokens < 0 || (size_t) tokens > rows)
			return false;
		rows -= (size_t) tokens;
	}
	return rows == 0;
}

static void
check_append(const Tree *entry)
{
	LwManifest	manifest = identity(LW_FLOAT32, tree_number(entry, "dimension"), tree_true(entry, "normalized"));
	const Tree *bits = tree_get(entry, "bits");
	float	   *values = malloc((bits->count + 1) * sizeof(float));
	Writer		writer = {0};
	const Tree *value;
	DIR		   *entries;
	int			names = 0;
	size_t		i = 0;
	bool		accepted;

	for (value = bits->first; value != NULL; value = value->next)
	{
		uint32_t	word = (uint32_t) strtoul(value->text, NULL, 16);

		memcpy(&values[i++], &word, sizeof(word));
	}
	if (lw_store_create(in_scratch("store"), 0755, &manifest, &writer.error) != LW_OK)
		exit(1);
	writer.store = open_directory(in_scratch("store"));
	begin(&writer);
	accepted = is_consistent(entry) && (bits->count == 0 && tree_get(entry, "ids")->count == 0 ? true :
										try_append(&writer, entry, values) == LW_OK);
	CHECK(accepted == (bool) tree_true(entry, "accepted"), "%s: %s %s", tree_text(entry, "what"),
		  writer.error.name == NULL ? "" : writer.error.name, writer.error.found);
	end(&writer);
	entries = opendir(writer.store.path);
	while (readdir(entries) != NULL)
		names++;
	closedir(entries);
	CHECK(accepted || names == 3, "%s: %d names are left", tree_text(entry, "what"), names);
	close(writer.store.fd);
	free(values);
	run_command("rm -rf '%s'%s", in_scratch("store"), "");
}

static void
check_appends(void)
{
	char		path[600];
	Tree	   *list;
	const Tree *entry;

	snprintf(path, sizeof(path), "%s/stores/appends.json", golden_root());
	list = tree_read(path);
	for (entry = list->first; entry != NULL; entry = entry->next)
		check_append(entry);
	tree_free(list);
}

/* A segment whose files are written in many steps reads back. */
static void
check_large(LwEncoding encoding)
{
	enum
	{
		DOCUMENTS = 60000, LONG = 40000, DIMENSION = 5
	};
	LwDirectory staging = open_directory(in_scratch("staging"));
	LwManifest	manifest = identity(encoding, DIMENSION, false);
	LwSegmentWriter writer;
	LwManifestSegment entry;
	LwSegment  *segment;
	LwError		error = {0};
	float	   *values = malloc((size_t) LONG * DIMENSION * sizeof(float));
	int8_t	   *codes = malloc((size_t) LONG * DIMENSION);
	float	   *scales = malloc(LONG * sizeof(float));
	LwStatus	status;
	char		name[200];
	bool		same = true;
	int			i;

	for (i = 0; i < LONG * DIMENSION; i++)
		values[i] = gaussian();
	status = lw_segment_write_begin(&writer, staging, 77, encoding, DIMENSION, &error);
	for (i = 0; status == LW_OK && i < DOCUMENTS; i++)
	{
		LwString	id = {name, (size_t) snprintf(name, sizeof(name), "document-%d", i)};
		size_t		tokens = i == DOCUMENTS / 2 ? LONG : (size_t) (1 + i % 3);

		status = lw_segment_write(&writer, id, values + i % 1000 * DIMENSION, i == DOCUMENTS / 2 ? tokens - 1000 : tokens, &error);
	}
	if (status == LW_OK)
		status = lw_segment_write_end(&writer, &entry, &error);
	CHECK(status == LW_OK, "%s: %s", error.path, error.found);
	CHECK(lw_segment_open(staging.fd, staging.path, &manifest, &entry, NULL, &segment, &error) == LW_OK &&
		  segment->documents == DOCUMENTS, "%s: %s", error.path, error.found);
	for (i = 0; same && i < DOCUMENTS; i++)
	{
		LwString	id = {name, (size_t) snprintf(name, sizeof(name), "document-%d", i)};
		uint64_t	row = lw_idmap_find(&segment->idmap, &segment->ids, id.data, id.size, lw_id_hash(id.data, id.size));
		const float *expected = values + i % 1000 * DIMENSION;
		LwDocument	document;

		same = row == (uint64_t) i && lw_segment_document(segment, row, &document, &error) == LW_OK &&
			document.tokens == (i == DOCUMENTS / 2 ? LONG - 1000 : (size_t) (1 + i % 3));
		if (!same)
			break;
		if (encoding == LW_FLOAT32)
			same = memcmp(document.rows, expected, document.tokens * DIMENSION * sizeof(float)) == 0;
		else
		{
			lw_encode_int8(expected, document.tokens, DIMENSION, codes, scales);
			same = memcmp(document.rows, codes, document.tokens * DIMENSION) == 0 &&
				memcmp(document.scales, scales, document.tokens * sizeof(float)) == 0;
		}
	}
	CHECK(same, "document %d", i);
	lw_segment_release(segment);
	lw_segment_unlink(staging, 77, encoding);
	close(staging.fd);
	free(values);
	free(codes);
	free(scales);
}

int
main(void)
{
	make_scratch();
	lw_sync_enabled = false;
	if (mkdir(in_scratch("staging"), 0755) != 0 || chmod(in_scratch("staging"), 0755) != 0)
		return 1;
	replay_all();
	check_appends();
	check_large(LW_FLOAT32);
	check_large(LW_INT8);
	remove_scratch();
	return unit_done("store_write");
}
