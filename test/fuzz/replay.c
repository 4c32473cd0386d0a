/*-------------------------------------------------------------------------
 *
 * replay.c
 *	  Runs a fuzz target over the files of directories.
 *
 * Usage: PROGRAM DIRECTORY...; prints how many inputs there were, and fails
 * when there were none.  Whatever a target finds wrong ends the process.
 *
 *-------------------------------------------------------------------------
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "fuzz.h"

/* Ends the program since something about a file did not work. */
static void
fail(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", path, what, strerror(errno));
	exit(1);
}

/* Runs the target over one file; false when it is not a regular one. */
static int
replay_file(const char *path)
{
	struct stat status;
	FILE	   *file;
	uint8_t    *data;
	size_t		size;

	if (stat(path, &status) != 0)
		fail(path, "stat");
	if (!S_ISREG(status.st_mode))
		return 0;
	size = (size_t) status.st_size;
	data = exact_memory(size);
	file = fopen(path, "rb");
	if (file == NULL)
		fail(path, "open");
	if (fread(data, 1, size, file) != size)
		fail(path, "read");
	fclose(file);
	if (LLVMFuzzerTestOneInput(data, size) != 0)
		fail(path, "run");
	free(data);
	return 1;
}

/* Runs the target over the files of one directory; returns their number. */
static int
replay_directory(const char *directory)
{
	DIR		   *stream = opendir(directory);
	struct dirent *entry;
	int			inputs = 0;

	if (stream == NULL)
		fail(directory, "open");
	while ((entry = readdir(stream)) != NULL)
	{
		char		path[4096];

		if (snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >= (int) sizeof(path))
		{
			errno = ENAMETOOLONG;
			fail(directory, "read");
		}
		inputs += replay_file(path);
	}
	closedir(stream);
	return inputs;
}

int
main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	int			inputs = 0;
	int			i;

	for (i = 1; i < argc; i++)
		inputs += replay_directory(argv[i]);
	printf("%s: %d inputs\n", name == NULL ? argv[0] : name + 1, inputs);
	return inputs == 0;
}
