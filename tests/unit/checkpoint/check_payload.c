/* SPDX-License-Identifier: MIT */
/* Payloads: round trips, and images that must be refused although their hash is right.
 */
#include "base/limits.h"
#include "cairn/outcome.h"
#include "checkpoint/payload.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

/* xorshift64*: the same numbers everywhere for one seed. */
static uint64_t seed = 20260101;

static uint32_t below(uint32_t n)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (uint32_t)((seed * 2685821657736338717u) >> 33) % n;
}

static struct digest random_digest(void)
{
    struct digest digest;
    for (int i = 0; i < DIGEST_SIZE; i++)
        digest.bytes[i] = (uint8_t)below(256);
    digest.bytes[0] |= 1;
    return digest;
}

static struct change random_change(uint32_t task)
{
    struct change change = {.task = task, .outcome = (uint8_t)below(5), .attempts = 1};
    if (below(4) == 0)
        change.attempts = below(3) ? below(10) : UINT32_MAX - below(3);
    if (below(5) == 0)
        change.outputs = random_digest();
    return change;
}

static struct states random_states(uint32_t n)
{
    struct states states;
    ck_assert_int_eq(states_init(&states, n, NULL), 0);
    for (uint32_t i = 0; i < n;) {
        struct change change = random_change(i);
        uint32_t run = 1 + below(below(2) ? 2 : 40);
        for (; run > 0 && i < n; run--, i++) {
            change.task = i;
            ck_assert_int_eq(states_apply(&states, &change, NULL), 0);
        }
    }
    return states;
}

static bool same_states(const struct states *a, const struct states *b)
{
    static const struct digest none;
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct digest *x = a->outputs ? &a->outputs[i] : &none;
        const struct digest *y = b->outputs ? &b->outputs[i] : &none;
        if (a->outcome[i] != b->outcome[i] || a->attempts[i] != b->attempts[i] ||
            !digest_equal(x, y))
            return false;
    }
    return true;
}

START_TEST(full_round_trips)
{
    for (int i = 0; i < 300; i++) {
        struct states in = random_states(1 + below(i < 290 ? 200 : 20000)), out;
        struct digest graph = random_digest(), graph_out;
        struct buf payload = BUF_INIT;
        ck_assert_int_eq(payload_full(&in, &graph, &payload, NULL), 0);
        ck_assert_int_eq(payload_parse_full(buf_view(&payload), &out, &graph_out, NULL),
                         0);
        ck_assert(same_states(&in, &out));
        ck_assert(digest_equal(&graph, &graph_out));
        states_release(&in);
        states_release(&out);
        buf_release(&payload);
    }
}
END_TEST

START_TEST(equal_tasks_are_one_run)
{
    struct states states;
    struct digest graph = random_digest();
    struct buf payload = BUF_INIT;
    ck_assert_int_eq(states_init(&states, 1000000, NULL), 0);
    ck_assert_int_eq(payload_full(&states, &graph, &payload, NULL), 0);
    ck_assert_uint_lt(payload.size, 70);
    states_release(&states);
    buf_release(&payload);
}
END_TEST

/* One task among equal ones, at every place, in each way that it can differ. */
START_TEST(one_other_task)
{
    enum { N = 200, WAYS = 3 };
    struct digest graph = random_digest(), graph_out;
    for (uint32_t i = 0; i < N * WAYS; i++) {
        struct change other = {i % N, CAIRN_COMPLETED, 1, {{0}}};
        struct states in, out;
        struct buf payload = BUF_INIT;
        ck_assert_int_eq(states_init(&in, N, NULL), 0);
        for (uint32_t task = 0; task < N; task++) {
            struct change same = {task, CAIRN_COMPLETED, 1, {{0}}};
            ck_assert_int_eq(states_apply(&in, &same, NULL), 0);
        }
        if (i / N == 0)
            other.outcome = CAIRN_FAILED;
        else if (i / N == 1)
            other.attempts = 2;
        else
            other.outputs = random_digest();
        ck_assert_int_eq(states_apply(&in, &other, NULL), 0);
        ck_assert_int_eq(payload_full(&in, &graph, &payload, NULL), 0);
        ck_assert_int_eq(payload_parse_full(buf_view(&payload), &out, &graph_out, NULL),
                         0);
        ck_assert(same_states(&in, &out));
        states_release(&in);
        states_release(&out);
        buf_release(&payload);
    }
}
END_TEST

struct changes {
    struct change at[64];
    size_t n;
};

static int collect(void *context, const struct change *change)
{
    struct changes *changes = context;
    changes->at[changes->n++] = *change;
    return 0;
}

static bool same_change(const struct change *a, const struct change *b)
{
    return a->task == b->task && a->outcome == b->outcome &&
           a->attempts == b->attempts && digest_equal(&a->outputs, &b->outputs);
}

START_TEST(delta_round_trips)
{
    for (int i = 0; i < 500; i++) {
        struct changes in = {.n = 1 + below(60)}, out = {.n = 0};
        struct buf payload = BUF_INIT;
        struct delta delta;
        uint32_t task = below(1000);
        for (size_t k = 0; k < in.n; k++, task += 1 + below(k % 3 ? 3 : 100000))
            in.at[k] = random_change(task);
        struct changes given = in; /* in any order */
        for (size_t k = given.n; k > 1; k--) {
            size_t other = below((uint32_t)k);
            struct change swap = given.at[k - 1];
            given.at[k - 1] = given.at[other];
            given.at[other] = swap;
        }
        ck_assert_int_eq(payload_delta(9, 77, given.at, given.n, &payload, NULL), 0);
        ck_assert_int_eq(payload_parse_delta(buf_view(&payload), &delta, NULL), 0);
        ck_assert_uint_eq(delta.base, 9);
        ck_assert_uint_eq(delta.graph_tag, 77);
        ck_assert_uint_eq(delta.n, in.n);
        ck_assert_int_eq(delta_each(&delta, LIMIT_TASKS, collect, &out, NULL), 0);
        ck_assert_uint_eq(out.n, in.n);
        for (size_t k = 0; k < in.n; k++)
            ck_assert(same_change(&in.at[k], &out.at[k]));
        uint32_t last = in.at[in.n - 1].task;
        out.n = 0;
        ck_assert_int_eq(delta_each(&delta, last + 1, collect, &out, NULL), 0);
        out.n = 0;
        ck_assert_int_eq(delta_each(&delta, last, collect, &out, NULL), CAIRN_EDAMAGED);
        delta_release(&delta);
        buf_release(&payload);
    }
}
END_TEST

/* As a delta, with the graph that there is then; the changes may be none. */
START_TEST(grown_round_trips)
{
    for (int i = 0; i < 300; i++) {
        struct changes in = {.n = below(20)}, out = {.n = 0};
        struct grown grown = {.graph = random_digest()};
        struct buf payload = BUF_INIT, again = BUF_INIT;
        struct delta delta;
        uint32_t task = below(1000);
        for (size_t k = 0; k < in.n; k++, task += 1 + below(3))
            in.at[k] = random_change(task);
        grown.tasks = (in.n ? in.at[in.n - 1].task : 0) + 1 + below(5);
        ck_assert_int_eq(payload_grown(9, 77, &grown, in.at, in.n, &payload, NULL), 0);
        ck_assert_int_eq(payload_parse_delta(buf_view(&payload), &delta, NULL), 0);
        ck_assert_uint_eq(delta.base, 9);
        ck_assert_uint_eq(delta.graph_tag, 77);
        ck_assert_uint_eq(delta.n, in.n);
        ck_assert_uint_eq(delta.grown.tasks, grown.tasks);
        ck_assert(digest_equal(&delta.grown.graph, &grown.graph));
        ck_assert_int_eq(delta_each(&delta, grown.tasks, collect, &out, NULL), 0);
        ck_assert_uint_eq(out.n, in.n);
        for (size_t k = 0; k < in.n; k++)
            ck_assert(same_change(&in.at[k], &out.at[k]));
        ck_assert_int_eq(delta_fit_tasks(&delta, grown.tasks, NULL), 0);
        ck_assert_int_eq(delta_fit_tasks(&delta, grown.tasks + 1, NULL),
                         CAIRN_EDAMAGED);
        delta_release(&delta);
        /* Cut short, or with a task that it does not have. */
        for (size_t size = 0; size < payload.size; size++)
            ck_assert_int_eq(
                payload_parse_delta((struct str){payload.data, size}, &delta, NULL),
                CAIRN_EDAMAGED);
        if (in.n) {
            grown.tasks = in.at[in.n - 1].task;
            ck_assert(!grown.tasks ||
                      !payload_grown(9, 77, &grown, in.at, in.n, &again, NULL));
            ck_assert(!grown.tasks || payload_parse_delta(buf_view(&again), &delta,
                                                          NULL) == CAIRN_EDAMAGED);
        }
        buf_release(&payload);
        buf_release(&again);
    }
}
END_TEST

/* One that stands for a full record of another graph and what came after it. */
START_TEST(full_for_round_trips)
{
    struct states in = random_states(30), out;
    struct digest graph = random_digest(), read;
    struct buf payload = BUF_INIT;
    uint64_t tag = 0;
    ck_assert_int_eq(payload_full_for(&in, &graph, 5, &payload, NULL), 0);
    ck_assert_int_eq(
        payload_parse_full_for(buf_view(&payload), &out, &read, &tag, NULL), 0);
    ck_assert_uint_eq(tag, 5);
    ck_assert(digest_equal(&graph, &read));
    states_release(&in);
    states_release(&out);
    buf_release(&payload);
}
END_TEST

START_TEST(wrong_changes_are_not_written)
{
    struct buf out = BUF_INIT;
    struct change twice[2] = {{.task = 3, .outcome = 1, .attempts = 1},
                              {.task = 3, .outcome = 2, .attempts = 1}};
    struct change strange = {.task = 1, .outcome = 8, .attempts = 1};
    struct change far = {.task = LIMIT_TASKS, .outcome = 1, .attempts = 1};
    ck_assert_int_eq(payload_delta(1, 0, twice, 2, &out, NULL), CAIRN_EUSAGE);
    ck_assert_int_eq(payload_delta(1, 0, &strange, 1, &out, NULL), CAIRN_EUSAGE);
    ck_assert_int_eq(payload_delta(1, 0, &far, 1, &out, NULL), CAIRN_EUSAGE);
    ck_assert_int_eq(payload_delta(1, 0, twice, 0, &out, NULL), CAIRN_EUSAGE);
    ck_assert_int_eq(payload_delta(0, 0, twice, 1, &out, NULL), CAIRN_EUSAGE);
    far.task--;
    ck_assert_int_eq(payload_delta(1, 0, &far, 1, &out, NULL), 0);
    buf_release(&out);
}
END_TEST

/* ---- Refusing ---- */

static int parse_any(struct str image, bool full)
{
    /* A heap copy of the exact size, so that reading past it is seen. */
    char *copy = malloc(image.len ? image.len : 1);
    ck_assert_ptr_nonnull(copy);
    if (image.len)
        memcpy(copy, image.ptr, image.len);
    struct str exact = {copy, image.len};
    struct states states;
    struct digest graph;
    struct delta delta;
    int rc = full ? payload_parse_full(exact, &states, &graph, NULL)
                  : payload_parse_delta(exact, &delta, NULL);
    if (rc == 0 && full)
        states_release(&states);
    else if (rc == 0)
        delta_release(&delta);
    free(copy);
    return rc;
}

/* Our own check alone must refuse: libtpl is never asked about such bytes. */
static void expect_unframed(struct str image, bool full)
{
    ck_assert_int_eq(image_check(image, full ? "uBB" : "UUB", NULL), CAIRN_EDAMAGED);
    ck_assert_int_eq(parse_any(image, full), CAIRN_EDAMAGED);
}

static void make_image(bool full, struct buf *out)
{
    if (full) {
        struct states states = random_states(1 + below(50));
        struct digest graph = random_digest();
        ck_assert_int_eq(payload_full(&states, &graph, out, NULL), 0);
        states_release(&states);
        return;
    }
    struct change changes[20];
    uint32_t n = 1 + below(20);
    for (uint32_t i = 0; i < n; i++)
        changes[i] = random_change(3 * i);
    ck_assert_int_eq(payload_delta(5, 6, changes, n, out, NULL), 0);
}

static void set_u32(struct buf *image, size_t at, uint32_t value)
{
    memcpy(image->data + at, &value, sizeof value);
}

START_TEST(truncated_and_extended)
{
    for (int full = 0; full < 2; full++) {
        struct buf image = BUF_INIT;
        make_image(full, &image);
        size_t whole = image.size;
        for (int patched = 0; patched < 2; patched++)
            for (size_t n = 0; n < whole; n++) {
                if (patched) /* with a length field that fits */
                    set_u32(&image, 4, (uint32_t)n);
                expect_unframed((struct str){image.data, n}, full);
            }
        for (size_t n = whole + 1; n < whole + 40; n++) {
            buf_byte(&image, 0);
            set_u32(&image, 4, (uint32_t)n);
            expect_unframed(buf_view(&image), full);
            set_u32(&image, 4, (uint32_t)whole);
            expect_unframed(buf_view(&image), full);
        }
        buf_release(&image);
    }
}
END_TEST

START_TEST(head_of_the_image)
{
    for (int full = 0; full < 2; full++) {
        struct buf image = BUF_INIT;
        make_image(full, &image);
        ck_assert_int_eq(parse_any(buf_view(&image), full), 0);
        ck_assert_int_eq(parse_any(buf_view(&image), !full), CAIRN_EDAMAGED);
        for (size_t i = 0; i < 12; i++)
            for (int bit = 0; bit < 8; bit++) {
                image.data[i] = (char)(image.data[i] ^ (1 << bit));
                ck_assert_int_eq(parse_any(buf_view(&image), full), CAIRN_EDAMAGED);
                image.data[i] = (char)(image.data[i] ^ (1 << bit));
            }
        buf_release(&image);
    }
}
END_TEST

/* What is accepted must be the one encoding of what it says. */
static void check_canonical(struct str image, bool full)
{
    struct buf again = BUF_INIT;
    if (full) {
        struct states states;
        struct digest graph;
        ck_assert_int_eq(payload_parse_full(image, &states, &graph, NULL), 0);
        ck_assert_int_eq(payload_full(&states, &graph, &again, NULL), 0);
        states_release(&states);
    } else {
        struct delta delta;
        struct changes changes = {.n = 0};
        ck_assert_int_eq(payload_parse_delta(image, &delta, NULL), 0);
        ck_assert_uint_le(delta.n, 64);
        ck_assert_int_eq(delta_each(&delta, LIMIT_TASKS, collect, &changes, NULL), 0);
        ck_assert_int_eq(payload_delta(delta.base, delta.graph_tag, changes.at,
                                       changes.n, &again, NULL),
                         0);
        delta_release(&delta);
    }
    ck_assert_uint_le(again.size, image.len); /* varints may be padded */
    buf_release(&again);
}

START_TEST(mutated_images)
{
    int accepted = 0, refused = 0;
    printf("check_payload: seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 20000; i++) {
        bool full = below(2);
        struct buf image = BUF_INIT;
        make_image(full, &image);
        for (uint32_t n = 1 + below(4); n > 0; n--) {
            size_t at = below((uint32_t)image.size);
            static const uint32_t nasty[] = {0, 0x7fffffff, 0x80000000, 0xffffffff};
            if (below(6) == 0 && at + 4 <= image.size)
                set_u32(&image, at, nasty[below(4)]);
            else
                image.data[at] = (char)(image.data[at] ^ (1 << below(8)));
        }
        if (below(8) == 0)
            image.size -= below((uint32_t)image.size);
        if (below(2))
            set_u32(&image, 4, (uint32_t)image.size);
        int rc = parse_any(buf_view(&image), full);
        ck_assert(rc == 0 || rc == CAIRN_EDAMAGED);
        if (rc == 0)
            check_canonical(buf_view(&image), full);
        *(rc ? &refused : &accepted) += 1;
        buf_release(&image);
    }
    printf("check_payload: %d mutated images refused, %d still well-formed\n", refused,
           accepted);
    ck_assert_int_gt(refused, 10000);
}
END_TEST

/* Packed fields that are well framed and still wrong. */
START_TEST(packed_states)
{
    static const struct {
        const char *what;
        const char *bytes;
        size_t n;
    } wrong[] = {
        {"nothing", "", 0},
        {"too few", "\x04\x01", 2},
        {"too many", "\x06\x01", 2},
        {"no length", "\x00\x01\x05\x01", 4},
        {"outcome 8", "\x05\x08", 2},
        {"equal runs", "\x02\x01\x03\x01", 4},
        {"no attempts", "\x05\x41", 2},
        {"attempts 1", "\x05\x41\x01", 3},
        {"attempts 2^32", "\x05\x41\x80\x80\x80\x80\x10", 7},
        {"short digest",
         "\x05\x81"
         "0123456789",
         12},
        {"zero digest",
         "\x05\x81\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
         34},
        {"a longer varint than need be", "\x85\x00\x01", 3},
        {"long attempts", "\x05\x41\x82\x00", 4},
        {"huge run", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01", 11},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct states states;
        struct str packed = {wrong[i].bytes, wrong[i].n};
        ck_assert_int_eq(states_init(&states, 5, NULL), 0);
        ck_assert_msg(unpack_runs(packed, &states, NULL) == CAIRN_EDAMAGED, "%s",
                      wrong[i].what);
        states_release(&states);
    }
    struct states states;
    ck_assert_int_eq(states_init(&states, 5, NULL), 0);
    ck_assert_int_eq(unpack_runs(STR("\x02\x01\x03\x42\x00"), &states, NULL), 0);
    ck_assert_uint_eq(states.outcome[4], CAIRN_FAILED);
    states_release(&states);
}
END_TEST

START_TEST(packed_changes)
{
    struct change change;
    struct change_reader reader = change_reader_of(STR("\x02\x01\x00\x01"), 10);
    ck_assert_int_eq(change_next(&reader, &change, NULL), 1);
    ck_assert_uint_eq(change.task, 2);
    ck_assert_int_eq(change_next(&reader, &change, NULL), CAIRN_EDAMAGED);
    reader = change_reader_of(STR("\x02\x01\x07\x01\x01\x01"), 10);
    ck_assert_int_eq(change_next(&reader, &change, NULL), 1);
    ck_assert_int_eq(change_next(&reader, &change, NULL), 1);
    ck_assert_uint_eq(change.task, 9);
    ck_assert_int_eq(change_next(&reader, &change, NULL), CAIRN_EDAMAGED);
    reader = change_reader_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01"), 10);
    ck_assert_int_eq(change_next(&reader, &change, NULL), CAIRN_EDAMAGED);
}
END_TEST

START_TEST(claims_of_size)
{
    struct states states;
    struct digest graph = random_digest();
    struct buf image = BUF_INIT;
    ck_assert_int_eq(states_init(&states, 3, NULL), 0);
    ck_assert_int_eq(payload_full(&states, &graph, &image, NULL), 0);
    static const uint32_t wrong[] = {0, 2, 4, LIMIT_TASKS, LIMIT_TASKS + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        set_u32(&image, 12, wrong[i]);
        ck_assert_int_eq(parse_any(buf_view(&image), true), CAIRN_EDAMAGED);
    }
    set_u32(&image, 12, 3);
    ck_assert_int_eq(parse_any(buf_view(&image), true), 0);
    states_release(&states);
    buf_release(&image);
    ck_assert_int_eq(states_init(&states, LIMIT_TASKS + 1, NULL), CAIRN_ELIMIT);
}
END_TEST

START_TEST(copies_and_tallies)
{
    struct states states = random_states(500), copy;
    ck_assert_int_eq(states_copy(&copy, &states, NULL), 0);
    ck_assert(same_states(&states, &copy));
    struct tally tally = states_tally(&copy);
    uint32_t pending = 0;
    for (uint32_t i = 0; i < copy.n; i++)
        pending += copy.outcome[i] == CAIRN_PENDING;
    ck_assert_uint_eq(tally_done(&tally) + pending, 500);
    struct change change = {.task = 500, .outcome = 1};
    ck_assert_int_eq(states_apply(&copy, &change, NULL), CAIRN_EDAMAGED);
    states_release(&states);
    states_release(&copy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("payload");
    TCase *tests = tcase_create("payload");
    tcase_set_timeout(tests, 120); /* under valgrind */
    tcase_add_test(tests, full_round_trips);
    tcase_add_test(tests, equal_tasks_are_one_run);
    tcase_add_test(tests, one_other_task);
    tcase_add_test(tests, delta_round_trips);
    tcase_add_test(tests, grown_round_trips);
    tcase_add_test(tests, full_for_round_trips);
    tcase_add_test(tests, wrong_changes_are_not_written);
    tcase_add_test(tests, truncated_and_extended);
    tcase_add_test(tests, head_of_the_image);
    tcase_add_test(tests, mutated_images);
    tcase_add_test(tests, packed_states);
    tcase_add_test(tests, packed_changes);
    tcase_add_test(tests, claims_of_size);
    tcase_add_test(tests, copies_and_tallies);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
