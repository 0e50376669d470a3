/* SPDX-License-Identifier: MIT */
/* How a change of confidence is carried on, and its pages. */
#include "session/board/beliefs.h"

#include "session/board/confidence.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

static struct cairn_error failure;

static struct belief_graph build(uint32_t n, const struct dependency *edges,
                                 size_t many)
{
    struct belief_graph graph;
    ck_assert_int_eq(belief_graph_init(&graph, n, edges, many, NULL), 0);
    return graph;
}

/* Belief i + 1 depends on belief i; or all on the first. */
static struct belief_graph build_many(uint32_t n, bool star)
{
    struct dependency *edges = malloc((n + 1) * sizeof *edges);
    ck_assert_ptr_nonnull(edges);
    for (uint32_t i = 0; i + 1 < n; i++)
        edges[i] = (struct dependency){i + 1, star ? 0 : i, DEPENDENCY_IMPLICATION};
    struct belief_graph graph = build(n, edges, n - 1);
    free(edges);
    return graph;
}

static double *all(uint32_t n, double value)
{
    double *list = malloc(n * sizeof *list);
    ck_assert_ptr_nonnull(list);
    for (uint32_t i = 0; i < n; i++)
        list[i] = value;
    return list;
}

START_TEST(test_chain_of_three)
{
    struct belief_graph graph = build_many(3, false);
    const double before[] = {0.5, 0.6, 0.7};
    struct cascade cascade;
    ck_assert_int_eq(belief_cascade(&graph, before, 0, 0.8, &cascade, NULL), 0);
    ck_assert_uint_eq(cascade.n, 3);
    const double after[] = {0.8, 0.76, 0.722};
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(cascade.steps[i].node, i);
        ck_assert_uint_eq(cascade.steps[i].depth, i);
        ck_assert(cascade.steps[i].before == before[i]);
        ck_assert_double_eq_tol(cascade.steps[i].after, after[i], 1e-12);
    }
    cascade_release(&cascade);
    ck_assert_int_eq(belief_cascade(&graph, before, 2, 0.01, &cascade, NULL), 0);
    ck_assert_uint_eq(cascade.n, 1);
    ck_assert(cascade.steps[0].after == 0.01);
    struct cascade longer;
    ck_assert_int_eq(belief_cascade(&graph, before, 1, 0.01, &longer, NULL), 0);
    ck_assert(!cascade_equal(&cascade, &longer));
    cascade_release(&longer);
    cascade_release(&cascade);
    belief_graph_release(&graph);
}
END_TEST

START_TEST(test_floor)
{
    struct belief_graph graph = build_many(60, false);
    double *before = all(60, 0.5);
    struct cascade cascade;
    ck_assert_int_eq(belief_cascade(&graph, before, 0, 1, &cascade, NULL), 0);
    ck_assert(cascade.steps[44].after > CASCADE_FLOOR);
    ck_assert(cascade.steps[45].after == CASCADE_FLOOR);
    ck_assert(cascade.steps[59].after == CASCADE_FLOOR);
    cascade_release(&cascade);
    free(before);
    belief_graph_release(&graph);
}
END_TEST

START_TEST(test_refusals)
{
    struct belief_graph graph = build_many(3, false);
    const double before[] = {0.5, NAN, 0.7}, good[] = {0, 1, 0.5};
    struct cascade cascade = {.n = 7};
    ck_assert_int_eq(belief_cascade(&graph, before, 0, 0.8, &cascade, &failure),
                     CAIRN_EUSAGE);
    ck_assert_int_eq(belief_cascade(&graph, good, 0, NAN, &cascade, &failure),
                     CAIRN_EUSAGE);
    ck_assert_int_eq(belief_cascade(&graph, good, 0, 1.5, &cascade, &failure),
                     CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text, "confidence is 1.5; give a number from 0 to 1");
    ck_assert_int_eq(belief_cascade(&graph, good, 3, 0.5, &cascade, &failure),
                     CAIRN_ENOTFOUND);
    ck_assert_uint_eq(cascade.n, 7);
    belief_graph_release(&graph);
}
END_TEST

START_TEST(test_limit_and_pages)
{
    struct cascade cascade;
    struct cascade_page page;
    for (uint32_t n = CASCADE_MOST; n <= CASCADE_MOST + 1; n++) {
        struct belief_graph graph = build_many(n, true);
        double *before = all(n, 0.5);
        int rc = belief_cascade(&graph, before, 0, 0.8, &cascade, &failure);
        ck_assert_int_eq(rc, n == CASCADE_MOST ? 0 : CAIRN_ELIMIT);
        if (!rc) {
            ck_assert_uint_eq(cascade.n, CASCADE_MOST);
            ck_assert_int_eq(cascade_page(&cascade, 200, &page, NULL), 0);
            ck_assert_uint_eq(page.n, CASCADE_PAGE);
            ck_assert_uint_eq(page.steps[CASCADE_PAGE - 1].node, CASCADE_MOST - 1);
            cascade_release(&cascade);
        }
        free(before);
        belief_graph_release(&graph);
    }
    ck_assert_ptr_nonnull(strstr(failure.text, "10001 beliefs, and 10000"));

    struct belief_graph graph = build_many(101, false);
    double *before = all(101, 0.5);
    ck_assert_int_eq(belief_cascade(&graph, before, 0, 0.8, &cascade, NULL), 0);
    for (uint32_t i = 1, seen = 0; i <= 3; i++) {
        ck_assert_int_eq(cascade_page(&cascade, i, &page, NULL), 0);
        ck_assert_uint_eq(page.n, i < 3 ? 50 : 1);
        ck_assert(page.page == i && page.pages == 3);
        for (uint32_t j = 0; j < page.n; j++)
            ck_assert_uint_eq(page.steps[j].node, seen++);
    }
    ck_assert_int_eq(cascade_page(&cascade, 0, &page, &failure), CAIRN_EUSAGE);
    ck_assert_int_eq(cascade_page(&cascade, 4, &page, &failure), CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text, "there is no page 4; the pages are 1 to 3");
    cascade_release(&cascade);
    free(before);
    belief_graph_release(&graph);
}
END_TEST

/* Levels in rounds over all edges, and applying, undoing, and a preview that is stale.
 */
START_TEST(test_like_levels_in_rounds)
{
    uint64_t seed = 20;
    enum { MOST = 12 };
    for (int round = 0; round < 10000; round++) {
        uint32_t n = 1 + help_below(&seed, MOST), level[MOST], changed = 0;
        size_t many = 0;
        struct dependency edges[30];
        double before[MOST];
        for (uint32_t tries = n > 1 ? help_below(&seed, 30) : 0; tries; tries--) {
            uint32_t a = help_below(&seed, n), b = help_below(&seed, n);
            if (a > b) /* so there is no circle */
                edges[many++] = (struct dependency){
                    a, b, (enum dependency_kind)(1 + help_below(&seed, 7))};
        }
        for (uint32_t i = 0; i < n; i++)
            before[i] = help_below(&seed, 101) / 100.0;
        uint32_t node = help_below(&seed, n);
        double value = help_below(&seed, 101) / 100.0;
        for (uint32_t i = 0; i < n; i++)
            level[i] = i == node ? 0 : UINT32_MAX;
        for (uint32_t at = 0; at < n; at++)
            for (size_t e = 0; e < many; e++)
                if (edges[e].kind != DEPENDENCY_CONTRADICTS &&
                    level[edges[e].to] == at && level[edges[e].from] == UINT32_MAX)
                    level[edges[e].from] = at + 1;

        struct belief_graph graph = build(n, edges, many);
        struct cascade cascade, again;
        ck_assert_int_eq(belief_cascade(&graph, before, node, value, &cascade, NULL),
                         0);
        for (uint32_t i = 0; i < n; i++)
            changed += level[i] != UINT32_MAX;
        ck_assert_uint_eq(cascade.n, changed);
        for (uint32_t i = 0; i < cascade.n; i++) {
            const struct cascade_step *step = &cascade.steps[i];
            double expected = value * pow(0.95, level[step->node]);
            ck_assert_uint_eq(step->depth, level[step->node]);
            ck_assert(i == 0 || step->depth >= cascade.steps[i - 1].depth);
            if (step->depth && expected < CASCADE_FLOOR)
                expected = CASCADE_FLOOR;
            ck_assert_double_eq_tol(step->after, expected, 1e-12);
            ck_assert(step->before == before[step->node]);
        }
        ck_assert_int_eq(belief_cascade(&graph, before, node, value, &again, NULL), 0);
        ck_assert(cascade_equal(&cascade, &again));
        cascade_release(&again);
        uint32_t other = help_below(&seed, n);
        double old = before[other];
        before[other] = old < 0.5 ? old + 0.25 : old - 0.25;
        ck_assert_int_eq(belief_cascade(&graph, before, node, value, &again, NULL), 0);
        ck_assert(cascade_equal(&cascade, &again) == (level[other] == UINT32_MAX));
        cascade_release(&again);
        cascade_release(&cascade);
        belief_graph_release(&graph);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cascade");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_chain_of_three);
    tcase_add_test(c, test_floor);
    tcase_add_test(c, test_refusals);
    tcase_add_test(c, test_limit_and_pages);
    tcase_add_test(c, test_like_levels_in_rounds);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
