#!/usr/bin/env python3
"""Runs bench.sql, then its reranks in turns with the reference library's reranker in this process.

    bench_sql.py --csv FILE [--turns N] DIRECTORY PSQL...

DIRECTORY is what bench_store made, PSQL the command that opens psql on an empty database.
"""
import argparse
import os
import re
import subprocess
import sys

import turns

ENCODINGS = "int8", "float32"


class Session:
    """psql on one backend, asked step by step."""
    def __init__(self, command):
        self.psql = subprocess.Popen([*command, "-XqAt"], text=True, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def lines(self, text):
        """What psql prints for the text."""
        self.psql.stdin.write(f"{text}\nSELECT 'end of the answer';\n")
        self.psql.stdin.flush()
        answer = []
        for line in self.psql.stdout:
            if line == "end of the answer\n":
                return answer
            answer.append(line)
        sys.exit("".join(answer[-20:]) + "psql ended")

    def calls(self, text):
        """(label, ms) of each call that the text makes; see bench.sql."""
        label = kernel = planning = None
        for line in self.lines(text):
            if match := re.match(r"\d+\|.*", line):
                label = match[0]
            elif match := re.search(r"documents scored in ([0-9.]+) ms of the kernel", line):
                kernel = float(match[1])
            elif match := re.match(r"Planning Time: ([0-9.]+) ms", line):
                planning = float(match[1])
            elif match := re.match(r"Execution Time: ([0-9.]+) ms", line):
                yield label, planning + float(match[1]) if kernel is None else kernel
                kernel = None
            elif "ERROR:" in line:
                sys.exit(line)


def measure(session, directory, n, csv):
    """The calls of bench.sql."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench.sql")
    times = {}
    for label, ms in session.calls(f"\\set data {directory}\n\\set turns {n}\n\\i {script}"):
        turn, name = label.split("|")
        if turn != "0":
            times.setdefault(name, []).append(ms)
    label, multiplications = turns.shape(directory)
    own = {name: times.pop(name) for name in ("kernel of lateweave_rerank, float32", "lateweave_rerank, float32")}
    missing = [] if any("pgvector" in name for name in times) else ["pgvector, MaxSim in SQL, float32"]
    turns.write(csv, f"SQL: {label}", times, multiplications, missing)
    turns.write(csv, f"SQL, float32: {label}", own, multiplications)


def measure_reference(session, directory, n, csv):
    """A rerank in the backend and one by the reference library here, where it is installed."""
    try:
        import bench_peers
        peers = dict(bench_peers.reference_peers(bench_peers.Data(directory)))
    except ImportError:
        return
    label, multiplications = turns.shape(directory)
    for encoding in ENCODINGS:
        ours, theirs = f"lateweave_rerank, {encoding}", f"reference library, reranker, {encoding}"
        run = bench_peers.fastest(peers[theirs])[1]
        times = {ours: [], theirs: []}
        for turn in range(n + 1):
            (_, ms), = session.calls(f"SELECT explain FROM calls WHERE name = '{ours}' \\gexec")
            reference_ms = turns.milliseconds(run)
            if turn > 0:
                times[ours].append(ms)
                times[theirs].append(reference_ms)
        turns.write(csv, f"SQL and Python, {encoding}: {label}", times, multiplications)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", required=True)
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("directory")
    parser.add_argument("psql", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()

    session = Session(arguments.psql)
    for part in measure, measure_reference:
        part(session, arguments.directory, arguments.turns, arguments.csv)


if __name__ == "__main__":
    main()
