/*-------------------------------------------------------------------------
 *
 * ahead.c
 *	  Reading ahead: of documents that lie far apart the kernel's own
 *	  read-ahead knows nothing, and each would wait for the disk by itself.
 *
 *-------------------------------------------------------------------------
 */
#include "store/ahead.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Ranges no farther apart are read in one. */
#define GAP ((uintptr_t) 65536)

/* Bytes of a map, from and to whole pages. */
typedef struct Range
{
	uintptr_t	begin;
	uintptr_t	end;
} Range;

static uintptr_t
page_size(void)
{
	static uintptr_t size = 0;

	if (size == 0)
		size = (uintptr_t) sysconf(_SC_PAGESIZE);
	return size;
}

/* The pages of a document's rows; false when its offsets are bad, which scoring will report. */
static bool
find_range(const LwView *view, LwPlace place, Range *range)
{
	const LwSegment *segment = view->segments[place.segment];
	LwDocument	document;
	LwError		error;
	uintptr_t	page = page_size();

	if (lw_segment_document(segment, place.row, &document, &error) != LW_OK)
		return false;
	range->begin = (uintptr_t) document.rows / page * page;
	range->end = ((uintptr_t) document.rows + document.tokens * segment->row_size + page - 1) / page * page;
	return true;
}

/* Whether the first page of a range is in memory, as far as the kernel tells. */
static bool
is_resident(Range range)
{
	unsigned char state = 1;

	return mincore((void *) range.begin, 1, &state) != 0 || (state & 1) != 0;
}

static int
compare_ranges(const void *a, const void *b)
{
	const Range *x = a;
	const Range *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

void
lw_read_ahead(const LwView *view, const LwPlace *places, size_t count)
{
	Range		ranges[LW_AHEAD_DOCUMENTS];
	size_t		n = 0;
	size_t		first;
	size_t		i;

	for (i = 0; i < count && n < LW_AHEAD_DOCUMENTS; i++)
		n += find_range(view, places[i], &ranges[n]);
	if (n == 0 || (is_resident(ranges[0]) && is_resident(ranges[n / 2]) && is_resident(ranges[n - 1])))
		return;
	qsort(ranges, n, sizeof(Range), compare_ranges);
	for (first = 0; first < n; first = i)
	{
		uintptr_t	end = ranges[first].end;

		for (i = first + 1; i < n && ranges[i].begin <= end + GAP; i++)
			end = ranges[i].end > end ? ranges[i].end : end;
		(void) madvise((void *) ranges[first].begin, end - ranges[first].begin, MADV_WILLNEED);
	}
}
