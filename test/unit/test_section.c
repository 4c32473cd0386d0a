/*-------------------------------------------------------------------------
 *
 * test_section.c
 *	  Golden section files: every fact that the reference reads from them.
 *
 * Uses the golden files under $LATEWEAVE_GOLDEN.
 *
 *-------------------------------------------------------------------------
 */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "section/blob.h"
#include "section/chunks.h"
#include "section/citation.h"
#include "section/quant.h"
#include "section/space.h"
#include "section/verify.h"
#include "tree.h"
#include "unit.h"

static const char *current;		/* case, for messages */
static int	directory;			/* of the golden files, open */

static bool
equals(LwBytes bytes, const char *text)
{
	return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static LwBytes
bytes_of(const char *text)
{
	LwBytes		bytes = {(const uint8_t *) text, strlen(text)};

	return bytes;
}

static void
hex(const uint8_t *bytes, size_t size, char *text)
{
	size_t		i;

	for (i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
}

/* The SHA-256 of bytes, as hex digits. */
static const char *
sum_of(const void *data, size_t size)
{
	static char text[2 * LW_SHA256_SIZE + 1];
	uint8_t		sum[LW_SHA256_SIZE];
	LwSha256	hash;
	LwError		error;

	lw_sha256_begin(&hash);
	lw_sha256_add(&hash, data, size);
	if (lw_sha256_sum(&hash, sum, &error) != LW_OK)
		abort();
	hex(sum, sizeof(sum), text);
	return text;
}

#define GOOD(call) \
	CHECK((call) == LW_OK, "%s: %s: expected %s, found %s", current, \
		  error.name ? error.name : "", error.expected, error.found)

static void
check_manifest(const LwSectionFile *file, const Tree *expected)
{
	const LwSectionManifest *m = &file->manifest;
	const Tree *capabilities = tree_get(expected, "capabilities");
	const Tree *extension = tree_find(expected, "capabilities_ext");
	const struct
	{
		const char *name;
		LwBytes		value;
	}			strings[] =
	{
		{"embedding_model", m->embedding_model}, {"dtype", m->dtype}, {"metric", m->metric},
		{"score_type", m->score_type}, {"normalize", m->normalize}, {"index_type", m->index_type},
		{"rerank_policy", m->rerank_policy}, {"model_hash", m->model_hash},
		{"chunker_version", m->chunker_version}, {"title", m->title}, {"version", m->version},
		{"created", m->created}, {"description", m->description}, {"license", m->license},
		{"producer", m->producer}
	};
	const struct
	{
		const char *name;
		bool		value;
		bool		extension;
	}			flags[] =
	{
		{"supports_exact", m->supports_exact, false}, {"supports_ann", m->supports_ann, false},
		{"supports_bm25", m->supports_bm25, false}, {"supports_citations", m->supports_citations, false},
		{"supports_reproducible_build", m->supports_reproducible_build, false},
		{"supports_multimodal", m->supports_multimodal, true}, {"graph_present", m->graph_present, true},
		{"graph_entities_present", m->graph_entities_present, true},
		{"supports_catalog", m->supports_catalog, true}, {"blobs_present", m->blobs_present, true}
	};
	size_t		i;

	for (i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
	{
		const Tree *value = tree_find(expected, strings[i].name);

		CHECK(value == NULL ? strings[i].value.data == NULL : equals(strings[i].value, value->text),
			  "%s: %s", current, strings[i].name);
	}
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
	{
		const Tree *from = flags[i].extension ? extension : capabilities;
		bool		value = from != NULL && tree_find(from, flags[i].name) != NULL &&
			tree_true(from, flags[i].name);

		CHECK(flags[i].value == value, "%s: %s", current, flags[i].name);
	}
	CHECK(m->format_version == tree_number(expected, "format_version"), "%s", current);
	CHECK(m->schema_version == tree_number(expected, "schema_version"), "%s", current);
	CHECK(m->embedding_dim == tree_number(expected, "embedding_dim"), "%s", current);
	CHECK(m->n_chunks == tree_number(expected, "n_chunks"), "%s", current);
	CHECK(m->has_mrl_dim == (tree_find(expected, "mrl_dim") != NULL), "%s", current);
	CHECK(m->has_full_dim == (tree_find(expected, "full_dim") != NULL), "%s", current);
	if (m->has_mrl_dim)
		CHECK(m->mrl_dim == tree_number(expected, "mrl_dim") &&
			  m->full_dim == tree_number(expected, "full_dim"), "%s", current);
}

static void
check_table(const LwSectionFile *file, const Tree *expected)
{
	const Tree *entry = expected->first;
	size_t		i;

	CHECK(file->nentries == expected->count, "%s: %zu sections", current, file->nentries);
	for (i = 0; entry != NULL && i < file->nentries; i++, entry = entry->next)
	{
		const LwSectionEntry *found = &file->entries[i];
		char		checksum[17];

		hex(found->checksum, sizeof(found->checksum), checksum);
		CHECK(found->id == tree_number(entry, "section_id") &&
			  found->encoding == tree_number(entry, "encoding") &&
			  found->offset == tree_number(entry, "offset") &&
			  found->size == tree_number(entry, "size") &&
			  strcmp(checksum, tree_text(entry, "checksum")) == 0 &&
			  strcmp(lw_section_name(found->id), tree_text(entry, "name")) == 0,
			  "%s: section 0x%02x", current, found->id);
	}
}

/* A JSON string as the reference's script writes it. */
static void
put_string(LwBuffer *out, LwBytes string)
{
	static const char *const escapes = "\bb\tt\nn\ff\rr\"\"\\\\";
	size_t		i;

	lw_put_u8(out, '"');
	for (i = 0; i < string.size; i++)
	{
		uint8_t		c = string.data[i];
		const char *escape = escapes;
		char		code[7];

		while (*escape != '\0' && *escape != (char) c)
			escape += 2;
		if (*escape != '\0')
		{
			lw_put_u8(out, '\\');
			lw_put_u8(out, (uint8_t) escape[1]);
		}
		else if (c < 0x20)
		{
			snprintf(code, sizeof(code), "\\u%04x", c);
			lw_put_bytes(out, code, 6);
		}
		else
			lw_put_u8(out, c);
	}
	lw_put_u8(out, '"');
}

static void
check_text(LwBytes text, const Tree *expected)
{
	if (expected->type == LW_JSON_STRING)
		CHECK(text.size == expected->size && memcmp(text.data, expected->text, text.size) == 0, "%s", current);
	else
		CHECK(text.size == tree_number(expected, "bytes") &&
			  strcmp(sum_of(text.data, text.size), tree_text(expected, "sha256")) == 0, "%s", current);
}

/* Every chunk, and that each citation leads back to it (or to its twin before it). */
static void
check_chunks(LwSectionFile *file, const Tree *expected)
{
	const Tree *chunk = tree_get(expected, "chunks")->first;
	LwBuffer	lines;
	LwError		error;
	size_t		i;

	lw_buffer_init(&lines, 0);
	for (i = 0; i < file->rows; i++)
	{
		LwBytes		id;
		LwBytes		text;
		LwSpan		span;
		LwBuffer	citation;
		char		numbers[60];
		size_t		found = SIZE_MAX;

		lw_buffer_init(&citation, 0);
		GOOD(lw_chunk_id(file, i, &id, &error));
		GOOD(lw_chunk_text(file, i, &text, &error));
		GOOD(lw_chunk_span(file, i, &span, &error));
		GOOD(lw_citation_write(file, i, &citation, &error));
		GOOD(lw_citation_resolve(file, lw_buffer_bytes(&citation), &found, &error));
		CHECK(found <= i, "%s: chunk %zu was found as %zu", current, i, found);
		if (found < i)
		{
			LwBytes		other;

			GOOD(lw_chunk_id(file, found, &other, &error));
			CHECK(other.size == id.size && memcmp(other.data, id.data, id.size) == 0, "%s: %zu", current, i);
		}
		if (chunk != NULL && tree_number(chunk, "ordinal") == i)
		{
			CHECK(equals(id, tree_text(chunk, "id")), "%s: %zu", current, i);
			check_text(text, tree_get(chunk, "text"));
			CHECK(equals(span.source.uri, tree_text(chunk, "uri")) &&
				  span.source.start == tree_number(chunk, "start") &&
				  span.source.end == tree_number(chunk, "end"), "%s: %zu", current, i);
			CHECK(equals(lw_buffer_bytes(&citation), tree_text(chunk, "citation")), "%s: %zu", current, i);
			chunk = chunk->next;
		}
		lw_put_u8(&lines, '[');
		put_string(&lines, id);
		lw_put_u8(&lines, ',');
		put_string(&lines, text);
		lw_put_u8(&lines, ',');
		put_string(&lines, span.source.uri);
		snprintf(numbers, sizeof(numbers), ",%llu,%llu,", (unsigned long long) span.source.start,
				 (unsigned long long) span.source.end);
		lw_put_bytes(&lines, numbers, strlen(numbers));
		put_string(&lines, lw_buffer_bytes(&citation));
		lw_put_bytes(&lines, "]\n", 2);
		lw_buffer_free(&citation);
	}
	CHECK(chunk == NULL, "%s", current);
	CHECK(strcmp(sum_of(lines.data, lines.size), tree_text(expected, "chunks_sha256")) == 0, "%s", current);
	lw_buffer_free(&lines);
}

/* The sum of a slab's decoded values. */
static const char *
rows_sum(const LwVectorSlab *slab)
{
	size_t		dimension = slab->dimension;
	float	   *rows = tree_memory(slab->rows * dimension * sizeof(float));
	const uint8_t *codes = slab->codes;
	const uint8_t *scales = slab->scales;
	const char *sum;
	float		scale;
	size_t		i;

	for (i = 0; i < slab->rows; i++)
	{
		float	   *row = rows + i * dimension;

		switch (slab->type)
		{
			case LW_VECTOR_FLOAT32:
				memcpy(row, codes + i * dimension * 4, dimension * 4);
				break;
			case LW_VECTOR_FLOAT16:
				lw_dequantize_float16(codes + i * dimension * 2, dimension, row);
				break;
			case LW_VECTOR_INT8:
				memcpy(&scale, scales + i * 4, 4);
				lw_dequantize_int8(codes + i * dimension, scale, dimension, row);
				break;
			case LW_VECTOR_INT4:
				lw_dequantize_int4(codes + i * dimension / 2, scales + i * dimension / 64 * 2, dimension, row);
				break;
		}
	}
	sum = sum_of(rows, slab->rows * dimension * sizeof(float));
	free(rows);
	return sum;
}

static void
check_slab(const LwVectorSlab *slab, const Tree *expected)
{
	CHECK(strcmp(lw_vector_type_name(slab->type), tree_text(expected, "dtype")) == 0 &&
		  slab->dimension == tree_number(expected, "dim") && slab->rows == tree_number(expected, "n"),
		  "%s", current);
	CHECK(strcmp(rows_sum(slab), tree_text(expected, "rows_sha256")) == 0, "%s", current);
}

static void
check_vectors(LwSectionFile *file, const Tree *expected)
{
	const Tree *embeddings = tree_get(expected, "embeddings");
	const Tree *next = embeddings->first;
	LwVectorSlab slab;
	const LwSpace *spaces;
	size_t		count;
	size_t		i;
	LwError		error;

	GOOD(lw_section_vectors(file, &slab, &error));
	check_slab(&slab, next);
	GOOD(lw_section_spaces(file, &spaces, &count, &error));
	CHECK(count + 1 == embeddings->count, "%s: %zu spaces", current, count);
	for (i = 0; i < count; i++)
	{
		next = next->next;
		GOOD(lw_section_space_vectors(file, &spaces[i], &slab, &error));
		check_slab(&slab, next);
		CHECK(equals(spaces[i].name, tree_text(next, "space")) &&
			  equals(spaces[i].model_hash, tree_text(next, "model_hash")) &&
			  (unsigned) LW_SECTION_BANDS + spaces[i].index == tree_number(next, "section_id"), "%s", current);
	}
	GOOD(lw_section_rerank_vectors(file, &slab, &error));
	if (strncmp(current, "fp-slab-", 8) == 0)
		CHECK(strcmp(lw_vector_type_name(slab.type), current + 8) == 0, "%s", current);
	else
		CHECK(slab.type == file->manifest.vector_type, "%s", current);
}

static void
check_blobs(LwSectionFile *file, const Tree *expected)
{
	const Tree *list = tree_find(expected, "blobs");
	const Tree *blob;
	size_t		count;
	size_t		i = 0;
	LwError		error;

	GOOD(lw_blob_count(file, &count, &error));
	CHECK(count == (list == NULL ? 0 : list->count), "%s: %zu blobs", current, count);
	for (blob = list == NULL ? NULL : list->first; blob != NULL; blob = blob->next, i++)
	{
		char		hash[LW_TEXT_HASH_SIZE + 1] = "";
		LwBlobRef	ref;
		LwBytes		data;

		GOOD(lw_blob_ref(file, i, &ref, &error));
		lw_text_hash(ref.sha256, hash);
		CHECK(strcmp(hash, tree_text(blob, "content_hash")) == 0 &&
			  equals(ref.uri, tree_text(blob, "original_uri")) && ref.size == tree_number(blob, "byte_len") &&
			  ref.inlined == tree_true(blob, "inlined"), "%s: blob %zu", current, i);
		if (ref.inlined)
		{
			GOOD(lw_blob_data(file, i, &data, &error));
			CHECK(strcmp(sum_of(data.data, data.size), tree_text(blob, "bytes_sha256")) == 0, "%s", current);
			GOOD(lw_blob_verify(file, i, &error));
		}
		else
			CHECK(lw_blob_data(file, i, &data, &error) == LW_NOT_FOUND &&
				  strcmp(error.name, tree_text(blob, "bytes")) == 0, "%s", current);
	}
	CHECK(lw_blob_ref(file, count, &(LwBlobRef) {{0}, {NULL, 0}, 0, false}, &error) == LW_NOT_FOUND, "%s", current);
}

/* What verify said, as lines. */
static void
note_passed(void *arg, const char *check, const char *detail)
{
	LwBuffer   *lines = arg;

	lw_put_bytes(lines, check, strlen(check));
	lw_put_u8(lines, '=');
	lw_put_bytes(lines, detail, strlen(detail));
	lw_put_u8(lines, '\n');
}

/* The facts in the lines that the reference's command prints. */
static void
check_report(const char *lines, const Tree *cli)
{
	static const struct
	{
		const char *line;
		const char *check;
	}			facts[] = {
		{"  Section checksums:  ", "section checksums="}, {"  Inlined blobs:      ", "inlined blobs="},
		{"  File hash:          ", "file hash="}, {"  Content hash:       ", "content hash="},
		{"  Header checksum:    ", "header checksum="}, {"  Footer hash:        ", "footer hash="},
		{"  Manifest:           ", "manifest="}, {"  Required sections:  ", "required sections="},
		{"  Embedding values:   ", "embedding values="}
	};
	const Tree *line;
	size_t		i;

	for (i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
	{
		const char *value = NULL;
		const char *found = strstr(lines, facts[i].check);
		char		wanted[200];

		for (line = cli->first; line != NULL; line = line->next)
			if (strncmp(line->text, facts[i].line, strlen(facts[i].line)) == 0)
				value = line->text + strlen(facts[i].line);
		CHECK((value == NULL) == (found == NULL), "%s: %s", current, facts[i].check);
		if (value == NULL || found == NULL)
			continue;
		snprintf(wanted, sizeof(wanted), "%s%.*s", facts[i].check, (int) strcspn(value, " "), value);
		if (strchr("0123456789s", value[0]) != NULL)
			CHECK(strncmp(found, wanted, strlen(wanted)) == 0, "%s: %s", current, wanted);
	}
}

static void
check_verify(const char *name, const Tree *expected)
{
	LwBuffer	lines;
	LwVerifyReport report = {note_passed, &lines};
	LwVerify	how = {LW_VERIFY_CONTAINER, NULL, &report, NULL, 0};
	LwSectionFile *file;
	LwError		error;

	for (; how.level <= LW_VERIFY_OPEN; how.level++)
	{
		lw_buffer_init(&lines, 0);
		GOOD(lw_section_verify(directory, "golden", name, &how, &file, NULL, &error));
		lw_put_u8(&lines, 0);
		if (how.level == LW_VERIFY_CONTAINER)
			check_report((char *) lines.data, tree_get(expected, "validate_cli"));
		CHECK(strstr((char *) lines.data, tree_text(expected, "content_hash")) != NULL, "%s", current);
		lw_buffer_free(&lines);
		lw_section_close(file);
	}
}

static void
check_case(const char *golden, const char *name)
{
	char		path[800];
	char		file_name[300];
	char		hash[LW_TEXT_HASH_SIZE + 1];
	struct stat status;
	LwSectionFile *file = NULL;
	LwBytes		json;
	LwError		error;
	Tree	   *expected;

	snprintf(path, sizeof(path), "%s/%s.expected.json", golden, name);
	snprintf(file_name, sizeof(file_name), "%s.urna", name);
	expected = tree_read(path);
	GOOD(lw_section_open(directory, golden, file_name, 0, &file, &status, &error));
	if (file == NULL)
		return;
	CHECK((unsigned long long) status.st_size == tree_number(expected, "file_size"), "%s", name);
	CHECK(file->legacy == (strcmp(tree_text(expected, "magic"), "NEST") == 0), "%s", name);
	CHECK(file->dimension == tree_number(expected, "embedding_dim") &&
		  file->rows == tree_number(expected, "n_embeddings"), "%s", name);
	check_manifest(file, tree_get(expected, "manifest"));
	check_table(file, tree_get(expected, "sections"));
	GOOD(lw_section_file_hash(file, hash, &error));
	CHECK(strcmp(hash, tree_text(expected, "file_hash")) == 0, "%s", name);
	GOOD(lw_section_content_hash(file, hash, &error));
	CHECK(strcmp(hash, tree_text(expected, "content_hash")) == 0, "%s", name);
	check_chunks(file, expected);
	check_vectors(file, expected);
	check_blobs(file, expected);
	GOOD(lw_section_contract(file, &error));
	GOOD(lw_section_provenance(file, &json, &error));
	CHECK(json.size >= 2 && json.data[0] == '{', "%s", name);
	GOOD(lw_section_intact(file, &error));
	lw_section_close(file);
	check_verify(file_name, expected);
	tree_free(expected);
}

static void
check_citations(void)
{
	static const struct
	{
		const char *citation;
		const char *hash;		/* NULL: it is none */
		const char *chunk;
	}			cases[] = {
		{"urna://sha256:ab/sha256:cd", "sha256:ab", "sha256:cd"},
		{"urna://ab/sha256:cd/more/parts", "sha256:ab", "sha256:cd"},
		{"urna://sha256:sha256:ab/cd", "sha256:ab", "cd"},
		{"urna:///", "sha256:", ""},
		{"urna://ab", NULL, NULL},
		{"URNA://ab/cd", NULL, NULL},
		{"nest://ab/cd", NULL, NULL},
		{"urna:/", NULL, NULL},
		{"", NULL, NULL}
	};
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		LwBuffer	hash;
		LwBytes		chunk;
		const char *problem;

		lw_buffer_init(&hash, 0);
		problem = lw_citation_parse(bytes_of(cases[i].citation), &hash, &chunk);
		CHECK((problem == NULL) == (cases[i].hash != NULL), "%s", cases[i].citation);
		if (problem == NULL && cases[i].hash != NULL)
			CHECK(equals(lw_buffer_bytes(&hash), cases[i].hash) && equals(chunk, cases[i].chunk),
				  "%s", cases[i].citation);
		lw_buffer_free(&hash);
	}
}

int
main(void)
{
	char		golden[400];
	const char *base = getenv("LATEWEAVE_GOLDEN");
	int			cases = 0;
	DIR		   *files;
	struct dirent *entry;

	snprintf(golden, sizeof(golden), "%s/sections", base != NULL ? base : "test/golden");
	files = opendir(golden);
	if (files == NULL)
	{
		perror(golden);
		return 1;
	}
	directory = dirfd(files);
	while ((entry = readdir(files)) != NULL)
	{
		char		name[256];
		char	   *end;

		snprintf(name, sizeof(name), "%s", entry->d_name);
		end = strstr(name, ".urna");
		if (end == NULL || end[5] != '\0')
			continue;
		*end = '\0';
		current = name;
		check_case(golden, name);
		cases++;
	}
	check_citations();
	CHECK(cases == 70, "%d golden files", cases);
	closedir(files);
	return unit_done("test_section");
}
