/*-------------------------------------------------------------------------
 *
 * area.c
 *	  The memory that all sessions of the server share.
 *
 * Its parts are of fixed size.  That of the tables has room for all
 * entries by construction; that of the manifests may be full, which is
 * no error.  A backend that is killed while it holds a lock here takes the server
 * through crash recovery, which begins with new shared memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "server/area.h"

#define SEGMENT_NAME "lateweave"

/* Room for the tables: an entry with its overhead, and the buckets. */
#define ENTRY_ROOM 1024
#define TABLE_ROOM (512 * 1024)

/* Room for manifests: some hundred segments each, on average. */
#define MANIFEST_ROOM (32 * 1024)
#define MANIFESTS_ROOM (1024 * 1024)

int			lw_max_sources = 128;
LwArea	   *lw_area;
dshash_table *lw_area_tables[LW_AREA_TABLES];
dsa_area   *lw_area_manifests;

static LwArea *control;			/* found, but this session may have left it */
static dsa_area *tables_area;
static Size key_sizes[LW_AREA_TABLES];
static Size entry_sizes[LW_AREA_TABLES];

static shmem_request_hook_type previous_request;
static shmem_startup_hook_type previous_startup;

/* Sizes of the parts and of it all. */
static Size
lay_out(LwArea *layout)
{
	layout->room = lw_max_sources;
	layout->nslots = MaxBackends;
	layout->tables_at = MAXALIGN(sizeof(LwArea));
	layout->tables_size = MAXALIGN(LW_AREA_TABLES * (TABLE_ROOM + mul_size(lw_max_sources, ENTRY_ROOM)));
	layout->manifests_at = add_size(layout->tables_at, layout->tables_size);
	layout->manifests_size = MAXALIGN(MANIFESTS_ROOM + mul_size(lw_max_sources, MANIFEST_ROOM));
	layout->slots_at = add_size(layout->manifests_at, layout->manifests_size);
	return add_size(layout->slots_at, mul_size(MaxBackends, sizeof(LwProgressSlot)));
}

static Size
shared_size(void)
{
	LwArea		layout;

	return lay_out(&layout);
}

static LwProgressSlot *
slots_of(LwArea *area)
{
	return (LwProgressSlot *) ((char *) area + area->slots_at);
}

static void
init_control(void *place)
{
	LwArea	   *new = place;
	int			i;

	memset(new, 0, sizeof(*new));
	lay_out(new);
	new->tranche = LWLockNewTrancheId();
	LWLockInitialize(&new->lock, new->tranche);
	for (i = 0; i < LW_AREA_TABLES; i++)
		pg_atomic_init_u32(&new->entries[i], 0);
	for (i = 0; i < new->nslots; i++)
		lw_progress_init_slot(&slots_of(new)[i]);
	lw_board_init(&new->board);
}

static void
request(void)
{
	if (previous_request != NULL)
		previous_request();
	RequestAddinShmemSpace(shared_size());
}

static void
startup(void)
{
	bool		found;

	if (previous_startup != NULL)
		previous_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	control = ShmemInitStruct(SEGMENT_NAME, shared_size(), &found);
	if (!found)
		init_control(control);
	LWLockRelease(AddinShmemInitLock);
}

/*
 * The segment that nobody has asked for at server start: NULL where there is none.  That there is no
 * memory for it is no error of the statement that asks.  Its name tells its size, since
 * sessions that disagree about the size could not share one.
 */
static LwArea *
find_named_segment(void)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	LwArea	   *volatile segment = NULL;

	if (!LW_HAS_NAMED_SEGMENTS)
		return NULL;
	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		char		name[NAMEDATALEN];
		bool		found;

		snprintf(name, sizeof(name), SEGMENT_NAME " %d", lw_max_sources);
		segment = lw_named_segment(name, shared_size(), init_control, &found);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		ereport(LOG,
				(errcode(error->sqlerrcode),
				 errmsg("lateweave has no shared view in this session: %s", error->message)));
		FreeErrorData(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return segment;
}

/* Makes or finds the parts.  The first session that asks makes them. */
static void
attach_parts(LwArea *area)
{
	char	   *base = (char *) area;
	bool		make = !area->made;
	int			i;

	if (make)
	{
		tables_area = dsa_create_in_place(base + area->tables_at, area->tables_size, area->tranche, NULL);
		lw_area_manifests = dsa_create_in_place(base + area->manifests_at, area->manifests_size, area->tranche, NULL);
		/* never more than there is: an allocation fails, and makes no segment */
		dsa_set_size_limit(tables_area, area->tables_size);
		dsa_set_size_limit(lw_area_manifests, area->manifests_size);
		dsa_pin(tables_area);
		dsa_pin(lw_area_manifests);
	}
	else
	{
		tables_area = dsa_attach_in_place(base + area->tables_at, NULL);
		lw_area_manifests = dsa_attach_in_place(base + area->manifests_at, NULL);
	}
	for (i = 0; i < LW_AREA_TABLES; i++)
	{
		dshash_parameters parameters = {
			.key_size = key_sizes[i],
			.entry_size = entry_sizes[i],
			.compare_function = dshash_memcmp,
			.hash_function = dshash_memhash,
			LW_DSHASH_COPY_FUNCTION
			.tranche_id = area->tranche
		};

		if (make)
		{
			lw_area_tables[i] = dshash_create(tables_area, &parameters, NULL);
			area->tables[i] = dshash_get_hash_table_handle(lw_area_tables[i]);
		}
		else
			lw_area_tables[i] = dshash_attach(tables_area, &parameters, area->tables[i], NULL);
	}
	area->made = true;
}

/* Has the parts no longer count this session; a named segment is not mapped any more when on_shmem_exit calls. */
static void
leave(int code, Datum arg)
{
	char	   *base = (char *) control;

	lw_area = NULL;
	memset(lw_area_tables, 0, sizeof(lw_area_tables));
	dsa_release_in_place(base + control->tables_at);
	dsa_release_in_place(base + control->manifests_at);
}

/* Takes part, if there is something to take part in; once a session. */
static void
attach(void)
{
	static bool tried = false;
	MemoryContext old;

	if (tried)
		return;
	tried = true;
	if (control == NULL)
		control = find_named_segment();
	if (control == NULL)
		return;
	LWLockRegisterTranche(control->tranche, "lateweave");

	old = MemoryContextSwitchTo(TopMemoryContext);
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	attach_parts(control);
	dsa_pin_mapping(tables_area);
	dsa_pin_mapping(lw_area_manifests);
	before_shmem_exit(leave, (Datum) 0);
	lw_area = control;
	LWLockRelease(&control->lock);
	MemoryContextSwitchTo(old);
}

bool
lw_area_available(void)
{
	attach();
	return lw_area != NULL;
}

LwProgressSlot *
lw_area_slot(int number)
{
	if (lw_area == NULL || number < 0 || number >= lw_area->nslots)
		return NULL;
	return &slots_of(lw_area)[number];
}

void
lw_area_define(LwAreaTable which, Size key_size, Size entry_size)
{
	Assert(entry_size <= ENTRY_ROOM / 2);
	key_sizes[which] = key_size;
	entry_sizes[which] = entry_size;
}

void
lw_area_init(void)
{
	bool		preloading = process_shared_preload_libraries_in_progress;

	DefineCustomIntVariable("lateweave.max_sources",
							"Number of sources of which all sessions keep one view and statistics together.",
							"Each session keeps its own views of further ones, and counts nothing.",
							&lw_max_sources,
							128, 1, 65536,
							preloading ? PGC_POSTMASTER : PGC_SIGHUP,
							0,
							NULL, NULL, NULL);
	if (!preloading)
		return;
	previous_request = shmem_request_hook;
	shmem_request_hook = request;
	previous_startup = shmem_startup_hook;
	shmem_startup_hook = startup;
}
