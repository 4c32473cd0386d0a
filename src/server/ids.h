/*-------------------------------------------------------------------------
 *
 * ids.h
 *	  Document ids between the files (UTF-8) and the database's encoding.
 *
 * In a database of encoding SQL_ASCII the bytes are taken as they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SERVER_IDS_H
#define LW_SERVER_IDS_H

#include "postgres.h"

#include "compat.h"
#include "format/manifest.h"

/* A text as UTF-8; points into it when nothing has to be converted. */
extern LwString lw_id_from_text(const text *id);

/*
 * An id of the files as a text; `source` names the store in the message.
 * ERROR 22P05 that names the id when the database's encoding cannot hold it,
 * 22021 when it contains U+0000.
 */
extern text *lw_id_to_text(const char *id, size_t size, const char *source);

/*
 * The same for any string of at most MaxAllocSize - VARHDRSZ bytes, valid
 * UTF-8.  NULL where lw_id_to_text raises, with the SQLSTATE for lw_report_text.
 */
extern text *lw_utf8_to_text(const char *utf8, size_t size, int *code);

/* Raises it; `what` says which string of the source it is. */
pg_noreturn extern void lw_report_text(int code, const char *what, const char *source);

/* An id for a message: cut, in the database's encoding, what that cannot hold escaped. */
extern char *lw_id_for_message(const char *id, size_t size);

/* UTF-8 of a file as a string of the database, for messages and views: what it cannot hold is escaped. */
extern char *lw_string_for_server(LwString string);

#endif							/* LW_SERVER_IDS_H */
