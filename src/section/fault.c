/*-------------------------------------------------------------------------
 *
 * fault.c
 *	  Errors of section files.
 *
 *-------------------------------------------------------------------------
 */
#include "section/fault.h"

#include <stdio.h>
#include <string.h>

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
lw_section_bad_string(LwError *error, LwStatus status, const char *name, const char *expected,
					  const char *what, LwBytes found)
{
	return lw_fail(error, status, name, -1, expected, "%s \"%.*s\"%s", what,
				   (int) (found.size < SHOWN ? found.size : SHOWN), (const char *) found.data,
				   found.size > SHOWN ? " and more" : "");
}

LwStatus
lw_section_of(LwError *error, uint32_t id)
{
	size_t		size = strlen(error->found);

	if (error->status == LW_MALFORMED && strstr(error->found, "section 0x") == NULL)
		snprintf(error->found + size, sizeof(error->found) - size, " in section 0x%02x", id);
	return error->status;
}

LwStatus
lw_section_cancelled(LwError *error)
{
	return lw_fail(error, LW_CANCELLED, NULL, -1, "to go on", "a request to stop");
}
