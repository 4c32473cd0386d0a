-- Approximate candidates: training, and searches that score only the most promising documents.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lateweave;
RESET client_min_messages;

\set command 'rm -rf lateweave/regress_candidates && mkdir -p lateweave/regress_candidates'
CREATE TEMP TABLE shell (line text);
COPY shell FROM PROGRAM :'command';

-- vectors near one of 60 topics, the same everywhere
CREATE FUNCTION vectors(seed integer, tokens integer) RETURNS multivector LANGUAGE sql IMMUTABLE AS $$
	SELECT l2_normalize(array_agg(token)::real[]::multivector) FROM (
		SELECT array_agg((sin(topic * 12.9898 * d + d) + 0.3 * sin(seed * 78.233 + t * 37.719 + d * 4.581))::real ORDER BY d) AS token
		FROM generate_series(1, tokens) t, LATERAL (SELECT (seed * 7 + t * t * 13 + seed * t) % 60 AS topic) o, generate_series(1, 12) d
		GROUP BY t ORDER BY t) rows
$$;

SELECT lateweave_create_store('s', 'encoder', 'main', 12, path => 'regress_candidates/s');
SELECT lateweave_train('s');						-- nothing to train on
INSERT INTO s SELECT 'doc-' || i, vectors(i, 3 + i % 9) FROM generate_series(1, 1500) i;
CREATE TABLE queries AS SELECT i AS id, vectors(i * 31 + 5, 6) AS q FROM generate_series(1, 40) i;

-- how much of the exact top 10 a search finds, and whether what it gives has exact scores
CREATE FUNCTION quality(candidates integer, OUT recall numeric, OUT exact boolean) LANGUAGE sql AS $$
	SELECT round(avg(found) / 10, 2), bool_and(right_score)
	FROM queries, LATERAL (
		SELECT (SELECT count(*) FROM lateweave_search('s', q, 10, candidates => 0) e JOIN lateweave_search('s', q, 10, $1) c USING (id)) AS found,
			   (SELECT bool_and(score = lateweave_score('s', q, c.id)) FROM lateweave_search('s', q, 10, $1) c) AS right_score) x
$$;

-- without a training all is exact
SELECT * FROM quality(20);

SELECT centroids, tokens_sampled, segments FROM lateweave_train('s');
SELECT recall > 0.9 AS most, exact FROM quality(100);
SELECT * FROM quality(0);
SELECT * FROM quality(10000);
SELECT recall < 1 AS approximate, exact FROM quality(10);

-- the setting counts where the argument is NULL
SET lateweave.candidates = 10;
SELECT recall < 1 AS approximate FROM quality(NULL);
SELECT * FROM quality(0);
RESET lateweave.candidates;
SELECT * FROM quality(NULL);
SET lateweave.candidates = -1;

-- k documents are found, however few candidates are asked for
SELECT k, (SELECT count(*) FROM queries, LATERAL lateweave_search('s', q, k, candidates => 50) WHERE queries.id = 1)
FROM unnest(ARRAY[10, 200, 2000]) k;

-- deleted documents are no candidates; what is appended is always scored, by whoever appends it, too
DELETE FROM s WHERE id IN (SELECT r.id FROM queries, LATERAL lateweave_search('s', q, 3, candidates => 10) r WHERE queries.id = 1);
SELECT count(*), count(s.id) FROM queries, LATERAL lateweave_search('s', q, 10, candidates => 10) r LEFT JOIN s USING (id) WHERE queries.id = 1;
BEGIN;
INSERT INTO s SELECT 'mine', q FROM queries WHERE id = 1;
SELECT r.id FROM queries, LATERAL lateweave_search('s', q, 1, candidates => 1) r WHERE queries.id = 1;
ROLLBACK;
INSERT INTO s SELECT 'a-new', q FROM queries WHERE id = 2;
SELECT r.id FROM queries, LATERAL lateweave_search('s', q, 1, candidates => 1) r WHERE queries.id = 2;
INSERT INTO s SELECT 'more-' || i, vectors(i, 4) FROM generate_series(2001, 3200) i;
SELECT documents, unassigned, trained_at BETWEEN now() - interval '1 hour' AND clock_timestamp() AS trained FROM lateweave_sources WHERE source = 's'::regclass;

-- assigned by prewarming and by compaction
SELECT lateweave_prewarm('s') > 0 AS read;
SELECT documents, unassigned FROM lateweave_sources WHERE source = 's'::regclass;
SELECT segments_after FROM lateweave_compact('s');
SELECT documents, unassigned FROM lateweave_sources WHERE source = 's'::regclass;
SELECT recall > 0.9 AS most, exact FROM quality(100);

-- long queries are scored exactly when their table would be too large; others in groups of 32 tokens
SELECT count(*) FROM lateweave_search('s', vectors(3, 100), 5, candidates => 20);

-- a scan of an index begins with candidates, goes on past them, and gives each row once
CREATE TABLE t AS SELECT id, (row_number() OVER (ORDER BY id))::integer AS n FROM s;
INSERT INTO t VALUES ('doc-7', 100001), ('absent', 100002), (NULL, 100003);
CREATE INDEX t_exact ON t USING lateweave (id) WITH (source = 's', candidates = 0);
ANALYZE t;
CREATE FUNCTION ranked(q multivector, condition text, k integer) RETURNS TABLE (place bigint, n integer, distance float8)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT row_number() OVER (), n, d FROM (SELECT n, id @# maxsim_query(''s'', $1) AS d FROM t WHERE %s ORDER BY id @# maxsim_query(''s'', $1) LIMIT %s) x', condition, k)
	USING q;
END $$;
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || statement;
END $$;
SELECT plan($$SELECT n FROM t ORDER BY id @# maxsim_query('s', '[[1,0,0,0,0,0,0,0,0,0,0,0]]') LIMIT 10$$);
CREATE TEMP TABLE exact AS SELECT queries.id, r.* FROM queries, LATERAL ranked(q, 'n <= 100000', 1) r;
SET lateweave.candidates = 2;
-- the option of the index comes before the setting
SELECT count(*) FROM (SELECT queries.id, r.* FROM queries, LATERAL ranked(q, 'n <= 100000', 1) r EXCEPT TABLE exact) x;
ALTER INDEX t_exact RESET (candidates);
CREATE TEMP TABLE approximate AS SELECT queries.id, r.* FROM queries, LATERAL ranked(q, 'n <= 100000', 1) r;
SELECT count(*) FROM approximate;
SELECT count(*), count(*) BETWEEN 20 AND 39 AS approximate FROM approximate a JOIN exact e USING (id, n);
-- as lateweave_search with as many candidates
SELECT count(*) FROM approximate a JOIN queries ON queries.id = a.id
WHERE NOT EXISTS (SELECT FROM lateweave_search('s', q, 1, candidates => 2) r WHERE r.score = -a.distance);
ALTER INDEX t_exact SET (candidates = 2);
RESET lateweave.candidates;
SELECT count(*) FROM (SELECT queries.id, r.* FROM queries, LATERAL ranked(q, 'n <= 100000', 1) r EXCEPT TABLE approximate) x;
-- LIMIT is filled in order whatever is left out, and all rows come once
SELECT condition, k, count(*), count(DISTINCT n), bool_and(in_order) AS in_order
FROM (VALUES ('n % 40 = 3', 20), ('n <= 100000', 300), ('n % 900 = 1', 10)) c (condition, k), queries, LATERAL
	(SELECT n, coalesce(distance >= lag(distance) OVER (ORDER BY place), true) AS in_order FROM ranked(q, condition, k)) r
WHERE queries.id = 5 GROUP BY condition, k ORDER BY k;
-- what comes too late for its place comes after all others, in order, and before what is absent: the order goes back once at most
SELECT bool_and(rows = (SELECT count(*) FROM t)) AS every_row, bool_and(keys = rows) AS once, max(back) AS back, bool_and(absent_last) AS absent_last
FROM (SELECT id, count(*) AS rows, count(DISTINCT n) AS keys, count(*) FILTER (WHERE distance < before) AS back,
		max(place) FILTER (WHERE n < 100002) = max(place) - 2 AS absent_last
	FROM (SELECT queries.id, r.*, lag(distance) OVER (PARTITION BY queries.id ORDER BY place) AS before
		FROM queries, LATERAL ranked(q, 'true', 100000) r) x GROUP BY id) y;
-- and with documents of which nothing is known, one's own too
BEGIN;
INSERT INTO s SELECT 'mine', q FROM queries WHERE id = 6;
INSERT INTO t VALUES ('mine', 100004);
SELECT r.n, r.place FROM queries, LATERAL ranked(q, 'true', 1) r WHERE queries.id = 6;
ROLLBACK;
-- what is ranked costs less than what is scored, also for lateweave_search
CREATE FUNCTION cost(statement text) RETURNS numeric LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
	RETURN plan->0->'Plan'->'Total Cost';
END $$;
SELECT format('SELECT n FROM t ORDER BY id @# maxsim_query(''s'', %L) LIMIT 1', array_fill(1, ARRAY[32, 12])::real[]::multivector) AS scan,
	format('SELECT * FROM lateweave_search(''s'', %L, 10, %%s)', array_fill(1, ARRAY[32, 12])::real[]::multivector) AS search \gset
CREATE TEMP TABLE costs AS SELECT cost(:'scan') AS candidates, cost(format(:'search', 6)) AS search;
ALTER INDEX t_exact SET (candidates = 0);
SELECT candidates * 2 < cost(:'scan') AS scan, search * 3 < cost(format(:'search', 0)) AS search FROM costs;
DROP TABLE t;
DROP FUNCTION ranked, plan, cost;

-- of one's own number, anew, forgotten
SELECT centroids, tokens_sampled, segments FROM lateweave_train('s', 100);
SELECT recall > 0.5 AS some, exact FROM quality(100);
SELECT * FROM lateweave_train('s', 0);
SELECT unassigned, trained_at FROM lateweave_sources WHERE source = 's'::regclass;
SELECT * FROM quality(10);
SELECT * FROM lateweave_train('s', -1);
SELECT * FROM lateweave_train('s', 65537);
SELECT * FROM lateweave_train(NULL);
SELECT * FROM lateweave_train('queries');

-- float32 stores, not normalized, alike
SELECT lateweave_create_store('f', 'encoder', 'main', 12, 'float32', normalized => false, path => 'regress_candidates/f');
INSERT INTO f SELECT id, tokens FROM s;
SELECT segments FROM lateweave_train('f');
SELECT count(*) > 350 AS most FROM queries, LATERAL lateweave_search('f', q, 10, candidates => 100) a JOIN LATERAL lateweave_search('f', q, 10) b USING (id);

-- for owners only
CREATE ROLE regress_candidates;
GRANT SELECT ON s TO regress_candidates;
SET ROLE regress_candidates;
SELECT lateweave_train('s');
SELECT count(*) FROM lateweave_search('s', vectors(1, 4), 5, candidates => 20);
RESET ROLE;

-- a store that is dropped leaves no centroids
COPY shell FROM PROGRAM 'ls lateweave/trained | wc -l';
SELECT lateweave_drop_store('s'), lateweave_drop_store('f');
COPY shell FROM PROGRAM 'ls lateweave/trained | wc -l';
SELECT count(*), max(line::integer) - min(line::integer) AS gone FROM shell;
DROP TABLE queries;
DROP OWNED BY regress_candidates;
DROP ROLE regress_candidates;
DROP FUNCTION vectors, quality;
