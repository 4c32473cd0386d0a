/*-------------------------------------------------------------------------
 *
 * fault.h
 *	  Errors of section files that are raised in many places.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_FAULT_H
#define LW_SECTION_FAULT_H

#include "format/error.h"
#include "section/bytes.h"

/* MalformedSectionPayload of a section: `expected` a literal, `found` what was there instead. */
extern LwStatus lw_section_malformed(LwError *error, uint32_t id, const char *expected,
									 const char *found);

/* The version that a payload begins with is another than it should be. */
extern LwStatus lw_section_bad_version(LwError *error, uint32_t id, uint32_t version);

/* A list has another number of entries than the file has chunks. */
extern LwStatus lw_section_bad_count(LwError *error, uint32_t id, uint64_t expected, uint64_t found);

/* An error about a string, of which it shows the beginning. */
extern LwStatus lw_section_bad_string(LwError *error, LwStatus status, const char *name,
									  const char *expected, const char *what, LwBytes found);

/* Adds which section an error of the codecs is about. */
extern LwStatus lw_section_of(LwError *error, uint32_t id);
extern LwStatus lw_section_cancelled(LwError *error);

static inline bool
lw_bytes_equal(LwBytes bytes, const char *text, size_t size)
{
	size_t		i;

	if (bytes.size != size)
		return false;
	for (i = 0; i < size; i++)
		if (bytes.data[i] != (uint8_t) text[i])
			return false;
	return true;
}

#endif							/* LW_SECTION_FAULT_H */
