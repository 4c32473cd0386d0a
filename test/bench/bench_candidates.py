#!/usr/bin/env python3
"""What candidates find of the exact top 10, and in what time, by SQL; and what they take to be made.

    bench_candidates.py [--queries 50] [--candidates 100,300,1000] [--centroids 0,16000] STORE QUERIES.npz PSQL...

STORE is a store that the server can read, for example one of make_documents.py's; PSQL the command that opens psql on a
database, which has the store as the foreign table `vectors` and the queries as the table `queries` afterwards. Each query is searched
exactly and with each number of candidates, in turns, in one session, and so for each number of centroids (0: as many as suit). Prints tables. Needs nothing but Python.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import time

from bench_sql import Session

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import quality  # noqa: E402

SETUP = """
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS lateweave;
DROP TABLE IF EXISTS queries;
DROP FOREIGN TABLE IF EXISTS vectors CASCADE;
CREATE TABLE queries (id text PRIMARY KEY, tokens multivector);
CREATE FOREIGN TABLE vectors (id text, tokens multivector) SERVER lateweave OPTIONS (store '{store}');
CREATE OR REPLACE FUNCTION timed(query multivector, candidates integer, OUT ms double precision, OUT ids text[]) LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz := clock_timestamp();
BEGIN
	SELECT array_agg(id ORDER BY rank) INTO ids FROM lateweave_search('vectors', query, 10, candidates);
	ms := 1000 * extract(epoch FROM clock_timestamp() - start);
END $$;
"""
TURNS = """
SET jit = off; SET max_parallel_workers_per_gather = 0;
SELECT timed(tokens, 0), timed(tokens, 10) FROM queries LIMIT 1 \\g /dev/null
SELECT q.id, c.n, t.ms, t.ids FROM (SELECT * FROM queries ORDER BY id LIMIT {queries}) q,
  unnest(ARRAY[0, {candidates}]) WITH ORDINALITY c (n, o), LATERAL timed(q.tokens, c.n) t;
"""
# of the centroids, and of what each document has of them; the latter come to derived files that are there before
BYTES = """
SELECT (SELECT sum((pg_stat_file(d || '/' || f)).size) FROM (SELECT 'lateweave/trained' AS d) d, pg_ls_dir(d, true, false) f),
  (SELECT derived_bytes FROM lateweave_sources WHERE source = 'vectors'::regclass), (SELECT documents FROM lateweave_sources WHERE source = 'vectors'::regclass)
"""


def train(psql, centroids):
    """Trains; what the training says, and the seconds of each of its phases, where lateweave_progress is to be had."""
    watch = Session(psql)
    phases = {}
    training = subprocess.Popen([*psql, "-qAt", "-c", f"SELECT * FROM lateweave_train('vectors', NULLIF({centroids}, 0))"], stdout=subprocess.PIPE, text=True)
    before = time.perf_counter()
    while training.poll() is None:
        time.sleep(0.1)
        now = time.perf_counter()
        for phase in watch.lines("SELECT phase FROM lateweave_progress;"):
            phases[phase.strip()] = phases.get(phase.strip(), 0) + now - before
        before = now
    if training.returncode:
        sys.exit(training.returncode)
    return training.stdout.read().strip().split("|"), phases


def report_training(psql, centroids):
    quality.run(psql, "SELECT lateweave_train('vectors', 0)")
    (_, derived, documents), = quality.run(psql, BYTES)
    start = time.perf_counter()
    (centroids, sampled, _), phases = train(psql, centroids)
    print(f"| {centroids} centroids of {sampled} of the tokens of {documents} documents | s |\n|---|---|")
    print(f"| lateweave_train | {time.perf_counter() - start:.0f} |")
    for phase, seconds in phases.items():
        print(f"| {phase} | {seconds:.0f} |")
    (trained, with_codes, _), = quality.run(psql, BYTES)
    print(f"\n{(int(with_codes) - int(derived)) / int(documents):.0f} bytes a document, and {int(trained) / 1e6:.1f} MB of centroids\n")


def report_searches(psql, queries, candidates):
    times, found = {}, {}
    for query, number, ms, ids in quality.run(psql, TURNS.format(queries=queries, candidates=candidates)):
        times.setdefault(int(number), []).append(float(ms))
        found.setdefault(int(number), []).append(set(ids.strip("{}").split(",")))
    print("| candidates | recall@10 | ms | share of exact |\n|---|---|---|---|")
    for number in times:
        recall = statistics.mean(len(a & b) / len(b) for a, b in zip(found[number], found[0]))
        share = statistics.median(a / b for a, b in zip(times[number], times[0]))
        print(f"| {number or 'all'} | {recall:.3f} | {statistics.median(times[number]):.1f} | {share:.3f} |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store")
    parser.add_argument("vectors")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--candidates", default="100,300,1000")
    parser.add_argument("--centroids", default="0,16000")
    parser.add_argument("psql", nargs=argparse.REMAINDER)
    args = parser.parse_args()

    quality.run(args.psql, SETUP.format(store=args.store) +
                quality.copy("queries", "id, tokens", quality.read_vectors(args.vectors).items()))
    quality.run(args.psql, "SELECT lateweave_prewarm('vectors')")
    for centroids in args.centroids.split(","):
        report_training(args.psql, centroids)
        report_searches(args.psql, args.queries, args.candidates)


if __name__ == "__main__":
    main()
