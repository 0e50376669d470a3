/* SPDX-License-Identifier: MIT */
/* Names in the live directory, from one table. */
#include "process/live.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Names ---- */

enum numbers { OF_RUN, OF_SLOT, OF_ATTEMPT, OF_EPOCH };

/* What stands behind "run-N.": the numbers, each with its dot, then the ending. */
static const struct {
    enum numbers numbers;
    const char *ending;
    bool salted; /* then a dot and a salt */
} kinds[LIVE_KINDS] = {
    [LIVE_SLOTS] = {OF_RUN, "slots", false},
    [LIVE_SLOTS_NEW] = {OF_RUN, "slots.new", false},
    [LIVE_SLOTS_IMAGE] = {OF_RUN, "slots.guard", false},
    [LIVE_WAKE] = {OF_RUN, "wake", false},
    [LIVE_SLOT_OUT] = {OF_SLOT, "out", false},
    [LIVE_SLOT_ERR] = {OF_SLOT, "err", false},
    [LIVE_SLOT_VALUES] = {OF_SLOT, "values", true},
    [LIVE_OUT] = {OF_ATTEMPT, "out", false},
    [LIVE_ERR] = {OF_ATTEMPT, "err", false},
    [LIVE_VALUES] = {OF_ATTEMPT, "values", true},
    [LIVE_INPUTS] = {OF_ATTEMPT, "inputs", true},
    [LIVE_CLAIM] = {OF_ATTEMPT, "keep", false},
    [LIVE_EPOCH] = {OF_EPOCH, "room", false},
    [LIVE_EPOCH_GONE] = {OF_EPOCH, "room.gone", false},
    [LIVE_ENDS] = {OF_EPOCH, "ends", false},
};

static struct live_name name_of(enum live_kind kind, enum numbers numbers, uint64_t run)
{
    assert(kind < LIVE_KINDS && kinds[kind].numbers == numbers);
    return (struct live_name){.kind = kind, .run = run};
}

struct live_name live_of_run(enum live_kind kind, uint64_t run)
{
    return name_of(kind, OF_RUN, run);
}

struct live_name live_of_slot(enum live_kind kind, uint64_t run, uint32_t slot)
{
    struct live_name name = name_of(kind, OF_SLOT, run);
    name.slot = slot;
    return name;
}

struct live_name live_of_attempt(enum live_kind kind, const struct attempt_id *id)
{
    struct live_name name = name_of(kind, OF_ATTEMPT, id->run);
    name.gen = id->gen;
    name.task = id->task;
    name.attempt = id->attempt;
    name.salt = kinds[kind].salted ? id->store : 0;
    return name;
}

struct live_name live_of_values(uint64_t run, uint32_t slot, uint64_t store)
{
    struct live_name name = live_of_slot(LIVE_SLOT_VALUES, run, slot);
    name.salt = store;
    return name;
}

uint64_t live_store(const char *identity)
{
    char digits[17] = {0};
    memcpy(digits, identity, strnlen(identity, sizeof digits - 1));
    return strtoull(digits, NULL, 16);
}

struct live_name live_of_epoch(enum live_kind kind, uint64_t run, uint64_t salt)
{
    struct live_name name = name_of(kind, OF_EPOCH, run);
    name.salt = salt;
    return name;
}

static void format_numbers(char *out, size_t size, const struct live_name *name)
{
    switch (kinds[name->kind].numbers) {
    case OF_RUN:
        *out = 0;
        break;
    case OF_SLOT:
        snprintf(out, size, "%" PRIu32 ".", name->slot);
        break;
    case OF_ATTEMPT:
        snprintf(out, size, "%" PRIu32 ".%" PRIu32 ".%" PRIu32 ".", name->gen,
                 name->task, name->attempt);
        break;
    case OF_EPOCH:
        snprintf(out, size, "%016" PRIx64 ".", name->salt);
        break;
    }
}

void live_format(char *out, const struct live_name *name)
{
    char numbers[48], salt[24] = "";
    assert(name->kind < LIVE_KINDS);
    format_numbers(numbers, sizeof numbers, name);
    if (kinds[name->kind].salted)
        snprintf(salt, sizeof salt, ".%016" PRIx64, name->salt);
    int n = snprintf(out, LIVE_NAME, "run-%" PRIu64 ".%s%s%s", name->run, numbers,
                     kinds[name->kind].ending, salt);
    assert(n > 0 && n < LIVE_NAME);
    (void)n;
}

/* Digits as printf writes them, at most `most`; false if there are none at *at. */
static bool scan_decimal(const char **at, uint64_t most, uint64_t *value)
{
    const char *start = *at;
    uint64_t n = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (n > (most - digit) / 10)
            return false;
        n = 10 * n + digit;
    }
    *value = n;
    return *at - start == 1 || (*at > start && *start != '0');
}

static bool scan_salt(const char **at, uint64_t *value)
{
    uint64_t n = 0;
    for (int i = 0; i < 16; i++, ++*at) {
        bool digit = **at >= '0' && **at <= '9';
        if (!digit && (**at < 'a' || **at > 'f'))
            return false;
        n = n << 4 | (uint64_t)(digit ? **at - '0' : **at - 'a' + 10);
    }
    *value = n;
    return true;
}

static bool scan_dot(const char **at)
{
    return *(*at)++ == '.';
}

static bool scan_number(const char **at, uint32_t *value)
{
    uint64_t n;
    if (!scan_decimal(at, UINT32_MAX, &n))
        return false;
    *value = (uint32_t)n;
    return scan_dot(at);
}

static bool scan_numbers(const char **at, struct live_name *out)
{
    switch (kinds[out->kind].numbers) {
    case OF_RUN:
        return true;
    case OF_SLOT:
        return scan_number(at, &out->slot);
    case OF_ATTEMPT:
        return scan_number(at, &out->gen) && scan_number(at, &out->task) &&
               scan_number(at, &out->attempt);
    case OF_EPOCH:
        return scan_salt(at, &out->salt) && scan_dot(at);
    }
    return false;
}

/* `at`: behind "run-N." */
static bool parse_rest(const char *at, struct live_name *out)
{
    const char *ending = kinds[out->kind].ending;
    size_t len = strlen(ending);
    if (!scan_numbers(&at, out) || strncmp(at, ending, len) != 0)
        return false;
    at += len;
    if (kinds[out->kind].salted && (!scan_dot(&at) || !scan_salt(&at, &out->salt)))
        return false;
    return *at == 0;
}

bool live_parse(struct live_name *out, const char *text)
{
    uint64_t run;
    if (strncmp(text, "run-", 4) != 0)
        return false;
    text += 4;
    if (!scan_decimal(&text, UINT64_MAX, &run) || !scan_dot(&text))
        return false;
    for (int kind = 0; kind < LIVE_KINDS; kind++) {
        struct live_name name = {.kind = (enum live_kind)kind, .run = run};
        if (parse_rest(text, &name)) {
            *out = name;
            return true;
        }
    }
    return false;
}

bool live_is_of_run(const char *text, uint64_t run)
{
    char prefix[32];
    int n = snprintf(prefix, sizeof prefix, "run-%" PRIu64 ".", run);
    return strncmp(text, prefix, (size_t)n) == 0;
}

/* ---- Paths ---- */

bool live_path(char *out, size_t size, const char *live_dir, struct live_name name)
{
    char text[LIVE_NAME];
    live_format(text, &name);
    int n = snprintf(out, size, "%s/%s", live_dir, text);
    return n >= 0 && (size_t)n < size;
}

bool live_keeper_image(char *out, size_t size, const char *live_dir, int pid)
{
    int n = snprintf(out, size, "%s/keeper.%d.guard", live_dir, pid);
    return n >= 0 && (size_t)n < size;
}

bool live_pools(char *out, size_t size, const char *live_dir)
{
    int n = snprintf(out, size, "%s/pools", live_dir);
    return n >= 0 && (size_t)n < size;
}

/* Opened for reading, too: with the reader just gone, a write would raise SIGPIPE. */
void live_wake(const char *live_dir, uint64_t run)
{
    char path[LIVE_PATH];
    live_path(path, sizeof path, live_dir, live_of_run(LIVE_WAKE, run));
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return; /* the owner looks every second anyway */
    struct stat st;
    ssize_t written =
        fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) ? write(fd, "c", 1) : 0;
    (void)written;
    close(fd);
}
