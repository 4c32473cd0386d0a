/*-------------------------------------------------------------------------
 *
 * fence.h
 *	  Memory that ends at a page without access, as long as the program runs
 *	  one case: a read past it ends the program.
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

static inline void *
fenced(size_t size)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	size_t		whole = (size + page - 1) / page * page;
	char	   *memory = mmap(NULL, whole + page, PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + whole, page, PROT_NONE) != 0 ||
		fence_count == MAX_FENCES)
		abort();
	fences[fence_count].memory = memory;
	fences[fence_count++].size = whole + page;
	return memory + whole - size;
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
