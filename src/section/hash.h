/*-------------------------------------------------------------------------
 *
 * hash.h
 *	  SHA-256, in the forms that the format has.
 *
 * Hashing can fail, for want of memory or when the machine's cryptography
 * refuses it: a sum then says so when it is asked for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_HASH_H
#define LW_SECTION_HASH_H

#include "section/bytes.h"

#define LW_SHA256_SIZE 32
#define LW_TEXT_HASH_SIZE 71	/* "sha256:" and 64 lowercase hex digits; no NUL */

typedef struct LwSha256
{
	struct pg_cryptohash_ctx *context;	/* NULL once anything failed */
} LwSha256;

/* Begins a sum; lw_sha256_sum or lw_sha256_free ends it. */
extern void lw_sha256_begin(LwSha256 *hash);
extern void lw_sha256_add(LwSha256 *hash, const void *data, size_t size);
extern void lw_sha256_add_u32(LwSha256 *hash, uint32_t value);
extern void lw_sha256_add_u64(LwSha256 *hash, uint64_t value);
extern LwStatus lw_sha256_sum(LwSha256 *hash, uint8_t sum[LW_SHA256_SIZE], LwError *error);
extern void lw_sha256_free(LwSha256 *hash);

extern void lw_text_hash(const uint8_t sum[LW_SHA256_SIZE], char text[LW_TEXT_HASH_SIZE]);

/* The id of a chunk, which cites its text and where that comes from.  InvalidInput for a string over 2^32 - 1 bytes. */
extern LwStatus lw_chunk_hash(LwBytes text, LwBytes uri, uint64_t start, uint64_t end,
							  LwBytes chunker_version, char id[LW_TEXT_HASH_SIZE],
							  LwError *error);

#endif							/* LW_SECTION_HASH_H */
