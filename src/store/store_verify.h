/*-------------------------------------------------------------------------
 *
 * store_verify.h
 *	  Everything that can be checked about a store.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_STORE_VERIFY_H
#define LW_STORE_VERIFY_H

#include "store/files.h"
#include "store/segment.h"

/*
 * Checks the manifest; each segment and its tombstones, in order; then the
 * values of the documents that are present, which nobody looks at before they
 * are read: scales that are finite and positive, values that are numbers.
 * `report` hears of what passed; the first failure ends it and is returned,
 * with the error name that reading the store gives.  `stop` (may be NULL) is
 * asked now and then; true ends with LW_CANCELLED.
 *
 * LW_OUTDATED, ManifestMoved: a newer commit came and its writer removed files
 * meanwhile, so nothing was found out: begin again.
 */
extern LwStatus lw_store_verify(LwDirectory store, const LwStoreReport *report,
								bool (*stop) (void *arg), void *stop_arg, LwError *error);

#endif							/* LW_STORE_VERIFY_H */
