/*-------------------------------------------------------------------------
 *
 * change_model.h
 *	  Random changes of a store, and a simple model of what it holds then.
 *
 * What a process that may end at any moment has published, it tells in shared memory
 * the one that looks afterwards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_UNIT_CHANGE_MODEL_H
#define LW_UNIT_CHANGE_MODEL_H

#include <errno.h>
#include <sys/mman.h>

#include "kernel/encode.h"
#include "random.h"
#include "store.h"
#include "store/fault.h"
#include "store/store_verify.h"

#define IDS 24
#define TOKENS 3
#define DIMENSION 5
#define STATES 16

static const char *const fault_names[] = {LW_STORE_FAULT_NAMES};

#define FAULTS (sizeof(fault_names) / sizeof(fault_names[0]))

typedef struct Document
{
	bool		present;
	uint32_t	tokens;
	float		values[TOKENS * DIMENSION];
} Document;

typedef struct Model
{
	Document	documents[IDS];
} Model;

/* What a process that may end at any moment tells the one that looks afterwards. */
typedef struct Shared
{
	Model		states[STATES]; /* one after another, as they are published */
	int			last;			/* the last one whose publish was begun */
	int			done;			/* the last one whose publish came back */
	bool		seen[FAULTS];
	bool		unknown;		/* a name that is not in the table */
	int			countdown;		/* points until the fault */
	bool		fired;
} Shared;

static Shared *shared;
static LwDirectory store;
static LwDirectory staging;
static LwEncoding encoding;
static const char *current;		/* operation, for messages */
static bool after_rename;		/* the last failure was behind the visibility point */

/* ---- faults ---- */

static inline void
note_point(const char *name)
{
	size_t		i;

	for (i = 0; i < FAULTS && strcmp(name, fault_names[i]) != 0; i++)
		;
	if (i < FAULTS)
		shared->seen[i] = true;
	else
		shared->unknown = true;
}

static inline int
count_only(const char *name)
{
	note_point(name);
	return 0;
}

static inline int
fail(const char *name)
{
	note_point(name);
	if (--shared->countdown != 0)
		return 0;
	shared->fired = true;
	after_rename = strcmp(name, "manifest-renamed") == 0 || strcmp(name, "manifest-durable") == 0 ||
		strcmp(name, "reclaim-one") == 0;
	return ENOSPC;
}

/* ---- the model ---- */

static inline LwString
id_of(int number)
{
	static char names[IDS][24];
	LwString	string = {names[number], 0};

	/* one has what JSON escapes, one what SQL cannot name */
	string.size = (size_t) snprintf(names[number], sizeof(names[number]), "%d%s", number, number == 3 ? "\"\\\n\x1f" : "");
	if (number == 4)
		string.size++;			/* the NUL */
	return string;
}

static inline void
randomize(Document *document)
{
	uint32_t	i;

	document->present = true;
	document->tokens = 1 + random_below(TOKENS);
	for (i = 0; i < document->tokens * DIMENSION; i++)
		document->values[i] = gaussian();
}

static inline bool
same_document(const Document *document, const LwDocument *found)
{
	int8_t		codes[TOKENS * DIMENSION];
	float		scales[TOKENS];

	if (document->tokens != found->tokens)
		return false;
	if (encoding == LW_FLOAT32)
		return memcmp(document->values, found->rows, document->tokens * DIMENSION * sizeof(float)) == 0;
	lw_encode_int8(document->values, document->tokens, DIMENSION, codes, scales);
	return memcmp(codes, found->rows, document->tokens * DIMENSION) == 0 &&
		memcmp(scales, found->scales, document->tokens * sizeof(float)) == 0;
}

/* Whether a view shows what the model has. */
static inline bool
shows(LwView *view, const Model *model)
{
	uint64_t	present = 0;
	LwError		error;
	int			i;

	for (i = 0; i < IDS; i++)
	{
		LwString	id = id_of(i);
		LwPlace		place;
		LwDocument	document;
		bool		found = lw_view_find(view, id.data, id.size, &place);

		if (found != model->documents[i].present)
			return false;
		if (found && (lw_view_document(view, place, &document, &error) != LW_OK ||
					  !same_document(&model->documents[i], &document)))
			return false;
		present += found;
	}
	return lw_view_hidden(view, &error) == LW_OK && view->documents + view->unnameable == present;
}

/* ---- operations; each begins with the last published state ---- */

static inline const Model *
model_now(void)
{
	return &shared->states[shared->done];
}

static inline LwStatus
publish(LwDraft *draft, const Model *next, LwError *error)
{
	LwStatus	status;

	shared->states[++shared->last] = *next;
	status = lw_draft_write(draft, lw_clock(), error);
	if (status == LW_OK)
		status = lw_draft_publish(draft, error);
	if (draft->published)
		shared->done = shared->last;
	else
		shared->last = shared->done;
	if (status == LW_OK)
		status = lw_store_reclaim(store, &draft->manifest, NULL, error);
	return status;
}

/* Adds a segment of some random documents, and what `copy` appends before. */
static inline LwStatus
add_segment(LwDraft *draft, Model *model, const bool *chosen, size_t first, size_t count,
			const LwCopyControl *control, bool linked, LwError *error)
{
	LwDirectory where = linked ? staging : store;
	LwSegmentWriter writer;
	LwManifestSegment entry;
	uint64_t	id;
	LwStatus	status = lw_draft_take_id(draft, &id, error);
	int			i;

	if (status == LW_OK)
		status = lw_segment_write_begin(&writer, where, id, encoding, DIMENSION, error);
	if (status != LW_OK)
		return status;
	status = lw_draft_copy(draft, first, count, &writer, control, error);
	for (i = 0; status == LW_OK && i < IDS; i++)
		if (chosen[i])
		{
			randomize(&model->documents[i]);
			status = lw_segment_write(&writer, id_of(i), model->documents[i].values, model->documents[i].tokens, error);
		}
	if (status != LW_OK)
	{
		lw_segment_write_abort(&writer);
		return status;
	}
	status = lw_segment_write_end(&writer, &entry, error);
	if (status == LW_OK && linked)
	{
		status = lw_segment_link(staging, id, store, id, encoding, error);
		lw_segment_unlink(staging, id, encoding);
	}
	if (status == LW_OK && count > 0)
	{
		status = lw_draft_drop(draft, first, count, error);
		if (status != LW_OK)
			lw_segment_unlink(store, id, encoding);
	}
	return status == LW_OK ? lw_draft_add(draft, &entry, NULL, error) : status;
}

static inline void
choose(bool *chosen, uint32_t least)
{
	uint32_t	n = least + random_below(5);
	int			i;

	memset(chosen, 0, IDS);
	for (i = 0; i < (int) n; i++)
		chosen[random_below(IDS)] = true;
}

/* Appends and deletes in one commit, in any order. */
static inline LwStatus
change(LwError *error)
{
	Model		model = *model_now();
	LwView	   *view = open_view(store);
	LwDraft		draft;
	int			steps = (int) random_below(4);
	LwStatus	status = lw_draft_begin(&draft, view, store, error);
	int			step;

	for (step = 0; status == LW_OK && step < steps; step++)
	{
		if (random_below(2))
		{
			bool		chosen[IDS];

			choose(chosen, 1);
			status = add_segment(&draft, &model, chosen, 0, 0, NULL, random_below(2), error);
		}
		else
		{
			int			number = (int) random_below(IDS);
			LwString	id = id_of(number);
			bool		present;

			status = lw_draft_delete(&draft, id.data, id.size, &present, error);
			if (status == LW_OK && present != model.documents[number].present)
				status = lw_fail(error, LW_INVALID, "Test", -1, "the model's presence", "%d", present);
			model.documents[number].present = false;
		}
	}
	if (status == LW_OK)
		status = publish(&draft, &model, error);
	lw_draft_free(&draft);
	lw_view_release(view);
	return status;
}

/* Removes everything. */
static inline LwStatus
clear(LwError *error)
{
	Model		model = *model_now();
	LwView	   *view = open_view(store);
	LwDraft		draft;
	LwStatus	status = lw_draft_begin(&draft, view, store, error);
	int			i;

	for (i = 0; i < IDS; i++)
		model.documents[i].present = false;
	if (status == LW_OK)
		status = lw_draft_drop(&draft, 0, draft.nsegments, error);
	if (status == LW_OK)
		status = publish(&draft, &model, error);
	lw_draft_free(&draft);
	lw_view_release(view);
	return status;
}

static inline bool
is_chosen(void *arg, LwString id)
{
	const bool *chosen = arg;
	int			i;

	for (i = 0; i < IDS; i++)
		if (chosen[i] && lw_string_equal(id, id_of(i)))
			return true;
	return false;
}

/* Merges the newest segments with documents that are appended. */
static inline LwStatus
merge(LwError *error)
{
	Model		model = *model_now();
	LwView	   *view = open_view(store);
	LwDraft		draft;
	bool		chosen[IDS];
	LwCopyControl control = {NULL, is_chosen, chosen};
	LwStatus	status = lw_draft_begin(&draft, view, store, error);

	choose(chosen, 1);
	if (status == LW_OK)
	{
		size_t		first = random_below((uint32_t) draft.nsegments + 1);

		status = add_segment(&draft, &model, chosen, first, draft.nsegments - first, &control, random_below(2), error);
	}
	if (status == LW_OK)
		status = publish(&draft, &model, error);
	lw_draft_free(&draft);
	lw_view_release(view);
	return status;
}

/* Whether exactly those rows of the first segment are deleted that are no longer their documents. */
static inline bool
only_stale_rows_deleted(LwDraft *draft, LwError *error)
{
	LwPlace		place = {0, 0};

	if (lw_draft_open(draft, 0, error) != LW_OK)
		return false;
	for (; place.row < draft->segments[0].entry.documents; place.row++)
	{
		size_t		size;
		const char *id = lw_ids_get(&draft->segments[0].segment->ids, place.row, &size);
		LwPlace		newest;
		bool		found;

		if (lw_draft_find(draft, id, size, &newest, &found, error) != LW_OK ||
			(newest.segment > 0 && !lw_draft_deleted(draft, place)))
			return false;
	}
	return true;
}

/* Puts a finished compaction into the store as it is now. */
static inline LwStatus
apply(const LwView *copied, const LwManifestSegment *entry, LwError *error)
{
	Model		model = *model_now();
	LwView	   *view = open_view(store);
	LwDraft		draft;
	LwStatus	status = lw_draft_begin(&draft, view, store, error);

	if (status == LW_OK)
		status = lw_compact_apply(&draft, copied, staging, entry, error);
	if (status == LW_OK)
		status = publish(&draft, &model, error);
	CHECK(status != LW_OK || entry->documents == 0 ||
		  (draft.segments[0].entry.id == entry->id && only_stale_rows_deleted(&draft, error)), "the compacted segment");
	lw_draft_free(&draft);
	lw_view_release(view);
	return status;
}

/* Compacts, with some changes between the beginning and the end. */
static inline LwStatus
compact(LwError *error)
{
	LwView	   *view = open_view(store);
	LwManifestSegment entry;
	uint64_t	id;
	int			changes = (int) random_below(4);
	LwStatus	status;

	shared->states[shared->last + 1] = *model_now();
	shared->last++;
	status = lw_compact_begin(view, store, lw_clock(), &id, error);
	if (status == LW_OK || error->name != NULL)
		shared->done = shared->last;
	else
		shared->last = shared->done;
	lw_view_release(view);
	if (status != LW_OK)
		return status;

	view = open_view(store);
	status = lw_compact_copy(view, store, staging, id, NULL, &entry, error);
	while (status == LW_OK && changes-- > 0)
		status = change(error);
	if (status == LW_OK)
		status = apply(view, &entry, error);
	lw_segment_unlink(staging, id, encoding);
	lw_view_release(view);
	return status;
}

typedef struct Operation
{
	const char *name;
	LwStatus	(*run) (LwError *error);
} Operation;

static const Operation operations[] = {
	{"change", change}, {"merge", merge}, {"compact", compact}, {"change more", change}, {"clear", clear},
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

/* ---- what is left ---- */

static inline void
ignore_passed(void *arg, const char *path, const char *check, const char *detail)
{
	(void) arg;
	CHECK(path != NULL && check != NULL && detail != NULL, "a report");
}

/* Whether there is a file in the store that its manifest does not name. */
static inline bool
has_litter(const LwManifest *manifest)
{
	DIR		   *entries = opendir(store.path);
	struct dirent *entry;
	bool		litter = false;

	while ((entry = readdir(entries)) != NULL)
	{
		LwName		name = lw_name_parse(entry->d_name);

		litter |= entry->d_name[0] != '.' && !lw_manifest_names(manifest, &name);
	}
	closedir(entries);
	return litter;
}

/* The store is at a state whose publish was at least begun, not before one that came back. */
static inline void
check_store(bool after_crash)
{
	static const LwStoreReport report = {ignore_passed, NULL};
	LwView	   *view = open_view(store);
	LwError		error = {0};
	int			state;

	if (view == NULL)
		return;
	for (state = shared->last; state > shared->done && !shows(view, &shared->states[state]); state--)
		;
	CHECK(shows(view, &shared->states[state]), "%s, commit %" PRIu64 ": other documents", current, view->manifest.commit);
	shared->states[0] = shared->states[state];
	shared->last = shared->done = 0;
	CHECK(lw_store_verify(store, &report, NULL, NULL, &error) == LW_OK, "%s: %s: %s", current, error.path, error.found);
	if (after_crash)
	{
		CHECK(lw_store_reclaim(store, &view->manifest, NULL, &error) == LW_OK, "%s", error.found);
		run_command("rm -f '%s'/*%s", staging.path, "");
	}
	CHECK(!has_litter(&view->manifest), "%s: files that no manifest names", current);
	lw_view_release(view);
}

static inline void
change_at_random(int rounds)
{
	uint64_t	state = 88172645463325252ULL + encoding;

	lw_fault_hook = count_only;
	while (rounds-- > 0)
	{
		const Operation *operation;
		LwError		error = {0};
		LwStatus	status;

		random_state = state;
		operation = &operations[random_below(20) == 0 ? OPERATIONS - 1 : random_below(OPERATIONS - 1)];
		current = operation->name;
		status = operation->run(&error);
		CHECK(status == LW_OK, "%s: %s: %s, %s", current, error.path, error.expected, error.found);
		state = random_state;
		check_store(false);
	}
	lw_fault_hook = NULL;
}

static inline void
make_store(void)
{
	LwManifest	manifest = identity(encoding, DIMENSION, false);
	LwError		error;

	if (lw_store_create(in_scratch("store"), 0755, &manifest, &error) != LW_OK)
		exit(1);
	store = open_directory(strdup(in_scratch("store")));
	memset(shared, 0, offsetof(Shared, seen));
}

static inline void
drop_store(void)
{
	LwError		error;
	bool		left;

	CHECK(lw_store_drop(store.path, &left, &error) == LW_OK && !left, "%s", error.found);
	CHECK(access(store.path, F_OK) != 0, "the directory is left");
	close(store.fd);
	free((void *) store.path);
}

/* Before anything else. */
static inline void
begin_model(void)
{
	make_scratch();
	shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || mkdir(in_scratch("staging"), 0755) != 0 || chmod(in_scratch("staging"), 0755) != 0)
		exit(1);
	staging = open_directory(strdup(in_scratch("staging")));
	lw_sync_enabled = false;
}

#endif							/* LW_UNIT_CHANGE_MODEL_H */
