#!/usr/bin/env python3
"""The index: how fast it is made and takes rows, and a top 10 with a condition by either plan.

    bench_index.py [--rows 1000000] [--queries 5] [--candidates 300] [--figure FILE.svg] PSQL...

PSQL is the command that opens psql on a database that bench_candidates.py has been at. Prints tables, and where the times of the plans
cross beside where the planner changes from one to the other; draws the times. The index is scanned exactly and with so many
candidates, on one thread. With --rows 0 or --queries 0 one of the two is left out. Needs nothing but Python.
"""
import argparse
import math
import re
import statistics
import sys

from bench_sql import Session

SHARES = 1, 0.5, 0.25, 0.1, 0.03, 0.01, 0.003, 0.001
LISTED = 1, 0.1, 0.01, 0.001
TURNS = 3
INSERTED = 200000

COLORS = "#2a8fbd", "#c8722d", "#8c8c8c"
GRID, TEXT = "#8c8c8c", "#7a7a7a"
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 820, 400, 60, 46, 230, 50

FILTERED = """
DROP TABLE IF EXISTS filtered;
SELECT setseed(0.5) \\g /dev/null
CREATE TABLE filtered AS SELECT id, random() AS place, repeat('some text ', 10) AS body FROM vectors;
CREATE INDEX filtered_place ON filtered (place);
CREATE INDEX filtered_id ON filtered USING lateweave (id) WITH (source = vectors);
VACUUM ANALYZE filtered;
SET jit = off; SET max_parallel_workers_per_gather = 0;
"""
BY_INDEX = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;"
BY_SORT = "SET enable_indexscan = off;"
AS_USUAL = "RESET enable_seqscan; RESET enable_bitmapscan; RESET enable_sort; RESET enable_indexscan;"
SORT = "condition, score, sort"


class Bench:
    def __init__(self, psql):
        self.session = Session(psql)

    def sql(self, text):
        lines = self.session.lines(text)
        if any("ERROR:" in line for line in lines):
            sys.exit("".join(lines))
        return [line.rstrip("\n") for line in lines]

    def seconds(self, statement):
        start, end = (float(line) for line in self.sql(
            f"SELECT extract(epoch FROM clock_timestamp()); {statement}; SELECT extract(epoch FROM clock_timestamp());"))
        return end - start

    def median(self, statements, after=";"):
        """The median time of a statement a turn, each undone."""
        times = []
        for statement in statements:
            self.sql("BEGIN;")
            times.append(self.seconds(statement))
            self.sql(f"ROLLBACK; {after}")
        return statistics.median(times)


def explain(bench, settings, share, query, analyze):
    """Whether the index gives the order, and the time in ms."""
    lines = bench.sql(f"""{AS_USUAL} {settings} EXPLAIN (COSTS OFF{', ANALYZE, TIMING OFF' * analyze})
        SELECT id FROM filtered WHERE place < {share} ORDER BY id @# maxsim_query('vectors', '{query}') LIMIT 10;""")
    text = "\n".join(lines)
    return "Order By:" in text, sum(float(ms) for ms in re.findall(r"(?:Planning|Execution) Time: ([0-9.]+) ms", text))


def report_speed(bench, rows):
    """Making the index, and inserting with it, beside a btree of the same column."""
    bench.sql(f"""DROP TABLE IF EXISTS many; CREATE TABLE many AS SELECT 'document-' || i AS id FROM generate_series(1, {rows}) i;
        CREATE TABLE more AS SELECT 'more-' || i AS id FROM generate_series(1, {INSERTED}) i; VACUUM ANALYZE many, more; CHECKPOINT;""")
    insert = ["INSERT INTO many SELECT id FROM more"] * TURNS
    print(f"| rows/s | CREATE INDEX over {rows:,} rows | INSERT of {INSERTED:,} into as many |\n|---|---|---|")
    print(f"| without an index | | {INSERTED / bench.median(insert, 'VACUUM many;'):,.0f} |")
    for method in ("lateweave", "btree"):
        create = f"CREATE INDEX many_id ON many USING {method} (id)"
        made = rows / bench.median([create] * TURNS)
        bench.sql(f"{create}; CHECKPOINT;")
        print(f"| {method} | {made:,.0f} | {INSERTED / bench.median(insert, 'VACUUM many;'):,.0f} |")
        bench.sql("DROP INDEX many_id;")
    bench.sql("DROP TABLE many, more;")


def measure(bench, ways, queries):
    """way -> share -> the median time"""
    times = {name: {share: [] for share in SHARES} for name in ways}
    for number, query in enumerate([queries[0], *queries]):
        for share in SHARES:
            for name, settings in ways.items():
                by_index, ms = explain(bench, settings, share, query, True)
                if by_index != (name != SORT):
                    sys.exit(f"{share}: not the plan that was asked for: {name}")
                if number > 0:          # the first only warms
                    times[name][share].append(ms)
    return {name: {share: statistics.median(ms) for share, ms in own.items()} for name, own in times.items()}


def where_times_cross(index, sort):
    """The share, between two that were measured, from which on the index is faster; None when it never is."""
    shares = sorted(SHARES)
    gaps = [math.log(index[share] / sort[share]) for share in shares]
    if gaps[-1] >= 0:
        return None
    at = len(shares) - 1
    while at > 0 and gaps[at - 1] < 0:
        at -= 1
    if at == 0:
        return shares[0]
    part = gaps[at - 1] / (gaps[at - 1] - gaps[at])
    return math.exp(math.log(shares[at - 1]) + part * math.log(shares[at] / shares[at - 1]))


def where_planner_changes(bench, settings, query):
    """The least share at which the planner has the index give the order; 1 when it never does."""
    low, high = min(SHARES) / 10, 1
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        if explain(bench, settings, middle, query, False)[0]:
            high = middle
        else:
            low = middle
    return high


def draw(path, times, marks):
    """A figure: time over the share of rows that the condition leaves, both in powers of ten."""
    every = [ms for own in times.values() for ms in own.values()]
    low, high = 10 ** math.floor(math.log10(min(every))), 10 ** math.ceil(math.log10(max(every)))

    def x(share):
        return LEFT + (WIDTH - LEFT - RIGHT) * (1 + math.log10(share / min(SHARES)) / math.log10(min(SHARES)))

    def y(ms):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log10(ms / low) / math.log10(high / low)

    def text(at_x, at_y, words, anchor="start", color=TEXT, size=12):
        return f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" fill="{color}" font-size="{size}">{words}</text>'

    def line(x1, y1, x2, y2, color, more=""):
        return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" {more}/>'

    parts = [text(12, 22, "Time of the best 10 of the rows that a condition leaves, ms", size=14),
             text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "share of the rows that it leaves", "middle")]
    ms = low
    while ms <= high:
        parts += [line(LEFT, y(ms), WIDTH - RIGHT, y(ms), GRID, 'stroke-opacity="0.3"'), text(LEFT - 8, y(ms) + 4, f"{ms:g}", "end")]
        ms *= 10
    for share in LISTED:
        parts.append(text(x(share), HEIGHT - BOTTOM + 18, f"{share:g}", "middle"))
    for (name, own), color in zip(times.items(), COLORS):
        points = " ".join(f"{x(share):.1f},{y(ms):.1f}" for share, ms in own.items())
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2.5"/>')
        parts += [f'<circle cx="{x(share):.1f}" cy="{y(ms):.1f}" r="4" fill="{color}"/>' for share, ms in own.items()]
    legend = [(name, color, 'stroke-width="2.5"', None) for name, color in zip(times, COLORS)]
    for name, color in zip(marks, COLORS):
        for (words, share), dashes in zip(marks[name].items(), ("2,3", "8,4")):
            if share is not None:
                legend.append((f"{words}: {share:.2g}", color, f'stroke-dasharray="{dashes}"', share))
    for number, (words, color, more, share) in enumerate(legend):
        at = TOP + 10 + 22 * number
        parts += [line(WIDTH - RIGHT + 14, at, WIDTH - RIGHT + 38, at, color, more), text(WIDTH - RIGHT + 44, at + 4, words)]
        if share is not None:
            parts.append(line(x(share), TOP, x(share), HEIGHT - BOTTOM, color, more))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
                   'font-family="sans-serif">\n' + "\n".join(parts) + "\n</svg>\n")


def report_conditions(bench, candidates, queries, figure):
    settings = {"index, exact": "SET lateweave.candidates = 0;",
                f"index, {candidates} candidates": f"SET lateweave.candidates = {candidates};"}
    bench.sql(FILTERED)
    queries = bench.sql(f"SELECT tokens FROM queries ORDER BY id LIMIT {queries};")
    times = measure(bench, {**{name: own + BY_INDEX for name, own in settings.items()}, SORT: BY_SORT}, queries)
    chosen = {name: statistics.median(where_planner_changes(bench, own, query) for query in queries) for name, own in settings.items()}
    print("\n| share of the rows that the condition leaves | " + " | ".join(f"{name}, ms" for name in times) + " |\n|---|" + "---|" * len(times))
    for share in LISTED:
        print(f"| {share:g} | " + " | ".join(f"{own[share]:.1f}" for own in times.values()) + " |")
    marks = {}
    for name in settings:
        marks[name] = {"times cross": where_times_cross(times[name], times[SORT]), "planner changes": chosen[name]}
        print(f"\n{name}: " + "; ".join(f"{words}: {'never' if share is None else f'{share:.2g}'}" for words, share in marks[name].items()))
    if figure:
        draw(figure, times, marks)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--queries", type=int, default=5)
    parser.add_argument("--candidates", type=int, default=300)
    parser.add_argument("--figure")
    parser.add_argument("psql", nargs=argparse.REMAINDER)
    args = parser.parse_args()

    bench = Bench(args.psql)
    if args.rows > 0:
        report_speed(bench, args.rows)
    if args.queries > 0:
        report_conditions(bench, args.candidates, args.queries, args.figure)


if __name__ == "__main__":
    main()
