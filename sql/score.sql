-- Scoring: documents of stores, vectors in memory, one at a time and in sets.
\getenv golden LATEWEAVE_GOLDEN
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lateweave;
RESET client_min_messages;
\set unit :golden '/stores/i8-d7-unit/store'
\set laws :golden '/stores/two-corpora/store'
\set cases :golden '/stores/two-corpora/store-2'
\set odd :golden '/stores/ids/store'
CREATE FOREIGN TABLE unit (id text NOT NULL, tokens multivector) SERVER lateweave OPTIONS (store :'unit');
CREATE FOREIGN TABLE two_laws (id text NOT NULL, tokens multivector) SERVER lateweave OPTIONS (store :'laws');
CREATE FOREIGN TABLE two_cases (id text NOT NULL, tokens multivector) SERVER lateweave OPTIONS (store :'cases');
CREATE FOREIGN TABLE odd_ids (id text NOT NULL, tokens multivector) SERVER lateweave OPTIONS (store :'odd');
CREATE TABLE query AS SELECT tokens AS q FROM lateweave_fetch('unit', ARRAY['doc-13']);
-- the first 16 integers as one token
CREATE TABLE ramp AS SELECT array_agg(g::real)::multivector AS q FROM generate_series(1, 16) g;

-- Vectors in memory
SELECT maxsim(maxsim_query('[[1,0],[0,2]]'), '[[3,4],[5,-6]]');
SELECT '[[3,4],[5,-6]]'::multivector @# maxsim_query('[[1,0],[0,2]]') AS distance;
SELECT maxsim(NULL, '[[1]]'), maxsim(maxsim_query('[[1]]'), NULL), maxsim_query(NULL), maxsim_query('unit', NULL),
       '[[1]]'::multivector @# NULL::maxsim_query AS distance;
SELECT maxsim(maxsim_query('[[1,2,3]]'), '[[1,2]]');
SELECT maxsim(maxsim_query('unit', '[[1,2]]'), '[[1,2]]');
SELECT '[[1,2]]'::multivector @# maxsim_query('unit', '[[1,2]]');
SELECT maxsim(maxsim_query('[[3e38,3e38],[3e38,-3e38]]'), '[[-10,-10],[-10,10]]') AS overflow;
-- the document comes first, the query has a type of its own
SELECT maxsim('[[1,2]]'::multivector, '[[1,2]]'::multivector);
-- a stable operand is evaluated for every row, with queries that change
SELECT i, '[[1,1]]'::multivector @# maxsim_query(format('[[%s,%s]]', i, 2 * i)::multivector) AS distance
  FROM generate_series(1, 3) i;
SELECT id FROM (VALUES (1, '[[0,1]]'::multivector), (2, '[[1,0]]'), (3, '[[0.5,0.9]]'), (4, NULL)) v (id, tokens)
 ORDER BY tokens @# maxsim_query('[[1,0.5]]') LIMIT 3;

-- One document at a time
SELECT id, lateweave_score('unit', q, id) AS score
  FROM query, unnest(ARRAY['doc-13', 'doc-0', 'doc-9', 'never', NULL]) id;
SELECT lateweave_score(NULL, q, 'doc-0'), lateweave_score('unit', NULL, 'doc-0') FROM query;
\set VERBOSITY sqlstate
SELECT lateweave_score('unit', '[[1,2]]', 'doc-0');
\set VERBOSITY default
SELECT lateweave_score('query', q, 'doc-0') FROM query;
SELECT lateweave_score('no_such_table', q, 'doc-0') FROM query;
SELECT 'doc-13' @# maxsim_query('unit', q) AS present, 'doc-9'::varchar @# maxsim_query('unit', q) AS absent FROM query;
SELECT 'doc-13' @# maxsim_query(q) FROM query;
SELECT id FROM query, unnest(ARRAY['doc-9', 'doc-0', 'doc-13', 'doc-1']) id ORDER BY id @# maxsim_query('unit', q), id;

-- Ids that are numbers or uuids name documents by their text form
SELECT lateweave_score('unit', q, 17::smallint), lateweave_score('unit', q, 17), lateweave_score('unit', q, 17::bigint),
       lateweave_score('unit', q, '8a6e0804-2bd0-4672-b79d-d97027f9071a'::uuid), lateweave_score('unit', q, 'doc-9'::varchar)
  FROM query;
SELECT 17::smallint @# maxsim_query('unit', q) AS "2", 17 @# maxsim_query('unit', q) AS "4",
       17::bigint @# maxsim_query('unit', q) AS "8",
       '8a6e0804-2bd0-4672-b79d-d97027f9071a'::uuid @# maxsim_query('unit', q) AS uuid FROM query;
SELECT lateweave_score('odd_ids', q, 0::smallint) = s AS "2", lateweave_score('odd_ids', q, 0) = s AS "4",
       lateweave_score('odd_ids', q, 0::bigint) = s AS "8", 0::smallint @# maxsim_query('odd_ids', q) = -s AS "@2",
       0 @# maxsim_query('odd_ids', q) = -s AS "@4", 0::bigint @# maxsim_query('odd_ids', q) = -s AS "@8"
  FROM (SELECT tokens AS q, lateweave_score('odd_ids', tokens, '0') AS s FROM odd_ids WHERE id = '0') z;
SELECT r.id FROM odd_ids, lateweave_rerank('odd_ids', tokens, ARRAY[7, 0]) r WHERE odd_ids.id = '0';
SELECT count(*) FROM query, lateweave_rerank('unit', q, ARRAY[gen_random_uuid()]);
SELECT count(*) FROM query, lateweave_rerank('unit', q, ARRAY[1, 2]::bigint[]);
SELECT count(*) FROM query, lateweave_rerank('unit', q, ARRAY['doc-0']::varchar[]);

-- Sets: candidates in gather order in, a deterministic top-k out
SELECT r.* FROM query, lateweave_rerank('unit', q, ARRAY['doc-0', 'doc-9', 'doc-13', 'never', 'doc-1']) r;
SELECT r.* FROM query, lateweave_rerank('unit', q, ARRAY['doc-0', 'doc-9', 'doc-13', 'never', 'doc-1'], 2) r;
SELECT r.* FROM query, lateweave_rerank('unit', q, ARRAY[]::text[]) r;
SELECT r.* FROM query, lateweave_rerank('unit', q, NULL::text[]) r;
SELECT r.* FROM query, lateweave_rerank('unit', q, ARRAY['doc-0'], 0) r;
SELECT r.* FROM query, lateweave_rerank('unit', q, ARRAY['doc-0', 'never', 'doc-1', 'never']) r;
SELECT r.* FROM query, lateweave_rerank('unit', q, ARRAY['doc-0', NULL]) r;
SELECT r.* FROM query, lateweave_rerank('unit', q, ARRAY[['doc-0'], ['doc-1']]) r;
-- ties stay in gather order
SELECT r.id, r.rank FROM lateweave_rerank('two_laws', '[[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]]', ARRAY['x9', 'x1', 'x10']) r;
-- and in a search they go by id, in the order of bytes
SELECT r.* FROM lateweave_search('two_laws', '[[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]]', 4) r;
SELECT r.* FROM query, lateweave_search('unit', q, 3) r;
SELECT count(*) FROM query, lateweave_search('unit', q, 1000000000);
SELECT count(*) FROM query, lateweave_search('unit', q, NULL);
SELECT r.* FROM query, lateweave_search('unit', q, 0) r;
SELECT r.* FROM query, lateweave_search('unit', q, 3, candidates => 5) r;
SELECT r.* FROM query, lateweave_search('unit', q, 3, candidates => -1) r;
-- a search is a rerank of everything
SELECT count(*) FROM query, lateweave_search('unit', q, 100) s
  FULL JOIN (SELECT r.* FROM query, lateweave_rerank('unit', q, ARRAY(SELECT id FROM unit ORDER BY id COLLATE "C")) r) r
  USING (id, score, rank) WHERE s.rank IS NULL OR r.rank IS NULL;

-- Several sources on one scale
SELECT r.* FROM ramp, lateweave_rerank(ARRAY['two_laws', 'two_cases']::regclass[], q, ARRAY[1, 2, 2, 1, 2],
       ARRAY['x3', 'x3', 'x7', 'x7', 'x2'], 3) r;
SELECT r.* FROM ramp, lateweave_rerank(ARRAY['two_laws', 'two_cases']::regclass[], q, ARRAY[1, 3], ARRAY['x3', 'x2']) r;
SELECT r.* FROM ramp, lateweave_rerank(ARRAY['two_laws', 'two_cases']::regclass[], q, ARRAY[1], ARRAY['x3', 'x2']) r;
SELECT r.* FROM ramp, lateweave_rerank(ARRAY['two_laws', 'two_cases']::regclass[], q, ARRAY[1, NULL], ARRAY['x3', 'x2']) r;
SELECT r.* FROM ramp, lateweave_rerank(ARRAY['two_laws', 'two_cases']::regclass[], q, ARRAY[2, 2], ARRAY['x3', 'x3']) r;
-- a source given twice is one source
SELECT r.* FROM ramp, lateweave_rerank(ARRAY['two_laws', 'two_laws']::regclass[], q, ARRAY[1, 2], ARRAY['x3', 'x3']) r;
SELECT r.* FROM ramp, lateweave_rerank(ARRAY['two_laws', 'two_laws']::regclass[], q, ARRAY[1, 2], ARRAY['x3', 'x1']) r;
\set VERBOSITY sqlstate
SELECT r.* FROM ramp, lateweave_rerank(ARRAY['two_laws', 'unit']::regclass[], q, ARRAY[1], ARRAY['x3']) r;
\set VERBOSITY default

-- The representation: members given must be equal, all that differ are named
SELECT lateweave_score('unit', q, 'doc-13', representation => '{"encoder": "golden/encoder", "encoder_revision": "r1",
       "dimension": 7.0, "normalized": true, "query_template": "[Q] ", "document_template": "[D] "}') FROM query;
SELECT lateweave_score('unit', q, 'doc-13', representation => '{}') FROM query;
\set VERBOSITY terse
SELECT lateweave_score('unit', q, 'doc-13', representation => '{"pooling": "mean"}') FROM query;
SELECT lateweave_score('unit', q, 'doc-13', representation => '[1]') FROM query;
\set VERBOSITY default
DO $$
DECLARE detail text;
BEGIN
  PERFORM lateweave_score('unit', q, 'doc-13',
    representation => '{"encoder": "other", "dimension": 8, "normalized": "true", "encoder_revision": "r1"}') FROM query;
EXCEPTION WHEN data_exception THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RAISE NOTICE '%', detail;
END $$;

-- What lies behind a score
SELECT id, token_count(tokens), dimension(tokens) FROM lateweave_fetch('unit', ARRAY['doc-9', 'doc-4', 'doc-11', 'x']);
SELECT * FROM lateweave_fetch('unit', ARRAY['doc-4'], space => 'summary');
SELECT id FROM lateweave_fetch('unit', ARRAY['doc-4', 'doc-4']);
SELECT count(*) = token_count(q) AS a_row_a_token, sum(similarity) = lateweave_score('unit', q, 'doc-0') AS sums_up
  FROM query, lateweave_explain('unit', q, 'doc-0') GROUP BY q;
SELECT bool_and(query_token = document_token) AS itself FROM query, lateweave_explain('unit', q, 'doc-13');
SELECT count(*) FROM query, lateweave_explain('unit', q, 'doc-9');
SELECT count(*) FROM query, lateweave_explain('unit', q, 17);
SELECT lateweave_as_of('unit') AT TIME ZONE 'UTC' AS as_of, lateweave_as_of(NULL) AS nothing;
SELECT source, kind, corpus, encoding, dimension, encoder, store_id, commit, documents, unnameable, deleted, tokens,
       segments, bytes, array_remove(notes, 'no shared view') AS notes, error FROM lateweave_sources WHERE source IN ('unit'::regclass, 'two_cases'::regclass) ORDER BY 1;

-- Every kernel gives the same bits
SELECT bool_or(active) AS one_is_active, bool_or(kernel = 'scalar' AND available) AS scalar_is_there FROM lateweave_kernels();
CREATE FUNCTION all_bits() RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(encode(float4send(score), 'hex'), '' ORDER BY rank) FROM query, lateweave_search('unit', q, 100) $$;
SET lateweave.kernel = 'scalar';
SELECT kernel FROM lateweave_kernels() WHERE active;
SELECT all_bits() AS scalar_bits \gset
RESET lateweave.kernel;
SELECT all_bits() = :'scalar_bits' AS same_bits;
SET lateweave.kernel = 'mmx';

-- What the planner is told
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || statement INTO plan;
  RETURN NEXT format('%s, %s rows', plan->0->'Plan'->>'Node Type', plan->0->'Plan'->>'Plan Rows');
END $$;
SELECT plan($$SELECT * FROM lateweave_rerank('unit', '[[1,2,3,4,5,6,7]]', ARRAY['a', 'b', 'c'])$$);
SELECT plan($$SELECT * FROM lateweave_rerank('unit', '[[1,2,3,4,5,6,7]]', ARRAY['a', 'b', 'c'], 2)$$);
SELECT plan($$SELECT * FROM lateweave_rerank(ARRAY['two_laws']::regclass[], '[[1]]', ARRAY[1, 1], ARRAY['a', 'b'])$$);
SELECT plan($$SELECT * FROM lateweave_search('unit', '[[1,2,3,4,5,6,7]]', 10)$$);
SELECT plan($$SELECT * FROM lateweave_search('unit', '[[1,2,3,4,5,6,7]]', 1000)$$);
SELECT plan($$SELECT * FROM lateweave_fetch('unit', ARRAY['a', 'b'])$$);
SELECT plan($$SELECT * FROM lateweave_explain('unit', '[[1,2,3,4,5,6,7],[1,2,3,4,5,6,7]]', 'a')$$);
-- a cheap condition is tested before a costly score, in whatever order they stand
EXPLAIN (COSTS OFF) SELECT i FROM generate_series(1, 9) i
 WHERE lateweave_score('unit', '[[1,2,3,4,5,6,7]]', i) > 0 AND i + 1 > 5;
SELECT proname, provolatile, proparallel, proisstrict FROM pg_proc
 WHERE pronamespace = 'public'::regnamespace AND proname ~ '^(lateweave_(score|rerank|search|fetch|explain|as_of|distance)|maxsim|maxsim_query)$'
 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3;

-- Nothing of this extension lacks a comment
SELECT pg_describe_object(classid, objid, 0) FROM pg_depend d
 WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
   AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'lateweave')
   AND classid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_class'::regclass, 'pg_cast'::regclass, 'pg_opclass'::regclass,
                   'pg_foreign_server'::regclass, 'pg_foreign_data_wrapper'::regclass, 'pg_event_trigger'::regclass)
   AND obj_description(objid, classid::regclass::name) IS NULL;

DROP FOREIGN TABLE unit, two_laws, two_cases, odd_ids;
DROP TABLE query, ramp;
DROP FUNCTION all_bits, plan;
