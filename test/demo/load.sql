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
