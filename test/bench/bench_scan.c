/*-------------------------------------------------------------------------
 *
 * bench_scan.c
 *	  The kernel alone over a whole store, where it lies in its files.
 *
 *	bench_scan STORE QUERY PROCESSES
 *
 * QUERY has the bare values of the query's tokens.  For each line on stdin the best
 * ten are found, each process taking its share of the documents, and "." is
 * printed.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "best.h"
#include "store/follow.h"

#define MOST_PROCESSES 64

/* A process and the pipes to it and from it. */
typedef struct Process
{
	int			tell;
	int			hear;
} Process;

static void
check(LwStatus status, const LwError *error)
{
	if (status != LW_OK)
		die("%s: expected %s, found %s", error->path, error->expected, error->found);
}

static LwView *
open_view(const char *path)
{
	static LwStore store;
	LwError		error = {0};
	LwView	   *view;
	dev_t		device;
	ino_t		inode;
	bool		moved;

	check(lw_store_identify(path, &device, &inode, &error), &error);
	lw_store_init(&store, device, inode);
	check(lw_store_follow(&store, path, &view, &moved, &error), &error);
	return view;
}

/* The query of a file, packed. */
static LwQuery *
read_query(const char *path, size_t dimension)
{
	FILE	   *file = fopen(path, "rb");
	struct stat status;
	float	   *values;
	size_t		tokens;

	if (file == NULL || fstat(fileno(file), &status) != 0)
		die("could not open %s", path);
	values = allocate((size_t) status.st_size);
	tokens = (size_t) status.st_size / sizeof(float) / dimension;
	if (tokens == 0 || fread(values, sizeof(float) * dimension, tokens, file) != tokens)
		die("could not read %s", path);
	fclose(file);
	return lw_query_init(allocate(lw_query_size((uint32_t) tokens, (uint32_t) dimension)), values,
						 (uint32_t) tokens, (uint32_t) dimension);
}

/* All rows of all segments. */
static LwDocument *
list_documents(const LwView *view, size_t *count)
{
	LwDocument *documents;
	LwError		error = {0};
	LwPlace		place;
	size_t		n = 0;

	*count = 0;
	for (place.segment = 0; place.segment < view->manifest.nsegments; place.segment++)
		*count += view->segments[place.segment]->documents;
	documents = allocate(*count * sizeof(LwDocument));
	for (place.segment = 0; place.segment < view->manifest.nsegments; place.segment++)
		for (place.row = 0; place.row < view->segments[place.segment]->documents; place.row++)
			check(lw_view_document(view, place, &documents[n++], &error), &error);
	return documents;
}

/* Starts a process that scores these documents whenever it is told to. */
static Process
start(LwQuery *query, LwScoring scoring, const LwDocument *documents, size_t count)
{
	int			to[2];
	int			from[2];
	Process		process;
	char		byte;
	pid_t		pid;

	if (pipe(to) != 0 || pipe(from) != 0 || (pid = fork()) < 0)
		die("could not start a process");
	if (pid == 0)
	{
		float	   *scores = allocate(count * sizeof(float));

		close(to[1]);
		while (read(to[0], &byte, 1) == 1)
		{
			score_best(query, scoring, documents, count, scores);
			if (write(from[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	process.tell = to[1];
	process.hear = from[0];
	return process;
}

int
main(int argc, char **argv)
{
	Process		processes[MOST_PROCESSES];
	int			n = argc == 4 ? atoi(argv[3]) : 0;
	LwDocument *documents;
	LwQuery    *query;
	LwView	   *view;
	size_t		count;
	char		line[80];
	char		byte = '.';
	int			i;

	if (n < 1 || n > MOST_PROCESSES)
		die("usage: bench_scan STORE QUERY PROCESSES, processes from 1 to %d", MOST_PROCESSES);
	view = open_view(argv[1]);
	query = read_query(argv[2], (size_t) view->manifest.dimension);
	documents = list_documents(view, &count);
	for (i = 0; i < n; i++)
	{
		size_t		first = count * (size_t) i / (size_t) n;
		size_t		last = count * (size_t) (i + 1) / (size_t) n;

		processes[i] = start(query, lw_view_scoring(view), documents + first, last - first);
	}
	while (fgets(line, sizeof(line), stdin) != NULL)
	{
		for (i = 0; i < n; i++)
			if (write(processes[i].tell, &byte, 1) != 1)
				die("a process died");
		for (i = 0; i < n; i++)
			if (read(processes[i].hear, &byte, 1) != 1)
				die("a process died");
		puts(".");
		fflush(stdout);
	}
	return 0;
}
