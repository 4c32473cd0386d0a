/*-------------------------------------------------------------------------
 *
 * fault.c
 *	  Stopping a session at a step of writing a store, or letting the step fail, for tests.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "utils/guc.h"

#include "server/fault.h"
#include "store/fault.h"

typedef enum Action
{
	ACTION_KILL,
	ACTION_ENOSPC,
	ACTION_EIO,
	ACTION_SLEEP
} Action;

static const char *const actions[] = {"kill", "enospc", "eio", "sleep"};
static const char *const points[] = {LW_STORE_FAULT_NAMES, LW_PENDING_FAULT_NAMES};

static char *setting;
static char point[64];
static Action action;
static int	left;				/* times that the point is passed before it acts */

static int
pass(const char *name)
{
	if (left == 0 || strcmp(name, point) != 0 || --left > 0)
		return 0;
	switch (action)
	{
		case ACTION_KILL:
			kill(getpid(), SIGKILL);
			break;
		case ACTION_ENOSPC:
			return ENOSPC;
		case ACTION_EIO:
			return EIO;
		case ACTION_SLEEP:
			pg_usleep(1000000);
			break;
	}
	return 0;
}

/* Takes a setting apart; false when it names no point or action. */
static bool
parse(const char *value, char name[64], Action *what, int *times)
{
	char		word[64];
	char		verb[64];
	int			n = 1;
	int			i;

	if (sscanf(value, "%63[^:]:%63[^:]:%d", word, verb, &n) < 2 || n < 1)
		return false;
	for (i = 0; i < lengthof(points) && strcmp(points[i], word) != 0; i++)
		;
	if (i == lengthof(points))
		return false;
	strcpy(name, word);
	for (i = 0; i < lengthof(actions) && strcmp(actions[i], verb) != 0; i++)
		;
	if (i == lengthof(actions))
		return false;
	*what = (Action) i;
	*times = n;
	return true;
}

static bool
check_setting(char **newval, void **extra, GucSource source)
{
	char		name[64];
	Action		what;
	StringInfoData names;
	int			times;
	int			i;

	if (**newval == '\0' || parse(*newval, name, &what, &times))
		return true;
	initStringInfo(&names);
	for (i = 0; i < lengthof(points); i++)
		appendStringInfo(&names, " %s", points[i]);
	GUC_check_errdetail("It takes a point and kill, enospc, eio or sleep, and perhaps a number: POINT:kill:2.  Points:%s.",
						names.data);
	pfree(names.data);
	return false;
}

static void
assign_setting(const char *newval, void *extra)
{
	lw_fault_hook = NULL;
	left = 0;
	if (newval != NULL && *newval != '\0' && parse(newval, point, &action, &left))
		lw_fault_hook = pass;
}

void
lw_fault_init(void)
{
	DefineCustomStringVariable("lateweave.fault",
							   "Step of writing a store at which something goes wrong, for tests.",
							   NULL,
							   &setting,
							   "",
							   PGC_SUSET,
							   GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
							   check_setting, assign_setting, NULL);
}
