#!/usr/bin/env python3
"""Exhaustive searches of a large store by one process and by two, beside the kernel alone.

    bench_search.py --csv FILE [--turns N] [--documents N] SCAN DIRECTORY PSQL...

SCAN is the program bench_scan; DIRECTORY, which is new, gets the store; PSQL opens psql on an empty database.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np

import bench_sql
import turns

TOKENS, DIMENSION, QUERY, CHUNK = 64, 128, 32, 2000
SETUP = """
CREATE EXTENSION IF NOT EXISTS lateweave;
CREATE FOREIGN TABLE many (id text NOT NULL, tokens multivector) SERVER lateweave OPTIONS (store '{store}');
CREATE TABLE query AS SELECT '{query}'::multivector AS tokens;
SET max_parallel_workers_per_gather = 0;
SELECT count(*) FROM lateweave_search('many', (SELECT tokens FROM query), 10);
"""
SEARCH = "SELECT * FROM lateweave_search('many', (SELECT tokens FROM query), 10);"


def make(directory, documents):
    """Writes a store of random documents, with a query; returns the query."""
    random = np.random.default_rng(1)
    directory.mkdir()
    codes = np.lib.format.open_memmap(directory / "segment-0.codes.npy", "w+", "<i1", (documents * TOKENS, DIMENSION))
    for first in range(0, len(codes), CHUNK * TOKENS):
        part = codes[first:first + CHUNK * TOKENS]
        rows = random.standard_normal(part.shape, dtype=np.float32)
        part[:] = np.rint(rows * (127 / np.abs(rows).max(1, keepdims=True)))
    codes.flush()
    np.save(directory / "segment-0.scales.npy", np.full(documents * TOKENS, 1 / 127, "<f4"))
    np.save(directory / "segment-0.offsets.npy", np.arange(documents + 1, dtype="<u8") * TOKENS)
    (directory / "segment-0.ids.json").write_text(json.dumps([f"document-{i}" for i in range(documents)]))
    (directory / "manifest.json").write_text(json.dumps({
        "format": "lateweave-vectors-2", "store_id": "bench-search", "encoding": "int8", "corpus": "bench",
        "representation": {"encoder": "bench", "encoder_revision": "1", "dimension": DIMENSION, "normalized": True,
                           "query_template": "", "document_template": ""},
        "commit": 1, "next_segment_id": 1, "committed_at": 1700000000.0,
        "segments": [{"id": 0, "documents": documents, "tokens": documents * TOKENS, "tombstones": None}]}))
    query = random.standard_normal((QUERY, DIMENSION), dtype=np.float32)
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    query.tofile(directory / "query.f32")
    return query


class Kernel:
    """The kernel in so many processes: a call has them find the best."""
    def __init__(self, program, directory, processes):
        self.program = subprocess.Popen([program, directory, f"{directory}/query.f32", str(processes)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self):
        self.program.stdin.write("\n")
        self.program.stdin.flush()
        if self.program.stdout.readline() != ".\n":
            sys.exit("bench_scan ended")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", required=True)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--documents", type=int, default=100000)
    parser.add_argument("scan")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("psql", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()

    query = make(arguments.directory, arguments.documents)
    runs = {f"kernel, {n} process{'' if n == 1 else 'es'}": Kernel(arguments.scan, arguments.directory, n)
            for n in (1, 2)}
    session = bench_sql.Session(arguments.psql)
    session.lines(SETUP.format(store=arguments.directory, query=json.dumps(query.tolist())))

    def search(workers):
        lines = session.lines(f"SET max_parallel_workers_per_gather = {workers}; {SEARCH}")
        if len(lines) != 10:
            sys.exit("\n".join(lines))

    runs["lateweave_search"] = lambda: search(0)
    runs["lateweave_search, a parallel worker"] = lambda: search(1)
    times = turns.measure(runs, arguments.turns)
    multiplications = arguments.documents * TOKENS * DIMENSION * QUERY
    remarks = [f"{name}: {arguments.documents / min(own) * 1e3:.0f} documents a second at best" for name, own in times.items()]
    turns.write(arguments.csv, f"search, the best 10 of {arguments.documents} x {TOKENS} x {DIMENSION}, {QUERY}",
                times, multiplications, remarks=remarks)


if __name__ == "__main__":
    main()
