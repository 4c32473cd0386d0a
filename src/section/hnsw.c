/*-------------------------------------------------------------------------
 *
 * hnsw.c
 *	  Payloads of the HNSW index.
 *
 * A payload is gone through twice: first everything is checked and counted,
 * then it is copied into memory of just that size.  It may have changed in
 * between, so the second time checks as much, and the counts too.
 *
 *-------------------------------------------------------------------------
 */
#include "section/hnsw.h"

#include <stdlib.h>
#include <string.h>

#include "section/column.h"

#define VERSION_INLINE 1		/* lists one after another, integers of 32 bits */
#define VERSION_COLUMNS 2

#define TOO_MANY_LINKS "HNSW lists that can be counted in 32 bits"

/* Where lists go; both arrays of `copy` are NULL while they are only counted. */
typedef struct Lists
{
	LwHnsw	   *copy;
	uint64_t	lists;			/* so far */
	uint64_t	ids;
	uint64_t	max_lists;		/* that there are room for */
	uint64_t	max_ids;
} Lists;

static LwStatus
add_node(Lists *to, uint32_t node, uint64_t level, LwError *error)
{
	if (level > LW_HNSW_MAX_LEVEL)
		return lw_malformed(error, "HNSW levels of at most 64", level);
	if (to->copy->lists != NULL)
		to->copy->lists[node] = (uint32_t) to->lists;
	to->lists += level + 1;
	if (to->lists > to->max_lists)
		return lw_malformed(error, TOO_MANY_LINKS, to->lists);
	return LW_OK;
}

static LwStatus
add_list(Lists *to, uint64_t list, uint64_t count, LwError *error)
{
	if (count > LW_HNSW_MAX_LINKS)
		return lw_malformed(error, "at most 4096 HNSW neighbours", count);
	if (to->copy->starts != NULL)
		to->copy->starts[list] = (uint32_t) to->ids;
	to->ids += count;
	if (to->ids > to->max_ids)
		return lw_malformed(error, TOO_MANY_LINKS, to->ids);
	return LW_OK;
}

static LwStatus
add_id(Lists *to, uint64_t at, uint64_t id, LwError *error)
{
	if (id >= to->copy->nodes)
		return lw_malformed(error, "HNSW neighbours that are rows", id);
	if (to->copy->ids != NULL)
		to->copy->ids[at] = (uint32_t) id;
	return LW_OK;
}

static LwStatus
read_columns(LwCursor *cursor, Lists *to, LwError *error)
{
	LwColumn	column;
	LwStatus	status;
	uint64_t	value;
	uint64_t	i;

	status = lw_take_column(cursor, &column, to->copy->nodes, "an HNSW level for each row", error);
	for (i = 0; status == LW_OK && i < to->copy->nodes; i++)
	{
		status = lw_column_next(&column, &value, error);
		if (status == LW_OK)
			status = add_node(to, (uint32_t) i, value, error);
	}
	if (status == LW_OK)
		status = lw_take_column(cursor, &column, to->lists, "a number of HNSW neighbours for each list", error);
	for (i = 0; status == LW_OK && i < to->lists; i++)
	{
		status = lw_column_next(&column, &value, error);
		if (status == LW_OK)
			status = add_list(to, i, value, error);
	}
	if (status == LW_OK)
		status = lw_take_column(cursor, &column, to->ids, "as many HNSW neighbours as were counted", error);
	for (i = 0; status == LW_OK && i < to->ids; i++)
	{
		status = lw_column_next(&column, &value, error);
		if (status == LW_OK)
			status = add_id(to, i, value, error);
	}
	return status;
}

static LwStatus
read_inline(LwCursor *cursor, Lists *to, LwError *error)
{
	uint32_t	node;
	uint32_t	value;
	LwStatus	status;

	for (node = 0; node < to->copy->nodes; node++)
	{
		uint64_t	list = to->lists;

		if (!lw_take_u32(cursor, &value))
			return lw_malformed(error, "an HNSW level for each row", node);
		status = add_node(to, node, value, error);
		for (; status == LW_OK && list < to->lists; list++)
		{
			uint64_t	id = to->ids;

			if (!lw_take_u32(cursor, &value))
				return lw_malformed(error, "a number of HNSW neighbours for each list", list);
			status = add_list(to, list, value, error);
			for (; status == LW_OK && id < to->ids; id++)
			{
				if (!lw_take_u32(cursor, &value))
					return lw_malformed(error, "as many HNSW neighbours as were counted", id);
				status = add_id(to, id, value, error);
			}
		}
		if (status != LW_OK)
			return status;
	}
	return LW_OK;
}

/* Goes through a payload in the reference's order of checks. */
static LwStatus
read_payload(LwBytes payload, uint64_t rows, Lists *to, LwError *error)
{
	LwHnsw	   *hnsw = to->copy;
	LwCursor	cursor = lw_cursor(payload);
	LwStatus	status;
	uint32_t	version;
	uint32_t	nodes;

	if (!lw_take_u32(&cursor, &version) || !lw_take_u32(&cursor, &hnsw->m) ||
		!lw_take_u32(&cursor, &hnsw->m_max0) || !lw_take_u32(&cursor, &hnsw->ef_construction) ||
		!lw_take_u32(&cursor, &hnsw->entry_point) || !lw_take_u32(&cursor, &hnsw->max_level) ||
		!lw_take_u32(&cursor, &nodes))
		return lw_malformed(error, "an HNSW index of at least 28 bytes", payload.size);
	if (nodes != rows)
		return lw_malformed(error, "an HNSW node for each row", nodes);
	hnsw->nodes = nodes;
	if (version == VERSION_COLUMNS)
		status = read_columns(&cursor, to, error);
	else if (version == VERSION_INLINE)
		status = read_inline(&cursor, to, error);
	else
		return lw_fail(error, LW_MALFORMED, "UnsupportedSectionVersion", -1, "version 1 or 2 of an HNSW index",
					   "%u", (unsigned) version);
	if (status != LW_OK)
		return status;
	if (hnsw->max_level > LW_HNSW_MAX_LEVEL)
		return lw_malformed(error, "an HNSW top level of at most 64", hnsw->max_level);
	if (nodes > 0 && hnsw->entry_point >= nodes)
		return lw_malformed(error, "an HNSW entry point that is a row", hnsw->entry_point);
	return LW_OK;
}

static LwStatus
count_lists(LwBytes payload, uint64_t rows, LwHnsw *hnsw, Lists *counted, LwError *error)
{
	memset(hnsw, 0, sizeof(*hnsw));
	memset(counted, 0, sizeof(*counted));
	counted->copy = hnsw;
	counted->max_lists = UINT32_MAX;
	counted->max_ids = UINT32_MAX;
	return read_payload(payload, rows, counted, error);
}

LwStatus
lw_hnsw_check(LwBytes payload, uint64_t rows, LwError *error)
{
	LwHnsw		hnsw;
	Lists		counted;

	return count_lists(payload, rows, &hnsw, &counted, error);
}

/* Bytes of an index with so many nodes, lists and ids. */
static uint64_t
memory_of(uint64_t nodes, uint64_t lists, uint64_t ids)
{
	return sizeof(LwHnsw) + (nodes + 1 + lists + 1 + ids) * sizeof(uint32_t);
}

size_t
lw_hnsw_memory(const LwHnsw *hnsw)
{
	uint32_t	lists = hnsw->lists[hnsw->nodes];

	return (size_t) memory_of(hnsw->nodes, lists, hnsw->starts[lists]);
}

LwHnsw *
lw_hnsw_allocate(const LwHnsw *header, uint64_t lists, uint64_t ids)
{
	uint64_t	size = memory_of(header->nodes, lists, ids);
	LwHnsw	   *hnsw = size > SIZE_MAX ? NULL : malloc((size_t) size);

	if (hnsw == NULL)
		return NULL;
	*hnsw = *header;
	hnsw->lists = (uint32_t *) (hnsw + 1);
	hnsw->starts = hnsw->lists + hnsw->nodes + 1;
	hnsw->ids = hnsw->starts + lists + 1;
	hnsw->lists[hnsw->nodes] = (uint32_t) lists;
	hnsw->starts[lists] = (uint32_t) ids;
	return hnsw;
}

LwStatus
lw_hnsw_open(LwBytes payload, uint64_t rows, size_t memory, LwHnsw **hnsw, LwError *error)
{
	LwHnsw		header;
	Lists		lists;
	uint64_t	size;
	LwStatus	status = count_lists(payload, rows, &header, &lists, error);

	*hnsw = NULL;
	if (status != LW_OK)
		return status;
	size = memory_of(header.nodes, lists.lists, lists.ids);
	if (memory > 0 && size > memory)
		return lw_fail(error, LW_LIMIT, NULL, -1, "an HNSW index within the memory allowed",
					   "%llu bytes", (unsigned long long) size);
	*hnsw = lw_hnsw_allocate(&header, lists.lists, lists.ids);
	if (*hnsw == NULL)
		return lw_no_memory(error);
	lists.copy = *hnsw;
	lists.max_lists = lists.lists;
	lists.max_ids = lists.ids;
	lists.lists = 0;
	lists.ids = 0;
	status = read_payload(payload, rows, &lists, error);
	if (status == LW_OK && (lists.lists != lists.max_lists || lists.ids != lists.max_ids))
		status = lw_malformed(error, "an HNSW index that does not change", lists.ids);
	if (status != LW_OK)
	{
		lw_hnsw_close(*hnsw);
		*hnsw = NULL;
	}
	return status;
}

void
lw_hnsw_close(LwHnsw *hnsw)
{
	free(hnsw);
}

void
lw_hnsw_encode(const LwHnsw *hnsw, LwBuffer *payload)
{
	uint32_t	lists = hnsw->lists[hnsw->nodes];
	size_t		most = hnsw->starts[lists];
	uint64_t   *values;
	size_t		i;

	if (most < lists)
		most = lists;
	values = malloc((most + 1) * sizeof(*values));
	if (values == NULL)
	{
		payload->failed = true;
		return;
	}
	lw_put_u32(payload, VERSION_COLUMNS);
	lw_put_u32(payload, hnsw->m);
	lw_put_u32(payload, hnsw->m_max0);
	lw_put_u32(payload, hnsw->ef_construction);
	lw_put_u32(payload, hnsw->entry_point);
	lw_put_u32(payload, hnsw->max_level);
	lw_put_u32(payload, hnsw->nodes);
	for (i = 0; i < hnsw->nodes; i++)
		values[i] = hnsw->lists[i + 1] - hnsw->lists[i] - 1;
	lw_put_intpack_column(payload, values, hnsw->nodes);
	for (i = 0; i < lists; i++)
		values[i] = hnsw->starts[i + 1] - hnsw->starts[i];
	lw_put_intpack_column(payload, values, lists);
	for (i = 0; i < hnsw->starts[lists]; i++)
		values[i] = hnsw->ids[i];
	lw_put_intpack_column(payload, values, hnsw->starts[lists]);
	free(values);
}
