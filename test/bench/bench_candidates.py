#!/usr/bin/env python3
"""What candidates find of the exact top 10, and in what time, by SQL.

    python bench_candidates.py [--queries 50] [--candidates 100,300,1000] STORE QUERIES.npz PSQL...

STORE is a store that the server can read, for example one of make_documents.py's; PSQL the command that opens psql on an
empty database. Each query is searched exactly and with each number of candidates, in turns, in one session. Prints a table.
Needs nothing but Python.
"""
import argparse
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import quality  # noqa: E402

SETUP = """
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS lateweave;
DROP TABLE IF EXISTS queries;
DROP FOREIGN TABLE IF EXISTS vectors;
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
SET jit = off;
SELECT * FROM timed((SELECT tokens FROM queries LIMIT 1), 0), timed((SELECT tokens FROM queries LIMIT 1), 10) \\g /dev/null
SELECT q.id, c.n, t.ms, t.ids FROM (SELECT * FROM queries ORDER BY id LIMIT {queries}) q,
  unnest(ARRAY[0, {candidates}]) WITH ORDINALITY c (n, o), LATERAL timed(q.tokens, c.n) t;
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store")
    parser.add_argument("vectors")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--candidates", default="100,300,1000")
    parser.add_argument("psql", nargs=argparse.REMAINDER)
    args = parser.parse_args()

    quality.run(args.psql, SETUP.format(store=args.store) +
                quality.copy("queries", "id, tokens", quality.read_vectors(args.vectors).items()))
    quality.run(args.psql, "SELECT lateweave_prewarm('vectors')")
    start = time.perf_counter()
    (centroids, sampled, segments), = quality.run(args.psql, "SELECT * FROM lateweave_train('vectors')")
    print(f"{centroids} centroids of {sampled} tokens, codes of {segments} segments: {time.perf_counter() - start:.0f} s")
    times, found = {}, {}
    for query, candidates, ms, ids in quality.run(args.psql, TURNS.format(queries=args.queries, candidates=args.candidates)):
        times.setdefault(int(candidates), []).append(float(ms))
        found.setdefault(int(candidates), []).append(set(ids.strip("{}").split(",")))
    print("| candidates | recall@10 | ms | share of exact |\n|---|---|---|---|")
    for candidates in times:
        recall = statistics.mean(len(a & b) / len(b) for a, b in zip(found[candidates], found[0]))
        share = statistics.median(a / b for a, b in zip(times[candidates], times[0]))
        print(f"| {candidates or 'all'} | {recall:.3f} | {statistics.median(times[candidates]):.1f} | {share:.3f} |")


if __name__ == "__main__":
    main()
