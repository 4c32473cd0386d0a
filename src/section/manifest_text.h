/*-------------------------------------------------------------------------
 *
 * manifest_text.h
 *	  Writing the manifest of a section file, and section 0x06.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_MANIFEST_TEXT_H
#define LW_SECTION_MANIFEST_TEXT_H

#include "section/manifest.h"

/*
 * Writes a manifest, keys that are absent left out.  `authors` is an array in
 * JSON as the format writes it, or {NULL, 0}.
 */
extern void lw_put_manifest(LwBuffer *json, const LwSectionManifest *manifest, LwBytes authors);

/* Writes the JSON of section 0x06. */
extern void lw_put_contract(LwBuffer *json, const LwSectionManifest *manifest);

#endif							/* LW_SECTION_MANIFEST_TEXT_H */
