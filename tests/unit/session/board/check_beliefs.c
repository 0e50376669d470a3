/* SPDX-License-Identifier: MIT */
/* The graph of beliefs against a matrix of distances: neighbours, reach and circles. */
#include "session/board/beliefs.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

enum { MOST = 7, FAR = 1000 };

static struct cairn_error failure;
static const struct str ids[] = {STR("b1"), STR("b2"), STR("b3"), STR("b4"),
                                 STR("b5"), STR("b6"), STR("b7")};

static struct belief_graph build(uint32_t n, const struct dependency *edges,
                                 size_t many)
{
    struct belief_graph graph;
    ck_assert_int_eq(belief_graph_init(&graph, n, edges, many, NULL), 0);
    return graph;
}

static struct dependency needs(uint32_t from, uint32_t to)
{
    return (struct dependency){from, to, DEPENDENCY_EVIDENCE};
}

static void expect_circle(const struct belief_graph *graph, struct dependency edge,
                          const char *named)
{
    struct belief_list cycle = {0};
    ck_assert_int_eq(belief_cycle(graph, ids, edge, &cycle, &failure), CAIRN_EUSAGE);
    ck_assert_msg(strstr(failure.text, named) != NULL, "no `%s` in: %s", named,
                  failure.text);
    free(cycle.at);
}

START_TEST(test_a_circle_is_named)
{
    const struct dependency edges[] = {
        needs(0, 1), needs(1, 2), needs(2, 3), {0, 3, DEPENDENCY_CONTRADICTS}};
    struct belief_graph graph = build(4, edges, 4);
    struct belief_list cycle = {0};
    expect_circle(&graph, needs(3, 0), "\n  b4 -> b1 -> b2 -> b3 -> b4\nleave this");
    expect_circle(&graph, needs(2, 1), "\n  b3 -> b2 -> b3\n");
    expect_circle(&graph, needs(2, 2), "\n  b3 -> b3\n");
    ck_assert_int_eq(belief_cycle(&graph, ids, needs(0, 3), &cycle, NULL), 0);
    ck_assert_int_eq(belief_cycle(&graph, ids, needs(0, 1), &cycle, NULL), 0);
    ck_assert_ptr_null(cycle.at);

    struct dependency against = {3, 0, DEPENDENCY_CONTRADICTS};
    ck_assert_int_eq(belief_cycle(&graph, ids, against, &cycle, NULL), 0);
    against.from = 0;
    ck_assert_int_eq(belief_cycle(&graph, ids, against, &cycle, &failure),
                     CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text, "b1 cannot contradict itself");
    ck_assert_int_eq(belief_cycle(&graph, ids, needs(0, 4), &cycle, NULL),
                     CAIRN_EUSAGE);
    ck_assert_int_eq(
        belief_cycle(&graph, ids, (struct dependency){0, 1, 0}, &cycle, NULL),
        CAIRN_EUSAGE);
    ck_assert_ptr_null(cycle.at);
    belief_graph_release(&graph);
}
END_TEST

START_TEST(test_refuses_edges_of_nothing)
{
    struct belief_graph graph = {.n = 77};
    const struct dependency outside = needs(0, 2),
                            unknown = {0, 1, (enum dependency_kind)8};
    ck_assert_int_eq(belief_graph_init(&graph, 2, &outside, 1, &failure), CAIRN_EUSAGE);
    ck_assert_int_eq(belief_graph_init(&graph, 2, &unknown, 1, &failure), CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text, "8 is not a kind of dependency");
    ck_assert_uint_eq(graph.n, 77);
    graph = build(0, NULL, 0);
    ck_assert_uint_eq(graph.n, 0);
    belief_graph_release(&graph);
}
END_TEST

START_TEST(test_kinds_of_dependencies)
{
    enum dependency_kind found;
    for (int i = 1; i <= 7; i++) {
        const char *name = dependency_kind_name((enum dependency_kind)i);
        ck_assert_int_eq(dependency_kind_parse(str_of(name), &found, NULL), 0);
        ck_assert_int_eq(found, i);
    }
    ck_assert_ptr_null(dependency_kind_name((enum dependency_kind)0));
    ck_assert_ptr_null(dependency_kind_name((enum dependency_kind)8));
    ck_assert_int_eq(dependency_kind_parse(STR("because"), &found, &failure),
                     CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(failure.text, "or contradicts"));
}
END_TEST

/* Neither a long chain nor its circle uses the stack, and the text says what it leaves
 * out. */
START_TEST(test_a_deep_chain)
{
    enum { DEEP = 200000 };
    struct dependency *edges = malloc(DEEP * sizeof *edges);
    struct str *names = malloc((DEEP + 1) * sizeof *names);
    ck_assert(edges && names);
    for (uint32_t i = 0; i < DEEP; i++) {
        edges[i] = needs(i, i + 1);
        names[i] = names[i + 1] = STR("belief");
    }
    struct belief_graph graph = build(DEEP + 1, edges, DEEP);
    struct belief_list cycle, reached;
    uint32_t *depth;
    ck_assert_int_eq(belief_cycle(&graph, names, needs(DEEP, 0), &cycle, &failure),
                     CAIRN_EUSAGE);
    ck_assert_uint_eq(cycle.n, DEEP + 1);
    ck_assert_uint_eq(cycle.at[0], DEEP);
    uint32_t in_place = 1; /* libcheck is slow */
    while (in_place <= DEEP && cycle.at[in_place] == in_place - 1)
        in_place++;
    ck_assert_uint_eq(in_place, DEEP + 1);
    ck_assert_ptr_nonnull(strstr(failure.text, "more) -> belief\nleave this"));
    ck_assert_int_eq(belief_reach(&graph, 0, BELIEF_NEEDS, &reached, &depth, NULL), 0);
    ck_assert_uint_eq(reached.n, DEEP);
    ck_assert_uint_eq(depth[DEEP - 1], DEEP);
    free(depth);
    free(reached.at);
    free(cycle.at);
    free(edges);
    free(names);
    belief_graph_release(&graph);
}
END_TEST

/* ---- Against a matrix ---- */

/* at[i][j]: the least number of edges from i to j, FAR if there is no way. */
struct model {
    uint32_t n, at[MOST][MOST];
};

static void model_close(struct model *model, const struct dependency *edges,
                        size_t many)
{
    for (uint32_t i = 0; i < model->n; i++)
        for (uint32_t j = 0; j < model->n; j++)
            model->at[i][j] = i == j ? 0 : FAR;
    for (size_t e = 0; e < many; e++)
        if (edges[e].kind != DEPENDENCY_CONTRADICTS && edges[e].from != edges[e].to)
            model->at[edges[e].from][edges[e].to] = 1;
    for (uint32_t k = 0; k < model->n; k++)
        for (uint32_t i = 0; i < model->n; i++)
            for (uint32_t j = 0; j < model->n; j++)
                if (model->at[i][k] + model->at[k][j] < model->at[i][j])
                    model->at[i][j] = model->at[i][k] + model->at[k][j];
}

static uint32_t distance(const struct model *model, uint32_t from, uint32_t to,
                         enum belief_direction direction)
{
    return direction == BELIEF_NEEDS ? model->at[from][to] : model->at[to][from];
}

static void expect_reach(const struct belief_graph *graph, const struct model *model,
                         uint32_t node, enum belief_direction direction)
{
    struct belief_span near = belief_direct(graph, node, direction);
    struct belief_list reached;
    uint32_t *depth, expected = 0, last = 1, next = 0;
    bool seen[MOST] = {false};
    for (uint32_t i = 0; i < model->n; i++)
        if (distance(model, node, i, direction) == 1)
            ck_assert(next < near.n && near.at[next++] == i);
    ck_assert_uint_eq(next, near.n);

    ck_assert_int_eq(belief_reach(graph, node, direction, &reached, &depth, NULL), 0);
    for (uint32_t i = 0; i < model->n; i++)
        expected += i != node && distance(model, node, i, direction) < FAR;
    ck_assert_uint_eq(reached.n, expected);
    for (uint32_t i = 0; i < reached.n; i++) {
        ck_assert(reached.at[i] != node && !seen[reached.at[i]] &&
                  depth[i] == distance(model, node, reached.at[i], direction) &&
                  depth[i] >= last);
        seen[reached.at[i]] = true;
        last = depth[i];
    }
    free(depth);
    free(reached.at);
}

static bool has_edge(const struct dependency *edges, size_t many, uint32_t from,
                     uint32_t to)
{
    for (size_t i = 0; i < many; i++)
        if (edges[i].from == from && edges[i].to == to &&
            edges[i].kind != DEPENDENCY_CONTRADICTS)
            return true;
    return false;
}

START_TEST(test_like_a_matrix)
{
    uint64_t seed = 1027;
    uint32_t refused = 0, added = 0;
    for (int round = 0; round < 10000; round++) {
        struct dependency edges[16];
        struct model model = {.n = 1 + help_below(&seed, MOST)};
        size_t many = 0;
        model_close(&model, edges, many);
        for (uint32_t tries = help_below(&seed, 16); tries; tries--) {
            struct dependency edge = {help_below(&seed, model.n),
                                      help_below(&seed, model.n),
                                      (enum dependency_kind)(1 + help_below(&seed, 7))};
            struct belief_graph graph = build(model.n, edges, many);
            struct belief_list cycle = {0};
            int rc = belief_cycle(&graph, ids, edge, &cycle, &failure);
            uint32_t back = model.at[edge.to][edge.from];
            bool closes =
                edge.kind == DEPENDENCY_CONTRADICTS ? edge.from == edge.to : back < FAR;
            ck_assert_int_eq(rc, closes ? CAIRN_EUSAGE : 0);
            if (cycle.at) {
                ck_assert_uint_eq(cycle.n, back + 1);
                ck_assert_uint_eq(cycle.at[0], edge.from);
                ck_assert_uint_eq(cycle.at[1 % cycle.n], edge.to);
                for (uint32_t i = 1; i < cycle.n; i++)
                    ck_assert(has_edge(edges, many, cycle.at[i],
                                       cycle.at[(i + 1) % cycle.n]));
                free(cycle.at);
                refused++;
            }
            if (!rc) {
                edges[many++] = edge;
                model_close(&model, edges, many);
                added++;
            }
            belief_graph_release(&graph);
        }
        struct belief_graph graph = build(model.n, edges, many);
        uint32_t node = help_below(&seed, model.n);
        expect_reach(&graph, &model, node, BELIEF_NEEDS);
        expect_reach(&graph, &model, node, BELIEF_DEPENDENTS);
        belief_graph_release(&graph);
    }
    ck_assert(refused > 10000 && added > 10000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beliefs");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_a_circle_is_named);
    tcase_add_test(c, test_refuses_edges_of_nothing);
    tcase_add_test(c, test_kinds_of_dependencies);
    tcase_add_test(c, test_a_deep_chain);
    tcase_add_test(c, test_like_a_matrix);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
