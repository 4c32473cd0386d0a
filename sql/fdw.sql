-- A vector store as a foreign table.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lateweave;
RESET client_min_messages;

-- stores of our own to read and to damage, under lateweave.directory
\getenv golden LATEWEAVE_GOLDEN
\set copy ' && cp -R ' :golden /stores
\set command 'rm -rf lateweave/regress && mkdir -p lateweave/regress/none lateweave/regress/cut && cd lateweave/regress'
\set command :command :copy '/f32-segments/store segments' :copy '/i8-d7-unit/store scale' :copy '/f32-d7/store nan'
\set command :command :copy '/f32-empty/store empty' :copy '/ids-nul/store nul && chmod -R u+w .'
\set command :command ' && ln -s ' :golden '/stores/f32-d7/store link && echo x > cut/manifest.json'
CREATE TEMP TABLE shell (line text);
COPY shell FROM PROGRAM :'command';

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
	RETURN regexp_replace(concat_ws(E'\n', SQLSTATE || ': ' || SQLERRM, nullif(detail, ''), nullif(hint, '')),
						  '"/[^"]*/(lateweave"|regress)', '".../\1', 'g');
END $$;

-- the documents that the scans of a statement read
CREATE FUNCTION documents_read(command text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || command INTO plan;
	RETURN jsonb_path_query_array(plan, 'strict $.**."Documents Read"');
END $$;

-- one property of a plan's uppermost node
CREATE FUNCTION property(command text, name text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON) ' || command INTO plan;
	RETURN plan -> 0 -> 'Plan' -> name;
END $$;

-- Options

SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress/segments', size '1')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress/segments', min_commit '-1')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress/segments', writable 'maybe')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text OPTIONS (name 'x')) SERVER lateweave OPTIONS (store 'regress/segments')$$);
SELECT attempt($$CREATE SERVER s FOREIGN DATA WRAPPER lateweave OPTIONS (store 'regress/segments')$$);
SELECT attempt($$ALTER FOREIGN DATA WRAPPER lateweave OPTIONS (store 'regress/segments')$$);
SELECT attempt($$CREATE USER MAPPING FOR CURRENT_USER SERVER lateweave OPTIONS (store 'regress/segments')$$);

-- Paths

SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store '')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress/../regress/segments')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress//segments')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress/link')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress/missing')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress/none')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress/cut')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress/cut/manifest.json')$$);
SELECT count(*) FROM pg_foreign_table WHERE ftoptions::text LIKE '%regress/%';

-- Which store it is

CREATE FOREIGN TABLE segments (id text NOT NULL, tokens multivector) SERVER lateweave OPTIONS (store 'regress/segments');
CREATE SCHEMA "Other.One";
CREATE TABLE "Other.One".parts (id text, tokens multivector) PARTITION BY LIST (id);
CREATE FOREIGN TABLE "Other.One"."a 'part'" PARTITION OF "Other.One".parts DEFAULT
	SERVER lateweave OPTIONS (store 'regress/empty');
SELECT ftrelid::regclass, ftoptions FROM pg_foreign_table WHERE ftoptions::text LIKE '%regress/%'
	ORDER BY ftrelid::regclass::text COLLATE "C";
SELECT count(*) FROM "Other.One".parts;

-- an absolute path
\set store :golden /stores/f32-d7/store
CREATE FOREIGN TABLE absolute (id text) SERVER lateweave OPTIONS (store :'store');
SELECT count(*) FROM absolute;
DROP FOREIGN TABLE absolute;

-- another store, and none, are tolerated by a restore, and refused when used
\set VERBOSITY sqlstate
CREATE FOREIGN TABLE wrong (id text) SERVER lateweave
	OPTIONS (store 'regress/segments', store_id '0123456789abcdef0123456789abcdef');
CREATE FOREIGN TABLE missing (id text, tokens multivector) SERVER lateweave OPTIONS (store 'regress/missing', store_id 'x');
CREATE FOREIGN TABLE cut (id text) SERVER lateweave OPTIONS (store 'regress/cut', store_id 'x');
CREATE FOREIGN TABLE old (id text) SERVER lateweave
	OPTIONS (store 'regress/segments', store_id '278836f7ab58e6bfc8ab3d3c444bb2a7', min_commit '11');
\set VERBOSITY default
SELECT attempt('SELECT * FROM wrong');
SELECT attempt('SELECT * FROM missing');
SELECT attempt('SELECT * FROM cut');
SELECT attempt('SELECT * FROM old');
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM missing WHERE id = 'a';
ALTER FOREIGN TABLE wrong OPTIONS (SET store_id '278836f7ab58e6bfc8ab3d3c444bb2a7');
ALTER FOREIGN TABLE old OPTIONS (SET min_commit '10');
SELECT (SELECT count(*) FROM wrong), (SELECT count(*) FROM old);
ALTER FOREIGN TABLE missing ADD COLUMN more int;
DROP FOREIGN TABLE wrong, missing, cut, old;
-- where event triggers are off
ALTER EVENT TRIGGER lateweave_record_store_id DISABLE;
CREATE FOREIGN TABLE unprotected (id text) SERVER lateweave OPTIONS (store 'regress/segments');
ALTER EVENT TRIGGER lateweave_record_store_id ENABLE;
SELECT ftoptions, (SELECT count(*) FROM unprotected) FROM pg_foreign_table WHERE ftrelid = 'unprotected'::regclass;
DROP FOREIGN TABLE unprotected;
-- tables of other wrappers are left alone
CREATE FOREIGN DATA WRAPPER regress_dummy;
CREATE SERVER regress_dummy FOREIGN DATA WRAPPER regress_dummy;
CREATE FOREIGN TABLE dummy (id text) SERVER regress_dummy OPTIONS (store 'regress/segments');
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'dummy'::regclass;
DROP FOREIGN DATA WRAPPER regress_dummy CASCADE;

-- Rows

SELECT id, token_count(tokens), dimension(tokens) FROM segments;
SELECT id, tokens FROM segments WHERE token_count(tokens) = 1;
SELECT segments FROM segments WHERE id = 'doc-5';
SELECT tableoid::regclass, ctid FROM segments WHERE id = 'doc-5';
SELECT id FROM segments WHERE id = 'doc-5' FOR UPDATE;
-- int8
CREATE FOREIGN TABLE unit (tokens multivector, id text) SERVER lateweave OPTIONS (store 'regress/scale');
SELECT id, tokens FROM unit WHERE id = 'doc-11';
SELECT count(*), count(DISTINCT tokens), sum(token_count(tokens)) FROM unit;
-- any subset of the columns, dropped ones too
CREATE FOREIGN TABLE subset (tokens multivector(9), gone int, id text) SERVER lateweave OPTIONS (store 'regress/segments');
ALTER FOREIGN TABLE subset DROP COLUMN gone;
SELECT id, token_count(tokens) FROM subset LIMIT 2;
ALTER FOREIGN TABLE subset DROP COLUMN id;
SELECT token_count(tokens) FROM subset LIMIT 2;
ALTER FOREIGN TABLE subset DROP COLUMN tokens;
SELECT count(*) FROM subset;
SELECT FROM subset LIMIT 2;
DROP FOREIGN TABLE subset;
-- ids with U+0000 are left out
CREATE FOREIGN TABLE nul (id text, tokens multivector) SERVER lateweave OPTIONS (store 'regress/nul');
SELECT id, token_count(tokens) FROM nul;
DROP FOREIGN TABLE nul;

-- columns that a store does not have
CREATE FOREIGN TABLE columns (name text, id text) SERVER lateweave OPTIONS (store 'regress/segments');
SELECT attempt('SELECT id FROM columns');
ALTER FOREIGN TABLE columns DROP COLUMN name;
ALTER FOREIGN TABLE columns ALTER COLUMN id TYPE varchar;
SELECT attempt('SELECT id FROM columns');
ALTER FOREIGN TABLE columns ALTER COLUMN id TYPE text, ADD COLUMN tokens real[];
SELECT attempt('SELECT id FROM columns');
ALTER FOREIGN TABLE columns ALTER COLUMN tokens TYPE multivector(8);
SELECT attempt('SELECT id FROM columns');
ALTER FOREIGN TABLE columns ALTER COLUMN tokens TYPE multivector(9);
SELECT attempt('SELECT id FROM columns');
DROP FOREIGN TABLE columns;

-- Tokens are read only when they are asked for, so damage hurts only those who ask

CREATE FOREIGN TABLE nan (id text, tokens multivector) SERVER lateweave OPTIONS (store 'regress/nan');
SELECT count(*) FROM nan;
SELECT count(*) FROM unit;
-- the last float of doc-19 becomes NaN, the first scale of doc-0 zero
\set patch 'bs=4 conv=notrunc status=none'
\set command 'cd lateweave/regress && printf "\\000\\000\\300\\177" | dd of=nan/segment-0.vectors.npy seek=2236 ' :patch
\set command :command ' && printf "\\000\\000\\000\\000" | dd of=scale/segment-0.scales.npy seek=32 ' :patch
COPY shell FROM PROGRAM :'command';
SELECT (SELECT count(*) FROM nan WHERE id IS NOT NULL), (SELECT count(*) FROM unit WHERE id > '');
SELECT attempt('SELECT tokens FROM nan');
SELECT attempt('SELECT tokens FROM unit');
SELECT attempt('SELECT nan FROM nan');
SELECT attempt('SELECT id FROM nan WHERE token_count(tokens) > 0');
SELECT attempt('SELECT tokens FROM nan WHERE id = ''doc-19''');
SELECT attempt('SELECT nan FROM nan FOR UPDATE');
-- and a file that is cut under us
\set command 'truncate -s 128 lateweave/regress/nan/segment-0.vectors.npy'
COPY shell FROM PROGRAM :'command';
SELECT attempt('SELECT tokens FROM nan WHERE id = ''doc-19''');
SELECT attempt('SELECT tokens FROM nan WHERE id = ''doc-19''');
DROP FOREIGN TABLE nan, unit;

-- Look-ups

EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM segments WHERE id = 'doc-1';
EXPLAIN (COSTS OFF) SELECT id FROM segments WHERE 'doc-1' = id AND token_count(tokens) > 1;
EXPLAIN (COSTS OFF) SELECT id FROM segments WHERE id = ANY ('{doc-1,doc-3}');
EXPLAIN (COSTS OFF) SELECT id FROM segments WHERE id IN ('doc-1', 'doc-3') AND id = 'doc-3';
EXPLAIN (COSTS OFF) SELECT id FROM segments WHERE id = 'doc-1'::varchar;
EXPLAIN (COSTS OFF) SELECT id FROM segments WHERE id COLLATE "C" = 'doc-1';
SELECT documents_read($$SELECT id FROM segments WHERE 'doc-1' = id$$);
SELECT documents_read($$SELECT id FROM segments WHERE id = ANY ('{doc-1,doc-3}')$$);
SELECT documents_read($$SELECT id FROM segments$$);
SELECT id FROM segments WHERE 'doc-1' = id AND token_count(tokens) > 1;
SELECT id FROM segments WHERE 'doc-1' = id AND token_count(tokens) > 100;
SELECT id FROM segments WHERE id = ANY ('{doc-25,doc-1,NULL,never,doc-1,doc-4,doc-0}');
SELECT id FROM segments WHERE id = 'doc-4';			-- deleted
SELECT id FROM segments WHERE id = NULL;
SELECT id FROM segments WHERE id = (SELECT NULL::text);
SELECT id FROM segments WHERE id = ANY (NULL::text[]);
SELECT id FROM segments WHERE id = ANY ('{}');
SELECT id FROM segments WHERE id = ANY ('{{doc-1,doc-2},{doc-3,x}}');
SELECT id FROM segments WHERE id = 'doc-' || 5;
SELECT id FROM segments WHERE id = (SELECT min('doc-' || i) FROM generate_series(5, 6) i);
-- these are filters
EXPLAIN (COSTS OFF) SELECT id FROM segments WHERE id <> ALL ('{doc-1,doc-3}') AND id > 'doc-1' AND id = 'doc-' || (random() * 10)::int;
EXPLAIN (COSTS OFF) SELECT id FROM segments WHERE id = token_count(tokens)::text;
EXPLAIN (COSTS OFF) SELECT id FROM segments WHERE id = 'a'::name;
-- equality under a nondeterministic collation is no equality of bytes
DO $$
DECLARE
	line text;
	found bigint;
BEGIN
	BEGIN
		CREATE COLLATION regress_ignore_case (provider = icu, deterministic = false, locale = 'und-u-ks-level2');
	EXCEPTION WHEN OTHERS THEN
		RETURN;					-- a server without ICU
	END;
	FOR line IN EXPLAIN SELECT id FROM segments WHERE id = 'DOC-5' COLLATE regress_ignore_case LOOP
		IF line LIKE '%Lookup%' THEN
			RAISE 'look-up under a nondeterministic collation: %', line;
		END IF;
	END LOOP;
	SELECT count(*) INTO found FROM segments WHERE id = 'DOC-5' COLLATE regress_ignore_case;
	IF found <> 1 THEN
		RAISE 'expected doc-5, found % rows', found;
	END IF;
	DROP COLLATION regress_ignore_case;
END $$;
-- parameters
SET plan_cache_mode = force_generic_plan;
PREPARE one(text) AS SELECT id, token_count(tokens) FROM segments WHERE id = $1;
PREPARE many(text[]) AS SELECT id, token_count(tokens) FROM segments WHERE id = ANY ($1);
EXPLAIN (COSTS OFF) EXECUTE one('doc-1');
EXECUTE one('doc-1');
EXECUTE one(NULL);
EXECUTE one('doc-5');
EXPLAIN (COSTS OFF) EXECUTE many('{doc-1}');
EXECUTE many('{doc-9,doc-2}');
EXECUTE many('{doc-2}');
RESET plan_cache_mode;
DEALLOCATE ALL;
-- joins: the other table's rows name the documents
CREATE TABLE docs (docid varchar(20), number bigint);
INSERT INTO docs SELECT 'doc-' || i, i FROM generate_series(0, 9) i;
ANALYZE docs;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT number, id FROM docs JOIN segments ON id = docid;
SELECT number, id FROM docs JOIN segments ON id = docid ORDER BY number;
SELECT documents_read('SELECT number, id FROM docs JOIN segments ON id = docid');
EXPLAIN (COSTS OFF) SELECT number, id FROM docs LEFT JOIN segments ON id = 'doc-' || number + 1 AND token_count(tokens) > 5;
SELECT number, id FROM docs LEFT JOIN segments ON id = 'doc-' || number + 1 AND token_count(tokens) > 5 ORDER BY number;
EXPLAIN (COSTS OFF) SELECT number, s.* FROM docs,
	LATERAL (SELECT id, token_count(tokens) FROM segments WHERE id = ANY (ARRAY[docid, 'doc-2'])) s WHERE number < 2;
SELECT number, s.* FROM docs,
	LATERAL (SELECT id, token_count(tokens) FROM segments WHERE id = ANY (ARRAY[docid, 'doc-2'])) s WHERE number < 2;
SELECT number, (SELECT count(*) FROM segments WHERE id = docid), (SELECT count(*) FROM segments WHERE number = 1)
	FROM docs WHERE number < 3 ORDER BY number;
SELECT a.id, b.id FROM segments a JOIN segments b ON a.id = b.id AND b.id = 'doc-1';
SELECT count(*) FROM segments a JOIN segments b ON token_count(a.tokens) < token_count(b.tokens);
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
EXPLAIN (COSTS OFF) SELECT count(*) FROM "Other.One".parts WHERE id = 'a';
-- a cursor, backwards too
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM segments;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH LAST FROM c;
COMMIT;

-- EXPLAIN

EXPLAIN (VERBOSE, COSTS OFF) SELECT id, tokens FROM segments;
SELECT name, property($$SELECT id FROM segments WHERE id = 'a'$$, name)
	FROM unnest('{Vector Store,Lookup,Encoding,Dimension,Commit,Segments}'::text[]) name;

-- Statistics

ANALYZE segments (id);
SELECT attname, null_frac, n_distinct FROM pg_stats WHERE tablename = 'segments' ORDER BY attname;
ANALYZE segments;
SELECT reltuples, relpages FROM pg_class WHERE oid = 'segments'::regclass;
SELECT attname, null_frac, n_distinct FROM pg_stats WHERE tablename = 'segments' ORDER BY attname;
ANALYZE "Other.One".parts;
-- the number of documents is known without them
CREATE FOREIGN TABLE fresh (id text, tokens multivector) SERVER lateweave OPTIONS (store 'regress/segments');
SELECT property('SELECT * FROM fresh', 'Plan Rows') AS everything,
	property($$SELECT * FROM fresh WHERE id = 'a'$$, 'Plan Rows') AS one,
	property($$SELECT * FROM fresh WHERE id = ANY ('{a,b,c}')$$, 'Plan Rows') AS three,
	property('SELECT id FROM fresh', 'Plan Width') < property('SELECT * FROM fresh', 'Plan Width') AS wider;
DROP FOREIGN TABLE fresh;

-- IMPORT FOREIGN SCHEMA

CREATE SCHEMA imported;
\set long n123456789012345678901234567890123456789012345678901234567890123
\set command 'cd lateweave/regress && rm -r nan && mkdir ' :long ' && cp empty/manifest.json ' :long
\set command :command :copy '/f32-d7/store Seven'
COPY shell FROM PROGRAM :'command';
\set VERBOSITY sqlstate
IMPORT FOREIGN SCHEMA regress FROM SERVER lateweave INTO imported;
\set VERBOSITY default
SELECT ftrelid::regclass, ftoptions FROM pg_foreign_table WHERE ftrelid::regclass::text LIKE 'imported.%' ORDER BY ftrelid::regclass::text COLLATE "C";
SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
	WHERE attrelid::regclass::text IN ('imported.empty', 'imported."Seven"') AND attnum > 0 ORDER BY attrelid::regclass::text COLLATE "C", attnum;
SELECT count(*) FROM imported."Seven";
DROP SCHEMA imported CASCADE;
CREATE SCHEMA imported;
IMPORT FOREIGN SCHEMA regress LIMIT TO (segments, empty) FROM SERVER lateweave INTO imported;
IMPORT FOREIGN SCHEMA x EXCEPT (segments, empty, cut, scale)
	FROM SERVER lateweave INTO imported OPTIONS (directory 'regress');
SELECT relname FROM pg_class WHERE relnamespace = 'imported'::regnamespace ORDER BY relname;
SELECT attempt($$IMPORT FOREIGN SCHEMA x FROM SERVER lateweave INTO imported OPTIONS (directory 'regress/empty')$$);
SELECT attempt($$IMPORT FOREIGN SCHEMA x FROM SERVER lateweave INTO imported OPTIONS (path 'regress')$$);
SELECT attempt($$IMPORT FOREIGN SCHEMA n12345678901234567890123456789012345678901234567890123456789012 FROM SERVER lateweave INTO imported$$);
SELECT attempt($$IMPORT FOREIGN SCHEMA ".." FROM SERVER lateweave INTO imported$$);
SELECT attempt($$IMPORT FOREIGN SCHEMA link FROM SERVER lateweave INTO imported OPTIONS (directory 'regress/link')$$);
SELECT attempt($$IMPORT FOREIGN SCHEMA missing FROM SERVER lateweave INTO imported OPTIONS (directory 'regress/missing')$$);
DROP SCHEMA imported CASCADE;

-- Privileges

CREATE ROLE regress_lw_plain;
CREATE ROLE regress_lw_files IN ROLE pg_read_server_files;
GRANT CREATE ON SCHEMA public TO regress_lw_plain, regress_lw_files;
SET ROLE regress_lw_plain;
SELECT attempt('SELECT id FROM segments');
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress/segments')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store '/')$$);
SELECT attempt($$IMPORT FOREIGN SCHEMA regress FROM SERVER lateweave INTO public$$);
RESET ROLE;
GRANT SELECT (id) ON segments TO regress_lw_plain;
SET ROLE regress_lw_plain;
SELECT id FROM segments WHERE id = 'doc-1';
SELECT attempt('SELECT tokens FROM segments');
SET ROLE regress_lw_files;
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'regress/segments', writable 'true')$$);
CREATE FOREIGN TABLE mine (id text) SERVER lateweave OPTIONS (store 'regress/segments');
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'mine'::regclass;
SELECT count(*) FROM mine;
SELECT attempt($$ALTER FOREIGN TABLE mine OPTIONS (ADD writable 'true')$$);
RESET ROLE;
REVOKE pg_read_server_files FROM regress_lw_files;
SET ROLE regress_lw_files;
SELECT count(*) FROM mine;
SELECT attempt($$ALTER FOREIGN TABLE mine OPTIONS (SET store 'regress/empty')$$);
RESET ROLE;
SELECT attempt($$INSERT INTO segments VALUES ('x', '[[1]]')$$);

DROP FOREIGN TABLE mine, segments;
DROP SCHEMA "Other.One" CASCADE;
DROP TABLE docs;
REVOKE ALL ON SCHEMA public FROM regress_lw_plain, regress_lw_files;
DROP ROLE regress_lw_plain, regress_lw_files;
DROP FUNCTION attempt, documents_read, property;
\set command 'rm -rf lateweave/regress'
COPY shell FROM PROGRAM :'command';
