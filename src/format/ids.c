/*-------------------------------------------------------------------------
 *
 * ids.c
 *	  Reading ids.json.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "json.h"

/* Fails with `found`, or the reader's own fault, at the token just read. */
static LwStatus
wrong_token(const LwJson *json, LwJsonToken token, const char *found, LwError *error)
{
	return lw_fail(error, LW_MALFORMED, "IdsJson", (int64_t) json->at,
				   "a JSON array of strings in UTF-8", "%s",
				   token == LW_JSON_ERROR ? json->problem : found);
}

/*
 * Reads the array into *ids, which has room for all bytes of the file and
 * for `room` ids; those beyond are counted only.
 */
static LwStatus
read_ids(LwJson *json, size_t room, LwIds *ids, LwError *error)
{
	size_t		used = 0;
	LwJsonToken token = lw_json_next(json);

	if (token != LW_JSON_ARRAY)
		return wrong_token(json, token, "a value that is no array", error);
	while ((token = lw_json_next(json)) != LW_JSON_ARRAY_END)
	{
		size_t		size;

		if (token == LW_JSON_STRING && !lw_json_decode(json, ids->bytes + used, &size))
			token = LW_JSON_ERROR;
		if (token != LW_JSON_STRING)
			return wrong_token(json, token, "a value that is no string", error);
		used += size;
		if (ids->count < room)
			ids->ends[ids->count] = used;
		ids->count++;
	}
	if (lw_json_next(json) != LW_JSON_END)
		return wrong_token(json, LW_JSON_ERROR, NULL, error);
	return LW_OK;
}

/* Parses ids.json. */
LwStatus
lw_ids_parse(const void *data, size_t size, uint64_t documents, LwIds *ids, LwError *error)
{
	LwJson		json;
	LwStatus	status;
	size_t		room = size / 3;	/* two quotes and a comma or bracket each */

	if (room > documents)
		room = (size_t) documents;
	ids->count = 0;
	ids->keeper = NULL;
	ids->bytes = malloc(size == 0 ? 1 : size);
	ids->ends = room > SIZE_MAX / sizeof(uint64_t) ? NULL :
		malloc(room == 0 ? 1 : room * sizeof(uint64_t));

	if (ids->bytes == NULL || ids->ends == NULL)
		status = lw_fail(error, LW_NO_MEMORY, NULL, -1, "memory",
						 "none for the ids in %zu bytes", size);
	else
	{
		lw_json_init(&json, data, size);
		status = read_ids(&json, room, ids, error);
		if (status == LW_OK && ids->count != documents)
			status = lw_fail(error, LW_MALFORMED, "IdsCount", -1,
							 "as many ids as the manifest has documents",
							 "%" PRIu64 " ids, %" PRIu64 " documents",
							 ids->count, documents);
	}
	if (status != LW_OK)
		lw_ids_free(ids);
	return status;
}

/* Gives back the ids' memory. */
void
lw_ids_free(LwIds *ids)
{
	free(ids->bytes);
	free(ids->ends);
	memset(ids, 0, sizeof(*ids));
}
