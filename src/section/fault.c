/*-------------------------------------------------------------------------
 *
 * fault.c
 *	  Errors of section files.
 *
 *-------------------------------------------------------------------------
 */
#include "section/fault.h"

#define SHOWN 80				/* bytes of a string */

LwStatus
lw_section_malformed(LwError *error, uint32_t id, const char *expected, const char *found)
{
	return lw_fail(error, LW_MALFORMED, "MalformedSectionPayload", -1, expected,
				   "%s in section 0x%02x", found, id);
}

LwStatus
lw_section_bad_version(LwError *error, uint32_t id, uint32_t version)
{
	return lw_fail(error, LW_MALFORMED, "UnsupportedSectionVersion", -1, "a section of version 1",
				   "version %u of section 0x%02x", version, id);
}

LwStatus
lw_section_bad_count(LwError *error, uint32_t id, uint64_t expected, uint64_t found)
{
	return lw_fail(error, LW_MALFORMED, "SectionCountMismatch", -1, "an entry for each chunk",
				   "%llu entries in section 0x%02x for %llu chunks", (unsigned long long) found, id,
				   (unsigned long long) expected);
}

LwStatus
lw_section_bad_string(LwError *error, const char *name, const char *expected, const char *what,
					  LwBytes found)
{
	return lw_fail(error, LW_MALFORMED, name, -1, expected, "%s \"%.*s\"%s", what,
				   (int) (found.size < SHOWN ? found.size : SHOWN), (const char *) found.data,
				   found.size > SHOWN ? " and more" : "");
}
