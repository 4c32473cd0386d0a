/*-------------------------------------------------------------------------
 *
 * scorer.c
 *	  What the scoring functions share: a source, a query, and ids.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"

#include "compat.h"
#include "server/ids.h"
#include "server/pin.h"
#include "server/prepared.h"
#include "server/scoring.h"
#include "sql/scorer.h"
#include "store/idmap.h"

typedef struct IdEntry
{
	LwString	id;
	uint32		hash;
	char		status;
} IdEntry;

#define SH_PREFIX id_set
#define SH_ELEMENT_TYPE IdEntry
#define SH_KEY_TYPE LwString
#define SH_KEY id
#define SH_HASH_KEY(table, key) ((uint32) lw_id_hash((key).data, (key).size))
#define SH_EQUAL(table, a, b) lw_string_equal(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DEFINE
#define SH_DECLARE
#include "lib/simplehash.h"

void
lw_scorer_begin(LwScorer *scorer, Oid source, const LwMultivector *query,
				Datum representation, bool has_representation)
{
	scorer->view = lw_pin(source);
	if (has_representation)
		lw_check_representation(scorer->view, DatumGetJsonbP(representation));
	lw_check_dimension(scorer->view, query->dimension);
	scorer->query = lw_prepare(query->values, query->tokens, query->dimension);
}

LwString
lw_id_from_datum(Datum id, Oid type, LwIdBuffer *buffer)
{
	LwString	result;

	switch (type)
	{
		case TEXTOID:
		case VARCHAROID:
			return lw_id_from_text(DatumGetTextPP(id));
		case INT8OID:
			result.size = (size_t) pg_lltoa(DatumGetInt64(id), buffer->data);
			break;
		case INT4OID:
			result.size = (size_t) pg_ltoa(DatumGetInt32(id), buffer->data);
			break;
		case INT2OID:
			result.size = (size_t) pg_itoa(DatumGetInt16(id), buffer->data);
			break;
		case UUIDOID:
			{
				char	   *text = DatumGetCString(DirectFunctionCall1(uuid_out, id));

				strlcpy(buffer->data, text, sizeof(buffer->data));
				result.size = strlen(buffer->data);
				pfree(text);
				break;
			}
		default:
			elog(ERROR, "unexpected type of id: %u", type);
	}
	result.data = buffer->data;
	return result;
}

void
lw_id_list(ArrayType *array, LwIdList *list)
{
	Oid			type = ARR_ELEMTYPE(array);
	int16		length;
	bool		by_value;
	char		alignment;
	Datum	   *elements;
	bool	   *nulls;
	int			i;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("array of ids must have one dimension, not %d", ARR_NDIM(array))));
	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	deconstruct_array(array, type, length, by_value, alignment, &elements, &nulls, &list->count);
	list->ids = palloc_array(LwString, list->count);
	for (i = 0; i < list->count; i++)
	{
		LwIdBuffer	buffer;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("id must not be NULL"),
					 errdetail("It is at position %d of the ids.", i + 1)));
		list->ids[i] = lw_id_from_datum(elements[i], type, &buffer);
		if (list->ids[i].data == buffer.data)
			list->ids[i].data = pnstrdup(buffer.data, list->ids[i].size);
	}
}

void
lw_refuse_repeated_ids(const LwString *ids, int count)
{
	id_set_hash *set = id_set_create(CurrentMemoryContext, (uint32) count + 1, NULL);
	int			i;

	for (i = 0; i < count; i++)
	{
		bool		found;

		id_set_insert(set, ids[i], &found);
		if (found)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("id \"%s\" is given more than once", lw_id_for_message(ids[i].data, ids[i].size)),
					 errhint("Give every candidate once, for example by SELECT DISTINCT.")));
	}
	id_set_destroy(set);
}

int
lw_compare_ranked(const void *a, const void *b)
{
	const LwRanked *x = a;
	const LwRanked *y = b;
	int			order = lw_compare_scores(x->score, y->score);

	if (order == 0)
		order = (x->position > y->position) - (x->position < y->position);
	return order;
}
