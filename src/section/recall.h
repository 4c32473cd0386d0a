/*-------------------------------------------------------------------------
 *
 * recall.h
 *	  What earlier processes have found out about a section file: checks that
 *	  it passed, its hashes, its ids.
 *
 * Checks that failed are not remembered.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_RECALL_H
#define LW_SECTION_RECALL_H

#include "section/file.h"

/* Smaller files are checked as fast as a record of it is read. */
#define LW_RECALL_BYTES ((size_t) 1 << 20)

/*
 * Has a handle use what is known of the file, and let others know what it
 * finds out.  `status` is what opening it gave; its path must be absolute.
 */
extern void lw_section_recall(LwSectionFile *file, const struct stat *status);

/* Whether lw_section_verify at level LW_VERIFY_OPEN has passed, and to say that it just has. */
extern bool lw_section_all_checked(const LwSectionFile *file);
extern void lw_section_set_all_checked(LwSectionFile *file);

/* Forgets what is recorded: the file was found damaged. */
extern void lw_section_forget(const struct stat *status);

#endif							/* LW_SECTION_RECALL_H */
