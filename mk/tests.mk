# Programs for tests, and running them. What one needs beyond the rule of its kind stands
# in its first lines and in its includes; mk/needs.sh reads it.
TESTED := $(wildcard $(foreach d,tests/*/ tests/*/*/ tests/*/*/*/,$d*.[ch] $dt-*.sh))
$(BUILD)/needs.mk: mk/needs.sh $(TESTED) $(sort $(dir $(TESTED)))
	@mkdir -p $(@D)
	@sh mk/needs.sh >$@.$$$$ && mv $@.$$$$ $@
ifeq ($(filter clean help deps,$(MAKECMDGOALS)),)
include $(BUILD)/needs.mk
endif

# ---- C programs -----------------------------------------------------------------
# tests/unit/ROOM/check_X.c tests what is in ROOM; tests/sim/ has the scheduler's
# simulation.
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard $(patsubst %,tests/unit/%/check_*.c,$(ROOMS) cli)))
SIM_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/sim/check_*.c))
C_TESTS := $(UNIT_TESTS) $(SIM_TESTS)
SUPPORT_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c tests/support/*/*.c) $(filter-out tests/sim/check_%,$(wildcard tests/sim/*.c)))
.PHONY: support
support: $(SUPPORT_OBJECTS)
# Programs share the rooms in one library, which is found where it was made: a change in a
# room links only that one again. With wrap= the rooms are inside the program: only there
# can a call be led elsewhere.
$(BUILD)/internal.so: $(LIB_OBJECTS)
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,internal.so -Wl,-Bsymbolic -Wl,-z,noexecstack $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
$(BUILD)/internal.a: $(LIB_OBJECTS)
# The command without its main stands on the library as programs see it.
$(BUILD)/cli.a: $(filter-out %/main.o,$(CLI_OBJECTS))
$(BUILD)/internal.a $(BUILD)/cli.a:
	@rm -f $@
	$(call say,AR,$@)$(AR) rcsT $@ $^
CLI_TESTS := $(filter $(BUILD)/tests/unit/cli/%,$(UNIT_TESTS))
$(CLI_TESTS): $(BUILD)/cli.a | $(BUILD)/libcairn.so.$(VERSION)
$(CLI_TESTS): ALL_LDFLAGS += $(SERVER_LIBS)
$(filter $(THOSE_wrap),$(C_TESTS)): $(BUILD)/internal.a
$(filter-out $(CLI_TESTS) $(THOSE_wrap),$(C_TESTS)): | $(BUILD)/internal.so
# The libraries of ours that a program needs, in the order in which a linker needs them.
OURS = $(filter %.a %.so %.so.$(VERSION),$^ $|)
$(BUILD)/tests/%.o: OPT_MORE = $(TEST_OPT)
# What a program puts in the place of a call of the system must be seen in the library.
$(C_TESTS): $(BUILD)/%: $(BUILD)/%.o
	$(call say,LD,$@)$(CC) -rdynamic -o $@ $(filter %.o,$^) $(OURS) -Wl,-rpath,$(abspath $(BUILD)) $(ALL_LDFLAGS) $(CHECK_LIBS) $(LIBS)

# The others are made from their sources in one step: X.c, or all of a folder.
.SECONDEXPANSION:
sources_in = $(wildcard $1/*.[ch])
DEPENDENCIES :=
# Only the libraries that one uses are loaded when it starts.
define from_sources
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) $(DEPENDENCIES) -o $@ $(filter %.c %.o,$^) $(OURS) $(ALL_LDFLAGS) -Wl,--as-needed $(LIBS) $(SERVER_LIBS)
endef
TEST_TOOLS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/tools/*.c)) $(BUILD)/tests/tools/schema
EXAMPLES := $(BUILD)/examples/wf2cairn $(BUILD)/examples/embed $(BUILD)/examples/callbacks
CRASH_TESTS := $(addprefix $(BUILD)/tests/crash/,crash task killer.so pauser.so)
$(BUILD)/tests/tools/schema: $(call sources_in,tests/tools/schema)
	$(from_sources)
$(BUILD)/tests/tools/sow $(BUILD)/tests/tools/threads: $(BUILD)/libcairn.a
$(filter-out %/schema,$(TEST_TOOLS)) $(BUILD)/tests/crash/task: $(BUILD)/%: %.c
	$(from_sources)
# Black boxes: they run the command that stands beside them.
$(BUILD)/tests/crash/crash: $(filter-out %/task.c %/killer.c %/pauser.c,$(call sources_in,tests/crash)) $(BUILD)/process/keeper_file.o $(BUILD)/libcairn.a
	$(from_sources)
$(BUILD)/tests/flow/flow: $(call sources_in,tests/flow)
	$(from_sources)
$(BUILD)/examples/wf2cairn: examples/montage/wf2cairn.c
	$(from_sources)
$(BUILD)/examples/embed: examples/embed/embed.c $(BUILD)/libcairn.a
	$(from_sources)
$(BUILD)/examples/callbacks: examples/callbacks/callbacks.c $(BUILD)/libcairn.a
	$(from_sources)
# Loaded into cairn before a sanitizer's own library, so these are built without.
define preload
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) -std=c11 -D_GNU_SOURCE -I. -O2 $(WARNINGS) $(if $(WERROR),-Werror) -fPIC -shared -o $@ $< -ldl
endef
$(BUILD)/tests/crash/%.so: tests/crash/%.c
	$(preload)

# Provers (docs/guarantees.md): tests/prove/NAME/*.c is one program each, and
# tests/prove/preload/NAME.c a library that is loaded into cairn.
PROVE_DIRS := $(filter-out preload blackout $(if $(filter x86_64,$(shell uname -m)),,$(notdir $(THOSE_only-x86_64))),$(patsubst tests/prove/%/,%,$(sort $(dir $(wildcard tests/prove/*/*.c)))))
PROVE_PROGRAMS := $(addprefix $(BUILD)/tests/prove/,$(PROVE_DIRS))
PROVE_PRELOADS := $(patsubst tests/prove/preload/%.c,$(BUILD)/tests/prove/%.so,$(wildcard tests/prove/preload/*.c))
$(PROVE_PROGRAMS): $(BUILD)/%: $$(call sources_in,%) $(BUILD)/internal.a
	$(from_sources)
# One that asks the command's own questions in its own process.
$(THOSE_with-command): $(BUILD)/tests/prove/command.o
$(BUILD)/tests/prove/command.o: $(CLI_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(LD) -r -o $@ $^ && $(OBJCOPY) --redefine-sym main=cairn_main --keep-global-symbol=cairn_main $@
$(PROVE_PRELOADS): $(BUILD)/tests/prove/%.so: tests/prove/preload/%.c
	$(preload)
.PHONY: prove prove-short prove-programs
prove-programs: check-programs $(PROVE_PROGRAMS) $(PROVE_PRELOADS)
prove: prove-programs ## try to break every promise; writes the table into docs/guarantees.md
	@LEVEL=full BUILD='$(BUILD)' sh tests/prove/run.sh --write
prove-short: prove-programs ## a short form of each of these
	@LEVEL=short BUILD='$(BUILD)' sh tests/prove/run.sh

# ---- Running them ---------------------------------------------------------------
# C programs, then TAP scripts from tests/cli, tests/crash and tests/flow. The last line
# counts both.
TAP_TESTS := $(sort $(wildcard tests/cli/t-*.sh tests/crash/t-*.sh tests/flow/t-*.sh))
TEST_JOBS ?= $$((2 * $(JOBS))) # half of the time they wait, for a disk or a clock
longest_first = $(filter $(THOSE_long),$1) $(filter-out $(THOSE_long),$1)
RUN_TESTS = BUILD='$(BUILD)' CC='$(CC)' TEST_JOBS=$(TEST_JOBS) sh tests/run.sh
# Programs in $(BUILD) whose source is gone or has moved.
OLD_TESTS = $(filter-out $(C_TESTS) %.o $(C_TESTS:=.d),$(wildcard $(addprefix $(BUILD)/tests/,check_* */check_* */*/check_* */*/*/check_*)))
.PHONY: test test-all check-programs examples sanitize sanitize-short valgrind coverage bench demo
examples: all $(EXAMPLES) ## build the programs in examples/
check-programs: all $(C_TESTS) $(CRASH_TESTS) $(BUILD)/tests/flow/flow $(TEST_TOOLS) $(EXAMPLES)
	@rm -f $(OLD_TESTS)
TEST_LEVEL ?= short
test: check-programs ## unit tests and tests of the command; the last line counts them
	@CAIRN_TEST_LEVEL=$(TEST_LEVEL) $(RUN_TESTS) $(call longest_first,$(C_TESTS) $(TAP_TESTS))
test-all: check-programs ## the same with every long test in full
	@CAIRN_TEST_LEVEL=full TEST_TIMEOUT=7200 $(RUN_TESTS) $(call longest_first,$(C_TESTS) $(TAP_TESTS))

# `make check T="sched run"`: check_sched, t-run.sh, or both where both have that name.
T ?=
NAMES := $(sort $(patsubst check_%,%,$(patsubst t-%,%,$(basename $(notdir $(T))))))
ALL_NAMES := $(patsubst check_%,%,$(notdir $(C_TESTS))) $(patsubst t-%.sh,%,$(notdir $(TAP_TESTS)))
CHOSEN := $(if $(T),$(foreach n,$(NAMES),$(filter %/check_$n,$(C_TESTS)) $(filter %/t-$n.sh,$(TAP_TESTS))),$(C_TESTS) $(TAP_TESTS))
.PHONY: check quick quick-rooms
check: $(if $(filter-out $(ALL_NAMES),$(NAMES)),no-such-test,$(filter $(BUILD)/%,$(CHOSEN)) $(if $(filter %.sh,$(CHOSEN)),all $(CRASH_TESTS) $(BUILD)/tests/flow/flow $(TEST_TOOLS) $(EXAMPLES))) ## the tests named by T="sched run", or all of them
	@CAIRN_TEST_LEVEL=short $(RUN_TESTS) $(CHOSEN)
.PHONY: no-such-test
no-such-test:
	@printf '%s\n' $(ALL_NAMES) | sh tests/nearest.sh $(filter-out $(ALL_NAMES),$(NAMES)) >&2; exit 2
# check-ROOM. `quick` runs the tests of the rooms of which an object or a test is newer
# than their last success. What makes every call fail in turn, or waits for space on a
# disk, is too slow for it.
define check_room
TESTS_$(1) := $$(patsubst %.c,$(BUILD)/%,$$(wildcard tests/unit/$(1)/check_*.c))
OBJECTS_$(1) := $$(patsubst %.c,$(BUILD)/%.o,$$(wildcard $(1)/*.c))
.PHONY: check-$(1)
check-$(1): $$(TESTS_$(1))
	@CAIRN_TEST_LEVEL=short $$(RUN_TESTS) $$^
endef
$(foreach room,$(ROOMS) cli,$(eval $(call check_room,$(room))))
OBJECTS_cli := $(CLI_OBJECTS)
# An alcove is tested with its room.
TOUCHED_ROOMS = $(sort $(foreach r,$(ROOMS) cli,$(if $(shell find $(OBJECTS_$r) $(TESTS_$r:=.o) -newer $(BUILD)/$r/passed 2>&1 | head -n 1),$r $(firstword $(subst /, ,$r)))))
quick: $(LIB_OBJECTS) $(CLI_OBJECTS) $(UNIT_TESTS:=.o) ## the unit tests of the rooms that were touched since theirs last passed
	@$(MAKE) --no-print-directory ROOMS_TO_TEST='$(TOUCHED_ROOMS)' quick-rooms
QUICK_TESTS = $(filter-out $(THOSE_not-quick),$(foreach r,$(ROOMS_TO_TEST),$(TESTS_$r)))
quick-rooms: TEST_JOBS = $$((4 * $(JOBS))) # most of them wait
quick-rooms: $(QUICK_TESTS)
	@$(if $(QUICK_TESTS),CAIRN_TEST_LEVEL=quick $(RUN_TESTS) $(QUICK_TESTS),echo 'no room was touched')
	@$(if $(ROOMS_TO_TEST),touch $(ROOMS_TO_TEST:%=$(BUILD)/%/passed))

# Everything takes several times as long under sanitizers and valgrind.
SANITIZED = BUILD=$(BUILD)/asan SANITIZE=address,undefined OPT='-O1 -g1' WERROR=
sanitize: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory $(SANITIZED) TEST_TIMEOUT=1800 CK_TIMEOUT_MULTIPLIER=30 test
sanitize-short: ## the C programs and some scripts, as in continuous integration
	@$(MAKE) --no-print-directory TEST_LEVEL=brief TAP_TESTS='$(THOSE_sanitize)' sanitize
.PHONY: sanitize-programs
sanitize-programs: | fuzz-replay # which is made of the same objects
	@nice $(MAKE) --no-print-directory $(SANITIZED) check-programs
.PHONY: tsan tsan-tests
tsan: ## the tests that use threads, under ThreadSanitizer
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan CC=gcc SANITIZE=thread OPT='-O1 -g' tsan-tests
tsan-tests: $(THOSE_tsan)
	@CAIRN_TEST_LEVEL=short TEST_TIMEOUT=1800 CK_TIMEOUT_MULTIPLIER=30 $(RUN_TESTS) $^
valgrind: check-programs ## the unit tests that start no process, under valgrind memcheck
	@TEST_WRAPPER='valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite' \
	  CK_FORK=no CAIRN_TEST_LEVEL=short TEST_TIMEOUT=1800 $(RUN_TESTS) $(filter-out $(THOSE_not-valgrind),$(UNIT_TESTS))
# Not t-embed: it links the library by the flags that are installed with it.
coverage: ## which lines and branches the tests reach (needs gcovr); too few lines in storage/ or checkpoint/ fail
	@command -v gcovr >/dev/null || { echo 'gcovr is missing: apt-get install gcovr' >&2; exit 75; }
	@find $(BUILD)/coverage -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/coverage CC=gcc OPT='-O0 -g' \
	  CFLAGS='--coverage -fprofile-update=atomic' LDFLAGS=--coverage \
	  TAP_TESTS='$(filter-out tests/cli/t-embed.sh,$(TAP_TESTS))' test
	@BUILD=$(BUILD)/coverage sh tests/tools/coverage.sh
