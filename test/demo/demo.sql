-- The main job, on the tables that load.sql makes. DEMO is the directory of this script.
\pset footer off
\timing on

\echo
\echo '======== Full-text search finds the candidates, their token vectors put them in order.'
\echo '======== text_rank is the place that ts_rank alone gives them.'
SELECT question FROM questions WHERE id = 'q7';

WITH q AS (SELECT words, tokens FROM questions WHERE id = 'q7'),
candidates AS (
	SELECT b.id, row_number() OVER (ORDER BY ts_rank(b.words, q.words) DESC, b.id) AS text_rank
	FROM bylaws b, q WHERE b.words @@ q.words)
SELECT r.rank, r.score, c.text_rank, b.id, b.year, b.title
FROM lateweave_rerank('bylaw_vectors', (SELECT tokens FROM q),
		ARRAY(SELECT id FROM candidates ORDER BY text_rank LIMIT 100), 5) r
JOIN candidates c USING (id)
JOIN bylaws b USING (id)
ORDER BY r.rank;

\echo
\echo '======== The score as a column. Here the best match is a rule that was repealed:'
SELECT question FROM questions WHERE id = 'q9';

SELECT b.id, b.country, b.in_force, b.title, lateweave_score('bylaw_vectors', q.tokens, b.id) AS score
FROM bylaws b, questions q
WHERE q.id = 'q9' AND b.words @@ q.words
ORDER BY score DESC NULLS LAST LIMIT 3;

\echo
\echo '======== With ordinary conditions on the table:'
SELECT b.id, b.country, b.in_force, b.title, lateweave_score('bylaw_vectors', q.tokens, b.id) AS score
FROM bylaws b, questions q
WHERE q.id = 'q9' AND b.words @@ q.words
	AND b.in_force AND b.country IN ('OD', 'KA') AND b.year >= 2000
ORDER BY score DESC NULLS LAST LIMIT 3;

\echo
\echo '======== Why the first one won: for each token of the question the best token of the document.'
WITH q AS (SELECT tokens FROM questions WHERE id = 'q7'),
first AS (SELECT id FROM lateweave_search('bylaw_vectors', (SELECT tokens FROM q), 1))
SELECT e.query_token, e.document_token, e.similarity,
	sum(e.similarity) OVER (ORDER BY e.query_token) AS score_so_far
FROM lateweave_explain('bylaw_vectors', (SELECT tokens FROM q), (SELECT id FROM first)) e
ORDER BY e.query_token;

\echo
\echo '======== The same bylaws as a section file, one vector each: found by vector and words together,'
\echo '======== joined to the table, filtered by it, each with its citation.'
SELECT question FROM questions WHERE id = 'q9';

SELECT s.rank, s.score, s.route, b.id, b.year, b.title, left(s.citation, 40) || '...' AS citation
FROM questions q,
	lateweave_section_search('bylaw_file', mean_vector(q.tokens)::multivector, 40, method => 'hybrid', query_text => q.fts) s
JOIN bylaw_file f USING (ordinal)
JOIN bylaws b ON f.source_uri = 'bylaws/' || b.id
WHERE q.id = 'q9' AND b.in_force
ORDER BY s.rank LIMIT 3;

\echo
\echo '======== A citation leads back to the text.'
SELECT c.source, c.source_uri, c.byte_start, c.byte_end, left(c.canonical_text, 50) || '...' AS text
FROM (SELECT citation FROM bylaw_file ORDER BY ordinal LIMIT 1) f, lateweave_cite(f.citation) c;

\echo
\echo '======== Another program adds bylaws to the store. Before:'
SELECT question FROM questions WHERE id = 'q10';

SELECT r.rank, r.score, b.id, b.year, b.title
FROM lateweave_search('bylaw_vectors', (SELECT tokens FROM questions WHERE id = 'q10'), 3) r
JOIN bylaws b USING (id) ORDER BY r.rank;

\echo '$ append.sh store'
\! "$DEMO/append.sh" "$DEMO/store"
\echo
\echo '======== And the next statement:'
SELECT r.rank, r.score, b.id, b.year, b.title
FROM lateweave_search('bylaw_vectors', (SELECT tokens FROM questions WHERE id = 'q10'), 3) r
JOIN bylaws b USING (id) ORDER BY r.rank;
