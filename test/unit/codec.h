/*-------------------------------------------------------------------------
 *
 * codec.h
 *	  What the tests of the codecs share: bytes from hex, and comparisons.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_UNIT_CODEC_H
#define LW_UNIT_CODEC_H

#include <zstd.h>

#include "exact.h"
#include "section/bytes.h"
#include "unit.h"

/* Whether zstd frames can be compared: only this version makes the reference's bytes. */
static inline bool
reference_zstd(void)
{
	return ZSTD_versionNumber() == 10507;
}

static inline LwBytes
bytes_of(const char *text)
{
	LwBytes		bytes = {(const uint8_t *) text, strlen(text)};

	return bytes;
}

/* Appends bytes given in hex, with "*N" after a byte for N of them; other characters are ignored. */
static inline void
put_hex(LwBuffer *buffer, const char *hex)
{
	while (*hex != '\0')
	{
		unsigned	byte;
		long		times = 1;

		if (sscanf(hex, "%2x", &byte) != 1 || hex[0] == ' ')
		{
			hex++;
			continue;
		}
		hex += 2;
		if (*hex == '*')
			times = strtol(hex + 1, (char **) &hex, 10);
		while (times-- > 0)
			lw_put_u8(buffer, (uint8_t) byte);
	}
}

/* The bytes of hex, in memory of exactly their size that the caller frees. */
static inline LwBytes
from_hex(const char *hex)
{
	LwBuffer	buffer;
	LwBytes		bytes;

	lw_buffer_init(&buffer, 0);
	put_hex(&buffer, hex);
	bytes.data = (const uint8_t *) exact_copy(buffer.data, buffer.size);
	bytes.size = buffer.size;
	lw_buffer_free(&buffer);
	return bytes;
}

static inline bool
same_bytes(LwBytes a, LwBytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Whether a buffer holds the bytes given in hex; prints it if not. */
static inline bool
holds_hex(const LwBuffer *buffer, const char *hex)
{
	LwBytes		expected = from_hex(hex);
	bool		same = !buffer->failed && same_bytes(lw_buffer_bytes(buffer), expected);
	size_t		i;

	for (i = 0; !same && i < buffer->size && i < 400; i++)
		fprintf(stderr, "%02x%s", buffer->data[i], i + 1 == buffer->size ? "\n" : " ");
	free((void *) expected.data);
	return same;
}

static inline bool
is_error(LwStatus status, const LwError *error, const char *name)
{
	return status == LW_MALFORMED && error->name != NULL && strcmp(error->name, name) == 0;
}

#define MALFORMED_PAYLOAD "MalformedSectionPayload"

#endif							/* LW_UNIT_CODEC_H */
