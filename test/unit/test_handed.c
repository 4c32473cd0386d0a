/*-------------------------------------------------------------------------
 *
 * test_handed.c
 *	  A view handed over has the same documents, hides the same rows and gives
 *	  the same scores; other files in the place of its own are refused.
 *
 *-------------------------------------------------------------------------
 */
#include "random.h"
#include "store.h"
#include "store/handed.h"

/* What another process gets of these segments of a view. */
static LwStatus
hand_over(const LwView *view, const bool *which, LwView **handed, LwError *error)
{
	void	   *flat = malloc(lw_handed_size(view, which));
	LwStatus	status;

	lw_handed_write(view, which, flat);
	status = lw_handed_open(flat, handed, error);
	free(flat);
	return status;
}

/* Compares the documents of one segment, and their scores. */
static void
compare_segment(const LwView *view, const LwView *handed, size_t i, LwQuery *query)
{
	LwPlace		place = {i, 0};

	for (; place.row < view->segments[i]->documents; place.row++)
	{
		LwDocument	a;
		LwDocument	b;
		LwError		error;
		LwScoreProblem problem;
		float		x = 0;
		float		y = 1;

		CHECK(lw_bit(view->hidden[i], place.row) == lw_bit(handed->hidden[i], place.row), "row %d", (int) place.row);
		CHECK(lw_view_document(view, place, &a, &error) == LW_OK && lw_view_document(handed, place, &b, &error) == LW_OK,
			  "row %d can be read", (int) place.row);
		CHECK(a.tokens == b.tokens && memcmp(a.rows, b.rows, a.tokens * view->segments[i]->row_size) == 0,
			  "row %d is the same", (int) place.row);
		if (lw_maxsim(query, lw_view_scoring(view), &a, 1, &x, &problem) == 1)
			CHECK(lw_maxsim(query, lw_view_scoring(handed), &b, 1, &y, &problem) == 1 && memcmp(&x, &y, sizeof(x)) == 0,
				  "row %d scores %g and %g", (int) place.row, x, y);
	}
}

static void
check_store(const char *path)
{
	LwDirectory directory = open_directory(path);
	LwView	   *view = open_view(directory);
	LwView	   *handed;
	LwError		error = {0};
	float	   *values;
	void	   *memory;
	LwQuery    *query;
	bool	   *which;
	size_t		i;

	close(directory.fd);
	if (view == NULL)
		return;
	CHECK(lw_view_hidden(view, &error) == LW_OK, "%s", path);
	which = malloc(view->manifest.nsegments + 2);
	lw_handed_choose(view, which);
	for (i = 0; i < view->manifest.nsegments; i++)
		CHECK(which[i], "the files of segment %zu are there", i);
	/* one stays behind */
	which[1] = false;
	if (hand_over(view, which, &handed, &error) != LW_OK)
	{
		CHECK(false, "%s: expected %s, found %s", error.path, error.expected, error.found);
		return;
	}
	CHECK(lw_manifest_equal(&view->manifest, &handed->manifest), "%s has the same manifest", path);
	CHECK(strcmp(view->directory, handed->directory) == 0, "and path");
	values = malloc(2 * view->manifest.dimension * sizeof(float));
	for (i = 0; i < 2 * view->manifest.dimension; i++)
		values[i] = gaussian();
	memory = aligned_alloc(64, (lw_query_size(2, (uint32_t) view->manifest.dimension) + 63) / 64 * 64);
	query = lw_query_init(memory, values, 2, (uint32_t) view->manifest.dimension);
	for (i = 0; i < view->manifest.nsegments; i++)
	{
		if (i == 1)
			CHECK(handed->segments[i]->documents == 0, "segment %zu has none", i);
		else
			compare_segment(view, handed, i, query);
	}
	CHECK(lw_view_check(handed, &error) == LW_OK, "nothing is cut");
	free(memory);
	free(values);
	free(which);
	lw_view_release(handed);
	lw_view_release(view);
}

/* Another file with the same bytes is another file. */
static void
check_replaced(void)
{
	const char *path = in_scratch("copy");
	char		from[1000];
	LwDirectory directory;
	LwView	   *view;
	LwView	   *handed;
	bool		which;
	LwError		error = {0};

	snprintf(from, sizeof(from), "%s/stores/i8-d128/store", golden_root());
	run_command("cp -r '%s' '%s'", from, path);
	directory = open_directory(path);
	view = open_view(directory);
	close(directory.fd);
	CHECK(lw_view_hidden(view, &error) == LW_OK, "a copy");
	lw_handed_choose(view, &which);
	CHECK(which, "its files are there");
	CHECK(hand_over(view, &which, &handed, &error) == LW_OK, "and can be opened");
	lw_view_release(handed);
	run_command("cd '%s' && cp -p segment-0.codes.npy x && mv x segment-0.codes.npy%s", path, "");
	CHECK(hand_over(view, &which, &handed, &error) == LW_REPLACED && strcmp(error.name, "HandedFile") == 0 &&
		  strstr(error.path, "segment-0.codes.npy") != NULL, "%s: %s", error.path, error.found);
	lw_handed_choose(view, &which);
	CHECK(!which, "another file is not chosen");
	run_command("rm '%s/segment-0.codes.npy'%s", path, "");
	lw_handed_choose(view, &which);
	CHECK(!which, "nor is none");
	which = true;
	CHECK(hand_over(view, &which, &handed, &error) == LW_MISSING, "it is gone");
	lw_view_release(view);
}

int
main(void)
{
	char		path[1000];
	struct dirent *entry;
	DIR		   *all;

	(void) identity;
	make_scratch();
	snprintf(path, sizeof(path), "%s/stores", golden_root());
	all = opendir(path);
	while (all != NULL && (entry = readdir(all)) != NULL)
	{
		struct stat status;

		snprintf(path, sizeof(path), "%s/stores/%s/store", golden_root(), entry->d_name);
		if (stat(path, &status) == 0)
			check_store(path);
	}
	if (all != NULL)
		closedir(all);
	check_replaced();
	remove_scratch();
	return unit_done("test_handed");
}
