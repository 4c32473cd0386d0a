"""What was timed in turns, as medians and rows of CSV: see turns.h."""
import csv
import json
import os
import statistics
import time


def manifest(directory):
    """Of the int8 store that bench_store made in the directory."""
    with open(f"{directory}/int8/manifest.json") as file:
        return json.load(file)


def shape(directory):
    """How data.h labels what bench_store made in the directory, and how many multiplications it asks for."""
    segment, = manifest(directory)["segments"]
    documents, tokens = segment["documents"], segment["tokens"]
    dimension = manifest(directory)["representation"]["dimension"]
    query = os.path.getsize(f"{directory}/query.f32") // (4 * dimension)
    return f"{documents} x {tokens / documents:.4g} x {dimension}, {query}", tokens * dimension * query


def milliseconds(run):
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def measure(runs, turns):
    """name -> times of the functions, one turn after the other; the first turn only warms."""
    times = {name: [] for name in runs}
    for turn in range(turns + 1):
        for name, run in runs.items():
            ms = milliseconds(run)
            if turn > 0:
                times[name].append(ms)
    return times


def write(path, shape, times, multiplications, missing=(), remarks=()):
    """Appends a row for each contender, the first of which the others are compared to."""
    first = next(iter(times.values()))
    with open(path, "a", newline="") as file:
        for remark in remarks:
            file.write(f"# {remark}\n")
        rows = csv.writer(file, lineterminator="\n")
        for name, own in times.items():
            ms = statistics.median(own)
            ratio = statistics.median(a / b for a, b in zip(own, first))
            rows.writerow([shape, name, f"{ms:.4f}", f"{multiplications / ms / 1e6:.2f}", f"{ratio:.3f}"])
        for name in missing:
            rows.writerow([shape, name, "", "", ""])


def read(path):
    """shape -> its rows, in the file's order, with numbers or None; and the remarks."""
    def number(text):
        return float(text) if text else None

    with open(path, encoding="utf-8", newline="") as file:
        lines = file.readlines()
    shapes = {}
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        numbers = {column: number(row[column]) for column in ("ms", "gmacs", "ratio")}
        shapes.setdefault(row["shape"], []).append({**row, **numbers})
    return shapes, [line[2:].strip() for line in lines if line.startswith("#")]
