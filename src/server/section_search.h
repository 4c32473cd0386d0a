/*-------------------------------------------------------------------------
 *
 * section_search.h
 *	  Searches of section files, and their graph.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_SECTION_SEARCH_H
#define LW_SERVER_SECTION_SEARCH_H

#include "postgres.h"

#include "server/section_scoring.h"

/* The graph of a file; NULL when it has none.  ERROR XX001 when it is malformed. */
extern const LwGraph *lw_section_graph(LwSection *section);

/*
 * Searches.  `request` says how; its values are those of a query that
 * lw_check_section_query let pass.  The hits stay until the next search of the
 * file.  ERROR as reading the file and its indexes gives, 22023 for what cannot be searched for.
 */
extern void lw_section_search(LwSection *section, const LwSectionVectors *vectors,
							  const LwSearchRequest *request, LwSearchResult *result);

#endif							/* LW_SERVER_SECTION_SEARCH_H */
