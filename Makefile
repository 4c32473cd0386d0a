# lateweave: builds with PGXS. `make`, `make install` and `make installcheck` do
# what every PGXS extension's do; `make check` and others also install what
# is missing and bring their own server (test/README.md).

EXTENSION = lateweave
DATA = lateweave--0.2.sql
MODULE_big = lateweave

# A new source file is added to the list of its layer.
LW_FORMAT = error json utf8 npy ids manifest manifest_flat
LW_KERNEL = dispatch query maxsim maxsim_scalar maxsim_avx2 maxsim_avx512 maxsim_neon decode \
	screen screen_avx2 screen_avxvnni screen_avx512 screen_neon \
	vectors nearest bounds vectors_scalar vectors_avx2 vectors_avx512 lanedot lanedot_avx2 \
	encode encode_avx2 \
	centroids centroids_scalar centroids_avx2 centroids_avx512 centroids_neon assign
LW_STORE = map idmap derived derived_write derived_ids segment segment_ids merged view follow ahead \
	names files manifest_file manifest_text segment_write draft publish \
	compact create snapshot store_verify changes apply pending round merge \
	train candidates top handed
LW_SECTION = bytes hash intpack lists distinct dedup repack zstd fsst fsst_build text chooser quant canon \
	fault record manifest framed contract table file payload chunks chunk_ids recall texts slab space blob citation verify rank \
	hnsw hnsw_walk hnsw_search hnsw_build tokenizer bm25 bm25_terms bm25_search bm25_build graph graph_build \
	search spill layout manifest_text build_options build build_media build_finish indexes
LW_SERVER = error ids idset path options derived section area shared stat progress source pin prepared scoring parallel candidates section_scoring section_search \
	stage stage_bulk change judge pending publish wait registry recovery maintain upkeep launcher worker commit dropped fault
LW_SQL = change chunk cite diff document explain fdw fdw_analyze fdw_import fdw_lookup fdw_modify fdw_options fdw_rows fdw_scan fetch info \
	multivector multivector_cast multivector_ops pgvector representation rerank score scorer search section section_search \
	stat store support sync train verify \
	maintain prewarm estimate build build_row codec codec_text numbers

LW_AM = build cost depend entry handler node options promising ranking scan tree vacuum validate

OBJS = src/lateweave.o \
	$(LW_FORMAT:%=src/format/%.o) $(LW_KERNEL:%=src/kernel/%.o) \
	$(LW_STORE:%=src/store/%.o) $(LW_SECTION:%=src/section/%.o) \
	$(LW_SERVER:%=src/server/%.o) \
	$(LW_SQL:%=src/sql/%.o) \
	$(LW_AM:%=src/am/%.o)

REGRESS = multivector pgvector fdw score section codec change candidates am explain
REGRESS_OPTS = --encoding=UTF8
ISOLATION = read-committed concurrent-changes publish-order publish-failure stores-and-cursors truncate compact
ISOLATION_OPTS = --inputdir=$(srcdir)/test
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl
EXTRA_CLEAN = test/build/plain test/build/asan test/build/fuzzer test/build/aarch64

# Scores are the same bits everywhere, so no multiplication and addition may be
# fused where the source does not say so, and none of the JIT's inlining: no bitcode.
PG_CPPFLAGS = -I$(srcdir)/src
PG_CFLAGS = -ffp-contract=off $(if $(WERROR),-Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Werror)
override with_llvm = no
SHLIB_LINK += -lzstd

# The files the SQL tests read; the server's user must be able to read them.
LATEWEAVE_GOLDEN ?= $(abspath $(srcdir)/test/golden)
export LATEWEAVE_GOLDEN

PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))

# These run before PGXS is there: they install it and call make again.
SETUP_GOALS = check check-versions check-quality demo demo-stop bench bench-index
OTHER_GOALS = $(filter-out $(SETUP_GOALS),$(MAKECMDGOALS))

ifneq ($(filter $(SETUP_GOALS),$(MAKECMDGOALS)),)

.PHONY: $(MAKECMDGOALS)
export MAKE PG_CONFIG WERROR DATA SCIFACT TOOLS

check:
	test/check.sh
check-versions:
	test/versions.sh
check-quality:
	test/quality.sh
demo:
	test/demo.sh start
demo-stop:
	test/demo.sh stop
bench:
	test/bench.sh
bench-index:
	test/bench_index.sh
$(OTHER_GOALS):
	$(MAKE) $@

else ifeq ($(PGXS),)

$(error $(PG_CONFIG) finds no PGXS: install PostgreSQL's server development files \
(on Debian postgresql-server-dev-15), or name the pg_config to use: make PG_CONFIG=...)

else

include $(PGXS)
include $(srcdir)/test/programs.mk

# PGXS knows no header dependencies; and a VPATH build needs the directories.
$(OBJS): $(wildcard $(srcdir)/src/*.h $(srcdir)/src/*/*.h) | $(CURDIR)/src
$(CURDIR)/src:
	$(MKDIR_P) $(addprefix $(CURDIR)/,$(sort $(dir $(OBJS))))

endif
