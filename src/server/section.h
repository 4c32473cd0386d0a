/*-------------------------------------------------------------------------
 *
 * section.h
 *	  Section files that this backend has open.
 *
 * A file is opened once, however many tables name it, and known by device,
 * inode, size and modification time.  Handles are counted by reference: one
 * that a statement has pinned stays readable when another file takes its place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_SECTION_H
#define LW_SERVER_SECTION_H

#include "postgres.h"

#include "lib/ilist.h"

#include "section/indexes.h"

/* The setting lateweave.verify_on_open. */
extern bool lw_verify_on_open;

/* Whether the user wants the statement to end: for work that cannot take an interrupt by itself. */
extern const LwStop lw_stop;

typedef struct LwSection
{
	dlist_node	node;
	int			references;
	uint64		serial;			/* of no other handle of this process */
	char	   *path;			/* for messages */
	struct stat status;			/* of the file that is open */
	bool		verified;		/* everything was checked, when it was opened or earlier */
	LwSectionFile *file;
	LwIndexes	indexes;
	LwSearch   *search;			/* NULL until it is asked for */
} LwSection;

/* Whether this is still the file that a stat describes, checked as the setting wants it. */
extern bool lw_section_is_current(const LwSection *section, const struct stat *status);

/*
 * The section file at an absolute path, whose stat is given: one that is open
 * already, or opened now (and verified, when the setting wants it).  The
 * caller gets a reference.  Raises nothing but out of memory.
 */
extern LwStatus lw_section_get(const char *path, const struct stat *status,
							   LwSection **section, LwError *error);

extern LwSection *lw_section_retain(LwSection *section);
extern void lw_section_release(LwSection *section);

/*
 * Opens the file anew and checks everything, telling `report` (may be NULL)
 * of what passed.  On LW_OK *file is open and the caller's to close.  The outcome is
 * recorded for others.  Raises nothing.
 */
extern LwStatus lw_section_check_all(const char *path, const LwVerifyReport *report,
									 LwSectionFile **file, struct stat *status, LwError *error);

/* ERROR XX001 when the file was cut: before a result that came from it is used. */
extern void lw_section_check_faults(const LwSection *section);

#endif							/* LW_SERVER_SECTION_H */
