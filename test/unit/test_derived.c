/*-------------------------------------------------------------------------
 *
 * test_derived.c
 *	  Derived files of segments: whatever happens to one, the answers are
 *	  those of a process that computes.
 *
 * Stores and derived files are written into a temporary directory.
 *
 *-------------------------------------------------------------------------
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/manifest.h"
#include "store/derived_file.h"
#include "store/segment_ids.h"
#include "unit.h"

#define DOCUMENTS 1500

static char scratch[] = "/tmp/lateweave-unit.XXXXXX";
static char directory[120];		/* of derived files */
static LwManifest manifest;
static LwManifestSegment entry;
static int	dirfd_scratch;
static bool stop_wanted;

static bool
stop_asked(void *arg)
{
	(void) arg;
	return stop_wanted;
}

static const LwStop stop = {stop_asked, NULL};

static void
must(bool condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	exit(1);
}

/* Gives a file a time that is settled. */
static void
settle(const char *path)
{
	const struct timespec times[2] = {{1000000000, 5}, {1000000000, 5}};

	must(utimensat(AT_FDCWD, path, times, 0) == 0, path);
}

static const char *
path_of(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	return path;
}

static void
write_file(const char *path, const void *data, size_t size)
{
	FILE	   *file;

	/* some file systems write a file to the disk that is made anew in place */
	unlink(path);
	file = fopen(path, "wb");
	must(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0, path);
	settle(path);
}

static void
write_npy(const char *name, const char *descr, const char *shape, const void *data, size_t size)
{
	char	   *buffer = calloc(1, 128 + size);
	int			length = snprintf(buffer + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);

	memset(buffer + 10 + length, ' ', 117 - (size_t) length);
	buffer[127] = '\n';
	memcpy(buffer, "\x93NUMPY\x01\x00\x76\x00", 10);
	memcpy(buffer + 128, data, size);
	write_file(path_of(name), buffer, 128 + size);
	free(buffer);
}

/* The id of a row: of different lengths, one empty, some with U+0000. */
static const char *
id_of(unsigned row, size_t *size)
{
	static char id[400];

	*size = (size_t) sprintf(id, "doc-%u", row);
	if (row == 3)
		*size = 0;
	if (row % 100 == 50)
		id[3] = '\0';
	for (; row % 10 == 7 && *size < row % 300;)
		id[(*size)++] = 'x';
	return id;
}

/* Writes the only segment, of float32 and one token a document, and describes it. */
static void
write_segment(unsigned documents)
{
	char		shape[40];
	char	   *json = malloc(documents * 500 + 2);
	float	   *values = malloc(documents * sizeof(float));
	uint64_t   *offsets = malloc((documents + 1) * sizeof(uint64_t));
	size_t		length = 0;
	unsigned	row;

	for (row = 0; row <= documents; row++)
		offsets[row] = row;
	for (row = 0; row < documents; row++)
	{
		size_t		size;
		size_t		i;
		const char *id = id_of(row, &size);

		values[row] = (float) row;
		json[length++] = row == 0 ? '[' : ',';
		json[length++] = '"';
		for (i = 0; i < size; i++)
			length += (size_t) sprintf(json + length, id[i] == '\0' ? "\\u0000" : "%c", id[i]);
		json[length++] = '"';
	}
	json[length++] = ']';
	write_file(path_of("segment-0.ids.json"), json, length);
	snprintf(shape, sizeof(shape), "(%u,)", documents + 1);
	write_npy("segment-0.offsets.npy", "<u8", shape, offsets, (documents + 1) * sizeof(uint64_t));
	snprintf(shape, sizeof(shape), "(%u, 1)", documents);
	write_npy("segment-0.vectors.npy", "<f4", shape, values, documents * sizeof(float));
	free(json);
	free(values);
	free(offsets);
	entry.documents = entry.tokens = documents;
}

static LwSegment *
open_segment(void)
{
	LwSegment  *segment = NULL;
	LwError		error;

	memset(&error, 0, sizeof(error));
	if (lw_segment_open(dirfd_scratch, scratch, &manifest, &entry, NULL, &segment, &error) != LW_OK)
	{
		fprintf(stderr, "%s: %s instead of %s\n", error.path, error.found, error.expected);
		exit(1);
	}
	return segment;
}

/* How many answers of a segment are wrong. */
static unsigned
wrong_answers(const LwSegment *segment)
{
	unsigned	wrong = 0;
	unsigned	row;
	LwError		error;

	for (row = 0; row < entry.documents + 10; row++)
	{
		size_t		size;
		size_t		found_size;
		const char *id = id_of(row, &size);
		uint64_t	found = lw_idmap_find(&segment->idmap, &segment->ids, id, size, lw_id_hash(id, size));

		wrong += found != (row < entry.documents ? row : LW_IDMAP_NONE);
		if (row >= entry.documents)
			continue;
		id = lw_ids_get(&segment->ids, row, &found_size);
		wrong += found_size != size || memcmp(id, id_of(row, &size), size) != 0;
	}
	return wrong + (lw_segment_check(segment, &error) != LW_OK) + (segment->unnameable != (entry.documents + 49) / 100);
}

/* Opens a segment anew, and looks at all it says. */
static bool
answers_right(bool kept)
{
	LwSegment  *segment = open_segment();
	unsigned	wrong = wrong_answers(segment);
	bool		same = (segment->kept != NULL) == kept;

	lw_segment_release(segment);
	return wrong == 0 && same;
}

/* The only derived file's path; NULL when there is none.  Other files are counted. */
static char *
derived_path(int *others)
{
	static char path[400];
	DIR		   *dir = opendir(directory);
	struct dirent *file;
	bool		found = false;

	*others = 0;
	while (dir != NULL && (file = readdir(dir)) != NULL)
	{
		if (strncmp(file->d_name, "segment-", 8) == 0 && strlen(file->d_name) == 24 && !found)
		{
			found = true;
			snprintf(path, sizeof(path), "%s/%s", directory, file->d_name);
		}
		else if (file->d_name[0] != '.')
			++*others;
	}
	if (dir != NULL)
		closedir(dir);
	return found ? path : NULL;
}

static ino_t
inode_of(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 ? status.st_ino : 0;
}

static char *
read_whole(const char *path, size_t *size)
{
	struct stat status;
	FILE	   *file = fopen(path, "rb");
	char	   *data;

	must(file != NULL && fstat(fileno(file), &status) == 0, path);
	*size = (size_t) status.st_size;
	data = malloc(*size);
	must(fread(data, 1, *size, file) == *size, path);
	fclose(file);
	return data;
}

static bool
is_young(const char *path, const struct timespec *now)
{
	struct stat status;

	return stat(path, &status) != 0 || lw_time_is_young(&status.st_mtim, now);
}

/* built once, used again, and what it has instead of memory */
static void
test_use(void)
{
	struct timespec now;
	struct timespec tomorrow[2];
	LwSegment  *segment;
	int			others;
	ino_t		inode;

	write_segment(LW_DERIVED_DOCUMENTS - 1);
	CHECK(answers_right(false) && derived_path(&others) == NULL, "a small segment needs none");
	write_segment(DOCUMENTS);
	CHECK(answers_right(true), "first");
	CHECK(derived_path(&others) != NULL && others == 0, "%d other files", others);
	inode = inode_of(derived_path(&others));
	CHECK(answers_right(true) && inode_of(derived_path(&others)) == inode, "used again");
	segment = open_segment();
	CHECK(segment->ids.bytes == NULL && segment->idmap.slots == NULL, "ids in memory");
	lw_segment_release(segment);

	/* a file that may yet change without a trace is waited for, one of tomorrow not remembered */
	unlink(derived_path(&others));
	must(utimensat(AT_FDCWD, path_of("segment-0.vectors.npy"), NULL, 0) == 0, "touch");
	CHECK(answers_right(true), "a young file");
	must(clock_gettime(CLOCK_REALTIME, &now) == 0, "clock");
	CHECK(!is_young(path_of("segment-0.vectors.npy"), &now), "not waited for");
	lw_derived_sweep(0);
	now.tv_sec += 86400;
	tomorrow[0] = tomorrow[1] = now;
	must(utimensat(AT_FDCWD, path_of("segment-0.vectors.npy"), tomorrow, 0) == 0, "touch");
	CHECK(answers_right(false), "a file of tomorrow");
	settle(path_of("segment-0.vectors.npy"));
	unlink(derived_path(&others));
	CHECK(answers_right(true), "a settled one");
}

/* a flipped byte anywhere, a cut anywhere */
static void
test_damage(void)
{
	char		path[400];
	size_t		size;
	size_t		at;
	int			others;
	char	   *whole;
	unsigned	not_rebuilt = 0;

	snprintf(path, sizeof(path), "%s", derived_path(&others));
	whole = read_whole(path, &size);
	for (at = 0; at < size; at += at < LW_DERIVED_PAGE ? 5 : 29)
	{
		char	   *now;
		size_t		now_size;

		whole[at] ^= 0x10;
		write_file(path, whole, size);
		whole[at] ^= 0x10;
		CHECK(answers_right(true), "byte %zu flipped", at);
		/* found at once, or when the block was touched: then it is gone, and the next makes it anew */
		CHECK(answers_right(true), "after byte %zu was flipped", at);
		now = read_whole(path, &now_size);
		not_rebuilt += now_size != size || memcmp(now, whole, size) != 0;
		free(now);
	}
	/* the rest of the header's page and what lies between parts belongs to nothing */
	CHECK(not_rebuilt < size / 29 / 2, "%u damaged files stay", not_rebuilt);
	for (at = 0; at < size; at += 611)
	{
		write_file(path, whole, at);
		CHECK(answers_right(true), "cut to %zu bytes", at);
		CHECK(answers_right(true) && inode_of(path) != 0, "after a cut to %zu bytes", at);
	}
	free(whole);

	/* something else at its name */
	unlink(path);
	must(mkdir(path, 0700) == 0, "mkdir");
	CHECK(answers_right(false), "a directory in its place");
	must(rmdir(path) == 0, "rmdir");
	must(symlink("/dev/zero", path) == 0, "symlink");
	CHECK(answers_right(true), "a link in its place");
	CHECK(answers_right(true), "after that");
}

/* content that has its checksums and makes no sense */
static void
test_hostile(void)
{
	char		path[400];
	size_t		size;
	int			others;
	int			round;
	char	   *whole;

	snprintf(path, sizeof(path), "%s", derived_path(&others));
	whole = read_whole(path, &size);
	for (round = 0; round < 8; round++)
	{
		char	   *copy = malloc(size);
		LwDerivedHeader *header = (LwDerivedHeader *) copy;
		uint64_t   *ends;
		uint32_t   *slots;
		uint32_t   *sums = (uint32_t *) (copy + LW_DERIVED_PAGE);
		uint64_t	i;

		memcpy(copy, whole, size);
		ends = (uint64_t *) (copy + header->parts[0].offset);
		slots = (uint32_t *) (copy + header->parts[1].offset);
		for (i = 0; i < DOCUMENTS && round < 3; i++)
			ends[i] = round == 0 ? UINT64_MAX : round == 1 ? ends[DOCUMENTS - 1] + i : ends[DOCUMENTS - 1] - i;
		for (i = 0; i < header->parts[1].size / sizeof(uint32_t) && round >= 3 && round < 6; i++)
			slots[i] = round == 3 ? 1 : round == 4 ? UINT32_MAX : DOCUMENTS + 1;
		if (round == 6)
			header->parts[1].size -= 4;
		if (round == 7)
			header->parts[3].offset = header->size;
		for (i = 0; i < header->blocks; i++)
		{
			size_t		start = header->data_at + i * LW_DERIVED_BLOCK;

			sums[i] = lw_derived_sum(copy + start, size - start < LW_DERIVED_BLOCK ? size - start : LW_DERIVED_BLOCK);
		}
		header->sums_checksum = lw_derived_sum(sums, header->blocks * sizeof(uint32_t));
		header->checksum = lw_derived_sum(header, offsetof(LwDerivedHeader, checksum));
		write_file(path, copy, size);
		CHECK(answers_right(true), "hostile content %d", round);
		CHECK(answers_right(true), "after hostile content %d", round);
		free(copy);
	}
	free(whole);
}

/* what happens to a file while it is mapped */
static void
test_under_way(void)
{
	char		path[400];
	LwSegment  *segment;
	LwError		error;
	const char *id;
	const char *again;
	size_t		size;
	size_t		whole_size;
	char	   *whole;
	int			others;
	int			fd;
	unsigned	i;

	snprintf(path, sizeof(path), "%s", derived_path(&others));
	whole = read_whole(path, &whole_size);

	/* cut: ids that were given out stay right */
	segment = open_segment();
	id = lw_ids_get(&segment->ids, 17, &size);
	must(truncate(path, 0) == 0, "truncate");
	CHECK(wrong_answers(segment) == 0, "%u wrong answers after a cut", wrong_answers(segment));
	CHECK(memcmp(id, id_of(17, &size), size) == 0, "an id given out before");
	CHECK(segment->kept->computed && inode_of(path) == 0, "the cut file is removed");
	lw_segment_release(segment);
	CHECK(answers_right(true), "made anew");

	/* cut, and noticed by who reads an id only: that is said */
	segment = open_segment();
	id = lw_ids_get(&segment->ids, 17, &size);
	CHECK(lw_segment_check(segment, &error) == LW_OK, "nothing yet");
	must(truncate(path, 0) == 0, "truncate");
	CHECK(id[0] == '\0', "%c", id[0]);
	CHECK(lw_segment_check(segment, &error) == LW_TRUNCATED && strcmp(error.path, path) == 0, "%s", error.path);
	again = lw_ids_get(&segment->ids, 1000, &size);
	CHECK(memcmp(again, id_of(1000, &size), size) == 0, "an id after that");
	CHECK(lw_segment_check(segment, &error) == LW_TRUNCATED, "it stays so");
	lw_segment_release(segment);

	/* changed after its blocks were found good: answers may be wrong, nothing else */
	CHECK(answers_right(true), "made anew");
	segment = open_segment();
	CHECK(wrong_answers(segment) == 0, "all blocks");
	fd = open(path, O_WRONLY);
	for (i = 1; i < 30; i++)
	{
		char	   *noise = malloc(whole_size);
		size_t		at;

		for (at = 0; at < whole_size; at++)
			noise[at] = i == 1 ? (char) 0xff : (char) ((at * 2654435761u * i) >> 13);
		must(pwrite(fd, noise, whole_size, 0) == (ssize_t) whole_size, "write");
		(void) wrong_answers(segment);
		free(noise);
	}
	close(fd);
	lw_segment_release(segment);
	CHECK(answers_right(true), "made anew");

	/* damaged, and the segment's own files are gone from the directory: the map of ids.json is not */
	write_file(path, whole, whole_size);
	fd = open(path, O_WRONLY);
	segment = open_segment();
	must(pwrite(fd, "xxxxxxxx", 8, (off_t) whole_size - 8) == 8, "write");
	must(unlink(path_of("segment-0.ids.json")) == 0, "unlink");
	CHECK(wrong_answers(segment) == 0, "ids.json unlinked");
	lw_segment_release(segment);
	close(fd);
	write_segment(DOCUMENTS);
	CHECK(answers_right(true), "written anew");

	/* neither is to be had: that is said, too */
	segment = open_segment();
	snprintf(path, sizeof(path), "%s", derived_path(&others));
	must(truncate(path, 0) == 0 && truncate(path_of("segment-0.ids.json"), 0) == 0, "truncate");
	i = (unsigned) lw_map_faults;
	CHECK(lw_idmap_find(&segment->idmap, &segment->ids, "doc-1", 5, lw_id_hash("doc-1", 5)) == LW_IDMAP_NONE, "found");
	lw_ids_get(&segment->ids, 1, &size);
	CHECK(size == 0 && (unsigned) lw_map_faults > i, "%zu", size);
	CHECK(lw_segment_check(segment, &error) == LW_TRUNCATED, "%d", error.status);
	lw_segment_release(segment);
	write_segment(DOCUMENTS);
	CHECK(answers_right(true), "written anew");
	free(whole);
}

/* that of another segment or of another state of the files is not taken for it */
static void
test_identity(void)
{
	char		path[400];
	char		spare[300];
	size_t		size;
	char	   *whole;
	ino_t		inode;
	int			others;

	snprintf(path, sizeof(path), "%s", derived_path(&others));
	inode = inode_of(path);
	whole = read_whole(path, &size);
	((LwDerivedHeader *) whole)->key.segment++;
	((LwDerivedHeader *) whole)->checksum = lw_derived_sum(whole, offsetof(LwDerivedHeader, checksum));
	write_file(path, whole, size);
	CHECK(answers_right(true) && inode_of(path) != inode, "of another segment");
	free(whole);

	/* the same bytes in another file; the old one's derived file goes when the next is made */
	snprintf(spare, sizeof(spare), "%s", path_of("spare"));
	must(rename(path_of("segment-0.ids.json"), spare) == 0, "rename");
	write_segment(DOCUMENTS);
	CHECK(answers_right(true), "written anew");
	lw_derived_sweep(0);
	CHECK(derived_path(&others) != NULL && strcmp(derived_path(&others), path) != 0 && others == 0,
		  "%d others", others);
	manifest.store_id.data = "twin";
	manifest.store_id.size = 4;
	CHECK(answers_right(true), "of another store");
	derived_path(&others);
	CHECK(others == 1, "%d others", others);
	manifest.store_id.data = "unit";
	unlink(spare);
}

/* Where it cannot be written. */
static void
test_no_directory(void)
{
	char		command[300];
	char		file[200];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	must(system(command) == 0, "rm");
	CHECK(answers_right(true), "the directory is made");
	must(system(command) == 0, "rm");
	snprintf(file, sizeof(file), "%.*s", (int) (strrchr(directory, '/') - directory), directory);
	must(rmdir(file) == 0, "rmdir");
	CHECK(answers_right(true), "and the one above");

	must(system(command) == 0 && rmdir(file) == 0, "rm");
	write_file(file, "x", 1);
	CHECK(answers_right(false), "below a file");
	unlink(file);
	lw_derived_settings.directory = NULL;
	CHECK(answers_right(false), "none is set");
	lw_derived_settings.directory = directory;
	CHECK(answers_right(true), "again");
}

/* several processes at once make one */
static void
test_once(void)
{
	int			others;
	int			round;

	for (round = 0; round < 20; round++)
	{
		int			pipes[2];
		int			i;
		ino_t		inodes[6];

		unlink(derived_path(&others));
		must(pipe(pipes) == 0, "pipe");
		for (i = 0; i < 6; i++)
			if (fork() == 0)
			{
				LwSegment  *segment = open_segment();
				ino_t		inode = segment->kept == NULL || wrong_answers(segment) > 0 ? 0 : segment->kept->derived.file->identity.inode;

				_exit(write(pipes[1], &inode, sizeof(inode)) != (ssize_t) sizeof(inode));
			}
		while (wait(NULL) > 0)
			;
		must(read(pipes[0], inodes, sizeof(inodes)) == (ssize_t) sizeof(inodes), "read");
		for (i = 0; i < 6; i++)
			CHECK(inodes[i] == inodes[0] && inodes[0] != 0, "process %d has another", i);
		CHECK(derived_path(&others) != NULL && inode_of(derived_path(&others)) == inodes[0] && others == 0, "%d", others);
		close(pipes[0]);
		close(pipes[1]);
	}
}

/* waiting for another process ends when that dies, or is told to */
static void
test_wait(void)
{
	char		path[420];
	LwSegment  *segment = NULL;
	LwError		error;
	int			others;
	int			round;
	int			fd;

	snprintf(path, sizeof(path), "%s.new", derived_path(&others));
	unlink(derived_path(&others));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	must(flock(fd, LOCK_EX) == 0, "flock");
	lw_derived_settings.passive = true;
	CHECK(answers_right(false), "waits for nobody");
	lw_derived_settings.passive = false;
	stop_wanted = true;
	CHECK(lw_segment_open(dirfd_scratch, scratch, &manifest, &entry, NULL, &segment, &error) == LW_CANCELLED, "%d", error.status);
	stop_wanted = false;
	lw_derived_sweep(0);
	CHECK(inode_of(path) != 0, "a file that is being written was removed");
	close(fd);

	/* a process that dies leaves its file */
	for (round = 0; round < 2; round++)
	{
		fd = open(path, O_RDWR | O_CREAT, 0600);
		must(flock(fd, LOCK_EX) == 0, "flock");
		if (fork() == 0)
		{
			/* the lock is this process's, too */
			close(fd);
			_exit(answers_right(true) ? 0 : 1);
		}
		usleep(100000);
		/* one that gives up, and the next has begun */
		if (round == 1)
			write_file(path, "x", 1);
		close(fd);
		wait(&others);
		CHECK(others == 0, "who waited");
		CHECK(inode_of(path) == 0 && derived_path(&others) != NULL && others == 0, "%d others", others);
		unlink(derived_path(&others));
	}
	CHECK(answers_right(true), "made again");
}

static void
test_sweep(void)
{
	static const char *const names[] = {
		"segment-0123456789abcdef.new", "segment-0123456789abcdef", "checks-0123456789abcdef",	/* ours, and nothing */
		"segment-0123456789abcdeg", "segment-0123456789abcdef.bak", "segment-0123456789abcde", "other", "checks-"
	};
	char		path[400];
	char		content[LW_DERIVED_PAGE];
	LwSegment  *segment;
	int			others;
	size_t		i;

	memset(content, 'x', sizeof(content));
	for (i = 0; i < 8; i++)
	{
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		write_file(path, content, i == 1 ? 1 : sizeof(content));
	}
	lw_derived_sweep(0);
	for (i = 0; i < 8; i++)
	{
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		CHECK((inode_of(path) != 0) == (i >= 3), "%s", names[i]);
		unlink(path);
	}
	CHECK(derived_path(&others) != NULL && others == 0, "a good one was removed");

	/* who lets go of a segment that is gone removes its derived file */
	segment = open_segment();
	unlink(path_of("segment-0.ids.json"));
	lw_segment_release(segment);
	CHECK(derived_path(&others) == NULL && others == 0, "%d others", others);
}

int
main(void)
{
	char		parent[100];

	must(mkdtemp(scratch) != NULL, "mkdtemp");
	dirfd_scratch = open(scratch, O_RDONLY | O_DIRECTORY);
	snprintf(parent, sizeof(parent), "%s/lateweave", scratch);
	snprintf(directory, sizeof(directory), "%s/derived", parent);
	lw_derived_settings.directory = directory;
	lw_derived_settings.directory_mode = 0700;
	lw_derived_settings.file_mode = 0600;
	lw_derived_settings.stop = &stop;
	manifest.encoding = LW_FLOAT32;
	manifest.dimension = 1;
	manifest.store_id.data = "unit";
	manifest.store_id.size = 4;

	test_use();
	test_damage();
	test_hostile();
	test_under_way();
	test_identity();
	test_no_directory();
	test_once();
	test_wait();
	test_sweep();

	snprintf(parent, sizeof(parent), "rm -rf %s", scratch);
	must(system(parent) == 0, "rm");
	return unit_done("derived");
}
