/*-------------------------------------------------------------------------
 *
 * fence.h
 *	  Memory between pages without access, as long as the program runs one
 *	  case: a read past its end, or before its begin, ends the program.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_UNIT_FENCE_H
#define LW_UNIT_FENCE_H

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_FENCES 64

typedef struct Fence
{
	void	   *memory;
	size_t		size;
} Fence;

static Fence fences[MAX_FENCES];
static size_t fence_count;

/* Whole pages for `size` bytes, with one without access on either side. */
static inline char *
fenced_pages(size_t size, size_t *whole)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	char	   *memory;

	*whole = (size + page - 1) / page * page;
	memory = mmap(NULL, *whole + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0 ||
		mprotect(memory + page + *whole, page, PROT_NONE) != 0 || fence_count == MAX_FENCES)
		abort();
	fences[fence_count].memory = memory;
	fences[fence_count++].size = *whole + 2 * page;
	return memory + page;
}

/* Memory that ends where a page without access begins. */
static inline void *
fenced(size_t size)
{
	size_t		whole;
	char	   *memory = fenced_pages(size, &whole);

	return memory + whole - size;
}

/* Memory that begins where a page without access ends. */
static inline void *
fenced_before(size_t size)
{
	size_t		whole;

	return fenced_pages(size, &whole);
}

static inline void
drop_fences(void)
{
	while (fence_count > 0)
	{
		fence_count--;
		munmap(fences[fence_count].memory, fences[fence_count].size);
	}
}

#endif							/* LW_UNIT_FENCE_H */
