/*-------------------------------------------------------------------------
 *
 * ahead.h
 *	  Has documents read from disk before they are scored.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_AHEAD_H
#define LW_STORE_AHEAD_H

#include "store/view.h"

#define LW_AHEAD_DOCUMENTS 64	/* at a time, at most */

/*
 * Asks the kernel to read the rows of documents that are not in memory, in the
 * order of the files.  Where some of them are is asked of a few: of documents
 * in memory it costs three system calls.  Does not wait, and never fails.
 */
extern void lw_read_ahead(const LwView *view, const LwPlace *places, size_t count);

#endif							/* LW_STORE_AHEAD_H */
