/*-------------------------------------------------------------------------
 *
 * hash.c
 *	  SHA-256 by PostgreSQL's common code.
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "common/cryptohash.h"

#include "section/hash.h"

void
lw_sha256_begin(LwSha256 *hash)
{
	hash->context = pg_cryptohash_create(PG_SHA256);
	if (hash->context != NULL && pg_cryptohash_init(hash->context) < 0)
		lw_sha256_free(hash);
}

void
lw_sha256_free(LwSha256 *hash)
{
	pg_cryptohash_free(hash->context);
	hash->context = NULL;
}

void
lw_sha256_add(LwSha256 *hash, const void *data, size_t size)
{
	if (hash->context != NULL && size > 0 &&
		pg_cryptohash_update(hash->context, data, size) < 0)
		lw_sha256_free(hash);
}

/* Adds an unsigned integer of `size` bytes. */
static void
add(LwSha256 *hash, uint64_t value, size_t size)
{
	uint8_t		bytes[8];
	size_t		i;

	for (i = 0; i < size; i++)
		bytes[i] = (uint8_t) (value >> 8 * i);
	lw_sha256_add(hash, bytes, size);
}

void
lw_sha256_add_u32(LwSha256 *hash, uint32_t value)
{
	add(hash, value, sizeof(value));
}

void
lw_sha256_add_u64(LwSha256 *hash, uint64_t value)
{
	add(hash, value, sizeof(value));
}

LwStatus
lw_sha256_sum(LwSha256 *hash, uint8_t sum[LW_SHA256_SIZE], LwError *error)
{
	bool		done = hash->context != NULL &&
		pg_cryptohash_final(hash->context, sum, LW_SHA256_SIZE) >= 0;

	lw_sha256_free(hash);
	if (!done)
		return lw_fail(error, LW_NO_MEMORY, NULL, -1, "memory for a SHA-256 sum", "none");
	return LW_OK;
}

void
lw_text_hash(const uint8_t sum[LW_SHA256_SIZE], char text[LW_TEXT_HASH_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	int			i;

	memcpy(text, "sha256:", 7);
	for (i = 0; i < LW_SHA256_SIZE; i++)
	{
		text[7 + 2 * i] = digits[sum[i] >> 4];
		text[8 + 2 * i] = digits[sum[i] & 15];
	}
}

/* Adds a string with its length before it. */
static void
add_string(LwSha256 *hash, LwBytes string)
{
	lw_sha256_add_u32(hash, (uint32_t) string.size);
	lw_sha256_add(hash, string.data, string.size);
}

LwStatus
lw_chunk_hash(LwBytes text, LwBytes uri, uint64_t start, uint64_t end, LwBytes chunker_version,
			  char id[LW_TEXT_HASH_SIZE], LwError *error)
{
	static const char domain[] = "urna:chunk_id:v1\n";
	uint8_t		sum[LW_SHA256_SIZE];
	LwSha256	hash;
	LwStatus	status;

	if (text.size > UINT32_MAX || uri.size > UINT32_MAX || chunker_version.size > UINT32_MAX)
		return lw_fail(error, LW_INVALID, "InvalidInput", -1, "strings of less than 4 GiB",
					   "more");
	lw_sha256_begin(&hash);
	lw_sha256_add(&hash, domain, sizeof(domain) - 1);
	add_string(&hash, text);
	add_string(&hash, uri);
	lw_sha256_add_u64(&hash, start);
	lw_sha256_add_u64(&hash, end);
	add_string(&hash, chunker_version);
	status = lw_sha256_sum(&hash, sum, error);
	if (status == LW_OK)
		lw_text_hash(sum, id);
	return status;
}
