/*-------------------------------------------------------------------------
 *
 * ids.c
 *	  Document ids between the files (UTF-8) and the database's encoding.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "server/ids.h"

#define MESSAGE_BYTES 100

/* Whether the database holds the files' bytes unchanged. */
static bool
same_encoding(void)
{
	int			encoding = GetDatabaseEncoding();

	return encoding == PG_UTF8 || encoding == PG_SQL_ASCII;
}

LwString
lw_id_from_text(const text *id)
{
	LwString	result;

	result.data = VARDATA_ANY(id);
	result.size = VARSIZE_ANY_EXHDR(id);
	if (!same_encoding())
	{
		char	   *converted = pg_server_to_any(result.data, (int) result.size, PG_UTF8);

		if (converted != result.data)
		{
			result.data = converted;
			result.size = strlen(converted);
		}
	}
	return result;
}

/* Converts to the database's encoding; NULL when it cannot hold a character. */
static char *
convert(const char *utf8, size_t size, size_t *result_size)
{
	Oid			procedure = FindDefaultConversionProc(PG_UTF8, GetDatabaseEncoding());
	size_t		room = size * MAX_CONVERSION_GROWTH + 1;
	char	   *result;

	if (!OidIsValid(procedure))
		return NULL;
	if (room > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("string of %zu bytes is too long to be converted", size)));
	result = palloc(room);
	if (pg_do_encoding_conversion_buf(procedure, PG_UTF8, GetDatabaseEncoding(),
									  (unsigned char *) utf8, (int) size,
									  (unsigned char *) result, (int) room, true) != (int) size)
	{
		pfree(result);
		return NULL;
	}
	*result_size = strlen(result);
	return result;
}

text *
lw_utf8_to_text(const char *utf8, size_t size, int *code)
{
	char	   *converted;
	size_t		converted_size;
	text	   *result;

	if (memchr(utf8, '\0', size) != NULL)
	{
		*code = ERRCODE_CHARACTER_NOT_IN_REPERTOIRE;
		return NULL;
	}
	if (same_encoding())
		return cstring_to_text_with_len(utf8, (int) size);
	converted = convert(utf8, size, &converted_size);
	if (converted == NULL)
	{
		*code = ERRCODE_UNTRANSLATABLE_CHARACTER;
		return NULL;
	}
	result = cstring_to_text_with_len(converted, (int) converted_size);
	pfree(converted);
	return result;
}

void
lw_report_text(int code, const char *what, const char *source)
{
	if (code == ERRCODE_CHARACTER_NOT_IN_REPERTOIRE)
		ereport(ERROR,
				(errcode(code),
				 errmsg("%s in \"%s\" contains U+0000, which a text cannot hold", what, source)));
	ereport(ERROR,
			(errcode(code),
			 errmsg("%s in \"%s\" has no equivalent in the database's encoding \"%s\"",
					what, source, GetDatabaseEncodingName()),
			 errhint("Use a database of encoding UTF8.")));
}

text *
lw_id_to_text(const char *id, size_t size, const char *source)
{
	text	   *result;
	int			code;

	if (size > MaxAllocSize - VARHDRSZ)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("document id of %zu bytes in \"%s\" is too long for a text", size, source)));
	result = lw_utf8_to_text(id, size, &code);
	if (result == NULL)
		lw_report_text(code, psprintf("document id \"%s\"", lw_id_for_message(id, size)), source);
	return result;
}

/* Appends bytes with everything outside printable ASCII escaped as \xNN. */
static char *
escaped(const char *bytes, size_t size)
{
	StringInfoData buffer;
	size_t		i;

	initStringInfo(&buffer);
	for (i = 0; i < size; i++)
	{
		unsigned char c = (unsigned char) bytes[i];

		if (c < 0x20 || c >= 0x7f)
			appendStringInfo(&buffer, "\\x%02x", c);
		else
			appendStringInfoCharMacro(&buffer, (char) c);
	}
	return buffer.data;
}

char *
lw_id_for_message(const char *id, size_t size)
{
	LwString	string;
	bool		cut = size > MESSAGE_BYTES;
	char	   *result;

	string.data = id;
	string.size = size;
	if (cut)
		string.size = (size_t) pg_encoding_mbcliplen(PG_UTF8, id, (int) Min(size, INT_MAX), MESSAGE_BYTES);
	result = lw_string_for_server(string);
	return cut ? psprintf("%s...", result) : result;
}

char *
lw_string_for_server(LwString string)
{
	size_t		size;
	char	   *converted;

	if (string.size > MaxAllocSize / (MAX_CONVERSION_GROWTH + 1))
		string.size = MaxAllocSize / (MAX_CONVERSION_GROWTH + 1);
	if (memchr(string.data, '\0', string.size) != NULL)
		return escaped(string.data, string.size);
	if (same_encoding())
		return pnstrdup(string.data, string.size);
	converted = convert(string.data, string.size, &size);
	return converted != NULL ? converted : escaped(string.data, string.size);
}
