/*-------------------------------------------------------------------------
 *
 * options.h
 *	  The options of a foreign table of lateweave.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_OPTIONS_H
#define LW_SERVER_OPTIONS_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef enum LwSourceKind
{
	LW_SOURCE_STORE,
	LW_SOURCE_SECTION
} LwSourceKind;

/* The largest values of the settings, and of the options, of these names. */
#define LW_MAX_HEARTBEAT 86400
#define LW_MAX_COMPACT_SEGMENTS 1000000

/* What a table has of its own for what are settings else; -1: nothing. */
typedef struct LwLimits
{
	int			heartbeat;		/* s */
	int			compact_segments;
	double		compact_deleted_fraction;
} LwLimits;

/* Values of a table's options, from a list of DefElem, without opening anything; strings point into the list. */
typedef struct LwSourceOptions
{
	LwSourceKind kind;
	const char *path;			/* the option store or section_file, or NULL */
	const char *store_id;		/* in the database's encoding, or NULL */
	bool		writable;
	LwLimits	limits;
	bool		has_min_commit;
	uint64		min_commit;
	const char *space;			/* in the database's encoding, or NULL */
	const char *content_hash;	/* "sha256:" and 64 lowercase hex digits, or NULL */
} LwSourceOptions;

/* The option that names the path. */
extern const char *lw_path_option(LwSourceKind kind);

/* ERROR HV00D for an unknown option and one of the other kind, 22023 for a bad value. */
extern void lw_parse_source_options(List *options, LwSourceOptions *result);

#endif							/* LW_SERVER_OPTIONS_H */
