-- Casts from pgvector's types, where pgvector is installed on the server.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lateweave;
RESET client_min_messages;

SELECT lateweave_enable_pgvector();
CREATE ROLE regress_lateweave_pgvector;
SET ROLE regress_lateweave_pgvector;
SELECT lateweave_enable_pgvector();
RESET ROLE;
DROP ROLE regress_lateweave_pgvector;
SELECT count(*) = 0 AS missing FROM pg_available_extensions WHERE name = 'vector' \gset
\if :missing
\quit
\endif

CREATE SCHEMA "pg Vector";
CREATE EXTENSION vector SCHEMA "pg Vector";
SELECT lateweave_enable_pgvector();
SELECT lateweave_enable_pgvector();
SET search_path = public, "pg Vector";
SELECT castsource::regtype, castcontext, castfunc::regprocedure, obj_description(oid, 'pg_cast') IS NOT NULL AS described
FROM pg_cast WHERE casttarget = 'multivector'::regtype
AND castsource IN ('vector'::regtype, 'vector[]'::regtype, 'halfvec'::regtype, 'halfvec[]'::regtype)
ORDER BY castsource::regtype::text COLLATE "C";

SELECT '[1,2,0.1]'::vector::multivector, ARRAY['[1,2]', '[3,4]']::vector[]::multivector,
	'[1,-2,0.1]'::halfvec::multivector, ARRAY['[1,2]', '[3,4]']::halfvec[]::multivector;
-- every half is exactly what pgvector takes it for
SELECT count(*), count(*) FILTER (WHERE h::multivector::real[] = ARRAY[h::vector::real[]]) AS same
FROM (SELECT ARRAY[(1 + i / 1024.0) * 2 ^ e, -i * 2.0 ^ -24]::real[]::halfvec AS h
	FROM generate_series(0, 1023) i, generate_series(-14, 15) e) s;
CREATE TEMP TABLE stored (v vector(2000), a vector[], m multivector(2000));
INSERT INTO stored (v) SELECT ARRAY(SELECT sin(i)::real FROM generate_series(1, 2000) i);
UPDATE stored SET m = v, a = ARRAY[v, v];
SELECT m::real[] = ARRAY[v::real[]] AS one, a::multivector::real[] = ARRAY[v::real[], v::real[]] AS two FROM stored;

\set VERBOSITY sqlstate
SELECT '{}'::vector[]::multivector;
SELECT ARRAY[['[1,2]', '[3,4]']]::vector[]::multivector;
SELECT ARRAY['[1,2]', NULL]::vector[]::multivector;
\set VERBOSITY default
SELECT ARRAY['[1,2]', '[3,4]', '[5]']::vector[]::multivector;

-- a store follows columns of these types
SET client_min_messages = warning;
SELECT lateweave_create_store('public.pgvector_store', 'e', 'r', 2, 'float32');
CREATE TABLE docs (id int, one vector, many halfvec[]);
CREATE TRIGGER one AFTER INSERT OR UPDATE OR DELETE ON docs
	FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.pgvector_store', 'id', 'one');
INSERT INTO docs VALUES (1, '[1,0]', ARRAY['[1,0]', '[0,1]']::halfvec[]), (2, NULL, ARRAY['[0,1]']::halfvec[]);
SELECT * FROM public.pgvector_store;
DROP TRIGGER one ON docs;
CREATE TRIGGER many AFTER INSERT OR UPDATE OR DELETE ON docs
	FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.pgvector_store', 'id', 'many');
UPDATE docs SET id = id + 10;
SELECT * FROM public.pgvector_store ORDER BY id;
SELECT lateweave_append('public.pgvector_store', array_agg(id::bigint), array_agg(many::multivector)) FROM docs;
SELECT lateweave_drop_store('public.pgvector_store');
DROP TABLE docs;
RESET client_min_messages;

-- what was dropped is made again
SET client_min_messages = warning;
DROP CAST (vector[] AS multivector);
RESET client_min_messages;
SELECT lateweave_enable_pgvector();
SELECT ARRAY['[1,2]', '[3,4]']::vector[]::multivector;

SET client_min_messages = warning;
DROP TABLE stored;
DROP SCHEMA "pg Vector" CASCADE;
RESET search_path;
SELECT castsource::regtype FROM pg_cast WHERE casttarget = 'multivector'::regtype ORDER BY castsource::regtype::text COLLATE "C";
