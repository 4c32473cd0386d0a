/*-------------------------------------------------------------------------
 *
 * record.c
 *	  JSON objects with known keys.
 *
 *-------------------------------------------------------------------------
 */
#include "section/record.h"

#include <string.h>

bool
lw_record_refuse(LwJson *reader, const char *problem)
{
	if (reader->problem == NULL)
		reader->problem = problem;
	return false;
}

/* The number of a known key, or -1. */
static int
find_key(const LwRecordShape *shape, LwBytes name)
{
	int			i;

	for (i = 0; i < shape->nkeys; i++)
		if (strlen(shape->keys[i]) == name.size && memcmp(shape->keys[i], name.data, name.size) == 0)
			return i;
	return -1;
}

/* Reads the values of an array that stands for an object. */
static bool
read_array(const LwRecordShape *shape, LwJson *reader, void *arg, uint32_t *seen)
{
	LwJsonToken token;
	int			key;

	for (key = 0; (token = lw_json_next(reader)) != LW_JSON_ARRAY_END; key++)
	{
		if (token == LW_JSON_ERROR)
			return false;
		if (key == shape->nkeys)
			return lw_record_refuse(reader, "more values than keys");
		if (!shape->known(arg, reader, token, key))
			return false;
		*seen |= UINT32_C(1) << key;
	}
	return key == shape->nkeys || lw_record_refuse(reader, "fewer values than keys");
}

/* Reads a member from its name on. */
static bool
read_member(const LwRecordShape *shape, LwJson *reader, char *const *scratch, void *arg,
			uint32_t *seen)
{
	LwBytes		name;
	LwJsonToken token;
	int			key;

	name.data = (uint8_t *) *scratch;
	if (!lw_json_decode(reader, *scratch, &name.size))
		return false;
	key = find_key(shape, name);
	if (key >= 0 && (*seen >> key & 1))
		return lw_record_refuse(reader, "a key that came before");
	token = lw_json_next(reader);
	if (token == LW_JSON_ERROR)
		return false;
	if (key < 0)
		return shape->unknown == NULL ? lw_json_skip(reader, token) :
			shape->unknown(arg, reader, token, name);
	*seen |= UINT32_C(1) << key;
	return shape->known(arg, reader, token, key);
}

bool
lw_record_read(const LwRecordShape *shape, LwJson *reader, LwJsonToken first,
			   char *const *scratch, void *arg, uint32_t *seen)
{
	LwJsonToken token;

	*seen = 0;
	if (first == LW_JSON_ERROR)
		return false;
	if (first == LW_JSON_ARRAY && shape->array)
		return read_array(shape, reader, arg, seen);
	if (first != LW_JSON_OBJECT)
		return lw_record_refuse(reader, "not an object");
	while ((token = lw_json_next(reader)) == LW_JSON_NAME)
		if (!read_member(shape, reader, scratch, arg, seen))
			return false;
	return token == LW_JSON_OBJECT_END;
}

bool
lw_record_keep(LwJson *reader, LwJsonToken token, char *scratch)
{
	int			outside = reader->depth - (token == LW_JSON_OBJECT || token == LW_JSON_ARRAY);
	size_t		size;
	double		number;

	for (;;)
	{
		switch (token)
		{
			case LW_JSON_ERROR:
				return false;
			case LW_JSON_OBJECT:
			case LW_JSON_ARRAY:
				if (reader->depth > LW_RECORD_DEPTH)
					return lw_record_refuse(reader, "nested too deeply");
				break;
			case LW_JSON_NAME:
			case LW_JSON_STRING:
				if (!lw_json_decode(reader, scratch, &size))
					return false;
				break;
			case LW_JSON_NUMBER:
				if (!lw_json_double(reader, &number))
					return lw_record_refuse(reader, "number out of range");
				break;
			default:
				break;
		}
		if (reader->depth <= outside)
			return true;
		token = lw_json_next(reader);
	}
}
