/*-------------------------------------------------------------------------
 *
 * manifest_text.h
 *	  Writing manifest.json of a vector store.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_MANIFEST_TEXT_H
#define LW_STORE_MANIFEST_TEXT_H

#include "format/manifest.h"
#include "section/bytes.h"

/* Appends the whole text, byte for byte as the format's reference writes it. */
extern void lw_put_store_manifest(LwBuffer *text, const LwManifest *manifest);

#endif							/* LW_STORE_MANIFEST_TEXT_H */
