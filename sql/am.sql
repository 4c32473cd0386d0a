-- The index: rows in the order of id @# maxsim_query(source, query).
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lateweave;
RESET client_min_messages;
\getenv golden LATEWEAVE_GOLDEN
\set command 'rm -rf lateweave/regress_am && mkdir -p lateweave/regress_am'
CREATE TEMP TABLE shell (line text);
COPY shell FROM PROGRAM :'command';
SELECT setseed(0.5);
CREATE SCHEMA am;
SET search_path = am, public;

-- what a statement raises, without the paths of this machine
CREATE FUNCTION attempt(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE command;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN replace(concat_ws(E'\n', SQLSTATE || ': ' || SQLERRM, nullif(detail, ''), nullif(hint, '')), current_setting('data_directory'), 'DATA');
END $$;

-- the nodes of a statement's plan
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || statement LOOP
		IF line ~ '(Scan|Sort|Limit|Loop|Append|Materialize)' AND line !~ '(Key|Order By):' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;

-- random vectors
CREATE FUNCTION random_tokens(tokens integer) RETURNS multivector LANGUAGE sql VOLATILE AS $$
	SELECT multivector_agg(ARRAY[random() - 0.5, random() - 0.5, random() - 0.5, random() - 0.5]::real[])
	FROM generate_series(1, tokens) $$;

-- Whether a statement gives its rows (key, distance) in the same order by the index as by a sort: the same distances
-- one after another, and of each the same rows. Says which plan was not what it was to be, or what differs.
CREATE FUNCTION compare(statement text, with_limit integer DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	command text := format('SELECT array_agg(key), array_agg(distance), array_agg(format(''%%s %%s'', distance, key) ORDER BY distance, key) FROM (%s %s) s',
		statement, 'LIMIT ' || with_limit);
	keys text[]; distances float8[]; pairs text[];
	other_keys text[]; other_distances float8[]; other_pairs text[];
	plan text;
BEGIN
	SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off;
	EXECUTE 'EXPLAIN (FORMAT json) ' || statement INTO plan;
	IF plan NOT LIKE '%Index Scan%Order By%' THEN RETURN 'no index scan'; END IF;
	EXECUTE command INTO keys, distances, pairs;
	SET LOCAL enable_seqscan = on; SET LOCAL enable_sort = on; SET LOCAL enable_indexscan = off;
	EXECUTE 'EXPLAIN (FORMAT json) ' || statement INTO plan;
	IF plan LIKE '%Order By%' THEN RETURN 'no sort'; END IF;
	EXECUTE command INTO other_keys, other_distances, other_pairs;
	RESET enable_seqscan; RESET enable_sort; RESET enable_indexscan; RESET enable_bitmapscan;
	IF distances IS DISTINCT FROM other_distances THEN RETURN 'other distances'; END IF;
	IF with_limit IS NULL AND pairs IS DISTINCT FROM other_pairs THEN RETURN 'other rows'; END IF;
	IF cardinality(keys) <> (SELECT count(DISTINCT k) FROM unnest(keys) k) THEN RETURN 'a row twice'; END IF;
	RETURN coalesce(cardinality(keys), 0) || ' rows, ' ||
		(SELECT count(*) FROM unnest(distances) d WHERE d = 'infinity') || ' absent, ' ||
		(SELECT count(*) FROM unnest(distances) d WHERE d IS NULL) || ' null';
END $$;

-- A table and its store: two rows of some ids, ids that the store lacks, documents without rows, NULLs, long ids

SELECT lateweave_create_store('docs', 'e', 'r', 4, 'float32', normalized => false, path => 'regress_am/docs');
CREATE TABLE rows (key serial PRIMARY KEY, id text, part int, note text);
SELECT lateweave_append('docs', array_agg(id), array_agg(tokens)) FROM (
	SELECT 'd' || i AS id, random_tokens(1 + i % 3) AS tokens FROM generate_series(1, 900) i
	UNION ALL SELECT 'x' || i, random_tokens(2) FROM generate_series(1, 5000) i
	UNION ALL SELECT repeat('long ', 200) || i, random_tokens(2) FROM generate_series(1, 40) i) d;
SELECT lateweave_append('docs', array_agg(id), array_agg(tokens)) FROM (
	SELECT 'd' || i AS id, random_tokens(2) AS tokens FROM generate_series(800, 1000) i) d;
SELECT lateweave_delete('docs', array_agg('d' || i)) FROM generate_series(1, 900, 9) i;
INSERT INTO rows (id, part) SELECT 'd' || i, i % 10 FROM generate_series(1, 1000) i;
INSERT INTO rows (id, part) SELECT 'x' || i, i % 10 FROM generate_series(1, 5000, 13) i;
CREATE INDEX rows_id ON rows USING lateweave (id) WITH (source = docs);
INSERT INTO rows (id, part) SELECT 'd' || i, i % 10 FROM generate_series(900, 1200) i;
INSERT INTO rows (id, part) SELECT repeat('long ', 200) || i, i % 10 FROM generate_series(1, 50) i;
INSERT INTO rows (id, part) SELECT NULL, i FROM generate_series(1, 20) i;
INSERT INTO rows (id, part) VALUES ('', 1), (repeat('x', 512), 1), (repeat('x', 513), 1);
CREATE TABLE queries AS SELECT i, random_tokens(3) AS q FROM generate_series(1, 5) i;
SELECT format('(SELECT maxsim_query(''docs'', q) FROM queries WHERE i = 1)') AS q \gset
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows ORDER BY id @# %1$s', :'q'));
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows ORDER BY id @# %1$s', :'q'), n)
	FROM unnest(ARRAY[0, 1, 10, 300, 1024, 1300, 1700, 1750, 9999]) n;
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows WHERE part = 3 ORDER BY id @# %1$s', :'q'), 10);
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows WHERE key %% 97 = 1 ORDER BY id @# %1$s', :'q'), 10);
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows WHERE false AND key > 1 OR part = 77 ORDER BY id @# %1$s', :'q'), 10);

-- Names that stand for no query, no source, no document

SELECT compare('SELECT key, id @# maxsim_query(''docs'', NULL) AS distance FROM rows ORDER BY id @# (SELECT maxsim_query(''docs'', NULL))');
SELECT attempt('SELECT key FROM rows ORDER BY id @# (SELECT maxsim_query(q) FROM queries LIMIT 1) LIMIT 1');
SELECT attempt('SELECT key FROM rows ORDER BY id @# maxsim_query(''docs'', ''[[1,2]]'') LIMIT 1');
SELECT attempt('SELECT key FROM rows ORDER BY id @# maxsim_query(''rows'', ''[[1,2,3,4]]'') LIMIT 1');

-- What changes: the table, the store, the table's place for its rows

UPDATE rows SET id = 'd' || key WHERE key % 5 = 0;
UPDATE rows SET note = 'same id' WHERE key % 7 = 0;
DELETE FROM rows WHERE key % 3 = 0;
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows ORDER BY id @# %1$s', :'q'));
VACUUM rows;
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows ORDER BY id @# %1$s', :'q'));
INSERT INTO rows (id, part) SELECT 'd' || i, i % 10 FROM generate_series(1, 500) i;
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows ORDER BY id @# %1$s', :'q'));
-- the store's changes of this transaction, and only those before the statement
BEGIN;
DELETE FROM docs WHERE id IN ('d10', 'd20');
INSERT INTO docs VALUES ('d1100', '[[9,9,9,9]]');
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows ORDER BY id @# %1$s', :'q'));
DECLARE before SCROLL CURSOR FOR SELECT id FROM rows ORDER BY id @# maxsim_query('docs', '[[1,1,1,1]]');
FETCH 2 FROM before;
DELETE FROM docs WHERE id = 'd1100';
INSERT INTO docs VALUES ('d1001', '[[8,8,8,8]]');
MOVE ABSOLUTE 0 FROM before;
FETCH 1 FROM before;
SELECT id FROM rows ORDER BY id @# maxsim_query('docs', '[[1,1,1,1]]') LIMIT 1;
ROLLBACK;
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows ORDER BY id @# %1$s', :'q'));
REINDEX INDEX rows_id;
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows ORDER BY id @# %1$s', :'q'));
REINDEX INDEX CONCURRENTLY rows_id;
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows ORDER BY id @# %1$s', :'q'));
VACUUM FULL rows;
SELECT compare(format('SELECT key, id @# %s AS distance FROM rows ORDER BY id @# %1$s', :'q'));

-- Plans: the whole table by the index, what a selective condition leaves by a sort; never another use

ANALYZE rows;
SELECT lateweave_create_store('wide', 'e', 'r', 64, 'int8', normalized => false, path => 'regress_am/wide');
SELECT lateweave_append('wide', array_agg('d' || i), array_agg(array_fill(i, ARRAY[128, 64])::real[]::multivector)) FROM generate_series(1, 1000) i;
SELECT format('maxsim_query(''wide'', %L)', array_fill(1, ARRAY[32, 64])::real[]::multivector) AS wide \gset
SELECT plan(format('SELECT id FROM rows ORDER BY id @# %s LIMIT 10', :'wide'));
SELECT plan(format('SELECT id FROM rows WHERE key %% 2 < 5 AND note IS NULL ORDER BY id @# %s LIMIT 10', :'wide'));
SELECT plan(format('SELECT id FROM rows WHERE part < 9 ORDER BY id @# %s LIMIT 10', :'wide'));
SELECT plan(format('SELECT id FROM rows WHERE part = 3 ORDER BY id @# %s LIMIT 10', :'wide'));
SELECT plan(format('SELECT id FROM rows WHERE key < 30 ORDER BY id @# %s LIMIT 10', :'wide'));
DROP FOREIGN TABLE wide;
SET enable_seqscan = off;
SELECT plan('SELECT id FROM rows WHERE id = ''d1''');
SELECT plan('SELECT id FROM rows WHERE id IS NULL');
SELECT plan('SELECT count(*) FROM rows');
SELECT plan('SELECT id FROM rows ORDER BY id');
SELECT plan('SELECT id FROM rows ORDER BY id @# maxsim_query(''docs'', ''[[1,2,3,4]]'') DESC');
SELECT plan('SELECT id FROM rows ORDER BY id @# maxsim_query(''docs'', ''[[1,2,3,4]]''), id @# maxsim_query(''docs'', ''[[4,2,3,4]]'')');
RESET enable_seqscan;
PREPARE best(multivector) AS SELECT key FROM rows ORDER BY id @# maxsim_query('docs', $1) LIMIT 1;
SET plan_cache_mode = force_generic_plan;
SELECT plan('EXECUTE best(''[[1,2,3,4]]'')');
SELECT (SELECT id FROM rows ORDER BY id @# maxsim_query('docs', q) LIMIT 1) =
	(SELECT id FROM lateweave_search('docs', q, 1000) s JOIN rows r USING (id) ORDER BY s.rank LIMIT 1) AS same FROM queries;
RESET plan_cache_mode;
-- a query a row
SELECT plan('SELECT i, r.* FROM queries, LATERAL (SELECT id FROM rows ORDER BY id @# maxsim_query(''docs'', q) LIMIT 3) r');
SELECT i, count(*), bool_and(r.id = s.id) AS same FROM queries,
	LATERAL (SELECT row_number() OVER () AS rank, id FROM (SELECT id FROM rows ORDER BY id @# maxsim_query('docs', q) LIMIT 20) r) r
	JOIN LATERAL (SELECT row_number() OVER () AS rank, id FROM (SELECT r.id FROM lateweave_search('docs', q, 1000) s JOIN rows r USING (id) ORDER BY s.rank LIMIT 20) s) s USING (rank)
	GROUP BY i ORDER BY i;
-- two scans in turns
BEGIN;
DECLARE a CURSOR FOR SELECT key FROM rows ORDER BY id @# maxsim_query('docs', (SELECT q FROM queries WHERE i = 1));
DECLARE b CURSOR FOR SELECT key FROM rows ORDER BY id @# maxsim_query('docs', (SELECT q FROM queries WHERE i = 2));
MOVE 100 FROM a;
MOVE 100 FROM b;
MOVE ALL FROM a;
MOVE ALL FROM b;
COMMIT;

-- a source that is altered meanwhile: a long id's distance would be that of another one
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_sort = off;
DECLARE a CURSOR FOR SELECT key FROM rows WHERE length(id) > 512 ORDER BY id @# maxsim_query('docs', '[[1,2,3,4]]');
MOVE 2 FROM a;
ALTER FOREIGN TABLE docs OPTIONS (ADD min_commit '1');
MOVE 2 FROM a;
ROLLBACK;
-- no parallel worker scans it, for it has neither the statement's view nor the transaction's changes
CREATE TABLE counted AS SELECT generate_series(1, 3000) AS n;
ANALYZE counted;
BEGIN;
SET LOCAL seq_page_cost = 20000;
SET LOCAL random_page_cost = 0;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL enable_material = off;
SELECT bool_or(p LIKE '%Parallel%') AND bool_or(p LIKE '%rows_id%') AS in_worker, count(*) > 2 AS has_plan
	FROM plan('SELECT n, key FROM counted LEFT JOIN rows ON n < part ORDER BY id @# maxsim_query(''docs'', ''[[1,2,3,4]]'')') p;
COMMIT;

-- Types of ids; an expression; a part of the rows; UNLOGGED; a partitioned table

CREATE TABLE typed (key serial, a smallint, b integer, c bigint, d varchar(40), e uuid);
SELECT lateweave_create_store('numbers', 'e', 'r', 4, 'int8', normalized => false, path => 'regress_am/numbers');
SELECT lateweave_append('numbers', array_agg(i), array_agg(random_tokens(2))) FROM generate_series(-100, 100) i;
SELECT lateweave_append('numbers', array_agg(md5(i::text)::uuid), array_agg(random_tokens(2))) FROM generate_series(-100, 100) i;
INSERT INTO typed (a, b, c, d, e) SELECT i, i, i, i, md5(i::text)::uuid FROM generate_series(-120, 120) i;
CREATE INDEX ON typed USING lateweave (a) WITH (source = 'am.numbers');
CREATE INDEX ON typed USING lateweave (b);
CREATE INDEX ON typed USING lateweave (c);
CREATE INDEX ON typed USING lateweave (d);
CREATE INDEX ON typed USING lateweave (e);
CREATE INDEX ON typed USING lateweave (('7' || d));
CREATE INDEX ON typed USING lateweave ((c + 1)) WHERE key > 100;
SELECT operand, compare(format('SELECT key, %s @# %s AS distance FROM typed ORDER BY %1$s @# %2$s', operand, q))
	FROM unnest(ARRAY['a', 'b', 'c', 'd', 'e', '(''7'' || d)']) operand,
	(SELECT '(SELECT maxsim_query(''numbers'', q) FROM queries WHERE i = 2)' AS q) q;
SELECT compare('SELECT key, (c + 1) @# (SELECT maxsim_query(''numbers'', q) FROM queries WHERE i = 3) AS distance
	FROM typed WHERE key > 100 ORDER BY (c + 1) @# (SELECT maxsim_query(''numbers'', q) FROM queries WHERE i = 3)');
CREATE UNLOGGED TABLE unlogged (key serial, id text);
CREATE INDEX ON unlogged USING lateweave (id);
INSERT INTO unlogged (id) SELECT 'd' || i FROM generate_series(1, 1100) i;
SELECT compare(format('SELECT key, id @# %s AS distance FROM unlogged ORDER BY id @# %1$s', :'q'));
TRUNCATE unlogged;
SELECT compare(format('SELECT key, id @# %s AS distance FROM unlogged ORDER BY id @# %1$s', :'q'));
CREATE TABLE parts (key serial, id text) PARTITION BY LIST (key);
CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1);
CREATE INDEX ON parts USING lateweave (id) WITH (source = docs);
CREATE TABLE part2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts (id) VALUES ('d2'), ('d3');
SELECT compare(format('SELECT key, id @# %s AS distance FROM parts ORDER BY id @# %1$s', :'q'));

-- Tablespaces, and the phases of a build

SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_am LOCATION '';
CREATE INDEX elsewhere ON rows USING lateweave (id) TABLESPACE regress_am;
SELECT spcname FROM pg_class c JOIN pg_tablespace t ON t.oid = c.reltablespace WHERE relname = 'elsewhere';
ALTER INDEX elsewhere SET TABLESPACE pg_default;
SELECT reltablespace FROM pg_class WHERE relname = 'elsewhere';
DROP INDEX elsewhere;
DROP TABLESPACE regress_am;
SELECT n, pg_indexam_progress_phasename(oid, n) FROM pg_am, generate_series(1, 5) n WHERE amname = 'lateweave';

-- A section file as the source

\set section :golden '/sections/large-int4.urna'
CREATE FOREIGN TABLE kb (ordinal bigint, chunk_id text, embedding real[]) SERVER lateweave OPTIONS (section_file :'section');
CREATE TABLE chunks AS SELECT row_number() OVER () AS key, chunk_id AS id FROM kb, generate_series(1, 2);
INSERT INTO chunks SELECT 10000 + i, 'none ' || i FROM generate_series(1, 10) i;
INSERT INTO chunks VALUES (20000, NULL);
CREATE INDEX ON chunks USING lateweave (id) WITH (source = kb);
SELECT compare('SELECT key, id @# (SELECT maxsim_query(''kb'', embedding::multivector) FROM kb WHERE ordinal = 1) AS distance
	FROM chunks ORDER BY id @# (SELECT maxsim_query(''kb'', embedding::multivector) FROM kb WHERE ordinal = 1)');
SELECT compare('SELECT key, id @# (SELECT maxsim_query(''kb'', embedding::multivector) FROM kb WHERE ordinal = 1) AS distance
	FROM chunks WHERE key % 2 = 0 ORDER BY id @# (SELECT maxsim_query(''kb'', embedding::multivector) FROM kb WHERE ordinal = 1)', 10);

-- Many rows: splits, several levels, rows of one id over many pages, pages that are used again

CREATE TABLE many (key int, id text);
CREATE INDEX many_id ON many USING lateweave (id);
INSERT INTO many SELECT i, 'd' || i FROM generate_series(1, 30000) i;
INSERT INTO many SELECT 30000 + i, 'd2' FROM generate_series(1, 3000) i;
INSERT INTO many SELECT 33000 + i, NULL FROM generate_series(1, 3000) i;
INSERT INTO many SELECT 36000 + i, repeat('some text ', 45) || i FROM generate_series(1, 500) i;
SELECT compare(format('SELECT key, id @# %s AS distance FROM many ORDER BY id @# %1$s', :'q'));
SELECT pg_relation_size('many_id') AS size \gset
DELETE FROM many;
VACUUM many;
INSERT INTO many SELECT i, 'e' || i FROM generate_series(1, 30000) i;
INSERT INTO many SELECT 30000 + i, 'd3' FROM generate_series(1, 3000) i;
INSERT INTO many SELECT 36000 + i, repeat('other text', 45) || i FROM generate_series(1, 500) i;
INSERT INTO many SELECT 33000 + i, NULL FROM generate_series(1, 3000) i;
SELECT pg_relation_size('many_id') < 1.15 * :size AS reused;
SELECT compare(format('SELECT key, id @# %s AS distance FROM many ORDER BY id @# %1$s', :'q'));
DELETE FROM many WHERE key % 2 = 0;
VACUUM many;
SELECT compare(format('SELECT key, id @# %s AS distance FROM many ORDER BY id @# %1$s', :'q'));
SELECT attempt('REINDEX INDEX many_id');
SELECT compare(format('SELECT key, id @# %s AS distance FROM many ORDER BY id @# %1$s', :'q'));
SELECT pg_relation_size('many_id') < 0.7 * :size AS smaller;

-- What is refused

SELECT attempt('CREATE INDEX ON rows USING lateweave (id, note)');
SELECT attempt('CREATE INDEX ON rows USING lateweave (id) INCLUDE (note)');
SELECT attempt('CREATE UNIQUE INDEX ON rows USING lateweave (id)');
SELECT attempt('CREATE INDEX ON rows USING lateweave (id DESC)');
SELECT attempt('CREATE INDEX ON rows USING lateweave (note pattern_ops)');
SELECT attempt('CREATE INDEX ON typed USING lateweave ((a::numeric))');
SELECT attempt('CLUSTER rows USING rows_id');
SELECT attempt('CREATE INDEX ON rows USING lateweave (id) WITH (source = ''a.b.c'')');
SELECT attempt('CREATE INDEX ON rows USING lateweave (id) WITH (source = ''"a'')');
SELECT attempt('CREATE INDEX ON rows USING lateweave (id) WITH (candidates = -1)');
SELECT attempt('CREATE INDEX ON rows USING lateweave (id) WITH (fillfactor = 50)');
SELECT attempt('ALTER TABLE rows ADD EXCLUDE USING lateweave (id WITH =)');

-- The source of an index: what it depends on

CREATE FUNCTION depends(index text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT refobjid::regclass::text FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = index::regclass
	AND refclassid = 'pg_class'::regclass AND deptype = 'n' $$;
SELECT depends('rows_id');
SELECT attempt('DROP FOREIGN TABLE docs');
ALTER INDEX rows_id SET (source = 'am.numbers', candidates = 0);
SELECT depends('rows_id');
ALTER INDEX rows_id RESET (source);
SELECT depends('rows_id');
ALTER INDEX rows_id SET (source = docs);
ALTER INDEX rows_id RENAME TO renamed;
REINDEX INDEX CONCURRENTLY renamed;
SELECT depends('renamed');
SELECT depends('part2_id_idx');
CREATE INDEX nowhere ON rows USING lateweave (id) WITH (source = queries);
SELECT depends('nowhere');
SET search_path = public;
CREATE INDEX elsewhere ON am.rows USING lateweave (id) WITH (source = docs);
SET search_path = am, public;
SELECT depends('elsewhere');
SET client_min_messages = warning;
DROP FOREIGN TABLE docs CASCADE;
RESET client_min_messages;
SELECT to_regclass('renamed'), to_regclass('elsewhere'), to_regclass('nowhere') IS NOT NULL AS others_stay;

-- An operator class must be what scans make of it

CREATE OPERATOR CLASS wrong_ops FOR TYPE text USING lateweave AS
	OPERATOR 1 @# (text, maxsim_query) FOR ORDER BY pg_catalog.integer_ops;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'wrong_ops';
DROP OPERATOR FAMILY wrong_ops USING lateweave;
CREATE OPERATOR CLASS wrong_ops FOR TYPE text USING lateweave AS OPERATOR 1 = (text, text);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'wrong_ops';
DROP OPERATOR FAMILY wrong_ops USING lateweave;
CREATE OPERATOR CLASS wrong_ops FOR TYPE multivector USING lateweave AS
	OPERATOR 1 @# (multivector, maxsim_query) FOR ORDER BY pg_catalog.float_ops;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'wrong_ops';
DROP OPERATOR FAMILY wrong_ops USING lateweave;
SELECT opcname, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'lateweave' ORDER BY 1;
SELECT a, pg_indexam_has_property(oid, a) FROM pg_am,
	unnest(ARRAY['can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'can_include']) a WHERE amname = 'lateweave';
SELECT a, pg_index_has_property('nowhere', a) FROM unnest(ARRAY['clusterable', 'index_scan', 'bitmap_scan', 'backward_scan']) a;
SELECT a, pg_index_column_has_property('nowhere', 1, a)
	FROM unnest(ARRAY['orderable', 'distance_orderable', 'returnable', 'search_array', 'search_nulls']) a;

SET client_min_messages = warning;
DROP SCHEMA am CASCADE;
