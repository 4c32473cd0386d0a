/*-------------------------------------------------------------------------
 *
 * section_search.c
 *	  lateweave_section_search and lateweave_neighbors: what the indexes of a
 *	  section file are for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "server/ids.h"
#include "server/pin.h"
#include "server/section_search.h"
#include "server/stat.h"
#include "sql/chunk.h"
#include "sql/scorer.h"

PG_FUNCTION_INFO_V1(lateweave_section_search);
PG_FUNCTION_INFO_V1(lateweave_neighbors);

static LwSearchMethod
get_method(const text *name)
{
	static const char *const names[] = {
		[LW_SEARCH_AUTO] = "auto",
		[LW_SEARCH_EXACT] = "exact",
		[LW_SEARCH_ANN] = "ann",
		[LW_SEARCH_HYBRID] = "hybrid",
		[LW_SEARCH_GRAPH] = "graph"
	};
	char	   *string = text_to_cstring(name);
	int			method;

	for (method = 0; method < (int) lengthof(names); method++)
		if (strcmp(string, names[method]) == 0)
			return (LwSearchMethod) method;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown method \"%s\" of a search", string),
			 errhint("Methods are auto, exact, ann, hybrid and graph.")));
}

/* An integer argument of at least `least`; `value` where it is NULL. */
static int
get_number(FunctionCallInfo fcinfo, int argument, const char *name, int least, int value)
{
	if (!PG_ARGISNULL(argument))
		value = PG_GETARG_INT32(argument);
	if (value < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at least %d, not %d", name, least, value)));
	return value;
}

/* ERROR 22000 unless a query of this model's hash may search the vectors. */
static void
check_model_hash(const LwSection *section, const LwSectionVectors *vectors, const text *hash)
{
	LwString	given = lw_id_from_text(hash);
	LwString	expected = {(const char *) vectors->model_hash.data, vectors->model_hash.size};

	if (lw_string_equal(given, expected))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("incompatible query: the model_hash of \"%s\" is another", section->path),
			 errdetail("%s: it is \"%s\", not \"%s\".",
					   vectors->space != NULL ? "SpaceModelMismatch" : "ModelHashMismatch",
					   lw_string_for_server(expected), lw_string_for_server(given))));
}

/* The arguments k to candidates, and the query. */
static void
get_request(FunctionCallInfo fcinfo, const LwMultivector *query, LwSearchRequest *request)
{
	memset(request, 0, sizeof(*request));
	request->values = query->values;
	request->nvalues = (size_t) query->dimension;
	request->k = get_number(fcinfo, 2, "k", 1, 0);
	request->method = PG_ARGISNULL(3) ? LW_SEARCH_AUTO : get_method(PG_GETARG_TEXT_PP(3));
	if (!PG_ARGISNULL(5))
	{
		LwString	string = lw_id_from_text(PG_GETARG_TEXT_PP(5));

		request->text.data = (const uint8_t *) string.data;
		request->text.size = string.size;
	}
	request->ef = (size_t) get_number(fcinfo, 6, "ef", 0, LW_SEARCH_EF);
	request->hops = (size_t) get_number(fcinfo, 7, "hops", 0, LW_SEARCH_HOPS);
	request->candidates = PG_ARGISNULL(8) ? LW_SEARCH_CANDIDATES(request->k) :
		(size_t) get_number(fcinfo, 8, "candidates", 0, 0);
}

static void
put_hit(ReturnSetInfo *set, LwSection *section, const LwSearchResult *result, size_t i)
{
	const LwVectorHit *hit = &result->hits[i];
	Datum		values[11];
	bool		nulls[11] = {false};

	lw_check_score(section, hit->row, hit->score);
	values[0] = PointerGetDatum(lw_chunk_id_text(section, hit->row));
	values[1] = Float4GetDatum(hit->score);
	values[2] = Int32GetDatum((int32) i + 1);
	values[3] = Int64GetDatum((int64) hit->row);
	values[4] = PointerGetDatum(lw_chunk_citation(section, hit->row));
	values[5] = CStringGetTextDatum(lw_search_route_name(result->route));
	values[6] = Int64GetDatum((int64) result->exact_candidates);
	values[7] = Int64GetDatum((int64) result->ann_candidates);
	values[8] = Int64GetDatum((int64) result->bm25_candidates);
	values[9] = Int64GetDatum((int64) result->graph_candidates);
	values[10] = CStringGetTextDatum(result->full_precision ? "real cosine" : "real cosine at stored precision");
	tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
}

/* lateweave_section_search(source, query, k, method, space, query_text, ef, hops, candidates, model_hash, representation) */
Datum
lateweave_section_search(PG_FUNCTION_ARGS)
{
	LwScorer	scorer = {0};
	LwSection  *section;
	LwMultivector *query;
	LwSearchRequest request;
	LwSearchResult result;
	instr_time	start;
	const char *space;
	size_t		i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	section = lw_pin_section(PG_GETARG_OID(0));
	query = PG_GETARG_MULTIVECTOR(1);
	space = PG_ARGISNULL(4) ? lw_source_lookup(PG_GETARG_OID(0))->space : text_to_cstring(PG_GETARG_TEXT_PP(4));
	scorer.content.section = section;
	lw_choose_vectors(section, space, &scorer.vectors);
	if (!PG_ARGISNULL(9))
		check_model_hash(section, &scorer.vectors, PG_GETARG_TEXT_PP(9));
	if (!PG_ARGISNULL(10))
		lw_check_representation(&scorer, PG_GETARG_JSONB_P(10));
	get_request(fcinfo, query, &request);
	lw_check_section_query(&scorer.vectors, section, query->tokens, query->dimension);

	INSTR_TIME_SET_CURRENT(start);
	lw_section_search(section, &scorer.vectors, &request, &result);
	lw_stat_scored = lw_stat_of(PG_GETARG_OID(0));
	lw_stat_scored->scores++;
	lw_stat_scored->candidates += result.ann_candidates + result.bm25_candidates + result.graph_candidates;
	lw_stat_scored->approximate += isnan(result.recall);
	lw_count_rows(&scorer.vectors.slab, result.scored, &start);
	for (i = 0; i < result.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_hit((ReturnSetInfo *) fcinfo->resultinfo, section, &result, i);
	}
	return (Datum) 0;
}

static const char *
edge_type_name(uint8 type)
{
	switch (type)
	{
		case LW_EDGE_NEXT_CHUNK:
			return "next_chunk";
		case LW_EDGE_SEMANTIC:
			return "semantic";
		case LW_EDGE_CITATION:
			return "citation";
	}
	return psprintf("%u", type);
}

/* lateweave_neighbors(source, id, hops): breadth-first, each chunk once, at its first edge. */
Datum
lateweave_neighbors(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	LwSection  *section;
	const LwGraph *graph;
	LwGraphVisit *visits;
	LwPlace		place;
	uint32		seed;
	size_t		hops;
	size_t		count;
	size_t		i;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	section = lw_pin_section(PG_GETARG_OID(0));
	hops = (size_t) get_number(fcinfo, 2, "hops", 0, LW_SEARCH_HOPS);
	graph = lw_section_graph(section);
	if (graph == NULL || !lw_section_find_chunk(section, lw_id_from_text(PG_GETARG_TEXT_PP(1)), &place))
		return (Datum) 0;

	seed = (uint32) place.row;
	visits = palloc_extended(mul_size(sizeof(LwGraphVisit), graph->nodes), MCXT_ALLOC_HUGE);
	count = lw_graph_expand(graph, &seed, 1, hops, graph->nodes,
							palloc_extended(lw_graph_seen_size(graph), MCXT_ALLOC_HUGE), visits);
	/* the first is the chunk itself */
	for (i = 1; i < count; i++)
	{
		Datum		values[3];
		bool		nulls[3] = {false, false, false};

		CHECK_FOR_INTERRUPTS();
		values[0] = PointerGetDatum(lw_chunk_id_text(section, visits[i].node));
		values[1] = CStringGetTextDatum(edge_type_name(visits[i].type));
		values[2] = Int32GetDatum((int32) visits[i].hop);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
