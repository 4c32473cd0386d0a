#!/usr/bin/env python3
"""Times what changes a store: commits by pgbench beside the reference library's, a trigger, many statements in a transaction, COPY, and a commit to a large store.

    bench_commits.py --csv FILE [--turns N] [--seconds S] [--documents N] [--large N] DIRECTORY PGBENCH PSQL...

DIRECTORY is the server's to write, on the disk of its data directory; PGBENCH and PSQL are the commands. The environment
says where they find an empty database, of a server with the library preloaded and fsync on. What a disk takes to sync differs
from minute to minute, so everything is timed in turns.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import turns
from bench_sql import Session

try:
    import lateweave
except ImportError:
    lateweave = None

DIMENSION = 128
TOKENS = 64
CLIENTS = 1, 8, 64
ROWS = 10000        # of the transaction with a trigger
STATEMENTS = 1000   # of a transaction

SETUP = f"""
CREATE EXTENSION lateweave;
CREATE FUNCTION vectors(seed int, tokens int) RETURNS multivector LANGUAGE sql AS $$
    SELECT l2_normalize(multivector_agg(v)) FROM (SELECT array_agg((sin(seed + t * 131 + d * d))::real) AS v
        FROM generate_series(1, tokens) t, generate_series(1, {DIMENSION}) d GROUP BY t) rows $$;
CREATE TABLE given AS SELECT n, vectors(n, {TOKENS}) AS tokens FROM generate_series(1, 100) n;
CREATE UNIQUE INDEX ON given (n);
CREATE SEQUENCE ids;
CREATE TABLE documents (id bigint PRIMARY KEY, tokens multivector);
SELECT lateweave_create_store('synced', 'e', 'r', {DIMENSION});
CREATE TRIGGER follow AFTER INSERT OR UPDATE OR DELETE ON documents
    FOR EACH ROW EXECUTE FUNCTION lateweave_sync('synced', 'id', 'tokens');

CREATE TABLE source AS SELECT n, array_agg(((n * 31 + d) % 7 - 3)::real) AS v
    FROM generate_series(1, {ROWS}) n, generate_series(1, {DIMENSION}) d GROUP BY n;
CREATE TABLE with_sync (id bigint, v real[]);
CREATE TABLE with_plain (id bigint, v real[]);
SELECT lateweave_create_store('of_rows', 'e', 'r', {DIMENSION}, normalized => false);
CREATE TRIGGER follow AFTER INSERT ON with_sync FOR EACH ROW EXECUTE FUNCTION lateweave_sync('of_rows', 'id', 'v');
CREATE FUNCTION build() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE m multivector; BEGIN m := NEW.v; RETURN NULL; END $$;
CREATE TRIGGER follow AFTER INSERT ON with_plain FOR EACH ROW EXECUTE FUNCTION build();

SELECT lateweave_create_store('of_statements', 'e', 'r', {DIMENSION});
CREATE PROCEDURE statements(statement text, savepoints bool) LANGUAGE plpgsql AS $$
    DECLARE m multivector := (SELECT tokens FROM given WHERE n = 1);
    BEGIN
        FOR i IN 1 .. {STATEMENTS} LOOP
            IF savepoints THEN
                BEGIN EXECUTE statement USING i::text, m; EXCEPTION WHEN division_by_zero THEN NULL; END;
            ELSE
                EXECUTE statement USING i::text, m;
            END IF;
        END LOOP;
    END $$;
"""

ONE_ROW = """\\set n random(1, 100)
INSERT INTO documents SELECT nextval('ids'), tokens FROM given WHERE n = :n;
"""


class Reference:
    """One-document append and commit by the reference library, over and over."""
    def __init__(self, directory):
        self.path = f"{directory}/reference"
        representation = lateweave.Representation("e", "r", DIMENSION, True)
        self.writer = lateweave.VectorStoreWriter.create(self.path, "c", representation, encoding="int8")
        rows = np.random.default_rng(7).standard_normal((TOKENS, DIMENSION), dtype="f4")
        self.rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self.count = 0

    def loop(self, seconds):
        """Latencies in ms."""
        times = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            started = time.perf_counter()
            self.writer.append([f"d{self.count}"], self.rows, [TOKENS])
            self.writer.commit()
            self.count += 1
            times.append((time.perf_counter() - started) * 1e3)
        return times


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.session = Session(arguments.psql)

    def sql(self, text):
        answer = [line.strip() for line in self.session.lines(text)]
        if any("ERROR:" in line for line in answer):
            sys.exit("\n".join(answer))
        return answer

    def remark(self, text):
        with open(self.arguments.csv, "a", encoding="utf-8") as file:
            file.write(f"# {text}\n")

    def pgbench(self, script, clients, seconds):
        """Latencies in ms of the script's transactions, and how long all of them took."""
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/script"
            with open(path, "w", encoding="utf-8") as file:
                file.write(script)
            command = [self.arguments.pgbench, "-n", "-M", "prepared", "-f", path, "-c", str(clients),
                       "-j", str(min(2, clients)), "-T", str(seconds), "--log", f"--log-prefix={directory}/log"]
            said = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
            times = []
            for name in os.listdir(directory):
                if name.startswith("log"):
                    with open(f"{directory}/{name}", encoding="ascii") as file:
                        times += [int(line.split()[2]) / 1e3 for line in file]
        rate = float(re.search(r"^tps = ([0-9.]+)", said, re.M)[1])
        return times, len(times) / rate

    def number(self, query):
        return float(self.sql(query)[0])

    def commits(self):
        """One-document transactions of 1, 8 and 64 clients, beside the reference's."""
        reference = Reference(self.arguments.directory) if lateweave else None
        names = [f"lateweave, {clients} clients" for clients in CLIENTS]
        apart = {name: [] for name in [*(["reference, append + commit"] if reference else []), *names]}
        latencies = {name: [] for name in apart}
        per_publish = {name: [] for name in names}
        commit = "SELECT commit FROM lateweave_sources WHERE source = 'synced'::regclass;"
        for turn in range(self.arguments.turns + 1):
            for name, clients in zip(apart, [*([0] if reference else []), *CLIENTS]):
                before = self.number(commit)
                if clients == 0:
                    times = reference.loop(self.arguments.seconds)
                    took = sum(times) / 1e3
                else:
                    times, took = self.pgbench(ONE_ROW, clients, self.arguments.seconds)
                if turn == 0:
                    continue
                apart[name].append(took * 1e3 / len(times))
                latencies[name] += times
                if clients > 0:
                    per_publish[name].append(len(times) / max(1, self.number(commit) - before))
        turns.write(self.arguments.csv, f"commits of one document of {TOKENS} x {DIMENSION}, time from one to the next", apart, 0)
        for name, times in latencies.items():
            cuts = statistics.quantiles(times, n=100)
            merged = f", {statistics.median(per_publish[name]):.1f} transactions a publish" if name in per_publish else ""
            self.remark(f"{name}: {1e3 / statistics.median(apart[name]):.0f} commits/s, p50 {cuts[49]:.1f} ms, "
                        f"p99 {cuts[98]:.1f} ms ({cuts[98] / cuts[49]:.1f} x){merged}")

    def trigger(self):
        def insert(table):
            return lambda: self.sql(f"INSERT INTO {table} SELECT n, v FROM source;")

        times = turns.measure({"a trigger that builds the vector": insert("with_plain"),
                               "lateweave_sync, to the published commit": insert("with_sync")}, self.arguments.turns)
        turns.write(self.arguments.csv, f"{ROWS} rows in a transaction, 1 x {DIMENSION}", times, 0)

    def statements(self):
        """A transaction of many statements, each of one document."""
        def call(statement, savepoints="false"):
            return lambda: self.sql(f"CALL statements('{statement}', {savepoints});")

        insert = "INSERT INTO of_statements VALUES ($1, $2)"
        times = turns.measure({
            "one INSERT of as many": lambda: self.sql(
                f"INSERT INTO of_statements SELECT i::text, tokens FROM given, generate_series(1, {STATEMENTS}) i WHERE n = 1;"),
            "INSERT": call(insert),
            "INSERT, each in a savepoint": call(insert, "true"),
            "lateweave_append": call("SELECT lateweave_append(''of_statements'', ARRAY[$1], ARRAY[$2])"),
            "lateweave_delete, which looks, and lateweave_append": call(
                "SELECT lateweave_delete(''of_statements'', ARRAY[$1]) + lateweave_append(''of_statements'', ARRAY[$1], ARRAY[$2])")},
                              self.arguments.turns)
        turns.write(self.arguments.csv, f"{STATEMENTS} statements in a transaction, {TOKENS} x {DIMENSION} each", times, 0)

    def copy_file(self, name, documents, tokens):
        """A file for COPY of random documents."""
        path = f"{self.arguments.directory}/{name}"
        record = np.dtype([("columns", ">i2"), ("id size", ">i4"), ("id", "S8"), ("size", ">i4"), ("tokens", ">i4"),
                           ("dimension", ">i4"), ("values", ">f4", tokens * DIMENSION)])
        random = np.random.default_rng(7)
        with open(path, "wb") as file:
            file.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            for first in range(0, documents, 1000):
                n = min(1000, documents - first)
                rows = random.standard_normal((n, tokens, DIMENSION), dtype="f4")
                rows /= np.linalg.norm(rows, axis=2, keepdims=True)
                out = np.zeros(n, record)
                out["columns"], out["id size"], out["id"] = 2, 8, [f"{first + i:08}" for i in range(n)]
                out["size"], out["tokens"], out["dimension"] = 8 + 4 * tokens * DIMENSION, tokens, DIMENSION
                out["values"] = rows.reshape(n, -1)
                file.write(out.tobytes())
            file.write(b"\xff\xff")
        os.chmod(path, 0o644)
        return path

    def load(self, path, encoding):
        """The time of COPY into a new store, and its bytes."""
        self.sql(f"SELECT lateweave_create_store('loaded', 'e', 'r', {DIMENSION}, '{encoding}');")
        took = turns.milliseconds(lambda: self.sql(f"COPY loaded FROM '{path}' (FORMAT binary);"))
        size = int(self.number("SELECT bytes FROM lateweave_sources WHERE source = 'loaded'::regclass;"))
        self.sql("SELECT lateweave_drop_store('loaded');")
        return took, size

    def write(self, size):
        """dd with fsync of so many bytes."""
        path = f"{self.arguments.directory}/dd"
        took = turns.milliseconds(lambda: subprocess.run(
            ["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={size // 2**20 + 1}", "conv=fsync"],
            check=True, stderr=subprocess.DEVNULL))
        os.unlink(path)
        return took

    def bulk(self):
        documents = self.arguments.documents
        path = self.copy_file("bulk", documents, TOKENS)

        def read():
            return turns.milliseconds(lambda: subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=1M"],
                                                             check=True, stderr=subprocess.DEVNULL))

        for encoding in "float32", "int8":
            floor = "dd of the store's bytes, fsync" if encoding == "float32" else "dd of the input and of the store's bytes, fsync"
            times = {floor: [], f"COPY (FORMAT binary), {encoding}": []}
            for turn in range(max(2, self.arguments.turns // 2) + 1):
                took, size = self.load(path, encoding)
                least = self.write(size) + (read() if encoding == "int8" else 0)
                if turn > 0:
                    times[floor].append(least)
                    times[f"COPY (FORMAT binary), {encoding}"].append(took)
            turns.write(self.arguments.csv, f"load of {documents} x {TOKENS} x {DIMENSION}, {encoding}", times, 0)
        os.unlink(path)

    def large(self):
        """A commit of one document to a large store, in turns with one to a small store."""
        path = self.copy_file("large", self.arguments.large, 1)
        for name in "small", "big":
            self.sql(f"SELECT lateweave_create_store('{name}', 'e', 'r', {DIMENSION});")
        self.sql(f"COPY big FROM '{path}' (FORMAT binary); INSERT INTO small SELECT 'a', vectors(1, 1);")
        os.unlink(path)

        def insert(name):
            script = f"INSERT INTO {name} SELECT nextval('ids')::text, tokens FROM given WHERE n = 1;\n"

            def run():
                times, _ = self.pgbench(script, 1, max(1, self.arguments.seconds // 2))
                return statistics.median(times)
            return run

        runs = {"a store of a document and these": insert("small"), f"a store of {self.arguments.large}": insert("big")}
        times = {name: [] for name in runs}
        for turn in range(self.arguments.turns + 1):
            for name, run in runs.items():
                ms = run()
                if turn > 0:
                    times[name].append(ms)
        turns.write(self.arguments.csv, "commit of one document", times, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", required=True)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--documents", type=int, default=100000)
    parser.add_argument("--large", type=int, default=1000000)
    parser.add_argument("directory")
    parser.add_argument("pgbench")
    parser.add_argument("psql", nargs=argparse.REMAINDER)
    bench = Bench(parser.parse_args())
    bench.sql(SETUP)
    bench.commits()
    bench.trigger()
    bench.statements()
    bench.bulk()
    bench.large()
    shutil.rmtree(f"{bench.arguments.directory}/reference", ignore_errors=True)


if __name__ == "__main__":
    main()
