/*-------------------------------------------------------------------------
 *
 * lateweave.c
 *	  Module entry: settings and callbacks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "am/index.h"
#include "kernel/maxsim.h"
#include "server/area.h"
#include "server/candidates.h"
#include "server/change.h"
#include "server/derived.h"
#include "server/fault.h"
#include "server/maintain.h"
#include "server/path.h"
#include "server/pin.h"
#include "server/progress.h"
#include "server/section.h"
#include "server/shared.h"
#include "server/source.h"
#include "server/stat.h"
#include "server/upkeep.h"
#include "server/worker.h"
#include "sql/explain.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static int	kernel_setting = LW_KERNEL_AUTO;

static const struct config_enum_entry kernel_options[] = {
	{"auto", LW_KERNEL_AUTO, false},
	{"scalar", LW_KERNEL_SCALAR, false},
	{"avx2", LW_KERNEL_AVX2, false},
	{"avx512", LW_KERNEL_AVX512, false},
	{"neon", LW_KERNEL_NEON, false},
	{NULL, 0, false}
};

static void
assign_kernel(int newval, void *extra)
{
	lw_kernel_cap((LwKernel) newval);
}

/* A relative path of a source means something else when the directory changes. */
static void
assign_directory(const char *newval, void *extra)
{
	lw_source_forget_definitions();
}

/* What the kernels call between their steps. */
static void
check_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

void
_PG_init(void)
{
	lw_maxsim_pause = check_for_interrupts;
	lw_derived_init();
	lw_source_init();
	lw_pin_init();
	lw_stat_init();
	lw_progress_init();
	lw_change_init();
	lw_explain_init();
	lw_index_options_init();
	lw_index_depend_init();

	DefineCustomStringVariable("lateweave.directory",
							   "Directory under which relative paths of sources lie.",
							   "A relative directory lies inside the data directory.",
							   &lw_directory,
							   "lateweave",
							   PGC_SIGHUP,
							   0,
							   NULL, assign_directory, NULL);
	DefineCustomEnumVariable("lateweave.kernel",
							 "Most capable instruction set that scoring may use.",
							 "All give the same scores, bit for bit; lateweave_kernels() lists them.",
							 &kernel_setting,
							 LW_KERNEL_AUTO,
							 kernel_options,
							 PGC_USERSET,
							 0,
							 NULL, assign_kernel, NULL);
	DefineCustomIntVariable("lateweave.candidates",
							"How many documents of a store are scored exactly; 0 scores all.",
							"Those that the centroids which lateweave_train made for the store show to be the most promising, besides all that have none.",
							&lw_candidates_setting,
							0, 0, INT_MAX,
							PGC_USERSET,
							0,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("lateweave.verify_on_open",
							 "Checks everything about a section file before its first use.",
							 "Otherwise each part is checked when it is first used.",
							 &lw_verify_on_open,
							 false,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("lateweave.cost_limit",
							"Pages of 8 kB that a compaction copies before it rests for lateweave.cost_delay.",
							"0 lets it never rest.",
							&lw_cost_limit,
							200, 0, 1000000,
							PGC_USERSET,
							0,
							NULL, NULL, NULL);
	DefineCustomRealVariable("lateweave.cost_delay",
							 "How long a compaction rests.",
							 "0 lets it never rest.",
							 &lw_cost_delay,
							 2, 0, 100,
							 PGC_USERSET,
							 GUC_UNIT_MS,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("lateweave.heartbeat",
							"Time after which the worker commits a store that nobody has changed.",
							"It moves the time up to which answers hold all writes. 0 turns it off. A foreign table's option of this name comes first.",
							&lw_heartbeat,
							60, 0, LW_MAX_HEARTBEAT,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("lateweave.compact_segments",
							"Segments past which the worker compacts a store.",
							"A foreign table's option of this name comes first.",
							&lw_compact_segments,
							32, 0, LW_MAX_COMPACT_SEGMENTS,
							PGC_SIGHUP,
							0,
							NULL, NULL, NULL);
	DefineCustomRealVariable("lateweave.compact_deleted_fraction",
							 "Fraction of deleted and replaced documents past which the worker compacts a store.",
							 "A foreign table's option of this name comes first.",
							 &lw_compact_deleted_fraction,
							 0.2, 0, 1,
							 PGC_SIGHUP,
							 0,
							 NULL, NULL, NULL);
	lw_fault_init();
	lw_area_init();
	lw_shared_init();
	lw_worker_init();
	MarkGUCPrefixReserved("lateweave");
}
