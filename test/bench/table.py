#!/usr/bin/env python3
"""Prints what the bench programs appended to a file (turns.h): all of it, or the README's tables.

    table.py [--readme] FILE
"""
import argparse
import re

import turns

HEAD = "documents x tokens x dimension, query tokens"


def print_all(shapes, remarks):
    print("\n".join(remarks))
    print(f"\nShapes are {HEAD}. Times are medians, ratios the medians of those of each turn.")
    print('"of A" is GMAC/s as a share of the same in the first block, "x first" the time over that of the first row.')
    a = {row["contender"]: row["gmacs"] for row in next(iter(shapes.values()))}
    for shape, block in shapes.items():
        print(f"\n{shape:46} {'ms':>9} {'GMAC/s':>8} {'of A':>6} {'x first':>8}")
        for row in block:
            name, gmacs = row["contender"], row["gmacs"]
            if row["ms"] is None:
                print(f"  {name:44} not installed")
                continue
            rate = f"{gmacs:8.1f}" if gmacs else " " * 8
            share = f"{gmacs / a[name]:6.2f}" if gmacs and a.get(name) else " " * 6
            print(f"  {name:44} {row['ms']:9.3f} {rate} {share} {row['ratio']:8.2f}")


def print_readme(shapes):
    """A table of the first data set, then one of what was measured of other shapes in the same way."""
    first = next(iter(shapes))
    print(f"| {first} | ms | times the first of the group |\n|---|---|---|")
    for shape, block in shapes.items():
        if shape != first and not shape.endswith(f": {first}"):
            continue
        group = "C" if shape == first else shape.removesuffix(f": {first}")
        print(f"| **{group}** | | |")
        for row in block:
            if row["ms"] is not None:
                print(f"| {row['contender']} | {row['ms']:.{1 if row['ms'] < 100 else 0}f} | {row['ratio']:.2f} |")

    contenders = [row["contender"] for row in shapes[first]]
    kernels = {shape: block for shape, block in shapes.items() if [row["contender"] for row in block] == contenders}
    names = contenders[1:]
    print(f"\n| {HEAD} | {contenders[0]}, GMAC/s | {' | '.join(f'{name}: times {contenders[0]}' for name in names)} |")
    print(f"|---|---|{'---|' * len(names)}")
    for shape, block in kernels.items():
        ratios = " | ".join(f"{row['ratio']:.2f}" for row in block[1:])
        print(f"| {shape} | {block[0]['gmacs']:.1f} | {ratios} |")

    for title, pattern in (("searches of a whole store", "search"), ("section files", "exact top|top|open|build"), ("changes of stores", "commit|load|.* rows in a")):
        print(f"\n| {title} | ms | times the first of the group |\n|---|---|---|")
        for shape, block in shapes.items():
            if re.match(pattern, shape):
                print(f"| **{shape}** | | |")
                for row in block:
                    print(f"| {row['contender']} | {row['ms']:,.{1 if row['ms'] < 100 else 0}f} | {row['ratio']:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("file")
    arguments = parser.parse_args()
    shapes, remarks = turns.read(arguments.file)
    if arguments.readme:
        print_readme(shapes)
    else:
        print_all(shapes, remarks)


if __name__ == "__main__":
    main()
