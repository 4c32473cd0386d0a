/*-------------------------------------------------------------------------
 *
 * scorer.c
 *	  What the scoring functions share: a source, a query, and ids.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"

#include "compat.h"
#include "section/space.h"
#include "server/ids.h"
#include "server/idset.h"
#include "server/pin.h"
#include "server/prepared.h"
#include "server/scoring.h"
#include "server/stat.h"
#include "sql/scorer.h"

void
lw_scorer_begin(LwScorer *scorer, Oid source, const LwMultivector *query,
				Datum representation, bool has_representation)
{
	memset(scorer, 0, sizeof(*scorer));
	scorer->content = lw_pin(source);
	lw_stat_scored = scorer->counts = lw_stat_of(source);
	if (scorer->content.section != NULL)
		lw_choose_vectors(scorer->content.section, lw_source_lookup(source)->space, &scorer->vectors);
	if (has_representation)
		lw_check_representation(scorer, DatumGetJsonbP(representation));
	if (scorer->content.section != NULL)
	{
		lw_check_section_query(&scorer->vectors, scorer->content.section, query->tokens, query->dimension);
		scorer->vector = lw_prepare_normalized(query->values, query->dimension);
		return;
	}
	lw_check_dimension(scorer->content.view, query->dimension);
	scorer->query = lw_prepare(query->values, query->tokens, query->dimension);
}

void
lw_scorer_begin_named(LwScorer *scorer, const LwMultivector *query)
{
	if (!OidIsValid(query->source))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the query names no source whose documents the ids could be"),
				 errhint("Use maxsim_query(source, query).")));
	lw_scorer_begin(scorer, query->source, query, (Datum) 0, false);
}

bool
lw_scorer_find(const LwScorer *scorer, LwString id, LwPlace *place)
{
	if (scorer->content.section != NULL)
		return lw_section_find_chunk(scorer->content.section, id, place);
	return lw_find_document(scorer->content.view, id, place);
}

void
lw_scorer_score(const LwScorer *scorer, const LwPlace *places, size_t count, size_t k, float4 *scores)
{
	lw_stat_scored->scores++;
	if (scorer->content.section != NULL)
		lw_score_rows(scorer->content.section, scorer->vector, &scorer->vectors.slab, places, count, scores);
	else
		lw_score_best(scorer->content.view, scorer->query, places, count, k, scores);
}

/* What a score means; two sources with the same have one scale if their representations are the same too. */
static const char *
score_semantics(const LwScorer *scorer)
{
	if (scorer->content.view != NULL)
		return lw_view_score_semantics(scorer->content.view);
	return psprintf("section-cosine-%s", lw_vector_type_name(scorer->vectors.slab.type));
}

static bool
same_bytes(LwBytes a, LwBytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool
same_representation(const LwScorer *a, const LwScorer *b)
{
	if (a->content.view != NULL && b->content.view != NULL)
		return lw_manifest_same_representation(&a->content.view->manifest, &b->content.view->manifest);
	return a->content.section != NULL && b->content.section != NULL &&
		a->vectors.slab.dimension == b->vectors.slab.dimension &&
		same_bytes(a->vectors.model_hash, b->vectors.model_hash) &&
		same_bytes(a->content.section->file->manifest.embedding_model,
				   b->content.section->file->manifest.embedding_model);
}

void
lw_check_one_scale(const LwScorer *first, const LwScorer *other)
{
	if (!same_representation(first, other))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("sources cannot be ranked together: the representations of \"%s\" and \"%s\" differ",
						lw_content_path(first->content), lw_content_path(other->content))));
	if (strcmp(score_semantics(first), score_semantics(other)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("sources cannot be ranked together: their score semantics differ"),
				 errdetail("\"%s\" has %s, \"%s\" has %s.",
						   lw_content_path(first->content), score_semantics(first),
						   lw_content_path(other->content), score_semantics(other))));
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
	lwidset_hash *set = lwidset_create(CurrentMemoryContext, (uint32) count + 1, NULL);
	int			i;

	for (i = 0; i < count; i++)
	{
		bool		found;

		lwidset_insert(set, lw_id_key(ids[i].data, ids[i].size), &found);
		if (found)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("id \"%s\" is given more than once", lw_id_for_message(ids[i].data, ids[i].size)),
					 errhint("Give every candidate once, for example by SELECT DISTINCT.")));
	}
	lwidset_destroy(set);
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
