/*-------------------------------------------------------------------------
 *
 * document.c
 *	  A document of a store as a multivector.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "kernel/decode.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/scoring.h"
#include "sql/document.h"

/* A multivector holds finite values only, but a file written by hand, or an overflowing scale, may not. */
static void
check_finite(const LwView *view, LwPlace place, const LwMultivector *m)
{
	Size		count = (Size) m->tokens * m->dimension;
	Size		i;

	for (i = 0; i < count; i++)
	{
		const LwSegment *segment = view->segments[place.segment];
		const char *id;
		size_t		size;

		if (isfinite(m->values[i]))
			continue;
		id = lw_ids_get(&segment->ids, place.row, &size);
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("\"%s\" is damaged: a vector of document \"%s\" is not finite",
						segment->rows_map->path, lw_id_for_message(id, size)),
				 errdetail("Token %zu, value %zu.", i / m->dimension + 1, i % m->dimension + 1)));
	}
}

LwMultivector *
lw_read_document(const LwView *view, LwPlace place)
{
	LwDocument	document;
	LwError		error;
	LwMultivector *m;

	if (lw_view_document(view, place, &document, &error) != LW_OK)
		lw_report(ERROR, &error);
	m = lw_multivector_new((int64) document.tokens, (int64) view->manifest.dimension);
	if (view->manifest.encoding == LW_FLOAT32)
		memcpy(m->values, document.rows, sizeof(float4) * document.tokens * view->manifest.dimension);
	else if (lw_decode_int8(document.rows, document.scales, document.tokens, view->manifest.dimension,
							view->manifest.normalized, m->values) != document.tokens)
		lw_report_score_problem(view, place, LW_SCORE_SCALE);
	lw_check_faults(view);
	check_finite(view, place, m);
	return m;
}
