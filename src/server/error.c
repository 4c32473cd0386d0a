/*-------------------------------------------------------------------------
 *
 * error.c
 *	  From an LwError of the lower layers to an ereport.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "server/error.h"

int
lw_error_code(const LwError *error)
{
	switch (error->status)
	{
		case LW_OK:
			break;
		case LW_MALFORMED:
		case LW_TRUNCATED:
			return ERRCODE_DATA_CORRUPTED;
		case LW_MISSING:
			return ERRCODE_UNDEFINED_FILE;
		case LW_DENIED:
			return ERRCODE_INSUFFICIENT_PRIVILEGE;
		case LW_IO:
			if (error->errnum == EEXIST)
				return ERRCODE_DUPLICATE_FILE;
			return error->errnum == ENOSPC || error->errnum == EDQUOT ?
				ERRCODE_DISK_FULL : ERRCODE_IO_ERROR;
		case LW_NO_MEMORY:
			return ERRCODE_OUT_OF_MEMORY;
		case LW_LIMIT:
			return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		case LW_INVALID:
			return ERRCODE_INVALID_PARAMETER_VALUE;
		case LW_REPLACED:
		case LW_OUTDATED:
			return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
		case LW_CANCELLED:
			return ERRCODE_QUERY_CANCELED;
		case LW_NOT_FOUND:
			return ERRCODE_UNDEFINED_OBJECT;
	}
	return ERRCODE_INTERNAL_ERROR;
}

char *
lw_error_message(const LwError *error)
{
	if (error->errnum != 0)
		return psprintf(_("could not %s \"%s\": %s"), error->expected, error->path,
						strerror(error->errnum));
	switch (error->status)
	{
		case LW_DENIED:
			return psprintf(_("\"%s\" is not allowed: expected %s, found %s"),
							error->path, error->expected, error->found);
		case LW_TRUNCATED:
			return psprintf(_("\"%s\" was truncated while it was read"), error->path);
		case LW_LIMIT:
			return psprintf(_("\"%s\" exceeds a limit: expected %s, found %s"),
							error->path, error->expected, error->found);
		case LW_INVALID:
			return psprintf(_("expected %s, found %s"), error->expected, error->found);
		case LW_REPLACED:
			return psprintf(_("\"%s\" was replaced: expected %s, found %s"),
							error->path, error->expected, error->found);
		case LW_OUTDATED:
			return psprintf(_("\"%s\" is of an older copy of the store: expected %s, found %s"),
							error->path, error->expected, error->found);
		case LW_CANCELLED:
			return psprintf(_("reading \"%s\" was cancelled"), error->path);
		case LW_NOT_FOUND:
			return psprintf(_("\"%s\" does not have that: expected %s, found %s"),
							error->path, error->expected, error->found);
		default:
			return psprintf(_("\"%s\" is damaged: expected %s, found %s"),
							error->path, error->expected, error->found);
	}
}

static const char *
user_name(uid_t uid)
{
	struct passwd *entry = getpwuid(uid);

	return entry != NULL ? psprintf("\"%s\"", entry->pw_name) : psprintf(_("with number %u"), (unsigned) uid);
}

/* The path, or the nearest directory above it that the server may look at. */
static char *
visible_path(const char *path, struct stat *status)
{
	char	   *shorter = pstrdup(path);
	char	   *slash;

	while (stat(shorter, status) != 0)
	{
		slash = strrchr(shorter, '/');
		if (slash == NULL || slash == shorter)
			return NULL;
		*slash = '\0';
	}
	return shorter;
}

/* DETAIL and HINT of a file that the server may not use: whose it is, its mode and, when it is to be read, what to do. */
static void
report_denied(const LwError *error)
{
	static const char *const reading[] = {"open", "stat", "read", "list", "map"};
	struct stat status;
	int			i;
	char	   *path = visible_path(error->path, &status);
	const char *server_user = user_name(geteuid());

	if (path != NULL)
		errdetail("\"%s\" belongs to user %s and has mode %04o; the server runs as user %s.",
				  path, user_name(status.st_uid), (unsigned) status.st_mode & 07777, server_user);
	for (i = 0; i < lengthof(reading); i++)
		if (strcmp(error->expected, reading[i]) == 0)
			errhint("Run the writer as user %s, or let its owner grant read access after each commit: "
					"the reference writer publishes manifest.json with mode 0600.", server_user);
}

void
lw_report(int elevel, const LwError *error)
{
	char	   *message;

	/* who asked for the cancellation says why */
	if (error->status == LW_CANCELLED)
		CHECK_FOR_INTERRUPTS();
	message = lw_error_message(error);
	if (errstart(elevel, TEXTDOMAIN))
	{
		errcode(lw_error_code(error));
		errmsg_internal("%s", message);
		if (error->status == LW_DENIED && error->errnum != 0)
			report_denied(error);
		else if (error->name != NULL && error->offset >= 0)
			errdetail("%s, at byte %lld.", error->name, (long long) error->offset);
		else if (error->name != NULL)
			errdetail_internal("%s.", error->name);
		/* what could not be made was not there before */
		if (error->status == LW_MISSING && strcmp(error->expected, "create") != 0)
			errhint("If it was moved, change the foreign table's option that names it; "
					"if this server was restored or upgraded, restore the source's files too.");
		else if (error->status == LW_TRUNCATED)
			errhint("Published files must never be changed in place. Restore the file, then repeat the statement.");
		else if (error->status == LW_MALFORMED)
			errhint("Restore it from a copy.");
		else if (error->status == LW_REPLACED)
			errhint("If the change is meant, run ALTER FOREIGN TABLE ... OPTIONS (SET store_id ...) with the new store's id, "
					"or OPTIONS (SET content_hash ...) with the new section file's.");
		else if (error->name != NULL && strcmp(error->name, "NotNormalized") == 0)
			errhint("Use l2_normalize, or a store that is created with normalized => false.");
		else if (error->status == LW_OUTDATED)
			errhint("Restore a newer copy, or lower the option min_commit of the foreign table.");
		errfinish(__FILE__, __LINE__, __func__);
	}
	pfree(message);
}
