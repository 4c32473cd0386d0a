/*-------------------------------------------------------------------------
 *
 * lists.h
 *	  Raw payloads of the sections that are lists: chunk ids and texts (one
 *	  string each), spans (a uri, a start and an end).
 *
 * Decoded strings lie in the payload.  Should that be a map that changes, they
 * stay within it, but may be no UTF-8 any more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_LISTS_H
#define LW_SECTION_LISTS_H

#include "section/bytes.h"

#define LW_LIST_HEADER 12		/* a version, 1, and a u64 count */

/* As an expected number of entries: whatever the file says. */
#define LW_ANY_COUNT UINT64_MAX

/* Where a chunk comes from; the end may lie before the start. */
typedef struct LwSourceSpan
{
	LwBytes		uri;
	uint64_t	start;
	uint64_t	end;
} LwSourceSpan;

/*
 * The count that a payload states: MalformedSectionPayload when the header is not there or the payload too short
 * for so many entries, UnsupportedSectionVersion.
 */
extern LwStatus lw_list_count(LwBytes payload, size_t *count, LwError *error);

/*
 * The strings of a payload that must hold `expected`: SectionCountMismatch
 * otherwise.  *strings is malloc'ed (NULL when there are none) and takes at
 * most 4 times the payload's size.
 */
extern LwStatus lw_strings_decode(LwBytes payload, uint64_t expected, LwBytes **strings,
								  LwError *error);

/* The same for spans: at most twice the payload's size. */
extern LwStatus lw_spans_decode(LwBytes payload, uint64_t expected, LwSourceSpan **spans,
								LwError *error);

/* Writes a payload; a string over 2^32 - 1 bytes is InvalidInput. */
extern LwStatus lw_strings_encode(const LwBytes *strings, size_t count, LwBuffer *payload,
								  LwError *error);
extern LwStatus lw_spans_encode(const LwSourceSpan *spans, size_t count, LwBuffer *payload,
								LwError *error);

/* Begins a payload whose entries the caller writes. */
extern void lw_put_list_header(LwBuffer *payload, size_t count);

/* SectionCountMismatch unless that many are expected. */
extern LwStatus lw_check_count(uint64_t count, uint64_t expected, LwError *error);

/* MalformedSectionPayload unless the bytes are UTF-8; `what` is a literal for the message. */
extern LwStatus lw_check_utf8(LwBytes bytes, const char *what, LwError *error);

#endif							/* LW_SECTION_LISTS_H */
