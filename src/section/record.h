/*-------------------------------------------------------------------------
 *
 * record.h
 *	  JSON objects with known keys, as the reference reads them.
 *
 * Keys are compared after unescaping.  A known key that comes twice is an
 * error; of unknown ones the caller decides.  Where the shape says so, an array with
 * exactly one value for each known key, in their order, may stand for the object.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_RECORD_H
#define LW_SECTION_RECORD_H

#include "format/json.h"
#include "section/bytes.h"

/* The caller's readers take the value whose first token is given whole; false with reader->problem set refuses it. */
typedef struct LwRecordShape
{
	const char *const *keys;
	int			nkeys;			/* at most 32 */
	bool		array;			/* an array may stand for the object */
	bool		(*known) (void *arg, LwJson *reader, LwJsonToken token, int key);

	/* NULL: such values are skipped, held to syntax only */
	bool		(*unknown) (void *arg, LwJson *reader, LwJsonToken token, LwBytes name);
} LwRecordShape;

/*
 * Reads the value whose first token is `first`.  Bit i of *seen says that
 * key i was there.  Names are decoded into *scratch, which has room for as
 * many bytes as the text has left; `known` and `unknown` may move *scratch and use
 * it once they have looked at the name.  False on any error: reader->problem says which, at reader->at.
 */
extern bool lw_record_read(const LwRecordShape *shape, LwJson *reader, LwJsonToken first,
						   char *const *scratch, void *arg, uint32_t *seen);

/* Refuses a value: sets reader->problem and returns false. */
extern bool lw_record_refuse(LwJson *reader, const char *problem);

/*
 * Checks a value that is kept though nothing is known of it: proper strings,
 * finite numbers, and at most LW_RECORD_DEPTH containers open at a time.
 */
#define LW_RECORD_DEPTH 127

extern bool lw_record_keep(LwJson *reader, LwJsonToken token, char *scratch);

#endif							/* LW_SECTION_RECORD_H */
