/*-------------------------------------------------------------------------
 *
 * upkeep.h
 *	  What a store needs from time to time: a commit, a compaction, or codes
 *	  for approximate candidates.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_UPKEEP_H
#define LW_SERVER_UPKEEP_H

#include "postgres.h"

#include "server/maintain.h"
#include "server/shared.h"
#include "server/source.h"

/* The settings lateweave.heartbeat (s; 0: never), compact_segments and compact_deleted_fraction. */
extern int	lw_heartbeat;
extern int	lw_compact_segments;
extern double lw_compact_deleted_fraction;

/* What holds for a source: its option, or else the setting. */
extern int	lw_source_heartbeat(const LwSource *source);

/*
 * What a view of the source's store holds: as lw_view_hidden counts it, or what somebody has counted
 * before of the same commit.
 */
extern LwStatus lw_source_counts(const LwSource *source, LwView *view, LwSharedCounts *counts, LwError *error);

/* Whether the view is past one of the limits for compaction. */
extern bool lw_source_wants_compaction(const LwSource *source, const LwView *view, const LwSharedCounts *counts);

/*
 * Publishes what is pending of a table's store, and a commit without changes when the last one is older
 * than the heartbeat.  Sets when the next one is due (DT_NOEND: never), and whether the store wants
 * lw_upkeep_compact.  Raises.
 */
extern void lw_upkeep(Oid relid, TimestampTz *next, bool *compact);

/*
 * Compacts a table's store that is past a limit, true then, or assigns what approximate candidates
 * lack.  `leave` and errors as lw_maintain_compact.
 */
extern bool lw_upkeep_compact(Oid relid, bool (*leave) (void), LwCompaction *compaction);

#endif							/* LW_SERVER_UPKEEP_H */
