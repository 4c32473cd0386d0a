/*-------------------------------------------------------------------------
 *
 * handed.h
 *	  A view handed to another process, which scores documents of it, too.
 *
 * What is handed over is where the files of the segments lie, which files they are,
 * and which rows are hidden.  As long as the first process has the files
 * mapped, no other file can have their identity: who finds it at the path has
 * the same bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_HANDED_H
#define LW_STORE_HANDED_H

#include "store/view.h"

/*
 * Which segments can be handed over, [manifest.nsegments]: not those that lie in no files or whose files no
 * longer lie at their paths.
 */
extern void lw_handed_choose(const LwView *view, bool *handed);

/*
 * These segments of a view as one block of bytes without pointers, at an address for a uint64_t: its size, and
 * making it.  lw_view_hidden has been called.
 */
extern size_t lw_handed_size(const LwView *view, const bool *handed);
extern void lw_handed_write(const LwView *view, const bool *handed, void *flat);

/*
 * Makes a view of it, good for scoring what is not hidden, and nothing else: no id can be looked up or read.
 * Segments stand where they stood; those that were not handed over have no documents.  LW_REPLACED, HandedFile, when
 * another file lies at a path.
 */
extern LwStatus lw_handed_open(const void *flat, LwView **view, LwError *error);

#endif							/* LW_STORE_HANDED_H */
