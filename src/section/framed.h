/*-------------------------------------------------------------------------
 *
 * framed.h
 *	  The frame around the JSON of sections 0x05 and 0x06: a version, a
 *	  length, the text and nothing else.
 *
 * The reference looks at what follows the text after it has read it, so
 * reading is in two steps around the caller's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_FRAMED_H
#define LW_SECTION_FRAMED_H

#include "format/json.h"
#include "section/bytes.h"

typedef struct LwFramed
{
	uint32_t	id;				/* of the section */
	LwBytes		json;
	size_t		trailing;		/* bytes behind it */
} LwFramed;

extern LwStatus lw_framed_begin(LwBytes payload, uint32_t id, LwFramed *framed, LwError *error);

/* Nothing may follow. */
extern LwStatus lw_framed_end(const LwFramed *framed, LwError *error);

/* Json unless the text is proper JSON, of any kind. */
extern LwStatus lw_framed_check_json(const LwFramed *framed, LwError *error);

/* Json, with what the reader says. */
extern LwStatus lw_framed_bad_json(const LwFramed *framed, const LwJson *reader, LwError *error);

#endif							/* LW_SECTION_FRAMED_H */
