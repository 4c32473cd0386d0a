/*-------------------------------------------------------------------------
 *
 * framed.c
 *	  The frame around the JSON of sections 0x05 and 0x06.
 *
 *-------------------------------------------------------------------------
 */
#include "section/framed.h"

#include <errno.h>
#include <stdlib.h>

#include "section/fault.h"
#include "section/record.h"

#define VERSION 1

LwStatus
lw_framed_begin(LwBytes payload, uint32_t id, LwFramed *framed, LwError *error)
{
	LwCursor	cursor = lw_cursor(payload);
	uint32_t	version;
	uint64_t	size;

	framed->id = id;
	if (payload.size < sizeof(version) + sizeof(size) ||
		!lw_take_u32(&cursor, &version) || !lw_take_u64(&cursor, &size))
		return lw_section_malformed(error, id, "a version and a length", "fewer than 12 bytes");
	if (version != VERSION)
		return lw_section_bad_version(error, id, version);
	if (size > lw_cursor_left(&cursor) || !lw_take_bytes(&cursor, (size_t) size, &framed->json))
		return lw_section_malformed(error, id, "a length within the section", "a larger one");
	framed->trailing = lw_cursor_left(&cursor);
	return LW_OK;
}

LwStatus
lw_framed_end(const LwFramed *framed, LwError *error)
{
	if (framed->trailing != 0)
		return lw_section_malformed(error, framed->id, "nothing behind the text", "more bytes");
	return LW_OK;
}

LwStatus
lw_framed_bad_json(const LwFramed *framed, const LwJson *reader, LwError *error)
{
	return lw_fail(error, LW_MALFORMED, "Json", -1, "proper JSON", "%s at byte %zu of section 0x%02x",
				   reader->problem, reader->at, framed->id);
}

LwStatus
lw_framed_check_json(const LwFramed *framed, LwError *error)
{
	LwJson		reader;
	char	   *scratch = malloc(framed->json.size + 1);
	LwStatus	status = LW_OK;

	if (scratch == NULL)
		return lw_fail_errno(error, ENOMEM, "read the provenance of");
	lw_json_init(&reader, framed->json.data, framed->json.size);
	if (!lw_record_keep(&reader, lw_json_next(&reader), scratch) || lw_json_next(&reader) != LW_JSON_END)
		status = lw_framed_bad_json(framed, &reader, error);
	free(scratch);
	return status;
}
