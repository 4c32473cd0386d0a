/*-------------------------------------------------------------------------
 *
 * section_search.c
 *	  Searches of section files, and their graph.
 *
 * The indexes are opened when they are first asked for; they belong to the
 * file's handle, and live as long.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "server/error.h"
#include "server/section_search.h"

const LwGraph *
lw_section_graph(LwSection *section)
{
	LwError		error;

	lw_error_path(&error, NULL, section->path);
	if (lw_indexes_graph(&section->indexes, &error) != LW_OK)
		lw_report(ERROR, &error);
	return section->indexes.graph;
}

void
lw_section_search(LwSection *section, const LwSectionVectors *vectors,
				  const LwSearchRequest *request, LwSearchResult *result)
{
	LwSearchSource source = {0};
	LwError		error;

	lw_error_path(&error, NULL, section->path);
	if (vectors->space != NULL)
	{
		source.is_space = true;
		source.rerank = source.walked = vectors->slab;
	}
	else if (lw_indexes_source(&section->indexes, request->method, &source, &error) != LW_OK)
		lw_report(ERROR, &error);
	if (section->search == NULL && lw_search_new(&section->search, &error) != LW_OK)
		lw_report(ERROR, &error);
	if (lw_search(section->search, &source, request, result, &error) != LW_OK)
		lw_report(ERROR, &error);
	lw_section_check_faults(section);
}
