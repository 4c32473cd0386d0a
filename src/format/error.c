/*-------------------------------------------------------------------------
 *
 * error.c
 *	  Filling in an LwError.
 *
 * What was found in a file may be anything, so it becomes printable here,
 * once: no caller can leak a control character or half a UTF-8 sequence into
 * a log or a client.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

/* Copies text, cut to `size` with its ending NUL. */
static void
copy_text(char *to, size_t size, const char *from)
{
	size_t		length = strlen(from);

	if (length >= size)
		length = size - 1;
	memcpy(to, from, length);
	to[length] = '\0';
}

/* Replaces every byte that is not printable ASCII. */
static void
make_printable(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char) *text < 0x20 || (unsigned char) *text > 0x7e)
			*text = '?';
}

/* Fills in an error and returns its status. */
LwStatus
lw_fail(LwError *error, LwStatus status, const char *name, int64_t offset,
		const char *expected, const char *found,...)
{
	va_list		args;

	error->status = status;
	error->name = name;
	error->offset = offset;
	error->errnum = 0;
	copy_text(error->expected, sizeof(error->expected), expected);
	va_start(args, found);
	if (vsnprintf(error->found, sizeof(error->found), found, args) < 0)
		error->found[0] = '\0';
	va_end(args);
	make_printable(error->found);
	return status;
}

/* Fills in an error from a system call that failed with errnum. */
LwStatus
lw_fail_errno(LwError *error, int errnum, const char *doing)
{
	LwStatus	status;

	switch (errnum)
	{
		case ENOENT:
		case ENOTDIR:
			status = LW_MISSING;
			break;
		case EACCES:
		case EPERM:
			status = LW_DENIED;
			break;
		case ENOMEM:
			status = LW_NO_MEMORY;
			break;
		default:
			status = LW_IO;
			break;
	}
	lw_fail(error, status, NULL, -1, doing, "%s", strerror(errnum));
	error->errnum = errnum;
	return status;
}

/* Says which file an error is about. */
void
lw_error_path(LwError *error, const char *directory, const char *name)
{
	if (directory == NULL)
		copy_text(error->path, sizeof(error->path), name);
	else if (snprintf(error->path, sizeof(error->path), "%s/%s", directory, name) < 0)
		error->path[0] = '\0';
}
