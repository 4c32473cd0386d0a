/*-------------------------------------------------------------------------
 *
 * explain.h
 *	  What EXPLAIN shows of sources.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_EXPLAIN_H
#define LW_SQL_EXPLAIN_H

#include "postgres.h"

#include "compat.h"
#include "server/source.h"

/* Shows where a source is, as its option has it. */
extern void lw_explain_source(const LwSource *source, struct ExplainState *es);

/* Has EXPLAIN (ANALYZE) show what a statement scored. */
extern void lw_explain_init(void);

#endif							/* LW_SQL_EXPLAIN_H */
