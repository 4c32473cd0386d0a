/*-------------------------------------------------------------------------
 *
 * unit.h
 *	  The little that the unit programs share: named checks and a count.
 *
 * Each program prints a line "NAME: P passed, F failed" at its end and exits
 * with 1 when a check failed or none ran.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_UNIT_H
#define LW_UNIT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static int	unit_passed;
static int	unit_failed;

/* Counts a condition; prints where and a printf-formatted note when it does not hold. */
#define CHECK(condition, ...) \
	do { \
		if (condition) \
			unit_passed++; \
		else \
		{ \
			unit_failed++; \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
			fprintf(stderr, __VA_ARGS__); \
			fputc('\n', stderr); \
		} \
	} while (0)

/* Whether a share of many cases is enough: an emulated processor is slow. */
static inline bool
unit_brief(void)
{
	return getenv("LATEWEAVE_BRIEF") != NULL;
}

static inline int
unit_done(const char *name)
{
	printf("%s: %d passed, %d failed\n", name, unit_passed, unit_failed);
	return unit_failed > 0 || unit_passed == 0;
}

#endif							/* LW_UNIT_H */
