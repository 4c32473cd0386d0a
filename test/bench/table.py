#!/usr/bin/env python3
"""Prints what the bench programs appended to a file (turns.h) as one table.

    table.py FILE
"""
import csv
import itertools
import sys


def main():
    lines = [line for line in open(sys.argv[1], encoding="utf-8")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    print("".join(line[2:] for line in lines if line.startswith("#")))
    print("Documents x tokens x dimension, query tokens; medians of times and of the ratios of each turn.")
    print('"of A" is GMAC/s as a share of the same in the first block, "x first" the time over that of the first row.')

    a = {row["contender"]: float(row["gmacs"]) for row in rows if row["shape"] == rows[0]["shape"] and row["gmacs"]}
    for shape, block in itertools.groupby(rows, lambda row: row["shape"]):
        print(f"\n{shape:46} {'ms':>9} {'GMAC/s':>8} {'of A':>6} {'x first':>8}")
        for row in block:
            name, gmacs = row["contender"], row["gmacs"]
            if not row["ms"]:
                print(f"  {name:44} not installed")
                continue
            rate = f"{float(gmacs):8.1f}" if gmacs else " " * 8
            share = f"{float(gmacs) / a[name]:6.2f}" if gmacs and name in a else " " * 6
            print(f"  {name:44} {float(row['ms']):9.3f} {rate} {share} {float(row['ratio']):8.2f}")


if __name__ == "__main__":
    main()
