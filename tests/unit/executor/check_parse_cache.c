/* SPDX-License-Identifier: MIT */
/* A workflow file that has not changed is not parsed again: when it is not, that the
 * same comes of it, and all that must make it be parsed. */
#include "graph/definition_codec.h"
#include "runs/stored.h"
#include "tests/support/outside.h"
#include "workflow/workflow.h"

static const char plain[] = "name: flow\n"
                            "params: {day: 1}\n"
                            "tasks:\n"
                            "  a:\n"
                            "    run: echo $day >> log; touch made\n"
                            "    env: {X: '2'}\n"
                            "    outputs: [made]\n"
                            "  b:\n"
                            "    foreach: {n: {range: [1, 3]}}\n"
                            "    needs: [a]\n"
                            "    exec: [sh, -c, 'echo ${{ n }} >> log']\n"
                            "  c:\n"
                            "    needs: ['b[n=2]']\n"
                            "    if: tasks.a.status == 'completed'\n"
                            "    run: |\n"
                            "      echo end >> log\n";

/* Whether the workflow of the run was found compiled. `w` NULL: it is freed. */
static bool found(struct cairn_store *store, uint64_t run, struct cairn_workflow **w)
{
    struct cairn_workflow *loaded = NULL;
    bool from_file = false;
    good(cairn_workflow_of_run(&loaded, store, run, &from_file, &error));
    bool compiled = loaded->digested;
    ck_assert(from_file);
    if (w)
        *w = loaded;
    else
        cairn_workflow_free(loaded);
    return compiled;
}

static struct cairn_store *store_with(const char *text)
{
    struct cairn_store *store = open_store();
    ck_assert_int_eq(go(text, store).exit_status, 0);
    return store;
}

static void expect_same(const struct cairn_workflow *a, const struct cairn_workflow *b)
{
    struct buf of_a = BUF_INIT, of_b = BUF_INIT;
    good(definition_encode(&a->definition, &of_a, &error));
    good(definition_encode(&b->definition, &of_b, &error));
    ck_assert(str_equal(buf_view(&of_a), buf_view(&of_b)));
    buf_release(&of_a);
    buf_release(&of_b);
    ck_assert_uint_eq(cairn_workflow_nodes(a), cairn_workflow_nodes(b));
    for (uint32_t i = 0; i < cairn_workflow_nodes(a); i++) {
        struct cairn_node_info of[2];
        ck_assert_int_eq(cairn_workflow_node(a, i, &of[0]), 0);
        ck_assert_int_eq(cairn_workflow_node(b, i, &of[1]), 0);
        ck_assert_str_eq(of[0].id, of[1].id);
        ck_assert_str_eq(of[0].command, of[1].command);
        ck_assert_uint_eq(of[0].needs, of[1].needs);
    }
}

START_TEST(the_same_comes_of_it)
{
    struct cairn_workflow *compiled, *read;
    struct cairn_store *store = store_with(plain);
    ck_assert(found(store, 1, &compiled));
    good(cairn_workflow_load(&read, "flow.yaml", NULL, 0, &error));
    ck_assert(!read->digested);
    expect_same(compiled, read);
    cairn_workflow_free(compiled);
    cairn_workflow_free(read);
    ck_assert_int_eq(go_on(store).exit_status, 0);
    ck_assert_int_eq(lines("log"), 5);
    cairn_store_close(store);
}
END_TEST

/* What is found so runs, is gone on with, and is found again. */
START_TEST(it_runs)
{
    static const char text[] =
        "name: flow\n"
        "tasks:\n"
        "  a: {run: echo a >> log}\n"
        "  b: {needs: [a], run: 'test -e go && echo b >> log'}\n";
    struct cairn_store *store = open_store();
    ck_assert_int_eq(go(text, store).exit_status, 1);
    ck_assert(found(store, 1, NULL));
    ck_assert_int_eq(go_on(store).exit_status, 1);
    put_file("go", "");
    ck_assert_int_eq(go_on(store).exit_status, 0);
    expect_words("log", "a b");
    ck_assert(found(store, 1, NULL));
    cairn_store_close(store);
}
END_TEST

START_TEST(a_changed_file_is_parsed)
{
    struct cairn_store *store =
        store_with("name: f\ntasks: {a: {run: echo 1 >> log}}\n");
    put_file("flow.yaml", "name: f\ntasks: {a: {run: echo 2 >> log}}\n");
    ck_assert(!found(store, 1, NULL));
    ck_assert_int_eq(go_on(store).exit_status, 0);
    expect_words("log", "1 2");
    ck_assert(found(store, 1, NULL)); /* it has begun anew with this one */
    put_file("flow.yaml", "name: f\ntasks: {a: {run: echo 2 >> log}}\n# the same\n");
    ck_assert(!found(store, 1, NULL));
    put_file("flow.yaml", "name: f\ntasks: {a: {rum: echo}}\n");
    struct cairn_workflow *w = NULL;
    ck_assert_int_eq(cairn_workflow_of_run(&w, store, 1, NULL, &error),
                     CAIRN_EWORKFLOW);
    cairn_store_close(store);
}
END_TEST

/* The last run of the workflow that began is the one whose file is known. */
START_TEST(each_run_has_its_own)
{
    static const char other[] = "name: flow\nparams: {day: 1}\n"
                                "tasks: {a: {run: 'true'}}\n";
    struct cairn_workflow *w;
    struct cairn_param day = {"day", "7"};
    struct cairn_store *store = store_with(plain);
    good(cairn_workflow_load(&w, "flow.yaml", &day, 1, &error));
    ck_assert_uint_eq(run_with(w, store, (struct cairn_run_options){0}, NULL).run, 2);
    cairn_workflow_free(w);
    ck_assert(!found(store, 1, NULL));
    ck_assert(found(store, 2, &w));
    ck_assert_str_eq(w->definition.params[0].value.ptr, "7");
    cairn_workflow_free(w);
    ck_assert_uint_eq(go(other, store).run, 3);
    ck_assert(!found(store, 2, NULL));
    ck_assert(found(store, 3, NULL));
    ck_assert_int_eq(chmod("flow.yaml", 0600), 0);
    ck_assert_int_eq(rename("flow.yaml", "moved.yaml"), 0);
    ck_assert_int_eq(symlink("moved.yaml", "flow.yaml"), 0);
    ck_assert(!found(store, 3, NULL)); /* paths in it are relative to another file */
    cairn_store_close(store);
}
END_TEST

START_TEST(what_the_file_does_not_say)
{
    put_file("one.txt", "x\n");
    struct cairn_store *store =
        store_with("name: glob\ntasks:\n  a:\n    foreach: {f: {glob: '*.txt'}}\n"
                   "    run: 'true'\n");
    ck_assert(!found(store, 1, NULL));
    go("name: lines\ntasks:\n  a:\n    foreach: {f: {lines: one.txt}}\n"
       "    run: 'true'\n",
       store);
    ck_assert(!found(store, 2, NULL));
    go("name: warned\npools: {p: 1}\ntasks: {a: {run: 'true'}}\n", store);
    struct cairn_workflow *w;
    ck_assert(!found(store, 3, &w));
    ck_assert_ptr_nonnull(cairn_workflow_warning(w, 0));
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

START_TEST(with_a_key_it_is_parsed)
{
    struct cairn_store *store = NULL;
    put_file("key", "0123456789abcdef0123456789abcdef");
    ck_assert_int_eq(chmod("key", 0600), 0);
    struct cairn_store_options options = {
        .path = ".cairn", .create = true, .key_file = "key"};
    good(cairn_store_open(&store, &options, &error));
    ck_assert_int_eq(go(plain, store).exit_status, 0);
    ck_assert(!found(store, 1, NULL));
    cairn_store_close(store);
    ck_assert_int_eq(sql("SELECT count(*) FROM meta WHERE key LIKE 'compiled%'"), 0);
}
END_TEST

/* The file is there to make anew what is damaged or gone. */
static void expect_parsed(const char *damage)
{
    sql(damage);
    struct cairn_store *store = open_store();
    ck_assert_msg(!found(store, 1, NULL), "%s", damage);
    ck_assert_int_eq(go_on(store).exit_status, 0);
    ck_assert_int_eq(lines("log"), 5);
    cairn_store_close(store);
}

START_TEST(damage)
{
    cairn_store_close(store_with(plain));
    ck_assert_int_eq(sql("SELECT count(*) FROM meta WHERE key = 'compiled.1'"), 1);
    sql("CREATE TABLE kept AS SELECT * FROM meta");
    expect_parsed("UPDATE meta SET value = 'x' || substr(value, 2) "
                  "WHERE key = 'compiled.1'");
    expect_parsed("UPDATE meta SET value = '' WHERE key = 'compiled.1'");
    expect_parsed("UPDATE meta SET value = value || '0' WHERE key = 'compiled.1'");
    expect_parsed("DELETE FROM meta WHERE key = 'compiled.1'");
    sql("INSERT INTO meta SELECT * FROM kept WHERE key = 'compiled.1'");
    struct cairn_store *store = open_store();
    ck_assert(found(store, 1, NULL));
    cairn_store_close(store);
    expect_parsed("UPDATE object SET data = flip(data, 10) "
                  "WHERE digest = (SELECT graph FROM run)");
    expect_parsed("DELETE FROM object WHERE digest = (SELECT graph FROM run)");
}
END_TEST

int main(int argc, char **argv)
{
    int other = help_other(argc, argv);
    if (other >= 0)
        return other;
    Suite *suite = suite_create("compiled");
    TCase *tests = tcase_create("compiled");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_same_comes_of_it);
    tcase_add_test(tests, it_runs);
    tcase_add_test(tests, a_changed_file_is_parsed);
    tcase_add_test(tests, each_run_has_its_own);
    tcase_add_test(tests, what_the_file_does_not_say);
    tcase_add_test(tests, with_a_key_it_is_parsed);
    tcase_add_test(tests, damage);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
