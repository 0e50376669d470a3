/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* Unknown tasks and their resolution, undoing from outside, and what everything waits
 * for. */
#include "tests/support/outside.h"
#include "tests/support/suite.h"

#define refused(wanted, call)                                                  \
    do {                                                                       \
        error = (struct cairn_error){0};                                       \
        int rc_ = (call);                                                      \
        ck_assert_msg(rc_ == (wanted), "%s: %d (%s)", #call, rc_, error.text); \
        ck_assert_int_gt((int)strlen(error.text), 10);                         \
    } while (0)
#define says(part) ck_assert_msg(strstr(error.text, part), "%s", error.text)

/* ---- Unknown tasks ---- */

static const char once_text[] =
    "name: pays\n"
    "tasks:\n"
    "  pay:\n"
    "    run: 'echo pay >>ran; touch at; while [ ! -e let ]; do sleep 0.01; done'\n"
    "    once: true\n"
    "    outputs: [receipt]\n"
    "  after: {needs: pay, run: 'echo after >>ran'}\n";

/* Run 1 is killed while pay runs. */
static struct cairn_store *interrupted(const char *text)
{
    struct cairn_store *store = open_store();
    cairn_workflow_free(from_file(text));
    pid_t owner = start_other("run", "flow.yaml");
    wait_until(exists("at"));
    kill_other(owner);
    wait_until(!run_info(store, 1).live);
    return store;
}

START_TEST(resolved_as_done)
{
    struct cairn_store *store = interrupted(once_text);
    ck_assert_int_eq(outcome_of(store, "pay"), CAIRN_UNKNOWN);
    refused(CAIRN_EUSAGE, cairn_resolve(store, 1, "pay", CAIRN_RESOLVED_DONE, &error));
    says("receipt");
    refused(CAIRN_EUSAGE,
            cairn_resolve(store, 1, "after", CAIRN_RESOLVED_DONE, &error));
    refused(CAIRN_ENOTFOUND, cairn_resolve(store, 1, "x", CAIRN_RESOLVED_DONE, &error));
    refused(CAIRN_EUSAGE,
            cairn_resolve(store, 1, "pay", (enum cairn_resolution)4, &error));
    ck_assert_int_eq(sql("SELECT count(*) FROM command"), 0);
    struct cairn_run_result result = go_on(store);
    ck_assert_int_eq(result.exit_status, 8);
    ck_assert_uint_eq(result.unknown, 1);
    ck_assert_int_eq(lines("ran"), 1);
    put_file("receipt", "");
    good(cairn_resolve(store, 1, "pay", CAIRN_RESOLVED_DONE, &error));
    ck_assert_int_eq(outcome_of(store, "pay"), CAIRN_COMPLETED);
    refused(CAIRN_EUSAGE,
            cairn_resolve(store, 1, "pay", CAIRN_RESOLVED_FAILED, &error));
    ck_assert_int_eq(go_on(store).exit_status, 0);
    ck_assert_int_eq(lines("ran"), 2);
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_COMPLETED);
    cairn_store_close(store);
}
END_TEST

START_TEST(resolved_as_failed)
{
    struct cairn_store *store = interrupted(once_text);
    good(cairn_resolve(store, 1, "pay", CAIRN_RESOLVED_FAILED, &error));
    ck_assert_int_eq(outcome_of(store, "pay"), CAIRN_FAILED);
    ck_assert_int_eq(outcome_of(store, "after"), CAIRN_SKIPPED);
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_FAILED);
    ck_assert_int_eq(lines("ran"), 1);
    cairn_store_close(store);
}
END_TEST

START_TEST(resolved_to_run_again)
{
    struct cairn_store *store = interrupted(once_text);
    good(cairn_resolve(store, 1, "pay", CAIRN_RESOLVED_RERUN, &error));
    ck_assert_int_eq(outcome_of(store, "pay"), CAIRN_PENDING);
    ck_assert_int_eq(lines("ran"), 1);
    refused(CAIRN_EUSAGE, cairn_resolve(store, 1, "pay", CAIRN_RESOLVED_RERUN, &error));
    put_file("let", "");
    put_file("receipt", "");
    ck_assert_int_eq(go_on(store).exit_status, 0);
    ck_assert_int_eq(lines("ran"), 3);
    cairn_store_close(store);
}
END_TEST

/* The run continues with other things: its owner takes the decision. */
START_TEST(resolved_in_a_live_run)
{
    struct cairn_store *store = interrupted(
        "name: pays\n"
        "tasks:\n"
        "  pay: {run: 'touch at; while :; do sleep 0.01; done', once: true}\n"
        "  after: {needs: pay, run: 'touch after'}\n"
        "  other: {external: x}\n");
    pid_t owner = start_other("run", "flow.yaml");
    wait_until(run_info(store, 1).unknown == 1 && run_info(store, 1).live);
    good(cairn_resolve(store, 1, "pay", CAIRN_RESOLVED_DONE, &error));
    wait_until(exists("after"));
    good(cairn_complete(store, 1, "other", NULL, NULL, 0, &error));
    ck_assert_int_eq(end_of(owner), 0);
    cairn_store_close(store);
}
END_TEST

START_TEST(a_check_decides)
{
    struct cairn_store *store =
        interrupted("name: pays\n"
                    "tasks:\n"
                    "  pay:\n"
                    "    run: 'touch at; while :; do sleep 0.01; done'\n"
                    "    once: true\n"
                    "    check: 'test -e paid'\n"
                    "  after: {needs: pay, run: 'touch after'}\n");
    put_file("paid", "");
    ck_assert_int_eq(go_on(store).exit_status, 0);
    ck_assert_int_eq(outcome_of(store, "pay"), CAIRN_COMPLETED);
    ck_assert(exists("after"));
    cairn_store_close(store);
}
END_TEST

/* ---- Undoing ---- */

static const char undo_text[] =
    "name: undoes\n"
    "tasks:\n"
    "  a: {run: 'true', undo: 'echo a >>undone'}\n"
    "  b: {needs: a, run: 'true', undo: 'echo b >>undone; test ! -e bad'}\n"
    "  plain: {needs: a, run: 'true'}\n"
    "  c: {needs: [b, plain], run: 'true', undo: 'echo c >>undone'}\n";

static const char *undone(void)
{
    static char text[64];
    memset(text, 0, sizeof text);
    FILE *file = fopen("undone", "r");
    if (file) {
        (void)!fread(text, 1, sizeof text - 1, file);
        fclose(file);
    }
    return text;
}

START_TEST(everything_is_undone)
{
    struct cairn_store *store = open_store();
    struct cairn_run_result result = {0};
    ck_assert_int_eq(go(undo_text, store).exit_status, 0);
    good(cairn_undo(store, 1, NULL, 0, NULL, &result, &error));
    ck_assert_str_eq(undone(), "c\nb\na\n");
    ck_assert_int_eq(result.exit_status, 0);
    ck_assert_uint_eq(result.undone, 3);
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_UNDONE);
    ck_assert_uint_eq(run_info(store, 1).undone, 3);
    ck_assert_int_eq(outcome_of(store, "plain"), CAIRN_COMPLETED);
    refused(CAIRN_EUSAGE, cairn_undo(store, 1, NULL, 0, NULL, NULL, &error));
    result = go_on(store);
    ck_assert_int_eq(result.exit_status, 0);
    ck_assert_uint_eq(result.completed, 4);
    ck_assert_uint_eq(result.attempts, 4);
    cairn_store_close(store);
}
END_TEST

START_TEST(some_are_undone_in_order)
{
    struct cairn_store *store = open_store();
    struct cairn_run_result result = {0};
    static const char *const two[] = {"a", "c", "a"}, *const plain[] = {"c", "plain"},
                             *const unknown[] = {"c", "x"};
    go(undo_text, store);
    refused(CAIRN_EUSAGE, cairn_undo(store, 1, plain, 2, NULL, NULL, &error));
    refused(CAIRN_ENOTFOUND, cairn_undo(store, 1, unknown, 2, NULL, NULL, &error));
    ck_assert_str_eq(undone(), "");
    good(cairn_undo(store, 1, two, 3, NULL, &result, &error));
    ck_assert_str_eq(undone(), "c\na\n");
    ck_assert_uint_eq(result.undone, 2);
    refused(CAIRN_EUSAGE, cairn_undo(store, 1, two, 1, NULL, NULL, &error));
    says("undone");
    cairn_store_close(store);
}
END_TEST

START_TEST(one_undo_fails)
{
    struct cairn_store *store = open_store();
    struct cairn_run_result result = {0};
    go(undo_text, store);
    put_file("bad", "");
    good(cairn_undo(store, 1, NULL, 0, NULL, &result, &error));
    ck_assert_str_eq(undone(), "c\nb\na\n");
    ck_assert_int_eq(result.exit_status, 1);
    ck_assert_uint_eq(result.failed_undos, 1);
    ck_assert_int_eq(outcome_of(store, "b"), CAIRN_COMPLETED);
    ck_assert_int_eq(outcome_of(store, "a"), CAIRN_UNDONE);
    cairn_store_close(store);
}
END_TEST

/* What was stored with the completion counts, not what the file says now. */
START_TEST(the_stored_undo_runs)
{
    struct cairn_store *store = open_store();
    go("name: u\ntasks:\n  a: {run: 'true', undo: 'echo old >>undone'}\n", store);
    put_file("flow.yaml", "name: u\ntasks:\n  a: {run: 'true', undo: 'echo new'}\n");
    good(cairn_undo(store, 1, NULL, 0, NULL, NULL, &error));
    ck_assert_str_eq(undone(), "old\n");
    cairn_store_close(store);
}
END_TEST

START_TEST(a_live_run_is_not_undone)
{
    struct cairn_store *store = open_store();
    cairn_workflow_free(from_file("name: u\ntasks:\n  a: {run: 'true', undo: 'true'}\n"
                                  "  b: {needs: a, external: x}\n"));
    pid_t owner = start_other("run", "flow.yaml");
    wait_until(cairn_next(store, 1, true, note_step, &(struct steps){0}, NULL) == 0 &&
               next_of(store, true).n == 1);
    refused(CAIRN_EOWNED, cairn_undo(store, 1, NULL, 0, NULL, NULL, &error));
    good(cairn_complete(store, 1, "b", NULL, NULL, 0, &error));
    ck_assert_int_eq(end_of(owner), 0);
    cairn_store_close(store);
}
END_TEST

/* ---- Waiting ---- */

static int note_waiting(void *context, const struct cairn_waiting_info *info)
{
    char *text = context;
    size_t used = strlen(text);
    snprintf(text + used, 512 - used, "%s %d %u %s\n", info->task, (int)info->waits_for,
             info->behind, info->text ? info->text : "-");
    return 0;
}

static const char *waiting_of(struct cairn_store *store)
{
    static char text[512];
    text[0] = 0;
    good(cairn_waiting(store, 1, note_waiting, text, &error));
    return text;
}

START_TEST(what_everything_waits_for)
{
    struct cairn_store *store = open_store();
    cairn_workflow_free(
        from_file("name: w\njobs: 1\npools: {db: 1}\n"
                  "tasks:\n"
                  "  run: {run: 'touch at; while [ ! -e let ]; do sleep 0.01; done', "
                  "pool: db, priority: 1}\n"
                  "  pooled: {run: 'true', pool: db}\n"
                  "  ready: {run: 'true'}\n"
                  "  ask: {external: 'say ${{ run.id }}'}\n"
                  "  many: {needs: ask, foreach: {i: {range: [1, 3]}}, run: 'true'}\n"
                  "  last: {needs: [many, ready], run: 'true'}\n"));
    pid_t owner = start_other("run", "flow.yaml");
    wait_until(exists("at"));
    wait_until(strstr(waiting_of(store), "run 1"));
    ck_assert_str_eq(waiting_of(store), "ask 4 4 say 1\nready 2 1 -\nrun 1 0 -\n"
                                        "pooled 3 0 db\n");
    kill_other(owner);
    wait_until(!run_info(store, 1).live);
    ck_assert_str_eq(waiting_of(store), "ask 4 4 say 1\nready 2 1 -\nrun 2 0 -\n"
                                        "pooled 2 0 -\n");
    cairn_store_close(store);
}
END_TEST

START_TEST(a_decision_is_waited_for)
{
    struct cairn_store *store = interrupted(once_text);
    ck_assert_str_eq(waiting_of(store), "pay 5 1 -\n");
    put_file("receipt", "");
    good(cairn_resolve(store, 1, "pay", CAIRN_RESOLVED_DONE, &error));
    ck_assert_str_eq(waiting_of(store), "after 2 0 -\n");
    go_on(store);
    ck_assert_str_eq(waiting_of(store), "");
    cairn_store_close(store);
}
END_TEST

int main(int argc, char **argv)
{
    int other = help_other(argc, argv);
    if (other >= 0)
        return other;
    Suite *suite = suite_create("resolve");
    TCase *tests = tcase_create("resolve");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, resolved_as_done);
    tcase_add_test(tests, resolved_as_failed);
    tcase_add_test(tests, resolved_to_run_again);
    tcase_add_test(tests, resolved_in_a_live_run);
    tcase_add_test(tests, a_check_decides);
    tcase_add_test(tests, everything_is_undone);
    tcase_add_test(tests, some_are_undone_in_order);
    tcase_add_test(tests, one_undo_fails);
    tcase_add_test(tests, the_stored_undo_runs);
    tcase_add_test(tests, a_live_run_is_not_undone);
    tcase_add_test(tests, what_everything_waits_for);
    tcase_add_test(tests, a_decision_is_waited_for);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
