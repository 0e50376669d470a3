/* SPDX-License-Identifier: MIT */
/* Items as a tree by their numbers, beside an array of them: whatever is changed in
 * which order, the same items are the same tree, and a damaged one is refused. */
#include "checkpoint/nodes/numbered.h"
#include "storage/object.h"
#include "storage/store_int.h"
#include "tests/support/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 70000, ROUNDS = 150, MOST = 12 };

static unsigned bodies[2][NUMBERS]; /* by number; 0: there is none */

struct telling {
    unsigned (*seen)[NUMBERS];
    uint32_t last, n;
};

static int see(void *context, int of, uint32_t n, struct str body)
{
    struct telling *t = context;
    ck_assert_uint_lt(n, NUMBERS);
    t->seen[of][n] = (unsigned)strtoul(body.ptr, NULL, 10);
    t->n++;
    return 0;
}

static int see_one(void *context, uint32_t n, struct str body)
{
    struct telling *t = context;
    ck_assert_uint_gt(n, t->last);
    t->last = n;
    return see(t, 0, n, body);
}

static int was(void *context, uint32_t n, struct str body)
{
    ck_assert_uint_eq(bodies[1][n], strtoul(body.ptr, NULL, 10));
    ++*(unsigned *)context;
    return 0;
}

static uint32_t seed = 35;

static uint32_t below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static void change(struct cairn_store *store, struct numbered *tree,
                   const struct numbered_item *items, size_t n, unsigned expected)
{
    struct numbered_objects made = {.arena = ARENA_INIT};
    struct numbered after;
    unsigned replaced = 0;
    good(numbered_change(store, tree, items, n, was, &replaced, &made, &after, &error));
    ck_assert_uint_eq(replaced, expected);
    ck_assert_uint_le(made.n, n * 7);
    good(numbered_put(store, &made, &error));
    numbered_objects_release(&made);
    *tree = after;
}

/* Some changes, ascending; few ranges, so that leaves and whole levels come and go. */
static size_t choose(struct numbered_item items[MOST], char texts[MOST][16],
                     uint32_t range, unsigned *expected)
{
    size_t n = 0;
    uint32_t number = 0;
    *expected = 0;
    for (size_t i = 0; i < MOST; i++) {
        number += 1 + below(range / MOST);
        if (number >= range)
            break;
        unsigned body = below(3) ? 1 + below(1000) : 0;
        *expected += bodies[0][number] != 0;
        bodies[1][number] = bodies[0][number];
        bodies[0][number] = body;
        snprintf(texts[n], 16, "%u.", body);
        items[n] = (struct numbered_item){number, body != 0, str_of(texts[n])};
        n++;
    }
    return n;
}

static void compare_whole(struct cairn_store *store, const struct numbered *tree)
{
    static unsigned seen[2][NUMBERS];
    struct telling t = {.seen = seen};
    memset(seen, 0, sizeof seen);
    good(numbered_each(store, tree, see_one, &t, &error));
    ck_assert_uint_eq(t.n, tree->n);
    ck_assert_int_eq(memcmp(seen[0], bodies[0], sizeof bodies[0]), 0);
}

/* The same items, all at once. */
static void compare_built(struct cairn_store *store, const struct numbered *tree)
{
    const struct numbered none = {.n = 0};
    struct numbered_objects made = {.arena = ARENA_INIT};
    struct numbered_item *items = calloc(NUMBERS, sizeof *items);
    char(*texts)[16] = calloc(NUMBERS, sizeof *texts);
    struct numbered built;
    size_t n = 0;
    ck_assert(items && texts);
    for (uint32_t i = 1; i < NUMBERS; i++) {
        if (!bodies[0][i])
            continue;
        snprintf(texts[n], 16, "%u.", bodies[0][i]);
        items[n] = (struct numbered_item){i, true, str_of(texts[n])};
        n++;
    }
    good(numbered_change(store, &none, items, n, NULL, NULL, &made, &built, &error));
    ck_assert_uint_eq(built.n, tree->n);
    ck_assert(digest_equal(&built.root, &tree->root));
    numbered_objects_release(&made);
    free(items);
    free(texts);
}

START_TEST(model)
{
    static const uint32_t ranges[] = {40, 1500, 40000, 69000};
    static unsigned seen[2][NUMBERS];
    struct cairn_store *store = open_store();
    struct numbered tree = {.n = 0};
    good(store_begin(store, -1, &error));
    for (int round = 0; round < ROUNDS; round++) {
        struct numbered_item items[MOST];
        char texts[MOST][16];
        struct telling t = {.seen = seen};
        unsigned expected;
        size_t n = choose(items, texts, ranges[below(round < 100 ? 4 : 2)], &expected);
        struct numbered both[2] = {tree, {.n = 0}};
        int bad;
        change(store, &tree, items, n, expected);
        both[1] = tree;
        memset(seen, 0, sizeof seen);
        good(numbered_apart(store, both, see, &t, &bad, &error));
        for (size_t i = 0; i < n; i++) {
            unsigned before = bodies[1][items[i].n], after = bodies[0][items[i].n];
            ck_assert_uint_eq(seen[0][items[i].n], before == after ? 0 : before);
            ck_assert_uint_eq(seen[1][items[i].n], before == after ? 0 : after);
        }
        ck_assert_uint_le(t.n, 2 * n);
        if (round % 10 == 0) {
            compare_whole(store, &tree);
            compare_built(store, &tree);
        }
    }
    /* All but two go, and the tree becomes as low as they allow. */
    struct numbered_item *gone = calloc(NUMBERS, sizeof *gone);
    size_t n = 0;
    ck_assert_ptr_nonnull(gone);
    for (uint32_t i = 40; i < NUMBERS; i++)
        if (bodies[0][i]) {
            gone[n++] = (struct numbered_item){.n = i};
            bodies[1][i] = bodies[0][i];
            bodies[0][i] = 0;
        }
    change(store, &tree, gone, n, (unsigned)n);
    compare_built(store, &tree);
    free(gone);
    good(store_commit(store, &error));
    cairn_store_close(store);
}
END_TEST

/* Another number of items than the tree has, and an object that is no node of one. */
START_TEST(damaged)
{
    struct cairn_store *store = open_store();
    struct numbered tree = {.n = 0}, wrong;
    const struct numbered_item items[] = {{1, true, STR("1.")}, {70, true, STR("2.")}};
    struct telling t = {.seen = bodies};
    good(store_begin(store, -1, &error));
    change(store, &tree, items, 2, 0);
    wrong = tree;
    wrong.n++;
    ck_assert_int_eq(numbered_each(store, &wrong, see_one, &t, &error), CAIRN_EDAMAGED);
    wrong = tree;
    good(store_put_object(store, STR("no node"), &wrong.root, &error));
    ck_assert_int_eq(numbered_each(store, &wrong, see_one, &t, &error), CAIRN_EDAMAGED);
    wrong.root.bytes[0] ^= 1;
    ck_assert_int_eq(numbered_each(store, &wrong, see_one, &t, &error), CAIRN_EDAMAGED);
    ck_assert_uint_eq(t.n, 0);
    good(store_commit(store, &error));
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("numbered");
    TCase *tests = tcase_create("numbered");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, model);
    tcase_add_test(tests, damaged);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
