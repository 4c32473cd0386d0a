-- The codecs of section files: bytes that the format's description gives, and back.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lateweave;
RESET client_min_messages;

-- what a statement raises
CREATE FUNCTION attempt(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	EXECUTE command;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN concat_ws(E'\n', SQLSTATE || ': ' || SQLERRM, nullif(detail, ''));
END $$;

-- Vectors
SELECT lateweave_encode_float16('{1,-2,0.5,65504,1e-8,0.1}', 2, 3) AS float16,
       lateweave_decode_float16('\x003c00c00038ff7b0000662e', 2, 3) AS rows;
SELECT lateweave_encode_int8('{0.5,-0.25,0.125,1,0,0,0,0}', 2, 4) =
       '\x01000000000000000402013c0000803f40e0107f00000000' AS int8,
       lateweave_decode_int8('\x01000000000000000000003f0000803f40e0107f80000000', 2, 4) AS rows;
-- halfway cases go by the reciprocal of the scale
SELECT lateweave_encode_int8('{0.687460661,0.52777487}', 1, 2) AS int8;
SELECT substr(lateweave_encode_int4((ARRAY[1,-1,0.5]::real[] || array_fill(0::real, ARRAY[61])), 1, 64), 1, 13) AS int4,
       (lateweave_decode_int4('\x010000000100000092309704' || decode(repeat('00', 30), 'hex'), 1, 64))[1:1][1:4] AS rows;
SELECT array_dims(lateweave_decode_int4(lateweave_encode_int4(array_fill(0.25::real, ARRAY[3,128]), 3, 128), 3, 128)) AS dims,
       lateweave_encode_float16('{}', 0, 4) AS none, lateweave_decode_float16('', 0, 4) AS no_rows;
SELECT attempt($$SELECT lateweave_encode_int8('{1,2,3}', 2, 2)$$);
SELECT attempt($$SELECT lateweave_encode_int8('{1,NaN}', 1, 2)$$);
SELECT attempt($$SELECT lateweave_encode_int8('{1,NULL}', 1, 2)$$);
SELECT attempt($$SELECT lateweave_encode_int4('{1,2}', 1, 2)$$);
SELECT attempt($$SELECT lateweave_encode_float16('{1}', -1, 1)$$);
SELECT attempt($$SELECT lateweave_decode_float16('', 2147483647, 2147483647)$$);
SELECT attempt($$SELECT lateweave_decode_float16('\x00', 1, 1)$$);
SELECT attempt($$SELECT lateweave_decode_int8('\x02000000000000000000803f01', 1, 1)$$);
SELECT attempt($$SELECT lateweave_decode_int8('\x01000000010000000000803f01', 1, 1)$$);

-- Integers
SELECT lateweave_encode_intpack(numbers) AS intpack, lateweave_decode_intpack(lateweave_encode_intpack(numbers)) = numbers AS back
  FROM (VALUES (ARRAY[]::numeric[]), (ARRAY[0]), (ARRAY[7,7,7,7]), (ARRAY[0,1,2,3,4,5]), (ARRAY[1000000,1000001,1000005,1000002]),
               (ARRAY[0,11,11,30]), (ARRAY[18446744073709551615,0,9223372036854775807])) v (numbers);
SELECT length(lateweave_encode_intpack(numbers)), lateweave_decode_intpack(lateweave_encode_intpack(numbers)) = numbers AS back
  FROM (SELECT array_agg((i * 7) % 31)::numeric[] AS numbers FROM generate_series(0, 299) i) z;
SELECT lateweave_encode_intpack(ARRAY[1, 2.0, 3.10 - 0.10]::numeric[]) = lateweave_encode_intpack(ARRAY[1, 2, 3]) AS integral;
SELECT attempt($$SELECT lateweave_encode_intpack('{1.5}')$$);
SELECT attempt($$SELECT lateweave_encode_intpack('{-1}')$$);
SELECT attempt($$SELECT lateweave_encode_intpack('{18446744073709551616}')$$);
SELECT attempt($$SELECT lateweave_encode_intpack('{NaN}')$$);
SELECT attempt($$SELECT lateweave_encode_intpack('{1,NULL}')$$);
SELECT attempt($$SELECT lateweave_decode_intpack('\x01')$$);
-- one block named a thousand times claims more than is there
SELECT attempt($$SELECT lateweave_decode_intpack('\xffffffffffffff01')$$);

-- Bytes
SELECT lateweave_encode_zstd('') AS nothing, lateweave_decode_zstd('') AS of_nothing,
       lateweave_decode_zstd(lateweave_encode_zstd('abc') || lateweave_encode_zstd('def')) AS two_frames,
       substr(lateweave_encode_zstd('abc'), 1, 6) AS beginning;
SELECT lateweave_decode_zstd(lateweave_encode_zstd(bytes)) = bytes AS back, length(lateweave_encode_zstd(bytes)) < 200 AS small
  FROM (SELECT convert_to(repeat('lateweave ', 100000), 'UTF8') AS bytes) z;
SELECT attempt($$SELECT lateweave_decode_zstd('abc')$$);
-- 100 MB of zeros
SELECT attempt($$SELECT lateweave_decode_zstd(lateweave_encode_zstd(decode(repeat('00', 100000000), 'hex')))$$);

-- Texts
CREATE TABLE texts AS SELECT array_agg('text ' || i % 7 || repeat(' and more of it', i % 5)) AS texts FROM generate_series(1, 60) i;
SELECT lateweave_encode_txt_streams('{hi,""}') AS streams;
SELECT lateweave_decode_txt_streams('\x00020000000000000003000000010000000c000000000000000000000005605128b52ffd0068110000686928b52ffd2000010000') AS texts;
SELECT lateweave_decode_txt_streams(lateweave_encode_txt_streams(texts)) = texts AS streams,
       lateweave_decode_fsst(lateweave_encode_fsst(texts)) = texts AS fsst FROM texts;
SELECT length(lateweave_encode_fsst('{abab,ab}')) AS size, substr(lateweave_encode_fsst('{abab,ab}'), 85) AS frames,
       lateweave_encode_fsst('{}') AS none, lateweave_decode_fsst(lateweave_encode_fsst('{}')) AS no_texts;
SELECT bytes IS NOT NULL AND length(dictionary) > 256 AS trained, lateweave_decode_zstd_dict(bytes, dictionary) = texts AS back,
       bytes = lateweave_encode_zstd_dict(texts, dictionary) AS again
  FROM texts, lateweave_encode_zstd_dict(texts);
SELECT * FROM lateweave_encode_zstd_dict('{a,b}');
SELECT lateweave_decode_zstd_dict(lateweave_encode_zstd_dict('{one,two,""}', 'one and two'), 'one and two') AS raw_dictionary;
SELECT attempt($$SELECT lateweave_encode_zstd_dict('{a}', '')$$);
SELECT pool, map FROM lateweave_encode_dedup('{a,b,a}');
SELECT lateweave_decode_dedup(pool, map) = texts AS back, cardinality(pool) FROM texts, lateweave_encode_dedup(texts);
SELECT attempt($$SELECT lateweave_decode_dedup('{x}', map) FROM lateweave_encode_dedup('{a,b,a}')$$);
SELECT attempt($$SELECT lateweave_decode_dedup('{x}', '')$$);
SELECT attempt($$SELECT lateweave_encode_txt_streams('{a,NULL}')$$);
SELECT attempt($$SELECT lateweave_decode_txt_streams('')$$);
SELECT attempt($$SELECT lateweave_decode_txt_streams(lateweave_encode_fsst('{a}'))$$);
SELECT attempt($$SELECT lateweave_decode_zstd_dict(bytes, 'another') FROM texts, lateweave_encode_zstd_dict(texts)$$);
SELECT attempt($$SELECT lateweave_decode_fsst(overlay(lateweave_encode_fsst('{a}') PLACING '\xc3' FROM length(lateweave_encode_fsst('{a}'))))$$);

-- Chunk ids and spans
SELECT lateweave_encode_chunk_ids(ARRAY['sha256:' || repeat('0a', 32)]) AS ids,
       lateweave_decode_chunk_ids(lateweave_encode_chunk_ids(ARRAY['sha256:' || repeat('0a', 32), 'sha256:' || repeat('f', 64)])) AS back;
SELECT attempt($$SELECT lateweave_encode_chunk_ids(ARRAY['sha256:' || repeat('0A', 32)])$$);
SELECT lateweave_encode_spans('{a.txt,b.txt,a.txt}', '{5,0,9}', '{9,100,12}') AS spans;
SELECT * FROM lateweave_decode_spans(lateweave_encode_spans('{a,b,a}', '{0,18446744073709551615,7}', '{18446744073709551615,3,7}'));
SELECT attempt($$SELECT lateweave_encode_spans('{a}', '{5,6}', '{9}')$$);
SELECT attempt($$SELECT lateweave_decode_spans(lateweave_encode_chunk_ids('{}'))$$);
SELECT attempt($$SELECT lateweave_decode_chunk_ids(lateweave_encode_spans('{}', '{}', '{}'))$$);
SELECT attempt($$SELECT lateweave_decode_chunk_ids('\x00ffffffff')$$);
SELECT lateweave_encode_int8(NULL, 1, 1) IS NULL AND lateweave_decode_spans(NULL) IS NULL AS strict;
DROP TABLE texts;
DROP FUNCTION attempt(text);
