# cairn. `make help` lists the targets. Needs the packages named in bootstrap.sh.
VERSION := $(shell cat VERSION)
SOVERSION := 0

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions

CC ?= cc
BUILD ?= build
WERROR ?=
SANITIZE ?=
OPT ?= -O2 -g
PACKAGES := sqlite3 libcrypto libzstd yaml-0.1 jansson

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
  -Wvla -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wformat=2 -Wno-format-nonliteral
HARDENING := -fstack-protector-strong -fvisibility=hidden -fPIC
ifeq ($(SANITIZE),)
HARDENING += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -Iinclude -include base/banned.h $(OPT) $(WARNINGS) \
  $(if $(WERROR),-Werror) $(HARDENING) -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer) \
  -DCAIRN_VERSION_TEXT='"$(VERSION)"' $(shell pkg-config --cflags $(PACKAGES)) $(CFLAGS)
ALL_LDFLAGS = -pthread -Wl,-z,relro,-z,now $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)
LIBS = $(shell pkg-config --libs $(PACKAGES)) -ltpl

LIB_SOURCES := $(wildcard base/*.c storage/*.c checkpoint/*.c executor/*.c)
CLI_SOURCES := $(wildcard cli/*.c)
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/executor/helper_image.o
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(BUILD)/%.o)
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/check_*.c))

.PHONY: all help
all: $(BUILD)/cairn $(BUILD)/libcairn.a $(BUILD)/libcairn.so.$(VERSION) $(BUILD)/cairn.pc

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The helper is a tiny program of its own, carried inside the library as bytes.
$(BUILD)/cairn-helper: executor/helper/helper.c executor/slots.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -I. -O2 $(WARNINGS) $(if $(WERROR),-Werror) -s -o $@ $<
$(BUILD)/executor/helper_image.o: executor/helper_image.S $(BUILD)/cairn-helper
	@mkdir -p $(@D)
	$(CC) -DHELPER_PATH='"$(BUILD)/cairn-helper"' -c -o $@ $<

$(BUILD)/libcairn.a: $(LIB_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^
$(BUILD)/libcairn.so.$(VERSION): $(LIB_OBJECTS) include/cairn.map
	$(CC) -shared -Wl,-soname,libcairn.so.$(SOVERSION) -Wl,--version-script=include/cairn.map \
	  -Wl,-z,noexecstack $(ALL_LDFLAGS) -o $@ $(LIB_OBJECTS) $(LIBS)
	ln -sf libcairn.so.$(VERSION) $(BUILD)/libcairn.so.$(SOVERSION)
	ln -sf libcairn.so.$(SOVERSION) $(BUILD)/libcairn.so
$(BUILD)/cairn: $(CLI_OBJECTS) $(BUILD)/libcairn.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
$(BUILD)/cairn.pc: include/cairn.pc.in VERSION
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@INCLUDEDIR@|$(INCLUDEDIR)|;s|@VERSION@|$(VERSION)|' $< >$@

# Unit tests: one program per tests/unit/check_X.c, linked with the whole library.
$(BUILD)/tests/%: tests/unit/%.c $(BUILD)/libcairn.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -MF $@.d -o $@ $< $(BUILD)/libcairn.a $(ALL_LDFLAGS) $$(pkg-config --cflags --libs check) $(LIBS)

-include $(LIB_OBJECTS:.o=.d) $(CLI_OBJECTS:.o=.d) $(UNIT_TESTS:=.d)
