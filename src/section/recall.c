/*-------------------------------------------------------------------------
 *
 * recall.c
 *	  What earlier processes have found out about a section file.
 *
 * The record is a derived file that is written anew for each thing that is
 * found out and took a while.  Who writes one adds what others recorded
 * meanwhile; when two write at once, one does not.
 *
 *-------------------------------------------------------------------------
 */
#include "section/recall.h"

#include <stdlib.h>
#include <string.h>

#include "section/parts.h"

#define MAX_ENTRIES 4096		/* files of more sections have no record */

typedef struct Record
{
	uint8_t		all;			/* everything */
	uint8_t		contract;
	uint8_t		vectors;
	uint8_t		fp;
	uint8_t		bands[LW_BANDS];
	char		file_hash[LW_TEXT_HASH_SIZE + 1];
	char		content_hash[LW_TEXT_HASH_SIZE + 1];
	uint8_t		checked[MAX_ENTRIES];	/* of which there are as many as entries */
} Record;

static size_t
record_size(const LwSectionFile *file)
{
	return offsetof(Record, checked) + file->nentries;
}

static void
make_key(LwDerivedKey *key, LwDerivedKind kind, const struct stat *status)
{
	lw_derived_key(key, kind, 0, "", 0);
	lw_derived_key_add(key, status);
}

/* Adds what is recorded to what the handle knows. */
static void
read_record(LwSectionFile *file)
{
	LwSectionParts *parts = file->parts;
	LwDerived  *derived = lw_derived_open(&parts->checks_key);
	Record		record;
	size_t		size = record_size(file);
	size_t		i;

	if (derived == NULL)
		return;
	if (derived->parts[0].size == size && lw_derived_touch(derived, derived->parts[0].data, size))
	{
		memcpy(&record, derived->parts[0].data, size);
		parts->all_checked |= record.all != 0;
		parts->contract_checked |= record.contract != 0;
		parts->vectors_finite |= record.vectors != 0;
		parts->fp_finite |= record.fp != 0;
		for (i = 0; i < LW_BANDS; i++)
			parts->band_finite[i] |= record.bands[i] != 0;
		for (i = 0; i < file->nentries; i++)
			parts->checked[i] |= record.checked[i] != 0;
		if (parts->file_hash[0] == '\0')
			memcpy(parts->file_hash, record.file_hash, LW_TEXT_HASH_SIZE);
		if (parts->content_hash[0] == '\0')
			memcpy(parts->content_hash, record.content_hash, LW_TEXT_HASH_SIZE);
	}
	lw_derived_close(derived);
}

void
lw_section_recall(LwSectionFile *file, const struct stat *status)
{
	LwSectionParts *parts = file->parts;

	make_key(&parts->ids_key, LW_DERIVED_CHUNKS, status);
	make_key(&parts->checks_key, LW_DERIVED_CHECKS, status);
	parts->recalls = lw_derived_settled(&parts->checks_key, false);
	if (parts->recalls && file->bytes.size >= LW_RECALL_BYTES && file->nentries <= MAX_ENTRIES)
		read_record(file);
}

void
lw_section_learned(LwSectionFile *file)
{
	LwSectionParts *parts = file->parts;
	const uint64_t values[LW_DERIVED_VALUES] = {0};
	LwDerivedPart stored[LW_DERIVED_PARTS] = {{NULL, 0}};
	LwDerivedBuild *build;
	Record		record;
	LwError		ignored;
	size_t		i;

	if (!parts->recalls || file->bytes.size < LW_RECALL_BYTES || file->nentries > MAX_ENTRIES ||
		lw_derived_begin(&parts->checks_key, file->path, false, &build, &ignored) != LW_OK || build == NULL)
		return;
	read_record(file);
	memset(&record, 0, sizeof(record));
	record.all = parts->all_checked;
	record.contract = parts->contract_checked;
	record.vectors = parts->vectors_finite;
	record.fp = parts->fp_finite;
	for (i = 0; i < LW_BANDS; i++)
		record.bands[i] = parts->band_finite[i];
	for (i = 0; i < file->nentries; i++)
		record.checked[i] = parts->checked[i];
	memcpy(record.file_hash, parts->file_hash, LW_TEXT_HASH_SIZE);
	memcpy(record.content_hash, parts->content_hash, LW_TEXT_HASH_SIZE);
	stored[0].data = (const char *) &record;
	stored[0].size = record_size(file);
	lw_derived_close(lw_derived_finish(build, values, stored));
}

bool
lw_section_all_checked(const LwSectionFile *file)
{
	return file->parts->all_checked;
}

void
lw_section_set_all_checked(LwSectionFile *file)
{
	file->parts->all_checked = true;
	lw_section_learned(file);
}

void
lw_section_forget(const struct stat *status)
{
	LwDerivedKey key;

	make_key(&key, LW_DERIVED_CHECKS, status);
	lw_derived_remove(&key);
}
