/* SPDX-License-Identifier: MIT */
/* What counts as handled. */
#include "plan/decide.h"

#include "tests/support/graph.h"

static struct definition definition;
static struct graph graph;
static struct states states;

static void begin(const char *text, const char *handlers)
{
    help_build(&graph, &definition, text);
    for (uint32_t i = 0; i < definition.n_defs; i++) {
        struct task_def *def = &definition.defs[i];
        if (strchr(handlers, def->id.ptr[0]))
            def->when = WHEN_FAILED;
    }
    ck_assert_int_eq(states_init(&states, graph.n_tasks, NULL), 0);
}

static void finish(void)
{
    states_release(&states);
    help_drop(&graph, &definition);
}

static uint32_t task(const char *id)
{
    uint32_t found = graph_find(&graph, str_of(id));
    ck_assert_uint_ne(found, NODE_NONE);
    return found;
}

static bool handled(const char *id)
{
    return failure_is_handled(&graph, task(id), &states, NULL);
}

START_TEST(test_completed_handler)
{
    begin("a\nh : a\nuser : a\nafter : h\n", "h");
    ck_assert(!handled("a"));
    states.outcome[task("user")] = CAIRN_COMPLETED; /* no handler */
    states.outcome[task("after")] = CAIRN_COMPLETED;
    ck_assert(!handled("a"));
    states.outcome[task("h")] = CAIRN_FAILED;
    ck_assert(!handled("a"));
    states.outcome[task("h")] = CAIRN_COMPLETED;
    ck_assert(handled("a"));
    ck_assert(!handled("h") && !handled("user"));
    finish();
}
END_TEST

/* A handler of a group is one of every member. */
START_TEST(test_group)
{
    begin("g x=1,2\nh : g\n", "h");
    states.outcome[task("h")] = CAIRN_COMPLETED;
    ck_assert(handled("g[x=1]") && handled("g[x=2]"));
    finish();
}
END_TEST

/* The outcomes may be numbered by another graph, which need not have the handler. */
START_TEST(test_other_numbers)
{
    begin("a\nh : a\n", "h");
    uint32_t number[] = {1, 0};
    states.outcome[0] = CAIRN_COMPLETED;
    ck_assert(!handled("a"));
    ck_assert(failure_is_handled(&graph, task("a"), &states, number));
    number[task("h")] = NODE_NONE;
    ck_assert(!failure_is_handled(&graph, task("a"), &states, number));
    finish();
}
END_TEST

static bool is_such(const void *context, uint32_t handler)
{
    return handler == *(const uint32_t *)context;
}

START_TEST(test_any_handler)
{
    begin("a\nh : a\nj : a\nuser : a\n", "hj");
    uint32_t j = task("j"), user = task("user");
    ck_assert(failure_has_handler(&graph, task("a"), is_such, &j));
    ck_assert(!failure_has_handler(&graph, task("a"), is_such, &user));
    ck_assert(!failure_has_handler(&graph, j, is_such, &j));
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handlers");
    TCase *c = tcase_create("handlers");
    tcase_add_test(c, test_completed_handler);
    tcase_add_test(c, test_group);
    tcase_add_test(c, test_other_numbers);
    tcase_add_test(c, test_any_handler);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
