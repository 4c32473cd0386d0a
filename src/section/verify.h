/*-------------------------------------------------------------------------
 *
 * verify.h
 *	  Everything that can be checked about a section file, in the reference's
 *	  order, up to the first failure.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_VERIFY_H
#define LW_SECTION_VERIFY_H

#include "section/file.h"

typedef enum LwVerifyLevel
{
	LW_VERIFY_CONTAINER,		/* what the reference's command line validates */
	LW_VERIFY_OPEN				/* what the reference checks when it opens a file to search it */
} LwVerifyLevel;

/* Checks of the payloads that this part does not know; a NULL one is skipped. */
typedef struct LwSectionChecks
{
	LwStatus	(*hnsw) (LwBytes payload, uint64_t rows, LwError *error);
	LwStatus	(*bm25) (LwBytes payload, uint64_t rows, LwError *error);
	LwStatus	(*graph) (LwBytes payload, uint64_t rows, LwError *error);
} LwSectionChecks;

/* Told of every check that passed: what it was (a literal) and, if not empty, a detail. */
typedef struct LwVerifyReport
{
	void		(*passed) (void *arg, const char *check, const char *detail);
	void	   *arg;
} LwVerifyReport;

/*
 * Opens a file and verifies it.  On success *file is open, with all that was
 * checked remembered.  `stop` is as in lw_section_stop; `report` and `checks`
 * may be NULL.
 */
typedef struct LwVerify
{
	LwVerifyLevel level;
	const LwSectionChecks *checks;
	const LwVerifyReport *report;
	const LwStop *stop;
	size_t		memory;			/* as for lw_section_open */
} LwVerify;

extern LwStatus lw_section_verify(int dirfd, const char *directory, const char *name,
								  const LwVerify *how, LwSectionFile **file,
								  struct stat *status, LwError *error);
extern LwStatus lw_section_verify_bytes(LwBytes bytes, const LwVerify *how,
										LwSectionFile **file, LwError *error);

#endif							/* LW_SECTION_VERIFY_H */
