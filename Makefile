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
HARDENING := -fstack-protector-strong -fPIC
# Test programs see the names of the rooms in build/internal.so; other programs see only
# what include/cairn.map names.
VISIBILITY = -fvisibility=hidden
ifeq ($(SANITIZE),)
HARDENING += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -Iinclude -include base/banned.h $(OPT) $(OPT_MORE) $(WARNINGS) \
  $(if $(WERROR),-Werror) $(if $(DEBUG),-DCAIRN_DEBUG) $(HARDENING) $(VISIBILITY) -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
  -DCAIRN_VERSION_TEXT='"$(VERSION)"' $(PACKAGE_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pthread -Wl,-z,relro,-z,now $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)
# Asked once, when they are first needed.
PACKAGE_CFLAGS = $(eval PACKAGE_CFLAGS := $$(shell pkg-config --cflags $(PACKAGES)))$(PACKAGE_CFLAGS)
LIBS = $(eval LIBS := $$(shell pkg-config --libs $(PACKAGES)) -ltpl)$(LIBS)
SERVER_LIBS = -ldl -lm # m: where boxes of a page lie
# The command has its libraries inside where their archives are here: a dynamic linker
# needs three quarters of a short command's time for them. STATIC= links it to the
# shared ones.
STATIC = crypto sqlite3 zstd yaml jansson tpl
COMMAND_LIBS = $(eval COMMAND_LIBS := $$(call with_archives,$$(LIBS)))$(COMMAND_LIBS)
with_archives = $(foreach l,$1,$(if $(filter $l,$(STATIC:%=-l%)),$(call archive_or,$l),$l))
archive_or = $(if $(filter /%,$(shell $(CC) -print-file-name=$(1:-l%=lib%.a))),$(1:-l%=-l:lib%.a),$1)
CHECK_LIBS = $(eval CHECK_LIBS := $$(shell pkg-config --libs check))$(CHECK_LIBS)

# The rooms of the library from the lowest to the highest, by the table.
ROOMS := $(shell sed -n 's|^\([a-z/]*\):.*|\1|p' tests/lint/rooms)
LIB_SOURCES := $(wildcard $(ROOMS:%=%/*.c))
SERVER_SOURCES := $(wildcard server/*.c)
WEB_SOURCES := $(wildcard web/*.c)
CLI_SOURCES := $(wildcard cli/*.c cli/*/*.c) $(WEB_SOURCES) $(SERVER_SOURCES)
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/process/helper_image.o
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/web/assets.o $(BUILD)/base.o
$(LIB_OBJECTS): VISIBILITY = -fno-semantic-interposition

.PHONY: all
all: $(BUILD)/cairn $(BUILD)/libcairn.a $(BUILD)/libcairn.so.$(VERSION) $(BUILD)/cairn.pc ## the command and the libraries (the default)

$(BUILD)/%.o: %.c Makefile
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

# The style and the script of the pages, carried as bytes.
$(BUILD)/web/assets.o: web/assets.S web/page.css web/page.js
	@mkdir -p $(@D)
	$(call say,AS,$<)$(CC) -c -o $@ $<

# The library for programs has one object whose only global names are cairn_*.
$(BUILD)/libcairn.a: $(LIB_OBJECTS)
	@rm -f $@
	$(call say,AR,$@)$(LD) -r -o $(BUILD)/libcairn.o $^ && \
	  $(OBJCOPY) --wildcard --keep-global-symbol='cairn_*' $(BUILD)/libcairn.o && $(AR) rcs $@ $(BUILD)/libcairn.o
$(BUILD)/libcairn.so.$(VERSION): $(LIB_OBJECTS) include/cairn.map
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,libcairn.so.$(SOVERSION) -Wl,--version-script=include/cairn.map \
	  -Wl,-z,noexecstack $(ALL_LDFLAGS) -o $@ $(LIB_OBJECTS) $(LIBS)
	@ln -sf libcairn.so.$(VERSION) $(BUILD)/libcairn.so.$(SOVERSION)
	@ln -sf libcairn.so.$(SOVERSION) $(BUILD)/libcairn.so
# So the command has base/ a second time, without what the library has for all.
$(BUILD)/base.o: $(patsubst %.c,$(BUILD)/%.o,$(wildcard base/*.c))
	$(call say,LD,$@)$(LD) -r -o $@ $^ && $(OBJCOPY) --wildcard --localize-symbol='cairn_*' $@
$(BUILD)/cairn: $(CLI_OBJECTS) $(BUILD)/libcairn.a
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(COMMAND_LIBS) $(SERVER_LIBS)
PC_FILE = sed -e 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@INCLUDEDIR@|$(INCLUDEDIR)|;s|@VERSION@|$(VERSION)|' include/cairn.pc.in
$(BUILD)/cairn.pc: include/cairn.pc.in VERSION
	@mkdir -p $(@D)
	@$(PC_FILE) >$@

include mk/tests.mk mk/more.mk

.PHONY: dist deps clean help
dist: ## build/cairn-VERSION.tar.gz of the last commit
	@mkdir -p $(BUILD)
	git archive --format=tar.gz --prefix=cairn-$(VERSION)/ -o $(BUILD)/cairn-$(VERSION).tar.gz HEAD
	@echo $(BUILD)/cairn-$(VERSION).tar.gz
deps: ## install the Debian packages that building and testing need
	@sh bootstrap.sh --packages-only
clean: ## remove everything that was built
	rm -rf $(BUILD)
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' Makefile mk/*.mk
	@printf '  %-14s %s\n' check-ROOM 'the unit tests of one room: $(ROOMS) cli'
	@echo
	@echo '  Variables: PREFIX DESTDIR BUILD CC CFLAGS LDFLAGS WERROR=1 DEBUG=1 SANITIZE=address,undefined'
	@echo '  JOBS (one for each processor), TEST_JOBS (two for each), V=1 (print the commands), T (see check), TIMES=20 (the dearest tests)'

-include $(patsubst %.o,%.d,$(LIB_OBJECTS) $(CLI_OBJECTS) $(SUPPORT_OBJECTS) $(C_TESTS:=.o)) $(BENCHES:=.d)
