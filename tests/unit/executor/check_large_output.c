/* SPDX-License-Identifier: MIT */
/* Output that is stored in chunks: each part of it, with and without a middle that was
 * dropped. What is damaged is tried by tests/cli/t-large-log.sh. */
#include "tests/support/engine.h"

#include "base/sha256.h"
#include "runs/output.h"
#include "storage/object.h"
#include "storage/rows_gc.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { WRITTEN = 9 * OUTPUT_CHUNK + 5 };

/* What the task writes. */
static char *whole;

static void begin(void)
{
    setup();
    size_t n = 0;
    whole = malloc(WRITTEN + 16);
    ck_assert_ptr_nonnull(whole);
    for (unsigned i = 1; n < WRITTEN; i++)
        n += (size_t)snprintf(whole + n, 16, "%07u\n", i);
}

static void end(void)
{
    free(whole);
    teardown();
}

static struct cairn_store *store_with(uint64_t limit)
{
    char text[200];
    struct cairn_store *store = open_store();
    snprintf(text, sizeof text,
             "name: w\ntasks: {a: {run: 'seq -f %%07.0f 1 2000000 | head -c %d'}}\n",
             WRITTEN);
    struct cairn_run_result result =
        run_text(text, store, (struct cairn_run_options){.output_limit = limit}, NULL);
    ck_assert_uint_eq(result.completed, 1);
    return store;
}

struct got {
    const struct cairn_output_part *part;
    uint64_t first, next, n;
    unsigned calls, jumps;
};

static int check_piece(void *context, const char *bytes, size_t n, uint64_t at)
{
    struct got *got = context;
    ck_assert_uint_gt(n, 0);
    ck_assert_uint_le(at + n, WRITTEN);
    ck_assert(memcmp(bytes, whole + at, n) == 0);
    if (got->calls++ == 0)
        got->first = at;
    else if (at != got->next) {
        ck_assert_uint_eq(got->next, got->part->gap_at);
        ck_assert_uint_eq(at, got->part->gap_at + got->part->gap_bytes);
        got->jumps++;
    }
    got->next = at + n;
    got->n += n;
    return 0;
}

static struct got read_part(struct cairn_store *store, struct cairn_output_part *part)
{
    struct got got = {.part = part};
    good(cairn_output_part(store, 1, "a", 0, 1, part, check_piece, &got, &error));
    return got;
}

START_TEST(parts)
{
    static const uint64_t places[] = {
        0,           1,           OUTPUT_CHUNK - 1,     OUTPUT_CHUNK, OUTPUT_CHUNK + 1,
        3000000,     WRITTEN - 6, WRITTEN - 5,          WRITTEN - 1,  WRITTEN,
        WRITTEN + 1, UINT64_MAX,  4 * OUTPUT_CHUNK + 17};
    struct cairn_store *store = store_with(64 << 20);
    for (size_t i = 0; i < COUNT_OF(places); i++)
        for (size_t k = 0; k < COUNT_OF(places); k++) {
            struct cairn_output_part part = {.from = places[i], .to = places[k]};
            uint64_t to = places[k] < WRITTEN ? places[k] : WRITTEN;
            uint64_t n = to > places[i] ? to - places[i] : 0;
            struct got got = read_part(store, &part);
            ck_assert_uint_eq(got.n, n);
            ck_assert_uint_eq(got.first, n ? places[i] : 0);
            ck_assert_uint_eq(part.bytes, WRITTEN);
            ck_assert_uint_eq(part.gap_bytes, 0);
            ck_assert_uint_eq(part.to, to);
        }
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct cairn_output_part part = {.last = places[i]};
        struct got got = read_part(store, &part);
        if (places[i])
            ck_assert_uint_eq(got.n, places[i] < WRITTEN ? places[i] : WRITTEN);
        ck_assert_uint_eq(got.n, part.to - part.from);
    }
    cairn_store_close(store);
}
END_TEST

START_TEST(without_the_middle)
{
    enum { KEPT = 5 << 20, HALF = KEPT / 2 };
    struct cairn_store *store = store_with(KEPT);
    struct cairn_output_part part = {.to = UINT64_MAX};
    struct got got = read_part(store, &part);
    ck_assert_uint_eq(got.n, KEPT);
    ck_assert_uint_eq(got.jumps, 1);
    ck_assert_uint_eq(part.bytes, WRITTEN);
    ck_assert_uint_eq(part.gap_at, HALF);
    ck_assert_uint_eq(part.gap_bytes, WRITTEN - KEPT);
    part = (struct cairn_output_part){.from = HALF - 7, .to = WRITTEN - HALF + 3};
    ck_assert_uint_eq(read_part(store, &part).n, 10);
    part = (struct cairn_output_part){.from = HALF, .to = WRITTEN - HALF};
    ck_assert_uint_eq(read_part(store, &part).n, 0);
    part = (struct cairn_output_part){.last = HALF + 100};
    ck_assert_uint_eq(read_part(store, &part).n, HALF);
    part = (struct cairn_output_part){.last = WRITTEN - HALF + 4};
    ck_assert_uint_eq(read_part(store, &part).n, HALF + 4);
    cairn_store_close(store);
}
END_TEST

static int add_digest(void *context, const char *bytes, size_t n, uint64_t at)
{
    (void)at;
    sha256_add(context, bytes, n);
    return 0;
}

/* Longer than what comes into the pool by the transaction of the end. */
START_TEST(long_ones)
{
    enum { LONG = (17 << 20) + 3 };
    struct cairn_store *store = open_store();
    struct sha256 *sha = sha256_new();
    struct digest digest, wanted;
    char *content = malloc(LONG);
    ck_assert(sha && content);
    struct cairn_run_result result =
        run_text("name: w\ntasks: {a: {stderr: apart, run: 'yes | head -c "
                 "17825795; yes err | head -c 17825795 >&2'}}\n",
                 store, (struct cairn_run_options){.output_limit = 64 << 20}, NULL);
    ck_assert_uint_eq(result.completed, 1);
    for (int stream = 1; stream <= 2; stream++) {
        const char *line = stream == 1 ? "y\n" : "err\n";
        struct cairn_output_part part = {.to = UINT64_MAX};
        for (size_t i = 0; i < LONG; i++)
            content[i] = line[i % strlen(line)];
        good(sha256_of(content, LONG, &wanted, &error));
        sha256_begin(sha);
        good(cairn_output_part(store, 1, "a", 0, stream, &part, add_digest, sha,
                               &error));
        sha256_end(sha, &digest);
        ck_assert_uint_eq(part.bytes, LONG);
        ck_assert(digest_equal(&digest, &wanted));
    }
    free(content);
    sha256_free(sha);
    cairn_store_close(store);
}
END_TEST

/* The same list by either way, and before anything refers to it. */
START_TEST(before_it_is_referred_to)
{
    struct cairn_store *store = open_store(), *other;
    struct digest ahead, put;
    struct str content = {whole, WRITTEN};
    bool listed = false, there = false, holds = false;
    good(store_open_beside(store, &other, &error));
    good(output_put_ahead(store, content, &ahead, &holds, &error));
    good(store_has_object(other, &ahead, &there, &error));
    ck_assert(there && holds);
    ck_assert_int_eq(store_gc_lock(other, &error), CAIRN_EBUSY);
    store_gc_unlock(store);
    good(store_begin(store, -1, &error));
    good(output_put(store, content, &put, &listed, &error));
    good(store_end(store, 0, &error));
    ck_assert(listed && digest_equal(&ahead, &put));
    cairn_store_close(other);
    cairn_store_close(store);
}
END_TEST

static int stop(void *context, const char *bytes, size_t n, uint64_t at)
{
    (void)bytes, (void)n, (void)at;
    ++*(unsigned *)context;
    return 1;
}

START_TEST(what_is_asked_for)
{
    struct cairn_store *store = store_with(64 << 20);
    unsigned calls = 0;
    struct cairn_output_part part = {.to = UINT64_MAX};
    good(cairn_output_part(store, 1, "a", 1, 1, &part, stop, &calls, &error));
    ck_assert_uint_eq(calls, 1);
    part = (struct cairn_output_part){.from = 1, .last = 1};
    ck_assert_int_eq(
        cairn_output_part(store, 1, "a", 0, 1, &part, stop, &calls, &error),
        CAIRN_EUSAGE);
    part = (struct cairn_output_part){.to = 1};
    ck_assert_int_eq(
        cairn_output_part(store, 1, "a", 0, 3, &part, stop, &calls, &error),
        CAIRN_EUSAGE);
    ck_assert_int_eq(
        cairn_output_part(store, 1, "a", 7, 1, &part, stop, &calls, &error),
        CAIRN_ENOTFOUND);
    ck_assert_int_eq(
        cairn_output_part(store, 1, "none", 0, 1, &part, stop, &calls, &error),
        CAIRN_ENOTFOUND);
    ck_assert_uint_eq(calls, 1);
    cairn_store_close(store);
}
END_TEST

START_TEST(limit_above_what_is_kept_at_most)
{
    struct cairn_workflow *w = workflow_named("w");
    struct cairn_run_options options = {.output_limit = (1 << 30) + 1};
    struct cairn_run_result result;
    ck_assert_int_eq(cairn_run(w, NULL, &options, &result, &error), CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "output_limit"));
    cairn_workflow_free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("large_output");
    TCase *tests = tcase_create("large_output");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, parts);
    tcase_add_test(tests, without_the_middle);
    tcase_add_test(tests, long_ones);
    tcase_add_test(tests, before_it_is_referred_to);
    tcase_add_test(tests, what_is_asked_for);
    tcase_add_test(tests, limit_above_what_is_kept_at_most);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
