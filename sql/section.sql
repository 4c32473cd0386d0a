-- Section files: a foreign table of chunks, what a file says of itself, and searches.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lateweave;
RESET client_min_messages;

-- files of our own to read and to damage, under lateweave.directory
\getenv golden LATEWEAVE_GOLDEN
\set copy ' && cp ' :golden /sections/
\set command 'rm -rf lateweave/regress_section && mkdir -p lateweave/regress_section/none && cd lateweave/regress_section'
\set command :command :copy 'everything.urna .' :copy 'spaces.urna .' :copy 'repeated-chunks.urna twins.urna' :copy 'spans-limits.urna limits.urna'
\set command :command :copy 'manifest-full.urna full.urna && chmod -R u+w . && echo x > bad.urna && ln -s ' :golden '/sections/graph.urna link.urna'
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

-- the chunks that the scans of a statement read
CREATE FUNCTION chunks_read(command text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || command INTO plan;
	RETURN jsonb_path_query_array(plan, 'strict $.**."Documents Read"');
END $$;

-- Options

SELECT attempt($$CREATE FOREIGN TABLE t (ordinal bigint) SERVER lateweave OPTIONS (section_file 'x', store 'y')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (ordinal bigint) SERVER lateweave OPTIONS (section_file 'x', writable 'true')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (id text) SERVER lateweave OPTIONS (store 'x', space 'y')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (ordinal bigint) SERVER lateweave OPTIONS (section_file '')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (ordinal bigint) SERVER lateweave OPTIONS (section_file '../x')$$);
SELECT attempt($$CREATE FOREIGN TABLE t (ordinal bigint) SERVER lateweave OPTIONS (section_file 'x', content_hash 'SHA256:00')$$);

-- Columns

CREATE FOREIGN TABLE kb (ordinal bigint, chunk_id text, canonical_text text, canonical_bytes bytea, source_uri text,
	byte_start bigint, byte_end numeric, citation text, embedding real[])
	SERVER lateweave OPTIONS (section_file 'regress_section/everything.urna');
\d kb
SELECT ordinal, chunk_id, canonical_text, source_uri, byte_start, byte_end, citation FROM kb WHERE ordinal < 2;
SELECT canonical_bytes = convert_to(canonical_text, 'UTF8') AS same, count(*) FROM kb GROUP BY 1;
SELECT array_ndims(embedding), array_length(embedding, 1), count(*) FROM kb GROUP BY 1, 2;
SELECT citation = (SELECT 'urna://' || content_hash FROM lateweave_section_info('kb')) || '/' || chunk_id AS whole, count(*)
	FROM kb GROUP BY 1;
CREATE FOREIGN TABLE wrong (id text) SERVER lateweave OPTIONS (section_file 'regress_section/everything.urna');
CREATE FOREIGN TABLE wrong_type (ordinal integer) SERVER lateweave OPTIONS (section_file 'regress_section/everything.urna');
SELECT attempt('SELECT * FROM wrong');
SELECT attempt('SELECT * FROM wrong_type');
CREATE FOREIGN TABLE vision (ordinal bigint, embedding real[]) SERVER lateweave
	OPTIONS (section_file 'regress_section/everything.urna', space 'vision');
CREATE FOREIGN TABLE nowhere (ordinal bigint, embedding real[]) SERVER lateweave
	OPTIONS (section_file 'regress_section/everything.urna', space 'none');
SELECT count(*) FROM kb JOIN vision USING (ordinal) WHERE kb.embedding <> vision.embedding;
SELECT count(ordinal) FROM nowhere;
SELECT attempt('SELECT embedding FROM nowhere');

-- spans beyond bigint
CREATE FOREIGN TABLE limits (ordinal bigint, byte_start numeric, byte_end numeric) SERVER lateweave
	OPTIONS (section_file 'regress_section/limits.urna');
CREATE FOREIGN TABLE limits_bigint (ordinal bigint, byte_end bigint) SERVER lateweave
	OPTIONS (section_file 'regress_section/limits.urna');
SELECT max(byte_start), max(byte_end) FROM limits;
SELECT attempt('SELECT byte_end FROM limits_bigint');
SELECT count(ordinal) FROM limits_bigint;

-- Lookups

EXPLAIN (COSTS OFF) SELECT citation FROM kb WHERE chunk_id = 'a';
EXPLAIN (COSTS OFF) SELECT citation FROM kb WHERE 3 = ordinal AND canonical_text <> '';
EXPLAIN (COSTS OFF) SELECT citation FROM kb WHERE ordinal = ANY ('{1,2}'::smallint[]);
EXPLAIN (COSTS OFF) SELECT citation FROM kb WHERE ordinal > 3 AND 5 >= ordinal;
EXPLAIN (VERBOSE, COSTS OFF) SELECT citation FROM kb;
SELECT chunks_read($$SELECT * FROM kb WHERE chunk_id = (SELECT chunk_id FROM kb WHERE ordinal = 5)$$);
SELECT chunks_read($$SELECT * FROM kb WHERE ordinal = ANY ('{3,5,5,64,-1,NULL}')$$);
SELECT chunks_read($$SELECT * FROM kb WHERE ordinal > 3::smallint AND ordinal <= 6 AND 5 >= ordinal$$);
SELECT chunks_read($$SELECT * FROM kb WHERE ordinal >= 60 AND ordinal < 9223372036854775807 AND ordinal > -9223372036854775808$$);
SELECT chunks_read($$SELECT * FROM kb WHERE ordinal <= 9223372036854775807 AND ordinal >= 62$$);
SELECT chunks_read($$SELECT * FROM kb WHERE ordinal > 9223372036854775807$$);
SELECT chunks_read($$SELECT * FROM kb WHERE ordinal < -1$$);
SELECT chunks_read($$SELECT * FROM kb WHERE ordinal > NULL::bigint$$);
SELECT chunks_read($$SELECT * FROM kb WHERE chunk_id = 'absent'$$);
SELECT array_agg(ordinal) FROM kb WHERE ordinal > 3 AND 5 >= ordinal;
SELECT array_agg(ordinal) FROM kb WHERE ordinal = ANY ('{5,3,5,64,-1,NULL}');
SELECT array_agg(kb.ordinal) FROM generate_series(62, 66) i, LATERAL (SELECT * FROM kb WHERE ordinal = i) kb;

-- ids that stand twice: every row
CREATE FOREIGN TABLE twins (ordinal bigint, chunk_id text) SERVER lateweave OPTIONS (section_file 'regress_section/twins.urna');
SELECT count(*), count(DISTINCT chunk_id) FROM twins;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*) FROM twins a JOIN twins b USING (chunk_id);
SELECT bool_and(n = m) FROM (SELECT chunk_id, count(*) AS n FROM twins GROUP BY 1) c,
	LATERAL (SELECT count(*) AS m FROM twins WHERE chunk_id = c.chunk_id) d;
SELECT bool_and(ordinal > before) FROM (SELECT ordinal, lag(ordinal) OVER () AS before FROM twins
	WHERE chunk_id = ANY (ARRAY(SELECT chunk_id FROM twins))) x;
RESET enable_hashjoin;
RESET enable_mergejoin;

ANALYZE kb;
SELECT reltuples FROM pg_class WHERE oid = 'kb'::regclass;
SELECT attname, null_frac, n_distinct FROM pg_stats WHERE tablename = 'kb' AND attname IN ('ordinal', 'chunk_id') ORDER BY 1;

-- Changes

SELECT attempt($$INSERT INTO kb (ordinal) VALUES (1)$$);
SELECT attempt($$UPDATE kb SET ordinal = 1$$);
SELECT attempt($$DELETE FROM kb$$);
SELECT attempt($$TRUNCATE kb$$);
SELECT attempt($$COPY kb (ordinal) FROM PROGRAM 'echo 1'$$);

-- What a file says of itself

SELECT file_hash, content_hash, bytes, documents, manifest ->> 'embedding_model' AS model FROM lateweave_section_info('kb');
SELECT * FROM lateweave_sections('kb');
SELECT * FROM lateweave_spaces('kb');
SELECT * FROM lateweave_blobs('kb');
SELECT lateweave_blob('kb', 0), lateweave_blob('kb', 1);
SELECT attempt($$SELECT lateweave_blob('kb', 2)$$);
SELECT attempt($$SELECT lateweave_blob('kb', 3)$$);
SELECT attempt($$SELECT lateweave_blob('kb', -1)$$);
SELECT check_name, ok, detail FROM lateweave_verify('kb');
\set VERBOSITY sqlstate
CREATE FOREIGN TABLE bad (ordinal bigint) SERVER lateweave OPTIONS (section_file 'regress_section/link.urna');
DROP FOREIGN TABLE bad;
CREATE FOREIGN TABLE bad (ordinal bigint) SERVER lateweave OPTIONS (section_file 'regress_section/bad.urna');
\set VERBOSITY default
SELECT check_name, ok, regexp_replace(detail, '"/.*/', '"') AS detail FROM lateweave_verify('bad');
SELECT attempt('SELECT * FROM bad');
SELECT source, kind, corpus, encoding, dimension, encoder, store_id, documents, segments, bytes, array_remove(notes, 'no shared view') AS notes,
	regexp_replace(error, '"/.*/', '"') AS error FROM lateweave_sources WHERE path LIKE '%regress_section%' ORDER BY source::text;
\set VERBOSITY sqlstate
SELECT source, ordinal, canonical_text, source_uri, byte_start, byte_end
	FROM lateweave_cite((SELECT replace(citation, 'urna://sha256:', 'urna://') || '/x' FROM kb WHERE ordinal = 1))
	WHERE source = 'kb'::regclass;
SELECT attempt($$SELECT lateweave_cite('urna:/a/b')$$);
SELECT attempt($$SELECT lateweave_cite('urna://a')$$);
\set VERBOSITY default
SET client_min_messages = error;
SELECT count(*) FROM lateweave_cite('urna://' || repeat('0', 64) || '/sha256:a');
RESET client_min_messages;

-- what takes a section file takes no store, and the reverse
\set store :golden /stores/f32-d7/store
CREATE FOREIGN TABLE store (id text, tokens multivector) SERVER lateweave OPTIONS (store :'store');
SELECT attempt($$SELECT lateweave_section_info('store')$$);
SELECT attempt($$SELECT lateweave_section_search('store', '[[1]]', 1)$$);
SELECT attempt($$SELECT lateweave_as_of('kb')$$);
SELECT attempt($$SELECT lateweave_fetch('store', '{a}'::text[], 'vision')$$);
SELECT attempt($$SELECT lateweave_sections('shell')$$);

-- Scores

CREATE TEMP TABLE q AS SELECT embedding::multivector AS q FROM kb WHERE ordinal = 7;
SELECT s.score, s.rank, kb.ordinal FROM q, lateweave_search('kb', q, 3) s JOIN kb ON chunk_id = id ORDER BY rank;
SELECT bool_and(score = lateweave_score('kb', q, id)), bool_and(score = -(id @# maxsim_query('kb', q))), count(*)
	FROM q, lateweave_search('kb', q, 100);
SELECT r.score, r.rank, kb.ordinal FROM q, lateweave_rerank('kb', q, ARRAY(SELECT chunk_id FROM kb WHERE ordinal < 20) || 'absent'::text, 3) r
	JOIN kb ON chunk_id = id ORDER BY rank;
SELECT e.* FROM q, kb, lateweave_explain('kb', q, chunk_id) e WHERE ordinal = 7;
SELECT ordinal, tokens = embedding::multivector AS same FROM kb, lateweave_fetch('kb', ARRAY(SELECT chunk_id FROM kb WHERE ordinal < 3)) WHERE id = chunk_id;
SELECT vision.ordinal, tokens = vision.embedding::multivector AS same FROM kb JOIN vision USING (ordinal),
	lateweave_fetch('kb', ARRAY(SELECT chunk_id FROM kb WHERE ordinal < 3), 'vision') WHERE id = chunk_id;
SELECT lateweave_score('kb', q, 'absent') IS NULL, lateweave_score('kb', NULL, 'absent') IS NULL FROM q;
-- of the table's space
SELECT s.rank, s.score, v.ordinal FROM lateweave_search('vision', (SELECT embedding::multivector FROM vision WHERE ordinal = 7), 2) s
	JOIN kb v ON v.chunk_id = s.id ORDER BY rank;
SELECT s.rank, s.score, s.ordinal FROM lateweave_section_search('kb', (SELECT embedding::multivector FROM vision WHERE ordinal = 7), 2, space => 'vision') s;

SELECT attempt($$SELECT lateweave_search('kb', '[[1,2]]', 1)$$);
SELECT attempt($$SELECT lateweave_search('kb', q, 0) FROM q$$);
SELECT attempt($$SELECT lateweave_search('kb', (SELECT multivector_agg(q::real[]) FROM (SELECT array_agg(i::real) FROM generate_series(1, 64) i, generate_series(1, 2) j GROUP BY j) x (q)), 1)$$);
SELECT attempt($$SELECT lateweave_score('kb', array_fill(0::real, '{64}')::multivector, 'x')$$);
SELECT attempt($$SELECT lateweave_score('kb', q, 'x', representation => '{"encoder": "golden-model", "dimension": 64}') FROM q$$);
SELECT attempt($$SELECT lateweave_score('kb', q, 'x', representation => '{"encoder": "other", "model_hash": "x"}') FROM q$$);
SELECT attempt($$SELECT lateweave_score('kb', q, 'x', representation => '{"normalized": true}') FROM q$$);
-- scales
SELECT attempt($$SELECT lateweave_rerank('{kb,kb}'::regclass[], q, '{1,2}', '{x,x}') FROM q$$);
SELECT attempt($$SELECT lateweave_rerank('{kb,vision}'::regclass[], q, '{1,2}', '{x,x}') FROM q$$);
SELECT attempt($$SELECT lateweave_rerank('{kb,store}'::regclass[], '[[1,2,3,4,5,6,7]]', '{1,2}', '{x,x}') FROM q$$);

-- Searches

SELECT m, s.score, s.rank, s.ordinal, s.route, exact_candidates, ann_candidates, bm25_candidates, graph_candidates, disclosure
	FROM q, unnest('{exact,ann,hybrid,graph,auto}'::text[]) m,
	LATERAL lateweave_section_search('kb', q, 2, m, query_text => 'river', ef => 10) s;
SELECT count(*), bool_and(s.id = kb.chunk_id AND s.citation = kb.citation)
	FROM q, lateweave_section_search('kb', q, 100) s JOIN kb USING (ordinal);
SELECT attempt($$SELECT lateweave_section_search('kb', q, 1, 'best') FROM q$$);
SELECT attempt($$SELECT lateweave_section_search('kb', q, 0) FROM q$$);
SELECT attempt($$SELECT lateweave_section_search('kb', q, 1, ef => -1) FROM q$$);
SELECT attempt($$SELECT lateweave_section_search('kb', q, 1, 'ann', 'vision') FROM q$$);
SELECT attempt($$SELECT lateweave_section_search('kb', q, 1, space => 'none') FROM q$$);
SELECT attempt($$SELECT lateweave_section_search('kb', q, 1, model_hash => 'sha256:' || repeat('5e', 32)) FROM q$$);
SELECT attempt($$SELECT lateweave_section_search('kb', q, 1, model_hash => 'sha256:' || repeat('5E', 32)) FROM q$$);
SELECT attempt($$SELECT lateweave_section_search('kb', q, 1, space => 'vision', model_hash => 'x') FROM q$$);
SELECT attempt($$SELECT lateweave_section_search('kb', q, 1, representation => '{"dimension": 65}') FROM q$$);
SELECT k.ordinal, edge_type, hop FROM lateweave_neighbors('kb', (SELECT chunk_id FROM kb WHERE ordinal = 3)) n
	JOIN kb k ON k.chunk_id = n.chunk_id ORDER BY hop, edge_type, k.ordinal;
SELECT hop, count(*) FROM lateweave_neighbors('kb', (SELECT chunk_id FROM kb WHERE ordinal = 3), hops => 10) GROUP BY hop ORDER BY hop;
SELECT count(*) FROM lateweave_neighbors('kb', 'absent');
SELECT count(*) FROM lateweave_neighbors('twins', (SELECT chunk_id FROM twins LIMIT 1));

-- Import

CREATE SCHEMA imported;
\set VERBOSITY sqlstate
IMPORT FOREIGN SCHEMA regress_section FROM SERVER lateweave INTO imported;
\set VERBOSITY default
SELECT ftrelid::regclass, ftoptions FROM pg_foreign_table WHERE ftrelid::regclass::text LIKE 'imported.%' ORDER BY 1::text COLLATE "C";
\d imported.full
SELECT count(*), count(canonical_text), sum(cardinality(embedding)) FROM imported.full;
SELECT source, corpus FROM lateweave_sources WHERE source = 'imported.full'::regclass;

SET client_min_messages = warning;
DROP SCHEMA imported CASCADE;
RESET client_min_messages;
DROP FOREIGN TABLE kb, wrong, wrong_type, vision, nowhere, limits, limits_bigint, twins, bad, store;
DROP FUNCTION attempt, chunks_read;
\set command 'rm -rf lateweave/regress_section'
COPY shell FROM PROGRAM :'command';
