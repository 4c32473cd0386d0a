-- MaxSim inside one backend:
--
--	psql -XqAt -v data=DIRECTORY -v turns=25 -f bench.sql
--
-- DIRECTORY is what bench_store made. Every call is a statement of its own; they take turns, and turn
-- 0 warms. Printed are, for each: a line "turn|call" and the planning and execution time of EXPLAIN
-- ANALYZE, which runs it. A call "kernel of ..." prints a DEBUG line of its kernel time before that, and
-- its own time does not count: sending the line wakes the client, which may take the processor.
-- The table "calls" stays, for whoever wants to explain one again in this session.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

CREATE EXTENSION lateweave;
SELECT :'data' || '/int8' AS int8, :'data' || '/float32' AS float32 \gset
CREATE FOREIGN TABLE int8 (id text NOT NULL, tokens multivector) SERVER lateweave OPTIONS (store :'int8');
CREATE FOREIGN TABLE float32 (id text NOT NULL, tokens multivector) SERVER lateweave OPTIONS (store :'float32');

-- The candidates are the rows of a table, as in an application.
CREATE TABLE documents (id text PRIMARY KEY);
INSERT INTO documents SELECT id FROM int8;
-- The query comes as bytes, as a client sends it.
CREATE TABLE query AS
	SELECT pg_read_binary_file(:'data' || '/query.f32') AS bytes, dimension::integer
	FROM lateweave_sources WHERE source = 'int8'::regclass;
\set q '(SELECT multivector_from_bytes(bytes, dimension) FROM query)'

CREATE TABLE calls (position serial, name text, turns integer, sql text,
	explain text GENERATED ALWAYS AS ('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) ' || sql) STORED);
INSERT INTO calls (name, turns, sql)
	SELECT kind || 'lateweave_rerank, ' || encoding, :turns,
		format('SELECT * FROM lateweave_rerank(%L, %s, ARRAY(SELECT id FROM documents), 10)', encoding, :'q')
	FROM unnest(ARRAY['int8', 'float32']) encoding, unnest(ARRAY['kernel of ', '']) kind;
INSERT INTO calls (name, turns, sql) VALUES
	('lateweave_score over the rows, int8', :turns,
	 format('SELECT id, lateweave_score(''int8'', %s, id) AS score FROM documents ORDER BY score DESC LIMIT 10', :'q')),
	('lateweave_search, int8', :turns,
	 format('SELECT * FROM lateweave_search(''int8'', %s, 10)', :'q'));

-- pgvector has no MaxSim; of the ways to write it in one statement this is the fastest. It gets a few turns only.
SELECT count(*) > 0 AS pgvector FROM pg_available_extensions WHERE name = 'vector' \gset
\if :pgvector
CREATE EXTENSION vector;
CREATE TABLE vector_documents AS
	SELECT id, ARRAY(SELECT ARRAY(SELECT unnest(a[t:t]))::vector FROM generate_series(1, array_length(a, 1)) t) AS tokens
	FROM (SELECT id, tokens::real[] AS a FROM float32) f;
CREATE TABLE vector_query AS
	SELECT ARRAY(SELECT unnest(a[t:t]))::vector AS token
	FROM (SELECT :q::real[] AS a) q, generate_series(1, array_length(a, 1)) t;
INSERT INTO calls (name, turns, sql) VALUES
	('pgvector, MaxSim in SQL, float32', least(:turns, 5),
	 $$SELECT id, -(SELECT sum((SELECT min(t <#> q.token) FROM unnest(d.tokens) t)) FROM vector_query q) AS score
	   FROM vector_documents d ORDER BY score DESC LIMIT 10$$);
\endif

VACUUM ANALYZE;
SELECT format('SELECT %L', turn || '|' || name),
	format('SET client_min_messages = %s', CASE WHEN name ^@ 'kernel of' THEN 'debug1' ELSE 'warning' END),
	explain
FROM calls, generate_series(0, :turns) turn WHERE turn <= turns ORDER BY turn, position
\gexec
