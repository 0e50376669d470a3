/* SPDX-License-Identifier: MIT */
/* Where the nodes of a graph stand in a picture: random graphs, circles, long edges. */
#include "tests/support/random.h"
#include "tests/support/suite.h"
#include "web/layout.h"

#include <math.h>
#include <stdlib.h>

static struct layout layout;
static struct cairn_error failure;

static void teardown(void)
{
    layout_release(&layout);
}

static struct layout_edge *edges_of(uint32_t n)
{
    return calloc((size_t)n + 1, sizeof(struct layout_edge));
}

/* An edge goes to the right, and so do its bends, one in each layer between. */
static void check_edge(const struct layout_edge *edge)
{
    uint32_t layer = layout.nodes[edge->back ? edge->to : edge->from].layer;
    uint32_t end = layout.nodes[edge->back ? edge->from : edge->to].layer;
    if (edge->back)
        return;
    ck_assert_uint_lt(layer, end);
    if (edge->n_bends > 0)
        ck_assert_uint_eq(edge->n_bends, end - layer - 1);
    for (uint32_t i = 0; i < edge->n_bends; i++)
        ck_assert_uint_eq(layout.bends[edge->bend + i].layer, layer + i + 1);
}

static void check_places(void)
{
    for (uint32_t i = 0; i < layout.n; i++) {
        const struct layout_place *a = &layout.nodes[i];
        ck_assert_uint_lt(a->layer, layout.layers);
        ck_assert(a->row >= 0 && a->row <= layout.rows);
        for (uint32_t k = 0; k < i; k++)
            ck_assert(layout.nodes[k].layer != a->layer ||
                      fabsf(layout.nodes[k].row - a->row) > 0.99f);
    }
    for (uint32_t i = 0; i < layout.n_edges; i++)
        check_edge(&layout.edges[i]);
}

START_TEST(random_graphs)
{
    for (uint64_t seed = 1; seed <= (uint64_t)help_rounds(60, 600); seed++) {
        uint64_t random = seed;
        uint32_t n = 1 + help_below(&random, 60), n_edges = help_below(&random, 150);
        uint32_t kept = 0;
        struct layout_edge *edges = edges_of(n_edges);
        for (uint32_t i = 0; i < n_edges; i++) {
            uint32_t a = help_below(&random, n), b = help_below(&random, n);
            if (a != b)
                edges[kept++] =
                    (struct layout_edge){.from = a < b ? a : b, .to = a < b ? b : a};
        }
        ck_assert_int_eq(layout_make(&layout, n, edges, kept, &failure), 0);
        for (uint32_t i = 0; i < kept; i++)
            ck_assert(!layout.edges[i].back);
        check_places();
        layout_release(&layout);
    }
}
END_TEST

START_TEST(circles_are_cut)
{
    for (uint64_t seed = 1; seed <= (uint64_t)help_rounds(60, 600); seed++) {
        uint64_t random = seed;
        uint32_t n = 2 + help_below(&random, 20), n_edges = 1 + help_below(&random, 60);
        struct layout_edge *edges = edges_of(n_edges);
        for (uint32_t i = 0; i < n_edges; i++) {
            uint32_t a = help_below(&random, n);
            edges[i] = (struct layout_edge){
                .from = a, .to = (a + 1 + help_below(&random, n - 1)) % n};
        }
        ck_assert_int_eq(layout_make(&layout, n, edges, n_edges, &failure), 0);
        check_places();
        layout_release(&layout);
    }
}
END_TEST

START_TEST(a_chain_is_a_line)
{
    struct layout_edge *edges = edges_of(9);
    for (uint32_t i = 0; i < 9; i++)
        edges[i] = (struct layout_edge){.from = i, .to = i + 1};
    ck_assert_int_eq(layout_make(&layout, 10, edges, 9, &failure), 0);
    ck_assert_uint_eq(layout.layers, 10);
    for (uint32_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(layout.nodes[i].layer, i);
        ck_assert(layout.nodes[i].row == 0);
    }
}
END_TEST

/* A long chain of which everything is needed at its end: half of n * n bends. */
START_TEST(bends_have_a_bound)
{
    enum { N = 600 };
    struct layout_edge *edges = edges_of(2 * N);
    uint32_t n = 0;
    for (uint32_t i = 0; i + 1 < N; i++) {
        edges[n++] = (struct layout_edge){.from = i, .to = i + 1};
        if (i + 2 < N)
            edges[n++] = (struct layout_edge){.from = i, .to = N - 1};
    }
    ck_assert_int_eq(layout_make(&layout, N, edges, n, &failure), 0);
    ck_assert_uint_le(layout.n_bends, LAYOUT_BENDS_MAX);
    ck_assert_uint_gt(layout.n_bends, 0);
    check_places();
}
END_TEST

START_TEST(nothing)
{
    ck_assert_int_eq(layout_make(&layout, 0, edges_of(0), 0, &failure), 0);
    ck_assert_uint_eq(layout.layers, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("page_layout");
    TCase *tests = tcase_create("layout");
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_test(tests, random_graphs);
    tcase_add_test(tests, circles_are_cut);
    tcase_add_test(tests, a_chain_is_a_line);
    tcase_add_test(tests, bends_have_a_bound);
    tcase_add_test(tests, nothing);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
