/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* External tasks: who gets one, what completing and failing them does, with and without
 * an owner, and what is refused. */
#include "storage/store.h"
#include "tests/support/outside.h"
#include "tests/support/suite.h"

static const char steps_text[] =
    "name: steps\n"
    "tasks:\n"
    "  a: {external: \"do a\"}\n"
    "  b: {needs: a, external: \"after ${{ default(tasks.a.outputs.v, 'none') }}\"}\n"
    "  c: {needs: b, run: 'echo c >>ran'}\n";

static char token[CAIRN_CLAIM_MAX], other_token[CAIRN_CLAIM_MAX];

#define refused(wanted, call)                                                  \
    do {                                                                       \
        error = (struct cairn_error){0};                                       \
        int rc_ = (call);                                                      \
        ck_assert_msg(rc_ == (wanted), "%s: %d (%s)", #call, rc_, error.text); \
        ck_assert_int_eq(error.code, (wanted));                                \
        ck_assert_int_gt((int)strlen(error.text), 10);                         \
    } while (0)

#define says(part) ck_assert_msg(strstr(error.text, part), "%s", error.text)

/* ---- Claims ---- */

START_TEST(one_winner)
{
    struct cairn_store *store = open_store();
    pid_t others[OTHERS];
    int won = 0, lost = 0;
    ck_assert_int_eq(go(steps_text, store).waiting, 1);
    for (int i = 0; i < OTHERS; i++)
        others[i] = start_other("claim", "a");
    put_file("go", "");
    for (int i = 0; i < OTHERS; i++) {
        int end = end_of(others[i]);
        won += end == 0;
        lost += end == 6;
    }
    ck_assert_int_eq(won, 1);
    ck_assert_int_eq(lost, OTHERS - 1);
    ck_assert_int_eq(next_of(store, false).n, 0);
    ck_assert_int_eq(next_of(store, true).claimed, 1);
    ck_assert_int_eq(sql("SELECT count(*) FROM event WHERE kind = 6"), 1);
    cairn_store_close(store);
}
END_TEST

START_TEST(a_lease_ends)
{
    struct cairn_store *store = open_store();
    go(steps_text, store);
    good(cairn_claim(store, 1, "a", 1, "late", token, &error));
    wait_until(next_of(store, false).n == 1);
    refused(CAIRN_EOWNED, cairn_complete(store, 1, "a", token, NULL, 0, &error));
    says("over");
    refused(CAIRN_EOWNED, cairn_fail(store, 1, "a", token, "x", &error));
    refused(CAIRN_EOWNED, cairn_complete(store, 1, "a", NULL, NULL, 0, &error));
    good(cairn_claim(store, 1, "a", 60000, "second", other_token, &error));
    refused(CAIRN_EOWNED, cairn_claim(store, 1, "a", 60000, NULL, token, &error));
    says("second has task a");
    refused(CAIRN_EOWNED, cairn_complete(store, 1, "a", token, NULL, 0, &error));
    refused(CAIRN_EOWNED, cairn_complete(store, 1, "a", NULL, NULL, 0, &error));
    ck_assert_int_eq(outcome_of(store, "a"), CAIRN_PENDING);
    good(cairn_complete(store, 1, "a", other_token, NULL, 0, &error));
    ck_assert_int_eq(outcome_of(store, "a"), CAIRN_COMPLETED);
    refused(CAIRN_EUSAGE, cairn_complete(store, 1, "a", other_token, NULL, 0, &error));
    refused(CAIRN_EOWNED, cairn_complete(store, 1, "a", token, NULL, 0, &error));
    cairn_store_close(store);
}
END_TEST

START_TEST(a_damaged_claim_is_none)
{
    struct cairn_store *store = open_store();
    go(steps_text, store);
    good(cairn_claim(store, 1, "a", 60000, NULL, token, &error));
    sql("UPDATE claim SET until_boot_ns = until_boot_ns + 1");
    ck_assert_int_eq(next_of(store, false).n, 1);
    refused(CAIRN_EOWNED, cairn_complete(store, 1, "a", token, NULL, 0, &error));
    good(cairn_claim(store, 1, "a", 60000, NULL, token, &error));
    good(cairn_complete(store, 1, "a", token, NULL, 0, &error));
    cairn_store_close(store);
}
END_TEST

/* The task has another number, and the graph another generation. */
START_TEST(a_claim_survives_an_edit)
{
    struct cairn_store *store = open_store();
    go(steps_text, store);
    good(cairn_claim(store, 1, "a", 60000, NULL, token, &error));
    struct cairn_run_result result = go("name: steps\n"
                                        "tasks:\n"
                                        "  first: {run: 'true'}\n"
                                        "  a: {external: \"do a\"}\n"
                                        "  b: {needs: a, run: 'true'}\n",
                                        store);
    ck_assert_uint_eq(result.run, 1);
    ck_assert_int_eq(next_of(store, false).n, 0);
    refused(CAIRN_EOWNED, cairn_claim(store, 1, "a", 60000, NULL, other_token, &error));
    good(cairn_complete(store, 1, "a", token, NULL, 0, &error));
    ck_assert_int_eq(outcome_of(store, "a"), CAIRN_COMPLETED);
    ck_assert_int_eq(go_on(store).exit_status, 0);
    cairn_store_close(store);
}
END_TEST

/* ---- Completing ---- */

START_TEST(without_a_claim)
{
    struct cairn_store *store = open_store();
    ck_assert_int_eq(go(steps_text, store).exit_status, 7);
    struct steps steps = next_of(store, false);
    ck_assert_str_eq(steps.names, "a ");
    ck_assert_str_eq(steps.text, "do a");
    good(cairn_complete(store, 1, "a", NULL, NULL, 0, &error));
    refused(CAIRN_EUSAGE, cairn_complete(store, 1, "a", NULL, NULL, 0, &error));
    steps = next_of(store, false);
    ck_assert_str_eq(steps.names, "b ");
    ck_assert_str_eq(steps.text, "after none");
    good(cairn_complete(store, 1, "b", NULL, NULL, 0, &error));
    ck_assert_int_eq(next_of(store, true).n, 0);
    ck_assert(!exists("ran"));
    ck_assert_int_eq(go_on(store).exit_status, 0);
    ck_assert_int_eq(lines("ran"), 1);
    cairn_store_close(store);
}
END_TEST

START_TEST(values_reach_later_tasks)
{
    struct cairn_store *store = open_store();
    struct cairn_param values[] = {
        {"z", "$(touch injected)\n'\"` x"}, {"_a1", "first"}, {"_a1", "last"}};
    go("name: steps\n"
       "tasks:\n"
       "  a: {external: x}\n"
       "  good:\n"
       "    needs: a\n"
       "    if: tasks.a.outputs._a1 == 'last'\n"
       "    exec: [sh, -c, 'printf %s \"$0\" >out', \"${{ tasks.a.outputs.z }}\"]\n"
       "  bad: {needs: a, if: \"tasks.a.outputs._a1 == 'first'\", run: 'touch no'}\n",
       store);
    good(cairn_complete(store, 1, "a", NULL, values, 3, &error));
    ck_assert_int_eq(go_on(store).exit_status, 0);
    char got[64] = "";
    FILE *file = fopen("out", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(got, 1, sizeof got - 1, file), 0);
    fclose(file);
    ck_assert_str_eq(got, values[0].value);
    ck_assert(!exists("no") && !exists("injected"));
    ck_assert_int_eq(outcome_of(store, "bad"), CAIRN_EXCLUDED);
    cairn_store_close(store);
}
END_TEST

START_TEST(failing)
{
    struct cairn_store *store = open_store();
    go(steps_text, store);
    good(cairn_claim(store, 1, "a", 60000, NULL, token, &error));
    good(cairn_fail(store, 1, "a", token, "no \033 good", &error));
    ck_assert_str_eq(task_of(store, 1, "a").text, "no \033 good");
    ck_assert_int_eq(outcome_of(store, "a"), CAIRN_FAILED);
    ck_assert_int_eq(outcome_of(store, "c"), CAIRN_SKIPPED);
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_FAILED);
    ck_assert_int_eq(next_of(store, true).n, 0);
    /* A failed run must be gone on with first; then the step is there again. */
    refused(CAIRN_EUSAGE, cairn_claim(store, 1, "a", 60000, NULL, token, &error));
    says("cairn resume 1");
    ck_assert_int_eq(go_on(store).exit_status, 7);
    good(cairn_fail(store, 1, "a", NULL, NULL, &error));
    ck_assert_str_eq(task_of(store, 1, "a").text, "reported as failed");
    cairn_store_close(store);
}
END_TEST

START_TEST(declared_outputs_must_be_there)
{
    struct cairn_store *store = open_store();
    go("name: steps\ntasks:\n  a: {external: x, outputs: [made]}\n", store);
    refused(CAIRN_EUSAGE, cairn_complete(store, 1, "a", NULL, NULL, 0, &error));
    says("made");
    ck_assert_int_eq(outcome_of(store, "a"), CAIRN_PENDING); /* nothing was stored */
    put_file("made", "x");
    good(cairn_complete(store, 1, "a", NULL, NULL, 0, &error));
    cairn_store_close(store);
}
END_TEST

/* ---- With an owner ---- */

START_TEST(a_live_owner_goes_on)
{
    struct cairn_store *store = open_store();
    cairn_workflow_free(from_file(steps_text));
    pid_t owner = start_other("run", "flow.yaml");
    wait_until(cairn_next(store, 1, true, note_step, &(struct steps){0}, NULL) == 0 &&
               next_of(store, true).n == 1 && run_info(store, 1).live);
    good(cairn_claim(store, 1, "a", 60000, NULL, token, &error));
    good(cairn_complete(store, 1, "a", token, &(struct cairn_param){"v", "x"}, 1,
                        &error));
    ck_assert_int_eq(outcome_of(store, "a"), CAIRN_COMPLETED);
    ck_assert_str_eq(next_of(store, true).text, "after x");
    good(cairn_complete(store, 1, "b", NULL, NULL, 0, &error));
    ck_assert_int_eq(end_of(owner), 0);
    ck_assert_int_eq(lines("ran"), 1);
    cairn_store_close(store);
}
END_TEST

static pid_t stopped_owner(struct cairn_store *store)
{
    cairn_workflow_free(from_file(steps_text));
    pid_t owner = start_other("run", "flow.yaml");
    wait_until(cairn_next(store, 1, true, note_step, &(struct steps){0}, NULL) == 0 &&
               next_of(store, true).n == 1);
    good(store_begin(store, -1, &error)); /* it does not hold the write lock now */
    ck_assert_int_eq(kill(owner, SIGSTOP), 0);
    store_abort(store);
    return owner;
}

/* The owner dies with the command stored and nothing put down: who waits takes over. */
START_TEST(the_owner_dies)
{
    struct cairn_store *store = open_store();
    pid_t owner = stopped_owner(store);
    pid_t other = start_other("complete", "a");
    wait_until(sql("SELECT count(*) FROM command WHERE taken = 0") == 1);
    ck_assert_int_eq(outcome_of(store, "a"), CAIRN_PENDING);
    ck_assert_int_eq(next_of(store, true).n, 0);
    refused(CAIRN_EOWNED, cairn_claim(store, 1, "a", 60000, NULL, token, &error));
    kill_other(owner);
    ck_assert_int_eq(end_of(other), 0);
    ck_assert_int_eq(outcome_of(store, "a"), CAIRN_COMPLETED);
    cairn_store_close(store);
}
END_TEST

/* Both die: whoever continues takes it. */
START_TEST(both_die)
{
    struct cairn_store *store = open_store();
    pid_t owner = stopped_owner(store);
    pid_t other = start_other("complete", "a");
    wait_until(sql("SELECT count(*) FROM command WHERE taken = 0") == 1);
    kill_other(other);
    kill_other(owner);
    ck_assert_int_eq(outcome_of(store, "a"), CAIRN_PENDING);
    refused(CAIRN_EOWNED, cairn_complete(store, 1, "a", NULL, NULL, 0, &error));
    ck_assert_int_eq(go_on(store).exit_status, 7);
    ck_assert_int_eq(outcome_of(store, "a"), CAIRN_COMPLETED);
    ck_assert_str_eq(next_of(store, true).names, "b ");
    cairn_store_close(store);
}
END_TEST

/* ---- Refusals ---- */

START_TEST(what_cannot_be_taken)
{
    struct cairn_store *store = open_store();
    char name[202];
    go(steps_text, store);
    refused(CAIRN_ENOTFOUND, cairn_claim(store, 1, "x", 1000, NULL, token, &error));
    refused(CAIRN_ENOTFOUND, cairn_claim(store, 2, "a", 1000, NULL, token, &error));
    refused(CAIRN_EUSAGE, cairn_claim(store, 1, "b", 1000, NULL, token, &error));
    says("needs a");
    refused(CAIRN_EUSAGE, cairn_claim(store, 1, "c", 1000, NULL, token, &error));
    says("not external");
    refused(CAIRN_EUSAGE, cairn_complete(store, 1, "c", NULL, NULL, 0, &error));
    refused(CAIRN_EUSAGE, cairn_complete(store, 1, "b", NULL, NULL, 0, &error));
    refused(CAIRN_EUSAGE, cairn_fail(store, 1, "b", NULL, NULL, &error));
    refused(CAIRN_EOWNED, cairn_complete(store, 1, "a", "made-up", NULL, 0, &error));
    refused(CAIRN_EUSAGE, cairn_claim(store, 1, "a", 0, NULL, token, &error));
    refused(CAIRN_EUSAGE, cairn_claim(store, 1, "a", INT64_MAX, NULL, token, &error));
    memset(name, 'n', sizeof name - 1);
    name[201] = 0;
    refused(CAIRN_ELIMIT, cairn_claim(store, 1, "a", 1000, name, token, &error));
    name[200] = 0;
    good(cairn_claim(store, 1, "a", 1000, name, token, &error));
    ck_assert_int_eq(sql("SELECT count(*) FROM command"), 0);
    cairn_store_close(store);
}
END_TEST

START_TEST(values_have_limits)
{
    enum { MOST = 1000, BYTES = 1 << 20, MESSAGE = 64 << 10 };
    static struct cairn_param values[MOST + 1];
    static char names[MOST + 1][16], large[BYTES + 1], key[202];
    struct cairn_store *store = open_store();
    go("name: n\ntasks:\n  a: {external: x}\n  b: {external: x}\n  c: {external: x}\n",
       store);
    static const char *const bad[] = {"", "1a", "a-b", "a b", "ä"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refused(CAIRN_EUSAGE,
                cairn_complete(store, 1, "a", NULL, &(struct cairn_param){bad[i], "x"},
                               1, &error));
    memset(key, 'k', 201);
    struct cairn_param one = {key, "x"};
    refused(CAIRN_ELIMIT, cairn_complete(store, 1, "a", NULL, &one, 1, &error));
    memset(large, 'x', BYTES - 2); /* with a key of one byte, = and a line end: more */
    one = (struct cairn_param){"k", large};
    refused(CAIRN_ELIMIT, cairn_complete(store, 1, "a", NULL, &one, 1, &error));
    for (int i = 0; i <= MOST; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i);
        values[i] = (struct cairn_param){names[i], "v"};
    }
    refused(CAIRN_ELIMIT,
            cairn_complete(store, 1, "a", NULL, values, MOST + 1, &error));
    static char message[MESSAGE + 2];
    memset(message, 'm', MESSAGE + 1);
    refused(CAIRN_ELIMIT, cairn_fail(store, 1, "a", NULL, message, &error));
    ck_assert_int_eq(sql("SELECT count(*) FROM command"), 0);
    key[200] = 0;
    values[0].name = key;
    good(cairn_complete(store, 1, "a", NULL, values, MOST, &error));
    large[BYTES - 3] = 0;
    good(cairn_complete(store, 1, "b", NULL, &one, 1, &error));
    message[MESSAGE] = 0;
    good(cairn_fail(store, 1, "c", NULL, message, &error));
    cairn_store_close(store);
}
END_TEST

/* ---- Secrets ---- */

static bool file_has(const char *path, const char *text)
{
    static char bytes[16 << 20];
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return memmem(bytes, n, text, strlen(text)) != NULL;
}

START_TEST(secrets_are_not_stored)
{
    static const char secret[] = "hunter2-hunter2";
    struct cairn_store *store = open_store();
    ck_assert_int_eq(setenv("TOKEN", secret, 1), 0);
    go("name: n\nsecrets: [TOKEN]\ntasks:\n  a: {external: x}\n  b: {external: x}\n",
       store);
    good(cairn_claim(store, 1, "a", 60000, "me hunter2-hunter2", token, &error));
    struct cairn_param value = {"v", "is hunter2-hunter2."};
    good(cairn_complete(store, 1, "a", token, &value, 1, &error));
    good(cairn_fail(store, 1, "b", NULL, "why hunter2-hunter2", &error));
    ck_assert_str_eq(task_of(store, 1, "b").text, "why [REDACTED]");
    ck_assert(!file_has(".cairn/cairn.db", secret));
    ck_assert(!file_has(".cairn/cairn.db-wal", secret));
    cairn_store_close(store);
    ck_assert(!file_has(".cairn/cairn.db", secret));
}
END_TEST

int main(int argc, char **argv)
{
    int other = help_other(argc, argv);
    if (other >= 0)
        return other;
    Suite *suite = suite_create("external");
    TCase *tests = tcase_create("external");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, one_winner);
    tcase_add_test(tests, a_lease_ends);
    tcase_add_test(tests, a_damaged_claim_is_none);
    tcase_add_test(tests, a_claim_survives_an_edit);
    tcase_add_test(tests, without_a_claim);
    tcase_add_test(tests, values_reach_later_tasks);
    tcase_add_test(tests, failing);
    tcase_add_test(tests, declared_outputs_must_be_there);
    tcase_add_test(tests, a_live_owner_goes_on);
    tcase_add_test(tests, the_owner_dies);
    tcase_add_test(tests, both_die);
    tcase_add_test(tests, what_cannot_be_taken);
    tcase_add_test(tests, values_have_limits);
    tcase_add_test(tests, secrets_are_not_stored);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
