/*-------------------------------------------------------------------------
 *
 * test_store.c
 *	  Views of stores: presence, replaced and deleted rows, following a
 *	  writer, ids that SQL cannot name, files cut under a map.
 *
 * Uses the golden stores under $LATEWEAVE_GOLDEN and stores that it writes
 * itself into a temporary directory.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/follow.h"
#include "unit.h"

static char scratch[] = "/tmp/lateweave-unit.XXXXXX";

/* ---- a small writer: float32, one value a token, so that a score is that value ---- */

static void
write_file(const char *name, const void *data, size_t size)
{
	char		path[200];
	char		spare[220];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	snprintf(spare, sizeof(spare), "%s.new", path);
	file = fopen(spare, "wb");
	if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0 || rename(spare, path) != 0)
	{
		perror(path);
		exit(1);
	}
}

static void
write_npy(const char *name, const char *descr, const char *shape, const void *data, size_t size)
{
	char		buffer[1024];
	int			length;

	length = snprintf(buffer + 10, sizeof(buffer) - 10, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
					  descr, shape);
	memset(buffer + 10 + length, ' ', 117 - (size_t) length);
	buffer[127] = '\n';
	memcpy(buffer, "\x93NUMPY\x01\x00\x76\x00", 10);
	memcpy(buffer + 128, data, size);
	write_file(name, buffer, 128 + size);
}

/* Segment `id` of the given ids (JSON), a token each, whose values count from `value`. */
static void
write_segment(int id, const char *ids, int documents, float value)
{
	char		name[80];
	char		shape[40];
	float		values[32];
	uint64_t	offsets[33];
	int			i;

	for (i = 0; i <= documents; i++)
		offsets[i] = (uint64_t) i;
	for (i = 0; i < documents; i++)
		values[i] = value + (float) i;
	snprintf(name, sizeof(name), "segment-%d.ids.json", id);
	write_file(name, ids, strlen(ids));
	snprintf(name, sizeof(name), "segment-%d.offsets.npy", id);
	snprintf(shape, sizeof(shape), "(%d,)", documents + 1);
	write_npy(name, "<u8", shape, offsets, sizeof(uint64_t) * (size_t) (documents + 1));
	snprintf(name, sizeof(name), "segment-%d.vectors.npy", id);
	snprintf(shape, sizeof(shape), "(%d, 1)", documents);
	write_npy(name, "<f4", shape, values, sizeof(float) * (size_t) documents);
}

static void
write_tombstones(int id, int commit, uint64_t row)
{
	char		name[80];

	snprintf(name, sizeof(name), "segment-%d.tombstones-%d.npy", id, commit);
	write_npy(name, "<u8", "(1,)", &row, sizeof(row));
}

static void
write_manifest(int commit, const char *corpus, const char *segments)
{
	char		text[8000];

	snprintf(text, sizeof(text), "{\"format\":\"lateweave-vectors-2\",\"store_id\":\"unit\",\"encoding\":\"float32\","
			 "\"corpus\":\"%s\",\"representation\":{\"encoder\":\"e\",\"encoder_revision\":\"1\",\"dimension\":1,"
			 "\"normalized\":false},\"commit\":%d,\"next_segment_id\":1000,\"committed_at\":1,\"segments\":[%s]}",
			 corpus, commit, segments);
	write_file("manifest.json", text, strlen(text));
}

/* ---- reading ---- */

static LwStatus
follow(LwStore *store, const char *path, LwView **view, LwError *error)
{
	bool		moved;
	LwStatus	status = LW_OK;

	memset(error, 0, sizeof(*error));
	if (store->view == NULL)
	{
		store->manifest_fd = -1;
		status = lw_store_identify(path, &store->device, &store->inode, error);
	}
	if (status == LW_OK)
		status = lw_store_follow(store, path, view, &moved, error);
	return status;
}

/* The first value of a document, or -1 when it is absent. */
static float
value_of(const LwView *view, const char *id, size_t size)
{
	LwPlace		place;
	LwDocument	document;
	LwError		error;

	if (!lw_view_find(view, id, size, &place) || lw_view_document(view, place, &document, &error) != LW_OK)
		return -1;
	return *(const float *) document.rows;
}

#define VALUE(view, id) value_of(view, id, strlen(id))

static char *
golden(const char *name)
{
	const char *root = getenv("LATEWEAVE_GOLDEN");
	static char path[1000];

	snprintf(path, sizeof(path), "%s/stores/%s/store", root ? root : "test/golden", name);
	return path;
}

/* ids with U+0000 are found by their bytes and left out of what is listed */
static void
test_nul_ids(void)
{
	static const struct
	{
		const char *id;
		size_t		size;
		bool		present;
		int			row;		/* of the rows that were appended, two a document */
	}			expected[] = {
		{"\0\0", 2, true, 0}, {"\0", 1, true, 1}, {"b", 1, true, 2}, {"a", 1, false, 3},
		{"a\0b", 3, true, 4}, {"a\0", 2, false, 5}, {"b ", 2, false, 0}, {"aa", 2, false, 0}
	};
	LwStore		store = {0};
	LwView	   *view;
	LwError		error;
	size_t		i;

	if (follow(&store, golden("ids-nul"), &view, &error) != LW_OK)
	{
		CHECK(false, "%s: %s", error.path, error.found);
		return;
	}
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
	{
		LwPlace		place;
		bool		found = lw_view_find(view, expected[i].id, expected[i].size, &place);

		CHECK(found == expected[i].present, "id %zu", i);
		CHECK(!found || place.row == (uint64_t) expected[i].row, "row of id %zu", i);
	}
	CHECK(lw_view_hidden(view, &error) == LW_OK, "%s", error.found);
	CHECK(view->documents == 1 && view->unnameable == 3 && view->tokens == 2,
		  "%" PRIu64 " documents, %" PRIu64 " unnameable, %" PRIu64 " tokens",
		  view->documents, view->unnameable, view->tokens);
	lw_store_forget(&store);
}

/* 64-bit numbers survive, in names of files too */
static void
test_64_bits(void)
{
	LwStore		store = {0};
	LwView	   *view;
	LwError		error;

	if (follow(&store, golden("u64"), &view, &error) != LW_OK)
	{
		CHECK(false, "%s: %s", error.path, error.found);
		return;
	}
	CHECK(view->manifest.commit == UINT64_MAX, "%" PRIu64, view->manifest.commit);
	CHECK(view->segments[2]->id == UINT64_MAX - 1, "%" PRIu64, view->segments[2]->id);
	CHECK(view->tombstones[1] != NULL && view->tombstones[1]->commit == UINT64_MAX - 1, "no tombstones");
	CHECK(lw_view_deleted(view) == 1, "%" PRIu64, lw_view_deleted(view));
	lw_store_forget(&store);
}

/* the last segment that holds an id decides, whatever older ones say */
static void
test_presence(void)
{
	LwStore		store = {0};
	LwView	   *view;
	LwView	   *old;
	LwSegment  *first;
	LwError		error;

	write_segment(0, "[\"a\",\"b\",\"c\",\"d\"]", 4, 10);
	write_manifest(1, "c", "{\"id\":0,\"documents\":4,\"tokens\":4}");
	CHECK(follow(&store, scratch, &view, &error) == LW_OK, "%s", error.found);
	CHECK(VALUE(view, "a") == 10 && VALUE(view, "d") == 13 && VALUE(view, "") == -1, "first commit");
	CHECK(lw_view_hidden(view, &error) == LW_OK && view->documents == 4, "%" PRIu64, view->documents);
	old = lw_view_retain(view);
	first = view->segments[0];

	/* b replaced, c deleted, a replaced and then deleted */
	write_segment(1, "[\"b\",\"a\"]", 2, 20);
	write_tombstones(0, 2, 2);
	write_tombstones(1, 2, 1);
	write_manifest(2, "c", "{\"id\":0,\"documents\":4,\"tokens\":4,\"tombstones\":2},"
				   "{\"id\":1,\"documents\":2,\"tokens\":2,\"tombstones\":2}");
	CHECK(follow(&store, scratch, &view, &error) == LW_OK, "%s", error.found);
	CHECK(view != old && view->segments[0] == first, "the segment was opened again");
	CHECK(VALUE(view, "a") == -1 && VALUE(view, "b") == 20 && VALUE(view, "c") == -1 && VALUE(view, "d") == 13,
		  "second commit");
	CHECK(lw_view_hidden(view, &error) == LW_OK && view->documents == 2 && view->tokens == 2,
		  "%" PRIu64 " documents", view->documents);
	CHECK(lw_bit(view->hidden[0], 0) && lw_bit(view->hidden[0], 1) && lw_bit(view->hidden[0], 2) &&
		  !lw_bit(view->hidden[0], 3) && !lw_bit(view->hidden[1], 0) && lw_bit(view->hidden[1], 1), "hidden rows");
	CHECK(VALUE(old, "a") == 10 && VALUE(old, "b") == 11, "an old view keeps its commit");
	lw_view_release(old);

	/* appended again after the delete */
	write_segment(2, "[\"c\"]", 1, 30);
	write_manifest(3, "c", "{\"id\":0,\"documents\":4,\"tokens\":4,\"tombstones\":2},"
				   "{\"id\":1,\"documents\":2,\"tokens\":2,\"tombstones\":2},{\"id\":2,\"documents\":1,\"tokens\":1}");
	CHECK(follow(&store, scratch, &view, &error) == LW_OK && VALUE(view, "c") == 30, "revived");

	/* a segment may not change, a corpus neither; the last view stays */
	write_manifest(4, "c", "{\"id\":0,\"documents\":3,\"tokens\":4}");
	CHECK(follow(&store, scratch, &view, &error) == LW_MALFORMED && strcmp(error.name, "SegmentChanged") == 0,
		  "%s", error.name);
	write_manifest(4, "other", "{\"id\":0,\"documents\":4,\"tokens\":4}");
	CHECK(follow(&store, scratch, &view, &error) == LW_REPLACED && strcmp(error.name, "StoreReplaced") == 0,
		  "%s", error.name);
	CHECK(store.view->manifest.commit == 3, "%" PRIu64, store.view->manifest.commit);

	/* a missing file of an unchanged manifest is an error, of one already mapped it is not */
	write_manifest(5, "c", "{\"id\":0,\"documents\":4,\"tokens\":4},{\"id\":7,\"documents\":1,\"tokens\":1}");
	CHECK(follow(&store, scratch, &view, &error) == LW_MISSING, "%d", error.status);
	CHECK(strstr(error.path, "segment-7.ids.json") != NULL, "%s", error.path);
	lw_store_forget(&store);
}

/* many segments take another way to the same hidden rows */
static void
test_many_segments(void)
{
	char		list[4000] = "";
	LwStore		store = {0};
	LwView	   *view;
	LwError		error;
	int			i;

	for (i = 0; i < 20; i++)
	{
		char		ids[80];

		snprintf(ids, sizeof(ids), "[\"same\",\"own-%d\",\"pair-%d\"]", i, i / 2);
		write_segment(100 + i, ids, 3, (float) (100 * i));
		snprintf(list + strlen(list), sizeof(list) - strlen(list),
				 "%s{\"id\":%d,\"documents\":3,\"tokens\":3}", i ? "," : "", 100 + i);
	}
	write_manifest(6, "c", list);
	CHECK(follow(&store, scratch, &view, &error) == LW_OK, "%s: %s", error.path, error.found);
	CHECK(lw_view_hidden(view, &error) == LW_OK && view->documents == 31, "%" PRIu64, view->documents);
	for (i = 0; i < 20; i++)
	{
		CHECK(lw_bit(view->hidden[i], 0) == (i < 19), "segment %d, same", i);
		CHECK(!lw_bit(view->hidden[i], 1), "segment %d, own", i);
		CHECK(lw_bit(view->hidden[i], 2) == (i % 2 == 0), "segment %d, pair", i);
	}
	CHECK(VALUE(view, "same") == 1900 && VALUE(view, "pair-0") == 102, "newest rows");
	lw_store_forget(&store);
}

/* the newest row of an id is found, whether its segment is merged with others or asked by itself */
static void
test_look_up(void)
{
	/* ids "0".."39" at random in 24 segments, some of them too large to be merged */
	static LwSegment memory[24];
	LwSegment  *segments[24];
	LwMerged	merged;
	LwError		error;
	unsigned	state = 1;
	int			round;
	int			i;

	for (round = 0; round < 30; round++)
	{
		int			newest[40];
		int			rows[40];
		int			id;

		memset(newest, -1, sizeof(newest));
		memset(memory, 0, sizeof(memory));
		for (i = 0; i < 24; i++)
		{
			bool		large = (state = state * 1103515245 + 12345) >> 16 & 1;
			int			extra = large ? LW_MERGED_DOCUMENTS : 0;
			char	   *text = malloc(100 + (size_t) extra * 12);
			size_t		length = 0;
			uint64_t	documents = 0;

			for (id = 0; id < 40; id++)
			{
				if (((state = state * 1103515245 + 12345) >> 16) % 4 != 0 || documents == 12)
					continue;
				length += (size_t) sprintf(text + length, "%s\"%d\"", documents ? "," : "[", id);
				newest[id] = i;
				rows[id] = (int) documents++;
			}
			for (id = 0; id < extra; id++, documents++)
				length += (size_t) sprintf(text + length, "%s\"x%d\"", documents ? "," : "[", id);
			length += (size_t) sprintf(text + length, "%s", documents ? "]" : "[]");
			segments[i] = &memory[i];
			segments[i]->documents = documents;
			CHECK(lw_ids_parse(text, length, documents, &segments[i]->ids, &error) == LW_OK, "%s", error.found);
			CHECK(lw_idmap_build(&segments[i]->ids, &segments[i]->idmap, &error) == LW_OK, "%s", error.found);
			free(text);
		}
		CHECK(lw_merged_build(segments, round % 3 ? 24 : 5, &merged, &error) == LW_OK, "%s", error.found);
		for (id = 0; id < 40 && round % 3; id++)
		{
			char		name[16];
			size_t		segment = 0;
			uint64_t	row = 0;
			bool		found;

			sprintf(name, "%d", id);
			found = lw_merged_find(&merged, segments, name, strlen(name), &segment, &row);
			CHECK(found == (newest[id] >= 0), "round %d, id %d", round, id);
			CHECK(!found || ((int) segment == newest[id] && (int) row == rows[id]),
				  "round %d, id %d: segment %zu instead of %d", round, id, segment, newest[id]);
		}
		CHECK(round % 3 || merged.nlarge <= 5, "%zu of 5 segments asked", merged.nlarge);
		CHECK(!(round % 3) || merged.nlarge < 24, "nothing was merged");
		lw_merged_free(&merged);
		for (i = 0; i < 24; i++)
		{
			lw_ids_free(&segments[i]->ids);
			lw_idmap_free(&segments[i]->idmap);
		}
	}
}

/* pages that are gone read as zeros, are remembered, and opened anew when the file is back */
static void
test_truncation(void)
{
	char		path[200];
	LwStore		store = {0};
	LwView	   *view;
	LwError		error;
	int			faults;

	write_segment(0, "[\"a\",\"b\",\"c\",\"d\"]", 4, 10);
	write_manifest(7, "c", "{\"id\":0,\"documents\":4,\"tokens\":4}");
	CHECK(follow(&store, scratch, &view, &error) == LW_OK, "%s", error.found);
	snprintf(path, sizeof(path), "%s/segment-0.vectors.npy", scratch);
	faults = lw_map_faults;
	CHECK(truncate(path, 0) == 0, "truncate");
	CHECK(VALUE(view, "a") == 0, "%g", VALUE(view, "a"));
	CHECK(lw_map_faults == faults + 1, "%d faults", lw_map_faults - faults);
	CHECK(lw_view_check(view, &error) == LW_TRUNCATED && strcmp(error.path, path) == 0, "%s", error.path);
	CHECK(follow(&store, scratch, &view, &error) == LW_MALFORMED, "the empty file is refused");
	write_segment(0, "[\"a\",\"b\",\"c\",\"d\"]", 4, 10);
	CHECK(follow(&store, scratch, &view, &error) == LW_OK && VALUE(view, "b") == 11, "the file is back");

	/* offsets that vanish are caught before they are used */
	snprintf(path, sizeof(path), "%s/segment-0.offsets.npy", scratch);
	CHECK(truncate(path, 0) == 0, "truncate");
	{
		LwPlace		place = {0, 1};
		LwDocument	document;

		CHECK(lw_view_document(view, place, &document, &error) == LW_TRUNCATED, "%d", error.status);
	}
	lw_store_forget(&store);
}

/* a manifest rewritten in place, within a tick of the clock and at the same size, is seen */
static void
test_same_tick(void)
{
	LwStore		store = {0};
	LwView	   *view;
	LwError		error;
	char		path[200];
	int			i;

	write_segment(0, "[\"a\",\"b\"]", 2, 10);
	write_segment(1, "[\"a\",\"b\"]", 2, 20);
	snprintf(path, sizeof(path), "%s/manifest.json", scratch);
	write_manifest(8, "c", "{\"id\":0,\"documents\":2,\"tokens\":2}");
	for (i = 0; i < 200; i++)
	{
		FILE	   *file = fopen(path, "r+b");
		char		text[1000];
		size_t		size = fread(text, 1, sizeof(text) - 1, file);
		char	   *id;

		text[size] = '\0';
		id = strstr(text, "{\"id\":") + 6;
		*id = (char) ('0' + i % 2);
		fseek(file, 0, SEEK_SET);
		fwrite(text, 1, size, file);
		fclose(file);
		if (follow(&store, scratch, &view, &error) != LW_OK || VALUE(view, "a") != (i % 2 ? 20 : 10))
			break;
	}
	CHECK(i == 200, "rewrite %d was not seen", i);
	lw_store_forget(&store);
}

/* a writer that removes each segment as soon as the next manifest is there */
static void
write_and_remove(int commits)
{
	int			i;

	for (i = 0; i < commits; i++)
	{
		static const char *const kinds[] = {"ids.json", "offsets.npy", "vectors.npy"};
		char		list[100];
		char		path[200];
		int			k;

		write_segment(201 + i, "[\"a\"]", 1, (float) (201 + i));
		snprintf(list, sizeof(list), "{\"id\":%d,\"documents\":1,\"tokens\":1}", 201 + i);
		write_manifest(9 + i, "c", list);
		for (k = 0; k < 3; k++)
		{
			snprintf(path, sizeof(path), "%s/segment-%d.%s", scratch, 200 + i, kinds[k]);
			unlink(path);
		}
	}
}

/* files that vanish are looked for in the newer manifest; commits never go back */
static void
test_vanishing(void)
{
	LwStore		store = {0};
	LwView	   *view;
	LwError		error;
	LwStatus	status = LW_OK;
	float		last = 0;
	int			commits = 700;
	int			seen = 0;
	bool		back = false;
	pid_t		writer;

	write_segment(200, "[\"a\"]", 1, 200);
	write_manifest(8, "c", "{\"id\":200,\"documents\":1,\"tokens\":1}");
	CHECK(follow(&store, scratch, &view, &error) == LW_OK, "%s", error.found);
	writer = fork();
	if (writer == 0)
	{
		write_and_remove(commits);
		_exit(0);
	}
	while (status == LW_OK && last < (float) (200 + commits))
	{
		float		value;

		status = follow(&store, scratch, &view, &error);
		if (status != LW_OK)
			break;
		value = VALUE(view, "a");
		back |= value < last;
		seen += value != last;
		last = value;
	}
	CHECK(status == LW_OK, "%s: %s", error.path, error.found);
	CHECK(!back && seen > 10, "%d views", seen);
	waitpid(writer, NULL, 0);
	lw_store_forget(&store);
}

int
main(void)
{
	char		command[100];
	int			result;

	if (mkdtemp(scratch) == NULL)
	{
		perror(scratch);
		return 1;
	}
	test_nul_ids();
	test_64_bits();
	test_presence();
	test_many_segments();
	test_look_up();
	test_truncation();
	test_same_tick();
	test_vanishing();
	result = unit_done("test_store");
	snprintf(command, sizeof(command), "rm -rf '%s'", scratch);
	return system(command) != 0 || result;
}
