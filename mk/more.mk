# Installing, measuring, fuzzing and reading over the code.

# ---- Installing ---------------------------------------------------------------
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
DOCDIR ?= $(PREFIX)/share/doc/cairn
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
LIB_LINKS := libcairn.so.$(SOVERSION) libcairn.so
DOC_FILES := LICENSE README.md CHANGELOG.md $(wildcard docs/*)
DOC_FILES := $(filter-out docs/man,$(DOC_FILES))
PUBLIC_HEADERS := $(wildcard include/cairn/*.h)
INSTALLED = $(BINDIR)/cairn $(LIBDIR)/libcairn.a $(LIBDIR)/libcairn.so.$(VERSION) \
  $(addprefix $(LIBDIR)/,$(LIB_LINKS)) $(INCLUDEDIR)/cairn.h $(PKGCONFIGDIR)/cairn.pc \
  $(PUBLIC_HEADERS:include/%=$(INCLUDEDIR)/%) $(COMPLETIONDIR)/cairn $(ZSHDIR)/_cairn $(FISHDIR)/cairn.fish $(addprefix $(DOCDIR)/,$(notdir $(DOC_FILES)))

.PHONY: install uninstall
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
	sh docs/man/pages.sh $(BUILD)/cairn $(DESTDIR)$(MANDIR)/man1
	install -m 644 cli/completion.bash $(DESTDIR)$(COMPLETIONDIR)/cairn
	sed 's|@COMPLETION@|$(COMPLETIONDIR)/cairn|' cli/completion.zsh >$(DESTDIR)$(ZSHDIR)/_cairn
	sed 's|@COMPLETION@|$(COMPLETIONDIR)/cairn|' cli/completion.fish >$(DESTDIR)$(FISHDIR)/cairn.fish
	chmod 644 $(DESTDIR)$(ZSHDIR)/_cairn $(DESTDIR)$(FISHDIR)/cairn.fish
	install -m 644 $(DOC_FILES) $(DESTDIR)$(DOCDIR)
	@if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" = 0 ]; then ldconfig || true; fi
uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	grep -sl '^.TH CAIRN.* "cairn $(VERSION)"' $(DESTDIR)$(MANDIR)/man1/cairn*.1 | xargs -r rm -f
	@rmdir $(DESTDIR)$(DOCDIR) $(DESTDIR)$(INCLUDEDIR)/cairn 2>/dev/null || true

# ---- Benchmarks -----------------------------------------------------------------
BENCHES := $(patsubst bench/%.c,$(BUILD)/bench/%,$(wildcard bench/*.c))
$(BENCHES): DEPENDENCIES = -MMD -MP -MF $@.d
$(BENCHES): $(BUILD)/%: %.c $(BUILD)/internal.a
	$(from_sources)
$(BUILD)/bench/peers $(BUILD)/bench/snapshot: $(BUILD)/%: $$(call sources_in,%) bench/bench.h $(BUILD)/internal.a
	$(from_sources)
.PHONY: bench-peers bench-snapshot bench-search bench-web bench-agents
bench-agents: all ## cairn's checkpointer of LangGraph beside its SqliteSaver and MemorySaver, by node and npm
	@BUILD='$(BUILD)' sh bench/agents/run.sh
bench-web: all $(BUILD)/bench/sessions ## pages of a run of 10,000 tasks, by node and Chromium; PARTS="run log"
	@BUILD='$(BUILD)' node --experimental-websocket --no-warnings bench/web.mjs $(PARTS)
bench-search: all $(BUILD)/bench/search ## searches of 10,000 and 100,000 texts
	@BUILD='$(BUILD)' $(BUILD)/bench/search
bench-snapshot: all $(BUILD)/bench/snapshot ## snapshots of files beside git, restic and borg
	@BUILD='$(BUILD)' $(BUILD)/bench/snapshot
bench-peers: all $(BUILD)/bench/peers ## cairn beside make, ninja, parallel, Snakemake
	@BUILD='$(BUILD)' $(BUILD)/bench/peers
bench: all $(BENCHES) ## measure; one line per figure
	@for b in $(BENCHES); do BUILD='$(BUILD)' $$b || exit; done
	@for b in $(wildcard bench/*.sh); do BUILD='$(BUILD)' sh $$b || exit; done

.PHONY: pictures
pictures: all ## the pictures of docs/guide-page.md, by node and Chromium
	@BUILD='$(BUILD)' sh tests/tools/pictures.sh
demo: all ## run the licences example, kill it, resume it
	@sh examples/licences/demo.sh $(BUILD)/cairn

# ---- Fuzzing ------------------------------------------------------------------
# One program per tests/fuzz/fuzz_X.c (libFuzzer, so clang), with the library compiled
# anew under sanitizers. FUZZ_TPL=path/to/tpl.c puts libtpl's source (1.6) into them, so
# that the sanitizers see it, too. In a build that has sanitizers the programs only replay
# files (tests/fuzz/replay.c) and share its objects; nothing of clang is needed.
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 600
FUZZ_JOBS ?= 2
FUZZ_TPL ?=
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_PROGRAMS := $(FUZZ_NAMES:%=$(BUILD)/fuzz/fuzz_%)
FUZZ_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_CFLAGS = $(filter-out -fsanitize=% -D_FORTIFY_SOURCE=% -O2,$(ALL_CFLAGS)) -O1 -g1 $(FUZZ_FLAGS) \
  -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
FUZZ_CLI := $(addprefix cli/,describe.c format.c items.c json.c lineage.c picture.c ui.c) # which pages need
FUZZ_SOURCES := $(LIB_SOURCES) $(SERVER_SOURCES) $(WEB_SOURCES) $(FUZZ_CLI)
FUZZ_LIBS = $(if $(FUZZ_TPL),$(BUILD)/fuzz/tpl.o $(filter-out -ltpl,$(LIBS)),$(LIBS))
ifeq ($(SANITIZE),)
FUZZ_OBJECTS := $(FUZZ_SOURCES:%.c=$(BUILD)/fuzz/%.o)
$(BUILD)/fuzz/tpl.o: $(FUZZ_TPL)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(FUZZ_CC) -O1 -g -w $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -I$(dir $(FUZZ_TPL)) -c -o $@ $<
$(FUZZ_OBJECTS): $(BUILD)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
FUZZ_LINK = $(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer
else
# Compiled anew is only what has other limits there.
override FUZZ_TPL :=
FUZZ_LIMITED := $(shell grep -lEw 'LIMIT_TASKS|LIMIT_EDGES|FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION' $(FUZZ_SOURCES))
FUZZ_OBJECTS := $(FUZZ_LIMITED:%.c=$(BUILD)/fuzz/%.o) $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(FUZZ_LIMITED),$(FUZZ_SOURCES)))
FUZZ_REPLAY := $(BUILD)/fuzz/tests/fuzz/replay.o
$(FUZZ_LIMITED:%.c=$(BUILD)/fuzz/%.o) $(FUZZ_REPLAY): $(BUILD)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -MMD -MP -c -o $@ $<
FUZZ_LINK = $(CC) $(ALL_CFLAGS) -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
endif
$(BUILD)/fuzz/internal.a: $(FUZZ_OBJECTS) $(BUILD)/process/helper_image.o $(BUILD)/web/assets.o
	@rm -f $@
	$(call say,AR,$@)$(AR) rcsT $@ $^
$(FUZZ_PROGRAMS): $(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(wildcard tests/fuzz/*.h) \
  $(FUZZ_REPLAY) $(BUILD)/fuzz/internal.a $(if $(FUZZ_TPL),$(BUILD)/fuzz/tpl.o)
	$(call say,CCLD,$@)$(FUZZ_LINK) -o $@ $< $(FUZZ_REPLAY) $(BUILD)/fuzz/internal.a \
	  $(filter-out -fsanitize=%,$(ALL_LDFLAGS)) $(FUZZ_LIBS) -lm
-include $(FUZZ_OBJECTS:.o=.d)

RUN_FUZZ = BUILD='$(BUILD)' FUZZ_JOBS='$(FUZZ_JOBS)' sh tests/fuzz/run.sh
.PHONY: fuzz fuzz-short fuzz-corpus fuzz-replay fuzz-programs fuzz-programs-if-possible
fuzz-programs: $(FUZZ_PROGRAMS)
prove: fuzz-programs-if-possible
fuzz-programs-if-possible: $(BUILD)/process/helper_image.o # else p-fuzz says what is missing
	@mkdir -p $(BUILD)/fuzz
	@echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
	  $(FUZZ_CC) -w -x c -fsanitize=fuzzer,address -o $(BUILD)/fuzz/probe - 2>/dev/null || exit 0; \
	  $(MAKE) --no-print-directory fuzz-programs
fuzz: fuzz-programs ## feed hostile bytes to every decoder, FUZZ_SECONDS (600) to each
	@FUZZ_SECONDS='$(FUZZ_SECONDS)' $(RUN_FUZZ)
fuzz-short: fuzz-programs ## the same for 10 seconds each
	@FUZZ_SECONDS=10 $(RUN_FUZZ)
fuzz-corpus: fuzz-replay ## only what is in tests/fuzz/corpus, by programs of `make sanitize`
	@FUZZ_SECONDS=0 FUZZ_JOBS='$(FUZZ_JOBS)' BUILD='$(BUILD)/asan' sh tests/fuzz/run.sh
fuzz-replay:
	@$(MAKE) --no-print-directory $(SANITIZED) fuzz-programs
prove-short: fuzz-replay

# ---- Reading over the code ----------------------------------------------------
SOURCE_DIRS := $(sort $(foreach room,$(ROOMS),$(firstword $(subst /, ,$(room))))) cli server web bindings include examples tests bench
# What npm has installed is not ours.
C_FILES := $(sort $(shell find $(SOURCE_DIRS) -name node_modules -prune -o -name '*.[ch]' -print 2>/dev/null))
SH_FILES := bootstrap.sh .ci/run mk/needs.sh docs/man/pages.sh $(sort $(shell find tests examples bindings bench -name node_modules -prune -o -name '*.sh' -print 2>/dev/null))
# What a compiler other than the usual one warns of: nothing is built for that. The fuzz
# targets are clang's anyway; tests/prove/blackout needs libfuse.
.PHONY: syntax
SYNTAX_FILES = $(filter-out tests/fuzz/% tests/prove/blackout/% bench/%,$(filter %.c,$(C_FILES)))
syntax: ## read every C file with CC, e.g. CC=clang WERROR=1
	$(call say,SYNTAX,$(words $(SYNTAX_FILES)) files)printf '%s\n' $(SYNTAX_FILES) | xargs -P $(JOBS) -n 20 $(CC) $(ALL_CFLAGS) -fsyntax-only
.PHONY: clang-warnings
clang-warnings: ## what clang warns of in the C files that clang-tidy does not read
	@nice $(MAKE) --no-print-directory CC=clang OPT=-O0 WERROR=1 SYNTAX_FILES='$(filter-out $(LIB_SOURCES) $(CLI_SOURCES) $(ADDON_SOURCES),$(SYNTAX_FILES))' syntax
.PHONY: lint clang-tidy cppcheck shellcheck lint-rules format format-check
# More checks, or with a minus fewer: '-clang-analyzer-*' takes out what takes nearly all
# of the time, following paths.
TIDY_CHECKS ?=
lint: clang-tidy clang-warnings cppcheck shellcheck lint-rules ## clang-tidy and clang's warnings, cppcheck, shellcheck and the project's own rules
# npm compiles the addon of Node; here it is only read, where the headers of Node are.
ADDON_SOURCES := $(wildcard bindings/node/addon/*.c)
READ_ADDON := $(if $(wildcard /usr/include/node_api.h /usr/include/node/node_api.h),$(ADDON_SOURCES))
clang-tidy: $(patsubst %.c,$(BUILD)/tidy/%.ok,$(LIB_SOURCES) $(CLI_SOURCES) $(READ_ADDON))
# Where an object is new, its source or a header of it is. Clang's warnings are among the
# checks: at -O0, since the C library's checked printf hides formats from them.
$(BUILD)/tidy/%.ok: %.c .clang-tidy $(BUILD)/%.o
	@mkdir -p $(@D)
	$(call say,TIDY,$<)clang-tidy --quiet $(if $(TIDY_CHECKS),'--checks=$(TIDY_CHECKS)') $< -- $(ALL_CFLAGS) -O0 $(if $(filter base/error.c workflow/diagnostic.c,$<),-DLINT_ERROR_ITSELF) -include tests/lint/analyzer.h 2>$(@:.ok=.log) || { cat $(@:.ok=.log) >&2; exit 1; }
	@touch $@
cppcheck:
	$(call say,CHECK,cppcheck)cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -j $(TEST_JOBS) \
	  --enable=warning,performance,portability --suppress=missingIncludeSystem \
	  -D_GNU_SOURCE -I. -Iinclude $(LIB_SOURCES) $(CLI_SOURCES) $(ADDON_SOURCES) $(HELPER_SOURCES)
# gcc follows every path through a file; its findings are errors. Two kinds are left to
# AddressSanitizer and valgrind, since gcc 12 loses what a structure holds on to
# (malloc-leak) and what was set through a pointer into an array (uninitialized).
ANALYZER = -O1 -fanalyzer -Werror -Wno-analyzer-malloc-leak -Wno-analyzer-use-of-uninitialized-value
.PHONY: analyze
ANALYZED = $(patsubst %.c,$(BUILD)/analyze/%.ok,$(LIB_SOURCES) $(CLI_SOURCES) $(READ_ADDON) $(HELPER_SOURCES))
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
