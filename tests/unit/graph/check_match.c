/* SPDX-License-Identifier: MIT */
/* Which tasks of two graphs are the same: by name, keys and values, one to one. */
#include "graph/match.h"

#include "tests/support/graph.h"

static struct definition definition[2];
static struct graph graph[2];

static void build(const char *one, const char *other)
{
    help_build(&graph[0], &definition[0], one);
    help_build(&graph[1], &definition[1], other);
}

static void drop(void)
{
    help_drop(&graph[0], &definition[0]);
    help_drop(&graph[1], &definition[1]);
}

/* A group `g` with these values. */
static void build_group(int which, const char *const *values)
{
    struct definition *d = &definition[which];
    struct cairn_error error;
    help_begin(d);
    struct task_def *def = help_task(d, "g");
    for (; *values; values++)
        help_value(d, def, "x", *values);
    help_finish(d);
    ck_assert_int_eq(graph_build(&graph[which], d, &error), 0);
}

/* The task of the second graph that is `id` of the first; NULL: none. Asserts that all
 * three ways to ask agree. */
static const char *same_task(const char *id)
{
    uint32_t there[16], back[16], task = graph_find(&graph[0], str_of(id));
    ck_assert_msg(task != NODE_NONE, "no %s", id);
    ck_assert_uint_le(graph[0].n_tasks, 16);
    ck_assert_uint_le(graph[1].n_tasks, 16);
    map_tasks(&graph[0], &graph[1], there);
    map_tasks(&graph[1], &graph[0], back);
    for (uint32_t i = 0; i < graph[0].n_tasks; i++) {
        ck_assert_uint_eq(map_task(&graph[0], i, &graph[1]), there[i]);
        if (there[i] != NODE_NONE)
            ck_assert_uint_eq(back[there[i]], i);
    }
    for (uint32_t i = 0; i < graph[1].n_tasks; i++)
        if (back[i] != NODE_NONE)
            ck_assert_uint_eq(there[back[i]], i);
    return there[task] == NODE_NONE ? NULL : graph[1].id[there[task]];
}

START_TEST(test_names_keys_and_values)
{
    build("gone\na\ng x=1,2 y=p,q\nh x=1\n", "g x=3,2 y=q,p\na : g\nh y=1\nnew\n");
    ck_assert_str_eq(same_task("a"), "a");
    ck_assert_str_eq(same_task("g[x=2,y=p]"), "g[x=2,y=p]");
    ck_assert_ptr_null(same_task("g[x=1,y=p]"));
    ck_assert_ptr_null(same_task("h[x=1]"));
    ck_assert_ptr_null(same_task("gone"));
    drop();
}
END_TEST

START_TEST(test_nothing_and_itself)
{
    uint32_t number[2];
    build("a\nb\n", "a\n");
    map_tasks(&graph[0], NULL, number);
    ck_assert(number[0] == NODE_NONE && number[1] == NODE_NONE);
    map_tasks(&graph[0], &graph[0], number);
    ck_assert(number[0] == 0 && number[1] == 1);
    drop();
}
END_TEST

/* "a b" is shown as a%20b in ids, which may be a value as well, of another task. */
START_TEST(test_shown_values_are_no_values)
{
    static const char *const one[] = {"a b", "c", NULL};
    static const char *const other[] = {"c", "a%20b", NULL};
    build_group(0, one);
    build_group(1, other);
    ck_assert_ptr_null(same_task("g[x=a%20b]"));
    ck_assert_str_eq(same_task("g[x=c]"), "g[x=c]");
    drop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("match");
    TCase *c = tcase_create("match");
    tcase_add_test(c, test_names_keys_and_values);
    tcase_add_test(c, test_nothing_and_itself);
    tcase_add_test(c, test_shown_values_are_no_values);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
