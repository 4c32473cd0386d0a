/*-------------------------------------------------------------------------
 *
 * document.h
 *	  A document of a store as a multivector.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_DOCUMENT_H
#define LW_SQL_DOCUMENT_H

#include "postgres.h"

#include "sql/multivector.h"
#include "store/view.h"

/*
 * The decoded vectors at a place, as the score uses them (palloc'ed).  ERROR
 * XX001 for a bad scale, a value that is not finite or a file that was cut;
 * 54000 when they exceed 1 GB.
 */
extern LwMultivector *lw_read_document(const LwView *view, LwPlace place);

#endif							/* LW_SQL_DOCUMENT_H */
