/*-------------------------------------------------------------------------
 *
 * test_section_reader.c
 *	  What a reader of section files holds against the world: requests to
 *	  stop, a limit of memory, files that are cut or change under it, ranges
 *	  of blobs, callers that ask for what is not there.
 *
 * Uses the golden files under $LATEWEAVE_GOLDEN.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "random.h"
#include "section.h"
#include "section/blob.h"
#include "section/chunks.h"
#include "section/citation.h"
#include "section/lists.h"
#include "section/space.h"
#include "section/text.h"
#include "section/verify.h"
#include "tree.h"
#include "unit.h"

#define DIMENSION 512
#define ROWS 5000				/* 10 MB of vectors */
#define TEXT_SIZE 400

static char scratch[] = "/tmp/lateweave-unit.XXXXXX";
static int	directory;			/* scratch, open */

/* ---- one file in several encodings ---- */

typedef enum Encoding
{
	RAW,
	STREAMS,
	FRAME,
	ENCODINGS
} Encoding;

static const char *const manifest_form =
"{\"format_version\":1,\"schema_version\":1,\"embedding_model\":\"m\",\"embedding_dim\":%d,\"n_chunks\":%d,"
"\"dtype\":\"float32\",\"metric\":\"ip\",\"score_type\":\"cosine\",\"normalize\":\"l2\",\"index_type\":\"exact\","
"\"rerank_policy\":\"none\",\"model_hash\":"
"\"sha256:0000000000000000000000000000000000000000000000000000000000000000\",\"chunker_version\":\"c\","
"\"capabilities\":{\"supports_exact\":true,\"supports_ann\":false,\"supports_bm25\":false,"
"\"supports_citations\":true,\"supports_reproducible_build\":true}%s}";
static const char *const contract =
"{\"metric\":\"ip\",\"score_type\":\"cosine\",\"normalize\":\"l2\",\"index_type\":\"exact\","
"\"rerank_policy\":\"none\"}";

static void
put_framed(LwBuffer *out, const char *json)
{
	lw_buffer_init(out, 0);
	lw_put_u32(out, 1);
	lw_put_u64(out, strlen(json));
	lw_put_bytes(out, json, strlen(json));
}

/* Text `i`, of TEXT_SIZE bytes. */
static void
make_text(size_t i, char text[TEXT_SIZE + 1])
{
	size_t		k;

	random_state = i + 1;
	for (k = 0; k < TEXT_SIZE; k++)
		text[k] = (char) ('a' + random_below(26));
	text[TEXT_SIZE] = '\0';
}

/* A file of `rows` chunks, whose texts are encoded in some way. */
static LwBuffer
make_file(size_t rows, Encoding encoding, const char *more)
{
	LwBuffer	payloads[7];
	LwBuffer	out;
	SectionInput sections[6];
	LwBytes    *texts = calloc(rows, sizeof(LwBytes));
	LwSourceSpan *spans = calloc(rows, sizeof(LwSourceSpan));
	char	   *memory = malloc(rows * (TEXT_SIZE + 1 + 20));
	char		manifest[2000];
	LwError		error;
	size_t		i;
	LwStatus	status;

	for (i = 0; i < 7; i++)
		lw_buffer_init(&payloads[i], 0);
	for (i = 0; i < rows; i++)
	{
		char	   *text = memory + i * (TEXT_SIZE + 21);
		char	   *id = text + TEXT_SIZE + 1;

		make_text(i, text);
		snprintf(id, 20, "id%u", (unsigned) i);
		texts[i] = section_bytes(id);
		spans[i].uri = section_bytes("doc");
		spans[i].start = i;
		spans[i].end = i + 1;
	}
	status = lw_strings_encode(texts, rows, &payloads[0], &error);
	for (i = 0; i < rows; i++)
		texts[i].data -= TEXT_SIZE + 1, texts[i].size = TEXT_SIZE;
	if (status == LW_OK && encoding == STREAMS)
	{
		LwBytes		none = {NULL, 0};

		status = lw_texts_encode(LW_TEXT_FRAMES, texts, rows, none, NULL, &payloads[1], &error);
	}
	else if (status == LW_OK)
		status = lw_strings_encode(texts, rows, &payloads[encoding == FRAME ? 6 : 1], &error);
	if (status == LW_OK && encoding == FRAME)
	{
		LwZstdWriter writer;

		status = lw_zstd_writer_init(&writer, NULL, &error);
		if (status == LW_OK)
			status = lw_zstd_encode(&writer, lw_buffer_bytes(&payloads[6]), &payloads[1], &error);
		lw_zstd_writer_free(&writer);
	}
	if (status == LW_OK)
		status = lw_spans_encode(spans, rows, &payloads[2], &error);
	if (status != LW_OK)
		abort();
	for (i = 0; i < rows * DIMENSION; i++)
		lw_put_f32(&payloads[3], (float) (i % 100));
	put_framed(&payloads[4], "{\"a\":1}");
	put_framed(&payloads[5], contract);
	for (i = 0; i < 6; i++)
	{
		sections[i].id = (uint32_t) i + 1;
		sections[i].encoding = LW_ENCODING_RAW;
		sections[i].stored = lw_buffer_bytes(&payloads[i]);
	}
	if (encoding != RAW)
		sections[1].encoding = encoding == STREAMS ? LW_ENCODING_STREAMS : LW_ENCODING_ZSTD;
	snprintf(manifest, sizeof(manifest), manifest_form, DIMENSION, (int) rows, more);
	lw_buffer_init(&out, 0);
	section_write(&out, manifest, DIMENSION, rows, rows, sections, 6);
	for (i = 0; i < 7; i++)
		lw_buffer_free(&payloads[i]);
	free(texts);
	free(spans);
	free(memory);
	return out;
}

/* Writes a file and opens it again for mapping. */
static int
put_file(const char *name, LwBytes bytes)
{
	char		path[200];
	int			fd;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, bytes.data, bytes.size) != (ssize_t) bytes.size)
	{
		perror(path);
		exit(1);
	}
	return fd;
}

/* ---- requests to stop ---- */

typedef struct Patience
{
	int			asked;
	int			stop_at;
} Patience;

static bool
lose_patience(void *arg)
{
	Patience   *patience = arg;

	return ++patience->asked == patience->stop_at;
}

/* Each request to stop ends the work, and the handle works after it. */
static void
check_stop(void)
{
	LwBuffer	bytes = make_file(ROWS, STREAMS, "");
	Patience	patience = {0, 0};
	LwStop		stop = {lose_patience, &patience};
	LwVerify	how = {LW_VERIFY_OPEN, NULL, NULL, &stop, 0};
	LwSectionFile *file;
	LwVectorSlab slab;
	char		hash[LW_TEXT_HASH_SIZE + 1];
	LwError		error;
	int			all;
	int			i;

	CHECK(lw_section_verify_bytes(lw_buffer_bytes(&bytes), &how, &file, &error) == LW_OK, "%s", error.found);
	lw_section_close(file);
	all = patience.asked;
	CHECK(all >= 8, "asked %d times", all);
	for (i = 1; i <= all; i++)
	{
		patience.asked = 0;
		patience.stop_at = i;
		CHECK(lw_section_verify_bytes(lw_buffer_bytes(&bytes), &how, &file, &error) == LW_CANCELLED, "%d", i);
		CHECK(patience.asked == i, "%d", patience.asked);
	}

	CHECK(lw_section_open_bytes(lw_buffer_bytes(&bytes), 0, &file, &error) == LW_OK, "%s", error.found);
	lw_section_stop(file, &stop);
	patience.stop_at = patience.asked + 1;
	CHECK(lw_section_vectors(file, &slab, &error) == LW_CANCELLED, "%s", error.found);
	CHECK(lw_section_vectors(file, &slab, &error) == LW_OK, "%s", error.found);
	patience.stop_at = patience.asked + 1;
	CHECK(lw_section_vectors(file, &slab, &error) == LW_OK && patience.asked < patience.stop_at,
		  "a slab is checked once");
	CHECK(lw_section_content_hash(file, hash, &error) == LW_CANCELLED, "%s", error.found);
	CHECK(lw_section_content_hash(file, hash, &error) == LW_OK, "%s", error.found);
	lw_section_stop(file, NULL);
	CHECK(lw_section_file_hash(file, hash, &error) == LW_OK, "%s", error.found);
	lw_section_close(file);
	lw_buffer_free(&bytes);
}

/* ---- memory ---- */

/* Whether all texts can be read with so much memory, and are what was written. */
static LwStatus
read_texts(LwBytes bytes, size_t memory, LwError *error)
{
	LwSectionFile *file;
	LwStatus	status = lw_section_open_bytes(bytes, memory, &file, error);
	size_t		i;

	for (i = 0; status == LW_OK && i < file->rows; i += 100)
	{
		char		wanted[TEXT_SIZE + 1];
		LwBytes		text;

		status = lw_chunk_text(file, i, &text, error);
		if (status != LW_OK)
			break;
		make_text(i, wanted);
		CHECK(text.size == TEXT_SIZE && memcmp(text.data, wanted, TEXT_SIZE) == 0, "text %zu", i);
	}
	lw_section_close(file);
	return status;
}

static void
check_memory(void)
{
	const size_t rows = 2000;
	const size_t index = rows * sizeof(LwBytes);
	const size_t payload = LW_LIST_HEADER + rows * (TEXT_SIZE + 4);
	const size_t spare = 256 * 1024;	/* frames may seem larger than they are */
	const struct
	{
		Encoding	encoding;
		size_t		memory;
		LwStatus	status;
	}			cases[] = {
		{RAW, index, LW_OK},
		{RAW, index - 1, LW_LIMIT},
		{STREAMS, spare, LW_OK},
		{STREAMS, TEXT_SIZE / 2, LW_LIMIT},
		{FRAME, index + 4 * payload, LW_OK},
		{FRAME, index + payload - 1, LW_LIMIT},
		{FRAME, payload / 2, LW_LIMIT},
		{FRAME, 1, LW_LIMIT}
	};
	LwBuffer	files[ENCODINGS];
	LwError		error;
	size_t		i;

	for (i = 0; i < ENCODINGS; i++)
		files[i] = make_file(rows, (Encoding) i, "");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		LwStatus	status = read_texts(lw_buffer_bytes(&files[cases[i].encoding]), cases[i].memory, &error);

		CHECK(status == cases[i].status, "case %zu: %d, %s", i, status, error.found);
	}
	for (i = 0; i < ENCODINGS; i++)
		lw_buffer_free(&files[i]);
}

/* ---- files that change ---- */

/* Reads all there is; only that nothing happens counts. */
static void
read_all(LwSectionFile *file)
{
	char		hash[LW_TEXT_HASH_SIZE + 1];
	LwVectorSlab slab;
	const LwSpace *spaces;
	LwSpan		span;
	LwBytes		bytes;
	LwError		error;
	size_t		count;
	size_t		i;

	for (i = 0; i < file->rows; i++)
	{
		uint64_t	sum = 0;
		size_t		k;

		if (lw_chunk_id(file, i, &bytes, &error) == LW_OK)
		{
			for (k = 0; k < bytes.size; k++)
				sum += bytes.data[k];
			lw_chunk_find(file, bytes, &count, &error);
		}
		if (lw_chunk_text(file, i, &bytes, &error) == LW_OK)
			for (k = 0; k < bytes.size; k++)
				sum += bytes.data[k];
		if (lw_chunk_span(file, i, &span, &error) == LW_OK)
			for (k = 0; k < span.source.uri.size; k++)
				sum += span.source.uri.data[k];
		CHECK(sum < UINT64_MAX, "a sum of bytes");
	}
	lw_section_rerank_vectors(file, &slab, &error);
	lw_section_spaces(file, &spaces, &count, &error);
	for (i = 0; i < 3; i++)
		lw_blob_data(file, i, &bytes, &error);
	lw_section_provenance(file, &bytes, &error);
	lw_section_content_hash(file, hash, &error);
}

/* A file is cut: whoever reads it learns of that, and nothing else of it. */
static void
check_cut(Encoding encoding)
{
	LwBuffer	bytes = make_file(500, encoding, "");
	int			fd = put_file("cut", lw_buffer_bytes(&bytes));
	LwVerify	how = {LW_VERIFY_OPEN, NULL, NULL, NULL, 0};
	LwSectionFile *file;
	char		hash[LW_TEXT_HASH_SIZE + 1];
	LwError		error;

	CHECK(lw_section_open(directory, NULL, "/dev/null/none", 0, &file, NULL, &error) == LW_MISSING, "no file");
	CHECK(lw_section_open(directory, scratch, "cut", 0, &file, NULL, &error) == LW_OK, "%s", error.found);
	CHECK(lw_section_intact(file, &error) == LW_OK, "%s", error.found);
	CHECK(ftruncate(fd, 4096) == 0, "cut");
	CHECK(lw_section_content_hash(file, hash, &error) == LW_TRUNCATED, "%s", error.found);
	CHECK(strstr(error.path, "/cut") != NULL, "%s", error.path);
	CHECK(lw_section_intact(file, &error) == LW_TRUNCATED, "%s", error.found);
	read_all(file);
	lw_section_close(file);
	CHECK(lw_section_open(directory, scratch, "cut", 0, &file, NULL, &error) == LW_MALFORMED &&
		  strcmp(error.name, "FileSizeMismatch") == 0, "%s", error.found);
	CHECK(lw_section_verify(directory, scratch, "cut", &how, &file, NULL, &error) == LW_MALFORMED &&
		  strcmp(error.name, "FileSizeMismatch") == 0, "%s", error.found);
	CHECK(ftruncate(fd, 0) == 0, "emptied");
	CHECK(lw_section_open(directory, scratch, "cut", 0, &file, NULL, &error) == LW_MALFORMED &&
		  strcmp(error.name, "FileTruncated") == 0, "%s", error.found);
	close(fd);
	lw_buffer_free(&bytes);
}

/* Every byte of a file may change at any moment. */
static void
check_changes(LwBytes bytes)
{
	int			fd = put_file("changes", bytes);
	size_t		size = bytes.size;
	uint8_t    *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int			round;

	if (data == MAP_FAILED)
		abort();
	for (round = 0; round < 100; round++)
	{
		LwSectionFile *file;
		LwError		error;
		LwStatus	status;
		int			i;

		memcpy(data, bytes.data, size);
		status = lw_section_open(directory, scratch, "changes", 0, &file, NULL, &error);
		CHECK(status == LW_OK, "%s", error.found);
		if (status != LW_OK)
			break;
		random_state = (uint64_t) round + 1;
		if (round % 2 == 0)
			read_all(file);
		for (i = 0; i < 1 << round % 12; i++)
			data[random_below((uint32_t) size)] = (uint8_t) (round % 3 == 0 ? 0xff : random_below(256));
		if (round % 4 == 1)
			section_seal(data, size, true);
		read_all(file);
		lw_section_close(file);
	}
	munmap(data, size);
	close(fd);
}

static void
check_all_changes(void)
{
	static const char *const golden[] = {"everything", "blobs", "spaces", "text-same", NULL};
	const char *base = getenv("LATEWEAVE_GOLDEN");
	Encoding	encoding;
	size_t		i;

	for (encoding = RAW; encoding < ENCODINGS; encoding++)
	{
		LwBuffer	bytes = make_file(50, encoding, "");

		check_changes(lw_buffer_bytes(&bytes));
		lw_buffer_free(&bytes);
	}
	for (i = 0; golden[i] != NULL; i++)
	{
		char		path[500];
		LwBytes		bytes;
		char	   *data;

		snprintf(path, sizeof(path), "%s/sections/%s.urna", base != NULL ? base : "test/golden", golden[i]);
		data = read_file(path, &bytes.size);
		bytes.data = (const uint8_t *) data;
		check_changes(bytes);
		free(data);
	}
}

/* ---- blobs ---- */

/* Whether a blob's range in a section of 4 bytes of data is taken. */
static void
check_range(uint64_t offset, uint64_t size, bool good)
{
	LwBuffer	base = make_file(2, RAW, ",\"capabilities_ext\":{\"blobs_present\":true}");
	LwBuffer	refs;
	LwBuffer	data;
	LwBuffer	out;
	SectionInput sections[8];
	LwSectionFile *file;
	char		manifest[2000];
	LwBytes		bytes;
	LwError		error;
	size_t		i;

	lw_buffer_init(&refs, 0);
	lw_put_u32(&refs, 1);
	lw_put_u64(&refs, 1);
	for (i = 0; i < LW_SHA256_SIZE; i++)
		lw_put_u8(&refs, 0);
	lw_put_string(&refs, section_bytes("uri"));
	lw_put_u64(&refs, size);
	lw_put_u8(&refs, 1);
	lw_buffer_init(&data, 0);
	lw_put_u32(&data, 1);
	lw_put_u64(&data, 1);
	lw_put_u64(&data, offset);
	lw_put_u64(&data, size);
	lw_put_bytes(&data, "blob", 4);

	CHECK(lw_section_open_bytes(lw_buffer_bytes(&base), 0, &file, &error) == LW_OK, "%s", error.found);
	for (i = 0; i < 6; i++)
	{
		sections[i].id = file->entries[i].id;
		sections[i].encoding = file->entries[i].encoding;
		sections[i].stored.data = base.data + file->entries[i].offset;
		sections[i].stored.size = (size_t) file->entries[i].size;
	}
	sections[6].id = LW_SECTION_BLOB_REFS;
	sections[7].id = LW_SECTION_BLOB_DATA;
	sections[6].encoding = sections[7].encoding = LW_ENCODING_RAW;
	sections[6].stored = lw_buffer_bytes(&refs);
	sections[7].stored = lw_buffer_bytes(&data);
	snprintf(manifest, sizeof(manifest), "%.*s", (int) file->manifest.json.size,
			 (const char *) file->manifest.json.data);
	lw_section_close(file);
	lw_buffer_init(&out, 0);
	section_write(&out, manifest, DIMENSION, 2, 2, sections, 8);

	CHECK(lw_section_open_bytes(lw_buffer_bytes(&out), 0, &file, &error) == LW_OK, "%s", error.found);
	if (good)
	{
		CHECK(lw_blob_data(file, 0, &bytes, &error) == LW_OK && bytes.size == size &&
			  memcmp(bytes.data, &"blob"[offset], size) == 0, "%s", error.found);
		CHECK(lw_blob_verify(file, 0, &error) == LW_MALFORMED && strcmp(error.name, "BlobHashMismatch") == 0,
			  "%s", error.found);
	}
	else
		CHECK(lw_blob_data(file, 0, &bytes, &error) == LW_MALFORMED &&
			  strcmp(error.name, "MalformedSectionPayload") == 0, "%s", error.found);
	lw_section_close(file);
	lw_buffer_free(&out);
	lw_buffer_free(&refs);
	lw_buffer_free(&data);
	lw_buffer_free(&base);
}

static void
check_ranges(void)
{
	check_range(0, 4, true);
	check_range(1, 3, true);
	check_range(4, 0, true);
	check_range(1, 4, false);
	check_range(5, 0, false);
	check_range(UINT64_MAX - 7, 8, false);
	check_range(2, UINT64_MAX - 1, false);
}

/* ---- callers ---- */

static void
check_callers(void)
{
	LwBuffer	bytes = make_file(3, RAW, "");
	LwSectionFile *file;
	LwBytes		id;
	LwSpan		span;
	LwBlobRef	ref;
	size_t		ordinal;
	LwError		error;

	CHECK(lw_section_open_bytes(lw_buffer_bytes(&bytes), 0, &file, &error) == LW_OK, "%s", error.found);
	CHECK(lw_chunk_id(file, 3, &id, &error) == LW_NOT_FOUND, "chunk 3 of 3");
	CHECK(lw_chunk_text(file, SIZE_MAX, &id, &error) == LW_NOT_FOUND, "no chunk");
	CHECK(lw_chunk_span(file, 3, &span, &error) == LW_NOT_FOUND, "chunk 3 of 3");
	CHECK(lw_chunk_find(file, section_bytes("id2"), &ordinal, &error) == LW_OK && ordinal == 2, "%zu", ordinal);
	CHECK(lw_chunk_find(file, section_bytes("id3"), &ordinal, &error) == LW_OK && ordinal == SIZE_MAX, "%zu", ordinal);
	CHECK(lw_chunk_find(file, section_bytes(""), &ordinal, &error) == LW_OK && ordinal == SIZE_MAX, "%zu", ordinal);
	CHECK(lw_blob_ref(file, 0, &ref, &error) == LW_NOT_FOUND, "no blobs");
	CHECK(lw_blob_data(file, 0, &id, &error) == LW_NOT_FOUND && strcmp(error.name, "BlobNotInlined") == 0, "no blobs");
	CHECK(lw_section_payload(file, LW_SECTION_HNSW, &id, &error) == LW_MALFORMED &&
		  strcmp(error.name, "SectionNotFound") == 0, "no index");
	CHECK(lw_citation_resolve(file, section_bytes("urna://ab/id1"), &ordinal, &error) == LW_NOT_FOUND &&
		  strcmp(error.name, "CitationMismatch") == 0, "%s", error.found);
	CHECK(lw_citation_resolve(file, section_bytes("ab/id1"), &ordinal, &error) == LW_NOT_FOUND &&
		  strcmp(error.name, "CitationInvalid") == 0, "%s", error.found);
	lw_section_close(file);
	lw_section_close(NULL);
	lw_buffer_free(&bytes);
}

int
main(void)
{
	char		command[100];
	Encoding	encoding;

	if (mkdtemp(scratch) == NULL)
		return 1;
	directory = open(scratch, O_RDONLY | O_DIRECTORY);
	check_stop();
	check_memory();
	for (encoding = RAW; encoding < ENCODINGS; encoding++)
		check_cut(encoding);
	check_all_changes();
	check_ranges();
	check_callers();
	snprintf(command, sizeof(command), "rm -r '%s'", scratch);
	CHECK(system(command) == 0, "%s", command);
	return unit_done("test_section_reader");
}
