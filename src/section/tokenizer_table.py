#!/usr/bin/env python3
"""Writes tokenizer_table.h from the reference's measured tokenizer.json.

python3 src/section/tokenizer_table.py test/golden/sections/tokenizer.json >src/section/tokenizer_table.h
"""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    measured = json.load(file)

ranges = measured["token_ranges"]
runs = []  # [first, last, step, distance to the lower case]
expansions = []
for point in sorted(map(int, measured["lowercase"])):
    lower = [ord(c) for c in measured["lowercase"][str(point)]]
    if len(lower) > 1:
        expansions.append((point, lower))
        continue
    distance = lower[0] - point
    if runs and runs[-1][3] == distance:
        run = runs[-1]
        step = point - run[1]
        if (run[0] == run[1] and step <= 2) or step == run[2]:
            run[1], run[2] = point, step
            continue
    runs.append([point, point, 1, distance])

# The lookup knows this one by itself.
assert expansions == [(0x130, [0x69, 0x307])], expansions


def table(rows):
    line = "\t"
    for row in rows:
        item = "{" + ", ".join(row) + "},"
        if len(line) + len(item) > 90:
            yield line.rstrip()
            line = "\t"
        line += item + " "
    yield line.rstrip().rstrip(",")


print("""/*-------------------------------------------------------------------------
 *
 * tokenizer_table.h
 *	  Which code points belong to tokens, and their lower case, as measured
 *	  from the reference (Unicode 17.0).  Written by tokenizer_table.py.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_TOKENIZER_TABLE_H
#define LW_SECTION_TOKENIZER_TABLE_H

#include <stdint.h>

/* Code points of tokens, ascending; the last ones belong to them. */
static const struct
{
	uint32_t	first;
	uint32_t	last;
}			token_ranges[] =
{""")
print("\n".join(table([hex(a), hex(b)] for a, b in ranges)))
print("""};

/* Every `step`th code point from first to last has its lower case at `distance`; ascending. */
static const struct
{
	uint32_t	first;
	uint32_t	last;
	int32_t		step;
	int32_t		distance;
}			lower_runs[] =
{""")
print("\n".join(table([hex(a), hex(b), str(c), str(d)] for a, b, c, d in runs)))
print("""};

#endif							/* LW_SECTION_TOKENIZER_TABLE_H */""")
