/*-------------------------------------------------------------------------
 *
 * derived.h
 *	  Where this server keeps derived files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_DERIVED_H
#define LW_SERVER_DERIVED_H

/* Has the lower layers use them: lateweave/pgsql_tmp_derived in the data directory. */
extern void lw_derived_init(void);

#endif							/* LW_SERVER_DERIVED_H */
