/*-------------------------------------------------------------------------
 *
 * prepared.h
 *	  Queries packed for the kernels, kept from one call to the next.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_PREPARED_H
#define LW_SERVER_PREPARED_H

#include "postgres.h"

#include "kernel/maxsim.h"
#include "kernel/vectors.h"

/*
 * The packed form of a query (tokens x dimension float4, row-major).  The
 * last few are kept and found again by comparing all their bytes, so that a scan
 * that scores a row a call packs its query once.  Valid until lw_prepare is
 * called again.
 */
extern LwQuery *lw_prepare(const float4 *values, int tokens, int dimension);

/*
 * The packed form of a query of section files, divided by its norm as their
 * reference does it.  ERROR 22023, ZeroNormQuery, for a norm of zero.  Kept as above.
 */
extern LwVectorQuery *lw_prepare_normalized(const float4 *values, int dimension);

#endif							/* LW_SERVER_PREPARED_H */
