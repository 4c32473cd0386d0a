#!/usr/bin/env python3
"""Draws what the bench programs appended to a file (turns.h): times relative to our int8 kernel.

    figure.py FILE FIGURE.svg

One bar for each way to score the first data set. Bars that would dwarf the others are cut, and
say so. The background is left to the page, so text and bars are legible on light and on dark.
"""
import re
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "lateweave"      # the same file for the same numbers

import matplotlib.pyplot as plt

import turns

OURS, OTHERS, TEXT = "#2a8fbd", "#8c8c8c", "#7a7a7a"
CUT = 8         # times our kernel
# no whole MaxSim, or no call of its own
LEFT_OUT = re.compile(r"plain read|without max|^kernel of")


def sections(shapes):
    """(title, [(name, ratio, whether it is ours)]) of each section."""
    first = next(iter(shapes))
    for title, shape in (("C, one process", first), ("Python, one process", f"Python: {first}"),
                         ("SQL, one backend", f"SQL: {first}")):
        bars = []
        for row in shapes.get(shape, []):
            name, ratio = row["contender"], row["ratio"]
            ours = name in ("int8", "float32") or name.startswith("lateweave")
            if ratio and not LEFT_OUT.search(name) and not (ours and shape.startswith("Python")):
                bars.append((f"lateweave kernel, {name}" if name in ("int8", "float32") else name, ratio, ours))
        if bars:
            yield title, bars


def main():
    shapes, remarks = turns.read(sys.argv[1])
    documents, tokens, dimension, query = re.split(r" x |, ", next(iter(shapes)))
    drawn = list(sections(shapes))
    rows = sum(len(bars) + 1 for _, bars in drawn)

    figure, axes = plt.subplots(figsize=(8.6, 0.9 + 0.27 * rows), layout="constrained")
    place = 0.0
    labels = []
    for title, bars in drawn:
        labels.append((place, title, True))
        place += 1
        for name, ratio, ours in bars:
            cut = ratio > CUT
            axes.barh(place, CUT - 0.5 if cut else ratio, height=0.68, color=OURS if ours else OTHERS)
            if cut:
                axes.barh(place, 0.4, left=CUT - 0.4, height=0.68, color=OURS if ours else OTHERS)
            axes.text(min(ratio, CUT) + 0.08, place, f"{ratio:.0f} x (bar cut)" if cut else f"{ratio:.2f} x",
                      va="center", color=TEXT, fontsize=9)
            labels.append((place, name, False))
            place += 1
    axes.set_yticks([at for at, _, _ in labels], [name for _, name, _ in labels], fontsize=9)
    for tick, (_, _, heading) in zip(axes.get_yticklabels(), labels):
        tick.set_color(TEXT)
        if heading:
            tick.set_fontweight("bold")
    axes.axvline(1, color=OURS, linewidth=0.8, linestyle=":")
    axes.set_xlim(0, CUT * 1.18)
    axes.invert_yaxis()
    axes.tick_params(length=0, colors=TEXT)
    axes.set_xticks(range(CUT + 1))
    for side in axes.spines.values():
        side.set_visible(False)
    figure.suptitle(f"Time to score {documents} documents x {tokens} tokens x {dimension} dimensions, {query} query tokens, "
                    "on one thread,\nas a multiple of lateweave's int8 kernel in the same turn; shorter is better",
                    x=0.01, ha="left", color=TEXT, fontsize=10)
    axes.set_xlabel(remarks[0] if remarks else "", color=TEXT, fontsize=8, loc="left")
    figure.savefig(sys.argv[2], transparent=True, metadata={"Date": None})


if __name__ == "__main__":
    main()
