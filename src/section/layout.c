/*-------------------------------------------------------------------------
 *
 * layout.c
 *	  Writing a section file out of its parts.
 *
 *-------------------------------------------------------------------------
 */
#include "section/layout.h"

#include <stdlib.h>
#include <string.h>

#include "section/fault.h"
#include "section/quant.h"
#include "section/stop.h"

#define HEADER_SIZE 128
#define HEADER_CHECKSUM 72		/* where it is, in the header */
#define HEADER_RESERVED 80
#define ENTRY_SIZE 32
#define FOOTER_SIZE 40
#define ALIGNMENT 64
#define SLAB_VERSION 1

/* Bytes that are read of a spill, and encoded, at a time; at least a row. */
#define BLOCK_SIZE ((size_t) 256 * 1024)

/* Where bytes go: into sums, and a file. */
typedef struct Sink
{
	LwSha256   *sum;
	LwSha256   *also;			/* or NULL */
	int			fd;				/* or -1 */
	uint64_t	size;
	const LwStop *stop;
	LwError    *error;
} Sink;

static LwStatus
sink_put(Sink *sink, const void *data, size_t size)
{
	const char *from = data;

	while (size > 0)
	{
		size_t		some = size < BLOCK_SIZE ? size : BLOCK_SIZE;
		LwStatus	status = LW_OK;

		if (lw_stop_asked(sink->stop))
			return lw_section_cancelled(sink->error);
		lw_sha256_add(sink->sum, from, some);
		if (sink->also != NULL)
			lw_sha256_add(sink->also, from, some);
		if (sink->fd >= 0)
			status = lw_write_all(sink->fd, from, some, sink->error);
		if (status != LW_OK)
			return status;
		sink->size += some;
		from += some;
		size -= some;
	}
	return LW_OK;
}

static uint64_t
align(uint64_t offset)
{
	return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Zeros up to where the next section begins. */
static LwStatus
sink_align(Sink *sink)
{
	static const uint8_t zeros[ALIGNMENT];

	return sink_put(sink, zeros, (size_t) (align(sink->size) - sink->size));
}

static LwStatus
put_spilled_bytes(Sink *sink, const LwPart *part)
{
	uint64_t	done = 0;
	uint8_t    *block = malloc(BLOCK_SIZE);
	LwStatus	status = block == NULL ? lw_no_memory(sink->error) : LW_OK;

	while (status == LW_OK && done < part->length)
	{
		size_t		some = part->length - done < BLOCK_SIZE ? (size_t) (part->length - done) : BLOCK_SIZE;

		status = lw_spill_read(part->spill, part->offset + done, block, some, sink->error);
		if (status == LW_OK)
			status = sink_put(sink, block, some);
		done += some;
	}
	free(block);
	return status;
}

/* Appends the scales of a row, or else its codes; `scratch` has room for `dimension` bytes. */
static void
encode_row(const LwSpilledRows *rows, const float *row, bool scales, uint8_t *scratch, LwBuffer *out)
{
	size_t		dimension = rows->dimension;
	size_t		nscales;
	float		scale;

	switch (rows->type)
	{
		case LW_VECTOR_FLOAT32:
			lw_put_float32_rows(out, row, 1, dimension);
			break;
		case LW_VECTOR_FLOAT16:
			lw_put_float16_rows(out, row, 1, dimension);
			break;
		case LW_VECTOR_INT8:
			scale = lw_quantize_int8(row, dimension, scratch);
			if (scales)
				lw_put_f32(out, scale);
			else
				lw_put_bytes(out, scratch, dimension);
			break;
		case LW_VECTOR_INT4:
			nscales = dimension / LW_QUANT_BLOCK * sizeof(uint16_t);
			lw_quantize_int4(row, dimension, scratch, scratch + nscales);
			if (scales)
				lw_put_bytes(out, scratch, nscales);
			else
				lw_put_bytes(out, scratch + nscales, dimension / 2);
			break;
	}
}

/* Puts the scales of all rows, or else their codes. */
static LwStatus
put_rows(Sink *sink, const LwSpilledRows *rows, bool scales)
{
	size_t		at_a_time = rows->stride < BLOCK_SIZE ? BLOCK_SIZE / rows->stride : 1;
	uint8_t    *block = malloc(at_a_time * rows->stride);
	float	   *row = malloc(rows->dimension * sizeof(float));
	uint8_t    *scratch = malloc(rows->dimension);
	LwBuffer	out;
	uint64_t	done = 0;
	LwStatus	status = LW_OK;

	lw_buffer_init(&out, 0);
	if (block == NULL || row == NULL || scratch == NULL)
		status = lw_no_memory(sink->error);
	while (status == LW_OK && done < rows->count)
	{
		size_t		some = rows->count - done < at_a_time ? (size_t) (rows->count - done) : at_a_time;
		size_t		i;

		/* what follows the last row's own components is not there, or not its own */
		status = lw_spill_read(rows->spill, rows->offset + done * rows->stride, block,
							   (some - 1) * rows->stride + rows->dimension * sizeof(float), sink->error);
		if (status != LW_OK)
			break;
		out.size = 0;
		for (i = 0; i < some; i++)
		{
			memcpy(row, block + i * rows->stride, rows->dimension * sizeof(float));
			encode_row(rows, row, scales, scratch, &out);
		}
		status = lw_buffer_status(&out, sink->error);
		if (status == LW_OK)
			status = sink_put(sink, out.data, out.size);
		done += some;
	}
	lw_buffer_free(&out);
	free(scratch);
	free(row);
	free(block);
	return status;
}

/* Puts rows as the payload of a vector section. */
static LwStatus
put_slab(Sink *sink, const LwSpilledRows *rows)
{
	const uint8_t prefix[8] = {SLAB_VERSION, 0, 0, 0, rows->type == LW_VECTOR_INT4, 0, 0, 0};
	LwStatus	status = LW_OK;

	if (rows->type == LW_VECTOR_INT8 || rows->type == LW_VECTOR_INT4)
	{
		status = sink_put(sink, prefix, sizeof(prefix));
		if (status == LW_OK)
			status = put_rows(sink, rows, true);
	}
	return status == LW_OK ? put_rows(sink, rows, false) : status;
}

static LwStatus
put_part(Sink *sink, const LwPart *part)
{
	LwStatus	status = sink_put(sink, part->bytes.data, part->bytes.size);

	if (status == LW_OK && part->spill != NULL)
		status = put_spilled_bytes(sink, part);
	if (status == LW_OK && part->rows.spill != NULL)
		status = put_slab(sink, &part->rows);
	return status;
}

LwStatus
lw_part_hash(LwPart *part, LwSha256 *also, const LwStop *stop, LwError *error)
{
	uint8_t		sum[LW_SHA256_SIZE];
	LwSha256	hash;
	Sink		sink = {&hash, also, -1, 0, stop, error};
	LwStatus	status;

	lw_sha256_begin(&hash);
	status = put_part(&sink, part);
	if (status == LW_OK)
		status = lw_sha256_sum(&hash, sum, error);
	else
		lw_sha256_free(&hash);
	if (status == LW_OK)
		memcpy(part->checksum, sum, sizeof(part->checksum));
	part->size = sink.size;
	return status;
}

static int
compare_parts(const void *a, const void *b)
{
	uint32_t	left = ((const LwPart *) a)->id;
	uint32_t	right = ((const LwPart *) b)->id;

	return left < right ? -1 : left > right;
}

/* Bytes of the whole file. */
static uint64_t
total_size(const LwLayout *layout)
{
	uint64_t	size = HEADER_SIZE + ENTRY_SIZE * layout->nparts + layout->manifest.size;
	size_t		i;

	for (i = 0; i < layout->nparts; i++)
		size = align(size) + layout->parts[i].size;
	return size + FOOTER_SIZE;
}

/* Header, table and manifest. */
static LwStatus
put_front(Sink *sink, const LwLayout *layout, uint64_t file_size)
{
	static const char magic[4] = {'U', 'R', 'N', 'A'};
	uint64_t	manifest_offset = HEADER_SIZE + ENTRY_SIZE * layout->nparts;
	uint64_t	offset = manifest_offset + layout->manifest.size;
	uint8_t		sum[LW_SHA256_SIZE];
	LwSha256	hash;
	LwBuffer	front;
	size_t		i;
	LwStatus	status;

	lw_buffer_init(&front, 0);
	lw_put_bytes(&front, magic, sizeof(magic));
	lw_put_u16(&front, 1);		/* version 1.0 */
	lw_put_u16(&front, 0);
	lw_put_u32(&front, 0);		/* flags */
	lw_put_u32(&front, layout->dimension);
	lw_put_u64(&front, layout->rows);	/* chunks */
	lw_put_u64(&front, layout->rows);	/* embeddings */
	lw_put_u64(&front, file_size);
	lw_put_u64(&front, HEADER_SIZE);	/* the table */
	lw_put_u64(&front, layout->nparts);
	lw_put_u64(&front, manifest_offset);
	lw_put_u64(&front, layout->manifest.size);
	while (front.size < HEADER_SIZE && !front.failed)
		lw_put_u8(&front, 0);
	for (i = 0; i < layout->nparts; i++)
	{
		const LwPart *part = &layout->parts[i];

		offset = align(offset);
		lw_put_u32(&front, part->id);
		lw_put_u32(&front, part->encoding);
		lw_put_u64(&front, offset);
		lw_put_u64(&front, part->size);
		lw_put_bytes(&front, part->checksum, sizeof(part->checksum));
		offset += part->size;
	}
	lw_put_bytes(&front, layout->manifest.data, layout->manifest.size);
	status = lw_buffer_status(&front, sink->error);
	if (status == LW_OK)
	{
		lw_sha256_begin(&hash);
		lw_sha256_add(&hash, front.data, HEADER_CHECKSUM);
		lw_sha256_add(&hash, front.data + HEADER_RESERVED, HEADER_SIZE - HEADER_RESERVED);
		status = lw_sha256_sum(&hash, sum, sink->error);
	}
	if (status == LW_OK)
	{
		memcpy(front.data + HEADER_CHECKSUM, sum, HEADER_RESERVED - HEADER_CHECKSUM);
		status = sink_put(sink, front.data, front.size);
	}
	lw_buffer_free(&front);
	return status;
}

LwStatus
lw_layout_write(const LwLayout *layout, int fd, uint64_t *size, LwError *error)
{
	uint8_t		footer[FOOTER_SIZE] = {FOOTER_SIZE};
	LwSha256	hash;
	Sink		sink = {&hash, NULL, fd, 0, layout->stop, error};
	size_t		i;
	LwStatus	status;

	qsort(layout->parts, layout->nparts, sizeof(LwPart), compare_parts);
	*size = total_size(layout);
	lw_sha256_begin(&hash);
	status = put_front(&sink, layout, *size);
	for (i = 0; status == LW_OK && i < layout->nparts; i++)
	{
		status = sink_align(&sink);
		if (status == LW_OK)
			status = put_part(&sink, &layout->parts[i]);
	}
	if (status != LW_OK)
	{
		lw_sha256_free(&hash);
		return status;
	}
	status = lw_sha256_sum(&hash, footer + sizeof(uint64_t), error);
	return status == LW_OK ? lw_write_all(fd, footer, sizeof(footer), error) : status;
}
