/*-------------------------------------------------------------------------
 *
 * fuzz_store.c
 *	  A whole store directory.  What must hold for any files: the store opens
 *	  or is refused with a name, and every document that is listed can be
 *	  found by its id and scored within its own rows.
 *
 * The input is a sequence of files: a byte that says which, two bytes of
 * length (little-endian), the content.  Files that it does not name are those
 * of a small valid store, so that one damaged file reaches its own parser.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kernel/decode.h"
#include "store/follow.h"
#include "fuzz.h"

#define FILES 7

static const char *const names[FILES] = {
	"manifest.json", "segment-0.ids.json", "segment-0.offsets.npy", "segment-0.codes.npy",
	"segment-0.scales.npy", "segment-0.vectors.npy", "segment-0.tombstones-1.npy"
};

static char directory[] = "/tmp/lateweave-fuzz.XXXXXX";
static int	directory_fd = -1;

static void
remove_directory(void)
{
	int			i;

	for (i = 0; i < FILES; i++)
		unlinkat(directory_fd, names[i], 0);
	rmdir(directory);
}

static void
write_file(int file, const void *data, size_t size)
{
	int			fd;

	unlinkat(directory_fd, names[file], 0);
	fd = openat(directory_fd, names[file], O_WRONLY | O_CREAT | O_EXCL, 0600);
	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t) size && close(fd) == 0);
}

static void
write_npy(int file, const char *header, const void *data, size_t size)
{
	char		buffer[256];

	memset(buffer, ' ', 128);
	memcpy(buffer, "\x93NUMPY\x01\x00\x76\x00", 10);
	memcpy(buffer + 10, header, strlen(header));
	buffer[127] = '\n';
	memcpy(buffer + 128, data, size);
	write_file(file, buffer, 128 + size);
}

/* Three documents of 1, 2 and 1 tokens, dimension 2, the second deleted. */
static void
write_valid_store(void)
{
	static const char manifest[] = "{\"format\":\"lateweave-vectors-2\",\"store_id\":\"f\",\"encoding\":\"int8\","
		"\"corpus\":\"c\",\"representation\":{\"encoder\":\"e\",\"encoder_revision\":\"1\",\"dimension\":2,"
		"\"normalized\":true},\"commit\":1,\"next_segment_id\":1,\"committed_at\":1.5,"
		"\"segments\":[{\"id\":0,\"documents\":3,\"tokens\":4,\"tombstones\":1}]}";
	static const char ids[] = "[\"a\",\"b\",\"c\"]";
	static const uint64_t offsets[] = {0, 1, 3, 4};
	static const int8_t codes[] = {1, 2, 3, 4, 5, 6, -128, 127};
	static const float scales[] = {1, 0.5f, 0.25f, 2};
	static const float vectors[] = {1, 2, 3, 4, 5, 6, 7, 8};
	static const uint64_t tombstones[] = {1};

	write_file(0, manifest, sizeof(manifest) - 1);
	write_file(1, ids, sizeof(ids) - 1);
	write_npy(2, "{'descr': '<u8', 'fortran_order': False, 'shape': (4,), }", offsets, sizeof(offsets));
	write_npy(3, "{'descr': '|i1', 'fortran_order': False, 'shape': (4, 2), }", codes, sizeof(codes));
	write_npy(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", scales, sizeof(scales));
	write_npy(5, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }", vectors, sizeof(vectors));
	write_npy(6, "{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", tombstones, sizeof(tombstones));
}

static void
score(const LwView *view, LwPlace place)
{
	LwDocument	document;
	LwError		error;
	LwQuery    *query;
	LwScoreProblem problem;
	float		result;
	float	   *values;
	void	   *memory;
	uint32_t	dimension = (uint32_t) view->manifest.dimension;
	size_t		size = lw_query_size(1, dimension);

	REQUIRE(lw_view_document(view, place, &document, &error) == LW_OK);
	REQUIRE(size > 0 && posix_memalign(&memory, 64, size) == 0);
	values = calloc(dimension, sizeof(float));
	values[0] = 1;
	query = lw_query_init(memory, values, 1, dimension);
	lw_maxsim(query, lw_view_scoring(view), &document, 1, &result, &problem);
	free(values);
	free(memory);
}

static void
read_all(LwView *view)
{
	LwError		error;
	LwPlace		place;
	uint64_t	listed = 0;

	REQUIRE(lw_view_hidden(view, &error) == LW_OK);
	for (place.segment = 0; place.segment < view->manifest.nsegments; place.segment++)
	{
		const LwSegment *segment = view->segments[place.segment];

		for (place.row = 0; place.row < segment->documents; place.row++)
		{
			LwPlace		found;
			size_t		size;
			const char *id = lw_ids_get(&segment->ids, place.row, &size);

			if (lw_bit(view->hidden[place.segment], place.row))
				continue;
			listed++;
			REQUIRE(lw_view_find(view, id, size, &found));
			REQUIRE(found.segment == place.segment && found.row == place.row);
			if (view->manifest.dimension < 1000)
				score(view, place);
		}
	}
	REQUIRE(listed == view->documents);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	LwStore		store;
	LwView	   *view;
	LwError		error;
	bool		moved;

	if (directory_fd < 0)
	{
		REQUIRE(mkdtemp(directory) != NULL);
		directory_fd = open(directory, O_RDONLY | O_DIRECTORY);
		atexit(remove_directory);
	}
	write_valid_store();
	while (size >= 3)
	{
		size_t		length = data[1] | (size_t) data[2] << 8;

		if (length > size - 3)
			length = size - 3;
		write_file(data[0] % FILES, data + 3, length);
		data += 3 + length;
		size -= 3 + length;
	}

	memset(&store, 0, sizeof(store));
	store.manifest_fd = -1;
	REQUIRE(lw_store_identify(directory, &store.device, &store.inode, &error) == LW_OK);
	if (lw_store_follow(&store, directory, &view, &moved, &error) == LW_OK)
		read_all(view);
	else
		REQUIRE(error.name != NULL || error.errnum != 0);
	lw_store_forget(&store);
	return 0;
}
