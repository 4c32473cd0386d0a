/*-------------------------------------------------------------------------
 *
 * data.h
 *	  Documents and a query for the bench programs, random or somebody's own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_DATA_H
#define LW_DATA_H

#include <stdbool.h>

#include "kernel/maxsim.h"

/* Numbers of a random data set; all documents are equally long. */
typedef struct Shape
{
	int			documents;
	int			tokens;			/* of a document */
	int			dimension;
	int			query;			/* tokens of the query */
} Shape;

/* The same documents in both encodings. */
typedef struct Data
{
	size_t		documents;
	size_t		rows;			/* tokens of all documents */
	size_t		dimension;
	size_t		query_tokens;
	bool		normalized;		/* whether a decoded token is divided by its norm */
	float	   *query;
	float	   *vectors;
	int8_t	   *codes;
	float	   *scales;
	LwDocument *floats;			/* [documents], into vectors */
	LwDocument *bytes;			/* [documents], into codes and scales */
	char		label[100];		/* documents x tokens x dimension, query tokens; tokens is a mean */
} Data;

/* Ends the program. */
extern void die(const char *format,...) __attribute__((format(printf, 1, 2), noreturn));

/* Memory aligned to 64 bytes. */
extern void *allocate(size_t size);

/* Normalized Gaussian vectors, the same in every program. */
extern void data_random(Data *data, Shape shape);

/*
 * The first documents, at most `limit`, of the vector store BENCH_STORE (an
 * environment variable) with the query BENCH_QUERY, a float32 .npy of tokens x
 * dimension.  False when neither is set.
 */
extern bool data_given(Data *data, size_t limit);

/* What all programs start with: what is given, or 500 x 128 tokens, dimension 128, 32 query tokens. */
extern void data_first(Data *data);

extern void data_free(Data *data);

#endif							/* LW_DATA_H */
