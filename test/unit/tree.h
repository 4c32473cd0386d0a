/*-------------------------------------------------------------------------
 *
 * tree.h
 *	  JSON files as trees, for unit programs that compare with what the
 *	  reference says.  Whatever is wrong with a file ends the program.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_UNIT_TREE_H
#define LW_UNIT_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"

typedef struct Tree
{
	LwJsonToken type;
	char	   *name;			/* of a member, else NULL */
	char	   *text;			/* of a string, decoded, or a number; ended with a NUL */
	size_t		size;
	struct Tree *first;			/* of a container */
	struct Tree *next;
	size_t		count;			/* of a container's values */
} Tree;

static inline void *
tree_memory(size_t size)
{
	void	   *memory = calloc(1, size);

	if (memory == NULL)
		abort();
	return memory;
}

/* The bytes of a file, ended with a NUL that does not count. */
static inline char *
read_file(const char *path, size_t *size)
{
	FILE	   *file = fopen(path, "rb");
	char	   *data;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0)
	{
		perror(path);
		exit(1);
	}
	*size = (size_t) ftell(file);
	data = tree_memory(*size + 1);
	rewind(file);
	if (fread(data, 1, *size, file) != *size)
	{
		perror(path);
		exit(1);
	}
	fclose(file);
	return data;
}

static inline char *
tree_string(LwJson *reader, size_t *size)
{
	char	   *text = tree_memory(reader->raw_size + 1);

	if (!lw_json_decode(reader, text, size))
		abort();
	text[*size] = '\0';
	return text;
}

static inline Tree *
tree_value(LwJson *reader, LwJsonToken token)
{
	Tree	   *tree = tree_memory(sizeof(Tree));
	Tree	  **last = &tree->first;

	tree->type = token;
	if (token == LW_JSON_ERROR)
	{
		fprintf(stderr, "JSON: %s at %zu\n", reader->problem, reader->at);
		exit(1);
	}
	if (token == LW_JSON_STRING)
		tree->text = tree_string(reader, &tree->size);
	if (token == LW_JSON_NUMBER)
	{
		tree->text = tree_memory(reader->raw_size + 1);
		memcpy(tree->text, reader->raw, reader->raw_size);
	}
	if (token != LW_JSON_OBJECT && token != LW_JSON_ARRAY)
		return tree;
	while ((token = lw_json_next(reader)) != LW_JSON_OBJECT_END && token != LW_JSON_ARRAY_END)
	{
		char	   *name = NULL;
		size_t		size;

		if (token == LW_JSON_NAME)
		{
			name = tree_string(reader, &size);
			token = lw_json_next(reader);
		}
		*last = tree_value(reader, token);
		(*last)->name = name;
		last = &(*last)->next;
		tree->count++;
	}
	return tree;
}

static inline Tree *
tree_read(const char *path)
{
	size_t		size;
	char	   *data = read_file(path, &size);
	LwJson		reader;
	Tree	   *tree;

	lw_json_init(&reader, data, size);
	tree = tree_value(&reader, lw_json_next(&reader));
	free(data);
	return tree;
}

static inline void
tree_free(Tree *tree)
{
	while (tree != NULL)
	{
		Tree	   *next = tree->next;

		tree_free(tree->first);
		free(tree->name);
		free(tree->text);
		free(tree);
		tree = next;
	}
}

/* A member, or NULL. */
static inline Tree *
tree_find(const Tree *tree, const char *name)
{
	Tree	   *member;

	for (member = tree->first; member != NULL; member = member->next)
		if (member->name != NULL && strcmp(member->name, name) == 0)
			return member;
	return NULL;
}

/* A member that must be there. */
static inline Tree *
tree_get(const Tree *tree, const char *name)
{
	Tree	   *member = tree_find(tree, name);

	if (member == NULL)
	{
		fprintf(stderr, "no member %s\n", name);
		exit(1);
	}
	return member;
}

static inline const char *
tree_text(const Tree *tree, const char *name)
{
	return tree_get(tree, name)->text;
}

static inline unsigned long long
tree_number(const Tree *tree, const char *name)
{
	return strtoull(tree_text(tree, name), NULL, 10);
}

static inline int
tree_true(const Tree *tree, const char *name)
{
	return tree_get(tree, name)->type == LW_JSON_TRUE;
}

#endif							/* LW_UNIT_TREE_H */
