/*-------------------------------------------------------------------------
 *
 * file.h
 *	  Section files: opening one, and its sections as they are needed.
 *
 * Opening checks the structure: header, table, manifest, and that the
 * required sections are there and of the right size.  It reads no section;
 * a section's checksum and what its bytes must be is checked when it is first
 * used, and remembered.  lw_section_verify (verify.h) checks everything.
 * Errors carry the reference's names.  Where several things are wrong, opening
 * may name a later one than the reference, whose order lw_section_verify has.
 *
 * The file is mapped and may change or be cut at any moment.  So
 *	 - borrowed bytes (LwBytes) of it may change under the caller, who copies
 *	   them before checking what they say, e.g. that a text is UTF-8;
 *	 - the caller looks at lw_section_intact after it has used them.
 *
 * A handle is for one thread.  Nothing here raises or jumps.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_FILE_H
#define LW_SECTION_FILE_H

#include <sys/stat.h>

#include "section/manifest.h"
#include "section/stop.h"

enum
{
	LW_SECTION_CHUNK_IDS = 0x01,
	LW_SECTION_TEXTS = 0x02,
	LW_SECTION_SPANS = 0x03,
	LW_SECTION_EMBEDDINGS = 0x04,
	LW_SECTION_PROVENANCE = 0x05,
	LW_SECTION_CONTRACT = 0x06,
	LW_SECTION_HNSW = 0x07,
	LW_SECTION_BM25 = 0x08,
	LW_SECTION_EMBEDDINGS_FP = 0x09,
	LW_SECTION_DICTIONARY = 0x0a,
	LW_SECTION_DEDUP = 0x0b,
	LW_SECTION_GRAPH = 0x0c,
	LW_SECTION_BLOB_REFS = 0x14,
	LW_SECTION_SPACES = 0x15,
	LW_SECTION_OVERLAY = 0x16,
	LW_SECTION_BLOB_DATA = 0x17,
	LW_SECTION_BANDS = 0x20,	/* to 0x2f; of space i it is 0x20 + i */
	LW_SECTION_BANDS_FP = 0x30	/* to 0x3f */
};

enum
{
	LW_ENCODING_RAW = 0,
	LW_ENCODING_ZSTD = 1,
	LW_ENCODING_FLOAT16 = 2,
	LW_ENCODING_INT8 = 3,
	LW_ENCODING_INTPACK = 4,
	LW_ENCODING_ZSTD_DICT = 5,
	LW_ENCODING_INT4 = 7,
	LW_ENCODING_FSST = 9,
	LW_ENCODING_STREAMS = 10
};

typedef struct LwSectionEntry
{
	uint32_t	id;
	uint32_t	encoding;
	uint64_t	offset;
	uint64_t	size;			/* of the stored bytes, which lie within the file */
	uint8_t		checksum[8];
} LwSectionEntry;

typedef struct LwSectionFile
{
	LwBytes		bytes;			/* the whole file */
	const char *path;			/* for messages */
	bool		legacy;			/* magic NEST */
	uint16_t	version_major;
	uint16_t	version_minor;
	uint32_t	dimension;
	size_t		rows;			/* chunks, and rows of every slab */
	LwSectionEntry *entries;	/* in the order of the file's table */
	size_t		nentries;
	LwSectionManifest manifest;

	struct LwSectionParts *parts;	/* what has been read so far; parts.h */
} LwSectionFile;

/*
 * Opens the file `name` of the directory open as `dirfd` (path `directory`,
 * for messages); *status gets what fstat said, when asked for.  `memory`
 * limits the bytes that decoded sections and their indexes take together in
 * the handle, LW_LIMIT beyond; 0 is LW_SECTION_MEMORY.  Bytes that are used as
 * they lie in the file do not count.
 */
#define LW_SECTION_MEMORY ((size_t) 1 << 30)

extern LwStatus lw_section_open(int dirfd, const char *directory, const char *name,
								size_t memory, LwSectionFile **file,
								struct stat *status, LwError *error);

/* The same over bytes in memory, which must outlive the handle. */
extern LwStatus lw_section_open_bytes(LwBytes bytes, size_t memory,
									  LwSectionFile **file, LwError *error);
extern void lw_section_close(LwSectionFile *file);

/* LW_TRUNCATED when the file was cut while it was mapped, else LW_OK. */
extern LwStatus lw_section_intact(const LwSectionFile *file, LwError *error);

/*
 * *stop is asked every few megabytes of hashing and checking; it must stay
 * until the file is closed or another is set.  NULL: never asked.
 */
extern void lw_section_stop(LwSectionFile *file, const LwStop *stop);

/* The first entry with this id, or NULL. */
extern const LwSectionEntry *lw_section_find(const LwSectionFile *file, uint32_t id);

/* "chunk_ids" and so on, "unknown" for what has no public name; encodings likewise. */
extern const char *lw_section_name(uint32_t id);
extern const char *lw_section_encoding_name(uint32_t encoding);

/* The stored bytes of a section after its checksum was checked; SectionNotFound when absent. */
extern LwStatus lw_section_stored(LwSectionFile *file, uint32_t id, LwBytes *stored,
								  LwError *error);

/*
 * The raw payload of a section: the file's own bytes, or decoded ones that the
 * handle keeps.  Where 0x0B says that texts repeat, 0x02 is the distinct ones.
 */
extern LwStatus lw_section_payload(LwSectionFile *file, uint32_t id, LwBytes *payload,
								   LwError *error);

/*
 * That section 0x06 says what the manifest says.  Nothing that is read depends
 * on it, but the reference opens no file where it does not hold.
 */
extern LwStatus lw_section_contract(LwSectionFile *file, LwError *error);

#endif							/* LW_SECTION_FILE_H */
