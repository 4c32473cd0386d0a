#!/usr/bin/env python3
"""What quality.sh checks of each collection, by SQL:

- the exhaustive top 10 are those of expected.json, wherever its scores are far enough apart
- their nDCG@10 is that of expected.json
- how many of them are found among as few candidates as the collection's goal says
- the README's statement that fuses full text and MaxSim ranks better than full text alone (paired t-test, p < 0.05)

Needs nothing but Python.
"""
import array
import ast
import json
import math
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import zipfile

CANDIDATES = {"cranfield": 60, "scifact": 115}      # by which 0.99 of the top 10 are to be found
LEAST_GAP = 3e-6                                    # of two scores whose order counts
failed = passed = 0

TABLES = """
CREATE TABLE {name} (id text PRIMARY KEY, body text);
CREATE TABLE {name}_queries (id text PRIMARY KEY, body text, tokens multivector);
CREATE FOREIGN TABLE {name}_vectors (id text, tokens multivector) SERVER lateweave OPTIONS (store '{store}');
"""
INDEX = """
ALTER TABLE {name} ADD body_tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED;
CREATE INDEX ON {name} USING gin (body_tsv);
ANALYZE {name};
"""
SEARCH = """
SELECT q.id, s.id, s.score FROM {name}_queries q, lateweave_search('{name}_vectors', q.tokens, 10, candidates => {candidates}) s
ORDER BY q.id, s.rank
"""
# the full-text half of the statement that fuses: any of the query's words, as a question has many
FULL_TEXT = """
SELECT q.id, r.id, 1 FROM {name}_queries q, LATERAL (
  SELECT id, row_number() OVER (ORDER BY ts_rank(body_tsv, words, 1) DESC, id) AS rank
  FROM {name}, (SELECT replace(plainto_tsquery('english', q.body)::text, '&', '|')::tsquery AS words) w
  WHERE body_tsv @@ words ORDER BY rank LIMIT 10) r
ORDER BY q.id, r.rank
"""
FUSED = "SELECT q.id, f.id, f.score FROM {name}_queries q, LATERAL ({fusion}) f ORDER BY q.id, f.score DESC, f.id"


def check(good, what):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"{'ok' if good else 'NOT OK'}: {what}", flush=True)


def run(psql, text):
    done = subprocess.run([*psql, "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1"],
                          input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [line.split("\t") for line in done.stdout.splitlines()]


def read_jsonl(path):
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_vectors(path):
    """id -> text form of a multivector, of a .npz of float32 matrices"""
    result = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            size, = struct.unpack_from("<H", data, 8)
            header = ast.literal_eval(data[10:10 + size].decode())
            assert data[6] == 1 and header["descr"] == "<f4" and not header["fortran_order"]
            rows, dimension = header["shape"]
            values = array.array("f", data[10 + size:])
            result[name.removesuffix(".npy")] = "[" + ",".join(
                "[" + ",".join(map(repr, values[i * dimension:(i + 1) * dimension])) + "]" for i in range(rows)) + "]"
    return result


def copy(table, columns, rows):
    def quote(text):
        return text.replace("\\", "\\\\").replace("\t", " ").replace("\n", " ").replace("\r", " ")
    return (f"COPY {table} ({columns}) FROM stdin;\n" +
            "".join("\t".join(map(quote, row)) + "\n" for row in rows) + "\\.\n")


def load(psql, name, collection, vectors, store):
    queries = read_vectors(collection / "vectors" / "queries.npz")
    run(psql, TABLES.format(name=name, store=store) +
        copy(name, "id, body", [(d["id"], f"{d['title']} {d['text']}") for d in read_jsonl(collection / "documents.jsonl")]) +
        copy(f"{name}_queries", "id, body, tokens",
             [(q["id"], q["text"], queries[q["id"]]) for q in read_jsonl(collection / "queries.jsonl")]) +
        INDEX.format(name=name))


def documented_fusion(name):
    """The README's statement, of a collection and a query q."""
    readme = (pathlib.Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
    statement, = re.findall(r"\*\*Full text and MaxSim together\.\*\*.*?```sql\n(.*?);\n```", readme, re.DOTALL)
    for written, meant in ((r"\blaws\b", name), (r"\blaw_vectors\b", f"{name}_vectors"),
                           (r":question\b", "q.body"), (r":q\b", "q.tokens")):
        statement, count = re.subn(written, meant, statement)
        assert count == 1, written
    return statement


def rankings(psql, statement, name, **more):
    """query -> [(document, score)]"""
    result = {}
    for query, document, score in run(psql, statement.format(name=name, **more)):
        result.setdefault(query, []).append((document, float(score)))
    return result


def ndcg10(ranked, judged):
    def discounted(gains):
        return sum(g / math.log2(rank + 2) for rank, g in enumerate(gains[:10]))
    return discounted([judged.get(i, 0) for i in ranked]) / discounted(sorted(judged.values(), reverse=True))


def same_order(found, expected):
    """Whether the ten are the expected ones, but for those of nearly equal score."""
    ids, scores = expected["ids"], expected["scores"]
    place = {i: scores[rank] for rank, i in enumerate(ids)}
    return len(found) == 10 and all(
        document == ids[rank] or (document in place and abs(place[document] - scores[rank]) < LEAST_GAP)
        for rank, (document, _) in enumerate(found))


def t_test(differences):
    """t, and the two-sided p; of hundreds of pairs, so by the normal distribution."""
    t = statistics.mean(differences) / (statistics.stdev(differences) / math.sqrt(len(differences)))
    return t, math.erfc(abs(t) / math.sqrt(2))


def check_collection(psql, name, collection, vectors, store):
    expected = json.loads((vectors / "expected.json").read_text())
    judged = {}
    for line in (collection / "qrels.tsv").read_text().splitlines():
        query, document, relevance = line.split("\t")
        judged.setdefault(query, {})[document] = int(relevance)
    load(psql, name, collection, vectors, store)

    def quality(ranked):
        return [ndcg10([document for document, _ in ranked.get(q, [])], judged[q]) for q in sorted(judged)]

    exact = rankings(psql, SEARCH, name, candidates=0)
    wrong = [q for q in expected if not same_order(exact.get(q, []), expected[q])]
    check(not wrong, f"{name}: the top 10 of {len(expected)} queries are the expected ones{': not of ' * bool(wrong)}{wrong[:5] or ''}")
    mean = statistics.mean(quality(exact))
    stated = statistics.mean(expected[q]["ndcg10"] for q in judged)
    check(abs(mean - stated) < 1e-4, f"{name}: nDCG@10 is {mean:.4f}, as expected {stated:.4f}")

    centroids, sampled, segments = run(psql, f"SELECT * FROM lateweave_train('{name}_vectors')")[0]
    print(f"{name}: {centroids} centroids of {sampled} tokens, codes of {segments} segments")
    for candidates in (30, CANDIDATES[name], 300):
        found = rankings(psql, SEARCH, name, candidates=candidates)
        recall = statistics.mean(len(dict(exact[q]).keys() & dict(found[q]).keys()) / len(exact[q]) for q in exact)
        ordered = all([x for x in found[q] if x in exact[q]] == [x for x in exact[q] if x in found[q]] for q in exact)
        line = f"{name}: {recall:.4f} of the top 10 are among {candidates} candidates, nDCG@10 {statistics.mean(quality(found)):.4f}"
        if candidates == CANDIDATES[name]:
            check(recall >= 0.99 and ordered, line + ", in exact order")
        else:
            print(line)

    words = quality(rankings(psql, FULL_TEXT, name))
    both = quality(rankings(psql, FUSED, name, fusion=documented_fusion(name)))
    t, p = t_test([b - w for b, w in zip(both, words)])
    check(t > 0 and p < 0.05, f"{name}: nDCG@10 of full text is {statistics.mean(words):.4f}, "
          f"fused with MaxSim {statistics.mean(both):.4f} (t {t:.1f}, p {p:.1g})")


def main():
    data, scifact, stores, *psql = sys.argv[1:]
    data = pathlib.Path(data)
    run(psql, "CREATE EXTENSION lateweave")
    for name in CANDIDATES:
        vectors = pathlib.Path(scifact) if name == "scifact" else data / name / "vectors"
        try:
            check_collection(psql, name, data / name, vectors, f"{stores}/{name}")
        except (OSError, RuntimeError) as problem:
            check(False, f"{name}: {problem}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
