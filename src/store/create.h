/*-------------------------------------------------------------------------
 *
 * create.h
 *	  Making an empty store, and removing one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_CREATE_H
#define LW_STORE_CREATE_H

#include "store/files.h"
#include "store/names.h"

#define LW_STORE_ID_SIZE 32		/* without the ending NUL */

/* The store_id of 128 random bits: hex digits. */
extern void lw_store_id(const uint8_t random[16], char text[LW_STORE_ID_SIZE + 1]);

/*
 * Makes a directory, which must not exist, of this mode, with a store of no
 * documents in it, and syncs it; directories above it are made, too, where
 * they are missing.  Of *identity the store_id, corpus, representation,
 * encoding and committed_at count; LW_INVALID when the format does not allow
 * them.  On failure the directory is gone (those above it stay).
 */
extern LwStatus lw_store_create(const char *path, mode_t mode, const LwManifest *identity, LwError *error);

/*
 * Removes a store's files, the manifest first: those of the format, those that
 * its writers clear away, and our own.  The directory goes when nothing else is
 * in it, else *left is set.  After a failure it can be called again.
 */
extern LwStatus lw_store_drop(const char *path, bool *left, LwError *error);

#endif							/* LW_STORE_CREATE_H */
