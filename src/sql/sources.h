/*-------------------------------------------------------------------------
 *
 * sources.h
 *	  Going through the sources of a database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_SOURCES_H
#define LW_SQL_SOURCES_H

#include "postgres.h"

/*
 * Calls `put` for every source of this database that the current user may read, or all of them for a
 * member of pg_read_all_stats.  `locked`: the table is, while it is called; false when another
 * session is altering or dropping it, which is not waited for.
 */
extern void lw_for_each_source(void (*put) (Oid relid, bool locked, void *arg), void *arg);

#endif							/* LW_SQL_SOURCES_H */
