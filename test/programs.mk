# The C programs of test/unit, test/fuzz and test/bench, which need no server: built on
# the layers that know none, once for each flavour, under test/build/FLAVOUR.
#
#	plain	as shipped			unit programs, bench programs
#	asan	ASan and UBSan		unit programs and corpus replays
#	fuzzer	clang's libFuzzer	`make fuzz`, FUZZ_TIME seconds for each target
#	aarch64	for that processor	unit programs over format/ and kernel/, statically linked

FUZZ_TIME ?= 60
FUZZ_CC ?= clang
AARCH64_CC ?= aarch64-linux-gnu-gcc

LW_BUILD = test/build
LW_LOW = $(filter src/format/% src/kernel/% src/store/% src/section/%,$(OBJS))
LW_UNIT = $(patsubst test/unit/%.c,%,$(wildcard test/unit/test_*.c))
LW_FUZZ = $(patsubst test/fuzz/%.c,%,$(wildcard test/fuzz/fuzz_*.c))
LW_BENCH = $(patsubst test/bench/%.c,%,$(wildcard test/bench/bench_*.c))

# Only store/ and section/ may use headers of PostgreSQL's common code; the others do not find them.
LW_CPPFLAGS = -D_GNU_SOURCE -Isrc -Itest/unit \
	$(if $(filter src/store/% src/section/%,$<),-DFRONTEND -isystem $(includedir_server))
LW_CFLAGS = -Wall -Wextra -Wmissing-prototypes -Wdeclaration-after-statement \
	-Werror -g -ffp-contract=off
LW_LIBS = -L$(pkglibdir) -lpgcommon -lpgport -lcrypto -lzstd -lm -lpthread

SANITIZE = -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all -fsanitize=address,undefined
plain_cc = $(CC) -O2 -fno-strict-aliasing -fwrapv
asan_cc = $(CC) $(SANITIZE)
fuzzer_cc = $(FUZZ_CC) $(SANITIZE) -fsanitize=fuzzer-no-link
aarch64_cc = $(AARCH64_CC) -O2 -fno-strict-aliasing -fwrapv

LW_PROGRAMS = $(LW_UNIT:%=$(LW_BUILD)/plain/%) $(LW_UNIT:%=$(LW_BUILD)/asan/%) \
	$(LW_FUZZ:%=$(LW_BUILD)/asan/%)
LW_BENCHES = $(LW_BENCH:%=$(LW_BUILD)/plain/%) $(LW_BUILD)/libbench.so
LW_FUZZERS = $(LW_FUZZ:%=$(LW_BUILD)/fuzzer/%)
LW_AARCH64 = $(patsubst test/unit/%.c,$(LW_BUILD)/aarch64/%, \
	$(shell grep -LE '"(store|section)/' test/unit/test_*.c 2>/dev/null))

# $(1) is the flavour; kept objects and their .d files follow the sources' paths.
define objects
$(LW_BUILD)/$(1)/%.o: %.c
	@$(MKDIR_P) $$(@D)
	$$($(1)_cc) $$(LW_CPPFLAGS) $$(LW_CFLAGS) -MMD -MP -c -o $$@ $$<
endef
define flavour
$(call objects,$(1))
$(LW_BUILD)/$(1)/test_%: $(LW_BUILD)/$(1)/test/unit/test_%.o $(LW_LOW:%=$(LW_BUILD)/$(1)/%)
	$$($(1)_cc) -o $$@ $$^ $$(LW_LIBS)
endef
$(foreach f,plain asan fuzzer,$(eval $(call flavour,$(f))))
$(eval $(call objects,aarch64))

$(LW_BUILD)/asan/fuzz_%: $(addprefix $(LW_BUILD)/asan/,test/fuzz/fuzz_%.o test/fuzz/replay.o $(LW_LOW))
	$(asan_cc) -o $@ $^ $(LW_LIBS)
$(LW_BUILD)/fuzzer/fuzz_%: $(addprefix $(LW_BUILD)/fuzzer/,test/fuzz/fuzz_%.o $(LW_LOW))
	$(fuzzer_cc) -fsanitize=fuzzer -o $@ $^ $(LW_LIBS)
$(LW_BUILD)/aarch64/test_%: $(addprefix $(LW_BUILD)/aarch64/,test/unit/test_%.o $(filter src/format/% src/kernel/%,$(LW_LOW)))
	$(aarch64_cc) -static -o $@ $^ -lm
# What the kernels are compared to deserves its loops vectorized.
$(LW_BUILD)/plain/test/bench/%.o: plain_cc += -O3
$(LW_BUILD)/plain/bench_%: $(addprefix $(LW_BUILD)/plain/,test/bench/bench_%.o test/bench/data.o $(LW_LOW))
	$(plain_cc) -o $@ $^ -lopenblas $(LW_LIBS)

# The kernels by themselves, for programs that are not C.
$(LW_BUILD)/libbench.so: $(LW_KERNEL:%=src/kernel/%.c)
	$(plain_cc) $(LW_CPPFLAGS) $(LW_CFLAGS) -fPIC -shared -o $@ $^ -lm

.SECONDARY:
.PHONY: programs aarch64-programs bench-programs fuzz
programs: $(LW_PROGRAMS)
aarch64-programs: $(LW_AARCH64)
bench-programs: $(LW_BENCHES)

fuzz: $(LW_FUZZERS)
	for program in $(LW_FUZZERS); do \
		corpus=$(LW_BUILD)/corpus/$${program##*/}; \
		$(MKDIR_P) $$corpus || exit; \
		$$program -max_total_time=$(FUZZ_TIME) -artifact_prefix=$(LW_BUILD)/ \
			$$corpus test/fuzz/corpus/$${program##*/fuzz_} || exit; \
	done

-include $(shell find $(LW_BUILD) -name '*.d' 2>/dev/null)
