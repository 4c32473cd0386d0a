/*-------------------------------------------------------------------------
 *
 * blob.h
 *	  Blobs that chunks were cut from: references, and those kept in the file.
 *
 * Both work whatever the manifest says; they are to be used only when it says
 * blobs_present.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_BLOB_H
#define LW_SECTION_BLOB_H

#include "section/file.h"

typedef struct LwBlobRef
{
	uint8_t		sha256[32];
	LwBytes		uri;
	uint64_t	size;			/* as declared; nothing compares it with the data */
	bool		inlined;
} LwBlobRef;

/* How many blobs section 0x14 lists; 0 without it. */
extern LwStatus lw_blob_count(LwSectionFile *file, size_t *count, LwError *error);
extern LwStatus lw_blob_ref(LwSectionFile *file, size_t blob, LwBlobRef *ref, LwError *error);

/* Its bytes, not compared with their hash; BlobNotInlined when they are elsewhere or there is no such blob. */
extern LwStatus lw_blob_data(LwSectionFile *file, size_t blob, LwBytes *data, LwError *error);

/* Compares the bytes of an inlined blob with the hash in its reference: BlobHashMismatch. */
extern LwStatus lw_blob_verify(LwSectionFile *file, size_t blob, LwError *error);

#endif							/* LW_SECTION_BLOB_H */
