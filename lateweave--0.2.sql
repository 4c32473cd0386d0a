/* lateweave--0.2.sql: late-interaction search over vector stores on the server's disk */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION lateweave" to load this file. \quit

/* ---------------------------------------------------------------------------
 * The type multivector: input, output, binary form, modifier
 */

CREATE TYPE multivector;

CREATE FUNCTION multivector_in(cstring, oid, integer) RETURNS multivector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_out(multivector) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_recv(internal, oid, integer) RETURNS multivector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_send(multivector) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_typmod_in(cstring[]) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_typmod_out(integer) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE multivector (
	INPUT = multivector_in,
	OUTPUT = multivector_out,
	RECEIVE = multivector_recv,
	SEND = multivector_send,
	TYPMOD_IN = multivector_typmod_in,
	TYPMOD_OUT = multivector_typmod_out,
	ALIGNMENT = int4,
	STORAGE = external
);

COMMENT ON TYPE multivector IS
'token vectors: a matrix of real, tokens x dimension, at least 1 x 1, every value finite; multivector(N) fixes the dimension. Text form [[0.1,0.2],[0.3,0.4]], white space allowed. Binary form: int32 tokens, int32 dimension, then float4 values row by row, all in network byte order. At most 1 GB. Malformed input is ERROR 22P02 (text) or 22P03 (binary), another dimension than the modifier''s 22000';
COMMENT ON FUNCTION multivector_in(cstring, oid, integer) IS
'input: [[0.1,0.2],[0.3,0.4]]; ERROR 22P02 names the token and value at fault, from 1';
COMMENT ON FUNCTION multivector_out(multivector) IS
'output: the shortest text that reads back the same';
COMMENT ON FUNCTION multivector_recv(internal, oid, integer) IS
'binary input: int32 tokens, int32 dimension, then float4 values row by row, all in network byte order; ERROR 22P03 when malformed';
COMMENT ON FUNCTION multivector_send(multivector) IS
'binary output: int32 tokens, int32 dimension, then float4 values row by row, all in network byte order';
COMMENT ON FUNCTION multivector_typmod_in(cstring[]) IS
'type modifier input: the dimension, at least 1, else ERROR 22023';
COMMENT ON FUNCTION multivector_typmod_out(integer) IS
'type modifier output: the dimension in parentheses';

/* ---------------------------------------------------------------------------
 * The type maxsim_query: the same layout and the same forms, so the same C functions
 */

CREATE TYPE maxsim_query;

CREATE FUNCTION maxsim_query_in(cstring, oid, integer) RETURNS maxsim_query
	AS 'MODULE_PATHNAME', 'multivector_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION maxsim_query_out(maxsim_query) RETURNS cstring
	AS 'MODULE_PATHNAME', 'multivector_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION maxsim_query_recv(internal, oid, integer) RETURNS maxsim_query
	AS 'MODULE_PATHNAME', 'multivector_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION maxsim_query_send(maxsim_query) RETURNS bytea
	AS 'MODULE_PATHNAME', 'multivector_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE maxsim_query (
	INPUT = maxsim_query_in,
	OUTPUT = maxsim_query_out,
	RECEIVE = maxsim_query_recv,
	SEND = maxsim_query_send,
	ALIGNMENT = int4,
	STORAGE = external
);

COMMENT ON TYPE maxsim_query IS
'the query side of a score: token vectors and, when made with one, the source whose documents they rank. Text and binary form are those of multivector and hold no source';
COMMENT ON FUNCTION maxsim_query_in(cstring, oid, integer) IS
'input: the text form of a multivector; the query names no source';
COMMENT ON FUNCTION maxsim_query_out(maxsim_query) IS
'output: the text form of a multivector, without the source';
COMMENT ON FUNCTION maxsim_query_recv(internal, oid, integer) IS
'binary input: the binary form of a multivector; the query names no source';
COMMENT ON FUNCTION maxsim_query_send(maxsim_query) IS
'binary output: the binary form of a multivector, without the source';

/* ---------------------------------------------------------------------------
 * Casts of multivector
 */

CREATE FUNCTION multivector(multivector, integer, boolean) RETURNS multivector
	AS 'MODULE_PATHNAME', 'multivector_enforce_typmod' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector(real[]) RETURNS multivector
	AS 'MODULE_PATHNAME', 'multivector_from_real_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector(double precision[]) RETURNS multivector
	AS 'MODULE_PATHNAME', 'multivector_from_double_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_to_array(multivector) RETURNS real[]
	AS 'MODULE_PATHNAME', 'multivector_to_real_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_from_bytes(bytes bytea, dimension integer) RETURNS multivector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE CAST (multivector AS multivector)
	WITH FUNCTION multivector(multivector, integer, boolean) AS IMPLICIT;
CREATE CAST (real[] AS multivector)
	WITH FUNCTION multivector(real[]) AS ASSIGNMENT;
CREATE CAST (double precision[] AS multivector)
	WITH FUNCTION multivector(double precision[]) AS ASSIGNMENT;
CREATE CAST (multivector AS real[])
	WITH FUNCTION multivector_to_array(multivector);

COMMENT ON FUNCTION multivector(multivector, integer, boolean) IS
'applies the type modifier: ERROR 22000 that names both when the dimension is another';
COMMENT ON FUNCTION multivector(real[]) IS
'one dimension is one token, two are tokens x dimension; ERROR 22000 for NULL, NaN and infinity, naming token and value from 1, and for other shapes';
COMMENT ON FUNCTION multivector(double precision[]) IS
'one dimension is one token, two are tokens x dimension, each value rounded to the nearest real; ERROR 22000 for NULL, NaN, infinity and values beyond real, naming token and value from 1, and for other shapes';
COMMENT ON FUNCTION multivector_to_array(multivector) IS
'an array of two dimensions, tokens x dimension; ERROR 54000 past the number of elements that an array can have';
COMMENT ON FUNCTION multivector_from_bytes(bytea, integer) IS
'from little-endian float32 values row by row, dimension x 4 bytes a token; ERROR 22000 unless the bytes are whole tokens, at least one, of finite values';
COMMENT ON CAST (multivector AS multivector) IS
'applies the type modifier';
COMMENT ON CAST (real[] AS multivector) IS
'one dimension is one token, two are tokens x dimension';
COMMENT ON CAST (double precision[] AS multivector) IS
'one dimension is one token, two are tokens x dimension; rounds to the nearest real';
COMMENT ON CAST (multivector AS real[]) IS
'an array of two dimensions, tokens x dimension';

CREATE FUNCTION lateweave_enable_pgvector() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION lateweave_enable_pgvector() IS
'makes the assignment casts to multivector from pgvector''s vector and halfvec (one token) and vector[] and halfvec[] (a token each), those of them that are missing; they are objects of the database, not of this extension. For superusers; ERROR 42704 when pgvector is not installed';

/* ---------------------------------------------------------------------------
 * Functions of multivector
 */

CREATE FUNCTION dimension(m multivector) RETURNS integer
	AS 'MODULE_PATHNAME', 'multivector_dimension' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION token_count(m multivector) RETURNS integer
	AS 'MODULE_PATHNAME', 'multivector_token_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION l2_normalize(m multivector) RETURNS multivector
	AS 'MODULE_PATHNAME', 'multivector_l2_normalize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION dimension(multivector) IS
'values of a token; reads only the header of a stored multivector';
COMMENT ON FUNCTION token_count(multivector) IS
'number of tokens; reads only the header of a stored multivector';
COMMENT ON FUNCTION l2_normalize(multivector) IS
'each token divided by its own Euclidean length, computed in double precision and rounded to real; a token of zeros stays as it is';

CREATE FUNCTION multivector_agg_transition(internal, real[]) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION multivector_agg_final(internal) RETURNS multivector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE multivector_agg(real[]) (
	SFUNC = multivector_agg_transition,
	STYPE = internal,
	FINALFUNC = multivector_agg_final,
	PARALLEL = SAFE
);

COMMENT ON FUNCTION multivector_agg_transition(internal, real[]) IS
'transition function of multivector_agg';
COMMENT ON FUNCTION multivector_agg_final(internal) IS
'final function of multivector_agg';
COMMENT ON AGGREGATE multivector_agg(real[]) IS
'one token from each input, an array of one dimension, in input order; NULL inputs are skipped, no inputs give NULL. ERROR 22000 for inputs of unequal length or other shape, and for NULL elements, NaN and infinity';

/* ---------------------------------------------------------------------------
 * Order and equality of multivector
 */

CREATE FUNCTION multivector_eq(multivector, multivector) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_ne(multivector, multivector) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_lt(multivector, multivector) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_le(multivector, multivector) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_gt(multivector, multivector) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_ge(multivector, multivector) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_cmp(multivector, multivector) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_hash(multivector) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION multivector_hash_extended(multivector, bigint) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION multivector_eq(multivector, multivector) IS
'implementation of = operator';
COMMENT ON FUNCTION multivector_ne(multivector, multivector) IS
'implementation of <> operator';
COMMENT ON FUNCTION multivector_lt(multivector, multivector) IS
'implementation of < operator';
COMMENT ON FUNCTION multivector_le(multivector, multivector) IS
'implementation of <= operator';
COMMENT ON FUNCTION multivector_gt(multivector, multivector) IS
'implementation of > operator';
COMMENT ON FUNCTION multivector_ge(multivector, multivector) IS
'implementation of >= operator';
COMMENT ON FUNCTION multivector_cmp(multivector, multivector) IS
'btree comparison: below, at or above 0 as the first sorts before, with or after the second';
COMMENT ON FUNCTION multivector_hash(multivector) IS
'hash; equal multivectors hash alike';
COMMENT ON FUNCTION multivector_hash_extended(multivector, bigint) IS
'hash with a seed; equal multivectors hash alike';

CREATE OPERATOR = (
	LEFTARG = multivector, RIGHTARG = multivector, FUNCTION = multivector_eq,
	COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
CREATE OPERATOR <> (
	LEFTARG = multivector, RIGHTARG = multivector, FUNCTION = multivector_ne,
	COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR < (
	LEFTARG = multivector, RIGHTARG = multivector, FUNCTION = multivector_lt,
	COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
CREATE OPERATOR <= (
	LEFTARG = multivector, RIGHTARG = multivector, FUNCTION = multivector_le,
	COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
CREATE OPERATOR > (
	LEFTARG = multivector, RIGHTARG = multivector, FUNCTION = multivector_gt,
	COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
CREATE OPERATOR >= (
	LEFTARG = multivector, RIGHTARG = multivector, FUNCTION = multivector_ge,
	COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);

COMMENT ON OPERATOR = (multivector, multivector) IS
'same shape and equal values; -0 equals 0';
COMMENT ON OPERATOR <> (multivector, multivector) IS
'another shape or a value that differs; -0 equals 0';
COMMENT ON OPERATOR < (multivector, multivector) IS
'sorts before: by tokens, then dimension, then values row by row';
COMMENT ON OPERATOR <= (multivector, multivector) IS
'sorts before or equals: by tokens, then dimension, then values row by row';
COMMENT ON OPERATOR > (multivector, multivector) IS
'sorts after: by tokens, then dimension, then values row by row';
COMMENT ON OPERATOR >= (multivector, multivector) IS
'sorts after or equals: by tokens, then dimension, then values row by row';

CREATE OPERATOR CLASS multivector_ops
	DEFAULT FOR TYPE multivector USING btree AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 multivector_cmp(multivector, multivector);
CREATE OPERATOR CLASS multivector_ops
	DEFAULT FOR TYPE multivector USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 multivector_hash(multivector),
	FUNCTION 2 multivector_hash_extended(multivector, bigint);

COMMENT ON OPERATOR CLASS multivector_ops USING btree IS
'order of multivector, for DISTINCT, GROUP BY, ORDER BY and unique constraints; a btree index holds values up to about 2700 bytes, EXCLUDE USING hash (column WITH =) makes larger ones unique';
COMMENT ON OPERATOR CLASS multivector_ops USING hash IS
'equality of multivector, for hash aggregation, hash joins and hash indexes, with values of any size';
COMMENT ON OPERATOR FAMILY multivector_ops USING btree IS
'order of multivector';
COMMENT ON OPERATOR FAMILY multivector_ops USING hash IS
'equality of multivector';

/* ---------------------------------------------------------------------------
 * Scoring vectors in memory
 */

CREATE FUNCTION maxsim_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION maxsim_query(query multivector) RETURNS maxsim_query
	AS 'MODULE_PATHNAME', 'maxsim_query_plain' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION maxsim_query(source regclass, query multivector) RETURNS maxsim_query
	AS 'MODULE_PATHNAME', 'maxsim_query_of_source' LANGUAGE C STABLE PARALLEL SAFE;
CREATE FUNCTION maxsim(query maxsim_query, document multivector) RETURNS real
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500 SUPPORT maxsim_support;
CREATE FUNCTION multivector_distance(document multivector, query maxsim_query) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500 SUPPORT maxsim_support;

CREATE OPERATOR @# (
	LEFTARG = multivector, RIGHTARG = maxsim_query, FUNCTION = multivector_distance
);

COMMENT ON FUNCTION maxsim_support(internal) IS
'planner support: cost of maxsim and of the operators @#';
COMMENT ON FUNCTION maxsim_query(multivector) IS
'a query over vectors in memory; NULL for NULL';
COMMENT ON FUNCTION maxsim_query(regclass, multivector) IS
'a query that ranks the documents of a source: the right side of id @# query; NULL for NULL';
COMMENT ON FUNCTION maxsim(maxsim_query, multivector) IS
'sum over the query''s tokens, in order and in float32, of the largest dot product with a token of the document; NULL for NULL; ERROR 22000 for another dimension, 22023 for a query that names a source or a sum that is not a number';
COMMENT ON FUNCTION multivector_distance(multivector, maxsim_query) IS
'minus maxsim, so that ascending order is best first; errors as maxsim';
COMMENT ON OPERATOR @# (multivector, maxsim_query) IS
'minus maxsim, so that ascending order is best first';

/* ---------------------------------------------------------------------------
 * Scoring documents of a source, one at a time
 */

CREATE FUNCTION lateweave_score_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION lateweave_score(source regclass, query multivector, id text, representation jsonb DEFAULT NULL)
	RETURNS real
	AS 'MODULE_PATHNAME', 'lateweave_score_text'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 SUPPORT lateweave_score_support;
CREATE FUNCTION lateweave_score(source regclass, query multivector, id bigint, representation jsonb DEFAULT NULL)
	RETURNS real
	AS 'MODULE_PATHNAME', 'lateweave_score_bigint'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 SUPPORT lateweave_score_support;
CREATE FUNCTION lateweave_score(source regclass, query multivector, id uuid, representation jsonb DEFAULT NULL)
	RETURNS real
	AS 'MODULE_PATHNAME', 'lateweave_score_uuid'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 SUPPORT lateweave_score_support;

COMMENT ON FUNCTION lateweave_score_support(internal) IS
'planner support: cost of lateweave_score, from the query''s tokens and the source''s manifest';
COMMENT ON FUNCTION lateweave_score(regclass, multivector, text, jsonb) IS
'MaxSim of the query and a document of the source (of a section file, whose ids are chunk_ids: the dot product of its one vector and the normalized query); NULL when the source does not hold it, or for NULL. The members of representation must equal the source''s. ERROR 22000 for another dimension or representation, 22023 for a score that is not a number, XX001 for damaged files';
COMMENT ON FUNCTION lateweave_score(regclass, multivector, bigint, jsonb) IS
'MaxSim of the query and the document that the number''s text form names; as with text';
COMMENT ON FUNCTION lateweave_score(regclass, multivector, uuid, jsonb) IS
'MaxSim of the query and the document that the uuid''s text form names; as with text';

CREATE FUNCTION lateweave_distance(id text, query maxsim_query) RETURNS double precision
	AS 'MODULE_PATHNAME', 'lateweave_distance_text'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 SUPPORT maxsim_support;
CREATE FUNCTION lateweave_distance(id smallint, query maxsim_query) RETURNS double precision
	AS 'MODULE_PATHNAME', 'lateweave_distance_smallint'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 SUPPORT maxsim_support;
CREATE FUNCTION lateweave_distance(id integer, query maxsim_query) RETURNS double precision
	AS 'MODULE_PATHNAME', 'lateweave_distance_integer'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 SUPPORT maxsim_support;
CREATE FUNCTION lateweave_distance(id bigint, query maxsim_query) RETURNS double precision
	AS 'MODULE_PATHNAME', 'lateweave_distance_bigint'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 SUPPORT maxsim_support;
CREATE FUNCTION lateweave_distance(id uuid, query maxsim_query) RETURNS double precision
	AS 'MODULE_PATHNAME', 'lateweave_distance_uuid'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 SUPPORT maxsim_support;
CREATE FUNCTION lateweave_distance(id varchar, query maxsim_query) RETURNS double precision
	AS 'MODULE_PATHNAME', 'lateweave_distance_text'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 SUPPORT maxsim_support;

CREATE OPERATOR @# (LEFTARG = text, RIGHTARG = maxsim_query, FUNCTION = lateweave_distance);
CREATE OPERATOR @# (LEFTARG = varchar, RIGHTARG = maxsim_query, FUNCTION = lateweave_distance);
CREATE OPERATOR @# (LEFTARG = smallint, RIGHTARG = maxsim_query, FUNCTION = lateweave_distance);
CREATE OPERATOR @# (LEFTARG = integer, RIGHTARG = maxsim_query, FUNCTION = lateweave_distance);
CREATE OPERATOR @# (LEFTARG = bigint, RIGHTARG = maxsim_query, FUNCTION = lateweave_distance);
CREATE OPERATOR @# (LEFTARG = uuid, RIGHTARG = maxsim_query, FUNCTION = lateweave_distance);

COMMENT ON FUNCTION lateweave_distance(text, maxsim_query) IS
'minus the score of the document in the query''s source; infinity when it is absent, so that it sorts last; ERROR 22023 when the query names no source, others as lateweave_score';
COMMENT ON FUNCTION lateweave_distance(varchar, maxsim_query) IS
'as for text';
COMMENT ON FUNCTION lateweave_distance(smallint, maxsim_query) IS
'as for text, of the document that the number''s text form names';
COMMENT ON FUNCTION lateweave_distance(integer, maxsim_query) IS
'as for text, of the document that the number''s text form names';
COMMENT ON FUNCTION lateweave_distance(bigint, maxsim_query) IS
'as for text, of the document that the number''s text form names';
COMMENT ON FUNCTION lateweave_distance(uuid, maxsim_query) IS
'as for text, of the document that the uuid''s text form names';
COMMENT ON OPERATOR @# (text, maxsim_query) IS
'minus the score of the document in the query''s source; infinity when absent';
COMMENT ON OPERATOR @# (varchar, maxsim_query) IS
'minus the score of the document in the query''s source; infinity when absent';
COMMENT ON OPERATOR @# (smallint, maxsim_query) IS
'minus the score of the document in the query''s source; infinity when absent';
COMMENT ON OPERATOR @# (integer, maxsim_query) IS
'minus the score of the document in the query''s source; infinity when absent';
COMMENT ON OPERATOR @# (bigint, maxsim_query) IS
'minus the score of the document in the query''s source; infinity when absent';
COMMENT ON OPERATOR @# (uuid, maxsim_query) IS
'minus the score of the document in the query''s source; infinity when absent';

/* ---------------------------------------------------------------------------
 * Indexes in whose order rows come by the scores of their documents
 */

CREATE FUNCTION lateweave_index_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE ACCESS METHOD lateweave TYPE INDEX HANDLER lateweave_index_handler;

CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING lateweave AS
	OPERATOR 1 @# (text, maxsim_query) FOR ORDER BY pg_catalog.float_ops;
CREATE OPERATOR CLASS varchar_ops DEFAULT FOR TYPE varchar USING lateweave AS
	OPERATOR 1 @# (varchar, maxsim_query) FOR ORDER BY pg_catalog.float_ops;
CREATE OPERATOR CLASS uuid_ops DEFAULT FOR TYPE uuid USING lateweave AS
	OPERATOR 1 @# (uuid, maxsim_query) FOR ORDER BY pg_catalog.float_ops;
CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE smallint USING lateweave AS
	OPERATOR 1 @# (smallint, maxsim_query) FOR ORDER BY pg_catalog.float_ops;
CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE integer USING lateweave AS
	OPERATOR 1 @# (integer, maxsim_query) FOR ORDER BY pg_catalog.float_ops;
CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE bigint USING lateweave AS
	OPERATOR 1 @# (bigint, maxsim_query) FOR ORDER BY pg_catalog.float_ops;

COMMENT ON FUNCTION lateweave_index_handler(internal) IS
'handler of the access method lateweave';
COMMENT ON ACCESS METHOD lateweave IS
'rows in the order of id @# maxsim_query(source, query): CREATE INDEX ON table USING lateweave (id) WITH (source = ''schema.foreign_table''). A scan ranks the query''s source, exactly, and looks the rows of its documents up; rows whose document is absent come last, those without id after them. source is for estimates and makes the index depend on the foreign table; without a schema it is in that of the indexed table. The index holds ids and rows, no vectors; ids past 512 bytes only as hashes. One column or expression; neither unique nor clustered';
COMMENT ON OPERATOR CLASS text_ops USING lateweave IS
'ids of type text, whose text form names the document';
COMMENT ON OPERATOR FAMILY text_ops USING lateweave IS
'ids of type text';
COMMENT ON OPERATOR CLASS varchar_ops USING lateweave IS
'ids of type varchar, whose text form names the document';
COMMENT ON OPERATOR FAMILY varchar_ops USING lateweave IS
'ids of type varchar';
COMMENT ON OPERATOR CLASS uuid_ops USING lateweave IS
'ids of type uuid, whose text form names the document';
COMMENT ON OPERATOR FAMILY uuid_ops USING lateweave IS
'ids of type uuid';
COMMENT ON OPERATOR CLASS int2_ops USING lateweave IS
'ids of type smallint, whose text form names the document';
COMMENT ON OPERATOR FAMILY int2_ops USING lateweave IS
'ids of type smallint';
COMMENT ON OPERATOR CLASS int4_ops USING lateweave IS
'ids of type integer, whose text form names the document';
COMMENT ON OPERATOR FAMILY int4_ops USING lateweave IS
'ids of type integer';
COMMENT ON OPERATOR CLASS int8_ops USING lateweave IS
'ids of type bigint, whose text form names the document';
COMMENT ON OPERATOR FAMILY int8_ops USING lateweave IS
'ids of type bigint';

/* ---------------------------------------------------------------------------
 * Scoring sets of documents
 */

CREATE FUNCTION lateweave_rerank_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION lateweave_rerank_sources_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION lateweave_search_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION lateweave_fetch_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION lateweave_explain_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION lateweave_rerank_support(internal) IS
'planner support: rows and cost of lateweave_rerank';
COMMENT ON FUNCTION lateweave_rerank_sources_support(internal) IS
'planner support: rows and cost of lateweave_rerank over several sources';
COMMENT ON FUNCTION lateweave_search_support(internal) IS
'planner support: rows and cost of lateweave_search';
COMMENT ON FUNCTION lateweave_fetch_support(internal) IS
'planner support: rows and cost of lateweave_fetch';
COMMENT ON FUNCTION lateweave_explain_support(internal) IS
'planner support: rows and cost of lateweave_explain';

CREATE FUNCTION lateweave_rerank(source regclass, query multivector, ids text[], k integer DEFAULT NULL,
	representation jsonb DEFAULT NULL, OUT id text, OUT score real, OUT rank integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 50000 ROWS 100 SUPPORT lateweave_rerank_support;
CREATE FUNCTION lateweave_rerank(source regclass, query multivector, ids bigint[], k integer DEFAULT NULL,
	representation jsonb DEFAULT NULL, OUT id text, OUT score real, OUT rank integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 50000 ROWS 100 SUPPORT lateweave_rerank_support;
CREATE FUNCTION lateweave_rerank(source regclass, query multivector, ids uuid[], k integer DEFAULT NULL,
	representation jsonb DEFAULT NULL, OUT id text, OUT score real, OUT rank integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 50000 ROWS 100 SUPPORT lateweave_rerank_support;
CREATE FUNCTION lateweave_rerank(sources regclass[], query multivector, source_of integer[], ids text[],
	k integer DEFAULT NULL, representation jsonb DEFAULT NULL,
	OUT source regclass, OUT id text, OUT score real, OUT rank integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'lateweave_rerank_sources'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 50000 ROWS 100 SUPPORT lateweave_rerank_sources_support;
CREATE FUNCTION lateweave_search(source regclass, query multivector, k integer, candidates integer DEFAULT NULL,
	representation jsonb DEFAULT NULL, OUT id text, OUT score real, OUT rank integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 500000 ROWS 10 SUPPORT lateweave_search_support;

COMMENT ON FUNCTION lateweave_rerank(regclass, multivector, text[], integer, jsonb) IS
'candidates in gather order in, the best k (NULL: all) out: score descending, ties in gather order, ranks from 1; absent documents are dropped. ERROR 22023 that names it for a repeated or NULL id, and for k below 1; others as lateweave_score';
COMMENT ON FUNCTION lateweave_rerank(regclass, multivector, bigint[], integer, jsonb) IS
'as with text[], of the documents that the numbers'' text forms name';
COMMENT ON FUNCTION lateweave_rerank(regclass, multivector, uuid[], integer, jsonb) IS
'as with text[], of the documents that the uuids'' text forms name';
COMMENT ON FUNCTION lateweave_rerank(regclass[], multivector, integer[], text[], integer, jsonb) IS
'candidates of several sources on one scale: candidate i is ids[i] in sources[source_of[i]], counted from 1. ERROR 22000 unless all sources have one representation and score semantics; repeats are per source';
COMMENT ON FUNCTION lateweave_search(regclass, multivector, integer, integer, jsonb) IS
'the best k of the whole source, exhaustive and exact: score descending, ties by id (order of UTF-8 bytes), in a section file by ordinal, ranks from 1. candidates (NULL: the setting lateweave.candidates; 0: all): approximate, only so many documents, or k if that is more, are scored exactly, those that are the most promising by what lateweave_train made, besides those of which nothing is known; their order is exact. A large store is scored with parallel workers, as max_parallel_workers_per_gather, min_parallel_table_scan_size and parallel_setup_cost allow. Memory in proportion to k. ERROR 22023 for k below 1';

CREATE FUNCTION lateweave_fetch(source regclass, ids text[], space text DEFAULT NULL,
	OUT id text, OUT tokens multivector) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 100 SUPPORT lateweave_fetch_support;
CREATE FUNCTION lateweave_fetch(source regclass, ids bigint[], space text DEFAULT NULL,
	OUT id text, OUT tokens multivector) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 100 SUPPORT lateweave_fetch_support;
CREATE FUNCTION lateweave_fetch(source regclass, ids uuid[], space text DEFAULT NULL,
	OUT id text, OUT tokens multivector) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 100 SUPPORT lateweave_fetch_support;
CREATE FUNCTION lateweave_explain(source regclass, query multivector, id text, representation jsonb DEFAULT NULL,
	OUT query_token integer, OUT document_token integer, OUT similarity real) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'lateweave_explain_text'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 32 SUPPORT lateweave_explain_support;
CREATE FUNCTION lateweave_explain(source regclass, query multivector, id bigint, representation jsonb DEFAULT NULL,
	OUT query_token integer, OUT document_token integer, OUT similarity real) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'lateweave_explain_bigint'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 32 SUPPORT lateweave_explain_support;
CREATE FUNCTION lateweave_explain(source regclass, query multivector, id uuid, representation jsonb DEFAULT NULL,
	OUT query_token integer, OUT document_token integer, OUT similarity real) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'lateweave_explain_uuid'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 32 SUPPORT lateweave_explain_support;

COMMENT ON FUNCTION lateweave_fetch(regclass, text[], text) IS
'decoded vectors as the score uses them (those of int8 score within float32 rounding of it, not bit for bit), in the order of the ids; absent documents are dropped. space is for section files: the name of a space, NULL for that of the table or the files own vectors. ERROR 22023 that names it for a repeated or NULL id, XX001 for damaged files or values that are not finite';
COMMENT ON FUNCTION lateweave_fetch(regclass, bigint[], text) IS
'as with text[], of the documents that the numbers'' text forms name';
COMMENT ON FUNCTION lateweave_fetch(regclass, uuid[], text) IS
'as with text[], of the documents that the uuids'' text forms name';
COMMENT ON FUNCTION lateweave_explain(regclass, multivector, text, jsonb) IS
'which document token won for each query token, both from 1 (of equal ones the first); the similarities sum, in order, to the score. No rows when the document is absent';
COMMENT ON FUNCTION lateweave_explain(regclass, multivector, bigint, jsonb) IS
'as with text, of the document that the number''s text form names';
COMMENT ON FUNCTION lateweave_explain(regclass, multivector, uuid, jsonb) IS
'as with text, of the document that the uuid''s text form names';

/* ---------------------------------------------------------------------------
 * Changing stores, in the transaction
 */

CREATE FUNCTION lateweave_append(source regclass, ids text[], tokens multivector[]) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
CREATE FUNCTION lateweave_append(source regclass, ids bigint[], tokens multivector[]) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
CREATE FUNCTION lateweave_append(source regclass, ids uuid[], tokens multivector[]) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
CREATE FUNCTION lateweave_delete(source regclass, ids text[]) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
CREATE FUNCTION lateweave_delete(source regclass, ids bigint[]) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
CREATE FUNCTION lateweave_delete(source regclass, ids uuid[]) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
CREATE FUNCTION lateweave_sync() RETURNS trigger
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
CREATE FUNCTION lateweave_create_store(table_name text, encoder text, encoder_revision text, dimension integer,
	encoding text DEFAULT 'int8', corpus text DEFAULT NULL, normalized boolean DEFAULT true,
	query_template text DEFAULT '', document_template text DEFAULT '', path text DEFAULT NULL) RETURNS regclass
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
CREATE FUNCTION lateweave_drop_store(source regclass) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION lateweave_append(regclass, text[], multivector[]) IS
'appends documents, each in place of the one that has its id, and gives their number: tokens[i] are the vectors of ids[i]. Part of the transaction. Needs INSERT on the foreign table. ERROR 22023 for arrays of unequal length, 23502 that says where for a NULL in one, 21000 for a repeated id, 22000 for another dimension or rows that are not normalized where they must be, 25006 for a table that is not writable';
COMMENT ON FUNCTION lateweave_append(regclass, bigint[], multivector[]) IS
'as with text[], of the documents that the numbers'' text forms name';
COMMENT ON FUNCTION lateweave_append(regclass, uuid[], multivector[]) IS
'as with text[], of the documents that the uuids'' text forms name';
COMMENT ON FUNCTION lateweave_delete(regclass, text[]) IS
'deletes documents and gives the number of those that were present. Part of the transaction. Needs DELETE on the foreign table. ERROR 23502 that says where for a NULL among the ids, 25006 for a table that is not writable';
COMMENT ON FUNCTION lateweave_delete(regclass, bigint[]) IS
'as with text[], of the documents that the numbers'' text forms name';
COMMENT ON FUNCTION lateweave_delete(regclass, uuid[]) IS
'as with text[], of the documents that the uuids'' text forms name';
COMMENT ON FUNCTION lateweave_sync() IS
'trigger that keeps a store in step with a table: lateweave_sync(foreign table, column of the ids, column of the vectors), AFTER INSERT OR UPDATE OR DELETE FOR EACH ROW, and AFTER TRUNCATE FOR EACH STATEMENT unless the store has documents of other tables. Ids are of any type, their text form names the document; vectors are multivector, real[], double precision[] or what else has an assignment cast to multivector. A row whose vectors are NULL is no document; an UPDATE that changes neither column changes nothing. The foreign table''s name is looked up when the trigger fires, so it is best qualified. Needs INSERT and DELETE (after TRUNCATE: TRUNCATE) on the foreign table of the role that changes the row. ERROR 39P01 for another use, 42703 and 42804 for the columns, 23502 for vectors without an id';
COMMENT ON FUNCTION lateweave_create_store(text, text, text, integer, text, text, boolean, text, text, text) IS
'makes an empty vector store and a foreign table over it, which the current user owns and can change. encoding is int8 or float32; corpus NULL is the table''s name; normalized: every row has a Euclidean length of 1, within 0.0011. path is where the store''s directory is to be, which must not exist (a relative one lies under lateweave.directory; needs superuser or pg_write_server_files); NULL is a directory of this database''s own there. When the transaction does not commit, both go. ERROR 22004 for NULL, 22023 for a bad value, 42P07 when the table exists, 58P02 when the directory does';
COMMENT ON FUNCTION lateweave_drop_store(regclass) IS
'drops the foreign table of a store and, once the transaction has committed, removes the store''s own files, and its directory when nothing else is in it. For the owner of the table, which must be writable';

/* ---------------------------------------------------------------------------
 * Section files: what they say, and their searches
 */

CREATE FUNCTION lateweave_section_info(source regclass, OUT manifest json, OUT file_hash text, OUT content_hash text,
	OUT bytes bigint, OUT documents bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1;
CREATE FUNCTION lateweave_sections(source regclass, OUT section_id bigint, OUT name text, OUT encoding text,
	OUT file_offset bigint, OUT size bigint, OUT checksum text, OUT valid boolean) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 10;
CREATE FUNCTION lateweave_spaces(source regclass, OUT name text, OUT dtype text, OUT dimension bigint,
	OUT rows bigint, OUT model_hash text) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 100 ROWS 5;
CREATE FUNCTION lateweave_blobs(source regclass, OUT blob_index bigint, OUT content_hash text, OUT original_uri text,
	OUT byte_len numeric, OUT inlined boolean) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 100 ROWS 100;
CREATE FUNCTION lateweave_blob(source regclass, blob_index bigint) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000;
CREATE FUNCTION lateweave_cite(citation text, OUT source regclass, OUT chunk_id text, OUT ordinal bigint,
	OUT canonical_text text, OUT source_uri text, OUT byte_start bigint, OUT byte_end bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1;
CREATE FUNCTION lateweave_neighbors(source regclass, id text, hops integer DEFAULT 1,
	OUT chunk_id text, OUT edge_type text, OUT hop integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 100 ROWS 10;
CREATE FUNCTION lateweave_section_search(source regclass, query multivector, k integer, method text DEFAULT 'auto',
	space text DEFAULT NULL, query_text text DEFAULT NULL, ef integer DEFAULT 100, hops integer DEFAULT 1,
	candidates integer DEFAULT NULL, model_hash text DEFAULT NULL, representation jsonb DEFAULT NULL,
	OUT id text, OUT score real, OUT rank integer, OUT ordinal bigint, OUT citation text, OUT route text,
	OUT exact_candidates bigint, OUT ann_candidates bigint, OUT bm25_candidates bigint, OUT graph_candidates bigint,
	OUT disclosure text) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 50000 ROWS 10 SUPPORT lateweave_search_support;

COMMENT ON FUNCTION lateweave_section_info(regclass) IS
'the manifest of a section file as it stands there, the SHA-256 of its bytes and that of its content (each computed when a session first asks for it: the whole file is read), its size and how many chunks it has';
COMMENT ON FUNCTION lateweave_sections(regclass) IS
'the sections of a section file in the order of its table: id, name and encoding (unknown where they have no public name), where the stored bytes lie, their checksum (the first 8 bytes of their SHA-256, in hexadecimal), and whether they have it';
COMMENT ON FUNCTION lateweave_spaces(regclass) IS
'the named spaces of a section file, besides its own embeddings: how their vectors are stored, and the hash of the model they come from';
COMMENT ON FUNCTION lateweave_blobs(regclass) IS
'the blobs that the chunks of a section file were cut from: number (from 0), SHA-256, uri, declared length, and whether the file holds the bytes';
COMMENT ON FUNCTION lateweave_blob(regclass, bigint) IS
'the bytes of a blob that the file holds, compared with their SHA-256 (ERROR XX001, BlobHashMismatch); ERROR 22023 for a number that is none, BlobNotInlined when the bytes are elsewhere';
COMMENT ON FUNCTION lateweave_cite(text) IS
'the chunk that a citation (urna://CONTENT_HASH/CHUNK_ID) names, among the section files of this database that the current user may read, one row for each table over such a file; no rows when none holds it. The first call of a session reads each file whole; tables with the option content_hash are passed over by it. A file that cannot be read is a WARNING. ERROR 22023 for what is no citation';
COMMENT ON FUNCTION lateweave_neighbors(regclass, text, integer) IS
'the chunks that the graph of a section file leads to from one, within so many hops, breadth-first: each once, with the type of the edge it was reached by first (next_chunk, semantic, citation, or its number) and the hop, from 1. No rows without a graph or such a chunk';
COMMENT ON FUNCTION lateweave_section_search(regclass, multivector, integer, text, text, text, integer, integer, integer, text, jsonb) IS
'the best k chunks of a section file, ties by ordinal, each scored exactly whatever found it. method: exact; ann (the HNSW index, beam ef); hybrid (that, or without an index the best candidates, and the best candidates of BM25 for query_text); graph (ef best and what hops lead to); auto (hybrid with BM25 and a query_text, else ann with an index, else exact). candidates: NULL is greatest(4 * k, 64). space: a named space, for exact and auto. model_hash: must be that of the vectors, letter by letter. route, the counts and disclosure say what was done, as the reference does. ERROR 22023 for a query of other than one token or of norm zero and for k below 1, 22000 for another dimension, model_hash or representation';

/* ---------------------------------------------------------------------------
 * Section files: building them, and their codecs
 */

CREATE FUNCTION lateweave_build_section_file(path text, query text, options json, overwrite boolean DEFAULT false,
	OUT bytes bigint, OUT content_hash text) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000;

COMMENT ON FUNCTION lateweave_build_section_file(text, text, json, boolean) IS
'writes the rows of a query as a section file, whole or not at all, and gives its size and the hash of its content. Columns of the query: text (text or bytea), uri (text), start and "end" (bytes; bigint or numeric), embedding (real[]); a column "space:NAME" (real[]) for each of the option spaces; blob_index (from 0), blob_start and blob_end, which go with the option blobs. Options, all but embedding_model and model_hash optional: embedding_model, model_hash (sha256: and 64 hexadecimal digits), chunker_version (lateweave/1), preset (exact, compressed, tiny, nano, hybrid; micro is tiny with mrl_dim 256), text_encoding (raw, zstd), dtype (float32, float16, int8, int4), mrl_dim (keeps that many components, and makes the norm 1), embedding_dim (what the rows must have), with_hnsw, with_bm25, with_graph, graph_top_m (8), hnsw_m (16), hnsw_ef_construction (400), hnsw_seed (42), title, version, created, description, authors (a list), license, provenance (an object, kept as given but for white space), reproducible (sets created to 1970), allow_placeholder_model_hash, producer, spaces (a list of name, dtype and model_hash), blobs (a query of uri text, sha256 bytea, bytes bytea and, if wanted, byte_len; bytes NULL: only referred to, else sha256 may be NULL). Needs superuser or pg_write_server_files; a relative path lies under lateweave.directory. Texts and uris stay in memory, each up to 1 GB, vectors and blobs do not. ERROR 58P02 when the file exists, unless overwrite; 22023 for the options, 22000 for a row (its number is given, DETAIL has the format''s error name), 22004 for NULL, 42703 and 42804 for columns, 54000 past a limit';

CREATE FUNCTION lateweave_encode_float16(rows real[], n integer, dim integer) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_decode_float16(bytes bytea, n integer, dim integer) RETURNS real[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_encode_int8(rows real[], n integer, dim integer) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_decode_int8(bytes bytea, n integer, dim integer) RETURNS real[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_encode_int4(rows real[], n integer, dim integer) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_decode_int4(bytes bytea, n integer, dim integer) RETURNS real[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_encode_intpack(numbers numeric[]) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_decode_intpack(bytes bytea) RETURNS numeric[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_encode_zstd(bytes bytea) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION lateweave_decode_zstd(bytes bytea) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_encode_txt_streams(texts text[]) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION lateweave_decode_txt_streams(bytes bytea) RETURNS text[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_encode_fsst(texts text[]) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION lateweave_decode_fsst(bytes bytea) RETURNS text[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_encode_zstd_dict(texts text[], OUT bytes bytea, OUT dictionary bytea) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION lateweave_encode_zstd_dict(texts text[], dictionary bytea) RETURNS bytea
	AS 'MODULE_PATHNAME', 'lateweave_encode_zstd_dict_with' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION lateweave_decode_zstd_dict(bytes bytea, dictionary bytea) RETURNS text[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_encode_dedup(texts text[], OUT pool text[], OUT map bytea) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_decode_dedup(pool text[], map bytea) RETURNS text[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_encode_chunk_ids(ids text[]) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_decode_chunk_ids(bytes bytea) RETURNS text[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_encode_spans(uris text[], starts numeric[], ends numeric[]) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION lateweave_decode_spans(bytes bytea, OUT uris text[], OUT starts numeric[], OUT ends numeric[]) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;

COMMENT ON FUNCTION lateweave_encode_float16(real[], integer, integer) IS
'n rows of dim components, in an array of any shape, as a section file has them with dtype float16: 2 bytes a component, rounded to the nearest, ties to even. ERROR 22000 for another number of components (DimensionMismatch), NaN and infinity (InvalidEmbeddingValue)';
COMMENT ON FUNCTION lateweave_decode_float16(bytea, integer, integer) IS
'the rows of 2 * n * dim bytes of float16, n x dim. ERROR 22000 for another size (EmbeddingSizeMismatch)';
COMMENT ON FUNCTION lateweave_encode_int8(real[], integer, integer) IS
'n rows of dim components, in an array of any shape, as a section file has them with dtype int8: 8 bytes, a float32 scale a row (its greatest magnitude / 127), a byte a component. ERROR 22000 for another number of components (DimensionMismatch), NaN and infinity (InvalidEmbeddingValue)';
COMMENT ON FUNCTION lateweave_decode_int8(bytea, integer, integer) IS
'the rows of 8 + 4 * n + n * dim bytes of int8, n x dim, each code times its row''s scale. ERROR 22000 for another size (EmbeddingSizeMismatch), version (UnsupportedSectionVersion) or kind of scale (MalformedSectionPayload)';
COMMENT ON FUNCTION lateweave_encode_int4(real[], integer, integer) IS
'n rows of dim components, in an array of any shape, as a section file has them with dtype int4: 8 bytes, a float16 scale for each 64 components (their greatest magnitude / 7), half a byte a component. ERROR 22023 unless dim is a multiple of 64 (InvalidInput), 22000 for another number of components (DimensionMismatch), NaN and infinity (InvalidEmbeddingValue)';
COMMENT ON FUNCTION lateweave_decode_int4(bytea, integer, integer) IS
'the rows of 8 + n * dim / 32 + n * dim / 2 bytes of int4, n x dim, each code times its block''s scale. ERROR 22023 unless dim is a multiple of 64, 22000 for another size (EmbeddingSizeMismatch), version (UnsupportedSectionVersion) or kind of scale (MalformedSectionPayload)';
COMMENT ON FUNCTION lateweave_encode_intpack(numeric[]) IS
'integers from 0 to 2^64-1 as a packed list: in blocks of 128, each with its least value and the others'' distance from it in as few bits as the block needs. ERROR 22003 for other numbers, 22004 for NULL';
COMMENT ON FUNCTION lateweave_decode_intpack(bytea) IS
'the integers of a packed list; bytes behind it are not looked at. ERROR 22000 (MalformedSectionPayload)';
COMMENT ON FUNCTION lateweave_encode_zstd(bytea) IS
'one Zstandard frame at level 19 without content size, as section files have them. The same bytes as the reference''s only with libzstd 1.5.7';
COMMENT ON FUNCTION lateweave_decode_zstd(bytea) IS
'what any number of Zstandard frames decode to; ERROR 22000 (MalformedSectionPayload) when they could expand to more than 64 MiB and 128 times their size, or are none';
COMMENT ON FUNCTION lateweave_encode_txt_streams(text[]) IS
'texts as text streams, encoding 10 of a section file: a Zstandard frame each. ERROR 22004 for NULL';
COMMENT ON FUNCTION lateweave_decode_txt_streams(bytea) IS
'the texts of text streams, encoding 10. ERROR 22000 (MalformedSectionPayload), 22021 for a text with U+0000, 22P05 for one that the database''s encoding cannot hold';
COMMENT ON FUNCTION lateweave_encode_fsst(text[]) IS
'texts as text streams, encoding 9 of a section file: one-byte codes of up to 255 common substrings. ERROR 22004 for NULL';
COMMENT ON FUNCTION lateweave_decode_fsst(bytea) IS
'the texts of text streams, encoding 9. ERROR 22000 (MalformedSectionPayload), 22021 for a text with U+0000, 22P05 for one that the database''s encoding cannot hold';
COMMENT ON FUNCTION lateweave_encode_zstd_dict(text[]) IS
'texts as text streams, encoding 5 of a section file: a Zstandard frame each, with the dictionary trained on them; NULL and NULL when they give none (fewer than 8 distinct texts, for one). ERROR 22004 for NULL';
COMMENT ON FUNCTION lateweave_encode_zstd_dict(text[], bytea) IS
'texts as text streams, encoding 5 of a section file, with a dictionary that is given. ERROR 22004 for a NULL in the array';
COMMENT ON FUNCTION lateweave_decode_zstd_dict(bytea, bytea) IS
'the texts of text streams, encoding 5, and their dictionary. ERROR 22000 (MalformedSectionPayload), 22021 for a text with U+0000, 22P05 for one that the database''s encoding cannot hold';
COMMENT ON FUNCTION lateweave_encode_dedup(text[]) IS
'the distinct texts in order of first appearance, and for each text its number among them, as section 0x0B has it. ERROR 22004 for NULL';
COMMENT ON FUNCTION lateweave_decode_dedup(text[], bytea) IS
'the texts that a map names in a pool. ERROR 22000 (MalformedSectionPayload), 54000 when they take more than 1 GB';
COMMENT ON FUNCTION lateweave_encode_chunk_ids(text[]) IS
'chunk ids, sha256: and 64 lowercase hexadecimal digits each, in 32 bytes each: encoding 4 of section 0x01. ERROR 22000 for other ids (InvalidInput), 22004 for NULL';
COMMENT ON FUNCTION lateweave_decode_chunk_ids(bytea) IS
'the chunk ids of encoding 4. ERROR 22000 (MalformedSectionPayload)';
COMMENT ON FUNCTION lateweave_encode_spans(text[], numeric[], numeric[]) IS
'spans as columns, encoding 4 of section 0x03: a uri, a first byte and an end from 0 to 2^64-1 each. ERROR 22023 for arrays of unequal length, 22003 for other numbers, 22004 for NULL';
COMMENT ON FUNCTION lateweave_decode_spans(bytea) IS
'the spans of encoding 4, as three arrays. ERROR 22000 (MalformedSectionPayload)';

/* ---------------------------------------------------------------------------
 * For the DBA
 */

CREATE FUNCTION lateweave_verify(source regclass, OUT object text, OUT check_name text, OUT ok boolean, OUT detail text)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 100000 ROWS 10;

COMMENT ON FUNCTION lateweave_verify(regclass) IS
'opens a source anew and checks everything about it, in the order of the format''s reference: a row for each check that passed, and a last one for the first that did not, whose check_name is the error name of the reference. Of a store that is the structure of all its files and every value, of a section file every checksum, too. ERROR 58P01, 42501 or 58030 when the files cannot be read at all';

CREATE FUNCTION lateweave_diff(source regclass, relation regclass, id_column name, OUT id text, OUT problem text)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 100000 ROWS 10;
CREATE FUNCTION lateweave_commit(source regclass) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
CREATE FUNCTION lateweave_snapshot(source regclass, directory text) RETURNS numeric
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

COMMENT ON FUNCTION lateweave_diff(regclass, regclass, name) IS
'what a store and a table do not share: the ids (the text form of the column) that the table has and the store has not, "not in the store", and the reverse, "not in the table". NULLs are passed over; a view can leave out the rows that are to have no document. Needs SELECT on both. Memory: a bit a document of the store. A document that changes meanwhile may be listed, since the store''s commit can be newer than the statement''s snapshot';
COMMENT ON FUNCTION lateweave_commit(regclass) IS
'has COMMIT publish what is pending of a store, or a commit without changes, which moves committed_at. For the owner of the foreign table';
COMMENT ON FUNCTION lateweave_snapshot(regclass, text) IS
'makes a directory with the files of the store''s current commit, and gives its number: hard links, or copies with a NOTICE where links are refused. What is staged or pending is not in it, and it stays when the transaction does not commit. The directory must not exist, but the one above it; a relative path lies under lateweave.directory. Needs SELECT on the foreign table and superuser or pg_write_server_files. ERROR 58P02 when the directory exists';

CREATE FUNCTION lateweave_prewarm(source regclass) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 100000;
CREATE FUNCTION lateweave_compact(source regclass,
	OUT documents bigint, OUT tokens bigint, OUT segments_before bigint, OUT segments_after bigint, OUT bytes_reclaimed bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION lateweave_compact(regclass) IS
'copies the present documents of a store into one segment and removes the files of the others; owner only. Changes no answer. Readers and writers go on meanwhile. Publishes by itself, like VACUUM: refused (55000) in a transaction that has changed the store, never rolled back. Rests by lateweave.cost_limit and lateweave.cost_delay; when interrupted it has no effect. bytes_reclaimed: of the files that were removed. Where lateweave_train has been used it then makes the codes of the new segment';
CREATE FUNCTION lateweave_settle(source regclass, action text) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION lateweave_settle(regclass, text) IS
'decides about pending changes of a store that this server cannot judge, since another cluster made them, or this one before it was restored to an earlier time: publish or discard; owner only. Returns how many there were. Until then changes of the store are ERROR 55000 or 55006';

CREATE FUNCTION lateweave_train(source regclass, centroids integer DEFAULT NULL,
	OUT centroids integer, OUT tokens_sampled bigint, OUT segments bigint) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION lateweave_train(regclass, integer) IS
'makes what approximate candidates need: centroids of the tokens of a store (NULL: 16 times the square root of their number, at most 65536), by k-means over a sample that fits maintenance_work_mem (or 64 MB), and the codes of its segments of 1000 documents or more; gives how many there are of each. Owner only. What is appended later has no codes, and is always scored exactly, until lateweave_compact or lateweave_prewarm has made them by the same centroids. These are kept in the data directory until they are trained anew, or forgotten: 0 centroids. ERROR 22023 for other numbers and a store without documents';

CREATE FUNCTION lateweave_estimate(documents bigint, tokens_per_document real, dimension integer, encoding text,
	OUT item text, OUT bytes bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 8;

COMMENT ON FUNCTION lateweave_prewarm(regclass) IS
'has a source ready before its first query: makes the derived files that sessions share, the codes of a store with trained centroids among them, checks the sections of a section file, and reads the files that queries read; how many bytes these have';
COMMENT ON FUNCTION lateweave_estimate(bigint, real, integer, text) IS
'how many bytes a vector store of one segment takes. Of its files codes or vectors, scales and offsets are exact; ids, the derived file (0 for fewer than 1000 documents) and so the sums are for ids of 20 bytes. disk is all of them; memory shared what the page cache holds when everything has been read; memory of a session what each session takes besides when it scans or searches. encoding is int8 or float32. ERROR 22023 for other values, 22003 for sizes past bigint';

CREATE FUNCTION lateweave_as_of(source regclass) RETURNS timestamptz
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10;
CREATE FUNCTION lateweave_list_sources(OUT source regclass, OUT kind text, OUT path text, OUT corpus text,
	OUT encoding text, OUT dimension numeric, OUT encoder text, OUT store_id text, OUT commit numeric,
	OUT committed_at timestamptz, OUT lag interval, OUT documents bigint, OUT unnameable bigint,
	OUT deleted bigint, OUT tokens bigint, OUT segments bigint, OUT bytes bigint, OUT pending bigint,
	OUT derived_bytes bigint, OUT unassigned bigint, OUT trained_at timestamptz, OUT notes text[],
	OUT error text) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 1000 ROWS 10;
CREATE FUNCTION lateweave_kernels(OUT kernel text, OUT available boolean, OUT active boolean) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL SAFE ROWS 4;

CREATE FUNCTION lateweave_list_stat(OUT source regclass, OUT scores bigint, OUT documents bigint, OUT tokens bigint,
	OUT bytes_read bigint, OUT score_time double precision, OUT view_reloads bigint, OUT commits bigint,
	OUT transactions_per_commit double precision, OUT compactions bigint, OUT last_error text,
	OUT last_error_at timestamptz, OUT stats_reset timestamptz) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 1000 ROWS 10;
CREATE FUNCTION lateweave_stat_reset() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION lateweave_stat_reset() FROM PUBLIC;
CREATE FUNCTION lateweave_list_progress(OUT pid integer, OUT source regclass, OUT phase text, OUT done bigint,
	OUT total bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 100 ROWS 2;

CREATE VIEW lateweave_sources AS SELECT * FROM lateweave_list_sources();
CREATE VIEW lateweave_stat AS SELECT * FROM lateweave_list_stat();
CREATE VIEW lateweave_progress AS SELECT * FROM lateweave_list_progress();
GRANT SELECT ON lateweave_sources, lateweave_stat, lateweave_progress TO PUBLIC;

COMMENT ON FUNCTION lateweave_as_of(regclass) IS
'committed_at of the commit that this statement sees: every write committed before it is in the answers; infinity past the range of timestamptz';
COMMENT ON FUNCTION lateweave_list_sources() IS
'the rows of the view lateweave_sources';
COMMENT ON FUNCTION lateweave_kernels() IS
'which instruction sets scoring knows, which this machine has, and which one is in use under the setting lateweave.kernel; all give the same scores';
COMMENT ON VIEW lateweave_sources IS
'the sources of this database that the current user may read (all of them for members of pg_read_all_stats). kind is the option that names the path. A broken source is a row with its error. Of a section file corpus is the title, encoding the dtype, documents and tokens the chunks; what only stores have is NULL. documents, tokens and unnameable (ids with U+0000, left out of scans and searches) count what is present; deleted the rows in tombstone files; bytes the vectors'' files; lag is the time since committed_at; pending the changes that are written but not published, of running transactions too; derived_bytes the files that sessions share of what they would compute. trained_at is when lateweave_train made the centroids of approximate candidates, unassigned the documents that are scored whatever these say. notes: unprotected = no store_id is recorded; compaction recommended = past lateweave.compact_segments or lateweave.compact_deleted_fraction; undecided changes = see lateweave_settle; no shared view = each session reads the manifest for itself, since the library is not preloaded';
COMMENT ON FUNCTION lateweave_list_stat() IS
'the rows of the view lateweave_stat';
COMMENT ON FUNCTION lateweave_stat_reset() IS
'sets what lateweave_stat counts in this database to 0. For superusers, and whom they grant it to';
COMMENT ON FUNCTION lateweave_list_progress() IS
'the rows of the view lateweave_progress';
COMMENT ON VIEW lateweave_stat IS
'what has been done with each source that the current user may read (all of them for members of pg_read_all_stats) since the server started or lateweave_stat_reset() was called; added when a statement ends. scores counts calls of functions and operators, each row''s for itself; documents and tokens what they scored, bytes_read what the vectors of those take, in memory or not; score_time is in ms: that of scores one at a time is measured only with track_io_timing; view_reloads the commits that sessions took up, each session''s first included; commits and compactions what sessions and the worker published by this foreign table. No rows where nothing is shared, since the library is not preloaded (from PostgreSQL 17 on it need not be)';
COMMENT ON VIEW lateweave_progress IS
'running compactions, bulk loads, verifications, builds and trainings of this database, as far as they are the current user''s own or those of a source that it may read (all of them for members of pg_read_all_stats). The phase names the unit of done and total; total is NULL when it is not known, source for the build of a section file. No rows where nothing is shared';

/* ---------------------------------------------------------------------------
 * The foreign-data wrapper: a vector store is a foreign table of id and tokens,
 * a section file one of its chunks
 */

CREATE FUNCTION lateweave_fdw_handler() RETURNS fdw_handler
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
CREATE FUNCTION lateweave_fdw_validator(text[], oid) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

COMMENT ON FUNCTION lateweave_fdw_handler() IS
'handler of the foreign-data wrapper lateweave';
COMMENT ON FUNCTION lateweave_fdw_validator(text[], oid) IS
'validator of the foreign-data wrapper lateweave: ERROR HV00D for an unknown option, 22023 or 42601 for a bad value, 42501 for a path that the current user may not attach';

CREATE FOREIGN DATA WRAPPER lateweave
	HANDLER lateweave_fdw_handler VALIDATOR lateweave_fdw_validator;
CREATE SERVER lateweave FOREIGN DATA WRAPPER lateweave;
GRANT USAGE ON FOREIGN SERVER lateweave TO PUBLIC;

COMMENT ON FOREIGN DATA WRAPPER lateweave IS
'vectors in vector stores and section files on the server''s disk';
COMMENT ON SERVER lateweave IS
'sources of this server: CREATE FOREIGN TABLE name (id text NOT NULL, tokens multivector) SERVER lateweave OPTIONS (store ''directory''), with the options store_id, min_commit, writable, heartbeat (s), compact_segments, compact_deleted_fraction; or CREATE FOREIGN TABLE name (ordinal bigint, chunk_id text, canonical_text text, canonical_bytes bytea, source_uri text, byte_start bigint, byte_end bigint, citation text, embedding real[]), any of these columns, OPTIONS (section_file ''file''), with the options space (whose vectors embedding has and scores are of) and content_hash (other content is refused). A relative path lies under lateweave.directory. Attaching needs superuser or pg_read_server_files, for writing pg_write_server_files too. IMPORT FOREIGN SCHEMA "directory" makes a table for each store and each file *.urna in a directory';

CREATE FUNCTION lateweave_record_store_id() RETURNS event_trigger
	AS 'MODULE_PATHNAME' LANGUAGE C;
CREATE EVENT TRIGGER lateweave_record_store_id ON ddl_command_end
	WHEN TAG IN ('CREATE FOREIGN TABLE', 'IMPORT FOREIGN SCHEMA')
	EXECUTE FUNCTION lateweave_record_store_id();

COMMENT ON FUNCTION lateweave_record_store_id() IS
'event trigger: records in new foreign tables of lateweave which store they were created over, as option store_id';
COMMENT ON EVENT TRIGGER lateweave_record_store_id IS
'records in new foreign tables of lateweave which store they were created over, so that another one in its place is refused; a missing or damaged store is an ERROR, or a WARNING when the table names its store_id; a section file always a WARNING';
