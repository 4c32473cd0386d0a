/*-------------------------------------------------------------------------
 *
 * stop.h
 *	  Being asked to stop in the middle of long work.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_STOP_H
#define LW_SECTION_STOP_H

#include <stdbool.h>
#include <stddef.h>

/* Asked now and then, at least every second; when it says true the work ends with LW_CANCELLED.  It must not jump. */
typedef struct LwStop
{
	bool		(*asked) (void *arg);
	void	   *arg;
} LwStop;

/* Whether to stop; never when `stop` is NULL. */
static inline bool
lw_stop_asked(const LwStop *stop)
{
	return stop != NULL && stop->asked(stop->arg);
}

#endif							/* LW_SECTION_STOP_H */
