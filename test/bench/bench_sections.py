#!/usr/bin/env python3
"""Times section files in SQL in turns with the reference implementation (urna) in this process.

    bench_sections.py --csv FILE [--turns N] [--rows N] [--hybrid-rows N] DIRECTORY PSQL...

DIRECTORY is the server's to write, PSQL the command that opens psql on an empty database. Without
the package urna (Python 3.12 or newer) only lateweave is timed.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

import numpy as np

import turns
from bench_sql import Session

try:
    import urna
except ImportError:
    urna = None

DIMENSION = 384
DTYPES = "int4", "int8", "float16", "float32"
MODEL = dict(embedding_model="random", model_hash="sha256:" + "5e" * 32, chunker_version="bench/1")
QUERIES = 20


def normalized(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def batches(rows):
    """Texts of 12 words and vectors around 1,000 centres, some thousand at a time."""
    random = np.random.default_rng(7)
    centres = normalized(random.standard_normal((1000, DIMENSION), dtype="f4"))
    for first in range(0, rows, 5000):
        n = min(5000, rows - first)
        words = np.minimum(random.zipf(1.3, (n, 12)), 99999)
        texts = [" ".join(f"w{word:05}" for word in row) for row in words]
        near = centres[random.integers(0, 1000, n)]
        yield first, texts, normalized(near + random.standard_normal((n, DIMENSION), dtype="f4") / 20)


def load(psql, rows):
    """The table chunks, by COPY in binary, whose rows all have one length."""
    row = np.dtype([("columns", ">i2"), ("n", ">i4"), ("ordinal", ">i8"), ("text size", ">i4"), ("text", "S83"),
                    ("array size", ">i4"), ("head", ">i4", 5), ("values", [("size", ">i4"), ("value", ">f4")], DIMENSION)])
    copy = subprocess.Popen([*psql, "-Xq", "-c", "COPY chunks FROM STDIN (FORMAT binary)"], stdin=subprocess.PIPE)
    copy.stdin.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
    queries = []
    for first, texts, vectors in batches(rows):
        out = np.zeros(len(texts), row)
        out["columns"], out["n"], out["ordinal"] = 3, 8, np.arange(first, first + len(texts))
        out["text size"], out["text"] = 83, texts
        out["array size"], out["head"] = 20 + 8 * DIMENSION, (1, 0, 700, DIMENSION, 1)
        out["values"]["size"], out["values"]["value"] = 4, vectors
        copy.stdin.write(out.tobytes())
        if len(queries) < QUERIES:
            at = np.linspace(0, len(texts) - 1, QUERIES, dtype=int)
            queries += [(texts[i].split()[-1], vectors[i] + np.float32(0.02)) for i in at]
    copy.stdin.write(b"\xff\xff")
    copy.stdin.close()
    if copy.wait() != 0:
        sys.exit("COPY failed")
    return queries[:QUERIES]


def recall(found, exact):
    return statistics.mean(len(set(a) & set(b)) / len(b) for a, b in zip(found, exact))


def literal(vector):
    return "'[[" + ",".join(map(repr, vector.tolist())) + "]]'"


class Bench:
    def __init__(self, arguments):
        self.directory, self.psql = arguments.directory, arguments.psql
        self.turns, self.csv = arguments.turns, arguments.csv
        self.session = Session(self.psql)

    def sql(self, text):
        answer = self.session.lines(text)
        if any("ERROR:" in line for line in answer):
            sys.exit("".join(answer))
        return answer

    def milliseconds(self, text, session=None):
        """The time that the server took to plan and run one statement."""
        planning = 0
        for line in (session or self.session).lines(f"EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, SUMMARY) {text};"):
            if match := re.match(r"Planning Time: ([0-9.]+) ms", line):
                planning = float(match[1])
            elif match := re.match(r"Execution Time: ([0-9.]+) ms", line):
                return planning + float(match[1])
            elif "ERROR:" in line:
                sys.exit(line)

    def first(self, text, before=""):
        """The time of a statement that is the first of its session to use lateweave."""
        session = Session(self.psql)
        session.lines(f"SELECT 1; {before}")
        ms = self.milliseconds(text, session)
        session.psql.stdin.close()
        session.psql.wait()
        return ms

    def build(self, name, rows, **options):
        """The time of building a file of the first rows, whose foreign table is `name`."""
        text = json.dumps(MODEL | options)
        started = time.perf_counter()
        self.sql(f"""SELECT lateweave_build_section_file('{self.directory}/{name}.urna',
                $$SELECT text, 'u' AS uri, ordinal AS start, ordinal + 1 AS "end", embedding FROM chunks
                  WHERE ordinal < {rows} ORDER BY ordinal$$, '{text}');""")
        took = (time.perf_counter() - started) * 1e3
        self.sql(f"""CREATE FOREIGN TABLE {name} (ordinal bigint, chunk_id text, embedding real[]) SERVER lateweave
                OPTIONS (section_file '{self.directory}/{name}.urna');""")
        return took

    def open(self, name):
        return urna.open(f"{self.directory}/{name}.urna") if urna else None

    def compare(self, shape, runs, missing=()):
        """Times functions that give their own milliseconds, or None for those to be timed here."""
        times = {name: [] for name in runs}
        for turn in range(self.turns + 1):
            for name, run in runs.items():
                started = time.perf_counter()
                ms = run()
                if ms is None:
                    ms = (time.perf_counter() - started) * 1e3
                if turn > 0:
                    times[name].append(ms)
        turns.write(self.csv, shape, times, 0, missing)

    def searches(self, name, rows, dtype, queries):
        """Exact search and opening of one file."""
        other = self.open(name)
        query = queries[0][1]
        exact = f"SELECT id FROM lateweave_search('{name}', {literal(query)}, 10)"
        runs = {f"lateweave_search, {dtype}": lambda: self.milliseconds(exact)}
        if other:
            ours = [line.strip() for line in self.sql(exact + ";")]
            theirs = [hit.chunk_id for hit in other.search(query, 10)]
            if ours != theirs:
                sys.exit(f"{name}: the reference found other chunks")
            runs[f"reference, {dtype} ({other.simd_backend})"] = lambda: other.search(query, 10) and None
        self.compare(f"exact top 10 of {rows} x {DIMENSION}, {dtype}", runs)
        one = f"SELECT chunk_id FROM {name} WHERE ordinal = 0"
        runs = {"open in a new session": lambda: self.first(one),
                "open, every checksum": lambda: self.first(one, "SET lateweave.verify_on_open = on;"),
                "first lateweave_search of a session": lambda: self.first(exact)}
        if other:
            runs["reference, open"] = lambda: self.open(name) and None
        self.compare(f"open {rows} x {DIMENSION}, {dtype}", runs)

    def private(self, session):
        """Bytes that only this session's process has."""
        pid = int(session.lines("SELECT pg_backend_pid();")[0])
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Private_"))

    def sessions(self, name, n, query):
        """Private memory of sessions that search one file, over that of one that ran only SELECT 1."""
        idle = Session(self.psql)
        sessions = [Session(self.psql) for _ in range(n)]
        for session in sessions:
            session.lines(f"SELECT * FROM lateweave_search('{name}', {literal(query)}, 10);")
            session.lines(f"SELECT ordinal FROM {name} WHERE chunk_id = (SELECT chunk_id FROM {name} WHERE ordinal = 5);")
        try:
            base = self.private(idle)
            most = max(self.private(session) - base for session in sessions)
        except PermissionError:
            return
        bytes_ = os.path.getsize(f"{self.directory}/{name}.urna")
        with open(self.csv, "a", encoding="utf-8") as file:
            file.write(f"# {n} sessions that searched one file of {bytes_ / 1e9:.2f} GB and looked a chunk up by its id: "
                       f"at most {most / 1e6:.1f} MB of private memory over an idle one\n")
        for session in [idle, *sessions]:
            session.psql.stdin.close()
            session.psql.wait()

    def indexes(self, name, rows, queries):
        """HNSW and BM25: time of one search, recall of all queries."""
        other = self.open(name)

        def statement(method, word, query):
            return (f"SELECT id FROM lateweave_section_search('{name}', {literal(query)}, 10, method => '{method}', "
                    f"query_text => '{word}')")

        def ask(method):
            return [[line.strip() for line in self.sql(statement(method, *each) + ";")] for each in queries]

        exact = ask("exact")
        for method, theirs in (("exact", lambda word, query: other.search(query, 10)),
                               ("ann", lambda word, query: other.search_ann(query, 10, 100)),
                               ("hybrid", lambda word, query: other.search_hybrid(query, word, 10, 64))):
            found = ask(method)
            label = f"{method}, recall {recall(found, exact):.3f}"
            runs = {f"lateweave_section_search, {label}":
                    lambda: sum(self.milliseconds(statement(method, *each)) for each in queries) / len(queries)}
            if other:
                same = [[hit.chunk_id for hit in theirs(*each)] for each in queries]
                if same != found:
                    sys.exit(f"{name}, {method}: the reference found other chunks")

                def run():
                    started = time.perf_counter()
                    for each in queries:
                        theirs(*each)
                    return (time.perf_counter() - started) * 1e3 / len(queries)
                runs[f"reference, {method}"] = run
            self.compare(f"top 10 of {rows} x {DIMENSION} int4, {method}", runs)

    def builds(self, rows):
        """Building beside the reference, which takes Python lists and hence fewer rows."""
        times = {"lateweave_build_section_file, int8": [], "reference, build, int8": []}
        if urna is None:
            return
        chunks = [dict(canonical_text=text, source_uri="u", byte_start=first + i, byte_end=first + i + 1, embedding=vector.tolist())
                  for first, texts, vectors in batches(rows) for i, (text, vector) in enumerate(zip(texts, vectors))]
        for turn in range(3):
            times["lateweave_build_section_file, int8"].append(self.build(f"built{turn}", rows, preset="exact", dtype="int8"))
            started = time.perf_counter()
            urna.build(f"{self.directory}/reference.urna", embedding_dim=DIMENSION, chunks=chunks, preset="exact",
                       dtype="int8", **MODEL)
            times["reference, build, int8"].append((time.perf_counter() - started) * 1e3)
        turns.write(self.csv, f"build {rows} x {DIMENSION}", times, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", required=True)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--hybrid-rows", type=int, default=20000)
    parser.add_argument("directory")
    parser.add_argument("psql", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    bench = Bench(arguments)
    bench.sql("""CREATE EXTENSION IF NOT EXISTS lateweave; SET max_parallel_workers_per_gather = 0; SET jit = off;
            CREATE UNLOGGED TABLE chunks (ordinal bigint, text text, embedding real[]);""")
    queries = load(arguments.psql, arguments.rows)
    bench.sql("CREATE UNIQUE INDEX ON chunks (ordinal); VACUUM ANALYZE chunks;")
    built = {dtype: [bench.build(f"s_{dtype}", arguments.rows, preset="exact", dtype=dtype)] for dtype in DTYPES}
    turns.write(arguments.csv, f"build {arguments.rows} x {DIMENSION}", built, 0)
    for dtype in DTYPES:
        bench.searches(f"s_{dtype}", arguments.rows, dtype, queries)
    bench.sessions("s_float32", 90, queries[0][1])
    bench.build("s_hybrid", arguments.hybrid_rows, preset="nano", with_bm25=True)
    bench.indexes("s_hybrid", arguments.hybrid_rows, queries)
    bench.builds(arguments.hybrid_rows)


if __name__ == "__main__":
    main()
