/* SPDX-License-Identifier: MIT */
/* What expressions learn about other tasks: which member is meant, how a group stands,
 * and values of completed tasks alone. */
#include "runs/lookup.h"

#include "tests/support/graph.h"

static struct definition definition;
static struct graph graph;
static struct states states;
static struct lookup lookup;
static struct cairn_error failure;

static void setup_graph(void)
{
    help_build(&graph, &definition,
               "single\n"
               "g part=1,2,3\n"
               "one : single g[part=2]\n"
               "all : g\n"
               "both : g g[part=1] g[part=3]\n"
               "in/h part=1,2\n"
               "in/all : in/h\n");
    ck_assert_int_eq(states_init(&states, graph.n_tasks, &failure), 0);
    lookup = (struct lookup){.graph = &graph, .states = &states, .run = 7};
}

static void teardown_graph(void)
{
    lookup_release(&lookup);
    states_release(&states);
    help_drop(&graph, &definition);
}

static uint32_t task(const char *id)
{
    uint32_t found = graph_find(&graph, str_of(id));
    ck_assert_msg(found != NODE_NONE, "no %s", id);
    return found;
}

static struct value ask(const char *asking, uint32_t attempt, const struct name *name)
{
    struct asker asker = {.lookup = &lookup, .task = task(asking), .attempt = attempt};
    struct value value;
    ck_assert_int_eq(lookup_name(&asker, name, &value, &failure), 0);
    return value;
}

static void expect_status(const char *asking, const char *of, const char *status)
{
    struct name name = {.kind = NAME_TASK_STATUS, .first = str_of(of)};
    struct value value = ask(asking, 1, &name);
    ck_assert_int_eq(value.type, VALUE_TEXT);
    ck_assert_msg(str_equal(value.text, str_of(status)), "%.*s, not %s",
                  (int)value.text.len, value.text.ptr, status);
}

static struct value output(const char *asking, const char *of, const char *key)
{
    struct name name = {
        .kind = NAME_TASK_OUTPUT, .first = str_of(of), .second = str_of(key)};
    return ask(asking, 1, &name);
}

static void complete(const char *id, const char *key, const char *value)
{
    struct key_value pair = {str_of(key), str_of(value)};
    struct result result = {.values = &pair, .n_values = 1};
    struct buf bytes = BUF_INIT;
    states.outcome[task(id)] = CAIRN_COMPLETED;
    ck_assert_int_eq(result_encode(&result, &bytes, &failure), 0);
    ck_assert_int_eq(lookup_put(&lookup, task(id), buf_view(&bytes), &failure), 0);
    buf_release(&bytes);
}

static void expect_range(const char *asking, const char *def, const char *first,
                         uint32_t n)
{
    uint32_t index = map_get(&definition.by_id, str_of(def));
    struct node_range range = graph_referred(&graph, task(asking), index);
    ck_assert_uint_eq(range.first, task(first));
    ck_assert_uint_eq(range.n, n);
}

START_TEST(test_which_tasks_are_meant)
{
    expect_range("one", "single", "single", 1);
    expect_range("one", "g", "g[part=2]", 1);
    expect_range("all", "g", "g[part=1]", 3);
    expect_range("both", "g", "g[part=1]", 3); /* several members: the group */
}
END_TEST

/* The worst member says how the group stands. */
START_TEST(test_status_of_a_group)
{
    uint8_t *member = &states.outcome[task("g[part=1]")];
    memset(member, CAIRN_COMPLETED, 3);
    expect_status("all", "g", "completed");
    member[2] = CAIRN_EXCLUDED;
    expect_status("all", "g", "completed"); /* it is left out */
    definition.all_need_all = true;
    expect_status("all", "g", "skipped"); /* why it was skipped does not matter */
    definition.all_need_all = false;
    member[1] = CAIRN_SKIPPED;
    expect_status("all", "g", "skipped");
    memset(member, CAIRN_EXCLUDED, 3);
    expect_status("all", "g", "skipped"); /* nobody is left */
    member[0] = CAIRN_PENDING;
    expect_status("all", "g", "pending");
    member[1] = CAIRN_FAILED;
    expect_status("all", "g", "failed");
    expect_status("one", "g", "failed");
    expect_status("one", "single", "pending");
}
END_TEST

START_TEST(test_values)
{
    complete("single", "key", "text");
    complete("g[part=2]", "key", "two");
    ck_assert(str_equal(output("one", "single", "key").text, STR("text")));
    ck_assert(str_equal(output("one", "g", "key").text, STR("two")));
    ck_assert_int_eq(output("one", "single", "other").type, VALUE_MISSING);
    ck_assert(str_equal(output("all", "g", "key").text, STR("[\"two\"]")));
    states.outcome[task("single")] = CAIRN_UNDONE;
    ck_assert_int_eq(output("one", "single", "key").type, VALUE_MISSING);
}
END_TEST

static void expect_list(const char *asking, const char *key, const char *list)
{
    struct value value = output(asking, "g", key);
    ck_assert_msg(str_equal(value.text, str_of(list)), "%.*s, not %s",
                  (int)value.text.len, value.text.ptr, list);
}

/* One list for all who ask, for as long as it is that of the group. */
START_TEST(test_values_of_a_group)
{
    complete("g[part=1]", "n", "a");
    complete("g[part=2]", "n", "b");
    expect_list("all", "n", "[\"a\", \"b\"]");
    ck_assert_ptr_eq(output("all", "g", "n").text.ptr,
                     output("both", "g", "n").text.ptr);
    complete("g[part=3]", "n", "c");
    expect_list("both", "n", "[\"a\", \"b\", \"c\"]");
    complete("g[part=3]", "n", "d"); /* another result */
    expect_list("all", "n", "[\"a\", \"b\", \"d\"]");
    states.outcome[task("g[part=1]")] = CAIRN_FAILED; /* without a word to the lookup */
    expect_list("all", "n", "[\"b\", \"d\"]");
    complete("single", "n", "z"); /* of no member */
    expect_list("all", "n", "[\"b\", \"d\"]");
    ck_assert_int_eq(output("all", "g", "m").type, VALUE_MISSING);
    for (char key[] = "c"; key[0] < 'z'; key[0]++) /* more than are kept */
        ck_assert_int_eq(output("all", "g", key).type,
                         key[0] == 'n' ? VALUE_TEXT : VALUE_MISSING);
    expect_list("both", "n", "[\"b\", \"d\"]");
}
END_TEST

/* As that of any other group, though an included file's texts name it shorter. */
START_TEST(test_values_of_an_included_group)
{
    complete("in/h[part=1]", "n", "a");
    complete("in/h[part=2]", "n", "b");
    ck_assert(str_equal(output("in/all", "h", "n").text, STR("[\"a\", \"b\"]")));
    complete("in/h[part=2]", "n", "c");
    ck_assert(str_equal(output("in/all", "h", "n").text, STR("[\"a\", \"c\"]")));
}
END_TEST

START_TEST(test_run)
{
    const struct name id = {.kind = NAME_RUN_ID}, attempt = {.kind = NAME_RUN_ATTEMPT},
                      status = {.kind = NAME_RUN_STATUS};
    ck_assert(ask("all", 0, &id).number == 7);
    ck_assert(ask("all", 0, &attempt).number == 1); /* the first that could be */
    ck_assert(ask("all", 3, &attempt).number == 3);
    ck_assert_int_eq(ask("all", 1, &status).type, VALUE_MISSING);
    lookup.run_status = "failed";
    ck_assert(str_equal(ask("all", 1, &status).text, STR("failed")));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lookup");
    TCase *c = tcase_create("lookup");
    tcase_add_checked_fixture(c, setup_graph, teardown_graph);
    tcase_add_test(c, test_which_tasks_are_meant);
    tcase_add_test(c, test_status_of_a_group);
    tcase_add_test(c, test_values);
    tcase_add_test(c, test_values_of_a_group);
    tcase_add_test(c, test_values_of_an_included_group);
    tcase_add_test(c, test_run);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
