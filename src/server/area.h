/*-------------------------------------------------------------------------
 *
 * area.h
 *	  The memory that all sessions of the server share.
 *
 * It is there when the library is preloaded, and from PostgreSQL 17 on
 * without that too.  Nobody may depend on it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_AREA_H
#define LW_SERVER_AREA_H

#include "postgres.h"

#include "lib/dshash.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "utils/dsa.h"

#include "server/progress.h"
#include "server/worker.h"

/* The tables in it: stores by directory, statistics by foreign table. */
typedef enum LwAreaTable
{
	LW_AREA_STORES,
	LW_AREA_STATS,
	LW_AREA_TABLES
} LwAreaTable;

/* At its start. */
typedef struct LwArea
{
	LWLock		lock;			/* for making the areas, and for making room in the tables */
	int			tranche;
	bool		made;
	int			room;			/* entries of each table */
	pg_atomic_uint32 entries[LW_AREA_TABLES];	/* that there are */
	dshash_table_handle tables[LW_AREA_TABLES];
	Size		tables_at;		/* of the areas, from the start of this */
	Size		tables_size;
	Size		manifests_at;
	Size		manifests_size;
	Size		slots_at;		/* of the slots for progress */
	int			nslots;
	LwBoard		board;			/* between the sessions and the workers */
} LwArea;

/* The setting lateweave.max_sources: how many stores and foreign tables there is room for. */
extern int	lw_max_sources;

/* NULL when this session has no part in it. */
extern LwArea *lw_area;

/* Its tables, and the memory of the manifests; NULL likewise. */
extern dshash_table *lw_area_tables[LW_AREA_TABLES];
extern dsa_area *lw_area_manifests;

/* Whether this session has a part in it; takes part when it is first asked, which may raise. */
extern bool lw_area_available(void);

/* Says what the entries of a table are, when the library is loaded. */
extern void lw_area_define(LwAreaTable which, Size key_size, Size entry_size);

/* Asks for it when the library is being preloaded; defines the setting. */
extern void lw_area_init(void);

/* The slot of a process, by its number; NULL when this session has no part in it. */
extern LwProgressSlot *lw_area_slot(int number);

#endif							/* LW_SERVER_AREA_H */
