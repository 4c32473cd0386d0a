/*-------------------------------------------------------------------------
 *
 * names.h
 *	  Names of the files in a store directory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_NAMES_H
#define LW_STORE_NAMES_H

#include "format/manifest.h"

/* Room for any name that is made here. */
#define LW_NAME_SIZE 80

/* What is ours alone: a directory that the format's writers leave alone. */
#define LW_PENDING_NAME ".lateweave"

/* The manifest that is about to replace the other; its name is one that the format's writers clear away. */
#define LW_MANIFEST_NEXT LW_MANIFEST_NAME ".next"

/* Files of a segment, in the order in which they are opened. */
typedef enum LwSegmentFile
{
	LW_FILE_IDS,
	LW_FILE_OFFSETS,
	LW_FILE_VECTORS,			/* float32 */
	LW_FILE_CODES,				/* int8 */
	LW_FILE_SCALES				/* int8 */
} LwSegmentFile;

#define LW_SEGMENT_FILES 5

static inline bool
lw_encoding_has(LwEncoding encoding, LwSegmentFile file)
{
	return encoding == LW_INT8 ? file != LW_FILE_VECTORS : file <= LW_FILE_VECTORS;
}

extern void lw_segment_name(char name[LW_NAME_SIZE], uint64_t segment, LwSegmentFile file);
extern void lw_tombstones_name(char name[LW_NAME_SIZE], uint64_t segment, uint64_t commit);

/* What a name in a store directory is. */
typedef enum LwNameKind
{
	LW_NAME_OTHER,				/* nobody's business */
	LW_NAME_MANIFEST,
	LW_NAME_SEGMENT,			/* a file of a segment, written as lw_segment_name does */
	LW_NAME_TOMBSTONES,
	LW_NAME_SPARE,				/* of a file that the format's writers clear away when no manifest names it */
	LW_NAME_STAGING,			/* of a directory that they clear away */
	LW_NAME_PENDING				/* ours */
} LwNameKind;

typedef struct LwName
{
	LwNameKind	kind;
	LwSegmentFile file;			/* LW_NAME_SEGMENT */
	uint64_t	segment;		/* LW_NAME_SEGMENT, LW_NAME_TOMBSTONES */
	uint64_t	commit;			/* LW_NAME_TOMBSTONES */
} LwName;

extern LwName lw_name_parse(const char *name);

/* Whether a manifest names the file. */
extern bool lw_manifest_names(const LwManifest *manifest, const LwName *name);

#endif							/* LW_STORE_NAMES_H */
