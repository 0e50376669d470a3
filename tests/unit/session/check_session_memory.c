/* SPDX-License-Identifier: MIT */
/* make: wrap=malloc,calloc,realloc */
/* Each allocation refused in turn: CAIRN_ENOMEM, and the output is left alone, until
 * nothing is refused any more. */
#include "session/board/beliefs.h"
#include "session/board/confidence.h"
#include "session/keep.h"

#include "tests/support/memory/refuse_allocations.h"
#include "tests/support/suite.h"

#include <stdlib.h>

/* libcheck allocates, too. */
static int disarmed(int rc)
{
    allocations_left = 0;
    return rc;
}

enum { N = 6 };
static const struct dependency edges[] = {{1, 0, DEPENDENCY_CAUSE},
                                          {2, 1, DEPENDENCY_CAUSE},
                                          {3, 0, DEPENDENCY_CONTRADICTS},
                                          {4, 2, DEPENDENCY_CAUSE},
                                          {5, 4, DEPENDENCY_CAUSE}};
enum { N_EDGES = sizeof edges / sizeof edges[0] };
static const struct str ids[N] = {STR("b1"), STR("b2"), STR("b3"),
                                  STR("b4"), STR("b5"), STR("b6")};
static struct belief_graph graph;
static struct cairn_error failure;

/* Each of these looks at its own output: untouched unless it returns 0. */
static int make_graph(void)
{
    struct belief_graph made = {.n = 77};
    int rc = disarmed(belief_graph_init(&made, N, edges, N_EDGES, &failure));
    ck_assert_uint_eq(made.n, rc ? 77 : N);
    if (!rc)
        belief_graph_release(&made);
    return rc;
}

static int name_circle(void)
{
    struct belief_list cycle = {NULL, 77};
    int rc = disarmed(belief_cycle(
        &graph, ids, (struct dependency){0, 5, DEPENDENCY_CAUSE}, &cycle, &failure));
    ck_assert_uint_eq(cycle.n, rc == CAIRN_EUSAGE ? 5 : 77);
    free(cycle.at);
    return rc == CAIRN_EUSAGE ? 0 : rc;
}

static int carry_on(void)
{
    static const double confidence[N] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
    struct cascade cascade = {NULL, 77};
    int rc = disarmed(belief_cascade(&graph, confidence, 0, 0.9, &cascade, &failure));
    ck_assert_uint_eq(cascade.n, rc ? 77 : 5);
    cascade_release(&cascade);
    return rc;
}

static int contradict(void)
{
    struct belief beliefs[N] = {{{0}, {0}, 0, 0}};
    for (int i = 0; i < N; i++)
        beliefs[i] = (struct belief){STR("s"), STR("c"), i % 2, 0.9};
    const struct belief_board board = {beliefs, N, edges, N_EDGES};
    struct contradictions found = {NULL, 77, 0};
    int rc = disarmed(belief_contradictions(&board, BELIEF_ANY, &found, &failure));
    ck_assert_uint_eq(found.n, rc ? 77 : 9);
    free(found.at);
    return rc;
}

static int order_gaps(void)
{
    static const struct gap gaps[2] = {
        {.kind = GAP_OTHER, .criticality = GAP_LOW, .status = GAP_OPEN},
        {.kind = GAP_OTHER, .criticality = GAP_HIGH, .status = GAP_OPEN}};
    struct gap_rank ranked[2];
    uint32_t n = 77;
    int rc = disarmed(gap_order(gaps, 2, 0, ranked, &n, &failure));
    ck_assert_uint_eq(n, rc ? 77 : 2);
    return rc;
}

static int retain(void)
{
    static const struct kept list[2] = {{1, 0, 0, 0}, {2, 0, 0, 0}};
    const struct keep_rules rules = {.hourly = true};
    struct retention_report report = {77, 77, 77};
    uint32_t why[2];
    int rc = disarmed(retention_decide(list, 2, &rules, 0, why, &report, &failure));
    ck_assert_uint_eq(report.total, rc ? 77 : 2);
    return rc;
}

START_TEST(test_every_allocation_refused)
{
    static int (*const parts[])(void) = {make_graph, name_circle, carry_on,
                                         contradict, order_gaps,  retain};
    ck_assert_int_eq(belief_graph_init(&graph, N, edges, N_EDGES, NULL), 0);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int refused = 0;
        for (int rc = CAIRN_ENOMEM; rc; refused++) {
            failure = (struct cairn_error){0};
            allocations_left = refused + 1;
            rc = parts[i]();
            ck_assert(rc == 0 || rc == CAIRN_ENOMEM);
            if (rc)
                ck_assert_int_eq(failure.code, CAIRN_ENOMEM);
        }
        ck_assert_int_gt(refused, 1);
    }
    belief_graph_release(&graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session_memory");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_every_allocation_refused);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
