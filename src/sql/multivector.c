/*-------------------------------------------------------------------------
 *
 * multivector.c
 *	  The type multivector: its text and binary forms, and its modifier.
 *
 * The text form is [[0.1,0.2],[0.3,0.4]], white space allowed between the
 * parts; the binary form is int32 tokens, int32 dimension, then the values
 * row by row as float4, all in network byte order.  Whatever comes in, what
 * leaves these functions has at least one token, at least one dimension,
 * finite values only and source = InvalidOid.
 *
 * maxsim_query has the same layout and the same forms, and its four input and
 * output functions are the same C functions.  Its source is in neither form.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <errno.h>
#include <math.h>

#include "common/shortest_dec.h"
#include "compat.h"
#include "kernel/encode.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "sql/multivector.h"

/* Where a text is being read; token and value count from 1, value 0 is outside of any. */
typedef struct LwTextReader
{
	const char *next;
	int64		token;
	int64		value;
	Node	   *escontext;
} LwTextReader;

PG_FUNCTION_INFO_V1(multivector_in);
PG_FUNCTION_INFO_V1(multivector_out);
PG_FUNCTION_INFO_V1(multivector_recv);
PG_FUNCTION_INFO_V1(multivector_send);
PG_FUNCTION_INFO_V1(multivector_typmod_in);
PG_FUNCTION_INFO_V1(multivector_typmod_out);
PG_FUNCTION_INFO_V1(multivector_enforce_typmod);
PG_FUNCTION_INFO_V1(multivector_dimension);
PG_FUNCTION_INFO_V1(multivector_token_count);

/* Raises ERROR 54000 when a multivector of this shape would exceed 1 GB. */
void
lw_multivector_check_size(int64 tokens, int64 dimension)
{
	Assert(tokens >= 1 && dimension >= 1);

	if (tokens > LW_MULTIVECTOR_MAX_VALUES / dimension)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("multivector of %lld tokens and dimension %lld exceeds 1 GB",
						(long long) tokens, (long long) dimension)));
}

/* Returns a new multivector with its header filled in and its values not set. */
LwMultivector *
lw_multivector_new(int64 tokens, int64 dimension)
{
	LwMultivector *m;

	lw_multivector_check_size(tokens, dimension);

	m = (LwMultivector *) palloc(LW_MULTIVECTOR_SIZE(tokens, dimension));
	SET_VARSIZE(m, LW_MULTIVECTOR_SIZE(tokens, dimension));
	m->tokens = (int32) tokens;
	m->dimension = (int32) dimension;
	m->source = InvalidOid;
	return m;
}

/* Raises an ERROR with that SQLSTATE at the first value that is not finite, if there is one. */
static void
lw_require_finite(const LwMultivector *m, int sqlstate)
{
	int64		count = (int64) m->tokens * m->dimension;
	int64		i;

	if (likely(lw_values_are_finite(m->values, (size_t) count)))
		return;
	for (i = 0; i < count; i++)
		if (!isfinite(m->values[i]))
			ereport(ERROR,
					(errcode(sqlstate),
					 errmsg("%s is not allowed in a multivector",
							isnan(m->values[i]) ? "NaN" : "infinity"),
					 errdetail("Token %lld, value %lld: not a finite number.",
							   (long long) (i / m->dimension + 1),
							   (long long) (i % m->dimension + 1))));
}

/* Raises ERROR 22000 unless every value is finite. */
void
lw_multivector_check_finite(const LwMultivector *m)
{
	lw_require_finite(m, ERRCODE_DATA_EXCEPTION);
}

/* Says, softly where the caller can take it, that a dimension is not the type modifier's; true when it is. */
static bool
lw_dimension_fits(int32 dimension, int32 typmod, Node *escontext)
{
	if (typmod < 0 || dimension == typmod)
		return true;

	errsave(escontext,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("expected dimension %d, not %d", typmod, dimension)));
	return false;
}

/* Reports a malformed text at the reader's position, softly where possible; false, for the callers to return. */
static bool
lw_refuse(LwTextReader *reader, const char *what)
{
	char		position[64];

	if (reader->value > 0)
		snprintf(position, sizeof(position), "Token %lld, value %lld",
				 (long long) reader->token, (long long) reader->value);
	else
		snprintf(position, sizeof(position), "Token %lld",
				 (long long) reader->token);

	errsave(reader->escontext,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type multivector"),
			 errdetail("%s: %s.", position, what),
			 errhint("A multivector is written [[0.1,0.2],[0.3,0.4]]: one or more tokens, each of as many numbers.")));
	return false;
}

/* Reports that something else was expected than the text that comes next, quoting the start of it. */
static bool
lw_refuse_next(LwTextReader *reader, const char *expected)
{
	int			length;

	if (*reader->next == '\0')
		return lw_refuse(reader, psprintf("expected %s, found the end", expected));

	/* a delimiter alone, else what reaches up to the next one */
	length = (int) strcspn(reader->next, ",[] \t\n\r\v\f");
	length = pg_mbcliplen(reader->next, Max(length, 1), 32);
	return lw_refuse(reader, psprintf("expected %s, found \"%.*s\"",
									  expected, length, reader->next));
}

/* Moves past white space, and past `c` if it comes next: then true. */
static bool
lw_take(LwTextReader *reader, char c)
{
	reader->next += strspn(reader->next, " \t\n\r\v\f");
	if (*reader->next != c)
		return false;
	reader->next++;
	return true;
}

/* Reads one number by the rules of float4in, less NaN and infinity. */
static bool
lw_read_number(LwTextReader *reader, float4 *number)
{
	const char *start;
	char	   *end;

	reader->next += strspn(reader->next, " \t\n\r\v\f");
	start = reader->next;
	errno = 0;
	*number = strtof(start, &end);

	if (end == start)
		return lw_refuse_next(reader, "a number");
	/* a subnormal number sets ERANGE too, and is good */
	if (errno == ERANGE && (*number == 0.0f || isinf(*number)))
		return lw_refuse(reader,
						 psprintf("\"%.*s\" is out of range for type real",
								  (int) Min(end - start, 32), start));
	if (!isfinite(*number))
		return lw_refuse(reader,
						 psprintf("%s is not allowed in a multivector",
								  isnan(*number) ? "NaN" : "infinity"));
	reader->next = end;
	return true;
}

/* Reads one token, at most `limit` numbers between brackets; reader->value becomes their number. */
static bool
lw_read_token(LwTextReader *reader, int64 limit, float4 *values)
{
	reader->value = 0;
	if (!lw_take(reader, '['))
		return lw_refuse_next(reader, "\"[\"");

	do
	{
		if (reader->value++ == limit)
			return lw_refuse(reader,
							 psprintf("token 1 has only " INT64_FORMAT, limit));
		if (!lw_read_number(reader, values++))
			return false;
	} while (lw_take(reader, ','));

	if (!lw_take(reader, ']'))
		return lw_refuse_next(reader, "\",\" or \"]\"");
	return true;
}

/* Reads a text into a new multivector; NULL after a soft error. */
static LwMultivector *
lw_multivector_parse(const char *text, int32 typmod, Node *escontext)
{
	LwTextReader reader = {text, 1, 0, escontext};
	LwMultivector *m;
	const char *c;
	int64		room = 1;
	int64		count;
	int64		dimension;

	/* every number but the first is read after a comma, so this many fit */
	for (c = text; *c != '\0'; c++)
		room += (*c == ',');
	m = lw_multivector_new(1, room);

	if (!lw_take(&reader, '['))
	{
		lw_refuse_next(&reader, "\"[\"");
		return NULL;
	}
	if (!lw_read_token(&reader, room, m->values))
		return NULL;
	dimension = count = reader.value;

	while (lw_take(&reader, ','))
	{
		CHECK_FOR_INTERRUPTS();
		reader.token++;
		if (!lw_read_token(&reader, dimension, m->values + count))
			return NULL;
		count += reader.value;
		if (reader.value < dimension)
		{
			reader.value++;
			lw_refuse(&reader, psprintf("missing, token 1 has " INT64_FORMAT, dimension));
			return NULL;
		}
	}

	reader.value = 0;
	if (!lw_take(&reader, ']'))
	{
		lw_refuse_next(&reader, "\",\" or \"]\" after it");
		return NULL;
	}
	if (!lw_take(&reader, '\0'))
	{
		lw_refuse_next(&reader, "nothing after the last \"]\"");
		return NULL;
	}

	m->tokens = (int32) reader.token;
	m->dimension = (int32) dimension;
	SET_VARSIZE(m, LW_MULTIVECTOR_SIZE(reader.token, dimension));
	return lw_dimension_fits(m->dimension, typmod, escontext) ? m : NULL;
}

/* multivector_in(cstring, oid, integer): from the text form. */
Datum
multivector_in(PG_FUNCTION_ARGS)
{
	LwMultivector *m = lw_multivector_parse(PG_GETARG_CSTRING(0),
											PG_GETARG_INT32(2),
											(Node *) fcinfo->context);

	if (m == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(m);
}

/* multivector_out(multivector): the text form, each number as short as reads back the same. */
Datum
multivector_out(PG_FUNCTION_ARGS)
{
	LwMultivector *m = PG_GETARG_MULTIVECTOR(0);
	const float4 *value = m->values;
	StringInfoData text;
	int32		token;
	int32		i;

	initStringInfo(&text);
	appendStringInfoChar(&text, '[');
	for (token = 0; token < m->tokens; token++)
	{
		CHECK_FOR_INTERRUPTS();
		appendStringInfoString(&text, token == 0 ? "[" : ",[");
		for (i = 0; i < m->dimension; i++)
		{
			enlargeStringInfo(&text, FLOAT_SHORTEST_DECIMAL_LEN + 1);
			if (i > 0)
				text.data[text.len++] = ',';
			text.len += float_to_shortest_decimal_bufn(*value++,
													   text.data + text.len);
		}
		appendStringInfoChar(&text, ']');
	}
	appendStringInfoChar(&text, ']');

	PG_FREE_IF_COPY(m, 0);
	PG_RETURN_CSTRING(text.data);
}

/* multivector_recv(internal, oid, integer): from the binary form. */
Datum
multivector_recv(PG_FUNCTION_ARGS)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	int32		typmod = PG_GETARG_INT32(2);
	int			bytes = message->len - message->cursor;
	int32		tokens;
	int32		dimension;
	int64		count;
	LwMultivector *m;

	if (bytes < 8)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid binary form of type multivector"),
				 errdetail("It has %d bytes, and must have 8 for tokens and dimension alone.",
						   bytes)));
	tokens = (int32) pq_getmsgint(message, 4);
	dimension = (int32) pq_getmsgint(message, 4);
	count = (int64) tokens * dimension;
	bytes -= 8;

	if (tokens < 1 || dimension < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid binary form of type multivector"),
				 errdetail("It says %d tokens of dimension %d, and must have at least one of each.",
						   tokens, dimension)));

	/* only a shape that the message really holds is allocated */
	if (bytes % sizeof(float4) != 0 || count != bytes / (int) sizeof(float4))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid binary form of type multivector"),
				 errdetail("It says %d tokens of dimension %d, and holds %d bytes of values, not 4 bytes for each.",
						   tokens, dimension, bytes)));

	(void) lw_dimension_fits(dimension, typmod, NULL);

	m = lw_multivector_new(tokens, dimension);
#ifdef WORDS_BIGENDIAN
	pq_copymsgbytes(message, (char *) m->values, bytes);
#else
	lw_swap_values(pq_getmsgbytes(message, bytes), (size_t) count, m->values);
#endif
	lw_require_finite(m, ERRCODE_INVALID_BINARY_REPRESENTATION);
	PG_RETURN_POINTER(m);
}

/* multivector_send(multivector): the binary form. */
Datum
multivector_send(PG_FUNCTION_ARGS)
{
	LwMultivector *m = PG_GETARG_MULTIVECTOR(0);
	int64		count = (int64) m->tokens * m->dimension;
	int64		i;
	StringInfoData message;

	pq_begintypsend(&message);
	pq_sendint32(&message, m->tokens);
	pq_sendint32(&message, m->dimension);
	enlargeStringInfo(&message, (int) (count * sizeof(float4)));
	for (i = 0; i < count; i++)
	{
		uint32		bits;

		memcpy(&bits, &m->values[i], sizeof(bits));
		pq_writeint32(&message, bits);
	}

	PG_FREE_IF_COPY(m, 0);
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

/* multivector_typmod_in(cstring[]): multivector(128) fixes the dimension. */
Datum
multivector_typmod_in(PG_FUNCTION_ARGS)
{
	int			n;
	int32	   *modifiers = ArrayGetIntegerTypmods(PG_GETARG_ARRAYTYPE_P(0), &n);

	if (n != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid type modifier"),
				 errdetail("multivector takes one, the dimension.")));
	if (modifiers[0] < 1 || modifiers[0] > LW_MULTIVECTOR_MAX_VALUES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("dimension of type multivector must be between 1 and %lld, not %d",
						(long long) LW_MULTIVECTOR_MAX_VALUES, modifiers[0])));
	PG_RETURN_INT32(modifiers[0]);
}

/* multivector_typmod_out(integer): the modifier as it is written. */
Datum
multivector_typmod_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(psprintf("(%d)", PG_GETARG_INT32(0)));
}

/* Returns the shape without fetching the values of a toasted multivector. */
static const LwMultivector *
lw_multivector_shape(Datum datum)
{
	return (const LwMultivector *)
		PG_DETOAST_DATUM_SLICE(datum, 0, LW_MULTIVECTOR_HEADER - VARHDRSZ);
}

/* multivector(multivector, integer, boolean): the cast that applies a type modifier. */
Datum
multivector_enforce_typmod(PG_FUNCTION_ARGS)
{
	(void) lw_dimension_fits(lw_multivector_shape(PG_GETARG_DATUM(0))->dimension,
							 PG_GETARG_INT32(1), NULL);
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* dimension(multivector): how many values a token has. */
Datum
multivector_dimension(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(lw_multivector_shape(PG_GETARG_DATUM(0))->dimension);
}

/* token_count(multivector): how many tokens it has. */
Datum
multivector_token_count(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(lw_multivector_shape(PG_GETARG_DATUM(0))->tokens);
}
