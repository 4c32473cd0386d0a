-- What EXPLAIN shows of sources.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lateweave;
RESET client_min_messages;

\getenv golden LATEWEAVE_GOLDEN
\set command 'rm -rf lateweave/regress_explain && mkdir -p lateweave/regress_explain && cd lateweave/regress_explain && cp ' :golden '/sections/everything.urna . && chmod -R u+w .'
CREATE TEMP TABLE shell (line text);
COPY shell FROM PROGRAM :'command';

SELECT lateweave_create_store('s', 'none', '1', 4, encoding => 'float32', normalized => false, path => 'regress_explain/s');
SELECT lateweave_create_store('other', 'none', '1', 4, encoding => 'float32', normalized => false, path => 'regress_explain/other');
INSERT INTO s SELECT 'd' || i, ARRAY[[i, 0, 0, 0], [0, i, 0, 0]]::real[] FROM generate_series(1, 1200) i;
INSERT INTO other SELECT 'd' || i, '[[1,0,0,0]]' FROM generate_series(1, 10) i;
CREATE FOREIGN TABLE kb (chunk_id text, embedding real[]) SERVER lateweave OPTIONS (section_file 'regress_explain/everything.urna');
CREATE FUNCTION q() RETURNS multivector LANGUAGE sql STABLE RETURN '[[1,1,1,1]]'::multivector;
CREATE FUNCTION kb_q() RETURNS multivector LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT embedding::multivector FROM kb LIMIT 1); END';

-- the output from where sources begin, without numbers and names that differ from run to run
CREATE FUNCTION shown(statement text, options text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	output text := '';
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE, %s) %s', options, statement) LOOP
		output := output || line || E'\n';
	END LOOP;
	output := substring(output FROM '\n([^\n]*(?:Scored Source|Lateweave).*)\n');
	output := regexp_replace(output, '\y\d+\.\d+\y', 'N', 'g');
	RETURN QUERY SELECT regexp_split_to_table(regexp_replace(output, '(Kernel[": >]+)[a-z0-9]+', '\1K', 'g'), '\n');
END $$;

-- what a statement scored; of times, whether there are such
CREATE FUNCTION scored(statement text, options text DEFAULT 'TIMING') RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, FORMAT json, %s) %s', options, statement) INTO plan;
	RETURN QUERY SELECT source - '{Kernel,Vector Store,Section File}'::text[] ||
		coalesce((SELECT jsonb_object_agg(key, 'some') FROM jsonb_each(source) WHERE key ~ ' Time$'), '{}')
		FROM jsonb_array_elements(plan) p, jsonb_array_elements(p -> 'Lateweave') source;
END $$;

-- in all formats
SELECT shown($$SELECT * FROM lateweave_search('s', '[[1,1,1,1]]', 3)$$, 'FORMAT text');
SELECT shown($$SELECT * FROM lateweave_search('s', '[[1,1,1,1]]', 3)$$, 'FORMAT json');
SELECT shown($$SELECT * FROM lateweave_search('s', '[[1,1,1,1]]', 3)$$, 'FORMAT yaml');
SELECT shown($$SELECT * FROM lateweave_search('s', '[[1,1,1,1]]', 3)$$, 'FORMAT xml');

-- candidates of a rerank, and of an approximate search
SELECT scored($$SELECT * FROM lateweave_rerank('s', '[[1,1,1,1]]', '{d3,d4,absent}'::text[], 1)$$);
SELECT scored($$SELECT * FROM lateweave_rerank('{s,other}'::regclass[], '[[1,1,1,1]]', '{1,2,1}', '{d3,d4,d5}')$$);
SELECT centroids FROM lateweave_train('s', 16);
SELECT scored($$SELECT * FROM lateweave_search('s', '[[1,1,1,1]]', 3, candidates => 20)$$);
SELECT scored($$SELECT * FROM lateweave_search('s', '[[1,1,1,1]]', 3, candidates => 5000)$$);
SELECT scored($$SELECT * FROM lateweave_search('s', '[[1,1,1,1]]', 3) a, lateweave_search('s', '[[1,1,1,1]]', 3, candidates => 20) b$$);
-- and of a scan of an index
CREATE TABLE ranked AS SELECT id FROM s;
CREATE INDEX ON ranked USING lateweave (id) WITH (source = 's', candidates = 20);
SET enable_seqscan = off;
SET enable_sort = off;
SELECT scored($$SELECT id FROM ranked ORDER BY id @# maxsim_query('s', '[[1,1,1,1]]') LIMIT 3$$);
RESET enable_seqscan;
RESET enable_sort;
DROP TABLE ranked;

-- scores one at a time are timed with track_io_timing; the order of an index
SELECT scored($$SELECT id, lateweave_score('s', '[[1,1,1,1]]', id) FROM unnest('{d1,d2,absent}'::text[]) id$$);
SET track_io_timing = on;
SELECT scored($$SELECT id, lateweave_score('s', '[[1,1,1,1]]', id) FROM unnest('{d1,d2,absent}'::text[]) id$$);
RESET track_io_timing;
SELECT scored($$SELECT id, lateweave_score('s', '[[1,1,1,1]]', id) FROM unnest('{d1,d2,absent}'::text[]) id$$, 'TIMING off');
SELECT scored($$SELECT * FROM lateweave_search('s', '[[1,1,1,1]]', 3)$$, 'TIMING off');
CREATE TABLE t AS SELECT 'd' || i AS id FROM generate_series(1, 300) i;
CREATE INDEX ON t USING lateweave (id);
SET enable_seqscan = off;
SET enable_sort = off;
SELECT scored($$SELECT id FROM t ORDER BY id @# maxsim_query('s', '[[1,1,1,1]]') LIMIT 2$$);
RESET enable_seqscan;
RESET enable_sort;

-- section files
SELECT scored($$SELECT * FROM lateweave_search('kb', kb_q(), 3)$$);
SELECT method, scored(format('SELECT * FROM lateweave_section_search(''kb'', kb_q(), 2, %L, query_text => ''river'', ef => 4)', method))
FROM unnest('{exact,ann,hybrid,graph}'::text[]) method;

-- several sources, in one order
SELECT scored($$SELECT lateweave_score('other', q(), 'd1'), lateweave_score('s', q(), 'd1') FROM lateweave_search('kb', kb_q(), 1)$$);

-- what functions do counts, also when errors are caught, and by who explains what they explain
CREATE FUNCTION twice() RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	failed bool := false;
BEGIN
	PERFORM lateweave_score('other', q(), 'd1');
	BEGIN
		PERFORM scored('SELECT 1 / (lateweave_score(''other'', q(), ''d2'') * 0)');
	EXCEPTION WHEN division_by_zero THEN
		failed := true;
	END;
	RETURN (SELECT scored('SELECT lateweave_score(''other'', q(), ''d3'')') || jsonb_build_object('failed', failed));
END $$;
SELECT twice();
SELECT scored('SELECT twice()');
SELECT scored('SELECT * FROM lateweave_search(''other'', q(), 1)');

-- other statements with plans
SELECT scored($$CREATE TABLE copied AS SELECT * FROM lateweave_search('other', q(), 4)$$);
SELECT scored($$DECLARE c CURSOR FOR SELECT * FROM lateweave_search('other', q(), 4)$$);
CREATE RULE also AS ON INSERT TO copied DO ALSO SELECT lateweave_score('s', q(), NEW.id);
SELECT scored($$INSERT INTO copied SELECT * FROM lateweave_search('other', q(), 4)$$);
-- EXECUTE from PostgreSQL 18 on
PREPARE prepared AS SELECT * FROM lateweave_search('other', q(), 4);
SELECT count(*) = (current_setting('server_version_num')::int >= 180000)::int AS as_expected FROM scored('EXECUTE prepared');

-- in parallel plans the leader scores
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
ALTER TABLE t SET (parallel_workers = 2);
EXPLAIN (COSTS off) SELECT sum(lateweave_score('s', '[[1,1,1,1]]', id)) FROM t WHERE length(id) > 1;
SELECT scored($$SELECT sum(lateweave_score('s', '[[1,1,1,1]]', id)) FROM t WHERE length(id) > 1$$);
ROLLBACK;

-- nothing where nothing was scored, or executed, or is there any more
SELECT scored('SELECT 1');
SELECT scored($$SELECT * FROM lateweave_search('s', NULL, 3)$$);
EXPLAIN (COSTS off) SELECT * FROM lateweave_search('s', '[[1,1,1,1]]', 3);
CREATE FUNCTION passing() RETURNS real LANGUAGE plpgsql AS $$
DECLARE
	score real;
BEGIN
	CREATE FOREIGN TABLE passing (id text) SERVER lateweave OPTIONS (store 'regress_explain/other');
	score := lateweave_score('passing', q(), 'd1');
	DROP FOREIGN TABLE passing;
	RETURN score;
END $$;
SELECT scored('SELECT passing()');

-- nor of what the user may not read
CREATE FUNCTION owners() RETURNS real LANGUAGE sql SECURITY DEFINER RETURN lateweave_score('other', q(), 'd1') + lateweave_score('s', q(), 'd1');
CREATE ROLE regress_lw_explain;
GRANT SELECT ON other TO regress_lw_explain;
SET ROLE regress_lw_explain;
SELECT scored('SELECT owners()');
RESET ROLE;

-- a scan
CREATE FUNCTION scanned(statement text, options text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT json, %s) %s', options, statement) INTO plan;
	RETURN (SELECT jsonb_object_agg(key, CASE key WHEN 'Read Time' THEN '"some"' ELSE value END) FROM jsonb_each(plan -> 0 -> 'Plan')
		WHERE key ~ ' Read$|^(Commit|Segments|Vector Store|Section File|Encoding|Dimension|Chunks|Lookup|Read Time)$');
END $$;
SELECT scanned('SELECT * FROM s', 'ANALYZE, BUFFERS');
SELECT scanned('SELECT id FROM s', 'ANALYZE, BUFFERS off');
SELECT scanned('SELECT id FROM s', 'ANALYZE, BUFFERS off, VERBOSE');
SELECT scanned('SELECT id FROM s WHERE id = ''d7''', 'COSTS off');
SET track_io_timing = on;
SELECT scanned('SELECT * FROM s', 'ANALYZE, BUFFERS');
RESET track_io_timing;
SELECT scanned('SELECT chunk_id FROM kb', 'ANALYZE, BUFFERS');

DROP TABLE t, copied;
DROP FUNCTION twice, passing, owners, scanned, scored, shown, q, kb_q;
DROP FOREIGN TABLE kb;
SELECT lateweave_drop_store('s');
SELECT lateweave_drop_store('other');
DROP ROLE regress_lw_explain;
