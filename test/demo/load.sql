-- The demo's tables, from the files beside this script; :store is the vector store's directory.
CREATE EXTENSION lateweave;

CREATE TABLE bylaws (
	id text PRIMARY KEY,
	country text NOT NULL,
	year integer NOT NULL,
	topic text NOT NULL,
	in_force boolean NOT NULL,
	title text NOT NULL,
	body text NOT NULL,
	words tsvector GENERATED ALWAYS AS (to_tsvector('english', title || ' ' || body)) STORED
);
\copy bylaws (id, country, year, topic, in_force, title, body) FROM 'bylaws.tsv'
CREATE INDEX ON bylaws USING gin (words);

CREATE TABLE questions (id text PRIMARY KEY, question text, fts text, best text);
\copy questions FROM 'questions.tsv'
CREATE TABLE vectors (id text PRIMARY KEY, tokens integer, hex text);
\copy vectors FROM 'queries.tsv'
ALTER TABLE questions ADD COLUMN words tsquery, ADD COLUMN tokens multivector;
UPDATE questions q
SET words = websearch_to_tsquery('english', q.fts),
	tokens = multivector_from_bytes(decode(v.hex, 'hex'), 128)
FROM vectors v WHERE v.id = q.id;
DROP TABLE vectors;
VACUUM ANALYZE bylaws, questions;

-- The store that another program wrote, attached where it lies.
CREATE FOREIGN TABLE bylaw_vectors (id text NOT NULL, tokens multivector)
	SERVER lateweave OPTIONS (store :'store');

-- A section file of the same bylaws, with one vector each: the mean of its tokens.
CREATE FUNCTION mean_vector(tokens multivector) RETURNS real[] IMMUTABLE LANGUAGE sql AS $$
	SELECT array_agg(mean ORDER BY d)
	FROM (SELECT (n - 1) % dimension(tokens) AS d, avg(value)::real AS mean
		FROM unnest(tokens::real[]) WITH ORDINALITY AS u (value, n) GROUP BY 1) m
$$;
SELECT lateweave_build_section_file(:'section_file',
	$$SELECT b.title || E'\n' || b.body AS text, 'bylaws/' || b.id AS uri, 0 AS start,
			octet_length(b.title || E'\n' || b.body) AS "end", mean_vector(v.tokens) AS embedding
	  FROM bylaws b JOIN bylaw_vectors v USING (id) ORDER BY b.id$$,
	json_build_object('preset', 'nano', 'with_bm25', true, 'title', 'Bylaws', 'embedding_model', 'mean of token vectors',
		'model_hash', 'sha256:' || encode(sha256('mean of token vectors'), 'hex')));
CREATE FOREIGN TABLE bylaw_file (ordinal bigint, chunk_id text, canonical_text text, source_uri text, citation text)
	SERVER lateweave OPTIONS (section_file :'section_file');
