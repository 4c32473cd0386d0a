/*-------------------------------------------------------------------------
 *
 * parts.h
 *	  What a handle of a section file has read so far.  Only the files that
 *	  read sections look in here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_PARTS_H
#define LW_SECTION_PARTS_H

#include "section/blob.h"
#include "section/chunks.h"
#include "section/citation.h"
#include "section/fault.h"
#include "section/slab.h"
#include "section/text.h"
#include "store/derived_ids.h"

#define LW_HEADER_SIZE 128
#define LW_ENTRY_SIZE 32
#define LW_FOOTER_SIZE 40
#define LW_SHORT_SUM_SIZE 8		/* of a SHA-256, in header and table */

/* Sections with payloads that the handle keeps have smaller ids. */
#define LW_PAYLOADS 0x18

#define LW_BANDS 16

/* Sections of fewer bytes are recorded as checked together with what is found out next. */
#define LW_LEARNED_BYTES ((size_t) 65536)

/* Bytes that long work takes before it asks whether to stop, and what an entry counts beside its bytes. */
#define LW_STOP_BYTES ((size_t) 4 << 20)
#define LW_STOP_ENTRY 64

/* Texts, in one of two forms: a list of strings, or streams of which one is read at a time. */
typedef struct LwTextParts
{
	bool		known;
	bool		streamed;
	LwBytes    *strings;
	LwTexts		streams;
	size_t		count;			/* of strings or streams */
	bool		repeated;		/* they are a pool; chunks refer to it */
	LwIntpack	references;
	LwBuffer	text;			/* the last one read of a stream */
} LwTextParts;

typedef struct LwSectionParts
{
	LwMap	   *map;			/* NULL over bytes in memory */
	const LwStop *stop;
	size_t		memory;			/* limit of `used` */
	size_t		used;
	bool	   *checked;		/* of each entry: its checksum is right */

	struct
	{
		bool		known;
		LwBytes		bytes;		/* in the file or in `buffer` */
		LwBuffer	buffer;
	}			payloads[LW_PAYLOADS];

	/* of its derived files (recall.h) */
	bool		recalls;
	LwDerivedKey ids_key;
	LwDerivedKey checks_key;
	LwDerivedIds kept;			/* ids and their hash, when there is such a file */
	bool		kept_damaged;	/* it is not used any more */

	LwBytes    *ids;			/* NULL until read; likewise below */
	uint32_t   *slots;			/* ordinal + 1 of ids by their hash */
	uint64_t	mask;			/* number of slots - 1 */
	uint32_t   *twins;			/* for each chunk the next with its id, its ordinal + 1; 0 for none */
	LwSourceSpan *spans;
	LwTextParts texts;

	bool		blobs_known;
	LwBlobRef  *blobs;
	size_t		nblobs;
	bool		overlay_known;
	LwBytes		overlay;		/* its entries; empty without one */

	bool		spaces_known;
	LwSpace    *spaces;
	size_t		nspaces;

	bool		vectors_finite;
	bool		fp_finite;
	bool		band_finite[LW_BANDS];
	bool		contract_checked;
	bool		all_checked;	/* by lw_section_verify, now or earlier */

	char		file_hash[LW_TEXT_HASH_SIZE + 1];	/* "" until known */
	char		content_hash[LW_TEXT_HASH_SIZE + 1];
} LwSectionParts;

/* The stages of opening; see table.c. */
typedef enum LwStructure
{
	LW_STRUCTURE_ONLY,
	LW_STRUCTURE_SUMS			/* also the checksums of sections and footer, in their places */
} LwStructure;

extern LwStatus lw_section_begin(LwBytes bytes, LwMap *map, size_t memory, LwSectionFile **file,
								 LwError *error);
extern LwStatus lw_section_structure(LwSectionFile *file, LwStructure how, LwError *error);

/* n_embeddings, which is file->rows, must be the number of chunks. */
extern LwStatus lw_section_rows_check(const LwSectionFile *file, LwError *error);

/* Sets the error's path, and makes it LW_TRUNCATED if that is what is behind it; returns its status. */
extern LwStatus lw_section_failed(const LwSectionFile *file, LwError *error);

/* Counts memory: LW_LIMIT when the handle would hold too much. */
extern LwStatus lw_section_hold(LwSectionFile *file, size_t size, LwError *error);

/* malloc'ed room that counts. */
extern LwStatus lw_section_alloc(LwSectionFile *file, size_t count, size_t size, void **memory,
								 LwError *error);

/* Frees such room, or takes back what was held when `memory` is NULL. */
extern void lw_section_free(LwSectionFile *file, void *memory, size_t size);

/* A buffer that can take what the handle may still hold; when it is full of use, lw_section_hold its size. */
extern LwStatus lw_section_buffer(const LwSectionFile *file, LwBuffer *buffer, LwError *error);

/* Records what the handle knows; called when something was found out that took a while. */
extern void lw_section_learned(LwSectionFile *file);

/* SHA-256 of bytes, asking to stop in between. */
extern LwStatus lw_section_sum(const LwSectionFile *file, LwBytes bytes, uint8_t sum[LW_SHA256_SIZE],
							   LwError *error);
extern LwStatus lw_section_hash_bytes(const LwSectionFile *file, LwSha256 *hash, LwBytes bytes,
									  LwError *error);

/* An entry's stored bytes, unchecked. */
extern LwBytes lw_entry_bytes(const LwSectionFile *file, const LwSectionEntry *entry);
extern LwStatus lw_entry_check(LwSectionFile *file, const LwSectionEntry *entry, LwError *error);

/* Opens text streams: V1, V2 or V3, by their encoding. */
extern LwStatus lw_streams_open(LwSectionFile *file, LwBytes stored, uint32_t encoding,
								LwTexts *texts, LwError *error);

/*
 * Reads what the texts need to be read one by one.  The number of streams is not compared with that of
 * chunks; that of a list or of references to a pool is.
 */
extern LwStatus lw_texts_load(LwSectionFile *file, LwError *error);

/* Texts that the chunks have: as many as references, where there are some. */
extern size_t lw_texts_count(const LwSectionFile *file);
extern LwStatus lw_texts_fetch(LwSectionFile *file, size_t ordinal, LwBytes *text, LwError *error);
extern void lw_texts_free(LwTextParts *texts);

/* An ordinal that a caller gives: LW_NOT_FOUND beyond the last. */
extern LwStatus lw_ordinal_check(const LwSectionFile *file, size_t ordinal, LwError *error);
extern LwStatus lw_ids_load(LwSectionFile *file, LwError *error);
extern LwStatus lw_spans_load(LwSectionFile *file, LwError *error);
extern LwStatus lw_overlay_load(LwSectionFile *file, LwError *error);
extern LwStatus lw_blobs_load(LwSectionFile *file, LwError *error);

/* Checks all ranges in the stored bytes of 0x17 and tells how many there are. */
extern LwStatus lw_blob_data_check(LwSectionFile *file, LwBytes *stored, size_t *count, LwError *error);

/* lw_blob_verify over stored bytes that were checked so, whatever their encoding is. */
extern LwStatus lw_blob_compare(const LwSectionFile *file, LwBytes stored, size_t blob, LwError *error);
extern LwStatus lw_spaces_load(LwSectionFile *file, LwError *error);

#endif							/* LW_SECTION_PARTS_H */
