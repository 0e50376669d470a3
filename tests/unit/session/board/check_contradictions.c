/* SPDX-License-Identifier: MIT */
/* Pairs that cannot both be true, against a look at every pair. */
#include "session/board/beliefs.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

static struct cairn_error failure;

static struct contradictions find(const struct belief_board *board, uint32_t only)
{
    struct contradictions out;
    ck_assert_int_eq(belief_contradictions(board, only, &out, NULL), 0);
    return out;
}

START_TEST(test_thresholds_and_subjects)
{
    struct belief beliefs[] = {
        {STR("layer 2"), STR("bad weights"), false, 0.8},
        {STR("layer 2"), STR("bad weights"), true, 0.71},
        {STR("layer 3"), STR("bad weights"), true, 0.9},
        {STR("layer 2"), STR("bad weight"), true, 0.9},
        {STR(""), STR("bad weights"), true, 0.9},
        {STR(""), STR("bad weights"), false, 0.9},
    };
    struct belief_board board = {beliefs, 6, NULL, 0};
    struct contradictions found = find(&board, BELIEF_ANY);
    ck_assert_uint_eq(found.n, 1);
    ck_assert(found.at[0].a == 0 && found.at[0].b == 1 && found.at[0].opposite);
    free(found.at);
    beliefs[1].confidence = 0.7; /* at the threshold: not believed enough */
    found = find(&board, BELIEF_ANY);
    ck_assert(found.n == 0 && found.total == 0);
    free(found.at);
    beliefs[1].confidence = 0.71;
    beliefs[0].confidence = 0.7;
    found = find(&board, BELIEF_ANY);
    ck_assert_uint_eq(found.n, 0);
    free(found.at);
}
END_TEST

START_TEST(test_edges_name_others)
{
    struct belief beliefs[] = {
        {STR("offset"), STR("= 5"), false, 0.8},
        {STR("offset"), STR("= 6"), false, 0.8},
        {STR("offset"), STR("= 6"), true, 0.8},
        {STR("size"), STR("= 6"), false, 0.2},
    };
    const struct dependency edges[] = {
        {1, 0, DEPENDENCY_CONTRADICTS}, {0, 1, DEPENDENCY_CONTRADICTS},
        {1, 2, DEPENDENCY_CONTRADICTS}, {0, 3, DEPENDENCY_CONTRADICTS},
        {0, 2, DEPENDENCY_CAUSE},
    };
    struct belief_board board = {beliefs, 4, edges, 5};
    struct contradictions found = find(&board, BELIEF_ANY);
    ck_assert(found.n == 2 && found.total == 2);
    ck_assert(found.at[0].a == 0 && found.at[0].b == 1 && !found.at[0].opposite);
    ck_assert(found.at[1].a == 1 && found.at[1].b == 2 && found.at[1].opposite);
    free(found.at);
    found = find(&board, 2);
    ck_assert(found.n == 1 && found.at[0].a == 1);
    free(found.at);
    found = find(&board, 3);
    ck_assert_uint_eq(found.n, 0);
    free(found.at);
}
END_TEST

START_TEST(test_contradictions_refuse)
{
    struct belief beliefs[] = {{STR("a"), STR("b"), false, NAN}};
    const struct dependency edge = {0, 1, DEPENDENCY_CONTRADICTS};
    struct belief_board board = {beliefs, 1, NULL, 0};
    struct contradictions out = {.n = 7};
    ck_assert_int_eq(belief_contradictions(&board, BELIEF_ANY, &out, &failure),
                     CAIRN_EUSAGE);
    beliefs[0].confidence = 1;
    ck_assert_int_eq(belief_contradictions(&board, 1, &out, &failure), CAIRN_ENOTFOUND);
    board = (struct belief_board){beliefs, 1, &edge, 1};
    ck_assert_int_eq(belief_contradictions(&board, BELIEF_ANY, &out, &failure),
                     CAIRN_EUSAGE);
    ck_assert_uint_eq(out.n, 7);
    board = (struct belief_board){NULL, 0, NULL, 0};
    out = find(&board, BELIEF_ANY);
    ck_assert(out.n == 0 && out.total == 0);
}
END_TEST

START_TEST(test_many_are_counted)
{
    enum { N = 300 };
    struct belief *beliefs = calloc(N, sizeof *beliefs);
    ck_assert_ptr_nonnull(beliefs);
    for (int i = 0; i < N; i++)
        beliefs[i] = (struct belief){STR("s"), STR("c"), i % 2 == 0, 0.9};
    struct belief_board board = {beliefs, N, NULL, 0};
    struct contradictions found = find(&board, BELIEF_ANY);
    ck_assert_uint_eq(found.total, N / 2 * N / 2);
    ck_assert_uint_eq(found.n, CONTRADICTIONS_MOST);
    free(found.at);
    found = find(&board, N - 1);
    ck_assert(found.n == N / 2 && found.total == N / 2);
    free(found.at);
    free(beliefs);
}
END_TEST

START_TEST(test_like_a_look_at_every_pair)
{
    static const struct str words[] = {STR(""), STR("a"), STR("b"), STR("ab")};
    uint64_t seed = 70;
    uint64_t all = 0;
    for (int round = 0; round < 10000; round++) {
        enum { MOST = 9 };
        struct belief beliefs[MOST];
        struct dependency edges[8];
        bool named[MOST][MOST] = {{false}};
        uint32_t n = 1 + help_below(&seed, MOST), next = 0;
        size_t many = help_below(&seed, 9);
        for (uint32_t i = 0; i < n; i++)
            beliefs[i] = (struct belief){
                words[help_below(&seed, 4)], words[1 + help_below(&seed, 2)],
                help_below(&seed, 2), (60 + help_below(&seed, 41)) / 100.0};
        for (size_t e = 0; e < many; e++) {
            edges[e] = (struct dependency){help_below(&seed, n), help_below(&seed, n),
                                           help_below(&seed, 3) ? DEPENDENCY_CONTRADICTS
                                                                : DEPENDENCY_CAUSE};
            if (edges[e].kind == DEPENDENCY_CONTRADICTS)
                named[edges[e].from][edges[e].to] = named[edges[e].to][edges[e].from] =
                    true;
        }
        uint32_t only = help_below(&seed, 2) ? BELIEF_ANY : help_below(&seed, n);
        struct belief_board board = {beliefs, n, edges, many};
        struct contradictions found = find(&board, only);
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = a + 1; b < n; b++) {
                const struct belief *x = &beliefs[a], *y = &beliefs[b];
                bool opposite = x->subject.len && str_equal(x->subject, y->subject) &&
                                str_equal(x->claim, y->claim) && x->denied != y->denied;
                if (x->confidence > 0.7 + 1e-9 && y->confidence > 0.7 + 1e-9 &&
                    (opposite || named[a][b]) &&
                    (only == BELIEF_ANY || only == a || only == b)) {
                    ck_assert(next < found.n);
                    ck_assert(found.at[next].a == a && found.at[next].b == b);
                    ck_assert(found.at[next++].opposite == opposite);
                }
            }
        ck_assert(found.n == next && found.total == next);
        all += next;
        free(found.at);
    }
    ck_assert(all > 3000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contradictions");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_thresholds_and_subjects);
    tcase_add_test(c, test_edges_name_others);
    tcase_add_test(c, test_contradictions_refuse);
    tcase_add_test(c, test_many_are_counted);
    tcase_add_test(c, test_like_a_look_at_every_pair);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
