/*-------------------------------------------------------------------------
 *
 * stat.h
 *	  What has been done with each source since the statistics were reset.
 *
 * A session counts for itself, as long as it lasts, and adds what is new to the shared counts when
 * a statement ends.  They are by foreign table, and of a server's run: nothing of them is on disk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_STAT_H
#define LW_SERVER_STAT_H

#include "postgres.h"

#include "datatype/timestamp.h"

#define LW_STAT_ERROR_SIZE 256

typedef struct LwStatCounts
{
	uint64		scores;			/* calls that scored documents */
	uint64		documents;
	uint64		tokens;			/* of those */
	uint64		bytes;			/* that their vectors take */
	uint64		nanoseconds;	/* in the kernel, as far as it was measured */
	uint64		untimed;		/* documents of which it was not */
	uint64		candidates;		/* documents that a caller or an approximate search chose to be scored */
	uint64		choosing;		/* nanoseconds that the latter took to choose */
	uint64		approximate;	/* times that a search left documents out */
	uint64		reloads;		/* views that a session took up */
	uint64		commits;		/* that were published */
	uint64		transactions;	/* in those */
	uint64		compactions;

	/* Not sums, and of the session only: of the documents that it scored last. */
	uint64		commit;			/* of a store */
	uint64		present;		/* how many there are; 0: they were not counted */
} LwStatCounts;

#define LW_STAT_SUMS (offsetof(LwStatCounts, commit) / sizeof(uint64))

typedef struct LwStat
{
	LwStatCounts counts;
	TimestampTz since;			/* when it was reset, or first used */
	TimestampTz error_at;		/* 0: there was none */
	char		error[LW_STAT_ERROR_SIZE];
} LwStat;

/* Whose documents are being scored; never NULL. */
extern LwStatCounts *lw_stat_scored;

/*
 * Where this session counts what it does with a source; valid as long as the session.
 * May raise when it is first asked for a source.
 */
extern LwStatCounts *lw_stat_of(Oid relid);

/* What this session has counted of a source since it began. */
typedef struct LwStatOfSource
{
	Oid			relid;
	LwStatCounts counts;
} LwStatOfSource;

/* The same of all sources, by ascending relid, in the current memory context. */
extern LwStatOfSource *lw_stat_session(int *count);

/* The last error of a source; whether it is another than the one before. May be called in any state. */
extern bool lw_stat_error(Oid relid, const char *message);

/* Adds what was counted to the shared counts.  Raises nothing. */
extern void lw_stat_flush(void);

/* What is known of a table of this database; false when nothing. */
extern bool lw_stat_get(Oid relid, LwStat *stat);

/* Begins anew for this database. */
extern void lw_stat_reset(void);

extern void lw_stat_init(void);

#endif							/* LW_SERVER_STAT_H */
