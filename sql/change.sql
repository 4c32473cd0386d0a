-- Changing stores, by statements, functions and triggers.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lateweave;
RESET client_min_messages;

\set command 'rm -rf lateweave/regress_change && mkdir -p lateweave/regress_change && cd lateweave/regress_change && ln -s / out'
CREATE TEMP TABLE shell (line text);
COPY shell FROM PROGRAM :'command';

-- what a statement raises, without the paths of this machine; with `naming`, only whether the message has that
CREATE FUNCTION attempt(command text, naming text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE command;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	IF naming IS NOT NULL THEN
		RETURN SQLSTATE || CASE WHEN strpos(SQLERRM, naming) > 0 THEN ', names ' ELSE ', does not name ' END || naming;
	END IF;
	RETURN regexp_replace(concat_ws(E'\n', SQLSTATE || ': ' || SQLERRM, nullif(detail, ''), nullif(hint, '')),
						  '"/[^"]*/regress', '".../regress', 'g');
END $$;

-- the documents of a store, on one line
CREATE FUNCTION contents(source regclass, OUT contents text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT string_agg(id || tokens::text, '' '' ORDER BY id COLLATE "C") FROM %s', source) INTO contents;
END $$;

-- Making stores

SELECT lateweave_create_store('s', 'encoder', 'main', 2, encoding => 'float32', path => 'regress_change/s');
SELECT ftoptions[1], ftoptions[2] LIKE 'store\_id=%', ftoptions[3] FROM pg_foreign_table WHERE ftrelid = 's'::regclass;
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = 's'::regclass AND attnum > 0 ORDER BY attnum;
SELECT documents, dimension, encoding, encoder, corpus, commit FROM lateweave_sources WHERE source = 's'::regclass;
CREATE SCHEMA "Other.One";
SELECT lateweave_create_store('"Other.One"."A ''store''"', 'e', 'r', 3, 'int8', 'corpus', false, 'query: {}', 'doc: {}');
SELECT option_value ~ ('^' || oid || '/[0-9a-f]{32}$') FROM pg_database, pg_options_to_table(
	(SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = '"Other.One"."A ''store''"'::regclass))
	WHERE datname = current_database() AND option_name = 'store';
SELECT documents, dimension, encoding, corpus FROM lateweave_sources WHERE source = '"Other.One"."A ''store''"'::regclass;
SELECT attempt($$SELECT lateweave_create_store(NULL, 'e', 'r', 2)$$);
SELECT attempt($$SELECT lateweave_create_store('t', 'e', NULL, 2)$$);
SELECT attempt($$SELECT lateweave_create_store('t', 'e', 'r', 2, normalized => NULL)$$);
SELECT attempt($$SELECT lateweave_create_store('t', 'e', 'r', 0)$$);
SELECT attempt($$SELECT lateweave_create_store('t', '', 'r', 2)$$);
SELECT attempt($$SELECT lateweave_create_store('t', 'e', 'r', 2, 'int4')$$);
SELECT attempt($$SELECT lateweave_create_store('s', 'e', 'r', 2)$$);
SELECT attempt($$SELECT lateweave_create_store('none.t', 'e', 'r', 2)$$);
SELECT attempt($$SELECT lateweave_create_store('pg_temp.t', 'e', 'r', 2)$$);
SELECT attempt($$SELECT lateweave_create_store('a b', 'e', 'r', 2)$$);
SELECT attempt($$SELECT lateweave_create_store('t', 'e', 'r', 2, path => 'regress_change/s')$$);
SELECT attempt($$SELECT lateweave_create_store('t', 'e', 'r', 2, path => 'regress_change/../t')$$);
SELECT attempt($$SELECT lateweave_create_store('t', 'e', 'r', 2, path => 'regress_change/out/tmp/t')$$);
SELECT attempt($$SELECT lateweave_create_store('t', 'e', 'r', 2, path => '')$$);
-- in the transaction
BEGIN;
SELECT lateweave_create_store('t', 'e', 'r', 2, path => 'regress_change/deep/t');
INSERT INTO t VALUES ('a', '[[1,0]]');
SELECT contents('t');
SAVEPOINT one;
SELECT lateweave_create_store('u', 'e', 'r', 2, path => 'regress_change/u');
ROLLBACK TO one;
SELECT name FROM pg_ls_dir('lateweave/regress_change') name ORDER BY name;
ROLLBACK;
SELECT to_regclass('t') IS NULL, count(*) FROM pg_ls_dir('lateweave/regress_change/deep');
SELECT attempt($$DO 'BEGIN PERFORM lateweave_create_store(''t'', ''e'', ''r'', 2, path => ''regress_change/t''); RAISE ''no''; END'$$);
BEGIN;
SELECT lateweave_create_store('t', 'e', 'r', 2, path => 'regress_change/t');
INSERT INTO t VALUES ('a', '[[1,0]]');
COMMIT;
SELECT contents('t');
BEGIN;
SELECT lateweave_drop_store('t');
SELECT to_regclass('t') IS NULL;
ROLLBACK;
SELECT contents('t');
CREATE VIEW of_t AS SELECT id FROM t;
SELECT attempt($$SELECT lateweave_drop_store('t')$$);
DROP VIEW of_t;
\set command 'echo mine > lateweave/regress_change/t/other.txt'
COPY shell FROM PROGRAM :'command';
SELECT lateweave_drop_store('t');
SELECT to_regclass('t') IS NULL, array_agg(name) FROM pg_ls_dir('lateweave/regress_change/t') name;
SELECT lateweave_drop_store('"Other.One"."A ''store''"');
SELECT lateweave_drop_store(NULL);
SELECT attempt($$SELECT lateweave_drop_store('shell')$$);

-- Statements

INSERT INTO s VALUES ('a', '[[1,0]]'), ('b', '[[0,1],[1,0]]') RETURNING id, token_count(tokens);
INSERT INTO s (tokens, id) SELECT '[[0,1]]', 'a';
SELECT contents('s');
SELECT attempt($$INSERT INTO s VALUES ('c', '[[1,0]]'), ('c', '[[0,1]]')$$, '"c"');
SELECT attempt($$INSERT INTO s VALUES ('c', NULL)$$);
SELECT attempt($$INSERT INTO s (tokens) VALUES ('[[1,0]]')$$);
SELECT attempt($$INSERT INTO s VALUES ('c', '[[1,0]]'), ('d', '[[1,1]]')$$, '"d"');
SELECT attempt($$INSERT INTO s VALUES ('c', '[[1,0,0]]')$$);
SELECT contents('s');
-- a table may declare one column, or no dimension
CREATE FOREIGN TABLE ids_only (id text) SERVER lateweave OPTIONS (store 'regress_change/s', writable 'true');
CREATE FOREIGN TABLE tokens_only (tokens multivector) SERVER lateweave OPTIONS (store 'regress_change/s', writable 'true');
SELECT attempt($$INSERT INTO ids_only VALUES ('c')$$);
SELECT attempt($$UPDATE ids_only SET id = 'c'$$);
SELECT attempt($$DELETE FROM tokens_only$$);
DELETE FROM ids_only WHERE id = 'a' RETURNING *;
INSERT INTO s VALUES ('a', '[[0,1]]');
DROP FOREIGN TABLE ids_only, tokens_only;
CREATE FOREIGN TABLE any_dimension (id text, tokens multivector) SERVER lateweave OPTIONS (store 'regress_change/s', writable 'true');
SELECT attempt($$INSERT INTO any_dimension VALUES ('c', '[[1,0,0]]')$$, '3');
DROP FOREIGN TABLE any_dimension;
-- ON CONFLICT
INSERT INTO s VALUES ('b', '[[1,0]]'), ('c', '[[1,0]]'), ('c', '[[0,1]]') ON CONFLICT DO NOTHING RETURNING id;
SELECT contents('s');
SELECT attempt($$INSERT INTO s VALUES ('b', '[[1,0]]') ON CONFLICT (id) DO UPDATE SET tokens = excluded.tokens$$);
-- UPDATE
UPDATE s SET tokens = '[[1,0]]' WHERE id = 'a' RETURNING *;
UPDATE s SET id = 'd' WHERE id = 'a' RETURNING *;
UPDATE s SET id = CASE id WHEN 'b' THEN 'c' WHEN 'c' THEN 'd' WHEN 'd' THEN 'b' END;
SELECT contents('s');
UPDATE s SET id = chr(ascii(id) + 1);
SELECT contents('s');
UPDATE s SET id = chr(ascii(id) - 1);
SELECT contents('s');
SELECT attempt($$UPDATE s SET id = 'x'$$, '"x"');
SELECT attempt($$UPDATE s SET tokens = NULL WHERE id = 'b'$$);
SELECT attempt($$UPDATE s SET tokens = v FROM (VALUES ('[[1,0]]'::multivector), ('[[0,1]]')) t(v) WHERE id = 'b'$$, '"b"');
UPDATE s SET tokens = '[[1,0]]' WHERE id = 'absent';
-- DELETE
DELETE FROM s WHERE id = 'b' RETURNING id, tokens;
DELETE FROM s USING (VALUES ('c'), ('c'), ('absent')) t(x) WHERE id = x RETURNING id, x;
DELETE FROM s WHERE id = 'absent' RETURNING id;
SELECT contents('s');
-- what a statement adds it does not see
INSERT INTO s SELECT id || id, tokens FROM s RETURNING id;
SELECT contents('s');
WITH gone AS (DELETE FROM s WHERE id = 'd' RETURNING *) INSERT INTO s SELECT 'e', tokens FROM gone;
SELECT contents('s');
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO s VALUES ('a', '[[1,0]]');
EXPLAIN (COSTS OFF) DELETE FROM s WHERE id = 'a';
-- COPY
COPY s FROM stdin;
f	[[1,0]]
g	[[0,1]]
\.
COPY s (tokens, id) FROM stdin (FORMAT csv);
"[[1,0],[0,1]]",f
\.
\set VERBOSITY sqlstate
COPY s FROM stdin;
h	[[1,0]]
i	[[0,1]]
h	[[0,1]]
\.
COPY s (id) FROM stdin;
h
\.
\set VERBOSITY default
SELECT contents('s');
COPY (SELECT * FROM s ORDER BY id COLLATE "C") TO stdout;
TRUNCATE s;
SELECT contents('s');
TRUNCATE s;
-- defaults, generated columns, views, partitions
ALTER FOREIGN TABLE s ALTER id SET DEFAULT 'by default';
INSERT INTO s (tokens) VALUES ('[[1,0]]') RETURNING id;
ALTER FOREIGN TABLE s ALTER id DROP DEFAULT;
CREATE VIEW some_s AS SELECT * FROM s WHERE id < 'm' WITH CHECK OPTION;
INSERT INTO some_s VALUES ('a', '[[1,0]]');
SELECT attempt($$INSERT INTO some_s VALUES ('z', '[[1,0]]')$$);
SELECT attempt($$UPDATE some_s SET id = 'z' WHERE id = 'a'$$);
SELECT contents('s');
DROP VIEW some_s;
CREATE TABLE parts (id text, tokens multivector) PARTITION BY RANGE (id);
CREATE TABLE parts_local PARTITION OF parts FOR VALUES FROM (MINVALUE) TO ('m');
CREATE FOREIGN TABLE parts_store PARTITION OF parts FOR VALUES FROM ('m') TO (MAXVALUE)
	SERVER lateweave OPTIONS (store 'regress_change/s', writable 'true');
INSERT INTO parts VALUES ('n', '[[1,0]]'), ('b', '[[1,0]]') RETURNING tableoid::regclass, id;
COPY parts FROM stdin;
o	[[1,0]]
c	[[1,0]]
\.
UPDATE parts SET id = 'p' WHERE id = 'c' RETURNING tableoid::regclass, id;
UPDATE parts SET tokens = '[[0,1]]' WHERE id IN ('b', 'p') RETURNING tableoid::regclass, *;
DELETE FROM parts WHERE id IN ('b', 'o') RETURNING tableoid::regclass, *;
SELECT contents('s');
DROP TABLE parts;
TRUNCATE s;
CREATE FOREIGN TABLE generated (id text, tokens multivector GENERATED ALWAYS AS ('[[1,0]]') STORED)
	SERVER lateweave OPTIONS (store 'regress_change/s', writable 'true');
INSERT INTO generated VALUES ('a') RETURNING *;
DROP FOREIGN TABLE generated;
-- triggers on the foreign table
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % %: % %', TG_WHEN, TG_OP, TG_LEVEL, OLD, NEW;
	IF NEW.id = 'never' THEN
		RETURN NULL;
	ELSIF NEW.id = 'other' THEN
		NEW.id = 'another';
	END IF;
	RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE OR DELETE ON s FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER after_row AFTER INSERT OR UPDATE OR DELETE ON s FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO s VALUES ('never', '[[1,0]]'), ('other', '[[1,0]]') RETURNING id;
COPY s FROM stdin;
b	[[0,1]]
never	[[0,1]]
\.
UPDATE s SET id = 'other' WHERE id = 'b';
DELETE FROM s;
SELECT contents('s');
DROP FUNCTION tell CASCADE;

-- Functions

SELECT lateweave_append('s', '{b,a}'::text[], ARRAY['[[1,0]]', '[[0,1],[1,0]]']::multivector[]);
SELECT lateweave_append('s', ARRAY[12, -3]::bigint[], ARRAY['[[1,0]]', '[[0,1]]']::multivector[]);
SELECT lateweave_append('s', ARRAY['6ECD8C99-4036-403D-BF84-CF8400F67836']::uuid[], ARRAY['[[1,0]]']::multivector[]);
SELECT lateweave_append('s', '{}'::text[], '{}'::multivector[]);
SELECT lateweave_append(NULL, '{a}'::text[], '{}'), lateweave_append('s', NULL::text[], '{}'), lateweave_append('s', '{a}'::text[], NULL);
SELECT contents('s');
SELECT attempt($$SELECT lateweave_append('s', '{a,b}'::text[], ARRAY['[[1,0]]']::multivector[])$$);
SELECT attempt($$SELECT lateweave_append('s', '{x,NULL}'::text[], ARRAY['[[1,0]]', '[[1,0]]']::multivector[])$$);
SELECT attempt($$SELECT lateweave_append('s', '{x,y}'::text[], ARRAY['[[1,0]]', NULL]::multivector[])$$);
SELECT attempt($$SELECT lateweave_append('s', '{{x,y}}'::text[], ARRAY['[[1,0]]', '[[1,0]]']::multivector[])$$);
SELECT attempt($$SELECT lateweave_append('s', '{x,y,x}'::text[], ARRAY['[[1,0]]', '[[1,0]]', '[[1,0]]']::multivector[])$$, '"x"');
SELECT attempt($$SELECT lateweave_append('s', '{x,y}'::text[], ARRAY['[[1,0]]', '[[1,0,0]]']::multivector[])$$, '3');
SELECT attempt($$SELECT lateweave_append('shell', '{x}'::text[], ARRAY['[[1,0]]']::multivector[])$$);
SELECT lateweave_delete('s', '{b,absent,b}'::text[]), lateweave_delete('s', '{12}'::bigint[]),
	lateweave_delete('s', ARRAY['6ecd8c99-4036-403d-bf84-cf8400f67836']::uuid[]), lateweave_delete('s', '{}'::text[]);
SELECT lateweave_delete(NULL, '{a}'::text[]), lateweave_delete('s', NULL::text[]);
SELECT attempt($$SELECT lateweave_delete('s', '{a,NULL}'::text[])$$);
SELECT contents('s');
SELECT commit AS commit_before FROM lateweave_sources WHERE source = 's'::regclass \gset
SELECT lateweave_commit('s');
SELECT commit - :commit_before FROM lateweave_sources WHERE source = 's'::regclass;
SELECT lateweave_commit(NULL);

-- Transactions

BEGIN;
INSERT INTO s VALUES ('x', '[[1,0]]');
SELECT contents('s'), lateweave_score('s', '[[1,0]]', 'x');
SAVEPOINT one;
DELETE FROM s WHERE id = 'x' RETURNING id;
SELECT lateweave_append('s', '{x,y}'::text[], ARRAY['[[0,1]]', '[[0,1]]']::multivector[]);
SAVEPOINT two;
TRUNCATE s;
INSERT INTO s VALUES ('z', '[[1,0]]');
SELECT contents('s'), count(*) FROM lateweave_search('s', '[[1,0]]', 10);
ROLLBACK TO two;
SELECT contents('s');
RELEASE one;
SELECT contents('s');
-- a cursor keeps what it began with
DECLARE early CURSOR FOR SELECT id FROM s ORDER BY id COLLATE "C";
FETCH 1 FROM early;
DELETE FROM s WHERE id = 'y';
INSERT INTO s VALUES ('b', '[[1,0]]');
FETCH ALL FROM early;
SELECT attempt('TRUNCATE s');
CLOSE early;
COMMIT;
SELECT contents('s');
BEGIN;
DELETE FROM s;
SELECT contents('s');
ROLLBACK;
SELECT contents('s');
DO $$
BEGIN
	DELETE FROM s WHERE id = 'x';
	BEGIN
		INSERT INTO s VALUES ('w', '[[1,0]]');
		RAISE 'no';
	EXCEPTION WHEN raise_exception THEN
		INSERT INTO s VALUES ('v', '[[1,0]]');
	END;
	RAISE NOTICE '%', contents('s');
END $$;
SELECT contents('s');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM s;
INSERT INTO s VALUES ('x', '[[1,0]]');
SELECT contents('s');
COMMIT;
PREPARE put(text, multivector) AS INSERT INTO s VALUES ($1, $2);
EXECUTE put('p', '[[1,0]]');
EXECUTE put('p', '[[0,1]]');
DEALLOCATE put;
SELECT contents('s');
BEGIN;
INSERT INTO s VALUES ('q', '[[1,0]]');
ALTER FOREIGN TABLE s OPTIONS (SET writable 'false');
SELECT attempt($$INSERT INTO s VALUES ('r', '[[1,0]]')$$);
COMMIT;
SELECT contents('s');
-- what cannot be changed
SELECT attempt($$INSERT INTO s VALUES ('r', '[[1,0]]')$$);
SELECT attempt($$UPDATE s SET id = 'r'$$);
SELECT attempt($$DELETE FROM s$$);
SELECT attempt($$TRUNCATE s$$);
SELECT attempt($$SELECT lateweave_append('s', '{r}'::text[], ARRAY['[[1,0]]']::multivector[])$$);
SELECT attempt($$SELECT lateweave_delete('s', '{p}'::text[])$$);
SELECT attempt($$SELECT lateweave_drop_store('s')$$);
\set VERBOSITY sqlstate
COPY s FROM stdin;
r	[[1,0]]
\.
\set VERBOSITY default
SELECT is_insertable_into FROM information_schema.tables WHERE table_name = 's';
ALTER FOREIGN TABLE s OPTIONS (SET writable 'true');
SELECT is_insertable_into FROM information_schema.tables WHERE table_name = 's';
BEGIN READ ONLY;
SELECT lateweave_delete('s', '{p}'::text[]);
ROLLBACK;
BEGIN READ ONLY;
SELECT lateweave_create_store('t', 'e', 'r', 2);
ROLLBACK;
BEGIN;
ALTER FOREIGN TABLE s OPTIONS (DROP store_id);
SELECT attempt($$INSERT INTO s VALUES ('r', '[[1,0]]')$$, '"s"');
SELECT attempt($$SELECT lateweave_delete('s', '{a}'::text[])$$, '"s"');
ROLLBACK;

-- Keeping a store in step with a table

TRUNCATE s;
CREATE TABLE docs (number int, name text, tokens multivector);
CREATE TRIGGER sync AFTER INSERT OR UPDATE OR DELETE ON docs FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'name', 'tokens');
CREATE TRIGGER sync_truncate AFTER TRUNCATE ON docs FOR EACH STATEMENT EXECUTE FUNCTION lateweave_sync('public.s', 'name', 'tokens');
INSERT INTO docs VALUES (1, 'a', '[[1,0]]'), (2, 'b', '[[0,1]]'), (3, 'c', NULL), (4, NULL, NULL);
SELECT contents('s');
UPDATE docs SET tokens = '[[0,1]]' WHERE name = 'c';
UPDATE docs SET tokens = NULL WHERE name = 'b';
SELECT contents('s');
UPDATE docs SET name = 'd' WHERE name = 'a';
UPDATE docs SET name = 'e' WHERE name = 'b';
SELECT contents('s');
-- chains of ids, in either order
UPDATE docs SET tokens = '[[1,0],[1,0]]', name = 'x' WHERE number = 2;
UPDATE docs SET name = CASE name WHEN 'd' THEN 'x' WHEN 'x' THEN 'c' ELSE 'd' END WHERE tokens IS NOT NULL;
SELECT contents('s'), string_agg(name || tokens::text, ' ' ORDER BY name COLLATE "C") = contents('s') AS same FROM docs;
UPDATE docs SET name = CASE name WHEN 'd' THEN 'c' WHEN 'x' THEN 'd' ELSE 'x' END WHERE tokens IS NOT NULL;
SELECT contents('s'), string_agg(name || tokens::text, ' ' ORDER BY name COLLATE "C") = contents('s') AS same FROM docs;
UPDATE docs SET name = CASE number WHEN 4 THEN 'x' WHEN 2 THEN 'y' ELSE name END, tokens = coalesce(tokens, '[[0,1]]');
SELECT contents('s'), string_agg(name || tokens::text, ' ' ORDER BY name COLLATE "C") = contents('s') AS same FROM docs;
-- nothing is staged for what changes neither column
SELECT commit AS commit_before FROM lateweave_sources WHERE source = 's'::regclass \gset
UPDATE docs SET number = number + 10;
UPDATE docs SET name = name, tokens = tokens;
UPDATE docs SET tokens = tokens::text::multivector;
DELETE FROM docs WHERE tokens IS NULL;
SELECT commit - :commit_before FROM lateweave_sources WHERE source = 's'::regclass;
-- neither for vectors that are stored out of line
BEGIN;
INSERT INTO docs SELECT 1, 'long', multivector_agg(ARRAY[1, 0]) FROM generate_series(1, 1000);
COMMIT;
SELECT commit AS commit_before FROM lateweave_sources WHERE source = 's'::regclass \gset
UPDATE docs SET number = 2 WHERE name = 'long';
UPDATE docs SET tokens = (tokens::real[])::multivector WHERE name = 'long';
SELECT commit - :commit_before, (SELECT token_count(tokens) FROM s WHERE id = 'long') FROM lateweave_sources WHERE source = 's'::regclass;
UPDATE docs SET name = 'longer' WHERE name = 'long';
SELECT id, token_count(tokens) FROM s WHERE id LIKE 'long%';
DELETE FROM docs WHERE number < 10;
-- a savepoint, and an error that names the document
BEGIN;
SAVEPOINT one;
DELETE FROM docs;
SELECT contents('s');
ROLLBACK TO one;
SELECT contents('s');
COMMIT;
SELECT attempt($$INSERT INTO docs VALUES (1, 'bad', '[[1,1]]')$$, '"bad"');
SELECT attempt($$INSERT INTO docs VALUES (1, NULL, '[[1,0]]')$$);
SELECT * FROM lateweave_diff('s', 'docs', 'name');
TRUNCATE docs;
SELECT contents('s');
-- the last wins
INSERT INTO docs VALUES (1, 'a', '[[1,0]]'), (2, 'a', '[[0,1]]');
SELECT contents('s');
-- a deferred trigger fires for all statements at once
CREATE TABLE deferred (name text PRIMARY KEY DEFERRABLE, tokens multivector);
CREATE CONSTRAINT TRIGGER sync AFTER INSERT OR UPDATE OR DELETE ON deferred DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'name', 'tokens');
TRUNCATE docs;
BEGIN;
INSERT INTO deferred VALUES ('m', '[[1,0]]'), ('n', '[[0,1]]');
UPDATE deferred SET name = CASE name WHEN 'm' THEN 'n' ELSE 'm' END;
UPDATE deferred SET name = 'o' WHERE name = 'n';
DELETE FROM deferred WHERE name = 'm';
INSERT INTO deferred VALUES ('p', '[[0,1]]');
SELECT contents('s');
COMMIT;
SELECT contents('s');
DROP TABLE deferred;
TRUNCATE s;
-- other types
CREATE DOMAIN code AS char(3);
CREATE TABLE others (number int, big bigint, uid uuid, code code, flag bool, one real[], two double precision[], text text);
CREATE TRIGGER one AFTER INSERT OR UPDATE OR DELETE ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'number', 'one');
CREATE TRIGGER two AFTER INSERT OR UPDATE OR DELETE ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'code', 'two');
CREATE TRIGGER uid AFTER INSERT OR UPDATE OR DELETE ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'uid', 'one');
CREATE TRIGGER flag AFTER INSERT OR UPDATE OR DELETE ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'flag', 'two');
CREATE TRIGGER big AFTER INSERT OR UPDATE OR DELETE ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'big', 'two');
INSERT INTO others VALUES (1, -9223372036854775808, '6ECD8C99-4036-403D-BF84-CF8400F67836', 'x', true, '{1,0}', '{{1,0},{0,1}}');
SELECT contents('s');
SELECT attempt($$UPDATE others SET one = '{{{1,0}}}'$$);
UPDATE others SET number = 2, two = NULL;
SELECT contents('s');
DELETE FROM others;
SELECT contents('s');
DROP TRIGGER one ON others;
DROP TRIGGER two ON others;
DROP TRIGGER uid ON others;
DROP TRIGGER flag ON others;
DROP TRIGGER big ON others;
-- partitions, and another foreign table
CREATE TABLE split (part int, name text, tokens multivector) PARTITION BY LIST (part);
CREATE TABLE split_1 PARTITION OF split FOR VALUES IN (1);
CREATE TABLE split_2 (tokens multivector, part int, name text);
ALTER TABLE split ATTACH PARTITION split_2 FOR VALUES IN (2);
CREATE TRIGGER sync AFTER INSERT OR UPDATE OR DELETE ON split FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'name', 'tokens');
INSERT INTO split VALUES (1, 'a', '[[1,0]]'), (2, 'b', '[[0,1]]');
UPDATE split SET part = 3 - part;
SELECT contents('s');
UPDATE split SET part = 1, name = name || name;
SELECT contents('s');
DROP TABLE split;
SELECT lateweave_create_store('mirror', 'e', 'r', 2, 'float32');
CREATE TRIGGER sync AFTER INSERT OR UPDATE OR DELETE ON s FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.mirror', 'id', 'tokens');
INSERT INTO s VALUES ('c', '[[1,0],[0,1]]');
UPDATE s SET id = CASE id WHEN 'aa' THEN 'bb' WHEN 'bb' THEN 'c' ELSE 'aa' END;
SELECT contents('s'), contents('mirror') = contents('s') AS same;
UPDATE s SET id = CASE id WHEN 'bb' THEN 'aa' WHEN 'c' THEN 'bb' ELSE 'c' END;
SELECT contents('s'), contents('mirror') = contents('s') AS same;
DROP TRIGGER sync ON s;
SELECT lateweave_drop_store('mirror');
TRUNCATE s;
-- columns come and go
ALTER TABLE docs DROP COLUMN number;
ALTER TABLE docs ADD COLUMN late int;
INSERT INTO docs VALUES ('after', '[[1,0]]', 1);
SELECT contents('s');
ALTER TABLE docs RENAME COLUMN tokens TO vectors;
SELECT attempt($$UPDATE docs SET vectors = NULL$$);
ALTER TABLE docs RENAME COLUMN vectors TO tokens;
-- the source is found by its name
ALTER FOREIGN TABLE s RENAME TO moved;
SELECT attempt($$UPDATE docs SET tokens = NULL$$);
ALTER FOREIGN TABLE moved RENAME TO s;
UPDATE docs SET tokens = NULL;
SELECT contents('s');
-- wrong uses
SELECT attempt($$SELECT lateweave_sync()$$);
CREATE FUNCTION misuse(definition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE 'CREATE TRIGGER misuse ' || definition;
	result = attempt($i$INSERT INTO others VALUES (1, 1, NULL, 'x', true, '{1,0}', '{1,0}', '[[1,0]]')$i$);
	DROP TRIGGER misuse ON others;
	RETURN result;
END $$;
SELECT misuse($$BEFORE INSERT ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'number', 'one')$$);
SELECT misuse($$AFTER INSERT ON others FOR EACH STATEMENT EXECUTE FUNCTION lateweave_sync('public.s', 'number', 'one')$$);
SELECT misuse($$AFTER INSERT ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'number')$$);
SELECT misuse($$AFTER INSERT ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'none', 'one')$$);
SELECT misuse($$AFTER INSERT ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'ctid', 'one')$$);
SELECT misuse($$AFTER INSERT ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'number', 'text')$$);
SELECT misuse($$AFTER INSERT ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.none', 'number', 'one')$$);
SELECT misuse($$AFTER INSERT ON others FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.docs', 'number', 'one')$$);

-- Looking after stores

SELECT lateweave_create_store('checked', 'e', 'r', 2, path => 'regress_change/checked');
INSERT INTO checked VALUES ('1', '[[1,0]]'), ('2', '[[0,1]]');
DELETE FROM checked WHERE id = '2';
SELECT regexp_replace(object, '.*/', '') AS object, check_name, ok, detail FROM lateweave_verify('checked');
\set command 'truncate -s 100 lateweave/regress_change/checked/segment-0.codes.npy'
COPY shell FROM PROGRAM :'command';
SELECT regexp_replace(object, '.*/', '') AS object, check_name, ok FROM lateweave_verify('checked') WHERE NOT ok;
ALTER FOREIGN TABLE checked OPTIONS (SET store_id 'x', SET store 'regress_change/s');
SELECT check_name, ok, count(*) > 0 FROM lateweave_verify('checked') WHERE NOT ok GROUP BY 1, 2;
DROP FOREIGN TABLE checked;
SELECT * FROM lateweave_verify(NULL);
INSERT INTO s VALUES ('1', '[[1,0]]'), ('x', '[[1,0]]');
CREATE TABLE numbers (n int);
INSERT INTO numbers VALUES (1), (2), (NULL), (3);
SELECT * FROM lateweave_diff('s', 'numbers', 'n') ORDER BY id;
SELECT * FROM lateweave_diff('s', 's', 'id');
SELECT * FROM lateweave_diff('s', NULL, 'n');
SELECT attempt($$SELECT * FROM lateweave_diff('s', 'numbers', 'none')$$);
SELECT attempt($$SELECT * FROM lateweave_diff('numbers', 's', 'id')$$);
SELECT lateweave_snapshot('s', 'regress_change/copy') = commit AS same FROM lateweave_sources WHERE source = 's'::regclass;
CREATE FOREIGN TABLE copy (id text, tokens multivector) SERVER lateweave OPTIONS (store 'regress_change/copy');
INSERT INTO s VALUES ('later', '[[1,0]]');
SELECT contents('copy');
DROP FOREIGN TABLE copy;
SELECT attempt($$SELECT lateweave_snapshot('s', 'regress_change/copy')$$);
SELECT attempt($$SELECT lateweave_snapshot('s', 'regress_change/none/copy')$$);
SELECT attempt($$SELECT lateweave_snapshot('s', 'regress_change/out/tmp/copy')$$);
SELECT lateweave_snapshot('s', NULL) IS NULL;

-- Privileges

CREATE ROLE regress_lw_owner;
CREATE ROLE regress_lw_writer;
CREATE ROLE regress_lw_reader;
GRANT CREATE ON SCHEMA public TO regress_lw_owner;
SET ROLE regress_lw_owner;
SELECT lateweave_create_store('mine', 'e', 'r', 2, 'float32');
INSERT INTO mine VALUES ('a', '[[1,0]]');
SELECT attempt($$SELECT lateweave_create_store('t', 'e', 'r', 2, path => 'regress_change/t')$$);
SELECT attempt($$SELECT lateweave_create_store('"Other.One".t', 'e', 'r', 2)$$);
-- another table over it would need more
SELECT attempt(format('CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store %L)', option_value))
	~ '^42501' FROM pg_foreign_table, pg_options_to_table(ftoptions) WHERE ftrelid = 'mine'::regclass AND option_name = 'store';
SELECT attempt($$ALTER FOREIGN TABLE mine OPTIONS (SET store 'regress_change/s')$$);
SELECT attempt($$SELECT lateweave_snapshot('mine', 'regress_change/t')$$);
SELECT attempt($$SELECT lateweave_commit('s')$$);
SELECT attempt($$SELECT lateweave_drop_store('s')$$);
SELECT lateweave_commit('mine');
CREATE TABLE mine_docs (id int, tokens multivector);
CREATE TRIGGER sync AFTER INSERT OR UPDATE OR DELETE ON mine_docs FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.mine', 'id', 'tokens');
CREATE TRIGGER sync_truncate AFTER TRUNCATE ON mine_docs FOR EACH STATEMENT EXECUTE FUNCTION lateweave_sync('public.mine', 'id', 'tokens');
GRANT ALL ON mine_docs TO regress_lw_writer;
GRANT INSERT, DELETE ON mine TO regress_lw_writer;
GRANT SELECT ON mine TO regress_lw_reader;
SET ROLE regress_lw_writer;
SELECT attempt('SELECT * FROM mine');
SELECT lateweave_append('mine', '{b}'::text[], ARRAY['[[1,0]]']::multivector[]), lateweave_delete('mine', '{a}'::text[]);
INSERT INTO mine VALUES ('c', '[[1,0]]');
SELECT attempt($$INSERT INTO mine VALUES ('d', '[[1,0]]') RETURNING id$$);
SELECT attempt($$UPDATE mine SET id = 'd'$$);
SELECT attempt('TRUNCATE mine');
SELECT attempt($$SELECT lateweave_commit('mine')$$);
SELECT attempt($$SELECT lateweave_drop_store('mine')$$);
SELECT attempt($$SELECT lateweave_diff('mine', 'mine_docs', 'id')$$);
INSERT INTO mine_docs VALUES (1, '[[1,0]]');
UPDATE mine_docs SET id = 2;
SELECT attempt('TRUNCATE mine_docs');
RESET ROLE;
REVOKE DELETE ON mine FROM regress_lw_writer;
SET ROLE regress_lw_writer;
SELECT attempt($$INSERT INTO mine_docs VALUES (3, '[[1,0]]')$$);
SELECT attempt($$SELECT lateweave_delete('mine', '{b}'::text[])$$);
SET ROLE regress_lw_reader;
SELECT contents('mine');
SELECT attempt($$INSERT INTO mine VALUES ('d', '[[1,0]]')$$);
SELECT attempt($$DELETE FROM mine$$);
SELECT attempt($$SELECT lateweave_append('mine', '{b}'::text[], ARRAY['[[1,0]]']::multivector[])$$);
SELECT attempt($$SELECT lateweave_delete('mine', '{b}'::text[])$$);
SELECT attempt($$SELECT lateweave_snapshot('mine', 'regress_change/t')$$);
SELECT attempt($$SELECT * FROM lateweave_diff('mine', 'mine_docs', 'id')$$);
SET ROLE regress_lw_owner;
DROP TABLE mine_docs;
SELECT lateweave_drop_store('mine');
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM regress_lw_owner;
DROP ROLE regress_lw_owner, regress_lw_writer, regress_lw_reader;

SELECT lateweave_drop_store('s');
DROP TABLE docs, others, numbers, shell;
DROP DOMAIN code;
DROP SCHEMA "Other.One";
DROP FUNCTION attempt, contents, misuse;
SELECT name FROM pg_ls_dir('lateweave/regress_change') name ORDER BY name;
CREATE TEMP TABLE shell (line text);
\set command 'rm -rf lateweave/regress_change'
COPY shell FROM PROGRAM :'command';

/*
 * Compaction; changes that are pending are settled by themselves.
 */
SELECT lateweave_create_store('many', 'e', 'r', 2, normalized => false) IS NOT NULL AS made;
SELECT lateweave_append('many', ARRAY['a', 'b'], ARRAY['[[1,0]]', '[[0,1]]']::multivector[]);
SELECT lateweave_append('many', ARRAY['b', 'c'], ARRAY['[[0,2]]', '[[1,1],[2,2]]']::multivector[]);
SELECT lateweave_delete('many', ARRAY['a', 'x']);
SELECT documents, tokens, segments_before, segments_after, bytes_reclaimed > 0 AS reclaimed FROM lateweave_compact('many');
SELECT * FROM lateweave_compact('many');
SELECT id, tokens FROM many ORDER BY id;
SELECT documents, tokens, segments, deleted FROM lateweave_sources WHERE source = 'many'::regclass;
SELECT count(*) FROM lateweave_verify('many') WHERE NOT ok;
BEGIN;
INSERT INTO many VALUES ('d', '[[3,3]]');
SELECT lateweave_compact('many');
ROLLBACK;
SELECT lateweave_settle('many', 'publish'), lateweave_settle('many', 'discard');
SELECT lateweave_settle('many', 'forget');
SELECT lateweave_compact(NULL), lateweave_settle('many', NULL);
\set VERBOSITY terse
SET lateweave.fault = 'nowhere:kill';
\set VERBOSITY default
SELECT lateweave_drop_store('many');

/*
 * Many calls in a transaction are one segment, few are one each.
 */
SELECT lateweave_create_store('calls', 'e', 'r', 2, normalized => false) IS NOT NULL AS made;
BEGIN;
SELECT count(lateweave_append('calls', ARRAY['few' || i], ARRAY['[[1,0]]']::multivector[])) FROM generate_series(1, 3) i;
COMMIT;
SELECT documents, segments FROM lateweave_sources WHERE source = 'calls'::regclass;
BEGIN;
SELECT count(lateweave_append('calls', ARRAY['many' || i % 30], ARRAY[multivector(ARRAY[ARRAY[i, 0]]::real[])])) FROM generate_series(1, 40) i;
SELECT count(*) FROM calls;
COMMIT;
SELECT documents, segments FROM lateweave_sources WHERE source = 'calls'::regclass;
SELECT id, tokens FROM calls WHERE id IN ('many0', 'many10', 'many11') ORDER BY id;

/*
 * Changes and looks at them in turns, with some taken back; a cursor sees what was there when it was declared.
 */
BEGIN;
DO $$
DECLARE
	n int;
BEGIN
	FOR i IN 1 .. 100 LOOP
		BEGIN
			INSERT INTO calls VALUES ('turn' || i, '[[1,1]]') ON CONFLICT DO NOTHING;
			DELETE FROM calls WHERE id = 'turn' || i / 2;
			IF i % 7 = 0 THEN
				TRUNCATE calls;
				PERFORM 1 / 0;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
			INSERT INTO calls VALUES ('late' || i, '[[1,1]]');
		END;
		SELECT count(*) INTO n FROM calls WHERE id = 'turn' || i;
		IF n <> (i % 7 <> 0)::int THEN
			RAISE 'turn % has %', i, n;
		END IF;
	END LOOP;
END $$;
SELECT count(*), count(*) FILTER (WHERE id LIKE 'turn%') AS turns, count(*) FILTER (WHERE id LIKE 'late%') AS late FROM calls;
SELECT lateweave_append('calls', '{x}'::text[], ARRAY['[[1,0]]']::multivector[]);
SELECT lateweave_append('calls', '{y}'::text[], ARRAY['[[2,0]]']::multivector[]);
SELECT id, tokens FROM calls WHERE id IN ('x', 'y') ORDER BY id;
SELECT lateweave_append('calls', '{y}'::text[], ARRAY['[[3,0]]']::multivector[]);
SELECT id, tokens FROM calls WHERE id IN ('x', 'y') ORDER BY id;
DECLARE before CURSOR FOR SELECT i, (SELECT count(*) FROM lateweave_fetch('calls', ARRAY[i])) FROM unnest('{turn100,new}'::text[]) i;
INSERT INTO calls VALUES ('new', '[[1,1]]');
DELETE FROM calls WHERE id = 'turn100';
SELECT count(*) FROM calls;
FETCH ALL FROM before;
SELECT count(*) FROM calls;
COMMIT;
SELECT count(*) FROM calls;
SELECT lateweave_drop_store('calls');

/*
 * The same of changes that go to files.
 */
SELECT lateweave_create_store('loads', 'e', 'r', 4096, 'float32', normalized => false) IS NOT NULL AS made;
CREATE TEMP TABLE load AS SELECT multivector_agg(v) AS tokens
	FROM (SELECT array_agg((d % 7)::real) AS v FROM generate_series(1, 100) t, generate_series(1, 4096) d GROUP BY t) v;
BEGIN;
INSERT INTO loads SELECT 'a' || i, tokens FROM load, generate_series(1, 7) i;
DECLARE before CURSOR FOR SELECT i, (SELECT count(*) FROM lateweave_fetch('loads', ARRAY[i])) FROM unnest('{a1,a7,b1}'::text[]) i;
INSERT INTO loads SELECT 'b' || i, tokens FROM load, generate_series(1, 7) i;
FETCH ALL FROM before;
DO $$ BEGIN FOR i IN 1 .. 15 LOOP INSERT INTO loads SELECT 'c' || i, tokens FROM load; END LOOP; END $$;
DECLARE after CURSOR FOR SELECT i, (SELECT count(*) FROM lateweave_fetch('loads', ARRAY[i])) FROM unnest('{b7,c1,c15,d1}'::text[]) i;
INSERT INTO loads SELECT 'd' || i, tokens FROM load, generate_series(1, 12) i;
SAVEPOINT one;
INSERT INTO loads SELECT 'e' || i, tokens FROM load, generate_series(1, 12) i;
ROLLBACK TO one;
INSERT INTO loads SELECT 'c' || i, tokens FROM load, generate_series(11, 20) i;
SELECT left(id, 1) AS command, count(*) FROM loads GROUP BY 1 ORDER BY 1;
FETCH ALL FROM after;
COMMIT;
SELECT left(id, 1) AS command, count(*) FROM loads GROUP BY 1 ORDER BY 1;
SELECT lateweave_drop_store('loads');
