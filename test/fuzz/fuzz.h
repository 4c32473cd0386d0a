/*-------------------------------------------------------------------------
 *
 * fuzz.h
 *	  What the fuzz targets share: the entry point and what must hold.
 *
 * A target is linked with libFuzzer to look for inputs (`make fuzz`),
 *
 *	  clang -g -O1 -fsanitize=fuzzer,address,undefined -Isrc
 *		  test/fuzz/fuzz_json.c src/format/(any).c -o fuzz_json
 *	  ./fuzz_json NEW_INPUTS test/fuzz/corpus/json
 *
 * or with replay.c to run a corpus again under any compiler.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_FUZZ_H
#define LW_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process, as a fuzzer wants it, when a condition does not hold. */
#define REQUIRE(condition) \
	do { \
		if (!(condition)) \
		{ \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

/* Memory of exactly `size` bytes, so that a sanitizer sees the first byte too many. */
static inline void *
exact_memory(size_t size)
{
	void	   *memory = malloc(size);

	if (memory == NULL && size > 0)
		abort();
	return memory;
}

#endif							/* LW_FUZZ_H */
