/* SPDX-License-Identifier: MIT */
/* cairn_shell: what an attempt was given, as a program gets it. tests/cli/t-shell.sh
 * compares it with what tasks print. */
#include "tests/support/engine.h"

static struct cairn_error error_of_call;

static const char workflow_text[] =
    "name: s\n"
    "params: {day: monday}\n"
    "secrets: [TOKEN_A, TOKEN_B]\n"
    "on_failure: continue\n"
    "tasks:\n"
    "  make: {run: 'echo n=7 >>\"$CAIRN_OUTPUT\"'}\n"
    "  use:\n"
    "    needs: [make]\n"
    "    cwd: sub\n"
    "    secrets: [TOKEN_A]\n"
    "    env: {N: '${{ tasks.make.outputs.n }}', SEEN: 'written for ${{ "
    "params.day }}'}\n"
    "    shell: [sh, -c]\n"
    "    run: exit 1\n"
    "  words: {needs: [make], exec: [sh, -c, exit 2, '${{ tasks.make.outputs.n }}']}\n"
    "  bad: {needs: [make], env: {M: '${{ tasks.make.outputs.missing }}'}, run: "
    "'true'}\n";

static struct cairn_store *run_it(void)
{
    struct cairn_store *store = open_store();
    good(mkdir("sub", 0700));
    setenv("TOKEN_A", "token-a-value", 1);
    setenv("TOKEN_B", "token-b-value", 1);
    setenv("CAIRN_NOISE", "1", 1);
    setenv("day", "inherited", 1);
    struct cairn_run_result result =
        run_text(workflow_text, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(result.exit_status, 1);
    return store;
}

static struct cairn_shell *shell_of(struct cairn_store *store, const char *task,
                                    struct cairn_shell_options options)
{
    struct cairn_shell *shell = NULL;
    int rc = cairn_shell(&shell, store, 0, task, &options, &error_of_call);
    ck_assert_msg(rc == 0, "%s", error_of_call.text);
    return shell;
}

/* How many entries set the variable; *value: what the last one sets. */
static int count_of(const struct cairn_shell *shell, const char *name,
                    const char **value)
{
    size_t len = strlen(name);
    int n = 0;
    for (size_t i = 0; shell->env[i]; i++)
        if (strncmp(shell->env[i], name, len) == 0 && shell->env[i][len] == '=') {
            *value = shell->env[i] + len + 1;
            n++;
        }
    return n;
}

static void expect_variable(const struct cairn_shell *shell, const char *name,
                            const char *wanted)
{
    const char *value = NULL;
    ck_assert_msg(count_of(shell, name, &value) == (wanted ? 1 : 0), "%s", name);
    if (wanted)
        ck_assert_str_eq(value, wanted);
}

START_TEST(all_of_an_attempt)
{
    struct cairn_store *store = run_it();
    struct cairn_shell *shell =
        shell_of(store, "use", (struct cairn_shell_options){.output = "/tmp/x"});
    ck_assert_uint_eq(shell->run, 1);
    ck_assert_uint_eq(shell->attempt, 1);
    ck_assert_uint_eq(shell->generation, 1);
    ck_assert_str_eq(shell->workflow, "s");
    ck_assert_str_eq(shell->task, "use");
    ck_assert_str_eq(shell->text, "exit 1");
    ck_assert_str_eq(shell->argv[0], "sh");
    ck_assert_str_eq(shell->argv[1], "-c");
    ck_assert_str_eq(shell->argv[2], "exit 1");
    ck_assert_ptr_null(shell->argv[3]);
    expect_variable(shell, "day", "monday");
    expect_variable(shell, "N", "7");
    expect_variable(shell, "TOKEN_A", "token-a-value");
    expect_variable(shell, "TOKEN_B", NULL);
    expect_variable(shell, "CAIRN_NOISE", NULL);
    expect_variable(shell, "CAIRN_OUTPUT", "/tmp/x");
    expect_variable(shell, "CAIRN_TASK", "use");
    expect_variable(shell, "CAIRN_RUN_STATUS", NULL);
    expect_variable(shell, "PATH", getenv("PATH"));
    ck_assert_str_eq(shell->secrets[0], "TOKEN_A");
    ck_assert_ptr_null(shell->missing[0]);
    ck_assert_str_eq(shell->withheld[0], "TOKEN_B");
    ck_assert_ptr_null(shell->script);
    cairn_shell_free(shell);
    cairn_store_close(store);
}
END_TEST

START_TEST(secrets_that_are_given)
{
    struct cairn_store *store = run_it();
    struct cairn_param given = {"TOKEN_A", "from-the-caller"};
    unsetenv("TOKEN_A");
    struct cairn_shell *shell = shell_of(store, "use", (struct cairn_shell_options){0});
    ck_assert_str_eq(shell->missing[0], "TOKEN_A");
    expect_variable(shell, "TOKEN_A", NULL);
    expect_variable(shell, "CAIRN_OUTPUT", NULL);
    cairn_shell_free(shell);
    shell = shell_of(store, "use",
                     (struct cairn_shell_options){.secrets = &given, .n_secrets = 1});
    ck_assert_ptr_null(shell->missing[0]);
    expect_variable(shell, "TOKEN_A", "from-the-caller");
    cairn_shell_free(shell);
    cairn_store_close(store);
}
END_TEST

START_TEST(what_is_shown)
{
    static const char *const command[] = {"./other", "it's", NULL};
    struct cairn_store *store = run_it();
    setenv("TOKEN_A", "written", 1);
    struct cairn_shell *shell = shell_of(
        store, "use", (struct cairn_shell_options){.shown = true, .command = command});
    expect_variable(shell, "TOKEN_A", NULL);
    expect_variable(shell, "CAIRN_TOKEN", NULL);
    expect_variable(shell, "PATH", NULL);
    expect_variable(shell, "SEEN", "[REDACTED] for monday");
    ck_assert_ptr_null(shell->env[shell->n_own]);
    ck_assert_ptr_null(strstr(shell->script, "written for"));
    ck_assert_ptr_nonnull(strstr(shell->script, "./other 'it'\\''s'\n"));
    ck_assert_ptr_nonnull(strstr(shell->script, "export day=monday\n"));
    cairn_shell_free(shell);
    cairn_store_close(store);
}
END_TEST

START_TEST(an_exec_task_has_words)
{
    struct cairn_store *store = run_it();
    struct cairn_shell *shell = NULL;
    good(cairn_shell(&shell, store, 1, "words", NULL, &error_of_call));
    ck_assert_ptr_null(shell->text);
    ck_assert_str_eq(shell->argv[3], "7");
    ck_assert_ptr_null(shell->argv[4]);
    cairn_shell_free(shell);
    cairn_shell_free(NULL);
    cairn_store_close(store);
}
END_TEST

START_TEST(what_is_refused)
{
    struct cairn_store *store = run_it();
    struct cairn_shell *untouched = NULL;
    struct cairn_shell_options ninth = {.attempt = 9};
    struct cairn_param brief = {"TOKEN_A", "short"};
    struct cairn_shell_options too_short = {.secrets = &brief, .n_secrets = 1};
    const struct {
        uint64_t run;
        const char *task;
        const struct cairn_shell_options *options;
        int code;
        const char *says;
    } cases[] = {
        {1, "nobody", NULL, CAIRN_ENOTFOUND, "nobody"},
        {2, "use", NULL, CAIRN_ENOTFOUND, "run 2"},
        {1, "use", &ninth, CAIRN_ENOTFOUND, "attempt 9"},
        {1, "use", &too_short, CAIRN_EUSAGE, "TOKEN_A"},
        {1, "bad", NULL, CAIRN_EWORKFLOW, "missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int rc = cairn_shell(&untouched, store, cases[i].run, cases[i].task,
                             cases[i].options, &error_of_call);
        ck_assert_msg(rc == cases[i].code, "%zu: %d %s", i, rc, error_of_call.text);
        ck_assert_msg(strstr(error_of_call.text, cases[i].says), "%s",
                      error_of_call.text);
        ck_assert_ptr_null(untouched);
    }
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shell");
    TCase *c = tcase_create("shell");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, all_of_an_attempt);
    tcase_add_test(c, secrets_that_are_given);
    tcase_add_test(c, what_is_shown);
    tcase_add_test(c, an_exec_task_has_words);
    tcase_add_test(c, what_is_refused);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
