/*-------------------------------------------------------------------------
 *
 * test_codec_golden.c
 *	  The codecs on files of the reference: what they decode to has the file's
 *	  content hash, and encoded again it is the file's bytes.
 *
 * Reads $LATEWEAVE_GOLDEN/sections: CASE.urna, CASE.expected.json for the
 * content hash, and CASE.rows.npy where there is one.  Zstandard frames are
 * compared only with the libzstd that the reference has.
 *
 *-------------------------------------------------------------------------
 */
#include <dirent.h>

#include "codec.h"
#include "format/npy.h"
#include "section/canon.h"
#include "section/chooser.h"
#include "section/dedup.h"
#include "section/hash.h"
#include "section/quant.h"
#include "section/repack.h"
#include "section/text.h"

#define REQUIRED 6

typedef struct Golden
{
	const char *name;			/* of the case */
	LwBuffer	file;
	uint64_t	rows;
	uint32_t	dimension;
	LwBytes		manifest;
	LwBuffer	raw[REQUIRED + 1];	/* decoded payloads of sections 1 to 6 */
} Golden;

/* Reads a file of the golden directory; false when it is not there. */
static bool
read_file(const char *directory, const char *name, const char *suffix, LwBuffer *buffer)
{
	char		path[4096];
	FILE	   *file;
	uint8_t    *to;
	size_t		size;

	lw_buffer_init(buffer, 0);
	snprintf(path, sizeof(path), "%s/%s%s", directory, name, suffix);
	file = fopen(path, "rb");
	if (file == NULL)
		return false;
	do
	{
		to = lw_buffer_reserve(buffer, 1 << 16);
		size = fread(to, 1, 1 << 16, file);
		buffer->size += size;
	} while (size > 0);
	fclose(file);
	return true;
}

/* The first section with this id; encoding UINT32_MAX when there is none. */
static LwBytes
find_section(const Golden *golden, uint32_t id, uint32_t *encoding)
{
	LwCursor	cursor = lw_cursor(lw_buffer_bytes(&golden->file));
	LwBytes		section = {NULL, 0};
	uint64_t	table;
	uint64_t	count;

	*encoding = UINT32_MAX;
	cursor.at = 40;
	if (!lw_take_u64(&cursor, &table) || !lw_take_u64(&cursor, &count))
		return section;
	for (cursor.at = table; count > 0; count--)
	{
		uint32_t	found = 0;
		uint64_t	offset = 0;
		uint64_t	size = 0;
		uint64_t	checksum;

		lw_take_u32(&cursor, &found);
		lw_take_u32(&cursor, encoding);
		lw_take_u64(&cursor, &offset);
		lw_take_u64(&cursor, &size);
		lw_take_u64(&cursor, &checksum);
		if (found != id)
			continue;
		section.data = golden->file.data + offset;
		section.size = size;
		return section;
	}
	*encoding = UINT32_MAX;
	return section;
}

/* Appends what a section's stored bytes stand for. */
static LwStatus
decode_section(const Golden *golden, LwBytes stored, uint32_t encoding, LwBuffer *raw, LwError *error)
{
	LwZstdReader reader;
	LwTexts		texts;
	LwBytes		dictionary;
	uint32_t	other;
	LwStatus	status;

	switch (encoding)
	{
		case 1:
			status = lw_zstd_reader_init(&reader, NULL, error);
			if (status == LW_OK)
				status = lw_zstd_decode(&reader, stored, raw, error);
			lw_zstd_reader_free(&reader);
			return status;
		case 4:
			return lw_repack_decode(stored, golden->rows, raw, error);
		case 5:
		case 9:
		case 10:
			dictionary = find_section(golden, 10, &other);
			status = lw_texts_open(stored, encoding == 5 ? LW_TEXT_DICTIONARY : encoding == 9 ? LW_TEXT_SYMBOLS :
								   LW_TEXT_FRAMES, other == UINT32_MAX ? NULL : &dictionary, &texts, error);
			if (status == LW_OK)
				status = lw_texts_decode(&texts, raw, error);
			lw_texts_close(&texts);
			return status;
		default:
			lw_put_bytes(raw, stored.data, stored.size);
			return lw_buffer_status(raw, error);
	}
}

/* Decodes sections 1 to 6. */
static void
decode_required(Golden *golden)
{
	uint32_t	id;
	uint32_t	encoding;
	LwError		error;

	for (id = 1; id <= REQUIRED; id++)
	{
		LwBytes		stored = find_section(golden, id, &encoding);
		LwBytes		map;

		lw_buffer_init(&golden->raw[id], 0);
		CHECK(decode_section(golden, stored, encoding, &golden->raw[id], &error) == LW_OK, "%s: section %u: %s, not %s",
			  golden->name, id, error.found, error.expected);
		map = find_section(golden, 11, &encoding);
		if (id == 2 && encoding != UINT32_MAX)
		{
			LwBuffer	pool = golden->raw[id];

			lw_buffer_init(&golden->raw[id], 0);
			CHECK(lw_dedup_expand(map, lw_buffer_bytes(&pool), golden->rows, &golden->raw[id], &error) == LW_OK,
				  "%s: %s", golden->name, error.expected);
			lw_buffer_free(&pool);
		}
	}
}

/* Compares the content hash with the one that the reference states. */
static void
check_content_hash(const char *directory, const Golden *golden)
{
	static const char *const names[] = {
		NULL, "chunk_ids", "chunks_canonical", "chunks_original_spans", "embeddings", "provenance", "search_contract"
	};
	LwBuffer	expected;
	LwSha256	hash;
	uint8_t		sum[LW_SHA256_SIZE];
	char		text[LW_TEXT_HASH_SIZE];
	const char *at;
	LwError		error;
	int			id;

	lw_sha256_begin(&hash);
	for (id = 1; id <= REQUIRED; id++)
	{
		lw_sha256_add_u32(&hash, (uint32_t) strlen(names[id]));
		lw_sha256_add(&hash, names[id], strlen(names[id]));
		lw_sha256_add_u64(&hash, golden->raw[id].size);
		lw_sha256_add(&hash, golden->raw[id].data, golden->raw[id].size);
	}
	CHECK(lw_sha256_sum(&hash, sum, &error) == LW_OK, "%s", error.found);
	lw_text_hash(sum, text);
	CHECK(read_file(directory, golden->name, ".expected.json", &expected), "%s", golden->name);
	lw_put_u8(&expected, 0);
	at = strstr((const char *) expected.data, "\"content_hash\"");
	at = at == NULL ? NULL : strstr(at, "sha256:");
	CHECK(at != NULL && strncmp(at, text, sizeof(text)) == 0, "%s: %.71s", golden->name, text);
	lw_buffer_free(&expected);
}

/* Compares with a section of the file, and frees. */
static void
expect_section(const Golden *golden, uint32_t id, LwBuffer *encoded)
{
	uint32_t	encoding;
	LwBytes		stored = find_section(golden, id, &encoding);

	CHECK(!encoded->failed && same_bytes(stored, lw_buffer_bytes(encoded)), "%s: section %u has %zu bytes, not %zu",
		  golden->name, id, stored.size, encoded->size);
	lw_buffer_free(encoded);
}

/* Encodes a payload as one frame. */
static void
encode_frame(LwBytes raw, LwBuffer *frame)
{
	LwZstdWriter writer;
	LwError		error;

	lw_buffer_init(frame, 0);
	CHECK(lw_zstd_writer_init(&writer, NULL, &error) == LW_OK, "%s", error.expected);
	CHECK(lw_zstd_encode(&writer, raw, frame, &error) == LW_OK, "%s", error.expected);
	lw_zstd_writer_free(&writer);
}

/* Chunk ids and spans, encoded again. */
static void
check_lists(const Golden *golden)
{
	LwBytes    *ids;
	LwSourceSpan *spans;
	LwBuffer	encoded;
	LwBuffer	frame;
	uint32_t	encoding;
	LwError		error;

	CHECK(lw_strings_decode(lw_buffer_bytes(&golden->raw[1]), golden->rows, &ids, &error) == LW_OK, "%s", golden->name);
	find_section(golden, 1, &encoding);
	lw_buffer_init(&encoded, 0);
	if (encoding == 4)
		CHECK(lw_repack_can_ids(ids, golden->rows) && lw_repack_ids(ids, golden->rows, &encoded, &error) == LW_OK,
			  "%s", golden->name);
	else
		CHECK(lw_strings_encode(ids, golden->rows, &encoded, &error) == LW_OK, "%s", golden->name);
	expect_section(golden, 1, &encoded);
	free(ids);

	CHECK(lw_spans_decode(lw_buffer_bytes(&golden->raw[3]), golden->rows, &spans, &error) == LW_OK, "%s", golden->name);
	find_section(golden, 3, &encoding);
	lw_buffer_init(&encoded, 0);
	if (encoding == 0)
		CHECK(lw_spans_encode(spans, golden->rows, &encoded, &error) == LW_OK, "%s", golden->name);
	else
	{
		CHECK(lw_repack_spans(spans, golden->rows, &encoded, &error) == LW_OK, "%s", golden->name);
		if (reference_zstd())
		{
			encode_frame(lw_buffer_bytes(&golden->raw[3]), &frame);
			CHECK((encoding == 4) == (encoded.size < frame.size), "%s: %zu and %zu bytes", golden->name, encoded.size,
				  frame.size);
			if (encoding == 1)
				expect_section(golden, 3, &frame);
			else
				lw_buffer_free(&frame);
		}
	}
	if (encoding != 1)
		expect_section(golden, 3, &encoded);
	lw_buffer_free(&encoded);
	free(spans);
}

/* The texts, encoded again by what the file has, and by the choice. */
static void
check_texts(const Golden *golden)
{
	LwBytes    *texts;
	LwBytes		nothing = {NULL, 0};
	LwBuffer	encoded;
	uint32_t	encoding;
	uint32_t	extra;
	LwError		error;

	CHECK(lw_strings_decode(lw_buffer_bytes(&golden->raw[2]), golden->rows, &texts, &error) == LW_OK, "%s", golden->name);
	find_section(golden, 2, &encoding);
	if (encoding == 0 || encoding == 9)
	{
		lw_buffer_init(&encoded, 0);
		if (encoding == 0)
			CHECK(lw_strings_encode(texts, golden->rows, &encoded, &error) == LW_OK, "%s", golden->name);
		else
			CHECK(lw_texts_encode(LW_TEXT_SYMBOLS, texts, golden->rows, nothing, NULL, &encoded, &error) == LW_OK,
				  "%s", golden->name);
		expect_section(golden, 2, &encoded);
	}
	if (encoding != 0 && reference_zstd())
	{
		LwTextChoice choice;

		CHECK(lw_choose_texts(texts, golden->rows, NULL, &choice, &error) == LW_OK, "%s", golden->name);
		CHECK(choice.encoding == encoding, "%s: encoding %u, not %u", golden->name, choice.encoding, encoding);
		find_section(golden, 10, &extra);
		CHECK((choice.extra_id == 10) == (extra != UINT32_MAX), "%s: a dictionary", golden->name);
		find_section(golden, 11, &extra);
		CHECK((choice.extra_id == 11) == (extra != UINT32_MAX), "%s: a map", golden->name);
		expect_section(golden, 2, &choice.payload);
		if (choice.extra_id != 0)
			expect_section(golden, choice.extra_id, &choice.extra);
		lw_text_choice_free(&choice);
	}
	free(texts);
}

/* Frames of the other sections, encoded again. */
static void
check_frames(const Golden *golden)
{
	static const uint32_t sections[] = {5, 6, 8};
	size_t		i;

	for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
	{
		uint32_t	encoding;
		LwBytes		stored = find_section(golden, sections[i], &encoding);
		LwBuffer	raw;
		LwBuffer	frame;
		LwError		error;

		if (encoding != 1)
			continue;
		lw_buffer_init(&raw, 0);
		CHECK(decode_section(golden, stored, 1, &raw, &error) == LW_OK, "%s: %s", golden->name, error.found);
		if (reference_zstd())
		{
			encode_frame(lw_buffer_bytes(&raw), &frame);
			expect_section(golden, sections[i], &frame);
		}
		lw_buffer_free(&raw);
	}
}

/* The vectors, from the rows that they were made of. */
static void
check_vectors(const char *directory, const Golden *golden)
{
	LwBuffer	file;
	LwBuffer	encoded;
	LwNpy		npy;
	LwError		error;
	uint32_t	encoding;
	const float *rows;

	if (!read_file(directory, golden->name, ".rows.npy", &file))
		return;
	CHECK(lw_npy_parse(file.data, file.size, &npy, &error) == LW_OK && npy.type == LW_NPY_FLOAT32, "%s", golden->name);
	if (npy.axes == 2 && npy.shape[1] == golden->dimension)
	{
		rows = (const float *) (file.data + npy.data_offset);
		lw_buffer_init(&encoded, 0);
		find_section(golden, 4, &encoding);
		if (encoding == 0)
			lw_put_float32_rows(&encoded, rows, golden->rows, golden->dimension);
		else if (encoding == 2)
			lw_put_float16_rows(&encoded, rows, golden->rows, golden->dimension);
		else if (encoding == 3)
			lw_put_int8_rows(&encoded, rows, golden->rows, golden->dimension);
		else
			lw_put_int4_rows(&encoded, rows, golden->rows, golden->dimension);
		expect_section(golden, 4, &encoded);
	}
	lw_buffer_free(&file);
}

/* JSON written again is the same. */
static void
check_json(const Golden *golden, LwBytes text)
{
	LwBuffer	json;
	LwError		error;

	lw_buffer_init(&json, 0);
	CHECK(lw_put_json(&json, text, LW_CANON_DEPTH, &error) == LW_OK, "%s: %s", golden->name, error.found);
	CHECK(same_bytes(lw_buffer_bytes(&json), text), "%s: %.*s", golden->name, (int) json.size, (char *) json.data);
	lw_buffer_free(&json);
}

static void
check_all_json(const Golden *golden)
{
	LwCursor	cursor = lw_cursor(lw_buffer_bytes(&golden->raw[5]));
	LwBytes		text;

	check_json(golden, golden->manifest);
	cursor.at = LW_LIST_HEADER;
	lw_take_bytes(&cursor, lw_cursor_left(&cursor), &text);
	check_json(golden, text);
}

/* The ids are the hashes of the chunks. */
static void
check_ids(const Golden *golden)
{
	static const char key[] = "\"chunker_version\":\"";
	LwBytes    *ids;
	LwBytes    *texts;
	LwSourceSpan *spans;
	LwBytes		chunker;
	LwError		error;
	char		id[LW_TEXT_HASH_SIZE];
	size_t		i;
	int			wrong = 0;

	chunker.data = memmem(golden->manifest.data, golden->manifest.size, key, sizeof(key) - 1);
	if (chunker.data == NULL || memcmp(golden->file.data, "URNA", 4) != 0)
		return;
	chunker.data += sizeof(key) - 1;
	chunker.size = strcspn((const char *) chunker.data, "\"");
	CHECK(lw_strings_decode(lw_buffer_bytes(&golden->raw[1]), golden->rows, &ids, &error) == LW_OK, "%s", golden->name);
	CHECK(lw_strings_decode(lw_buffer_bytes(&golden->raw[2]), golden->rows, &texts, &error) == LW_OK, "%s", golden->name);
	CHECK(lw_spans_decode(lw_buffer_bytes(&golden->raw[3]), golden->rows, &spans, &error) == LW_OK, "%s", golden->name);
	for (i = 0; i < golden->rows; i++)
	{
		LwBytes		made = {(const uint8_t *) id, sizeof(id)};

		if (lw_chunk_hash(texts[i], spans[i].uri, spans[i].start, spans[i].end, chunker, id, &error) != LW_OK ||
			!same_bytes(ids[i], made))
			wrong++;
	}
	CHECK(wrong == 0, "%s: %d ids", golden->name, wrong);
	free(ids);
	free(texts);
	free(spans);
}

static void
check_case(const char *directory, const char *name)
{
	Golden		golden = {0};
	LwCursor	cursor;
	uint64_t	offset = 0;
	uint64_t	size = 0;
	int			id;

	golden.name = name;
	CHECK(read_file(directory, name, ".urna", &golden.file), "%s", name);
	cursor = lw_cursor(lw_buffer_bytes(&golden.file));
	cursor.at = 12;
	lw_take_u32(&cursor, &golden.dimension);
	lw_take_u64(&cursor, &golden.rows);
	cursor.at = 56;
	lw_take_u64(&cursor, &offset);
	lw_take_u64(&cursor, &size);
	golden.manifest.data = golden.file.data + offset;
	golden.manifest.size = size;
	decode_required(&golden);
	check_content_hash(directory, &golden);
	check_lists(&golden);
	check_texts(&golden);
	check_frames(&golden);
	check_vectors(directory, &golden);
	check_all_json(&golden);
	check_ids(&golden);
	for (id = 1; id <= REQUIRED; id++)
		lw_buffer_free(&golden.raw[id]);
	lw_buffer_free(&golden.file);
}

int
main(void)
{
	const char *golden = getenv("LATEWEAVE_GOLDEN");
	char		directory[2048];
	DIR		   *stream;
	struct dirent *entry;
	int			cases = 0;

	snprintf(directory, sizeof(directory), "%s/sections", golden == NULL ? "test/golden" : golden);
	stream = opendir(directory);
	CHECK(stream != NULL, "%s", directory);
	while (stream != NULL && (entry = readdir(stream)) != NULL)
	{
		char	   *dot = strstr(entry->d_name, ".urna");

		if (dot == NULL)
			continue;
		*dot = '\0';
		check_case(directory, entry->d_name);
		cases++;
	}
	if (stream != NULL)
		closedir(stream);
	CHECK(cases > 0, "no section files in %s", directory);
	printf("%d section files, libzstd %s%s\n", cases, ZSTD_versionString(), reference_zstd() ? "" : ": frames not compared");
	return unit_done("test_codec_golden");
}
