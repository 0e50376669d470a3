# cairn. `make help` lists the targets. Needs the packages named in bootstrap.sh.
# One job for each processor, unless -j (here or in the make above) or JOBS says otherwise.
JOBS ?= $(eval JOBS := $$(shell nproc))$(JOBS)
JOBS_GIVEN := $(shell { tr '\0' '\n' </proc/$$PPID/cmdline; echo "$$MAKEFLAGS" | tr ' ' '\n'; } | grep -E '^(-[a-zA-Z]*j|--jobs)')
ifeq ($(JOBS_GIVEN)$(filter clean,$(MAKECMDGOALS)),)
MAKEFLAGS += -j$(JOBS)
endif
MAKEFLAGS += --no-builtin-rules

# $(call say,CC,FILE) begins a line of a recipe: that is printed in place of the command.
# V=1 prints the command itself, make -s nothing.
V ?=
SILENT = $(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(filter 1,$(V)),,@$(if $(SILENT),,printf '  %-7s %s\n' '$(1)' '$(2)'; ))
VERSION := $(shell cat VERSION)
SOVERSION := 0

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d

CC ?= cc
OBJCOPY ?= objcopy
BUILD ?= build
WERROR ?=
SANITIZE ?=
OPT ?= -O2 -g
# Tests are compiled more often than they run.
TEST_OPT := $(if $(filter -O2,$(OPT)),-O1)
# Of libcurl only the header is needed: search/http.c loads it where it is asked for.
PACKAGES := sqlite3 libcrypto libzstd yaml-0.1 jansson
# For the command alone, for server/http.c: the library has nothing of it.
SERVER_PACKAGE := libmicrohttpd

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
  -Wvla -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wformat=2 -Wno-format-nonliteral
HARDENING := -fstack-protector-strong -fvisibility=hidden -fPIC
ifeq ($(SANITIZE),)
HARDENING += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -Iinclude -include base/banned.h $(OPT) $(OPT_MORE) $(WARNINGS) \
  $(if $(WERROR),-Werror) $(if $(DEBUG),-DCAIRN_DEBUG) $(HARDENING) -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
  -DCAIRN_VERSION_TEXT='"$(VERSION)"' $(PACKAGE_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pthread -Wl,-z,relro,-z,now $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)
# Asked once, when they are first needed.
PACKAGE_CFLAGS = $(eval PACKAGE_CFLAGS := $$(shell pkg-config --cflags $(PACKAGES)))$(PACKAGE_CFLAGS)
LIBS = $(eval LIBS := $$(shell pkg-config --libs $(PACKAGES)) -ltpl)$(LIBS)
SERVER_LIBS = -ldl
CHECK_LIBS = $(eval CHECK_LIBS := $$(shell pkg-config --libs check))$(CHECK_LIBS)

# The rooms of the library from the lowest to the highest. Each is an archive; ALL_ROOMS
# has them in the order in which a linker needs them.
ROOMS := $(shell sed -n 's|^\([a-z/]*\):.*|\1|p' tests/lint/rooms)
ROOMS_DOWN := $(shell sed -n 's|^\([a-z/]*\):.*|\1|p' tests/lint/rooms | tac)
ALL_ROOMS := $(ROOMS_DOWN:%=$(BUILD)/rooms/%.a)
LIB_SOURCES := $(wildcard $(ROOMS:%=%/*.c))
CLI_SOURCES := $(wildcard cli/*.c cli/commands/*.c cli/sessions/*.c cli/shell/*.c cli/markdown/*.c cli/events/*.c cli/files/*.c cli/messages/*.c cli/agents/*.c cli/contexts/*.c cli/tasks/*.c cli/terminal/*.c)
SERVER_SOURCES := $(wildcard server/*.c)
CLI_SOURCES += $(SERVER_SOURCES)
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/process/helper_image.o
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(BUILD)/%.o)
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard $(patsubst %,tests/unit/%/check_*.c,$(ROOMS) cli)))

.PHONY: all
all: $(BUILD)/cairn $(BUILD)/libcairn.a $(BUILD)/libcairn.so.$(VERSION) $(BUILD)/cairn.pc ## the command and the libraries (the default)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

.PHONY: has-server-package
has-server-package:
	@pkg-config --exists $(SERVER_PACKAGE) || { echo 'cairn mcp over HTTP is built with $(SERVER_PACKAGE), which is not here: install $(SERVER_PACKAGE)-dev (sh bootstrap.sh does)' >&2; exit 1; }
$(BUILD)/server/http.o $(BUILD)/server/microhttpd.o: | has-server-package

# The helper is a tiny program of its own, carried inside the library as bytes.
HELPER_SOURCES := $(wildcard process/helper/*.c)
HELPER_SHARED := $(addprefix process/,become.c keeper_file.c pidfd.c proc_scan.c)
$(BUILD)/cairn-helper: $(HELPER_SOURCES) $(HELPER_SHARED) process/helper/roles.h process/slots.h $(HELPER_SHARED:.c=.h)
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) -std=c11 -D_GNU_SOURCE -I. -O2 $(WARNINGS) $(if $(WERROR),-Werror) -s -o $@ $(HELPER_SOURCES) $(HELPER_SHARED)
$(BUILD)/process/helper_image.o: process/helper_image.S $(BUILD)/cairn-helper
	@mkdir -p $(@D)
	$(call say,AS,$<)$(CC) -DHELPER_PATH='"$(BUILD)/cairn-helper"' -c -o $@ $<

# One archive for each room, and what its tests link with: BELOW_ROOM is the room and
# all that it may use, from the table, so that a wrong dependency is a link error.
define room_rules
NEEDS_$(1) := $$(sort $(1) $$(foreach r,$$(shell sed -n 's|^$(1):||p' tests/lint/rooms),$$(NEEDS_$$r)))
BELOW_$(1) := $$(foreach r,$(ROOMS_DOWN),$$(if $$(filter $$r,$$(NEEDS_$(1))),$(BUILD)/rooms/$$r.a))
TESTS_$(1) := $$(patsubst %.c,$(BUILD)/%,$$(wildcard tests/unit/$(1)/check_*.c))
$(BUILD)/rooms/$(1).a: $$(patsubst %.c,$(BUILD)/%.o,$$(wildcard $(1)/*.c)) $(if $(filter process,$(1)),$(BUILD)/process/helper_image.o)
$$(filter-out $$(HIGH_TESTS),$$(TESTS_$(1))): $$(BELOW_$(1))
endef
# Tests in which the rooms above, too, say what they make of a store.
HIGH_TESTS := $(filter $(addprefix %/check_,branches debug_list debug_verify session_model message_memory delete gc gc_bases gc_beside head payload_kind prune repair repair_bases store_faults tombstones verify),$(UNIT_TESTS))
$(HIGH_TESTS): $(ALL_ROOMS)
$(foreach room,$(ROOMS),$(eval $(call room_rules,$(room))))
# The command without its main stands on the library as programs see it.
$(BUILD)/rooms/cli.a: $(filter-out %/main.o,$(CLI_OBJECTS))
TESTS_cli := $(filter $(BUILD)/tests/unit/cli/%,$(UNIT_TESTS))
$(TESTS_cli): $(BUILD)/rooms/cli.a $(BUILD)/libcairn.a
$(TESTS_cli): ALL_LDFLAGS += $(SERVER_LIBS)
.PHONY: rooms
rooms: $(ALL_ROOMS)
$(ALL_ROOMS) $(BUILD)/rooms/cli.a:
	@mkdir -p $(@D) && rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^

# The library for programs has one object whose only global names are cairn_*.
$(BUILD)/libcairn.a: $(LIB_OBJECTS)
	@rm -f $@
	$(call say,AR,$@)$(LD) -r -o $(BUILD)/libcairn.o $^ && \
	  $(OBJCOPY) --localize-hidden $(BUILD)/libcairn.o && $(AR) rcs $@ $(BUILD)/libcairn.o
$(BUILD)/libcairn.so.$(VERSION): $(LIB_OBJECTS) include/cairn.map
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,libcairn.so.$(SOVERSION) -Wl,--version-script=include/cairn.map \
	  -Wl,-z,noexecstack $(ALL_LDFLAGS) -o $@ $(LIB_OBJECTS) $(LIBS)
	@ln -sf libcairn.so.$(VERSION) $(BUILD)/libcairn.so.$(SOVERSION)
	@ln -sf libcairn.so.$(SOVERSION) $(BUILD)/libcairn.so
$(BUILD)/cairn: $(CLI_OBJECTS) $(BUILD)/libcairn.a
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) $(SERVER_LIBS)
PC_FILE = sed -e 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@INCLUDEDIR@|$(INCLUDEDIR)|;s|@VERSION@|$(VERSION)|' include/cairn.pc.in
$(BUILD)/cairn.pc: include/cairn.pc.in VERSION
	@mkdir -p $(@D)
	@$(PC_FILE) >$@

# Unit tests: one program per tests/unit/ROOM/check_X.c, linked with its room and those
# below it. The scheduler's simulation in tests/sim/ is built like them.
SIM_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/sim/check_*.c))
# What they share is an archive, of which each takes what it uses, and for some rooms
# objects with the short names in which their tests are written.
SHARED_storage := store
SHARED_storage/sessions := store
SHARED_graph/expression := expression
SHARED_workflow := parse
SHARED_process := process
SHARED_plan := decide
SHARED_executor := engine outside
SHARED := $(foreach room,$(ROOMS),$(SHARED_$(room))) spawner keeper runs/events
SUPPORT_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c tests/support/*/*.c))
$(BUILD)/tests/support.a: $(filter-out $(SHARED:%=$(BUILD)/tests/support/%.o),$(SUPPORT_OBJECTS))
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^
.PHONY: support
support: $(BUILD)/tests/support.a $(SUPPORT_OBJECTS)
$(foreach room,$(ROOMS),$(eval $(TESTS_$(room)): $(SHARED_$(room):%=$(BUILD)/tests/support/%.o)))
$(filter %/check_spawn %/check_spawn_limit %/check_group_signal,$(UNIT_TESTS)): $(BUILD)/tests/support/spawner.o
$(filter %/check_keeper %/check_keeper_engine %/check_keeper_file,$(UNIT_TESTS)): $(BUILD)/tests/support/keeper.o
$(filter %/snapshot/check_bounds,$(UNIT_TESTS)): $(BUILD)/tests/support/store.o
$(filter %/check_events %/check_events_follow,$(UNIT_TESTS)): $(BUILD)/tests/support/runs/events.o
$(BUILD)/tests/%.o: OPT_MORE = $(TEST_OPT)
$(UNIT_TESTS) $(SIM_TESTS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/tests/support.a
	$(call say,LD,$@)$(CC) -o $@ $(filter %.o,$^) $(BUILD)/tests/support.a $(filter-out %/support.a,$(filter %.a,$^)) $(ALL_LDFLAGS) $(CHECK_LIBS) $(LIBS)

-include $(LIB_OBJECTS:.o=.d) $(CLI_OBJECTS:.o=.d) $(SUPPORT_OBJECTS:.o=.d)

# What this one makes fail, call by call, stands between the library and the rest.
WRAPPED := malloc calloc realloc strdup strndup ZSTD_createCCtx ZSTD_createDCtx EVP_MD_CTX_new \
  $(addprefix sqlite3_,prepare_v3 step exec bind_int64 bind_blob64 wal_checkpoint_v2) \
  open stat fstat mkdir fsync rename unlink write read
$(BUILD)/tests/unit/executor/check_failing_calls: ALL_LDFLAGS += $(addprefix -Wl$(comma)--wrap=,$(WRAPPED))
$(BUILD)/tests/unit/executor/check_large_output: ALL_LDFLAGS += -Wl,--wrap=store_put_object
$(BUILD)/tests/unit/executor/check_engine_late: ALL_LDFLAGS += -Wl,--wrap=owned_run_load
$(BUILD)/tests/unit/executor/check_own_want: ALL_LDFLAGS += -Wl,--wrap=os_read_plain
$(BUILD)/tests/unit/storage/check_store_faults: ALL_LDFLAGS += -Wl,--wrap=pread
$(BUILD)/tests/unit/checkpoint/check_gc_beside: ALL_LDFLAGS += -Wl,--wrap=store_commit -Wl,--wrap=store_begin
$(BUILD)/tests/unit/session/check_session_memory $(BUILD)/tests/unit/checkpoint/check_sections_memory $(BUILD)/tests/unit/snapshot/check_ignore_memory $(BUILD)/tests/unit/snapshot/text/check_text_memory $(BUILD)/tests/unit/session/transcripts/check_message_memory $(BUILD)/tests/unit/session/size/check_size_memory $(BUILD)/tests/unit/search/check_search_memory: ALL_LDFLAGS += $(addprefix -Wl$(comma)--wrap=,malloc calloc realloc)
$(BUILD)/tests/unit/checkpoint/check_gc_bases: ALL_LDFLAGS += -Wl,--wrap=store_commit
comma := ,

# ---- Tests --------------------------------------------------------------------
# C programs from tests/unit and tests/sim (check_X.c each), then TAP scripts from
# tests/cli, tests/crash and tests/flow. The last line counts both.
C_TESTS := $(UNIT_TESTS) $(SIM_TESTS)
TAP_TESTS := $(sort $(wildcard tests/cli/t-*.sh tests/crash/t-*.sh tests/flow/t-*.sh))
CRASH_SOURCES := $(filter-out tests/crash/task.c tests/crash/killer.c tests/crash/pauser.c,$(wildcard tests/crash/*.c))
CRASH_TESTS := $(if $(CRASH_SOURCES),$(addprefix $(BUILD)/tests/crash/,crash task killer.so pauser.so))
FLOW_SOURCES := $(wildcard tests/flow/*.c)
TEST_TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/tests/tools/%,$(wildcard tests/tools/*.c)) $(BUILD)/tests/tools/schema
EXAMPLES := $(BUILD)/examples/wf2cairn $(BUILD)/examples/embed
TEST_JOBS ?= $$((2 * $(JOBS))) # half of the time they wait, for a disk or a clock
# These take longest, so they begin first: else the last one runs alone.
LONG_TESTS := t-golden.sh check_failing_calls t-session-watch-files.sh t-files-restore.sh t-crash.sh t-mcp-http.sh t-flow.sh \
  t-session-watch-trouble.sh t-checkpoint-fork.sh t-other-owners.sh t-containers.sh t-workflow-keys.sh
longest_first = $(filter $(addprefix %/,$(LONG_TESTS)),$1) $(filter-out $(addprefix %/,$(LONG_TESTS)),$1)
RUN_TESTS = BUILD='$(BUILD)' CC='$(CC)' TEST_JOBS=$(TEST_JOBS) sh tests/run.sh

$(SIM_TESTS): $(ALL_ROOMS)
$(BUILD)/tests/sim/check_runs: $(BUILD)/tests/sim/scene.o
$(BUILD)/tests/tools/%: tests/tools/%.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -o $@ $< $(ALL_LDFLAGS) $$(pkg-config --libs jansson sqlite3 yaml-0.1 libzstd)
# This one makes what the command would refuse.
$(BUILD)/tests/tools/bombs: tests/tools/bombs.c $(ALL_ROOMS)
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -o $@ $< $(ALL_ROOMS) $(ALL_LDFLAGS) $(LIBS) -ldl
$(BUILD)/tests/tools/schema: $(wildcard tests/tools/schema/*.[ch])
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -o $@ $(filter %.c,$^) $(ALL_LDFLAGS) $$(pkg-config --libs jansson yaml-0.1)
$(BUILD)/tests/crash/crash: $(CRASH_SOURCES) $(wildcard tests/crash/*.h) $(BUILD)/process/keeper_file.o $(BUILD)/tests/support.a $(BUILD)/libcairn.a
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -o $@ $(CRASH_SOURCES) $(BUILD)/process/keeper_file.o $(BUILD)/tests/support.a $(BUILD)/libcairn.a $(ALL_LDFLAGS) $(LIBS)
# Black boxes: they run the command that stands beside them.
$(BUILD)/tests/flow/flow: $(FLOW_SOURCES) $(wildcard tests/flow/*.h) $(BUILD)/tests/support.a
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -o $@ $(FLOW_SOURCES) $(BUILD)/tests/support.a $(ALL_LDFLAGS) $$(pkg-config --libs jansson)
$(BUILD)/tests/crash/task: tests/crash/task.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -o $@ $< $(ALL_LDFLAGS)
# Loaded into cairn before a sanitizer's own library, so it is built without.
$(BUILD)/tests/crash/killer.so $(BUILD)/tests/crash/pauser.so: $(BUILD)/tests/crash/%.so: tests/crash/%.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) -std=c11 -D_GNU_SOURCE -O2 $(WARNINGS) $(if $(WERROR),-Werror) -fPIC -shared -o $@ $< -ldl
$(BUILD)/examples/wf2cairn: examples/montage/wf2cairn.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -o $@ $< $(ALL_LDFLAGS) $$(pkg-config --libs jansson)
$(BUILD)/examples/embed: examples/embed/embed.c $(BUILD)/libcairn.a
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -o $@ $< $(BUILD)/libcairn.a $(ALL_LDFLAGS) $(LIBS)

# Provers (docs/guarantees.md): tests/prove/NAME/*.c is one program each, and
# tests/prove/preload/NAME.c a library that is loaded into cairn.
# nth changes registers and names system calls of x86-64.
PROVE_DIRS := $(filter-out preload blackout $(if $(filter x86_64,$(shell uname -m)),,nth),$(patsubst tests/prove/%/,%,$(sort $(dir $(wildcard tests/prove/*/*.c)))))
PROVE_PROGRAMS := $(addprefix $(BUILD)/tests/prove/,$(PROVE_DIRS))
PROVE_PRELOADS := $(patsubst tests/prove/preload/%.c,$(BUILD)/tests/prove/%.so,$(wildcard tests/prove/preload/*.c))
.SECONDEXPANSION:
$(PROVE_PROGRAMS): $(BUILD)/tests/prove/%: $$(wildcard tests/prove/%/*.[ch]) $(ALL_ROOMS)
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -o $@ $(filter %.c %.o,$^) $(ALL_ROOMS) $(ALL_LDFLAGS) $(LIBS) -ldl
$(BUILD)/tests/prove/user $(BUILD)/tests/prove/outside $(BUILD)/tests/prove/files $(BUILD)/tests/prove/agents $(BUILD)/tests/prove/forgotten: $(BUILD)/tests/support/program.o $(BUILD)/tests/support/random.o
# This one asks the command's own questions in its own process.
$(BUILD)/tests/prove/damage: $(BUILD)/tests/prove/command.o
$(BUILD)/tests/prove/damage: ALL_LDFLAGS += $(SERVER_LIBS)
$(BUILD)/tests/prove/command.o: $(CLI_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(LD) -r -o $@ $^ && $(OBJCOPY) --redefine-sym main=cairn_main --keep-global-symbol=cairn_main $@
$(PROVE_PRELOADS): $(BUILD)/tests/prove/%.so: tests/prove/preload/%.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) -std=c11 -D_GNU_SOURCE -I. -O2 $(WARNINGS) $(if $(WERROR),-Werror) -fPIC -shared -o $@ $< -ldl
.PHONY: prove prove-short prove-programs
prove-programs: check-programs $(PROVE_PROGRAMS) $(PROVE_PRELOADS)
prove: prove-programs ## try to break every promise; writes the table into docs/guarantees.md
	@LEVEL=full BUILD='$(BUILD)' sh tests/prove/run.sh --write
prove-short: prove-programs ## a short form of each of these
	@LEVEL=short BUILD='$(BUILD)' sh tests/prove/run.sh

# Programs in $(BUILD) whose source is gone or has moved.
OLD_TESTS = $(filter-out $(C_TESTS) %.o $(C_TESTS:=.d),$(wildcard $(addprefix $(BUILD)/tests/,check_* */check_* */*/check_* */*/*/check_*)))
.PHONY: test test-all check-programs examples sanitize sanitize-short valgrind coverage bench demo
examples: all $(EXAMPLES) ## build the programs in examples/
check-programs: all $(C_TESTS) $(CRASH_TESTS) $(BUILD)/tests/flow/flow $(TEST_TOOLS) $(EXAMPLES)
	@rm -f $(OLD_TESTS)
test: check-programs ## unit tests and tests of the command; the last line counts them
	@CAIRN_TEST_LEVEL=short $(RUN_TESTS) $(call longest_first,$(C_TESTS) $(TAP_TESTS))
test-all: check-programs ## the same with every long test in full
	@CAIRN_TEST_LEVEL=full TEST_TIMEOUT=7200 $(RUN_TESTS) $(call longest_first,$(C_TESTS) $(TAP_TESTS))

# `make check T="sched run"`: check_sched, t-run.sh, or both where both have that name.
T ?=
NAMES := $(patsubst check_%,%,$(patsubst t-%,%,$(basename $(notdir $(T)))))
ALL_NAMES := $(patsubst check_%,%,$(notdir $(C_TESTS))) $(patsubst t-%.sh,%,$(notdir $(TAP_TESTS)))
CHOSEN := $(if $(T),$(foreach n,$(NAMES),$(filter %/check_$n,$(C_TESTS)) $(filter %/t-$n.sh,$(TAP_TESTS))),$(C_TESTS) $(TAP_TESTS))
.PHONY: check quick quick-rooms
check: $(if $(filter-out $(ALL_NAMES),$(NAMES)),no-such-test,$(filter $(BUILD)/%,$(CHOSEN)) $(if $(filter %.sh,$(CHOSEN)),all $(CRASH_TESTS) $(BUILD)/tests/flow/flow $(TEST_TOOLS) $(EXAMPLES))) ## the tests named by T="sched run", or all of them
	@CAIRN_TEST_LEVEL=short $(RUN_TESTS) $(CHOSEN)
.PHONY: no-such-test
no-such-test:
	@printf '%s\n' $(ALL_NAMES) | sh tests/nearest.sh $(filter-out $(ALL_NAMES),$(NAMES)) >&2; exit 2

# check-ROOM. `quick` runs the tests of the rooms whose archive or whose tests are newer
# than their last success, many at a time, for most of them wait more than they work. What
# makes every call fail in turn, or waits for space on a disk, is too slow for it.
define check_room
.PHONY: check-$(1)
check-$(1): $$(filter $(BUILD)/tests/unit/$(1)/%,$(UNIT_TESTS))
	@CAIRN_TEST_LEVEL=short $$(RUN_TESTS) $$^
endef
$(foreach room,$(ROOMS) cli,$(if $(filter $(BUILD)/tests/unit/$(room)/%,$(UNIT_TESTS)),$(eval $(call check_room,$(room)))))
SLOW_TESTS := $(filter %/check_failing_calls %/check_memory %/check_full_disk,$(UNIT_TESTS))
# An alcove is tested with its room.
TOUCHED_ROOMS = $(sort $(foreach r,$(ROOMS) cli,$(if $(shell find $(BUILD)/rooms/$r.a $(TESTS_$r:=.o) -newer $(BUILD)/rooms/$r.passed 2>&1 | head -n 1),$r $(firstword $(subst /, ,$r)))))
quick: $(ALL_ROOMS) $(BUILD)/rooms/cli.a $(UNIT_TESTS:=.o) ## the unit tests of the rooms that were touched since theirs last passed
	@$(MAKE) --no-print-directory ROOMS_TO_TEST='$(TOUCHED_ROOMS)' quick-rooms
QUICK_TESTS = $(filter-out $(SLOW_TESTS),$(foreach r,$(ROOMS_TO_TEST),$(TESTS_$r)))
quick-rooms: TEST_JOBS = $$((8 * $(JOBS)))
quick-rooms: $(QUICK_TESTS)
	@$(if $(QUICK_TESTS),CAIRN_TEST_LEVEL=short $(RUN_TESTS) $(QUICK_TESTS),echo 'no room was touched')
	@$(if $(ROOMS_TO_TEST),touch $(ROOMS_TO_TEST:%=$(BUILD)/rooms/%.passed))

# Limits of time only end what hangs: on a loaded machine everything takes several times
# as long under sanitizers.
sanitize: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan SANITIZE=address,undefined OPT='-O1 -g1' TEST_TIMEOUT=1800 CK_TIMEOUT_MULTIPLIER=3 test
# Without what takes long and is mostly about other programs, about speed, or about many
# processes in an order that chance decides.
SANITIZE_SKIPS := t-crash t-flow t-golden t-slow-reader t-large-files t-few-descriptors t-licences t-montage t-install t-embed t-completion t-bootstrap t-size-budget
sanitize-short: ## most of them, as in continuous integration
	@$(MAKE) --no-print-directory TAP_TESTS='$(filter-out $(addprefix %/,$(SANITIZE_SKIPS:=.sh)),$(TAP_TESTS))' sanitize
# What more than one thread does: the spawner's, and callbacks that end elsewhere.
TSAN_TESTS = $(filter $(addprefix %/check_,spawn spawn_limit engine_callbacks engine_edits engine_flow engine_gate engine_stop engine_store \
  engine_undo engine_values run_records recorder commit_order external full_disk resolve events events_follow store store_disks store_faults workflow_api sim),$(C_TESTS))
.PHONY: tsan tsan-tests
tsan: ## the tests that use threads, under ThreadSanitizer
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan CC=gcc SANITIZE=thread OPT='-O1 -g' tsan-tests
tsan-tests: $(TSAN_TESTS)
	@CAIRN_TEST_LEVEL=short CK_TIMEOUT_MULTIPLIER=5 $(RUN_TESTS) $^
# Not those that start processes: memcheck does not follow a clone that shares memory.
# Nor what is too much for it.
VALGRIND_SKIPS = $(addprefix check_,branches spawn% guard leftovers keeper% needed os engine% run_records full_disk store% payload_kind repair_kinds commit_order external resolve failing_calls ignore_git text_apply text_diff)
VALGRIND_TESTS = $(foreach t,$(UNIT_TESTS),$(if $(filter $(VALGRIND_SKIPS),$(notdir $t)),,$t))
valgrind: check-programs ## the unit tests that start no process, under valgrind memcheck
	@TEST_WRAPPER='valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite' \
	  CK_FORK=no CAIRN_TEST_LEVEL=short $(RUN_TESTS) $(VALGRIND_TESTS)
# Not t-embed: it links the library by the flags that are installed with it.
coverage: ## which lines and branches the tests reach (needs gcovr); too few lines in storage/ or checkpoint/ fail
	@command -v gcovr >/dev/null || { echo 'gcovr is missing: apt-get install gcovr' >&2; exit 75; }
	@find $(BUILD)/coverage -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/coverage CC=gcc OPT='-O0 -g' \
	  CFLAGS='--coverage -fprofile-update=atomic' LDFLAGS=--coverage \
	  TAP_TESTS='$(filter-out tests/cli/t-embed.sh,$(TAP_TESTS))' test
	@BUILD=$(BUILD)/coverage sh tests/tools/coverage.sh

BENCHES := $(patsubst bench/%.c,$(BUILD)/bench/%,$(wildcard bench/*.c))
$(BUILD)/bench/%: bench/%.c $(ALL_ROOMS)
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -MMD -MP -MF $@.d -o $@ $< $(ALL_ROOMS) $(ALL_LDFLAGS) $(LIBS)
$(BUILD)/bench/peers: $(wildcard bench/peers/*.[ch]) bench/bench.h $(ALL_ROOMS)
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -o $@ $(filter %.c,$^) $(ALL_ROOMS) $(ALL_LDFLAGS) $(LIBS)
$(BUILD)/bench/snapshot: $(wildcard bench/snapshot/*.[ch]) bench/bench.h $(ALL_ROOMS)
	@mkdir -p $(@D)
	$(call say,CCLD,$@)$(CC) $(ALL_CFLAGS) -o $@ $(filter %.c,$^) $(ALL_ROOMS) $(ALL_LDFLAGS) $(LIBS)
.PHONY: bench-peers bench-snapshot bench-search
bench-search: all $(BUILD)/bench/search ## searches of 10,000 and 100,000 texts
	@BUILD='$(BUILD)' $(BUILD)/bench/search
bench-snapshot: all $(BUILD)/bench/snapshot ## snapshots of files beside git, restic and borg
	@BUILD='$(BUILD)' $(BUILD)/bench/snapshot
bench-peers: all $(BUILD)/bench/peers ## cairn beside make, ninja, parallel, Snakemake
	@BUILD='$(BUILD)' $(BUILD)/bench/peers
bench: all $(BENCHES) ## measure; one line per figure
	@for b in $(BENCHES); do BUILD='$(BUILD)' $$b || exit; done
	@for b in $(wildcard bench/*.sh); do BUILD='$(BUILD)' sh $$b || exit; done

demo: all ## run the licences example, kill it, resume it
	@sh examples/licences/demo.sh $(BUILD)/cairn

# ---- Fuzzing ------------------------------------------------------------------
# One program per tests/fuzz/fuzz_X.c (libFuzzer, so clang), with the library compiled
# anew under sanitizers. FUZZ_TPL=path/to/tpl.c puts libtpl's source (1.6) into them, so
# that the sanitizers see it, too.
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 600
FUZZ_JOBS ?= 2
FUZZ_TPL ?=
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_PROGRAMS := $(FUZZ_NAMES:%=$(BUILD)/fuzz/fuzz_%)
FUZZ_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_CFLAGS = $(filter-out -fsanitize=% -D_FORTIFY_SOURCE=% -O2,$(ALL_CFLAGS)) -O1 $(FUZZ_FLAGS) \
  -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
FUZZ_LIBS = $(if $(FUZZ_TPL),$(BUILD)/fuzz/tpl.o $(filter-out -ltpl,$(LIBS)),$(LIBS))
FUZZ_OBJECTS := $(patsubst %.c,$(BUILD)/fuzz/%.o,$(LIB_SOURCES) $(SERVER_SOURCES))
FUZZ_WRAP_chain := -Wl,--wrap=store_check_pages
FUZZ_WRAP_workflow := -Wl,--wrap=glob_expand -Wl,--wrap=os_read_regular
$(BUILD)/fuzz/tpl.o: $(FUZZ_TPL)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(FUZZ_CC) -O1 -g -w $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -I$(dir $(FUZZ_TPL)) -c -o $@ $<
$(FUZZ_OBJECTS): $(BUILD)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
$(BUILD)/fuzz/internal.a: $(FUZZ_OBJECTS) $(BUILD)/process/helper_image.o
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^
$(FUZZ_PROGRAMS): $(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(wildcard tests/fuzz/*.h) \
  $(BUILD)/fuzz/internal.a $(if $(FUZZ_TPL),$(BUILD)/fuzz/tpl.o)
	$(call say,CCLD,$@)$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer -o $@ $< $(BUILD)/fuzz/internal.a \
	  $(filter-out -fsanitize=%,$(ALL_LDFLAGS)) $(FUZZ_WRAP_$*) $(FUZZ_LIBS)
-include $(FUZZ_OBJECTS:.o=.d)

RUN_FUZZ = BUILD='$(BUILD)' FUZZ_JOBS='$(FUZZ_JOBS)' sh tests/fuzz/run.sh
.PHONY: fuzz fuzz-short fuzz-corpus fuzz-programs fuzz-programs-if-possible
fuzz-programs: $(FUZZ_PROGRAMS)
prove prove-short: fuzz-programs-if-possible
fuzz-programs-if-possible: $(BUILD)/process/helper_image.o # else p-fuzz says what is missing
	@mkdir -p $(BUILD)/fuzz
	@echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
	  $(FUZZ_CC) -w -x c -fsanitize=fuzzer,address -o $(BUILD)/fuzz/probe - 2>/dev/null || exit 0; \
	  $(MAKE) --no-print-directory fuzz-programs
fuzz: fuzz-programs ## feed hostile bytes to every decoder, FUZZ_SECONDS (600) to each
	@FUZZ_SECONDS='$(FUZZ_SECONDS)' $(RUN_FUZZ)
fuzz-short: fuzz-programs ## the same for 10 seconds each
	@FUZZ_SECONDS=10 $(RUN_FUZZ)
fuzz-corpus: fuzz-programs ## only what is in tests/fuzz/corpus
	@FUZZ_SECONDS=0 $(RUN_FUZZ)

# ---- Reading over the code ----------------------------------------------------
SOURCE_DIRS := $(sort $(foreach room,$(ROOMS),$(firstword $(subst /, ,$(room))))) cli server include examples tests bench
# What npm has installed is not ours.
C_FILES := $(sort $(shell find $(SOURCE_DIRS) -name node_modules -prune -o -name '*.[ch]' -print 2>/dev/null))
SH_FILES := bootstrap.sh .ci/run $(sort $(shell find tests examples bench -name node_modules -prune -o -name '*.sh' -print 2>/dev/null))
.PHONY: lint clang-tidy cppcheck shellcheck lint-rules format format-check
# More checks, or with a minus fewer: '-clang-analyzer-*' takes out what takes nearly all
# of the time, following paths.
TIDY_CHECKS ?=
lint: clang-tidy cppcheck shellcheck lint-rules ## clang-tidy, cppcheck, shellcheck and the project's own rules
clang-tidy: $(patsubst %.c,$(BUILD)/tidy/%.ok,$(LIB_SOURCES) $(CLI_SOURCES))
# Where an object is new, its source or a header of it is.
$(BUILD)/tidy/%.ok: %.c .clang-tidy $(BUILD)/%.o
	@mkdir -p $(@D)
	$(call say,TIDY,$<)clang-tidy --quiet $(if $(TIDY_CHECKS),'--checks=$(TIDY_CHECKS)') $< -- $(ALL_CFLAGS) $(if $(filter base/error.c workflow/diagnostic.c,$<),-DLINT_ERROR_ITSELF) -include tests/lint/analyzer.h 2>$(@:.ok=.log) || { cat $(@:.ok=.log) >&2; exit 1; }
	@touch $@
cppcheck:
	$(call say,CHECK,cppcheck)cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -j $(TEST_JOBS) \
	  --enable=warning,performance,portability --suppress=missingIncludeSystem \
	  -D_GNU_SOURCE -I. -Iinclude $(LIB_SOURCES) $(CLI_SOURCES) $(HELPER_SOURCES)
# gcc follows every path through a file; its findings are errors. Two kinds are left to
# AddressSanitizer and valgrind, since gcc 12 loses what a structure holds on to
# (malloc-leak) and what was set through a pointer into an array (uninitialized).
ANALYZER = -O1 -fanalyzer -Werror -Wno-analyzer-malloc-leak -Wno-analyzer-use-of-uninitialized-value
.PHONY: analyze
ANALYZED = $(patsubst %.c,$(BUILD)/analyze/%.ok,$(LIB_SOURCES) $(CLI_SOURCES) $(HELPER_SOURCES))
analyze: $(ANALYZED) ## gcc -fanalyzer
-include $(ANALYZED:.ok=.d)
$(BUILD)/analyze/%.ok: %.c
	@mkdir -p $(@D)
	$(call say,ANALYZE,$<)gcc $(ALL_CFLAGS) $(ANALYZER) $(if $(filter base/error.c workflow/diagnostic.c,$<),-DLINT_ERROR_ITSELF) -include tests/lint/analyzer.h \
	  -MMD -MP -MF $(@:.ok=.d) -MT $@ -c -o $(@:.ok=.o) $<
	@touch $@
shellcheck:
	$(call say,CHECK,shellcheck)shellcheck $(SH_FILES)
lint-rules: all
	@for rule in tests/lint/*.sh; do BUILD='$(BUILD)' sh $$rule || exit; done
.PHONY: figures
figures: all ## the shape of the tree in numbers (needs universal-ctags)
	@BUILD='$(BUILD)' sh tests/tools/figures.sh
format: ## clang-format every C file
	$(call say,FORMAT,$(words $(C_FILES)) files)clang-format -i $(C_FILES)
format-check: ## complain about files that `make format` would change
	$(call say,FORMAT,$(words $(C_FILES)) files)clang-format --dry-run -Werror $(C_FILES)

# ---- Installing ---------------------------------------------------------------
DOCDIR ?= $(PREFIX)/share/doc/cairn
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
LIB_LINKS := libcairn.so.$(SOVERSION) libcairn.so
DOC_FILES := LICENSE README.md CHANGELOG.md $(wildcard docs/*)
DOC_FILES := $(filter-out docs/man,$(DOC_FILES))
PUBLIC_HEADERS := $(wildcard include/cairn/*.h)
INSTALLED = $(BINDIR)/cairn $(LIBDIR)/libcairn.a $(LIBDIR)/libcairn.so.$(VERSION) \
  $(addprefix $(LIBDIR)/,$(LIB_LINKS)) $(INCLUDEDIR)/cairn.h $(PKGCONFIGDIR)/cairn.pc \
  $(PUBLIC_HEADERS:include/%=$(INCLUDEDIR)/%) $(MANDIR)/man1/cairn.1 $(COMPLETIONDIR)/cairn $(ZSHDIR)/_cairn $(FISHDIR)/cairn.fish $(addprefix $(DOCDIR)/,$(notdir $(DOC_FILES)))

.PHONY: install uninstall dist deps clean help
install: all ## install under DESTDIR and PREFIX
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(LIBDIR) $(INCLUDEDIR)/cairn $(PKGCONFIGDIR) \
	  $(MANDIR)/man1 $(COMPLETIONDIR) $(ZSHDIR) $(FISHDIR) $(DOCDIR))
	install -m 755 $(BUILD)/cairn $(DESTDIR)$(BINDIR)/cairn
	install -m 644 $(BUILD)/libcairn.a $(DESTDIR)$(LIBDIR)/libcairn.a
	install -m 755 $(BUILD)/libcairn.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libcairn.so.$(VERSION)
	ln -sf libcairn.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libcairn.so.$(SOVERSION)
	ln -sf libcairn.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libcairn.so
	install -m 644 include/cairn.h $(DESTDIR)$(INCLUDEDIR)/cairn.h
	install -m 644 $(PUBLIC_HEADERS) $(DESTDIR)$(INCLUDEDIR)/cairn
	$(PC_FILE) >$(DESTDIR)$(PKGCONFIGDIR)/cairn.pc
	chmod 644 $(DESTDIR)$(PKGCONFIGDIR)/cairn.pc
	install -m 644 docs/man/cairn.1 $(DESTDIR)$(MANDIR)/man1/cairn.1
	install -m 644 cli/completion.bash $(DESTDIR)$(COMPLETIONDIR)/cairn
	sed 's|@COMPLETION@|$(COMPLETIONDIR)/cairn|' cli/completion.zsh >$(DESTDIR)$(ZSHDIR)/_cairn
	sed 's|@COMPLETION@|$(COMPLETIONDIR)/cairn|' cli/completion.fish >$(DESTDIR)$(FISHDIR)/cairn.fish
	chmod 644 $(DESTDIR)$(ZSHDIR)/_cairn $(DESTDIR)$(FISHDIR)/cairn.fish
	install -m 644 $(DOC_FILES) $(DESTDIR)$(DOCDIR)
	@if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" = 0 ]; then ldconfig || true; fi
uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	@rmdir $(DESTDIR)$(DOCDIR) $(DESTDIR)$(INCLUDEDIR)/cairn 2>/dev/null || true
dist: ## build/cairn-VERSION.tar.gz of the last commit
	@mkdir -p $(BUILD)
	git archive --format=tar.gz --prefix=cairn-$(VERSION)/ -o $(BUILD)/cairn-$(VERSION).tar.gz HEAD
	@echo $(BUILD)/cairn-$(VERSION).tar.gz
deps: ## install the Debian packages that building and testing need
	@sh bootstrap.sh --packages-only
clean: ## remove everything that was built
	rm -rf $(BUILD)
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' Makefile
	@printf '  %-14s %s\n' check-ROOM 'the unit tests of one room: $(ROOMS) cli'
	@echo
	@echo '  Variables: PREFIX DESTDIR BUILD CC CFLAGS LDFLAGS WERROR=1 DEBUG=1 SANITIZE=address,undefined'
	@echo '  JOBS (one for each processor), TEST_JOBS (two), V=1 (print the commands), T (see check)'

-include $(C_TESTS:=.d) $(BUILD)/tests/sim/scene.d $(BENCHES:=.d)
