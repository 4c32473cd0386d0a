-- The type multivector: forms, casts, functions, order.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lateweave;
RESET client_min_messages;

-- what a statement is refused with
CREATE FUNCTION pg_temp.refused(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text;
	message text;
	detail text;
BEGIN
	EXECUTE statement;
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
		message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN concat_ws(' | ', state, message, nullif(detail, ''));
END $$;

--
-- Text form
--
SELECT '[[0.1,0.2],[0.3,0.4]]'::multivector;
SELECT E' [ [ 1 ,\t-2.5e0 ] ,\n [ +3 , 0x1p2 ] ] '::multivector;
SELECT '[[0,-0,1e-45,3.4028235e38,-3.4028235e38,0.1,16777216,1e-5,100000]]'::multivector;
SELECT '[[7]]'::maxsim_query, '[[1,2],[3,4]]'::maxsim_query;
-- every value reads back the same bits
SELECT count(*) AS values, count(*) FILTER (WHERE float4send(a) = float4send(b)) AS same
FROM (SELECT ARRAY(SELECT (sin(i) * 10 ^ (i % 70 - 35))::real FROM generate_series(1, 5000) i) AS v) s,
	unnest(v, (v::multivector::text::multivector)::real[]) u(a, b);

\pset format unaligned
SELECT input, pg_temp.refused(format('SELECT %L::multivector', input)) AS refused
FROM unnest(ARRAY[
	'', ' ', 'x', '[', '[[', '[]', '[[]]', '[ [ ] ]', '[1,2]', '[[1,2]', '[[1,2]]]', '[[1,2]] x', '{{1,2}}',
	'[[1,2],]', '[[1,2],[]]', '[[1,2],3]', '[[1,2][3,4]]', '[[1,2,]]', '[[,1]]', '[[1 2]]', '[[1,2x]]', '[[1,two]]',
	'[[1,2],[3]]', '[[1,2],[3,4],[5,6,7]]', '[[1,NaN]]', '[[1,2],[inf,4]]', '[[1,2],[3,-Infinity]]',
	'[[1,1e39]]', '[[1],[-1e999]]', '[[1],[2],[1e-60]]', '[[1,"2"]]', '[[1,NULL]]', '[[1,ñandú]]',
	'[[1,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]]', '[[1,--1]]', '[[[1,2]]]'])
	WITH ORDINALITY AS i(input, n)
ORDER BY n;
SELECT pg_temp.refused($$SELECT '[[1,2],[3]]'::maxsim_query$$);
\pset format aligned

--
-- Binary form
--
SELECT multivector_send('[[1,2,3],[-4,0.5,0]]'), maxsim_query_send('[[1]]');

CREATE TEMP TABLE copied (id integer, m multivector, q maxsim_query);
INSERT INTO copied VALUES (1, '[[0.1,0.2],[0.3,0.4]]', '[[1,2]]'), (2, NULL, NULL), (3, '[[-0]]', '[[1e-45]]');
\copy copied TO PROGRAM 'cat > "$PG_ABS_BUILDDIR/results/multivector.bin"' (FORMAT binary)
\copy copied FROM PROGRAM 'cat "$PG_ABS_BUILDDIR/results/multivector.bin"' (FORMAT binary)
SELECT * FROM copied ORDER BY id;

-- bytes from elsewhere, as the only field of the only row of a binary COPY that the server's shell prints
CREATE FUNCTION pg_temp.received(type text, field bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	file bytea := '\x5047434f50590aff0d0a00' || int4send(0) || int4send(0) || int2send(1::smallint)
		|| int4send(length(field)) || field || int2send(-1::smallint);
	printed text;
	result text;
BEGIN
	SELECT string_agg('\' || get_byte(file, i) / 64 || get_byte(file, i) / 8 % 8 || get_byte(file, i) % 8, '' ORDER BY i)
		INTO printed FROM generate_series(0, length(file) - 1) i;
	EXECUTE format('CREATE TEMP TABLE received (value %s)', type);
	result := pg_temp.refused(format('COPY received FROM PROGRAM %L (FORMAT binary)', 'printf ''' || printed || ''''));
	IF result = 'accepted' THEN
		SELECT value::text INTO result FROM received;
	END IF;
	DROP TABLE received;
	RETURN result;
END $$;
\pset format unaligned
SELECT what, pg_temp.received('multivector', field) FROM (VALUES
	('good', multivector_send('[[1,2],[3,4]]')),
	('empty', ''),
	('no dimension at all', int4send(2)),
	('no values', int4send(1) || int4send(1)),
	('zero tokens', int4send(0) || int4send(2)),
	('zero dimension', int4send(2) || int4send(0)),
	('negative', int4send(-1) || int4send(-1) || float4send(1)),
	('value missing', int4send(1) || int4send(2) || float4send(1)),
	('value too many', int4send(1) || int4send(1) || float4send(1) || float4send(1)),
	('byte too many', int4send(1) || int4send(1) || float4send(1) || '\x00'),
	('byte missing', int4send(1) || int4send(1) || '\x3f8000'),
	('huge', int4send(2147483647) || int4send(2147483647) || float4send(1)),
	('wraps to 4 bytes', int4send(1073741825) || int4send(1) || float4send(1)),
	('NaN', int4send(2) || int4send(2) || float4send(1) || float4send(1) || float4send(1) || float4send('NaN')),
	('infinity', int4send(2) || int4send(2) || float4send(1) || float4send(1) || float4send('-Infinity') || float4send(1))) v(what, field);
SELECT pg_temp.received('multivector(2)', multivector_send('[[1,2]]')), pg_temp.received('multivector(2)', multivector_send('[[1,2,3]]'));
SELECT pg_temp.received('maxsim_query', maxsim_query_send('[[1,2]]')), pg_temp.received('maxsim_query', int4send(0) || int4send(1));
\pset format aligned

--
-- Type modifier
--
CREATE TEMP TABLE fixed (id integer, m multivector(2));
SELECT format_type(atttypid, atttypmod), attstorage FROM pg_attribute
WHERE attrelid = 'fixed'::regclass AND attname = 'm';
INSERT INTO fixed VALUES (1, '[[1,2]]'), (2, '[[1,2],[3,4]]'), (3, ARRAY[5,6]::real[]), (4, ARRAY[[7,8]]::float8[]);
SELECT * FROM fixed ORDER BY id;
\pset format unaligned
SELECT statement, pg_temp.refused(statement) AS refused FROM unnest(ARRAY[
	$$INSERT INTO fixed VALUES (5, '[[1,2,3]]')$$,
	$$INSERT INTO fixed VALUES (5, '[[1,2,3]]'::multivector)$$,
	$$INSERT INTO fixed VALUES (5, ARRAY[1,2,3]::real[])$$,
	$$SELECT '[[1,2,3]]'::multivector::multivector(2)$$,
	$$SELECT '[[1,2]]'::multivector(2)$$,
	$$SELECT NULL::multivector(2)$$,
	$$SELECT ARRAY[1,2,3]::float8[]::multivector(128)$$,
	$$SELECT NULL::multivector(0)$$,
	$$SELECT NULL::multivector(-1)$$,
	$$SELECT NULL::multivector(2147483647)$$,
	$$SELECT NULL::multivector(1,2)$$,
	$$SELECT NULL::multivector(x)$$]) statement;

--
-- Casts
--
SELECT ARRAY[1,2]::real[]::multivector, ARRAY[[1,2],[3,4]]::real[]::multivector,
	'[5:6][-1:0]={{1,2},{3,4}}'::real[]::multivector, multivector(ARRAY[1.5]::real[]);
SELECT ARRAY[0.1,1e-60]::float8[]::multivector, ARRAY[[0.1],[0.2]]::float8[]::multivector;
SELECT '[[1,2],[3,4]]'::multivector::real[], array_dims('[[1,2,3]]'::multivector::real[]), (ARRAY[0.1]::real[]::multivector)::real[] = ARRAY[[0.1]]::real[];
SELECT multivector_from_bytes('\x0000803f000000400000404000008040', 2), multivector_from_bytes('\x0000803f000000400000404000008040', 4),
	multivector_from_bytes('\x0000803f', 1), multivector_from_bytes(NULL, 1);
SELECT statement, pg_temp.refused(statement) AS refused FROM unnest(ARRAY[
	$$SELECT '{}'::real[]::multivector$$,
	$$SELECT '{}'::float8[]::multivector$$,
	$$SELECT '{{{1}}}'::real[]::multivector$$,
	$$SELECT '{{1,2},{3,NULL}}'::real[]::multivector$$,
	$$SELECT '{1,NULL}'::float8[]::multivector$$,
	$$SELECT '{1,NaN}'::real[]::multivector$$,
	$$SELECT '{{1,2},{Infinity,4}}'::real[]::multivector$$,
	$$SELECT '{{1},{2},{-Infinity}}'::float8[]::multivector$$,
	$$SELECT '{{1},{NaN}}'::float8[]::multivector$$,
	$$SELECT '{{1,2},{3,1e39}}'::float8[]::multivector$$,
	$$SELECT '{-3.5e38}'::float8[]::multivector$$,
	$$SELECT multivector_from_bytes('', 2)$$,
	$$SELECT multivector_from_bytes('\x0000803f', 0)$$,
	$$SELECT multivector_from_bytes('\x0000803f', -1)$$,
	$$SELECT multivector_from_bytes('\x0000803f', 2147483647)$$,
	$$SELECT multivector_from_bytes('\x0000803f00', 1)$$,
	$$SELECT multivector_from_bytes('\x0000803f0000803f0000803f', 2)$$,
	$$SELECT multivector_from_bytes('\x0000803f0000c07f', 1)$$,
	$$SELECT multivector_from_bytes('\x0000803f000080ff', 2)$$]) statement;
\pset format aligned
-- to arrays only when asked for, from arrays in assignments too
CREATE TEMP TABLE assigned (m multivector, r real[]);
INSERT INTO assigned (m) VALUES (ARRAY[1,2]::real[]);
INSERT INTO assigned (r) SELECT m FROM assigned;
SELECT token_count(ARRAY[1,2]::real[]);

--
-- Functions
--
SELECT dimension(m), token_count(m) FROM (VALUES ('[[1,2,3],[4,5,6]]'::multivector), ('[[1]]'), (NULL)) v(m);
SELECT l2_normalize('[[3,4],[0,0],[0,-2],[1e-30,0],[3e38,3e38]]'), l2_normalize('[[1e-45]]');
-- in double precision, then rounded once
SELECT l2_normalize(v::multivector)::real[] = ARRAY[ARRAY(SELECT (x / sqrt(n))::real FROM unnest(v) WITH ORDINALITY u(x, i) ORDER BY i)] AS exact
FROM (SELECT v, (SELECT sum(x::float8 * x) FROM unnest(v) x) AS n
	FROM (SELECT ARRAY(SELECT (i * 0.37)::real FROM generate_series(1, 8) i) AS v) a) b;

--
-- Aggregate
--
SELECT multivector_agg(v) FROM (VALUES (ARRAY[1,2]::real[]), (NULL), (ARRAY[3,4])) t(v);
SELECT multivector_agg(v ORDER BY n DESC) FROM (VALUES (1, ARRAY[1,2]::real[]), (2, '[5:6]={3,4}'), (3, ARRAY[5,6])) t(n, v);
SELECT multivector_agg(v) IS NULL AS none FROM (VALUES (ARRAY[1]::real[])) t(v) WHERE false;
SELECT multivector_agg(v) IS NULL AS only_nulls FROM (VALUES (NULL::real[]), (NULL)) t(v);
SELECT n, multivector_agg(ARRAY[n]::real[]) OVER (ORDER BY n), multivector_agg(ARRAY[n]::real[]) OVER (ORDER BY n ROWS 1 PRECEDING)
FROM generate_series(1, 4) n;
SELECT token_count(m), dimension(m), m::real[] = a AS same
FROM (SELECT multivector_agg(ARRAY[n, -n]::real[] ORDER BY n) AS m, array_agg(ARRAY[n, -n]::real[] ORDER BY n) AS a
	FROM generate_series(1, 20000) n) s;
SELECT n % 3 AS k, multivector_agg(ARRAY[n]::real[] ORDER BY n) FROM generate_series(1, 9) n GROUP BY 1 ORDER BY 1;
\pset format unaligned
SELECT list, pg_temp.refused(format('SELECT multivector_agg(v) FROM (VALUES %s) t(v)', list)) AS refused FROM unnest(ARRAY[
	$$('{1,2}'::real[]), ('{1,2,3}')$$,
	$$('{1,2}'::real[]), (NULL), ('{1}')$$,
	$$('{}'::real[])$$,
	$$('{1,2}'::real[]), ('{{3,4}}')$$,
	$$('{1,2}'::real[]), ('{3,NULL}')$$,
	$$('{1,2}'::real[]), ('{3,NaN}')$$,
	$$('{1}'::real[]), ('{2}'), ('{-Infinity}')$$]) list;
\pset format aligned

--
-- Order, equality, hash
--
SELECT m FROM (VALUES ('[[2]]'::multivector), ('[[1],[1]]'), ('[[1,2]]'), ('[[-1]]'), ('[[1,-3]]'), ('[[0]]'), ('[[1]]')) v(m) ORDER BY m;
SELECT a, b, a = b AS eq, a <> b AS ne, a < b AS lt, a <= b AS le, a > b AS gt, a >= b AS ge,
	multivector_cmp(a, b) AS cmp,
	multivector_hash(a) = multivector_hash(b) AS hash, multivector_hash_extended(a, 7) = multivector_hash_extended(b, 7) AS extended
FROM (VALUES ('[[0,1]]'::multivector, '[[-0,1]]'::multivector), ('[[1,2]]', '[[1],[2]]'), ('[[1,2]]', '[[1,3]]'), ('[[2]]', '[[1]]')) v(a, b);
SELECT multivector_hash_extended(m, 0) & 4294967295 = multivector_hash(m)::bigint & 4294967295 AS low_half,
	multivector_hash_extended(m, 1) <> multivector_hash_extended(m, 2) AS seeded
FROM (VALUES ('[[1,2],[-0,4]]'::multivector)) v(m);
SELECT amname, opcname, opcdefault, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE opcintype = 'multivector'::regtype AND amname IN ('btree', 'hash') ORDER BY 1;
SELECT oprname, oprcom::regoperator, oprnegate::regoperator, oprcanmerge, oprcanhash, oprrest, oprjoin FROM pg_operator
WHERE oprleft = 'multivector'::regtype AND oprright = 'multivector'::regtype ORDER BY oprname COLLATE "C";

CREATE TEMP TABLE many AS
	SELECT i AS id, ARRAY[i % 10, 0]::real[]::multivector AS m FROM generate_series(1, 200) i;
INSERT INTO many VALUES (201, '[[0,-0]]');
ANALYZE many;
SET enable_sort = off;
SELECT count(*) FROM (SELECT DISTINCT m FROM many) d;
SELECT m, count(*) FROM many GROUP BY m HAVING count(*) > 20;
RESET enable_sort;
SET enable_hashagg = off;
SELECT count(*) FROM (SELECT DISTINCT m FROM many) d;
SELECT m, count(*) FROM many GROUP BY m ORDER BY m DESC LIMIT 2;
RESET enable_hashagg;
SET enable_mergejoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM many a JOIN many b USING (m);
SELECT count(*) FROM many a JOIN many b USING (m);
RESET enable_mergejoin;
SET enable_hashjoin = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM many a JOIN many b USING (m);
SELECT count(*) FROM many a JOIN many b USING (m);
RESET enable_hashjoin;
RESET enable_nestloop;

CREATE TEMP TABLE once (m multivector UNIQUE);
INSERT INTO once VALUES ('[[1,0]]'), ('[[1],[0]]');
INSERT INTO once VALUES ('[[1,-0]]');
INSERT INTO once VALUES ('[[1,-0]]') ON CONFLICT DO NOTHING;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM once WHERE m > '[[1,0]]';
SELECT * FROM once WHERE m > '[[1,0]]';
RESET enable_seqscan;
CREATE TEMP TABLE parted (m multivector) PARTITION BY HASH (m);
CREATE TEMP TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TEMP TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT m FROM many;
SELECT (SELECT count(*) > 0 FROM parted_0) AS in_0, (SELECT count(*) > 0 FROM parted_1) AS in_1, count(*) FROM parted;

--
-- Large values: out of line, not compressed, equal and hashed all the same
--
CREATE TEMP TABLE large (id integer, m multivector(128), EXCLUDE USING hash (m WITH =));
INSERT INTO large SELECT t, multivector_agg(ARRAY(SELECT sin(t * i + j)::real FROM generate_series(1, 128) j) ORDER BY i)
	FROM generate_series(1, 3) t, generate_series(1, 50) i GROUP BY t;
SELECT id, dimension(m), token_count(m), pg_column_size(m), pg_column_compression(m), m = m::text::multivector AS same,
	m = l2_normalize(m) AS normal FROM large ORDER BY id;
SELECT pg_relation_size(reltoastrelid) > 3 * 25600 AS out_of_line FROM pg_class WHERE oid = 'large'::regclass;
SELECT count(*), count(DISTINCT m), count(*) FILTER (WHERE a.m = b.m) FROM large a JOIN large b USING (m);
\set VERBOSITY terse
INSERT INTO large SELECT id, m FROM large LIMIT 1;
CREATE INDEX ON large (m);
