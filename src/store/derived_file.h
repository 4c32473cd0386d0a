/*-------------------------------------------------------------------------
 *
 * derived_file.h
 *	  How a derived file is laid out.  Only what reads and writes them looks in here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_DERIVED_FILE_H
#define LW_STORE_DERIVED_FILE_H

#include "derived.h"

/* Another layout has another magic: a file of it is none. */
#define LW_DERIVED_MAGIC "lwderiv1"
#define LW_DERIVED_NEW ".new"	/* ends the name of a file that is being written */
#define LW_DERIVED_PAGE 4096	/* parts begin at multiples of it */

typedef struct LwDerivedRange
{
	uint64_t	offset;			/* in the file */
	uint64_t	size;
} LwDerivedRange;

typedef struct LwDerivedHeader
{
	char		magic[8];
	uint64_t	size;			/* of the file */
	uint64_t	blocks;
	uint64_t	data_at;		/* where they begin */
	LwDerivedKey key;
	uint64_t	values[LW_DERIVED_VALUES];
	LwDerivedRange parts[LW_DERIVED_PARTS];
	char		path[LW_PATH_SIZE]; /* of key.files[0] */
	uint32_t	sums_checksum;	/* of the blocks' checksums, which follow the header's page */
	uint32_t	checksum;		/* of all before it */
} LwDerivedHeader;

/* Where files of a kind lie; NULL: there are to be none. */
extern const char *lw_derived_directory(LwDerivedKind kind);

/* The path of a key's file. */
extern void lw_derived_path(char path[LW_PATH_SIZE], const LwDerivedKey *key, const char *suffix);

extern uint32_t lw_derived_sum(const void *data, size_t size);

#endif							/* LW_STORE_DERIVED_FILE_H */
