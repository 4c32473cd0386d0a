/*-------------------------------------------------------------------------
 *
 * turns.h
 *	  What was timed in turns, as medians and rows of CSV.
 *
 * On a shared machine times move with the neighbours.  So contenders take turns,
 * and what counts is the median of the ratios within each turn.
 *
 * A row is: shape, contender, milliseconds, GMAC/s (empty where nothing is
 * multiplied), ratio to the first contender of the shape.  A line that begins
 * with # is a remark.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_TURNS_H
#define LW_TURNS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_TURNS 200

static inline double
milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec * 1e-6;
}

static inline int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static inline double
median(const double *values, int n)
{
	double		sorted[MAX_TURNS];

	memcpy(sorted, values, sizeof(double) * (size_t) n);
	qsort(sorted, (size_t) n, sizeof(double), compare_doubles);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Writes the row of a contender: its times, those of the first contender, and its multiplications (0 for none). */
static inline void
csv_row(FILE *csv, const char *shape, const char *contender, const double *times, const double *first, int turns,
		double multiplications)
{
	double		ratios[MAX_TURNS];
	double		ms = median(times, turns);
	int			i;

	for (i = 0; i < turns; i++)
		ratios[i] = times[i] / first[i];
	fprintf(csv, "\"%s\",\"%s\",%.4f,", shape, contender, ms);
	if (multiplications > 0)
		fprintf(csv, "%.2f", multiplications / ms / 1e6);
	fprintf(csv, ",%.3f\n", median(ratios, turns));
}

#endif							/* LW_TURNS_H */
