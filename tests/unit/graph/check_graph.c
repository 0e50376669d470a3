/* SPDX-License-Identifier: MIT */
/* Compiling definitions: numbering, edges, order, cycles, limits. */
#include "base/limits.h"
#include "graph/graph_int.h"

#include "tests/support/graph.h"

#include <sys/resource.h>

static struct definition definition;
static struct graph graph;
static struct cairn_error failure;

static void release(void)
{
    help_drop(&graph, &definition);
}

static void build(const char *text)
{
    help_build(&graph, &definition, text);
}

static uint32_t node(const char *id)
{
    uint32_t found = graph_find(&graph, str_of(id));
    ck_assert_msg(found != NODE_NONE, "no %s", id);
    return found;
}

static uint32_t n_needs(const struct graph *g, uint32_t i)
{
    return g->need_start[i + 1] - g->need_start[i];
}

static uint32_t nth_need(uint32_t i, uint32_t j)
{
    return graph.needs[graph.need_start[i] + j];
}

static void refuse(int code)
{
    failure = (struct cairn_error){0};
    ck_assert_int_eq(graph_build(&graph, &definition, &failure), code);
    ck_assert_int_eq(failure.code, code);
    ck_assert_ptr_null(graph.id); /* untouched */
}

static void expect_text(const char *part)
{
    ck_assert_msg(strstr(failure.text, part) != NULL, "no `%s` in: %s", part,
                  failure.text);
}

/* ---- Numbering ---- */

START_TEST(test_ids)
{
    build("fetch\n"
          "convert part=1,2,3 kind=a,b\n"
          "odd part=a/b,x;y\n");
    static const char *const ids[] = {"fetch",
                                      "convert[part=1,kind=a]",
                                      "convert[part=1,kind=b]",
                                      "convert[part=2,kind=a]",
                                      "convert[part=2,kind=b]",
                                      "convert[part=3,kind=a]",
                                      "convert[part=3,kind=b]",
                                      "odd[part=a/b]",
                                      "odd[part=x%3By]"};
    ck_assert_uint_eq(graph.n_tasks, 9);
    ck_assert_uint_eq(graph.n_nodes, 9); /* no barrier without a need on it */
    for (uint32_t i = 0; i < graph.n_tasks; i++) {
        ck_assert_str_eq(graph.id[i], ids[i]);
        ck_assert_uint_eq(graph_find(&graph, str_of(ids[i])), i);
    }
    ck_assert_uint_eq(graph_member(&graph, 4), 3);
    ck_assert_uint_eq(graph.def_of[8], 2);
    release();
}
END_TEST

START_TEST(test_find)
{
    static const char *const absent[] = {"",
                                         "fetc",
                                         "fetch[]",
                                         "fetch[x=1]",
                                         "group",
                                         "group[",
                                         "group[]",
                                         "[a=1]",
                                         "group]",
                                         "group[a=1]",
                                         "group[a=1,",
                                         "group[a=1,b=2",
                                         "group[a=1,b=3]",
                                         "group[b=2,a=1]",
                                         "group[a=1,b=2]]",
                                         "group[a=1,b=2,c=3]",
                                         "group[a=1,b=2,]",
                                         "group[a=1b=2]",
                                         "group[a1,b=2]",
                                         "group[aa=1,b=2]",
                                         "Fetch"};
    build("fetch\n"
          "group a=1 b=2\n"
          "user : group\n");
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        ck_assert_msg(graph_find(&graph, str_of(absent[i])) == NODE_NONE, "%s",
                      absent[i]);
    ck_assert_uint_eq(graph_find(&graph, (struct str){NULL, 0}), NODE_NONE);
    ck_assert_uint_eq(node("fetch"), 0);
    ck_assert_uint_eq(node("group[a=1,b=2]"), 1);
    ck_assert_uint_eq(node("user"), 2);
    release();
}
END_TEST

/* ---- Edges ---- */

START_TEST(test_barriers)
{
    build("first part=1,2,3\n"
          "second part=1,2,3,4 : first\n"
          "third : first second\n"
          "fourth : third\n");
    ck_assert_uint_eq(graph.n_tasks, 9);
    ck_assert_uint_eq(graph.n_nodes, 11);
    ck_assert_uint_eq(graph.n_edges, 3 + 4 + 4 + 2 + 1); /* N + M, not N x M */
    uint32_t one = graph.barrier[0], two = graph.barrier[1];
    ck_assert(graph_is_barrier(&graph, one) && graph_is_barrier(&graph, two));
    ck_assert_uint_eq(graph.barrier[2], NODE_NONE);
    ck_assert_str_eq(graph.id[one], "first");
    ck_assert_uint_eq(n_needs(&graph, one), 3);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(nth_need(one, i), i);
    for (uint32_t i = 3; i < 7; i++) {
        ck_assert_uint_eq(n_needs(&graph, i), 1);
        ck_assert_uint_eq(nth_need(i, 0), one);
    }
    ck_assert_uint_eq(nth_need(node("third"), 0), one);
    ck_assert_uint_eq(nth_need(node("third"), 1), two);
    release();
}
END_TEST

START_TEST(test_element_wise)
{
    build("convert part=1,2,3 kind=a,b\n"
          "index part=3,1 : convert[part=${{part}},kind=b]\n"
          "one : convert[part=2,kind=a] convert[part=2,kind=a]\n");
    ck_assert_uint_eq(graph.n_nodes, graph.n_tasks);
    ck_assert_uint_eq(nth_need(node("index[part=3]"), 0),
                      node("convert[part=3,kind=b]"));
    ck_assert_uint_eq(nth_need(node("index[part=1]"), 0),
                      node("convert[part=1,kind=b]"));
    ck_assert_uint_eq(n_needs(&graph, node("one")), 2);
    ck_assert_uint_eq(nth_need(node("one"), 0), node("convert[part=2,kind=a]"));
    release();
}
END_TEST

/* One barrier for each part that is needed, whoever needs it. */
START_TEST(test_parts)
{
    build("t py=1,2 os=a,b,c\n"
          "pack py=2,1 : t[py=${{py}}]\n"
          "one : t[os=b] t[py=1]\n"
          "all : t t[os=b]\n"
          "other : t[py=1,os=b]\n");
    ck_assert_uint_eq(graph.n_tasks, 6 + 2 + 3);
    ck_assert_uint_eq(graph.n_nodes, graph.n_tasks + 1 + 3); /* py=2, py=1, os=b */
    ck_assert_uint_eq(graph.n_parts, 3);
    uint32_t second = nth_need(node("pack[py=2]"), 0);
    uint32_t first = nth_need(node("pack[py=1]"), 0), b = nth_need(node("one"), 0);
    ck_assert_str_eq(graph.id[first], "t[py=1]");
    ck_assert_str_eq(graph.id[second], "t[py=2]");
    ck_assert_str_eq(graph.id[b], "t[os=b]");
    ck_assert_uint_eq(nth_need(node("one"), 1), first);
    ck_assert_uint_eq(nth_need(node("all"), 1), b);
    ck_assert_uint_eq(nth_need(node("all"), 0), graph.barrier[0]);
    ck_assert_uint_eq(nth_need(node("other"), 0), node("t[py=1,os=b]"));
    ck_assert_uint_eq(n_needs(&graph, second), 3);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(nth_need(second, i), 3 + i);
    ck_assert_uint_eq(n_needs(&graph, b), 2);
    ck_assert_uint_eq(nth_need(b, 0), node("t[py=1,os=b]"));
    ck_assert_uint_eq(nth_need(b, 1), node("t[py=2,os=b]"));
    ck_assert(graph_is_part(&graph, b) && !graph_is_part(&graph, graph.barrier[0]));
    ck_assert(graph_consistent(&graph));
    release();
}
END_TEST

/* N members with N parts of M members: N + N * M edges, and a part that is not there.
 */
START_TEST(test_many_parts)
{
    enum { N = 60, M = 50 };
    struct buf text = BUF_INIT;
    buf_text(&text, "t py=");
    for (int i = 0; i < N; i++)
        buf_format(&text, "%s%d", i ? "," : "", i);
    buf_text(&text, " os=");
    for (int i = 0; i < M; i++)
        buf_format(&text, "%s%d", i ? "," : "", i);
    buf_text(&text, "\npack py=");
    for (int i = 0; i < N; i++)
        buf_format(&text, "%s%d", i ? "," : "", i);
    buf_text(&text, " : t[py=${{py}}]\n");
    build(text.data);
    ck_assert_uint_eq(graph.n_edges, N + N * M);
    ck_assert_uint_eq(graph.n_parts, N);
    release();
    buf_release(&text);
    help_define(&definition, "t py=1,2 os=a\nu py=1,2,3 : t[py=${{py}}]\n");
    refuse(CAIRN_EWORKFLOW);
    expect_text("`u[py=3]` needs `t[py=${{py}}]`, but `t` has no such member");
    definition_release(&definition);
}
END_TEST

START_TEST(test_missing_member)
{
    help_define(&definition, "convert part=1,2\n"
                             "index part=1,2,3 : convert[part=${{part}}]\n");
    refuse(CAIRN_EWORKFLOW);
    expect_text(
        "/w/test.yaml:2:1: `index[part=3]` needs `convert[part=${{part}}]`, but "
        "`convert` has no such member");
    expect_text("need the whole group with `convert`");
    definition_release(&definition);
}
END_TEST

/* The command cannot call the functions of a program. */
START_TEST(test_who_resumes)
{
    char words[RESUME_WORDS];
    help_define(&definition, "a\nb : a\n");
    ck_assert_str_eq(definition_resume_words(words, &definition, 7, " --no-wait"),
                     "`cairn resume 7 --no-wait`");
    definition.defs[1].kind = TASK_CALL;
    ck_assert_str_eq(definition_resume_words(words, &definition, 7, " --no-wait"),
                     "the program that has its functions");
    definition_release(&definition);
}
END_TEST

/* One that a program builds has no file, and nothing in it a position. */
START_TEST(test_missing_member_of_no_file)
{
    static const char start[] = "`index[part=3]` needs ";
    help_define(&definition, "convert part=1,2\n"
                             "index part=1,2,3 : convert[part=${{part}}]\n");
    definition.file = (struct str){"", 0};
    definition.defs[1].needs[0].at = (struct position){0, 0};
    refuse(CAIRN_EWORKFLOW);
    ck_assert_msg(strncmp(failure.text, start, sizeof start - 1) == 0, "%s",
                  failure.text);
    definition_release(&definition);
}
END_TEST

START_TEST(test_nothing)
{
    help_define(&definition, "");
    refuse(CAIRN_EWORKFLOW);
    expect_text("`test` has no tasks");
    definition_release(&definition);
    help_define(&definition, "group part=\n"
                             "empty part=\n");
    refuse(CAIRN_EWORKFLOW);
    definition_release(&definition);
}
END_TEST

/* A group may be empty: its barrier needs nothing. */
START_TEST(test_empty_group)
{
    build("group part=\n"
          "each part= : group\n"
          "last : group each\n");
    ck_assert_uint_eq(graph.n_tasks, 1);
    ck_assert_uint_eq(graph.n_nodes, 3);
    ck_assert_uint_eq(n_needs(&graph, graph.barrier[0]), 0);
    ck_assert_uint_eq(n_needs(&graph, node("last")), 2);
    ck_assert_uint_eq(graph_find(&graph, STR("group[part=1]")), NODE_NONE);
    release();
}
END_TEST

/* ---- Random graphs: mirror, order, critical path ---- */

/* Defs need earlier defs; a third of them are groups. */
static void random_definition(struct definition *d, uint64_t *seed)
{
    uint32_t n = 1 + help_below(seed, 25);
    help_begin(d);
    for (uint32_t i = 0; i < n; i++) {
        char text[16];
        snprintf(text, sizeof text, "t%u", i);
        struct task_def *def = help_task(d, text);
        uint32_t members = help_below(seed, 3) ? 0 : 1 + help_below(seed, 5);
        for (uint32_t m = 0; m < members; m++) {
            snprintf(text, sizeof text, "%u", m);
            help_value(d, def, "x", text);
        }
        uint32_t needs = i ? help_below(seed, 4) : 0;
        for (uint32_t j = 0; j < needs; j++) {
            uint32_t target = help_below(seed, i);
            struct need *need = help_need(d, def, target, "need");
            if (!d->defs[target].n_foreach || help_below(seed, 2))
                continue;
            need->bindings = arena_take(&d->arena, 1, sizeof *need->bindings);
            need->bindings[0] = (struct key_value){STR("x"), STR("0")};
            need->n_bindings = 1;
        }
    }
    help_finish(d);
}

static void check_mirror(const struct graph *g)
{
    uint32_t edges = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        ck_assert_uint_le(g->dependent_start[i], g->dependent_start[i + 1]);
        for (uint32_t e = g->dependent_start[i]; e < g->dependent_start[i + 1]; e++) {
            uint32_t there = 0, back = 0, dependent = g->dependents[e];
            for (uint32_t f = g->need_start[dependent];
                 f < g->need_start[dependent + 1]; f++)
                there += g->needs[f] == i;
            for (uint32_t f = g->dependent_start[i]; f < g->dependent_start[i + 1]; f++)
                back += g->dependents[f] == dependent;
            ck_assert_uint_eq(there, back); /* twice needed is twice used */
            edges++;
        }
    }
    ck_assert_uint_eq(edges, g->n_edges);
    ck_assert_uint_eq(g->need_start[g->n_nodes], g->n_edges);
}

static void check_order(const struct graph *g)
{
    uint32_t *place = malloc(g->n_nodes * sizeof *place);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        place[i] = NODE_NONE;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        ck_assert_uint_eq(place[g->order[i]], NODE_NONE);
        place[g->order[i]] = i;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t e = g->need_start[i]; e < g->need_start[i + 1]; e++)
            ck_assert_uint_lt(place[g->needs[e]], place[i]);
    free(place);
}

/* The longest way by relaxing until nothing moves. */
static void check_height(const struct graph *g, const uint32_t *duration,
                         uint32_t usual)
{
    uint32_t *height = calloc(g->n_nodes, sizeof *height);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            uint32_t own = graph_is_barrier(g, i)    ? 0
                           : duration && duration[i] ? duration[i]
                                                     : usual;
            uint32_t tallest = 0;
            for (uint32_t e = g->dependent_start[i]; e < g->dependent_start[i + 1]; e++)
                if (height[g->dependents[e]] > tallest)
                    tallest = height[g->dependents[e]];
            moved |= height[i] != own + tallest;
            height[i] = own + tallest;
        }
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        ck_assert_uint_eq(g->height[i], height[i]);
    free(height);
}

/* One number that is another is noticed, whichever it is. */
static void check_damage(struct graph *g, uint64_t *seed)
{
    uint32_t *const rows[] = {g->need_start, g->dependent_start, g->order,
                              g->first,      g->needs,           g->dependents};
    const uint32_t sizes[] = {g->n_nodes + 1, g->n_nodes + 1,
                              g->n_nodes,     g->definition->n_defs + 1,
                              g->n_edges,     g->n_edges};
    ck_assert(graph_consistent(g));
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        if (!sizes[k])
            continue;
        uint32_t *number = &rows[k][help_below(seed, sizes[k])], before = *number;
        *number = (before + 1 + help_below(seed, g->n_nodes)) % (g->n_nodes + 1);
        ck_assert_msg(*number == before || !graph_consistent(g), "row %zu: %u for %u",
                      k, *number, before);
        *number = before;
    }
}

START_TEST(test_random_graphs)
{
    enum { GRAPHS = 400 };
    uint64_t seed = 20260102;
    for (int i = 0; i < GRAPHS; i++) {
        random_definition(&definition, &seed);
        ck_assert_int_eq(graph_build(&graph, &definition, &failure), 0);
        check_mirror(&graph);
        check_order(&graph);
        check_damage(&graph, &seed);
        check_height(&graph, NULL, 1);
        uint32_t *duration = calloc(graph.n_tasks, sizeof *duration), known = 0,
                 sum = 0;
        for (uint32_t t = 0; t < graph.n_tasks; t++)
            if (help_below(&seed, 2)) {
                duration[t] = 1 + help_below(&seed, 1000);
                sum += duration[t];
                known++;
            }
        ck_assert_int_eq(graph_weigh(&graph, duration, &failure), 0);
        check_height(&graph, duration, known ? sum / known : 1);
        free(duration);
        release();
    }
}
END_TEST

#define SAME(a, b, rows, n) \
    ck_assert_int_eq(memcmp((a)->rows, (b)->rows, (n) * sizeof *(a)->rows), 0)

static void check_same(const struct graph *a, const struct graph *b)
{
    ck_assert_uint_eq(a->n_tasks, b->n_tasks);
    ck_assert_uint_eq(a->n_nodes, b->n_nodes);
    ck_assert_uint_eq(a->n_edges, b->n_edges);
    ck_assert_uint_eq(a->n_parts, b->n_parts);
    ck_assert_uint_eq(a->n_services, b->n_services);
    ck_assert(!a->soft == !b->soft);
    SAME(a, b, first, a->definition->n_defs + 1);
    SAME(a, b, barrier, a->definition->n_defs);
    SAME(a, b, def_of, a->n_nodes);
    SAME(a, b, need_start, a->n_nodes + 1);
    SAME(a, b, needs, a->n_edges);
    SAME(a, b, dependent_start, a->n_nodes + 1);
    SAME(a, b, dependents, a->n_edges);
    SAME(a, b, order, a->n_nodes);
    SAME(a, b, height, a->n_nodes);
    if (a->soft)
        SAME(a, b, soft, a->n_edges);
    for (uint32_t i = 0; i < a->n_nodes; i++)
        ck_assert_str_eq(a->id[i], b->id[i]);
}

/* Made longer in steps, a graph is the very one that is built of all. */
START_TEST(test_extended)
{
    uint64_t seed = 20260103;
    for (int i = 0; i < 400; i++) {
        struct graph longer;
        random_definition(&definition, &seed);
        uint32_t n = definition.n_defs;
        for (uint32_t k = 0; k < n && i % 3 == 0; k++)
            for (uint32_t j = 0; j < definition.defs[k].n_needs; j++)
                definition.defs[k].needs[j].soft = help_below(&seed, 4) == 0;
        ck_assert_int_eq(graph_build(&graph, &definition, &failure), 0);
        definition.n_defs = 1 + help_below(&seed, n);
        ck_assert_int_eq(graph_build(&longer, &definition, &failure), 0);
        while (definition.n_defs < n) {
            uint32_t from = definition.n_defs;
            definition.n_defs += 1 + help_below(&seed, n - from);
            if (help_below(&seed, 4) == 0) { /* one that is refused first */
                struct task_def *last = &definition.defs[definition.n_defs - 1];
                struct task_def was = *last;
                struct need wrong = {.target = definition.n_defs - 1};
                last->needs = &wrong;
                last->n_needs = 1;
                ck_assert_int_eq(graph_extend(&longer, from, &failure),
                                 CAIRN_EWORKFLOW);
                *last = was;
            }
            ck_assert_int_eq(graph_extend(&longer, from, &failure), 0);
            ck_assert(graph_consistent(&longer));
        }
        check_same(&graph, &longer);
        graph_release(&longer);
        release();
    }
}
END_TEST

/* Also where a need leads to a part of a group. */
START_TEST(test_extended_by_parts)
{
    struct graph longer;
    build("group a=1,2 b=x,y\n"
          "first : group\n"
          "some : group[a=1]\n"
          "last : some group[a=2]\n");
    uint32_t n = definition.n_defs;
    definition.n_defs = 1;
    ck_assert_int_eq(graph_build(&longer, &definition, &failure), 0);
    while (definition.n_defs < n) {
        definition.n_defs++;
        ck_assert_int_eq(graph_extend(&longer, definition.n_defs - 1, &failure), 0);
    }
    check_same(&graph, &longer);
    graph_release(&longer);
    release();
}
END_TEST

START_TEST(test_weights_saturate)
{
    uint32_t duration[] = {UINT32_MAX, UINT32_MAX, 1};
    build("a\nb : a\nc : b\n");
    ck_assert_int_eq(graph_weigh(&graph, duration, &failure), 0);
    ck_assert_uint_eq(graph.height[2], 1);
    ck_assert_uint_eq(graph.height[1], UINT32_MAX);
    ck_assert_uint_eq(graph.height[0], UINT32_MAX);
    release();
}
END_TEST

/* ---- Cycles ---- */

static void expect_cycle(const char *text, const char *cycle)
{
    help_define(&definition, text);
    refuse(CAIRN_EWORKFLOW);
    expect_text("in a circle");
    expect_text(cycle);
    expect_text("remove one of these needs");
    definition_release(&definition);
}

START_TEST(test_cycles)
{
    expect_cycle("a : a\n", "\n  a -> a\n");
    expect_cycle("a : b\nb : a\n", "\n  a -> b -> a\n");
    expect_cycle("x\na : x c\nb : a x\nc : b\ny : c\n", "\n  a -> c -> b -> a\n");
    /* The walk begins outside the cycle: its way in is not named. */
    expect_cycle("way : in\nin : a\na : b\nb : c\nc : a\n", "\n  a -> b -> c -> a\n");
    expect_cycle("a part=1,2 : b\nb : a\n", "\n  a[part=1] -> b -> a -> a[part=1]\n");
    expect_cycle("a part=1,2 : a\n", "\n  a[part=1] -> a -> a[part=1]\n");
    expect_cycle("a part=1,2 : a[part=2]\n", "\n  a[part=2] -> a[part=2]\n");
    help_define(&definition, "x\n\nway : b\na : b\nb : a\n");
    refuse(CAIRN_EWORKFLOW);
    expect_text("/w/test.yaml:4:1: these tasks need"); /* a task of the cycle itself */
    definition_release(&definition);
}
END_TEST

/* A ring of n tasks, ids of `width` bytes. */
static void make_ring(uint32_t n, int width)
{
    help_begin(&definition);
    for (uint32_t i = 0; i < n; i++) {
        char id[LIMIT_ID_BYTES + 1];
        snprintf(id, sizeof id, "t%0*u", width - 1, i);
        help_need(&definition, help_task(&definition, id), (i + 1) % n, "next");
    }
    help_finish(&definition);
}

/* A small stack shows that nothing recurses. */
START_TEST(test_long_cycle)
{
    enum { LONG = 100000 };
    struct rlimit stack = {256 << 10, 256 << 10};
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &stack), 0);
    make_ring(LONG, 7);
    refuse(CAIRN_EWORKFLOW);
    expect_text("t000000 -> t000001 -> t000002");
    expect_text(" more) -> t000000\n");
    expect_text("remove one of these needs");
    definition_release(&definition);
}
END_TEST

START_TEST(test_cycle_of_long_ids)
{
    make_ring(50, LIMIT_ID_BYTES);
    refuse(CAIRN_EWORKFLOW);
    expect_text(" more) -> t0000");
    expect_text("remove one of these needs");
    definition_release(&definition);
    make_ring(2, LIMIT_ID_BYTES); /* whole while it fits */
    refuse(CAIRN_EWORKFLOW);
    expect_text("01 -> t0000");
    expect_text("remove one of these needs");
    definition_release(&definition);
}
END_TEST

/* ---- Limits ---- */

START_TEST(test_long_ids)
{
    char id[LIMIT_ID_BYTES + 2];
    for (int past = 0; past < 2; past++) {
        size_t n = (size_t)LIMIT_ID_BYTES - strlen("[part=1]") + (size_t)past;
        memset(id, 'x', n);
        id[n] = 0;
        help_begin(&definition);
        help_value(&definition, help_task(&definition, id), "part", "1");
        help_finish(&definition);
        if (past) {
            refuse(CAIRN_ELIMIT);
            expect_text("is longer than 200 bytes");
            definition_release(&definition);
        } else {
            ck_assert_int_eq(graph_build(&graph, &definition, &failure), 0);
            ck_assert_uint_eq(strlen(graph.id[0]), LIMIT_ID_BYTES);
            release();
        }
    }
}
END_TEST

START_TEST(test_too_many_tasks)
{
    help_define(&definition, "a\nb\n");
    definition.defs[0].members = LIMIT_TASKS; /* counted before anything is made */
    refuse(CAIRN_ELIMIT);
    expect_text("more than 10000000 tasks");
    definition_release(&definition);
}
END_TEST

/* 32^4 members with 96 needs each. The limit itself would take a gigabyte to reach. */
START_TEST(test_too_many_edges)
{
    enum { KEYS = 4, VALUES = 32, NEEDS = 96 };
    help_begin(&definition);
    help_task(&definition, "a");
    struct task_def *def = help_task(&definition, "b");
    for (int k = 0; k < KEYS; k++)
        for (int v = 0; v < VALUES; v++) {
            char key[16], value[16];
            snprintf(key, sizeof key, "k%d", k);
            snprintf(value, sizeof value, "%d", v);
            help_value(&definition, def, key, value);
        }
    for (int i = 0; i < NEEDS; i++)
        help_need(&definition, def, 0, "a");
    help_finish(&definition);
    refuse(CAIRN_ELIMIT);
    expect_text("more than 100000000 dependencies");
    definition_release(&definition);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *c = tcase_create("graph");
    tcase_add_test(c, test_ids);
    tcase_add_test(c, test_find);
    tcase_add_test(c, test_barriers);
    tcase_add_test(c, test_element_wise);
    tcase_add_test(c, test_parts);
    tcase_add_test(c, test_many_parts);
    tcase_add_test(c, test_missing_member);
    tcase_add_test(c, test_missing_member_of_no_file);
    tcase_add_test(c, test_who_resumes);
    tcase_add_test(c, test_nothing);
    tcase_add_test(c, test_empty_group);
    tcase_add_test(c, test_random_graphs);
    tcase_add_test(c, test_extended);
    tcase_add_test(c, test_extended_by_parts);
    tcase_add_test(c, test_weights_saturate);
    tcase_add_test(c, test_cycles);
    tcase_add_test(c, test_long_cycle);
    tcase_add_test(c, test_cycle_of_long_ids);
    tcase_add_test(c, test_long_ids);
    tcase_add_test(c, test_too_many_tasks);
    tcase_add_test(c, test_too_many_edges);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
