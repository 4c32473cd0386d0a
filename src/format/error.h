/*-------------------------------------------------------------------------
 *
 * error.h
 *	  What the layers that know no server say when something is wrong.
 *
 * format/, kernel/, store/ and section/ never raise: they return an LwStatus
 * and fill in an LwError.  src/server/error.c is the only place that turns
 * one into an ereport with the SQLSTATE of the interface.  An LwError owns
 * nothing, so it can be copied and dropped freely.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_FORMAT_ERROR_H
#define LW_FORMAT_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum LwStatus
{
	LW_OK = 0,
	LW_MALFORMED,				/* bytes break a rule of the format */
	LW_TRUNCATED,				/* a mapped file was cut by someone else */
	LW_MISSING,					/* a file or directory is not there */
	LW_DENIED,					/* the operating system refuses access */
	LW_IO,						/* any other operating system error */
	LW_NO_MEMORY,				/* malloc failed */
	LW_LIMIT,					/* valid, but past a limit of this reader */
	LW_REPLACED,				/* another store, or another representation */
	LW_OUTDATED,				/* an older copy than is accepted */
	LW_INVALID,					/* the caller's arguments make no sense */
	LW_CANCELLED,				/* the caller asked to stop */
	LW_NOT_FOUND				/* the file is good but has not what was asked for */
} LwStatus;

#define LW_PATH_SIZE 1024
#define LW_TEXT_SIZE 256

typedef struct LwError
{
	LwStatus	status;
	const char *name;			/* the format's error name, a literal, or NULL */
	int64_t		offset;			/* byte in the file, or -1 */
	int			errnum;			/* errno for LW_MISSING, LW_DENIED, LW_IO */
	char		path[LW_PATH_SIZE]; /* the file; set by whoever opened it */
	char		found[LW_TEXT_SIZE];	/* printable ASCII or UTF-8, NUL-ended */
	char		expected[LW_TEXT_SIZE];
} LwError;

#if defined(__GNUC__)
#define LW_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define LW_PRINTF(f, a)
#endif

/*
 * Fills in *error (all but path, which is kept) and returns `status`.
 * `expected` is a literal; `found` a printf format, whose result is cut to
 * LW_TEXT_SIZE and has bytes outside printable ASCII replaced by '?'.
 */
extern LwStatus lw_fail(LwError *error, LwStatus status, const char *name,
						int64_t offset, const char *expected,
						const char *found,...) LW_PRINTF(6, 7);

/*
 * The same for a failed system call: LW_MISSING for ENOENT and ENOTDIR,
 * LW_DENIED for EACCES and EPERM, LW_NO_MEMORY for ENOMEM, else LW_IO.
 * `doing` is a literal such as "open"; it goes into `expected`.
 */
extern LwStatus lw_fail_errno(LwError *error, int errnum, const char *doing);

/* Sets error->path to `directory`/`name` (or `name` alone when NULL), cut to fit. */
extern void lw_error_path(LwError *error, const char *directory, const char *name);

#endif							/* LW_FORMAT_ERROR_H */
