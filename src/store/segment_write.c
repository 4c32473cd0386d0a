/*-------------------------------------------------------------------------
 *
 * segment_write.c
 *	  Writing the files of one segment.
 *
 * A header says how many rows follow, and is as long whatever it says.  So its
 * place is kept free, and it is written last, together with the rows when
 * these are few.
 *
 *-------------------------------------------------------------------------
 */
#include "store/segment_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/npy.h"
#include "format/utf8.h"
#include "kernel/encode.h"
#include "section/canon.h"
#include "store/fault.h"

/* Bytes that a file's pending ones may reach before they are written. */
#define PENDING_SIZE ((size_t) 256 * 1024)

/* Every so many bytes the disk is told to begin with what was written, so that the sync at the end waits for little. */
#define BEHIND_SIZE ((uint64_t) 8 * 1024 * 1024)

static void
name_file(LwSegmentWriter *writer, LwSegmentFile file, LwError *error)
{
	char		name[LW_NAME_SIZE];

	lw_segment_name(name, writer->entry.id, file);
	lw_error_path(error, writer->directory.path, name);
}

/* Closes what is open and gives back memory. */
static void
close_outputs(LwSegmentWriter *writer)
{
	int			file;

	for (file = 0; file < LW_SEGMENT_FILES; file++)
	{
		LwSegmentOutput *output = &writer->outputs[file];

		if (output->fd >= 0)
			close(output->fd);
		output->fd = -1;
		lw_buffer_free(&output->pending);
	}
}

void
lw_segment_write_abort(LwSegmentWriter *writer)
{
	close_outputs(writer);
	lw_segment_unlink(writer->directory, writer->entry.id, writer->encoding);
}

/* Creates one file; keeps the place of its header free, or begins the list of ids. */
static LwStatus
begin_output(LwSegmentWriter *writer, LwSegmentFile file, mode_t mode, LwError *error)
{
	static const char empty_header[LW_NPY_HEADER_SIZE];
	LwSegmentOutput *output = &writer->outputs[file];
	char		name[LW_NAME_SIZE];
	LwStatus	status;

	lw_segment_name(name, writer->entry.id, file);
	status = lw_file_create(writer->directory, name, mode, &output->fd, error);
	if (status != LW_OK)
		return status;
	if (file == LW_FILE_IDS)
		lw_put_u8(&output->pending, '[');
	else
		lw_put_bytes(&output->pending, empty_header, sizeof(empty_header));
	if (file == LW_FILE_OFFSETS)
		lw_put_u64(&output->pending, 0);
	return lw_buffer_status(&output->pending, error);
}

LwStatus
lw_segment_write_begin(LwSegmentWriter *writer, LwDirectory directory, uint64_t id,
					   LwEncoding encoding, uint64_t dimension, LwError *error)
{
	size_t		element = encoding == LW_INT8 ? 1 : sizeof(float);
	mode_t		mode;
	LwStatus	status;
	int			file;

	memset(writer, 0, sizeof(*writer));
	writer->directory = directory;
	writer->encoding = encoding;
	writer->dimension = dimension;
	writer->entry.id = id;
	for (file = 0; file < LW_SEGMENT_FILES; file++)
	{
		writer->outputs[file].fd = -1;
		lw_buffer_init(&writer->outputs[file].pending, 0);
	}
	if (dimension > SIZE_MAX / 2 / element)
	{
		lw_error_path(error, NULL, directory.path);
		return lw_fail(error, LW_LIMIT, "Dimension", -1, "tokens that fit into memory",
					   "%" PRIu64 " dimensions", dimension);
	}
	writer->row_size = (size_t) dimension * element;

	status = LW_FAULT("segment-begin");
	if (status == LW_OK)
		status = lw_directory_file_mode(directory, &mode, error);
	for (file = 0; status == LW_OK && file < LW_SEGMENT_FILES; file++)
	{
		if (!lw_encoding_has(encoding, (LwSegmentFile) file))
			continue;
		status = begin_output(writer, (LwSegmentFile) file, mode, error);
		if (status == LW_OK)
			status = LW_FAULT("segment-created");
	}
	if (status != LW_OK)
	{
		/* a file that was there already is not ours to remove */
		for (file = 0; file < LW_SEGMENT_FILES; file++)
			if (writer->outputs[file].fd >= 0)
			{
				char		name[LW_NAME_SIZE];

				lw_segment_name(name, id, (LwSegmentFile) file);
				(void) unlinkat(directory.fd, name, 0);
			}
		close_outputs(writer);
	}
	return status;
}

/* Writes what is pending, when that is much or `all` of it is to go. */
static LwStatus
flush(LwSegmentWriter *writer, LwSegmentFile file, bool all, LwError *error)
{
	LwSegmentOutput *output = &writer->outputs[file];
	LwStatus	status;

	if (!output->pending.failed && output->pending.size < PENDING_SIZE && !all)
		return LW_OK;
	name_file(writer, file, error);
	status = lw_buffer_status(&output->pending, error);
	if (status != LW_OK)
		return status;
	status = lw_file_write(output->fd, output->pending.data, output->pending.size, output->offset, error);
	if ((output->offset + output->pending.size) / BEHIND_SIZE > output->offset / BEHIND_SIZE)
		lw_file_begin_sync(output->fd);
	output->offset += output->pending.size;
	output->pending.size = 0;
	return status;
}

/* Appends what every document has: its id and where its rows end. */
static LwStatus
put_document(LwSegmentWriter *writer, LwString id, size_t tokens, LwError *error)
{
	LwBuffer   *ids = &writer->outputs[LW_FILE_IDS].pending;
	LwBytes		bytes = {(const uint8_t *) id.data, id.size};
	LwStatus	status;

	if (writer->entry.documents > 0)
		lw_put_u8(ids, ',');
	lw_put_json_string(ids, bytes);
	writer->entry.documents++;
	writer->entry.tokens += tokens;
	lw_put_u64(&writer->outputs[LW_FILE_OFFSETS].pending, writer->entry.tokens);
	status = flush(writer, LW_FILE_IDS, false, error);
	return status == LW_OK ? flush(writer, LW_FILE_OFFSETS, false, error) : status;
}

/* Appends bytes piece by piece, so that no document, however long, is held whole. */
static LwStatus
put_rows(LwSegmentWriter *writer, LwSegmentFile file, const void *data, size_t size, LwError *error)
{
	const char *from = data;
	LwStatus	status = LW_OK;

	while (status == LW_OK && size > 0)
	{
		size_t		some = size < PENDING_SIZE ? size : PENDING_SIZE;

		lw_put_bytes(&writer->outputs[file].pending, from, some);
		status = flush(writer, file, false, error);
		from += some;
		size -= some;
	}
	return status;
}

/* Encodes so many tokens at a time as fill what may be pending. */
static LwStatus
put_int8(LwSegmentWriter *writer, const float *values, size_t tokens, LwError *error)
{
	LwBuffer   *codes = &writer->outputs[LW_FILE_CODES].pending;
	LwBuffer   *scales = &writer->outputs[LW_FILE_SCALES].pending;
	size_t		dimension = writer->row_size;
	size_t		at_a_time = dimension < PENDING_SIZE ? PENDING_SIZE / dimension : 1;
	LwStatus	status = LW_OK;

	if (at_a_time > PENDING_SIZE / sizeof(float))
		at_a_time = PENDING_SIZE / sizeof(float);
	while (status == LW_OK && tokens > 0)
	{
		size_t		some = tokens < at_a_time ? tokens : at_a_time;
		uint8_t    *code = lw_buffer_reserve(codes, some * dimension);
		uint8_t    *scale = lw_buffer_reserve(scales, some * sizeof(float));

		if (code != NULL && scale != NULL)
		{
			lw_encode_int8(values, some, dimension, (int8_t *) code, (float *) (void *) scale);
			codes->size += some * dimension;
			scales->size += some * sizeof(float);
		}
		status = flush(writer, LW_FILE_CODES, false, error);
		if (status == LW_OK)
			status = flush(writer, LW_FILE_SCALES, false, error);
		values += some * dimension;
		tokens -= some;
	}
	return status;
}

LwStatus
lw_segment_write(LwSegmentWriter *writer, LwString id, const float *values, size_t tokens, LwError *error)
{
	LwStatus	status = put_document(writer, id, tokens, error);

	if (status != LW_OK)
		return status;
	if (writer->encoding == LW_INT8)
		return put_int8(writer, values, tokens, error);
	return put_rows(writer, LW_FILE_VECTORS, values, tokens * writer->row_size, error);
}

LwStatus
lw_segment_write_encoded(LwSegmentWriter *writer, LwString id, const LwDocument *document, LwError *error)
{
	LwStatus	status = put_document(writer, id, document->tokens, error);

	if (status == LW_OK)
		status = put_rows(writer, writer->encoding == LW_INT8 ? LW_FILE_CODES : LW_FILE_VECTORS,
						  document->rows, document->tokens * writer->row_size, error);
	if (status == LW_OK && writer->encoding == LW_INT8)
		status = put_rows(writer, LW_FILE_SCALES, document->scales, document->tokens * sizeof(float), error);
	return status;
}

/* The header of a finished file. */
static void
make_header(const LwSegmentWriter *writer, LwSegmentFile file, char *header)
{
	const LwManifestSegment *entry = &writer->entry;

	switch (file)
	{
		case LW_FILE_OFFSETS:
			lw_npy_header(LW_NPY_UINT64, 1, entry->documents + 1, 0, header);
			break;
		case LW_FILE_SCALES:
			lw_npy_header(LW_NPY_FLOAT32, 1, entry->tokens, 0, header);
			break;
		case LW_FILE_CODES:
			lw_npy_header(LW_NPY_INT8, 2, entry->tokens, writer->dimension, header);
			break;
		default:
			lw_npy_header(LW_NPY_FLOAT32, 2, entry->tokens, writer->dimension, header);
			break;
	}
}

/* Writes all that is left of a file. */
static LwStatus
end_output(LwSegmentWriter *writer, LwSegmentFile file, LwError *error)
{
	LwSegmentOutput *output = &writer->outputs[file];
	char		header[LW_NPY_HEADER_SIZE];
	LwStatus	status;

	if (file == LW_FILE_IDS)
	{
		lw_put_u8(&output->pending, ']');
		return flush(writer, file, true, error);
	}
	make_header(writer, file, header);
	if (output->offset == 0)
	{
		memcpy(output->pending.data, header, sizeof(header));
		return flush(writer, file, true, error);
	}
	status = flush(writer, file, true, error);
	return status == LW_OK ? lw_file_write(output->fd, header, sizeof(header), 0, error) : status;
}

/* Syncs and closes a file. */
static LwStatus
sync_output(LwSegmentWriter *writer, LwSegmentFile file, LwError *error)
{
	LwSegmentOutput *output = &writer->outputs[file];
	LwStatus	status;
	int			result;

	name_file(writer, file, error);
	status = lw_file_sync(output->fd, error);
	if (status != LW_OK)
		return status;
	result = close(output->fd);
	output->fd = -1;
	return result != 0 ? lw_fail_errno(error, errno, "close") : LW_FAULT("segment-synced");
}

LwStatus
lw_segment_write_end(LwSegmentWriter *writer, LwManifestSegment *entry, LwError *error)
{
	LwStatus	status = LW_OK;
	int			file;

	for (file = 0; status == LW_OK && file < LW_SEGMENT_FILES; file++)
	{
		if (!lw_encoding_has(writer->encoding, (LwSegmentFile) file))
			continue;
		status = end_output(writer, (LwSegmentFile) file, error);
		if (status == LW_OK)
			lw_file_begin_sync(writer->outputs[file].fd);
	}
	if (status == LW_OK)
		status = LW_FAULT("segment-written");
	for (file = 0; status == LW_OK && file < LW_SEGMENT_FILES; file++)
		if (lw_encoding_has(writer->encoding, (LwSegmentFile) file))
			status = sync_output(writer, (LwSegmentFile) file, error);
	if (status != LW_OK)
	{
		lw_segment_write_abort(writer);
		return status;
	}
	*entry = writer->entry;
	close_outputs(writer);
	return LW_OK;
}

LwStatus
lw_check_document(const LwManifest *manifest, LwString id, const float *values,
				  size_t tokens, uint64_t dimension, LwError *error)
{
	int			shown = (int) (id.size > 100 ? 100 : id.size);
	size_t		token;
	size_t		component;

	if (lw_utf8_valid(id.data, id.size) != id.size)
		return lw_fail(error, LW_INVALID, "IdUtf8", -1, "an id in valid UTF-8", "\"%.*s\"", shown, id.data);
	if (tokens == 0)
		return lw_fail(error, LW_INVALID, "NoTokens", -1, "at least one token a document",
					   "none in \"%.*s\"", shown, id.data);
	if (dimension != manifest->dimension)
		return lw_fail(error, LW_INVALID, "Dimension", -1, "tokens of the store's dimension",
					   "%" PRIu64 " instead of %" PRIu64 " in \"%.*s\"", dimension, manifest->dimension, shown, id.data);
	switch (lw_check_rows(values, tokens, (size_t) dimension, manifest->normalized, &token, &component))
	{
		case LW_ROWS_FINE:
			break;
		case LW_ROWS_NOT_FINITE:
			return lw_fail(error, LW_INVALID, "NotFinite", -1, "finite values",
						   "%g in token %zu, component %zu of \"%.*s\"",
						   (double) values[token * (size_t) dimension + component],
						   token + 1, component + 1, shown, id.data);
		case LW_ROWS_NOT_UNIT:
			return lw_fail(error, LW_INVALID, "NotNormalized", -1,
						   "tokens of norm 1, as the representation is normalized",
						   "another norm in token %zu of \"%.*s\"", token + 1, shown, id.data);
	}
	return LW_OK;
}

void
lw_segment_unlink(LwDirectory directory, uint64_t id, LwEncoding encoding)
{
	char		name[LW_NAME_SIZE];
	int			file;

	for (file = 0; file < LW_SEGMENT_FILES; file++)
		if (lw_encoding_has(encoding, (LwSegmentFile) file))
		{
			lw_segment_name(name, id, (LwSegmentFile) file);
			(void) unlinkat(directory.fd, name, 0);
		}
}

LwStatus
lw_segment_link(LwDirectory from, uint64_t id, LwDirectory to, uint64_t new_id, LwEncoding encoding, LwError *error)
{
	char		names[LW_SEGMENT_FILES][LW_NAME_SIZE];
	char		name[LW_NAME_SIZE];
	bool		copied = false;
	mode_t		mode;
	int			file;
	int			made = 0;
	LwStatus	status = lw_directory_file_mode(to, &mode, error);

	for (file = 0; status == LW_OK && file < LW_SEGMENT_FILES; file++)
	{
		if (!lw_encoding_has(encoding, (LwSegmentFile) file))
			continue;
		lw_segment_name(name, id, (LwSegmentFile) file);
		lw_segment_name(names[made], new_id, (LwSegmentFile) file);
		status = LW_FAULT("segment-link");
		if (status == LW_OK)
			status = lw_file_link(from, name, to, names[made], mode, &copied, error);
		if (status != LW_OK)
			break;
		made++;
		status = LW_FAULT("segment-linked");
	}
	while (status != LW_OK && made > 0)
		(void) unlinkat(to.fd, names[--made], 0);
	return status;
}
