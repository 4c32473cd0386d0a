/*-------------------------------------------------------------------------
 *
 * build_row.h
 *	  Rows of a query as rows of a section file that is built.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SQL_BUILD_ROW_H
#define LW_SQL_BUILD_ROW_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"

#include "section/build.h"

typedef enum LwRowColumn
{
	LW_ROW_TEXT,
	LW_ROW_URI,
	LW_ROW_START,
	LW_ROW_END,
	LW_ROW_EMBEDDING,
	LW_ROW_BLOB_INDEX,
	LW_ROW_BLOB_START,
	LW_ROW_BLOB_END,
	LW_ROW_SPACES				/* the first of them */
} LwRowColumn;

/* Where the columns are in a query's rows, and the row that was read last. */
typedef struct LwRowReader
{
	TupleDesc	desc;
	int			columns[LW_ROW_SPACES + LW_BUILD_SPACES];	/* attribute numbers; 0: absent */
	int			nspaces;
	bool		has_blobs;
	LwBuildVector spaces[LW_BUILD_SPACES];
} LwRowReader;

/*
 * Finds the columns that the options ask for.  ERROR 42703 for one that is
 * missing, 42701 for one that is there twice, 42804 for another type, 22023
 * for one that means nothing.
 */
extern void lw_row_reader_init(LwRowReader *reader, TupleDesc desc, const LwBuildOptions *options);

/* Reads a row, which is the given one from 1: ERROR 22004 for NULL, 22003 for an offset that is none. */
extern void lw_read_build_row(LwRowReader *reader, HeapTuple tuple, uint64 number, LwBuildRow *row);

/* A row of the query of blobs: uri text, sha256 bytea, bytes bytea and, if it is there, byte_len. */
typedef struct LwBlobRow
{
	LwBytes		uri;
	const uint8 *sha256;		/* or NULL */
	bool		inlined;
	LwBytes		data;			/* when inlined */
	uint64		size;
} LwBlobRow;

typedef struct LwBlobReader
{
	TupleDesc	desc;
	int			columns[4];
} LwBlobReader;

extern void lw_blob_reader_init(LwBlobReader *reader, TupleDesc desc);
extern void lw_read_blob_row(LwBlobReader *reader, HeapTuple tuple, uint64 number, LwBlobRow *row);

#endif							/* LW_SQL_BUILD_ROW_H */
