/* SPDX-License-Identifier: MIT */
/* Names of files in the live directory: what is made is read back as it was, and only
 * that. */
#include "process/live.h"

#include "base/clock.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t state;

/* splitmix64 */
static uint64_t next_random(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static void seed_random(void)
{
    const char *given = getenv("CAIRN_TEST_SEED");
    state = given ? strtoull(given, NULL, 0) : (uint64_t)clock_utc_ns();
    printf("# CAIRN_TEST_SEED=%" PRIu64 "\n", state);
}

/* Of any length, and now and then the largest or 0. */
static uint64_t any_number(void)
{
    uint64_t kind = next_random() % 8;
    return kind == 0 ? 0 : kind == 1 ? UINT64_MAX : next_random() >> next_random() % 64;
}

static struct live_name any_name(enum live_kind kind)
{
    struct attempt_id id = {"",
                            any_number(),
                            (uint32_t)any_number(),
                            (uint32_t)any_number(),
                            (uint32_t)any_number(),
                            0};
    switch (kind) {
    case LIVE_SLOT_OUT:
    case LIVE_SLOT_ERR:
        return live_of_slot(kind, any_number(), (uint32_t)any_number());
    case LIVE_SLOT_VALUES:
        return live_of_values(any_number(), (uint32_t)any_number(), any_number());
    case LIVE_VALUES:
    case LIVE_INPUTS:
        id.store = any_number();
        return live_of_attempt(kind, &id);
    case LIVE_OUT:
    case LIVE_ERR:
    case LIVE_CLAIM:
        return live_of_attempt(kind, &id);
    case LIVE_EPOCH:
    case LIVE_EPOCH_GONE:
    case LIVE_ENDS:
        return live_of_epoch(kind, any_number(), any_number());
    default:
        return live_of_run(kind, any_number());
    }
}

static bool same(const struct live_name *a, const struct live_name *b)
{
    return a->kind == b->kind && a->run == b->run && a->slot == b->slot &&
           a->gen == b->gen && a->task == b->task && a->attempt == b->attempt &&
           a->salt == b->salt;
}

START_TEST(test_round_trip)
{
    char text[LIVE_NAME];
    struct live_name back;
    seed_random();
    for (int i = 0; i < 20000; i++) {
        struct live_name name = any_name((enum live_kind)(i % LIVE_KINDS));
        live_format(text, &name);
        ck_assert_msg(live_parse(&back, text) && same(&name, &back), "%s", text);
        ck_assert_msg(live_is_of_run(text, name.run), "%s", text);
        ck_assert(!live_is_of_run(text, name.run ^ 1));
    }
}
END_TEST

/* A byte that is changed, added or left out: no name, or another one that is read as
 * it would be written. */
START_TEST(test_rubbish)
{
    static const char bytes[] = "0123456789abcdefx.-+ run/kepsltowag";
    char text[LIVE_NAME + 1], again[LIVE_NAME];
    struct live_name name;
    seed_random();
    for (int i = 0; i < 50000; i++) {
        struct live_name from = any_name((enum live_kind)(i % LIVE_KINDS));
        live_format(text, &from);
        size_t len = strlen(text), at = next_random() % (len + 1);
        char byte = bytes[next_random() % (sizeof bytes - 1)];
        if (i % 3 == 0)
            text[at < len ? at : 0] = byte;
        else if (i % 3 == 1)
            memmove(text + at, text + at + (at < len), len - at + (at == len));
        else {
            memmove(text + at + 1, text + at, len - at + 1);
            text[at] = byte;
        }
        if (!live_parse(&name, text))
            continue;
        live_format(again, &name);
        ck_assert_str_eq(again, text);
    }
}
END_TEST

/* The formats, once in plain sight: stores of earlier versions have these files. */
START_TEST(test_formats)
{
    static const struct {
        const char *text;
        struct live_name name;
    } known[] = {
        {"run-7.slots", {.kind = LIVE_SLOTS, .run = 7}},
        {"run-7.slots.new", {.kind = LIVE_SLOTS_NEW, .run = 7}},
        {"run-7.slots.guard", {.kind = LIVE_SLOTS_IMAGE, .run = 7}},
        {"run-0.wake", {.kind = LIVE_WAKE}},
        {"run-3.5.out", {.kind = LIVE_SLOT_OUT, .run = 3, .slot = 5}},
        {"run-3.0.err", {.kind = LIVE_SLOT_ERR, .run = 3}},
        {"run-3.4294967295.values.00000000000000ff",
         {.kind = LIVE_SLOT_VALUES, .run = 3, .slot = UINT32_MAX, .salt = 255}},
        {"run-7.1.0.3.out",
         {.kind = LIVE_OUT, .run = 7, .gen = 1, .task = 0, .attempt = 3}},
        {"run-7.1.2.3.inputs.00000000000000ff",
         {.kind = LIVE_INPUTS,
          .run = 7,
          .gen = 1,
          .task = 2,
          .attempt = 3,
          .salt = 255}},
        {"run-7.1.2.3.err",
         {.kind = LIVE_ERR, .run = 7, .gen = 1, .task = 2, .attempt = 3}},
        {"run-7.1.2.3.values.00000000000000ff",
         {.kind = LIVE_VALUES,
          .run = 7,
          .gen = 1,
          .task = 2,
          .attempt = 3,
          .salt = 255}},
        {"run-18446744073709551615.1.2.3.keep",
         {.kind = LIVE_CLAIM, .run = UINT64_MAX, .gen = 1, .task = 2, .attempt = 3}},
        {"run-7.1234567890123456.room",
         {.kind = LIVE_EPOCH, .run = 7, .salt = 0x1234567890123456}},
        {"run-7.00000000000000a1.room.gone",
         {.kind = LIVE_EPOCH_GONE, .run = 7, .salt = 0xa1}},
        {"run-7.00000000000000a1.ends", {.kind = LIVE_ENDS, .run = 7, .salt = 0xa1}},
    };
    char text[LIVE_NAME];
    struct live_name name;
    ck_assert_uint_eq(sizeof known / sizeof known[0], LIVE_KINDS);
    for (size_t i = 0; i < LIVE_KINDS; i++) {
        live_format(text, &known[i].name);
        ck_assert_str_eq(text, known[i].text);
        ck_assert(live_parse(&name, text) && same(&name, &known[i].name));
    }
}
END_TEST

START_TEST(test_refused)
{
    static const char *const strange[] = {
        "",
        "run-",
        "run-7",
        "run-7.",
        "run-7.keep",
        "run-.slots",
        "run-07.slots",
        "run-+7.slots",
        "run- 7.slots",
        "run-7.slotsx",
        "run-7.slots.",
        "run-18446744073709551616.slots",
        "Run-7.slots",
        "run-7.4294967297.0.1.keep",
        "run-7.1.4294967296.1.keep",
        "run-7.1.0.18446744073709551617.keep",
        "run-7.1.0.+1.keep",
        "run-7.1.00.1.keep",
        "run-7.1.0.keep",
        "run-7.1.2.3.keep.",
        "run-7.1.2.3.keep.00000000000000f",
        "run-7.1.2.3.keep.00000000000000FF",
        "run-7.4294967296.out",
        "run-7.a1.room",
        "run-7.00000000000000a1.room.gone.d",
        "run-7.000000000000000a1.room",
        "run-7.roomy",
        "keeper.7.guard",
    };
    struct live_name name = {.kind = LIVE_WAKE, .run = 99};
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        ck_assert_msg(!live_parse(&name, strange[i]), "%s", strange[i]);
        ck_assert(name.kind == LIVE_WAKE && name.run == 99);
    }
    ck_assert(live_is_of_run("run-7.anything", 7));
    ck_assert(!live_is_of_run("run-71.slots", 7));
    ck_assert(!live_is_of_run("run-7", 7));
}
END_TEST

START_TEST(test_paths)
{
    struct live_name name = live_of_run(LIVE_SLOTS, 12);
    char path[32];
    ck_assert(live_path(path, sizeof path, "/a/live", name));
    ck_assert_str_eq(path, "/a/live/run-12.slots");
    ck_assert(live_path(path, 21, "/a/live", name));
    ck_assert(!live_path(path, 20, "/a/live", name));
    ck_assert(live_keeper_image(path, sizeof path, "/a/live", 34));
    ck_assert_str_eq(path, "/a/live/keeper.34.guard");
    ck_assert(!live_keeper_image(path, 23, "/a/live", 34));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("live names");
    TCase *tests = tcase_create("live names");
    tcase_add_test(tests, test_formats);
    tcase_add_test(tests, test_round_trip);
    tcase_add_test(tests, test_rubbish);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_paths);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
